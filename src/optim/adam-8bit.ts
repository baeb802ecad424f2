/** Adam and AdamW whose averages are kept in 8 bits. */
import { sizeOf, type Shape } from "../core/shape.ts";
import { byPosition } from "../ops/declare/positional.ts";
import type { Expr } from "../graph/graph.ts";
import { adam8bitShader, adamShader } from "../shader/kernels/select.ts";
import { BOOKS, codedForm, decoded, encoded, zeroCode } from "./blockwise.ts";
import { correction, cycledCorrection, steps } from "./clock.ts";
import type { StateForm } from "./flat.ts";
import { checkAtLeast0, checkBetas, checkMin8bitSize, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { decayed, descent, movedBy, rule, type Rule } from "./rule.ts";

/** Options of adam8bit() and adamW8bit(). */
export interface Adam8bitOptions extends BaseOptions {
  /** Decay of the averages of the gradient and of its square. The first may change from step to step, as schedules cycle it. */
  betas: readonly [number, number];
  /** Added to the root of the corrected average of squares. */
  eps: number;
  /** adam8bit adds it times the parameter to the gradient, adamW8bit shrinks the parameter by lr times it. */
  weightDecay: number;
  /** Climb instead of descending. */
  maximize: boolean;
  /** Parameters of fewer elements have averages in float32. Decided when the optimizer is made. */
  min8bitSize: number;
}

interface Fixed {
  readonly beta2: number;
  readonly eps: number;
  readonly weightDecay: number;
  readonly maximize: boolean;
  readonly decoupled: boolean;
}

const adam8bitRule = rule<Fixed>(
  "adam8bit",
  ({ beta2 }) => [steps, cycledCorrection, correction(beta2)],
  (q, o) => {
    const { f, one, wide, rates, counters, state } = q;
    const isCoded = state.length === 4;
    const first = isCoded ? decoded(f.g, state[0]!, state[1]!, "signed") : state[0]!;
    const second = isCoded ? decoded(f.g, state[2]!, state[3]!, "unsigned") : state[1]!;
    const d = descent(q, o.decoupled ? { ...o, weightDecay: 0 } : o);
    const w = o.decoupled ? decayed(q, o.weightDecay) : q.p;
    const m = f.add(f.mul(first, wide(rates[1]!)), f.mul(d, wide(rates[2]!)));
    const v = f.add(f.mul(second, o.beta2), f.mul(f.mul(d, d), 1 - o.beta2));
    const root = one.sqrt(counters[2]!);
    const step = one.div(one.mul(rates[0]!, root), counters[1]!);
    const moved = movedBy(q, w, f.div(m, f.add(f.sqrt(v), wide(one.mul(root, o.eps)))), step);
    return isCoded ? [moved, ...encoded(f.g, m, "signed"), ...encoded(f.g, v, "unsigned")] : [moved, m, v];
  },
  (g, { p, gradient, rates, counters, state }, { maximize, beta2, eps, weightDecay, decoupled }) => {
    const decay = { decay: decoupled ? 0 : weightDecay, shrinking: decoupled ? weightDecay : 0 };
    const numbers = { sign: maximize ? -1 : 1, beta2, rest2: 1 - beta2, eps, ...decay };
    const single = [...rates, ...counters.slice(1)];
    if (state.length === 2) return adamShader(g, [p, gradient, state[0]!, state[1]!], single, numbers);
    const [first, firstScales, second, secondScales] = state as readonly [Expr, Expr, Expr, Expr];
    return adam8bitShader(g, p, gradient, { first, firstScales, second, secondScales }, single, numbers, BOOKS);
  },
);

/**
 * Adam's step, with the averages kept as uint8 codes in blocks of 256 elements, each with its largest absolute value as a float32 scale: about 2 bytes of state for an element where
 * Adam has 8. The codes are bitsandbytes' dynamic code books (signed for the average of gradients, unsigned for that of squares), rounded to the nearest. A step is computed in
 * float32 from the decoded averages, and rounds them again afterwards. Parameters of fewer than min8bitSize elements have float32 averages.
 * State: exp_avg and exp_avg_sq (uint8), exp_avg_absmax and exp_avg_sq_absmax (float32 [ceil(size / 256)]).
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8, weightDecay 0, min8bitSize 4096. Reference: bitsandbytes.optim.Adam8bit.
 */
export class Adam8bit extends Optimizer<Adam8bitOptions> {
  protected get rule(): Rule {
    return adam8bitRule;
  }

  protected override get isPerParameter(): boolean {
    return true;
  }

  protected override get lasting(): readonly string[] {
    return ["min8bitSize"];
  }

  protected get decoupled(): boolean {
    return false;
  }

  constructor(
    params: ParametersInput<Adam8bitOptions>,
    lr?: number | Partial<Adam8bitOptions>,
    options?: Partial<Adam8bitOptions>,
    name = "Adam8bit",
    weightDecay = 0,
  ) {
    super(
      name,
      params,
      withDefaults(
        { lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay, maximize: false, min8bitSize: 4096 },
        byPosition(name, ["lr"], [lr, options]),
      ),
    );
  }

  protected stateNames({ min8bitSize }: Adam8bitOptions, shape: Shape): readonly string[] {
    return sizeOf(shape) < min8bitSize ? ["exp_avg", "exp_avg_sq"] : ["exp_avg", "exp_avg_absmax", "exp_avg_sq", "exp_avg_sq_absmax"];
  }

  protected override stateForm(name: string, options: Adam8bitOptions, shape: Shape): Partial<StateForm> {
    return codedForm(name, options, shape);
  }

  protected override initialState(name: string, { min8bitSize }: Adam8bitOptions, shape: Shape): number {
    return sizeOf(shape) >= min8bitSize && name === "exp_avg" ? zeroCode.signed : 0;
  }

  protected checkOptions(o: Adam8bitOptions): void {
    checkBetas("Adam8bit", o.betas);
    checkAtLeast0("Adam8bit", o, "eps", "weightDecay");
    checkMin8bitSize("Adam8bit", o.min8bitSize);
  }

  protected override rates({ lr, betas }: Adam8bitOptions): readonly number[] {
    return [lr, betas[0], 1 - betas[0]];
  }

  protected fixed({ betas, eps, weightDecay, maximize }: Adam8bitOptions): Fixed {
    return { beta2: betas[1], eps, weightDecay, maximize, decoupled: this.decoupled };
  }
}

/** Adam8bit whose weight decay shrinks the parameters by lr * weightDecay (default 0.01) instead. Reference: bitsandbytes.optim.AdamW8bit. */
export class AdamW8bit extends Adam8bit {
  protected override get decoupled(): boolean {
    return true;
  }

  constructor(params: ParametersInput<Adam8bitOptions>, lr?: number | Partial<Adam8bitOptions>, options?: Partial<Adam8bitOptions>) {
    super(params, lr, options, "AdamW8bit", 0.01);
  }
}

export const adam8bit = (
  params: ParametersInput<Adam8bitOptions>,
  lr?: number | Partial<Adam8bitOptions>,
  options?: Partial<Adam8bitOptions>,
): Adam8bit => new Adam8bit(params, lr, options);
export const adamW8bit = (
  params: ParametersInput<Adam8bitOptions>,
  lr?: number | Partial<Adam8bitOptions>,
  options?: Partial<Adam8bitOptions>,
): AdamW8bit => new AdamW8bit(params, lr, options);
