import { expect, it } from "vitest";
import { cholesky, lengthOf, lu, luSolve, qr, reflectorProduct, triangularSolve } from "../../../src/runtime/lapack/portable-factors.ts";
import { columns, near } from "./matrices.ts";

it("cholesky: the factor in the lower triangle; the order of the minor that is not positive", () => {
  const a = columns([4, 2, 6], [0, 5, 9], [0, 0, 22]);
  expect(cholesky(3, a)).toBe(0);
  near([a[0]!, a[1]!, a[2]!, a[4]!, a[5]!, a[8]!], [2, 1, 3, 2, 3, 2]);
  expect(cholesky(2, columns([1, 2], [0, 1]))).toBe(2);
});

it("lu exchanges rows, and solves both ways round", () => {
  const a = columns([0, 2], [1, 3]);
  const pivots = new Int32Array(2);
  expect([lu(2, 2, a, pivots), [...pivots]]).toEqual([0, [2, 2]]);
  near(a, [2, 0, 3, 1]);
  const b = columns([1, 7]);
  luSolve(2, 1, a, pivots, b, false);
  near(b, [2, 1]);
  const c = columns([4, 7]);
  luSolve(2, 1, a, pivots, c, true);
  near(c, [1, 2]);
  expect(lu(2, 2, columns([1, 2], [2, 4]), pivots)).toBe(2);
});

it("a triangle is solved from either side, with ones on the diagonal if asked", () => {
  const a = columns([2, 1], [5, 4]);
  const solved = (upper: boolean, transposed: boolean, unit: boolean): Float64Array => {
    const b = columns([4, 6]);
    triangularSolve(2, 1, a, b, { upper, transposed, unit });
    return b;
  };
  near(solved(false, false, false), [2, 1]);
  near(solved(true, false, true), [4 - 30, 6]);
  near(solved(false, true, false), [(4 - 1.5) / 2, 1.5]);
});

it("qr's reflectors give columns of length one, and R", () => {
  const a = columns([3, 4], [1, 2]);
  const tau = new Float64Array(2);
  qr(2, 2, a, tau);
  const r = [a[0]!, a[2]!, a[3]!];
  reflectorProduct(2, 2, 2, a, tau);
  near([a[0]! * r[0]!, a[1]! * r[0]!, a[0]! * r[1]! + a[2]! * r[2]!, a[1]! * r[1]! + a[3]! * r[2]!], [3, 4, 1, 2]);
  near([a[0]! ** 2 + a[1]! ** 2, a[0]! * a[2]! + a[1]! * a[3]!], [1, 0]);
});

it("lengths neither overflow nor vanish", () => {
  expect(lengthOf(columns([3e200, 4e200]), 0, 2) / 5e200).toBeCloseTo(1, 10);
  expect(lengthOf(columns([3e-200, 4e-200]), 0, 2) / 5e-200).toBeCloseTo(1, 10);
});
