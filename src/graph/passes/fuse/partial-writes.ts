/**
 * Writes by index at the ends of regions: the launch that computes updates writes them into the tensor, over a mutable buffer itself where nothing else
 * reads that. Nothing in the region may read the tensor, before or after, since other threads write it meanwhile.
 */
import { sizeOf } from "../../../core/shape.ts";
import { scatteredBy } from "../../../shader/operations/table.ts";
import type { GraphNode, Value } from "../../graph.ts";
import { insideMaker, type Facts } from "./region.ts";

/** Indices of which each thread computes all by itself, where they are compared with each other and are no tensor in memory. */
export const MAX_COMPUTED = 8;

export const isScatter = (node: GraphNode): boolean => scatteredBy(node) !== null;

/** Elements that a region writes of what a node makes: all, or the updates. */
export const writtenOf = (node: GraphNode): number => sizeOf((scatteredBy(node)?.updates ?? node.outputs[0]!).sizes);

/** Why nodes that write by index are no region; null: they are. */
export function conflictOf(nodes: readonly GraphNode[], facts: Facts): string | null {
  const scatters = nodes.filter(isScatter);
  if (scatters.length === 0) return null;
  const inside = new Set(nodes);
  const made = new Set(nodes.map((node) => node.outputs[0]!.value));
  const written = new Set<Value>();
  for (const node of scatters) {
    const { x, indices, k } = scatteredBy(node)!;
    if (made.has(x.value) || written.has(x.value)) return "a tensor that is written in part";
    written.add(x.value).add(node.outputs[0]!.value);
    if (k > MAX_COMPUTED && insideMaker(indices, inside, facts) !== null) return "indices that are computed again and again";
  }
  // What another write replaces meanwhile would have to be copied before.
  const buffers = new Set(facts.states.values());
  const isInPlace = scatters.some((node) => facts.states.get(node.outputs[0]!.value) === scatteredBy(node)!.x.value);
  if (isInPlace && nodes.some((node) => node.inputs.some((y) => y !== null && buffers.has(y.value) && !written.has(y.value))))
    return "a state that is written in place";
  const reads = (node: GraphNode): boolean =>
    node.inputs.some((y, i) => y !== null && written.has(y.value) && !(i === 0 && isScatter(node)));
  return nodes.some(reads) ? "a tensor that is written in part" : null;
}
