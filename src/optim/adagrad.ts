/** Adagrad: gradients divided by the root of the sum of their squares. */
import { steps } from "./clock.ts";
import { checkAtLeast0, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { descent, movedBy, rule, type Rule } from "./rule.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of adagrad(). Reference: torch.optim.Adagrad. */
export interface AdagradOptions extends BaseOptions {
  /** The rate of step t is lr / (1 + (t - 1) * lrDecay). */
  lrDecay: number;
  /** Added to the gradient, times the parameter. */
  weightDecay: number;
  /** What the sums start with. */
  initialAccumulatorValue: number;
  /** Added to the root. */
  eps: number;
  /** Climb instead of descending. */
  maximize: boolean;
}

type Fixed = Omit<AdagradOptions, "lr" | "initialAccumulatorValue">;

const adagradRule = rule<Fixed>(
  "adagrad",
  () => [steps],
  (q, o) => {
    const { f, one } = q;
    const d = descent(q, o);
    const sum = f.add(q.state[0]!, f.mul(d, d));
    const rate = o.lrDecay === 0 ? q.rates[0]! : one.div(q.rates[0]!, one.affine(q.counters[0]!, o.lrDecay, 1 - o.lrDecay));
    return [movedBy(q, q.p, f.div(d, f.add(f.sqrt(sum), o.eps)), rate), sum];
  },
);

/**
 * s <- s + g^2; p <- p - lr / (1 + (t - 1) lrDecay) * g / (sqrt(s) + eps), with g = gradient + weightDecay * p.
 * Defaults: lr 0.01, lrDecay 0, initialAccumulatorValue 0, eps 1e-10. Reference: torch.optim.Adagrad.
 */
export class Adagrad extends Optimizer<AdagradOptions> {
  protected get rule(): Rule {
    return adagradRule;
  }

  constructor(params: ParametersInput<AdagradOptions>, lr?: number | Partial<AdagradOptions>, options?: Partial<AdagradOptions>) {
    super(
      "Adagrad",
      params,
      withDefaults(
        { lr: 0.01, lrDecay: 0, weightDecay: 0, initialAccumulatorValue: 0, eps: 1e-10, maximize: false },
        byPosition("Adagrad", ["lr"], [lr, options]),
      ),
    );
  }

  protected stateNames(): readonly string[] {
    return ["sum"];
  }

  protected override initialState(_: string, o: AdagradOptions): number {
    return o.initialAccumulatorValue;
  }

  protected checkOptions(o: AdagradOptions): void {
    checkAtLeast0("Adagrad", o, "lrDecay", "weightDecay", "initialAccumulatorValue", "eps");
  }

  protected fixed({ lr: _, initialAccumulatorValue: __, ...o }: AdagradOptions): Fixed {
    return o;
  }
}

export const adagrad = (
  params: ParametersInput<AdagradOptions>,
  lr?: number | Partial<AdagradOptions>,
  options?: Partial<AdagradOptions>,
): Adagrad => new Adagrad(params, lr, options);
