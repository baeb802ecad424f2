/**
 * Small reductions that could run long before what else reads the same, such as the count of valid labels, which no product has to be waited for. They
 * get copies of the few elementwise nodes before them, and are in no region with what comes later: otherwise all of it would be on the critical path.
 */
import { sizeOf } from "../../../core/shape.ts";
import { foldOf } from "../../../shader/operations/reductions.ts";
import { readingOf } from "../../../shader/operations/table.ts";
import { Expr, withNodes, type Graph, type GraphNode, type Value } from "../../graph.ts";
import { isFusable, isSmallReduction, SMALL } from "./clusters.ts";
import { isScatter } from "./partial-writes.ts";
import { readsMany } from "./work.ts";

/** Nodes that are copied. */
const MAX_NODES = 8;

export interface Early {
  readonly graph: Graph;
  /** Operators that are no part of regions, or read many elements for each, on the longest path to a node. */
  readonly levels: ReadonlyMap<GraphNode, number>;
  readonly reductions: ReadonlySet<GraphNode>;
}

const isNumber = (node: GraphNode): boolean => readingOf(node)?.constant !== undefined;

/** parts: nodes that one operator became, which stay together. */
export function separateEarlyReductions(graph: Graph, parts: ReadonlySet<GraphNode>): Early {
  const makers = new Map<Value, GraphNode>();
  const readers = new Map<Value, GraphNode[]>();
  const levels = new Map<GraphNode, number>();
  for (const node of graph.nodes) {
    let level = 0;
    for (const value of [...node.inputs.map((x) => x?.value), ...(node.after ?? [])]) {
      if (value === undefined) continue;
      readers.set(value, [...(readers.get(value) ?? []), node]);
      const maker = makers.get(value);
      if (maker !== undefined)
        level = Math.max(level, levels.get(maker)! + ((isFusable(maker) && !readsMany(maker)) || isNumber(maker) ? 0 : 1));
    }
    levels.set(node, level);
    for (const x of node.outputs) if (x !== null) makers.set(x.value, node);
  }

  /** The elementwise nodes before a reduction, in the graph's order; null: there are too many. */
  const before = (reduction: GraphNode): readonly GraphNode[] | null => {
    const found = new Set<GraphNode>();
    const open = [reduction];
    for (let at = open.pop(); at !== undefined; at = open.pop())
      for (const x of at.inputs) {
        const maker = x === null ? undefined : makers.get(x.value);
        if (maker === undefined || found.has(maker) || !isFusable(maker) || readsMany(maker) || isScatter(maker) || foldOf(maker) !== null)
          continue;
        if (sizeOf(maker.outputs[0]!.sizes) > SMALL || parts.has(maker) || found.size === MAX_NODES) return null;
        found.add(maker);
        open.push(maker);
      }
    return graph.nodes.filter((node) => found.has(node));
  };

  const reductions = new Set<GraphNode>();
  const nodes: GraphNode[] = [];
  const next = withNodes(graph, nodes, (x) => x);
  for (const node of graph.nodes) {
    const own = isFusable(node) && !parts.has(node) && isSmallReduction(node) ? before(node) : null;
    const level = levels.get(node)!;
    const isLaterRead = ({ outputs: [x] }: GraphNode): boolean => readers.get(x!.value)!.some((reader) => levels.get(reader)! > level);
    if (own === null || !own.some(isLaterRead)) {
      nodes.push(node);
      continue;
    }
    const copies = new Map<Value, Value>();
    const seen = (x: Expr | null): Expr | null => {
      const value = x === null ? undefined : copies.get(x.value);
      return value === undefined ? x : new Expr(value, x!.dtype, x!.sizes, x!.strides, x!.byteOffset);
    };
    for (const one of own) {
      const [x] = one.outputs as [Expr];
      const outputs: Expr[] = [];
      const copy: GraphNode = { ...one, inputs: one.inputs.map(seen), outputs };
      const value = next.newValue(x.value.sizeInBytes, copy);
      outputs.push(new Expr(value, x.dtype, x.sizes, x.strides, x.byteOffset));
      copies.set(x.value, value);
      levels.set(copy, levels.get(one)!);
      nodes.push(copy);
    }
    const early = { ...node, inputs: node.inputs.map(seen) };
    levels.set(early, level);
    reductions.add(early);
    nodes.push(early);
  }
  return { graph: next, levels, reductions };
}
