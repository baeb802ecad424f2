/** A file or a pipe that is read forward. */
import { openSource, readAt, type Source } from "../../host/source.ts";

export class Input {
  /** Offset of what is read next. */
  position = 0;
  readonly #source: Source;

  private constructor(source: Source) {
    this.#source = source;
  }

  static async open(operation: string, path: string): Promise<Input> {
    return new Input(await openSource(operation, path));
  }

  /** In bytes; null for a pipe. */
  get size(): number | null {
    return this.#source.size;
  }

  /** The next bytes: fewer where it ends. */
  async read(size: number): Promise<Buffer> {
    const bytes = await readAt(this.#source.file, new Uint8Array(size), this.size === null ? null : this.position);
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

  close(): Promise<void> {
    return this.#source.file.close();
  }
}
