/** A parsed model with its weights on a device, and how it is run. The first onnx.load() imports this file. */
import { requireDevice } from "../runtime/devices.ts";
import { defaultDevice, type Device } from "../core/device.ts";
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
import { OnnxModel, type ModelProgram, type OnnxCallOptions, type OnnxOptions, type OnnxValue } from "./model.ts";
import { Constant, describe, dtypeOf, isWeight, STRING, type Value } from "./format/value.ts";

const DTYPED = 1;

function valueOf({ name, type }: ValueInfoMessage): OnnxValue {
  if (type === null || type.kind !== "tensor" || type.elementType < DTYPED) return { name, dtype: null, shape: null };
  return { name, dtype: type.elementType === STRING ? null : dtypeOf(type.elementType, `onnx ${name}`), shape: type.dims };
}

/** The graph, the weights on the device, and the constants of a model. */
export class LoadedModel implements ModelProgram {
  readonly device: Device;
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly #graph: GraphMessage;
  readonly #context: Context;
  readonly #maxIterations: number;
  #isDisposed = false;

  constructor(model: ModelMessage, graph: GraphMessage, device: Device, external: External | null, maxIterations: number) {
    this.device = device;
    this.#graph = graph;
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

  call(inputs: Tensor | Readonly<Record<string, Tensor>>, { signal }: OnnxCallOptions): Record<string, Tensor> {
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

  dispose(): void {
    this.#isDisposed = true;
    this.#context.constants.dispose();
    for (const g of graphsOf(this.#graph))
      for (const value of this.#context.initializers.get(g)?.values() ?? []) if (value instanceof Constant) value.dispose();
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
  return new OnnxModel(new LoadedModel(message, message.graph, device, external, maxIterations), message.metadata);
}
