/** Padded axes, as an operation's rule sees them: axes longer than their true size, in programs that serve several sizes. */
import { DTYPES, isFloat, type DType, dataTypeName } from "./dtype.ts";
import type { TensorSpec } from "./definition.ts";
import type { GraphBuilder } from "../graph/builder.generated.ts";
import type { Expr } from "../graph/graph.ts";

export interface Padding {
  /** Whether an input's axis ends in padding. */
  isPadded(input: number, axis: number): boolean;
  /** Whether any of an input's axes ends in padding, except those named. */
  isPaddedBeside(input: number, ...axes: readonly number[]): boolean;
  /** x, which has an input's sizes (the input itself by default), with a number in place of its padding along some axes, all by default. */
  filled(input: number, value: number, x?: Expr, axes?: readonly number[]): Expr;
  /** x, which has an input's sizes, with the last slice before the padding of an axis in place of the padding. */
  repeated(input: number, axis: number, x?: Expr): Expr;
  /** The length of an input's axis without padding: one int32. */
  length(input: number, axis: number): Expr;
  /** A number that each call has in its attributes, where the definition says that it `follows` sizes: one element. */
  number(of: (attrs: never) => number, dtype?: "int32" | "float32"): Expr;
  /** The attributes of the smaller sizes that the program was recorded with: what differs in them follows a size. */
  readonly smaller: unknown;
  /** How many elements an input has along some axes, without padding: one float32. */
  count(input: number, axes: readonly number[]): Expr;
}

/** The operation's nodes, of padded inputs; null: the padded axis is one that it cannot work on. */
export type PaddedRule<A> = (
  g: GraphBuilder,
  inputs: readonly Expr[],
  attrs: A,
  outputs: readonly TensorSpec[],
  padding: Padding,
  lower: (inputs: readonly Expr[]) => readonly Expr[],
) => readonly Expr[] | null;

/** Slices of x along an axis at the indices of a 1-axis int32 index. */
export function takeAlong(g: GraphBuilder, x: Expr, index: Expr, axis: number): Expr {
  const count = index.sizes[0]!;
  const others = x.sizes.slice(1);
  const seen = g.reinterpret(index, { sizes: [...others.map(() => 1), count], strides: [...others.map(() => 0), index.strides[0]!] });
  return g.gather(x, seen, { output: { sizes: x.sizes.map((d, i) => (i === axis ? count : d)) }, axis, indexDimensions: 1 });
}

/** An int32 seen with some sizes. */
export const int32 = (g: GraphBuilder, value: number, sizes: readonly number[]): Expr =>
  g.expand(
    g.fillValueConstant({ output: { sizes: [1], dtype: "int32" }, valueDataType: "INT32", value: { dtype: "int32", value } }),
    sizes,
  );

/** 0, 1, … n - 1, as int32. */
export const indices = (g: GraphBuilder, n: number): Expr =>
  g.fillValueSequence({
    output: { sizes: [n], dtype: "int32" },
    valueDataType: "INT32",
    valueStart: { dtype: "int32", value: 0 },
    valueDelta: { dtype: "int32", value: 1 },
  });

/** x shifted to the front along an axis by a number of elements, one int32, with zeros where nothing comes from. */
export function shiftedToFront(g: GraphBuilder, x: Expr, by: Expr, axis: number): Expr {
  const n = x.sizes[axis]!;
  const from = g.elementWiseAdd(indices(g, n), g.expand(by, [n]));
  const last = int32(g, n - 1, [n]);
  const taken = takeAlong(g, x, g.elementWiseMax(g.elementWiseMin(from, last), int32(g, 0, [n])), axis);
  const isInside = g.elementWiseLogicalAnd(
    g.elementWiseLogicalGreaterThanOrEqual(last, from, { output: { dtype: "uint8" } }),
    g.elementWiseLogicalGreaterThanOrEqual(from, int32(g, 0, [n]), { output: { dtype: "uint8" } }),
  );
  const mask = g.reinterpret(isInside, { sizes: x.sizes, strides: x.sizes.map((_, i) => (i === axis ? 1 : 0)) });
  const zero = g.fillValueConstant({
    output: { sizes: [1], dtype: x.dtype },
    valueDataType: dataTypeName(x.dtype),
    value: { dtype: x.dtype, value: 0 },
  });
  return g.elementWiseIf(mask, taken, g.expand(zero, x.sizes));
}

/** Inputs joined along an axis, where what is before the padding of each follows on what is before that of the one before. */
export function joinedAlong(
  g: GraphBuilder,
  inputs: readonly Expr[],
  axis: number,
  p: Padding,
  lower: (inputs: readonly Expr[]) => readonly Expr[],
): Expr {
  const joined = lower(inputs)[0]!;
  const n = joined.sizes[axis]!;
  const at = indices(g, n);
  let from = at;
  let end = int32(g, 0, [1]);
  inputs.slice(0, -1).forEach((x, i) => {
    const whole = int32(g, x.sizes[axis]!, [1]);
    const length = p.isPadded(i, axis) ? p.length(i, axis) : whole;
    end = g.elementWiseAdd(end, length);
    if (!p.isPadded(i, axis)) return;
    const isBehind = g.elementWiseLogicalGreaterThanOrEqual(at, g.expand(end, [n]), { output: { dtype: "uint8" } });
    const gap = g.expand(g.elementWiseSubtract(whole, length), [n]);
    from = g.elementWiseAdd(from, g.elementWiseIf(isBehind, gap, int32(g, 0, [n])));
  });
  return takeAlong(g, joined, g.elementWiseMin(from, int32(g, n - 1, [n])), axis);
}

type Axes<A> = (attrs: A, rank: number) => readonly number[];

/** Nothing depends on padding as it is. */
export const asItIs: PaddedRule<unknown> = (_g, inputs, _attrs, _outputs, _padding, lower) => lower(inputs);

/** Works along axes of the first input: these may be padded when a number stands there, which changes nothing. */
export const neutral =
  <A>(axes: Axes<A>, value: number): PaddedRule<A> =>
  (_g, inputs, attrs, _outputs, p, lower) =>
    lower(axes(attrs, inputs[0]!.sizes.length).some((a) => p.isPadded(0, a)) ? [p.filled(0, value), ...inputs.slice(1)] : inputs);

/** Works along axes that must not be padded, of each of the inputs that has them; the others are independent. */
export const unpaddedAxes =
  <A>(axes: Axes<A>, count = 1): PaddedRule<A> =>
  (_g, inputs, attrs, _outputs, p, lower) =>
    inputs.slice(0, count).some((x, i) => axes(attrs, x.sizes.length).some((a) => p.isPadded(i, a))) ? null : lower(inputs);

/** Only the first `axes` axes of the first `count` inputs may be padded; others not at all. */
export const leading =
  (axes: number, count = 1): PaddedRule<unknown> =>
  (_g, inputs, _attrs, _outputs, p, lower) =>
    inputs.some((_, i) => p.isPaddedBeside(i, ...(i < count ? Array.from({ length: axes }, (_unused, k) => k) : [])))
      ? null
      : lower(inputs);

/** Sums over the first axis of the inputs named: their padding is zero. Other axes must not be padded. */
export const summing =
  (...named: readonly number[]): PaddedRule<unknown> =>
  (_g, inputs, _attrs, _outputs, p, lower) =>
    inputs.some((_, i) => p.isPaddedBeside(i, ...(named.includes(i) ? [0] : [])))
      ? null
      : lower(inputs.map((x, i) => (named.includes(i) && p.isPadded(i, 0) ? p.filled(i, 0) : x)));

/**
 * Works along the spatial axes of the inputs named, [N, C, ...]: a number stands in their padding, as beyond the edge. Batches are independent; `over`
 * says over what else it sums.
 */
export const spatial =
  (named: readonly number[], value: number, over: "channels" | "batches" | null = null): PaddedRule<unknown> =>
  (_g, inputs, _attrs, _outputs, p, lower) => {
    if (inputs.some((x, i) => (named.includes(i) ? x.sizes.length < 3 || (over !== null && p.isPadded(i, 1)) : p.isPaddedBeside(i))))
      return null;
    const axes = (x: Expr): number[] => x.sizes.flatMap((_, a) => (a > 1 || (over === "batches" && a === 0) ? [a] : []));
    return lower(inputs.map((x, i) => (named.includes(i) ? p.filled(i, value, x, axes(x)) : x)));
  };

/** Matrix multiplications, which sum over the inner axes. */
export const matmulAxes =
  (a: number, b: number, inner: (rank: number) => number): PaddedRule<unknown> =>
  (_g, inputs, _attrs, _outputs, p, lower) => {
    const [ka, kb] = [inputs[a]!.sizes.length - 1, inner(inputs[b]!.sizes.length)];
    if (!p.isPadded(a, ka) && !p.isPadded(b, kb)) return lower(inputs);
    return lower(inputs.map((x, i) => (i === a || i === b ? p.filled(i, 0) : x)));
  };

/** The smallest and the largest number of a dtype, for maxima and minima. */
export function extremeOf(dtype: DType, which: "lowest" | "largest"): number {
  if (isFloat(dtype)) return which === "lowest" ? -Infinity : Infinity;
  if (dtype === "bool") return which === "lowest" ? 0 : 1;
  const { sizeInBytes, isSigned } = DTYPES[dtype];
  const bits = 8 * sizeInBytes - (isSigned ? 1 : 0);
  // Beyond 2^53 numbers are rounded: never past the dtype's own range.
  const largest = bits > 53 ? 2 ** bits - 2 ** (bits - 53) : 2 ** bits - 1;
  return which === "largest" ? largest : isSigned ? -(2 ** bits) : 0;
}
