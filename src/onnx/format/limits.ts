/** Limits of a model, so that a small file cannot keep a program busy forever: depth and number of nodes, loop iterations. */
import { FormatError, ValueError } from "../../core/errors.ts";
import { domainOf, functionKey } from "./operator-keys.ts";
import type { FunctionMessage, GraphMessage, ModelMessage, NodeMessage } from "./proto.ts";

/** Functions that call each other, one inside the other. */
const MAX_DEPTH = 100;
/** Number of the graph's nodes with its functions expanded. */
const MAX_NODES = 1_000_000;
/** Runs of graphs inside nodes (of Loop, Scan, SequenceMap, If) in one call, unless the caller says otherwise. */
export const MAX_ITERATIONS = 100_000;

/** Graphs inside a node. */
export function* innerGraphs(node: NodeMessage): Generator<GraphMessage> {
  for (const a of node.attributes) {
    if (a.g !== null) yield a.g;
    yield* a.graphs;
  }
}

/** A graph and those inside its nodes. */
export function* graphsOf(graph: GraphMessage): Generator<GraphMessage> {
  yield graph;
  for (const node of graph.nodes) for (const inner of innerGraphs(node)) yield* graphsOf(inner);
}

/** Throws FormatError for functions that call themselves, that are nested too deeply, or that double what they call again and again. */
export function requireFinite({ graph, functions }: ModelMessage): void {
  const byKey = new Map(functions.map((f) => [functionKey(domainOf(f.domain), f.name, f.overload), f]));
  const known = new Map<FunctionMessage, number>();
  const count = (nodes: readonly NodeMessage[], depth: number): number => {
    let total = 0;
    for (const node of nodes) {
      const f = byKey.get(functionKey(domainOf(node.domain), node.type, node.overload));
      total += 1 + (f === undefined ? 0 : ofFunction(f, depth + 1));
      for (const inner of innerGraphs(node)) total += count(inner.nodes, depth);
      if (total > MAX_NODES)
        throw new FormatError("onnx", "file", `a model of at most ${MAX_NODES} nodes with its functions expanded`, "more");
    }
    return total;
  };
  const ofFunction = (f: FunctionMessage, depth: number): number => {
    if (depth > MAX_DEPTH)
      throw new FormatError("onnx", "file", `a model whose functions call each other at most ${MAX_DEPTH} deep, and never themselves`, `${f.name} deeper than that`); // prettier-ignore
    let found = known.get(f);
    if (found === undefined) known.set(f, (found = count(f.nodes, depth)));
    return found;
  };
  if (graph !== null) count(graph.nodes, 0);
}

/** Runs of inner graphs that a call may still make. */
export class Budget {
  readonly #max: number;
  readonly #signal: AbortSignal | undefined;
  #left: number;

  constructor(max: number, signal: AbortSignal | undefined) {
    this.#max = this.#left = max;
    this.#signal = signal;
  }

  /** Runs that may still be made. */
  get left(): number {
    return this.#left;
  }

  /** One more run of a graph inside a node. Throws the signal's reason, or ValueError where there are too many. */
  spend(where: string): void {
    this.#signal?.throwIfAborted();
    if (this.#left-- > 0) return;
    const hint = "load(file, { maxIterations }) allows more.";
    throw new ValueError(where, "iterations", `at most ${this.#max} in one call, of all graphs inside nodes together`, "more", hint);
  }
}
