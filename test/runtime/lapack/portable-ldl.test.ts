import { expect, it } from "vitest";
import { ldl, ldlSolve } from "../../../src/runtime/lapack/portable-ldl.ts";
import { columns, near } from "./matrices.ts";

it("solves where the diagonal alone would not do, by blocks of two", () => {
  const a = columns([0, 1, 2], [0, 0, 3], [0, 0, 1]);
  const pivots = new Int32Array(3);
  expect(ldl(3, a, pivots)).toBe(0);
  expect([...pivots].some((p) => p < 0)).toBe(true);
  // [[0, 1, 2], [1, 0, 3], [2, 3, 1]] times [1, 2, 3]
  const b = columns([8, 10, 11]);
  ldlSolve(3, 1, a, pivots, b);
  near(b, [1, 2, 3]);
});

it("is the diagonal of a diagonal matrix", () => {
  const a = columns([2, 0], [0, -3]);
  const pivots = new Int32Array(2);
  expect(ldl(2, a, pivots)).toBe(0);
  near([a[0]!, a[1]!, a[3]!], [2, 0, -3]);
  const b = columns([4, 9], [2, 3]);
  ldlSolve(2, 2, a, pivots, b);
  near(b, [2, -3, 1, -1]);
});
