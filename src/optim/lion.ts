/** Lion: steps by the sign of an interpolated momentum. */
import { checkAtLeast0, checkBetas, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { decayed, movedBy, rule, type Rule } from "./rule.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of lion(). */
export interface LionOptions extends BaseOptions {
  /** How much of the average goes into the step, and how much of it is kept. The first may change from step to step, as schedules cycle it. */
  betas: readonly [number, number];
  /** The parameter shrinks by lr times it. */
  weightDecay: number;
  /** Climb instead of descending. */
  maximize: boolean;
}

interface Fixed extends Omit<LionOptions, "lr" | "betas"> {
  readonly beta2: number;
}

const lionRule = rule<Fixed>(
  "lion",
  () => [],
  (q, { beta2, weightDecay, maximize }) => {
    const { f, wide, rates, state } = q;
    const g = maximize ? f.neg(q.gradient) : q.gradient;
    const step = f.sign(f.add(f.mul(state[0]!, wide(rates[1]!)), f.mul(g, wide(rates[2]!))));
    return [movedBy(q, decayed(q, weightDecay), step, rates[0]!), f.add(f.mul(state[0]!, beta2), f.mul(g, 1 - beta2))];
  },
);

/**
 * p <- p (1 - lr weightDecay) - lr sign(beta1 m + (1 - beta1) g); m <- beta2 m + (1 - beta2) g.
 * Defaults: lr 1e-4, betas [0.9, 0.99], weightDecay 0. Reference: Chen et al., Symbolic Discovery of Optimization Algorithms, 2023, program 1.
 */
export class Lion extends Optimizer<LionOptions> {
  protected get rule(): Rule {
    return lionRule;
  }

  constructor(params: ParametersInput<LionOptions>, lr?: number | Partial<LionOptions>, options?: Partial<LionOptions>) {
    super(
      "Lion",
      params,
      withDefaults({ lr: 1e-4, betas: [0.9, 0.99], weightDecay: 0, maximize: false }, byPosition("Lion", ["lr"], [lr, options])),
    );
  }

  protected stateNames(): readonly string[] {
    return ["exp_avg"];
  }

  protected checkOptions(o: LionOptions): void {
    checkBetas("Lion", o.betas);
    checkAtLeast0("Lion", o, "weightDecay");
  }

  protected override rates({ lr, betas }: LionOptions): readonly number[] {
    return [lr, betas[0], 1 - betas[0]];
  }

  protected fixed({ betas, weightDecay, maximize }: LionOptions): Fixed {
    return { weightDecay, maximize, beta2: betas[1] };
  }
}

export const lion = (params: ParametersInput<LionOptions>, lr?: number | Partial<LionOptions>, options?: Partial<LionOptions>): Lion =>
  new Lion(params, lr, options);
