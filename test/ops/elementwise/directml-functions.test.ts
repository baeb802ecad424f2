/** DirectML's functions of elements compared with their formulas. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice, eachMode, numbers } from "../../device.ts";
import { gradgradcheck, leaf } from "../../gradgrad.ts";
import { expectClose } from "../../tolerance.ts";

const values = [-3, -1.5, -0.25, 0, 0.5, 1, 2.75, 60];
const softplus = (v: number): number => Math.max(v, 0) + Math.log1p(Math.exp(-Math.abs(v)));

const FUNCTIONS: readonly (readonly [string, (x: dx.Tensor) => dx.Tensor, (v: number) => number])[] = [
  ["scaledTanh", (x) => dx.scaledTanh(x, { alpha: 1.5, beta: -0.75 }), (v) => 1.5 * Math.tanh(-0.75 * v)],
  ["scaledTanh by default", (x) => dx.scaledTanh(x), (v) => Math.tanh(0.5 * v)],
  ["parametricSoftplus", (x) => dx.parametricSoftplus(x, { alpha: 2, beta: 3 }), (v) => 2 * softplus(3 * v)],
  ["thresholdedRelu", (x) => dx.thresholdedRelu(x, { alpha: 0.5 }), (v) => (v > 0.5 ? v : 0)],
  ["linearActivation", (x) => dx.linearActivation(x, { alpha: -2, beta: 0.25 }), (v) => -2 * v + 0.25],
  ["mean2", (x) => dx.mean2(x, 3), (v) => (v + 3) / 2],
];

eachMode("functions with parameters", (device, mode) => {
  for (const [name, run, formula] of FUNCTIONS)
    test(name, () => {
      for (const dtype of ["float32", "float16"] as const) {
        const y = mode.run(run, dx.tensor(values, { dtype }));
        expect(y.dtype).toBe(dtype);
        expectClose(y, values.map(formula), dtype === "float32" ? { rtol: 1e-5, atol: 1e-6 } : { rtol: 2e-3, atol: 1e-3 });
      }
      const odd = numbers(mode.run(run, dx.tensor([NaN, 1])));
      expect(odd[0]).toBeNaN();
      expect(mode.run(run, dx.zeros([0, 3])).shape).toEqual([0, 3]);
      expect(gradgradcheck(run, [leaf([2, 3])])).toBe(true);
    });

  test("valueScale2d has a bias for each channel", () => {
    const x = Array.from({ length: 24 }, (_, i) => Math.sin(i));
    const run = (t: dx.Tensor): dx.Tensor => dx.valueScale2d(t, -2, [1, 0, -0.5]);
    const y = mode.run(run, dx.tensor(x, { shape: [1, 3, 2, 4] }));
    expectClose(
      y,
      x.map((v, i) => -2 * v + [1, 0, -0.5][Math.floor(i / 8)]!),
      { rtol: 1e-6, atol: 1e-6 },
    );
    const transposed = dx.transpose(dx.tensor(x, { shape: [1, 3, 4, 2] }), 2, 3);
    expectClose(run(transposed), numbers(run(dx.contiguous(transposed))));
    expect(dx.gradcheck(run, [leaf([1, 3, 2, 2])])).toBe(true);
  });

  test("bitCount of every width and sign", () => {
    const count = (v: bigint, bits: number): number => BigInt.asUintN(bits, v).toString(2).replaceAll("0", "").length;
    for (const [dtype, bits] of [
      ["int8", 8],
      ["uint8", 8],
      ["int16", 16],
      ["uint16", 16],
      ["int32", 32],
      ["uint32", 32],
      ["int64", 64],
    ] as const) {
      const list = [0, 1, 2, 127, 85, ...(dtype.startsWith("u") ? [] : [-1, -128])];
      const y = mode.run(dx.bitCount, dx.tensor(list, { dtype }));
      expect(y.dtype).toBe("int32");
      expect(numbers(y)).toEqual(list.map((v) => count(BigInt(v), bits)));
    }
    expect(numbers(mode.run(dx.bitCount, dx.tensor([true, false])))).toEqual([1, 0]);
  });
});

eachDevice("what does not fit", () => {
  test("is refused", () => {
    const x = dx.zeros([2, 2]);
    expect(() => dx.scaledTanh(x, { alpha: Infinity })).toThrow("scaledTanh: alpha");
    expect(() => dx.thresholdedRelu(dx.ones([2], { dtype: "int32" }))).toThrow(dx.DTypeError);
    expect(() => dx.valueScale2d(dx.zeros([1, 2, 3, 3]), 1, [0, 0])).toThrow(dx.ShapeError);
    expect(() => dx.valueScale2d(dx.zeros([1, 3, 3, 3]), 1, [0])).toThrow("valueScale2d: bias");
    expect(() => dx.bitCount(x)).toThrow(dx.DTypeError);
  });
});
