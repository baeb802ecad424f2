// Made by npm run generate from the families in src/ops.
export type { FilePath } from "../host/source.ts";
export type { Loaded } from "../io/safetensors.ts";
export type { Metadata } from "../io/safetensors.ts";
export type { Tensors } from "../io/safetensors.ts";
export type { LoadOptions } from "../io/safetensors-options.ts";
export type { Progress } from "../io/parts.ts";
export type { TransferOptions } from "../io/parts.ts";
export { FormatError } from "../core/errors.ts";
export * as onnx from "./onnx.generated.ts";
export * as gguf from "./gguf.generated.ts";
export * as npy from "./npy.generated.ts";
export * as npz from "./npz.generated.ts";
export * as peft from "./peft.generated.ts";
export * as pytorch from "./pytorch.generated.ts";
export * as safetensors from "./safetensors.generated.ts";
export * as tfjs from "./tfjs.generated.ts";
export * as wav from "./wav.generated.ts";
