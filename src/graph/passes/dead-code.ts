/** Removes nodes whose outputs nobody reads. */
import { withNodes, type Graph, type GraphNode, type Value } from "../graph.ts";

export function removeDeadCode(graph: Graph): Graph {
  const used = new Set<Value>();
  for (const x of graph.outputs) used.add(x.value);
  for (const w of graph.state) used.add(w.value.value);
  const kept: GraphNode[] = [];
  for (let i = graph.nodes.length - 1; i >= 0; i--) {
    const node = graph.nodes[i]!;
    if (!node.outputs.some((x) => x !== null && used.has(x.value))) continue;
    kept.push(node);
    for (const x of node.inputs) if (x !== null) used.add(x.value);
  }
  return withNodes(graph, kept.reverse(), (x) => x);
}
