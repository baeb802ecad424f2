// A container's output as the engine sends it: pieces with eight bytes before each, which say whose it is and how long.
import { StringDecoder } from "node:string_decoder";
import { lineReader } from "../lines.ts";
import { Tail } from "../tail.ts";

export type Channel = "stdout" | "stderr";

export interface OutputOptions {
  /** Lines are without their ends and colours. */
  readonly onLine?: ((line: string, from: Channel) => void) | undefined;
  /** Characters of each text that are kept, the last ones. */
  readonly keep: number;
}

const headBytes = 8;

export class Output {
  readonly #stdout: Tail;
  readonly #text: Tail;
  readonly #readers: Readonly<Record<Channel, { take(piece: Buffer): void; end(): void }>>;
  #head = Buffer.alloc(0);
  #from: Channel = "stdout";
  /** Bytes of the piece that are still to come. */
  #left = 0;

  constructor({ onLine, keep }: OutputOptions) {
    [this.#stdout, this.#text] = [new Tail(keep), new Tail(keep)];
    const reader = (from: Channel): { take(piece: Buffer): void; end(): void } => {
      const decoder = new StringDecoder("utf8");
      const lines = onLine === undefined ? null : lineReader((line) => onLine(line, from));
      const take = (text: string): void => {
        this.#text.add(text);
        if (from === "stdout") this.#stdout.add(text);
        lines?.take(text);
      };
      return {
        take: (piece) => take(decoder.write(piece)),
        end() {
          take(decoder.end());
          lines?.end();
        },
      };
    };
    this.#readers = { stdout: reader("stdout"), stderr: reader("stderr") };
  }

  take(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#left === 0) {
        const head = chunk.subarray(at, at + headBytes - this.#head.length);
        this.#head = Buffer.concat([this.#head, head]);
        at += head.length;
        if (this.#head.length < headBytes) return;
        this.#from = this.#head[0] === 2 ? "stderr" : "stdout";
        this.#left = this.#head.readUInt32BE(4);
        this.#head = Buffer.alloc(0);
        continue;
      }
      const piece = chunk.subarray(at, at + this.#left);
      this.#readers[this.#from].take(piece);
      at += piece.length;
      this.#left -= piece.length;
    }
  }

  /** Hands on what came after the last line's end. */
  end(): void {
    this.#readers.stdout.end();
    this.#readers.stderr.end();
  }

  get stdout(): string {
    return this.#stdout.text;
  }

  /** Both outputs as they came. */
  get text(): string {
    return this.#text.text;
  }
}
