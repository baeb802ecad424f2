/** Outputs of a launch that may be written over one of its inputs. */
import type { DType } from "../../../core/dtype.ts";
import { sizeOf } from "../../../core/shape.ts";
import { givesState } from "../../../shader/operations/draws.ts";
import { readingOf, scatteredBy } from "../../../shader/operations/table.ts";
import type { Expr, GraphNode } from "../../graph.ts";
import { accessOf, isIdentity } from "./access.ts";
import type { Form } from "./region-form.ts";
import { constantOf, insideMaker, sourceIndex, type Facts, type Region } from "./region.ts";
import type { RowRegion } from "./row-region.ts";
import { isScatter } from "./partial-writes.ts";
import { sectionsOf, type Section } from "./sections.ts";

/** Of what a section reads, by source: whether each thread reads only the elements that it writes. */
function readsOf(region: Region, section: Section, facts: Facts): Map<number, boolean> {
  const inside = new Set(region.nodes);
  const result = new Map<number, boolean>();
  const seen = new Set<string>();
  const visit = (node: GraphNode, isOwn: boolean): void => {
    const key = `${node.outputs[0]!.value.id} ${isOwn}`;
    if (seen.has(key)) return;
    seen.add(key);
    // One thread reads all of a generator's state and writes it, where it is written as it is.
    const isWritten = section.outputs.some((i) => region.outputs[i]!.value === node.outputs[0]!.value);
    const isElementwise = "element" in readingOf(node)!.code || (givesState(node) && isWritten);
    for (const x of node.inputs) {
      if (x === null || constantOf(x, facts) !== null) continue;
      const own = isOwn && isElementwise && isSame(x, section.elements);
      const maker = insideMaker(x, inside, facts);
      if (maker !== null) visit(maker, own);
      else {
        const source = sourceIndex(region, x);
        result.set(source, own && (result.get(source) ?? true));
      }
    }
  };
  for (const i of section.outputs) visit(facts.makers.get(region.outputs[i]!.value)!, true);
  return result;
}

const isSame = (x: Expr, elements: number): boolean => isIdentity(accessOf(x)) && sizeOf(x.sizes) === elements;

type Pair = readonly [input: number, output: number];

/** Whether an output is written element by element, each by the thread of its index. */
const isWritten = ({ outputs }: Region, i: number, dtype: DType, facts: Facts): boolean =>
  outputs[i]!.dtype === dtype && !isScatter(facts.makers.get(outputs[i]!.value)!);

/** A row's own thread reads and writes what there is once for each row; other threads may not read that. */
function pairsOfRows(region: Region, { reads, outputs }: RowRegion, facts: Facts): Pair[] {
  return region.sources.flatMap(({ dtype, isUpdated = false }, input) => {
    if (isUpdated) return [];
    const own = reads.filter(({ x }) => sourceIndex(region, x) === input);
    const [first] = own;
    if (first === undefined || first.domain === "any" || !own.every((r) => r.domain === first.domain && r.of === first.domain)) return [];
    return outputs.flatMap((domain, i): Pair[] => (domain === first.domain && isWritten(region, i, dtype, facts) ? [[input, i]] : []));
  });
}

/** Outputs that begin as a source, and are written in part. */
export const updatedPairs = (region: Region, facts: Facts): Pair[] =>
  region.outputs.flatMap((out, i): Pair[] => {
    const x = scatteredBy(facts.makers.get(out.value)!)?.x;
    return x === undefined ? [] : [[sourceIndex(region, x), i]];
  });

export function inPlacePairs(region: Form, facts: Facts): Pair[] {
  if (region.rows !== null) return pairsOfRows(region, region.rows, facts);
  const sections = sectionsOf(region);
  const reads = sections.map((section) => readsOf(region, section, facts));
  return region.sources.flatMap(({ dtype, isUpdated = false }, input) => {
    if (isUpdated) return [];
    const by = reads.flatMap((list, k) => (list.has(input) ? [k] : []));
    const [k] = by;
    if (k === undefined || by.length > 1 || reads[k]!.get(input) !== true) return [];
    return sections[k]!.outputs.flatMap((i): Pair[] => (isWritten(region, i, dtype, facts) ? [[input, i]] : []));
  });
}
