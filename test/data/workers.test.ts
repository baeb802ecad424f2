import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

const { data } = dx;
const module = (name: string): URL => new URL(`./worker-modules/${name}`, import.meta.url);

interface Fail {
  readonly at: string;
  readonly index?: number;
}
interface ImagesOptions {
  readonly length: number;
  readonly fail?: Fail;
  readonly reads?: Int32Array;
}
interface Image {
  readonly x: dx.data.HostArray;
  readonly label: number;
  readonly rest: readonly [boolean, bigint, Float32Array];
  readonly seed: number;
}
interface ImagesModule {
  readonly default: (options: ImagesOptions) => dx.data.Dataset<Image>;
}
const images = (options: ImagesOptions) => data.workerDataset<ImagesModule>(module("images.mjs"), options);

/** What is in batches, as numbers and dtypes; frees them. */
async function contents(batches: AsyncIterable<dx.data.Batch<Image>>, max = Infinity): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const { x, label, rest, seed } of batches) {
    const parts = [x, label, ...rest, seed];
    all.push(parts.map((t) => [t.dtype, t.shape, numbers(t)]));
    for (const t of parts) t.dispose();
    if (all.length === max) break;
  }
  return all;
}

const failure = async (batches: AsyncIterable<unknown>): Promise<dx.DataWorkerError> => {
  try {
    for await (const _ of batches);
  } catch (error) {
    expect(error).toBeInstanceOf(dx.DataWorkerError);
    return error as dx.DataWorkerError;
  }
  throw new Error("nothing failed");
};

eachDevice("loaders with workers", (device) => {
  it("give the same batches for any number of workers, from the same seeds in each pass", () =>
    clean(device, async () => {
      const set = await images({ length: 10 });
      const passes = async (options: dx.data.DataLoaderOptions<Image, dx.data.Batch<Image>>) => {
        await using loader = data.dataLoader(set, { batchSize: 3, shuffle: true, generator: new dx.Generator(5), ...options });
        expect([loader.length, loader.numWorkers]).toEqual([4, options.numWorkers ?? 0]);
        return [await contents(loader), await contents(loader)];
      };
      const want = await passes({});
      expect(JSON.stringify(want[0])).not.toBe(JSON.stringify(want[1]));
      const types = (want[0] as [string, number[]][][])[0]!.map(([dtype, shape]) => `${dtype} ${String(shape)}`);
      expect(types).toEqual(["float32 3,1,2,3", "int32 3", "bool 3", "int64 3", "float32 3,2", "float32 3"]);
      expect(await passes({ numWorkers: 1, prefetchFactor: 1, prefetch: 0 })).toEqual(want);
      expect(await passes({ numWorkers: 4 })).toEqual(want);
      expect(await passes({ numWorkers: 2, persistentWorkers: true, prefetch: 3 })).toEqual(want);
    }));

  it("resume inside a pass with the same samples and seeds, with another number of workers too", () =>
    clean(device, async () => {
      const set = await images({ length: 11 });
      const make = (numWorkers: number, generator: dx.Generator) =>
        data.dataLoader(set, { batchSize: 2, shuffle: true, generator, numWorkers, persistentWorkers: numWorkers > 1 });
      const whole = make(0, new dx.Generator(8));
      const want = [await contents(whole), await contents(whole), await contents(whole)];
      const generator = new dx.Generator(8);
      const first = make(2, generator);
      expect(await contents(first)).toEqual(want[0]);
      expect(await contents(first, 4)).toEqual(want[1]!.slice(0, 4));
      const saved = { loader: first.stateDict(), generator: await generator.getState() };
      expect(saved.loader).toMatchObject({ position: 4, epoch: 1, seed: "8" });
      const folder = mkdtempSync(join(tmpdir(), "dxtensor-loader-"));
      const file = join(folder, "state.safetensors");
      await dx.save(file, { loader: first, generator });
      const loaded = { loader: make(2, new dx.Generator(2)), generator: new dx.Generator(2) };
      await dx.load(file, { into: loaded });
      rmSync(folder, { recursive: true });
      expect(loaded.loader.stateDict()).toEqual(saved.loader);
      expect(await contents(loaded.loader)).toEqual(want[1]!.slice(4));
      await Promise.all([first.close(), loaded.loader.close()]);
      for (const numWorkers of [1, 0]) {
        const next = make(numWorkers, new dx.Generator(1).setState(saved.generator));
        next.loadStateDict(JSON.parse(JSON.stringify(saved.loader)) as dx.data.LoaderState);
        expect([await contents(next), await contents(next)]).toEqual([want[1]!.slice(4), want[2]]);
        await next.close();
      }
    }));

  it("read parts of a data set, pad, and leave samples to a function of the loader's", () =>
    clean(device, async () => {
      const words = await data.workerDataset<{ default: (options: { length: number }) => Int32Array[] }>(module("words.mjs"), {
        length: 7,
      });
      const lists = async (numWorkers: number): Promise<unknown[]> => {
        const all: unknown[] = [];
        const part = new data.Subset(words, [6, 1, 0, 3]);
        for await (const batch of data.dataLoader(part, {
          batchSize: 2,
          numWorkers,
          collateFn: data.padCollate<Int32Array>({ value: -1 }),
        })) {
          all.push(await batch.toArray());
          batch.dispose();
        }
        for await (const sums of data.dataLoader(part, { batchSize: 3, numWorkers, collateFn: (s) => s.map((w) => w.length) }))
          all.push(sums);
        return all;
      };
      const want = await lists(0);
      expect(want).toEqual([[[60, 61, 62, 63], [10, 11, 12, 13]], [[0, -1, -1, -1, -1], [30, 31, 32, 33, 34]], [4, 4, 1], [5]]); // prettier-ignore
      expect(await lists(2)).toEqual(want);
    }));

  it("take whole batches of the data set", () =>
    clean(device, async () => {
      const set = await data.workerDataset<{
        default: (o: { length: number }) => Promise<{
          length: number;
          get(index: number): number;
          batch(indices: readonly number[]): [dx.data.HostArray, Int32Array, dx.data.HostArray];
        }>;
      }>(module("batches.mjs"), { length: 5 });
      for (const numWorkers of [0, 2]) {
        const all: unknown[] = [];
        for await (const [x, epochs, ones] of data.dataLoader(set, { batchSize: 2, numWorkers })) {
          all.push([x.dtype, numbers(x), numbers(epochs), ones.dtype, numbers(ones)]);
          for (const t of [x, epochs, ones]) t.dispose();
        }
        expect(all[0]).toEqual(["uint8", [0, 100, 1, 101], [0, 0], "float16", [1, 1]]);
        expect(all[2]).toEqual(["uint8", [4, 104], [0], "float16", [1]]);
      }
    }));

  it("share a stream, and resume inside it", () =>
    clean(device, async () => {
      const make = async (numWorkers: number, end = 11) => {
        const stream = await data.workerDataset<{ default: (o: object) => AsyncIterable<[number, number]> }>(module("numbers.mjs"), {
          end,
          initialized: numWorkers > 0,
        });
        const workers = numWorkers === 0 ? {} : { numWorkers, workerInit: module("init.cjs"), persistentWorkers: true };
        return data.streamLoader(stream, { batchSize: 2, generator: new dx.Generator(4), ...workers });
      };
      const read = async (loader: dx.data.StreamLoader<[number, number], [dx.Tensor, dx.Tensor]>, max = Infinity) => {
        const all: number[][] = [];
        for await (const [n, epoch] of loader) {
          all.push([...numbers(n)]);
          for (const t of [n, epoch]) t.dispose();
          if (all.length === max) break;
        }
        return all;
      };
      expect(await read(await make(0))).toEqual([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10]]); // prettier-ignore
      expect(await read(await make(1))).toEqual([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10]]); // prettier-ignore
      const want = [[0, 3], [1, 4], [2, 5], [6, 9], [7, 10], [8]]; // prettier-ignore
      const whole = await make(3);
      expect([await read(whole), await read(whole)]).toEqual([want, want]);
      await whole.close();
      for (const stop of [1, 4, 5]) {
        const first = await make(3);
        await read(first, stop);
        const next = await make(3);
        next.loadStateDict(JSON.parse(JSON.stringify(first.stateDict())) as dx.data.LoaderState);
        expect([await read(next), await read(next)]).toEqual([want.slice(stop), want]);
        await next.close();
        const other = await make(2);
        expect(() => other.loadStateDict(first.stateDict())).toThrow(/state.numWorkers must be 2/);
      }
    }));

  it("put batches on the device that is asked for, the next ones while one is used", () =>
    clean(device, async () => {
      const reads = new Int32Array(new SharedArrayBuffer(4));
      const set = await images({ length: 40, reads });
      const loader = data.dataLoader(set, { batchSize: 2, numWorkers: 2, prefetchFactor: 3, device });
      let seen = 0;
      for await (const { x, label, rest, seed } of loader) {
        expect(String(x.device)).toBe(String(dx.device(device)));
        seen++;
        // Batches that were handed out, and at most 3 for each worker.
        expect(Atomics.load(reads, 0)).toBeLessThanOrEqual(2 * (seen + 6));
        for (const t of [x, label, ...rest, seed]) t.dispose();
      }
      expect(seen).toBe(20);
    }));
});

it("a failure names the sample and the worker, and its cause is the data set's own error", async () => {
  const loaderOf = async (fail: Fail, options = {}) =>
    data.dataLoader(await images({ length: 8, fail }), { batchSize: 2, numWorkers: 2, prefetch: 0, ...options });
  const sample = await failure(await loaderOf({ at: "sample", index: 3 }));
  expect(sample).toMatchObject({
    reason: "sample",
    worker: 1,
    index: 3,
    message: "DataLoader: worker 1, sample 3: RangeError: sample 3 is broken",
  });
  expect(sample.cause).toBeInstanceOf(RangeError);
  expect((sample.cause as Error).stack).toMatch(/images\.mjs:\d+/);
  const collate = await failure(await loaderOf({ at: "collate", index: 4 }));
  expect(collate).toMatchObject({ reason: "collate", worker: 0, index: null });
  expect(collate.cause).toBeInstanceOf(dx.DTypeError);
  expect(await failure(await loaderOf({ at: "exit", index: 2 }))).toMatchObject({
    reason: "exit",
    worker: 1,
    message: "DataLoader: worker 1: it exited with code 3",
  });
  const thrown = await failure(await loaderOf({ at: "throw", index: 0 }, { batchSize: 1 }));
  expect(thrown).toMatchObject({ reason: "exit", worker: 0, message: expect.stringMatching(/nobody catches this/) });
  const limited = { resourceLimits: { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 4 } };
  expect(await failure(await loaderOf({ at: "memory", index: 1 }, limited))).toMatchObject({ reason: "outOfMemory", worker: 0 });
  const late = await failure(await loaderOf({ at: "hang", index: 0 }, { timeout: 300, numWorkers: 1 }));
  expect([late.reason, late.message]).toEqual(["timeout", "DataLoader: worker 0: it gave no batch within 300 ms"]);
  // After a failure the next pass has new workers.
  const persistent = await loaderOf({ at: "exit", index: 7 }, { persistentWorkers: true });
  for (let i = 0; i < 2; i++) expect((await failure(persistent)).reason).toBe("exit");
});

it("a data set that cannot be made says why", async () => {
  await expect(images({ length: 1, fail: { at: "start" } })).rejects.toThrow(/no such folder/);
  await expect(data.workerDataset(module("missing.mjs"))).rejects.toThrow(/missing\.mjs/);
  await expect(data.workerDataset(module("images.mjs"), { length: () => 1 })).rejects.toThrow(
    /options must be plain data that a thread can be sent/,
  );
  await expect(data.workerDataset("./images.mjs")).rejects.toThrow(/module must be a URL/);
  const stream = await data.workerDataset<{ default: (o: object) => AsyncIterable<number[]> }>(module("numbers.mjs"), {
    end: 9,
    failAt: 5,
  });
  const error = await failure(data.streamLoader(stream, { numWorkers: 2 }));
  expect(error).toMatchObject({ reason: "sample", worker: 1, message: "StreamLoader: worker 1: RangeError: number 5" });
  const uninitialized = await data.workerDataset<ImagesModule>(module("images.mjs"), { length: 2 });
  const workerInit = module("missing.mjs");
  expect(await failure(data.dataLoader(uninitialized, { numWorkers: 1, workerInit }))).toMatchObject({ reason: "start", worker: 0 });
});

it("options that do not fit are refused", async () => {
  const set = await images({ length: 2 });
  const wrong: readonly [object, RegExp][] = [
    [{ numWorkers: -1 }, /numWorkers must be an integer of at least 0/],
    [{ numWorkers: 1, prefetchFactor: 0 }, /prefetchFactor must be an integer of at least 1/],
    [{ numWorkers: 1, timeout: -1 }, /timeout/],
    [{ persistentWorkers: true }, /persistentWorkers must be left out without workers/],
    [{ workerInit: "x.js", numWorkers: 1 }, /workerInit must be a URL/],
  ];
  for (const [options, text] of wrong) expect(() => data.dataLoader(set, options)).toThrow(text);
  expect(() => data.dataLoader([1, 2], { numWorkers: 1 })).toThrow(/dataset must be one of workerDataset/);
  expect(() => data.streamLoader([1, 2], { numWorkers: 1 })).toThrow(/stream must be one of workerDataset/);
  expect(() => data.dataLoader([1]).loadStateDict({ position: 0, order: null, seed: "x" })).toThrow(/state.seed/);
  expect(data.getWorkerInfo()).toBeNull();
});
