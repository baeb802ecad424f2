/** Packed blocks whose codes are rows of a table: IQ1, IQ2, IQ3. */
import { fround, half, word, type Block } from "./dequantize.ts";
import { IQ1_S, IQ2_S, IQ2_XS, IQ2_XXS, IQ3_S, IQ3_XXS } from "./grid-data.ts";
import type { GgufType } from "./types.ts";

/** The elements of all rows. values: what the codes of `bits` bits each stand for. */
function table(base64: string, bits: number, values: readonly number[]): Int8Array {
  const bytes = Buffer.from(base64, "base64");
  const perByte = 8 / bits;
  return Int8Array.from(
    { length: bytes.length * perByte },
    (_, i) => values[(bytes[Math.floor(i / perByte)]! >> ((i % perByte) * bits)) & ((1 << bits) - 1)]!,
  );
}

const lazily = <T>(make: () => T): (() => T) => {
  let made: T | undefined;
  return () => (made ??= make());
};

const values2 = [0x08, 0x19, 0x2b];
const grid2xxs = lazily(() => table(IQ2_XXS, 2, values2));
const grid2xs = lazily(() => table(IQ2_XS, 2, values2));
const grid2s = lazily(() => table(IQ2_S, 2, values2));
const grid3xxs = lazily(() => table(IQ3_XXS, 4, [0x04, 0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3e]));
const grid3s = lazily(() => table(IQ3_S, 4, [1, 3, 5, 7, 9, 11, 13, 15]));
const grid1 = lazily(() => table(IQ1_S, 2, [-1, 0, 1]));

/** Seven signs and an eighth that makes their number even. */
function signsOf(code: number): number {
  let parity = code ^ (code >> 4);
  parity ^= parity >> 2;
  return code | (((parity ^ (parity >> 1)) & 1) << 7);
}

const uint32 = (b: Uint8Array, at: number): number => (word(b, at) | (word(b, at + 2) << 16)) >>> 0;

/** A row of a table times a scale, with signs: a bit that is set is a minus. */
function put(out: Float32Array, to: number, grid: Int8Array, row: number, length: number, scale: number, signs: number): void {
  for (let i = 0; i < length; i++) {
    const value = scale * grid[row * length + i]!;
    out[to + i] = (signs >> i) & 1 ? -value : value;
  }
}

const iq2_xxs: Block = (b, at, out, to) => {
  const [d, grid] = [half(b, at), grid2xxs()];
  for (let group = 0; group < 8; group++) {
    const from = at + 2 + group * 8;
    const code = uint32(b, from + 4);
    const scale = fround(d * (0.5 + (code >>> 28))) * 0.25;
    for (let i = 0; i < 4; i++) put(out, to + group * 32 + i * 8, grid, b[from + i]!, 8, scale, signsOf((code >>> (7 * i)) & 127));
  }
};

/** The scale of 16 elements, of 4 bits. */
const scale16 = (b: Uint8Array, at: number, i: number): number => (b[at + (i >> 1)]! >> ((i & 1) * 4)) & 15;

const iq2_xs: Block = (b, at, out, to) => {
  const [d, grid] = [half(b, at), grid2xs()];
  for (let i = 0; i < 32; i++) {
    const code = word(b, at + 2 + 2 * i);
    const scale = fround(d * (0.5 + scale16(b, at + 66, i >> 1))) * 0.25;
    put(out, to + i * 8, grid, code & 511, 8, scale, signsOf(code >> 9));
  }
};

const iq2_s: Block = (b, at, out, to) => {
  const [d, grid] = [half(b, at), grid2s()];
  for (let i = 0; i < 32; i++) {
    const row = b[at + 2 + i]! | (((b[at + 66 + (i >> 2)]! >> ((i & 3) * 2)) & 3) << 8);
    const scale = fround(d * (0.5 + scale16(b, at + 74, i >> 1))) * 0.25;
    put(out, to + i * 8, grid, row, 8, scale, b[at + 34 + i]!);
  }
};

const iq3_xxs: Block = (b, at, out, to) => {
  const [d, grid] = [half(b, at), grid3xxs()];
  for (let group = 0; group < 8; group++) {
    const code = uint32(b, at + 66 + group * 4);
    const scale = fround(d * (0.5 + (code >>> 28))) * 0.5;
    for (let i = 0; i < 8; i++) {
      const signs = signsOf((code >>> (7 * (i >> 1))) & 127) >> ((i & 1) * 4);
      put(out, to + group * 32 + i * 4, grid, b[at + 2 + group * 8 + i]!, 4, scale, signs);
    }
  }
};

const iq3_s: Block = (b, at, out, to) => {
  const [d, grid] = [half(b, at), grid3s()];
  for (let i = 0; i < 64; i++) {
    const row = b[at + 2 + i]! | (((b[at + 66 + (i >> 3)]! >> (i & 7)) & 1) << 8);
    const scale = fround(d * (1 + 2 * scale16(b, at + 106, i >> 3)));
    put(out, to + i * 4, grid, row, 4, scale, b[at + 74 + (i >> 1)]! >> ((i & 1) * 4));
  }
};

/** A row plus or minus an eighth, times a scale. */
function putShifted(out: Float32Array, to: number, row: number, scale: number, delta: number): void {
  const grid = grid1();
  for (let i = 0; i < 8; i++) out[to + i] = scale * (grid[row * 8 + i]! + delta);
}

const iq1_s: Block = (b, at, out, to) => {
  const d = half(b, at);
  for (let i = 0; i < 32; i++) {
    const high = word(b, at + 34 + 2 * (i >> 2));
    const row = b[at + 2 + i]! | (((high >> (3 * (i & 3))) & 7) << 8);
    putShifted(out, to + i * 8, row, fround(d * (2 * ((high >> 12) & 7) + 1)), high & 0x8000 ? -0.125 : 0.125);
  }
};

const iq1_m: Block = (b, at, out, to) => {
  const scales = [0, 1, 2, 3].map((i) => word(b, at + 48 + 2 * i));
  // The scale of the block is in the upper bits of those of its groups.
  const bits = scales.reduce((n, scale, i) => n | ((scale >> 12) << (4 * i)), 0);
  const d = half(Uint8Array.of(bits, bits >> 8), 0);
  for (let i = 0; i < 32; i++) {
    const high = b[at + 32 + (i >> 1)]! >> ((i & 1) * 4);
    const scale = (scales[i >> 3]! >> (3 * ((i >> 1) & 3))) & 7;
    putShifted(out, to + i * 8, b[at + i]! | ((high & 7) << 8), fround(d * (2 * scale + 1)), high & 8 ? -0.125 : 0.125);
  }
};

export const GRID_BLOCKS: { readonly [K in GgufType]?: Block } = {
  IQ2_XXS: iq2_xxs,
  IQ2_XS: iq2_xs,
  IQ2_S: iq2_s,
  IQ3_XXS: iq3_xxs,
  IQ3_S: iq3_s,
  IQ1_S: iq1_s,
  IQ1_M: iq1_m,
};
