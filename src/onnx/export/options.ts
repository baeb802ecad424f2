/** The arguments of onnx.export(). */
import type { Tensor } from "../../core/tensor.ts";
import type { Module } from "../../nn/module.ts";
import type { TransferOptions } from "../../io/parts.ts";

/** What a function that is exported returns: a tensor, or several, in an array or by name. */
export type ExportResult = Tensor | readonly Tensor[] | Readonly<Record<string, Tensor>>;

/** A module, or a function of tensors. */
export type ExportSource = ((...args: Tensor[]) => ExportResult) | Pick<Module, "training" | "stateDict">;

/** A tensor for the one argument, or one for each. */
export type ExportExample = Tensor | readonly Tensor[];

/** Names of the axes that may have any length, by the name of the input and the axis: `{ input: { 0: "batch" } }`. */
export type ExportDynamicAxes = Readonly<Record<string, Readonly<Record<number, string>>>>;

/** What inputs and outputs are called, in their order. */
export interface ExportNames {
  /** Default: "input", or "input0", "input1", …. */
  readonly inputs?: readonly string[] | undefined;
  /** Default: the result's own keys, "output", or "output0", "output1", …. */
  readonly outputs?: readonly string[] | undefined;
}

/** Options of onnx.export(). */
export interface ExportOptions extends TransferOptions {
  /** Axes that may have any length; an equal name is one length. Default: none, all lengths are the example's. */
  readonly dynamicAxes?: ExportDynamicAxes | undefined;
  /** Version of ONNX's operator set, 17 to 21. Default: 17. */
  readonly opset?: number | undefined;
  /** Names of inputs and outputs. */
  readonly names?: ExportNames | undefined;
  /** Texts that the file carries. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Whether weights go into a file next to the model, `file` with ".data" behind. Default: if they have more than 2 GB. */
  readonly externalData?: boolean | undefined;
}
