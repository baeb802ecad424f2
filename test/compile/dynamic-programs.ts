/** Random functions of a tensor [n, 3] (and of one [n]) whose first axis has any size, made of a list of choices. */
import * as dx from "../../src/index.ts";

/** Lengths of axes as the function's author knows them: "n" for the one that varies, "n 2" for what is made of it. */
type Kind = readonly (number | string)[];

interface Held {
  readonly t: dx.Tensor;
  readonly kind: Kind;
}

const isFree = (k: number | string): boolean => typeof k === "number";
const without = (kind: Kind, axis: number): Kind => kind.filter((_, i) => i !== axis);
const areEqual = (a: Kind, b: Kind): boolean => a.length === b.length && a.every((k, i) => k === b[i]);

const UNARY = ["tanh", "log", "sqrt", "relu", "abs", "neg", "sigmoid", "square", "exp"] as const;
const REDUCE = ["sum", "mean", "amax", "amin", "logsumexp", "norm", "std", "var", "prod", "max", "min"] as const;

function reduced(name: (typeof REDUCE)[number], t: dx.Tensor, axis: number, keepDims: boolean): dx.Tensor {
  switch (name) {
    case "max":
    case "min":
      return t[name](axis, { keepDims }).values;
    case "norm":
      return t.norm(2, axis, { keepDims });
    case "prod":
      return t.tanh().prod(axis, { keepDims });
    default:
      return t[name](axis, { keepDims });
  }
}

/** One step: what it makes of the tensors so far, or null where it does not fit them. `pick` gives the next choice. */
function step(held: readonly Held[], weight: dx.Tensor, pick: (n: number) => number): Held | null {
  const { t, kind } = held[pick(held.length)]!;
  const rank = kind.length;
  const axis = rank === 0 ? -1 : pick(rank);
  const bounded = (x: dx.Tensor): dx.Tensor => x.clamp(-50, 50);
  switch (pick(21)) {
    case 0:
    case 1:
      return { t: bounded(t[UNARY[pick(UNARY.length)]!]()), kind };
    case 2: {
      const other = held.filter((h) => areEqual(h.kind, kind));
      const y = other[pick(other.length)]!.t;
      return { t: bounded([t.add(y), t.mul(y), t.sub(y), t.div(y.abs().add(0.5)), t.maximum(y)][pick(5)]!), kind };
    }
    case 3:
    case 4: {
      if (rank === 0) return null;
      const keepDims = pick(2) === 0;
      const name = REDUCE[pick(REDUCE.length)]!;
      return { t: reduced(name, t, axis, keepDims), kind: keepDims ? kind.map((k, i) => (i === axis ? 1 : k)) : without(kind, axis) };
    }
    case 5:
      return rank === 0 ? null : { t: pick(2) === 0 ? t.softmax(axis) : bounded(t.logSoftmax(axis)), kind };
    case 6:
      return rank > 0 && kind.at(-1) === 3 ? { t: bounded(t.matmul(weight)), kind } : null;
    case 7: {
      const others = held.filter((h) => h.kind.length === 2 && h.kind[0] === kind[0]);
      if (rank !== 2) return null;
      const y = others[pick(others.length)]!;
      return { t: bounded(t.transpose(0, 1).matmul(y.t)), kind: [kind[1]!, y.kind[1]!] };
    }
    case 8:
      return rank === 2 ? { t: t.transpose(0, 1), kind: [kind[1]!, kind[0]!] } : null;
    case 9:
      return rank > 0 ? { t: bounded(pick(2) === 0 ? t.cumsum(axis) : t.tanh().cumprod(axis)), kind } : null;
    case 10:
      return rank > 0 && isFree(kind[axis]!)
        ? { t: dx.cat([t, t], axis), kind: kind.map((k, i) => (i === axis ? 2 * (k as number) : k)) }
        : null;
    case 11:
      return rank > 0 ? { t: t.div(t.shape[axis]!).add(t.size), kind } : null;
    case 12: {
      if (rank === 0) return null;
      const chosen = t.argmax(axis, { keepDims: true });
      return { t: dx.gather(t, axis, chosen), kind: kind.map((k, i) => (i === axis ? 1 : k)) };
    }
    case 13:
      return kind.at(-1) === 3 ? { t: dx.layerNorm(t, [3]), kind } : null;
    case 14:
      return rank === 2 && isFree(kind[1]!) && !isFree(kind[0]!)
        ? { t: dx.batchNorm(t, null, null, null, null, { training: true }), kind }
        : null;
    case 15:
      return { t: dx.where(t.gt(0), t, t.mul(-0.5)), kind };
    case 16:
      return rank > 0 ? { t: t.argmax(axis).to("float32"), kind: without(kind, axis) } : null;
    case 17: {
      if (rank !== 2 || kind[1] !== 3) return null;
      const scores = t.tanh().matmul(t.tanh().transpose(0, 1));
      return { t: scores.softmax(pick(2)).matmul(t), kind };
    }
    case 18: {
      if (rank === 0) return null;
      const line = dx.arange(t.shape[axis]!, { dtype: "float32" });
      const shape = kind.map((_, i) => (i === axis ? t.shape[axis]! : 1));
      return { t: t.add(line.reshape(shape)).add(dx.full([...t.shape], 0.25)), kind };
    }
    case 19: {
      const copy = t.clone();
      copy.mul_(0.5).add_(t);
      return { t: copy, kind };
    }
    default:
      return rank > 0 && rank < 4
        ? {
            t: t.unsqueeze(axis).expand([...t.shape.slice(0, axis), 2, ...t.shape.slice(axis)]),
            kind: [...kind.slice(0, axis), 2, ...kind.slice(axis)],
          }
        : null;
  }
}

export interface Program {
  /** Gives some results, and the gradients of the weight and of x of a loss of the last one. */
  run(x: dx.Tensor, y: dx.Tensor, weight: dx.Tensor): dx.Tensor[];
}

export function programOf(choices: readonly number[]): Program {
  return {
    run(x, y, weight) {
      let at = 0;
      const pick = (n: number): number => (n === 0 ? 0 : choices[at++ % choices.length]! % n);
      const held: Held[] = [
        { t: x, kind: ["n", 3] },
        { t: y, kind: ["n"] },
        { t: weight, kind: [3, 3] },
      ];
      for (let i = 0; i < 6; i++) {
        const made = step(held.slice(-4), weight, pick);
        if (made !== null) held.push(made);
      }
      const results = held.slice(-3).map((h) => h.t);
      const loss = results.map((t) => t.square().mean()).reduce((a, b) => a.add(b));
      const wanted = [x, weight].filter((t) => t.requiresGrad);
      const grads = loss.requiresGrad ? dx.grad(loss, wanted, { allowUnused: true }) : [];
      return [...results, loss, ...grads.flatMap((g) => g ?? [])].map((t) => t.detach());
    },
  };
}
