/** What becomes of a region: threads of adjacent elements, or groups of rows where it reduces. */
import { isByte } from "../../../shader/operations/code.ts";
import type { GraphNode } from "../../graph.ts";
import { reduces, rowRegionOf, type RowRegion } from "./row-region.ts";
import { MAX_ROW, rowThreadsOf, type RowThreads } from "./row-threads.ts";
import { regionOf, type Facts, type Region } from "./region.ts";
import { conflictOf } from "./partial-writes.ts";
import { excessOf } from "./work.ts";

export interface Form extends Region {
  /** Null: it reduces nothing. */
  readonly rows: (RowRegion & { readonly plan: RowThreads }) | null;
}

/** Or why the nodes are no region. */
export function formOf(nodes: readonly GraphNode[], facts: Facts): Form | string {
  const conflict = conflictOf(nodes, facts);
  if (conflict !== null) return conflict;
  const region = regionOf(nodes, facts);
  if (region === null) return "a value seen as another type";
  if (!reduces(nodes)) return excessOf(nodes, facts, null) ?? { ...region, rows: null };
  const rows = rowRegionOf(nodes, region.outputs, facts);
  if (rows === null) return "rows of another shape";
  if (rows.shape.reduced > MAX_ROW) return `rows of more than ${MAX_ROW} elements`;
  const plan = rowThreadsOf(rows.shape, nodes.length);
  // Words of narrow elements are written by one thread; what there is once for each row, of no byte, by atomics.
  const isNarrow = region.outputs.some(({ dtype }, i) => {
    if (isByte(dtype)) return rows.outputs[i] === "row" || plan.width % 4 !== 0;
    return dtype === "float16" && rows.outputs[i] === "element" && plan.width % 2 !== 0;
  });
  return isNarrow ? "narrow elements of several threads" : (excessOf(nodes, facts, plan) ?? { ...region, rows: { ...rows, plan } });
}
