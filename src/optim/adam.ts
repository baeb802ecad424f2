/** Adam and AdamW. */
import { adamShader } from "../shader/kernels/select.ts";
import { correction, cycledCorrection, steps } from "./clock.ts";
import { checkAtLeast0, checkBetas, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { decayed, descent, rule, type Rule } from "./rule.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of adam() and adamW(). Reference: torch.optim.Adam. */
export interface AdamOptions extends BaseOptions {
  /** Decay of the averages of the gradient and of its square. The first may change from step to step, as schedules cycle it. */
  betas: readonly [number, number];
  /** Added to the root of the corrected average of squares. */
  eps: number;
  /** Adam adds it times the parameter to the gradient, AdamW shrinks the parameter by lr times it. */
  weightDecay: number;
  /** Divide by the largest average of squares so far. */
  amsgrad: boolean;
  /** Climb instead of descending. */
  maximize: boolean;
}

interface Fixed extends Omit<AdamOptions, "lr" | "betas"> {
  readonly beta2: number;
  /** Decay shrinks the parameter itself (AdamW) instead of being added to the gradient. */
  readonly decoupled: boolean;
}

const adamRule = rule<Fixed>(
  "adam",
  ({ beta2 }) => [steps, cycledCorrection, correction(beta2)],
  (q, o) => {
    const { f, one, wide, rates, counters } = q;
    const [first, second, largest] = q.state;
    const d = descent(q, o.decoupled ? { ...o, weightDecay: 0 } : o);
    const w = o.decoupled ? decayed(q, o.weightDecay) : q.p;
    const m = f.add(f.mul(first!, wide(rates[1]!)), f.mul(d, wide(rates[2]!)));
    const v = f.add(f.mul(second!, o.beta2), f.mul(f.mul(d, d), 1 - o.beta2));
    const peak = o.amsgrad ? f.max(largest!, v) : v;
    // Numerator and denominator both times sqrt(1 - beta2^t), so that no element is divided by it.
    const root = one.sqrt(counters[2]!);
    const step = one.div(one.mul(rates[0]!, root), counters[1]!);
    const denominator = f.add(f.sqrt(peak), wide(one.mul(root, o.eps)));
    const moved = f.sub(w, f.div(f.mul(m, wide(step)), denominator));
    return o.amsgrad ? [moved, m, v, peak] : [moved, m, v];
  },
  (g, { p, gradient, rates, counters, state }, { amsgrad, maximize, beta2, eps, weightDecay, decoupled }) => {
    if (amsgrad) return null;
    const decay = { decay: decoupled ? 0 : weightDecay, shrinking: decoupled ? weightDecay : 0 };
    const numbers = { sign: maximize ? -1 : 1, beta2, rest2: 1 - beta2, eps, ...decay };
    return adamShader(g, [p, gradient, state[0]!, state[1]!], [...rates, ...counters.slice(1)], numbers);
  },
);

/**
 * m <- beta1 m + (1 - beta1) g; v <- beta2 v + (1 - beta2) g^2;
 * p <- p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps), with g = gradient + weightDecay * p.
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8, weightDecay 0. Reference: torch.optim.Adam.
 */
export class Adam extends Optimizer<AdamOptions> {
  protected get rule(): Rule {
    return adamRule;
  }
  protected get decoupled(): boolean {
    return false;
  }

  constructor(
    params: ParametersInput<AdamOptions>,
    lr?: number | Partial<AdamOptions>,
    options?: Partial<AdamOptions>,
    name = "Adam",
    weightDecay = 0,
  ) {
    super(
      name,
      params,
      withDefaults(
        { lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay, amsgrad: false, maximize: false },
        byPosition(name, ["lr"], [lr, options]),
      ),
    );
  }

  protected stateNames(o: AdamOptions): readonly string[] {
    return o.amsgrad ? ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"] : ["exp_avg", "exp_avg_sq"];
  }

  protected checkOptions(o: AdamOptions): void {
    checkBetas("Adam", o.betas);
    checkAtLeast0("Adam", o, "eps", "weightDecay");
  }

  protected override rates({ lr, betas }: AdamOptions): readonly number[] {
    return [lr, betas[0], 1 - betas[0]];
  }

  // Field by field: it is called in every step, and what is spread is copied by V8's slow way.
  protected fixed({ betas, eps, weightDecay, amsgrad, maximize }: AdamOptions): Fixed {
    return { eps, weightDecay, amsgrad, maximize, beta2: betas[1], decoupled: this.decoupled };
  }
}

/** Adam whose weight decay shrinks the parameters by lr * weightDecay (default 0.01) instead. Reference: torch.optim.AdamW. */
export class AdamW extends Adam {
  protected override get decoupled(): boolean {
    return true;
  }

  constructor(params: ParametersInput<AdamOptions>, lr?: number | Partial<AdamOptions>, options?: Partial<AdamOptions>) {
    super(params, lr, options, "AdamW", 0.01);
  }
}

export const adam = (params: ParametersInput<AdamOptions>, lr?: number | Partial<AdamOptions>, options?: Partial<AdamOptions>): Adam =>
  new Adam(params, lr, options);
export const adamW = (params: ParametersInput<AdamOptions>, lr?: number | Partial<AdamOptions>, options?: Partial<AdamOptions>): AdamW =>
  new AdamW(params, lr, options);
