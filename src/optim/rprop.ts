/** Rprop: step sizes of each element's own, that grow while its gradient keeps its sign. */
import { ValueError } from "../core/errors.ts";
import { steps } from "./clock.ts";
import { withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { rule, type Rule } from "./rule.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of rprop(). Reference: torch.optim.Rprop. */
export interface RpropOptions extends BaseOptions {
  /** Factors of the step size where the sign changed, and where it stayed. */
  etas: readonly [number, number];
  /** Least and largest step size. */
  stepSizes: readonly [number, number];
  /** Climb instead of descending. */
  maximize: boolean;
}

type Fixed = Omit<RpropOptions, "lr">;

const rpropRule = rule<Fixed>(
  "rprop",
  () => [steps],
  ({ f, p, gradient, state }, { etas: [less, more], stepSizes: [min, max], maximize }) => {
    const [before, size] = state;
    const d = maximize ? f.neg(gradient) : gradient;
    const product = f.mul(d, before!);
    const hasFlipped = f.lt(product, 0);
    const next = f.min(f.max(f.mul(size!, f.cases([f.gt(product, 0), more], [hasFlipped, less], 1)), min), max);
    const used = f.where(hasFlipped, 0, d);
    return [f.sub(p, f.mul(f.sign(used), next)), used, next];
  },
);

/**
 * p <- p - sign(g) * size; an element's size is multiplied by etas[1] while its gradient keeps its sign and by etas[0] when it
 * changes, which also leaves that step out. lr is the first size. Defaults: lr 0.01, etas [0.5, 1.2], stepSizes [1e-6, 50].
 * Reference: torch.optim.Rprop.
 */
export class Rprop extends Optimizer<RpropOptions> {
  protected get rule(): Rule {
    return rpropRule;
  }

  constructor(params: ParametersInput<RpropOptions>, lr?: number | Partial<RpropOptions>, options?: Partial<RpropOptions>) {
    super(
      "Rprop",
      params,
      withDefaults({ lr: 0.01, etas: [0.5, 1.2], stepSizes: [1e-6, 50], maximize: false }, byPosition("Rprop", ["lr"], [lr, options])),
    );
  }

  protected stateNames(): readonly string[] {
    return ["prev", "step_size"];
  }

  protected override initialState(name: string, { lr }: RpropOptions): number {
    return name === "step_size" ? lr : 0;
  }

  protected checkOptions({ etas }: RpropOptions): void {
    if (!(etas[0] > 0 && etas[0] < 1 && etas[1] > 1)) throw new ValueError("Rprop", "etas", "one in (0, 1) and one above 1", etas);
  }

  protected fixed({ lr: _, ...o }: RpropOptions): Fixed {
    return o;
  }
}

export const rprop = (params: ParametersInput<RpropOptions>, lr?: number | Partial<RpropOptions>, options?: Partial<RpropOptions>): Rprop =>
  new Rprop(params, lr, options);
