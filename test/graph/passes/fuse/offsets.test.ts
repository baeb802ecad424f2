/** Regions that read one buffer from many offsets on. */
import { expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { eachDevice } from "../../../device.ts";
import { mulberry } from "./programs.ts";

const [ROWS, COLUMNS, LENGTH] = [12, 16, 200];
const OFFSETS = [0, 4, 5, 8, 16, 20, 31, 48, 96, 184];

/** Numbers that float16 holds, whose sums are exact. */
function numbers(seed: number, count: number): number[] {
  const random = mulberry(seed);
  return Array.from({ length: count }, () => Math.floor(random() * 17) - 8);
}

eachDevice("offsets in a flat buffer", () => {
  it.each(["float32", "float16"] as const)("are where regions of one shader read, of %s", (dtype) => {
    const sums = dx.compile(
      (x: dx.Tensor, flat: dx.Tensor) =>
        OFFSETS.flatMap((offset, i) => {
          const [scale, bias] = [offset, OFFSETS.at(-1 - i)!].map((o) => dx.slice(flat, 0, o, o + COLUMNS));
          // Along adjacent elements, and across them.
          return [dx.sum(x.mul(scale!).add(bias!), 1), dx.sum(x.t().mul(scale!.reshape(COLUMNS, 1)).add(bias!.reshape(COLUMNS, 1)), 0)];
        }),
      { fuse: "always" },
    );
    for (const seed of [1, 2, 3]) {
      const [a, b] = [numbers(seed, ROWS * COLUMNS), numbers(seed + 10, LENGTH)];
      const results = sums(dx.tensor(a, { dtype }).reshape(ROWS, COLUMNS), dx.tensor(b, { dtype }));
      const expected = OFFSETS.flatMap((offset, i) => {
        const other = OFFSETS.at(-1 - i)!;
        const row = Array.from({ length: ROWS }, (_, r) =>
          Array.from({ length: COLUMNS }, (_, c) => a[r * COLUMNS + c]! * b[offset + c]! + b[other + c]!).reduce((m, n) => m + n, 0),
        );
        return [row, row];
      });
      expect(results.map((t) => t.toArraySync())).toEqual(expected);
    }
    expect(sums.explain().fused.length).toBeGreaterThan(0);
    sums.dispose();
  });
});
