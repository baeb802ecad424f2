/** Sort, argsort, topk, kthvalue. All are TOP_K over keys that order as PyTorch does. */
import { extremeOf } from "../../core/padded-axes.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call, dispatch } from "../../dispatch/dispatch.ts";
import { isFloat } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { normalizeAxis, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { define, type Definition } from "../../core/definition.ts";
import type { Extremes, IndexDType } from "../reduce/extrema.ts";
import { gather } from "../index/gather.ts";
import { comparable } from "../elementwise/int64-order.ts";
import { squeeze } from "../shape/movement.ts";
import { clone } from "../data/state.ts";
import { asIndex, BOOL, cast, computing, constant } from "../declare/support.ts";
import { sample, type Sample, distinct } from "../declare/sample.ts";
import { axisBehindBatch, withAttributes } from "../declare/batched.ts";

interface SortAttributes {
  readonly axis: number;
  readonly k: number;
  readonly largest: boolean;
  readonly dtype: IndexDType;
}

/**
 * Unsigned numbers in the order of x's elements: NaN comes behind all others, both zeros are equal. What TOP_K makes of NaN is
 * documented nowhere.
 * @package
 */
export function orderedKeys(g: GraphBuilder, x: Expr): Expr {
  if (x.dtype === "bool") return g.reinterpret(x, { dtype: "uint8" });
  if (!isFloat(x.dtype)) return comparable(g, x);
  const wide = g.packed(cast(g, x, "float32"));
  const zero = constant(g, "float32", 0, wide.sizes);
  const number = (v: number): Expr => constant(g, "uint32", v, wide.sizes);
  const plain = g.elementWiseIf(g.elementWiseLogicalEquals(wide, zero, BOOL), zero, wide);
  const bits = g.reinterpret(plain, { dtype: "uint32" });
  // The sign bit set orders positive numbers behind; all bits flipped, negative ones the other way around.
  const mask = g.elementWiseIf(g.elementWiseLogicalLessThan(plain, zero, BOOL), number(0xffffffff), number(0x80000000));
  return g.elementWiseIf(g.elementWiseIsNan(wide, BOOL), number(0xffffffff), g.elementWiseBitXor(bits, mask));
}

/** The first k elements in order along an axis, and their indices. */
const topkOp: Definition<SortAttributes> = define<SortAttributes>({
  name: "topk",
  batched: axisBehindBatch,
  infer: ([x], { axis, k, dtype }) => {
    const shape = x!.shape.map((d, i) => (i === axis ? k : d));
    return [
      { shape, dtype: computing("topk", x!.dtype) },
      { shape, dtype },
    ];
  },
  lower: (g, [x], { axis, k, largest, dtype }) => {
    const sizes = x!.sizes.map((d, i) => (i === axis ? k : d));
    const isPlain = isFloat(x!.dtype) && g.capabilities.ordersAllNumbers;
    const found = g.topK1(isPlain ? g.packed(x!) : orderedKeys(g, x!), {
      outputValue: { sizes },
      outputIndex: { sizes, dtype: "uint32" },
      axis,
      k,
      axisDirection: largest ? "DECREASING" : "INCREASING",
    });
    const values = isPlain ? found.outputValue : g.gatherElements(x!, found.outputIndex, { output: { sizes }, axis });
    return [values, asIndex(g, found.outputIndex, dtype)];
  },
  grad: (dy, { specs: [x], outputs: [, indices], attrs: { axis } }) => [call(placedOp, [dy, indices!], { axis, shape: x!.shape })],
  saves: { inputs: [], outputs: [1] },
  // What stands in the padding comes behind its equals.
  padded: (_g, [x], { axis, largest }, _outputs, p, lower) => {
    const last = largest ? extremeOf(x!.dtype, "lowest") : isFloat(x!.dtype) ? NaN : extremeOf(x!.dtype, "largest");
    return lower([p.isPadded(0, axis) ? p.filled(0, last, x!, [axis]) : x!]);
  },
});

/** Zeros with the elements of dy written at unique indices along an axis. DirectML: SCATTER. */
const placedOp: Definition<{ readonly axis: number; readonly shape: Shape }> = define<{ readonly axis: number; readonly shape: Shape }>({
  name: "scatterUnique",
  batched: withAttributes(({ axis, shape }, size) => ({ axis: axis + 1, shape: [size, ...shape] })),
  infer: ([dy], { shape }) => [{ shape, dtype: dy!.dtype }],
  lower: (g, [dy, index], { axis, shape }) => {
    const sizes = shape.length === 0 ? [1] : shape;
    return [g.scatter(constant(g, dy!.dtype, 0, sizes), index!, dy!, { output: { sizes }, axis })];
  },
  grad: (d, { inputs: [, index], attrs: { axis } }) => [gather(d, axis, index!), null],
  padded: (_g, [dy, index], { axis }, _outputs, p, lower) => {
    const others = index!.sizes.flatMap((_, a) => (a === axis ? [] : [a]));
    return lower([p.repeated(0, axis, dy!), p.filled(1, 0, p.repeated(1, axis), others)]);
  },
  saves: { inputs: [1], outputs: false },
  whenEmpty: 0,
});

/** Options of sort() and argsort(). Reference: torch.sort. */
export interface SortOptions {
  /** The largest first. Default: false. */
  readonly descending?: boolean | undefined;
  /** Equal elements keep their order: they do always. */
  readonly stable?: boolean | undefined;
  /** The dtype of the indices. Default: int32. */
  readonly dtype?: IndexDType | undefined;
}

/** Options of topk(). Reference: torch.topk. */
export interface TopKOptions {
  /** The largest elements rather than the smallest. Default: true. */
  readonly largest?: boolean | undefined;
  /** In order: they are always. */
  readonly sorted?: boolean | undefined;
  /** The dtype of the indices. Default: int32. */
  readonly dtype?: IndexDType | undefined;
}

/** @internal The first k in order along an axis that exists. */
export function ordered(x: Tensor, axis: number, k: number, largest: boolean, dtype: IndexDType = "int32"): Extremes {
  const [values, indices] = dispatch(topkOp, [x], { axis, k, largest, dtype });
  return { values: values!, indices: indices! };
}

/**
 * The sorted elements along an axis, and their indices in x: {values, indices}. Equal elements keep their order, NaN counts as
 * the largest. Gradients flow to x. DirectML: TOP_K1. Reference: torch.sort.
 */
export function sort(x: Tensor, axis = -1, { descending = false, dtype = "int32" }: SortOptions = {}): Extremes {
  const a = normalizeAxis("sort", axis, x.rank);
  return ordered(x, a, x.shape[a] ?? 1, descending, dtype);
}

/** The indices that sort x along an axis. Reference: torch.argsort. DirectML: TOP_K1. */
export const argsort = (x: Tensor, axis = -1, options: SortOptions = {}): Tensor => sort(x, axis, options).indices;

/** The elements in order along the first axis. Reference: torch.msort. DirectML: TOP_K1. */
export const msort = (x: Tensor): Tensor => (x.rank === 0 ? clone(x) : sort(x, 0).values);

/**
 * The k largest (or smallest) elements along an axis in order, and their indices: {values, indices}. NaN counts as the largest.
 * Throws ValueError for a k beyond the axis. DirectML: TOP_K1. Reference: torch.topk.
 */
export function topk(x: Tensor, k: number, axis = -1, { largest = true, dtype = "int32" }: TopKOptions = {}): Extremes {
  if (x.dtype === "bool") throw new DTypeError("topk", "x", "of a numeric dtype", x.describe());
  const a = normalizeAxis("topk", axis, x.rank);
  const n = x.shape[a] ?? 1;
  if (!Number.isInteger(k) || k < 0 || k > n) throw new ValueError("topk", "k", `an integer in [0, ${n}]`, k);
  return ordered(x, a, k, largest, dtype);
}

/** Options of kthvalue(), median(), nanmedian() and mode(). Reference: torch.kthvalue. */
export interface KthOptions {
  /** Whether axes that are reduced stay, with length 1. Default: false. */
  readonly keepDims?: boolean | undefined;
  /** keepDims by its PyTorch name. @alias keepDims */
  readonly keepdim?: boolean | undefined;

  /** The dtype of the indices. Default: int32. */
  readonly dtype?: IndexDType | undefined;
}

/** @internal One index of the sorted order along an axis, without the axis unless it is kept. */
export function picked({ values, indices }: Extremes, axis: number, at: Tensor, keepDims: boolean): Extremes {
  const both = [values, indices].map((t) => gather(t, axis, at)).map((t) => (keepDims || t.rank === 0 ? t : squeeze(t, axis)));
  return { values: both[0]!, indices: both[1]! };
}

/** The k-th smallest element (counted from 1) along an axis, and its index: {values, indices}. DirectML: TOP_K1. Reference: torch.kthvalue. */
export function kthvalue(x: Tensor, k: number, axis = -1, { keepDims = false, dtype = "int32" }: KthOptions = {}): Extremes {
  const a = normalizeAxis("kthvalue", axis, x.rank);
  const n = x.shape[a] ?? 1;
  if (!Number.isInteger(k) || k < 1 || k > n) throw new ValueError("kthvalue", "k", `an integer in [1, ${n}]`, k);
  if (x.size === 0) throw new ShapeError("kthvalue", "x", "of at least one element", x.describe());
  const first = ordered(x, a, k, false, dtype);
  if (x.rank === 0) return first;
  const last = (t: Tensor): Tensor => (keepDims ? t.narrow(a, k - 1, 1) : t.select(a, k - 1));
  return { values: last(first.values), indices: last(first.indices) };
}

export const methods = { sort, argsort, msort, topk, kthvalue };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "topk and sort", [distinct([3, 7])], (x) => [...Object.values(topk(x!, 3)), ...Object.values(sort(x!, 0))] as Tensor[]),
];
