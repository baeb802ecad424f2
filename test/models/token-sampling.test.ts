/** Distributions with their limits against plain formulas, and text of tokens that come one by one. */
import { expect, it } from "vitest";
import { differenceOf, distributionOf, drawFrom, mostProbable, numbersOf, penalize } from "../../src/models/generation/token-sampling.ts";
import { TextStream } from "../../src/models/generation/text-stream.ts";

const open = { temperature: 1, topK: Infinity, topP: 1, minP: 0, penalty: 1 };
const logits = Float32Array.from([1, 3, -2, 2, 0, 2.5]);
const asMap = ({ tokens, probabilities }: ReturnType<typeof distributionOf>): Map<number, number> =>
  new Map(Array.from(tokens, (token, i) => [token, probabilities[i]!]));

function softmaxOf(kept: readonly number[], temperature = 1): Map<number, number> {
  const sum = kept.reduce((n, i) => n + Math.exp(logits[i]! / temperature), 0);
  return new Map(kept.map((i) => [i, Math.exp(logits[i]! / temperature) / sum]));
}

it.each([
  ["nothing", {}, softmaxOf([0, 1, 2, 3, 4, 5])],
  ["temperature", { temperature: 0.5 }, softmaxOf([0, 1, 2, 3, 4, 5], 0.5)],
  ["topK", { topK: 2 }, softmaxOf([1, 5])],
  // .45, .27 and .17 are kept: the first two sum up to .72.
  ["topP", { topP: 0.75 }, softmaxOf([1, 5, 3])],
  ["topP behind topK", { topK: 3, topP: 0.5 }, softmaxOf([1])],
  ["minP", { minP: 0.5 }, softmaxOf([1, 5])],
])("%s", (_, limits, want) => {
  const got = asMap(distributionOf(logits, { ...open, ...limits }));
  expect(new Set(got.keys())).toEqual(new Set(want.keys()));
  for (const [token, p] of want) expect(got.get(token)).toBeCloseTo(p, 6);
});

it("tokens are drawn as often as their probability says", () => {
  const distribution = distributionOf(logits, open);
  const counts = new Map<number, number>();
  const next = numbersOf(1);
  for (let i = 0; i < 20000; i++) {
    const token = drawFrom(distribution, next());
    counts.set(token, (counts.get(token) ?? 0) + 1);
  }
  for (const [token, p] of softmaxOf([0, 1, 2, 3, 4, 5])) expect(Math.abs((counts.get(token) ?? 0) / 20000 - p)).toBeLessThan(0.012);
});

it("penalty, ties, infinities and the difference of two distributions", () => {
  const own = Float32Array.from([2, -2, 1]);
  penalize(own, [0, 1, 1], 2);
  expect([...own]).toEqual([1, -4, 1]);
  expect(mostProbable(own)).toBe(0);
  expect(mostProbable(Float32Array.from([NaN, -Infinity, 1]))).toBe(2);
  expect([...distributionOf(Float32Array.from([-Infinity, 0]), open).tokens]).toEqual([1]);
  expect([...distributionOf(Float32Array.from([NaN, 0, NaN]), open).tokens]).toEqual([1]);
  expect(() => distributionOf(Float32Array.from([NaN, -Infinity]), open)).toThrow("one whose logits are numbers");
  const [p, q] = [
    { tokens: Int32Array.of(1, 2), probabilities: Float64Array.of(0.75, 0.25) },
    { tokens: Int32Array.of(2, 1), probabilities: Float64Array.of(0.5, 0.5) },
  ];
  expect([...differenceOf(p, q).probabilities]).toEqual([1, 0]);
});

it("text waits for whole characters and for what may be a stop string", () => {
  const bytes = [...new TextEncoder().encode("né END, né EN!")];
  const decoder = { decode: (ids: readonly number[]): string => new TextDecoder().decode(Uint8Array.from(ids)) };
  const run = (stops: readonly string[]): { parts: string[]; stopped: boolean } => {
    const stream = new TextStream(decoder, stops);
    const parts: string[] = [];
    for (const byte of bytes) {
      const { text, isStopped } = stream.add(byte);
      parts.push(text);
      if (isStopped) return { parts, stopped: true };
    }
    return { parts: [...parts, stream.end()], stopped: false };
  };
  const all = run([]);
  expect(all.parts.join("")).toBe("né END, né EN!");
  expect(all.parts.slice(0, 3)).toEqual(["n", "", "é"]);
  expect(run(["END"])).toMatchObject({ stopped: true });
  expect(run(["END"]).parts.join("")).toBe("né ");
  expect(run(["END?", "xyz"]).parts.join("")).toBe("né END, né EN!");
});
