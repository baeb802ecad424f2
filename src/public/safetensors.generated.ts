// Made by npm run generate from the families in src/ops.
import { guarded } from "./kinds.generated.ts";
import { guardedAsync } from "./kinds.generated.ts";
import * as $ioSafetensors from "../io/safetensors.ts";
export type { Progress } from "../io/parts.ts";
export type { TransferOptions } from "../io/parts.ts";
export type { LoadOptions } from "../io/safetensors-options.ts";
export type { SafetensorsFile } from "../io/safetensors-options.ts";
export type { SafetensorsInfo } from "../io/safetensors-options.ts";
export type { SafetensorsLoadOptions } from "../io/safetensors-options.ts";
export type { Tensors } from "../io/safetensors.ts";
export type { Metadata } from "../io/safetensors.ts";
export type { Loaded } from "../io/safetensors.ts";
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
 * Opens a file and reads its header; tensors are read when they are asked for. Of an index (`model.safetensors.index.json`) the files that it lists are
 * opened as one, and of a folder, as Hugging Face has them, its index or only file. Close it, or declare it with `await using`.
 *
 * path: text or a file: URL. Throws FormatError for damaged files, for an index that names tensors which its files lack, or have twice, or lacks some of
 * theirs, and for one that leads out of its folder.
 */
export const open = guardedAsync($ioSafetensors.open, "safetensors.open", "path:anything");
/**
 * Reads a file written by save() or any other implementation, of any size, or a pipe: it goes to the device in pieces. Of an index
 * (`model.safetensors.index.json`) and of a folder it reads the files that open() opens. path: text or a file: URL. Bytes of bools other than 0 and 1 are
 * true. Throws FormatError when it is damaged, or none of these.
 */
export const load = guardedAsync($ioSafetensors.load, "safetensors.load", "path:anything options:LoadOptions?");
