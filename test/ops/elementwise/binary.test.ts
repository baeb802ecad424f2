import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachMode, numbers } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

eachMode("binary", (device, mode) => {
  test("broadcasts, also over views", () =>
    clean(
      device,
      () => {
        const a = dx.tensor([
          [1, 2, 3],
          [4, 5, 6],
        ]);
        const b = dx.tensor([[10], [20]]);
        expectClose(mode.run(dx.add, a, b), [
          [11, 12, 13],
          [24, 25, 26],
        ]);
        expectClose(
          mode.run((x, y) => dx.sub(x.t(), y), a, dx.tensor([1, 2])),
          [
            [0, 2],
            [1, 3],
            [2, 4],
          ],
        );
        expectClose(
          mode.run((x) => dx.mul(x.slice(1, 1), x.slice(1, 0, 2)), a),
          [
            [2, 6],
            [20, 30],
          ],
        );
        expectClose(
          mode.run((x) => dx.div(x.select(0, 1), x.select(1, 0).sum()), a),
          [0.8, 1, 1.2],
        );
      },
      { collect: true },
    ));

  test("promotes as PyTorch does", () =>
    clean(device, () => {
      const dtype = (a: dx.DType, b: dx.DType): dx.DType => dx.add(dx.ones([2], { dtype: a }), dx.ones([2], { dtype: b })).dtype;
      expect(dtype("int32", "float16")).toBe("float16");
      expect(dtype("uint8", "int8")).toBe("int16");
      expect(dtype("bool", "int64")).toBe("int64");
      expect(dtype("float16", "float32")).toBe("float32");
      expect(dx.add(dx.ones([2], { dtype: "int32" }), 0.5).dtype).toBe("float32");
      expect(dx.add(dx.ones([2], { dtype: "float16" }), 0.5).dtype).toBe("float16");
      expect(dx.add(dx.ones([2], { dtype: "uint8" }), 1).dtype).toBe("uint8");
      expect(dx.div(dx.ones([2], { dtype: "int64" }), 2).dtype).toBe("float32");
      expect(dx.add(dx.ones([2], { dtype: "float16" }), dx.tensor(1)).dtype).toBe("float16");
    }));

  test("integers wrap, and 64 bits are 64 bits", () =>
    clean(
      device,
      () => {
        expect(numbers(mode.run(dx.add, dx.tensor([120, -120], { dtype: "int8" }), dx.tensor([10, -10], { dtype: "int8" })))).toEqual([
          -126, 126,
        ]);
        expect(numbers(mode.run((x) => dx.mul(x, 3), dx.tensor([100, 255], { dtype: "uint8" })))).toEqual([44, 253]);
        const big = 2n ** 53n + 1n;
        expect(mode.run(dx.add, dx.tensor([big]), dx.tensor([big])).toArraySync()).toEqual([2n * big]);
        expect(mode.run(dx.mul, dx.tensor([big]), dx.tensor([3n])).toArraySync()).toEqual([3n * big]);
        expect(mode.run(dx.sub, dx.tensor([2n ** 63n - 1n]), dx.tensor([-1n])).toArraySync()).toEqual([-(2n ** 63n)]);
      },
      { collect: true },
    ));

  test("powers", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([1, 2, 3]);
        for (const [e, want] of [
          [2, [1, 4, 9]],
          [3, [1, 8, 27]],
          [0.5, [1, Math.SQRT2, Math.sqrt(3)]],
          [-1, [1, 0.5, 1 / 3]],
          [0, [1, 1, 1]],
          [1, [1, 2, 3]],
        ] as const)
          expectClose(
            mode.run((t) => dx.pow(t, e), x),
            want,
          );
        expectClose(
          mode.run((t) => dx.pow(2, t), x),
          [2, 4, 8],
        );
        expect(mode.run((t) => dx.pow(t, 39), dx.tensor([3n])).toArraySync()).toEqual([3n ** 39n]);
        expect(numbers(mode.run((t) => dx.pow(t, 3), dx.tensor([-3, 7], { dtype: "int32" })))).toEqual([-27, 343]);
        expect(() => dx.pow(dx.tensor([2], { dtype: "int32" }), -1)).toThrow(dx.ValueError);
      },
      { collect: true },
    ));

  test("refuses shapes that do not fit, bool differences, and two numbers", () =>
    clean(device, () => {
      expect(() => dx.add(dx.ones([2, 3]), dx.ones([2]))).toThrow("add: b must be of a shape that broadcasts with [2, 3]; received [2].");
      expect(() => dx.sub(dx.tensor([true]), dx.tensor([1]))).toThrow(dx.DTypeError);
      expect(() => dx.add(1, 2)).toThrow(dx.DTypeError);
      expect(() => dx.add(dx.ones([2], { dtype: "float64" }), 1)).toThrow(dx.DTypeError);
    }));

  test("empty tensors and rank 0", () =>
    clean(
      device,
      () => {
        expect(mode.run(dx.add, dx.zeros([0, 3]), dx.ones([3])).shape).toEqual([0, 3]);
        const sum = mode.run(dx.add, dx.tensor(2), dx.tensor(3));
        expect(sum.shape).toEqual([]);
        expect(sum.itemSync()).toBe(5);
      },
      { collect: true },
    ));

  test("bits", () =>
    clean(
      device,
      () => {
        const a = dx.tensor([12, -7, 255], { dtype: "int32" });
        const b = dx.tensor([10, 3, 1], { dtype: "int32" });
        const want = (f: (x: number, y: number) => number): number[] => [f(12, 10), f(-7, 3), f(255, 1)];
        expect(numbers(mode.run(dx.bitwiseAnd, a, b))).toEqual(want((x, y) => x & y));
        expect(numbers(mode.run(dx.bitwiseOr, a, b))).toEqual(want((x, y) => x | y));
        expect(numbers(mode.run(dx.bitwiseXor, a, b))).toEqual(want((x, y) => x ^ y));
        expect(numbers(mode.run(dx.bitwiseLeftShift, a, b))).toEqual(want((x, y) => x << y));
        expect(numbers(mode.run(dx.bitwiseRightShift, a, b))).toEqual(want((x, y) => x >> y));
        expect(numbers(mode.run(dx.bitwiseNot, a))).toEqual([-13, 6, -256]);
        expect(mode.run(dx.bitwiseNot, dx.tensor([true, false])).toArraySync()).toEqual([false, true]);
        expect(mode.run((x) => dx.bitwiseLeftShift(x, dx.tensor([40n])), dx.tensor([5n])).toArraySync()).toEqual([5n << 40n]);
        expect(() => dx.bitwiseAnd(dx.ones([1]), 1)).toThrow(dx.DTypeError);
      },
      { collect: true },
    ));
});
