import { expect, it } from "vitest";
import { portable } from "../../../src/runtime/lapack/portable.ts";
import { columns, near } from "./matrices.ts";

it("has every routine of an engine, under its name", () => {
  expect(portable.name).toBe("portable");
  const b = columns([3, 5]);
  const [a, pivots] = [columns([2, 1], [1, 3]), new Int32Array(2)];
  expect(portable.lu(2, 2, a, pivots)).toBe(0);
  portable.luSolve(2, 1, a, pivots, b, false);
  near(b, [0.8, 1.4]);
  const w = new Float64Array(2);
  expect([portable.symmetricEigen(2, columns([2, 0], [0, 1]), w), [...w]]).toEqual([0, [1, 2]]);
});
