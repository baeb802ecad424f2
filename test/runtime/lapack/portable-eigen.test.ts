import { expect, it } from "vitest";
import { eigen } from "../../../src/runtime/lapack/portable-eigen.ts";
import { columns, near } from "./matrices.ts";

it("a turn has a pair of complex values, and vectors that it turns", () => {
  const { re, im, vectorsRe, vectorsIm, info } = eigen(2, columns([0, 1], [-1, 0]));
  expect(info).toBe(0);
  near(re, [0, 0]);
  near(
    [...im].toSorted((a, b) => a - b),
    [-1, 1],
  );
  for (let k = 0; k < 2; k++) {
    const [x, y] = [2 * k, 2 * k + 1];
    // The first row of A v: -v1; of the value times v: i im v0.
    near([-vectorsRe[y]!, -vectorsIm[y]!], [-im[k]! * vectorsIm[x]!, im[k]! * vectorsRe[x]!]);
    expect(Math.hypot(vectorsRe[x]!, vectorsIm[x]!, vectorsRe[y]!, vectorsIm[y]!)).toBeCloseTo(1, 10);
  }
});

it("real values of a triangle are its diagonal", () => {
  const { re, im } = eigen(3, columns([1, 0, 0], [4, 2, 0], [5, 6, 3]));
  near(
    [...re].toSorted((a, b) => a - b),
    [1, 2, 3],
  );
  near(im, [0, 0, 0]);
});
