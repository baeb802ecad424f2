/**
 * Quantized arithmetic: integers q = round(x / scale) + zeroPoint represent real numbers x. Matmuls and convolutions
 * sum exactly in int32.
 */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import { define } from "../../core/definition.ts";
import { DTYPES, type DType } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { broadcastShapes, expandList, sameShape, showShape, sizeOf, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { contiguous, toDType } from "../data/conversion.ts";
import { amax, amin } from "../reduce/extrema.ts";
import { bitwiseAnd, bitwiseRightShift } from "../elementwise/bits.ts";
import { stack } from "../shape/join.ts";
import { matmul } from "../matmul/matmul.ts";
import { expand, reshape, select, t, unsqueeze } from "../shape/movement.ts";
import { requireFloat } from "../declare/support.ts";
import { round } from "../elementwise/unary.ts";
import { clamp, clampMax, clampMin } from "../elementwise/where.ts";
import type { PerAxis } from "../conv/spatial.ts";

/** How integers stand for real ones: (q - zeroPoint) * scale. */
export interface Levels {
  /** Above 0. A number, or a float32 tensor: of one element, or, where the operation allows it, one for each channel, row or column. */
  readonly scale: number | Tensor;
  /** In the tensor's dtype. Default: 0. */
  readonly zeroPoint?: number | Tensor | undefined;
}

/** Integers with what they stand for. */
export interface Quantized extends Levels {
  /** int8 or uint8. */
  readonly values: Tensor;
}

/** What a result is quantized to. */
export interface QuantizedResult extends Levels {
  /** int8 or uint8. Default: uint8. */
  readonly dtype?: DType | undefined;
}

/** Throws DTypeError unless x is int8 or uint8. @package */
export function requireBytes(operation: string, argument: string, x: Tensor): void {
  if (x.dtype !== "int8" && x.dtype !== "uint8") throw new DTypeError(operation, argument, "of int8 or uint8", x.describe());
}

/** A scale or zero point as a tensor [1] or [rows]. @package */
export function asVector(operation: string, argument: string, value: number | Tensor, dtype: DType, like: Tensor, rows: number): Tensor {
  if (typeof value === "number") {
    if (dtype === "float32" ? !(value > 0 && Number.isFinite(value)) : !isLevel(value, dtype))
      throw new ValueError(operation, argument, dtype === "float32" ? "a number above 0" : `an integer of ${dtype}`, value);
    return reshape(scalarTensor(like.device, dtype, value), [1]);
  }
  if (value.dtype !== dtype) throw new DTypeError(operation, argument, `of ${dtype}`, value.describe());
  if (value.size !== 1 && (value.rank !== 1 || value.size !== rows))
    throw new ShapeError(operation, argument, rows === 1 ? "of one element" : `of one element, or [${rows}]`, value.describe());
  return reshape(value, [value.size]);
}

function isLevel(value: number, dtype: DType): boolean {
  const { sizeInBytes, isSigned } = DTYPES[dtype];
  const bits = 8 * sizeInBytes;
  const min = isSigned ? -(2 ** (bits - 1)) : 0;
  return Number.isInteger(value) && value >= min && value < min + 2 ** bits;
}

/** scale and zero point of an operand, as tensors. @package */
export function levelsOf(operation: string, name: string, q: Levels, dtype: DType, like: Tensor, rows = 1): [Tensor, Tensor] {
  const scale = asVector(operation, `${name}.scale`, q.scale, "float32", like, rows);
  const zero = asVector(operation, `${name}.zeroPoint`, q.zeroPoint ?? 0, dtype, like, rows);
  // DirectML takes as many of the one as of the other.
  return scale.size === zero.size ? [scale, zero] : [contiguous(expand(scale, rows)), contiguous(expand(zero, rows))];
}

/** A vector along one of four axes. @package */
export const vectorAlong = (g: GraphBuilder, x: Expr, axis: number): Expr =>
  g.reshape(
    x,
    Array.from({ length: 4 }, (_, i) => (i === axis ? x.sizes[0]! : 1)),
  );

/** Leading axes as one, and one before it. */
const fourOf = (g: GraphBuilder, x: Expr, batch: Shape): Expr => {
  const [rows, columns] = x.sizes.slice(-2) as [number, number];
  return g.reshape(g.expand(x, [...batch, rows, columns]), [1, sizeOf(batch), rows, columns]);
};

const matmulShape = (operation: string, a: Shape, b: Shape): number[] => [
  ...broadcastShapes(operation, a.slice(0, -2), b.slice(0, -2)),
  a.at(-2)!,
  b.at(-1)!,
];

/** Inputs a, b, their zero points. */
const integerMatmulOp = define({
  name: "intMm",
  infer: ([a, b]) => [{ shape: matmulShape("intMm", a!.shape, b!.shape), dtype: "int32" }],
  lower: (g, [a, b, az, bz], _, [out]) => {
    const batch = out!.shape.slice(0, -2);
    const y = g.matrixMultiplyInteger(fourOf(g, a!, batch), fourOf(g, b!, batch), {
      aZeroPoint: vectorAlong(g, az!, 2),
      bZeroPoint: vectorAlong(g, bz!, 3),
      output: { sizes: [1, sizeOf(batch), ...out!.shape.slice(-2)], dtype: "int32" },
    });
    return [g.reshape(y, out!.shape)];
  },
  grad: null,
  multiplyAdds: ([a], _, [y]) => sizeOf(y!.shape) * a!.shape.at(-1)!,
  whenEmpty: 0,
});

/** Inputs a, its scale and zero point, b likewise, the result's. */
const quantizedMatmulOp = define<{ readonly dtype: DType }>({
  name: "qlinearMatmul",
  infer: ([a, , , b], { dtype }) => [{ shape: matmulShape("qlinearMatmul", a!.shape, b!.shape), dtype }],
  lower: (g, [a, as, az, b, bs, bz, os, oz], { dtype }, [out]) => {
    const batch = out!.shape.slice(0, -2);
    const y = g.quantizedLinearMatrixMultiply(
      fourOf(g, a!, batch),
      vectorAlong(g, as!, 2),
      fourOf(g, b!, batch),
      vectorAlong(g, bs!, 3),
      vectorAlong(g, os!, 2),
      {
        aZeroPoint: vectorAlong(g, az!, 2),
        bZeroPoint: vectorAlong(g, bz!, 3),
        outputZeroPoint: vectorAlong(g, oz!, 2),
        output: { sizes: [1, sizeOf(batch), ...out!.shape.slice(-2)], dtype },
      },
    );
    return [g.reshape(y, out!.shape)];
  },
  grad: null,
  multiplyAdds: ([a], _, [y]) => sizeOf(y!.shape) * a!.shape.at(-1)!,
});

function requireMatmul(operation: string, a: Tensor, b: Tensor): void {
  requireBytes(operation, "a", a);
  requireBytes(operation, "b", b);
  requireSameDevice(operation, [a, b]);
  if (a.rank < 2) throw new ShapeError(operation, "a", "[..., M, K]", a.describe());
  if (b.rank < 2 || b.shape.at(-2) !== a.shape.at(-1)) throw new ShapeError(operation, "b", `[..., ${a.shape.at(-1)}, N]`, b.describe());
}

/** Zero points of the operands of intMm() and convInteger(). */
export interface ZeroPoints {
  /** Of the first operand: one, or for a matmul one for each row. Default: 0. */
  readonly aZeroPoint?: number | Tensor | undefined;
  /** Of the second: one, or one for each column, for a convolution for each channel of the result. Default: 0. */
  readonly bZeroPoint?: number | Tensor | undefined;
}

/**
 * (a - aZeroPoint) @ (b - bZeroPoint), summed exactly modulo 2^32. a: [..., M, K], b: [..., K, N], int8 or uint8; leading axes broadcast.
 * Result: [..., M, N] int32. Has no gradient.
 * DirectML: MATRIX_MULTIPLY_INTEGER. Reference: torch._int_mm; ONNX MatMulInteger.
 */
export function intMm(a: Tensor, b: Tensor, { aZeroPoint = 0, bZeroPoint = 0 }: ZeroPoints = {}): Tensor {
  requireMatmul("intMm", a, b);
  const zeros = [
    asVector("intMm", "aZeroPoint", aZeroPoint, a.dtype, a, a.shape.at(-2)!),
    asVector("intMm", "bZeroPoint", bZeroPoint, b.dtype, b, b.shape.at(-1)!),
  ];
  return call(integerMatmulOp, [a, b, ...zeros], undefined);
}

/**
 * The matmul of the dequantized a and b, quantized: clamp(round(a b / scale) + zeroPoint). a.values: [..., M, K], b.values:
 * [..., K, N], int8 or uint8. Scales and zero points: one; of a and the result also one for each row, of b for each column. Has no gradient.
 * DirectML: QUANTIZED_LINEAR_MATRIX_MULTIPLY. Reference: ONNX QLinearMatMul.
 */
export function qlinearMatmul(a: Quantized, b: Quantized, result: QuantizedResult): Tensor {
  const name = "qlinearMatmul";
  requireMatmul(name, a.values, b.values);
  const [rows, columns] = [a.values.shape.at(-2)!, b.values.shape.at(-1)!];
  const dtype = resultDType(name, result);
  const inputs = [
    a.values,
    ...levelsOf(name, "a", a, a.values.dtype, a.values, rows),
    b.values,
    ...levelsOf(name, "b", b, b.values.dtype, b.values, columns),
    ...levelsOf(name, "result", result, dtype, a.values, rows),
  ];
  return call(quantizedMatmulOp, inputs, { dtype });
}

/** The dtype that a result is quantized to. @package */
export function resultDType(operation: string, { dtype = "uint8" }: QuantizedResult): DType {
  if (dtype !== "uint8" && dtype !== "int8") throw new DTypeError(operation, "result.dtype", "int8 or uint8", dtype);
  return dtype;
}

/** Inputs a, its scale and zero point, b likewise, the result's. */
const quantizedSumOp = define<{ readonly dtype: DType }>({
  name: "qlinearAdd",
  traits: { elementwise: true },
  infer: ([a, , , b], { dtype }) => [{ shape: broadcastShapes("qlinearAdd", a!.shape, b!.shape), dtype }],
  lower: (g, [a, as, az, b, bs, bz, os, oz], { dtype }, [out]) => {
    const sizes = out!.shape.length === 0 ? [1] : out!.shape;
    const one = (v: Expr): Expr =>
      g.reshape(
        v,
        sizes.map(() => 1),
      );
    return [
      g.elementWiseQuantizedLinearAdd(g.expand(a!, sizes), one(as!), g.expand(b!, sizes), one(bs!), one(os!), {
        aZeroPoint: one(az!),
        bZeroPoint: one(bz!),
        outputZeroPoint: one(oz!),
        output: { sizes, dtype },
      }),
    ];
  },
  grad: null,
});

/**
 * The sum of what a and b stand for, quantized again; shapes broadcast. int8 or uint8; scales and zero points: one each. Has no gradient.
 * DirectML: ELEMENT_WISE_QUANTIZED_LINEAR_ADD. Reference: onnxruntime's QLinearAdd.
 */
export function qlinearAdd(a: Quantized, b: Quantized, result: QuantizedResult): Tensor {
  const name = "qlinearAdd";
  requireBytes(name, "a", a.values);
  requireBytes(name, "b", b.values);
  requireSameDevice(name, [a.values, b.values]);
  const dtype = resultDType(name, result);
  const inputs = [
    a.values,
    ...levelsOf(name, "a", a, a.values.dtype, a.values),
    b.values,
    ...levelsOf(name, "b", b, b.values.dtype, a.values),
    ...levelsOf(name, "result", result, dtype, a.values),
  ];
  return call(quantizedSumOp, inputs, { dtype });
}

interface Averaging {
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly output: readonly number[];
  readonly includePadding: boolean;
  readonly dtype: DType;
}

/** Inputs x, its scale and zero point, the result's. */
const quantizedMeanOp = define<Averaging>({
  name: "qlinearAvgPool2d",
  infer: ([x], { output, dtype }) => [{ shape: [x!.shape[0]!, x!.shape[1]!, ...output], dtype }],
  lower: (g, [x, xs, xz, os, oz], o, [out]) => {
    const one = (v: Expr): Expr => vectorAlong(g, v, 1);
    const windows = {
      strides: o.stride,
      windowSize: o.kernel,
      startPadding: o.padding,
      endPadding: o.padding,
      includePadding: o.includePadding,
    };
    const sizes = out!.shape;
    if (g.supports("QUANTIZED_LINEAR_AVERAGE_POOLING", x!.dtype))
      return [
        g.quantizedLinearAveragePooling(g.packed(x!), one(xs!), one(os!), {
          inputZeroPoint: one(xz!),
          outputZeroPoint: one(oz!),
          output: { sizes, dtype: o.dtype },
          dilations: [1, 1],
          ...windows,
        }),
      ];
    const over = (v: Expr, s: readonly number[]): Expr => g.expand(one(v), s);
    const real = g.elementWiseDequantizeLinear(x!, over(xs!, x!.sizes), {
      zeroPoint: over(xz!, x!.sizes),
      output: { sizes: x!.sizes, dtype: "float32" },
    });
    const mean = g.averagePooling(g.packed(real), { output: { sizes }, ...windows });
    return [g.elementWiseQuantizeLinear(mean, over(os!, sizes), { zeroPoint: over(oz!, sizes), output: { sizes, dtype: o.dtype } })];
  },
  grad: null,
});

/** Options of qlinearAvgPool2d(). */
export interface QuantizedPoolOptions {
  /** Stride: elements between neighbouring windows. Default: the window's size. */
  readonly stride?: PerAxis | undefined;
  /** Padding: elements that stand for 0, added on both sides. Default: 0. */
  readonly padding?: PerAxis | undefined;
  /** Whether padded elements count. Default: true. */
  readonly countIncludePad?: boolean | undefined;
}

/**
 * Means over windows of what x stands for, quantized again. x.values: [N, C, H, W] int8 or uint8; scales and zero points: one each.
 * Has no gradient.
 * DirectML: QUANTIZED_LINEAR_AVERAGE_POOLING; before level 6.2 AVERAGE_POOLING of real numbers. Reference: onnxruntime's QLinearAveragePool.
 */
export function qlinearAvgPool2d(x: Quantized, size: PerAxis, result: QuantizedResult, options: QuantizedPoolOptions = {}): Tensor {
  const name = "qlinearAvgPool2d";
  const { values } = x;
  requireBytes(name, "x", values);
  if (values.rank !== 4) throw new ShapeError(name, "x", "[N, C, H, W]", values.describe());
  const kernel = expandList(name, "size", size, 2, 1);
  const stride = expandList(name, "stride", options.stride ?? kernel, 2, 1);
  const padding = expandList(name, "padding", options.padding ?? 0, 2);
  if (padding.some((p, i) => 2 * p > kernel[i]!)) throw new ValueError(name, "padding", "at most half the window", padding);
  const output = kernel.map((k, i) => Math.floor((values.shape[i + 2]! + 2 * padding[i]! - k) / stride[i]!) + 1);
  if (output.some((d) => d < 1)) throw new ShapeError(name, "x", `at least as large as the window ${showShape(kernel)}`, values.describe());
  const dtype = resultDType(name, result);
  const inputs = [values, ...levelsOf(name, "x", x, values.dtype, values), ...levelsOf(name, "result", result, dtype, values)];
  return call(quantizedMeanOp, inputs, { kernel, stride, padding, output, includePadding: options.countIncludePad ?? true, dtype });
}

/** What chooseQparams() gives: a scale and a zero point. */
export interface QuantizationParameters {
  /** One float32 element. */
  readonly scale: Tensor;
  /** One int32 element. */
  readonly zeroPoint: Tensor;
}

/**
 * scale and zeroPoint with which the levels min to max hold all of x and 0: scale = (high - low) / (max - min), at least `eps`.
 * x: floating, at least one element. Nothing is read back.
 * DirectML: REDUCE MIN and MAX. Reference: torch.ops.quantized_decomposed.choose_qparams.tensor.
 */
export function chooseQparams(
  x: Tensor,
  {
    min = 0,
    max = 255,
    eps = 2 ** -23,
  }: {
    /** The least quantized value. Default: 0. */
    readonly min?: number | undefined; /** The largest quantized value. Default: 255. */
    readonly max?: number | undefined; /** The least scale. Default: 2 ** -23. */
    readonly eps?: number | undefined;
  } = {},
): QuantizationParameters {
  requireFloat("chooseQparams", x);
  if (!(Number.isInteger(min) && Number.isInteger(max) && min < max))
    throw new ValueError("chooseQparams", "min and max", "integers in order", [min, max]);
  if (!(eps > 0)) throw new ValueError("chooseQparams", "eps", "above 0", eps);
  const real = toDType(x, "float32");
  const [low, high] = [clampMax(amin(real), 0), clampMin(amax(real), 0)];
  const scale = clampMin(div(sub(high, low), max - min), eps);
  const zero = clamp(sub(min, round(div(low, scale))), min, max);
  return { scale, zeroPoint: toDType(zero, "int32") };
}

/**
 * x times weights of 8 bits, transposed: (x @ weight.T) * scales. x: [..., K] floating, weight: [N, K] int8, scales: [N]. Gradients flow to
 * x and scales. DirectML: CAST, GEMM. Reference: torch._weight_int8pack_mm.
 */
export function weightInt8packMm(x: Tensor, weight: Tensor, scales: Tensor): Tensor {
  const name = "weightInt8packMm";
  requireFloat(name, x);
  if (weight.dtype !== "int8") throw new DTypeError(name, "weight", "of int8", weight.describe());
  if (weight.rank !== 2 || weight.shape[1] !== x.shape.at(-1))
    throw new ShapeError(name, "weight", `[N, ${x.shape.at(-1)}]`, weight.describe());
  if (!sameShape(scales.shape, [weight.shape[0]!])) throw new ShapeError(name, "scales", `[${weight.shape[0]}]`, scales.describe());
  return mul(matmul(x, t(toDType(weight, x.dtype))), toDType(scales, x.dtype));
}

/**
 * x times weights of 4 bits, transposed, in groups of `groupSize` along K: w = (level - 8) * scale + zero. x: [..., K] floating. weight:
 * [N, K / 2] uint8, of each byte first the upper half. scales and zeros: [K / groupSize, N, 2], the scale first. Gradients flow to x and
 * to scales and zeros.
 * DirectML: bit operations, CAST, GEMM. Reference: torch._weight_int4pack_mm, whose packing is that of torch._convert_weight_to_int4pack's input.
 */
export function weightInt4packMm(x: Tensor, weight: Tensor, groupSize: number, scalesAndZeros: Tensor): Tensor {
  const name = "weightInt4packMm";
  requireFloat(name, x);
  const width = x.shape.at(-1) ?? 0;
  if (weight.dtype !== "uint8") throw new DTypeError(name, "weight", "of uint8", weight.describe());
  if (weight.rank !== 2 || weight.shape[1]! * 2 !== width) throw new ShapeError(name, "weight", `[N, ${width} / 2]`, weight.describe());
  if (!Number.isInteger(groupSize) || groupSize < 1 || width % groupSize !== 0)
    throw new ValueError(name, "groupSize", `a divisor of ${width}`, groupSize);
  const [n, groups] = [weight.shape[0]!, width / groupSize];
  if (!sameShape(scalesAndZeros.shape, [groups, n, 2]))
    throw new ShapeError(name, "scalesAndZeros", showShape([groups, n, 2]), scalesAndZeros.describe());
  const levels = reshape(stack([bitwiseRightShift(weight, 4), bitwiseAnd(weight, 15)], 2), [n, groups, groupSize]);
  const parameters = toDType(scalesAndZeros, "float32");
  const each = (i: number): Tensor => unsqueeze(t(select(parameters, 2, i)), 2);
  const real = add(mul(sub(toDType(levels, "float32"), 8), each(0)), each(1));
  return toDType(matmul(toDType(x, "float32"), t(reshape(real, [n, width]))), x.dtype);
}
