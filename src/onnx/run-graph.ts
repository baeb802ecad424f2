/** Runs a graph: its nodes in order, each by an operator of the library, a function of the model, or a subgraph. */
import type { Device } from "../core/device.ts";
import { DxError, FormatError, UnsupportedError } from "../core/errors.ts";
import { toDType } from "../ops/data/conversion.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { scope } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer, withTracer } from "../core/tracer.ts";
import { labelled } from "../host/call-site.ts";
import { Call, type Body } from "./format/call.ts";
import { operatorOf, type Operator } from "./operators/index.ts";
import type { AttributeMessage, FunctionMessage, GraphMessage, NodeMessage, OpsetMessage } from "./format/proto.ts";
import type { Constants } from "./format/attribute-constants.ts";
import { constantOf, denseOf, emptied, type External } from "./format/tensor-message.ts";
import type { Budget } from "./format/limits.ts";
import { domainOf, functionKey } from "./format/operator-keys.ts";
import { Constant, KEPT, type Value } from "./format/value.ts";
import { lastReads, titleOf } from "./graph-order.ts";
import { Intermediates } from "./intermediates.ts";

/** What a model's graphs share. */
export interface Context {
  /** Where the weights are. */
  device: Device;
  /** Versions of the operator sets by domain. */
  readonly opsets: ReadonlyMap<string, number>;
  readonly functions: ReadonlyMap<string, FunctionMessage>;
  readonly initializers: WeakMap<GraphMessage, ReadonlyMap<string, Value>>;
  folded: WeakMap<NodeMessage, Map<string, readonly Constant[]>>;
  /** Names of weights that were computed of others when the model was loaded. */
  readonly computed: Set<string>;
  readonly external: External | null;
  /** Until the weights are on the device. */
  isLoading: boolean;
  /** Tensors in nodes' attributes, read once. */
  readonly constants: Constants;
  /** What runs in place of nodes. */
  readonly layers: Map<NodeMessage, (inputs: readonly Value[]) => readonly Value[]>;
  /** The node of the outermost graph whose run threw in a trace. */
  refused: NodeMessage | null;
  /** Of the call that runs. */
  budget: Budget;
}

export const versions = (opsets: readonly OpsetMessage[]): Map<string, number> =>
  new Map(opsets.map(({ domain, version }) => [domainOf(domain), version]));

/** Names and their values; those of the graphs around are seen too. */
export class Names {
  readonly #own = new Map<string, Value>();
  readonly #outer: Names | null;
  constructor(outer: Names | null) {
    this.#outer = outer;
  }
  set(name: string, value: Value): void {
    this.#own.set(name, value);
  }
  get(name: string): Value | undefined {
    const own = this.#own.get(name);
    return own !== undefined || this.#own.has(name) ? own : this.#outer?.get(name);
  }
  /** Takes a name away, and gives its value. */
  take(name: string): Value | undefined {
    const value = this.#own.get(name);
    this.#own.delete(name);
    return value;
  }
}

type Attributes = ReadonlyMap<string, AttributeMessage>;
const noAttributes: Attributes = new Map();

/** A node's attributes; those that name one of the enclosing function's take its value, and are not there if it has none. */
function attributesOf(node: NodeMessage, outer: Attributes): Attributes {
  const found = new Map<string, AttributeMessage>();
  for (const a of node.attributes) {
    const value = a.reference === "" ? a : outer.get(a.reference);
    if (value !== undefined) found.set(a.name, value);
  }
  return found;
}

/** Whether a node's results follow from its inputs alone, so that they are the same in every call. Parameters may change. */
const isFoldable = (operator: Operator, call: Call): boolean =>
  operator.isPure &&
  call.inputs.length > 0 &&
  call.inputs.every((v) => v === null || (v instanceof Constant && v.size <= KEPT && !v.isParameter));

const keyOf = (call: Call): string =>
  call.inputs.map((v) => (v instanceof Constant ? `${v.dtype}[${v.shape.join()}]${v.data.join()}` : "")).join(";");

/** A node over small constants: computed once, outside of what compile() records, and constant again. */
function folded(context: Context, call: Call, run: () => Value[]): readonly Value[] {
  let known = context.folded.get(call.node);
  if (known === undefined) context.folded.set(call.node, (known = new Map()));
  const key = keyOf(call);
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = withTracer(null, () => noGrad(() => scope(() => run().map((v) => constantFrom(v)))));
  if (made.some((v) => v === null)) return run();
  const constants = made as Constant[];
  if (known.size < 256) known.set(key, constants);
  return constants;
}

const constantFrom = (v: Value): Constant | null =>
  v instanceof Constant ? v : v instanceof Tensor ? new Constant(v.dtype, v.shape, v.dataSync()) : null;

/** DirectML has no bfloat16: it is computed with in float32, and rounded after each operator. */
function inSingle(call: Call, operator: Operator, make: (inputs: readonly Value[]) => Call): Value[] {
  const isHalf = (v: Value): boolean => (v instanceof Tensor || v instanceof Constant) && v.dtype === "bfloat16";
  if (!call.inputs.some(isHalf)) return operator.run(call);
  const wide = make(call.inputs.map((v) => (isHalf(v) ? toDType(call.asTensor(v), "float32") : v)));
  return operator.run(wide).map((v) => (v instanceof Tensor && v.dtype === "float32" ? toDType(v, "bfloat16") : v));
}

function runFunction(context: Context, f: FunctionMessage, call: Call, attributes: Attributes): Value[] {
  const names = new Names(null);
  f.inputs.forEach((name, i) => names.set(name, call.inputs[i] ?? null));
  const own = new Map(f.defaults.map((a) => [a.name, a]));
  for (const [name, a] of attributes) own.set(name, a);
  const inner: Context = f.opsets.length === 0 ? context : { ...context, opsets: new Map([...context.opsets, ...versions(f.opsets)]) };
  runNodes(inner, f.nodes, f.outputs, names, own);
  return f.outputs.map((name) => named(names, name, call.name));
}

/** The value of a name. Throws UnsupportedError where nothing has it. */
export function named(names: Names, name: string, where: string): Value {
  if (name === "") return null;
  const value = names.get(name);
  if (value === undefined) throw new UnsupportedError({ operation: where, received: `a value "${name}" that no node computes` });
  return value;
}

/** What a node gives, one value for each of its outputs. */
function resultsOf(context: Context, node: NodeMessage, names: Names, outer: Attributes): readonly Value[] {
  const inputs = node.inputs.map((name) => named(names, name, `onnx.${node.type}`));
  const layer = context.layers.get(node);
  if (layer !== undefined) return layer(inputs);
  const attributes = attributesOf(node, outer);
  const domain = domainOf(node.domain);
  const body = (graph: GraphMessage): Body => ({
    inputs: graph.inputs.map((i) => i.name),
    run: (values) => {
      context.budget.spend(`onnx.${node.type}`);
      return runGraph(context, graph, values, names, outer);
    },
  });
  const opset = context.opsets.get(domain) ?? 1;
  const make = (operands: readonly Value[]): Call => new Call(node, opset, operands, attributes, context, body);
  const call = make(inputs);
  const f = context.functions.get(functionKey(domain, node.type, node.overload));
  if (f !== undefined) return runFunction(context, f, call, attributes);
  const operator = operatorOf(domain, node.type);
  if (operator === null)
    throw new UnsupportedError({ operation: "onnx", received: `operator ${domain === "" ? "" : `${domain}.`}${node.type}` });
  const run = (): Value[] => (operator.isRaw ? operator.run(call) : inSingle(call, operator, make));
  return isFoldable(operator, call) ? folded(context, call, run) : run();
}

/** One node, whose errors, and whose operations in profiles, name it. */
export function runNode(context: Context, node: NodeMessage, names: Names, outer: Attributes = noAttributes): readonly Value[] {
  try {
    return labelled(`at node ${titleOf(node)}`, () => resultsOf(context, node, names, outer));
  } catch (error) {
    if (tracer() !== null) context.refused = node;
    throw located(error, node);
  }
}

/** Runs nodes in their order. Outside of a trace, what they make is freed as soon as no node and no output needs it any more. */
export function runNodes(
  context: Context,
  nodes: readonly NodeMessage[],
  outputs: readonly string[],
  names: Names,
  outer: Attributes = noAttributes,
): void {
  const define = (node: NodeMessage, results: readonly Value[]): void =>
    node.outputs.forEach((name, i) => {
      if (name !== "") names.set(name, results[i] ?? null);
    });
  if (tracer() !== null) {
    for (const node of nodes) define(node, runNode(context, node, names, outer));
    return;
  }
  const lasts = lastReads(nodes, outputs);
  const made = new Intermediates();
  let isComplete = false;
  try {
    nodes.forEach((node, at) => {
      const results = made.make(() => runNode(context, node, names, outer));
      define(node, results);
      node.outputs.forEach((name, i) => {
        if (name !== "") made.count(results[i], 1);
      });
      for (const name of lasts[at]!) made.count(names.take(name), -1);
    });
    isComplete = true;
  } finally {
    made.end(isComplete ? outputs.map((name) => names.get(name)) : []);
  }
}

/** A graph's initializers as constants, read once. */
export function initializersOf(context: Context, graph: GraphMessage): ReadonlyMap<string, Value> {
  let found = context.initializers.get(graph);
  if (found === undefined) {
    const made = new Map<string, Value>();
    const isLent = context.isLoading && tracer() === null;
    for (const t of graph.initializers) {
      made.set(t.name, constantOf(t, context.external, isLent));
      emptied(t);
    }
    for (const s of graph.sparseInitializers) made.set(s.values?.name ?? "", denseOf(s));
    context.initializers.set(graph, (found = made));
  }
  return found;
}

/** A graph's outputs. Its inputs come in its order; those that are missing are initializers. */
export function runGraph(
  context: Context,
  graph: GraphMessage,
  inputs: readonly (Value | undefined)[],
  outer: Names | null = null,
  attributes: Attributes = noAttributes,
): Value[] {
  const names = new Names(outer);
  for (const [name, value] of initializersOf(context, graph)) names.set(name, value);
  graph.inputs.forEach(({ name }, i) => {
    const value = inputs[i];
    if (value !== undefined) names.set(name, value);
  });
  const outputs = graph.outputs.map((o) => o.name);
  runNodes(context, graph.nodes, outputs, names, attributes);
  return graph.outputs.map(({ name }) => named(names, name, "onnx"));
}

/** Which node an error comes from, said once. Errors of JavaScript's own (an array that is too long) become ours: the model asks for them. */
function located(thrown: unknown, node: NodeMessage): unknown {
  const error = thrown instanceof RangeError || thrown instanceof TypeError || thrown instanceof SyntaxError ? typed(thrown, node) : thrown;
  if (error instanceof DxError && !error.message.includes(" In node ")) error.message += ` In node ${titleOf(node)}.`;
  return error;
}

function typed(error: Error, node: NodeMessage): FormatError {
  const wrong = new FormatError(`onnx.${node.type}`, "node", "one whose inputs and attributes fit the operator", error.message);
  wrong.cause = error;
  return wrong;
}
