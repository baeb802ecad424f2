/** Regions that read one buffer from many offsets on. */
import { expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { eachDevice } from "../../../device.ts";
import { mulberry } from "./programs.ts";

const [ROWS, COLUMNS, LENGTH] = [12, 16, 200];
const OFFSETS = [0, 4, 5, 16, 48, 184];
const PAIRS = OFFSETS.map((offset, i) => [offset, OFFSETS.at(-1 - i)!] as const);

/** Numbers that float16 holds, whose sums are exact. */
function numbers(seed: number, count: number): number[] {
  const random = mulberry(seed);
  return Array.from({ length: count }, () => Math.floor(random() * 17) - 8);
}

/** Sums along adjacent elements, and across them. */
function sums(x: dx.Tensor, flat: dx.Tensor, [first, second]: readonly [number, number]): [dx.Tensor, dx.Tensor] {
  const [scale, bias] = [first, second].map((o) => dx.slice(flat, 0, o, o + COLUMNS)) as [dx.Tensor, dx.Tensor];
  const across = x.t().mul(scale.reshape(COLUMNS, 1)).add(bias.reshape(COLUMNS, 1));
  return [dx.sum(x.mul(scale).add(bias), 1), dx.sum(across, 0)];
}

eachDevice("offsets in a flat buffer", () => {
  it.each(["float32", "float16"] as const)("are where regions of one shader read, of %s", (dtype) => {
    const each = PAIRS.map((pair) => dx.compile((x: dx.Tensor, flat: dx.Tensor) => sums(x, flat, pair), { fuse: "always" }));
    // More than a launch has numbers for.
    const all = dx.compile((x: dx.Tensor, flat: dx.Tensor) => PAIRS.flatMap((pair) => sums(x, flat, pair)), { fuse: "always" });
    for (const seed of [1, 2, 3]) {
      const [a, b] = [numbers(seed, ROWS * COLUMNS), numbers(seed + 10, LENGTH)];
      const [x, flat] = [dx.tensor(a, { dtype }).reshape(ROWS, COLUMNS), dx.tensor(b, { dtype })];
      const expected = PAIRS.flatMap(([first, second]) => {
        const row = Array.from({ length: ROWS }, (_, r) =>
          Array.from({ length: COLUMNS }, (_, c) => a[r * COLUMNS + c]! * b[first + c]! + b[second + c]!).reduce((m, n) => m + n, 0),
        );
        return [row, row];
      });
      expect(each.flatMap((fn) => fn(x, flat).map((t) => t.toArraySync()))).toEqual(expected);
      expect(all(x, flat).map((t) => t.toArraySync())).toEqual(expected);
    }
    for (const fn of [...each, all]) {
      expect(fn.explain().fused.length).toBeGreaterThan(0);
      fn.dispose();
    }
  });
});
