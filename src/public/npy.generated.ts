// Made by npm run generate from the families in src/ops.
import { guarded } from "./kinds.generated.ts";
import { guardedAsync } from "./kinds.generated.ts";
import * as $ioNpyIndex from "../io/npy/index.ts";
export type { NpyLoadOptions } from "../io/npy/index.ts";
/**
 * Reads a file of numpy.save(): bool, int8 to int64, uint8 to uint64, float16 to float64, of either byte order, in pieces of 16 MiB. Of a
 * column-major file (Fortran order) it returns a view with NumPy's strides. Objects, records and complex numbers are refused, and no code in the file
 * is run.
 *
 * path: text or a file: URL, of a file or a pipe. Throws FormatError for a damaged file, UnsupportedError for a dtype that the library lacks.
 * Reference: numpy.load.
 */
export const load = guardedAsync($ioNpyIndex.load, "npy.load", "path:anything options:NpyLoadOptions?");
/** The tensor in the bytes of a .npy file. Throws FormatError for a damaged file, UnsupportedError for a dtype that the library lacks. */
export const deserialize = guarded($ioNpyIndex.deserialize, "npy.deserialize", "bytes:data options:device_94a0e5?");
/** A tensor as the bytes of a .npy file of version 1, packed, as numpy.save() writes it. bfloat16 is refused, since NumPy lacks it. */
export const serialize = guardedAsync($ioNpyIndex.serialize, "npy.serialize", "tensor");
/**
 * Writes a tensor into a .npy file, which appears whole or not at all; numpy.load() reads it. The elements are those of now: a tensor that changes
 * before they were read is a ValueError. bfloat16 is refused, since NumPy lacks it.
 *
 * path: text or a file: URL. Throws ValueError where the file cannot be written. Reference: numpy.save.
 */
export const save = guardedAsync($ioNpyIndex.save, "npy.save", "path:anything tensor options:TransferOptions?");
