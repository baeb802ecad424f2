import { describe, it } from "vitest";
import { gemm, isWholeFor, TILES } from "../../../src/shader/kernels/gemm.ts";
import { expectClose, launch, numbers } from "./support.ts";

type Sizes = readonly (readonly [number, number, number])[];
const sizes: Sizes = [
  [32, 32, 32],
  [33, 31, 17],
  [1, 70, 5],
  [64, 64, 16],
  [65, 130, 33],
];

describe.each(Object.entries(TILES))("the %s tile", (name, tile) => {
  // The evaluator takes its time: the large tiles see few sizes.
  const few: Sizes = name === "large" || name === "wide" ? [[128, 128, 16], [60, 20, 9]] : sizes; // prettier-ignore
  it.each(few)("%i x %i, %i deep", (m, n, k) => {
    const [a, b] = [numbers(m * k, 1, 1), numbers(k * n, 2, 1)];
    const expected = Array.from({ length: m * n }, (_, i) => {
      let sum = 0;
      for (let q = 0; q < k; q++) sum += a[Math.floor(i / n) * k + q]! * b[q * n + (i % n)]!;
      return sum;
    });
    const buffers = { a: { shape: [m, k], values: a }, b: { shape: [k, n], values: b }, c: { shape: [m, n] } };
    expectClose(launch(gemm(tile, false), buffers).c!, expected);
    if (isWholeFor(tile, m, n, k)) expectClose(launch(gemm(tile, true), buffers).c!, expected);
  });
});
