/** Options of reading and writing .npz files. */
import type { DeviceLike } from "../../core/device.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { TransferOptions } from "../parts.ts";
import type { Tensors } from "../safetensors.ts";

/** Options of npz.deserialize(). */
export interface NpzOptions<Name extends string = string> {
  /** Where the tensors go; "meta" reads shapes and dtypes alone. Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** The arrays that are read. Default: all. */
  readonly names?: readonly Name[] | undefined;
  /**
   * Bytes that all deflated arrays of the archive together may have, since a small file can name a very large array. Default: 1 GiB, or 100 times the
   * file's size if that is more.
   */
  readonly maxBytes?: number | undefined;
}

/** Options of npz.load(). */
export interface NpzLoadOptions<Name extends string = string> extends NpzOptions<Name>, TransferOptions {}

/** Options of npz.serialize(). */
export interface NpzWriteOptions {
  /** Deflates the arrays, as numpy.savez_compressed() does. Default: false. */
  readonly compressed?: boolean | undefined;
}

/** Options of npz.save(). */
export interface NpzSaveOptions extends NpzWriteOptions, TransferOptions {}

/** Tensors by the names that were asked for; by any name if none was. */
export type NpzTensors<Name extends string> = string extends Name ? Tensors : { readonly [N in Name]: Tensor };
