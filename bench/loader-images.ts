/** A data set for workers: images as a reader makes them, from packed bytes. */
import { deflateRawSync, inflateRawSync } from "node:zlib";

export interface Options {
  readonly count: number;
  /** Whether each sample is inflated: the work of a decoder. */
  readonly isPacked: boolean;
}

const PIXELS = 3 * 32 * 32;

/** Smooth enough to compress to about a half, as photographs do. */
const picture = (i: number): Uint8Array =>
  Uint8Array.from({ length: PIXELS }, (_, p) => 128 + 100 * Math.sin((i + p) / 30) + ((p * 2654435761) % 16));

export class Images {
  readonly length: number;
  readonly #bytes: readonly Uint8Array[];
  readonly #isPacked: boolean;

  constructor({ count, isPacked }: Options) {
    this.length = count;
    this.#isPacked = isPacked;
    this.#bytes = Array.from({ length: 64 }, (_, i) => (isPacked ? deflateRawSync(picture(i)) : picture(i)));
  }

  get(index: number): [image: { data: Uint8Array; shape: [number, number, number] }, label: number] {
    const bytes = this.#bytes[index % this.#bytes.length]!;
    return [{ data: this.#isPacked ? inflateRawSync(bytes) : bytes.slice(), shape: [3, 32, 32] }, index % 10];
  }
}

export default Images;
