import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { foldingType, lowerFold, strategyFor, type Fold, type Strategy } from "../../../src/ops/index/scatter-lower.ts";
import { clean, eachDevice, eachMode, numbers } from "../../device.ts";
import { gradgradcheck, leaf } from "../../gradgrad.ts";
import { expectClose } from "../../tolerance.ts";

const wave = (n: number): number[] => Array.from({ length: n }, (_, i) => Math.fround(Math.sin(3.7 * i + 1) * 2));
const indices = (n: number, k: number): number[] => Array.from({ length: k }, (_, i) => (i * i * 7 + 3 * i) % n);

/** One strategy as an operation of its own. */
const foldBy = dx.kernel<{ fold: Fold; strategy: Strategy; n: number; isShared: boolean }>({
  name: "foldBy",
  grad: null,
  infer: ([x], { n }) => [{ shape: [n, ...x!.shape.slice(1)], dtype: x!.dtype }],
  lower: (g, [x, index], { fold, strategy, n, isShared }) => [
    lowerFold(g, x!, index!, { axis: 0, shape: [n, ...x!.sizes.slice(1)], fold, isShared, strategy }),
  ],
});

const ints = (data: Parameters<typeof dx.tensor>[0]): dx.Tensor => dx.tensor(data, { dtype: "int32" });

const IDENTITY: Readonly<Record<Fold, number>> = { sum: 0, prod: 1, amax: -Infinity, amin: Infinity };
const OF: Readonly<Record<Fold, (a: number, b: number) => number>> = {
  sum: (a, b) => a + b,
  prod: (a, b) => a * b,
  amax: (a, b) => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.max(a, b)),
  amin: (a, b) => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.min(a, b)),
};

eachDevice("strategies of folding by index", (device) => {
  for (const strategy of ["table", "sorted", "sequence"] as const)
    for (const fold of ["sum", "prod", "amax", "amin"] as const)
      test(`${strategy}, ${fold}: shared and own indices, NaN and infinities stay at their indices`, () =>
        clean(device, () => {
          const [n, k, w] = [6, 7, 3];
          const values = wave(k * w);
          values[4] = NaN;
          values[8] = Infinity;
          values[9] = -Infinity;
          const rows = indices(n - 1, k);
          const own = indices(n - 1, k * w);
          for (const isShared of [true, false]) {
            const want = new Array<number>(n * w).fill(IDENTITY[fold]);
            values.forEach((v, i) => {
              const at = (isShared ? rows[Math.floor(i / w)]! : own[i]!) * w + (i % w);
              want[at] = OF[fold](want[at]!, v);
            });
            const index = dx.tensor(isShared ? rows : own, { dtype: "int32" });
            const [got] = foldBy([dx.tensor(values, { shape: [k, w] }), isShared ? index : index.reshape(k, w)], {
              fold,
              strategy,
              n,
              isShared,
            });
            expectClose(got!, want);
          }
        }));

  test("integers wrap, halves are summed in single precision", () =>
    clean(device, () => {
      const index = ints([0, 0, 1, 0]);
      for (const strategy of ["table", "sorted", "sequence"] as const) {
        const folded = (values: dx.Tensor): number[] =>
          numbers(foldBy([values, index], { fold: "sum", strategy, n: 2, isShared: true })[0]!);
        expect(folded(dx.tensor([200, 100, 5, 1], { dtype: "uint8" }))).toEqual([45, 5]);
        expect(folded(dx.tensor(BigInt64Array.of(2n ** 40n, 2n ** 40n, 5n, 1n)))).toEqual([2 ** 41 + 1, 5]);
        expect(folded(dx.tensor([2048, 1, 5, 1], { dtype: "float16" }))).toEqual([2050, 5]);
      }
    }));
});

test("few updates go one by one, many into order, small tables are made", () => {
  expect(strategyFor(2, 1000, 64, true, false)).toBe("sequence");
  expect(strategyFor(64, 32, 16, true, true)).toBe("table");
  expect(strategyFor(4096, 50_000, 512, true, true)).toBe("sorted");
  expect(strategyFor(1 << 20, 1 << 20, 1, false, false)).toBe("sorted");
  expect([foldingType("float16"), foldingType("bool"), foldingType("int64")]).toEqual(["float32", "int32", "int64"]);
});

eachMode("writing by index", (device, mode) => {
  test("a large sum by index needs no table of all indices", () =>
    clean(
      device,
      () => {
        const [n, k] = [60_000, 5000];
        const index = indices(n, k);
        const values = wave(k);
        const want = new Float64Array(n);
        index.forEach((p, i) => (want[p]! += values[i]!));
        expectClose(
          mode.run((v, i) => dx.zeros([n]).scatterAdd(0, i, v), dx.tensor(values), ints(index)),
          [...want],
        );
        expectClose(
          mode.run((v, i) => dx.zeros([n, 1]).indexAdd(0, i, v.unsqueeze(1)), dx.tensor(values), ints(index)),
          [...want],
        );
      },
      { collect: true },
    ));

  test("an index shorter than x on other axes", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([
          [1, 2, 3],
          [4, 5, 6],
          [7, 8, 9],
        ]);
        const index = ints([[2, 0]]);
        expect(mode.run((t) => dx.scatter(t, 0, index, -1), x).toArraySync()).toEqual([
          [1, -1, 3],
          [4, 5, 6],
          [-1, 8, 9],
        ]);
        expect(
          mode.run((t) => dx.scatterReduce(t, 0, index, dx.tensor([[10, 20]], { dtype: "float32" }), "amax"), x).toArraySync(),
        ).toEqual([
          [1, 20, 3],
          [4, 5, 6],
          [10, 8, 9],
        ]);
        expect(
          mode
            .run((t) => dx.scatterReduce(t, 0, index, dx.tensor([[10, 20]], { dtype: "float32" }), "mean", { includeSelf: false }), x)
            .toArraySync(),
        ).toEqual([
          [1, 20, 3],
          [4, 5, 6],
          [10, 8, 9],
        ]);
      },
      { collect: true },
    ));
});

eachDevice("gradients of writing by index", (device) => {
  test("first and second order", () =>
    clean(
      device,
      () => {
        const index = ints([
          [0, 1, 1],
          [2, 0, 1],
        ]);
        const along = ints([2, 0, 2]);
        gradgradcheck(
          (x, s) =>
            dx.scatter(
              x,
              0,
              ints([
                [0, 1, 1],
                [2, 0, 0],
              ]),
              s,
            ),
          [leaf([3, 3]), leaf([2, 3], { from: 9 })],
        );
        for (const reduce of ["sum", "mean", "prod", "amax", "amin"] as const)
          for (const includeSelf of [true, false])
            gradgradcheck((x, s) => dx.scatterReduce(x, 1, index, s, reduce, { includeSelf }), [leaf([2, 3]), leaf([2, 3], { from: 9 })]);
        gradgradcheck((x, s) => dx.indexAdd(x, 1, along, s, { alpha: -2 }), [leaf([2, 3]), leaf([2, 3], { from: 9 })]);
        gradgradcheck((x, s) => dx.indexCopy(x, 0, ints([1]), s), [leaf([2, 3]), leaf([1, 3], { from: 9 })]);
        gradgradcheck((x) => dx.indexFill(x, 1, along, 3), [leaf([2, 3])]);
      },
      { collect: true },
    ));

  test("a product with zeros", () =>
    clean(device, () => {
      const index = ints([0, 0, 1, 1, 1]);
      const s = dx.tensor([0, 2, 0, 3, 0], { dtype: "float32", requiresGrad: true });
      const x = dx.tensor([2, 5], { dtype: "float32", requiresGrad: true });
      const y = dx.scatterReduce(x, 0, index, s, "prod");
      const [gx, gs] = dx.grad(y.sum(), [x, s]) as [dx.Tensor, dx.Tensor];
      expect([numbers(y), numbers(gx), numbers(gs)]).toEqual([
        [0, 0],
        [0, 0],
        [4, 0, 0, 0, 0],
      ]);
    }));
});

eachDevice("indices out of range", (device) => {
  test("are refused with the number and the range, whether JavaScript or the device made them", () =>
    clean(device, () => {
      if (dx.device(device).type !== "cpu") return;
      const x = dx.ones([3, 4]);
      expect(() => dx.gather(x, 1, ints([[4]]))).toThrow(/gather: index must be integers in \[0, 3\]; received 4/);
      expect(() => dx.indexSelect(x, 0, ints([1, -1]))).toThrow(dx.IndexError);
      expect(() => dx.scatterAdd(x, 0, dx.arange(5, { start: 1 }).reshape(1, 4), dx.ones([1, 4]))).toThrow(/received 4/);
      // A part of a tensor is judged by its own elements.
      const some = ints([9, 2, 1]);
      expect(numbers(dx.indexSelect(x, 1, some.slice(0, 1)).sum())).toEqual([6]);
      expect(() => dx.indexSelect(x, 1, some)).toThrow(/received 9/);
      // What was written since counts.
      dx.noGrad(() => some.fill_(7));
      expect(() => dx.indexSelect(x, 1, some.slice(0, 1))).toThrow(/received 7/);
      expect(() => dx.gather(x, 1, dx.tensor(BigInt64Array.of(2n ** 33n)).reshape(1, 1))).toThrow(dx.IndexError);
    }));
});
