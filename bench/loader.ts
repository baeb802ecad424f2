/** What dataLoader costs compared with a plain loop over the same samples, and what memory it keeps from pass to pass. */
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import * as dx from "dxtensor";
import type * as images from "./loader-images.ts";
import { Images, type Options } from "./loader-images.ts";
import { median } from "./measure.ts";

const BATCH = 256;

export interface LoaderRates {
  /** Samples a second of a loop that copies each sample into one array and makes a tensor of that. */
  readonly plain: number;
  /** The same through the loader, by number of workers. */
  readonly loaders: readonly { readonly workers: number; readonly rate: number }[];
}

type Batch = readonly [image: dx.Tensor, label: dx.Tensor];

function check([image, label]: Batch, first: number): void {
  if (image.dtype !== "uint8" || image.shape.join() !== `${BATCH},3,32,32` || label.shape[0] !== BATCH)
    throw new Error(`a batch is ${image.describe()}, ${label.describe()}`);
  if (Number(label.dataSync()[0]) !== first % 10) throw new Error("a batch begins at another sample");
}

function plainPass(device: dx.Device, set: Images): void {
  for (let first = 0; first < set.length; first += BATCH) {
    const images = new Uint8Array(BATCH * 3 * 32 * 32);
    const labels = new Int32Array(BATCH);
    for (let i = 0; i < BATCH; i++) {
      const [image, label] = set.get(first + i);
      images.set(image.data, i * image.data.length);
      labels[i] = label;
    }
    const batch: Batch = [dx.tensor(images, { shape: [BATCH, 3, 32, 32], device }), dx.tensor(labels, { device })];
    check(batch, first);
    for (const t of batch) t.dispose();
  }
}

async function loaderPass(loader: AsyncIterable<Batch>): Promise<void> {
  let first = 0;
  for await (const batch of loader) {
    check(batch, first);
    for (const t of batch) t.dispose();
    first += BATCH;
  }
}

const dataset = (options: Options) => dx.data.workerDataset<typeof images>(new URL("./loader-images.js", import.meta.url), options); // prettier-ignore

/** Rates in alternating rounds: a machine's speed drifts. */
export async function loaderRates(device: dx.Device, options: Options): Promise<LoaderRates> {
  const own = new Images(options);
  const set = await dataset(options);
  const counts = [0, ...new Set([1, availableParallelism()])];
  const loaders = counts.map((numWorkers) => {
    const loader = dx.data.dataLoader(set, {
      batchSize: BATCH,
      device,
      numWorkers,
      ...(numWorkers > 0 ? { persistentWorkers: true } : {}),
    });
    return { workers: numWorkers, loader, seconds: [] as number[] };
  });
  const plain: number[] = [];
  const timed = async (run: () => void | Promise<void>): Promise<number> => {
    const start = performance.now();
    await run();
    return (performance.now() - start) / 1000;
  };
  try {
    for (let round = 0; round < 6; round++) {
      const seconds = await timed(() => {
        plainPass(device, own);
      });
      // The first round starts threads and compiles.
      if (round > 0) plain.push(seconds);
      for (const { loader, seconds: list } of loaders) {
        const took = await timed(() => loaderPass(loader));
        if (round > 0) list.push(took);
      }
    }
  } finally {
    await Promise.all(loaders.map(({ loader }) => loader.close()));
  }
  const rate = (seconds: readonly number[]): number => options.count / median(seconds);
  return { plain: rate(plain), loaders: loaders.map(({ workers, seconds }) => ({ workers, rate: rate(seconds) })) };
}

/** Megabytes that the process holds after the tenth pass beyond those after the second one. */
export async function loaderGrowth(device: dx.Device, numWorkers: number): Promise<number> {
  const set = await dataset({ count: 64 * BATCH, isPacked: false });
  const loader = dx.data.dataLoader(set, { batchSize: BATCH, device, numWorkers });
  const held = async (): Promise<number> => {
    // Buffers are given back in the turn after a collection.
    for (let i = 0; i < 2; i++) {
      globalThis.gc!();
      await setImmediate();
    }
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return (heapUsed + arrayBuffers + dx.memoryStatistics(device).liveInBytes) / 2 ** 20;
  };
  let before = 0;
  for (let pass = 1; pass <= 10; pass++) {
    await loaderPass(loader);
    if (pass === 2) before = await held();
  }
  return (await held()) - before;
}
