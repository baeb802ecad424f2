/** Nodes over large weights alone, such as those that dequantize them: computed once, when the model is loaded. */
import { noGrad } from "../autograd/grad-mode.ts";
import { ordinary } from "../core/inference.ts";
import { collect, outsideScopes } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { withTracer } from "../core/tracer.ts";
import { clone } from "../ops/data/state.ts";
import { functionKey, domainOf } from "./format/operator-keys.ts";
import type { GraphMessage, NodeMessage } from "./format/proto.ts";
import { byteLength, Constant, KEPT, type Value } from "./format/value.ts";
import { innerGraphs } from "./format/limits.ts";
import { forgetReads, readNames } from "./graph-order.ts";
import { operatorOf } from "./operators/index.ts";
import { initializersOf, Names, runNode, type Context } from "./run-graph.ts";

/** A result of more bytes than so many times those of its inputs stays a node. */
const MAX_GROWTH = 8;

const bytesOf = (c: Constant): number => byteLength(c.dtype, c.shape);

/** The results of a node as constants of the model; null where it stays a node. */
function computed(context: Context, node: NodeMessage, inputs: readonly (Constant | null)[]): Constant[] | null {
  for (const c of inputs) {
    if (c === null || c.size <= KEPT) continue;
    // One copy of it, on the device.
    c.isOwned = true;
    c.on(context.device);
  }
  const names = new Names(null);
  node.inputs.forEach((name, i) => names.set(name, inputs[i] ?? null));
  const own = new Set(inputs.flatMap((c) => c?.tensor?.storage ?? []));
  try {
    const run = (): Tensor[] | null => {
      const results = runNode(context, node, names);
      if (!results.every((v): v is Tensor => v instanceof Tensor)) return null;
      return results.map((t) => (own.has(t.storage) || !t.coversStorage ? clone(t) : t));
    };
    const { result } = withTracer(null, () => outsideScopes(() => ordinary(() => noGrad(() => collect(run)))));
    if (result === null) return null;
    const made = result.map((t) => {
      const constant = new Constant(t.dtype, t.shape, () => {});
      constant.isOwned = true;
      constant.show(t);
      return constant;
    });
    const before = inputs.reduce((sum, c) => sum + (c === null ? 0 : bytesOf(c)), 0);
    if (made.reduce((sum, c) => sum + bytesOf(c), 0) <= MAX_GROWTH * before) return made;
    for (const c of made) c.dispose();
    return null;
  } catch {
    // The call that runs the node throws the error.
    return null;
  }
}

/** What a graph may be folded with: constants by name, and the names of those that stay as they are. */
interface Visible {
  get(name: string): Value | undefined;
  isFixed(name: string): boolean;
}

/** The constants of a graph inside a node, with those around it. */
class InnerConstants implements Visible {
  /** Values of Constant nodes, which stay nodes. */
  readonly literals = new Map<string, Value>();
  readonly own: Map<string, Value>;
  readonly #shadowed: ReadonlySet<string>;
  readonly #outer: Visible;

  constructor(own: Map<string, Value>, graph: GraphMessage, outer: Visible) {
    this.own = own;
    this.#shadowed = new Set([...graph.inputs.map((i) => i.name), ...graph.nodes.flatMap((node) => node.outputs)]);
    this.#outer = outer;
  }

  get(name: string): Value | undefined {
    return this.own.get(name) ?? this.literals.get(name) ?? (this.#shadowed.has(name) ? undefined : this.#outer.get(name));
  }

  isFixed(name: string): boolean {
    return this.own.has(name) || this.literals.has(name) || (!this.#shadowed.has(name) && this.#outer.isFixed(name));
  }
}

/**
 * Takes nodes out of a graph whose inputs are weights, at least one of them large, and puts their results among the constants; of the graphs inside
 * its nodes too. isFixed: whether a constant stays as it is, as parameters do not. isKept: nodes that stay. Returns the names of the graph's own results.
 */
export function foldWeights(
  context: Context,
  graph: GraphMessage,
  constants: Map<string, Value>,
  isFixed: (name: string) => boolean,
  isKept: (node: NodeMessage) => boolean,
): ReadonlySet<string> {
  const folded = new Set<string>();
  const visible: Visible = { get: (name) => constants.get(name), isFixed: (name) => folded.has(name) || isFixed(name) };
  const isChanged = foldGraph(context, graph, visible, isKept, (name, value) => {
    constants.set(name, value);
    folded.add(name);
  });
  if (!isChanged) return folded;
  const read = readNames(graph.nodes, graph.outputs.map((o) => o.name)); // prettier-ignore
  dropUnread(constants, read, () => true);
  return folded;
}

function dropUnread(constants: Map<string, Value>, read: ReadonlySet<string>, isDroppable: (name: string) => boolean): void {
  for (const [name, value] of constants) {
    if (read.has(name) || !isDroppable(name)) continue;
    constants.delete(name);
    if (value instanceof Constant) value.dispose();
  }
}

/** put: takes a result. Returns whether nodes were taken out, of this graph or of one inside. */
function foldGraph(
  context: Context,
  graph: GraphMessage,
  visible: Visible,
  isKept: (node: NodeMessage) => boolean,
  put: (name: string, value: Constant) => void,
): boolean {
  let isChanged = false;
  const fold = (node: NodeMessage): boolean => {
    const domain = domainOf(node.domain);
    if (isKept(node) || context.functions.has(functionKey(domain, node.type, node.overload))) return false;
    if (operatorOf(domain, node.type)?.isPure !== true) return false;
    const inputs: (Constant | null)[] = [];
    for (const name of node.inputs) {
      const value = name === "" ? null : visible.get(name);
      if (value !== null && !(value instanceof Constant && visible.isFixed(name))) return false;
      inputs.push(value);
    }
    if (!inputs.some((c) => c !== null && c.size > KEPT)) return false;
    const results = computed(context, node, inputs);
    if (results === null) return false;
    node.outputs.forEach((name, i) => {
      if (name !== "" && results[i] !== undefined) put(name, results[i]);
    });
    return true;
  };
  const rest: NodeMessage[] = [];
  for (const node of graph.nodes) {
    if (fold(node)) {
      isChanged = true;
      continue;
    }
    rest.push(node);
    let isInnerChanged = false;
    for (const inner of innerGraphs(node)) if (foldInner(context, inner, visible)) isInnerChanged = true;
    if (isInnerChanged) forgetReads(node);
    isChanged ||= isInnerChanged;
  }
  if (!isChanged) return false;
  graph.nodes.length = 0;
  for (const node of rest) graph.nodes.push(node);
  return true;
}

function foldInner(context: Context, graph: GraphMessage, outer: Visible): boolean {
  const own = initializersOf(context, graph) as Map<string, Value>;
  const visible = new InnerConstants(own, graph, outer);
  for (const node of graph.nodes)
    if (node.type === "Constant" && domainOf(node.domain) === "") {
      const [value = null] = withTracer(null, () => runNode(context, node, new Names(null)));
      visible.literals.set(node.outputs[0] ?? "", value);
    }
  const made = new Set<string>();
  const put = (name: string, value: Constant): void => {
    own.set(name, value);
    made.add(name);
  };
  if (!foldGraph(context, graph, visible, () => false, put)) return false;
  const read = readNames(graph.nodes, graph.outputs.map((o) => o.name)); // prettier-ignore
  dropUnread(own, read, (name) => made.has(name));
  return true;
}
