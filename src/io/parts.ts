/** Parts of files that are read in pieces: one piece is read while the device takes the one before. */
import { FormatError } from "../core/errors.ts";
import { readAt, type RandomAccess } from "../host/source.ts";
import { PIECE } from "./pieces.ts";

/** How far a file has been read or written. */
export interface Progress {
  /** Bytes of tensors done so far. */
  readonly bytes: number;
  /** Bytes of all tensors. */
  readonly totalBytes: number;
  /** The tensor that the last of them belong to. */
  readonly name: string;
}

/** Options of what reads or writes a file: progress, and a signal that ends it. */
export interface TransferOptions {
  /** Called after each piece of at most 16 MiB. What it throws ends the call. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Ends the call between two pieces: it throws the signal's reason, and leaves nothing behind. */
  readonly signal?: AbortSignal | undefined;
}

/** Bytes of a file, and what takes them. */
export interface Part {
  readonly name: string;
  readonly path: string;
  readonly file: RandomAccess;
  /** Where they begin in the file. */
  readonly position: number;
  readonly sizeInBytes: number;
  /** Pieces are multiples of so many bytes. Default: 1. */
  readonly unit?: number;
  /** The size of a piece, a multiple of the unit. Default: 16 MiB. */
  readonly piece?: number;
  /** Takes bytes from an offset of the part on, before the next are read. A promise is waited for. */
  readonly write: (offset: number, bytes: Uint8Array) => void | Promise<void>;
}

interface Chunk {
  readonly part: Part;
  /** In bytes from the part's first. */
  readonly start: number;
  readonly size: number;
}

function chunksOf(part: Part): readonly Chunk[] {
  const piece = part.piece ?? PIECE - (PIECE % (part.unit ?? 1));
  return Array.from({ length: Math.ceil(part.sizeInBytes / piece) }, (_, i) => ({
    part,
    start: i * piece,
    size: Math.min(piece, part.sizeInBytes - i * piece),
  }));
}

/** Where pieces are read to, by turns. */
export type PieceBuffers = readonly [Uint8Array, Uint8Array];

/**
 * Reads parts, one after the other, with two buffers of a piece each, those of the caller if it has any. isPipe: they are all that a pipe gives from
 * now on.
 */
export async function readParts(
  operation: string,
  parts: readonly Part[],
  options: TransferOptions,
  isPipe = false,
  own: PieceBuffers | null = null,
): Promise<void> {
  const totalBytes = parts.reduce((n, part) => n + part.sizeInBytes, 0);
  const chunks = parts.flatMap(chunksOf);
  const largest = chunks.reduce((n, chunk) => Math.max(n, chunk.size), 0);
  const buffers = own ?? ([new Uint8Array(largest), new Uint8Array(largest)] as const);
  const read = async ({ part, start, size }: Chunk, index: number): Promise<Uint8Array> => {
    const position = part.position + start;
    const bytes = await readAt(part.file, buffers[index % 2]!.subarray(0, size), isPipe ? null : position);
    if (bytes.byteLength === size) return bytes;
    const last = parts.at(-1)!;
    throw new FormatError(
      operation,
      part.path,
      isPipe ? `with ${last.position + last.sizeInBytes} bytes, as its header says` : "as long as it was when it was opened",
      `its end at byte ${position + bytes.byteLength}`,
    );
  };
  let bytes = 0;
  let next = chunks.length > 0 ? read(chunks[0]!, 0) : null;
  for (let i = 0; next !== null; i++) {
    const piece: Uint8Array = await next;
    options.signal?.throwIfAborted();
    next = i + 1 < chunks.length ? read(chunks[i + 1]!, i + 1) : null;
    // Should this piece fail, nobody waits for the next.
    next?.catch(() => {});
    const { part, start } = chunks[i]!;
    const taken = part.write(start, piece);
    if (taken !== undefined) await taken;
    bytes += piece.byteLength;
    options.onProgress?.({ bytes, totalBytes, name: part.name });
  }
}
