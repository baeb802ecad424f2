/** NAdam: Adam with Nesterov's momentum. */
import type { Expr } from "../graph/graph.ts";
import type { Formula } from "../ops/elementwise/formula.ts";
import { correction, steps, type Counter } from "./clock.ts";
import { checkAtLeast0, checkBetas, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { decayed, descent, rule, type Rule } from "./rule.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of nadam(). Reference: torch.optim.NAdam. */
export interface NAdamOptions extends BaseOptions {
  /** Decay of the averages of the gradient and of its square. The first may change from step to step. */
  betas: readonly [number, number];
  /** Added to the root of the corrected average of squares. */
  eps: number;
  /** Added to the gradient, times the parameter; with decoupledWeightDecay the parameter shrinks by lr times it. */
  weightDecay: number;
  /** How fast the momentum grows to beta1: it is beta1 * (1 - 0.96^(t * momentumDecay) / 2). */
  momentumDecay: number;
  /** Decay shrinks the parameter itself instead of being added to the gradient. */
  decoupledWeightDecay: boolean;
  /** Climb instead of descending. */
  maximize: boolean;
}

interface Fixed extends Omit<NAdamOptions, "lr" | "betas"> {
  readonly beta2: number;
}

/** The momentum of step t. */
const momentumAt = (one: Formula, t: Expr, beta1: Expr, momentumDecay: number): Expr =>
  one.mul(beta1, one.affine(one.exp(one.mul(t, momentumDecay * Math.log(0.96))), -0.5, 1));

/** The product of the momenta so far. */
const product = (momentumDecay: number): Counter => ({
  name: "mu_product",
  start: (n, rates) => {
    let all = 1;
    for (let t = 1; t <= n && all > 0; t++) all *= rates[1]! * (1 - 0.5 * 0.96 ** (t * momentumDecay));
    return all;
  },
  next: (f, before, moment) => f.mul(before, momentumAt(f, moment.steps, moment.rates[1]!, momentumDecay)),
});

const nadamRule = rule<Fixed>(
  "nadam",
  ({ beta2, momentumDecay }) => [steps, product(momentumDecay), correction(beta2)],
  (q, o) => {
    const { f, one, wide, rates } = q;
    const [t, muProduct, correction2] = q.counters;
    const [first, second] = q.state;
    const d = descent(q, o.decoupledWeightDecay ? { ...o, weightDecay: 0 } : o);
    const w = o.decoupledWeightDecay ? decayed(q, o.weightDecay) : q.p;
    const mu = momentumAt(one, t!, rates[1]!, o.momentumDecay);
    const muNext = momentumAt(one, one.add(t!, 1), rates[1]!, o.momentumDecay);
    const m = f.add(f.mul(first!, wide(rates[1]!)), f.mul(d, wide(rates[2]!)));
    const v = f.add(f.mul(second!, o.beta2), f.mul(f.mul(d, d), 1 - o.beta2));
    // Numerator and denominator both times sqrt(1 - beta2^t), so that no element is divided by it.
    const root = one.sqrt(correction2!);
    const rate = one.mul(rates[0]!, root);
    const ofGradient = one.div(one.mul(rate, one.sub(1, mu)), one.sub(1, muProduct!));
    const ofAverage = one.div(one.mul(rate, muNext), one.sub(1, one.mul(muProduct!, muNext)));
    const denominator = f.add(f.sqrt(v), wide(one.mul(root, o.eps)));
    const step = f.add(f.mul(d, wide(ofGradient)), f.mul(m, wide(ofAverage)));
    return [f.sub(w, f.div(step, denominator)), m, v];
  },
);

/**
 * Adam with mu_t = beta1 * (1 - 0.96^(t * momentumDecay) / 2): p <- p - lr * ((1 - mu_t) g / (1 - Π mu) + mu_(t+1) m / (1 - Π mu * mu_(t+1)))
 * / (sqrt(v / (1 - beta2^t)) + eps). Defaults: lr 2e-3, betas [0.9, 0.999], eps 1e-8, momentumDecay 4e-3. Reference: torch.optim.NAdam.
 */
export class NAdam extends Optimizer<NAdamOptions> {
  protected get rule(): Rule {
    return nadamRule;
  }

  constructor(params: ParametersInput<NAdamOptions>, lr?: number | Partial<NAdamOptions>, options?: Partial<NAdamOptions>) {
    const defaults: NAdamOptions = {
      lr: 2e-3,
      betas: [0.9, 0.999],
      eps: 1e-8,
      weightDecay: 0,
      momentumDecay: 4e-3,
      decoupledWeightDecay: false,
      maximize: false,
    };
    super("NAdam", params, withDefaults(defaults, byPosition("NAdam", ["lr"], [lr, options])));
  }

  protected stateNames(): readonly string[] {
    return ["exp_avg", "exp_avg_sq"];
  }

  protected checkOptions(o: NAdamOptions): void {
    checkBetas("NAdam", o.betas);
    checkAtLeast0("NAdam", o, "eps", "weightDecay", "momentumDecay");
  }

  protected override rates({ lr, betas }: NAdamOptions): readonly number[] {
    return [lr, betas[0], 1 - betas[0]];
  }

  protected fixed({ lr: _, betas, ...o }: NAdamOptions): Fixed {
    return { ...o, beta2: betas[1] };
  }
}

export const nadam = (params: ParametersInput<NAdamOptions>, lr?: number | Partial<NAdamOptions>, options?: Partial<NAdamOptions>): NAdam =>
  new NAdam(params, lr, options);
