/** Maxima of whole numbers and their places. Expected: PyTorch 2.15. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachMode } from "../device.ts";

eachMode("maxima of whole numbers with their places", (_, mode) => {
  test("are those of the first largest cell, and never in the padding", () => {
    const x = dx.tensor(
      [
        [
          [
            [1, 5, 5, -128],
            [2, 0, 7, 7],
            [-128, -128, 7, 3],
          ],
        ],
      ],
      { dtype: "int8" },
    );
    const [values, indices] = mode.run((t: dx.Tensor) => {
      const found = dx.maxPool2dWithIndices(t, 2, { stride: 2, padding: 1 });
      return [found.values, found.indices];
    }, x) as [dx.Tensor, dx.Tensor];
    expect(values.dtype).toBe("int8");
    expect(values.toArraySync()).toEqual([
      [
        [
          [1, 5, -128],
          [2, 7, 7],
        ],
      ],
    ]);
    expect(indices.toArraySync()).toEqual([
      [
        [
          [0, 1, 3],
          [4, 6, 7],
        ],
      ],
    ]);
  });
});
