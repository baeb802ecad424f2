import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachMode, numbers } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

type Unary = (x: dx.Tensor) => dx.Tensor;
/** Each function with the float64 reference, and values inside its domain. */
const FUNCTIONS: readonly [string, Unary, (x: number) => number, readonly number[]][] = [
  ["abs", dx.abs, Math.abs, [-2.5, 0, 3]],
  ["neg", dx.neg, (x) => -x, [-2.5, 1, 3]],
  ["sign", dx.sign, Math.sign, [-2.5, 0, 3]],
  ["square", dx.square, (x) => x * x, [-2.5, 0, 3]],
  ["exp", dx.exp, Math.exp, [-3, 0, 2]],
  ["exp2", dx.exp2, (x) => 2 ** x, [-3, 0.5, 4]],
  ["expm1", dx.expm1, Math.expm1, [-1, 1e-6, 2]],
  ["log", dx.log, Math.log, [0.1, 1, 20]],
  ["log2", dx.log2, Math.log2, [0.125, 1, 20]],
  ["log10", dx.log10, Math.log10, [0.01, 1, 200]],
  ["log1p", dx.log1p, Math.log1p, [-0.5, 1e-6, 20]],
  ["sqrt", dx.sqrt, Math.sqrt, [0, 0.25, 9]],
  ["rsqrt", dx.rsqrt, (x) => 1 / Math.sqrt(x), [0.25, 4]],
  ["reciprocal", dx.reciprocal, (x) => 1 / x, [-4, 0.5]],
  ["sin", dx.sin, Math.sin, [-2, 0, 3]],
  ["cos", dx.cos, Math.cos, [-2, 0, 3]],
  ["tan", dx.tan, Math.tan, [-1, 0, 1]],
  ["atan", dx.atan, Math.atan, [-5, 0, 5]],
  ["sinh", dx.sinh, Math.sinh, [-2, 0, 2]],
  ["cosh", dx.cosh, Math.cosh, [-2, 0, 2]],
  ["tanh", dx.tanh, Math.tanh, [-2, 0, 2]],
  ["acosh", dx.acosh, Math.acosh, [1.5, 4]],
  ["atanh", dx.atanh, Math.atanh, [-0.5, 0.75]],
  ["floor", dx.floor, Math.floor, [-1.5, 2, 2.75]],
  ["ceil", dx.ceil, Math.ceil, [-1.5, 2, 2.25]],
  ["trunc", dx.trunc, Math.trunc, [-1.5, 2.75]],
];

eachMode("unary", (device, mode) => {
  test.each(FUNCTIONS)("%s of float32, of a transposed view and of integers", (_name, fn, reference, values) =>
    clean(
      device,
      () => {
        const run = (x: dx.Tensor): dx.Tensor => mode.run(fn, x);
        expectClose(run(dx.tensor([...values])), values.map(reference));
        const square = dx.tensor([values, values, values]).t();
        expectClose(
          run(square),
          values.map((v) => [v, v, v].map(reference)),
        );
        expectClose(run(dx.tensor(values[1]!)), reference(values[1]!));
        const empty = run(dx.zeros([0, 3]));
        expect(empty.shape).toEqual([0, 3]);
        expect(run(dx.tensor([1, 2], { dtype: "float16" })).dtype).toBe("float16");
      },
      { collect: true },
    ),
  );

  test("integers become float32 where the result is real, and stay where it is whole", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([1, 4, 9], { dtype: "int32" });
        expectClose(mode.run(dx.sqrt, x), [1, 2, 3]);
        expect(mode.run(dx.sqrt, x).dtype).toBe("float32");
        for (const fn of [dx.floor, dx.neg, dx.abs, dx.sign, dx.square]) expect(mode.run(fn, x).dtype).toBe("int32");
        expect(numbers(mode.run(dx.neg, dx.tensor([1, 200], { dtype: "uint8" })))).toEqual([255, 56]);
        expect(numbers(mode.run(dx.square, dx.tensor([20, -100], { dtype: "int8" })))).toEqual([-112, 16]);
        expect(mode.run(dx.square, dx.tensor([3037000500n])).toArraySync()).toEqual([BigInt.asIntN(64, 3037000500n ** 2n)]);
      },
      { collect: true },
    ));

  test("round takes halves to the even number, and digits", () =>
    clean(
      device,
      () => {
        expectClose(
          mode.run((x) => dx.round(x), dx.tensor([0.5, 1.5, 2.5, -0.5, -1.5])),
          [0, 2, 2, 0, -2],
        );
        expectClose(
          mode.run((x) => dx.round(x, { decimals: 1 }), dx.tensor([1.26, -3.14])),
          [1.3, -3.1],
        );
        expectClose(
          mode.run((x) => dx.round(x, { decimals: -1 }), dx.tensor([126, -34])),
          [130, -30],
        );
      },
      { collect: true },
    ));

  test("log1p and expm1 keep the digits of small numbers", () =>
    clean(
      device,
      () => {
        const tolerance = { rtol: 2e-6, atol: 0 };
        const small = [1e-7, -3e-6, 2e-4, -0.03, 0.2];
        expectClose(mode.run(dx.log1p, dx.tensor(small)), small.map(Math.log1p), tolerance);
        expectClose(mode.run(dx.log1p, dx.tensor([0, 1, Infinity, -1])), [0, Math.LN2, Infinity, -Infinity], tolerance);
        expectClose(mode.run(dx.expm1, dx.tensor(small)), small.map(Math.expm1), tolerance);
        expectClose(mode.run(dx.expm1, dx.tensor([0, 100, -100])), [0, Infinity, -1], tolerance);
      },
      { collect: true },
    ));

  test("in place, at the tensor's own dtype only", () =>
    clean(device, () => {
      const x = dx.tensor([1, 4]);
      const same = x.sqrt_();
      expect(same).toBe(x);
      expectClose(x, [1, 2]);
      expect(() => dx.tensor([1, 4], { dtype: "int32" }).sqrt_()).toThrow(dx.DTypeError);
    }));

  test("refuses bool and dtypes that do not compute", () =>
    clean(device, () => {
      for (const fn of [dx.neg, dx.abs, dx.floor, dx.round]) expect(() => fn(dx.tensor([true]))).toThrow(dx.DTypeError);
      for (const fn of [dx.exp, dx.floor, dx.square])
        expect(() => fn(dx.tensor([1], { dtype: "float64" }))).toThrow(/only stored and cast/);
    }));
});

/** The least number has no opposite: it stays what it is, as PyTorch 2.15 has it for every integer dtype. */
eachMode("the least integers", (device, mode) => {
  const ENDS: readonly [dx.DType, bigint, bigint][] = [
    ["int8", -(2n ** 7n), 2n ** 7n - 1n],
    ["int16", -(2n ** 15n), 2n ** 15n - 1n],
    ["int32", -(2n ** 31n), 2n ** 31n - 1n],
    ["int64", -(2n ** 63n), 2n ** 63n - 1n],
  ];
  for (const [dtype, min, max] of ENDS)
    test(`${dtype} wraps`, async () => {
      await clean(device, () => {
        const x = dx.tensor([min, max, 0n, -1n], { dtype });
        const run = (fn: (t: dx.Tensor) => dx.Tensor): bigint[] =>
          [mode.run((t) => fn(t!), x).toArraySync()].flat().map((v) => BigInt(v as number));
        expect(run(dx.neg)).toEqual([min, -max, 0n, 1n]);
        expect(run(dx.abs)).toEqual([min, max, 0n, 1n]);
        expect(run((t) => dx.neg(dx.abs(t)))).toEqual([min, -max, 0n, -1n]);
        expect(run((t) => dx.where(t.lt(0), t.neg(), t))).toEqual([min, max, 0n, 1n]);
        expect(run((t) => dx.sub(0, t))).toEqual([min, -max, 0n, 1n]);
        expect(run(dx.square)).toEqual([0n, 1n, 0n, 1n]);
        expect(run(dx.sign)).toEqual([-1n, 1n, 0n, -1n]);
        expect(run((t) => t.sub(1))).toEqual([max, max - 1n, -1n, -2n]);
        expect(run((t) => t.mul(t))).toEqual([0n, 1n, 0n, 1n]);
      });
    });
});
