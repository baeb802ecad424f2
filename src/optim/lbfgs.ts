/** LBFGS: limited-memory BFGS. */
import { inspect } from "node:util";
import { enableGrad, noGrad } from "../autograd/grad-mode.ts";
import { AutogradError, DTypeError, ValueError } from "../core/errors.ts";
import { clearGradient } from "../nn/module-tensors.ts";
import { add, mul, sub } from "../ops/elementwise/binary.ts";
import { zeros } from "../ops/creation/creation.ts";
import { item, itemSync, to, toDType } from "../ops/data/conversion.ts";
import { amax } from "../ops/reduce/extrema.ts";
import { cat } from "../ops/shape/join.ts";
import { dot } from "../ops/matmul/matmul.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";
import { refuseTraced } from "../ops/index/nonzero.ts";
import { clone, detach } from "../ops/data/state.ts";
import { sum } from "../ops/reduce/reduce.ts";
import { abs, neg } from "../ops/elementwise/unary.ts";
import { outsideScopes, scope } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { strongWolfe, type Point, type Reading } from "./line-search.ts";
import { checkAtLeast0, settingsText, withDefaults } from "./options.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of lbfgs(). Reference: torch.optim.LBFGS. */
export interface LBFGSOptions {
  /** Default: 1. */
  lr: number;
  /** Directions that one step takes at most. Default: 20. */
  maxIter: number;
  /** Evaluations of the loss in one step at most; null: 5/4 of maxIter. Default: null. */
  maxEval: number | null;
  /** A step ends when no element of the gradient is greater. Default: 1e-7. */
  toleranceGrad: number;
  /** A step ends when the parameters or the loss change by less. Default: 1e-9. */
  toleranceChange: number;
  /** Differences of gradients that are kept. Default: 100. */
  historySize: number;
  /** "strongWolfe": how far to go along a direction is searched for. Default: null, by lr. */
  lineSearchFn: "strongWolfe" | "strong_wolfe" | null;
  /** @deprecated Use lineSearchFn. */
  lineSearch?: "strongWolfe" | "strong_wolfe" | null;
}

/** What LBFGS.stateDict() gives: PyTorch's names in camelCase. */
export interface LBFGSState {
  /** The options. */
  readonly options: Readonly<LBFGSOptions>;
  /** Directions taken. */
  readonly nIter: number;
  /** Evaluations of the loss. */
  readonly funcEvals: number;
  /** The last direction; null before the first step. */
  readonly d: Tensor | null;
  /** How far the last step went along it. */
  readonly t: number;
  /** The gradient before the last step; null before the first. */
  readonly prevFlatGrad: Tensor | null;
  /** The loss before the last step. */
  readonly prevLoss: number;
  /** Differences of gradients, the oldest first. */
  readonly oldDirs: readonly Tensor[];
  /** Changes of the parameters with these. */
  readonly oldStps: readonly Tensor[];
  /** 1 over the product of each difference and change. */
  readonly ro: readonly number[];
  /** The diagonal of the first approximation of the inverse Hessian. */
  readonly hDiag: number;
}

/** Computes the gradients again and returns the loss. */
export type Closure = () => Tensor;

/** What is known from earlier steps. */
interface Memory {
  directions: number;
  evaluations: number;
  d: Tensor | null;
  t: number;
  gradient: Tensor | null;
  loss: number;
  readonly differences: { readonly y: Tensor; readonly s: Tensor; readonly ro: number }[];
  scale: number;
}

/**
 * Minimises by the two-loop recursion over the last `historySize` changes of gradients and parameters. One group of float32 parameters on
 * one device. A step evaluates the loss several times and reads numbers back, so it takes a closure, which computes the gradients again, and is
 * no part of a compiled function (the closure may call one). Reference: torch.optim.LBFGS.
 */
export class LBFGS {
  /** The parameters, in the order in which they were passed. */
  readonly params: readonly Tensor[];
  /** The options passed to the constructor. */
  readonly options: LBFGSOptions;
  #memory: Memory = LBFGS.#empty();

  static #empty(): Memory {
    return { directions: 0, evaluations: 0, d: null, t: 1, gradient: null, loss: 0, differences: [], scale: 1 };
  }

  constructor(params: Iterable<Tensor>, lr?: number | Partial<LBFGSOptions>, options?: Partial<LBFGSOptions>) {
    this.params = [...params];
    this.options = withDefaults(
      { lr: 1, maxIter: 20, maxEval: null, toleranceGrad: 1e-7, toleranceChange: 1e-9, historySize: 100, lineSearchFn: null },
      byPosition("LBFGS", ["lr"], [lr, options]),
    );

    const { maxIter, maxEval, historySize, lineSearchFn: lineSearch } = this.options;
    checkAtLeast0("LBFGS", this.options, "lr", "toleranceGrad", "toleranceChange");
    for (const [name, value] of Object.entries({ maxIter, historySize, ...(maxEval === null ? {} : { maxEval }) }))
      if (!Number.isInteger(value) || value < 1) throw new ValueError("LBFGS", name, "an integer of at least 1", value);
    if (lineSearch !== null && lineSearch !== "strongWolfe")
      throw new ValueError("LBFGS", "lineSearchFn", 'null or "strongWolfe"', lineSearch);
    if (this.params.length === 0) throw new ValueError("LBFGS", "params", "at least one parameter", "none");
    this.params.forEach((p, i) => {
      if (!(p instanceof Tensor)) throw new DTypeError("LBFGS", `params[${i}]`, "a tensor", p);
      if (p.dtype !== "float32") throw new DTypeError("LBFGS", `params[${i}]`, "of float32", p.describe());
      if (p.device !== this.params[0]!.device)
        throw new ValueError("LBFGS", `params[${i}]`, `on ${this.params[0]!.device}, as the first`, p.device);
      if (!p.isLeaf)
        throw new AutogradError({
          operation: "LBFGS",
          argument: `params[${i}]`,
          expected: "a leaf",
          received: `${p.describe()} made by an operation`,
        });
    });
  }

  /** The settings, as console.log shows them. */
  toString(): string {
    return settingsText("LBFGS", [{ ...this.options }]);
  }

  /** @internal */
  [inspect.custom](): string {
    return this.toString();
  }

  /** The learning rate: how long a step is along the direction, where no line search finds it. Throws ValueError below 0. */
  get lr(): number {
    return this.options.lr;
  }

  set lr(value: number) {
    if (!(value >= 0)) throw new ValueError("LBFGS", "lr", "at least 0", value);
    this.options.lr = value;
  }

  /** One step; the loss before it. Waits for the numbers that it reads. */
  async step(closure: Closure): Promise<number> {
    const run = this.#begin("LBFGS.step", closure);
    let next = run.next();
    while (next.done !== true) {
      const value = await item(next.value);
      next.value.dispose();
      next = run.next(value);
    }
    return next.value;
  }

  /** step(), blocking for the numbers that it reads. */
  stepSync(closure: Closure): number {
    const run = this.#begin("LBFGS.stepSync", closure);
    let next = run.next();
    while (next.done !== true) {
      const value = itemSync(next.value);
      next.value.dispose();
      next = run.next(value);
    }
    return next.value;
  }

  #begin(operation: string, closure: Closure): Reading<number> {
    refuseTraced(operation, null, "Compile what the closure does instead.");
    return this.#run(closure);
  }

  /** Tensors of the optimizer's own, made without a tape. */
  #make<T>(fn: () => T): T {
    return outsideScopes(() => noGrad(() => scope(fn)));
  }

  #gradient(): Tensor {
    return this.#make(() =>
      cat(
        this.params.map((p) =>
          p.grad === null ? zeros([p.size], { dtype: p.dtype, device: p.device }) : reshape(detach(p.grad), [p.size]),
        ),
        0,
      ),
    );
  }

  #position(): Tensor {
    return this.#make(() =>
      cat(
        this.params.map((p) => reshape(detach(p), [p.size])),
        0,
      ),
    );
  }

  #writeParameters(flat: Tensor): void {
    this.#make(() => {
      let at = 0;
      for (const p of this.params) {
        p.copy_(reshape(narrow(flat, 0, at, p.size), p.shape));
        at += p.size;
      }
    });
  }

  /** The loss and the gradient where the parameters are. */
  *#evaluate(closure: Closure): Reading<{ f: number; g: Tensor }> {
    const loss: unknown = enableGrad(closure);
    if (!(loss instanceof Tensor) || loss.size !== 1)
      throw new ValueError("LBFGS.step", "closure", "a function that returns the loss, a tensor of one element", loss);
    const f = yield this.#make(() => clone(toDType(detach(loss), "float32")));
    return { f, g: this.#gradient() };
  }

  /** The direction from here, and what was learned from the last one. */
  *#direction(g: Tensor): Reading<Tensor> {
    const m = this.#memory;
    if (m.d === null || m.gradient === null) return this.#make(() => neg(g));
    const { d: last, gradient } = m;
    const y = this.#make(() => sub(g, gradient));
    const s = this.#make(() => mul(last, m.t));
    const ys = yield this.#make(() => dot(y, s));
    if (ys > 1e-10) {
      if (m.differences.length === this.options.historySize) {
        const oldest = m.differences.shift()!;
        oldest.y.dispose();
        oldest.s.dispose();
      }
      m.differences.push({ y, s, ro: 1 / ys });
      m.scale = ys / (yield this.#make(() => dot(y, y)));
    } else {
      y.dispose();
      s.dispose();
    }
    const list = m.differences;
    const shares = new Array<number>(list.length);
    let q = this.#make(() => neg(g));
    const move = (along: Tensor, by: number): void => {
      const next = this.#make(() => add(q, mul(along, by)));
      q.dispose();
      q = next;
    };
    for (let i = list.length - 1; i >= 0; i--) {
      shares[i] = (yield this.#make(() => dot(list[i]!.s, q))) * list[i]!.ro;
      move(list[i]!.y, -shares[i]!);
    }
    const scaled = this.#make(() => mul(q, m.scale));
    q.dispose();
    q = scaled;
    for (let i = 0; i < list.length; i++) {
      const back: number = (yield this.#make(() => dot(list[i]!.y, q))) * list[i]!.ro;
      move(list[i]!.s, shares[i]! - back);
    }
    return q;
  }

  *#run(closure: Closure): Reading<number> {
    const { maxIter, toleranceGrad, toleranceChange, lineSearchFn: lineSearch } = this.options;
    const maxEval = this.options.maxEval ?? Math.floor((maxIter * 5) / 4);
    const m = this.#memory;
    const largestOf = (x: Tensor): Tensor => this.#make(() => amax(abs(x)));
    let { f: loss, g } = yield* this.#evaluate(closure);
    const first = loss;
    let evaluations = 1;
    m.evaluations++;
    if ((yield largestOf(g)) <= toleranceGrad) {
      g.dispose();
      return first;
    }
    for (let i = 1; i <= maxIter; i++) {
      m.directions++;
      const d = yield* this.#direction(g);
      m.d?.dispose();
      m.d = d;
      m.gradient?.dispose();
      m.gradient = this.#make(() => clone(g));
      m.loss = loss;
      m.t = this.lr;
      if (m.directions === 1) m.t *= Math.min(1, 1 / (yield this.#make(() => sum(abs(g)))));
      const slope = yield this.#make(() => dot(g, d));
      if (slope > -toleranceChange) break;
      const start = this.#position();
      const moveTo = (t: number): void => {
        const next = this.#make(() => add(start, mul(d, t)));
        this.#writeParameters(next);
        next.dispose();
      };
      let used = 0;
      if (lineSearch === "strongWolfe") {
        const made: Tensor[] = [];
        const evaluate = function* (this: LBFGS, t: number): Reading<Point> {
          moveTo(t);
          const at = yield* this.#evaluate(closure);
          made.push(at.g);
          return { t, f: at.f, g: at.g, slope: yield this.#make(() => dot(at.g, d)) };
        }.bind(this);
        const from: Point = { t: 0, f: loss, g, slope };
        const { point, evaluations: n } = yield* strongWolfe(evaluate, from, m.t, yield largestOf(d), toleranceChange);
        [used, loss, m.t] = [n, point.f, point.t];
        moveTo(m.t);
        for (const t of [g, ...made]) if (t !== point.g) t.dispose();
        g = point.g;
      } else {
        moveTo(m.t);
        if (i < maxIter) {
          g.dispose();
          ({ f: loss, g } = yield* this.#evaluate(closure));
          used = 1;
        }
      }
      start.dispose();
      evaluations += used;
      m.evaluations += used;
      if (i === maxIter || evaluations >= maxEval) break;
      if ((yield largestOf(g)) <= toleranceGrad) break;
      if (Math.abs(m.t) * (yield largestOf(d)) <= toleranceChange || Math.abs(loss - m.loss) < toleranceChange) break;
    }
    g.dispose();
    return first;
  }

  /** Takes the gradients away, or fills them with zeros. */
  zeroGrad({
    setToNull = true,
  }: {
    /** Whether gradients become null; false fills them with zeros. Default: true. */
    readonly setToNull?: boolean;
  } = {}): void {
    for (const p of this.params) clearGradient(p, setToNull);
  }

  /** What earlier steps left, with the options; the tensors share the optimizer's storage. Reference: torch.optim.Optimizer.state_dict. */
  stateDict(): LBFGSState {
    const { directions, evaluations, d, t, gradient, loss, differences, scale } = this.#memory;
    const shared = (own: Tensor): Tensor => new Tensor(own.storage, own.desc, own.offset);
    return {
      options: { ...this.options },
      nIter: directions,
      funcEvals: evaluations,
      d: d === null ? null : shared(d),
      t,
      prevFlatGrad: gradient === null ? null : shared(gradient),
      prevLoss: loss,
      oldDirs: differences.map(({ y }) => shared(y)),
      oldStps: differences.map(({ s }) => shared(s)),
      ro: differences.map(({ ro }) => ro),
      hDiag: scale,
    };
  }

  /** Takes over what stateDict() gave, for as many parameters. Throws ValueError for what is no state, or one of other parameters. */
  loadStateDict(state: LBFGSState): void {
    const size = this.params.reduce((n, p) => n + p.size, 0);
    const { options, nIter, funcEvals, d, t, prevFlatGrad, prevLoss, oldDirs, oldStps, ro, hDiag } = state;
    const bad = (argument: string, expected: string, received: unknown): ValueError =>
      new ValueError("LBFGS.loadStateDict", argument, expected, received);
    for (const [name, list] of Object.entries({ oldDirs, oldStps, ro })) if (!Array.isArray(list)) throw bad(name, "a list", list);
    if (oldDirs.length !== ro.length || oldStps.length !== ro.length) throw bad("oldDirs", `as many as ro (${ro.length})`, oldDirs.length);
    const tensors: [string, unknown][] = [
      ["d", d],
      ["prevFlatGrad", prevFlatGrad],
    ];
    for (const one of oldDirs) tensors.push(["oldDirs", one]);
    for (const one of oldStps) tensors.push(["oldStps", one]);
    for (const [name, one] of tensors)
      if (one !== null && !(one instanceof Tensor && one.rank === 1 && one.size === size && one.dtype === "float32"))
        throw bad(name, `float32[${size}], one number for each of the parameters`, one);
    for (const [name, value] of Object.entries({ nIter, funcEvals, t, prevLoss, hDiag }))
      if (typeof value !== "number") throw bad(name, "a number", value);
    const { device } = this.params[0]!;
    const own = (one: Tensor): Tensor =>
      this.#make(() => {
        const moved = to(one, device);
        return moved === one ? clone(one) : moved;
      });
    const memory: Memory = {
      directions: nIter,
      evaluations: funcEvals,
      d: d === null ? null : own(d),
      t,
      gradient: prevFlatGrad === null ? null : own(prevFlatGrad),
      loss: prevLoss,
      differences: ro.map((one, i) => ({ y: own(oldDirs[i]!), s: own(oldStps[i]!), ro: one })),
      scale: hDiag,
    };
    this.dispose();
    Object.assign(this.options, options);
    this.#memory = memory;
  }

  /** How many directions were taken, and how often the loss was evaluated. */
  get counts(): { readonly directions: number; readonly evaluations: number } {
    return { directions: this.#memory.directions, evaluations: this.#memory.evaluations };
  }

  /** Frees what earlier steps left. The parameters stay. */
  dispose(): void {
    const { d, gradient, differences } = this.#memory;
    d?.dispose();
    gradient?.dispose();
    for (const { y, s } of differences) {
      y.dispose();
      s.dispose();
    }
    this.#memory = LBFGS.#empty();
  }
}

export const lbfgs = (params: Iterable<Tensor>, lr?: number | Partial<LBFGSOptions>, options?: Partial<LBFGSOptions>): LBFGS =>
  new LBFGS(params, lr, options);
