/** Maxima of whole numbers and their places. Expected: PyTorch 2.15. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { checkIndices, clean, eachDevice, eachMode } from "../device.ts";

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

eachDevice("maxima put back", (device) => {
  describe("with indices checked", () => {
    let restore: () => void;
    beforeEach(() => (restore = checkIndices()));
    afterEach(() => restore());

    test("go to places inside the plane only", () =>
      clean(
        device,
        () => {
          const x = dx.ones([1, 1, 1, 1]);
          const at = (place: number): dx.Tensor => dx.maxUnpool2d(x, dx.tensor([[[[place]]]], { dtype: "int32" }), 2);
          expect(at(3).toArraySync()).toEqual([
            [
              [
                [0, 0],
                [0, 1],
              ],
            ],
          ]);
          for (const place of [-1, 4, 9]) expect(() => at(place)).toThrow(dx.IndexError);
          expect(() => at(-1)).toThrow("maxUnpool2d: indices must be whole numbers in [0, 3]; received -1.");
        },
        { collect: true },
      ));
  });
});
