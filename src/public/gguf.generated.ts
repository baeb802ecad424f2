// Made by npm run generate from the families in src/ops.
import { guardedAsync } from "./kinds.generated.ts";
import * as $ioGgufIndex from "../io/gguf/index.ts";
export type { GgufContent } from "../io/gguf/options.ts";
export type { GgufFile } from "../io/gguf/options.ts";
export type { GgufLoaded } from "../io/gguf/options.ts";
export type { GgufLoadOptions } from "../io/gguf/options.ts";
export type { GgufPacked } from "../io/gguf/options.ts";
export type { GgufQuantizeType } from "../io/gguf/options.ts";
export type { GgufScalarType } from "../io/gguf/options.ts";
export type { GgufTensorInfo } from "../io/gguf/options.ts";
export type { GgufTensorOptions } from "../io/gguf/options.ts";
export type { GgufValue } from "../io/gguf/options.ts";
export type { GgufValueType } from "../io/gguf/options.ts";
export type { GgufVocabulary } from "../io/gguf/options.ts";
export type { GgufType } from "../io/gguf/types.ts";
/**
 * Opens a GGUF file and reads its header: metadata, vocabulary and the table of tensors. Tensors are read when they are asked for, by their offsets, so a
 * file of any size takes no more memory than what is read of it. Versions 2 and 3, either byte order; of a file that is one of several parts
 * (`name-00001-of-00003.gguf`) all are opened. Close it, or declare it with `await using`.
 *
 * path: text or a file: URL. Throws FormatError for a damaged file, UnsupportedError for version 1 and unknown element types, which it lists.
 * Reference: gguf.GGUFReader of llama.cpp's Python package.
 */
export const open = guardedAsync($ioGgufIndex.open, "gguf.open", "path:anything");
/**
 * Reads all tensors of a GGUF file, or `names` of them, to a device, and its metadata. Packed blocks become float32, or `dtype`. Shapes are in PyTorch's
 * order. Throws as open() does, and ValueError for a name that is not there.
 */
export const load = guardedAsync($ioGgufIndex.load, "gguf.load", "path:anything options:GgufLoadOptions?");
/**
 * Writes a GGUF file of version 3, little-endian, which appears whole or not at all. `quantize` packs float tensors as llama.cpp's reference does. The
 * elements are those of now: a tensor that changes before its bytes were read is a ValueError.
 *
 * path: text or a file: URL. tensors: of at most four axes, names of at most 63 bytes, as llama.cpp has it; bool, unsigned and other dtypes that the format
 * lacks are a DTypeError. Throws ValueError for metadata that do not fit their types, and where the file cannot be written. Reference: gguf.GGUFWriter.
 */
export const save = guardedAsync($ioGgufIndex.save, "gguf.save", "path:anything content:GgufContent options:TransferOptions?");
