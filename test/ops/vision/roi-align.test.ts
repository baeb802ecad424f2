/** roiAlign compared with torchvision's formula, computed with PyTorch in float64 (recorded/roi-align.json): values and gradients. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

interface Recorded {
  readonly rois: readonly (readonly number[])[];
  readonly runs: readonly {
    readonly scale: number;
    readonly ratio: number;
    readonly aligned: boolean;
    readonly y: readonly number[];
    readonly grad: readonly number[];
  }[];
}
const recorded = JSON.parse(readFileSync(new URL("../recorded/roi-align.json", import.meta.url), "utf8")) as Recorded;
const bound = { rtol: 1e-4, atol: 2e-5 };

const image = (): dx.Tensor =>
  dx.tensor(
    Float32Array.from({ length: 120 }, (_, i) => Math.sin(i * 1.3)),
    { shape: [2, 2, 5, 6] },
  );

eachMode("regions of images", (device, mode) => {
  for (const { scale, ratio, aligned, y, grad } of recorded.runs)
    test(`scale ${scale}, ${ratio === 0 ? "as many samples as fit" : `${ratio} samples`}${aligned ? ", aligned" : ""}`, async () => {
      await clean(
        device,
        () => {
          const options = { outputSize: [2, 3], spatialScale: scale, samplingRatio: ratio, aligned };
          const weights = dx.tensor(
            Float32Array.from({ length: y.length }, (_, i) => Math.cos(i)),
            { shape: [3, 2, 2, 3] },
          );
          const [got, gradient] = mode.run(
            (x, boxes, w) => {
              const out = dx.roiAlign(x, boxes, options);
              return [out, dx.grad(out.mul(w).sum(), [x])[0]!] as const;
            },
            image().requiresGrad_(),
            dx.tensor(recorded.rois),
            weights,
          );
          expect(got.shape).toEqual([3, 2, 2, 3]);
          expectClose(got, y, bound);
          expectClose(gradient, grad, bound);
        },
        { collect: mode.name === "compiled" },
      );
    });
});

eachDevice("lists of regions", (device) => {
  test("boxes by image are those of one list", async () => {
    await clean(device, () => {
      const corners = recorded.rois.map((r) => r.slice(1));
      const lists = [dx.tensor(corners.slice(0, 1)), dx.tensor(corners.slice(1))];
      const options = { outputSize: 2, samplingRatio: 1 };
      expectClose(dx.roiAlign(image(), lists, options), numbers(dx.roiAlign(image(), dx.tensor(recorded.rois), options)));
      expect(dx.roiAlign(image(), dx.zeros([0, 5]), options).shape).toEqual([0, 2, 2, 2]);
    });
  });

  test("what does not fit is refused", async () => {
    await clean(device, () => {
      expect(() => dx.roiAlign(image(), dx.zeros([1, 4]), { outputSize: 1 })).toThrow(dx.ShapeError);
      expect(() => dx.roiAlign(image(), [dx.zeros([1, 4])], { outputSize: 1 })).toThrow(/2 lists, one for each image/);
      expect(() => dx.roiAlign(image(), dx.zeros([1, 5]), { outputSize: 1, samplingRatio: 0.5 })).toThrow(dx.ValueError);
      expect(() => dx.roiAlign(image(), dx.zeros([1, 5], { dtype: "float16" }), { outputSize: 1 })).toThrow(dx.DTypeError);
      expect(() => dx.roiAlign(image().reshape(2, 2, 30), dx.zeros([1, 5]), { outputSize: 1 })).toThrow(dx.ShapeError);
    });
  });
});
