/** Ranges of a storage that a compiled function writes one after the other: they are joined once, and a range alone is read without a join. */
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";

/** A generator of integers below n (Park and Miller). */
function numbers(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (state * 48271) % 2147483647;
    return state % n;
  };
}

describe.each(devices)("written ranges on %s", (device) => {
  /** What each of three calls gives and leaves in `state`. */
  const runs = (fn: (state: dx.Tensor, x: dx.Tensor) => readonly dx.Tensor[], compiled: boolean): unknown[] => {
    const state = dx.arange(24, { device, dtype: "float32" });
    const body = (x: dx.Tensor): readonly dx.Tensor[] => fn(state, x);
    const call = compiled ? dx.compile(body) : body;
    return [1, 2, 3].map((n) => {
      const x = dx.arange(24, { device, dtype: "float32" }).mul(n);
      return [...call(x), state].map((t) => t.toArraySync());
    });
  };
  const agrees = (fn: Parameters<typeof runs>[0]): void => expect(runs(fn, true)).toEqual(runs(fn, false));

  it("are read alone, together, across their edges and from what was written over", () => {
    agrees((state, x) => {
      state.narrow(0, 4, 4).copy_(x.narrow(0, 0, 4));
      state.narrow(0, 12, 8).add_(x.narrow(0, 8, 8));
      const alone = state.narrow(0, 13, 3).mul(2);
      const untouched = state.narrow(0, 8, 4).add(1);
      const across = state.narrow(0, 6, 8).mul(3);
      state.narrow(0, 4, 4).mul_(2);
      state.narrow(0, 6, 4).sub_(1);
      return [alone, untouched, across, state.sum()];
    });
  });

  it("are followed by writes of all, and of every second element", () => {
    agrees((state, x) => {
      state.narrow(0, 0, 8).copy_(x.narrow(0, 4, 8));
      state.reshape(12, 2).select(1, 1).mul_(3);
      state.narrow(0, 8, 4).fill_(7);
      const before = state.clone();
      state.copy_(x);
      state.narrow(0, 20, 4).add_(1);
      return [before];
    });
  });

  it("agree with eager calls in any order of writes and reads", () => {
    for (let seed = 1; seed <= 12; seed++) {
      agrees((state, x) => {
        const next = numbers(seed);
        const results: dx.Tensor[] = [];
        for (let i = 0; i < 14; i++) {
          const [size, from] = [1 + next(8), next(17)];
          const part = state.narrow(0, from, size);
          const kind = next(5);
          if (kind === 0) results.push(part.mul(2));
          else if (kind === 1) part.copy_(x.narrow(0, next(17), size));
          else if (kind === 2) part.add_(state.narrow(0, next(17), size).clone());
          else if (kind === 3) part.mul_(0.5);
          else if (size % 2 === 0)
            part
              .reshape(2, size / 2)
              .transpose(0, 1)
              .add_(1);
        }
        return results;
      });
    }
  });

  it("of an optimizer's state are joined once, where parameters lie in tensors of others", () => {
    const values = Array.from({ length: 6 }, (_, i) => dx.full([3 + i], i + 1, { device }));
    const make = (): { step: (x: dx.Tensor) => dx.Tensor; parameters: dx.nn.Parameter[]; held: dx.Tensor[] } => {
      const held = values.map((v) => v.clone()); // alive, so that the optimizer leaves the parameters where they are
      const parameters = held.map((v) => new dx.nn.Parameter(v));
      const optimizer = dx.optim.sgd(parameters, { lr: 0.1, momentum: 0.9 });
      const step = (x: dx.Tensor): dx.Tensor => {
        const loss = parameters
          .map((p) => p.mul(p).sum())
          .reduce((a, b) => dx.add(a, b))
          .mul(x);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      };
      return { step, parameters, held };
    };
    const [eager, other] = [make(), make()];
    const compiled = dx.compile(other.step);
    for (const n of [1, 0.5, 2, 1]) {
      const x = dx.tensor(n, { device, dtype: "float32" });
      expect(compiled(x).toArraySync()).toBeCloseTo(Number(eager.step(x).toArraySync()), 3);
    }
    other.parameters.forEach((p, i) => {
      const wanted = eager.parameters[i]!.toArraySync() as number[];
      (p.toArraySync() as number[]).forEach((v, j) => expect(v).toBeCloseTo(wanted[j]!, 5));
    });
    const joins = compiled.explain().nodes.filter((n) => n.operator === "JOIN");
    expect(joins.length).toBeLessThanOrEqual(1);
    expect(other.held).toHaveLength(6);
  });
});
