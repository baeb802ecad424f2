/** Rows of a table: gradients are sums by index, which keep each row's numbers to itself, also those that are not finite. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachMode } from "../../device.ts";

const F = dx.nn.functional;
const indices = (): dx.Tensor =>
  dx.tensor(
    [
      [2, 0],
      [2, 4],
    ],
    { dtype: "int32" },
  );

eachMode("embedding", (device, mode) => {
  it("adds each row's gradient to the row that was read, and nothing to the padding", () =>
    clean(device, () => {
      const table = dx.reshape(dx.arange(10, { dtype: "float32" }), [5, 2]).requiresGrad_();
      const dy = dx.tensor([
        [
          [1, 2],
          [3, 4],
        ],
        [
          [5, 6],
          [NaN, -Infinity],
        ],
      ]);
      const gradient = (options: dx.EmbeddingOptions): unknown =>
        mode.run((t, d) => dx.grad([F.embedding(indices(), t, options)], [t], { gradient: [d] })[0]!, table, dy).toArraySync();
      expect(gradient({})).toEqual([
        [3, 4],
        [0, 0],
        [6, 8],
        [0, 0],
        [NaN, -Infinity],
      ]);
      expect(gradient({ paddingIdx: -1 })).toEqual([
        [3, 4],
        [0, 0],
        [6, 8],
        [0, 0],
        [0, 0],
      ]);
      expect(gradient({ scaleGradByFreq: true })).toEqual([
        [3, 4],
        [0, 0],
        [3, 4],
        [0, 0],
        [NaN, -Infinity],
      ]);
    }));

  it("sums bags of rows, each by itself", () =>
    clean(device, () => {
      const table = dx
        .tensor([
          [1, 2],
          [3, 4],
          [NaN, Infinity],
        ])
        .requiresGrad_();
      const bag = (options: dx.EmbeddingBagOptions, ...rows: number[]): unknown =>
        mode
          .run(
            (t, i, o) => F.embeddingBag(i, t, { ...options, offsets: o }),
            table,
            dx.tensor(rows, { dtype: "int32" }),
            dx.tensor([0, 2, 2], { dtype: "int64" }),
          )
          .toArraySync();
      expect(bag({ mode: "sum" }, 0, 1, 2, 0)).toEqual([
        [4, 6],
        [0, 0],
        [NaN, Infinity],
      ]);
      expect(bag({ mode: "mean" }, 0, 1, 1, 0)).toEqual([
        [2, 3],
        [0, 0],
        [2, 3],
      ]);
      expect(bag({ mode: "mean", paddingIdx: 2 }, 0, 2, 1, 0)).toEqual([
        [1, 2],
        [0, 0],
        [2, 3],
      ]);
      expect(bag({ mode: "max" }, 0, 1, 1, 0)).toEqual([
        [3, 4],
        [0, 0],
        [3, 4],
      ]);
    }));
});

it("leaves out what lies before the first bag or behind the last", () => {
  dx.withDevice("cpu", () => {
    const table = dx.tensor([[1], [2], [4]]);
    const rows = dx.tensor([0, 1, 2], { dtype: "int32" });
    const sum = (offsets: number[], includeLastOffset = false): unknown =>
      F.embeddingBag(rows, table, { offsets: dx.tensor(offsets, { dtype: "int32" }), mode: "sum", includeLastOffset }).toArraySync();
    expect(sum([0, 1])).toEqual([[1], [6]]);
    expect(sum([0, 2, 2], true)).toEqual([[3], [0]]);
    expect(sum([1, 2])).toEqual([[2], [4]]);
  });
});
