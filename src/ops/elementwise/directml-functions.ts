/** DirectML's own elementwise functions. */
import { call } from "../../dispatch/dispatch.ts";
import { define, type Definition } from "../../core/definition.ts";
import { DTYPES } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import type { Tensor } from "../../core/tensor.ts";
import { softplus } from "./activation.ts";
import { binary, mul, operands, sub, type Arithmetic } from "./binary.ts";
import { gt } from "./compare.ts";
import { requireFloat, floating } from "../declare/support.ts";
import { square, tanh } from "./unary.ts";
import { where } from "./where.ts";

function requireFinite(operation: string, options: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(options))
    if (!Number.isFinite(value)) throw new ValueError(operation, name, "a finite number", value);
}

interface AlphaBeta {
  readonly alpha: number;
  readonly beta: number;
}

const scaledTanhOp: Definition<AlphaBeta> = define<AlphaBeta>({
  name: "scaledTanh",
  traits: { elementwise: true },
  infer: ([x]) => [x!],
  lower: (g, [x], a) => [g.activationScaledTanh(x!, a)],
  grad: (dy, { inputs: [x], attrs: { alpha, beta } }) => [mul(dy, mul(sub(1, square(tanh(mul(x!, beta)))), alpha * beta))],
  saves: { outputs: false },
});

/** alpha * tanh(beta * x). x: floating; keeps shape and dtype. Default: 1, 0.5. DirectML: ACTIVATION_SCALED_TANH. Reference: ONNX ScaledTanh. */
export function scaledTanh(
  x: Tensor,
  {
    alpha = 1,
    beta = 0.5,
  }: {
    /** Factor of the hyperbolic tangent. Default: 1. */
    readonly alpha?: number | undefined; /** Factor of x inside. Default: 0.5. */
    readonly beta?: number | undefined;
  } = {},
): Tensor {
  requireFloat("scaledTanh", x);
  requireFinite("scaledTanh", { alpha, beta });
  return call(scaledTanhOp, [x], { alpha, beta });
}

/**
 * alpha * ln(1 + exp(beta * x)), without overflow. x: floating; keeps shape and dtype. Default: 1, 1.
 * DirectML: that of softplus. Reference: ONNX ParametricSoftplus.
 */
export function parametricSoftplus(
  x: Tensor,
  {
    alpha = 1,
    beta = 1,
  }: {
    /** Factor of the logarithm. Default: 1. */
    readonly alpha?: number | undefined; /** Factor of x inside. Default: 1. */
    readonly beta?: number | undefined;
  } = {},
): Tensor {
  requireFloat("parametricSoftplus", x);
  requireFinite("parametricSoftplus", { alpha, beta });
  return mul(softplus(mul(x, beta)), alpha);
}

const thresholdedReluOp: Definition<{ readonly alpha: number }> = define<{ readonly alpha: number }>({
  name: "thresholdedRelu",
  traits: { elementwise: true },
  infer: ([x]) => [x!],
  lower: (g, [x], a) => [g.activationThresholdedRelu(x!, a)],
  grad: (dy, { inputs: [x], attrs: { alpha } }) => [where(gt(x!, alpha), dy, scalarTensor(dy.device, dy.dtype, 0))],
  saves: { outputs: false },
});

/**
 * x where x > alpha, else 0. x: floating; keeps shape and dtype. Default: 1.
 * DirectML: ACTIVATION_THRESHOLDED_RELU. Reference: ONNX ThresholdedRelu.
 */
export function thresholdedRelu(
  x: Tensor,
  {
    alpha = 1,
  }: {
    /** Numbers above it pass. Default: 1. */
    readonly alpha?: number | undefined;
  } = {},
): Tensor {
  requireFloat("thresholdedRelu", x);
  requireFinite("thresholdedRelu", { alpha });
  return call(thresholdedReluOp, [x], { alpha });
}

const affineOp: Definition<AlphaBeta> = define<AlphaBeta>({
  name: "linearActivation",
  traits: { elementwise: true },
  infer: ([x]) => [x!],
  lower: (g, [x], a) => [g.activationLinear(x!, a)],
  grad: (dy, { attrs: { alpha } }) => [mul(dy, alpha)],
  saves: { inputs: [], outputs: false },
});

/** alpha * x + beta. x: floating; keeps shape and dtype. Default: 1, 0. DirectML: ACTIVATION_LINEAR. Reference: ONNX's activation Affine. */
export function linearActivation(
  x: Tensor,
  {
    alpha = 1,
    beta = 0,
  }: {
    /** Factor of x. Default: 1. */
    readonly alpha?: number | undefined; /** What is added. Default: 0. */
    readonly beta?: number | undefined;
  } = {},
): Tensor {
  requireFloat("linearActivation", x);
  requireFinite("linearActivation", { alpha, beta });
  return call(affineOp, [x], { alpha, beta });
}

const meanOp = binary("mean2", {
  dtype: floating,
  emit: (g, a, b) => g.elementWiseMean(a, b),
  grad: (dy) => [mul(dy, 0.5), mul(dy, 0.5)],
  saves: [],
});

/** (a + b) / 2. Shapes broadcast; integers give float32. DirectML: ELEMENT_WISE_MEAN. Reference: ONNX Mean of two. */
export const mean2 = (a: Arithmetic, b: Arithmetic): Tensor => call(meanOp, operands("mean2", a, b), undefined);

interface ValueScale {
  readonly scale: number;
  readonly bias: readonly number[];
}

const valueScaleOp: Definition<ValueScale> = define<ValueScale>({
  name: "valueScale2d",
  infer: ([x]) => [x!],
  lower: (g, [x], a) => [g.valueScale2d(g.packed(x!), a)],
  grad: (dy, { attrs: { scale } }) => [mul(dy, scale)],
  saves: { inputs: [], outputs: false },
});

/**
 * scale * x + bias, a bias for each channel: how images are brought to a network's range. x: [N, C, H, W] of 1 or 3 channels, floating;
 * keeps shape and dtype. bias: C numbers. DirectML: VALUE_SCALE_2D. Reference: ONNX ImageScaler.
 */
export function valueScale2d(x: Tensor, scale: number, bias: readonly number[]): Tensor {
  requireFloat("valueScale2d", x);
  if (x.rank !== 4 || (x.shape[1] !== 1 && x.shape[1] !== 3))
    throw new ShapeError("valueScale2d", "x", "[N, 1, H, W] or [N, 3, H, W]", x.describe());
  requireFinite("valueScale2d", { scale });
  if (bias.length !== x.shape[1] || bias.some((b) => !Number.isFinite(b)))
    throw new ValueError("valueScale2d", "bias", `${x.shape[1]} finite numbers, one for each channel`, bias);
  return call(valueScaleOp, [x], { scale, bias: [...bias] });
}

const SAME_BITS = { int8: "uint8", int16: "uint16", int32: "uint32", int64: "uint64", bool: "uint8" } as const;

const bitCountOp = define({
  name: "bitCount",
  traits: { elementwise: true },
  infer: ([x]) => [{ shape: x!.shape, dtype: "int32" }],
  lower: (g, [x]) => {
    const { dtype } = x!;
    const bits = dtype in SAME_BITS ? g.reinterpret(x!, { dtype: SAME_BITS[dtype as keyof typeof SAME_BITS] }) : x!;
    return [g.reinterpret(g.elementWiseBitCount(bits, { output: { dtype: "uint32" } }), { dtype: "int32" })];
  },
  grad: null,
});

/**
 * How many bits of each element are 1; those of a negative number as two's complement. x: of an integer dtype or bool. Result: int32.
 * DirectML: ELEMENT_WISE_BIT_COUNT. Reference: numpy.bitwise_count of unsigned numbers.
 */
export function bitCount(x: Tensor): Tensor {
  if (DTYPES[x.dtype].kind === "float") throw new DTypeError("bitCount", "x", "of an integer dtype or bool", x.describe());
  return call(bitCountOp, [x], undefined);
}

export const methods = { bitCount };
