/** Softmax and normalisations against their definitions in float64. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, clean, eachMode, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const count = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
const wave = (shape: readonly number[], seed = 1): dx.Tensor =>
  dx.tensor(
    Float32Array.from({ length: count(shape) }, (_, i) => Math.sin(seed + 1.7 * i) * 2),
    { shape },
  );

/** Applies fn to every slice along an axis of flat values. */
function along(values: readonly number[], shape: readonly number[], axis: number, fn: (slice: number[]) => number[]): number[] {
  const out = [...values];
  const inner = count(shape.slice(axis + 1));
  const length = shape[axis]!;
  for (let o = 0; o < count(shape.slice(0, axis)); o++)
    for (let i = 0; i < inner; i++) {
      const at = (k: number): number => (o * length + k) * inner + i;
      fn(Array.from({ length }, (_, k) => values[at(k)]!)).forEach((v, k) => {
        out[at(k)] = v;
      });
    }
  return out;
}
const softmax = (slice: number[]): number[] => {
  const top = Math.max(...slice);
  const e = slice.map((v) => Math.exp(v - top));
  const sum = e.reduce((a, b) => a + b);
  return e.map((v) => v / sum);
};

/** fn's gradient as a function that can be checked itself. */
const derivative =
  (fn: (...xs: dx.Tensor[]) => dx.Tensor) =>
  (...xs: dx.Tensor[]): readonly dx.Tensor[] =>
    dx.enableGrad(() => {
      const leaves = xs.map((t) => (t.requiresGrad ? t : t.detach().requiresGrad_()));
      return dx.grad(
        fn(...leaves)
          .square()
          .sum(),
        leaves,
        { createGraph: true },
      ) as dx.Tensor[];
    });

eachMode("softmax", (device, mode) => {
  test.each([
    [[5], 0],
    [[3, 4], 0],
    [[3, 4], 1],
    [[2, 3, 4], 1],
    [[2, 3, 2, 2], -4],
    [[2, 1, 3, 2, 2], 2],
  ] as const)("%j along %i", (shape, axis) =>
    clean(
      device,
      () => {
        const x = wave(shape);
        const at = axis < 0 ? axis + shape.length : axis;
        const want = along(numbers(x), shape, at, softmax);
        expectClose(
          mode.run((t) => dx.softmax(t, axis), x),
          want,
        );
        expectClose(
          mode.run((t) => dx.logSoftmax(t, axis), x),
          want.map(Math.log),
        );
        expectClose(
          mode.run((t) => dx.softmin(t, axis), x.neg()),
          want,
        );
        const permuted = x.permute(...shape.map((_, i) => shape.length - 1 - i));
        expectClose(
          mode.run((t) => dx.softmax(t, shape.length - 1 - at).permute(...shape.map((_, i) => shape.length - 1 - i)), permuted),
          want,
        );
        expect(dx.gradcheck((t) => dx.softmax(t, axis), [x.requiresGrad_()])).toBe(true);
        expect(dx.gradcheck((t) => dx.logSoftmax(t, axis), [x])).toBe(true);
      },
      { collect: true },
    ),
  );

  test("large numbers, infinities, rank 0, float16 and other dtypes", () =>
    clean(device, () => {
      expectClose(
        mode.run((t) => dx.softmax(t, 0), dx.tensor([1000, 1001])),
        softmax([0, 1]),
      );
      expectClose(
        mode.run((t) => dx.logSoftmax(t, 0), dx.tensor([-2000, 0])),
        [-2000, 0],
      );
      expectClose(
        mode.run((t) => dx.softmax(t, 0), dx.tensor([-Infinity, 0])),
        [0, 1],
      );
      expectClose(
        mode.run((t) => dx.softmax(t, 0), dx.tensor(3)),
        [1],
      );
      expectClose(
        mode.run((t) => dx.softmax(t, 1), dx.tensor([[1, 2, 3]], { dtype: "float16" })),
        softmax([1, 2, 3]),
      );
      expectClose(
        mode.run((t) => dx.softmax(t, 0, { dtype: "float32" }), dx.tensor(Int32Array.of(1, 2))),
        softmax([1, 2]),
      );
      expect(() => dx.softmax(dx.tensor(Int32Array.of(1, 2)), 0)).toThrow(dx.DTypeError);
      expect(() => dx.softmax(dx.ones([2]), 1)).toThrow(dx.ValueError);
    }));
});

eachDevice("gradients of softmax", (device) => {
  test("gradients of gradients", () =>
    clean(
      device,
      () => {
        expect(
          dx.gradcheck(
            derivative((t) => dx.softmax(t, 1)),
            [wave([2, 3]).requiresGrad_()],
          ),
        ).toBe(true);
        expect(
          dx.gradcheck(
            derivative((t) => dx.logSoftmax(t, 0)),
            [wave([3, 2]).requiresGrad_()],
          ),
        ).toBe(true);
      },
      { collect: true },
    ));
});

/** Mean and population variance. */
function moments(list: readonly number[]): { mean: number; variance: number } {
  const mean = list.reduce((a, b) => a + b, 0) / list.length;
  return { mean, variance: list.reduce((a, b) => a + (b - mean) ** 2, 0) / list.length };
}

eachMode("norm", (device, mode) => {
  test.each([[[6, 3]], [[4, 3, 2]], [[2, 3, 2, 3]], [[2, 2, 2, 2, 2]]])("batchNorm of %j in training", (shape) =>
    clean(
      device,
      () => {
        const c = shape[1]!;
        const [x, w, b] = [wave(shape), wave([c], 2), wave([c], 3)];
        const inner = count(shape.slice(2));
        const values = numbers(x);
        const channel = (i: number): number => Math.floor(i / inner) % c;
        const stats = Array.from({ length: c }, (_, k) => moments(values.filter((_v, i) => channel(i) === k)));
        const want = values.map(
          (v, i) =>
            ((v - stats[channel(i)]!.mean) / Math.sqrt(stats[channel(i)]!.variance + 1e-5)) * numbers(w)[channel(i)]! +
            numbers(b)[channel(i)]!,
        );
        expectClose(
          mode.run((t, p, q) => dx.batchNorm(t, null, null, p, q, { training: true }), x, w, b),
          want,
          { rtol: 1e-4, atol: 1e-4 },
        );
        expect(
          dx.gradcheck(
            (t, p, q) => dx.batchNorm(t, null, null, p, q, { training: true }),
            [x, w, b].map((t) => t.requiresGrad_()),
            { absolute: 5e-3 },
          ),
        ).toBe(true);
      },
      { collect: true },
    ),
  );

  test("running statistics move by momentum, with the sample variance, and serve in eval mode", () =>
    clean(
      device,
      () => {
        const x = wave([4, 2, 3]);
        const [mean, variance] = [dx.tensor([1, 2]), dx.tensor([3, 4])];
        const values = numbers(x);
        const stats = [0, 1].map((k) => moments(values.filter((_v, i) => Math.floor(i / 3) % 2 === k)));
        dx.batchNorm(x, mean, variance, null, null, { training: true, momentum: 0.25 });
        const wantMean = stats.map((s, k) => 0.75 * (k + 1) + 0.25 * s.mean);
        const wantVariance = stats.map((s, k) => 0.75 * (k + 3) + (0.25 * s.variance * 12) / 11);
        expectClose(mean, wantMean);
        expectClose(variance, wantVariance);
        const [w, b] = [dx.tensor([2, -1]), dx.tensor([0.5, 1])];
        const want = values.map((v, i) => {
          const k = Math.floor(i / 3) % 2;
          return ((v - wantMean[k]!) / Math.sqrt(wantVariance[k]! + 1e-5)) * [2, -1][k]! + [0.5, 1][k]!;
        });
        expectClose(
          mode.run((t, m, v, p, q) => dx.batchNorm(t, m, v, p, q), x, mean, variance, w, b),
          want,
        );
        expect(
          dx.gradcheck(
            (t, p, q) => dx.batchNorm(t, mean, variance, p, q),
            [x, w, b].map((t) => t.requiresGrad_()),
          ),
        ).toBe(true);
      },
      { collect: true },
    ));

  test.each([
    [[3, 4], [4]],
    [
      [2, 3, 4],
      [3, 4],
    ],
    [[2, 1, 2, 5], [5]],
  ] as const)("layerNorm of %j over %j", (shape, last) =>
    clean(
      device,
      () => {
        const [x, w, b] = [wave(shape), wave(last, 2), wave(last, 3)];
        const n = count(last);
        const values = numbers(x);
        const normal = values.map((v, i) => {
          const s = moments(values.slice(Math.floor(i / n) * n, (Math.floor(i / n) + 1) * n));
          return (v - s.mean) / Math.sqrt(s.variance + 1e-5);
        });
        expectClose(
          mode.run((t) => dx.layerNorm(t, last), x),
          normal,
          { rtol: 1e-4, atol: 1e-4 },
        );
        expectClose(
          mode.run((t, p, q) => dx.layerNorm(t, last, p, q), x, w, b),
          normal.map((v, i) => v * numbers(w)[i % n]! + numbers(b)[i % n]!),
          { rtol: 1e-4, atol: 1e-4 },
        );
        expect(
          dx.gradcheck(
            (t, p, q) => dx.layerNorm(t, last, p, q),
            [x, w, b].map((t) => t.requiresGrad_()),
            { absolute: 5e-3 },
          ),
        ).toBe(true);
        expect(dx.gradcheck((t) => dx.layerNorm(t, last), [x], { absolute: 5e-3 })).toBe(true);
        expect(dx.gradcheck((t, p) => dx.layerNorm(t, last, p), [x, w], { absolute: 5e-3 })).toBe(true);
      },
      { collect: true },
    ),
  );

  test("groupNorm and instanceNorm", () =>
    clean(
      device,
      () => {
        const [x, w, b] = [wave([2, 4, 3]), wave([4], 2), wave([4], 3)];
        const values = numbers(x);
        const want = (per: number): number[] =>
          values.map((v, i) => {
            const s = moments(values.slice(Math.floor(i / per) * per, (Math.floor(i / per) + 1) * per));
            const k = Math.floor(i / 3) % 4;
            return ((v - s.mean) / Math.sqrt(s.variance + 1e-5)) * numbers(w)[k]! + numbers(b)[k]!;
          });
        expectClose(
          mode.run((t, p, q) => dx.groupNorm(t, 2, p, q), x, w, b),
          want(6),
          { rtol: 1e-4, atol: 1e-4 },
        );
        expectClose(
          mode.run((t, p, q) => dx.instanceNorm(t, p, q), x, w, b),
          want(3),
          { rtol: 1e-4, atol: 1e-4 },
        );
        expect(
          dx.gradcheck(
            (t, p, q) => dx.groupNorm(t, 2, p, q),
            [x, w, b].map((t) => t.requiresGrad_()),
            { absolute: 5e-3 },
          ),
        ).toBe(true);
      },
      { collect: true },
    ));

  test("what does not fit is refused", () =>
    clean(device, () => {
      const x = dx.ones([2, 3]);
      expect(() => dx.batchNorm(x, null, null)).toThrow(/unless training/);
      expect(() => dx.batchNorm(x, dx.ones([2]), dx.ones([3]))).toThrow(/runningMean must be \[3\], one for each channel/);
      expect(() => dx.batchNorm(dx.ones([1, 3]), null, null, null, null, { training: true })).toThrow(
        /more than one value for each channel/,
      );
      expect(() => dx.layerNorm(x, [2])).toThrow(/last axes of x must be \[2\]; received float32\[2, 3\]/);
      expect(() => dx.layerNorm(x, [3], dx.ones([2]))).toThrow(dx.ShapeError);
      expect(() => dx.groupNorm(x, 2)).toThrow(/divides the 3 channels/);
      expect(() => dx.layerNorm(dx.ones([2, 3], { dtype: "int32" }), [3])).toThrow(dx.DTypeError);
    }));
});

eachDevice("gradients of norm", (device) => {
  test("gradients of gradients", () =>
    clean(
      device,
      () => {
        const loose = { absolute: 2e-2, relative: 2e-2 };
        expect(
          dx.gradcheck(
            derivative((t, w) => dx.layerNorm(t, [4], w)),
            [wave([2, 4]).requiresGrad_(), wave([4], 2).requiresGrad_()],
            loose,
          ),
        ).toBe(true);
        expect(
          dx.gradcheck(
            derivative((t, w, b) => dx.batchNorm(t, null, null, w, b, { training: true })),
            [wave([4, 2]), wave([2], 2), wave([2], 3)].map((t) => t.requiresGrad_()),
            loose,
          ),
        ).toBe(true);
      },
      { collect: true },
    ));
});
