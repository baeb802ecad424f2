/** Files that are read, by path or file: URL: regular files, and pipes, which have neither a size nor offsets. */
import { open, type FileHandle } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { DTypeError, FormatError, ValueError } from "../core/errors.ts";
import { unreadable } from "./unreadable.ts";

/** A path, or a file: URL. */
export type FilePath = string | URL;

/** The path of a file: URL, or the path itself. expected: what the argument may be, for the error. */
export function pathOf(operation: string, argument: string, path: FilePath, expected = "a path or a file: URL"): string {
  if (typeof path === "string") return path;
  if (!(path instanceof URL)) throw new DTypeError(operation, argument, expected, path);
  try {
    return fileURLToPath(path);
  } catch (error) {
    throw new ValueError(operation, argument, expected, path.href, error instanceof Error ? error.message : undefined);
  }
}

/** Text that looks like a URL is a path, as Node has it. */
const hintOf = (path: string, hint?: string): string | undefined =>
  path.startsWith("file://") ? `A URL is given as an object: new URL(${JSON.stringify(path)}).` : hint;

/** A file that is open for reading. */
export interface Source {
  readonly file: FileHandle;
  /** In bytes; null for a pipe. */
  readonly size: number | null;
}

/** Opens a file or a pipe. Others are refused: a device such as /dev/zero never ends. */
export async function openSource(operation: string, path: string, hint?: string): Promise<Source> {
  const file = await open(path, "r").catch((error: unknown) => {
    throw unreadable(operation, path, error, hintOf(path, hint));
  });
  try {
    const stats = await file.stat();
    if (stats.isFile()) return { file, size: stats.size };
    if (stats.isFIFO() || stats.isSocket()) return { file, size: null };
    throw new FormatError(operation, path, "a file or a pipe", stats.isDirectory() ? "a folder" : "a device", hint);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** What is read by offset: an open file, or bytes behind the same method. */
export type RandomAccess = Pick<FileHandle, "read">;

/** Fills a buffer from an offset of a file, or with what a pipe gives next (null); fewer bytes than asked for where it ends. */
export async function readAt(file: RandomAccess, buffer: Uint8Array, position: number | null): Promise<Uint8Array> {
  let done = 0;
  while (done < buffer.byteLength) {
    // One read takes at most 2 GiB.
    const wanted = Math.min(buffer.byteLength - done, 2 ** 30);
    const { bytesRead } = await file.read(buffer, done, wanted, position === null ? null : position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}

/** What a pipe gives at once. */
const CHUNK = 2 ** 20;

/** All bytes of a file or a pipe, of at most so many. Throws FormatError for what cannot be read, or is longer. */
export async function readWhole(operation: string, path: string, most: number, hint?: string): Promise<Uint8Array> {
  const { file, size } = await openSource(operation, path, hint);
  try {
    const long = (): FormatError => new FormatError(operation, path, `of at most ${most} bytes`, size === null ? "more" : String(size));
    if (size !== null && size > most) throw long();
    if (size !== null) return await readAt(file, new Uint8Array(size), 0);
    const parts: Uint8Array[] = [];
    let length = 0;
    for (;;) {
      const part = await readAt(file, new Uint8Array(CHUNK), null);
      if ((length += part.byteLength) > most) throw long();
      parts.push(part);
      if (part.byteLength < CHUNK) break;
    }
    return Buffer.concat(parts, length);
  } catch (error) {
    throw error instanceof FormatError ? error : unreadable(operation, path, error, hint);
  } finally {
    await file.close();
  }
}
