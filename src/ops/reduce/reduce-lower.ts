/** REDUCE over any axes, in the graph. @package */
import type { DML_REDUCE_FUNCTION } from "../../dml/operators.generated.ts";
import type { DType } from "../../core/dtype.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { Expr } from "../../graph/graph.ts";

/** The most axes of a DirectML tensor. */
const MAX_MERGED_AXES = 8;

/** x with at most MAX_MERGED_AXES axes: adjacent axes that are all reduced (or all kept) and contiguous are merged. @package */
export function merged(x: Expr, axes: readonly number[]): { sizes: number[]; strides: number[]; reduced: boolean[] } {
  const sizes: number[] = [];
  const strides: number[] = [];
  const reduced: boolean[] = [];
  x.sizes.forEach((d, i) => {
    const last = sizes.length - 1;
    if (last >= 0 && (d === 1 || (reduced[last] === axes.includes(i) && strides[last] === d * x.strides[i]!))) {
      if (d === 1) return;
      sizes[last]! *= d;
      strides[last] = x.strides[i]!;
    } else {
      sizes.push(d);
      strides.push(x.strides[i]!);
      reduced.push(axes.includes(i));
    }
  });
  return { sizes, strides, reduced };
}

const asItIs = (x: Expr, axes: readonly number[]): ReturnType<typeof merged> => ({
  sizes: [...x.sizes],
  strides: [...x.strides],
  reduced: x.sizes.map((_, i) => axes.includes(i)),
});

/** REDUCE over axes: a packed result with length 1 along them. @package */
export function emitReduce(g: GraphBuilder, x: Expr, fn: DML_REDUCE_FUNCTION, axes: readonly number[], dtype: DType = x.dtype): Expr {
  // A device that fuses graphs matches nodes by their axes, and merges axes itself.
  const keeps = g.capabilities.fusesGraphs && x.sizes.length <= MAX_MERGED_AXES;
  const { sizes, strides, reduced } = keeps ? asItIs(x, axes) : merged(x, axes);
  const list = reduced.flatMap((r, i) => (r ? [i] : []));
  const seen = g.reinterpret(x, { sizes, strides });
  const result = g.reduce(seen, { function: fn, output: { sizes: sizes.map((d, i) => (reduced[i] ? 1 : d)), dtype }, axes: list });
  return g.reinterpret(result, { sizes: x.sizes.map((d, i) => (axes.includes(i) ? 1 : d)) });
}
