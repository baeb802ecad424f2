import { expect, it } from "vitest";
import { keyOf, sameData } from "../../src/graph/key.ts";

const different: readonly unknown[] = [
  0,
  -0,
  NaN,
  Infinity,
  -Infinity,
  1,
  1n,
  "1",
  null,
  true,
  [],
  [1],
  [[1]],
  { a: 1 },
  { a: 1, b: 1 },
  { b: 1 },
];

it("keys are equal for equal data only", () => {
  const keys = different.map(keyOf);
  expect(new Set(keys).size).toBe(different.length);
  expect(keyOf({ a: [1, Uint8Array.of(2, 3)] })).toBe(keyOf({ a: [1, Uint8Array.of(2, 3)] }));
});

it("data are the same by value, and only then", () => {
  for (const [i, a] of different.entries())
    for (const [j, b] of different.entries()) expect([i, j, sameData(a, b)]).toEqual([i, j, i === j]);
  expect(sameData({ a: { b: [NaN, -0] } }, { a: { b: [NaN, -0] } })).toBe(true);
  expect(sameData({ a: undefined }, { b: undefined })).toBe(false);
  expect([sameData(Uint8Array.of(1), Uint8Array.of(1)), sameData(Uint8Array.of(1), Uint8Array.of(2)), sameData([1, 2], [1])]).toEqual([
    true,
    false,
    false,
  ]);
});
