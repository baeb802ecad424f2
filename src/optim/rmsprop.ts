/** RMSprop: gradients divided by the root of the average of their squares. */
import { steps } from "./clock.ts";
import { checkAtLeast0, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { descent, movedBy, rule, type Rule } from "./rule.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of rmsprop(). Reference: torch.optim.RMSprop. */
export interface RMSpropOptions extends BaseOptions {
  /** Decay of the average of squares. */
  alpha: number;
  /** Added to the root. */
  eps: number;
  /** Added to the gradient, times the parameter. */
  weightDecay: number;
  /** May change from step to step, as schedules cycle it; 0 leaves the buffer out. */
  momentum: number;
  /** Subtract the square of the average gradient: divide by an estimate of the standard deviation. */
  centered: boolean;
  /** Climb instead of descending. */
  maximize: boolean;
}

interface Fixed extends Omit<RMSpropOptions, "lr" | "momentum"> {
  readonly hasMomentum: boolean;
}

const rmspropRule = rule<Fixed>(
  "rmsprop",
  () => [steps],
  (q, o) => {
    const { f, rates, wide } = q;
    const state = [...q.state];
    const d = descent(q, o);
    const square = f.add(f.mul(state.shift()!, o.alpha), f.mul(f.mul(d, d), 1 - o.alpha));
    const next = [square];
    let variance = square;
    if (o.centered) {
      const average = f.add(f.mul(state.shift()!, o.alpha), f.mul(d, 1 - o.alpha));
      next.push(average);
      variance = f.sub(square, f.mul(average, average));
    }
    const ratio = f.div(d, f.add(f.sqrt(variance), o.eps));
    if (!o.hasMomentum) return [movedBy(q, q.p, ratio, rates[0]!), ...next];
    const buffer = f.add(f.mul(state.shift()!, wide(rates[1]!)), ratio);
    return [movedBy(q, q.p, buffer, rates[0]!), ...next, buffer];
  },
);

/**
 * v <- alpha v + (1 - alpha) g^2; p <- p - lr * g / (sqrt(v) + eps), with g = gradient + weightDecay * p; with momentum a buffer of
 * these quotients replaces them. Defaults: lr 0.01, alpha 0.99, eps 1e-8. Reference: torch.optim.RMSprop.
 */
export class RMSprop extends Optimizer<RMSpropOptions> {
  protected get rule(): Rule {
    return rmspropRule;
  }

  constructor(params: ParametersInput<RMSpropOptions>, lr?: number | Partial<RMSpropOptions>, options?: Partial<RMSpropOptions>) {
    super(
      "RMSprop",
      params,
      withDefaults(
        { lr: 0.01, alpha: 0.99, eps: 1e-8, weightDecay: 0, momentum: 0, centered: false, maximize: false },
        byPosition("RMSprop", ["lr"], [lr, options]),
      ),
    );
  }

  protected stateNames(o: RMSpropOptions): readonly string[] {
    return ["square_avg", ...(o.centered ? ["grad_avg"] : []), ...(o.momentum === 0 ? [] : ["momentum_buffer"])];
  }

  protected checkOptions(o: RMSpropOptions): void {
    checkAtLeast0("RMSprop", o, "alpha", "eps", "weightDecay", "momentum");
  }

  protected override rates({ lr, momentum }: RMSpropOptions): readonly number[] {
    return momentum === 0 ? [lr] : [lr, momentum];
  }

  protected fixed({ lr: _, momentum, ...o }: RMSpropOptions): Fixed {
    return { ...o, hasMomentum: momentum !== 0 };
  }
}

export const rmsprop = (
  params: ParametersInput<RMSpropOptions>,
  lr?: number | Partial<RMSpropOptions>,
  options?: Partial<RMSpropOptions>,
): RMSprop => new RMSprop(params, lr, options);
