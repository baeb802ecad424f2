/** The larger and the smaller of elements, as nodes: of two expressions, and over axes. int64 is compared as uint64. @package */
import type { GraphBuilder } from "../graph/builder.generated.ts";
import { isFloat } from "../dtype.ts";
import type { Expr } from "../graph/graph.ts";
import { comparable, compared } from "./int64.ts";
import { emitReduce } from "./reduce.ts";
import { BOOL, constant } from "./support.ts";

export type Which = "max" | "min";

/** The larger or smaller of two; what is made of NaN differs among devices. */
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

/** The extreme over axes; NaN if an element is, as in PyTorch. What DirectML's REDUCE makes of NaN is not documented. */
export function emitExtreme(g: GraphBuilder, which: Which, x: Expr, axes: readonly number[]): Expr {
  if (!x.sizes.some((d, i) => d !== 1 && axes.includes(i))) return g.elementWiseIdentity(x);
  const found = compared(g, emitReduce(g, comparable(g, x), which === "max" ? "MAX" : "MIN", axes), x.dtype);
  if (!isFloat(x.dtype)) return found;
  const unordered = emitReduce(g, g.elementWiseIsNan(x, BOOL), "MAX", axes);
  return g.elementWiseIf(unordered, constant(g, x.dtype, NaN, found.sizes), found);
}
