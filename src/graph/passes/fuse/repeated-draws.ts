/**
 * Random numbers where they are read: a region computes words of a generator by itself, from its state and their index, so that a mask is neither written
 * nor read, and the backward pass computes it again. All draws of a program begin at the state before the program, so many blocks behind it, and the new
 * state is written once.
 */
import { sizeOf } from "../../../core/shape.ts";
import { foldOf } from "../../../shader/operations/reductions.ts";
import { BLOCK_WORDS, GIVES_STATE, isDraw, SKIPPED } from "../../../shader/operations/draws.ts";
import { Expr, isWhole, withNodes, type Graph, type GraphNode, type Value } from "../../graph.ts";
import { isFusable } from "./clusters.ts";
import { markCopy, isSpread } from "./drawn-elements.ts";
import { constantOf, isWritable, type Facts } from "./region.ts";
import { isScatter } from "./partial-writes.ts";
import { readsMany } from "./work.ts";

/** Nodes between a draw and what reads it, which are computed again. */
const MAX_NODES = 12;

interface Draw {
  /** The state before the program. */
  readonly state: Expr;
  /** Blocks that were drawn of it before. */
  readonly skipped: number;
}

/** A draw whose words and state shaders can make. */
function isSplit({ operator, attributes, inputs: [state], outputs: [words, next], after }: GraphNode): boolean {
  if (operator !== "RANDOM_GENERATOR" || attributes["type"] !== "PHILOX_4X32_10" || after !== undefined) return false;
  if (words == null || next == null || words.dtype !== "uint32" || !isWritable(words) || !isWritable(next)) return false;
  return state!.dtype === "uint32" && isWhole(state!);
}

/** The graph with draws that give words or states alone, each from the state before the first of them. */
export function splitDraws(graph: Graph): Graph {
  if (!graph.nodes.some(isSplit)) return graph;
  const needed = new Set<Value>([...graph.outputs.map((x) => x.value), ...graph.state.map((w) => w.value.value)]);
  const read = new Set<Value>();
  for (const node of graph.nodes)
    for (const value of [...(isSplit(node) ? [] : node.inputs.map((x) => x?.value)), ...(node.after ?? [])])
      if (value !== undefined) read.add(value);
  /** By the states that draws give. */
  const behind = new Map<Value, Draw>();
  const nodes: GraphNode[] = [];
  /** New states, of which nothing in the graph is made: after all that reads the old one. */
  const last: GraphNode[] = [];
  for (const node of graph.nodes) {
    if (!isSplit(node)) {
      nodes.push(node);
      continue;
    }
    const [state, words, next] = [node.inputs[0]!, node.outputs[0]!, node.outputs[1]!];
    const before = behind.get(state.value) ?? { state, skipped: 0 };
    const skipped = before.skipped + Math.ceil(sizeOf(words.sizes) / BLOCK_WORDS);
    // A launch's number has 32 bits.
    if (skipped >= 2 ** 32) return graph;
    behind.set(next.value, { state: before.state, skipped });
    const { id, origin, attributes } = node;
    const made = (of: object, out: Expr): GraphNode => ({ id, operator: "RANDOM_GENERATOR", attributes: { ...attributes, ...of }, inputs: [before.state], outputs: [out], origin, mark: node.mark ?? null }); // prettier-ignore
    nodes.push(made({ [SKIPPED]: before.skipped }, words));
    const isRead = read.has(next.value);
    if (isRead || needed.has(next.value)) (isRead ? nodes : last).push(made({ [SKIPPED]: skipped, [GIVES_STATE]: true }, next));
  }
  return withNodes(graph, [...nodes, ...last], (x) => x);
}

/** Whether a node computes each element of the same elements of its inputs. */
const isElementwise = (node: GraphNode): boolean =>
  isFusable(node) && foldOf(node) === null && !readsMany(node) && !isScatter(node) && !isDraw(node);

/** The graph in which each reader of random numbers has its own copy of what makes them. */
export function repeatDraws(graph: Graph, constants: Facts["constants"]): Graph {
  const isWords = (node: GraphNode): boolean => isDraw(node) && isFusable(node) && node.attributes[GIVES_STATE] !== true;
  if (!graph.nodes.some(isWords)) return graph;
  const makers = new Map<Value, GraphNode>();
  const readers = new Map<Value, GraphNode[]>();
  /** Nodes made of words and numbers alone: those before them, and themselves. */
  const drawn = new Map<GraphNode, ReadonlySet<GraphNode>>();
  for (const node of graph.nodes) {
    for (const x of node.outputs) if (x !== null) makers.set(x.value, node);
    for (const x of node.inputs) if (x !== null) readers.set(x.value, [...(readers.get(x.value) ?? []), node]);
    if (isWords(node)) drawn.set(node, new Set([node]));
    else if (isElementwise(node)) {
      const before = node.inputs.flatMap((x) => {
        if (x === null || constantOf(x, { constants, makers }) !== null) return [];
        const maker = makers.get(x.value);
        return [maker === undefined || isSpread(x, maker) ? undefined : drawn.get(maker)];
      });
      const all = new Set([...before.flatMap((set) => [...(set ?? [])]), node]);
      if (before.length > 0 && before.every((set) => set !== undefined) && all.size <= MAX_NODES) drawn.set(node, all);
    }
  }
  const nodes: GraphNode[] = [];
  const next = withNodes(graph, nodes, (x) => x);
  const seen = (x: Expr | null, copies: ReadonlyMap<Value, Value>): Expr | null => {
    const value = x === null ? undefined : copies.get(x.value);
    return value === undefined ? x : new Expr(value, x!.dtype, x!.sizes, x!.strides, x!.byteOffset);
  };
  /** Values that a reader has already. */
  const taken = new Set<Value>();
  for (const node of graph.nodes) {
    const inputs = [...node.inputs];
    if (isFusable(node) && !drawn.has(node))
      inputs.forEach((x, i) => {
        const maker = x === null ? undefined : makers.get(x.value);
        const chain = maker === undefined ? undefined : drawn.get(maker);
        if (chain === undefined || isSpread(x!, maker!)) return;
        if (!taken.has(x!.value)) {
          taken.add(x!.value);
          return;
        }
        const copies = new Map<Value, Value>();
        for (const one of graph.nodes.filter((n) => chain.has(n))) {
          const [y] = one.outputs as [Expr];
          const outputs: Expr[] = [];
          const copy: GraphNode = { ...one, inputs: one.inputs.map((e) => seen(e, copies)), outputs };
          const value = next.newValue(y.value.sizeInBytes, copy);
          outputs.push(new Expr(value, y.dtype, y.sizes, y.strides, y.byteOffset));
          copies.set(y.value, value);
          markCopy(value, y.value);
          nodes.push(copy);
        }
        inputs[i] = seen(x, copies);
      });
    nodes.push(inputs.every((x, i) => x === node.inputs[i]) ? node : { ...node, inputs });
  }
  return next;
}
