/** Lookahead: slow weights that follow those of another optimizer. */
import { noGrad } from "../autograd/grad-mode.ts";
import { define } from "../core/definition.ts";
import { ValueError } from "../core/errors.ts";
import { keep, outsideScopes } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { assign, dispatch } from "../dispatch/dispatch.ts";
import { cast } from "../ops/declare/support.ts";
import { Formula } from "../ops/elementwise/formula.ts";
import { zeros } from "../ops/creation/creation.ts";
import { copyInto } from "../ops/data/copy.ts";
import { clone } from "../ops/data/state.ts";
import { add } from "../ops/elementwise/binary.ts";
import type { BaseOptions, OptimizerState } from "./group.ts";
import type { Optimizer } from "./optimizer.ts";

/** Options of lookahead(). */
export interface LookaheadOptions {
  /** Steps between two of the slow weights. Default: 5. */
  readonly k?: number | undefined;
  /** How far the slow weights go towards the fast ones. Default: 0.5. */
  readonly alpha?: number | undefined;
}

/** What stateDict() of Lookahead gives. */
export interface LookaheadState {
  /** The state of the optimizer inside. */
  readonly optimizer: OptimizerState;
  /** The slow weights, by number of the parameter. */
  readonly slow: Readonly<Record<string, Tensor>>;
  /** Steps taken. */
  readonly step: Tensor;
}

/** Parameter and slow weights after a step; the third input counts the steps, with this one. */
const lookaheadOp = define<{ readonly k: number; readonly alpha: number }>({
  name: "lookahead",
  infer: ([p, slow]) => [p!, slow!],
  lower: (g, [p, slow, step], { k, alpha }) => {
    const { dtype, sizes } = p!;
    const f = new Formula(g, "float32", sizes);
    const one = new Formula(
      g,
      "float32",
      sizes.map(() => 1),
    );
    const count = g.reshape(step!, sizes.map(() => 1)); // prettier-ignore
    const rounds = one.floor(one.add(one.div(count, k), 0.5 / k));
    const isDue = g.expand(one.lt(one.sub(count, one.mul(rounds, k)), 0.5), sizes);
    const [fast, before] = [cast(g, p!, "float32"), cast(g, slow!, "float32")];
    const after = f.add(before, f.mul(f.sub(fast, before), alpha));
    return [cast(g, f.where(isDue, after, fast), dtype), cast(g, f.where(isDue, after, before), dtype)];
  },
  grad: null,
});

/**
 * Wraps an optimizer: after every k of its steps slow <- slow + alpha (p - slow), and p <- slow. The slow weights begin as the parameters are when it is made. Schedules take
 * the optimizer inside. Steps are counted on the device, so that a compiled function needs one program. Defaults: k 5, alpha 0.5.
 * Reference: Zhang et al., Lookahead Optimizer: k steps forward, 1 step back, 2019, algorithm 1.
 */
export class Lookahead<O extends BaseOptions = BaseOptions> {
  /** The optimizer inside. */
  readonly optimizer: Optimizer<O>;
  /** Steps between two of the slow weights. */
  readonly k: number;
  /** How far the slow weights go towards the fast ones. */
  readonly alpha: number;
  readonly #slow: readonly (readonly [p: Tensor, slow: Tensor])[];
  readonly #step: Tensor;

  constructor(optimizer: Optimizer<O>, { k = 5, alpha = 0.5 }: LookaheadOptions = {}) {
    if (!Number.isInteger(k) || k < 1) throw new ValueError("Lookahead", "k", "an integer of at least 1", k);
    if (!(alpha >= 0 && alpha <= 1)) throw new ValueError("Lookahead", "alpha", "in [0, 1]", alpha);
    this.optimizer = optimizer;
    this.k = k;
    this.alpha = alpha;
    const params = optimizer.paramGroups.flatMap((g) => g.params);
    this.#slow = noGrad(() => outsideScopes(() => params.map((p) => [p, keep(clone(p.detach()))] as const)));
    this.#step = outsideScopes(() => zeros([], { device: params[0]!.device }));
  }

  /** The groups of the optimizer inside. */
  get paramGroups(): Optimizer<O>["paramGroups"] {
    return this.optimizer.paramGroups;
  }

  /** The first group's learning rate; setting it sets all groups'. */
  get lr(): number {
    return this.optimizer.lr;
  }

  set lr(value: number) {
    this.optimizer.lr = value;
  }

  /** A step of the optimizer inside; every k-th is followed by one of the slow weights. Gives what the closure gives. */
  step<T = undefined>(closure?: () => T): T | undefined {
    const result = this.optimizer.step(closure);
    noGrad(() => {
      assign("Lookahead", this.#step, () => add(this.#step, 1));
      for (const [p, slow] of this.#slow) {
        if (p.size === 0) continue;
        const step = this.#step.device === p.device ? this.#step : this.#step.to(p.device);
        const [fast, next] = dispatch(lookaheadOp, [p, slow, step], { k: this.k, alpha: this.alpha }) as [Tensor, Tensor];
        assign("Lookahead", p, () => fast);
        assign("Lookahead", slow, () => next);
      }
    });
    return result;
  }

  /** Takes the gradients away, or fills them with zeros. */
  zeroGrad(
    options: {
      /** Whether gradients become null; false fills them with zeros. Default: true. */
      readonly setToNull?: boolean;
    } = {},
  ): void {
    this.optimizer.zeroGrad(options);
  }

  /** The state of the optimizer inside, the slow weights and the count of steps (tensors that share the memory here). */
  stateDict(): LookaheadState {
    return {
      optimizer: this.optimizer.stateDict(),
      slow: Object.fromEntries(this.#slow.map(([, slow], i) => [String(i), slow.detach()])),
      step: this.#step.detach(),
    };
  }

  /** Takes over what stateDict() gave. Throws ValueError for a state without a parameter's slow weights. */
  loadStateDict(state: LookaheadState): void {
    this.#slow.forEach((_, i) => {
      if (state.slow[i] === undefined)
        throw new ValueError("Lookahead.loadStateDict", "state", `with slow weights of parameter ${i}`, Object.keys(state.slow));
    });
    this.optimizer.loadStateDict(state.optimizer);
    noGrad(() => {
      this.#slow.forEach(([, slow], i) => {
        copyInto("Lookahead.loadStateDict", slow, state.slow[i]!);
      });
      copyInto("Lookahead.loadStateDict", this.#step, state.step);
    });
  }

  /** Frees the slow weights and the state of the optimizer inside. The parameters stay. */
  dispose(): void {
    for (const [, slow] of this.#slow) slow.dispose();
    this.#step.dispose();
    this.optimizer.dispose();
  }
}

export const lookahead = <O extends BaseOptions>(optimizer: Optimizer<O>, options: LookaheadOptions = {}): Lookahead<O> =>
  new Lookahead(optimizer, options);
