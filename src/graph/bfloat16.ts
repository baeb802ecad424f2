/** bfloat16 over operators that lack it: the upper half of a float32, stored as uint16. */
import { isPacked } from "../core/shape.ts";
import type { GraphBuilder } from "./builder.generated.ts";
import { Expr, type Graph, type Value } from "./graph.ts";

/** Of graphs that keep them, the float32 values that bfloat16 values were narrowed from: element for element, with the same numbers. */
const wideValues = new WeakMap<Graph, Map<Value, Value>>();

/** From here on a bfloat16 value of the graph that was narrowed in it is not widened again where it is read. */
export function keepWideValues(graph: Graph): void {
  wideValues.set(graph, new Map());
}

const number = (g: GraphBuilder, value: number, sizes: readonly number[]): Expr =>
  g.expand(
    g.fillValueConstant({ output: { sizes: [1], dtype: "uint32" }, valueDataType: "UINT32", value: { dtype: "uint32", value } }),
    sizes,
  );

/** The numbers in float32, exactly. Broadcast axes stay broadcast. */
export function widenBfloat16(g: GraphBuilder, x: Expr): Expr {
  const wide = wideValues.get(g.graph)?.get(x.value);
  if (wide !== undefined) return new Expr(wide, "float32", x.sizes, x.strides, 2 * x.byteOffset);
  const once = x.sizes.map((d, i) => (x.strides[i] === 0 ? 1 : d));
  const strides = x.strides.map((s) => (s === 0 ? 1 : s));
  // A transposed tensor stays one, in the order of its memory.
  const order = once.map((_, i) => i).sort((i, j) => strides[j]! - strides[i]!);
  const [sizes, inMemory] = [order.map((i) => once[i]!), order.map((i) => strides[i]!)];
  const isDense = isPacked(sizes, inMemory);
  const distinct = g.reinterpret(x, { dtype: "uint16", ...(isDense ? { sizes, strides: inMemory } : { sizes: once, strides }) });
  const words = g.cast(distinct, { output: { dtype: "uint32" } });
  const bits = g.elementWiseBitShiftLeft(words, number(g, 16, distinct.sizes));
  return g.expand(g.reinterpret(bits, { dtype: "float32", ...(isDense ? { sizes: once, strides } : {}) }), x.sizes);
}

/** float32 rounded to the nearest number that bfloat16 holds, ties to even: bits + 0x7fff + the lowest bit that stays; NaN is quiet. */
export function roundToBfloat16(g: GraphBuilder, x: Expr): Expr {
  const packed = g.packed(x);
  const { sizes } = packed;
  const bits = g.reinterpret(packed, { dtype: "uint32" });
  const odd = g.elementWiseBitAnd(g.elementWiseBitShiftRight(bits, number(g, 16, sizes)), number(g, 1, sizes));
  const sum = g.elementWiseAdd(g.elementWiseAdd(bits, number(g, 0x7fff, sizes)), odd);
  const isNan = g.elementWiseIsNan(packed, { output: { dtype: "bool" } });
  const kept = g.elementWiseBitAnd(g.elementWiseIf(isNan, number(g, 0x7fc00000, sizes), sum), number(g, 0xffff0000, sizes));
  return g.reinterpret(kept, { dtype: "float32" });
}

/** What roundToBfloat16 gave, in 16 bits. */
export function narrowToBfloat16(g: GraphBuilder, rounded: Expr): Expr {
  const bits = g.reinterpret(rounded, { dtype: "uint32" });
  const words = g.cast(g.elementWiseBitShiftRight(bits, number(g, 16, rounded.sizes)), { output: { dtype: "uint16" } });
  wideValues.get(g.graph)?.set(words.value, rounded.value);
  return g.reinterpret(words, { dtype: "bfloat16" });
}
