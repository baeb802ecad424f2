/** The DXBC container: chunks and their checksum, which is MD5 except in its last block. */

const SHIFTS = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];
const SINES = Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32) >>> 0);

/** Of the 16 words from an index on. */
function md5Block(state: Uint32Array, m: Uint32Array, at: number): void {
  let a = state[0]! | 0;
  let b = state[1]! | 0;
  let c = state[2]! | 0;
  let d = state[3]! | 0;
  for (let i = 0; i < 64; i++) {
    const round = i >> 4;
    const f = round === 0 ? (b & c) | (~b & d) : round === 1 ? (d & b) | (~d & c) : round === 2 ? b ^ c ^ d : c ^ (b | ~d);
    const g = (round === 0 ? i : round === 1 ? 5 * i + 1 : round === 2 ? 3 * i + 5 : 7 * i) & 15;
    const sum = (((a + f) | 0) + ((SINES[i]! + m[at + g]!) | 0)) | 0;
    const shift = SHIFTS[4 * round + (i & 3)]!;
    const before = b;
    b = (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0;
    a = d;
    d = c;
    c = before;
  }
  state[0] = state[0]! + a;
  state[1] = state[1]! + b;
  state[2] = state[2]! + c;
  state[3] = state[3]! + d;
}

/** Of the container's words from the fifth on. */
function checksum(words: Uint32Array): Uint32Array {
  const state = Uint32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
  const full = words.length - (words.length % 16);
  for (let at = 0; at < full; at += 16) md5Block(state, words, at);
  const rest = words.subarray(full);
  const bits = words.length * 32;
  const last = new Uint32Array(16);
  if (rest.length >= 14) {
    last.set(rest);
    last[rest.length] = 0x80;
    md5Block(state, last, 0);
    last.fill(0);
  } else {
    last.set(rest, 1);
    last[rest.length + 1] = 0x80;
  }
  last[0] = bits;
  last[15] = (bits >>> 2) | 1;
  md5Block(state, last, 0);
  return state;
}

const fourCC = (name: string): number => [0, 1, 2, 3].reduce((word, i) => word | (name.charCodeAt(i) << (8 * i)), 0) >>> 0;

/** A container of chunks, each of whole words. */
export function makeContainer(chunks: readonly { readonly name: string; readonly words: readonly number[] }[]): Uint8Array {
  const header = 8 + chunks.length;
  const size = chunks.reduce((n, c) => n + 2 + c.words.length, header);
  const words = new Uint32Array(size);
  words.set([fourCC("DXBC"), 0, 0, 0, 0, 1, size * 4, chunks.length]);
  let at = header;
  chunks.forEach(({ name, words: content }, i) => {
    words[8 + i] = at * 4;
    words.set([fourCC(name), content.length * 4], at);
    words.set(content, at + 2);
    at += 2 + content.length;
  });
  words.set(checksum(words.subarray(5)), 1);
  return new Uint8Array(words.buffer);
}

/** Whether a container's checksum is right. */
export function hasChecksum(container: Uint8Array): boolean {
  const words = new Uint32Array(Uint8Array.from(container).buffer);
  return checksum(words.subarray(5)).every((w, i) => w === words[i + 1]);
}
