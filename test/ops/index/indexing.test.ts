/** The cost and the errors of set() and indexPut(). Their values are compared in gather.test.ts and by the recorded cases. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";

const readbacks = (run: () => unknown): number => {
  const before = dx.counters("cpu").readbacks;
  run();
  return dx.counters("cpu").readbacks - before;
};

it("set resolves its index once: a mask is counted as often as for reading", () => {
  dx.withDevice("cpu", () => {
    const x = dx.zeros([4]);
    const mask = (): dx.Tensor => dx.tensor([true, false, true, true], { dtype: "bool" });
    const reading = readbacks(() => x.index(mask()));
    expect(reading).toBeGreaterThan(0);
    expect(readbacks(() => x.set([mask()], dx.tensor([1, 2, 3])))).toBe(1);
    expect(x.toArraySync()).toEqual([1, 0, 2, 3]);
  });
});

it("errors name the call that was made", () => {
  dx.withDevice("cpu", () => {
    const x = dx.zeros([2, 3]);
    expect(() => x.set([[0, 2]], 1)).toThrow(/^set: index/);
    expect(() => x.set([[0, 1], 5], 1)).toThrow(/^(set|select): /);
    expect(() => x.indexPut([[0, 2]], 1)).toThrow(/^indexPut: index/);
    expect(() => x.indexPut([[0, 1]], dx.zeros([5]))).toThrow(/^indexPut: value/);
    expect(() => x.indexPut([[0, 1]], dx.zeros([5]), { accumulate: true })).toThrow(/^indexPut: value/);
    expect(() => x.index([0, 2])).toThrow(/^index: index/);
  });
});

const ints = (v: dx.TensorData): dx.Tensor => dx.tensor(v, { dtype: "int64" });
const bools = (v: dx.TensorData): dx.Tensor => dx.tensor(v, { dtype: "bool" });

it("a tensor of rank 0 stands for a number: its axis goes, and the axes of the others' indices come where they would without it", () => {
  dx.withDevice("cpu", () => {
    const x = dx.arange(24).to("float32").reshape(2, 3, 4);
    const one = dx.tensor(1, { dtype: "int64" });
    const got = x.index(one, ":", ints([2, 0]));
    expect(got.toArraySync()).toEqual(x.index(1, ":", ints([2, 0])).toArraySync());
    expect(got.shape).toEqual([3, 2]);
    expect(x.index(dx.tensor(-1, { dtype: "int64" })).shape).toEqual([3, 4]);
    const leaf = dx.ones([2, 3, 4], { requiresGrad: true });
    leaf
      .index(one, ":", ints([2, 0, 2]))
      .sum()
      .backward();
    for (const row of leaf.grad!.select(0, 1).toArraySync() as number[][]) expect(row).toEqual([1, 0, 2, 0]);
    expect(
      dx
        .zeros([2, 3, 4])
        .set([one, ":", ints([2, 0])], dx.arange(6).to("float32").reshape(3, 2))
        .index(1, 2)
        .toArraySync(),
    ).toEqual([5, 0, 4, 0]);
  });
});

it("a value for no element has a gradient of zeros", () => {
  dx.withDevice("cpu", () => {
    for (const accumulate of [false, true]) {
      const x = dx.ones([3], { requiresGrad: true });
      const value = dx.tensor([2], { requiresGrad: true });
      x.indexPut([ints([])], value, { accumulate })
        .sum()
        .backward();
      expect([x.grad!.toArraySync(), value.grad!.toArraySync()]).toEqual([[1, 1, 1], [0]]);
    }
  });
});

it.each<[string, () => dx.Index[], readonly number[]]>([
  ["alone", () => [bools([true, false, true, true])], [3, 3, 2]],
  ["one value for all", () => [bools([true, false, true, true])], []],
  [
    "over two axes",
    () => [
      bools([
        [true, false, true],
        [false, false, false],
        [true, true, true],
        [false, false, true],
      ]),
    ],
    [6, 2],
  ],
  ["behind others", () => ["...", bools([false, true])], [4, 3, 1]],
  ["between a slice and a number", () => [dx.s(1, 4, 2), bools([true, false, true]), 1], [2, 2]],
  ["behind a new axis", () => [null, bools([false, true, false, true])], [2, 3, 2]],
  ["of nothing", () => [bools([false, false, false, false])], [0, 3, 2]],
])("inside compile() a mask takes its values without being counted: %s", (_, indices, shape) => {
  dx.withDevice("cpu", () => {
    const count = shape.reduce((a, b) => a * b, 1);
    const ways: ((x: dx.Tensor, v: dx.Tensor, ...at: dx.Index[]) => dx.Tensor)[] = [
      (x, v, ...at) => x.mul(1).set(at, v),
      (x, v, ...at) => x.indexPut(at, v),
      (x, v, ...at) => x.indexPut(at, v, { accumulate: true }),
    ];
    for (const way of ways) {
      const run = (f: typeof way, seed: number): unknown[] => {
        const x = dx.arange(24).add(seed).to("float32").reshape(4, 3, 2).requiresGrad_();
        const v = dx.arange(count).add(100).to("float32").reshape(shape).requiresGrad_();
        const y = f(x, v, ...indices());
        y.backward({ gradient: dx.arange(24).to("float32").reshape(4, 3, 2) });
        return [y, x.grad!, v.grad!].map((t) => t.toArraySync());
      };
      const compiled = dx.compile(way);
      for (const seed of [0, 7, 0]) expect(run(compiled, seed)).toEqual(run(way, seed));
      expect(() => compiled(dx.zeros([5, 3, 2]), dx.zeros(shape), bools([true]))).toThrow(dx.ShapeError);
      compiled.dispose();
    }
  });
});
