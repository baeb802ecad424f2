/** A model file as a function of named tensors. */
import { demandDevice } from "../runtime/devices.ts";
import { defaultDevice, type Device, type DeviceLike } from "../device.ts";
import type { DType } from "../dtype.ts";
import { DTypeError, FormatError, ShapeError, ValueError } from "../errors.ts";
import { fromBytes } from "../ops/creation.ts";
import { to } from "../ops/data.ts";
import { scope } from "../scope.ts";
import { Tensor } from "../tensor.ts";
import { domainOf, functionKey, initializersOf, runGraph, versions, type Context } from "./graph.ts";
import { readModel, type GraphMessage, type ModelMessage, type ValueInfoMessage } from "./proto.ts";
import type { External } from "./tensor-message.ts";
import { Constant, describe, dtypeOf, type Value } from "./value.ts";

/** An input or output of a model. */
export interface OnnxValue {
  /** Its name in the graph. */
  readonly name: string;
  /** null for what is no tensor. */
  readonly dtype: DType | null;
  /** Lengths; a name where any length will do, null where nothing is said. */
  readonly shape: readonly (number | string | null)[] | null;
}

/** Constants with as many elements go to the device when the model is loaded; smaller ones when they are used. */
const UPLOADED = 16;

const DTYPED = 1;

function valueOf({ name, type }: ValueInfoMessage): OnnxValue {
  if (type === null || type.kind !== "tensor" || type.elementType < DTYPED) return { name, dtype: null, shape: null };
  return { name, dtype: dtypeOf(type.elementType, `onnx ${name}`), shape: type.dims };
}

/** A graph and those inside its nodes. */
function* graphsOf(graph: GraphMessage): Generator<GraphMessage> {
  yield graph;
  for (const node of graph.nodes)
    for (const a of node.attributes) {
      if (a.g !== null) yield* graphsOf(a.g);
      for (const g of a.graphs) yield* graphsOf(g);
    }
}

/** An ONNX model on a device, made by onnx.load(). */
export class OnnxModel {
  /** The device that holds its weights. */
  readonly device: Device;
  /** What call() takes, in the graph's order. */
  readonly inputs: readonly OnnxValue[];
  /** What call() gives, in the graph's order. */
  readonly outputs: readonly OnnxValue[];
  /** Keys and texts that the file carries. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly #graph: GraphMessage;
  readonly #context: Context;

  /** @internal Use load(). */
  constructor(model: ModelMessage, graph: GraphMessage, device: Device, external: External | null) {
    this.device = device;
    this.#graph = graph;
    this.metadata = model.metadata;
    this.#context = {
      device,
      opsets: versions(model.opsets),
      functions: new Map(model.functions.map((f) => [functionKey(domainOf(f.domain), f.name, f.overload), f])),
      initializers: new WeakMap(),
      folded: new WeakMap(),
      external,
    };
    for (const g of graphsOf(graph))
      for (const value of initializersOf(this.#context, g).values()) {
        if (!(value instanceof Constant) || value.size < UPLOADED) continue;
        value.isOwned = true;
        value.on(device);
      }
    const given = new Set(initializersOf(this.#context, graph).keys());
    // Old files list initializers among the inputs, too.
    this.inputs = graph.inputs.filter((i) => !given.has(i.name)).map(valueOf);
    this.outputs = graph.outputs.map(valueOf);
  }

  /**
   * The outputs for inputs by name (one tensor alone for a model of one input). Throws ValueError for a name that is not there or missing, DTypeError
   * and ShapeError for tensors that do not fit, UnsupportedError for an operator that the importer does not know.
   */
  call(inputs: Tensor | Readonly<Record<string, Tensor>>): Record<string, Tensor> {
    const given = inputs instanceof Tensor ? { [this.#only()]: inputs } : inputs;
    const names = this.#graph.inputs.map((i) => i.name);
    for (const name of Object.keys(given))
      if (!names.includes(name)) throw new ValueError("onnx", "input", `one of ${names.join(", ")}`, name);
    const lengths = new Map<string, number>();
    for (const i of this.inputs) {
      const t = given[i.name];
      if (t === undefined) throw new ValueError("onnx", `input ${i.name}`, "given", "nothing");
      demandFits(i, t, lengths);
    }
    return scope(() => {
      const results = this.run(names.map((name) => (given[name] === undefined ? undefined : to(given[name], this.device))));
      return Object.fromEntries(results.map((v, i) => [this.outputs[i]!.name, this.#result(v, this.outputs[i]!.name)]));
    });
  }

  /** @internal Any kind of value, in the graph's order. */
  run(inputs: readonly (Value | undefined)[]): Value[] {
    return runGraph(this.#context, this.#graph, inputs);
  }

  #only(): string {
    if (this.inputs.length !== 1)
      throw new ValueError("onnx", "inputs", `by name: ${this.inputs.map((i) => i.name).join(", ")}`, "a tensor");
    return this.inputs[0]!.name;
  }

  /** A tensor that belongs to the caller. */
  #result(v: Value, name: string): Tensor {
    if (v instanceof Constant) return fromBytes("onnx", this.device, v.dtype, v.shape, v.data);
    if (v instanceof Tensor) return v;
    throw new DTypeError("onnx", `output ${name}`, "a tensor", describe(v));
  }

  /** Frees the weights. */
  dispose(): void {
    for (const g of graphsOf(this.#graph))
      for (const value of initializersOf(this.#context, g).values()) if (value instanceof Constant) value.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Lengths of one name are the same everywhere. */
function demandFits({ name, dtype, shape }: OnnxValue, t: Tensor, lengths: Map<string, number>): void {
  if (!(t instanceof Tensor)) throw new DTypeError("onnx", `input ${name}`, "a tensor", t);
  if (dtype !== null && t.dtype !== dtype) throw new DTypeError("onnx", `input ${name}`, `of dtype ${dtype}`, t.describe());
  if (shape === null) return;
  const fits =
    t.rank === shape.length &&
    shape.every((d, i) => {
      if (d === null) return true;
      if (typeof d === "number") return d === t.shape[i];
      const known = lengths.get(d);
      if (known === undefined) lengths.set(d, t.shape[i]!);
      return known === undefined || known === t.shape[i];
    });
  if (!fits) throw new ShapeError("onnx", `input ${name}`, `[${shape.map((d) => d ?? "?").join(", ")}]`, t.describe());
}

/** Options of onnx.load(). */
export interface OnnxOptions {
  /** Where the model runs. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

/** A model from a file's bytes. external: finds the data that lie in other files. */
export function modelFrom(bytes: Uint8Array, options: OnnxOptions, external: External | null): OnnxModel {
  const device = demandDevice("onnx", options.device ?? defaultDevice());
  const message = readModel(bytes);
  if (message.graph === null) throw new FormatError("onnx", "file", "an ONNX model", "no graph");
  if (message.opsets.length === 0) throw new FormatError("onnx", "file", "a model that names its operator sets", "none");
  return new OnnxModel(message, message.graph, device, external);
}
