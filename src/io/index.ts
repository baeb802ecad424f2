/** Files of tensors, and of models. */
export { FormatError } from "../core/errors.ts";
export * as onnx from "../onnx/index.ts";
export * as gguf from "./gguf/index.ts";
export * as npy from "./npy/index.ts";
export * as npz from "./npz/index.ts";
export * as peft from "./peft/index.ts";
export * as pytorch from "./pytorch/index.ts";
export * as safetensors from "./safetensors.ts";
export * as tfjs from "./tfjs/index.ts";
export * as wav from "./wav/index.ts";
export type { FilePath } from "../host/source.ts";
export type { Loaded, LoadOptions, Metadata, Progress, Tensors, TransferOptions } from "./safetensors.ts";
