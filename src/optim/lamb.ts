/** LAMB: Adam's step with its length set by that of the parameter, for large batches. */
import { correction, cycledCorrection, steps } from "./clock.ts";
import type { Expr } from "../graph/graph.ts";
import { checkAtLeast0, checkBetas, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { movedBy, rule, type Quantities, type Rule } from "./rule.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of lamb(). */
export interface LAMBOptions extends BaseOptions {
  /** Decay of the averages of the gradient and of its square. The first may change from step to step, as schedules cycle it. */
  betas: readonly [number, number];
  /** Added to the root of the corrected average of squares. */
  eps: number;
  /** Added to the step, times the parameter. */
  weightDecay: number;
  /** Climb instead of descending. */
  maximize: boolean;
}

interface Fixed extends Omit<LAMBOptions, "lr" | "betas"> {
  readonly beta2: number;
}

/** The Euclidean norm of all elements: one element. Padding is 0 and counts nothing. */
const norm = ({ one, f }: Quantities, x: Expr): Expr => {
  const output = { sizes: x.sizes.map(() => 1), dtype: x.dtype };
  return one.sqrt(f.g.reshape(f.g.reduce(f.mul(x, x), { function: "SUM", output, axes: x.sizes.map((_, i) => i) }), [1]));
};

const lambRule = rule<Fixed>(
  "lamb",
  ({ beta2 }) => [steps, cycledCorrection, correction(beta2)],
  (q, { beta2, eps, weightDecay, maximize }) => {
    const { f, one, wide, rates, counters, state } = q;
    const g = maximize ? f.neg(q.gradient) : q.gradient;
    const m = f.add(f.mul(state[0]!, wide(rates[1]!)), f.mul(g, wide(rates[2]!)));
    const v = f.add(f.mul(state[1]!, beta2), f.mul(f.mul(g, g), 1 - beta2));
    const ratio = f.div(f.div(m, wide(counters[1]!)), f.add(f.sqrt(f.div(v, wide(counters[2]!))), eps));
    const step = weightDecay === 0 ? ratio : f.add(ratio, f.mul(q.p, weightDecay));
    const [length, stepLength] = [norm(q, q.p), norm(q, step)];
    // A parameter of zeros, and a step of none, take the step as it is.
    const isNone = one.or(one.eq(length, 0), one.eq(stepLength, 0));
    const trust = one.where(isNone, 1, one.div(length, one.where(isNone, 1, stepLength)));
    return [movedBy(q, q.p, step, one.mul(rates[0]!, trust)), m, v];
  },
);

/**
 * r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weightDecay p; p <- p - lr |p| / |r| r, with m and v as Adam's. The norms are of each parameter, so that each is a
 * program's operation of its own; 1 stands for |p| / |r| where one of them is 0.
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-6, weightDecay 0. Reference: You et al., Large Batch Optimization for Deep Learning, 2020, algorithm 2.
 */
export class LAMB extends Optimizer<LAMBOptions> {
  protected get rule(): Rule {
    return lambRule;
  }

  protected override get isPerParameter(): boolean {
    return true;
  }

  constructor(params: ParametersInput<LAMBOptions>, lr?: number | Partial<LAMBOptions>, options?: Partial<LAMBOptions>) {
    super(
      "LAMB",
      params,
      withDefaults(
        { lr: 1e-3, betas: [0.9, 0.999], eps: 1e-6, weightDecay: 0, maximize: false },
        byPosition("LAMB", ["lr"], [lr, options]),
      ),
    );
  }

  protected stateNames(): readonly string[] {
    return ["exp_avg", "exp_avg_sq"];
  }

  protected checkOptions(o: LAMBOptions): void {
    checkBetas("LAMB", o.betas);
    checkAtLeast0("LAMB", o, "eps", "weightDecay");
  }

  protected override rates({ lr, betas }: LAMBOptions): readonly number[] {
    return [lr, betas[0], 1 - betas[0]];
  }

  protected fixed({ betas, eps, weightDecay, maximize }: LAMBOptions): Fixed {
    return { eps, weightDecay, maximize, beta2: betas[1] };
  }
}

export const lamb = (params: ParametersInput<LAMBOptions>, lr?: number | Partial<LAMBOptions>, options?: Partial<LAMBOptions>): LAMB =>
  new LAMB(params, lr, options);
