import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachMode, numbers } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

const T = true;
const F = false;

eachMode("comparisons and choices", (device, mode) => {
  test("comparisons, with NaN and broadcasting", () =>
    clean(
      device,
      () => {
        const a = dx.tensor([[1, 2, NaN]]);
        const b = dx.tensor([[2], [1]]);
        const of = (f: (a: dx.Tensor, b: dx.Tensor) => dx.Tensor): unknown => mode.run(f, a, b).toArraySync();
        expect(of(dx.eq)).toEqual([
          [F, T, F],
          [T, F, F],
        ]);
        expect(of(dx.ne)).toEqual([
          [T, F, T],
          [F, T, T],
        ]);
        expect(of(dx.lt)).toEqual([
          [T, F, F],
          [F, F, F],
        ]);
        expect(of(dx.le)).toEqual([
          [T, T, F],
          [T, F, F],
        ]);
        expect(of(dx.gt)).toEqual([
          [F, F, F],
          [F, T, F],
        ]);
        expect(of(dx.ge)).toEqual([
          [F, T, F],
          [T, T, F],
        ]);
      },
      { collect: true },
    ));

  test("comparisons promote: 64-bit integers past 2^53, integers with fractions", () =>
    clean(
      device,
      () => {
        const big = dx.tensor([2n ** 53n, 2n ** 53n + 1n]);
        expect(mode.run((x) => dx.eq(x, dx.tensor([2n ** 53n + 1n])), big).toArraySync()).toEqual([F, T]);
        expect(mode.run((x) => dx.gt(x, 1.5), dx.tensor([1, 2], { dtype: "int32" })).toArraySync()).toEqual([F, T]);
        expect(mode.run((x, y) => dx.lt(x, y), dx.tensor([5], { dtype: "int32" }), dx.tensor([2n ** 40n])).toArraySync()).toEqual([T]);
      },
      { collect: true },
    ));

  test("logic of any dtype", () =>
    clean(
      device,
      () => {
        const a = dx.tensor([0, 1, 2.5]);
        const b = dx.tensor([0, 0, 7], { dtype: "int32" });
        expect(mode.run(dx.logicalAnd, a, b).toArraySync()).toEqual([F, F, T]);
        expect(mode.run(dx.logicalOr, a, b).toArraySync()).toEqual([F, T, T]);
        expect(mode.run(dx.logicalXor, a, b).toArraySync()).toEqual([F, T, F]);
        expect(mode.run(dx.logicalNot, a).toArraySync()).toEqual([T, F, F]);
      },
      { collect: true },
    ));

  test("tests of numbers", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([1, NaN, Infinity, -Infinity]);
        expect(mode.run(dx.isnan, x).toArraySync()).toEqual([F, T, F, F]);
        expect(mode.run(dx.isinf, x).toArraySync()).toEqual([F, F, T, T]);
        expect(mode.run(dx.isposinf, x).toArraySync()).toEqual([F, F, T, F]);
        expect(mode.run(dx.isneginf, x).toArraySync()).toEqual([F, F, F, T]);
        expect(mode.run(dx.isfinite, x).toArraySync()).toEqual([T, F, F, F]);
        expect(mode.run(dx.isfinite, dx.tensor([1], { dtype: "int32" })).toArraySync()).toEqual([T]);
      },
      { collect: true },
    ));

  test("where, maskedFill", () =>
    clean(
      device,
      () => {
        const mask = dx.tensor([[T, F]]);
        const a = dx.tensor([[1], [2]]);
        expectClose(
          mode.run((m, x) => dx.where(m, x, -1), mask, a),
          [
            [1, -1],
            [2, -1],
          ],
        );
        expectClose(
          mode.run((m, x) => dx.maskedFill(x, m, 9), mask, a),
          [
            [9, 1],
            [9, 2],
          ],
        );
        expect(mode.run((m) => dx.where(m, 1, 0.5), mask).dtype).toBe("float32");
        expect(() => dx.where(dx.ones([2]), 1, 0)).toThrow("where: condition must be of dtype bool; received float32[2].");
        expect(() => dx.maskedFill(dx.ones([2], { dtype: "int32" }), dx.tensor([T, F]), 2 ** 31)).toThrow(dx.DTypeError);
      },
      { collect: true },
    ));

  test("limits", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([-3, 0.5, 4, NaN]);
        expectClose(
          mode.run((t) => dx.clamp(t, -1, 1), x),
          [-1, 0.5, 1, NaN],
        );
        expectClose(
          mode.run((t) => dx.clamp(t, null, 1), x),
          [-3, 0.5, 1, NaN],
        );
        expectClose(
          mode.run((t) => dx.clamp(t, 2, 1), x),
          [1, 1, 1, NaN],
        );
        expectClose(
          mode.run((t) => dx.clamp(t, dx.tensor([[0], [1]]), 3), x),
          [
            [0, 0.5, 3, NaN],
            [1, 1, 3, NaN],
          ],
        );
        expect(numbers(mode.run((t) => dx.clamp(t, 0, 5), dx.tensor([-4, 9], { dtype: "int8" })))).toEqual([0, 5]);
        expect(() => dx.clamp(x)).toThrow(dx.ValueError);
        expectClose(mode.run(dx.maximum, x, dx.tensor([0, 1, NaN, 2])), [0, 1, NaN, NaN]);
        expectClose(mode.run(dx.minimum, x, dx.tensor([0, 1, 2, 2])), [-3, 0.5, 2, NaN]);
        expectClose(
          mode.run((t) => dx.nanToNum(t, { nan: 7 }), x),
          [-3, 0.5, 4, 7],
        );
      },
      { collect: true },
    ));

  test("in place", () =>
    clean(device, () => {
      const x = dx.tensor([-3, 0.5, 4]);
      x.clamp_(-1, 1).maskedFill_(dx.tensor([F, T, F]), 8);
      expectClose(x, [-1, 8, 1]);
    }));
});
