/** float32 packed into blocks, with the bytes of llama.cpp's reference (quantize_row_*_ref): every operation is rounded to float32. */
import { toHalf } from "../../core/dtype.ts";
import { fround } from "./dequantize.ts";
import type { GgufQuantizeType } from "./options.ts";

/** Packs a block that begins at an index. */
type Pack = (values: Float32Array, from: number, bytes: Uint8Array, at: number) => void;

const SIZE = 32;

function putHalf(bytes: Uint8Array, at: number, value: number): void {
  const word = toHalf(value);
  bytes[at] = word;
  bytes[at + 1] = word >> 8;
}

const inverse = (d: number): number => (d === 0 ? 0 : fround(1 / d));

/** NaN, which no code stands for, is 0, as a conversion to an integer has it. */
const clip = (x: number, max: number): number => Math.min(Math.max(Math.trunc(x), 0), max) || 0;

/** The element of the largest magnitude, the first of several. */
function extreme(values: Float32Array, from: number): number {
  let value = 0;
  for (let i = from; i < from + SIZE; i++) if (Math.abs(values[i]!) > Math.abs(value)) value = values[i]!;
  return value;
}

/** The codes of a block as low halves of bytes, then high ones; their fifth bits as words of 32. */
function putCodes(codes: Uint8Array, bytes: Uint8Array, at: number, fifthBits: number | null): void {
  for (let i = 0; i < SIZE / 2; i++) bytes[at + i] = (codes[i]! & 15) | ((codes[i + SIZE / 2]! & 15) << 4);
  if (fifthBits === null) return;
  bytes.fill(0, fifthBits, fifthBits + 4);
  for (let i = 0; i < SIZE; i++) bytes[fifthBits + (i >> 3)]! |= (codes[i]! >> 4) << (i & 7);
}

const codes = new Uint8Array(SIZE);

/** Codes around a middle one. */
const symmetric =
  (middle: number): Pack =>
  (values, from, bytes, at) => {
    const d = fround(extreme(values, from) / -middle);
    const id = inverse(d);
    for (let i = 0; i < SIZE; i++) codes[i] = clip(fround(fround(values[from + i]! * id) + middle + 0.5), 2 * middle - 1);
    putHalf(bytes, at, d);
    if (middle === 16) putCodes(codes, bytes, at + 6, at + 2);
    else putCodes(codes, bytes, at + 2, null);
  };

/** Codes from a minimum on. */
const affine =
  (max: number): Pack =>
  (values, from, bytes, at) => {
    let [low, high] = [values[from]!, values[from]!];
    for (let i = from + 1; i < from + SIZE; i++) {
      if (values[i]! < low) low = values[i]!;
      if (values[i]! > high) high = values[i]!;
    }
    const d = fround(fround(high - low) / max);
    const id = inverse(d);
    for (let i = 0; i < SIZE; i++) codes[i] = clip(fround(fround(fround(values[from + i]! - low) * id) + 0.5), max);
    putHalf(bytes, at, d);
    putHalf(bytes, at + 2, low);
    if (max === 31) putCodes(codes, bytes, at + 8, at + 4);
    else putCodes(codes, bytes, at + 4, null);
  };

const q8_0: Pack = (values, from, bytes, at) => {
  const d = fround(Math.abs(extreme(values, from)) / 127);
  const id = inverse(d);
  putHalf(bytes, at, d);
  for (let i = 0; i < SIZE; i++) {
    const x = fround(values[from + i]! * id);
    // Halves go away from zero.
    bytes[at + 2 + i] = Math.sign(x) * Math.floor(Math.abs(x) + 0.5);
  }
};

const PACKS: { readonly [K in GgufQuantizeType]?: Pack } = {
  Q4_0: symmetric(8),
  Q4_1: affine(15),
  Q5_0: symmetric(16),
  Q5_1: affine(31),
  Q8_0: q8_0,
};

/** Packs whole blocks. */
export function quantize(type: GgufQuantizeType, blockBytes: number, values: Float32Array): Uint8Array<ArrayBuffer> {
  const pack = PACKS[type]!;
  const bytes = new Uint8Array((values.length / SIZE) * blockBytes);
  for (let from = 0, at = 0; from < values.length; from += SIZE, at += blockBytes) pack(values, from, bytes, at);
  return bytes;
}
