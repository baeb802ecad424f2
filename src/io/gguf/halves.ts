/** 16-bit floats in bulk. */
import { fromHalf, toHalf } from "../../core/dtype.ts";

const one = new Uint32Array(1);
const number = new Float32Array(one.buffer);
let table: Float32Array | null = null;

/** The float32 of each 16-bit word. */
export function halves(): Float32Array {
  table ??= Float32Array.from({ length: 65536 }, (_, word) => fromHalf(word));
  return table;
}

/** The float32 of float16 words. */
export function fromHalves(words: Uint16Array, values: Float32Array): void {
  const all = halves();
  for (let i = 0; i < words.length; i++) values[i] = all[words[i]!]!;
}

/** The float32 of bfloat16 words. */
export function fromBfloat16s(words: Uint16Array, values: Float32Array): void {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < words.length; i++) bits[i] = words[i]! << 16;
}

/** float32 rounded to 16 bits (ties to even), into as many words. */
export function roundTo(dtype: "float16" | "bfloat16", values: Float32Array, words: Uint16Array): void {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  if (dtype === "float16") for (let i = 0; i < bits.length; i++) words[i] = halfOf(bits[i]!);
  else for (let i = 0; i < bits.length; i++) words[i] = bfloat16Of(bits[i]!);
}

/** As toHalf() of the number, four times as fast. */
function halfOf(bits: number): number {
  const size = bits & 0x7fffffff;
  // Normal numbers, and those that round to infinity; what is smaller or larger is rare.
  if (size >= 0x38800000 && size < 0x47800000) return ((bits >>> 16) & 0x8000) | ((size - 0x38000000 + 0xfff + ((size >>> 13) & 1)) >>> 13);
  one[0] = bits;
  return toHalf(number[0]!);
}

function bfloat16Of(bits: number): number {
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}
