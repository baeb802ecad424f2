/** What gradients flow through in a recorded loop: its carries, slices and results, and tensors that its body reads from outside. */
import { edgeOf, isSameEdge, type Edge } from "../autograd/tape.ts";
import type { Tensor } from "../core/tensor.ts";
import { reachedFrom } from "./gradient-edges.ts";
import type { LoopBegin } from "./log.ts";

export interface History {
  /** Which carries, slices and further results gradients flow through. */
  readonly requires: { readonly carry: readonly boolean[]; readonly xs: readonly boolean[]; readonly ys: readonly boolean[] };
  /** Of the carries: those that some result depends on. */
  readonly reads: readonly boolean[];
  /** Histories of tensors that the body reads from outside. */
  readonly outside: readonly NonNullable<Edge>[];
}

/** What the results of a loop depend on; null: on nothing that requires a gradient. */
export function historyOf(
  begin: LoopBegin,
  init: readonly Tensor[],
  xs: readonly Tensor[],
  carry: readonly Tensor[],
  ys: readonly Tensor[],
): History | null {
  const outside: NonNullable<Edge>[] = [];
  const [reads, sliced] = [init.map(() => false), xs.map(() => false)];
  const indexIn = (list: LoopBegin["carry"], edge: NonNullable<Edge>): number =>
    "leaf" in edge ? -1 : list.findIndex((m) => m.node === edge.node);
  const dependsOn = (t: Tensor): { readonly carries: Set<number>; isWanted: boolean } => {
    const found = { carries: new Set<number>(), isWanted: false };
    const reach = (edge: NonNullable<Edge>): boolean => {
      const [carried, slice] = [indexIn(begin.carry, edge), indexIn(begin.slices, edge)];
      if (carried >= 0) {
        found.carries.add(carried);
        reads[carried] = true;
      } else if (slice >= 0) sliced[slice] = found.isWanted = true;
      else if ("node" in edge && edge.node.isTraced && edge.node.sequence >= begin.start) return true;
      else {
        found.isWanted = true;
        if (!outside.some((o) => isSameEdge(o, edge))) outside.push(edge);
      }
      return false;
    };
    const edge = edgeOf(t);
    if (edge !== null && reach(edge) && "node" in edge) reachedFrom(edge, reach);
    return found;
  };
  const [next, results] = [carry.map(dependsOn), ys.map(dependsOn)];
  const wanted = init.map((t) => t.requiresGrad);
  const isWanted = (d: (typeof next)[number]): boolean => d.isWanted || [...d.carries].some((i) => wanted[i]);
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    next.forEach((d, i) => {
      if (wanted[i] === true || !isWanted(d)) return;
      wanted[i] = isChanged = true;
    });
  }
  // A carry without a history of its own, which comes from init alone, still flows there.
  const requires = { carry: wanted.map((is, i) => is && (isWanted(next[i]!) || reads[i]!)), xs: sliced, ys: results.map(isWanted) };
  return [...requires.carry, ...requires.ys].some((is) => is) ? { requires, reads, outside } : null;
}
