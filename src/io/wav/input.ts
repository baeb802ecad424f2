/** A file, a pipe or bytes in memory that are read forward. */
import { openSource, readAt, type Source } from "../../host/source.ts";

export class Input {
  /** Offset of what is read next. */
  position = 0;
  readonly #source: Source | Uint8Array;

  private constructor(source: Source | Uint8Array) {
    this.#source = source;
  }

  static async open(operation: string, from: string | Uint8Array): Promise<Input> {
    return new Input(typeof from === "string" ? await openSource(operation, from) : from);
  }

  /** In bytes; null for a pipe. */
  get size(): number | null {
    return this.#source instanceof Uint8Array ? this.#source.byteLength : this.#source.size;
  }

  /** The next bytes: fewer where it ends. */
  async read(size: number): Promise<Buffer> {
    const source = this.#source;
    const { position } = this;
    const bytes =
      source instanceof Uint8Array
        ? Uint8Array.prototype.slice.call(source, position, position + size)
        : await readAt(source.file, new Uint8Array(size), source.size === null ? null : position);
    this.position += bytes.byteLength;
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Goes forward; of a pipe it reads what is between. Whether there were so many bytes. */
  async skip(size: number): Promise<boolean> {
    const end = this.position + size;
    if (this.size !== null) this.position = end;
    while (this.position < end) if ((await this.read(Math.min(end - this.position, 2 ** 20))).byteLength === 0) break;
    return this.position === end && (this.size === null || end <= this.size);
  }

  async close(): Promise<void> {
    if (!(this.#source instanceof Uint8Array)) await this.#source.file.close();
  }
}
