/** Histograms: how many elements, or how much weight, falls between edges. */
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { sameShape, showShape, sizeOf } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { eq, ge, le } from "../elementwise/compare.ts";
import { full, zeros } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { amax, amin } from "./extrema.ts";
import { sumRows } from "../index/gather.ts";
import { narrow, reshape, select } from "../shape/movement.ts";
import { arange, evenSteps } from "../creation/ranges.ts";
import { sum } from "./reduce.ts";
import { searchsorted } from "../sort/search.ts";
import { requireFloat } from "../declare/support.ts";
import { clamp, where } from "../elementwise/where.ts";

/** Options of histogram() and histogramdd(). Reference: torch.histogram. */
export interface HistogramBinOptions {
  /** The least and the largest edge, where bins are counted. Default: those of the data, [0, 1] without any. */
  readonly range?: readonly number[] | null | undefined;
  /** How much each element counts; of x's shape. Default: 1. */
  readonly weight?: Tensor | null | undefined;
  /** Divide by the total and by each bin's size, so that the integral is 1. Default: false. */
  readonly density?: boolean | undefined;
}

/** What histogram() gives. Reference: torch.histogram. */
export interface Histogram {
  /** [bins]: counts, or weights' sums, or a density. */
  readonly hist: Tensor;
  /** [bins + 1]: the edges, ascending. */
  readonly binEdges: Tensor;
}

const number = (x: Tensor, v: number): Tensor => scalarTensor(x.device, x.dtype, v);

/** The edges of `bins` equal bins. */
function equalEdges(operation: string, x: Tensor, bins: number, range: readonly number[] | null): Tensor {
  if (!Number.isInteger(bins) || bins < 1) throw new ValueError(operation, "bins", "an integer of at least 1", bins);
  if (range !== null && !(range.length === 2 && range.every(Number.isFinite) && range[0]! <= range[1]!))
    throw new ValueError(operation, "range", "two finite numbers in order", range);
  const options = { dtype: x.dtype, device: x.device };
  if (range !== null || x.size === 0) {
    let [low, high] = (range ?? [0, 1]) as [number, number];
    if (low === high) [low, high] = [low - 0.5, high + 0.5];
    return evenSteps(low, high, bins + 1, options);
  }
  const [lowest, highest] = [amin(x), amax(x)];
  const half = where(eq(lowest, highest), number(x, 0.5), number(x, 0));
  const [low, high] = [sub(lowest, half), add(highest, half)];
  const index = arange(bins + 1, options);
  // The last edge is `high` itself, not its rounded quotient.
  return where(eq(index, bins), high, add(low, mul(index, div(sub(high, low), bins))));
}

/** The bin index of each value, and whether it is in any bin; the last bin includes its upper edge. */
function binsOf(values: Tensor, edges: Tensor): { readonly at: Tensor; readonly inside: Tensor } {
  const bins = edges.size - 1;
  const [low, high] = [select(edges, 0, 0), select(edges, 0, bins)];
  const at = clamp(sub(searchsorted(edges, values, { right: true }), 1), 0, bins - 1);
  return { at, inside: mul(ge(values, low), le(values, high)) };
}

function weights(operation: string, x: Tensor, weight: Tensor | null, count: number): Tensor | null {
  if (weight === null) return null;
  if (weight.size !== count) throw new ShapeError(operation, "weight", `of ${count} elements, one for each point`, weight.describe());
  if (weight.dtype !== x.dtype) throw new DTypeError(operation, "weight", `of dtype ${x.dtype}, like x`, weight.describe());
  requireSameDevice(operation, [x, weight]);
  return reshape(weight, [count]);
}

const counted = (x: Tensor, inside: Tensor, at: Tensor, weight: Tensor | null, binCount: number): Tensor => {
  const share = weight === null ? toDType(inside, x.dtype) : where(inside, weight, number(x, 0));
  return sumRows(share, at, 0, [binCount]);
};

const widths = (edges: Tensor): Tensor => sub(narrow(edges, 0, 1, edges.size - 1), narrow(edges, 0, 0, edges.size - 1));

function checkedEdges(operation: string, edges: Tensor, x: Tensor): Tensor {
  if (edges.rank !== 1 || edges.size < 2) throw new ShapeError(operation, "bins", "a vector of at least two edges", edges.describe());
  if (edges.dtype !== x.dtype) throw new DTypeError(operation, "bins", `of dtype ${x.dtype}, like x`, edges.describe());
  return edges;
}

/**
 * How many elements fall into each bin: counts (or sums of weights) and the bins' edges. bins: how many equal ones, or their edges, rising.
 * Every bin includes its lower edge, the last one its upper edge too; values outside do not count. x: floating.
 * Reference: torch.histogram.
 */
export function histogram(x: Tensor, bins: number | Tensor, options: HistogramBinOptions = {}): Histogram {
  requireFloat("histogram", x);
  const { range = null, weight = null, density = false } = options;
  if (bins instanceof Tensor && range !== null) throw new ValueError("histogram", "range", "null where bins are edges", range);
  const flat = reshape(x, [x.size]);
  const edges = bins instanceof Tensor ? checkedEdges("histogram", bins, x) : equalEdges("histogram", flat, bins, range);
  const own = weights("histogram", x, weight, x.size);
  const binCount = edges.size - 1;
  let hist: Tensor;
  if (x.size === 0) hist = zeros([binCount], { dtype: x.dtype, device: x.device });
  else {
    const { at, inside } = binsOf(flat, edges);
    hist = counted(x, inside, at, own, binCount);
  }
  if (density) hist = div(div(hist, sum(hist)), widths(edges));
  return { hist, binEdges: edges };
}

/** What histogramdd() gives. Reference: torch.histogramdd. */
export interface HistogramDd {
  /** Counts, with an axis for each dimension. */
  readonly hist: Tensor;
  /** The edges of each dimension, ascending. */
  readonly binEdges: readonly Tensor[];
}

/**
 * A histogram over several axes: x [..., D] holds points, bins how many equal ones along each axis (one number for all) or their edges.
 * range: least and largest edge for each axis, 2 D numbers. Result: [bins of axis 0, bins of axis 1, ...]. Reference: torch.histogramdd.
 */
export function histogramdd(
  x: Tensor,
  bins: number | readonly number[] | readonly Tensor[],
  options: HistogramBinOptions = {},
): HistogramDd {
  requireFloat("histogramdd", x);
  if (x.rank < 2) throw new ShapeError("histogramdd", "x", "[..., D]", x.describe());
  const { range = null, weight = null, density = false } = options;
  const axes = x.shape.at(-1)!;
  const points = reshape(x, [-1, axes]);
  const list = typeof bins === "number" ? new Array<number>(axes).fill(bins) : bins;
  if (list.length !== axes) throw new ValueError("histogramdd", "bins", `${axes}, one for each axis`, list.length);
  if (range !== null && range.length !== 2 * axes) throw new ValueError("histogramdd", "range", `${2 * axes} numbers`, range);
  const edges = list.map((b, i) =>
    b instanceof Tensor
      ? checkedEdges("histogramdd", b, x)
      : equalEdges("histogramdd", select(points, 1, i), b, range === null ? null : range.slice(2 * i, 2 * i + 2)),
  );
  const shape = edges.map((e) => e.size - 1);
  const count = points.shape[0]!;
  if (weight !== null && !sameShape(weight.shape, x.shape.slice(0, -1)))
    throw new ShapeError("histogramdd", "weight", showShape(x.shape.slice(0, -1)), weight.describe());
  const own = weights("histogramdd", x, weight, count);
  let hist = zeros(shape, { dtype: x.dtype, device: x.device });
  if (count > 0) {
    let at = full([count], 0, { dtype: "int32", device: x.device });
    let inside = full([count], true, { dtype: "bool", device: x.device });
    edges.forEach((e, i) => {
      const found = binsOf(select(points, 1, i), e);
      at = add(mul(at, shape[i]!), found.at);
      inside = mul(inside, found.inside);
    });
    hist = reshape(counted(x, inside, at, own, sizeOf(shape)), shape);
  }
  if (density) {
    hist = div(hist, sum(hist));
    edges.forEach((e, i) => {
      hist = div(hist, reshape(widths(e), [shape[i]!, ...new Array<number>(axes - 1 - i).fill(1)]));
    });
  }
  return { hist, binEdges: edges };
}

export const methods = { histogram };
