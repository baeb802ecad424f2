import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

const { data } = dx;

async function all<B>(loader: AsyncIterable<B>): Promise<B[]> {
  const out: B[] = [];
  for await (const b of loader) out.push(b);
  return out;
}
const disposeAll = (batches: readonly (readonly dx.Tensor[])[]): void => {
  for (const b of batches) for (const t of b) t.dispose();
};

eachDevice("data.DataLoader", (device) => {
  const dataset = (n = 10): dx.data.TensorDataset =>
    new data.TensorDataset(
      dx.tensor(
        Float32Array.from({ length: 2 * n }, (_, i) => i),
        { shape: [n, 2] },
      ),
      dx.tensor(Int32Array.from({ length: n }, (_, i) => i)),
    );

  test("batches in order, the last one smaller or left out", () =>
    clean(device, async () => {
      const set = dataset();
      const loader = data.dataLoader<dx.Tensor[], dx.Tensor[]>(set, { batchSize: 4 });
      expect(loader.length).toBe(3);
      const batches = await all(loader);
      expect(batches.map(([, y]) => numbers(y!))).toEqual([
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
      ]);
      expect(numbers(batches[2]![0]!)).toEqual([16, 17, 18, 19]);
      const short = data.dataLoader<dx.Tensor[], dx.Tensor[]>(set, { batchSize: 4, dropLast: true, prefetch: 0 });
      expect(short.length).toBe(2);
      const fewer = await all(short);
      expect(fewer.map(([x]) => x!.shape)).toEqual([
        [4, 2],
        [4, 2],
      ]);
      disposeAll([...batches, ...fewer]);
    }));

  test("shuffling gives every sample once, another order in each pass, the same from the same seed", () =>
    clean(device, async () => {
      const set = dataset(50);
      const orders = async (seed: number): Promise<number[][]> => {
        const loader = data.dataLoader<dx.Tensor[], dx.Tensor[]>(set, { batchSize: 7, shuffle: true, generator: new dx.Generator(seed) });
        const passes: number[][] = [];
        for (let i = 0; i < 2; i++) {
          const batches = await all(loader);
          passes.push(batches.flatMap(([, y]) => numbers(y!)));
          disposeAll(batches);
        }
        return passes;
      };
      const [first, second] = await orders(1);
      expect(first!.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
      expect(second).not.toEqual(first);
      expect(await orders(1)).toEqual([first, second]);
      expect((await orders(2))[0]).not.toEqual(first);
    }));

  test("samples of any structure are collated; the next batch is prepared while one is used", () =>
    clean(device, async () => {
      const asked: number[] = [];
      const set = {
        length: 6,
        get: async (i: number) => {
          asked.push(i);
          return { x: [i, i + 0.5] as const, label: i, ok: i % 2 === 0 };
        },
      };
      const seen: number[] = [];
      for await (const b of data.dataLoader(set, { batchSize: 2 })) {
        seen.push(asked.length);
        expect([b.x[0].dtype, b.x[1].dtype, b.label.dtype, b.ok.dtype]).toEqual(["int32", "float32", "int32", "bool"]);
        for (const t of [...b.x, b.label, b.ok]) t.dispose();
      }
      expect(seen).toEqual([4, 6, 6]);
      const rows = [dx.tensor([1, 2]), dx.tensor([3, 4])];
      expect(data.collate(rows).shape).toEqual([2, 2]);
      expect(() => data.collate([1, "a"])).toThrow(dx.DTypeError);
      expect(() => data.collate([[1], [1, 2]])).toThrow(dx.ShapeError);
    }));

  test("leaving a loop early frees what was prepared; a failing sample fails the loop", () =>
    clean(device, async () => {
      const loader = data.dataLoader<dx.Tensor[], dx.Tensor[]>(dataset(), { batchSize: 2, prefetch: 2 });
      for await (const batch of loader) {
        for (const t of batch) t.dispose();
        break;
      }
      await new Promise((resolve) => setImmediate(resolve));
      const failing = {
        length: 4,
        get: (i: number) => {
          if (i === 3) throw new RangeError("sample 3");
          return i;
        },
      };
      const got: number[] = [];
      await expect(
        (async () => {
          for await (const b of data.dataLoader(failing, { batchSize: 2 })) {
            got.push(b.size);
            b.dispose();
          }
        })(),
      ).rejects.toThrow("sample 3");
      expect(got).toEqual([2]);
    }));

  test("data sets and options that do not fit are refused", () =>
    clean(device, () => {
      expect(() => new data.TensorDataset()).toThrow(dx.ValueError);
      expect(() => new data.TensorDataset(dx.ones([2]), dx.ones([3]))).toThrow(/of 2 rows each/);
      expect(() => dataset().get(10)).toThrow(/in \[0, 10\)/);
      expect(() => data.dataLoader(dataset(), { batchSize: 0 })).toThrow(/batchSize/);
      expect(() => new data.Subset(dataset(), [10])).toThrow(dx.ValueError);
      const sample = new data.Subset(dataset(), [7, 3]).get(1) as dx.Tensor[];
      expect(numbers(sample[1]!)).toEqual([3]);
    }));

  test("an array is a data set, of which batches are made as of any other", () =>
    clean(device, async () => {
      const pairs = Array.from({ length: 5 }, (_, i) => [dx.full([2], i), i] as const);
      const loader = data.dataLoader(pairs, { batchSize: 2 });
      expect(loader.length).toBe(3);
      const batches = await all(loader);
      expect(batches.map(([x]) => x.shape)).toEqual([
        [2, 2],
        [2, 2],
        [1, 2],
      ]);
      expect(batches.map(([, y]) => numbers(y))).toEqual([[0, 1], [2, 3], [4]]);
      disposeAll(batches);
      const last = await all(data.dataLoader(new data.Subset(pairs, [4, 0]), { batchSize: 2 }));
      expect(last.map(([x, y]) => [numbers(x), numbers(y), y.dtype])).toEqual([[[4, 4, 0, 0], [4, 0], "int32"]]);
      disposeAll(last);
      for (const [x] of pairs) x.dispose();
      // As long as the array is when a pass begins.
      const growing = [1, 2];
      const counts = data.dataLoader(growing, { batchSize: 2 });
      growing.push(3);
      expect(counts.length).toBe(2);
      expect((await all(data.dataLoader([]))).length).toBe(0);
      const seen = await all(data.dataLoader(growing, { batchSize: 3, collateFn: (samples) => samples.map(String) }));
      expect(seen).toEqual([["1", "2", "3"]]);
    }));
});
