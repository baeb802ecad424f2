/** ASGD: averaged gradient descent. */
import { steps, type Counter } from "./clock.ts";
import { checkAtLeast0, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { descent, movedBy, rule, type Rule } from "./rule.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of asgd(). Reference: torch.optim.ASGD. */
export interface ASGDOptions extends BaseOptions {
  /** Decay of the parameters, times the rate. */
  lambd: number;
  /** Power by which the rate falls. */
  alpha: number;
  /** Step from which on the parameters are averaged. */
  t0: number;
  /** Added to the gradient, times the parameter. */
  weightDecay: number;
  /** Climb instead of descending. */
  maximize: boolean;
}

type Fixed = Omit<ASGDOptions, "lr">;

/** The rate of the next step: lr / (1 + lambd * lr * t)^alpha. */
const eta = ({ lambd, alpha }: Fixed): Counter => ({
  name: "eta",
  start: (n, [lr]) => lr! / (1 + lambd * lr! * n) ** alpha,
  next: (f, _, { steps: t, rates }) => f.div(rates[0]!, f.pow(f.affine(f.mul(rates[0]!, t), lambd, 1), alpha)),
});

/** The share of the parameters in the average after the next step: 1 / max(1, t - t0). */
const mu = ({ t0 }: Fixed): Counter => ({
  name: "mu",
  start: (n) => 1 / Math.max(1, n - t0),
  next: (f, _, { steps: t }) => f.div(1, f.max(f.add(t, -t0), 1)),
});

const asgdRule = rule<Fixed>(
  "asgd",
  (o) => [steps, eta(o), mu(o)],
  (q, o) => {
    const { f, one, wide } = q;
    const [, rate, share] = q.counters;
    const kept = o.lambd === 0 ? q.p : f.mul(q.p, wide(one.affine(rate!, -o.lambd, 1)));
    const p = movedBy(q, kept, descent(q, o), rate!);
    const average = q.state[0]!;
    // With a share of 1 the average is p itself, without the rounding of a sum.
    return [p, f.where(wide(one.eq(share!, 1)), p, f.add(average, f.mul(f.sub(p, average), wide(share!))))];
  },
);

/**
 * p <- (1 - lambd * eta) p - eta * g; ax <- ax + mu * (p - ax), with eta = lr / (1 + lambd * lr * t)^alpha and mu = 1 / max(1, t - t0),
 * both of the step before. Defaults: lr 0.01, lambd 1e-4, alpha 0.75, t0 1e6. Reference: torch.optim.ASGD.
 */
export class ASGD extends Optimizer<ASGDOptions> {
  protected get rule(): Rule {
    return asgdRule;
  }
  protected override get ticksAfter(): boolean {
    return true;
  }

  constructor(params: ParametersInput<ASGDOptions>, lr?: number | Partial<ASGDOptions>, options?: Partial<ASGDOptions>) {
    super(
      "ASGD",
      params,
      withDefaults(
        { lr: 0.01, lambd: 1e-4, alpha: 0.75, t0: 1e6, weightDecay: 0, maximize: false },
        byPosition("ASGD", ["lr"], [lr, options]),
      ),
    );
  }

  protected stateNames(): readonly string[] {
    return ["ax"];
  }

  protected checkOptions(o: ASGDOptions): void {
    checkAtLeast0("ASGD", o, "lambd", "alpha", "weightDecay");
  }

  protected fixed({ lr: _, ...o }: ASGDOptions): Fixed {
    return o;
  }
}

export const asgd = (params: ParametersInput<ASGDOptions>, lr?: number | Partial<ASGDOptions>, options?: Partial<ASGDOptions>): ASGD =>
  new ASGD(params, lr, options);
