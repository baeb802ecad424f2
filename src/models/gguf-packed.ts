/** Matrices of GGUF files as packed weights, read in pieces straight to a device. */
import type { Device } from "../core/device.ts";
import { DTYPES } from "../core/dtype.ts";
import type { OpenGguf } from "../io/gguf/read.ts";
import { halves, roundTo } from "../io/gguf/halves.ts";
import { typeByName, type GgufType } from "../io/gguf/types.ts";
import type { PieceBuffers } from "../io/parts.ts";
import type { QuantizedWeight } from "../nn/quantized.ts";
import { synchronized } from "../runtime/buffers.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { Filling } from "../runtime/filling.ts";
import { CODES, type CodeTarget } from "./gguf-codes.ts";

/** Bytes of a file that are read at once. */
const PIECE = 2 ** 18;
/** Bytes that may be on their way to the device: a device that is behind would keep megabytes of the host's memory. */
const ON_THE_WAY = 4 * 2 ** 20;

/** Whether matrices of a type are kept as codes. */
export const staysPacked = (type: GgufType): boolean => CODES[type] !== undefined;

/** Thrown where float16 does not hold a minimum. */
class NeedsFloats extends Error {}

/** Halves of numbers, as bytes in `words`. Throws NeedsFloats where one is not exact. */
function exactHalves(values: Float32Array, words: Uint16Array): Uint8Array {
  roundTo("float16", values, words);
  const all = halves();
  for (let i = 0; i < values.length; i++) if (!Object.is(all[words[i]!], values[i])) throw new NeedsFloats();
  return new Uint8Array(words.buffer, 0, values.length * 2);
}

/** Fills arrays that all matrices use, so that little memory of the host is needed. */
export class PackedReader {
  readonly #operation: string;
  readonly #file: Pick<OpenGguf, "tensors" | "pieces">;
  readonly #device: Device;
  #target: CodeTarget = { codes: new Uint8Array(0), scales: new Float32Array(0), minima: new Float32Array(0) };
  #words = new Uint16Array(0);
  #buffers: PieceBuffers | null = null;
  /** Bytes that were written since the device was waited for. */
  #onTheWay = 0;

  constructor(operation: string, file: Pick<OpenGguf, "tensors" | "pieces">, device: Device) {
    this.#operation = operation;
    this.#file = file;
    this.#device = device;
  }

  /**
   * A matrix on the device. heads: llama.cpp rotates neighbours of a head's rows, transformers those half a head apart, so that rows [heads, pairs, 2]
   * become [heads, 2, pairs]; null where the rows keep their order.
   */
  async read(name: string, heads: number | null, signal: AbortSignal | undefined): Promise<QuantizedWeight> {
    const { hasHalves } = CODES[this.#file.tensors.get(name)!.type]!;
    if (hasHalves)
      try {
        return await this.#read(name, heads, "float16", signal);
      } catch (error) {
        if (!(error instanceof NeedsFloats)) throw error;
      }
    return this.#read(name, heads, "float32", signal);
  }

  /** dtype: of scales and minima. */
  async #read(name: string, heads: number | null, dtype: "float16" | "float32", signal: AbortSignal | undefined): Promise<QuantizedWeight> {
    const { type, shape } = this.#file.tensors.get(name)!;
    const { bits, hasMinima, shared, unpack } = CODES[type]!;
    const { blockSize, blockBytes } = typeByName.get(type)!;
    const [rows, width] = shape as [number, number];
    const [rowBytes, codeBytes, ofRow] = [(width / blockSize) * blockBytes, (width * bits) / 8, width / shared];
    const together = heads === null ? 1 : rows / heads;
    const native = nativeDevice(this.#device, this.#operation);
    const made: Filling[] = [];
    const filling = (of: "int8" | "uint8" | "float16" | "float32", columns: number): Filling => {
      const one = new Filling(this.#operation, native, of, [rows, columns]);
      made.push(one);
      return one;
    };
    try {
      const codes = filling(bits === 8 ? "int8" : "uint8", codeBytes);
      const scales = filling(dtype, ofRow);
      const minima = hasMinima ? filling(dtype, ofRow) : null;
      const size = Math.max(1, Math.floor(PIECE / (together * rowBytes))) * together * rowBytes;
      const write = (offset: number, bytes: Uint8Array): void | Promise<void> => {
        const count = bytes.length / rowBytes;
        const first = offset / rowBytes;
        const target = this.#targetFor(count * codeBytes, count * ofRow);
        for (let row = 0, at = 0; row < count; row++) {
          const inHead = row % together;
          const to = together === 1 ? row : row - inHead + (inHead & 1) * (together / 2) + (inHead >> 1);
          for (let index = to * ofRow; index < (to + 1) * ofRow; index += blockSize / shared, at += blockBytes)
            unpack(bytes, at, index, target);
        }
        codes.write(first * codeBytes, target.codes.subarray(0, count * codeBytes));
        const bytesOf = (from: Float32Array): Uint8Array =>
          dtype === "float16"
            ? exactHalves(from.subarray(0, count * ofRow), this.#wordsFor(count * ofRow))
            : new Uint8Array(from.buffer, 0, count * ofRow * 4);
        const start = first * ofRow * DTYPES[dtype].sizeInBytes;
        scales.write(start, bytesOf(target.scales));
        minima?.write(start, bytesOf(target.minima));
        this.#onTheWay += bytes.length;
        if (this.#onTheWay < ON_THE_WAY) return undefined;
        this.#onTheWay = 0;
        return synchronized(native, this.#operation);
      };
      await this.#file.pieces(this.#operation, name, { size, buffers: this.#buffersFor(size), write }, signal);
      return { codes: codes.tensor, scales: scales.tensor, minima: minima?.tensor ?? null, bits };
    } catch (error) {
      for (const { tensor } of made) tensor.dispose();
      throw error;
    }
  }

  #targetFor(bytes: number, scales: number): CodeTarget {
    if (this.#target.codes.length < bytes || this.#target.scales.length < scales) {
      const { codes, scales: own } = this.#target;
      const count = Math.max(scales, own.length);
      this.#target = {
        codes: new Uint8Array(Math.max(bytes, codes.length)),
        scales: new Float32Array(count),
        minima: new Float32Array(count),
      };
    }
    return this.#target;
  }

  #wordsFor(count: number): Uint16Array {
    if (this.#words.length < count) this.#words = new Uint16Array(count);
    return this.#words;
  }

  #buffersFor(size: number): PieceBuffers {
    if (this.#buffers === null || this.#buffers[0].length < size) this.#buffers = [new Uint8Array(size), new Uint8Array(size)];
    return this.#buffers;
  }
}
