/** A .npz file whose tensors are being read: as bytes, or written in pieces. */
import { DTypeError, ValueError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { formatHeader } from "../npy/header.ts";
import type { TransferOptions } from "../parts.ts";
import { Frozen, piecesOf, type Piece } from "../pieces.ts";
import { writeWhole } from "../whole-file.ts";
import type { NpzWriteOptions } from "./options.ts";

const MAX_NAME = 0xffff;

interface PendingArray {
  readonly name: string;
  readonly head: Uint8Array;
  readonly frozen: Frozen;
}

function requireName(operation: string, name: string): string {
  const entry = `${name}.npy`;
  if (/\p{Surrogate}/u.test(name) || name.includes("\0") || Buffer.byteLength(entry) > MAX_NAME)
    throw new ValueError(operation, "tensors", `by names of well-formed text without NUL, of at most ${MAX_NAME - 4} bytes`, name);
  return entry;
}

/** Reading begins when it is made, so the elements are those of that moment. bytes() or write() is called once, and frees the tensors. */
export class PendingArchive {
  readonly #operation: string;
  readonly #isDeflated: boolean;
  readonly #arrays: readonly PendingArray[];
  readonly #pieces: AsyncGenerator<Piece>;
  readonly #first: Promise<IteratorResult<Piece>>;

  constructor(operation: string, tensors: { readonly [name: string]: Tensor }, { compressed = false }: NpzWriteOptions) {
    if (typeof tensors !== "object" || tensors === null || tensors instanceof Tensor)
      throw new DTypeError(operation, "tensors", "an object of tensors by name", tensors);
    if (typeof compressed !== "boolean") throw new ValueError(operation, "compressed", "a boolean", compressed);
    const heads = Object.entries(tensors).map(([name, t]) => {
      if (!(t instanceof Tensor)) throw new DTypeError(operation, `tensors.${name}`, "a tensor", t);
      t.requireLive(operation, `tensors.${name}`);
      return { name: requireName(operation, name), head: formatHeader(operation, t.dtype, t.shape), tensor: t };
    });
    this.#operation = operation;
    this.#isDeflated = compressed;
    this.#arrays = heads.map(({ name, head, tensor }) => {
      tracer()?.read(operation, tensor);
      return { name, head, frozen: new Frozen(operation, name, tensor) };
    });
    this.#pieces = piecesOf(this.#arrays.map(({ frozen }) => frozen));
    this.#first = this.#pieces.next();
    // If the file cannot be opened, nobody waits for it.
    this.#first.catch(() => {});
  }

  /** All bytes of the file. */
  async bytes(): Promise<Uint8Array> {
    try {
      const parts: Uint8Array[] = [];
      for await (const part of await this.#zipped({})) parts.push(part);
      return new Uint8Array(Buffer.concat(parts));
    } finally {
      this.#dispose();
    }
  }

  /** Writes the file, which appears whole or not at all. */
  async write(path: string, options: TransferOptions): Promise<void> {
    try {
      await writeWhole(this.#operation, path, async (file) => {
        for await (const part of await this.#zipped(options)) await file.writeFile(part);
      });
    } finally {
      this.#dispose();
    }
  }

  async #zipped({ signal, onProgress }: TransferOptions): Promise<AsyncGenerator<Uint8Array>> {
    const { zipBytes } = await import("../zip-writer.ts");
    const totalBytes = this.#arrays.reduce((sum, { frozen }) => sum + frozen.sizeInBytes, 0);
    const pieces = this.#pieces;
    let next = this.#first;
    let bytes = 0;
    async function* of({ name, head, frozen }: PendingArray): AsyncGenerator<Uint8Array, void, undefined> {
      yield head;
      for (let left = frozen.sizeInBytes; left > 0;) {
        const piece = await next;
        signal?.throwIfAborted();
        if (piece.done === true) return;
        yield piece.value.bytes;
        left -= piece.value.bytes.byteLength;
        bytes += piece.value.bytes.byteLength;
        next = pieces.next();
        next.catch(() => {});
        onProgress?.({ bytes, totalBytes, name: name.slice(0, -".npy".length) });
      }
      signal?.throwIfAborted();
    }
    const entries = this.#arrays.map((array) => ({
      name: array.name,
      sizeInBytes: array.head.byteLength + array.frozen.sizeInBytes,
      bytes: () => of(array),
    }));
    return zipBytes(entries, { isDeflated: this.#isDeflated });
  }

  #dispose(): void {
    for (const { frozen } of this.#arrays) frozen.dispose();
  }
}
