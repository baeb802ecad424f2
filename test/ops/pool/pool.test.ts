/** Maxima of integers and their indices. Expected: PyTorch 2.15. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { checkIndices, clean, eachDevice, eachMode, numbers } from "../../device.ts";

eachMode("maxima of integers with their indices", (_, mode) => {
  test("are those of the first largest element, and never in the padding", () => {
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

eachDevice("unpooling of maxima", (device) => {
  describe("with indices checked", () => {
    let restore: () => void;
    beforeEach(() => (restore = checkIndices()));
    afterEach(() => restore());

    test("writes to indices inside the plane only", () =>
      clean(
        device,
        () => {
          const x = dx.ones([1, 1, 1, 1]);
          const at = (index: number): dx.Tensor => dx.maxUnpool2d(x, dx.tensor([[[[index]]]], { dtype: "int32" }), 2);
          expect(at(3).toArraySync()).toEqual([
            [
              [
                [0, 0],
                [0, 1],
              ],
            ],
          ]);
          for (const index of [-1, 4, 9]) expect(() => at(index)).toThrow(dx.IndexError);
          expect(() => at(-1)).toThrow("maxUnpool2d: indices must be integers in [0, 3]; received -1.");
        },
        { collect: true },
      ));
  });
});

/** Windows of -Infinity, alone and with numbers. */
eachMode("maxima of -Infinity", (device, mode) => {
  const row = [-Infinity, -Infinity, 3, -Infinity, -Infinity, -Infinity, -5, -Infinity];
  const expected = [-Infinity, 3, -Infinity, -5];
  for (const dtype of ["float32", "float16", "bfloat16"] as const)
    test(`${dtype}: of one to three axes, with indices, padding, adaptive and fractional`, async () => {
      await clean(device, () => {
        const x = dx.tensor(row, { dtype });
        const shaped = (...shape: number[]): dx.Tensor => x.reshape(shape);
        const run = (fn: (t: dx.Tensor) => dx.Tensor, t: dx.Tensor): number[] => numbers(mode.run((v) => fn(v!), t));
        expect(run((t) => dx.maxPool1d(t, 2), shaped(1, 1, 8))).toEqual(expected);
        expect(run((t) => dx.maxPool2d(t, [1, 2]), shaped(1, 1, 1, 8))).toEqual(expected);
        expect(run((t) => dx.maxPool2d(t, [1, 2]), shaped(1, 2, 2, 2))).toEqual(expected);
        expect(run((t) => dx.maxPool3d(t, [1, 1, 2]), shaped(1, 1, 1, 2, 4))).toEqual(expected);
        expect(run((t) => dx.adaptiveMaxPool1d(t, 4), shaped(1, 1, 8))).toEqual(expected);
        expect(run((t) => dx.adaptiveMaxPool2d(t, [1, 4]), shaped(1, 1, 1, 8))).toEqual(expected);
        expect(run((t) => dx.adaptiveMaxPool1d(t, 3), shaped(1, 1, 8))).toEqual([3, 3, -5]);
        expect(run((t) => dx.maxPool1d(t, 3, { padding: 1, stride: 2 }), shaped(1, 1, 8))).toEqual([-Infinity, 3, -Infinity, -5]);
        expect(run((t) => dx.maxPool1d(t, 2, { dilation: 3, stride: 1 }), shaped(1, 1, 8))).toEqual([
          -Infinity,
          -Infinity,
          3,
          -5,
          -Infinity,
        ]);
        expect(run((t) => dx.maxPool1dWithIndices(t, 2).values, shaped(1, 1, 8))).toEqual(expected);
        expect(run((t) => dx.maxPool1dWithIndices(t, 2).indices, shaped(1, 1, 8))).toEqual([0, 2, 4, 6]);
        expect(
          run(
            (t) => dx.fractionalMaxPool2d(t, 2, { outputSize: 1, randomSamples: dx.zeros([1, 1, 2]) }),
            shaped(1, 1, 2, 4).narrow(3, 0, 2),
          ),
        ).toEqual([-Infinity]);
      });
    });
});
