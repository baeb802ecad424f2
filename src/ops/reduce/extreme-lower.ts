/** Lowering of minima and maxima, of two expressions and over axes. int64 is compared as uint64. @package */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { isFloat } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import { comparable, compared } from "../elementwise/int64-order.ts";
import { emitReduce, merged } from "./reduce-lower.ts";
import { BOOL, constant } from "../declare/support.ts";

export type Which = "max" | "min";

/** The larger or smaller of two; the result for NaN differs among devices. */
export function extremeOfNumbers(g: GraphBuilder, which: Which, a: Expr, b: Expr): Expr {
  if (a.dtype === "bool") return which === "max" ? g.elementWiseLogicalOr(a, b) : g.elementWiseLogicalAnd(a, b);
  const [x, y] = [comparable(g, a), comparable(g, b)];
  return compared(g, which === "max" ? g.elementWiseMax(x, y) : g.elementWiseMin(x, y), a.dtype);
}

/** The larger or smaller of two, where NaN wins or yields to the other one. */
export function extremeOf(g: GraphBuilder, which: Which, a: Expr, b: Expr, nan: "wins" | "yields" = "wins"): Expr {
  const chosen = extremeOfNumbers(g, which, a, b);
  if (!isFloat(a.dtype)) return chosen;
  const [forA, forB] = nan === "wins" ? [a, b] : [b, a];
  return g.elementWiseIf(g.elementWiseIsNan(a, BOOL), forA, g.elementWiseIf(g.elementWiseIsNan(b, BOOL), forB, chosen));
}

/** An extreme, and its flat index (uint32) in row-major order of the axes. */
interface Placed {
  readonly value: Expr;
  readonly index: Expr;
}

/**
 * The extreme over contiguous axes; NaN wins, and the first of equal elements. One pass, on
 * devices that order all numbers; null in other cases.
 */
export function firstInOrder(g: GraphBuilder, which: Which, x: Expr, axes: readonly number[]): Placed | null {
  if (x.dtype !== "float32" || !g.capabilities.ordersAllNumbers) return null;
  const { sizes, strides, reduced } = merged(x, axes);
  const axis = sizes.length - 1;
  const isPacked = strides[axis] === 1 && (axis === 0 || (axis === 1 && strides[0] === sizes[1]));
  if (!isPacked || reduced.some((r, i) => r !== (i === axis))) return null;
  const seen = g.reinterpret(x, { sizes, strides });
  const kept = sizes.map((d, i) => (i === axis ? 1 : d));
  // NaN is the greatest of all, whatever its sign.
  const found = g.topK1(which === "max" ? seen : g.elementWiseNegate(seen), {
    outputValue: { sizes: kept },
    outputIndex: { sizes: kept, dtype: "uint32" },
    axis,
    k: 1,
    axisDirection: "DECREASING",
  });
  const keepAxes = (v: Expr): Expr => g.reinterpret(v, { sizes: x.sizes.map((d, i) => (axes.includes(i) ? 1 : d)) });
  const value = which === "max" ? found.outputValue : g.elementWiseNegate(found.outputValue);
  return { value: keepAxes(value), index: keepAxes(found.outputIndex) };
}

/** The extreme over axes; NaN if an element is, as in PyTorch. What DirectML's REDUCE makes of NaN is not documented. */
export function emitExtreme(g: GraphBuilder, which: Which, x: Expr, axes: readonly number[]): Expr {
  if (!x.sizes.some((d, i) => d !== 1 && axes.includes(i))) return g.elementWiseIdentity(x);
  const first = firstInOrder(g, which, x, axes);
  if (first !== null) return first.value;
  const found = compared(g, emitReduce(g, comparable(g, x), which === "max" ? "MAX" : "MIN", axes), x.dtype);
  if (!isFloat(x.dtype)) return found;
  const unordered = emitReduce(g, g.elementWiseIsNan(x, BOOL), "MAX", axes);
  return g.elementWiseIf(unordered, constant(g, x.dtype, NaN, found.sizes), found);
}
