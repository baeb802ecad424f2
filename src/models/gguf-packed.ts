/** Blocks of GGUF files as packed weights: the same codes, in the order of DirectML, two neighbours in a byte. */
import type { Device } from "../core/device.ts";
import { half, minK, scaleK } from "../io/gguf/dequantize.ts";
import type { GgufPacked } from "../io/gguf/options.ts";
import type { GgufType } from "../io/gguf/types.ts";
import type { QuantizedWeight } from "../nn/quantized.ts";
import { tensor } from "../ops/creation/creation.ts";

const { fround } = Math;

/** Codes, scales and minima while they are filled; elements of a block: 32. */
interface Target {
  readonly codes: Uint8Array;
  readonly scales: Float32Array;
  readonly minima: Float32Array | null;
}

interface Kind {
  readonly bits: 4 | 8;
  readonly hasMinima: boolean;
  /** Elements, bytes of a block of the file, and what unpacks it: `index` is that of its first 32 elements. */
  readonly size: number;
  readonly bytes: number;
  readonly unpack: (b: Uint8Array, at: number, index: number, to: Target) => void;
}

/** Codes of 32 elements, of which the low halves of bytes are the first 16, as neighbours. */
function halves(b: Uint8Array, at: number, codes: Uint8Array, to: number): void {
  for (let i = 0; i < 8; i++) {
    const [first, second] = [b[at + 2 * i]!, b[at + 2 * i + 1]!];
    codes[to + i] = (first & 15) | ((second & 15) << 4);
    codes[to + 8 + i] = (first >> 4) | (second & 0xf0);
  }
}

const KINDS: { readonly [type in GgufType]?: Kind } = {
  Q4_0: {
    bits: 4,
    hasMinima: false,
    size: 32,
    bytes: 18,
    unpack: (b, at, index, { codes, scales }) => {
      scales[index] = half(b, at);
      halves(b, at + 2, codes, index * 16);
    },
  },
  Q4_1: {
    bits: 4,
    hasMinima: true,
    size: 32,
    bytes: 20,
    unpack: (b, at, index, { codes, scales, minima }) => {
      const d = half(b, at);
      scales[index] = d;
      minima![index] = half(b, at + 2) + 8 * d;
      halves(b, at + 4, codes, index * 16);
    },
  },
  Q8_0: {
    bits: 8,
    hasMinima: false,
    size: 32,
    bytes: 34,
    unpack: (b, at, index, { codes, scales }) => {
      scales[index] = half(b, at);
      codes.set(b.subarray(at + 2, at + 34), index * 32);
    },
  },
  Q4_K: {
    bits: 4,
    hasMinima: true,
    size: 256,
    bytes: 144,
    unpack: (b, at, index, { codes, scales, minima }) => {
      const [d, dmin] = [half(b, at), half(b, at + 2)];
      for (let group = 0; group < 8; group++) {
        const scale = fround(d * scaleK(b, at + 4, group));
        scales[index + group] = scale;
        minima![index + group] = 8 * scale - fround(dmin * minK(b, at + 4, group));
        const from = at + 16 + (group >> 1) * 32;
        const shift = (group & 1) * 4;
        for (let i = 0; i < 16; i++)
          codes[(index + group) * 16 + i] = ((b[from + 2 * i]! >> shift) & 15) | (((b[from + 2 * i + 1]! >> shift) & 15) << 4);
      }
    },
  },
};

/** Whether blocks of a type are kept as they are. */
export const staysPacked = (type: GgufType): boolean => KINDS[type] !== undefined;

/** A matrix of blocks on a device. */
export function packedWeight({ type, shape, data }: GgufPacked, device: Device): QuantizedWeight {
  const { bits, hasMinima, size, bytes, unpack } = KINDS[type]!;
  const [rows, width] = shape as [number, number];
  const blocks = width / 32;
  const codes = new Uint8Array((rows * width * bits) / 8);
  const target = { codes, scales: new Float32Array(rows * blocks), minima: hasMinima ? new Float32Array(rows * blocks) : null };
  for (let at = 0, index = 0; at < data.length; at += bytes, index += size / 32) unpack(data, at, index, target);
  const made = (values: Float32Array): ReturnType<typeof tensor> => tensor(values, { shape: [rows, blocks], device });
  const stored = bits === 8 ? new Int8Array(codes.buffer) : codes;
  return {
    codes: tensor(stored, { shape: [rows, (width * bits) / 8], device }),
    scales: made(target.scales),
    minima: target.minima === null ? null : made(target.minima),
    bits,
  };
}
