/** Searchsorted, bucketize, bincount, histc. */
import { isFloat } from "../../core/dtype.ts";
import { extremeOf } from "../../core/padded-axes.ts";
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import { isInteger, promoteTypes } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { requireRepresentable } from "../../core/elements.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, div, mul, operands, sub } from "../elementwise/binary.ts";
import { eq, ge, le, logicalAnd, lt } from "../elementwise/compare.ts";
import { ones, zeros } from "../creation/creation.ts";
import { toArraySync, toDType } from "../data/conversion.ts";
import { define } from "../../core/definition.ts";
import { amax, amin, type IndexDType } from "../reduce/extrema.ts";
import { gather, sumRows } from "../index/gather.ts";
import { cat } from "../shape/join.ts";
import { reshape } from "../shape/movement.ts";
import { refuseTraced } from "../index/nonzero.ts";
import { orderedKeys } from "./sort.ts";
import { BOOL, cast, computing, constant, requireFloat } from "../declare/support.ts";
import { floor } from "../elementwise/unary.ts";
import { clamp, where } from "../elementwise/where.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

interface SearchAttributes {
  readonly right: boolean;
  readonly dtype: IndexDType;
}

/** How many elements of each sorted row come before each value: one binary search for all values at once. */
const searchOp = define<SearchAttributes>({
  name: "searchsorted",
  grad: null,
  infer: ([, values], { dtype }) => [{ shape: values!.shape, dtype }],
  lower: (g, [sorted, values], { right, dtype }) => {
    const rows = g.packed(orderedKeys(g, sorted!));
    const wanted = g.packed(orderedKeys(g, values!));
    const isVector = sorted!.sizes.length === 1;
    const sizes = isVector ? [wanted.sizes.reduce((p, d) => p * d, 1)] : wanted.sizes;
    const keys = g.reinterpret(wanted, { sizes });
    const axis = sizes.length - 1;
    const n = rows.sizes[axis]!;
    const number = (v: number) => constant(g, "uint32", v, sizes);
    let low = g.packed(number(0));
    let high = g.packed(number(n));
    for (let span = n; span > 0; span = Math.floor(span / 2)) {
      const middle = g.elementWiseBitShiftRight(g.elementWiseAdd(low, high), number(1));
      const here = g.gatherElements(rows, g.elementWiseMin(middle, number(n - 1)), { output: { sizes }, axis });
      const before = right ? g.elementWiseLogicalLessThanOrEqual(here, keys, BOOL) : g.elementWiseLogicalLessThan(here, keys, BOOL);
      const open = g.elementWiseLogicalLessThan(low, high, BOOL);
      const goes = g.elementWiseLogicalAnd(before, open);
      const next = g.elementWiseIf(goes, g.elementWiseAdd(middle, number(1)), low);
      high = g.elementWiseIf(goes, high, g.elementWiseIf(open, middle, high));
      low = next;
    }
    return [g.reinterpret(cast(g, low, dtype), { sizes: wanted.sizes })];
  },
  padded: (g, [sorted, values], _attrs, [out], p, lower) => {
    const axis = sorted!.sizes.length - 1;
    if (!p.isPadded(0, axis)) return lower([sorted!, values!]);
    const behind = isFloat(sorted!.dtype) ? NaN : extremeOf(sorted!.dtype, "largest");
    const [found] = lower([p.filled(0, behind, sorted!, [axis]), values!]);
    return [g.elementWiseMin(found!, g.expand(cast(g, p.length(0, axis), out!.dtype), found!.sizes))];
  },
});

/** Options of searchsorted() and bucketize(). Reference: torch.searchsorted. */
export interface SearchOptions {
  /** Behind equal elements rather than before them. Default: false. */
  readonly right?: boolean | undefined;
  /** Indices that sort the sequence, as argsort gives them. */
  readonly sorter?: Tensor | null | undefined;
  /** The dtype of the indices. Default: int32. */
  readonly dtype?: IndexDType | undefined;
}

/**
 * Where values would be inserted into sorted rows (one row for all, or one for each row of values), so that these stay sorted. NaN
 * counts as the largest. DirectML: GATHER_ELEMENTS in log2(n) steps. Reference: torch.searchsorted.
 */
export function searchsorted(
  sorted: Tensor,
  values: Tensor | number,
  { right = false, sorter = null, dtype = "int32" }: SearchOptions = {},
): Tensor {
  const asked = typeof values === "number" ? operands("searchsorted", sorted, values)[1] : values;
  requireSameDevice("searchsorted", [sorted, asked]);
  if (sorted.rank === 0) throw new ShapeError("searchsorted", "sorted", "of at least one axis", sorted.describe());
  if (sorted.rank > 1 && (asked.rank !== sorted.rank || asked.shape.slice(0, -1).some((d, i) => d !== sorted.shape[i])))
    throw new ShapeError("searchsorted", "values", `like ${sorted.describe()} but for the last axis`, asked.describe());
  if (sorter !== null && (!isInteger(sorter.dtype) || sorter.shape.join() !== sorted.shape.join()))
    throw new ShapeError("searchsorted", "sorter", `indices of sorted's shape, for ${sorted.describe()}`, sorter.describe());
  const common = promoteTypes(computing("searchsorted", sorted.dtype), computing("searchsorted", asked.dtype));
  const ordered = sorter === null ? sorted : gather(sorted, -1, sorter);
  if (asked.size === 0 || sorted.size === 0) return zeros(asked.shape, { dtype, device: sorted.device });
  return call(searchOp, [toDType(ordered, common), toDType(asked, common)], { right, dtype });
}

/** The buckets between sorted boundaries that values fall into. right: boundaries belong to the bucket below. Reference: torch.bucketize. */
export const bucketize = (values: Tensor | number, boundaries: Tensor, options: Omit<SearchOptions, "sorter"> = {}): Tensor => {
  if (boundaries.rank !== 1) throw new ShapeError("bucketize", "boundaries", "of one axis", boundaries.describe());
  return searchsorted(boundaries, values, options);
};

/** Options of histc(). Reference: torch.histc. */
export interface HistogramOptions {
  /** Default: 100. */
  readonly bins?: number | undefined;
  /** min and max equal: those of the data. Default: 0. */
  readonly min?: number | undefined;
  /** The upper end of the last bin. Default: 0: with min 0 too, the data's own ends. */
  readonly max?: number | undefined;
}

/** How many elements lie in each of so many equal parts of [min, max]; others are left out. x: floating. Reference: torch.histc. */
export function histc(x: Tensor, { bins = 100, min = 0, max = 0 }: HistogramOptions = {}): Tensor {
  requireFloat("histc", x);
  if (!Number.isInteger(bins) || bins < 1) throw new ValueError("histc", "bins", "an integer of at least 1", bins);
  if (!Number.isFinite(min) || !Number.isFinite(max) || max < min)
    throw new ValueError("histc", "min and max", "finite, max at least min", [min, max]);
  requireRepresentable("histc", "min", x.dtype, min);
  requireRepresentable("histc", "max", x.dtype, max);
  if (x.size === 0) return zeros([bins], { dtype: x.dtype, device: x.device });
  const flat = reshape(x, [-1]);
  const number = (v: number): Tensor => scalarTensor(x.device, x.dtype, v);
  let low = number(min);
  let high = number(max);
  if (min === max) {
    [low, high] = [amin(flat), amax(flat)];
    const same = eq(low, high);
    [low, high] = [where(same, sub(low, 1), low), where(same, add(high, 1), high)];
  }
  const bin = floor(mul(div(sub(flat, low), sub(high, low)), bins));
  const inside = mul(ge(flat, low), le(flat, high));
  const at = toDType(where(inside, clamp(bin, 0, bins - 1), number(0)), "int32");
  return sumRows(toDType(inside, x.dtype), at, 0, [bins]);
}

/** Options of bincount(). Reference: torch.bincount. */
export interface BincountOptions {
  /** One for each element of x: added instead of 1. */
  readonly weights?: Tensor | null | undefined;
  /** At least so many counts. Default: 0. */
  readonly minlength?: number | undefined;
  /** @deprecated Use minlength. */
  readonly minLength?: number | undefined;

  /** Exactly so many counts: nothing has to be read, so that it may be compiled. Larger numbers are not counted. */
  readonly size?: number | undefined;
}

/**
 * How often each integer occurs in a vector of numbers of at least 0; int32, or sums of weights in their dtype. Without `size` it
 * blocks until the largest number is known. Reference: torch.bincount.
 */
export function bincount(x: Tensor, { weights = null, minlength: minLength = 0, size }: BincountOptions = {}): Tensor {
  if (x.rank !== 1 || !isInteger(x.dtype)) throw new ShapeError("bincount", "x", "a vector of integers", x.describe());
  if (!Number.isInteger(minLength) || minLength < 0) throw new ValueError("bincount", "minlength", "an integer of at least 0", minLength);
  if (weights !== null && (weights.rank !== 1 || weights.size !== x.size))
    throw new ShapeError("bincount", "weights", `a vector of ${x.size}, like x`, weights.describe());
  if (weights?.dtype === "bool") throw new DTypeError("bincount", "weights", "numbers", weights.describe());
  const dtype = weights === null ? "int32" : isInteger(weights.dtype) ? "float32" : weights.dtype;
  if (size === undefined) refuseTraced("bincount");
  if (x.size === 0) return zeros([size ?? minLength], { dtype, device: x.device });
  const values = weights === null ? ones([x.size], { dtype, device: x.device }) : toDType(weights, dtype);
  if (size === undefined) {
    // One read of both ends, so that the host waits for the device once.
    const ends = toArraySync(cat([reshape(amin(x), [1]), reshape(amax(x), [1])])) as (number | bigint)[];
    const [low, high] = ends.map(Number);
    if (low! < 0) throw new ValueError("bincount", "x", "numbers of at least 0", low);
    return sumRows(values, x, 0, [Math.max(minLength, high! + 1)]);
  }
  const inside = logicalAnd(ge(x, 0), lt(x, size));
  return sumRows(where(inside, values, 0), where(inside, x, 0), 0, [size]);
}

export const methods = { bucketize, histc, bincount };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "searchsorted", [real([3, 6])], (x) => searchsorted(x!.detach().sort().values, x!.detach())),
];
