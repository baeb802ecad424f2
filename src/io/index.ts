/** Files of tensors. */
export { FormatError } from "./format-error.ts";
export * as safetensors from "./safetensors.ts";
export type { Loaded, LoadOptions, Metadata, Progress, Tensors, TransferOptions } from "./safetensors.ts";
