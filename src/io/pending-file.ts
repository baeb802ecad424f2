/** A file whose header is known and whose tensors are being read: as bytes, or written in pieces. */
import type { TransferOptions } from "./parts.ts";
import { piecesOf, type Piece, type Readable } from "./pieces.ts";
import { writeWhole } from "./whole-file.ts";

/** Reading begins when it is made, so the elements are those of that moment. bytes() or write() is called once, and frees the tensors. */
export class PendingFile {
  readonly #head: Uint8Array;
  readonly #tensors: readonly Readable[];
  readonly #totalBytes: number;
  readonly #pieces: AsyncGenerator<Piece>;
  readonly #first: Promise<IteratorResult<Piece>>;

  constructor(head: Uint8Array, tensors: readonly Readable[]) {
    this.#head = head;
    this.#tensors = tensors;
    this.#totalBytes = tensors.reduce((sum, t) => sum + t.sizeInBytes, 0);
    this.#pieces = piecesOf(tensors);
    this.#first = this.#pieces.next();
    // If the file cannot be opened, nobody waits for it.
    this.#first.catch(() => {});
  }

  /** All bytes of the file. */
  async bytes(): Promise<Uint8Array> {
    try {
      const all = new Uint8Array(this.#head.byteLength + this.#totalBytes);
      all.set(this.#head);
      let at = this.#head.byteLength;
      await this.#forEachPiece({}, (bytes) => {
        all.set(bytes, at);
        at += bytes.byteLength;
      });
      return all;
    } finally {
      this.dispose();
    }
  }

  /** Writes the file, which appears whole or not at all. beforeRename: runs when everything is written; if it throws, the file does not appear. */
  async write(operation: string, path: string, options: TransferOptions, beforeRename?: () => Promise<void>): Promise<void> {
    try {
      await writeWhole(operation, path, async (file) => {
        await file.writeFile(this.#head);
        await this.#forEachPiece(options, (bytes) => file.writeFile(bytes));
        await beforeRename?.();
      });
    } finally {
      this.dispose();
    }
  }

  async #forEachPiece({ signal, onProgress }: TransferOptions, take: (bytes: Uint8Array) => unknown): Promise<void> {
    let bytes = 0;
    for (let next = await this.#first; next.done !== true; next = await this.#pieces.next()) {
      signal?.throwIfAborted();
      await take(next.value.bytes);
      bytes += next.value.bytes.byteLength;
      onProgress?.({ bytes, totalBytes: this.#totalBytes, name: next.value.name });
    }
    signal?.throwIfAborted();
  }

  /** Frees the tensors of a file that is not written. */
  dispose(): void {
    for (const t of this.#tensors) t.dispose();
  }
}
