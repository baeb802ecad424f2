/** RANDOM_GENERATOR: Philox 4x32-10. The state is a counter of four words, the least significant first, and a key of two. */
import type { backend } from "dxtensor";
import type { Compute } from "./elementwise.ts";

const MASK = 0xffffffffn;

function philox(counter: bigint, key: readonly [number, number]): [number, number, number, number] {
  let [a, b, c, d] = [0n, 32n, 64n, 96n].map((shift) => (counter >> shift) & MASK) as [bigint, bigint, bigint, bigint];
  let [first, second] = [BigInt(key[0]), BigInt(key[1])];
  for (let round = 0; round < 10; round++) {
    const [p, q] = [0xd2511f53n * a, 0xcd9e8d57n * c];
    [a, b, c, d] = [(q >> 32n) ^ b ^ first, q & MASK, (p >> 32n) ^ d ^ second, p & MASK];
    first = (first + 0x9e3779b9n) & MASK;
    second = (second + 0xbb67ae85n) & MASK;
  }
  return [Number(a), Number(b), Number(c), Number(d)];
}

export function random(call: backend.BackendCall): Compute | null {
  const out = call.outputs[0]!;
  const size = out.sizes.reduce((n, d) => n * d, 1);
  return ([state], [y, next]) => {
    const words = Uint32Array.from((state as Uint32Array).subarray(0, 6));
    let counter = words.subarray(0, 4).reduce((n, word, i) => n | (BigInt(word) << BigInt(32 * i)), 0n);
    const key = [words[4]!, words[5]!] as const;
    for (let i = 0; i < size; i += 4, counter++)
      philox(counter, key).forEach((word, k) => {
        if (i + k < size) y![i + k] = word;
      });
    if (next === undefined) return;
    for (let i = 0; i < 4; i++) words[i] = Number((counter >> BigInt(32 * i)) & MASK);
    (next as Uint32Array).set(words);
  };
}
