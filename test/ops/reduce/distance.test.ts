import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../../device.ts";
import { gradgradcheck, leaf } from "../../gradgrad.ts";
import { expectClose } from "../../tolerance.ts";

const { NaN: nan } = Number;
const BY_GEMM = { computeMode: "useMmForEuclidDist" } as const;

/** Eighths from -11 / 8 to 11 / 8. */
const eighths = (n: number, step: number): number[] => Array.from({ length: n }, (_, i) => (((i * step) % 23) - 11) / 8);

interface Rows {
  readonly shape: readonly [number, number, number];
  readonly values: readonly number[];
}
const rows = (shape: Rows["shape"], step: number): Rows => ({ shape, values: eighths(shape[0] * shape[1] * shape[2], step) });

/** Distances of [A, P, M] and [B, R, M] and the gradients of their sum, in float64. A or B is the batch, the other one is 1 or the same. */
function reference(a: Rows, b: Rows): { y: number[]; da: number[]; db: number[] } {
  const [batches, p, m] = [Math.max(a.shape[0], b.shape[0]), a.shape[1], a.shape[2]];
  const r = b.shape[1];
  const y: number[] = [];
  const [da, db] = [a.values.map(() => 0), b.values.map(() => 0)];
  for (let batch = 0; batch < batches; batch++)
    for (let i = 0; i < p; i++)
      for (let j = 0; j < r; j++) {
        const [atA, atB] = [((batch % a.shape[0]) * p + i) * m, ((batch % b.shape[0]) * r + j) * m];
        const apart = Array.from({ length: m }, (_, k) => a.values[atA + k]! - b.values[atB + k]!);
        const distance = Math.sqrt(apart.reduce((sum, d) => sum + d * d, 0));
        y.push(distance);
        if (distance === 0) continue;
        apart.forEach((d, k) => {
          da[atA + k]! += d / distance;
          db[atB + k]! -= d / distance;
        });
      }
  return { y, da, db };
}

const CASES: readonly (readonly [string, Rows, Rows])[] = [
  ["many rows", rows([2, 27, 5], 7), rows([2, 3, 5], 5)],
  ["the batch of a alone", rows([2, 4, 5], 7), rows([1, 30, 5], 5)],
  ["the batch of b alone", rows([1, 3, 5], 7), rows([2, 26, 5], 5)],
  ["few rows", rows([2, 3, 5], 7), rows([1, 4, 5], 5)],
];

eachMode("cdist", (device, mode) => {
  for (const [name, a, b] of CASES)
    for (const computeMode of ["useMmForEuclidDistIfNecessary", "useMmForEuclidDist", "donotUseMmForEuclidDist"] as const)
      test(`${name}, ${computeMode}: distances and their gradients`, () =>
        clean(
          device,
          () => {
            const want = reference(a, b);
            const [x, z] = [a, b].map(({ shape, values }) => dx.tensor(values, { shape: shape[0] === 1 ? shape.slice(1) : shape }));
            const run = (u: dx.Tensor, v: dx.Tensor): readonly (dx.Tensor | null)[] => {
              const [p, q] = [u.detach().requiresGrad_(), v.detach().requiresGrad_()];
              const y = dx.cdist(p, q, { computeMode });
              return [y.detach(), ...dx.grad(dx.sum(y), [p, q])];
            };
            const [y, da, db] = mode.run((u, v) => run(u!, v!), x!, z!);
            // GEMM rounds before the terms cancel: lengths here are up to 3, their squares' last bits 1e-6.
            const tolerance = { rtol: 2e-5, atol: 2e-5 };
            expect(y!.shape).toEqual([Math.max(a.shape[0], b.shape[0]), a.shape[1], b.shape[1]]);
            expectClose(dx.flatten(y!), want.y, tolerance);
            expectClose(dx.flatten(da!), want.da, tolerance);
            expectClose(dx.flatten(db!), want.db, tolerance);
          },
          { collect: true },
        ));

  test("halves are computed in float32 and rounded once", () =>
    clean(
      device,
      () => {
        const [a, b] = [rows([1, 30, 8], 7), rows([1, 4, 8], 5)];
        const far = a.values.map((v) => v + 100);
        const want = reference({ ...a, values: far }, b).y;
        for (const dtype of ["float16", "bfloat16"] as const) {
          // Integers and eighths up to 4 are the same in bfloat16.
          const moved = dtype === "float16" ? far : a.values;
          const y = mode.run(
            (u, v) => dx.cdist(u!, v!),
            dx.tensor(moved, { dtype, shape: [30, 8] }),
            dx.tensor(b.values, { dtype, shape: [4, 8] }),
          );
          expect(y.dtype).toBe(dtype);
          const wanted = dtype === "float16" ? want : reference(a, b).y;
          // Of float16, eighths next to 100 are sixteenths.
          expectClose(dx.flatten(y), wanted, dtype === "float16" ? { rtol: 2e-3, atol: 0 } : { rtol: 8e-3, atol: 1e-3 });
        }
      },
      { collect: true },
    ));

  test("infinities and NaN as in PyTorch, by GEMM and by differences", () =>
    clean(
      device,
      () => {
        const a = dx.tensor([[1, 2], [Infinity, 1], [nan, 0], [-Infinity, 0], [3, 4]]); // prettier-ignore
        const b = dx.tensor([[1, 2], [Infinity, 1], [0, -1]]); // prettier-ignore
        const distances = mode.run((u, v) => dx.cdist(u!, v!, BY_GEMM), a, b);
        expectClose(distances, [[0, nan, 3.162278], [nan, nan, nan], [nan, nan, nan], [Infinity, Infinity, nan], [2.828427, nan, 5.830952]]); // prettier-ignore
        const differences = mode.run((u, v) => dx.cdist(u!, v!), a, b);
        expectClose(differences, [[0, Infinity, 3.162278], [Infinity, nan, Infinity], [nan, nan, nan], [Infinity, Infinity, Infinity], [2.828427, Infinity, 5.830952]]); // prettier-ignore
      },
      { collect: true },
    ));

  test("equal rows are as near as the rounding of their squares", () =>
    clean(
      device,
      () => {
        const x = dx.tensor(
          eighths(40 * 64, 7).map((v) => v * 100.3),
          { shape: [40, 64] },
        );
        // Squares of lengths are about 3e5, and sums of other orders differ.
        const own = numbers(dx.diagonal(mode.runWithin({ rtol: 1e-3, atol: 1 }, (v) => dx.cdist(v!, v!), x)));
        expect(Math.max(...own)).toBeLessThan(1);
        expect(Math.min(...own)).toBeGreaterThanOrEqual(0);
      },
      { collect: true },
    ));

  test("empty sizes", () =>
    clean(
      device,
      () => {
        const shape = (p: number, r: number, m: number): unknown => {
          const y = mode.run((u, v) => dx.cdist(u!, v!, BY_GEMM), dx.zeros([p, m]), dx.zeros([r, m]));
          return [y.shape, numbers(y).every((v) => v === 0)];
        };
        expect([shape(30, 2, 0), shape(0, 30, 4), shape(30, 0, 4)]).toEqual([
          [[30, 2], true],
          [[0, 30], true],
          [[30, 0], true],
        ]);
      },
      { collect: true },
    ));
});

eachDevice("gradients of cdist", (device) => {
  test("first and second order, by GEMM", () =>
    clean(
      device,
      () => {
        gradgradcheck((a, b) => dx.cdist(a, b, BY_GEMM), [leaf([2, 3]), leaf([4, 3], { from: 20 })]);
        gradgradcheck((a, b) => dx.cdist(a, b, BY_GEMM), [leaf([2, 2, 3]), leaf([3, 3], { from: 20 })]);
      },
      { collect: true },
    ));

  test("none between equal rows", () =>
    clean(
      device,
      () => {
        const a = dx.zeros([30, 2]).requiresGrad_();
        expect(numbers(dx.grad(dx.sum(dx.cdist(a, dx.zeros([1, 2]))), [a])[0]!).every((v) => v === 0)).toBe(true);
      },
      { collect: true },
    ));
});
