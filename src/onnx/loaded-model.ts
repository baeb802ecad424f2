/** A parsed model with its weights on a device, and how it is run. The first onnx.load() imports this file. */
import type { Device } from "../core/device.ts";
import { DisposedError, DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { batching } from "../core/batching.ts";
import { define } from "../core/own-property.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { keep, outsideScopes, scope } from "../core/scope.ts";
import type { Storage } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { Module } from "../nn/module.ts";
import { fromBytes } from "../ops/creation/creation.ts";
import { to } from "../ops/data/conversion.ts";
import { clone } from "../ops/data/state.ts";
import { foldZeroPoints } from "./block-minima.ts";
import { Constants } from "./format/attribute-constants.ts";
import { Budget, graphsOf } from "./format/limits.ts";
import { domainOf, functionKey } from "./format/operator-keys.ts";
import type { FunctionMessage, GraphMessage, NodeMessage, OpsetMessage, ValueInfoMessage } from "./format/proto.ts";
import type { External } from "./format/tensor-message.ts";
import { Constant, describe, dtypeOf, STRING, type Value } from "./format/value.ts";
import { inputAxes, type InputAxes } from "./dynamic-axes.ts";
import { nameOf, readNames, readsOf } from "./graph-order.ts";
import { rolesOf, type Role } from "./learned.ts";
import { Intermediates } from "./intermediates.ts";
import type { ModelProgram, OnnxCallOptions, OnnxLayer, OnnxNode, OnnxOptions, OnnxValue } from "./model.ts";
import { drawsNumbers } from "./random-nodes.ts";
import { initializersOf, named, Names, runGraph, runNode, versions, type Context } from "./run-graph.ts";
import { isRefusal, partsOf, Segment, type Part } from "./segments.ts";
import { foldWeights } from "./weight-folding.ts";
import { Weights } from "./weights.ts";

const DTYPED = 1;

function valueOf({ name, type }: ValueInfoMessage): OnnxValue {
  if (type === null || type.kind !== "tensor" || type.elementType < DTYPED) return { name, dtype: null, shape: null };
  return { name, dtype: type.elementType === STRING ? null : dtypeOf(type.elementType, `onnx ${name}`), shape: type.dims };
}

/** What a graph, its functions and its options say about how it is run. */
export interface Source {
  readonly graph: GraphMessage;
  readonly functions: readonly FunctionMessage[];
  readonly opsets: readonly OpsetMessage[];
  readonly device: Device;
  readonly external: External | null;
  readonly maxIterations: number;
  readonly isEager: boolean;
  readonly isTrainable: boolean;
  /** Values of inputs that are none any more. */
  readonly constants: ReadonlyMap<string, Constant>;
  /** What load() was told. */
  readonly dynamic: OnnxOptions["dynamic"];
  /** Names of nodes that stay nodes. */
  readonly kept: ReadonlySet<string>;
}

/** What all runs of a model's graphs share. */
export const contextOf = ({ functions, opsets, device, external }: Omit<Source, "graph">): Context => ({
  device,
  opsets: versions(opsets),
  functions: new Map(functions.map((f) => [functionKey(domainOf(f.domain), f.name, f.overload), f])),
  initializers: new WeakMap(),
  folded: new WeakMap(),
  computed: new Set(),
  external,
  isLoading: true,
  constants: new Constants(),
  layers: new Map(),
  refused: null,
  budget: new Budget(0, undefined),
});

/** The graph, the weights on the device, and the constants of a model. */
export class LoadedModel implements ModelProgram {
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly weights: Weights;
  readonly modules = new Map<string, Module>();
  readonly #graph: GraphMessage;
  readonly #context: Context;
  readonly #source: Source;
  /** The values that are there before each run. */
  readonly #known: Names;
  readonly #dynamic: InputAxes;
  readonly #names: readonly string[];
  readonly #results: readonly string[];
  /** Nodes that no program contains: those that draw random numbers or make maps, layers in place of nodes, and those that read data in a trace. */
  readonly #alone = new Set<NodeMessage>();
  readonly #layers = new Map<NodeMessage, OnnxLayer>();
  readonly #hasBodies: boolean;
  #parts: readonly Part[] | null = null;
  #accepted: readonly Tensor["desc"][] = [];
  #isDisposed = false;

  constructor(source: Source, context: Context) {
    const { graph, device } = source;
    this.#source = source;
    this.#graph = graph;
    this.#context = context;
    this.weights = new Weights(() => this.#drop());
    for (const { nodes } of [graph, ...source.functions]) context.constants.detach(nodes);
    const constants = new Map(initializersOf(context, graph));
    context.initializers.set(graph, constants);
    for (const [name, constant] of source.constants) constants.set(name, constant);
    const role = rolesOf(graph);
    const isKept = (node: NodeMessage): boolean => source.kept.has(nameOf(node));
    for (const name of foldZeroPoints(graph, constants, isKept)) context.computed.add(name);
    for (const name of foldWeights(context, graph, constants, (name) => role(name) === "constant", isKept)) context.computed.add(name);
    const roleOf = (name: string): Role => (context.computed.has(name) ? "constant" : role(name));
    // Old files list initializers among the inputs, too.
    this.inputs = graph.inputs.filter((i) => !constants.has(i.name)).map(valueOf);
    try {
      this.#dynamic = inputAxes(this.inputs, source.dynamic);
      for (const g of graphsOf(graph))
        for (const [name, value] of initializersOf(context, g))
          if (value instanceof Constant) this.weights.add(name, value, g === graph ? roleOf(name) : "constant", device, source.isTrainable);
    } catch (error) {
      this.dispose();
      throw error;
    }
    context.isLoading = false;
    this.#known = new Names(null);
    for (const [name, value] of constants) this.#known.set(name, value);
    this.outputs = graph.outputs.map(valueOf);
    this.#names = graph.inputs.map((i) => i.name);
    this.#results = graph.outputs.map((o) => o.name);
    for (const node of graph.nodes) if (node.type === "ZipMap" || drawsNumbers(node, context.functions)) this.#alone.add(node);
    this.#hasBodies = [...graphsOf(graph)].length > 1;
  }

  get device(): Device {
    return this.#context.device;
  }

  get nodes(): readonly OnnxNode[] {
    return this.#graph.nodes.map((node) => ({
      name: nameOf(node),
      operator: domainOf(node.domain) === "" ? node.type : `${node.domain}.${node.type}`,
      inputs: [...node.inputs],
      outputs: [...node.outputs],
    }));
  }

  call(inputs: Tensor | Readonly<Record<string, Tensor>>, { signal, eager }: OnnxCallOptions): Record<string, Tensor> {
    this.#requireLive();
    signal?.throwIfAborted();
    const byName = inputs instanceof Tensor ? { [this.#only()]: inputs } : inputs;
    const own = this.#accept(byName);
    const isEager = eager ?? this.#source.isEager;
    if (own === null || isEager || batching() !== null || (signal !== undefined && this.#hasBodies) || !this.weights.areOwn) {
      const all = this.#names.map((name) => byName[name]);
      return scope(() => {
        const here = all.map((t) => (t === undefined ? undefined : to(t, this.device)));
        return this.#record(this.#owned(this.run(here, signal), here));
      });
    }
    if (own.every((t) => t.device === this.device)) return this.#record(this.#runParts(own));
    return scope(() => this.#record(this.#runParts(own.map((t) => to(t, this.device)))));
  }

  #record(results: readonly Tensor[]): Record<string, Tensor> {
    const made: Record<string, Tensor> = {};
    for (let i = 0; i < results.length; i++) define(made, this.#results[i]!, results[i]!);
    return made;
  }

  /** The inputs in the graph's order; null if there are others besides. Throws for those that do not fit. */
  #accept(byName: Readonly<Record<string, Tensor>>): Tensor[] | null {
    if (typeof byName !== "object" || byName === null || Array.isArray(byName))
      throw new DTypeError("onnx", "inputs", `tensors by name: ${this.inputs.map((i) => i.name).join(", ")}`, byName);
    let count = 0;
    for (const name of Object.keys(byName)) {
      if (!this.#names.includes(name)) throw new ValueError("onnx", "input", `one of ${this.#names.join(", ")}`, name);
      count++;
    }
    const { inputs } = this;
    let isKnown = this.#accepted.length === inputs.length;
    for (let i = 0; i < inputs.length && isKnown; i++) {
      const t = byName[inputs[i]!.name];
      isKnown = t instanceof Tensor && t.desc === this.#accepted[i] && !t.isDisposed;
    }
    if (!isKnown) {
      const lengths = new Map<string, number>();
      for (const i of inputs) {
        const t = byName[i.name];
        if (t === undefined) throw new ValueError("onnx", `input ${i.name}`, "given", "nothing");
        requireFits(i, t, lengths);
      }
      this.#accepted = inputs.map((i) => byName[i.name]!.desc);
    }
    return count === inputs.length ? inputs.map(({ name }) => byName[name]!) : null;
  }

  run(inputs: readonly (Value | undefined)[], signal?: AbortSignal): Value[] {
    this.#requireLive();
    return this.#within(new Budget(this.#source.maxIterations, signal), () => runGraph(this.#context, this.#graph, inputs));
  }

  #within<T>(budget: Budget, run: () => T): T {
    const before = this.#context.budget;
    this.#context.budget = budget;
    try {
      return run();
    } finally {
      this.#context.budget = before;
    }
  }

  /** By programs, and by the nodes between them. */
  #runParts(inputs: readonly Tensor[]): readonly Tensor[] {
    for (;;) {
      this.#context.refused = null;
      try {
        return this.#within(new Budget(this.#source.maxIterations, undefined), () => this.#runOnce(inputs));
      } catch (error) {
        const { refused } = this.#context;
        // Inside of a function that is compiled as a whole nothing can run on its own.
        if (tracer() !== null || refused === null || this.#alone.has(refused) || !isRefusal(error)) throw error;
        this.#alone.add(refused);
        this.#drop();
      }
    }
  }

  #runOnce(inputs: readonly Tensor[]): readonly Tensor[] {
    const { key } = this.weights;
    const parts = (this.#parts ??= partsOf(
      this.#context,
      this.#graph.nodes,
      this.#alone,
      this.#results,
      (name) => this.#known.get(name),
      (results, own) => this.#owned(results, own),
      this.#dynamic,
    ));
    const [only] = parts;
    const isTraced = tracer() !== null;
    if (parts.length === 1 && only instanceof Segment) {
      const values = only.inputs.length === inputs.length && this.#isInOrder(only) ? inputs : this.#chosen(only, inputs);
      return (isTraced ? only.trace(values, this.#known, key) : only.call(values, this.#known, key)) as readonly Tensor[];
    }
    return scope(() => this.#inParts(parts, inputs, key));
  }

  #isInOrder(segment: Segment): boolean {
    return segment.inputs.every((name, i) => name === this.inputs[i]!.name);
  }

  #chosen(segment: Segment, inputs: readonly Tensor[]): (Tensor | undefined)[] {
    return segment.inputs.map((name) => inputs[this.inputs.findIndex((i) => i.name === name)]);
  }

  #inParts(parts: readonly Part[], inputs: readonly Tensor[], key: string): Tensor[] {
    const names = new Names(this.#known);
    this.inputs.forEach(({ name }, i) => names.set(name, inputs[i]!));
    const isTraced = tracer() !== null;
    const made = new Intermediates();
    const last = this.#lastReads(parts);
    const run = (part: Part): readonly Value[] => {
      if (!(part instanceof Segment)) return runNode(this.#context, part, names);
      const values = part.inputs.map((name) => names.get(name));
      return isTraced ? part.trace(values, this.#known, key) : part.call(values, this.#known, key);
    };
    let results: Tensor[] = [];
    try {
      parts.forEach((part, at) => {
        const values = isTraced ? run(part) : made.make(() => run(part));
        part.outputs.forEach((name, i) => {
          if (name === "") return;
          names.set(name, values[i] ?? null);
          made.count(values[i], 1);
        });
        for (const name of last[at]!) made.count(names.take(name), -1);
      });
      results = this.#owned(
        this.#results.map((name) => named(names, name, "onnx")),
        inputs,
      );
      return results;
    } finally {
      made.end(results);
    }
  }

  #lastReads(parts: readonly Part[]): string[][] {
    const seen = new Set(this.#results);
    const last: string[][] = parts.map(() => []);
    for (let i = parts.length - 1; i >= 0; i--) {
      const part = parts[i]!;
      for (const name of [...(part instanceof Segment ? part.inputs : readsOf(part)), ...part.outputs])
        if (!seen.has(name)) {
          seen.add(name);
          last[i]!.push(name);
        }
    }
    return last;
  }

  #requireLive(): void {
    if (this.#isDisposed) throw new DisposedError("onnx", "model", "one that is not disposed of", "a disposed one");
  }

  #only(): string {
    if (this.inputs.length !== 1)
      throw new ValueError("onnx", "inputs", `by name: ${this.inputs.map((i) => i.name).join(", ")}`, "a tensor");
    return this.inputs[0]!.name;
  }

  /** Tensors that belong to the caller alone. */
  #owned(results: readonly Value[], inputs: readonly (Value | undefined)[]): Tensor[] {
    const shared = new Set<Storage>(inputs.flatMap((t) => (t instanceof Tensor ? [t.storage] : [])));
    return results.map((v, i) => this.#result(v, this.#results[i]!, shared));
  }

  /** shared: the storages of inputs and of outputs before. */
  #result(v: Value, name: string, shared: Set<Storage>): Tensor {
    if (v instanceof Constant) return v.isOwned ? clone(v.on(this.device)) : fromBytes("onnx", this.device, v.dtype, v.shape, v.data);
    if (v instanceof Tensor) {
      const isShared = shared.has(v.storage) || this.weights.isWeight(v) || this.#context.constants.has(v);
      const made = isShared ? clone(v) : v;
      shared.add(made.storage);
      return made;
    }
    throw new DTypeError("onnx", `output ${name}`, "a tensor", describe(v));
  }

  replace(name: string, layer: OnnxLayer): void {
    this.#requireLive();
    const node = this.#graph.nodes.find((n) => nameOf(n) === name);
    if (node === undefined)
      throw new ValueError("onnx", "node", `one of ${this.#graph.nodes.slice(0, 10).map(nameOf).join(", ")}${this.#graph.nodes.length > 10 ? ", …" : ""}`, name); // prettier-ignore
    if (typeof layer !== "function") throw new ValueError("onnx", "layer", "a module or a function", layer);
    this.#context.layers.set(node, this.#layerOf(node, layer));
    this.#layers.set(node, layer);
    if (layer instanceof Module) this.modules.set(name, layer);
    else this.modules.delete(name);
    this.#alone.add(node);
    const others = this.#graph.nodes.filter((n) => !this.#context.layers.has(n));
    const used = readNames(others, this.#results);
    const graphs = [...graphsOf(this.#graph)].filter((g) => g !== this.#graph);
    const inner = new Set(graphs.flatMap((g) => [...initializersOf(this.#context, g).values()]));
    this.weights.keep((constant) => {
      if (inner.has(constant)) return true;
      for (const [own, value] of initializersOf(this.#context, this.#graph)) if (value === constant) return used.has(own);
      return true;
    });
    this.#drop();
  }

  #layerOf(node: NodeMessage, layer: OnnxLayer): (inputs: readonly Value[]) => readonly Value[] {
    const call = layer as (...inputs: Tensor[]) => unknown;
    const computed = node.inputs.map((name) => name !== "" && this.#known.get(name) === undefined);
    return (inputs) => {
      const own = inputs.flatMap((v, i) => {
        if (!computed[i]) return [];
        if (v instanceof Constant) return [v.on(this.device)];
        if (v instanceof Tensor) return [v];
        throw new DTypeError("onnx", `input ${node.inputs[i]} of the layer for ${nameOf(node)}`, "a tensor", describe(v));
      });
      const results = call(...own);
      const list: readonly unknown[] = Array.isArray(results) ? (results as unknown[]) : [results];
      if (list.length < node.outputs.length || !list.every((t) => t instanceof Tensor))
        throw new DTypeError("onnx", `results of the layer for ${nameOf(node)}`, `${node.outputs.length} tensors`, results);
      return list as readonly Tensor[];
    };
  }

  copy(layers: (module: Module) => Module): LoadedModel {
    this.#requireLive();
    const { constants } = this.#context;
    const own = { ...this.#context, initializers: new WeakMap(), folded: new WeakMap(), layers: new Map() } as Context;
    const copies = new Map<Value, Constant>();
    for (const g of graphsOf(this.#graph)) {
      const made = new Map(initializersOf(this.#context, g));
      for (const [name, value] of made)
        if (value instanceof Constant) {
          const copy = value.copy();
          copies.set(value, copy);
          made.set(name, copy);
        }
      own.initializers.set(g, made);
    }
    constants.share();
    const fixed = new Map([...this.#source.constants].map(([name, c]) => [name, copies.get(c) ?? c]));
    const made = new LoadedModel({ ...this.#source, device: this.device, constants: fixed }, own);
    for (const node of this.#graph.nodes) {
      const layer = this.#layers.get(node);
      if (layer !== undefined) made.replace(nameOf(node), layer instanceof Module ? layers(layer) : layer);
    }
    for (const [name, { tensor }] of made.weights.parameters) {
      const of = this.weights.parameters.get(name)!.tensor!;
      tensor!.leafRequiresGrad = of.leafRequiresGrad;
      if (of.grad !== null) tensor!.grad = keep(noGrad(() => outsideScopes(() => clone(of.grad!))));
    }
    return made;
  }

  moved(device: Device): void {
    this.#context.device = device;
    this.#context.folded = new WeakMap();
    this.#drop();
  }

  /** Frees the programs. */
  #drop(): void {
    for (const part of this.#parts ?? []) if (part instanceof Segment) part.dispose();
    this.#parts = null;
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#drop();
    this.weights.dispose();
    this.#context.constants.dispose();
    for (const g of graphsOf(this.#graph))
      for (const value of this.#context.initializers.get(g)?.values() ?? []) if (value instanceof Constant) value.dispose();
  }
}

/** Lengths of one name are the same everywhere. */
function requireFits({ name, dtype, shape }: OnnxValue, t: Tensor, lengths: Map<string, number>): void {
  if (!(t instanceof Tensor)) throw new DTypeError("onnx", `input ${name}`, "a tensor", t);
  t.requireLive("onnx", `input ${name}`);
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
