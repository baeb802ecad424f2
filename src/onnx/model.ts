/** The public class of an ONNX model. The importer and the operators are in read-model.ts and what that imports: the first load() loads them. */
import { device as deviceOf, type Device, type DeviceLike } from "../core/device.ts";
import { isDType, type DType } from "../core/dtype.ts";
import { DTypeError, ValueError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import { OWN } from "../nn/inner.ts";
import { Module } from "../nn/module.ts";
import { Parameter } from "../nn/parameter.ts";
import type { Site } from "../nn/sites.ts";
import type { Constant, Value } from "./format/value.ts";
import type { Weights } from "./weights.ts";

/** An input or output of a model. */
export interface OnnxValue {
  /** Its name in the graph. */
  readonly name: string;
  /** null for what is no tensor. */
  readonly dtype: DType | null;
  /** Lengths; a name where any length will do, null where nothing is said. */
  readonly shape: readonly (number | string | null)[] | null;
}

/** A node of a model's graph. */
export interface OnnxNode {
  /** Its name in the file; that of its first output if it has none there. */
  readonly name: string;
  /** Its operator, with the domain in front if it is not ONNX's own: "Conv", "com.microsoft.Gelu". */
  readonly operator: string;
  /** Names of what it reads, "" for an optional input that is missing. */
  readonly inputs: readonly string[];
  /** Names of what it makes. */
  readonly outputs: readonly string[];
}

/** The value of an input that load() makes a constant. */
export type OnnxConstant = number | bigint | boolean | readonly (number | bigint | boolean)[] | ArrayBufferView | Tensor;

/** What runs in place of a node: gets the values that the node reads, but for weights, and gives the node's outputs. */
export type OnnxLayer = Module | ((...inputs: Tensor[]) => Tensor | readonly Tensor[]);

/** Options of onnx.load(). */
export interface OnnxOptions {
  /** Where the model runs. Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** How often graphs inside nodes (Loop, Scan, SequenceMap, If) may run in one call, all together. Default: 100,000. */
  readonly maxIterations?: number | undefined;
  /** Whether the weights require gradients. Default: false. */
  readonly trainable?: boolean | undefined;
  /** Names of the values that the model gives, in this order: outputs, or any other values of the graph. What they do not need is left out. Default: all outputs. */
  readonly outputs?: readonly string[] | undefined;
  /** Values of inputs that are the same in every call. They are no inputs any more, and an If that they decide becomes its branch. */
  readonly constants?: Readonly<Record<string, OnnxConstant>> | undefined;
  /** Layers that run in place of nodes, by the name of the node. */
  readonly layers?: Readonly<Record<string, OnnxLayer>> | undefined;
  /** Whether call() runs node by node instead of making a program for each kind of inputs. Default: false. */
  readonly eager?: boolean | undefined;
  /**
   * Lengths of the inputs that change from call to call, by their names (`["batch", "sequence"]`), or axes by input (`{ x: [0, 3] }`): one program serves
   * all lengths of a bucket, as `dynamic` of compile() has it. Default: a program for each shape.
   */
  readonly dynamic?: readonly string[] | Readonly<Record<string, readonly number[]>> | undefined;
  /**
   * Channels of a block in files that ONNX Runtime has optimized for one machine (`com.microsoft.nchwc`): 16 where that has AVX-512 or is an arm64, else
   * 8. Default: what the shapes of the weights say; an error where they do not tell.
   */
  readonly channelBlock?: 8 | 16 | undefined;
}

/** Options of an ONNX model's call(). */
export interface OnnxCallOptions {
  /** Ends the call: asked before it, and before each run of a graph inside a node. */
  readonly signal?: AbortSignal | undefined;
  /** Whether this call runs node by node. Default: what load() was told. */
  readonly eager?: boolean | undefined;
}

/** The graph of a model with its weights, and how it is run. */
export interface ModelProgram {
  readonly device: Device;
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly nodes: readonly OnnxNode[];
  readonly weights: Weights;
  /** Modules that run in place of nodes. */
  readonly modules: ReadonlyMap<string, Module>;
  call(inputs: Tensor | Readonly<Record<string, Tensor>>, options: OnnxCallOptions): Record<string, Tensor>;
  /** Any kind of value, in the graph's order. */
  run(inputs: readonly (Value | undefined)[], signal?: AbortSignal): Value[];
  replace(node: string, layer: OnnxLayer): void;
  moved(device: Device): void;
  /** With weights of its own. layers: copies modules that run in place of nodes. */
  copy(layers: (module: Module) => Module): ModelProgram;
  dispose(): void;
}

/**
 * An ONNX model on a device, made by onnx.load(): a module whose parameters have the names of the file's weights. Its nodes do what the file says in
 * either mode; train() and eval() reach the layers that were put in.
 */
export class OnnxModel extends Module {
  /** Keys and texts that the file carries. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly #program: ModelProgram;

  /** @internal Use load(). */
  constructor(program: ModelProgram, metadata: Readonly<Record<string, string>>) {
    super();
    this.#program = program;
    this.metadata = metadata;
    this.training = false;
    this.#register();
  }

  /** The device that holds its weights. */
  get device(): Device {
    return this.#program.device;
  }

  /** What call() takes, in the graph's order. */
  get inputs(): readonly OnnxValue[] {
    return this.#program.inputs;
  }

  /** What call() gives, in the graph's order. */
  get outputs(): readonly OnnxValue[] {
    return this.#program.outputs;
  }

  /** The nodes of the graph, in the order in which they run. */
  get nodes(): readonly OnnxNode[] {
    return this.#program.nodes;
  }

  #register(): void {
    const { buffers } = this[OWN];
    buffers.clear();
    for (const [name, buffer] of this.#program.weights.buffers) buffers.set(name, buffer);
  }

  /** @internal Parameters by the names of the file's weights, and modules by the names of the nodes that they replace. */
  override *members(): Generator<[string, Parameter | Module]> {
    for (const [name, { tensor }] of this.#program.weights.parameters) if (tensor instanceof Parameter) yield [name, tensor];
    yield* this.#program.modules;
  }

  /** @internal */
  override *sites(): Generator<Site> {
    const { parameters, statistics } = this.#program.weights;
    const site = (constant: Constant): Site => ({ tensor: constant.tensor!, put: (next) => constant.show(next) });
    for (const constant of [...parameters.values(), ...statistics]) yield site(constant);
  }

  /**
   * The outputs for inputs by name (one tensor alone for a model of one input). Throws ValueError for a name that is not there or missing, DTypeError
   * and ShapeError for tensors that do not fit, DisposedError after dispose().
   * The outputs are the caller's own: none shares memory with an input, a weight or another output.
   *
   * A kind of inputs (shapes, dtypes) that comes again is compiled: such a call costs what its program costs. Nodes that read data on the host (NonZero,
   * Loop, If) run between two programs. eager: node by node instead. signal: asked before the call and before each run of a graph inside a node
   * (Loop, Scan, If); its reason is thrown.
   */
  override call(inputs: Tensor | Readonly<Record<string, Tensor>>, options: OnnxCallOptions = {}): Record<string, Tensor> {
    return this.#program.call(inputs, options);
  }

  /**
   * The one output of a model, for its inputs in the graph's order (or by name, in one object): what a call of the model as a module runs. Throws
   * ValueError for a model of several outputs: call() gives them by name, and load(file, { outputs: [name] }) makes a model of one of them.
   */
  override forward(...inputs: (Tensor | Readonly<Record<string, Tensor>>)[]): Tensor {
    const program = this.#program;
    const [output] = program.outputs;
    if (program.outputs.length !== 1 || output === undefined)
      throw new ValueError("onnx", "model", "of one output", program.outputs.map((o) => o.name), "Use call(), or load(file, { outputs: [name] })."); // prettier-ignore
    const [first] = inputs;
    if (inputs.length === 1 && first !== undefined) return program.call(first, {})[output.name]!;
    if (inputs.length !== program.inputs.length)
      throw new ValueError("onnx", "inputs", `${program.inputs.length}: ${program.inputs.map((i) => i.name).join(", ")}`, inputs.length);
    const byName: Record<string, Tensor> = {};
    inputs.forEach((t, i) => {
      if (!(t instanceof Tensor)) throw new DTypeError("onnx", `input ${program.inputs[i]!.name}`, "a tensor", t);
      Object.defineProperty(byName, program.inputs[i]!.name, { value: t, enumerable: true });
    });
    return program.call(byName, {})[output.name]!;
  }

  /**
   * Runs a layer in place of a node from now on: a module, whose parameters become this one's under the node's name, or a function. It gets the values
   * that the node reads, but for weights, and gives the node's outputs, one tensor or a list. Weights that only that node has read are freed. Returns
   * the model. Throws ValueError for a name that no node has.
   */
  replace(node: string, layer: OnnxLayer): this {
    this.#program.replace(node, layer);
    this.#register();
    return this;
  }

  /** @internal Any kind of value, in the graph's order. */
  run(inputs: readonly (Value | undefined)[], signal?: AbortSignal): Value[] {
    return this.#program.run(inputs, signal);
  }

  /** Moves the weights, gradients and buffers to a device, where the model runs then. Throws DTypeError for a dtype: those of a graph are its own. */
  override to(target: DeviceLike | DType): this {
    if (isDType(target))
      throw new DTypeError("onnx", "target", "a device, since the nodes of an ONNX model have dtypes of their own", target);
    super.to(target);
    this.#program.moved(deviceOf(target));
    return this;
  }

  /** A model with weights of its own, on the same device. Layers that are modules are copied; hooks of the model itself are not. */
  override clone(copies: Map<object, unknown> = new Map()): this {
    const program = this.#program.copy((module) => (copies.get(module) as Module | undefined) ?? module.clone(copies));
    const copy = new OnnxModel(program, this.metadata);
    copy.training = this.training;
    copies.set(this, copy);
    return copy as this;
  }

  /** Frees the weights: call() throws a DisposedError from now on. Earlier results stay. */
  override dispose(): void {
    for (const module of this.#program.modules.values()) module.dispose();
    this.#program.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  protected override describeOptions(): string {
    const show = (list: readonly OnnxValue[]): string => list.map((v) => v.name).join(", ");
    return `${show(this.inputs)} -> ${show(this.outputs)}, nodes=${this.nodes.length}`;
  }
}
