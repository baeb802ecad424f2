/** What an operation's rule knows of padding: axes that are longer than what they hold, in programs that serve several sizes. */
import { DTYPES, isFloat, type DType } from "./dtype.ts";
import type { TensorSpec } from "./definition.ts";
import type { GraphBuilder } from "./graph/builder.generated.ts";
import type { Expr } from "./graph/graph.ts";

export interface Padding {
  /** Whether an input's axis ends in padding. */
  isPadded(input: number, axis: number): boolean;
  /** Whether any of an input's axes does, but for those named. */
  isPaddedBeside(input: number, ...axes: readonly number[]): boolean;
  /** x, which has an input's sizes (the input itself by default), with a number in place of its padding. */
  filled(input: number, value: number, x?: Expr): Expr;
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

type Axes<A> = (attrs: A, rank: number) => readonly number[];

/** Nothing depends on padding as it is. */
export const asItIs: PaddedRule<unknown> = (_g, inputs, _attrs, _outputs, _padding, lower) => lower(inputs);

/** Works along axes of the first input: these may be padded when a number stands there, which changes nothing. */
export const neutral =
  <A>(axes: Axes<A>, value: number): PaddedRule<A> =>
  (_g, inputs, attrs, _outputs, p, lower) =>
    lower(axes(attrs, inputs[0]!.sizes.length).some((a) => p.isPadded(0, a)) ? [p.filled(0, value), ...inputs.slice(1)] : inputs);

/** Works along axes that must not be padded, of each of the inputs that has them; the others are independent. */
export const beside =
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

/** A product of matrices, whose inner axes are summed over. */
export const product =
  (a: number, b: number, inner: (rank: number) => number): PaddedRule<unknown> =>
  (_g, inputs, _attrs, _outputs, p, lower) => {
    const [ka, kb] = [inputs[a]!.sizes.length - 1, inner(inputs[b]!.sizes.length)];
    if (!p.isPadded(a, ka) && !p.isPadded(b, kb)) return lower(inputs);
    return lower(inputs.map((x, i) => (i === a || i === b ? p.filled(i, 0) : x)));
  };

/** The least and the largest number of a dtype, for maxima and minima. */
export function extremeOf(dtype: DType, which: "least" | "most"): number {
  if (isFloat(dtype)) return which === "least" ? -Infinity : Infinity;
  if (dtype === "bool") return which === "least" ? 0 : 1;
  const { sizeInBytes, isSigned } = DTYPES[dtype];
  const bits = 8 * sizeInBytes - (isSigned ? 1 : 0);
  // Beyond 2^53 numbers are rounded: never past the dtype's own range.
  const most = bits > 53 ? 2 ** bits - 2 ** (bits - 53) : 2 ** bits - 1;
  return which === "most" ? most : isSigned ? -(2 ** bits) : 0;
}
