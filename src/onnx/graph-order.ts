/** The nodes of a graph in an order in which each comes after what it reads, without those that no output needs. */
import { FormatError } from "../core/errors.ts";
import { innerGraphs } from "./format/limits.ts";
import type { FunctionMessage, GraphMessage, NodeMessage } from "./format/proto.ts";

/** As errors and profiles name a node. */
export const titleOf = (node: NodeMessage): string =>
  node.name === "" ? `${node.type} that makes ${node.outputs[0] ?? "nothing"}` : `${node.name} (${node.type})`;

/** What an unnamed node is called by: its first result. */
export const nameOf = (node: NodeMessage): string => (node.name === "" ? (node.outputs[0] ?? "") : node.name);

/** Names that the nodes of a graph read from the graphs around it. */
function readsOfGraph(graph: GraphMessage): Set<string> {
  const own = new Set<string>();
  for (const t of graph.initializers) own.add(t.name);
  for (const s of graph.sparseInitializers) own.add(s.values?.name ?? "");
  for (const { name } of graph.inputs) own.add(name);
  for (const node of graph.nodes) for (const name of node.outputs) own.add(name);
  const reads = new Set<string>();
  const read = (name: string): void => {
    if (!own.has(name)) reads.add(name);
  };
  for (const node of graph.nodes) for (const name of readsOf(node)) read(name);
  for (const { name } of graph.outputs) read(name);
  return reads;
}

const known = new WeakMap<NodeMessage, readonly string[]>();

/** What a node reads, each name once: its inputs, and what graphs inside it read from around them. */
export function readsOf(node: NodeMessage): readonly string[] {
  let reads = known.get(node);
  if (reads === undefined) {
    const found = new Set(node.inputs);
    for (const graph of innerGraphs(node)) for (const name of readsOfGraph(graph)) found.add(name);
    found.delete("");
    known.set(node, (reads = [...found]));
  }
  return reads;
}

/** After the graphs inside a node have changed. */
export const forgetReads = (node: NodeMessage): void => void known.delete(node);

/** Which node makes each name. Throws FormatError for a name that two nodes make. */
function makersOf(nodes: readonly NodeMessage[]): Map<string, NodeMessage> {
  const makers = new Map<string, NodeMessage>();
  for (const node of nodes)
    for (const name of node.outputs) {
      if (name === "") continue;
      const other = makers.get(name);
      if (other !== undefined)
        throw new FormatError("onnx.load", `value ${name}`, "made by one node", `two: ${titleOf(other)} and ${titleOf(node)}`);
      makers.set(name, node);
    }
  return makers;
}

/** The nodes that `wanted` needs, each after those whose results it reads; a file's own order stays where it is right. */
export function ordered(nodes: readonly NodeMessage[], wanted: Iterable<string>): NodeMessage[] {
  const makers = makersOf(nodes);
  const needed = neededBy(wanted, makers);
  const state = new Map<NodeMessage, "open" | "done">();
  const result: NodeMessage[] = [];
  for (const first of nodes) {
    if (!needed.has(first)) continue;
    const stack = [first];
    while (stack.length > 0) {
      const node = stack.at(-1)!;
      if (state.get(node) === undefined) {
        state.set(node, "open");
        for (const name of readsOf(node)) {
          const maker = makers.get(name);
          const seen = maker === undefined ? "done" : state.get(maker);
          if (seen === "open")
            throw circle(
              stack.filter((n) => state.get(n) === "open"),
              maker!,
            );
          if (seen === undefined) stack.push(maker!);
        }
        continue;
      }
      stack.pop();
      if (state.get(node) === "done") continue;
      state.set(node, "done");
      result.push(node);
    }
  }
  return result;
}

/** open: the nodes that wait, each for the next one, and the last one for `maker`. */
function circle(open: readonly NodeMessage[], maker: NodeMessage): FormatError {
  const names = open.slice(open.indexOf(maker)).map(titleOf);
  return new FormatError(
    "onnx.load",
    "graph",
    "one whose nodes do not wait for each other",
    `a circle through ${names.slice(0, 5).join(", ")}`,
  );
}

function neededBy(wanted: Iterable<string>, makers: ReadonlyMap<string, NodeMessage>): Set<NodeMessage> {
  const needed = new Set<NodeMessage>();
  const names = [...wanted];
  while (names.length > 0) {
    const maker = makers.get(names.pop()!);
    if (maker === undefined || needed.has(maker)) continue;
    needed.add(maker);
    names.push(...readsOf(maker));
  }
  return needed;
}

/** Names of initializers that nodes or outputs read. */
export function readNames(nodes: readonly NodeMessage[], outputs: Iterable<string>): Set<string> {
  const names = new Set(outputs);
  for (const node of nodes) for (const name of readsOf(node)) names.add(name);
  return names;
}

function sortInner(nodes: readonly NodeMessage[]): void {
  for (const node of nodes)
    for (const graph of innerGraphs(node)) {
      sortInner(graph.nodes);
      const outputs = graph.outputs.map((o) => o.name);
      putNodes(graph, ordered(graph.nodes, outputs));
    }
}

/** Gives a graph other nodes, and keeps the initializers that they need. */
export function putNodes(graph: GraphMessage, nodes: readonly NodeMessage[]): void {
  graph.nodes.length = 0;
  for (const node of nodes) graph.nodes.push(node);
  const read = readNames(
    nodes,
    graph.outputs.map((o) => o.name),
  );
  keep(graph.initializers, (t) => read.has(t.name));
  keep(graph.sparseInitializers, (s) => read.has(s.values?.name ?? ""));
}

/** Leaves what passes the test in a list. */
function keep<T>(list: T[], test: (item: T) => boolean): void {
  let count = 0;
  for (const item of list) if (test(item)) list[count++] = item;
  list.length = count;
}

/** Sorts a model's graph, those inside its nodes, and its functions, and leaves out what nothing needs. Throws FormatError for circles. */
export function sort(graph: GraphMessage, functions: readonly FunctionMessage[]): void {
  sortInner(graph.nodes);
  putNodes(
    graph,
    ordered(
      graph.nodes,
      graph.outputs.map((o) => o.name),
    ),
  );
  for (const f of functions) {
    sortInner(f.nodes);
    const nodes = ordered(f.nodes, f.outputs);
    f.nodes.length = 0;
    for (const node of nodes) f.nodes.push(node);
  }
}

/** Throws FormatError for names that nodes or outputs read and nothing makes: all of them at once. */
export function requireMade(graph: GraphMessage, initializers: ReadonlySet<string>): void {
  const made = new Set(initializers);
  for (const { name } of graph.inputs) made.add(name);
  for (const node of graph.nodes) for (const name of node.outputs) made.add(name);
  const missing: string[] = [];
  for (const node of graph.nodes) for (const name of readsOf(node)) if (!made.has(name)) missing.push(`${name} of ${titleOf(node)}`);
  for (const { name } of graph.outputs) if (!made.has(name)) missing.push(`output ${name}`);
  if (missing.length === 0) return;
  const shown = missing.slice(0, 5).join(", ");
  throw new FormatError(
    "onnx.load",
    "graph",
    "one whose values are inputs, weights or made by nodes",
    `${missing.length} that are not: ${shown}`,
  );
}

const lasts = new WeakMap<readonly NodeMessage[], readonly (readonly string[])[]>();

/** By node, the names that no later node reads, nor an output: what the node that made them has made may be freed after it. */
export function lastReads(nodes: readonly NodeMessage[], outputs: readonly string[]): readonly (readonly string[])[] {
  let last = lasts.get(nodes);
  if (last === undefined) {
    const seen = new Set(outputs);
    const found: string[][] = nodes.map(() => []);
    for (let i = nodes.length - 1; i >= 0; i--)
      for (const name of [...readsOf(nodes[i]!), ...nodes[i]!.outputs]) {
        if (seen.has(name)) continue;
        seen.add(name);
        found[i]!.push(name);
      }
    lasts.set(nodes, (last = found));
  }
  return last;
}
