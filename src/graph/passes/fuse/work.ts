/**
 * How much a region's threads compute where elements are made of many others: sums of a matrix product, maxima of windows. A small product costs less
 * than a launch of its own, with the wait before it: 2.7 microseconds on an H200, where a product of 128 by DirectML takes another seven. Attention's products of
 * 2^22 took 20 to 33 microseconds as part of a region, 10 by DirectML's GEMM (8 of each are the timestamps').
 */
import { sizeOf } from "../../../core/shape.ts";
import { foldOf } from "../../../shader/operations/reductions.ts";
import { readingOf, replacedBy, summedBy } from "../../../shader/operations/table.ts";
import type { Expr, GraphNode } from "../../graph.ts";
import { MAX_BY_TILES } from "../fuse-column-sums.ts";
import { accessOf, isIdentity } from "./access.ts";
import { MAX_COMPUTED } from "./partial-writes.ts";
import { constantOf, insideMaker, type Facts } from "./region.ts";
import type { RowThreads } from "./row-threads.ts";

/** Terms of an element, which a thread adds one behind the other, and of a product: of more, tiles that threads share are faster. */
const [MAX_TERMS, MAX_PRODUCT] = [128, 2 ** 20];
/**
 * Elements that are read for one element, two for each term, for all of a thread, for all of a group, and of a region: 10^7 of the last
 * take 16 microseconds on an H200.
 */
const [MAX_READS, MAX_OF_THREAD, MAX_OF_GROUP, MAX_OF_ALL] = [2 * MAX_TERMS, 1024, 2 ** 17, 2 ** 22];

/** Terms of each element of a matrix product; null: it is none. */
function termsOf(node: GraphNode): number | null {
  const code = readingOf(node)?.code;
  return code !== undefined && "terms" in code ? code.terms(node).count : null;
}

/** Whether a node is an operator of its own where no region takes it: one element of it reads several of its inputs. */
export const readsMany = (node: GraphNode): boolean => readingOf(node)?.reads !== undefined;

/** Whether a node is no product, or one so small that groups of threads share none of what they read. isByTiles: there is a shader for it alone. */
export function isSmallProduct(node: GraphNode, isByTiles = false): boolean {
  const terms = termsOf(node);
  return terms === null || (terms <= MAX_TERMS && terms * sizeOf(node.outputs[0]!.sizes) <= (isByTiles ? MAX_BY_TILES : MAX_PRODUCT));
}

/** Why nodes that sum or write by index are no region; null: they are. Each of their elements compares all indices. */
function comparesAgain(nodes: readonly GraphNode[], inside: ReadonlySet<GraphNode>, facts: Facts, plan: RowThreads | null): string | null {
  for (const node of nodes) {
    const found = summedBy(node) ?? replacedBy(node);
    if (found === null) continue;
    if (plan !== null) return "sums and writes by index";
    if (found.k > MAX_COMPUTED && insideMaker(found.indices, inside, facts) !== null) return "indices that are computed again and again";
    const isElsewhere = (x: Expr | null): boolean => x !== null && x.value === node.outputs[0]!.value && !isIdentity(accessOf(x));
    if (nodes.some((reader) => reader.inputs.some(isElsewhere))) return "elements computed again and again";
  }
  return null;
}

/** Why a region's threads would have too much work; null: they would not. plan: of rows. */
export function excessOf(nodes: readonly GraphNode[], facts: Facts, plan: RowThreads | null): string | null {
  if (!nodes.some(readsMany)) return null;
  const inside = new Set(nodes);
  const again = comparesAgain(nodes, inside, facts, plan);
  if (again !== null) return again;
  // What does not stay in registers is computed in each pass over the rows.
  const ofThread = plan === null ? 4 : plan.together < plan.each ? Infinity : plan.each * plan.width;
  const ofGroup = plan === null ? 0 : ofThread * plan.threads;
  /** Elements that are read for one element, and whether they are terms of a product. */
  const known = new Map<GraphNode, { readonly reads: number; readonly isProduct: boolean }>();
  for (const node of nodes) {
    const counts = readingOf(node)?.reads?.(node);
    const terms = termsOf(node);
    let [reads, isProduct] = [0, terms !== null];
    for (const [i, x] of node.inputs.entries()) {
      if (x === null || constantOf(x, facts) !== null) continue;
      const count = counts?.[i] ?? 0;
      const maker = insideMaker(x, inside, facts);
      if (maker !== null && count > 0 && terms !== null) return "a product of what is computed here";
      const before = maker === null ? null : known.get(maker)!;
      const own = count > 0 ? count * (1 + (before?.reads ?? 0)) : (before?.reads ?? 0);
      // What two inputs are made of is mostly the same.
      reads = counts === undefined ? Math.max(reads, own) : reads + own;
      isProduct ||= before?.isProduct ?? false;
    }
    if (reads > MAX_READS) return "elements computed again and again";
    const isExcess = reads * ofThread > MAX_OF_THREAD || reads * ofGroup > MAX_OF_GROUP || reads * sizeOf(node.outputs[0]!.sizes) > MAX_OF_ALL; // prettier-ignore
    if (isProduct && reads > 0 && isExcess) return "a product of too many terms";
    // What a row has once is known from then on.
    known.set(node, foldOf(node) === null ? { reads, isProduct } : { reads: 0, isProduct: false });
  }
  return null;
}
