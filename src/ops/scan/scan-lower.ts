/** Scans along an axis for operators that DirectML has no scan of: log2(n) steps of doubling distance. @package */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { dataTypeName } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import { sizeOf } from "../../core/shape.ts";
import { cut } from "../declare/support.ts";

/** x shifted along an axis by a number of elements (towards its end if positive); `fill` is shifted in. */
export function shifted(g: GraphBuilder, x: Expr, axis: number, by: number, fill: number): Expr {
  const n = x.sizes[axis]!;
  const kept = n - Math.abs(by);
  const part = cut(g, x, axis, by < 0 ? -by : 0, kept);
  const pads = (isStart: boolean): number[] => x.sizes.map((_, i) => (i === axis && by > 0 === isStart ? Math.abs(by) : 0));
  return g.padding1(part, {
    output: { sizes: x.sizes },
    paddingMode: "CONSTANT",
    paddingValueDataType: dataTypeName(x.dtype),
    paddingValue: { dtype: x.dtype, value: fill },
    startPadding: pads(true),
    endPadding: pads(false),
  });
}

export interface Scan {
  readonly axis: number;
  /** From the end to the start. */
  readonly reverse?: boolean;
  /** What stands before the first element, for each part of the state. */
  readonly identity: readonly number[];
  /** The state of a run followed by that of another. Associative. */
  readonly combine: (before: readonly Expr[], here: readonly Expr[]) => Expr[];
}

/** The state of all elements up to each one, in log2(n) steps of the whole length. */
export function emitScan(g: GraphBuilder, elements: readonly Expr[], { axis, reverse = false, identity, combine }: Scan): Expr[] {
  const n = elements[0]!.sizes[axis]!;
  let state = [...elements];
  for (let step = 1; step < n; step *= 2) {
    const before = state.map((x, i) => shifted(g, x, axis, reverse ? -step : step, identity[i]!));
    state = combine(before, state);
  }
  return state;
}

/** The largest integer up to each one, by windows of pooling that reach back to the start; null on devices that would read each window. */
export function emitRunningMaximum(g: GraphBuilder, x: Expr, axis: number): Expr | null {
  if (!g.capabilities.runsMaxima || !g.supports("MAX_POOLING2", x.dtype)) return null;
  const n = x.sizes[axis]!;
  const sizes = [sizeOf(x.sizes.slice(0, axis)), 1, n, sizeOf(x.sizes.slice(axis + 1))];
  const { output } = g.maxPooling2(g.reinterpret(g.packed(x), { sizes }), {
    output: { sizes },
    strides: [1, 1],
    windowSize: [n, 1],
    startPadding: [n - 1, 0],
    endPadding: [0, 0],
    dilations: [1, 1],
  });
  return g.reinterpret(output, { sizes: x.sizes });
}
