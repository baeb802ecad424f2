import { expect, it } from "vitest";
import { svd, symmetricEigen, transposed } from "../../../src/runtime/lapack/portable-jacobi.ts";
import { columns, near } from "./matrices.ts";

it("singular values fall, and their vectors give the matrix back", () => {
  const a = [3, 0, 4, 5, 1, -2];
  const { s, u, vt, info } = svd(3, 2, Float64Array.from(a), "some");
  expect([info, s.length, s[0]! >= s[1]!]).toEqual([0, 2, true]);
  const back = Float64Array.from({ length: 6 }, (_, at) => {
    const [i, j] = [at % 3, Math.floor(at / 3)];
    return u[i]! * s[0]! * vt[2 * j]! + u[3 + i]! * s[1]! * vt[2 * j + 1]!;
  });
  near(back, a);
  near(svd(3, 2, Float64Array.from(a), "none").s, s);
  expect(svd(3, 2, Float64Array.from(a), "all").u.length).toBe(9);
});

it("eigenvalues of a symmetric matrix rise", () => {
  const a = columns([2, 1], [1, 2]);
  const w = new Float64Array(2);
  expect(symmetricEigen(2, a, w)).toBe(0);
  near(w, [1, 3]);
  near([Math.abs(a[0]!), Math.abs(a[1]!), a[0]! * a[1]! + 0.5, a[2]! * a[3]! - 0.5], [Math.SQRT1_2, Math.SQRT1_2, 0, 0]);
});

it("transposes a matrix", () => {
  near(transposed(2, 3, columns([1, 2], [3, 4], [5, 6])), columns([1, 3, 5], [2, 4, 6]));
});
