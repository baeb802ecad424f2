/** 8-bit Adam's shader in the evaluator: one step from a state of zeros, against float64. Against the composed form: select.test.ts. */
import { expect, it } from "vitest";
import { BOOKS } from "../../../src/optim/blockwise.ts";
import { adam8bit, blocksOfCodes, wordsOfCodes, type Book } from "../../../src/shader/kernels/adam-8bit.ts";
import { expectClose, launch, numbers } from "./support.ts";

/** The values of a book's codes, by code. */
function valuesOf({ decades, zero }: Book): number[] {
  const positive = decades.flatMap(({ count, top }) => Array.from({ length: count }, (_, k) => top * (0.1 + (0.9 * (k + 0.5)) / count)));
  return zero === null ? [0, ...positive, 1] : [...positive.toReversed().map((x) => -x), 0, ...positive, 1];
}

const wordsIn = (size: number, code: number): number[] => new Array<number>(Math.ceil(size / 4)).fill((code * 0x01010101) >>> 0);
const codesOf = (words: readonly number[], at: number, size: number): number[] =>
  Array.from({ length: size }, (_, i) => (words[at + (i >> 2)]! >>> (8 * (i & 3))) & 255);

it.each([1, 5, 256, 300, 1031])("%i elements", (size) => {
  const [p, g] = [numbers(size, 1), numbers(size, 2).map((x, i) => Math.fround(x * 10 ** -(i % 6)))];
  const [blocks, words] = [blocksOfCodes(size), wordsOfCodes(size)];
  const small = [...new Array<number>(2 * blocks).fill(0), 0.01, 0.9, 0.1, 0.1, 0.001];
  const shape = [size];
  const { pNext, codes, scales } = launch(
    adam8bit(...BOOKS),
    {
      p: { shape, values: p },
      g: { shape, values: g },
      first: { shape: [Math.ceil(size / 4)], values: wordsIn(size, BOOKS[0].zero) },
      second: { shape: [Math.ceil(size / 4)], values: wordsIn(size, 0) },
      small: { shape: [small.length], values: small },
      pNext: { shape },
      codes: { shape: [2 * words] },
      scales: { shape: [2 * blocks] },
    },
    { sign: 1, beta2: 0.999, rest2: 0.001, eps: 1e-8, decay: 0, shrinking: 0.5 },
  );
  // From zeros the first step is one of the learning rate, whatever the gradient's size.
  expectClose(pNext!, p.map((x, i) => x * (1 - 0.005) - (0.01 * g[i]!) / (Math.abs(g[i]!) + 1e-8))); // prettier-ignore
  BOOKS.forEach((book, which) => {
    const moments = g.map((x) => (which === 0 ? 0.1 * x : 0.001 * x * x));
    const values = valuesOf(book);
    expect(values).toHaveLength(256);
    const own = scales!.slice(which * blocks, (which + 1) * blocks);
    expectClose(own, own.map((_, b) => Math.max(...moments.slice(256 * b, 256 * (b + 1)).map(Math.abs)))); // prettier-ignore
    codesOf(codes!, which * words, size).forEach((code, i) => {
      const share = moments[i]! / (own[i >> 8]! || 1);
      const distance = Math.min(...values.map((v) => Math.abs(v - share)));
      expect(Math.abs(values[code]! - share)).toBeLessThanOrEqual(distance * (1 + 1e-3) + 1e-7);
    });
  });
});
