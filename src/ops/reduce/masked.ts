/**
 * Reductions, scans and normalisations of the elements for which a mask is true. The others count as the operation's identity.
 * @namespace masked
 */
import { isHalf, type DType } from "../../core/dtype.ts";
import { DTypeError, ShapeError } from "../../core/errors.ts";
import { isBroadcastableTo, showShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { div, sub } from "../elementwise/binary.ts";
import { onesLike } from "../creation/creation.ts";
import { asFloat, toDType } from "../data/conversion.ts";
import { amax as amaxOp, amin as aminOp, argmax as argmaxOp, argmin as argminOp, type ArgOptions } from "./extrema.ts";
import { broadcastTo } from "../shape/movement.ts";
import { nanmedian } from "../sort/order-statistics.ts";
import { logaddexp as logaddexpOp } from "../elementwise/arithmetic.ts";
import { prod as prodOp, sum as sumOp, type Axes, type ReduceOptions } from "./reduce.ts";
import { cumprod as cumprodOp, cumsum as cumsumOp } from "../scan/cumulative.ts";
import { logSoftmax as logSoftmaxOp, softmax as softmaxOp } from "./softmax.ts";
import { identityOf } from "../index/scatter-lower.ts";
import { logsumexp as logsumexpOp, norm as normOp } from "./statistics.ts";
import { neg, sqrt, square } from "../elementwise/unary.ts";
import { clampMin, where } from "../elementwise/where.ts";

/** true (or not 0) where an element counts; broadcasts to x. Default: all count. */
export interface MaskOption {
  /** bool, broadcast to x: true for elements that count. Default: all. */
  readonly mask?: Tensor | null | undefined;
}
type Masked = ReduceOptions & MaskOption;

/** x, and the mask in its shape. */
function spread(operation: string, x: Tensor, mask: Tensor): [Tensor, Tensor] {
  if (!isBroadcastableTo(mask.shape, x.shape))
    throw new ShapeError(operation, "mask", `one that broadcasts to x's ${showShape(x.shape)}`, mask.describe());
  return [x, broadcastTo(toDType(mask, "bool"), x.shape)];
}
/** x with a value where the mask is false. */
function filled(operation: string, x: Tensor, mask: Tensor | null | undefined, value: number | bigint): Tensor {
  if (mask == null) return x;
  const [y, m] = spread(operation, x, mask);
  return where(m, y, value);
}
/** Throws for dtypes that have no extreme, mean or deviation in PyTorch. */
function numeric(operation: string, x: Tensor): Tensor {
  if (x.dtype === "bool") throw new DTypeError(operation, "x", "of a numeric dtype", x.describe());
  return x;
}
/** x with the extreme's identity where the mask is false. */
const fill = (operation: string, x: Tensor, mask: Tensor | null | undefined, fold: "amax" | "amin"): Tensor =>
  mask == null ? x : toDType(filled(operation, numeric(operation, x), mask, identityOf(fold, x.dtype)), x.dtype);
const real = (x: Tensor, dtype?: DType): Tensor => (dtype === undefined ? asFloat(x) : toDType(x, dtype));

/** The sum of the elements that count. Reference: torch.masked.sum. */
export const sum = (x: Tensor, axis: Axes = null, { mask, ...options }: Masked = {}): Tensor =>
  sumOp(filled("masked.sum", x, mask, 0), axis, options);
/** The product of the elements that count, over an axis or all. Reference: torch.masked.prod. @autocast float32 */
export function prod(x: Tensor, axis: Axes = null, { mask, ...options }: Masked = {}): Tensor {
  const y = filled("masked.prod", x, mask, 1);
  if (typeof axis === "number") return prodOp(y, axis, options);
  // Axis by axis, as in PyTorch, also where all are meant: the gradients at zeros differ.
  const list = (axis ?? y.shape.map((_, i) => i)).map((a) => (a < 0 ? a + y.rank : a)).toSorted((a, b) => b - a);
  return list.length === 0 ? prodOp(y, null, options) : list.reduce((t, a) => prodOp(t, a, options), y);
}
/** The largest element that counts. Reference: torch.masked.amax. */
export const amax = (x: Tensor, axis: Axes = null, { mask, ...options }: Masked = {}): Tensor =>
  amaxOp(fill("masked.amax", x, mask, "amax"), axis, options);
/** The smallest element that counts. Reference: torch.masked.amin. */
export const amin = (x: Tensor, axis: Axes = null, { mask, ...options }: Masked = {}): Tensor =>
  aminOp(fill("masked.amin", x, mask, "amin"), axis, options);
/** The index of the largest element that counts. Reference: torch.masked.argmax. */
export const argmax = (x: Tensor, axis: number | null = null, { mask, ...options }: ArgOptions & MaskOption = {}): Tensor =>
  argmaxOp(fill("masked.argmax", x, mask, "amax"), axis, options);
/** The index of the smallest element that counts. Reference: torch.masked.argmin. */
export const argmin = (x: Tensor, axis: number | null = null, { mask, ...options }: ArgOptions & MaskOption = {}): Tensor =>
  argminOp(fill("masked.argmin", x, mask, "amin"), axis, options);

/** How many elements count. */
const countOf = (x: Tensor, axis: Axes, mask: Tensor | null | undefined, keepDims: boolean | undefined): Tensor =>
  sumOp(mask == null ? onesLike(x, { dtype: "int64" }) : toDType(spread("masked", x, mask)[1], "int64"), axis, { keepDims });
/** The mean of the elements that count; NaN where none does. Integers give float32. Reference: torch.masked.mean. */
export function mean(x: Tensor, axis: Axes = null, { mask, keepDims, dtype }: Masked = {}): Tensor {
  const y = real(x, dtype);
  return div(sum(y, axis, { mask, keepDims }), toDType(countOf(y, axis, mask, keepDims), y.dtype));
}
/** Options of masked.var() and masked.std(). */
export interface MaskedVarianceOptions extends MaskOption {
  /** Whether axes that are reduced stay, with length 1. Default: false. */
  readonly keepDims?: boolean | undefined;
  /** keepDims by its PyTorch name. @alias keepDims */
  readonly keepdim?: boolean | undefined;

  /** Default: 1. */
  readonly correction?: number | undefined;
}
/** The variance of the elements that count. Reference: torch.masked.var. */
export function variance(x: Tensor, axis: Axes = null, { mask, keepDims, correction = 1 }: MaskedVarianceOptions = {}): Tensor {
  numeric("masked.variance", x);
  const half = isHalf(x.dtype);
  const y = half ? toDType(x, "float32") : real(x);
  const centred = sub(y, mean(y, axis, { mask, keepDims: true }));
  const count = toDType(countOf(y, axis, mask, keepDims), y.dtype);
  const total = div(sum(square(centred), axis, { mask, keepDims }), clampMin(sub(count, correction), 0));
  return half ? toDType(total, x.dtype) : total;
}
/** The standard deviation of the elements that count. Reference: torch.masked.std. */
export const std = (x: Tensor, axis: Axes = null, options: MaskedVarianceOptions = {}): Tensor => sqrt(variance(x, axis, options));
/** The p-norm of the elements that count. Reference: torch.masked.norm. */
export const norm = (x: Tensor, p = 2, axis: Axes = null, { mask, ...options }: Masked = {}): Tensor =>
  normOp(filled("masked.norm", real(x, options.dtype), mask, p < 0 ? Infinity : 0), p, axis, { keepDims: options.keepDims });
/** The median of the elements that count along an axis; NaN where none does. Floating dtypes. Reference: torch.masked.median. */
export const median = (
  x: Tensor,
  axis: number,
  {
    mask,
    keepDims,
  }: MaskOption & {
    /** Whether axes that are reduced stay, with length 1. Default: false. */
    readonly keepDims?: boolean | undefined;
    /** keepDims by its PyTorch name. @alias keepDims */
    readonly keepdim?: boolean | undefined;
  } = {},
): Tensor => nanmedian(filled("masked.median", real(x), mask, NaN), axis, { keepDims }).values;
/** ln of the sum of e^x over the elements that count, in x's dtype. Reference: torch.masked.logsumexp. */
export const logsumexp = (x: Tensor, axis: Axes, { mask, ...options }: Masked = {}): Tensor =>
  toDType(
    logsumexpOp(filled("masked.logsumexp", real(x, options.dtype), mask, -Infinity), axis, { keepDims: options.keepDims }),
    options.dtype ?? x.dtype,
  );
/** ln(e^a + e^b) of the elements that count. Reference: torch.masked.logaddexp. */
export const logaddexp = (
  a: Tensor,
  b: Tensor,
  {
    mask,
    otherMask,
  }: MaskOption & {
    /** The mask of the second operand. Default: all of its elements count. */
    readonly otherMask?: Tensor | null | undefined;
  } = {},
): Tensor => logaddexpOp(filled("masked.logaddexp", real(a), mask, -Infinity), filled("masked.logaddexp", real(b), otherMask, -Infinity));
/** The cumulative sum of the elements that count, in x's dtype. Reference: torch.masked.cumsum. */
export const cumsum = (
  x: Tensor,
  axis: number,
  {
    mask,
    dtype,
  }: MaskOption & {
    /** x is converted to it first. Default: x's own dtype. */
    readonly dtype?: DType | undefined;
  } = {},
): Tensor => cumsumOp(filled("masked.cumsum", x, mask, 0), axis, { dtype: dtype ?? x.dtype });
/** The cumulative product of the elements that count, in x's dtype. Reference: torch.masked.cumprod. */
export const cumprod = (
  x: Tensor,
  axis: number,
  {
    mask,
    dtype,
  }: MaskOption & {
    /** x is converted to it first. Default: x's own dtype. */
    readonly dtype?: DType | undefined;
  } = {},
): Tensor => cumprodOp(filled("masked.cumprod", x, mask, 1), axis, { dtype: dtype ?? x.dtype });
/** softmax over the elements that count; 0 elsewhere. Reference: torch.masked.softmax. */
export const softmax = (
  x: Tensor,
  axis: number,
  {
    mask,
    dtype,
  }: MaskOption & {
    /** x is converted to it first. Default: x's own dtype. */
    readonly dtype?: DType | undefined;
  } = {},
): Tensor => softmaxOp(filled("masked.softmax", real(x, dtype), mask, -Infinity), axis);
/** logSoftmax over the elements that count. Reference: torch.masked.log_softmax. */
export const logSoftmax = (
  x: Tensor,
  axis: number,
  {
    mask,
    dtype,
  }: MaskOption & {
    /** x is converted to it first. Default: x's own dtype. */
    readonly dtype?: DType | undefined;
  } = {},
): Tensor => logSoftmaxOp(filled("masked.logSoftmax", real(x, dtype), mask, -Infinity), axis);
/** softmax of -x over the elements that count. Reference: torch.masked.softmin. */
export const softmin = (
  x: Tensor,
  axis: number,
  {
    mask,
    dtype,
  }: MaskOption & {
    /** x is converted to it first. Default: x's own dtype. */
    readonly dtype?: DType | undefined;
  } = {},
): Tensor => softmaxOp(neg(filled("masked.softmin", real(x, dtype), mask, Infinity)), axis);
/** The elements that count, divided by their p-norm along an axis (at least epsilon); 0 elsewhere. Reference: torch.masked.normalize. */
export function normalize(
  x: Tensor,
  p: number,
  axis: number,
  {
    mask,
    eps: epsilon = 1e-12,
    dtype,
  }: MaskOption & {
    /** Lower limit of the divisor. Default: 1e-12. */
    readonly eps?: number | undefined;
    /** @deprecated Use eps. */
    readonly epsilon?: number | undefined;
    /** x is converted to it first. Default: x's own dtype. */
    readonly dtype?: DType | undefined;
  } = {},
): Tensor {
  const y = real(x, dtype);
  const length = clampMin(norm(y, p, axis, { mask, keepDims: true }), epsilon);
  return div(filled("masked.normalize", y, mask, 0), length);
}
