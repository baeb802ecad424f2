/** Median, mode and quantiles. */
import { isGradEnabled, noGrad } from "../../autograd/grad-mode.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { isFloat } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { eq, isnan, ne } from "../elementwise/compare.ts";
import { tensor } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { argmax, chosenValue, type Extremes } from "../reduce/extrema.ts";
import { gather } from "../index/gather.ts";
import { clamp, where } from "../elementwise/where.ts";
import { expand, flatten, movedim, narrow, reshape, unsqueeze } from "../shape/movement.ts";
import { arange } from "../creation/ranges.ts";
import { any, sum } from "../reduce/reduce.ts";
import { cummax } from "../scan/cumulative-extrema.ts";
import { ordered, picked, type KthOptions } from "./sort.ts";
import { cat } from "../shape/join.ts";
import { requireFloat } from "../declare/support.ts";
import { ceil, floor, round } from "../elementwise/unary.ts";

const valuesOnly = (x: Tensor, find: (flat: Tensor) => Extremes): Tensor => find(flatten(x)).values;

function requireElements(operation: string, x: Tensor, axis: number): void {
  if (x.shape[axis] === 0) throw new ShapeError(operation, "x", "of at least one element along the axis", x.describe());
}

/** The sorted element at floor((n - 1) / 2) along an axis; NaN where there is one, or (skipNaN) among the n elements that are not NaN. */
function middle(x: Tensor, axis: number, { keepDims = false, dtype = "int32" }: KthOptions, skipNaN: boolean): Extremes {
  const n = x.shape[axis] ?? 1;
  const sorted = ordered(x, axis, n, false, dtype);
  const shape = x.shape.map((d, i) => (i === axis ? 1 : d));
  const half = expand(tensor(Int32Array.of((n - 1) >> 1), { shape: shape.map(() => 1), device: x.device }), shape);
  if (!isFloat(x.dtype)) return picked(sorted, axis, half, keepDims);
  const nan = isnan(x);
  const count = toDType(sum(nan, axis, { keepDims: true }), "int32");
  const at = skipNaN
    ? clamp(floor(mul(toDType(sub(n - 1, count), "float32"), 0.5)), 0, null)
    : where(any(nan, axis, { keepDims: true }), sub(n, count), half);
  // Where all elements are NaN, the median is the first of them.
  return picked(sorted, axis, reshape(toDType(at, "int32"), shape), keepDims);
}

function medianOf(operation: string, x: Tensor, axis: number | undefined, options: KthOptions, skipNaN: boolean): Tensor | Extremes {
  if (x.dtype === "bool") throw new DTypeError(operation, "x", "of a numeric dtype", x.describe());
  if (axis === undefined) {
    if (x.size === 0) return scalarTensor(x.device, x.dtype, isFloat(x.dtype) ? NaN : 0);
    if (!x.requiresGrad || !isGradEnabled()) return valuesOnly(x, (flat) => middle(flat, 0, {}, skipNaN));
    // Without an axis all elements that are equal to the median share its gradient, as in PyTorch.
    return chosenValue(
      x,
      noGrad(() => valuesOnly(x, (flat) => middle(flat, 0, {}, skipNaN))),
    );
  }
  const a = normalizeAxis(operation, axis, x.rank);
  requireElements(operation, x, a);
  return middle(x, a, options, skipNaN);
}

/**
 * The median, the lower of two; along an axis with its index: {values, indices}. NaN if an element is. DirectML: TOP_K1.
 * Reference: torch.median.
 */
export function median(x: Tensor): Tensor;
export function median(x: Tensor, axis: number, options?: KthOptions): Extremes;
export function median(x: Tensor, axis?: number, options: KthOptions = {}): Tensor | Extremes {
  return medianOf("median", x, axis, options, false);
}

/** The median of the elements that are not NaN. Reference: torch.nanmedian. DirectML: TOP_K1. */
export function nanmedian(x: Tensor): Tensor;
export function nanmedian(x: Tensor, axis: number, options?: KthOptions): Extremes;
export function nanmedian(x: Tensor, axis?: number, options: KthOptions = {}): Tensor | Extremes {
  return medianOf("nanmedian", x, axis, options, true);
}

/**
 * The most frequent element along an axis (the smallest of several) and its last index: {values, indices}. DirectML: TOP_K1.
 * Reference: torch.mode.
 */
export function mode(x: Tensor, axis = -1, { keepDims = false, dtype = "int32" }: KthOptions = {}): Extremes {
  const a = normalizeAxis("mode", axis, x.rank);
  requireElements("mode", x, a);
  const n = x.shape[a] ?? 1;
  const sorted = ordered(x, a, n, false, dtype);
  if (x.rank === 0) return sorted;
  // From the start of each run of equal elements follows its length up to each position.
  const positions = expand(
    reshape(
      arange(n, { device: x.device }),
      x.shape.map((_, i) => (i === a ? n : 1)),
    ),
    x.shape,
  );
  if (n === 1) return picked(sorted, a, narrow(positions, a, 0, 1), keepDims);
  const starts = ne(narrow(sorted.values, a, 1, n - 1), narrow(sorted.values, a, 0, n - 1));
  const begin = cat([narrow(positions, a, 0, 1), where(starts, narrow(positions, a, 1, n - 1), 0)], a);
  const lengths = sub(positions, cummax(begin, a).values);
  return picked(sorted, a, argmax(lengths, a, { keepDims: true }), keepDims);
}

/** What a quantile between two elements is. Reference: torch.quantile. */
export type Interpolation = "linear" | "lower" | "higher" | "nearest" | "midpoint";

/** Options of quantile() and nanquantile(). Reference: torch.quantile. */
export interface QuantileOptions {
  /** Default: of all elements. */
  readonly axis?: number | null | undefined;
  /** axis by its PyTorch name. @alias axis */
  readonly dim?: number | null | undefined;

  /** Whether axes that are reduced stay, with length 1. Default: false. */
  readonly keepDims?: boolean | undefined;
  /** keepDims by its PyTorch name. @alias keepDims */
  readonly keepdim?: boolean | undefined;

  /** What lies between two elements. Default: linear. */
  readonly interpolation?: Interpolation | undefined;
}

const INTERPOLATIONS: readonly Interpolation[] = ["linear", "lower", "higher", "nearest", "midpoint"];

function quantileOf(operation: string, x: Tensor, q: number | Tensor, options: QuantileOptions, skipNaN: boolean): Tensor {
  const { axis = null, keepDims = false, interpolation = "linear" } = options;
  requireFloat(operation, x);
  if (!INTERPOLATIONS.includes(interpolation))
    throw new ValueError(operation, "interpolation", `one of ${INTERPOLATIONS.join(", ")}`, interpolation);
  if (typeof q === "number" && !(q >= 0 && q <= 1)) throw new ValueError(operation, "q", "a number in [0, 1]", q);
  const parts = typeof q === "number" ? scalarTensor(x.device, x.dtype, q) : q;
  if (parts.rank > 1) throw new ShapeError(operation, "q", "a number or of one axis", parts.describe());
  if (parts.dtype !== x.dtype) throw new DTypeError(operation, "q", `of dtype ${x.dtype}, like x`, parts.describe());
  if (x.size === 0) throw new ShapeError(operation, "x", "of at least one element", x.describe());
  const a = axis === null ? 0 : normalizeAxis(operation, axis, x.rank);
  const rows = axis === null || x.rank === 0 ? flatten(x) : movedim(x, a, -1);
  const n = rows.shape.at(-1)!;
  const sorted = ordered(rows, rows.rank - 1, n, false).values;
  const nan = isnan(rows);
  // The last axis: one index for each q.
  const q1 = parts.rank === 0 ? unsqueeze(parts, 0) : parts;
  const span = skipNaN ? clamp(toDType(sub(n - 1, sum(nan, -1, { keepDims: true })), x.dtype), 0, null) : n - 1;
  const wanted = mul(q1, span);
  const rank = skipNaN ? wanted : where(any(nan, -1, { keepDims: true }), scalarTensor(x.device, x.dtype, n - 1), wanted);
  const at = (position: Tensor): Tensor => gather(sorted, sorted.rank - 1, toDType(position, "int32"));
  const found = between(at, rank, interpolation);
  // Several q come as the first axis.
  const kept = keepDims
    ? axis === null || x.rank === 0
      ? reshape(found, [...x.shape.map(() => 1), found.shape.at(-1)!])
      : unsqueeze(found, a)
    : found;
  if (parts.rank === 0) return reshape(kept, kept.shape.slice(0, -1));
  return movedim(kept, -1, 0);
}

function between(at: (position: Tensor) => Tensor, rank: Tensor, interpolation: Interpolation): Tensor {
  switch (interpolation) {
    case "lower":
      return at(floor(rank));
    case "higher":
      return at(ceil(rank));
    case "nearest":
      return at(round(rank));
    case "midpoint":
      return mul(add(at(floor(rank)), at(ceil(rank))), 0.5);
    case "linear": {
      const low = floor(rank);
      const [below, above] = [at(low), at(ceil(rank))];
      const same = eq(below, above);
      return where(same, below, add(below, mul(sub(above, below), sub(rank, low))));
    }
    default:
      return interpolation satisfies never;
  }
}

/**
 * What a share q of the elements (a number, or a tensor of several in [0, 1]) lies below. NaN where an element is. Several q are the
 * result's first axis. x: floating. DirectML: TOP_K1, GATHER_ELEMENTS. Reference: torch.quantile.
 */
export const quantile = (x: Tensor, q: number | Tensor, options: QuantileOptions = {}): Tensor =>
  quantileOf("quantile", x, q, options, false);
/** quantile() of the elements that are not NaN. Reference: torch.nanquantile. */
export const nanquantile = (x: Tensor, q: number | Tensor, options: QuantileOptions = {}): Tensor =>
  quantileOf("nanquantile", x, q, options, true);

export const methods = { mode, quantile, nanquantile };
/** Their result depends on the arguments, which is said below. */
export const overloaded = { median, nanmedian };

declare module "../../core/tensor.ts" {
  interface Tensor {
    /** The median of all elements; with an axis, the medians along it and their indices. */
    median(): Tensor;
    median(axis: number, options?: KthOptions): Extremes;
    /** The same of the elements that are not NaN. */
    nanmedian(): Tensor;
    nanmedian(axis: number, options?: KthOptions): Extremes;
  }
}
