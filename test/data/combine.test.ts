/** Data sets made of data sets: src/data/combine.ts. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

const { data } = dx;
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const ten = upTo(10);
const read = async <S>(set: dx.data.Dataset<S>): Promise<S[]> => Promise.all(Array.from({ length: set.length }, (_, i) => set.get(i)));

describe("randomSplit", () => {
  const split = (lengths: number[], list = ten, seed = 1): dx.data.Subset<number>[] =>
    data.randomSplit(list, lengths, { generator: new dx.Generator(seed) });

  // Lengths as PyTorch 2.15 has them.
  it.each([
    [10, [0.3, 0.3, 0.4], [3, 3, 4]],
    [7, [0.5, 0.5], [4, 3]],
    [11, [0.33, 0.33, 0.34], [4, 4, 3]],
    [3, [0.1, 0.9], [1, 2]],
    [1, [0.5, 0.5], [1, 0]],
    [10, [7, 3], [7, 3]],
    [10, [10], [10]],
    [10, [1, 0], [10, 0]],
    [0, [0], [0]],
  ])("%i samples into %j", (n, lengths, want) => {
    const parts = split(lengths, upTo(n));
    expect(parts.map((part) => part.length)).toEqual(want);
    expect(parts.flatMap((part) => part.indices).sort((a, b) => a - b)).toEqual(upTo(n));
  });

  it("the same from the same seed", () => {
    expect(split([7, 3])[1]!.indices).toEqual(split([7, 3])[1]!.indices);
    expect(split([7, 3], ten, 2)[0]!.indices).not.toEqual(split([7, 3])[0]!.indices);
  });

  it.each([[[7, 4]], [[0.5, 0.6]], [[-1, 11]], [[1.5, -0.5]], [[NaN]], [[]]])("refuses %j", (lengths) => {
    expect(() => split(lengths)).toThrow(/randomSplit: lengths must be/);
  });
});

describe("concat, map, subset", () => {
  it("concat reads through all", async () => {
    const set = data.concat([ten.slice(0, 3), [], { length: 2, get: async (i: number) => 100 + i }]);
    expect(set.length).toBe(5);
    expect(await read(set)).toEqual([0, 1, 2, 100, 101]);
    expect(() => set.get(5)).toThrow(/ConcatDataset.get: index must be in \[0, 5\); received 5/);
    expect(() => set.get(-1)).toThrow(dx.ValueError);
    expect(() => data.concat([])).toThrow(/at least one data set/);
  });

  it("map, of samples that are there and of promises", async () => {
    expect(await read(data.map([1, 2], (x, i) => x * 10 + i))).toEqual([10, 21]);
    const later = data.map({ length: 2, get: async (i: number) => i }, async (x) => `${x}!`);
    expect(await read(later)).toEqual(["0!", "1!"]);
    expect(() => data.map([1], (x) => x).get(1)).toThrow(/MappedDataset.get: index/);
  });

  it("subset", async () => {
    expect(await read(data.subset(["a", "b", "c"], [2, 0, 2]))).toEqual(["c", "a", "c"]);
    expect(() => data.subset([1], [1])).toThrow(/Subset: indices must be in \[0, 1\)/);
  });
});

describe("cache", () => {
  const counted = (fails = 0): { set: dx.data.Dataset<number>; reads: number[] } => {
    const reads: number[] = [];
    const get = async (i: number): Promise<number> => {
      reads.push(i);
      await setImmediate();
      if (reads.length <= fails) throw new Error("no disk");
      return i * i;
    };
    return { set: { length: 5, get }, reads };
  };

  it("reads each sample once, also for two readers at the same time", async () => {
    const { set, reads } = counted();
    const cached = data.cache(set);
    expect(await Promise.all([cached.get(3), cached.get(3)])).toEqual([9, 9]);
    expect(await read(cached)).toEqual([0, 1, 4, 9, 16]);
    expect(await read(cached)).toEqual([0, 1, 4, 9, 16]);
    expect(reads).toEqual([3, 0, 1, 2, 4]);
    cached.clear();
    expect(await cached.get(0)).toBe(0);
    expect(reads.length).toBe(6);
  });

  it("keeps no more than maxSamples, those that were read last", async () => {
    const { set, reads } = counted();
    const cached = data.cache(set, { maxSamples: 2 });
    for (const i of [0, 1, 0, 2, 0, 1]) await cached.get(i);
    expect(reads).toEqual([0, 1, 2, 1]);
    expect(() => data.cache(set, { maxSamples: 0 })).toThrow(/maxSamples must be an integer of at least 1/);
  });

  it("does not keep a failure", async () => {
    const cached = data.cache(counted(1).set);
    await expect(cached.get(2)).rejects.toThrow("no disk");
    expect(await cached.get(2)).toBe(4);
  });
});

eachDevice("data sets of tensors", (device) => {
  it("a loader over parts, maps and a cache: tensors of the cache live on, and clear() frees them", () =>
    clean(device, async () => {
      const whole = new data.TensorDataset(dx.arange(12).reshape([6, 2]), dx.arange(6));
      const cached = data.cache(
        data.map(data.concat([data.subset(whole, [5, 1]), data.subset(whole, [0])]), ([x, y]) => [dx.mul(x!, 2), dx.add(y!, 1)] as const),
      );
      for (let epoch = 0; epoch < 3; epoch++) {
        const seen: number[][] = [];
        for await (const [x, y] of data.dataLoader(cached, { batchSize: 2 })) {
          seen.push(numbers(x), numbers(y));
          x.dispose();
          y.dispose();
        }
        expect(seen).toEqual([[20, 22, 4, 6], [6, 2], [0, 2], [1]]);
      }
      cached.clear();
    }, { collect: true })); // prettier-ignore

  it("padCollate pads tensors and typed arrays to the longest of the batch", () =>
    clean(device, () => {
      const samples = [
        { ids: Int32Array.of(1, 2, 3), x: dx.ones([1, 2]), n: 3 },
        { ids: Int32Array.of(4), x: dx.full([2, 2], 5), n: 1 },
      ];
      const right = data.padCollate<(typeof samples)[number]>()(samples);
      expect([numbers(right.ids), right.ids.shape, right.ids.dtype]).toEqual([[1, 2, 3, 4, 0, 0], [2, 3], "int32"]);
      expect([numbers(right.x), right.x.shape]).toEqual([
        [1, 1, 0, 0, 5, 5, 5, 5],
        [2, 2, 2],
      ]);
      expect(numbers(right.n)).toEqual([3, 1]);
      const left = data.padCollate<(typeof samples)[number]>({ value: -1, side: "left", multipleOf: 4 })(samples);
      expect(numbers(left.ids)).toEqual([-1, 1, 2, 3, -1, -1, -1, 4]);
      expect(left.x.shape).toEqual([2, 4, 2]);
      expect(numbers(left.x).slice(0, 6)).toEqual([-1, -1, -1, -1, -1, -1]);
      const longs = data.padCollate<BigInt64Array>({ value: 7 })([BigInt64Array.of(1n), BigInt64Array.of(1n, 2n)]);
      expect([numbers(longs), longs.dtype]).toEqual([[1, 7, 1, 2], "int64"]);
      const same = data.padCollate<Float32Array>({ value: NaN })([Float32Array.of(1), Float32Array.of(2)]);
      expect(numbers(same)).toEqual([1, 2]);
      expect(data.padCollate<Float32Array>()([new Float32Array(0), new Float32Array(0)]).shape).toEqual([2, 0]);
    }));

  it("padCollate refuses what cannot be padded", () =>
    clean(device, () => {
      expect(() => data.padCollate<dx.Tensor>()([dx.ones([1, 2]), dx.ones([2, 3])])).toThrow(dx.ShapeError);
      expect(() => data.padCollate({ multipleOf: 0 })).toThrow(/multipleOf must be an integer of at least 1/);
      expect(() => data.padCollate({ side: "top" as never })).toThrow(/side must be/);
      expect(() => data.padCollate<unknown>()([Int32Array.of(1), Float32Array.of(1)])).toThrow(dx.DTypeError);
    }));
});
