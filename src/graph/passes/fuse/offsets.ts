/**
 * Offsets that a region takes as numbers of its launch, so that regions which differ in them share a shader: the parameters of layers are contiguous
 * in the optimizer's buffer. Of ResNet-18's 77 shaders 23 differed from another one in nothing else.
 */
import { foldOf } from "../../../shader/operations/reductions.ts";
import { readingOf } from "../../../shader/operations/table.ts";
import type { Expr } from "../../graph.ts";
import { accessOf } from "./access.ts";
import type { Form } from "./region-form.ts";
import { constantOf, insideMaker, sourceIndex, type Facts, type Region } from "./region.ts";

/** An offset into a buffer of the region, in elements. */
export interface Offset {
  readonly source: number;
  readonly offset: number;
  /** A power of two that divides it and is part of the code: wide accesses are aligned. */
  readonly alignment: number;
}

/** Of a region; with more, they are part of the code. */
const MAX_OFFSETS = 4;
/** Elements of the widest access to a row. */
const WIDEST = 4;

/** Of regions that reduce: others read flat buffers from their start. A node that counts terms or looks up elements knows its offsets. */
export function offsetsOf(form: Form, facts: Facts): readonly Offset[] {
  const { nodes, rows } = form;
  if (rows === null || nodes.some((node) => foldOf(node) === null && !("element" in readingOf(node)!.code))) return [];
  const inside = new Set(nodes);
  const offsets: Offset[] = [];
  for (const node of nodes)
    for (const x of node.inputs) {
      if (x === null || constantOf(x, facts) !== null || insideMaker(x, inside, facts) !== null) continue;
      const { offset } = accessOf(x);
      if (offset === 0 || offsetIndex(form, offsets, x) >= 0) continue;
      offsets.push({ source: sourceIndex(form, x), offset, alignment: Math.min(WIDEST, offset & -offset) });
    }
  return offsets.length > MAX_OFFSETS ? [] : offsets;
}

/** Which of a region's offsets an expression in memory has; -1: none, or one that is part of the code. */
export function offsetIndex(region: Region, offsets: readonly Offset[], x: Expr): number {
  const { offset } = accessOf(x);
  if (offset === 0 || offsets.length === 0) return -1;
  const source = sourceIndex(region, x);
  return offsets.findIndex((o) => o.source === source && o.offset === offset);
}
