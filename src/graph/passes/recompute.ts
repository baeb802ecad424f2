/**
 * Lets gradients recompute what calls of checkpoint() made, so that their intermediates do not live from the forward pass to the backward pass. It comes
 * after all passes that merge or fuse nodes: a copy is the same node as in the forward pass, and gives the same bits.
 */
import type { Mark, Segment } from "../../core/checkpoint-marks.ts";
import { Expr, withNodes, type Graph, type GraphNode, type Value } from "../graph.ts";
import { removeDeadCode } from "./dead-code.ts";

type Marked = GraphNode & { readonly mark: Mark };

const isMarked = (node: GraphNode): node is Marked => node.mark != null;
const isGradient = (node: GraphNode): node is Marked => isMarked(node) && node.mark.isGradient;
const isForward = (node: GraphNode): node is Marked => isMarked(node) && !node.mark.isGradient;

export function recomputeSegments(graph: Graph): Graph {
  if (!graph.nodes.some(isGradient)) return graph;
  return inTurn(removeDeadCode(withCopies(graph)));
}

/** Values of segments that are in memory anyway when their gradients are computed. */
function keptValues(graph: Graph, firstGradient: ReadonlyMap<Segment, number>, makers: ReadonlyMap<Value, GraphNode>): Set<Value> {
  const kept = new Set<Value>([...graph.outputs.map((x) => x.value), ...graph.state.map((w) => w.value.value)]);
  graph.nodes.forEach((reader, at) => {
    for (const x of reader.inputs) {
      const maker = x === null ? undefined : makers.get(x.value);
      if (maker === undefined || !isForward(maker)) continue;
      const { segment } = maker.mark;
      if (isMarked(reader) && reader.mark.segment === segment) continue;
      const first = firstGradient.get(segment);
      // What another segment reads, it reads again when it is recomputed.
      const isReadAgain = isForward(reader) && firstGradient.has(reader.mark.segment);
      if (isReadAgain || (first !== undefined && at > first)) kept.add(x!.value);
    }
  });
  return kept;
}

/** Gradients read copies of their segment's nodes. Each is made right before the first gradient that needs it. */
function withCopies(graph: Graph): Graph {
  const makers = new Map<Value, GraphNode>();
  const positions = new Map<GraphNode, number>();
  const firstGradient = new Map<Segment, number>();
  graph.nodes.forEach((node, at) => {
    positions.set(node, at);
    for (const x of node.outputs) if (x !== null) makers.set(x.value, node);
    if (isGradient(node) && !firstGradient.has(node.mark.segment)) firstGradient.set(node.mark.segment, at);
  });
  const kept = keptValues(graph, firstGradient, makers);
  const nodes: GraphNode[] = [];
  const next = withNodes(graph, nodes, (x) => x);
  const copies = new Map<Value, Value>();
  const copied = new Set<GraphNode>();

  /** The node whose copy makes a value for a gradient of the segment; null: the gradient reads the value itself. */
  const makerToCopy = (x: Expr | null, segment: Segment): GraphNode | null => {
    const maker = x === null || kept.has(x.value) ? undefined : makers.get(x.value);
    return maker !== undefined && isForward(maker) && maker.mark.segment === segment ? maker : null;
  };
  const reading = (x: Expr | null): Expr | null => {
    const value = x === null ? undefined : copies.get(x.value);
    return value === undefined ? x : new Expr(value, x!.dtype, x!.sizes, x!.strides, x!.byteOffset);
  };
  const copy = (node: GraphNode, mark: Mark): void => {
    const outputs: (Expr | null)[] = [];
    const made: GraphNode = { ...node, mark, inputs: node.inputs.map(reading), outputs };
    for (const x of node.outputs) {
      if (x === null) {
        outputs.push(null);
        continue;
      }
      const value = next.newValue(x.value.sizeInBytes, made);
      copies.set(x.value, value);
      outputs.push(new Expr(value, x.dtype, x.sizes, x.strides, x.byteOffset));
    }
    nodes.push(made);
  };

  for (const node of graph.nodes) {
    if (!isGradient(node)) {
      nodes.push(node);
      continue;
    }
    const { mark } = node;
    const needed: GraphNode[] = [];
    const waiting = [node];
    for (let reader = waiting.pop() as GraphNode | undefined; reader !== undefined; reader = waiting.pop())
      for (const x of reader.inputs) {
        const maker = makerToCopy(x, mark.segment);
        if (maker === null || copied.has(maker)) continue;
        copied.add(maker);
        needed.push(maker);
        waiting.push(maker as Marked);
      }
    for (const maker of needed.sort((a, b) => positions.get(a)! - positions.get(b)!)) copy(maker, mark);
    const isOwn = (x: Expr | null): boolean => makerToCopy(x, mark.segment) !== null;
    nodes.push({ ...node, inputs: node.inputs.map((x) => (isOwn(x) ? reading(x) : x)) });
  }
  return next;
}

/** What a segment's gradients compute comes after all that precedes it, though nothing but the order says so: a copy reads values of the forward pass. */
function inTurn(graph: Graph): Graph {
  const levels = new Map<Value, number>();
  const begins = new Map<Segment, readonly Value[]>();
  let deepest: Value | null = null;
  const nodes = graph.nodes.map((node) => {
    let placed = node;
    if (isGradient(node)) {
      let after = begins.get(node.mark.segment);
      if (after === undefined) begins.set(node.mark.segment, (after = deepest === null ? [] : [deepest]));
      placed = { ...node, after };
    }
    let level = 0;
    for (const value of [...placed.inputs.map((x) => x?.value), ...(placed.after ?? [])])
      if (value !== undefined) level = Math.max(level, (levels.get(value) ?? -1) + 1);
    for (const x of placed.outputs) {
      if (x === null) continue;
      levels.set(x.value, level);
      if (deepest === null || level >= levels.get(deepest)!) deepest = x.value;
    }
    return placed;
  });
  return withNodes(graph, nodes, (x) => x);
}
