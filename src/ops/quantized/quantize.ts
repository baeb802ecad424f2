/**
 * Quantization: q = clamp(round(x / scale) + zeroPoint), ties to even. scale and zeroPoint: a number for all, or a vector of one
 * for each index of an axis.
 */
import { call } from "../../dispatch/dispatch.ts";
import { DTYPES, isInteger, type DType } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { mul, sub } from "../elementwise/binary.ts";
import { ge, le, logicalAnd } from "../elementwise/compare.ts";
import { toDType } from "../data/conversion.ts";
import { formula, type Formula } from "../elementwise/formula.ts";
import { reshape } from "../shape/movement.ts";
import type { Expr } from "../../graph/graph.ts";
import { requireFloat } from "../declare/support.ts";
import { where } from "../elementwise/where.ts";

interface Range {
  readonly min: number;
  readonly max: number;
}

/** Before the limits: round(x * (1 / scale)) + zeroPoint. */
const emitLevel = (f: Formula, [x, scale, zero]: readonly Expr[]): Expr => f.add(f.round(f.mul(x!, f.div(1, scale!))), zero!);

const levelOp = formula("quantize", { emit: emitLevel, grad: null });

const fakeOp = formula<Range>("fakeQuantize", {
  emit: (f, inputs, { min, max }) => f.mul(f.sub(f.min(f.max(emitLevel(f, inputs), min), max), inputs[2]!), inputs[1]!),
  // As if nothing were rounded, where nothing was cut off.
  grad: [
    (dy, [x, scale, zero], _, { min, max }): Tensor => {
      const level = call(levelOp, [x!, scale!, zero!], undefined);
      return where(logicalAnd(ge(level, min), le(level, max)), dy, scalarTensor(dy.device, dy.dtype, 0));
    },
    null,
    null,
  ],
});

/** A number or a vector as what broadcasts against x along an axis. */
function parameter(operation: string, name: string, x: Tensor, value: number | Tensor, axis: number | null): Tensor {
  if (typeof value === "number") return scalarTensor(x.device, "float32", value);
  const real = toDType(value, "float32");
  if (value.size === 1) return reshape(real, []);
  if (axis === null) throw new ShapeError(operation, name, "of one element", value.describe());
  const a = normalizeAxis(operation, axis, x.rank);
  if (value.rank !== 1 || value.size !== x.shape[a])
    throw new ShapeError(operation, name, `[${x.shape[a]}], one for each index of axis ${a}`, value.describe());
  return reshape(
    real,
    x.shape.map((d, i) => (i === a ? d : 1)),
  );
}

/** Options of quantize(). */
export interface QuantizeOptions {
  /** Default: uint8. */
  readonly dtype?: DType | undefined;
  /** The axis whose indices have a scale and a zero point each. Default: one of each for all elements. */
  readonly axis?: number | null | undefined;
  /** Least and largest level. Default: those of the dtype. */
  readonly min?: number | undefined;
  /** The largest quantized value. Default: the dtype's. */
  readonly max?: number | undefined;
}

function limits(operation: string, dtype: DType, min: number | undefined, max: number | undefined): Range {
  if (!isInteger(dtype) || DTYPES[dtype].sizeInBytes > 4)
    throw new DTypeError(operation, "dtype", "an integer dtype of at most 32 bits", dtype);
  const { sizeInBytes, isSigned } = DTYPES[dtype];
  const range = {
    min: min ?? (isSigned ? -(2 ** (8 * sizeInBytes - 1)) : 0),
    max: max ?? 2 ** (8 * sizeInBytes - (isSigned ? 1 : 0)) - 1,
  };
  return requireRange(operation, range);
}

function requireRange(operation: string, range: Range): Range {
  if (!(Number.isInteger(range.min) && Number.isInteger(range.max) && range.min <= range.max))
    throw new ValueError(operation, "min and max", "integers in order", [range.min, range.max]);
  return range;
}

/**
 * x as integers of `dtype`. scale: above 0. Reference: torch.ops.quantized_decomposed.quantize_per_tensor and quantize_per_channel.
 */
export function quantize(x: Tensor, scale: number | Tensor, zeroPoint: number | Tensor, options: QuantizeOptions = {}): Tensor {
  requireFloat("quantize", x);
  const { dtype = "uint8", axis = null } = options;
  const { min, max } = limits("quantize", dtype, options.min, options.max);
  const level = call(
    levelOp,
    [toDType(x, "float32"), parameter("quantize", "scale", x, scale, axis), parameter("quantize", "zeroPoint", x, zeroPoint, axis)],
    undefined,
  );
  return toDType(level.clamp(min, max), dtype);
}

/** Options of dequantize(). */
export interface DequantizeOptions {
  /** The axis that scales belong to. Default: null, one scale for all. */
  readonly axis?: number | null | undefined;
}

/** (x - zeroPoint) * scale in float32. Gradients flow to scale and zeroPoint. Reference: torch.ops.quantized_decomposed.dequantize_per_tensor. */
export function dequantize(x: Tensor, scale: number | Tensor, zeroPoint: number | Tensor, { axis = null }: DequantizeOptions = {}): Tensor {
  if (!isInteger(x.dtype)) throw new DTypeError("dequantize", "x", "of an integer dtype", x.describe());
  const zero = parameter("dequantize", "zeroPoint", x, zeroPoint, axis);
  return mul(sub(toDType(x, "float32"), zero), parameter("dequantize", "scale", x, scale, axis));
}

/**
 * quantize() and dequantize() in one, in x's dtype; the gradient goes through as if nothing were rounded, except where the limits cut.
 * Reference: torch.fake_quantize_per_tensor_affine.
 */
export function fakeQuantizePerTensorAffine(
  x: Tensor,
  scale: number | Tensor,
  zeroPoint: number | Tensor,
  min: number,
  max: number,
): Tensor {
  return fake("fakeQuantizePerTensorAffine", x, scale, zeroPoint, null, { min, max });
}

/** fakeQuantizePerTensorAffine() with a scale and a zero point for each index of an axis. Reference: torch.fake_quantize_per_channel_affine. */
export function fakeQuantizePerChannelAffine(x: Tensor, scale: Tensor, zeroPoint: Tensor, axis: number, min: number, max: number): Tensor {
  return fake("fakeQuantizePerChannelAffine", x, scale, zeroPoint, axis, { min, max });
}

function fake(operation: string, x: Tensor, scale: number | Tensor, zero: number | Tensor, axis: number | null, range: Range): Tensor {
  requireFloat(operation, x);
  const inputs = [x, parameter(operation, "scale", x, scale, axis), parameter(operation, "zeroPoint", x, zero, axis)];
  return toDType(call(fakeOp, inputs, requireRange(operation, range)), x.dtype);
}

export const methods = { quantize, dequantize };
