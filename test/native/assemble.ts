/** Compute shaders of model 5.0 put together by hand, so that the native side is tested without the emitter. */

/** A token of an operand and what follows it. */
export type Operand = readonly number[];

const MASKED = 0x2;
const register = (type: number, index: number, components: number): Operand => [(type << 12) | (1 << 20) | components, index];

/** rN.c to write. */
export const to = (index: number, component = 0): Operand => register(0, index, MASKED | (1 << (4 + component)));
/** rN.c to read. */
export const r = (index: number, component = 0): Operand => register(0, index, 0x2 | (2 << 2) | (component << 4));
/** The word n of cb0. */
export const constant = (n: number): Operand => [(8 << 12) | (2 << 20) | 0x2 | (2 << 2) | ((n & 3) << 4), 0, n >> 2];
export const immediate = (word: number): Operand => [(4 << 12) | 0x1, word >>> 0];
/** uN as what is read (swizzle xyzw) or written (one word). */
export const fromBuffer = (n: number): Operand => register(30, n, 0x2 | (1 << 2) | (0xe4 << 4));
export const toBuffer = (n: number): Operand => register(30, n, MASKED | (1 << 4));
export const buffer = (n: number): Operand => register(30, n, 0x0);
/** vThreadID.x */
export const threadId: Operand = [(32 << 12) | 0x2 | (2 << 2)];

export const OPCODES = {
  and: 1, else: 18, endif: 21, if: 31, loop: 48, endloop: 22, max: 52, mov: 54, ret: 62, ult: 79, imad: 35, sync: 190, ld_raw: 165,
  store_raw: 166, atomic_iadd: 173, f32tof16: 130, ieq: 32, mul: 56, sample: 69,
} as const; // prettier-ignore

export function op(name: keyof typeof OPCODES, ...operands: readonly Operand[]): number[] {
  const words = operands.flat();
  const nonZero = name === "if" ? 1 << 18 : 0;
  return [OPCODES[name] | nonZero | ((words.length + 1) << 24), ...words];
}
/** sync_g_t */
export const sync: readonly number[] = [OPCODES.sync | (3 << 11) | (1 << 24)];

function padded(bytes: Uint8Array): Uint8Array {
  const whole = Math.floor(bytes.length / 64) * 64;
  const rest = bytes.length - whole;
  const last = new Uint8Array(rest >= 56 ? 128 : 64);
  const view = new DataView(last.buffer);
  const at = rest >= 56 ? 0 : 4;
  last.set(bytes.subarray(whole), at);
  last[at + rest] = 0x80;
  view.setUint32(rest >= 56 ? 64 : 0, bytes.length * 8, true);
  view.setUint32(last.length - 4, (bytes.length * 2) | 1, true);
  return Buffer.concat([bytes.subarray(0, whole), last]);
}

/** MD5 without its own padding. */
export function compress(bytes: Uint8Array): number[] {
  const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
  const K = Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32) >>> 0);
  const SHIFTS = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]; // prettier-ignore
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let block = 0; block < bytes.length; block += 64) {
    let [a, b, c, d] = state as [number, number, number, number];
    for (let i = 0; i < 64; i++) {
      const round = i >> 4;
      const f = round === 0 ? (b & c) | (~b & d) : round === 1 ? (d & b) | (~d & c) : round === 2 ? b ^ c ^ d : c ^ (b | ~d);
      const word = [i, 5 * i + 1, 3 * i + 5, 7 * i][round]! % 16;
      const sum = (a + f + K[i]! + view.getUint32(block + 4 * word, true)) >>> 0;
      const shift = SHIFTS[round]![i % 4]!;
      [a, d, c] = [d, c, b];
      b = (b + ((sum << shift) | (sum >>> (32 - shift)))) >>> 0;
    }
    [a, b, c, d].forEach((x, i) => (state[i] = (state[i]! + x) >>> 0));
  }
  return state;
}

/** The container of a shader of `threads` threads a group, over raw buffers u0 and on, and words of cb0. */
export function assemble(threads: number, buffers: number, constants: number, code: readonly (readonly number[])[]): Uint8Array {
  const declarations = [
    [106 | (1 << 24)],
    ...(constants ? [[89 | (4 << 24), (8 << 12) | (2 << 20) | 0x2 | (1 << 2) | (0xe4 << 4), 0, Math.ceil(constants / 4)]] : []),
    ...Array.from({ length: buffers }, (_, i) => [157 | (3 << 24), ...buffer(i)]),
    [95 | (2 << 24), (32 << 12) | MASKED | (1 << 4)],
    [104 | (2 << 24), 8],
    [155 | (4 << 24), threads, 1, 1],
  ];
  const tokens = [...declarations, ...code, op("ret")].flat();
  const chunk = (name: string, words: readonly number[]): Uint8Array => {
    const bytes = Buffer.alloc(8 + 4 * words.length);
    bytes.write(name, "latin1");
    bytes.writeUInt32LE(4 * words.length, 4);
    words.forEach((w, i) => bytes.writeUInt32LE(w >>> 0, 8 + 4 * i));
    return bytes;
  };
  const chunks = [chunk("ISGN", [0, 8]), chunk("OSGN", [0, 8]), chunk("SHEX", [(5 << 16) | 0x50, tokens.length + 2, ...tokens])];
  const header = Buffer.alloc(32 + 4 * chunks.length);
  header.write("DXBC", "latin1");
  header.writeUInt32LE(1, 20);
  header.writeUInt32LE(header.length + chunks.reduce((sum, c) => sum + c.length, 0), 24);
  header.writeUInt32LE(chunks.length, 28);
  chunks.reduce((at, c, i) => (header.writeUInt32LE(at, 32 + 4 * i), at + c.length), header.length);
  const container = Buffer.concat([header, ...chunks]);
  compress(padded(container.subarray(20))).forEach((word, i) => container.writeUInt32LE(word, 4 + 4 * i));
  return new Uint8Array(container);
}
