// Made by npm run generate from the families in src/ops.
export type { FilePath } from "../host/source.ts";
export type { Loaded, LoadOptions, Metadata, Progress, Tensors, TransferOptions } from "../io/safetensors.ts";
export { FormatError } from "../core/errors.ts";
export * as onnx from "./onnx.generated.ts";
export * as safetensors from "./safetensors.generated.ts";
