/** A model file as a function of named tensors. */
import { requireDevice } from "../runtime/devices.ts";
import { defaultDevice, type Device, type DeviceLike } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import { DisposedError, DTypeError, FormatError, ShapeError, ValueError } from "../core/errors.ts";
import { define } from "../core/own-property.ts";
import { fromBytes } from "../ops/creation/creation.ts";
import { to } from "../ops/data/conversion.ts";
import { clone } from "../ops/data/state.ts";
import { scope } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { Constants, UPLOADED } from "./format/attribute-constants.ts";
import { initializersOf, runGraph, versions, type Context } from "./run-graph.ts";
import { Budget, requireFinite, graphsOf, MAX_ITERATIONS } from "./format/limits.ts";
import { domainOf, functionKey } from "./format/operator-keys.ts";
import { readModel, type GraphMessage, type ModelMessage, type ValueInfoMessage } from "./format/proto.ts";
import type { External } from "./format/tensor-message.ts";
import { Constant, describe, dtypeOf, isWeight, type Value } from "./format/value.ts";

/** An input or output of a model. */
export interface OnnxValue {
  /** Its name in the graph. */
  readonly name: string;
  /** null for what is no tensor. */
  readonly dtype: DType | null;
  /** Lengths; a name where any length will do, null where nothing is said. */
  readonly shape: readonly (number | string | null)[] | null;
}

const DTYPED = 1;

function valueOf({ name, type }: ValueInfoMessage): OnnxValue {
  if (type === null || type.kind !== "tensor" || type.elementType < DTYPED) return { name, dtype: null, shape: null };
  return { name, dtype: dtypeOf(type.elementType, `onnx ${name}`), shape: type.dims };
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
  readonly #maxIterations: number;
  #isDisposed = false;

  /** @internal Use load(). */
  constructor(model: ModelMessage, graph: GraphMessage, device: Device, external: External | null, maxIterations: number) {
    this.device = device;
    this.#graph = graph;
    this.metadata = model.metadata;
    this.#maxIterations = maxIterations;
    requireFinite(model);
    const constants = new Constants();
    for (const { nodes } of [graph, ...model.functions]) constants.detach(nodes);
    this.#context = {
      device,
      opsets: versions(model.opsets),
      functions: new Map(model.functions.map((f) => [functionKey(domainOf(f.domain), f.name, f.overload), f])),
      initializers: new WeakMap(),
      folded: new WeakMap(),
      external,
      constants,
      budget: new Budget(0, undefined),
    };
    try {
      for (const g of graphsOf(graph))
        for (const value of initializersOf(this.#context, g).values()) {
          if (!(value instanceof Constant) || value.size < UPLOADED) continue;
          value.isOwned = true;
          value.on(device);
        }
    } catch (error) {
      this.dispose();
      throw error;
    }
    const initialized = new Set(initializersOf(this.#context, graph).keys());
    // Old files list initializers among the inputs, too.
    this.inputs = graph.inputs.filter((i) => !initialized.has(i.name)).map(valueOf);
    this.outputs = graph.outputs.map(valueOf);
  }

  /**
   * The outputs for inputs by name (one tensor alone for a model of one input). Throws ValueError for a name that is not there or missing, DTypeError
   * and ShapeError for tensors that do not fit, UnsupportedError for an operator that the importer does not know, DisposedError after dispose().
   * The outputs are the caller's own: none shares memory with an input, a weight or another output. signal: asked before the call and before each
   * run of a graph inside a node (Loop, Scan, If); its reason is thrown.
   */
  call(inputs: Tensor | Readonly<Record<string, Tensor>>, { signal }: OnnxCallOptions = {}): Record<string, Tensor> {
    this.#requireLive();
    signal?.throwIfAborted();
    const byName = inputs instanceof Tensor ? { [this.#only()]: inputs } : inputs;
    const names = this.#graph.inputs.map((i) => i.name);
    for (const name of Object.keys(byName))
      if (!names.includes(name)) throw new ValueError("onnx", "input", `one of ${names.join(", ")}`, name);
    const lengths = new Map<string, number>();
    for (const i of this.inputs) {
      const t = byName[i.name];
      if (t === undefined) throw new ValueError("onnx", `input ${i.name}`, "given", "nothing");
      requireFits(i, t, lengths);
    }
    return scope(() => {
      const own = names.map((name) => (byName[name] === undefined ? undefined : to(byName[name], this.device)));
      const results = this.run(own, signal);
      const shared = new Set<object>(own.flatMap((t) => (t === undefined ? [] : [t.storage])));
      const made: Record<string, Tensor> = {};
      results.forEach((v, i) => define(made, this.outputs[i]!.name, this.#result(v, this.outputs[i]!.name, shared)));
      return made;
    });
  }

  /** @internal Any kind of value, in the graph's order. */
  run(inputs: readonly (Value | undefined)[], signal?: AbortSignal): Value[] {
    this.#requireLive();
    const before = this.#context.budget;
    this.#context.budget = new Budget(this.#maxIterations, signal);
    try {
      return runGraph(this.#context, this.#graph, inputs);
    } finally {
      this.#context.budget = before;
    }
  }

  #requireLive(): void {
    if (this.#isDisposed) throw new DisposedError("onnx", "model", "one that is not disposed of", "a disposed one");
  }

  #only(): string {
    if (this.inputs.length !== 1)
      throw new ValueError("onnx", "inputs", `by name: ${this.inputs.map((i) => i.name).join(", ")}`, "a tensor");
    return this.inputs[0]!.name;
  }

  /** A tensor that belongs to the caller alone. shared: the storages of inputs and of outputs before. */
  #result(v: Value, name: string, shared: Set<object>): Tensor {
    if (v instanceof Constant) return v.isOwned ? clone(v.on(this.device)) : fromBytes("onnx", this.device, v.dtype, v.shape, v.data);
    if (v instanceof Tensor) {
      const made = shared.has(v.storage) || isWeight(v) ? clone(v) : v;
      shared.add(made.storage);
      return made;
    }
    throw new DTypeError("onnx", `output ${name}`, "a tensor", describe(v));
  }

  /** Frees the weights: call() throws a DisposedError from now on. Earlier results stay. */
  dispose(): void {
    this.#isDisposed = true;
    this.#context.constants.dispose();
    for (const g of graphsOf(this.#graph))
      for (const value of this.#context.initializers.get(g)?.values() ?? []) if (value instanceof Constant) value.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Lengths of one name are the same everywhere. */
function requireFits({ name, dtype, shape }: OnnxValue, t: Tensor, lengths: Map<string, number>): void {
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
  /** How often graphs inside nodes (Loop, Scan, SequenceMap, If) may run in one call, all together. Default: 100,000. */
  readonly maxIterations?: number | undefined;
}

/** Options of OnnxModel.call(). */
/** Options of an ONNX model's call(). */
export interface OnnxCallOptions {
  /** Ends the call: asked before it, and before each run of a graph inside a node. */
  readonly signal?: AbortSignal | undefined;
}

/** A model from a file's bytes. external: finds the data that lie in other files. */
export function modelFrom(bytes: Uint8Array, options: OnnxOptions, external: External | null): OnnxModel {
  const device = requireDevice("onnx", options.device ?? defaultDevice());
  const maxIterations = options.maxIterations ?? MAX_ITERATIONS;
  if (!Number.isSafeInteger(maxIterations) || maxIterations < 0)
    throw new ValueError("onnx.load", "maxIterations", "an integer of at least 0", maxIterations);
  // Text cannot be decoded from shared memory.
  const message = readModel(bytes.buffer instanceof ArrayBuffer ? bytes : new Uint8Array(bytes));
  if (message.graph === null) throw new FormatError("onnx", "file", "an ONNX model", "no graph");
  if (message.opsets.length === 0) throw new FormatError("onnx", "file", "a model that names its operator sets", "none");
  return new OnnxModel(message, message.graph, device, external, maxIterations);
}
