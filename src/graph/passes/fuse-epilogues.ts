/** Makes sums with tensors, batch norm with known statistics, and relu's gradient the epilogue of the shader whose result only they read. */
import { isWhole, withNodes, type EpilogueOp, type Expr, type Graph, type GraphNode, type Value } from "../graph.ts";
import { removeDeadCode } from "./dead-code.ts";
import { isFloatCast } from "./fuse-casts.ts";

interface Facts {
  readonly makers: ReadonlyMap<Value, GraphNode>;
  readonly constants: ReadonlyMap<Value, Uint8Array>;
}

function isZero(x: Expr, { makers, constants }: Facts): boolean {
  const maker = makers.get(x.value);
  if (maker?.operator === "FILL_VALUE_CONSTANT") return Object.is((maker.attributes.value as { readonly value: unknown }).value, 0);
  return constants.get(x.value)?.every((byte) => byte === 0) === true;
}

/** ACTIVATION_RELU_GRAD, or what relu's gradient is where graphs fuse: 0 where x is at most 0, else dy. */
function reluGradientOf(node: GraphNode, facts: Facts): readonly { readonly x: Expr; readonly op: EpilogueOp }[] {
  const [first, second, third] = node.inputs;
  if (node.operator === "ACTIVATION_RELU_GRAD")
    return first && second ? [{ x: second, op: { kind: "reluGradient", x: first, zero: "where above 0" } }] : [];
  const test = first == null ? undefined : facts.makers.get(first.value);
  if (!second || !third || test?.operator !== "ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL" || !isWhole(first!)) return [];
  const [x, bound] = test.inputs;
  if (!x || !bound || test.outputs[0]!.dtype !== first!.dtype || !sameSizes(x, third) || !isZero(bound, facts) || !isZero(second, facts))
    return [];
  return [{ x: third, op: { kind: "reluGradient", x, zero: "unless at most 0" } }];
}

/** The operand that a node takes further, and what it does with it; null: it is another operator. */
function opsOf(node: GraphNode, facts: Facts): readonly { readonly x: Expr; readonly op: EpilogueOp }[] {
  const [a, b, variance, gain, shift] = node.inputs;
  if (node.attributes.fusedActivation != null) return [];
  if (isFloatCast(node)) return [{ x: a!, op: { kind: "cast" } }];
  if (node.operator === "ELEMENT_WISE_ADD" && a && b) return [{ x: a, op: { kind: "add", addend: b } }, { x: b, op: { kind: "add", addend: a } }]; // prettier-ignore
  if (node.operator === "ELEMENT_WISE_IF" || node.operator === "ACTIVATION_RELU_GRAD") return reluGradientOf(node, facts);
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
  const makers = new Map(graph.nodes.flatMap((node) => node.outputs.flatMap((x) => (x === null ? [] : [[x.value, node] as const]))));
  const facts: Facts = { makers, constants: graph.constants };
  const nodes: (GraphNode | null)[] = [];
  const madeBy = new Map<Value, number>();
  for (const node of graph.nodes) {
    const made = node.after === undefined ? nodeWithEpilogue(node, nodes, madeBy, readers, facts) : null;
    if (made !== null) nodes[made.at] = null;
    const index = nodes.push(made?.node ?? node) - 1;
    for (const x of node.outputs) if (x !== null) madeBy.set(x.value, index);
  }
  // The comparison of a gradient that is part of a launch.
  return removeDeadCode(withNodes(graph, nodes.filter((n) => n !== null), (x) => x)); // prettier-ignore
}

/** The host with a node's work, where the node is: all that it reads is made by then. Where two could take it, the one that is nearer does. */
function nodeWithEpilogue(
  node: GraphNode,
  nodes: readonly (GraphNode | null)[],
  madeBy: ReadonlyMap<Value, number>,
  readers: ReadonlyMap<Value, number>,
  facts: Facts,
): { readonly node: GraphNode; readonly at: number } | null {
  const result = node.outputs[0]!;
  const candidates = opsOf(node, facts).flatMap(({ x, op }) => {
    const at = madeBy.get(x.value);
    return at === undefined ? [] : [{ x, op, at }];
  });
  for (const { x, op, at } of candidates.toSorted((p, q) => q.at - p.at)) {
    const host = nodes[at]!;
    if (host.withEpilogue === undefined || host.mark !== node.mark || readers.get(x.value) !== 1 || !isWhole(x)) continue;
    if (host.outputs[0]!.value !== x.value || !isWhole(result) || !sameSizes(x, result)) continue;
    if ((result.dtype === x.dtype) === (op.kind === "cast")) continue;
    const made = host.withEpilogue(op);
    if (made === null) continue;
    // With an epilogue it shares no launch.
    const { withEpilogue: _, withActivation: __, withPrologue: ___, joins: ____, withStatistics: _____, withNorm: ______, withColumnSums: ________, withCast: _______, ...rest } = host; // prettier-ignore
    return { node: { ...rest, ...made, outputs: [result], origin: `${host.origin} + ${node.origin}` }, at };
  }
  return null;
}
