/** Lets products read what a cast between float32 and float16 reads: they cast it when they load it. So mixed precision needs no launches for weights and inputs. */
import { isPacked } from "../../core/shape.ts";
import { isWhole, withNodes, type Graph, type GraphNode, type Value } from "../graph.ts";
import { removeDeadCode } from "./dead-code.ts";

const FLOATS: readonly string[] = ["float32", "float16"];

/** Whether a node casts float32 to float16, or back, and does nothing else. */
export function isFloatCast({ operator, isCast, inputs: [x], outputs: [y], after }: GraphNode): boolean {
  if (after !== undefined || (operator !== "CAST" && isCast !== true) || !x || !y) return false;
  return x.dtype !== y.dtype && FLOATS.includes(x.dtype) && FLOATS.includes(y.dtype);
}

export function fuseCasts(graph: Graph): Graph {
  if (graph.nodes.every(({ withCast }) => withCast === undefined)) return graph;
  const readers = new Map<Value, GraphNode[]>();
  const others = new Set<Value>([...graph.outputs.map(({ value }) => value), ...graph.state.map(({ value }) => value.value)]);
  for (const node of graph.nodes) {
    for (const x of new Set(node.inputs.flatMap((e) => e?.value ?? []))) readers.set(x, [...(readers.get(x) ?? []), node]);
    for (const value of node.after ?? []) others.add(value);
  }
  const replaced = new Map<GraphNode, GraphNode>();
  const now = (node: GraphNode): GraphNode => replaced.get(node) ?? node;
  for (const node of graph.nodes) {
    if (!isFloatCast(node)) continue;
    const [x, result] = [node.inputs[0]!, node.outputs[0]!];
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
