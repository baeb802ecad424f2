/** Numbers within a tolerance of the largest expected one; what is not finite is the same. */
import { expect } from "vitest";

export function expectNear(got: readonly number[], expected: readonly number[], tolerance: number, name: string): void {
  expect(got).toHaveLength(expected.length);
  const range = Math.max(1, ...expected.filter(Number.isFinite).map(Math.abs));
  const wrong = got.flatMap((v, i) => (Object.is(v, expected[i]) || v === expected[i] || Math.abs(v - expected[i]!) <= tolerance * range ? [] : [`${name} at ${i}: ${v} and ${expected[i]}`])); // prettier-ignore
  expect(wrong.slice(0, 3)).toEqual([]);
}
