/** Inside a compiled DirectML graph an edge has no offset: a node that reads a value from a later byte on gets a SLICE1 before it. */
import { Expr, packedBytes, withNodes, type Graph, type GraphNode, type Value } from "../graph.ts";
import { DTYPES } from "../../dtype.ts";
import { packedStrides } from "../../shape.ts";

export function materializeOffsets(graph: Graph): Graph {
  const inputs = new Set<Value>(graph.inputs);
  const nodes: GraphNode[] = [];
  const next = withNodes(graph, nodes, (x) => x);
  const cut = (x: Expr, origin: string): Expr => {
    let span = 1;
    x.sizes.forEach((d, i) => {
      span += (d - 1) * x.strides[i]!;
    });
    const skip = x.byteOffset / DTYPES[x.dtype].sizeInBytes;
    const whole = Math.floor(x.value.sizeInBytes / DTYPES[x.dtype].sizeInBytes);
    const out = {
      id: nodes.length,
      operator: "SLICE1" as const,
      attributes: { inputWindowOffsets: [skip], inputWindowSizes: [span], inputWindowStrides: [1] },
      inputs: [new Expr(x.value, x.dtype, [whole], [1], 0)],
      outputs: [] as Expr[],
      origin,
    };
    const value = next.newValue(packedBytes(x.dtype, [span]), out);
    out.outputs.push(new Expr(value, x.dtype, [span], packedStrides([span]), 0));
    nodes.push(out);
    return new Expr(value, x.dtype, x.sizes, x.strides, 0);
  };
  for (const node of graph.nodes) {
    const seen = node.inputs.map((x) => (x === null || x.byteOffset === 0 || inputs.has(x.value) ? x : cut(x, node.origin)));
    nodes.push({ ...node, inputs: seen });
  }
  return next;
}
