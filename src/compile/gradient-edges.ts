/** Gradient edges (a node and its output) of a function's results, and the boundaries at which gradients leave the traced tape. */
import type { Edge, TapeNode } from "../autograd/tape.ts";
import type { Tensor } from "../core/tensor.ts";

/** An output of a node. Reference: torch.autograd.graph.GradientEdge. */
export interface GradientEdge {
  readonly node: TapeNode;
  readonly output: number;
}

/** An end of the traced tape, where gradients leave it: a leaf, a node outside, or another result of the function. */
export type Boundary = { readonly leaf: Tensor } | GradientEdge;

export const isAt = (a: GradientEdge, node: TapeNode, output: number): boolean => a.node === node && a.output === output;
export const isSameBoundary = (a: Boundary, b: Boundary): boolean =>
  "leaf" in a ? "leaf" in b && a.leaf === b.leaf : !("leaf" in b) && isAt(a, b.node, b.output);

/** Nodes that a pass from this edge reaches. leave: whether it follows an edge. */
export function reachedFrom(from: GradientEdge, leave: (edge: NonNullable<Edge>) => boolean): Set<TapeNode> {
  const seen = new Set([from.node]);
  for (const node of seen) for (const edge of node.edges) if (edge !== null && leave(edge) && "node" in edge) seen.add(edge.node);
  return seen;
}

/** Edges in topological groups: a group depends on earlier ones only, so its gradients flow through these. */
export function inGroups(edges: readonly GradientEdge[]): GradientEdge[][] {
  if (edges.length === 1) return [[...edges]];
  const before = edges.map((p) => {
    const found = new Set<number>();
    reachedFrom(p, (edge) => {
      if ("node" in edge) edges.forEach((q, i) => isAt(q, edge.node, edge.output) && found.add(i));
      return true;
    });
    return found;
  });
  const ranks: number[] = [];
  const rank = (i: number): number => (ranks[i] ??= Math.max(-1, ...[...before[i]!].map(rank)) + 1);
  const groups: GradientEdge[][] = [];
  edges.forEach((p, i) => (groups[rank(i)] ??= []).push(p));
  return groups;
}
