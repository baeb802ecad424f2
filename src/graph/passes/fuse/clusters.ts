/** Groups nodes to regions. A region is one node of the graph afterwards, so no path may leave it and come back. */
import { sizeOf } from "../../../core/shape.ts";
import { MAX_BUFFERS } from "../../../shader/dxbc/emit.ts";
import { isOnlyCode, skipsOf } from "../../../shader/operations/draws.ts";
import { readingOf, scatteredBy } from "../../../shader/operations/table.ts";
import type { Expr, Graph, GraphNode, Value } from "../../graph.ts";
import { foldOf } from "../../../shader/operations/reductions.ts";
import type { Access } from "./access.ts";
import type { Early } from "./early-reductions.ts";
import { formOf, type Form } from "./region-form.ts";
import { inPlacePairs } from "./in-place.ts";
import { axesOfNode, sameAccess } from "./reduced-axes.ts";
import { drawsAgain } from "./drawn-elements.ts";
import { depthsOf, isReadable, isWritable, type Facts } from "./region.ts";
import { MAX_ROW } from "./row-threads.ts";
import { isScatter } from "./partial-writes.ts";
import { bindsWords } from "./views.ts";
import { isSmallProduct } from "./work.ts";

/** Nodes of a region: pipelines of longer shaders take long to be made. */
const MAX_NODES = 64;
/** Numbers of a launch that say where draws begin. */
const MAX_SKIPS = 4;
/** Clusters that a search for a path visits. */
const MAX_SEARCH = 1024;
/** Why two are not merged that other nodes have to come between. */
const BETWEEN = "a path through other nodes";
/** Indices that may differ from those of the reader, one in another. */
const MAX_DEPTH = 2;

/** Nodes that are, or become, one node. */
class Cluster {
  nodes: GraphNode[];
  /** Of the first of its nodes in the graph, and of the last. */
  first: number;
  last: number;
  readonly isFusable: boolean;
  /** As Early has it, of the last of its nodes. */
  level = 0;
  /** Whether it has no later nodes. */
  isEarly = false;
  /** Why it grew no further. */
  readonly ends = new Set<string>();
  /** Of its nodes, as far as it is known. */
  form: Form | string | null = null;
  /** Those that it was not merged with as both are, for reasons that are theirs alone. */
  refused: Map<Cluster, { readonly nodes: readonly GraphNode[] }> | null = null;

  constructor(node: GraphNode, position: number, isFusable: boolean) {
    this.nodes = [node];
    this.first = this.last = position;
    this.isFusable = isFusable;
  }
}

export interface Grouped {
  /** Null: a node that stays as it is. */
  readonly region: Form | null;
  /** One node that may be launched with others, but not alone: there DirectML's operator does as well. */
  readonly guest: Form | null;
  readonly nodes: readonly GraphNode[];
  readonly ends: readonly string[];
  /** Of a launch of one group: what it does between barriers. */
  readonly steps?: readonly (readonly Grouped[])[];
}

export function factsOf(
  graph: Graph,
  constants: Facts["constants"],
  maxBuffers: number,
  roundsHalf: Facts["roundsHalf"] = () => false,
): Facts {
  const makers = new Map<Value, GraphNode>();
  const readers = new Map<Value, GraphNode[]>();
  for (const node of graph.nodes) {
    for (const x of node.outputs) if (x !== null) makers.set(x.value, node);
    for (const value of [...node.inputs.map((x) => x?.value), ...(node.after ?? [])]) {
      if (value === undefined) continue;
      const list = readers.get(value);
      if (list === undefined) readers.set(value, [node]);
      else list.push(node);
    }
  }
  const returned = new Set(graph.outputs.map((x) => x.value));
  const results = new Set<Value>([...returned, ...graph.state.map((w) => w.value.value)]);
  const states = new Map(graph.state.map((w) => [w.value.value, w.buffer]));
  return { constants, makers, readers, results, returned, states, maxBuffers, roundsHalf, numbers: new Map() };
}

/** Whether a node may be part of a region. Constants are part of the code that reads them; what comes after other nodes by order alone may not. */
export const isFusable = (node: GraphNode): boolean =>
  node.after === undefined &&
  node.outputs.every((x, i) => (i === 0) === (x !== null)) &&
  node.outputs.length > 0 &&
  isWritable(node.outputs[0]!) &&
  node.inputs.every((x) => x === null || isReadable(x)) &&
  (isReduction(node) || (readingOf(node) !== null && readingOf(node)!.constant === undefined && isSmallProduct(node)));

/** Whether it reduces rows that a group of threads has; of length 1 they are copies. */
function isReduction(node: GraphNode): boolean {
  if (foldOf(node) === null) return false;
  const { reduced } = axesOfNode(node);
  return reduced > 1 && reduced <= MAX_ROW;
}

class Grouping {
  readonly #facts: Facts;
  readonly #of = new Map<GraphNode, Cluster>();
  readonly #all = new Set<Cluster>();
  /** Writes by index into mutable buffers that other nodes read. */
  readonly #writes: readonly { readonly node: GraphNode; readonly readers: readonly GraphNode[] }[];

  constructor(graph: Graph, facts: Facts, early: Early | null) {
    this.#facts = facts;
    for (const [i, node] of graph.nodes.entries()) {
      const cluster = new Cluster(node, i, isFusable(node));
      cluster.level = early?.levels.get(node) ?? 0;
      cluster.isEarly = early?.reductions.has(node) === true;
      this.#of.set(node, cluster);
      this.#all.add(cluster);
    }
    this.#writes = graph.nodes.flatMap((node) => {
      const x = this.cluster(node).isFusable ? scatteredBy(node)?.x : undefined;
      if (x === undefined || facts.states.get(node.outputs[0]!.value) !== x.value) return [];
      const readers = facts.readers.get(x.value)!.filter((reader) => reader !== node);
      return readers.length === 0 ? [] : [{ node, readers }];
    });
  }

  /** Nodes that stand for one operator, and are one launch for sure if they are a region. */
  begin(nodes: readonly GraphNode[]): void {
    if (typeof formOf(nodes, this.#facts) === "string") return;
    const [first, ...others] = nodes.map((node) => this.cluster(node));
    for (const other of others) if (!this.#isBetween(first!, other) && !this.#isBetween(other, first!)) this.#join(first!, other);
  }

  #join(a: Cluster, b: Cluster, form: Form | null = null): void {
    a.nodes = this.#inOrder(a, b);
    a.form = form;
    a.refused = null;
    a.first = Math.min(a.first, b.first);
    a.last = Math.max(a.last, b.last);
    a.level = Math.max(a.level, b.level);
    a.isEarly ||= b.isEarly;
    for (const end of b.ends) a.ends.add(end);
    for (const node of b.nodes) this.#of.set(node, a);
    this.#all.delete(b);
  }

  cluster(node: GraphNode): Cluster {
    return this.#of.get(node)!;
  }

  get clusters(): Cluster[] {
    return [...this.#all];
  }

  /** Those that read what a cluster makes. */
  #after(cluster: Cluster): Set<Cluster> {
    const result = new Set<Cluster>();
    for (const node of cluster.nodes)
      for (const x of node.outputs)
        for (const reader of x === null ? [] : (this.#facts.readers.get(x.value) ?? [])) result.add(this.cluster(reader));
    result.delete(cluster);
    return result;
  }

  /** Whether a path leads from one to another over a third; of large graphs also where the search was too long. */
  #isBetween(from: Cluster, to: Cluster): boolean {
    // From behind the last node of `to` a path leads back only over a cluster that has nodes on both sides.
    let isCrossed = false;
    for (const c of this.#all) isCrossed ||= c !== from && c !== to && c.first <= to.last && c.last > to.last;
    const seen = new Set<Cluster>([from]);
    const open = [...this.#after(from)].filter((c) => c !== to);
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (seen.has(at) || (!isCrossed && at.first > to.last)) continue;
      if (seen.size > MAX_SEARCH) return true;
      seen.add(at);
      for (const next of this.#after(at)) {
        if (next === to) return true;
        open.push(next);
      }
    }
    return false;
  }

  /** Whether one is, or depends on, another; of large graphs also where the search was too long. */
  #leads(from: Cluster, to: Cluster): boolean {
    const seen = new Set<Cluster>();
    const open = [from];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (at === to || seen.size > MAX_SEARCH) return true;
      if (seen.has(at)) continue;
      seen.add(at);
      open.push(...this.#after(at));
    }
    return false;
  }

  /** Whether what reads a mutable buffer's old elements would have to wait for a write into it by index, which then would be one into a copy. */
  #copiesBuffer(a: Cluster, b: Cluster): boolean {
    const joins = (from: Cluster, to: Cluster): boolean =>
      (this.#leads(from, a) && this.#leads(b, to)) || (this.#leads(from, b) && this.#leads(a, to));
    return this.#writes.some(({ node, readers }) => {
      const own = this.cluster(node);
      return readers.some((reader) => joins(own, this.cluster(reader)) && !this.#leads(own, this.cluster(reader)));
    });
  }

  /** Merges two where they can be one launch; else notes why not. */
  merge(a: Cluster, b: Cluster): boolean {
    if (a === b || !a.isFusable || !b.isFusable) return a === b;
    const before = a.refused?.get(b);
    if (before?.nodes === b.nodes) return false;
    const found = this.#joined(a, b);
    if (typeof found !== "string") {
      this.#join(a, b, found);
      return true;
    }
    a.ends.add(found);
    b.ends.add(found);
    // What is between them may change.
    if (found !== BETWEEN) (a.refused ??= new Map<Cluster, { nodes: readonly GraphNode[] }>()).set(b, { nodes: b.nodes });
    return false;
  }

  /** A cluster's region. */
  formOf(cluster: Cluster): Form | string {
    return (cluster.form ??= formOf(cluster.nodes, this.#facts));
  }

  #positions = new Map<GraphNode, number>();

  #inOrder(a: Cluster, b: Cluster): GraphNode[] {
    if (this.#positions.size === 0) [...this.#of.keys()].forEach((node, i) => this.#positions.set(node, i));
    return [...a.nodes, ...b.nodes].sort((x, y) => this.#positions.get(x)! - this.#positions.get(y)!);
  }

  /** A last thread of fewer elements sees buffers by words too, and not as texels: each of them twice. */
  #limitOf(region: Form): number {
    return bindsWords(region) ? Math.min(this.#facts.maxBuffers, MAX_BUFFERS) : this.#facts.maxBuffers;
  }

  /** Whether a state could no longer be written in place: a copy of it is one more step of the program. */
  #losesInPlace(region: Form, a: Cluster, b: Cluster): boolean {
    const before = [a, b]
      .filter((c) => c.nodes.some(({ outputs }) => outputs.some((x) => x !== null && this.#facts.states.has(x.value))))
      .map((c) => this.formOf(c))
      .flatMap((r) => (typeof r === "string" ? [] : [...inPlaceOf(r, this.#facts)]));
    if (before.length === 0) return false;
    const after = inPlaceOf(region, this.#facts);
    return before.some((value) => !after.has(value));
  }

  /** Both as one region, or why they are none. */
  #joined(a: Cluster, b: Cluster): Form | string {
    if ((a.isEarly && b.level > a.level) || (b.isEarly && a.level > b.level)) return "what is known later";
    if (a.nodes.length + b.nodes.length > MAX_NODES) return `more than ${MAX_NODES} nodes`;
    const nodes = this.#inOrder(a, b);
    const region = formOf(nodes, this.#facts);
    if (typeof region === "string") return region;
    const limit = this.#limitOf(region);
    if (region.sources.length + region.outputs.length > limit) return `more than ${limit} buffers`;
    if (drawsAgain(nodes, this.#facts)) return "random numbers of several elements";
    if (skipsOf(region).length > MAX_SKIPS) return `more than ${MAX_SKIPS} draws`;
    if (this.#losesInPlace(region, a, b) || this.#copiesBuffer(a, b)) return "a state that is written in place";
    const isShared = ({ offset, axes }: Access): boolean =>
      offset === 0 && region.rows !== null && sameAccess(axes, region.rows.shape.rowOf);
    if (depthsOf(nodes, this.#facts, isShared) > MAX_DEPTH) return "elements computed again and again";
    if (this.#isBetween(a, b) || this.#isBetween(b, a)) return BETWEEN;
    return region;
  }
}

/** Outputs that a region writes over the state's old values. */
function inPlaceOf(region: Form, facts: Facts): Set<Value> {
  const isState = region.outputs.some((x) => facts.states.has(x.value));
  if (!isState) return new Set();
  const pairs = inPlacePairs(region, facts);
  const written = pairs.filter(([i, o]) => facts.states.get(region.outputs[o]!.value) === region.sources[i]!.value);
  return new Set(written.map(([, o]) => region.outputs[o]!.value));
}

/** Elements whose computation takes less than a launch, however often it is done. */
export const SMALL = 2 ** 14;

export const isSmallReduction = (node: GraphNode): boolean => foldOf(node) !== null && sizeOf(node.inputs[0]!.sizes) <= SMALL;

/** Whether a small reduction has no reader that could be in its region: then it may as well run with the products behind it. */
const isLast = (node: GraphNode, { readers }: Facts): boolean =>
  isSmallReduction(node) && !(readers.get(node.outputs[0]!.value) ?? []).some(isFusable);

/** parts: nodes that one operator became. */
export function group(graph: Graph, facts: Facts, parts: readonly (readonly GraphNode[])[] = [], early: Early | null = null): Grouped[] {
  const grouping = new Grouping(graph, facts, early);
  for (const nodes of parts) grouping.begin(nodes.filter(isFusable));
  // Producers with their readers, near ones first: a value that is needed late is made late.
  const positions = new Map(graph.nodes.map((node, i) => [node, i]));
  // Of what indices are made others' writes wait too: it stays where it is.
  const isOfMany = (reader: GraphNode, i: number, x: Expr): boolean =>
    i === 1 && isScatter(reader) && facts.readers.get(x.value)!.length > 1;
  const edges = graph.nodes.flatMap((reader, at) =>
    reader.inputs.flatMap((x, i) => {
      const maker = x === null || isOfMany(reader, i, x) ? undefined : facts.makers.get(x.value);
      return maker === undefined ? [] : [{ maker, reader, distance: at - positions.get(maker)!, isLast: isLast(reader, facts) }];
    }),
  );
  edges.sort((a, b) => Number(a.isLast) - Number(b.isLast) || a.distance - b.distance);
  for (const { maker, reader } of edges) grouping.merge(grouping.cluster(maker), grouping.cluster(reader));
  // Neighbours that read the same, and have as many elements.
  for (const readers of facts.readers.values()) {
    const [first, ...others] = readers.filter((r) => grouping.cluster(r).isFusable);
    for (const other of others)
      if (sizeOf(first!.outputs[0]!.sizes) === sizeOf(other.outputs[0]!.sizes)) grouping.merge(grouping.cluster(first!), grouping.cluster(other)); // prettier-ignore
  }
  return ordered(graph, grouping, facts).map((cluster): Grouped => {
    const { nodes } = cluster;
    const form = cluster.isFusable ? grouping.formOf(cluster) : "";
    if (typeof form === "string") return { nodes, region: null, guest: null, ends: [] };
    const ends = endsOf(cluster, grouping, facts);
    // Alone, only what reduces is faster as a shader.
    return nodes.length > 1 || isReduction(nodes[0]!) || isOnlyCode(nodes[0]!)
      ? { nodes, region: form, guest: null, ends }
      : { nodes, region: null, guest: form, ends };
  });
}

/** What stands around a region, by the operators' names, and what else ended it. */
function endsOf({ nodes, ends }: Cluster, grouping: Grouping, facts: Facts): string[] {
  const inside = new Set(nodes);
  const around = new Set<string>();
  for (const node of nodes) {
    for (const x of node.inputs) {
      const maker = x === null ? undefined : facts.makers.get(x.value);
      if (maker !== undefined && !inside.has(maker) && !grouping.cluster(maker).isFusable) around.add(maker.operator);
    }
    for (const reader of facts.readers.get(node.outputs[0]!.value) ?? [])
      if (!inside.has(reader) && !grouping.cluster(reader).isFusable) around.add(reader.operator);
    if (facts.results.has(node.outputs[0]!.value)) around.add("result");
  }
  return [...around, ...ends];
}

/** The clusters so that each comes after what it reads, and otherwise by its last node. */
function ordered(graph: Graph, grouping: Grouping, facts: Facts): Cluster[] {
  const clusters = grouping.clusters.sort((a, b) => a.last - b.last);
  const done = new Set<Cluster>();
  const open = new Set<Cluster>();
  const result: Cluster[] = [];
  const add = (cluster: Cluster): void => {
    const stack = [cluster];
    while (stack.length > 0) {
      const at = stack.at(-1)!;
      if (done.has(at)) {
        stack.pop();
        continue;
      }
      const needed = at.nodes
        .flatMap((node) => [...node.inputs.map((x) => x?.value), ...(node.after ?? [])])
        .flatMap((value) => {
          const maker = value === undefined ? undefined : facts.makers.get(value);
          const before = maker === undefined ? at : grouping.cluster(maker);
          return before === at || done.has(before) ? [] : [before];
        });
      open.add(at);
      // Regions that need each other would be an error of this file.
      if (needed.some((cluster) => open.has(cluster))) throw new Error(`fuse: a region of ${at.nodes[0]!.origin} needs its own results`);
      if (needed.length > 0) stack.push(...needed);
      else {
        done.add(at);
        open.delete(at);
        result.push(at);
        stack.pop();
      }
    }
  };
  for (const cluster of clusters) add(cluster);
  return result;
}
