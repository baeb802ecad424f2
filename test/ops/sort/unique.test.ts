import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, numbers } from "../../device.ts";

eachDevice("distinct elements", (device) => {
  test("unique elements and rows with their indices and counts, and runs of neighbours", () =>
    clean(device, () => {
      const x = dx.tensor([3, 1, 3, -0, 2, 0], { dtype: "float32" });
      const { values, inverse, counts } = dx.unique(x);
      expect([numbers(values).map((v) => v + 0), numbers(inverse), numbers(counts)]).toEqual([
        [0, 1, 2, 3],
        [3, 1, 3, 0, 2, 0],
        [2, 1, 1, 2],
      ]);
      const rows = dx.unique(
        dx.tensor([
          [2, 1],
          [1, 9],
          [2, 1],
          [1, 3],
        ]),
        { axis: 0 },
      );
      expect([rows.values.toArraySync(), numbers(rows.inverse), numbers(rows.counts)]).toEqual([
        [
          [1, 3],
          [1, 9],
          [2, 1],
        ],
        [2, 1, 2, 0],
        [1, 1, 2],
      ]);
      const runs = dx.uniqueConsecutive(dx.tensor([1, 1, 2, 1], { dtype: "int64" }));
      expect([numbers(runs.values), numbers(runs.inverse), numbers(runs.counts)]).toEqual([
        [1, 2, 1],
        [0, 0, 1, 2],
        [2, 1, 1],
      ]);
      expect(numbers(dx.unique(dx.zeros([0])).values)).toEqual([]);
    }));

  test("inside compile it is refused", () =>
    clean(
      device,
      () => {
        const compiled = dx.compile((t: dx.Tensor) => dx.unique(t).values);
        expect(() => compiled(dx.ones([3]))).toThrow(dx.TraceError);
        compiled.dispose();
      },
      { collect: true },
    ));
});

test("inside compile, where a shape cannot wait, the refusal asks for no option that is not there", () => {
  dx.withDevice("cpu", () => {
    const values = dx.compile((x: dx.Tensor) => dx.unique(x).values);
    expect(() => values(dx.tensor([1, 2]))).toThrow(/^unique: x must be outside compile\(\): the result's shape depends on data/);
  });
});
