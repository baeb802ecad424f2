/** Blocks of GGUF files as codes of 4 or 8 bits, with a scale and perhaps a minimum for some elements: the same numbers, in the order of DirectML. */
import { half, minK, NL4, scaleK, word } from "../io/gguf/dequantize.ts";
import type { GgufType } from "../io/gguf/types.ts";

const { fround } = Math;

/** What is filled: codes, and scales and minima in the order of the elements that share one. */
export interface CodeTarget {
  readonly codes: Uint8Array;
  readonly scales: Float32Array;
  readonly minima: Float32Array;
}

/** How a block of a file becomes codes: w = (code - middle) * scale + minimum. The middle is 8 of 4 bits; codes of 8 bits are signed. */
export interface CodeKind {
  readonly bits: 4 | 8;
  readonly hasMinima: boolean;
  /** Elements that share a scale. */
  readonly shared: number;
  /** Whether scales are halves in the file, so that float16 holds them. Minima are sums, which float16 holds nearly always. */
  readonly hasHalves: boolean;
  /** Unpacks the block that begins at byte `at`; index: that of its first scale. */
  readonly unpack: (b: Uint8Array, at: number, index: number, to: CodeTarget) => void;
}

/** The code of element i of a block, or of a part of it. */
type CodeOf = (i: number) => number;

/** Codes of 4 bits, neighbours in a byte, from an element on. */
function put4({ codes }: CodeTarget, first: number, count: number, code: CodeOf): void {
  for (let i = 0; i < count; i += 2) codes[(first + i) >> 1] = code(i) | (code(i + 1) << 4);
}

/** Codes of 8 bits. */
function put8({ codes }: CodeTarget, first: number, count: number, code: CodeOf): void {
  for (let i = 0; i < count; i++) codes[first + i] = code(i);
}

/** Codes of 32 elements, of which the low halves of bytes are the first 16, as neighbours. */
function halves(b: Uint8Array, at: number, codes: Uint8Array, to: number): void {
  for (let i = 0; i < 8; i++) {
    const [first, second] = [b[at + 2 * i]!, b[at + 2 * i + 1]!];
    codes[to + i] = (first & 15) | ((second & 15) << 4);
    codes[to + 8 + i] = (first >> 4) | (second & 0xf0);
  }
}

/** A type with one scale a block, which is a half. */
const single = (bits: 4 | 8, hasMinima: boolean, unpack: CodeKind["unpack"], shared = 32): CodeKind => ({
  bits,
  hasMinima,
  shared,
  hasHalves: true,
  unpack,
});
/** A type whose scales are products. */
const scaled = (bits: 4 | 8, hasMinima: boolean, shared: number, unpack: CodeKind["unpack"]): CodeKind => ({
  bits,
  hasMinima,
  shared,
  hasHalves: false,
  unpack,
});

/** Half i of 32 elements of 4 bits each, the first 16 in the low halves of bytes. */
const nibble = (b: Uint8Array, at: number, i: number): number => (b[at + (i & 15)]! >> ((i >> 4) << 2)) & 15;
/** Bit i of 32. */
const bit = (b: Uint8Array, at: number, i: number): number => (b[at + (i >> 3)]! >> (i & 7)) & 1;

/** Powers of 3, by which digits of TQ1_0 come to the top of a byte. */
const POWERS = [1, 3, 9, 27, 81];
/** -1, 0 or 1 of a digit, as a code. */
const trit = (byte: number, digit: number): number => ((((byte * POWERS[digit]!) & 255) * 3) >> 8) + 7;

/** How blocks of each type become codes; none of types whose elements are rows of tables. */
export const CODES: { readonly [type in GgufType]?: CodeKind } = {
  Q4_0: single(4, false, (b, at, index, { codes, scales }) => {
    scales[index] = half(b, at);
    halves(b, at + 2, codes, index * 16);
  }),
  Q4_1: single(4, true, (b, at, index, { codes, scales, minima }) => {
    const d = half(b, at);
    scales[index] = d;
    minima[index] = half(b, at + 2) + 8 * d;
    halves(b, at + 4, codes, index * 16);
  }),
  Q5_0: single(8, false, (b, at, index, to) => {
    to.scales[index] = half(b, at);
    put8(to, index * 32, 32, (i) => (nibble(b, at + 6, i) | (bit(b, at + 2, i) << 4)) - 16);
  }),
  Q5_1: single(8, true, (b, at, index, to) => {
    to.scales[index] = half(b, at);
    to.minima[index] = half(b, at + 2);
    put8(to, index * 32, 32, (i) => nibble(b, at + 8, i) | (bit(b, at + 4, i) << 4));
  }),
  Q8_0: single(8, false, (b, at, index, { codes, scales }) => {
    scales[index] = half(b, at);
    for (let i = 0, to = index * 32; i < 32; i++) codes[to + i] = b[at + 2 + i]!;
  }),
  Q2_K: scaled(4, true, 16, (b, at, index, to) => {
    const [d, dmin] = [half(b, at + 80), half(b, at + 82)];
    for (let group = 0; group < 16; group++) {
      const both = b[at + group]!;
      const scale = fround(d * (both & 15));
      to.scales[index + group] = scale;
      to.minima[index + group] = 8 * scale - fround(dmin * (both >> 4));
      const from = at + 16 + (group >> 3) * 32 + (group & 1) * 16;
      put4(to, (index + group) * 16, 16, (i) => (b[from + i]! >> (group & 6)) & 3);
    }
  }),
  Q3_K: scaled(4, false, 16, (b, at, index, to) => {
    const d = half(b, at + 108);
    for (let group = 0; group < 16; group++) {
      const low = b[at + 96 + (group & 7)]! >> (group < 8 ? 0 : 4);
      const high = b[at + 104 + (group & 3)]! >> (2 * (group >> 2));
      to.scales[index + group] = d * (((low & 15) | ((high & 3) << 4)) - 32);
      const lane = (group & 1) * 16;
      const from = at + 32 + (group >> 3) * 32 + lane;
      const code: CodeOf = (i) => ((b[from + i]! >> (group & 6)) & 3) + 4 + 4 * ((b[at + lane + i]! >> (group >> 1)) & 1);
      put4(to, (index + group) * 16, 16, code);
    }
  }),
  Q4_K: scaled(4, true, 32, (b, at, index, to) => {
    const [d, dmin] = [half(b, at), half(b, at + 2)];
    for (let group = 0; group < 8; group++) {
      const scale = fround(d * scaleK(b, at + 4, group));
      to.scales[index + group] = scale;
      to.minima[index + group] = 8 * scale - fround(dmin * minK(b, at + 4, group));
      const from = at + 16 + (group >> 1) * 32;
      const shift = (group & 1) * 4;
      put4(to, (index + group) * 32, 32, (i) => (b[from + i]! >> shift) & 15);
    }
  }),
  Q5_K: scaled(8, true, 32, (b, at, index, to) => {
    const [d, dmin] = [half(b, at), half(b, at + 2)];
    for (let group = 0; group < 8; group++) {
      to.scales[index + group] = d * scaleK(b, at + 4, group);
      to.minima[index + group] = -dmin * minK(b, at + 4, group);
      const from = at + 48 + (group >> 1) * 32;
      const shift = (group & 1) * 4;
      put8(to, (index + group) * 32, 32, (i) => ((b[from + i]! >> shift) & 15) | (((b[at + 16 + i]! >> group) & 1) << 4));
    }
  }),
  Q6_K: scaled(8, false, 16, (b, at, index, to) => {
    const d = half(b, at + 208);
    for (let group = 0; group < 16; group++) {
      to.scales[index + group] = d * ((b[at + 192 + group]! << 24) >> 24);
      const [part, first] = [group >> 3, (group & 7) * 16];
      const low = at + part * 64 + (first & 63);
      const high = at + 128 + part * 32 + (first & 31);
      const [lowShift, highShift] = [(first >> 6) * 4, (first >> 5) * 2];
      const code: CodeOf = (i) => (((b[low + i]! >> lowShift) & 15) | (((b[high + i]! >> highShift) & 3) << 4)) - 32;
      put8(to, (index + group) * 16, 16, code);
    }
  }),
  IQ4_NL: single(8, false, (b, at, index, to) => {
    to.scales[index] = half(b, at);
    put8(to, index * 32, 32, (i) => NL4[nibble(b, at + 2, i)]!);
  }),
  IQ4_XS: scaled(8, false, 32, (b, at, index, to) => {
    const [d, high] = [half(b, at), word(b, at + 2)];
    for (let group = 0; group < 8; group++) {
      const low = b[at + 4 + (group >> 1)]! >> ((group & 1) * 4);
      to.scales[index + group] = d * (((low & 15) | (((high >> (2 * group)) & 3) << 4)) - 32);
      put8(to, (index + group) * 32, 32, (i) => NL4[nibble(b, at + 8 + group * 16, i)]!);
    }
  }),
  TQ1_0: single(
    4,
    false,
    (b, at, index, to) => {
      to.scales[index] = half(b, at + 52);
      const first = index * 256;
      put4(to, first, 160, (i) => trit(b[at + (i & 31)]!, i >> 5));
      put4(to, first + 160, 80, (i) => trit(b[at + 32 + (i & 15)]!, i >> 4));
      put4(to, first + 240, 16, (i) => trit(b[at + 48 + (i & 3)]!, i >> 2));
    },
    256,
  ),
  TQ2_0: single(
    4,
    false,
    (b, at, index, to) => {
      to.scales[index] = half(b, at + 64);
      put4(to, index * 256, 256, (i) => ((b[at + (i >> 7) * 32 + (i & 31)]! >> (((i >> 5) & 3) * 2)) & 3) + 7);
    },
    256,
  ),
};
