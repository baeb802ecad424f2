/** The axes that a reduction keeps and those that it reduces, merged where they are adjacent. */
import { sizeOf } from "../../../core/shape.ts";
import type { GraphNode } from "../../graph.ts";
import { mergedAxes, type Axis } from "./access.ts";

export interface ReducedAxis {
  readonly size: number;
  readonly isReduced: boolean;
}

/** Of the packed tensor that is reduced. Its kept axes are a row's index, packed; its reduced ones the index in the row. */
export interface ReducedAxes {
  /** Outermost first; none of length 1. */
  readonly axes: readonly ReducedAxis[];
  /** Rows. */
  readonly kept: number;
  /** Elements of a row. */
  readonly reduced: number;
  /** A row's index by that of an element. */
  readonly rowOf: readonly Axis[];
}

export function reducedAxesOf(sizes: readonly number[], reduced: readonly number[]): ReducedAxes {
  const axes: ReducedAxis[] = [];
  sizes.forEach((size, i) => {
    if (size === 1) return;
    const isReduced = reduced.includes(i);
    const last = axes.at(-1);
    if (last?.isReduced === isReduced) axes[axes.length - 1] = { size: last.size * size, isReduced };
    else axes.push({ size, isReduced });
  });
  const of = (which: boolean): number => sizeOf(axes.filter((a) => a.isReduced === which).map((a) => a.size));
  const strides = axes.map((a, i) => (a.isReduced ? 0 : sizeOf(axes.slice(i + 1).filter((b) => !b.isReduced).map((b) => b.size)))); // prettier-ignore
  return { axes, kept: of(false), reduced: of(true), rowOf: mergedAxes(axes.map((a) => a.size), strides) }; // prettier-ignore
}

/** A cache: each region that is tried asks for the same. */
const known = new WeakMap<GraphNode, ReducedAxes>();

export function axesOfNode(node: GraphNode): ReducedAxes {
  let axes = known.get(node);
  if (axes === undefined) known.set(node, (axes = reducedAxesOf(node.inputs[0]!.sizes, node.attributes["axes"] as readonly number[])));
  return axes;
}

export const sameAxes = (a: readonly ReducedAxis[], b: readonly ReducedAxis[]): boolean =>
  a.length === b.length && a.every((x, i) => x.size === b[i]!.size && x.isReduced === b[i]!.isReduced);

export const sameAccess = (a: readonly Axis[], b: readonly Axis[]): boolean =>
  a.length === b.length && a.every((x, i) => x.size === b[i]!.size && x.stride === b[i]!.stride);
