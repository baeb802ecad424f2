import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachMode, numbers, refusedProduct } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

const X = [
  [1, -2, 3],
  [4, 5, -6],
];

eachMode("reductions", (device, mode) => {
  test("sum, mean, prod over axes, kept or not, of views", () =>
    clean(
      device,
      () => {
        const x = dx.tensor(X);
        expectClose(
          mode.run((t) => dx.sum(t), x),
          5,
        );
        expectClose(
          mode.run((t) => dx.sum(t, 0), x),
          [5, 3, -3],
        );
        expectClose(
          mode.run((t) => dx.sum(t, [-1], { keepDims: true }), x),
          [[2], [3]],
        );
        expectClose(
          mode.run((t) => dx.sum(t.t(), 0), x),
          [2, 3],
        );
        expectClose(
          mode.run((t) => dx.sum(t.slice(1, 1), [0, 1]), x),
          0,
        );
        expectClose(
          mode.run((t) => dx.mean(t, 1), x),
          [2 / 3, 1],
        );
        expectClose(
          mode.run((t) => dx.prod(t, 0), x),
          [4, -10, -18],
        );
        expectClose(
          mode.run((t) => dx.prod(t), x),
          720,
        );
        expectClose(
          mode.run((t) => dx.sum(t.expand(4, 2, 3), [0, 2]), x),
          [8, 12],
        );
        const high = dx.ones([2, 1, 3, 1, 2, 1, 2, 2]);
        expectClose(
          mode.run((t) => dx.sum(t, [0, 2, 4, 6]), high),
          new Array(2).fill(24),
        );
      },
      { collect: true },
    ));

  test("integers add in 64 bits", () =>
    clean(
      device,
      () => {
        const small = dx.full([300], 255, { dtype: "uint8" });
        const total = mode.run((t) => dx.sum(t), small);
        expect(total.dtype).toBe("int64");
        expect(total.toArraySync()).toBe(76500n);
        expect(mode.run((t) => dx.sum(t), dx.tensor([2n ** 53n, 1n, 1n])).toArraySync()).toBe(2n ** 53n + 2n);
        expect(mode.run((t) => dx.sum(t), dx.tensor([true, true, false])).toArraySync()).toBe(2n);
        expect(numbers(mode.run((t) => dx.sum(t, null, { dtype: "uint8" }), small))).toEqual([76500 % 256]);
        expect(() => dx.mean(small)).toThrow(dx.DTypeError);
      },
      { collect: true },
    ));

  test("integers multiply in 64 bits", ({ skip }) =>
    clean(
      device,
      () => {
        try {
          expect(mode.run((t) => dx.prod(t), dx.tensor([3, 5], { dtype: "int16" })).toArraySync()).toBe(15n);
        } catch (error) {
          const refused = refusedProduct(error, device);
          if (refused === null) throw error;
          skip(refused);
        }
      },
      { collect: true },
    ));

  test("of nothing: 0, 1, NaN, and an error for extremes", () =>
    clean(device, () => {
      const none = dx.zeros([0, 3]);
      expectClose(dx.sum(none, 0), [0, 0, 0]);
      expectClose(dx.prod(none, 0), [1, 1, 1]);
      expectClose(dx.mean(none, 0), [NaN, NaN, NaN]);
      expectClose(dx.any(none, 0), [0, 0, 0]);
      expectClose(dx.all(none, 0), [1, 1, 1]);
      expect(dx.sum(none, 1).shape).toEqual([0]);
      for (const f of [dx.amax, dx.amin] as const) expect(() => f(none)).toThrow(dx.ShapeError);
      expect(() => dx.argmax(none, 0)).toThrow(/at least one element/);
    }));

  test("extremes, their indices, ties and NaN", () =>
    clean(
      device,
      () => {
        const x = dx.tensor(X);
        expectClose(
          mode.run((t) => dx.max(t), x),
          5,
        );
        const { values, indices } = mode.run((t) => dx.max(t, 1), x);
        expectClose(values, [3, 5]);
        expect(indices.dtype).toBe("int32");
        expect(indices.toArraySync()).toEqual([2, 1]);
        expectClose(
          mode.run((t) => dx.min(t, 0, { keepDims: true }).values, x),
          [[1, -2, -6]],
        );
        expect(mode.run((t) => dx.argmax(t), x).toArraySync()).toBe(4);
        expect(mode.run((t) => dx.argmin(t, -1, { dtype: "int64" }), x).toArraySync()).toEqual([1n, 2n]);
        expect(mode.run((t) => dx.argmax(t, 0), dx.tensor([7, 9, 9])).toArraySync()).toBe(1);
        expectClose(
          mode.run(
            (t) => dx.amax(t, 1),
            dx.tensor([
              [1, NaN],
              [2, 3],
            ]),
          ),
          [NaN, 3],
        );
        expectClose(
          mode.run((t) => dx.amin(t.t(), 0), x),
          [-2, -6],
        );
        expect(mode.run((t) => dx.amax(t), dx.tensor([2n ** 60n, 2n ** 60n + 1n])).toArraySync()).toBe(2n ** 60n + 1n);
        expect(() => dx.argmax(dx.tensor([true]))).toThrow(dx.DTypeError);
      },
      { collect: true },
    ));

  test("any and all", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([
          [0, 0.5],
          [0, 0],
        ]);
        expect(mode.run((t) => dx.any(t, 1), x).toArraySync()).toEqual([true, false]);
        expect(mode.run((t) => dx.all(t, 0), x).toArraySync()).toEqual([false, false]);
        expect(mode.run((t) => dx.any(t), x).toArraySync()).toBe(true);
        expect(mode.run((t) => dx.any(t), dx.tensor([0, 2], { dtype: "uint8" })).dtype).toBe("uint8");
      },
      { collect: true },
    ));

  test("variance, deviation, norms, logsumexp", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([
          [1, 2, 3, 4],
          [2, 2, 2, 2],
        ]);
        expectClose(
          mode.run((t) => dx.var(t, 1), x),
          [5 / 3, 0],
        );
        expectClose(
          mode.run((t) => dx.var(t, 1, { correction: 0 }), x),
          [1.25, 0],
        );
        expectClose(
          mode.run((t) => dx.std(t, 1, { keepDims: true }), x),
          [[Math.sqrt(5 / 3)], [0]],
        );
        expectClose(
          mode
            .run((t) => dx.var(t, 0, { correction: 2 }), x)
            .isfinite()
            .all(),
          0,
        );
        const v = dx.tensor([
          [3, -4],
          [0, 0],
        ]);
        for (const [p, want] of [
          [2, [5, 0]],
          [1, [7, 0]],
          [Infinity, [4, 0]],
          [-Infinity, [3, 0]],
          [0, [2, 0]],
          [3, [Math.cbrt(91), 0]],
        ] as const)
          expectClose(
            mode.run((t) => dx.norm(t, p, 1), v),
            want,
          );
        expectClose(
          mode.run(
            (t) => dx.logsumexp(t, 1),
            dx.tensor([
              [1000, 1000],
              [-Infinity, -Infinity],
              [Infinity, 0],
            ]),
          ),
          [1000 + Math.LN2, -Infinity, Infinity],
        );
      },
      { collect: true },
    ));

  test("running sums", () =>
    clean(
      device,
      () => {
        expectClose(
          mode.run((t) => dx.cumsum(t, 1), dx.tensor(X)),
          [
            [1, -1, 2],
            [4, 9, 3],
          ],
        );
        expect(mode.run((t) => dx.cumsum(t, 0), dx.tensor([2n ** 53n, 1n])).toArraySync()).toEqual([2n ** 53n, 2n ** 53n + 1n]);
      },
      { collect: true },
    ));

  test("a product of all elements with two zeros has no gradient, whatever else there is: that of an axis has", () =>
    clean(
      device,
      () => {
        // PyTorch 2.15.
        const cases: readonly [data: number[], axis: number | null, gradient: number, want: number[]][] = [
          [[0, NaN, 0], null, 1, [0, 0, 0]],
          [[0, 3, 0], null, Infinity, [0, 0, 0]],
          [[0, Infinity, 0, 2], null, -1, [0, 0, 0, 0]],
          [[0, NaN, 0], 0, 1, [NaN, 0, NaN]],
          [[0, 3, 2], null, 1, [6, 0, 0]],
          [[0, NaN, 2], null, 1, [NaN, 0, NaN]],
        ];
        for (const [data, axis, gradient, want] of cases) {
          const run = (x: dx.Tensor): dx.Tensor => {
            const leaf = x.detach().requiresGrad_();
            return dx.grad(dx.prod(leaf, axis), [leaf], { gradient: dx.full([], gradient, { device }) })[0]!;
          };
          for (const x of [dx.tensor(data), dx.stack([dx.tensor(data), dx.ones([data.length])], 1).select(1, 0)])
            expect(mode.run(run, x).toArraySync(), `for ${JSON.stringify(data)}`).toEqual(want);
          // masked.prod goes axis by axis, as in PyTorch.
          const leaf = dx.tensor(data, { requiresGrad: true });
          if (axis === 0) {
            const [masked] = dx.grad(dx.masked.prod(leaf), [leaf], { gradient: dx.full([], gradient, { device }) });
            expect(masked!.toArraySync()).toEqual(want);
          }
          const [slope] = dx.grad(dx.prod(leaf, axis), [leaf], { gradient: dx.full([], gradient, { device }), createGraph: true });
          expect(slope!.toArraySync(), `for ${JSON.stringify(data)}`).toEqual(want);
        }
      },
      { collect: true },
    ));

  test("a product as bool is whether all hold", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([
          [0.5, 2],
          [0, 3],
        ]);
        expect(mode.run((t) => dx.prod(t, 1, { dtype: "bool" }), x).toArraySync()).toEqual([true, false]);
        expect(mode.run((t) => dx.prod(t, null, { dtype: "bool" }), dx.gt(x, 0)).toArraySync()).toBe(false);
      },
      { collect: true },
    ));

  test("refuses axes that are not there, or named twice", () =>
    clean(device, () => {
      const x = dx.tensor(X);
      expect(() => dx.sum(x, 2)).toThrow("sum: axis must be an integer in [-2, 1]; received 2.");
      expect(() => dx.sum(x, [0, -2])).toThrow(dx.ValueError);
      expect(() => dx.cumsum(x, 5)).toThrow(dx.ValueError);
    }));
});
