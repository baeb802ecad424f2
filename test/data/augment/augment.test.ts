import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";
import * as reference from "./reference.ts";

const { augment } = dx.data;
const shape = [3, 3, 6, 5] as const;
/** Images whose values all dtypes have: multiples of 1/255 as uint8, else of 1/256. */
const dataOf = (dtype: dx.DType): number[] =>
  Array.from({ length: 3 * 3 * 6 * 5 }, (_, i) => (dtype === "uint8" ? (i * 83 + 11) % 256 : ((i * 83 + 11) % 256) / 256));
const imagesOf = (dtype: dx.DType): { readonly x: dx.Tensor; readonly images: reference.Images } => {
  const data = dataOf(dtype);
  return { x: dx.tensor(data, { shape, dtype }), images: { shape, data } };
};
const dtypes = ["float32", "float16", "uint8"] as const;
/** uint8 is rounded: a number near the middle of two may be either. */
const wide = (dtype: dx.DType) =>
  dtype === "uint8" ? { rtol: 0, atol: 1 } : dtype === "float16" ? { rtol: 2e-3, atol: 2e-3 } : { rtol: 1e-4, atol: 1e-4 };
const listed = (...list: number[]) => (n: number): number => list[n]!; // prettier-ignore

eachMode("augment", (device, mode) => {
  it("crops, flips and erases, exactly", () =>
    clean(device, () => {
      for (const dtype of dtypes) {
        const { x, images } = imagesOf(dtype);
        const [top, left] = [[0, 2, 5], [3, 0, 1]]; // prettier-ignore
        const fill = dtype === "uint8" ? 7 : 0.5;
        const crop = mode.run((t) => augment.randomCrop(t, [3, 4], { padding: 1, fill, top, left }), x);
        expect([crop.dtype, crop.shape]).toEqual([dtype, [3, 3, 3, 4]]);
        expect(numbers(crop)).toEqual(reference.crop(images, [3, 4], listed(...top), listed(...left), 1, fill));
        const flipped = [true, false, true];
        const isFlipped = (n: number): boolean => flipped[n]!;
        expect(numbers(mode.run((t) => augment.horizontalFlip(t, { flipped }), x))).toEqual(reference.flip(images, isFlipped, false));
        expect(numbers(mode.run((t) => augment.verticalFlip(t, { flipped }), x))).toEqual(reference.flip(images, isFlipped, true));
        const boxes = { top: [1, 0, 4], left: [2, 0, 4], height: [2, 6, 9], width: [3, 0, 9] };
        const box = (n: number): reference.Box => [boxes.top[n]!, boxes.left[n]!, boxes.height[n]!, boxes.width[n]!];
        const value = dtype === "uint8" ? [1, 2, 3] : [0.25, 0.5, 1];
        const erased = mode.run((t) => augment.randomErase(t, { boxes, value }), x);
        expect(erased.dtype).toBe(dtype);
        expect(numbers(erased)).toEqual(reference.erase(images, box, listed(...value)));
      }
    }));

  it("affine maps and rotations, by the nearest pixel and between pixels", () =>
    clean(device, () => {
      const angles = [31, -100, 8.5];
      const each = (n: number): reference.Affine => ({
        angle: angles[n]!,
        translate: [[1, 0, -0.25][n]!, [0, -1.3, 0.5][n]!],
        scale: [1, 0.8, 1.3][n]!,
        shear: [[0, 12, -7][n]!, [0, 5, 9][n]!],
      });
      const parameters = {
        angle: angles,
        translateX: [1, 0, -0.25],
        translateY: [0, -1.3, 0.5],
        scale: [1, 0.8, 1.3],
        shearX: [0, 12, -7],
        shearY: [0, 5, 9],
      };
      for (const dtype of dtypes) {
        const { x, images } = imagesOf(dtype);
        const fill = dtype === "uint8" ? 9 : 0.125;
        for (const kind of ["bilinear", "nearest"] as const) {
          const y = mode.run((t) => augment.affine(t, { parameters, mode: kind, fill }), x);
          expect([y.dtype, y.shape]).toEqual([dtype, shape]);
          expectClose(y, reference.affine(images, each, kind === "bilinear", fill), wide(dtype));
          const rotated = mode.run((t) => augment.rotation(t, 45, { angle: angles, mode: kind, fill }), x);
          const turn = (n: number): reference.Affine => ({ angle: -angles[n]!, translate: [0, 0], scale: 1, shear: [0, 0] });
          expectClose(rotated, reference.affine(images, turn, kind === "bilinear", fill), wide(dtype));
        }
      }
    }));

  it("colours, and normalizes", () =>
    clean(device, () => {
      const factors = { brightness: [0.5, 1.7, 1], contrast: [1.2, 0.3, 1], saturation: [0, 1.8, 1], hue: [0.1, -0.4, 0.5] };
      const each = (n: number): reference.Factors => ({
        brightness: factors.brightness[n]!,
        contrast: factors.contrast[n]!,
        saturation: factors.saturation[n]!,
        hue: factors.hue[n]!,
      });
      for (const dtype of dtypes) {
        const { x, images } = imagesOf(dtype);
        const bound = dtype === "uint8" ? 255 : 1;
        const want = reference.colorJitter({ shape, data: images.data.map((v) => v / bound) }, each).map((v) => v * bound);
        const jittered = mode.run((t) => augment.colorJitter(t, { factors }), x);
        expect(jittered.dtype).toBe(dtype);
        expectClose(jittered, want.map((v) => (bound === 255 ? Math.round(v) : v)), wide(dtype)); // prettier-ignore
        const [mean, std] = [[0.5, 0.4, 0.3], [0.2, 0.25, 2]]; // prettier-ignore
        const normal = mode.run((t) => augment.normalize(t, mean, std), x);
        expect(normal.dtype).toBe(dtype === "uint8" ? "float32" : dtype);
        const channel = (i: number): number => Math.floor(i / 30) % 3;
        const normalized = images.data.map((v, i) => (v / bound - mean[channel(i)]!) / std[channel(i)]!);
        expectClose(normal, normalized, dtype === "float16" ? wide(dtype) : undefined);
      }
      const one = dx.linspace(0, 1, 18).reshape([2, 1, 3, 3]);
      expectClose(augment.colorJitter(one, { factors: { saturation: [0, 3], hue: [0.5, 0.1] } }), numbers(one));
    }));

  it("mixes images and labels", () =>
    clean(device, () => {
      const weights = [0.25, 1, 0.5];
      const boxes = { top: [1, 0, -2], left: [2, 0, 3], height: [2, 0, 4], width: [3, 9, 4] };
      const clipped: reference.Box[] = [[1, 2, 2, 3], [0, 0, 0, 5], [0, 3, 2, 2]]; // prettier-ignore
      for (const dtype of dtypes) {
        const { x, images } = imagesOf(dtype);
        const labels = dx.tensor([2, 0, 1], { dtype: "int32" });
        const [mixed, rows] = mode.run((t, y) => augment.mixup(t, y, { weights, numClasses: 4 }), x, labels);
        expect(mixed.dtype).toBe(dtype);
        expectClose(mixed, reference.mixup(images, listed(...weights)), wide(dtype));
        expectClose(rows, [[0, 0.75, 0.25, 0], [1, 0, 0, 0], [0.5, 0.5, 0, 0]]); // prettier-ignore
        const soft = dx.tensor([[1, 0], [0, 1], [0.5, 0.5]]); // prettier-ignore
        const [cut, parts] = mode.run((t, y) => augment.cutmix(t, y, { boxes }), x, soft);
        expect(numbers(cut)).toEqual(reference.cutmix(images, (n) => clipped[n]!));
        expectClose(parts, [[0.8 + 0.1, 0.1], [0, 1], [0.5 * (26 / 30), 0.5 * (26 / 30) + 4 / 30]]); // prettier-ignore
      }
    }));
});

eachDevice("augment", (device) => {
  it("draws parameters for each sample from the generator, the same from the same seed, new ones in each call", () =>
    clean(
      device,
      async () => {
        const x = dx.linspace(0, 1, 64 * 3 * 64).reshape([64, 3, 8, 8]);
        const y = dx.zeros([64], { dtype: "int32" });
        const all = (generator: dx.Generator): Record<string, dx.Tensor> => ({
          randomCrop: augment.randomCrop(x, 4, { generator }),
          horizontalFlip: augment.horizontalFlip(x, { generator }),
          verticalFlip: augment.verticalFlip(x, { generator }),
          affine: augment.affine(x, { degrees: 20, translate: [0.2, 0.1], scale: [0.8, 1.2], shear: 5, shearY: [0, 3], generator }),
          rotation: augment.rotation(x, [10, 60], { generator }),
          colorJitter: augment.colorJitter(x, { brightness: 0.3, contrast: [0.5, 1.5], saturation: 0.2, hue: 0.1, generator }),
          randomErase: augment.randomErase(x, { value: "random", generator }),
          mixup: augment.mixup(x, y, { alpha: 0.4, numClasses: 2, generator })[0],
          cutmix: augment.cutmix(x, y, { numClasses: 2, generator })[0],
        });
        const generator = new dx.Generator(6);
        const [first, second, again] = [all(generator), all(generator), all(new dx.Generator(6))];
        const values = (made: Record<string, dx.Tensor>): string[] =>
          Object.entries(made).map(([name, t]) => `${name} ${String(numbers(t))}`);
        expect(values(again)).toEqual(values(first));
        expect(values(second).filter((text, i) => text === values(first)[i])).toEqual([]);
        expect(values(first).filter((text) => /NaN|Infinity/.test(text))).toEqual([]);
        const flips = numbers(dx.any(dx.ne(first["horizontalFlip"]!, x).reshape([64, -1]), 1));
        expect(flips.filter((v) => Number(v) !== 0).length).toBeGreaterThan(15);
        expect(flips.filter((v) => Number(v) !== 0).length).toBeLessThan(49);
        // A compiled function draws new parameters in each call.
        const compiled = dx.compile((t: dx.Tensor) => augment.randomCrop(t, 4, { generator }));
        const calls = [compiled(x), compiled(x), compiled(x)].map((t) => String(numbers(t)));
        expect(new Set(calls).size).toBe(3);
      },
      { collect: true },
    ));

  it("mixup's weights are of a Beta distribution", () =>
    clean(
      device,
      () => {
        const n = 4000;
        const x = dx.tensor(Float32Array.from({ length: n }, (_, i) => (i % 2)), { shape: [n, 1, 1, 1] }); // prettier-ignore
        const y = dx.zeros([n], { dtype: "int32" });
        for (const alpha of [0.2, 1, 3]) {
          const [mixed] = augment.mixup(x, y, { alpha, numClasses: 1, generator: new dx.Generator(3) });
          const all = numbers(mixed).map(Number);
          const mean = all.reduce((a, b) => a + b, 0) / n;
          const variance = all.reduce((sum, v) => sum + (v - 0.5) ** 2, 0) / n;
          expect(Math.abs(mean - 0.5)).toBeLessThan(0.03);
          expect(Math.abs(variance - 1 / (4 * (2 * alpha + 1)))).toBeLessThan(0.012);
        }
      },
      { collect: true },
    ));

  it("takes empty batches, views and NaN; its gradient goes through", () =>
    clean(
      device,
      () => {
        const none = dx.zeros([0, 3, 4, 4]);
        for (const y of [
          augment.randomCrop(none, 2),
          augment.horizontalFlip(none),
          augment.rotation(none, 10),
          augment.colorJitter(none, { hue: 0.1 }),
        ])
          expect(y.shape[0]).toBe(0);
        const view = dx.arange(96).to("float32").reshape([2, 4, 4, 3]).permute([0, 3, 1, 2]);
        expect(numbers(augment.horizontalFlip(view, { p: 1, generator: new dx.Generator(2) }))).toEqual(numbers(dx.flip(view, 3)));
        const x = dx.full([1, 1, 2, 2], NaN, { requiresGrad: true });
        const y = augment.randomErase(x, { boxes: { top: [0], left: [0], height: [1], width: [2] }, value: 0 });
        expect(numbers(y).slice(0, 2)).toEqual([0, 0]);
        y.sum().backward();
        expect(numbers(x.grad!)).toEqual([0, 0, 1, 1]);
      },
      { collect: true },
    ));

  it("refuses what does not fit", () =>
    clean(device, () => {
      const x = dx.zeros([2, 3, 4, 4]);
      const y = dx.zeros([2], { dtype: "int32" });
      const wrong: readonly [() => unknown, RegExp, typeof dx.ShapeError | typeof dx.ValueError | typeof dx.DTypeError][] = [
        [() => augment.randomCrop(x, 5), /randomCrop: size must be at most the padded image, \[4, 4\]/, dx.ShapeError],
        [() => augment.randomCrop(x, 0), /size must be an integer of at least 1/, dx.ValueError],
        [() => augment.randomCrop(x, 2, { top: [0] }), /top must be one number for each of 2 samples/, dx.ShapeError],
        [() => augment.horizontalFlip(x, { p: 2 }), /p must be a number in \[0, 1\]/, dx.ValueError],
        [() => augment.horizontalFlip(dx.zeros([3, 4, 4])), /x must be \[N, C, H, W\]/, dx.ShapeError],
        [() => augment.horizontalFlip(dx.zeros([1, 1, 1, 1], { dtype: "int32" })), /float32, float16 or uint8/, dx.DTypeError],
        [() => augment.rotation(x, -1), /degrees must be a number of at least 0/, dx.ValueError],
        [() => augment.affine(x, { scale: [0, 1] }), /scale/, dx.ValueError],
        [() => augment.affine(x, { translate: [2, 0] }), /translate/, dx.ValueError],
        [() => augment.colorJitter(x, { hue: [0, 0.7] }), /hue/, dx.ValueError],
        [() => augment.colorJitter(dx.zeros([1, 2, 3, 3]), {}), /of 1 or 3 channels/, dx.ShapeError],
        [() => augment.randomErase(x, { value: [1, 2] }), /value must be a number, 3 numbers, or "random"/, dx.ValueError],
        [() => augment.mixup(x, y), /numClasses/, dx.ValueError],
        [() => augment.mixup(x, y, { alpha: 0, numClasses: 2 }), /alpha/, dx.ValueError],
        [() => augment.cutmix(x, dx.zeros([3, 2])), /y must be \[2, classes\]/, dx.ShapeError],
        [() => augment.normalize(x, [0, 0], 1), /mean must be a finite number, or 3 of them/, dx.ValueError],
        [() => augment.normalize(x, 0, 0), /std must be a positive number/, dx.ValueError],
      ];
      for (const [call, text, kind] of wrong) {
        expect(call).toThrow(text);
        expect(call).toThrow(kind);
      }
    }));
});
