/** Maximum and minimum, argmax and argmin. */
import { asItIs, extremeOf, type PaddedRule } from "../../core/padded-axes.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call, dispatch } from "../../dispatch/dispatch.ts";
import { isFloat } from "../../core/dtype.ts";
import { DTypeError, ShapeError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { div, mul } from "../elementwise/binary.ts";
import { eq, isnan, logicalAnd, logicalOr } from "../elementwise/compare.ts";
import { toDType } from "../data/conversion.ts";
import { define, type Definition, type GradRule } from "../../core/definition.ts";
import { emitExtreme, firstInOrder, type Which } from "./extreme-lower.ts";
import { comparable } from "../elementwise/int64-order.ts";
import { flatten, unsqueeze } from "../shape/movement.ts";
import { arange } from "../creation/ranges.ts";
import { reduceAttributes, reducedShape, spread, sum, type Axes, type ReduceAttributes, type ReduceOptions } from "./reduce.ts";
import { asIndex, BOOL, cast, computing, constant } from "../declare/support.ts";
import { where } from "../elementwise/where.ts";
import { sample, type Sample, distinct } from "../declare/sample.ts";
import { axesBehindBatch, axisBehindBatch } from "../declare/batched.ts";

/** An index dtype; int32 by default, since JavaScript reads it as numbers. */
export type IndexDType = "int32" | "int64" | "uint32" | "uint64";

/** The extremes along an axis, and their indices. */
export interface Extremes {
  /** The largest or smallest elements, of x's dtype. */
  readonly values: Tensor;
  /** Their positions along the axis: integers. */
  readonly indices: Tensor;
}

/** The identity of the extreme: the end of the dtype's range that is never chosen. */
const worst =
  <A>(which: Which, axes: (attrs: A) => readonly number[]): PaddedRule<A> =>
  (_g, [x], attrs, _outputs, p, lower) =>
    lower(axes(attrs).some((a) => p.isPadded(0, a)) ? [p.filled(0, extremeOf(x!.dtype, which === "max" ? "lowest" : "largest"))] : [x!]);

/** Equal extremes share the gradient. Where an element is NaN, the whole slice gets NaN, as in PyTorch. */
const sharedAlong: GradRule<ReduceAttributes> = (dy, { inputs: [x], outputs: [y], attrs }) => {
  const hits = toDType(eq(x!, spread(y!, x!.shape, attrs)), dy.dtype);
  return [mul(div(hits, sum(hits, attrs.axes, { keepDims: true })), spread(dy, x!.shape, attrs))];
};

/** dy shared by the elements of x that are `value`, NaN too; 0 for the others, whatever dy is. value and dy: one element. */
function sharedByEqual(dy: Tensor, x: Tensor, value: Tensor): Tensor {
  const hits = logicalOr(eq(x, value), logicalAnd(isnan(x), isnan(value)));
  return where(hits, div(dy, toDType(sum(hits), dy.dtype)), scalarTensor(dy.device, dy.dtype, 0));
}

const overAxes = (name: string, which: Which, grad: GradRule<ReduceAttributes>): Definition<ReduceAttributes> =>
  define<ReduceAttributes>({
    name,
    batched: axesBehindBatch,
    infer: ([x], attrs) => [{ shape: reducedShape(x!.shape, attrs), dtype: computing(name, x!.dtype) }],
    lower: (g, [x], { axes }) => [emitExtreme(g, which, x!, axes)],
    padded: worst(which, ({ axes }) => axes),
    grad,
  });
/** The same, where NaN counts as one of them and the others get nothing: PyTorch's of norms. */
const sharedWithNaN: GradRule<ReduceAttributes> = (dy, { inputs: [x], outputs: [y], attrs }) => {
  const hits = toDType(logicalOr(eq(x!, spread(y!, x!.shape, attrs)), isnan(x!)), dy.dtype);
  return [mul(div(spread(dy, x!.shape, attrs), sum(hits, attrs.axes, { keepDims: true })), hits)];
};
const normOps = { max: overAxes("amax", "max", sharedWithNaN), min: overAxes("amin", "min", sharedWithNaN) };
/** The largest or the smallest of sizes, as a norm. @package */
export const extremeSize = (which: Which, sizes: Tensor, axis: Axes, options: ReduceOptions): Tensor =>
  over(normOps[which], sizes, axis, options);

const amaxOp = overAxes("amax", "max", sharedAlong);
const aminOp = overAxes("amin", "min", sharedAlong);
const overAll: GradRule<ReduceAttributes> = (dy, { inputs: [x], outputs: [y] }) => [sharedByEqual(dy, x!, y!)];
const maxOfAllOp = overAxes("max", "max", overAll);
const minOfAllOp = overAxes("min", "min", overAll);

const chosenValueOp = define({
  name: "chosenValue",
  infer: ([, value]) => [value!],
  lower: (g, [, value]) => [g.elementWiseIdentity(value!)],
  padded: asItIs,
  grad: (dy, { inputs: [x], outputs: [y] }) => [sharedByEqual(dy, x!, y!), null],
  saves: { inputs: [0], outputs: true },
});
/** `value`, which elements of x are: they share its gradient. @package */
export const chosenValue = (x: Tensor, value: Tensor): Tensor => call(chosenValueOp, [x, value], undefined);

interface AxisAttributes {
  readonly axis: number;
  readonly keepDims: boolean;
  readonly dtype: IndexDType;
}
const asReduce = ({ axis, keepDims }: AxisAttributes): ReduceAttributes => ({ axes: [axis], keepDims });

/** The largest float32. */
const LARGEST = 3.4028234663852886e38;

function emitIndex(g: GraphBuilder, x: Expr, which: Which, axis: number, dtype: IndexDType): Expr {
  const first = firstInOrder(g, which, x, [axis]);
  if (first !== null) return asIndex(g, first.index, dtype);
  let seen = comparable(g, x);
  if (isFloat(x.dtype)) {
    // NaN counts as the extreme: halves are compared, so that the infinities are finite, and NaN is the only infinity.
    const nan = g.elementWiseIsNan(x, BOOL);
    const wide = cast(g, x, "float32");
    const finite = g.elementWiseClip(wide, { scaleBias: [0.5, 0], min: -LARGEST, max: LARGEST });
    seen = g.elementWiseIf(nan, constant(g, "float32", which === "max" ? Infinity : -Infinity, x.sizes), finite);
  }
  const options = {
    output: { sizes: x.sizes.map((d, i) => (i === axis ? 1 : d)), dtype },
    axes: [axis],
    axisDirection: "INCREASING",
  } as const;
  return which === "max" ? g.argmax(seen, options) : g.argmin(seen, options);
}

const alongAxis = (name: Which): Definition<AxisAttributes> =>
  define<AxisAttributes>({
    name,
    batched: axisBehindBatch,
    infer: ([x], attrs) => {
      const shape = reducedShape(x!.shape, asReduce(attrs));
      return [
        { shape, dtype: computing(name, x!.dtype) },
        { shape, dtype: attrs.dtype },
      ];
    },
    lower: (g, [x], { axis, dtype }) => {
      const first = firstInOrder(g, name, x!, [axis]);
      return first === null
        ? [emitExtreme(g, name, x!, [axis]), emitIndex(g, x!, name, axis, dtype)]
        : [first.value, asIndex(g, first.index, dtype)];
    },
    grad: (dy, { specs: [x], outputs: [, indices], attrs }) => {
      const { axis, keepDims } = attrs;
      if (x!.shape.length === 0) return [dy];
      const kept = (v: Tensor): Tensor => (keepDims ? v : unsqueeze(v, axis));
      const positions = arange(x!.shape[axis]!, { dtype: attrs.dtype, device: dy.device });
      let column = positions;
      for (let i = axis + 1; i < x!.shape.length; i++) column = unsqueeze(column, -1);
      return [where(eq(kept(indices!), column), kept(dy), scalarTensor(dy.device, dy.dtype, 0))];
    },
    saves: { inputs: [], outputs: [1] },
    padded: worst(name, ({ axis }) => [axis]),
  });
const maxOp = alongAxis("max");
const minOp = alongAxis("min");

const indexOf = (name: "argmax" | "argmin"): Definition<AxisAttributes> =>
  define<AxisAttributes>({
    name,
    batched: axisBehindBatch,
    infer: ([x], attrs) => {
      computing(name, x!.dtype);
      return [{ shape: reducedShape(x!.shape, asReduce(attrs)), dtype: attrs.dtype }];
    },
    lower: (g, [x], { axis, dtype }) => [emitIndex(g, x!, name === "argmax" ? "max" : "min", axis, dtype)],
    grad: null,
    padded: worst(name === "argmax" ? "max" : "min", ({ axis }) => [axis]),
  });
const argmaxOp = indexOf("argmax");
const argminOp = indexOf("argmin");

function requireElements(operation: string, x: Tensor, axes: readonly number[]): void {
  if (axes.some((a) => x.shape[a] === 0))
    throw new ShapeError(operation, "x", "of at least one element along the reduced axes", x.describe());
}

function over(op: Definition<ReduceAttributes>, x: Tensor, axis: Axes, options: ReduceOptions): Tensor {
  const attrs = reduceAttributes(op.name, x, axis, options);
  requireElements(op.name, x, attrs.axes);
  return call(op, [x], attrs);
}

function along(
  op: Definition<AxisAttributes>,
  x: Tensor,
  axis: number,
  { keepDims = false, dtype = "int32" }: ArgOptions,
): readonly Tensor[] {
  const attrs = { axis: normalizeAxis(op.name, axis, x.rank), keepDims, dtype };
  requireElements(op.name, x, [attrs.axis]);
  const length = x.shape[attrs.axis] ?? 1;
  if (dtype === "int32" && length > 2 ** 31)
    throw new ShapeError(
      op.name,
      "x",
      `of at most ${2 ** 31} elements along the axis, the largest number of int32 indices`,
      x.describe(),
      'Pass the dtype "uint32" or "int64" for the indices.',
    );
  return dispatch(op, [x], attrs);
}

/** Options of argmax(), argmin(), max() and min() along an axis. */
export interface ArgOptions {
  /** Whether axes that are reduced stay, with length 1. Default: false. */
  readonly keepDims?: boolean | undefined;
  /** keepDims by its PyTorch name. @alias keepDims */
  readonly keepdim?: boolean | undefined;

  /** The dtype of the indices. Default: int32. */
  readonly dtype?: IndexDType | undefined;
}

/** The largest element over the axes (all of them by default). Reference: torch.amax. DirectML: REDUCE MAX. */
export const amax = (x: Tensor, axis: Axes = null, options: ReduceOptions = {}): Tensor => over(amaxOp, x, axis, options);
/** The smallest element over the axes (all of them by default). Reference: torch.amin. DirectML: REDUCE MIN. */
export const amin = (x: Tensor, axis: Axes = null, options: ReduceOptions = {}): Tensor => over(aminOp, x, axis, options);

/** The largest element of all, or with an axis the largest along it and their indices: {values, indices}. Reference: torch.max. DirectML: REDUCE MAX, ARGMAX. */
export function max(x: Tensor): Tensor;
export function max(x: Tensor, axis: number, options?: ArgOptions): Extremes;
export function max(x: Tensor, axis?: number, options: ArgOptions = {}): Tensor | Extremes {
  if (axis === undefined) return over(maxOfAllOp, x, null, {});
  const [values, indices] = along(maxOp, x, axis, options);
  return { values: values!, indices: indices! };
}

/** The smallest element of all, or with an axis the smallest along it and their indices: {values, indices}. Reference: torch.min. DirectML: REDUCE MIN, ARGMIN. */
export function min(x: Tensor): Tensor;
export function min(x: Tensor, axis: number, options?: ArgOptions): Extremes;
export function min(x: Tensor, axis?: number, options: ArgOptions = {}): Tensor | Extremes {
  if (axis === undefined) return over(minOfAllOp, x, null, {});
  const [values, indices] = along(minOp, x, axis, options);
  return { values: values!, indices: indices! };
}

function argExtreme(op: Definition<AxisAttributes>, x: Tensor, axis: number | null, options: ArgOptions): Tensor {
  if (x.dtype === "bool") throw new DTypeError(op.name, "x", "of a numeric dtype", x.describe(), "Cast it to uint8 first.");
  if (axis !== null) return along(op, x, axis, options)[0]!;
  const flat = along(op, flatten(x), 0, { ...options, keepDims: false })[0]!;
  let result = flat;
  if (options.keepDims === true) for (let i = 0; i < x.rank; i++) result = unsqueeze(result, 0);
  return result;
}

/** The index of the largest element (the first of equal ones) along an axis, or in row-major order of all. Reference: torch.argmax. DirectML: ARGMAX. */
export const argmax = (x: Tensor, axis: number | null = null, options: ArgOptions = {}): Tensor => argExtreme(argmaxOp, x, axis, options);
/** The index of the smallest element (the first of equal ones) along an axis, or in row-major order of all. Reference: torch.argmin. DirectML: ARGMIN. */
export const argmin = (x: Tensor, axis: number | null = null, options: ArgOptions = {}): Tensor => argExtreme(argminOp, x, axis, options);

export const methods = { amax, amin, argmax, argmin };
/** Their result depends on the arguments, which is said below. */
export const overloaded = { max, min };

declare module "../../core/tensor.ts" {
  interface Tensor {
    /** The largest element of all; with an axis, the largest along it and their indices. */
    max(): Tensor;
    max(axis: number, options?: ArgOptions): Extremes;
    /** The smallest element of all; with an axis, the smallest along it and their indices. */
    min(): Tensor;
    min(axis: number, options?: ArgOptions): Extremes;
  }
}

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "min with indices", [distinct([3, 9])], (x) => Object.values(min(x!, 1)) as Tensor[]),
  sample("exact", "extremes of all", [distinct([3, 9])], (x) => [max(x!), min(x!), chosenValue(x!, max(x!.detach()))]),
];
