// Made by npm run generate from the families in src/ops.
import { guardedAsync } from "./kinds.generated.ts";
import * as $ioNpzIndex from "../io/npz/index.ts";
export type { NpzLoadOptions } from "../io/npz/options.ts";
export type { NpzOptions } from "../io/npz/options.ts";
export type { NpzSaveOptions } from "../io/npz/options.ts";
export type { NpzTensors } from "../io/npz/options.ts";
export type { NpzWriteOptions } from "../io/npz/options.ts";
/**
 * Reads the arrays of a file of numpy.savez() or numpy.savez_compressed(), in pieces: neither the file nor an array has to fit the host's memory. Dtypes
 * and strides are those of npy.load(). `names` limits what is read, and gives the result its type: `{ names: ["x", "y"] }` gives `{ x, y }`.
 *
 * path: text or a file: URL, of a file; a zip file cannot be read from a pipe. Throws FormatError for a damaged file (each array has a CRC), for two
 * arrays of one name, and for more than maxBytes; UnsupportedError for a dtype that the library lacks; ValueError for a name that is not there.
 * Reference: numpy.load.
 */
export const load = guardedAsync($ioNpzIndex.load, "npz.load", "path:anything options:device_887f58?");
/** The tensors in the bytes of a .npz file. Throws as load() does. */
export const deserialize = guardedAsync($ioNpzIndex.deserialize, "npz.deserialize", "bytes:data options:device_98f273?");
/**
 * Writes tensors by name into a .npz file, which appears whole or not at all; numpy.load() reads it. The elements are those of now: a tensor that changes
 * before they were read is a ValueError. bfloat16 is refused, since NumPy lacks it.
 *
 * path: text or a file: URL. tensors: an object of them, for example a model's stateDict(). Throws ValueError where the file cannot be written.
 * Reference: numpy.savez, numpy.savez_compressed.
 */
export const save = guardedAsync($ioNpzIndex.save, "npz.save", "path:anything tensors:anything options:NpzSaveOptions?");
/** Tensors by name as the bytes of a .npz file. bfloat16 is refused, since NumPy lacks it. */
export const serialize = guardedAsync($ioNpzIndex.serialize, "npz.serialize", "tensors:anything options:NpzWriteOptions?");
