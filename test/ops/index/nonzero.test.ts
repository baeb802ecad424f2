import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { checkIndices, clean, eachDevice, eachMode, numbers } from "../../device.ts";
import { gradgradcheck, leaf } from "../../gradgrad.ts";

const ints = (data: Parameters<typeof dx.tensor>[0]): dx.Tensor => dx.tensor(data, { dtype: "int32" });

eachDevice("what data picks out", (device) => {
  test("nonzero: a promise, a blocking form, and a padded one that compiles", () =>
    clean(
      device,
      async () => {
        const x = dx.tensor([
          [0, -0, 3],
          [NaN, 0, 1e-30],
        ]);
        const want = [
          [0, 2],
          [1, 0],
          [1, 2],
        ];
        expect((await dx.nonzero(x)).toArraySync()).toEqual(want);
        expect(x.nonzeroSync().toArraySync()).toEqual(want);
        const padded = dx.compile((t: dx.Tensor) => dx.nonzero(t, { size: 4, fill: -1 }));
        for (const t of [x, x, dx.zerosLike(x)])
          expect(padded(t).toArraySync()).toEqual([...(t === x ? want : []), ...Array.from({ length: t === x ? 1 : 4 }, () => [-1, -1])]);
        padded.dispose();
        const refused = dx.compile((t: dx.Tensor) => dx.nonzeroSync(t));
        expect(() => refused(x)).toThrow(/size must be given inside compile\(\)/);
        refused.dispose();
        expect([dx.nonzeroSync(dx.tensor(5)).shape, dx.nonzeroSync(dx.zeros([2, 0])).shape]).toEqual([
          [1, 0],
          [0, 2],
        ]);
      },
      { collect: true },
    ));

  test("masks and several tensors as an index, read and written", () =>
    clean(
      device,
      async () => {
        const x = dx.arange(24, { dtype: "float32" }).reshape(2, 3, 4);
        const mask = dx.gt(x, 20);
        expect(numbers(await dx.maskedSelect(x, mask))).toEqual([21, 22, 23]);
        expect(numbers(dx.maskedSelect(x, mask, { size: 5, fill: -1 }))).toEqual([21, 22, 23, -1, -1]);
        expect(numbers(x.index(mask))).toEqual([21, 22, 23]);
        expect(x.index(":", ints([0, -1]), ints([1, 2])).toArraySync()).toEqual([
          [1, 10],
          [13, 22],
        ]);
        expect(x.index(ints([[0], [1]]), ":", ints([0, 3])).shape).toEqual([2, 2, 3]);
        const putBack = checkIndices();
        expect(() => x.index(ints([2]), ints([0]))).toThrow(dx.IndexError);
        putBack();
        const y = x.clone();
        y.set([ints([0, 1]), ints([0, 2])], -5);
        expect([y.index(0, 0).toArraySync(), y.index(1, 2).toArraySync()]).toEqual([
          [-5, -5, -5, -5],
          [-5, -5, -5, -5],
        ]);
        y.set(dx.lt(y, 0), 7);
        expect(numbers(y.index(0, 0))).toEqual([7, 7, 7, 7]);
        const z = dx.indexPut(dx.zeros([3]), [ints([1, 1, 2])], dx.tensor([1, 2, 4]), { accumulate: true });
        expect(numbers(z)).toEqual([0, 3, 4]);
      },
      { collect: true },
    ));

  test("gradients of first and second order", () =>
    clean(
      device,
      () => {
        const mask = dx.tensor([true, false, true, true]);
        gradgradcheck((x) => dx.maskedSelectSync(x, mask), [leaf([4])]);
        gradgradcheck((x, s) => dx.maskedScatter(x, mask, s), [leaf([4]), leaf([3], { from: 5 })]);
        gradgradcheck((x) => x.index(ints([0, 1, 1]), ints([1, 0, 0])), [leaf([2, 2])]);
        gradgradcheck((x, s) => dx.indexPut(x, [ints([1, 1, 0])], s, { accumulate: true }), [leaf([2]), leaf([3], { from: 5 })]);
        gradgradcheck((x) => dx.take(x, ints([[0, -1]])), [leaf([2, 2])]);
      },
      { collect: true },
    ));
});

eachMode("indices and counts", (device, mode) => {
  test("searchsorted agrees with a search by hand, NaN last", () =>
    clean(
      device,
      () => {
        const sequence = [-2, 0, 0, 1.5, 7, NaN];
        const asked = [-3, -2, 0, 1, 8, NaN];
        const rank = (v: number): number => (Number.isNaN(v) ? Infinity : v);
        for (const right of [false, true]) {
          const want = asked.map((v) => sequence.filter((l) => (right ? rank(l) <= rank(v) : rank(l) < rank(v))).length);
          expect(numbers(mode.run((s, v) => dx.searchsorted(s, v, { right }), dx.tensor(sequence), dx.tensor(asked)))).toEqual(want);
        }
      },
      { collect: true },
    ));

  test("histc and bincount of a fixed size", () =>
    clean(
      device,
      () => {
        expect(numbers(mode.run((x) => dx.histc(x, { bins: 3, min: 0, max: 3 }), dx.tensor([0, 0.5, 1, 3, 3.1, -1, NaN])))).toEqual([
          2, 1, 1,
        ]);
        expect(numbers(mode.run((x) => dx.bincount(x, { size: 3 }), ints([0, 2, 2, 5])))).toEqual([1, 0, 2]);
      },
      { collect: true },
    ));
});

test("bincount without a size waits for the device once", () => {
  dx.withDevice("cpu", () => {
    const x = ints([3, 0, 3]);
    const before = dx.counters("cpu").readbacks;
    expect(dx.bincount(x).shape).toEqual([4]);
    expect(dx.counters("cpu").readbacks - before).toBe(1);
    expect(() => dx.bincount(ints([1, -1]))).toThrow("bincount: x must be numbers of at least 0; received -1.");
    expect(numbers(dx.bincount(dx.tensor([2n, 2n], { dtype: "int64" }), { weights: dx.tensor([0.5, 2]), minlength: 4 }))).toEqual([
      0, 0, 2.5, 0,
    ]);
  });
});

test("takeAlongAxis counts negative indices from the end", () => {
  dx.withDevice("cpu", () => {
    const x = dx.tensor(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      { requiresGrad: true },
    );
    const taken = dx.takeAlongAxis(x, ints([[-1], [0]]), 1);
    expect(taken.toArraySync()).toEqual([[3], [4]]);
    taken.sum().backward();
    expect(x.grad!.toArraySync()).toEqual([
      [0, 0, 1],
      [1, 0, 0],
    ]);
    expect(dx.takeAlongAxis(x, ints([-1, -6])).toArraySync()).toEqual([6, 1]);
    expect(() => dx.takeAlongAxis(x, ints([[-4], [0]]), 1)).toThrow(dx.IndexError);
  });
});
