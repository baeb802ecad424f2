/** Reductions of segments, and writing at flat indices, compared with loops. */
import { beforeAll, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { checkIndices, clean, eachDevice, eachMode, numbers } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

const wave = (n: number): number[] => Array.from({ length: n }, (_, i) => Math.fround(Math.sin(3.7 * i + 1) * 2));
const ints = (data: readonly number[] | readonly (readonly number[])[], dtype: "int32" | "int64" = "int32"): dx.Tensor =>
  dx.tensor(data, { dtype });
type Reduction = dx.SegmentReduction;
const START: Readonly<Record<Reduction, number>> = { sum: 0, mean: 0, max: -Infinity, min: Infinity, prod: 1 };
const STEP: Readonly<Record<Reduction, (a: number, b: number) => number>> = {
  sum: (a, b) => a + b,
  mean: (a, b) => a + b,
  max: (a, b) => Math.max(a, b),
  min: (a, b) => Math.min(a, b),
  prod: (a, b) => a * b,
};

/** One column's segments. */
function reduced(column: readonly number[], lengths: readonly number[], how: Reduction, initial: number | null): number[] {
  let at = 0;
  return lengths.map((n) => {
    const sum = column.slice(at, (at += n)).reduce(STEP[how], initial ?? START[how]);
    if (how !== "mean") return sum;
    return n === 0 ? (initial ?? NaN) : sum / n;
  });
}

eachMode("segments", (device, mode) => {
  for (const how of ["sum", "mean", "max", "min", "prod"] as const)
    test(`${how} over rows, by lengths and by offsets, with empty segments`, async () => {
      await clean(
        device,
        () => {
          const lengths = [2, 0, 3, 1];
          const x = dx.tensor(wave(12), { shape: [6, 2] });
          const columns = [0, 1].map((j) => wave(12).filter((_, i) => i % 2 === j));
          for (const initial of [null, 0.5]) {
            const want = columns.map((c) => reduced(c, lengths, how, initial));
            const flat = lengths.flatMap((_, i) => want.map((w) => w[i]!));
            expectClose(
              mode.run((t, l) => dx.segmentReduce(t, how, { lengths: l, initial }), x, ints(lengths, "int64")),
              flat,
            );
            expectClose(
              mode.run((t, o) => t.segmentReduce(how, { offsets: o, initial }), x, ints([0, 2, 2, 5, 6])),
              flat,
            );
          }
        },
        { collect: mode.name === "compiled" },
      );
    });

  test("along a later axis each row has lengths of its own", async () => {
    await clean(
      device,
      () => {
        const lengths = [
          [1, 3],
          [4, 0],
        ];
        const x = dx.tensor(wave(16), { shape: [2, 4, 2] });
        const got = mode.run((t, l) => dx.segmentReduce(t, "sum", { lengths: l, axis: 1 }), x, ints(lengths));
        const at = (n: number, i: number, k: number): number => wave(16)[n * 8 + i * 2 + k]!;
        const want = lengths.flatMap((list, n) => {
          const sums = [0, 1].map((k) =>
            reduced(
              [0, 1, 2, 3].map((i) => at(n, i, k)),
              list,
              "sum",
              null,
            ),
          );
          return list.flatMap((_, s) => sums.map((column) => column[s]!));
        });
        expectClose(got, want);
      },
      { collect: mode.name === "compiled" },
    );
  });

  test("put writes at flat indices, which may count from the end", async () => {
    await clean(
      device,
      () => {
        const x = dx.tensor([
          [1, 2, 3],
          [4, 5, 6],
        ]);
        const values = dx.tensor([
          [10, 20],
          [30, 40],
        ]);
        const index = ints([
          [0, -1],
          [2, 0],
        ]);
        expectClose(
          mode.run((t, i, v) => dx.put(t, i, v, { accumulate: true }), x, index, values),
          [51, 2, 33, 4, 5, 26],
        );
        expectClose(
          mode.run((t, i, v) => dx.put(t, i, v), x, index.index([0]), values.index([0])),
          [10, 2, 3, 4, 5, 20],
        );
      },
      { collect: mode.name === "compiled" },
    );
  });
});

eachDevice("refusals of segments and indices", (device) => {
  beforeAll(() => checkIndices());

  test("what does not fit", async () => {
    await clean(device, () => {
      const x = dx.ones([3, 2]);
      expect(() => dx.segmentReduce(x, "sum")).toThrow(/one of the two; received neither/);
      expect(() => dx.segmentReduce(x, "sum", { lengths: ints([1, 1]) })).toThrow(dx.IndexError);
      expect(numbers(dx.segmentReduce(x, "sum", { lengths: ints([1, 1]), unsafe: true }))).toEqual([1, 1, 1, 1]);
      expect(() => dx.segmentReduce(x, "sum", { lengths: ints([[3]]) })).toThrow(dx.ShapeError);
      expect(() => dx.segmentReduce(x, "sum", { lengths: dx.ones([1]) })).toThrow(dx.DTypeError);
      expect(() => dx.segmentReduce(x, "median" as "sum", { lengths: ints([3]) })).toThrow(dx.ValueError);
      expect(() => dx.put(x, ints([0]), dx.ones([2]))).toThrow(dx.ShapeError);
      expect(() => dx.put(x, ints([6]), dx.ones([1]))).toThrow(dx.IndexError);
      expect(() => dx.put(x, ints([0]), ints([1]))).toThrow(dx.DTypeError);
      expect(numbers(x.put_(ints([-1]), dx.tensor([9])))).toEqual([1, 1, 1, 1, 1, 9]);
    });
  });
});
