/** Segment reduction: adjacent segments along an axis. */
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { isInteger } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { requireIndices } from "../../runtime/index-check.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { div, sub } from "../elementwise/binary.ts";
import { eq } from "../elementwise/compare.ts";
import { full } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { expand, narrow, reshape } from "../shape/movement.ts";
import { arange } from "../creation/ranges.ts";
import { cumsum } from "../scan/cumulative.ts";
import { scatterReduce } from "../index/scatter.ts";
import { searchsorted } from "../sort/search.ts";
import { clone } from "../data/state.ts";
import { requireFloat } from "../declare/support.ts";
import { clampMin, where } from "../elementwise/where.ts";

/** How segmentReduce() joins the elements of a segment. */
export type SegmentReduction = "sum" | "mean" | "max" | "min" | "prod";

/** Options of segmentReduce(). Reference: torch.segment_reduce. */
export interface SegmentOptions {
  /** Rows of each segment: [..., segments], with the axes of x before `axis` in front. Their sums are the axis' length. */
  readonly lengths?: Tensor | null | undefined;
  /** Where each segment starts, and the end: [..., segments + 1]. One of the two is given. */
  readonly offsets?: Tensor | null | undefined;
  /** Default: 0. */
  readonly axis?: number | undefined;
  /** The initial value of each reduction. Default: the identity; NaN for the mean of no rows. */
  readonly initial?: number | null | undefined;
  /** Leave out the check that the lengths fill the axis, which is made where indices are checked. Default: false. */
  readonly unsafe?: boolean | undefined;
}

const START: Readonly<Record<SegmentReduction, number>> = { sum: 0, mean: 0, max: -Infinity, min: Infinity, prod: 1 };
const FOLD = { sum: "sum", mean: "sum", max: "amax", min: "amin", prod: "prod" } as const;

/** Lengths [..., segments] from either option. */
function lengthsOf(x: Tensor, axis: number, { lengths = null, offsets = null }: SegmentOptions): Tensor {
  if ((lengths === null) === (offsets === null))
    throw new ValueError("segmentReduce", "lengths or offsets", "one of the two", lengths === null ? "neither" : "both");
  const [name, bounds] = lengths === null ? (["offsets", offsets!] as const) : (["lengths", lengths] as const);
  if (!isInteger(bounds.dtype)) throw new DTypeError("segmentReduce", name, "of an integer dtype", bounds.describe());
  requireSameDevice("segmentReduce", [x, bounds]);
  if (bounds.rank !== axis + 1 || bounds.shape.slice(0, -1).some((d, i) => d !== x.shape[i]))
    throw new ShapeError("segmentReduce", name, `[${[...x.shape.slice(0, axis), "segments"].join(", ")}]`, bounds.describe());
  const whole = toDType(bounds, "int32");
  if (lengths !== null) return whole;
  const n = bounds.shape[axis]!;
  if (n === 0) throw new ShapeError("segmentReduce", "offsets", "of at least one element", bounds.describe());
  return sub(narrow(whole, axis, 1, n - 1), narrow(whole, axis, 0, n - 1));
}

/**
 * x reduced over runs of rows along an axis: [..., segments, ...]. reduce: "sum", "mean", "max", "min" or "prod". x: floating. Rows behind
 * the last segment are left out. Gradients flow to x. DirectML: as scatterReduce. Reference: torch.segment_reduce.
 */
export function segmentReduce(x: Tensor, reduce: SegmentReduction, options: SegmentOptions = {}): Tensor {
  requireFloat("segmentReduce", x);
  if (!Object.hasOwn(START, reduce)) throw new ValueError("segmentReduce", "reduce", `one of ${Object.keys(START).join(", ")}`, reduce);
  const axis = normalizeAxis("segmentReduce", options.axis ?? 0, x.rank);
  const lengths = lengthsOf(x, axis, options);
  const [outer, inner] = [x.shape.slice(0, axis), x.shape.slice(axis + 1)];
  const [rows, segments] = [x.shape[axis]!, lengths.shape[axis]!];
  const { initial = null, unsafe = false } = options;
  const shape = [...outer, segments, ...inner];
  const start = full(shape, initial ?? START[reduce], { dtype: x.dtype, device: x.device });
  let result = start;
  if (x.size > 0 && segments > 0) {
    // One more segment takes the rows that are left over, and is cut off again.
    const open = full([...outer, segments + 1, ...inner], initial ?? START[reduce], { dtype: x.dtype, device: x.device });
    const ends = cumsum(lengths, axis, { dtype: "int32" });
    if (!unsafe) requireIndices("segmentReduce", sub(narrow(ends, axis, segments - 1, 1), rows), { length: 1 });
    const positions = expand(arange(rows, { dtype: "int32", device: x.device }), [...outer, rows]);
    const at = searchsorted(ends, clone(positions), { right: true });
    const index = expand(reshape(at, [...outer, rows, ...inner.map(() => 1)]), x.shape);
    result = narrow(scatterReduce(open, axis, clone(index), x, FOLD[reduce], {}), axis, 0, segments);
  }
  if (reduce !== "mean") return result === start ? start : clone(result);
  const counts = reshape(lengths, [...outer, segments, ...inner.map(() => 1)]);
  const mean = div(result, toDType(clampMin(counts, 1), x.dtype));
  if (initial !== null) return mean;
  return where(eq(counts, 0), scalarTensor(x.device, x.dtype, NaN), mean);
}

export const methods = { segmentReduce };
