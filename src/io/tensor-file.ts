/** Regular safetensors files: opened with their header, and written. */
import type { FileHandle } from "node:fs/promises";
import { FormatError, ValueError } from "../core/errors.ts";
import { openSource, readAt } from "../host/source.ts";
import { LONGEST_HEADER, dataStartOf, formatHeader, parseHeader, type Entry, type Header } from "./safetensors-header.ts";

/** A file that is open for reading. */
export interface TensorFile {
  readonly path: string;
  readonly file: FileHandle;
  readonly sizeInBytes: number;
  readonly header: Header;
}

const zipMagic = [0x50, 0x4b, 0x03, 0x04];

/** Opens a file and reads its header. Throws FormatError for what is no safetensors file. */
export async function openTensorFile(operation: string, path: string): Promise<TensorFile> {
  const { file, size } = await openSource(operation, path);
  try {
    if (size === null) throw new FormatError(operation, path, "a file", "a pipe", "io.safetensors.load() reads pipes.");
    const first = await readAt(file, new Uint8Array(8), 0);
    if (zipMagic.every((byte, i) => first[i] === byte))
      throw new FormatError(operation, path, "a safetensors file", "a zip file", "io.pytorch.load() reads those of torch.save().");
    const head = new Uint8Array(dataStartOf(first, size, path, operation));
    const read = await readAt(file, head, 0);
    return { path, file, sizeInBytes: size, header: parseHeader(read, size, path, operation) };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** What stands before the data. Throws ValueError where it would be longer than files may have it. */
export function headOf(operation: string, entries: readonly Entry[], metadata: Readonly<Record<string, string>>): Uint8Array {
  const head = formatHeader(entries, metadata);
  if (head.byteLength - 8 > LONGEST_HEADER)
    throw new ValueError(
      operation,
      "header",
      `of at most ${LONGEST_HEADER} bytes: names of tensors, and plain data`,
      head.byteLength - 8,
      "Long lists of numbers belong in tensors or typed arrays.",
    );
  return head;
}
