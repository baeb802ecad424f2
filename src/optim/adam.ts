/** Adam, and AdamW with its decoupled weight decay. */
import { assign, dispatch } from "../dispatch.ts";
import { ValueError } from "../errors.ts";
import type { Expr } from "../graph/graph.ts";
import { define } from "../definition.ts";
import { cast } from "../ops/support.ts";
import type { Tensor } from "../tensor.ts";
import { correction, steps, type Counter } from "./clock.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import type { Run } from "./plan.ts";

export interface AdamOptions extends BaseOptions {
  /** Decay of the averages of the gradient and of its square. */
  betas: readonly [number, number];
  /** Added to the root of the corrected average of squares. */
  eps: number;
  weightDecay: number;
  /** Divide by the largest average of squares so far. */
  amsgrad: boolean;
  /** Climb instead of descending. */
  maximize: boolean;
}

interface Update extends Omit<AdamOptions, "lr"> {
  /** Decay shrinks the parameter itself (AdamW) instead of being added to the gradient. */
  readonly decoupled: boolean;
}

/** Inputs p, gradient, rate, 1 - beta1^t, 1 - beta2^t, first and second moment, with amsgrad the largest second one; outputs p and the moments. */
const adamOp = define<Update>({
  name: "adam",
  infer: ([p, , , , , ...moments]) => [p!, ...moments],
  lower: (g, inputs, o) => {
    const [p, gradient, rate, correction1, correction2, first, second, largest] = inputs.map((x) => cast(g, x, "float32"));
    const scaled = (x: Expr, scale: number, bias = 0): Expr => g.elementWiseIdentity(x, { scaleBias: [scale, bias] });
    const sizes = p!.sizes;
    const dtype = inputs[0]!.dtype;
    let w = p!;
    let d = o.maximize ? scaled(gradient!, -1) : gradient!;
    if (o.weightDecay !== 0 && o.decoupled) w = g.elementWiseMultiply(w, g.expand(scaled(rate!, -o.weightDecay, 1), sizes));
    else if (o.weightDecay !== 0) d = g.elementWiseAdd(d, scaled(w, o.weightDecay));
    const m = g.elementWiseAdd(scaled(first!, o.betas[0]), scaled(d, 1 - o.betas[0]));
    const v = g.elementWiseAdd(scaled(second!, o.betas[1]), scaled(g.elementWiseMultiply(d, d), 1 - o.betas[1]));
    const peak = o.amsgrad ? g.elementWiseMax(largest!, v) : v;
    // Numerator and denominator both times sqrt(1 - beta2^t), so that no element is divided by it.
    const root = g.elementWiseSqrt(correction2!);
    const step = g.elementWiseDivide(g.elementWiseMultiply(rate!, root), correction1!);
    const denominator = g.elementWiseAdd(g.elementWiseSqrt(peak), g.expand(scaled(root, o.eps), sizes));
    const moved = g.elementWiseSubtract(w, g.elementWiseDivide(g.elementWiseMultiply(m, g.expand(step, sizes)), denominator));
    return (o.amsgrad ? [moved, m, v, peak] : [moved, m, v]).map((x) => cast(g, x, dtype));
  },
  grad: null,
});

/** The given options, over PyTorch's defaults. */
const withDefaults = (options: Partial<AdamOptions>, weightDecay: number): AdamOptions => ({
  lr: 1e-3,
  betas: [0.9, 0.999],
  eps: 1e-8,
  weightDecay,
  amsgrad: false,
  maximize: false,
  ...options,
});

/**
 * m <- beta1 m + (1 - beta1) g; v <- beta2 v + (1 - beta2) g^2;
 * p <- p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps), with g = gradient + weightDecay * p.
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8, weightDecay 0. Reference: torch.optim.Adam.
 */
export class Adam extends Optimizer<AdamOptions> {
  protected readonly decoupled: boolean = false;

  constructor(params: ParametersInput<AdamOptions>, options: Partial<AdamOptions> = {}, name = "Adam", weightDecay = 0) {
    super(name, params, withDefaults(options, weightDecay));
  }

  protected stateNames(o: AdamOptions): readonly string[] {
    return o.amsgrad ? ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"] : ["exp_avg", "exp_avg_sq"];
  }

  protected counters(o: AdamOptions): readonly Counter[] {
    return [steps, correction(o.betas[0]), correction(o.betas[1])];
  }

  protected checkOptions(o: AdamOptions): void {
    if (!(o.betas.length === 2 && o.betas.every((b) => b >= 0 && b < 1)))
      throw new ValueError("Adam", "betas", "two numbers in [0, 1)", o.betas);
    if (!(o.eps >= 0)) throw new ValueError("Adam", "eps", "at least 0", o.eps);
    if (!(o.weightDecay >= 0)) throw new ValueError("Adam", "weightDecay", "at least 0", o.weightDecay);
  }

  protected update(run: Run, gradient: Tensor, rate: Tensor, { lr: _, ...o }: AdamOptions): void {
    const moments = this.stateNames({ lr: 0, ...o }).map((name) => run.state.get(name)!);
    const [, correction1, correction2] = run.clock.values as [Tensor, Tensor, Tensor];
    const next = dispatch(adamOp, [run.data, gradient, rate, correction1, correction2, ...moments], { ...o, decoupled: this.decoupled });
    [run.data, ...moments].forEach((t, i) => assign("Adam", t, () => next[i]!));
  }
}

/** Adam whose weight decay shrinks the parameters by lr * weightDecay (default 0.01) instead. Reference: torch.optim.AdamW. */
export class AdamW extends Adam {
  protected override readonly decoupled: boolean = true;

  constructor(params: ParametersInput<AdamOptions>, options: Partial<AdamOptions> = {}) {
    super(params, options, "AdamW", 0.01);
  }
}

export const adam = (params: ParametersInput<AdamOptions>, options: Partial<AdamOptions> = {}): Adam => new Adam(params, options);
export const adamW = (params: ParametersInput<AdamOptions>, options: Partial<AdamOptions> = {}): AdamW => new AdamW(params, options);
