/** The public class of an ONNX model. The importer and the operators are in loaded-model.ts, which the first load() imports. */
import type { Device, DeviceLike } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Value } from "./format/value.ts";

/** An input or output of a model. */
export interface OnnxValue {
  /** Its name in the graph. */
  readonly name: string;
  /** null for what is no tensor. */
  readonly dtype: DType | null;
  /** Lengths; a name where any length will do, null where nothing is said. */
  readonly shape: readonly (number | string | null)[] | null;
}

/** Options of onnx.load(). */
export interface OnnxOptions {
  /** Where the model runs. Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** How often graphs inside nodes (Loop, Scan, SequenceMap, If) may run in one call, all together. Default: 100,000. */
  readonly maxIterations?: number | undefined;
}

/** Options of an ONNX model's call(). */
export interface OnnxCallOptions {
  /** Ends the call: asked before it, and before each run of a graph inside a node. */
  readonly signal?: AbortSignal | undefined;
}

/** The graph of a model with its weights, and how it is run. */
export interface ModelProgram {
  readonly device: Device;
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  call(inputs: Tensor | Readonly<Record<string, Tensor>>, options: OnnxCallOptions): Record<string, Tensor>;
  /** Any kind of value, in the graph's order. */
  run(inputs: readonly (Value | undefined)[], signal?: AbortSignal): Value[];
  dispose(): void;
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
  readonly #program: ModelProgram;

  /** @internal Use load(). */
  constructor(program: ModelProgram, metadata: Readonly<Record<string, string>>) {
    ({ device: this.device, inputs: this.inputs, outputs: this.outputs } = program);
    this.#program = program;
    this.metadata = metadata;
  }

  /**
   * The outputs for inputs by name (one tensor alone for a model of one input). Throws ValueError for a name that is not there or missing, DTypeError
   * and ShapeError for tensors that do not fit, UnsupportedError for an operator that the importer does not know, DisposedError after dispose().
   * The outputs are the caller's own: none shares memory with an input, a weight or another output. signal: asked before the call and before each
   * run of a graph inside a node (Loop, Scan, If); its reason is thrown.
   */
  call(inputs: Tensor | Readonly<Record<string, Tensor>>, options: OnnxCallOptions = {}): Record<string, Tensor> {
    return this.#program.call(inputs, options);
  }

  /** @internal Any kind of value, in the graph's order. */
  run(inputs: readonly (Value | undefined)[], signal?: AbortSignal): Value[] {
    return this.#program.run(inputs, signal);
  }

  /** Frees the weights: call() throws a DisposedError from now on. Earlier results stay. */
  dispose(): void {
    this.#program.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
