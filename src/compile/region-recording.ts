/** Records the events of a region (a backward pass, or an optimizer's step), and decides whether a later call may apply a recorded region. */
import { changedNodes, type TapeNode } from "../autograd/tape.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Continuation } from "./flows.ts";
import { visibleOf, writtenBy, type Event, type GradientEffect, type Region } from "./log.ts";
import { isSameOrNull, operand, type Operand } from "./operand.ts";

const isHooked = ({ hooks }: TapeNode): boolean => hooks !== null && [...hooks.values()].some((list) => list.length > 0);

/** Whether the gradients and hooks are as they were when the region was recorded. */
export const isApplicable = (region: Region): boolean =>
  region.effects.every(({ leaf, before }) => isSameOrNull(before, leaf.ownGrad) && (leaf.hooks === null || leaf.hooks.length === 0)) &&
  region.retaining.every((node) => node.retained?.size === region.nodes.get(node)) &&
  region.ends.every((e) => (e.node.retained?.size ?? 0) === e.retains && isHooked(e.node) === e.isHooked) &&
  (changedNodes().size === 0 || areAsRecorded(region));

/** Whether hooks and gradients to keep that changed nodes have are none that the region visits. */
const areAsRecorded = (region: Region): boolean =>
  [...changedNodes()].every((node) => {
    const retains = region.nodes.get(node);
    return retains === undefined || (node.hooks === null && (node.retained?.size ?? 0) === retains);
  });

export class RegionRecording {
  readonly events: Event[] = [];
  /** A hook or a rule of the user's has run inside: later calls trace the region again. */
  hasCode = false;
  readonly #visited: TapeNode[] = [];
  readonly #freed: TapeNode[] = [];
  /** Gradients of leaves before the region. */
  readonly #gradients = new Map<Tensor, Tensor | null>();

  visit(node: TapeNode, frees: boolean): void {
    this.#visited.push(node);
    if (frees) this.#freed.push(node);
  }

  noteGradient(leaf: Tensor): void {
    if (!this.#gradients.has(leaf)) this.#gradients.set(leaf, leaf.ownGrad);
  }

  /** The region as one event; its nodes are freed with it from now on. */
  finish(
    owner: object,
    tensors: readonly (Operand | null)[],
    guards: readonly unknown[],
    continuations: readonly Continuation[],
    results: readonly (Tensor | null)[] | null,
  ): Region {
    const effects = [...this.#gradients].map(([leaf, old]): GradientEffect => ({
      leaf,
      before: old === null ? null : operand(old),
      after: leaf.ownGrad,
    }));
    const named = new Set<Tensor>(effects.flatMap((e) => e.after ?? []));
    for (const t of results ?? []) if (t !== null) named.add(t);
    const nodes = new Map(this.#visited.map((node) => [node, node.retained?.size ?? 0]));
    const pass = this.#freed.length === 0 ? null : { isOver: false };
    if (pass !== null) for (const node of this.#freed) node.freeAfter(pass);
    return {
      kind: "region",
      owner,
      tensors,
      guards: [...guards],
      inner: this.events,
      effects,
      continuations,
      nodes,
      retaining: [...nodes.keys()].filter((node) => nodes.get(node)! > 0),
      ends: [...nodes].flatMap(([node, retains]) => (node.isTraced ? [] : [{ node, retains, isHooked: isHooked(node) }])),
      pass,
      seen: visibleOf(this.events, named),
      written: writtenBy(this.events),
      results,
    };
  }
}
