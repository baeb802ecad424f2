/** RAdam: Adam whose first steps wait until the average of squares is worth dividing by. */
import { emitExpm1 } from "../ops/elementwise/unary.ts";
import { cycledCorrection, logOf, steps, type Counter } from "./clock.ts";
import { checkAtLeast0, checkBetas, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { decayed, descent, movedBy, rule, type Rule } from "./rule.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of radam(). Reference: torch.optim.RAdam. */
export interface RAdamOptions extends BaseOptions {
  /** Decay of the averages of the gradient and of its square. The first may change from step to step. */
  betas: readonly [number, number];
  /** Added to the root of the average of squares. */
  eps: number;
  /** Added to the gradient, times the parameter; with decoupledWeightDecay the parameter shrinks by lr times it. */
  weightDecay: number;
  /** Decay shrinks the parameter itself instead of being added to the gradient. */
  decoupledWeightDecay: boolean;
  /** Climb instead of descending. */
  maximize: boolean;
}

interface Fixed extends Omit<RAdamOptions, "lr" | "betas"> {
  readonly beta2: number;
}

// The length of the average, 2 / (1 - b) - 1 - 2 t b^t / (1 - b^t), is a difference of large numbers. As 2 E / S - 1, with
// S = Σ b^i and E = Σ (i + 1) b^i for i below t, it is made of sums that grow.
const power = (b: number): Counter => ({
  name: "power2",
  start: (n) => b ** n,
  next: (f, x) => f.mul(x, b),
  recount: (f, { steps: t }) => f.exp(f.mul(t, logOf(b))),
});
const sum = (b: number): Counter => ({
  name: "sum2",
  start: (n) => (1 - b ** n) / (1 - b),
  next: (f, x, { values }) => f.add(x, values[2]!),
  recount: (f, { steps: t }) => f.mul(emitExpm1(f.g, f.mul(t, logOf(b))), -1 / (1 - b)),
});
const weightedSum = (b: number): Counter => ({
  name: "weighted_sum2",
  start: (n) => ((1 - b ** n) / (1 - b) - n * b ** n) / (1 - b),
  next: (f, x, { values, steps: t }) => f.add(x, f.mul(t, values[2]!)),
  recount: (f, moment) => f.mul(f.sub(sum(b).recount!(f, moment), f.mul(moment.steps, power(b).recount!(f, moment))), 1 / (1 - b)),
});

const radamRule = rule<Fixed>(
  "radam",
  ({ beta2 }) => [steps, cycledCorrection, power(beta2), sum(beta2), weightedSum(beta2)],
  (q, o) => {
    const { f, one, wide, rates } = q;
    const [, correction1, , s, e] = q.counters;
    const [first, second] = q.state;
    const d = descent(q, o.decoupledWeightDecay ? { ...o, weightDecay: 0 } : o);
    const w = o.decoupledWeightDecay ? decayed(q, o.weightDecay) : q.p;
    const m = f.add(f.mul(first!, wide(rates[1]!)), f.mul(d, wide(rates[2]!)));
    const v = f.add(f.mul(second!, o.beta2), f.mul(f.mul(d, d), 1 - o.beta2));
    const max = 2 / (1 - o.beta2) - 1;
    const length = one.affine(one.div(e!, s!), 2, -1);
    const isLong = one.gt(length, 5);
    // Where the length is not above 5 the root's argument may be negative; that value is not taken.
    const share = one.div(one.mul(one.mul(one.add(length, -4), one.add(length, -2)), max / ((max - 4) * (max - 2))), length);
    const rectified = one.mul(one.sqrt(one.mul(share, one.mul(s!, 1 - o.beta2))), one.div(rates[0]!, correction1!));
    const adaptive = f.div(f.mul(m, wide(one.where(isLong, rectified, 0))), f.add(f.sqrt(v), o.eps));
    return [f.where(wide(isLong), f.sub(w, adaptive), movedBy(q, w, m, one.div(rates[0]!, correction1!))), m, v];
  },
);

/**
 * Adam once the average of squares has a length above 5, corrected by the variance of what it divides by; before that
 * p <- p - lr * m / (1 - beta1^t). Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8. Reference: torch.optim.RAdam.
 */
export class RAdam extends Optimizer<RAdamOptions> {
  protected get rule(): Rule {
    return radamRule;
  }

  constructor(params: ParametersInput<RAdamOptions>, lr?: number | Partial<RAdamOptions>, options?: Partial<RAdamOptions>) {
    const defaults: RAdamOptions = {
      lr: 1e-3,
      betas: [0.9, 0.999],
      eps: 1e-8,
      weightDecay: 0,
      decoupledWeightDecay: false,
      maximize: false,
    };
    super("RAdam", params, withDefaults(defaults, byPosition("RAdam", ["lr"], [lr, options])));
  }

  protected stateNames(): readonly string[] {
    return ["exp_avg", "exp_avg_sq"];
  }

  protected checkOptions(o: RAdamOptions): void {
    checkBetas("RAdam", o.betas);
    checkAtLeast0("RAdam", o, "eps", "weightDecay");
  }

  protected override rates({ lr, betas }: RAdamOptions): readonly number[] {
    return [lr, betas[0], 1 - betas[0]];
  }

  protected fixed({ lr: _, betas, ...o }: RAdamOptions): Fixed {
    return { ...o, beta2: betas[1] };
  }
}

export const radam = (params: ParametersInput<RAdamOptions>, lr?: number | Partial<RAdamOptions>, options?: Partial<RAdamOptions>): RAdam =>
  new RAdam(params, lr, options);
