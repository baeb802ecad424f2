/** Packed blocks as float32. The order of float operations is that of llama.cpp's reference. */
import { halves } from "./halves.ts";
import type { GgufType } from "./types.ts";

/** Writes the elements of the block that begins at a byte, from an index on. */
export type Block = (bytes: Uint8Array, at: number, out: Float32Array, to: number) => void;

export const half = (bytes: Uint8Array, at: number): number => halves()[bytes[at]! | (bytes[at + 1]! << 8)]!;
const int8 = (bytes: Uint8Array, at: number): number => (bytes[at]! << 24) >> 24;
export const word = (bytes: Uint8Array, at: number): number => bytes[at]! | (bytes[at + 1]! << 8);
export const { fround } = Math;

const q4_0: Block = (b, at, out, to) => {
  const d = half(b, at);
  for (let i = 0; i < 16; i++) {
    const q = b[at + 2 + i]!;
    out[to + i] = d * ((q & 15) - 8);
    out[to + 16 + i] = d * ((q >> 4) - 8);
  }
};

const q4_1: Block = (b, at, out, to) => {
  const [d, m] = [half(b, at), half(b, at + 2)];
  for (let i = 0; i < 16; i++) {
    const q = b[at + 4 + i]!;
    out[to + i] = fround(d * (q & 15)) + m;
    out[to + 16 + i] = fround(d * (q >> 4)) + m;
  }
};

const q5_0: Block = (b, at, out, to) => {
  const d = half(b, at);
  for (let i = 0; i < 16; i++) {
    const q = b[at + 6 + i]!;
    const [low, high] = [b[at + 2 + (i >> 3)]!, b[at + 4 + (i >> 3)]!];
    out[to + i] = d * (((q & 15) | (((low >> (i & 7)) & 1) << 4)) - 16);
    out[to + 16 + i] = d * (((q >> 4) | (((high >> (i & 7)) & 1) << 4)) - 16);
  }
};

const q5_1: Block = (b, at, out, to) => {
  const [d, m] = [half(b, at), half(b, at + 2)];
  for (let i = 0; i < 16; i++) {
    const q = b[at + 8 + i]!;
    const [low, high] = [b[at + 4 + (i >> 3)]!, b[at + 6 + (i >> 3)]!];
    out[to + i] = fround(d * ((q & 15) | (((low >> (i & 7)) & 1) << 4))) + m;
    out[to + 16 + i] = fround(d * ((q >> 4) | (((high >> (i & 7)) & 1) << 4))) + m;
  }
};

const q8 =
  (skip: number): Block =>
  (b, at, out, to) => {
    const d = half(b, at);
    for (let i = 0; i < 32; i++) out[to + i] = d * int8(b, at + skip + i);
  };

const q8_K: Block = (b, at, out, to) => {
  const d = new DataView(b.buffer, b.byteOffset + at, 4).getFloat32(0, true);
  for (let i = 0; i < 256; i++) out[to + i] = d * int8(b, at + 4 + i);
};

const q2_K: Block = (b, at, out, to) => {
  const [d, dmin] = [half(b, at + 80), half(b, at + 82)];
  for (let group = 0; group < 16; group++) {
    const scale = b[at + group]!;
    const [dl, ml] = [fround(d * (scale & 15)), fround(dmin * (scale >> 4))];
    const from = at + 16 + (group >> 3) * 32 + (group & 1) * 16;
    const shift = group & 6;
    for (let i = 0; i < 16; i++) out[to + group * 16 + i] = fround(dl * ((b[from + i]! >> shift) & 3)) - ml;
  }
};

const q3_K: Block = (b, at, out, to) => {
  const d = half(b, at + 108);
  for (let group = 0; group < 16; group++) {
    const low = b[at + 96 + (group & 7)]! >> (group < 8 ? 0 : 4);
    const high = b[at + 104 + (group & 3)]! >> (2 * (group >> 2));
    const dl = fround(d * (((low & 15) | ((high & 3) << 4)) - 32));
    const lane = (group & 1) * 16;
    const from = at + 32 + (group >> 3) * 32 + lane;
    const shift = group & 6;
    const bit = group >> 1;
    for (let i = 0; i < 16; i++) {
      const isSet = (b[at + lane + i]! >> bit) & 1;
      out[to + group * 16 + i] = dl * (((b[from + i]! >> shift) & 3) - 4 * (1 - isSet));
    }
  }
};

/** Scale and minimum of one of eight groups, of 6 bits each. */
export const scaleK = (b: Uint8Array, at: number, i: number): number =>
  i < 4 ? b[at + i]! & 63 : (b[at + 4 + i]! & 15) | ((b[at + i - 4]! >> 2) & 0x30);
export const minK = (b: Uint8Array, at: number, i: number): number =>
  i < 4 ? b[at + 4 + i]! & 63 : (b[at + 4 + i]! >> 4) | ((b[at + i]! >> 2) & 0x30);

const q4_K: Block = (b, at, out, to) => {
  const [d, dmin] = [half(b, at), half(b, at + 2)];
  for (let group = 0; group < 8; group++) {
    const dl = fround(d * scaleK(b, at + 4, group));
    const ml = fround(dmin * minK(b, at + 4, group));
    const from = at + 16 + (group >> 1) * 32;
    const shift = (group & 1) * 4;
    for (let i = 0; i < 32; i++) out[to + group * 32 + i] = fround(dl * ((b[from + i]! >> shift) & 15)) - ml;
  }
};

const q5_K: Block = (b, at, out, to) => {
  const [d, dmin] = [half(b, at), half(b, at + 2)];
  for (let group = 0; group < 8; group++) {
    const dl = fround(d * scaleK(b, at + 4, group));
    const ml = fround(dmin * minK(b, at + 4, group));
    const from = at + 48 + (group >> 1) * 32;
    const shift = (group & 1) * 4;
    for (let i = 0; i < 32; i++) {
      const q = ((b[from + i]! >> shift) & 15) | (((b[at + 16 + i]! >> group) & 1) << 4);
      out[to + group * 32 + i] = fround(dl * q) - ml;
    }
  }
};

const q6_K: Block = (b, at, out, to) => {
  const d = half(b, at + 208);
  for (let group = 0; group < 16; group++) {
    const dl = fround(d * int8(b, at + 192 + group));
    const [part, first] = [group >> 3, (group & 7) * 16];
    const low = at + part * 64 + (first & 63);
    const high = at + 128 + part * 32 + (first & 31);
    const [lowShift, highShift] = [(first >> 6) * 4, (first >> 5) * 2];
    for (let i = 0; i < 16; i++) {
      const q = ((b[low + i]! >> lowShift) & 15) | (((b[high + i]! >> highShift) & 3) << 4);
      out[to + group * 16 + i] = dl * (q - 32);
    }
  }
};

const POWERS = [1, 3, 9, 27, 81];

const tq1_0: Block = (b, at, out, to) => {
  const d = half(b, at + 52);
  let index = to;
  const trits = (start: number, count: number, digits: number): void => {
    for (let digit = 0; digit < digits; digit++)
      for (let i = 0; i < count; i++) out[index++] = d * (((((b[at + start + i]! * POWERS[digit]!) & 255) * 3) >> 8) - 1);
  };
  trits(0, 32, 5);
  trits(32, 16, 5);
  trits(48, 4, 4);
};

const tq2_0: Block = (b, at, out, to) => {
  const d = half(b, at + 64);
  for (let group = 0; group < 8; group++) {
    const from = at + (group >> 2) * 32;
    const shift = (group & 3) * 2;
    for (let i = 0; i < 32; i++) out[to + group * 32 + i] = d * (((b[from + i]! >> shift) & 3) - 1);
  }
};

/** Of E2M1, doubled. */
const FP4 = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

const mxfp4: Block = (b, at, out, to) => {
  // Half of E8M0, since the values are doubled.
  const d = 2 ** (b[at]! - 128);
  for (let i = 0; i < 16; i++) {
    const q = b[at + 1 + i]!;
    out[to + i] = d * FP4[q & 15]!;
    out[to + 16 + i] = d * FP4[q >> 4]!;
  }
};

/** Half of an unsigned E4M3, since the values are doubled. */
function ue4m3(byte: number): number {
  if (byte === 0x7f) return 0;
  const [exponent, mantissa] = [(byte >> 3) & 15, byte & 7];
  return exponent === 0 ? mantissa * 2 ** -10 : (1 + mantissa / 8) * 2 ** (exponent - 8);
}

const nvfp4: Block = (b, at, out, to) => {
  for (let group = 0; group < 4; group++) {
    const d = ue4m3(b[at + group]!);
    for (let i = 0; i < 8; i++) {
      const q = b[at + 4 + group * 8 + i]!;
      out[to + group * 16 + i] = d * FP4[q & 15]!;
      out[to + group * 16 + 8 + i] = d * FP4[q >> 4]!;
    }
  }
};

export const NL4 = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

const iq4_nl: Block = (b, at, out, to) => {
  const d = half(b, at);
  for (let i = 0; i < 16; i++) {
    const q = b[at + 2 + i]!;
    out[to + i] = d * NL4[q & 15]!;
    out[to + 16 + i] = d * NL4[q >> 4]!;
  }
};

const iq4_xs: Block = (b, at, out, to) => {
  const d = half(b, at);
  const high = word(b, at + 2);
  for (let group = 0; group < 8; group++) {
    const low = b[at + 4 + (group >> 1)]! >> ((group & 1) * 4);
    const dl = fround(d * (((low & 15) | (((high >> (2 * group)) & 3) << 4)) - 32));
    for (let i = 0; i < 16; i++) {
      const q = b[at + 8 + group * 16 + i]!;
      out[to + group * 32 + i] = dl * NL4[q & 15]!;
      out[to + group * 32 + 16 + i] = dl * NL4[q >> 4]!;
    }
  }
};

export const BLOCKS: { readonly [K in GgufType]?: Block } = {
  Q4_0: q4_0,
  Q4_1: q4_1,
  Q5_0: q5_0,
  Q5_1: q5_1,
  Q8_0: q8(2),
  Q8_1: q8(4),
  Q2_K: q2_K,
  Q3_K: q3_K,
  Q4_K: q4_K,
  Q5_K: q5_K,
  Q6_K: q6_K,
  Q8_K: q8_K,
  TQ1_0: tq1_0,
  TQ2_0: tq2_0,
  MXFP4: mxfp4,
  NVFP4: nvfp4,
  IQ4_NL: iq4_nl,
  IQ4_XS: iq4_xs,
};
