/** Activation layers: ReLU, GELU, Softmax and their kin. */
import { softmin as softminOp, logSoftmax as logSoftmaxOp, softmax as softmaxOp } from "../ops/exports/autocast.generated.ts";
import * as autocast from "../ops/exports/autocast.generated.ts";
import * as functions from "../ops/elementwise/activation.ts";
import * as hard from "../ops/elementwise/hard-activation.ts";
import { ShapeError } from "../core/errors.ts";
import { rrelu as rreluOp, type RReluOptions } from "../ops/random/random-activation.ts";
import { tanh as tanhOp } from "../ops/elementwise/unary.ts";
import type { Tensor } from "../core/tensor.ts";
import { Module } from "./module.ts";
import { parameter, type LayerOptions } from "./options.ts";
import { constant } from "./init.ts";
import type { Parameter } from "./parameter.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** relu. Reference: torch.nn.ReLU. */
export class ReLU extends Module {
  forward(x: Tensor): Tensor {
    return functions.relu(x);
  }
}

/** relu6. Reference: torch.nn.ReLU6. */
export class ReLU6 extends Module {
  forward(x: Tensor): Tensor {
    return hard.relu6(x);
  }
}

/** sigmoid. Reference: torch.nn.Sigmoid. */
export class Sigmoid extends Module {
  forward(x: Tensor): Tensor {
    return functions.sigmoid(x);
  }
}

/** tanh. Reference: torch.nn.Tanh. */
export class Tanh extends Module {
  forward(x: Tensor): Tensor {
    return tanhOp(x);
  }
}

/** leakyRelu. Reference: torch.nn.LeakyReLU. */
export class LeakyReLU extends Module {
  /** The options passed to the constructor. */
  readonly options: { readonly negativeSlope?: number };

  constructor(
    negativeSlope:
      | number
      | {
          /** Factor of numbers below 0. Default: 0.01. */
          readonly negativeSlope?: number;
          /** @deprecated Use negativeSlope. */
          readonly slope?: number;
        } = {},
  ) {
    super();
    this.options = typeof negativeSlope === "object" ? negativeSlope : { negativeSlope };
  }

  forward(x: Tensor): Tensor {
    return functions.leakyRelu(x, this.options);
  }
}

/** elu. Reference: torch.nn.ELU. */
export class ELU extends Module {
  /** The options passed to the constructor. */
  readonly options: { readonly alpha?: number };

  constructor(
    alpha:
      | number
      | {
          /** What the function tends to below 0, negated. Default: 1. */
          readonly alpha?: number;
        } = {},
  ) {
    super();
    this.options = typeof alpha === "object" ? alpha : { alpha };
  }

  forward(x: Tensor): Tensor {
    return functions.elu(x, this.options);
  }
}

/** selu. Reference: torch.nn.SELU. */
export class SELU extends Module {
  forward(x: Tensor): Tensor {
    return functions.selu(x);
  }
}

/** celu. Reference: torch.nn.CELU. */
export class CELU extends Module {
  /** The options passed to the constructor. */
  readonly options: { readonly alpha?: number };

  constructor(
    alpha:
      | number
      | {
          /** What the function tends to below 0, negated. Default: 1. */
          readonly alpha?: number;
        } = {},
  ) {
    super();
    this.options = typeof alpha === "object" ? alpha : { alpha };
  }

  forward(x: Tensor): Tensor {
    return functions.celu(x, this.options);
  }
}

/** gelu. Reference: torch.nn.GELU. */
export class GELU extends Module {
  /** The options passed to the constructor. */
  readonly options: { readonly approximate?: "none" | "tanh" };

  constructor(
    approximate:
      | "none"
      | "tanh"
      | {
          /** "tanh" for the formula with tanh, "none" for the exact one. Default: "none". */
          readonly approximate?: "none" | "tanh";
        } = {},
  ) {
    super();
    this.options = typeof approximate === "object" ? approximate : { approximate };
  }

  forward(x: Tensor): Tensor {
    return functions.gelu(x, this.options);
  }
}

/** silu. Reference: torch.nn.SiLU. */
export class SiLU extends Module {
  forward(x: Tensor): Tensor {
    return functions.silu(x);
  }
}

/** mish. Reference: torch.nn.Mish. */
export class Mish extends Module {
  forward(x: Tensor): Tensor {
    return functions.mish(x);
  }
}

/** softplus. Reference: torch.nn.Softplus. */
export class Softplus extends Module {
  /** The options passed to the constructor. */
  readonly options: functions.SoftplusOptions;

  constructor(beta?: number | functions.SoftplusOptions, threshold?: number) {
    super();
    this.options = byPosition<functions.SoftplusOptions>("Softplus", ["beta", "threshold"], [beta, threshold]);
  }

  forward(x: Tensor): Tensor {
    return autocast.softplus(x, this.options);
  }
}

/** softsign. Reference: torch.nn.Softsign. */
export class Softsign extends Module {
  forward(x: Tensor): Tensor {
    return functions.softsign(x);
  }
}

/** logSigmoid. Reference: torch.nn.LogSigmoid. */
export class LogSigmoid extends Module {
  forward(x: Tensor): Tensor {
    return functions.logSigmoid(x);
  }
}

/** hardtanh. Reference: torch.nn.Hardtanh. */
export class Hardtanh extends Module {
  /** The options passed to the constructor. */
  readonly options: hard.HardtanhOptions;

  constructor(minVal?: number | hard.HardtanhOptions, maxVal?: number) {
    super();
    this.options = byPosition<hard.HardtanhOptions>("Hardtanh", ["minVal", "maxVal"], [minVal, maxVal]);
  }

  forward(x: Tensor): Tensor {
    return hard.hardtanh(x, this.options);
  }
}

/** hardSigmoid. Reference: torch.nn.Hardsigmoid. */
export class HardSigmoid extends Module {
  forward(x: Tensor): Tensor {
    return hard.hardSigmoid(x);
  }
}

/** hardSwish. Reference: torch.nn.Hardswish. */
export class HardSwish extends Module {
  forward(x: Tensor): Tensor {
    return hard.hardSwish(x);
  }
}

/** tanhshrink. Reference: torch.nn.Tanhshrink. */
export class Tanhshrink extends Module {
  forward(x: Tensor): Tensor {
    return hard.tanhshrink(x);
  }
}

/** softmax along an axis. Reference: torch.nn.Softmax. */
export class Softmax extends Module {
  /** The axis it works along. */
  readonly axis: number;

  constructor(axis: number) {
    super();
    this.axis = axis;
  }

  forward(x: Tensor): Tensor {
    return softmaxOp(x, this.axis);
  }
}

/** logSoftmax along an axis. Reference: torch.nn.LogSoftmax. */
export class LogSoftmax extends Module {
  /** The axis it works along. */
  readonly axis: number;

  constructor(axis: number) {
    super();
    this.axis = axis;
  }

  forward(x: Tensor): Tensor {
    return logSoftmaxOp(x, this.axis);
  }
}

/** Options of prelu(). Reference: torch.nn.PReLU. */
export interface PReLUOptions extends LayerOptions {
  /** One slope, or one for each channel. Default: 1. */
  readonly numParameters?: number | undefined;
  /** @deprecated Use numParameters. */
  readonly count?: number | undefined;

  /** Where the slopes start. Default: 0.25. */
  readonly init?: number | undefined;
  /** @deprecated Use init. */
  readonly start?: number | undefined;
}

/** x where x > 0, a learned slope times x elsewhere. Reference: torch.nn.PReLU. */
export class PReLU extends Module {
  /** The slopes of numbers below 0: one, or one for each channel. */
  weight: Parameter;

  constructor(numParameters?: number | PReLUOptions, init?: number, options?: PReLUOptions) {
    super();
    const settings = byPosition<PReLUOptions>("PReLU", ["numParameters", "init"], [numParameters, init, options]);
    this.weight = parameter([settings.numParameters ?? 1], settings, (p) => {
      constant(p, settings.init ?? 0.25);
    });
  }

  forward(x: Tensor): Tensor {
    return autocast.prelu(x, this.weight);
  }
}

/** The first half along an axis times the sigmoid of the second. Reference: torch.nn.GLU. */
export class GLU extends Module {
  /** The axis it works along. */
  readonly axis: number;

  constructor(axis = -1) {
    super();
    this.axis = axis;
  }

  forward(x: Tensor): Tensor {
    return functions.glu(x, this.axis);
  }
}

/** softmax of -x along an axis. Reference: torch.nn.Softmin. */
export class Softmin extends Module {
  /** The axis it works along. */
  readonly axis: number;

  constructor(axis: number) {
    super();
    this.axis = axis;
  }

  forward(x: Tensor): Tensor {
    return softminOp(x, this.axis);
  }
}

/** softmax over the channels of [N, C, H, W] or [C, H, W]. Reference: torch.nn.Softmax2d. */
export class Softmax2d extends Module {
  forward(x: Tensor): Tensor {
    if (x.rank !== 3 && x.rank !== 4) throw new ShapeError("Softmax2d", "x", "[N, C, H, W] or [C, H, W]", x.describe());
    return softmaxOp(x, -3);
  }
}

/** 0 where |x| is at most lambda, x elsewhere. Reference: torch.nn.Hardshrink. */
export class Hardshrink extends Module {
  /** The options passed to the constructor. */
  readonly options: { readonly lambd?: number };

  constructor(
    lambd:
      | number
      | {
          /** Numbers of at most this size become 0. Default: 0.5. */
          readonly lambd?: number;
          /** @deprecated Use lambd. */
          readonly lambda?: number;
        } = {},
  ) {
    super();
    this.options = typeof lambd === "object" ? lambd : { lambd };
  }

  forward(x: Tensor): Tensor {
    return hard.hardshrink(x, this.options);
  }
}

/** x moved towards 0 by lambda, at most to 0. Reference: torch.nn.Softshrink. */
export class Softshrink extends Module {
  /** The options passed to the constructor. */
  readonly options: { readonly lambd?: number };

  constructor(
    lambd:
      | number
      | {
          /** Numbers of at most this size become 0; others come nearer to 0 by it. Default: 0.5. */
          readonly lambd?: number;
          /** @deprecated Use lambd. */
          readonly lambda?: number;
        } = {},
  ) {
    super();
    this.options = typeof lambd === "object" ? lambd : { lambd };
  }

  forward(x: Tensor): Tensor {
    return hard.softshrink(x, this.options);
  }
}

/** x where x > limit, value elsewhere. Reference: torch.nn.Threshold. */
export class Threshold extends Module {
  /** Numbers above it pass. */
  readonly limit: number;
  /** What replaces the others. */
  readonly value: number;

  constructor(limit: number, value: number) {
    super();
    this.limit = limit;
    this.value = value;
  }

  forward(x: Tensor): Tensor {
    return hard.threshold(x, this.limit, this.value);
  }
}

/** leakyRelu with slopes drawn between lower and upper in training, their mean otherwise. Reference: torch.nn.RReLU. */
export class RReLU extends Module {
  /** The options passed to the constructor. */
  readonly options: Omit<RReluOptions, "training">;

  constructor(lower?: number | Omit<RReluOptions, "training">, upper?: number, options?: Omit<RReluOptions, "training">) {
    super();
    this.options = byPosition("RReLU", ["lower", "upper"], [lower, upper, options]);
  }

  forward(x: Tensor): Tensor {
    return rreluOp(x, { ...this.options, training: this.training });
  }
}

export const glu = (axis = -1): GLU => new GLU(axis);
export const softmin = (axis: number): Softmin => new Softmin(axis);
export const softmax2d = (): Softmax2d => new Softmax2d();
export const hardshrink = (
  lambd:
    | number
    | {
        /** Numbers of at most this size become 0. Default: 0.5. */
        readonly lambd?: number;
        /** @deprecated Use lambd. */
        readonly lambda?: number;
      } = {},
): Hardshrink => new Hardshrink(lambd);
export const softshrink = (
  lambd:
    | number
    | {
        /** Numbers of at most this size become 0; others come nearer to 0 by it. Default: 0.5. */
        readonly lambd?: number;
        /** @deprecated Use lambd. */
        readonly lambda?: number;
      } = {},
): Softshrink => new Softshrink(lambd);
/** From beta * x above it on the result is x itself. Default: 20. */
export const threshold = (limit: number, value: number): Threshold => new Threshold(limit, value);
export const rrelu = (lower?: number | Omit<RReluOptions, "training">, upper?: number, options?: Omit<RReluOptions, "training">): RReLU =>
  new RReLU(lower, upper, options);
export const relu = (): ReLU => new ReLU();
export const relu6 = (): ReLU6 => new ReLU6();
export const sigmoid = (): Sigmoid => new Sigmoid();
export const tanh = (): Tanh => new Tanh();
export const leakyRelu = (
  negativeSlope:
    | number
    | {
        /** Factor of numbers below 0. Default: 0.01. */
        readonly negativeSlope?: number;
        /** @deprecated Use negativeSlope. */
        readonly slope?: number;
      } = {},
): LeakyReLU => new LeakyReLU(negativeSlope);
export const elu = (
  alpha:
    | number
    | {
        /** What the function tends to below 0, negated. Default: 1. */
        readonly alpha?: number;
      } = {},
): ELU => new ELU(alpha);
export const selu = (): SELU => new SELU();
export const celu = (
  alpha:
    | number
    | {
        /** What the function tends to below 0, negated. Default: 1. */
        readonly alpha?: number;
      } = {},
): CELU => new CELU(alpha);
export const gelu = (
  approximate:
    | "none"
    | "tanh"
    | {
        /** "tanh" for the formula with tanh, "none" for the exact one. Default: "none". */
        readonly approximate?: "none" | "tanh";
      } = {},
): GELU => new GELU(approximate);
export const silu = (): SiLU => new SiLU();
export const mish = (): Mish => new Mish();
export const softplus = (beta?: number | functions.SoftplusOptions, threshold?: number): Softplus => new Softplus(beta, threshold);
export const softsign = (): Softsign => new Softsign();
export const logSigmoid = (): LogSigmoid => new LogSigmoid();
export const hardtanh = (minVal?: number | hard.HardtanhOptions, maxVal?: number): Hardtanh => new Hardtanh(minVal, maxVal);
export const hardSigmoid = (): HardSigmoid => new HardSigmoid();
export const hardSwish = (): HardSwish => new HardSwish();
export const tanhshrink = (): Tanhshrink => new Tanhshrink();
export const softmax = (axis: number): Softmax => new Softmax(axis);
export const logSoftmax = (axis: number): LogSoftmax => new LogSoftmax(axis);
export const prelu = (numParameters?: number | PReLUOptions, init?: number, options?: PReLUOptions): PReLU =>
  new PReLU(numParameters, init, options);
