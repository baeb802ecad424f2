/** DataLoader: batches of a data set, in order or shuffled, the next one prepared while the last one is used. */
import { ValueError } from "../core/errors.ts";
import { withDevice, type DeviceLike } from "../core/device.ts";
import { defaultGenerator, type Generator } from "../ops/random/random.ts";
import { outsideScopes } from "../core/scope.ts";
import { collate, disposeAll, type Batch } from "./collate.ts";
import { datasetOf, type BatchedDataset, type Dataset } from "./dataset.ts";
import {
  BatchSampler,
  RandomSampler,
  SequentialSampler,
  requireCount,
  requireIterable,
  type BatchIndices,
  type Sampler,
} from "./sampler.ts";
import { Passes, requireState, type LoaderState } from "./loader-state.ts";
import { workerPart, type WorkerPart } from "./worker-dataset.ts";
import type { PassRequest } from "./worker/protocol.ts";
import { contextOf, type PassSeed } from "./worker/seeds.ts";
import { Workers, formOf, type WorkerLoaderOptions } from "./workers.ts";

/** Options of dataLoader(). Reference: torch.utils.data.DataLoader. */
export interface DataLoaderOptions<S, B> extends WorkerLoaderOptions {
  /** Samples in a batch. Default: 1. */
  readonly batchSize?: number | undefined;
  /** A new order in each pass. Default: false. */
  readonly shuffle?: boolean | undefined;
  /** Draws the orders; its seed makes those of samples. Default: the default generator (manualSeed). */
  readonly generator?: Generator | undefined;
  /** The order of the samples, in place of shuffle: a sampler or a list of indices. */
  readonly sampler?: Sampler | readonly number[] | undefined;
  /** The batches, in place of batchSize, shuffle, sampler and dropLast: a sampler of batches or a list of lists of indices. */
  readonly batchSampler?: BatchIndices | readonly (readonly number[])[] | undefined;
  /** Leaves out the last batch when it is not full. Default: false. */
  readonly dropLast?: boolean | undefined;
  /** Makes a batch of samples. Default: what the data set has for whole batches, else collate(). */
  readonly collateFn?: ((samples: S[]) => B | Promise<B>) | undefined;
  /** @deprecated Use collateFn. */
  readonly collate?: ((samples: S[]) => B | Promise<B>) | undefined;

  /** Batches prepared in advance, on their device: uploaded while the one before is used, without waiting. Default: 1. */
  readonly prefetch?: number | undefined;
  /** Where batches of host data are made. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

/** The indices of a batch, and the position of its first sample in the pass. */
interface PassBatch {
  readonly indices: readonly number[];
  readonly position: number;
}

/** The batches of a pass that options ask for. */
function batchesOf<S, B>(dataset: Dataset<S>, options: DataLoaderOptions<S, B>): BatchIndices {
  const { sampler, batchSampler, shuffle = false, generator, dropLast = false } = options;
  for (const [name, value] of Object.entries({ sampler, batchSampler }))
    if (value !== undefined) requireIterable("DataLoader", name, value);
  if (sampler !== undefined && shuffle)
    throw new ValueError("DataLoader", "shuffle", "false with a sampler, which decides the order", shuffle);
  if (batchSampler === undefined) {
    const batchSize = requireCount("DataLoader", "batchSize", options.batchSize ?? 1, 1);
    return new BatchSampler(sampler ?? new DatasetSampler(dataset, shuffle, generator), batchSize, dropLast);
  }
  for (const name of ["batchSize", "shuffle", "sampler", "dropLast"] as const)
    if (options[name] !== undefined && options[name] !== false)
      throw new ValueError("DataLoader", name, "left out with a batchSampler, which decides the batches", options[name]);
  return batchSampler;
}

/** Throws ValueError for what is no list of indices. */
function requireBatch(batch: readonly number[]): readonly number[] {
  const isIndex = (value: unknown): boolean => typeof value === "number" && Number.isInteger(value);
  if (!Array.isArray(batch) || !batch.every(isIndex)) throw new ValueError("DataLoader", "batchSampler", "lists of indices", batch);
  return batch;
}

/** All samples of a data set, which may grow between two passes. */
class DatasetSampler implements Sampler {
  readonly #dataset: Dataset<unknown>;
  readonly #isShuffled: boolean;
  readonly #generator: Generator | undefined;

  constructor(dataset: Dataset<unknown>, isShuffled: boolean, generator: Generator | undefined) {
    this.#dataset = dataset;
    this.#isShuffled = isShuffled;
    this.#generator = generator;
  }

  get length(): number {
    return this.#dataset.length;
  }

  /** The sampler of the samples that are there now. */
  #now(): SequentialSampler | RandomSampler {
    return this.#isShuffled ? new RandomSampler(this.#dataset, { generator: this.#generator }) : new SequentialSampler(this.#dataset);
  }

  state(): string {
    const sampler = this.#now();
    return sampler instanceof RandomSampler ? sampler.state() : "";
  }

  pass(state: string): Iterable<number> {
    const sampler = this.#now();
    return sampler instanceof RandomSampler ? sampler.pass(state) : sampler;
  }

  [Symbol.iterator](): Iterator<number> {
    return this.#now()[Symbol.iterator]();
  }
}

const isBatched = <S, B>(d: Dataset<S>): d is BatchedDataset<S, B> => "batch" in d && typeof d.batch === "function";

/** Samples by number, or an array of them; what gives whole batches says so by its type. */
export type Samples<S, B> = readonly S[] | BatchedDataset<S, B> | Dataset<S>;

/**
 * `for await (const batch of loader)`; each loop is one pass over the data set. A batch has the structure of a sample, also to its type: pairs give
 * pairs of tensors. Batches live until they are disposed of. Reference: torch.utils.data.DataLoader.
 */
export class DataLoader<const S, B = Batch<S>> implements AsyncIterable<B> {
  /** The data set; of an array, one that reads it. */
  readonly dataset: Dataset<S>;
  /** Samples in a batch; null where a batchSampler decides. */
  readonly batchSize: number | null;
  /** Whether each pass has a new order. */
  readonly shuffle: boolean;
  /** Whether a last batch that is not full is left out. */
  readonly dropLast: boolean;
  /** Batches prepared in advance. */
  readonly prefetch: number;
  readonly #batches: BatchIndices;
  readonly #sampler: { setEpoch?(epoch: number): void } | undefined;
  readonly #collate: ((samples: S[]) => B | Promise<B>) | undefined;
  readonly #workers: Workers;
  readonly #part: WorkerPart | null;
  readonly #device: DeviceLike | undefined;
  readonly #passes: Passes;
  #state: LoaderState | null = null;
  /** Batches before those of the running pass, of a state with `rest`. */
  #first = 0;
  #resumed: LoaderState | null = null;

  /** Throws ValueError for a batchSize below 1, a prefetch below 0, workers for another data set than workerDataset()'s, and options that exclude each other. */
  constructor(dataset: Samples<S, B>, options: DataLoaderOptions<S, B> = {}) {
    this.dataset = datasetOf<S>(dataset);
    this.#batches = batchesOf(this.dataset, options);
    this.#sampler = (options.sampler ?? options.batchSampler) as { setEpoch?(epoch: number): void } | undefined;
    this.batchSize = options.batchSampler === undefined ? (options.batchSize ?? 1) : null;
    this.prefetch = requireCount("DataLoader", "prefetch", options.prefetch ?? 1, 0);
    this.shuffle = options.shuffle ?? false;
    this.dropLast = options.dropLast ?? false;
    this.#collate = options.collateFn;
    this.#device = options.device;
    this.#workers = new Workers("DataLoader", options);
    this.#part = this.#workers.numWorkers > 0 ? workerPart(this.dataset) : null;
    if (this.#part === null && this.#workers.numWorkers > 0)
      throw new ValueError("DataLoader", "dataset", "one of workerDataset(), or a Subset of it, for workers to make it", dataset);
    this.#passes = new Passes(() => (options.generator ?? defaultGenerator()).seed);
  }

  /** Worker threads that read the samples. */
  get numWorkers(): number {
    return this.#workers.numWorkers;
  }

  /** Batches in one pass. */
  get length(): number {
    return this.#batches.length;
  }

  /**
   * Where the pass is, as plain data: a loader with this state resumes after the batches that were handed out, in the same order and with the same
   * seeds, for any number of workers. Generators have states of their own: save them too. Reference:
   * torchdata.stateful_dataloader.StatefulDataLoader.state_dict.
   */
  stateDict(): LoaderState {
    return { ...(this.#state ?? { position: 0, order: null, ...this.#passes.next }) };
  }

  /**
   * The next pass begins where stateDict() was called. Throws ValueError for what is no state. Reference:
   * torchdata.stateful_dataloader.StatefulDataLoader.load_state_dict.
   */
  loadStateDict(state: LoaderState): void {
    this.#resumed = this.#state = { ...requireState("DataLoader.loadStateDict", state) };
    this.#passes.load(state);
  }

  /** Sets the epoch of a sampler that has one, as DistributedSampler.setEpoch() does; others stay as they are. fit() calls it. */
  setEpoch(epoch: number): void {
    this.#sampler?.setEpoch?.(epoch);
  }

  /** Ends workers that live on between passes (persistentWorkers). The next pass starts new ones. */
  async close(): Promise<void> {
    await this.#workers.close();
  }

  /** close(), for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** The batches of a new pass, or those that are left of the pass of a loaded state. */
  *#pass(seed: PassSeed): GeneratorOf<PassBatch> {
    const resumed = this.#resumed?.position ? this.#resumed : null;
    this.#resumed = null;
    const own = this.#batches;
    const rest = own.rest === undefined ? undefined : resumed?.rest;
    const order = rest ?? (resumed === null ? (own.state?.() ?? null) : resumed.order);
    const batches = resumed !== null && order !== null ? (own.pass?.(order) ?? own) : own;
    const skip = rest === undefined ? (resumed?.position ?? 0) : 0;
    this.#first = rest === undefined ? 0 : resumed!.position;
    this.#state = { position: this.#first + skip, order, ...seed };
    let index = 0;
    let position = rest === undefined ? 0 : (own.before?.(rest) ?? 0);
    for (const batch of batches) {
      const indices = requireBatch(batch);
      if (index++ >= skip) yield { indices, position };
      position += indices.length;
    }
  }

  async #make({ indices, position }: PassBatch, pass: PassSeed): Promise<B> {
    const { dataset } = this;
    const contexts = indices.map((_, i) => contextOf(pass, position + i));
    if (this.#collate === undefined && isBatched<S, B>(dataset)) return outsideScopes(() => dataset.batch(indices, contexts));
    const samples = await outsideScopes(() => Promise.all(indices.map((i, n) => dataset.get(i, contexts[n]))));
    return outsideScopes(() => (this.#collate ?? (collate as unknown as (samples: S[]) => B))(samples));
  }

  /** One pass: the batches, each prepared while the one before is used. */
  async *[Symbol.asyncIterator](): AsyncGenerator<B, void, undefined> {
    const seed = this.#passes.begin();
    const pass = this.#pass(seed);
    for await (const batch of this.#part === null ? this.#inThisThread(pass, seed) : this.#inWorkers(this.#part, pass, seed)) {
      const { position, order, ...others } = this.#state!;
      const rest = order === null ? undefined : this.#batches.rest?.(order, position + 1 - this.#first);
      this.#state = { ...others, position: position + 1, order, ...(rest === undefined ? {} : { rest }) };
      yield batch;
    }
    this.#state = null;
  }

  #inWorkers({ source, indexOf, isWhole }: WorkerPart, pass: GeneratorOf<PassBatch>, seed: PassSeed): AsyncGenerator<B, void, undefined> {
    const form = formOf(this.#collate, isWhole);
    const request: PassRequest = { message: "pass", form, batchSize: 0, dropLast: false, ...seed };
    return this.#workers.pass<B>(source, request, {
      prefetch: this.prefetch,
      isStream: false,
      device: this.#device,
      collateFn: this.#collate,
      next: (pool) => (worker) => {
        const next = pass.next();
        if (next.done === true) return null;
        const { indices, position } = next.value;
        return pool.ask(worker, { message: "batch", indices: indices.map(indexOf), position });
      },
    });
  }

  async *#inThisThread(pass: GeneratorOf<PassBatch>, seed: PassSeed): AsyncGenerator<B, void, undefined> {
    const device = this.#device;
    const waiting: Promise<B>[] = [];
    let isDone = false;
    try {
      for (;;) {
        while (!isDone && waiting.length <= this.prefetch) {
          const next = pass.next();
          if (next.done === true) {
            isDone = true;
            break;
          }
          const make = (): Promise<B> => this.#make(next.value, seed);
          const batch = device === undefined ? make() : withDevice(device, make);
          // A failure is reported when the batch is asked for.
          batch.catch(() => {});
          waiting.push(batch);
        }
        const first = waiting.shift();
        if (first === undefined) break;
        yield await first;
      }
    } finally {
      // The loop was left early: what was prepared is not needed.
      for (const batch of waiting) void batch.then(disposeAll, () => {});
    }
  }
}

/** JavaScript's generators, not the library's. */
type GeneratorOf<T> = globalThis.Generator<T, void, undefined>;

/** A DataLoader of a data set, or of an array of samples. Reference: torch.utils.data.DataLoader. */
export const dataLoader = <const S, B = Batch<S>>(dataset: Samples<S, B>, options: DataLoaderOptions<S, B> = {}): DataLoader<S, B> =>
  new DataLoader<S, B>(dataset, options);
