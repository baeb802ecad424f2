/** Loaders: samplers, streams, and resumed passes (src/data/loader.ts, stream.ts). */
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

const { data } = dx;
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** The values of all batches of a pass; stops after `count` batches. */
async function values(loader: AsyncIterable<dx.Tensor>, count = Infinity): Promise<number[][]> {
  const out: number[][] = [];
  for await (const batch of loader) {
    out.push(numbers(batch));
    batch.dispose();
    if (out.length >= count) break;
  }
  return out;
}

eachDevice("loaders", (device) => {
  it("take the order of a sampler, of a list, the batches of a batchSampler", () =>
    clean(device, async () => {
      const list = upTo(6);
      expect(await values(data.dataLoader(list, { batchSize: 2, sampler: [5, 0, 0] }))).toEqual([[5, 0], [0]]);
      const reversed = { length: 3, [Symbol.iterator]: () => [2, 1, 0][Symbol.iterator]() };
      expect(await values(data.dataLoader(list, { batchSize: 2, sampler: reversed, dropLast: true }))).toEqual([[2, 1]]);
      const loader = data.dataLoader(list, { batchSampler: [[1], [2, 3, 4], []].slice(0, 2) });
      expect([loader.length, loader.batchSize, await values(loader)]).toEqual([2, null, [[1], [2, 3, 4]]]);
      const part = (rank: number): Promise<number[][]> =>
        values(
          data.dataLoader(list, { batchSize: 2, sampler: new data.DistributedSampler(list, { numReplicas: 2, rank, shuffle: false }) }),
        );
      expect([await part(0), await part(1)]).toEqual([[[0, 2], [4]], [[1, 3], [5]]]); // prettier-ignore
      const lengths = [3, 1, 2, 1, 3, 2];
      const batches = await values(data.dataLoader(lengths, { batchSampler: new data.LengthBatchSampler(lengths, { batchSize: 2 }) }));
      expect(batches).toEqual([[1, 1], [2, 2], [3, 3]]); // prettier-ignore
    }));

  it("resume inside a pass: the rest of it in the same order, then the passes that would have come", () =>
    clean(device, async () => {
      const make = (generator: dx.Generator): dx.data.DataLoader<number, dx.Tensor> =>
        data.dataLoader(upTo(23), { batchSize: 4, shuffle: true, generator, prefetch: 2 });
      const whole = make(new dx.Generator(3));
      const want = [await values(whole), await values(whole), await values(whole)];
      for (const stop of [1, 3, 6]) {
        const generator = new dx.Generator(3);
        const first = make(generator);
        await values(first);
        await values(first, stop);
        const saved = JSON.parse(JSON.stringify([first.stateDict(), await generator.getState()])) as [
          dx.data.LoaderState,
          dx.GeneratorState,
        ];
        const later = new dx.Generator(99).setState(saved[1]);
        const second = make(later);
        second.loadStateDict(saved[0]);
        expect(second.stateDict()).toEqual(saved[0]);
        expect([await values(second), await values(second)]).toEqual([want[1]!.slice(stop), want[2]]);
        expect(second.stateDict()).toEqual({ position: 0, order: null, epoch: 3, seed: "3" });
      }
    }));

  it("resume with a program's own samplers, which iterate again", () =>
    clean(device, async () => {
      const loader = data.dataLoader(upTo(9), { batchSize: 2, sampler: [8, 6, 4, 2, 0] });
      await values(loader, 1);
      const next = data.dataLoader(upTo(9), { batchSize: 2, sampler: [8, 6, 4, 2, 0] });
      next.loadStateDict(loader.stateDict());
      expect(await values(next)).toEqual([[4, 2], [0]]);
      expect(await values(next)).toEqual([[8, 6], [4, 2], [0]]); // prettier-ignore
    }));

  it("a pass that was left early leaves nothing behind, and the next one is whole", () =>
    clean(device, async () => {
      const loader = data.dataLoader(upTo(20), { batchSize: 2, prefetch: 3 });
      expect((await values(loader, 2)).length).toBe(2);
      await setImmediate();
      expect((await values(loader)).length).toBe(10);
    }));

  it("read streams: iterables, async generators, files by line", () =>
    clean(device, async () => {
      expect(await values(data.streamLoader(new Set(upTo(5)), { batchSize: 2 }))).toEqual([[0, 1], [2, 3], [4]]); // prettier-ignore
      let reads = 0;
      const stream = {
        async *[Symbol.asyncIterator]() {
          for (let i = 0; i < 7; i++) {
            await setImmediate();
            reads++;
            yield i;
          }
        },
      };
      for (const prefetch of [0, 1, 5])
        expect(await values(data.streamLoader(stream, { batchSize: 3, dropLast: true, prefetch }))).toEqual([
          [0, 1, 2],
          [3, 4, 5],
        ]);
      reads = 0;
      expect(await values(data.streamLoader(stream, { batchSize: 2, prefetch: 1 }), 1)).toEqual([[0, 1]]);
      expect(reads).toBeLessThanOrEqual(4);
      expect(await values(data.streamLoader([], { batchSize: 2 }))).toEqual([]);
      const doubled = data.streamLoader([1, 2, 3], { batchSize: 3, collateFn: (list) => dx.tensor(list.map((x) => 2 * x)) });
      expect(await values(doubled)).toEqual([[2, 4, 6]]);
    }));

  it("resume a stream at their position", () =>
    clean(device, async () => {
      const loader = data.streamLoader(upTo(9), { batchSize: 2, prefetch: 3 });
      await values(loader, 2);
      expect(loader.stateDict()).toEqual({ position: 2, order: null });
      const next = data.streamLoader(upTo(9), { batchSize: 2 });
      next.loadStateDict(loader.stateDict());
      expect(await values(next)).toEqual([[4, 5], [6, 7], [8]]); // prettier-ignore
      next.loadStateDict({ position: 99, order: null });
      expect(await values(next)).toEqual([]);
      expect((await values(next)).length).toBe(5);
    }));
});

describe("a stream", () => {
  it("is closed when the loop ends early, and when it fails", async () => {
    const ends: string[] = [];
    async function* stream(fails: boolean): AsyncGenerator<number> {
      try {
        for (let i = 0; i < 100; i++) {
          if (fails && i === 3) throw new Error("torn");
          yield i;
        }
      } finally {
        ends.push(fails ? "failed" : "left");
      }
    }
    for await (const batch of data.streamLoader(stream(false), { batchSize: 2 })) {
      batch.dispose();
      break;
    }
    const seen: number[] = [];
    const failing = async (): Promise<void> => {
      for await (const batch of data.streamLoader(stream(true), { batchSize: 2 })) {
        seen.push(...numbers(batch));
        batch.dispose();
      }
    };
    await expect(failing()).rejects.toThrow("torn");
    expect([seen, ends]).toEqual([
      [0, 1],
      ["left", "failed"],
    ]);
  });
});

describe("refused, with what was expected", () => {
  it.each([
    [() => data.dataLoader([1], { shuffle: true, sampler: [0] }), /shuffle must be false with a sampler/],
    [() => data.dataLoader([1], { batchSize: 2, batchSampler: [[0]] }), /batchSize must be left out with a batchSampler/],
    [() => data.dataLoader([1], { dropLast: true, batchSampler: [[0]] }), /dropLast must be left out/],
    [() => data.dataLoader([1], { sampler: 3 as never }), /sampler must be an iterable object; received 3/],
    [() => data.dataLoader([1], { batchSize: 0 }), /batchSize must be an integer of at least 1; received 0/],
    [() => data.streamLoader(3 as never), /StreamLoader: stream must be an iterable object; received 3/],
    [() => data.streamLoader([1], { batchSize: 0.5 }), /batchSize must be an integer/],
    [
      () => data.streamLoader([1]).loadStateDict({ position: -1, order: null }),
      /state.position must be an integer of at least 0; received -1/,
    ],
    [() => data.dataLoader([1]).loadStateDict(null as never), /state must be/],
    [() => data.dataLoader([1]).loadStateDict({ position: 1, order: 7 as never }), /order/],
  ])("%s", (make, message) => {
    expect(make).toThrow(dx.ValueError);
    expect(make).toThrow(message);
  });

  it("a state of another kind, batches that are none: when they are used", async () => {
    const loader = data.dataLoader([1, 2, 3], { shuffle: true });
    loader.loadStateDict({ position: 1, order: "float32" });
    await expect(values(loader)).rejects.toThrow(/Sampler.pass: state must be an integer as text, as state\(\) gives it; received float32/);
    await expect(values(data.dataLoader([1, 2], { batchSampler: [1, 2] as never }))).rejects.toThrow(
      /batchSampler must be lists of indices/,
    );
    await expect(values(data.dataLoader([1, 2], { batchSampler: [["0"]] as never }))).rejects.toThrow(dx.ValueError);
    expect(() => new data.BatchSampler(undefined as never, 2)).toThrow(/BatchSampler: sampler must be an iterable object/);
    expect(() => new data.DistributedSampler(3, { numReplicas: 1, rank: 0 }).pass("-1")).toThrow(dx.ValueError);
  });

  it("an index that is not there: in the loop, with the data set's message", async () => {
    await expect(
      values(
        data.dataLoader(
          data.map([1, 2], (x) => x),
          { sampler: [2] },
        ),
      ),
    ).rejects.toThrow(/MappedDataset.get: index must be in \[0, 2\); received 2/);
  });
});
