/**
 * Inside a compiled DirectML graph an edge has no offset: a node that reads a value from a later byte on gets a SLICE1 before it.
 *
 * A node that supports in-place execution must read whole values: CompileGraph of Microsoft's library returns E_INVALIDARG if its input is a part of a
 * value, or the output of a slice. A CAST to the same type makes a copy. An IDENTITY of a part of an input fails in the same way, since the library
 * removes it: it is replaced by a CAST.
 */
import { OPERATORS } from "../../dml/operators.generated.ts";
import { Expr, isOperator, withNodes, type Graph, type GraphNode, type Value } from "../graph.ts";
import { DTYPES, packedBytes } from "../../core/dtype.ts";
import { isPacked, packedStrides } from "../../core/shape.ts";

const SLICES: ReadonlySet<string> = new Set(["SLICE", "SLICE1", "SPLIT"]);

const isCopy = (node: GraphNode): boolean => node.operator === "ELEMENT_WISE_IDENTITY" && (node.attributes["scaleBias"] ?? null) === null;

export function materializeParts(graph: Graph): Graph {
  const inputs = new Set<Value>(graph.inputs);
  /** Values that are parts of other values inside the graph. */
  const slices = new Set<Value>();
  const nodes: GraphNode[] = [];
  const next = withNodes(graph, nodes, (x) => x);

  /** A node of one packed output of `x`'s type. */
  const add = (node: Pick<GraphNode, "operator" | "attributes" | "origin">, input: Expr, sizes: readonly number[]): Expr => {
    const made = { ...node, id: nodes.length, inputs: [input], outputs: [] as Expr[] };
    const value = next.newValue(packedBytes(input.dtype, sizes), made);
    made.outputs.push(new Expr(value, input.dtype, sizes, packedStrides(sizes), 0));
    nodes.push(made);
    return made.outputs[0]!;
  };
  const cut = (x: Expr, origin: string): Expr => {
    const span = x.sizes.reduce((n, d, i) => n + (d - 1) * x.strides[i]!, 1);
    const skip = x.byteOffset / DTYPES[x.dtype].sizeInBytes;
    const whole = Math.floor(x.value.sizeInBytes / DTYPES[x.dtype].sizeInBytes);
    const attributes = { inputWindowOffsets: [skip], inputWindowSizes: [span], inputWindowStrides: [1] };
    const { value } = add({ operator: "SLICE1", attributes, origin }, new Expr(x.value, x.dtype, [whole], [1], 0), [span]);
    slices.add(value);
    return new Expr(value, x.dtype, x.sizes, x.strides, 0);
  };
  const isPart = (x: Expr): boolean =>
    isPacked(x.sizes, x.strides) && (slices.has(x.value) || packedBytes(x.dtype, x.sizes) < x.value.sizeInBytes);

  for (const original of graph.nodes) {
    const node = isCopy(original) && isPart(original.inputs[0]!) ? { ...original, operator: "CAST" as const, attributes: {} } : original;
    const mayOverwrite = isOperator(node.operator) && OPERATORS[node.operator].supportsInPlace;
    const seen = node.inputs.map((x) => {
      if (x === null || inputs.has(x.value)) return x;
      const whole = x.byteOffset === 0 ? x : cut(x, node.origin);
      if (!mayOverwrite || !isPart(whole)) return whole;
      return add({ operator: "CAST", attributes: {}, origin: node.origin }, whole, whole.sizes);
    });
    nodes.push({ ...node, inputs: seen });
    if (SLICES.has(node.operator) && node.inputs[0] !== null && !inputs.has(node.inputs[0]!.value))
      for (const x of node.outputs) if (x !== null) slices.add(x.value);
  }
  return next;
}
