// Made by npm run generate from the families in src/ops.
import { guarded } from "./kinds.generated.ts";
import { guardedAsync } from "./kinds.generated.ts";
import * as $ioSafetensors from "../io/safetensors.ts";
export type { Progress } from "../io/parts.ts";
export type { TransferOptions } from "../io/parts.ts";
export type { Tensors } from "../io/safetensors.ts";
export type { Metadata } from "../io/safetensors.ts";
export type { Loaded } from "../io/safetensors.ts";
export type { LoadOptions } from "../io/safetensors.ts";
/** Tensors by name as the bytes of a safetensors file. Metadata: texts by name. */
export const serialize = guardedAsync($ioSafetensors.serialize, "safetensors.serialize", "tensors:recordOfTensor metadata:recordOfString?");
/**
 * Writes tensors by name (all dtypes, any strides, any size) into a file, which appears whole or not at all. They are read in
 * pieces: what is saved is the state of now, and a tensor that changes before its bytes were read is a ValueError; the first
 * 256 MiB are read at once.
 *
 * path: text or a file: URL. A file that is replaced keeps its mode and owner, a link stays one, and a device or FIFO is written to. A process
 * that is killed leaves a hidden file (.dxtensor-….part), which the next save into the folder removes. Throws ValueError where the file cannot
 * be written.
 */
export const save = guardedAsync($ioSafetensors.save, "safetensors.save", "path:anything tensors:recordOfTensor metadata:recordOfString? options:TransferOptions?");
/** The tensors in the bytes of a safetensors file. Throws FormatError for anything else. */
export const deserialize = guarded($ioSafetensors.deserialize, "safetensors.deserialize", "bytes:data options:device_94a0e5? source:string?");
/**
 * Reads a file written by save() or any other implementation, of any size, or a pipe: it goes to the device in pieces. path: text or a file: URL.
 * Bytes of bools other than 0 and 1 are true. Throws FormatError when it is damaged, or neither a file nor a pipe.
 */
export const load = guardedAsync($ioSafetensors.load, "safetensors.load", "path:anything options:LoadOptions?");
