/** Gradient descent. */
import { assign, dispatch } from "../dispatch.ts";
import { ValueError } from "../errors.ts";
import { define } from "../definition.ts";
import { cast, constant } from "../ops/support.ts";
import type { Tensor } from "../tensor.ts";
import { steps, type Counter } from "./clock.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import type { Run } from "./plan.ts";

export interface SGDOptions extends BaseOptions {
  momentum: number;
  /** Share of the gradient that the momentum leaves out, after the first step. */
  dampening: number;
  /** Added to the gradient, times the parameter. */
  weightDecay: number;
  nesterov: boolean;
  /** Climb instead of descending. */
  maximize: boolean;
}

type Update = Omit<SGDOptions, "lr">;

/** Inputs p, gradient, rate and, with momentum, buffer, and, with dampening too, steps; outputs p and buffer. */
const sgdOp = define<Update>({
  name: "sgd",
  infer: ([p, , , buffer]) => (buffer === undefined ? [p!] : [p!, buffer]),
  lower: (g, [p, gradient, rate, buffer, count], o) => {
    const wide = (x: typeof p): NonNullable<typeof p> => cast(g, x!, "float32");
    const scaled = (x: NonNullable<typeof p>, by: number): NonNullable<typeof p> =>
      by === 1 ? x : g.elementWiseIdentity(x, { scaleBias: [by, 0] });
    const dtype = p!.dtype;
    const sizes = p!.sizes;
    const w = wide(p);
    let d = scaled(wide(gradient), o.maximize ? -1 : 1);
    if (o.weightDecay !== 0) d = g.elementWiseAdd(d, scaled(w, o.weightDecay));
    let next: NonNullable<typeof p> | null = null;
    if (buffer !== undefined) {
      let fresh = scaled(d, 1 - o.dampening);
      // The first step takes the gradient whole.
      if (count !== undefined)
        fresh = g.elementWiseIf(
          g.expand(g.elementWiseLogicalLessThan(count, constant(g, "float32", 1.5, [1]), { output: { dtype: "uint8" } }), sizes),
          d,
          fresh,
        );
      next = g.elementWiseAdd(scaled(wide(buffer), o.momentum), fresh);
      d = o.nesterov ? g.elementWiseAdd(d, scaled(next, o.momentum)) : next;
    }
    const moved = cast(g, g.elementWiseSubtract(w, g.elementWiseMultiply(d, g.expand(rate!, sizes))), dtype);
    return next === null ? [moved] : [moved, cast(g, next, dtype)];
  },
  grad: null,
});

/**
 * p <- p - lr * d with d = gradient + weightDecay * p; with momentum, buffer <- momentum * buffer + (1 - dampening) * d takes d's
 * place, or d + momentum * buffer with nesterov. Reference: torch.optim.SGD.
 */
export class SGD extends Optimizer<SGDOptions> {
  constructor(params: ParametersInput<SGDOptions>, options: { readonly lr: number } & Partial<SGDOptions>) {
    super("SGD", params, { momentum: 0, dampening: 0, weightDecay: 0, nesterov: false, maximize: false, ...options });
  }

  protected stateNames(o: SGDOptions): readonly string[] {
    return o.momentum === 0 ? [] : ["momentum_buffer"];
  }

  protected counters(o: SGDOptions): readonly Counter[] {
    return o.momentum !== 0 && o.dampening !== 0 ? [steps] : [];
  }

  protected checkOptions(o: SGDOptions): void {
    if (!(o.momentum >= 0)) throw new ValueError("SGD", "momentum", "at least 0", o.momentum);
    if (!(o.weightDecay >= 0)) throw new ValueError("SGD", "weightDecay", "at least 0", o.weightDecay);
    if (o.nesterov && (o.momentum <= 0 || o.dampening !== 0))
      throw new ValueError(
        "SGD",
        "nesterov",
        "used with momentum and without dampening",
        `momentum ${o.momentum}, dampening ${o.dampening}`,
      );
  }

  protected update(run: Run, gradient: Tensor, rate: Tensor, { lr: _, ...o }: SGDOptions): void {
    const buffer = run.state.get("momentum_buffer");
    const inputs = buffer === undefined ? [run.data, gradient, rate] : [run.data, gradient, rate, buffer, ...run.clock.values.slice(0, 1)];
    const [p, next] = dispatch(sgdOp, inputs, o);
    assign("SGD", run.data, () => p!);
    if (buffer !== undefined) assign("SGD", buffer, () => next!);
  }
}

export const sgd = (params: ParametersInput<SGDOptions>, options: { readonly lr: number } & Partial<SGDOptions>): SGD =>
  new SGD(params, options);
