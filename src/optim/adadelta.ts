/** Adadelta: steps as large as earlier ones were, for gradients as large as earlier ones were. */
import { ValueError } from "../core/errors.ts";
import { steps } from "./clock.ts";
import { checkAtLeast0, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { descent, movedBy, rule, type Rule } from "./rule.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of adadelta(). Reference: torch.optim.Adadelta. */
export interface AdadeltaOptions extends BaseOptions {
  /** Decay of both averages of squares. */
  rho: number;
  /** Added under both roots. */
  eps: number;
  /** Added to the gradient, times the parameter. */
  weightDecay: number;
  /** Climb instead of descending. */
  maximize: boolean;
}

type Fixed = Omit<AdadeltaOptions, "lr">;

const adadeltaRule = rule<Fixed>(
  "adadelta",
  () => [steps],
  (q, o) => {
    const { f } = q;
    const [square, moves] = q.state;
    const d = descent(q, o);
    const v = f.add(f.mul(square!, o.rho), f.mul(f.mul(d, d), 1 - o.rho));
    const delta = f.mul(f.div(f.sqrt(f.add(moves!, o.eps)), f.sqrt(f.add(v, o.eps))), d);
    const u = f.add(f.mul(moves!, o.rho), f.mul(f.mul(delta, delta), 1 - o.rho));
    return [movedBy(q, q.p, delta, q.rates[0]!), v, u];
  },
);

/**
 * v <- rho v + (1 - rho) g^2; d = sqrt(u + eps) / sqrt(v + eps) * g; u <- rho u + (1 - rho) d^2; p <- p - lr * d.
 * Defaults: lr 1, rho 0.9, eps 1e-6. Reference: torch.optim.Adadelta.
 */
export class Adadelta extends Optimizer<AdadeltaOptions> {
  protected get rule(): Rule {
    return adadeltaRule;
  }

  constructor(params: ParametersInput<AdadeltaOptions>, lr?: number | Partial<AdadeltaOptions>, options?: Partial<AdadeltaOptions>) {
    super(
      "Adadelta",
      params,
      withDefaults({ lr: 1, rho: 0.9, eps: 1e-6, weightDecay: 0, maximize: false }, byPosition("Adadelta", ["lr"], [lr, options])),
    );
  }

  protected stateNames(): readonly string[] {
    return ["square_avg", "acc_delta"];
  }

  protected checkOptions(o: AdadeltaOptions): void {
    if (!(o.rho >= 0 && o.rho <= 1)) throw new ValueError("Adadelta", "rho", "in [0, 1]", o.rho);
    checkAtLeast0("Adadelta", o, "eps", "weightDecay");
  }

  protected fixed({ lr: _, ...o }: AdadeltaOptions): Fixed {
    return o;
  }
}

export const adadelta = (
  params: ParametersInput<AdadeltaOptions>,
  lr?: number | Partial<AdadeltaOptions>,
  options?: Partial<AdadeltaOptions>,
): Adadelta => new Adadelta(params, lr, options);
