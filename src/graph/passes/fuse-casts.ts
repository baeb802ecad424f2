/**
 * Lets products read what a cast between float32 and float16 reads: they cast it when they load it. So mixed precision needs no launches for weights and inputs. The
 * same for bfloat16 in memory, which is widened to float32.
 */
import { isPacked } from "../../core/shape.ts";
import type { Scalar } from "../emitter.ts";
import { Expr, isWhole, withNodes, type Graph, type GraphNode, type Value } from "../graph.ts";
import { removeDeadCode } from "./dead-code.ts";

const FLOATS: readonly string[] = ["float32", "float16"];

/** Whether a node casts float32 to float16, or back, and does nothing else. */
export function isFloatCast({ operator, isCast, inputs: [x], outputs: [y], after }: GraphNode): boolean {
  if (after !== undefined || (operator !== "CAST" && isCast !== true) || !x || !y) return false;
  return x.dtype !== y.dtype && FLOATS.includes(x.dtype) && FLOATS.includes(y.dtype);
}

/** Whether an expression is 16 everywhere. */
function isSixteen({ value }: Expr, { constants }: Graph): boolean {
  const bytes = constants.get(value);
  if (bytes !== undefined) return bytes.every((byte, i) => byte === (i % 4 === 0 ? 16 : 0));
  const maker = value.producer;
  return maker?.operator === "FILL_VALUE_CONSTANT" && (maker.attributes["value"] as Scalar).value === 16;
}

/** The bfloat16 tensor that a node widens to float32, as widenBfloat16() has it; null: it is another node. */
function widenedBy({ operator, inputs: [words, shift], after }: GraphNode, makers: ReadonlyMap<Value, GraphNode>, graph: Graph): Expr | null {
  if (operator !== "ELEMENT_WISE_BIT_SHIFT_LEFT" || after !== undefined || !isSixteen(shift!, graph)) return null;
  const cast = isWhole(words!) ? makers.get(words!.value) : undefined;
  const x = cast?.operator === "CAST" && cast.after === undefined ? cast.inputs[0]! : null;
  return x?.dtype === "uint16" ? new Expr(x.value, "bfloat16", x.sizes, x.strides, x.byteOffset) : null;
} // prettier-ignore

export function fuseCasts(graph: Graph): Graph {
  if (graph.nodes.every(({ withCast }) => withCast === undefined)) return graph;
  const readers = new Map<Value, GraphNode[]>();
  const others = new Set<Value>([...graph.outputs.map(({ value }) => value), ...graph.state.map(({ value }) => value.value)]);
  const makers = new Map(graph.nodes.flatMap((node) => node.outputs.flatMap((x) => (x === null ? [] : [[x.value, node] as const]))));
  for (const node of graph.nodes) {
    for (const x of new Set(node.inputs.flatMap((e) => e?.value ?? []))) readers.set(x, [...(readers.get(x) ?? []), node]);
    for (const value of node.after ?? []) others.add(value);
  }
  const replaced = new Map<GraphNode, GraphNode>();
  const now = (node: GraphNode): GraphNode => replaced.get(node) ?? node;
  for (const node of graph.nodes) {
    const x = isFloatCast(node) ? node.inputs[0]! : widenedBy(node, makers, graph);
    if (x === null) continue;
    const result = node.outputs[0]!;
    const all = readers.get(result.value) ?? [];
    if (others.has(result.value) || !isPacked(x.sizes, x.strides) || x.byteOffset % 16 !== 0 || !isWhole(result) || all.length === 0)
      continue;
    if (all.some(({ mark }) => mark !== node.mark)) continue;
    const next = all.map((reader) => now(reader).withCast?.(result.value, x) ?? null);
    // Where one of them needs the result, the others read it too.
    if (next.some((made) => made === null)) continue;
    all.forEach((reader, i) => {
      const { id, operator, attributes, outputs, origin, mark, flops } = now(reader);
      const kept = { id, operator, attributes, outputs, origin, ...(mark === undefined ? {} : { mark }), ...(flops === undefined ? {} : { flops }) }; // prettier-ignore
      replaced.set(reader, { ...kept, ...next[i]! });
    });
  }
  if (replaced.size === 0) return graph;
  return removeDeadCode(withNodes(graph, graph.nodes.map(now), (x) => x)); // prettier-ignore
}
