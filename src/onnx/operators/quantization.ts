/** Operators of quantized numbers. */
import { DTYPES, type DType } from "../../core/dtype.ts";
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { narrowType } from "../format/narrow-types.ts";
import { dtypeOf } from "../format/value.ts";
import { narrowed } from "./cast.ts";
import { convolve } from "./convolution.ts";
import { family } from "./operator.ts";

/** The smallest and the largest number of an integer dtype. */
function limits(dtype: DType): readonly [number, number] {
  const bits = 8 * DTYPES[dtype].sizeInBytes;
  return DTYPES[dtype].isSigned ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
}

/** A scale or zero point laid along x: one number, one for each index of an axis, or one for each block along it. */
function laid(c: Call, t: Tensor, x: Tensor): Tensor {
  if (t.size === 1) return ops.reshape(t, []);
  const axis = c.axis(c.int("axis", 1), x.rank);
  if (t.rank <= 1)
    return ops.reshape(
      t,
      x.shape.map((_, i) => (i === axis ? t.size : 1)),
    );
  const block = c.int("block_size", 0) || Math.ceil(x.shape[axis]! / t.shape[axis]!);
  return ops.narrow(ops.repeatInterleave(t, block, axis), axis, 0, x.shape[axis]!);
}

/** round(x / scale) + zero point, within the dtype. */
export function quantized(x: Tensor, scale: Tensor, zero: Tensor | null, dtype: DType, range = limits(dtype)): Tensor {
  const rounded = ops.round(ops.div(ops.to(x, "float32"), ops.to(scale, "float32")));
  const moved = zero === null ? rounded : ops.add(rounded, ops.to(zero, "float32"));
  const [low, high] = range;
  return ops.to(ops.to(ops.clamp(moved, low, high), "int32"), dtype);
}

function quantize(c: Call): Tensor {
  const [x, scale, zero] = [c.x, c.tensor(1), c.optional(2)];
  const asked = c.int("output_dtype", 0);
  const narrow = c.narrow(2) ?? narrowType(asked);
  const along = laid(c, scale, x);
  if (narrow !== null && narrow.range === null) return narrowed(c, ops.div(ops.to(x, "float32"), ops.to(along, "float32")), narrow);
  const dtype = narrow?.dtype ?? (zero !== null ? zero.dtype : asked === 0 ? "uint8" : dtypeOf(asked, c.name));
  return quantized(x, along, zero === null ? null : laid(c, zero, x), dtype, narrow?.range ?? limits(dtype));
}

export function dequantized(x: Tensor, scale: Tensor, zero: Tensor | null): Tensor {
  const whole = ops.to(x, x.dtype === "int32" ? "int32" : "float32");
  const moved = zero === null ? whole : ops.sub(whole, ops.to(zero, whole.dtype));
  return ops.to(ops.mul(ops.to(moved, "float32"), ops.to(scale, "float32")), scale.dtype);
}

function dequantize(c: Call): Tensor {
  const [x, scale, zero] = [c.x, c.tensor(1), c.optional(2)];
  const y = dequantized(x, laid(c, scale, x), zero === null ? null : laid(c, zero, x));
  return c.int("output_dtype", 0) === 0 ? y : ops.to(y, dtypeOf(c.int("output_dtype", 0), c.name));
}

/** uint8 with a scale and a zero point whose range contains x and 0. */
export function dynamic(x: Tensor): Tensor[] {
  const [low, high] = [ops.clampMax(ops.amin(x), 0), ops.clampMin(ops.amax(x), 0)];
  const scale = ops.div(ops.sub(high, low), 255);
  const zero = ops.clamp(ops.round(ops.div(ops.neg(low), scale)), 0, 255);
  return [quantized(x, scale, zero, "uint8"), scale, ops.to(zero, "uint8")];
}

/** Rows of a, columns of b: what has one number for each. */
function perRow(t: Tensor, isRow: boolean): Tensor {
  if (t.size === 1) return ops.reshape(t, []);
  return isRow && t.rank === 1 ? ops.unsqueeze(t, -1) : t;
}

function qLinearMatMul(c: Call): Tensor {
  const side = (at: number, isRow: boolean): Tensor =>
    dequantized(c.tensor(at), ops.to(perRow(c.tensor(at + 1), isRow), "float32"), perRow(c.tensor(at + 2), isRow));
  const matmul = ops.matmul(side(0, true), side(3, false));
  const zero = c.tensor(7);
  return quantized(matmul, perRow(c.tensor(6), true), perRow(zero, true), zero.dtype);
}

function qLinearConv(c: Call): Tensor {
  const x = dequantized(c.x, c.tensor(1), c.tensor(2));
  const weight = c.tensor(3);
  const perChannel = (t: Tensor): Tensor =>
    t.size === 1 ? ops.reshape(t, []) : ops.reshape(t, [t.size, ...weight.shape.slice(1).map(() => 1)]);
  const w = dequantized(weight, perChannel(c.tensor(4)), perChannel(c.tensor(5)));
  const scale = ops.mul(ops.reshape(c.tensor(1), []), ops.reshape(c.tensor(4), [-1]));
  const bias = c.has(8) ? ops.mul(ops.to(c.tensor(8), "float32"), scale) : null;
  const zero = c.tensor(7);
  return quantized(convolve(c, x, w, bias), ops.reshape(c.tensor(6), []), ops.reshape(zero, []), zero.dtype);
}

export const quantization = family({
  DequantizeLinear: dequantize,
  DynamicQuantizeLinear: (c) => dynamic(c.x),
  QLinearConv: qLinearConv,
  QLinearMatMul: qLinearMatMul,
  QuantizeLinear: quantize,
});
