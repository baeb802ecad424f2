/**
 * int64 as uint64 in the same order: the sign bit flipped. Microsoft's DirectML compares the low halves of int64 as signed numbers
 * (5 billion is less than 3 billion there), those of uint64 rightly.
 * @package
 */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { DType } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import { constant } from "../declare/support.ts";

const flip = (g: GraphBuilder, x: Expr): Expr => g.elementWiseBitXor(x, constant(g, "uint64", 1n << 63n, x.sizes));

/** What may be compared instead of x: x itself unless it is int64. */
export const comparable = (g: GraphBuilder, x: Expr): Expr => (x.dtype === "int64" ? flip(g, g.reinterpret(x, { dtype: "uint64" })) : x);

/** The value of that dtype which was chosen among comparable ones. */
export const compared = (g: GraphBuilder, x: Expr, dtype: DType): Expr =>
  dtype === "int64" && x.dtype === "uint64" ? g.reinterpret(flip(g, x), { dtype: "int64" }) : x;
