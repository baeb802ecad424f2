/** Types of safetensors files that are open. */
import type { DeviceLike } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import type { Tensor } from "../core/tensor.ts";
import type { TransferOptions } from "./parts.ts";

/** Options of safetensors.load(). */
export interface LoadOptions extends TransferOptions {
  /** Where the tensors go; "meta" reads shapes and dtypes alone. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

/** Options of an open safetensors file's load(). */
export interface SafetensorsLoadOptions extends LoadOptions {
  /** The tensors that are read. Default: all. */
  readonly names?: readonly string[] | undefined;
}

/** What a file says of a tensor. */
export interface SafetensorsInfo {
  /** Its name. */
  readonly name: string;
  /** Of its elements. */
  readonly dtype: DType;
  /** Its lengths. */
  readonly shape: readonly number[];
  /** In the file. */
  readonly sizeInBytes: number;
}

/** A safetensors file, or the files of an index as one: headers have been read, tensors are read when they are asked for. Made by safetensors.open(). */
export interface SafetensorsFile {
  /** The files. */
  readonly paths: readonly string[];
  /** Texts by name; of several files the first one's. */
  readonly metadata: Readonly<Record<string, string>>;
  /** What the files say of each tensor, by name. */
  readonly tensors: ReadonlyMap<string, SafetensorsInfo>;
  /** Reads a tensor, in pieces, straight to a device. Throws ValueError for a name that is not there. */
  tensor(name: string, options?: LoadOptions): Promise<Tensor>;
  /** Reads tensors by name: all, or `names`. What was read is freed if it fails. */
  load(options?: SafetensorsLoadOptions): Promise<Record<string, Tensor>>;
  /** Closes the files: nothing can be read from now on. */
  close(): Promise<void>;
  /** As close(). */
  [Symbol.asyncDispose](): Promise<void>;
}
