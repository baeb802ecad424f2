/** init: starting values of parameters. Each function fills the tensor in place, without recording it, and returns it. */
import { ShapeError, ValueError } from "../core/errors.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { copyInto } from "../ops/data/copy.ts";
import { full } from "../ops/creation/creation.ts";
import { add, mul } from "../ops/elementwise/binary.ts";
import { eye } from "../ops/creation/ranges.ts";
import { rand, randn, type Generator } from "../ops/random/random.ts";
import { scope } from "../core/scope.ts";
import { sizeOf } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";

/** What initializers that draw numbers take. */
export interface InitOptions {
  /** Default: the device's own generator. */
  readonly generator?: Generator | undefined;
}

function fill(operation: string, t: Tensor, make: () => Tensor): Tensor {
  noGrad(() =>
    scope(() => {
      copyInto(operation, t, make());
    }),
  );
  return t;
}

/** Uniform in [low, high). Reference: torch.nn.init.uniform_. */
export const uniform = (t: Tensor, low = 0, high = 1, { generator }: InitOptions = {}): Tensor =>
  fill("uniform", t, () => add(mul(rand(t.shape, { device: t.device, generator }), high - low), low));

/** Normal with a mean and standard deviation. Reference: torch.nn.init.normal_. */
export const normal = (t: Tensor, mean = 0, std = 1, { generator }: InitOptions = {}): Tensor =>
  fill("normal", t, () => add(mul(randn(t.shape, { device: t.device, generator }), std), mean));

/** All elements equal. Reference: torch.nn.init.constant_. */
export const constant = (t: Tensor, value: number): Tensor =>
  fill("constant", t, () => full(t.shape, value, { dtype: t.dtype, device: t.device }));

/** Fills a tensor with 0. Returns it. Reference: torch.nn.init.zeros_. */
export const zeros = (t: Tensor): Tensor => constant(t, 0);
/** Fills a tensor with 1. Returns it. Reference: torch.nn.init.ones_. */
export const ones = (t: Tensor): Tensor => constant(t, 1);

/** The identity matrix, for a tensor [R, C]. Reference: torch.nn.init.eye_. */
export function identity(t: Tensor): Tensor {
  if (t.rank !== 2) throw new ShapeError("identity", "tensor", "of two axes", t.describe());
  return fill("identity", t, () => eye(t.shape[0]!, t.shape[1]!, { device: t.device }));
}

/** Inputs and outputs of one unit of a weight [O, I, kernel...]. */
export function fans(operation: string, t: Tensor): { readonly input: number; readonly output: number } {
  if (t.rank < 2) throw new ShapeError(operation, "tensor", "of at least two axes", t.describe());
  const field = sizeOf(t.shape.slice(2));
  return { input: t.shape[1]! * field, output: t.shape[0]! * field };
}

/** Functions of which gain() and kaimingUniform() know the gain. */
export type Nonlinearity = "linear" | "sigmoid" | "tanh" | "relu" | "leakyRelu" | "leaky_relu" | "selu";

/** The factor by which a nonlinearity calls for larger weights. Reference: torch.nn.init.calculate_gain. */
export function gain(nonlinearity: Nonlinearity, slope = 0.01): number {
  switch (nonlinearity) {
    case "linear":
    case "sigmoid":
      return 1;
    case "tanh":
      return 5 / 3;
    case "relu":
      return Math.SQRT2;
    case "leakyRelu":
    case "leaky_relu":
      return Math.sqrt(2 / (1 + slope * slope));
    case "selu":
      return 3 / 4;
    default:
      throw new ValueError("gain", "nonlinearity", "linear, sigmoid, tanh, relu, leakyRelu or selu", nonlinearity satisfies never);
  }
}

/** Options of kaimingUniform() and kaimingNormal(). Reference: torch.nn.init.kaiming_uniform_. */
export interface KaimingOptions extends InitOptions {
  /** Negative slope of leakyRelu. Default: 0. */
  readonly a?: number | undefined;
  /** @deprecated Use a. */
  readonly slope?: number | undefined;

  /** Whether the forward ("fanIn") or the backward pass ("fanOut") keeps its variance. Default: "fanIn". */
  readonly mode?: "fanIn" | "fanOut" | "fan_in" | "fan_out" | "input" | "output" | undefined;
  /** @deprecated Use mode. */
  readonly fan?: "input" | "output" | undefined;

  /** The function behind the layer. Default: "leakyRelu". */
  readonly nonlinearity?: Nonlinearity | undefined;
}

function kaimingStd(operation: string, t: Tensor, { a: slope = 0, mode = "fanIn", nonlinearity = "leakyRelu" }: KaimingOptions): number {
  const { input, output } = fans(operation, t);
  return gain(nonlinearity, slope) / Math.sqrt(mode === "fanIn" || mode === "fan_in" || mode === "input" ? input : output);
}

/** Uniform of standard deviation gain / sqrt(fan). Reference: torch.nn.init.kaiming_uniform_. */
export function kaimingUniform(t: Tensor, options: KaimingOptions = {}): Tensor {
  const bound = Math.sqrt(3) * kaimingStd("kaimingUniform", t, options);
  return uniform(t, -bound, bound, options);
}

/** Normal of standard deviation gain / sqrt(fan). Reference: torch.nn.init.kaiming_normal_. */
export const kaimingNormal = (t: Tensor, options: KaimingOptions = {}): Tensor =>
  normal(t, 0, kaimingStd("kaimingNormal", t, options), options);

/** Options of xavierUniform() and xavierNormal(). Reference: torch.nn.init.xavier_uniform_. */
export interface XavierOptions extends InitOptions {
  /** Default: 1. */
  readonly gain?: number | undefined;
}

const xavierStd = (operation: string, t: Tensor, factor: number): number => {
  const { input, output } = fans(operation, t);
  return factor * Math.sqrt(2 / (input + output));
};

/** Uniform of standard deviation gain * sqrt(2 / (inputs + outputs)). Reference: torch.nn.init.xavier_uniform_. */
export function xavierUniform(t: Tensor, options: XavierOptions = {}): Tensor {
  const bound = Math.sqrt(3) * xavierStd("xavierUniform", t, options.gain ?? 1);
  return uniform(t, -bound, bound, options);
}

/** Normal of standard deviation gain * sqrt(2 / (inputs + outputs)). Reference: torch.nn.init.xavier_normal_. */
export const xavierNormal = (t: Tensor, options: XavierOptions = {}): Tensor =>
  normal(t, 0, xavierStd("xavierNormal", t, options.gain ?? 1), options);
