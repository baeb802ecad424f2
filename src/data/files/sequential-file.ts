/** Files that are read once, from the first byte to the last: unpacked where they are gzip files. */
import type { FileHandle } from "node:fs/promises";
import { FormatError, ValueError } from "../../core/errors.ts";
import { dataWorker } from "../../host/data-worker.ts";
import { openSource } from "../../host/source.ts";
import { inflated, isZlibError } from "../../io/inflate.ts";

/** How far a file has been read. */
export interface FileProgress {
  /** Bytes of the file that were read so far, packed as they are there. */
  readonly bytes: number;
  /** Bytes of the file; null for a pipe. */
  readonly totalBytes: number | null;
}

/** Every count-th row, from row `index` on. */
export interface FilePart {
  /** The first row, from 0 to count - 1. */
  readonly index: number;
  /** How many parts the file has. */
  readonly count: number;
}

/** Options of what reads a text file row by row. */
export interface TextFileOptions {
  /** Ends a pass: it throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each piece that was read. What it throws ends the pass. */
  readonly onProgress?: ((progress: FileProgress) => void) | undefined;
  /** The rows that are given. Default: in a worker of a loader those of its part (getWorkerInfo), else all. */
  readonly part?: FilePart | undefined;
}

const CHUNK = 2 ** 18;

async function* chunksOf(file: FileHandle, size: number | null, options: TextFileOptions): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for (;;) {
    options.signal?.throwIfAborted();
    const { bytesRead, buffer } = await file.read(new Uint8Array(CHUNK), 0, CHUNK, null);
    if (bytesRead === 0) return;
    bytes += bytesRead;
    options.onProgress?.({ bytes, totalBytes: size });
    yield buffer.subarray(0, bytesRead);
  }
}

/** Two bytes say whether it is a gzip file: a pipe may give one at first. */
async function* withStart(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let start: Uint8Array = new Uint8Array();
  while (start.byteLength < 2) {
    const next = await chunks.next();
    if (next.done === true) break;
    start = Buffer.concat([start, next.value]);
  }
  yield start;
  yield* chunks;
}

async function* unpacked(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const started = withStart(chunks);
  const { value: start } = await started.next();
  async function* all(): AsyncGenerator<Uint8Array, void, undefined> {
    yield start!;
    yield* started;
  }
  yield* start?.[0] === 0x1f && start[1] === 0x8b ? inflated(all(), "createGunzip") : all();
}

/** The bytes of a UTF-8 file in pieces, unpacked. Throws FormatError for a file that cannot be read or unpacked, and for other bytes than UTF-8. */
export async function* textBytes(operation: string, source: string, options: TextFileOptions): AsyncGenerator<Uint8Array, void, undefined> {
  options.signal?.throwIfAborted();
  const { file, size } = await openSource(operation, source);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let offset = 0;
  const check = (bytes?: Uint8Array): void => {
    try {
      decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      const end = offset + (bytes?.byteLength ?? 0);
      const received = bytes === undefined ? `an end inside of a character` : `other bytes between offsets ${offset} and ${end}`;
      throw new FormatError(operation, source, "UTF-8 text", received, "Save it as UTF-8.");
    }
  };
  try {
    for await (const bytes of unpacked(chunksOf(file, size, options))) {
      check(bytes);
      yield bytes;
      offset += bytes.byteLength;
    }
    check();
  } catch (error) {
    if (isZlibError(error)) throw new FormatError(operation, source, "a whole gzip file", error.message);
    throw error;
  } finally {
    await file.close();
  }
}

/** Whether a row of this index, from 0, is in the part. */
export function partOf(operation: string, { part }: TextFileOptions): (index: number) => boolean {
  const worker = dataWorker();
  const { index, count } = part ?? (worker === null ? { index: 0, count: 1 } : { index: worker.id, count: worker.numWorkers });
  if (!Number.isInteger(count) || count < 1) throw new ValueError(operation, "part.count", "an integer of at least 1", count);
  if (!Number.isInteger(index) || index < 0 || index >= count)
    throw new ValueError(operation, "part.index", `an integer in [0, ${count})`, index);
  return (row) => row % count === index;
}
