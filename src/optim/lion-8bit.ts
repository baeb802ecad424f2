/** Lion whose average is kept in 8 bits. */
import { sizeOf, type Shape } from "../core/shape.ts";
import { byPosition } from "../ops/declare/positional.ts";
import { codedForm, decoded, encoded, zeroCode } from "./blockwise.ts";
import type { StateForm } from "./flat.ts";
import type { LionOptions } from "./lion.ts";
import { checkAtLeast0, checkBetas, checkMin8bitSize, withDefaults } from "./options.ts";
import { Optimizer, type ParametersInput } from "./optimizer.ts";
import { decayed, movedBy, rule, type Rule } from "./rule.ts";

/** Options of lion8bit(). */
export interface Lion8bitOptions extends LionOptions {
  /** Parameters of fewer elements have an average in float32. Decided when the optimizer is made. */
  min8bitSize: number;
}

interface Fixed extends Omit<LionOptions, "lr" | "betas"> {
  readonly beta2: number;
}

const lion8bitRule = rule<Fixed>(
  "lion8bit",
  () => [],
  (q, { beta2, weightDecay, maximize }) => {
    const { f, wide, rates, state } = q;
    const isCoded = state.length === 2;
    const average = isCoded ? decoded(f.g, state[0]!, state[1]!, "signed") : state[0]!;
    const g = maximize ? f.neg(q.gradient) : q.gradient;
    const step = f.sign(f.add(f.mul(average, wide(rates[1]!)), f.mul(g, wide(rates[2]!))));
    const moved = movedBy(q, decayed(q, weightDecay), step, rates[0]!);
    const next = f.add(f.mul(average, beta2), f.mul(g, 1 - beta2));
    return isCoded ? [moved, ...encoded(f.g, next, "signed")] : [moved, next];
  },
);

/**
 * Lion's step, with the average kept as uint8 codes in blocks of 256 elements, each with its largest absolute value as a float32 scale: about 1 byte of state for an
 * element where Lion has 4. Codes are as in Adam8bit: bitsandbytes' signed dynamic code book, rounded to the nearest; a step is computed in float32.
 * Parameters of fewer than min8bitSize elements have a float32 average. State: exp_avg (uint8), exp_avg_absmax (float32 [ceil(size / 256)]).
 * Defaults: lr 1e-4, betas [0.9, 0.99], weightDecay 0, min8bitSize 4096. Reference: bitsandbytes.optim.Lion8bit.
 */
export class Lion8bit extends Optimizer<Lion8bitOptions> {
  protected get rule(): Rule {
    return lion8bitRule;
  }

  protected override get isPerParameter(): boolean {
    return true;
  }

  protected override get lasting(): readonly string[] {
    return ["min8bitSize"];
  }

  constructor(params: ParametersInput<Lion8bitOptions>, lr?: number | Partial<Lion8bitOptions>, options?: Partial<Lion8bitOptions>) {
    super(
      "Lion8bit",
      params,
      withDefaults(
        { lr: 1e-4, betas: [0.9, 0.99], weightDecay: 0, maximize: false, min8bitSize: 4096 },
        byPosition("Lion8bit", ["lr"], [lr, options]),
      ),
    );
  }

  protected stateNames({ min8bitSize }: Lion8bitOptions, shape: Shape): readonly string[] {
    return sizeOf(shape) < min8bitSize ? ["exp_avg"] : ["exp_avg", "exp_avg_absmax"];
  }

  protected override stateForm(name: string, options: Lion8bitOptions, shape: Shape): Partial<StateForm> {
    return codedForm(name, options, shape);
  }

  protected override initialState(name: string, { min8bitSize }: Lion8bitOptions, shape: Shape): number {
    return sizeOf(shape) >= min8bitSize && name === "exp_avg" ? zeroCode.signed : 0;
  }

  protected checkOptions(o: Lion8bitOptions): void {
    checkBetas("Lion8bit", o.betas);
    checkAtLeast0("Lion8bit", o, "weightDecay");
    checkMin8bitSize("Lion8bit", o.min8bitSize);
  }

  protected override rates({ lr, betas }: Lion8bitOptions): readonly number[] {
    return [lr, betas[0], 1 - betas[0]];
  }

  protected fixed({ betas, weightDecay, maximize }: Lion8bitOptions): Fixed {
    return { weightDecay, maximize, beta2: betas[1] };
  }
}

export const lion8bit = (
  params: ParametersInput<Lion8bitOptions>,
  lr?: number | Partial<Lion8bitOptions>,
  options?: Partial<Lion8bitOptions>,
): Lion8bit => new Lion8bit(params, lr, options);
