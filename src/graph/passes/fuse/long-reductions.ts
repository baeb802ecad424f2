/** Reductions of few long rows in two steps, so that more groups of threads have work: the blocks of each row, then what these gave. */
import type { Capabilities } from "../../../dml/capabilities.ts";
import { foldOf } from "../../../shader/operations/reductions.ts";
import { GraphBuilder } from "../../builder.generated.ts";
import { Expr, withNodes, type Graph, type GraphNode, type Value } from "../../graph.ts";
import { isFusable } from "./clusters.ts";
import { axesOfNode } from "./reduced-axes.ts";
import { isReadable, isWritable } from "./region.ts";
import { isScatter } from "./partial-writes.ts";
import { readsMany } from "./work.ts";

/** Elements of a block, where adjacent threads have adjacent elements of a row, and where they have adjacent rows. */
const [ALONG, ACROSS] = [4096, 1024];
/** Groups from which a device has work enough. */
const GROUPS = 128;
/** Rows of a group whose elements are contiguous. */
const CONTIGUOUS = 8;
const MAX_BLOCKS = 512;
const MAX_AXES = 8;

/** The steps of functions that may be taken in two. */
const STEPS: { readonly [fn: string]: readonly [first: string, second: string] } = {
  SUM: ["SUM", "SUM"],
  AVERAGE: ["SUM", "SUM"],
  SUM_SQUARE: ["SUM_SQUARE", "SUM"],
  L1: ["L1", "SUM"],
  MAX: ["MAX", "MAX"],
  MIN: ["MIN", "MIN"],
};

/** So many times smaller are blocks of elements that are made of many others, such as the gradient of maxima of windows. */
const OF_MANY = 4;
/** Nodes between a reduction and what reads many elements. */
const MAX_BETWEEN = 4;

/** Whether an element is made of many others, in what becomes one region. */
function isOfMany(x: Expr, makers: ReadonlyMap<Value, GraphNode>, between = MAX_BETWEEN): boolean {
  const maker = makers.get(x.value);
  if (maker === undefined || !isFusable(maker) || isScatter(maker) || foldOf(maker) !== null) return false;
  return readsMany(maker) || (between > 0 && maker.inputs.some((y) => y !== null && isOfMany(y, makers, between - 1)));
}

/** The axis that is cut, and in how many blocks; null: the node stays as it is. */
function cutOf(node: GraphNode, makers: ReadonlyMap<Value, GraphNode>): { readonly axis: number; readonly blocks: number } | null {
  const x = node.inputs[0];
  const out = node.outputs[0];
  if (x == null || out == null || foldOf(node) === null || !(STEPS[node.attributes["function"] as string] !== undefined)) return null;
  if (x.dtype === "float16" || !isReadable(x) || !isWritable(out) || x.sizes.length >= MAX_AXES) return null;
  const { axes, kept, reduced } = axesOfNode(node);
  const isAlong = axes.at(-1)?.isReduced === true;
  const block = (isAlong ? ALONG : ACROSS) / (isOfMany(x, makers) ? OF_MANY : 1);
  const groups = isAlong ? kept : Math.ceil(kept / CONTIGUOUS);
  if (reduced < 4 * block || groups >= GROUPS) return null;
  const wanted = Math.min(MAX_BLOCKS, Math.ceil(reduced / block), Math.ceil((4 * GROUPS) / groups));
  const list = node.attributes["axes"] as readonly number[];
  const axis = list.reduce((best, a) => (x.sizes[a]! > x.sizes[best]! ? a : best), list[0]!);
  // An integer number of accesses in each block, where the axis is the innermost one.
  const fits = (n: number): boolean => x.sizes[axis]! % n === 0 && (!isAlong || x.sizes[axis]! % (4 * n) === 0 || x.sizes[axis]! / n > 4);
  for (let d = 0; d < wanted; d++)
    for (const n of [wanted + d, wanted - d]) if (n > 1 && n <= MAX_BLOCKS && fits(n)) return { axis, blocks: n };
  return null;
}

export function splitLongReductions(graph: Graph, capabilities: Capabilities): Graph {
  const makers = new Map(graph.nodes.flatMap((node) => node.outputs.flatMap((x) => (x === null ? [] : [[x.value, node] as const]))));
  const cuts = new Map(graph.nodes.flatMap((node) => {
    const cut = cutOf(node, makers);
    return cut === null ? [] : [[node, cut] as const];
  })); // prettier-ignore
  if (cuts.size === 0) return graph;
  const nodes: GraphNode[] = [];
  const next = withNodes(graph, nodes, (x) => x);
  const g = new GraphBuilder(next, capabilities);
  for (const node of graph.nodes) {
    const cut = cuts.get(node);
    if (cut === undefined) {
      nodes.push(node);
      continue;
    }
    g.origin = node.origin;
    g.mark = node.mark ?? null;
    const [first, second] = STEPS[node.attributes["function"] as string]!;
    const [x, out] = [node.inputs[0]!, node.outputs[0]!];
    const { axis, blocks } = cut;
    const length = x.sizes[axis]! / blocks;
    const put = (list: readonly number[], ...two: readonly number[]): number[] => [...list.slice(0, axis), ...two, ...list.slice(axis + 1)];
    const cutX = g.reinterpret(x, {
      sizes: put(x.sizes, blocks, length),
      strides: put(x.strides, x.strides[axis]! * length, x.strides[axis]!),
    });
    const inner = (node.attributes["axes"] as readonly number[]).map((a) => (a < axis ? a : a + 1));
    const reducedSizes = (sizes: readonly number[], list: readonly number[]): number[] => sizes.map((d, i) => (list.includes(i) ? 1 : d));
    const reduce = (t: Expr, fn: string, axes: readonly number[]): Expr =>
      g.reduce(t, { function: fn as "SUM", output: { sizes: reducedSizes(t.sizes, axes), dtype: t.dtype }, axes });
    const parts = reduce(cutX, first, inner);
    const whole = reduce(parts, second, [axis]);
    if (node.attributes["function"] === "AVERAGE") g.elementWiseIdentity(whole, { scaleBias: [1 / axesOfNode(node).reduced, 0] });
    const last = nodes.at(-1)!;
    nodes[nodes.length - 1] = { ...last, outputs: [new Expr(out.value, out.dtype, last.outputs[0]!.sizes, last.outputs[0]!.strides, 0)] };
  }
  return next;
}
