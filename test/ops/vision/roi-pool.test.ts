/** Pooling of regions, choosing among boxes and deformable convolution compared with their formulas, in float64. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../../device.ts";
import { gradgradcheck, leaf } from "../../gradgrad.ts";
import { expectClose } from "../../tolerance.ts";

const SHAPE = [2, 3, 7, 9] as const;
const data = Float32Array.from({ length: 378 }, (_, i) => Math.sin(i * 1.3));
/** The last ones: a single element, outside in part, outside as a whole, corners that are halves. */
const rois = [
  [0, 1, 1, 6, 5],
  [1, 0, 0, 8, 6],
  [1, 4, 3, 4, 3],
  [0, 5, 4, 14, 12],
  [1, 20, 20, 30, 25],
  [0, 0.5, 1.5, 5.5, 4.5],
  [1, -3, -2, 3, 2],
];

/** Values, and their flat indices in the whole tensor. */
function pooled(values: Float32Array, h: number, w: number, scale: number): { y: number[]; from: number[] } {
  const round = (v: number): number => Math.sign(v) * Math.floor(Math.abs(v) + 0.5);
  const [y, from]: [number[], number[]] = [[], []];
  for (const [image, ...corners] of rois) {
    const [x1, y1, x2, y2] = corners.map((c) => round(Math.fround(c * scale))) as [number, number, number, number];
    const bin = (i: number, first: number, last: number, bins: number, size: number): [number, number] => {
      const length = Math.max(last - first + 1, 1);
      const clip = (v: number): number => Math.min(Math.max(v + first, 0), size);
      return [clip(Math.floor((i * length) / bins)), clip(Math.ceil(((i + 1) * length) / bins))];
    };
    for (let c = 0; c < SHAPE[1]; c++)
      for (let i = 0; i < h; i++)
        for (let j = 0; j < w; j++) {
          let [best, at] = [-Infinity, -1];
          const [top, bottom] = bin(i, y1, y2, h, SHAPE[2]);
          const [left, right] = bin(j, x1, x2, w, SHAPE[3]);
          for (let a = top; a < bottom; a++)
            for (let b = left; b < right; b++) {
              const index = ((image! * SHAPE[1] + c) * SHAPE[2] + a) * SHAPE[3] + b;
              if (values[index]! > best) [best, at] = [values[index]!, index];
            }
          y.push(at === -1 ? 0 : best);
          from.push(at);
        }
  }
  return { y, from };
}

eachMode("roiPool", (device, mode) => {
  for (const [h, w, scale] of [
    [2, 3, 1],
    [1, 1, 1],
    [4, 4, 0.5],
    [7, 2, 1.25],
  ] as const)
    for (const isTied of [false, true])
      test(`${h}x${w}, scale ${scale}${isTied ? ", of equal elements" : ""}`, async () => {
        await clean(
          device,
          () => {
            const image = isTied ? data.map((v) => (Math.max(v, 0) > 0.5 ? 1 : 0)) : data;
            const { y, from } = pooled(image, h, w, scale);
            const weights = y.map((_, i) => Math.cos(i));
            const expected = new Float64Array(data.length);
            from.forEach((at, i) => {
              if (at >= 0) expected[at]! += weights[i]!;
            });
            const [got, gradient] = mode.run(
              (x, boxes, g) => {
                const out = dx.roiPool(x, boxes, { outputSize: [h, w], spatialScale: scale });
                return [out, dx.grad(out.mul(g).sum(), [x])[0]!] as const;
              },
              dx.tensor(image, { shape: SHAPE, requiresGrad: true }),
              dx.tensor(rois),
              dx.tensor(weights, { shape: [rois.length, 3, h, w] }),
            );
            expectClose(got, y);
            expectClose(gradient, [...expected], { rtol: 1e-5, atol: 1e-5 });
          },
          { collect: mode.name === "compiled" },
        );
      });
});

eachDevice("regions, boxes and moved windows", (device) => {
  const image = (): dx.Tensor => dx.tensor(data, { shape: SHAPE });

  test("roiPool of lists, of nothing, of half precision; what does not fit is refused", async () => {
    await clean(device, () => {
      const corners = [rois[0]!, rois[5]!, rois[1]!].map((r) => r.slice(1));
      const lists = [dx.tensor(corners.slice(0, 2)), dx.tensor(corners.slice(2))];
      const one = dx.tensor([rois[0]!, rois[5]!, rois[1]!]);
      expectClose(dx.roiPool(image(), lists, { outputSize: 2 }), numbers(dx.roiPool(image(), one, { outputSize: 2 })));
      expect(dx.roiPool(image(), dx.zeros([0, 5]), { outputSize: [2, 3] }).shape).toEqual([0, 3, 2, 3]);
      const half = dx.roiPool(image().to("float16"), one.to("float16"), { outputSize: 2 });
      expect(numbers(half)).toEqual(numbers(dx.roiPool(image().to("float16").to("float32"), one, { outputSize: 2 })));
      expect(() => dx.roiPool(image(), dx.zeros([1, 4]), { outputSize: 1 })).toThrow(dx.ShapeError);
      expect(() => dx.roiPool(image(), one.to("float16"), { outputSize: 1 })).toThrow(dx.DTypeError);
      expect(() => dx.roiPool(image(), one, { outputSize: 0 })).toThrow(dx.ValueError);
    });
  });

  test("psRoiAlign reads channels of its own for each bin", async () => {
    await clean(device, () => {
      const x = dx.tensor(
        Float32Array.from({ length: 2 * 12 * 5 * 6 }, (_, i) => Math.sin(i * 0.7)),
        { shape: [2, 12, 5, 6] },
      );
      const boxes = dx.tensor([
        [0, 0.5, 0.5, 4, 4],
        [1, 1, 0, 5.5, 3],
      ]);
      const options = { outputSize: [2, 3], spatialScale: 0.9, samplingRatio: 2 };
      const all = dx.roiAlign(x, boxes, { ...options, aligned: true }).toArraySync() as number[][][][];
      const expected: number[] = [];
      for (let k = 0; k < 2; k++)
        for (let c = 0; c < 2; c++)
          for (let i = 0; i < 2; i++) for (let j = 0; j < 3; j++) expected.push(all[k]![(c * 2 + i) * 3 + j]![i]![j]!);
      const y = dx.psRoiAlign(x, boxes, options);
      expect(y.shape).toEqual([2, 2, 2, 3]);
      expectClose(y, expected, { rtol: 1e-5, atol: 1e-6 });
      expect(gradgradcheck((t) => dx.psRoiAlign(t, boxes, options), [leaf([2, 6, 3, 4])])).toBe(true);
      expect(() => dx.psRoiAlign(x, boxes, { outputSize: 5 })).toThrow(dx.ShapeError);
    });
  });

  test("nms keeps the best of those that overlap", async () => {
    const boxes = dx.tensor([
      [0, 0, 10, 10],
      [1, 1, 11, 11],
      [20, 20, 30, 30],
      [0, 0, 10, 5],
      [21, 21, 29, 29],
      [50, 50, 50, 50],
    ]);
    const scores = dx.tensor([0.8, 0.9, 0.5, 0.7, 0.6, 0.1]);
    expect(numbers(dx.nmsSync(boxes, scores, 0.5))).toEqual([1, 3, 4, 5]);
    expect(numbers(await dx.nms(boxes, scores, 0.9))).toEqual([1, 0, 3, 4, 2, 5]);
    expect(numbers(await dx.nms(dx.zeros([0, 4]), dx.zeros([0]), 0.5))).toEqual([]);
    expect(() => dx.compile((b: dx.Tensor) => dx.nmsSync(b, scores, 0.5))(boxes)).toThrow(dx.TraceError);
    expect(() => dx.nmsSync(boxes, dx.zeros([5]), 0.5)).toThrow(dx.ShapeError);
  });
});

interface Windows {
  readonly stride: number;
  readonly padding: number;
  readonly dilation: number;
  readonly groups: number;
  readonly parts: number;
}

/** torchvision's deform_conv2d in plain loops. */
function deformed(x: dx.Tensor, offset: dx.Tensor, weight: dx.Tensor, mask: dx.Tensor | null, o: Windows): number[] {
  const [n, ci, h, w] = x.shape as [number, number, number, number];
  const [co, per, kh, kw] = weight.shape as [number, number, number, number];
  const [ho, wo] = offset.shape.slice(2) as [number, number];
  const [xs, os, ws, ms] = [numbers(x), numbers(offset), numbers(weight), mask === null ? null : numbers(mask)];
  const pixel = (b: number, c: number, i: number, j: number): number =>
    i < 0 || j < 0 || i >= h || j >= w ? 0 : xs[((b * ci + c) * h + i) * w + j]!;
  const result: number[] = [];
  for (let b = 0; b < n; b++)
    for (let c = 0; c < co; c++)
      for (let i = 0; i < ho; i++)
        for (let j = 0; j < wo; j++) {
          let sum = 0;
          for (let p = 0; p < per; p++)
            for (let k = 0; k < kh * kw; k++) {
              const channel = Math.floor(c / (co / o.groups)) * per + p;
              const part = Math.floor(channel / (ci / o.parts));
              const at = (axis: number): number => os[((b * o.parts * 2 * kh * kw + (part * kh * kw + k) * 2 + axis) * ho + i) * wo + j]!;
              const y = i * o.stride - o.padding + Math.floor(k / kw) * o.dilation + at(0);
              const z = j * o.stride - o.padding + (k % kw) * o.dilation + at(1);
              const [y0, z0] = [Math.floor(y), Math.floor(z)];
              let v = 0;
              for (const dy of [0, 1])
                for (const dz of [0, 1])
                  v += pixel(b, channel, y0 + dy, z0 + dz) * (dy === 1 ? y - y0 : 1 - y + y0) * (dz === 1 ? z - z0 : 1 - z + z0);
              const m = ms === null ? 1 : ms[((b * o.parts * kh * kw + part * kh * kw + k) * ho + i) * wo + j]!;
              sum += v * m * ws[(c * per + p) * kh * kw + k]!;
            }
          result.push(sum);
        }
  return result;
}

eachMode("deformConv2d", (device, mode) => {
  const random = (shape: readonly number[], phase: number, scale = 1): dx.Tensor =>
    dx.tensor(
      Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (__, i) => scale * Math.sin(i * 1.9 + phase)),
      { shape },
    );
  for (const o of [
    { stride: 1, padding: 1, dilation: 1, groups: 1, parts: 1 },
    { stride: 2, padding: 2, dilation: 2, groups: 2, parts: 2 },
    { stride: 1, padding: 0, dilation: 1, groups: 4, parts: 1 },
  ])
    test(JSON.stringify(o), () => {
      const [x, weight] = [random([2, 4, 6, 7], 0), random([4, 4 / o.groups, 3, 2], 1)];
      const out = [6, 7].map((d, i) => Math.floor((d + 2 * o.padding - ([3, 2][i]! - 1) * o.dilation - 1) / o.stride) + 1);
      const [offset, mask] = [random([2, o.parts * 12, ...out], 2, 2.3), random([2, o.parts * 6, ...out], 3)];
      const { stride, padding, dilation } = o;
      const bound = { rtol: 1e-4, atol: 2e-5 };
      const options = { stride, padding, dilation };
      const plain = mode.run((a, b, c) => dx.deformConv2d(a, b, c, options), x, offset, weight);
      expectClose(plain, deformed(x, offset, weight, null, o), bound);
      const masked = mode.run((a, b, c, d) => dx.deformConv2d(a, b, c, { ...options, mask: d }), x, offset, weight, mask);
      expectClose(masked, deformed(x, offset, weight, mask, o), bound);
      const still = mode.run(
        (a, b, c, d) => dx.deformConv2d(a, dx.zerosLike(b), c, { ...options, bias: d }),
        x,
        offset,
        weight,
        dx.ones([4]),
      );
      expectClose(still, numbers(dx.conv2d(x, weight, dx.ones([4]), { ...options, groups: o.groups })), bound);
    });

  test("gradients of all operands, and those of gradients", () => {
    const offset = dx
      .add(dx.mul(leaf([1, 8, 1, 2]), 0.1), 0.35)
      .detach()
      .requiresGrad_();
    const inputs = [leaf([1, 2, 2, 3]), offset, leaf([1, 2, 2, 2]), leaf([1, 4, 1, 2]), leaf([1])];
    const run = (x: dx.Tensor, o: dx.Tensor, w: dx.Tensor, mask: dx.Tensor, bias: dx.Tensor): dx.Tensor =>
      dx.deformConv2d(x, o, w, { mask, bias });
    expect(gradgradcheck(run as (...t: dx.Tensor[]) => dx.Tensor, inputs)).toBe(true);
    expect(() => dx.deformConv2d(inputs[0]!, dx.zeros([1, 7, 1, 2]), inputs[2]!)).toThrow("deformConv2d: offset");
    expect(() => dx.deformConv2d(inputs[0]!, offset, dx.zeros([1, 3, 2, 2]))).toThrow("deformConv2d: weight");
  });
});
