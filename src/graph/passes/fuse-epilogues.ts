/** Makes sums with tensors, and batch norm with known statistics, the epilogue of the shader whose result only they read. */
import { isWhole, withNodes, type EpilogueOp, type Expr, type Graph, type GraphNode, type Value } from "../graph.ts";

/** The operand that a node takes further, and what it does with it; null: it is another operator. */
function opsOf(node: GraphNode): readonly { readonly x: Expr; readonly op: EpilogueOp }[] {
  const [a, b, variance, gain, shift] = node.inputs;
  if (node.attributes.fusedActivation != null) return [];
  if (node.operator === "ELEMENT_WISE_ADD" && a && b) return [{ x: a, op: { kind: "add", addend: b } }, { x: b, op: { kind: "add", addend: a } }]; // prettier-ignore
  if (node.operator !== "BATCH_NORMALIZATION" || !a || !b || !variance || !gain || !shift) return [];
  return [{ x: a, op: { kind: "norm", epsilon: node.attributes.epsilon as number, mean: b, variance, gain, shift } }];
}

const sameSizes = (a: Expr, b: Expr): boolean => a.sizes.length === b.sizes.length && a.sizes.every((d, i) => d === b.sizes[i]);

export function fuseEpilogues(graph: Graph): Graph {
  if (graph.nodes.every(({ withEpilogue }) => withEpilogue === undefined)) return graph;
  const readers = new Map<Value, number>();
  const count = (x: Expr | null): void => {
    if (x !== null) readers.set(x.value, (readers.get(x.value) ?? 0) + 1);
  };
  for (const node of graph.nodes) {
    node.inputs.forEach(count);
    for (const value of node.after ?? []) readers.set(value, (readers.get(value) ?? 0) + 1);
  }
  graph.outputs.forEach(count);
  for (const w of graph.state) count(w.value);
  const nodes: (GraphNode | null)[] = [];
  const madeBy = new Map<Value, number>();
  for (const node of graph.nodes) {
    const made = node.after === undefined ? nodeWithEpilogue(node, nodes, madeBy, readers) : null;
    if (made !== null) nodes[made.at] = null;
    const index = nodes.push(made?.node ?? node) - 1;
    for (const x of node.outputs) if (x !== null) madeBy.set(x.value, index);
  }
  return withNodes(graph, nodes.filter((n) => n !== null), (x) => x); // prettier-ignore
}

/** The host with a node's work, where the node is: all that it reads is made by then. Where two could take it, the one that is nearer does. */
function nodeWithEpilogue(
  node: GraphNode,
  nodes: readonly (GraphNode | null)[],
  madeBy: ReadonlyMap<Value, number>,
  readers: ReadonlyMap<Value, number>,
): { readonly node: GraphNode; readonly at: number } | null {
  const result = node.outputs[0]!;
  const candidates = opsOf(node).flatMap(({ x, op }) => {
    const at = madeBy.get(x.value);
    return at === undefined ? [] : [{ x, op, at }];
  });
  for (const { x, op, at } of candidates.toSorted((p, q) => q.at - p.at)) {
    const host = nodes[at]!;
    if (host.withEpilogue === undefined || host.mark !== node.mark || readers.get(x.value) !== 1 || !isWhole(x)) continue;
    if (host.outputs[0]!.value !== x.value || !isWhole(result) || !sameSizes(x, result) || result.dtype !== x.dtype) continue;
    const made = host.withEpilogue(op);
    if (made === null) continue;
    const { withEpilogue: _, withActivation: __, ...rest } = host;
    return { node: { ...rest, ...made, outputs: [result], origin: `${host.origin} + ${node.origin}` }, at };
  }
  return null;
}
