/** Adamax: Adam with the largest gradient in place of the average of squares. */
import { cycledCorrection, steps } from "./clock.ts";
import { checkAtLeast0, checkBetas, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { descent, rule, type Rule } from "./rule.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of adamax(). Reference: torch.optim.Adamax. */
export interface AdamaxOptions extends BaseOptions {
  /** Decay of the average gradient, which may change from step to step, and of the largest one. */
  betas: readonly [number, number];
  /** Added to the size of each gradient. */
  eps: number;
  /** Added to the gradient, times the parameter. */
  weightDecay: number;
  /** Climb instead of descending. */
  maximize: boolean;
}

interface Fixed extends Omit<AdamaxOptions, "lr" | "betas"> {
  readonly beta2: number;
}

const adamaxRule = rule<Fixed>(
  "adamax",
  () => [steps, cycledCorrection],
  (q, o) => {
    const { f, one, wide, rates, counters } = q;
    const [first, largest] = q.state;
    const d = descent(q, o);
    const m = f.add(f.mul(first!, wide(rates[1]!)), f.mul(d, wide(rates[2]!)));
    const u = f.max(f.mul(largest!, o.beta2), f.add(f.abs(d), o.eps));
    return [f.sub(q.p, f.div(f.mul(m, wide(one.div(rates[0]!, counters[1]!))), u)), m, u];
  },
);

/**
 * m <- beta1 m + (1 - beta1) g; u <- max(beta2 u, |g| + eps); p <- p - lr / (1 - beta1^t) * m / u.
 * Defaults: lr 2e-3, betas [0.9, 0.999], eps 1e-8. Reference: torch.optim.Adamax.
 */
export class Adamax extends Optimizer<AdamaxOptions> {
  protected get rule(): Rule {
    return adamaxRule;
  }

  constructor(params: ParametersInput<AdamaxOptions>, lr?: number | Partial<AdamaxOptions>, options?: Partial<AdamaxOptions>) {
    super(
      "Adamax",
      params,
      withDefaults(
        { lr: 2e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0, maximize: false },
        byPosition("Adamax", ["lr"], [lr, options]),
      ),
    );
  }

  protected stateNames(): readonly string[] {
    return ["exp_avg", "exp_inf"];
  }

  protected checkOptions(o: AdamaxOptions): void {
    checkBetas("Adamax", o.betas);
    checkAtLeast0("Adamax", o, "eps", "weightDecay");
  }

  protected override rates({ lr, betas }: AdamaxOptions): readonly number[] {
    return [lr, betas[0], 1 - betas[0]];
  }

  protected fixed({ lr: _, betas, ...o }: AdamaxOptions): Fixed {
    return { ...o, beta2: betas[1] };
  }
}

export const adamax = (
  params: ParametersInput<AdamaxOptions>,
  lr?: number | Partial<AdamaxOptions>,
  options?: Partial<AdamaxOptions>,
): Adamax => new Adamax(params, lr, options);
