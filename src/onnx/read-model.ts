/** From the bytes of a file to a model: the graph is checked, cut to what is asked for, and put in order. */
import { defaultDevice } from "../core/device.ts";
import { FormatError, ValueError } from "../core/errors.ts";
import { requireDevice } from "../runtime/devices.ts";
import { MAX_ITERATIONS, requireFinite } from "./format/limits.ts";
import { domainOf } from "./format/operator-keys.ts";
import { otherFormatOf } from "./format/other-formats.ts";
import { readModel, type GraphMessage, type ModelMessage } from "./format/proto.ts";
import type { External } from "./format/tensor-message.ts";
import { STRING, type Constant, type Value } from "./format/value.ts";
import { unblockChannels, type ChannelBlock } from "./channel-blocks.ts";
import { constantFor, foldConditions } from "./conditions.ts";
import { foldFilled } from "./filled-tensors.ts";
import { nameOf, readNames, requireMade, sort } from "./graph-order.ts";
import { requireOperators, requireVersions } from "./known-operators.ts";
import { contextOf, LoadedModel, type Source } from "./loaded-model.ts";
import { OnnxModel, type OnnxOptions } from "./model.ts";
import { initializersOf } from "./run-graph.ts";

/** Lets the graph end at these values. */
function cut(graph: GraphMessage, names: readonly string[]): void {
  if (!Array.isArray(names) || names.length === 0 || new Set(names).size !== names.length)
    throw new ValueError("onnx.load", "outputs", "names of values of the graph, each once", names);
  const known = new Map(graph.outputs.map((o) => [o.name, o]));
  const made = new Set(graph.nodes.flatMap((node) => node.outputs));
  for (const { name } of [...graph.inputs, ...graph.initializers]) made.add(name);
  const missing = names.filter((name) => !made.has(name) || name === "");
  if (missing.length > 0) {
    const some = [...made].filter((name) => name !== "").slice(-5);
    throw new ValueError("onnx.load", "outputs", `names of values of the graph, such as ${some.join(", ")}`, missing);
  }
  graph.outputs.length = 0;
  for (const name of names) graph.outputs.push(known.get(name) ?? { name, type: null });
}

/** Takes inputs away that have values of their own. */
function constantsOf(graph: GraphMessage, values: NonNullable<OnnxOptions["constants"]>): Map<string, Constant> {
  const found = new Map<string, Constant>();
  for (const [name, value] of Object.entries(values)) {
    const at = graph.inputs.findIndex((i) => i.name === name);
    if (at < 0) throw new ValueError("onnx.load", "constants", `of inputs: ${graph.inputs.map((i) => i.name).join(", ")}`, name);
    found.set(name, constantFor(graph.inputs[at]!, value));
    graph.inputs.splice(at, 1);
  }
  return found;
}

/** Tensors of Constant nodes are weights as initializers are. */
function initialize(graph: GraphMessage): void {
  const rest = graph.nodes.filter((node) => {
    if (node.type !== "Constant" || domainOf(node.domain) !== "") return true;
    const t = node.attributes.find((a) => a.name === "value")?.t ?? null;
    const [name = ""] = node.outputs;
    if (t === null || t.dataType === STRING || name === "" || node.attributes.length !== 1) return true;
    t.name = name;
    graph.initializers.push(t);
    return false;
  });
  graph.nodes.length = 0;
  for (const node of rest) graph.nodes.push(node);
}

/** A model from a file's bytes. external: finds the data that lie in other files. source: what errors call the bytes of another format. */
export function modelFrom(bytes: Uint8Array, options: OnnxOptions, external: External | null, source = "file"): OnnxModel {
  const other = otherFormatOf(bytes);
  if (other !== null) throw new FormatError("onnx.load", source, "an ONNX file", other.name, other.hint);
  // Text cannot be decoded from shared memory.
  return modelOf(readModel(bytes.buffer instanceof ArrayBuffer ? bytes : new Uint8Array(bytes)), options, external);
}

function blockOf({ channelBlock }: OnnxOptions): ChannelBlock | null {
  if (channelBlock === undefined || channelBlock === 8 || channelBlock === 16) return channelBlock ?? null;
  throw new ValueError("onnx.load", "channelBlock", "8 or 16", channelBlock);
}

/** A model from its messages, which are its own from now on. */
export function modelOf(message: ModelMessage, options: OnnxOptions, external: External | null): OnnxModel {
  const device = requireDevice("onnx", options.device ?? defaultDevice());
  const maxIterations = options.maxIterations ?? MAX_ITERATIONS;
  if (!Number.isSafeInteger(maxIterations) || maxIterations < 0)
    throw new ValueError("onnx.load", "maxIterations", "an integer of at least 0", maxIterations);
  const { graph, functions, opsets, metadata, irVersion } = message;
  if (graph === null) throw new FormatError("onnx", "file", "an ONNX model", "no graph");
  if (opsets.length === 0) throw new FormatError("onnx", "file", "a model that names its operator sets", "none");
  requireVersions(message);
  requireFinite(message);
  if (options.outputs !== undefined) cut(graph, options.outputs);
  const constants = constantsOf(graph, options.constants ?? {});
  initialize(graph);
  sort(graph, functions);
  const source: Source = {
    graph,
    functions,
    opsets,
    device,
    external,
    maxIterations,
    isEager: options.eager ?? false,
    isTrainable: options.trainable ?? false,
    constants,
    dynamic: options.dynamic,
    kept: new Set(Object.keys(options.layers ?? {})),
  };
  const context = contextOf(source);
  while (foldConditions(context, graph, constants)) {
    initialize(graph);
    sort(graph, []);
  }
  unblockChannels(graph, (g) => initializersOf(context, g) as Map<string, Value>, blockOf(options));
  const known = new Set(constants.keys());
  for (const t of graph.initializers) known.add(t.name);
  for (const s of graph.sparseInitializers) known.add(s.values?.name ?? "");
  requireMade(graph, known);
  if (options.outputs !== undefined || constants.size > 0) {
    const read = readNames(graph.nodes, graph.outputs.map((o) => o.name)); // prettier-ignore
    const inputs = graph.inputs.filter((i) => read.has(i.name));
    graph.inputs.length = 0;
    for (const i of inputs) graph.inputs.push(i);
  }
  foldFilled(context, graph, irVersion < 4, source.kept);
  const layers = Object.entries(options.layers ?? {});
  const replaced = new Set(layers.map(([name]) => name));
  requireOperators(graph.nodes, context.functions, (node) => replaced.has(nameOf(node)));
  const model = new OnnxModel(new LoadedModel(source, context), metadata);
  try {
    for (const [node, layer] of layers) model.replace(node, layer);
  } catch (error) {
    model.dispose();
    throw error;
  }
  return model;
}
