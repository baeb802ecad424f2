/**
 * Makes RMSNorm, and an activation with a factor, the prologue of the shaders that read their result, where these can compute it when they load it. Each group
 * of a skinny GEMM computes it again, which takes less time than a launch that the GEMM waits for.
 */
import { isWhole, packedExpr, withNodes, type Expr, type Graph, type GraphNode, type Prologue, type Value } from "../graph.ts";
import { removeDeadCode } from "./dead-code.ts";

/** What a node computes, as a prologue, of x and a factor. */
interface Computed {
  readonly prologue: Prologue;
  readonly x: Expr;
  readonly factor: Expr | null;
}

const sameSizes = (a: Expr, b: Expr): boolean => a.sizes.length === b.sizes.length && a.sizes.every((d, i) => d === b.sizes[i]);

/** An activation of the elements of x; null: it is none. */
function activated(node: GraphNode): Computed | null {
  const [x, ...others] = node.inputs;
  const { operator, attributes } = node;
  if (operator === "SHADER" || operator === "OPERATION" || !operator.startsWith("ACTIVATION_")) return null;
  if (!x || others.some((other) => other !== null) || attributes["fusedActivation"] != null) return null;
  return { prologue: { kind: "activated", activation: { operator, attributes } }, x, factor: null };
}

function computedBy(node: GraphNode, makers: ReadonlyMap<Value, GraphNode>, readers: ReadonlyMap<Value, readonly GraphNode[]>): Computed | null {
  const [a, b = null] = node.inputs;
  if (node.after !== undefined || !a) return null;
  if (node.asPrologue !== undefined) return { prologue: node.asPrologue, x: a, factor: b };
  if (node.operator !== "ELEMENT_WISE_MULTIPLY" || !b || node.attributes["fusedActivation"] != null) return activated(node);
  for (const [x, factor] of [[a, b], [b, a]] as const) {
    const maker = makers.get(x.value);
    const found = maker === undefined || !isWhole(x) || readers.get(x.value)!.length !== 1 ? null : activated(maker);
    if (found !== null && maker!.mark === node.mark && sameSizes(x, factor) && sameSizes(x, found.x)) return { ...found, factor };
  }
  return null;
} // prettier-ignore

/** By value: the node that makes it, and those that read it. others: values that something else than a node's inputs needs. @package */
export function usesOf(graph: Graph): {
  readonly makers: ReadonlyMap<Value, GraphNode>;
  readonly readers: ReadonlyMap<Value, GraphNode[]>;
  readonly others: ReadonlySet<Value>;
} {
  const makers = new Map(graph.nodes.flatMap((node) => node.outputs.flatMap((x) => (x === null ? [] : [[x.value, node] as const]))));
  const readers = new Map<Value, GraphNode[]>();
  const others = new Set<Value>([...graph.outputs.map(({ value }) => value), ...graph.state.map(({ value }) => value.value)]);
  for (const node of graph.nodes) {
    for (const x of node.inputs) if (x !== null) readers.set(x.value, [...(readers.get(x.value) ?? []), node]);
    for (const value of node.after ?? []) others.add(value);
  }
  return { makers, readers, others };
}

export function fusePrologues(graph: Graph): Graph {
  if (graph.nodes.every(({ withPrologue }) => withPrologue === undefined)) return graph;
  const { makers, readers, others } = usesOf(graph);
  const replaced = new Map<GraphNode, GraphNode>();
  for (const node of graph.nodes) {
    const [result, ...more] = node.outputs;
    if (!result || more.length > 0 || others.has(result.value) || !isWhole(result)) continue;
    const all = readers.get(result.value) ?? [];
    if (all.length === 0 || all.some(({ withPrologue, mark }) => withPrologue === undefined || mark !== node.mark)) continue;
    const computed = computedBy(node, makers, readers);
    if (computed === null) continue;
    const made = all.map((reader) => withPrologue(reader, result, computed));
    // Where one of them needs the result, the others read it too.
    if (made.some((reader) => reader === null)) continue;
    all.forEach((reader, i) => replaced.set(reader, made[i]!));
  }
  if (replaced.size === 0) return graph;
  return removeDeadCode(withNodes(graph, graph.nodes.map((node) => replaced.get(node) ?? node), (x) => x)); // prettier-ignore
}

function withPrologue(node: GraphNode, result: Expr, { prologue, x, factor }: Computed): GraphNode | null {
  const [read, ...rest] = node.inputs as readonly Expr[];
  if (read!.value !== result.value || rest.some((other) => other.value === result.value) || !isWhole(read!)) return null;
  if ([x, factor].some((input) => input !== null && (!isWhole(input) || input.dtype !== read!.dtype))) return null;
  if (result.dtype !== read!.dtype || x.value.sizeInBytes !== result.value.sizeInBytes) return null;
  // The same elements, in the shape in which the reader has them.
  const rows = packedExpr(x.value, x.dtype, read!.sizes);
  const made = node.withPrologue!(prologue, rows, factor);
  if (made === null) return null;
  const { withPrologue: _, withEpilogue: __, withActivation: ___, joins: ____, ...kept } = node;
  return { ...kept, ...made };
}
