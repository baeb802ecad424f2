/** Random numbers inside regions: which of them are the same, and which would be drawn for several elements. */
import { sizeOf } from "../../../core/shape.ts";
import { isDraw } from "../../../shader/operations/draws.ts";
import { foldOf } from "../../../shader/operations/reductions.ts";
import type { Expr, GraphNode, Value } from "../../graph.ts";
import { insideMaker, type Facts } from "./region.ts";

const originals = new WeakMap<Value, Value>();
/** Equal for the results of a node and of its copies, which a region computes once. */
export const originalOf = (value: Value): Value => originals.get(value) ?? value;
export const markCopy = (copy: Value, value: Value): void => void originals.set(copy, originalOf(value));

/** Whether elements are read several times: then they are drawn once, and read from memory. */
export const isSpread = (x: Expr, maker: GraphNode): boolean => sizeOf(x.sizes) > sizeOf(maker.outputs[0]!.sizes);

/** Whether nodes of a region would draw the same numbers for several elements. */
export function drawsAgain(nodes: readonly GraphNode[], facts: Facts): boolean {
  if (!nodes.some(isDraw)) return false;
  const inside = new Set(nodes);
  const drawn = new Set<GraphNode>();
  for (const node of nodes) {
    if (isDraw(node)) drawn.add(node);
    for (const x of node.inputs) {
      const maker = x === null ? null : insideMaker(x, inside, facts);
      if (maker === null || !drawn.has(maker)) continue;
      if (isSpread(x!, maker)) return true;
      if (foldOf(node) === null) drawn.add(node);
    }
  }
  return false;
}
