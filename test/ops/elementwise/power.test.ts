/** pow: where it has no value by logarithms, integers, and its gradients where the base or the exponent is 0. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachMode, isMicrosoft, numbers } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

/** C's pow: Math.pow gives NaN for 1 to the power of NaN or an infinity, and for -1 to that of an infinity. */
const reference = (x: number, e: number): number => (x === 1 || (x === -1 && Math.abs(e) === Infinity) ? 1 : x ** e);

const BASES = [0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, Infinity, NaN];
const EXPONENTS = [0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, Infinity, -Infinity, NaN];

eachMode("pow", (device, mode) => {
  for (const dtype of ["float32", "float16"] as const)
    test(`of ${dtype}, special values, by tensors and by numbers`, () =>
      clean(device, () => {
        const x = dx.tensor(
          BASES.flatMap((v) => EXPONENTS.map(() => v)),
          { dtype },
        );
        const e = dx.tensor(
          BASES.flatMap(() => EXPONENTS),
          { dtype },
        );
        expectClose(
          mode.run(dx.pow, x, e),
          BASES.flatMap((v) => EXPONENTS.map((w) => reference(v, w))),
        );
        for (const w of EXPONENTS.filter((e) => e !== -Infinity)) {
          expectClose(
            mode.run((t) => dx.pow(t, w), dx.tensor(BASES, { dtype })),
            BASES.map((v) => reference(v, w)),
          );
          expectClose(
            mode.run((t) => dx.pow(w, t), dx.tensor(BASES, { dtype })),
            BASES.map((v) => reference(w, v)),
          );
        }
      }));

  test("by numbers whose powers take no logarithm, with gradients, as PyTorch has them", () =>
    clean(
      device,
      () => {
        const bases = [-0, 0, Infinity, NaN, -2, 3];
        const expected: readonly (readonly [number, readonly number[], readonly number[]])[] = [
          [3, [-0, 0, Infinity, NaN, -8, 27], [0, 0, Infinity, NaN, 12, 27]],
          [-2, [Infinity, Infinity, 0, NaN, 1 / 4, 1 / 9], [Infinity, -Infinity, -0, NaN, 1 / 4, -2 / 27]],
          [-0.5, [-Infinity, Infinity, 0, NaN, NaN, 3 ** -0.5], [-Infinity, -Infinity, -0, NaN, NaN, -0.5 * 3 ** -1.5]],
        ];
        for (const [exponent, values, slopes] of expected) {
          const power = (x: dx.Tensor): dx.Tensor[] => {
            const a = x.detach().requiresGrad_();
            const y = dx.pow(a, exponent);
            y.sum().backward();
            return [y.detach(), a.grad!];
          };
          const [y, slope] = mode.run(power, dx.tensor(bases)) as [dx.Tensor, dx.Tensor];
          expectClose(y, values);
          expectClose(slope, slopes);
          const low = mode.run((t) => dx.pow(t, -2), dx.tensor([256, -300], { dtype: "float16" }));
          // Denormals of float16, a unit of whose last place is 2^-24.
          expectClose(low, [256 ** -2, 300 ** -2], { rtol: 5e-3, atol: 2 ** -24 });
          // Microsoft's CAST gives the largest number for what lies beyond.
          if (!isMicrosoft(device))
            expectClose(
              mode.run((t) => dx.pow(t, -2), dx.tensor([1e-3], { dtype: "float16" })),
              [Infinity],
            );
          const half = mode.run((t) => dx.pow(t, exponent), dx.tensor([-2, 3], { dtype: "bfloat16" }));
          expectClose(half, values.slice(-2), { rtol: 1e-2, atol: 0 });
        }
      },
      { collect: true },
    ));

  test("of integers with negative exponents", () =>
    clean(device, () => {
      for (const dtype of ["int8", "int16", "int32", "int64"] as const) {
        const x = dx.tensor([1, -1, -1, 2, -3, 0, 5, 127, 2, -2], { dtype });
        const e = dx.tensor([-4, -3, -2, -1, -2, -1, 0, -1, 6, 3], { dtype });
        expect(numbers(mode.run(dx.pow, x, e))).toEqual([1, -1, 1, 0, 0, 0, 1, 0, 64, -8]);
      }
      expect(numbers(mode.run(dx.pow, dx.tensor([3, 2, 255], { dtype: "uint8" }), dx.tensor([200, 7, 128], { dtype: "uint8" })))).toEqual([
        Number(3n ** 200n % 256n),
        128,
        1,
      ]);
      const wide = mode.run(dx.pow, dx.tensor([3n, -3n]), dx.tensor([2n ** 40n + 1n, -(2n ** 40n)]));
      let power = 3n;
      for (let i = 0; i < 40; i++) power = BigInt.asUintN(64, power * power);
      expect(wide.toArraySync()).toEqual([BigInt.asIntN(64, power * 3n), 0n]);
      expect(() => dx.pow(dx.tensor([2], { dtype: "int32" }), -1)).toThrow(dx.ValueError);
    }));

  test("gradients where the base or the exponent is 0", () =>
    clean(
      device,
      () => {
        const gradients = (x: dx.Tensor, e: dx.Tensor): dx.Tensor[] => {
          const [a, b] = [x.detach().requiresGrad_(), e.detach().requiresGrad_()];
          dx.pow(a, b).sum().backward();
          return [a.grad!, b.grad!];
        };
        const [dx_, de] = mode.run(gradients, dx.tensor([0, 0, 0, 2, -2]), dx.tensor([0, 1, 2, 0, 2])) as [dx.Tensor, dx.Tensor];
        expectClose(dx_, [0, 1, 0, 0, -4]);
        expectClose(de, [0, 0, 0, Math.log(2), NaN]);
        for (const [e, want] of [
          [0, 0],
          [1, 1],
          [2, 0],
          [3, 0],
          [1.5, 0],
          [0.5, Infinity],
        ] as const)
          expectClose(
            mode.run(
              (x) => {
                const a = x.detach().requiresGrad_();
                dx.pow(a, e).sum().backward();
                return a.grad!;
              },
              dx.tensor([0]),
            ),
            [want],
          );
      },
      { collect: true },
    ));
});
