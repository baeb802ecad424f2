/** Integer matmul and quantized arithmetic, compared with their formulas in JavaScript. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice, numbers } from "../../device.ts";
import { gradgradcheck, leaf } from "../../gradgrad.ts";

const wave = (length: number, low: number, high: number, phase = 0): number[] =>
  Array.from({ length }, (_, i) => Math.round(low + ((high - low) * (1 + Math.sin(1.7 * i + phase))) / 2));

/** Halves to even. */
function even(x: number): number {
  const r = Math.round(x);
  return Math.abs(x % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r;
}
const level = (v: number, scale: number, zero: number, low = 0, high = 255): number =>
  Math.min(Math.max(even(v / scale) + zero, low), high);

/** Levels may differ by one where the quotient is near a half. */
function expectLevels(got: dx.Tensor, expected: readonly number[]): void {
  const list = numbers(got);
  expect(list).toHaveLength(expected.length);
  list.forEach((v, i) => {
    expect(Math.abs(v - expected[i]!)).toBeLessThanOrEqual(1);
  });
  expect(list.filter((v, i) => v !== expected[i]).length).toBeLessThanOrEqual(1 + expected.length / 20);
}

eachDevice("quantized arithmetic", () => {
  const bytes = (values: readonly number[], shape: readonly number[], dtype: "int8" | "uint8" = "uint8"): dx.Tensor =>
    dx.tensor([...values], { shape, dtype });

  test("intMm sums exactly, of mixed signs, with zero points and broadcast batches", () => {
    const [a, b] = [wave(2 * 3 * 5, 0, 255), wave(5 * 4, -128, 127, 1)];
    const [az, bz] = [
      [7, 200, 9],
      [1, -2, 3, 4],
    ];
    const product = (n: number, i: number, j: number, za: number, zb: number): number =>
      Array.from({ length: 5 }, (_, k) => (a[(n * 3 + i) * 5 + k]! - za) * (b[k * 4 + j]! - zb)).reduce((x, y) => x + y);
    const all = (za: (i: number) => number, zb: (j: number) => number): number[] =>
      Array.from({ length: 24 }, (_, x) => product(Math.floor(x / 12), Math.floor(x / 4) % 3, x % 4, za(Math.floor(x / 4) % 3), zb(x % 4)));
    const [x, y] = [bytes(a, [2, 3, 5]), bytes(b, [5, 4], "int8")];
    const plain = dx.intMm(x, y);
    expect(plain.dtype).toBe("int32");
    expect(plain.shape).toEqual([2, 3, 4]);
    expect(numbers(plain)).toEqual(
      all(
        () => 0,
        () => 0,
      ),
    );
    expect(numbers(dx.intMm(x, y, { aZeroPoint: 128, bZeroPoint: -3 }))).toEqual(
      all(
        () => 128,
        () => -3,
      ),
    );
    const perRow = { aZeroPoint: dx.tensor(az, { dtype: "uint8" }), bZeroPoint: dx.tensor(bz, { dtype: "int8" }) };
    expect(numbers(dx.intMm(x, y, perRow))).toEqual(
      all(
        (i) => az[i]!,
        (j) => bz[j]!,
      ),
    );
    const transposed = dx.intMm(dx.transpose(bytes(b, [5, 4], "int8"), 0, 1), dx.transpose(bytes(a.slice(0, 15), [3, 5]), 0, 1));
    expect(numbers(transposed)).toEqual(numbers(dx.transpose(dx.select(plain, 0, 0), 0, 1)));
    expect(() => dx.intMm(x, dx.zeros([5, 4]))).toThrow(dx.DTypeError);
    expect(() => dx.intMm(x, bytes(b, [4, 5], "int8"))).toThrow(dx.ShapeError);
    expect(() => dx.intMm(x, y, { aZeroPoint: 256 })).toThrow("aZeroPoint");
  });

  test("qlinearMatmul with scales for rows and columns", () => {
    const [a, b] = [wave(15, 0, 255), wave(20, -128, 127, 2)];
    const [as, bs] = [0.02, [0.01, 0.02, 0.03, 0.04]];
    const got = dx.qlinearMatmul(
      { values: bytes(a, [3, 5]), scale: as, zeroPoint: 120 },
      { values: bytes(b, [5, 4], "int8"), scale: dx.tensor(bs), zeroPoint: 3 },
      { scale: 0.05, zeroPoint: 100 },
    );
    expect(got.dtype).toBe("uint8");
    expectLevels(
      got,
      Array.from({ length: 12 }, (_, x) => {
        const [i, j] = [Math.floor(x / 4), x % 4];
        const sum = Array.from({ length: 5 }, (_, k) => (a[i * 5 + k]! - 120) * (b[k * 4 + j]! - 3)).reduce((p, q) => p + q);
        return level(sum * as * bs[j]!, 0.05, 100);
      }),
    );
  });

  for (const spatial of [1, 2])
    test(`convInteger and qlinearConv over ${spatial} axes, in groups, strided and dilated`, () => {
      const shape = spatial === 1 ? [2, 4, 9] : [2, 4, 6, 7];
      const kernel = spatial === 1 ? [6, 2, 3] : [6, 2, 3, 2];
      const size = (s: readonly number[]): number => s.reduce((p, q) => p * q);
      const [x, w] = [wave(size(shape), 0, 255), wave(size(kernel), -100, 100, 3)];
      const options = { stride: 2, padding: 1, dilation: spatial === 1 ? 2 : [1, 2], groups: 2 };
      const zeros = wave(6, -5, 5);
      const exact = (conv: typeof dx.conv2d): dx.Tensor =>
        conv(
          dx.tensor(
            x.map((v) => v - 100),
            { shape, dtype: "int32" },
          ),
          dx.sub(
            dx.tensor(w, { shape: kernel, dtype: "int32" }),
            dx.tensor(zeros, { shape: [6, ...kernel.slice(1).map(() => 1)], dtype: "int32" }),
          ),
          null,
          options,
        );
      const wanted = exact(spatial === 1 ? dx.conv1d : dx.conv2d);
      const zeroPoints = { aZeroPoint: 100, bZeroPoint: dx.tensor(zeros, { dtype: "int8" }) };
      const got = dx.convInteger(bytes(x, shape), bytes(w, kernel, "int8"), { ...options, ...zeroPoints });
      expect(got.shape).toEqual(wanted.shape);
      expect(numbers(got)).toEqual(numbers(wanted));
      const bias = wave(6, -900, 900, 4);
      const scales = [0.01, 0.02, 0.01, 0.015, 0.01, 0.03];
      const positions = size(wanted.shape.slice(2));
      const q = dx.qlinearConv(
        { values: bytes(x, shape), scale: 0.02, zeroPoint: 100 },
        { values: bytes(w, kernel, "int8"), scale: dx.tensor(scales), zeroPoint: zeroPoints.bZeroPoint },
        dx.tensor(bias, { dtype: "int32" }),
        { scale: 0.25, zeroPoint: -3, dtype: "int8" },
        options,
      );
      expect(q.dtype).toBe("int8");
      expectLevels(
        q,
        numbers(wanted).map((v, i) => {
          const c = Math.floor(i / positions) % 6;
          return level((v + bias[c]!) * 0.02 * scales[c]!, 0.25, -3, -128, 127);
        }),
      );
    });

  test("qlinearAdd broadcasts; qlinearAvgPool2d with and without padded elements", () => {
    const [a, b] = [wave(12, 0, 255), wave(4, -128, 127, 1)];
    const sum = dx.qlinearAdd(
      { values: bytes(a, [3, 4]), scale: 0.1, zeroPoint: 30 },
      { values: bytes(b, [4], "int8"), scale: 0.05 },
      { scale: 0.15, zeroPoint: 60 },
    );
    expectLevels(
      sum,
      a.map((v, i) => level((v - 30) * 0.1 + b[i % 4]! * 0.05, 0.15, 60)),
    );
    const x = wave(2 * 2 * 4 * 5, 0, 255);
    for (const countIncludePad of [true, false]) {
      const pooled = dx.qlinearAvgPool2d(
        { values: bytes(x, [2, 2, 4, 5]), scale: 0.1, zeroPoint: 20 },
        [2, 3],
        { scale: 0.2, zeroPoint: 5 },
        { stride: [2, 1], padding: [0, 1], countIncludePad },
      );
      const real = dx.avgPool2d(
        dx.tensor(
          x.map((v) => (v - 20) * 0.1),
          { shape: [2, 2, 4, 5] },
        ),
        [2, 3],
        { stride: [2, 1], padding: [0, 1], countIncludePad },
      );
      expect(pooled.shape).toEqual(real.shape);
      expectLevels(
        pooled,
        numbers(real).map((v) => level(v, 0.2, 5)),
      );
    }
  });

  test("chooseQparams holds the range and 0", () => {
    const of = (values: readonly number[], options?: Parameters<typeof dx.chooseQparams>[1]): number[] => {
      const { scale, zeroPoint } = dx.chooseQparams(dx.tensor([...values]), options);
      expect(zeroPoint.dtype).toBe("int32");
      return [scale.itemSync(), zeroPoint.itemSync()];
    };
    expect(of([-1, 0.5, 4.1])[0]).toBeCloseTo(5.1 / 255, 6);
    expect(of([-1, 0.5, 4.1])[1]).toBe(50);
    expect(of([2, 3])[0]).toBeCloseTo(3 / 255, 8);
    expect(of([2, 3])[1]).toBe(0);
    expect(of([-2, -1], { min: -128, max: 127 })[0]).toBeCloseTo(2 / 255, 8);
    expect(of([-2, -1], { min: -128, max: 127 })[1]).toBe(127);
    expect(of([0, 0])).toEqual([2 ** -23, 0]);
    const half = dx.chooseQparams(dx.tensor([-1, 1], { dtype: "float16" }), { min: 0, max: 15, eps: 0.5 });
    expect(half.scale.itemSync()).toBe(0.5);
    expect(() => dx.chooseQparams(dx.tensor([1, 2], { dtype: "int32" }))).toThrow(dx.DTypeError);
    expect(() => dx.chooseQparams(dx.tensor([1]), { min: 3, max: 3 })).toThrow(dx.ValueError);
  });

  test("matmuls with weights of 8 and 4 bits, and their gradients", () => {
    const w = wave(3 * 8, -128, 127);
    const scales = [0.01, 0.02, 0.03];
    const x = Array.from({ length: 16 }, (_, i) => Math.sin(i));
    const at8 = (scale: dx.Tensor): dx.Tensor =>
      dx.weightInt8packMm(dx.tensor(x, { shape: [2, 8] }), dx.tensor(w, { shape: [3, 8], dtype: "int8" }), scale);
    numbers(at8(dx.tensor(scales))).forEach((v, i) => {
      const [r, c] = [Math.floor(i / 3), i % 3];
      const sum = Array.from({ length: 8 }, (_, k) => x[r * 8 + k]! * w[c * 8 + k]!).reduce((p, q) => p + q);
      expect(v).toBeCloseTo(sum * scales[c]!, 3);
    });
    const packed = wave(12, 0, 255, 1);
    const levels = Array.from({ length: 24 }, (_, i) => (i % 2 === 0 ? packed[i >> 1]! >> 4 : packed[i >> 1]! & 15));
    const parameters = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? 0.1 + 0.01 * i : 0.3 * Math.sin(i)));
    const at4 = (input: dx.Tensor, sz: dx.Tensor): dx.Tensor =>
      dx.weightInt4packMm(input, dx.tensor(packed, { shape: [3, 4], dtype: "uint8" }), 4, sz);
    const sz = dx.tensor(parameters, { shape: [2, 3, 2] });
    numbers(at4(dx.tensor(x, { shape: [2, 8] }), sz)).forEach((v, i) => {
      const [r, c] = [Math.floor(i / 3), i % 3];
      let sum = 0;
      for (let k = 0; k < 8; k++) {
        const p = (Math.floor(k / 4) * 3 + c) * 2;
        sum += x[r * 8 + k]! * ((levels[c * 8 + k]! - 8) * parameters[p]! + parameters[p + 1]!);
      }
      expect(v).toBeCloseTo(sum, 4);
    });
    expect(
      gradgradcheck(at4, [
        leaf([2, 8]),
        dx
          .mul(leaf([2, 3, 2]), 0.1)
          .detach()
          .requiresGrad_(),
      ]),
    ).toBe(true);
    expect(
      dx.gradcheck(
        at8,
        [
          dx
            .mul(leaf([3]), 0.1)
            .detach()
            .requiresGrad_(),
        ],
        { absolute: 0.1, relative: 0.01 },
      ),
    ).toBe(true);
    expect(() => at4(dx.tensor(x, { shape: [2, 8] }), dx.zeros([2, 3]))).toThrow(dx.ShapeError);
  });
});
