/** llama.cpp's files: metadata, a vocabulary and tensors, of which most are packed into blocks of few bits. */
import { defaultDevice } from "../../core/device.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import type { TransferOptions } from "../parts.ts";
import type { GgufContent, GgufFile, GgufLoaded, GgufLoadOptions } from "./options.ts";

export type {
  GgufContent,
  GgufFile,
  GgufLoaded,
  GgufLoadOptions,
  GgufPacked,
  GgufQuantizeType,
  GgufScalarType,
  GgufTensorInfo,
  GgufTensorOptions,
  GgufValue,
  GgufValueType,
  GgufVocabulary,
} from "./options.ts";
export type { GgufType } from "./types.ts";

/**
 * Opens a GGUF file and reads its header: metadata, vocabulary and the table of tensors. Tensors are read when they are asked for, by their offsets, so a
 * file of any size takes no more memory than what is read of it. Versions 2 and 3, either byte order; of a file that is one of several parts
 * (`name-00001-of-00003.gguf`) all are opened. Close it, or declare it with `await using`.
 *
 * path: text or a file: URL. Throws FormatError for a damaged file, UnsupportedError for version 1 and unknown element types, which it lists.
 * Reference: gguf.GGUFReader of llama.cpp's Python package.
 */
export async function open(path: FilePath): Promise<GgufFile> {
  const source = pathOf("gguf.open", "path", path);
  const { OpenGguf, openParts } = await import("./file.ts");
  return new OpenGguf(await openParts("gguf.open", source));
}

/**
 * Reads all tensors of a GGUF file, or `names` of them, to a device, and its metadata. Packed blocks become float32, or `dtype`. Shapes are in PyTorch's
 * order. Throws as open() does, and ValueError for a name that is not there.
 */
export async function load(path: FilePath, options: GgufLoadOptions = {}): Promise<GgufLoaded> {
  options.signal?.throwIfAborted();
  // The default device is that of the call, not of the time when the header has been read.
  const own = { ...options, device: options.device ?? defaultDevice() };
  const file = await open(path);
  try {
    return { tensors: await file.load(own), metadata: { ...file.metadata } };
  } finally {
    await file.close();
  }
}

/**
 * Writes a GGUF file of version 3, little-endian, which appears whole or not at all. `quantize` packs float tensors as llama.cpp's reference does. The
 * elements are those of now: a tensor that changes before its bytes were read is a ValueError.
 *
 * path: text or a file: URL. tensors: of at most four axes, names of at most 63 bytes, as llama.cpp has it; bool, unsigned and other dtypes that the format
 * lacks are a DTypeError. Throws ValueError for metadata that do not fit their types, and where the file cannot be written. Reference: gguf.GGUFWriter.
 */
export async function save(path: FilePath, content: GgufContent, options: TransferOptions = {}): Promise<void> {
  options.signal?.throwIfAborted();
  const target = pathOf("gguf.save", "path", path);
  const { pendingFile } = await import("./file.ts");
  await pendingFile("gguf.save", content).write("gguf.save", target, options);
}
