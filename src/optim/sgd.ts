/** SGD: gradient descent. */
import { ValueError } from "../core/errors.ts";
import { steps } from "./clock.ts";
import { checkAtLeast0, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { descent, movedBy, rule, type Rule } from "./rule.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of sgd(). Reference: torch.optim.SGD. */
export interface SGDOptions extends BaseOptions {
  /** May change from step to step, as schedules cycle it; 0 leaves the buffer out. */
  momentum: number;
  /** Share of the gradient that the momentum leaves out, after the first step. */
  dampening: number;
  /** Added to the gradient, times the parameter. */
  weightDecay: number;
  /** Steps along the gradient plus momentum times the average. */
  nesterov: boolean;
  /** Climb instead of descending. */
  maximize: boolean;
}

interface Fixed extends Omit<SGDOptions, "lr" | "momentum"> {
  readonly hasMomentum: boolean;
}

const sgdRule = rule<Fixed>(
  "sgd",
  ({ hasMomentum, dampening }) => (hasMomentum && dampening !== 0 ? [steps] : []),
  (q, { hasMomentum, dampening, nesterov, ...o }) => {
    const { f, wide, rates, counters, state } = q;
    const d = descent(q, o);
    if (!hasMomentum) return [movedBy(q, q.p, d, rates[0]!)];
    let damped = d;
    // The first step takes the gradient whole.
    if (dampening !== 0) damped = f.where(wide(q.one.lt(counters[0]!, 1.5)), d, f.mul(d, 1 - dampening));
    const momentum = wide(rates[1]!);
    const buffer = f.add(f.mul(state[0]!, momentum), damped);
    return [movedBy(q, q.p, nesterov ? f.add(d, f.mul(buffer, momentum)) : buffer, rates[0]!), buffer];
  },
);

/**
 * p <- p - lr * d with d = gradient + weightDecay * p; with momentum, buffer <- momentum * buffer + (1 - dampening) * d replaces d,
 * or d + momentum * buffer with nesterov. Reference: torch.optim.SGD.
 */
export class SGD extends Optimizer<SGDOptions> {
  protected get rule(): Rule {
    return sgdRule;
  }

  constructor(params: ParametersInput<SGDOptions>, lr?: number | Partial<SGDOptions>, options?: Partial<SGDOptions>) {
    super(
      "SGD",
      params,
      withDefaults(
        { lr: 1e-3, momentum: 0, dampening: 0, weightDecay: 0, nesterov: false, maximize: false },
        byPosition("SGD", ["lr"], [lr, options]),
      ),
    );
  }

  protected stateNames(o: SGDOptions): readonly string[] {
    return o.momentum === 0 ? [] : ["momentum_buffer"];
  }

  protected checkOptions(o: SGDOptions): void {
    checkAtLeast0("SGD", o, "momentum", "weightDecay");
    if (o.nesterov && (o.momentum <= 0 || o.dampening !== 0))
      throw new ValueError(
        "SGD",
        "nesterov",
        "used with momentum and without dampening",
        `momentum ${o.momentum}, dampening ${o.dampening}`,
      );
  }

  protected override rates({ lr, momentum }: SGDOptions): readonly number[] {
    return momentum === 0 ? [lr] : [lr, momentum];
  }

  // Field by field, as Adam's.
  protected fixed({ momentum, dampening, weightDecay, nesterov, maximize }: SGDOptions): Fixed {
    return { dampening, weightDecay, nesterov, maximize, hasMomentum: momentum !== 0 };
  }
}

export const sgd = (params: ParametersInput<SGDOptions>, lr?: number | Partial<SGDOptions>, options?: Partial<SGDOptions>): SGD =>
  new SGD(params, lr, options);
