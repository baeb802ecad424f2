/** DataLoader: batches of a data set, in order or shuffled, the next one prepared while the last one is used. */
import { ValueError } from "../core/errors.ts";
import type { Generator } from "../ops/random/random.ts";
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
import { requireState, type LoaderState } from "./stream.ts";

/** Options of dataLoader(). Reference: torch.utils.data.DataLoader. */
export interface DataLoaderOptions<S, B> {
  /** Samples in a batch. Default: 1. */
  readonly batchSize?: number | undefined;
  /** A new order in each pass. Default: false. */
  readonly shuffle?: boolean | undefined;
  /** Draws the orders. Default: the default generator (manualSeed). */
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

  /** Batches prepared in advance. Default: 1. */
  readonly prefetch?: number | undefined;
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
  readonly #collate: ((samples: S[]) => B | Promise<B>) | undefined;
  #state: LoaderState = { position: 0, order: null };
  #resumed: LoaderState | null = null;

  /** Throws ValueError for a batchSize below 1, a prefetch below 0, and options that exclude each other. */
  constructor(dataset: Samples<S, B>, options: DataLoaderOptions<S, B> = {}) {
    this.dataset = datasetOf<S>(dataset);
    this.#batches = batchesOf(this.dataset, options);
    this.batchSize = options.batchSampler === undefined ? (options.batchSize ?? 1) : null;
    this.prefetch = requireCount("DataLoader", "prefetch", options.prefetch ?? 1, 0);
    this.shuffle = options.shuffle ?? false;
    this.dropLast = options.dropLast ?? false;
    this.#collate = options.collateFn;
  }

  /** Batches in one pass. */
  get length(): number {
    return this.#batches.length;
  }

  /**
   * Where the pass is, as plain data: a loader with this state goes on behind the batches that were handed out, in the same order. Generators have
   * states of their own: save them too. Reference: torchdata.stateful_dataloader.StatefulDataLoader.state_dict.
   */
  stateDict(): LoaderState {
    return { ...this.#state };
  }

  /**
   * The next pass begins where stateDict() was called. Throws ValueError for what is no state. Reference:
   * torchdata.stateful_dataloader.StatefulDataLoader.load_state_dict.
   */
  loadStateDict(state: LoaderState): void {
    this.#resumed = this.#state = { ...requireState("DataLoader.loadStateDict", state) };
  }

  /** The batches of a new pass, or those that are left of the pass of a loaded state. */
  *#pass(): GeneratorOf<readonly number[]> {
    const resumed = this.#resumed;
    this.#resumed = null;
    const order = resumed?.position ? resumed.order : (this.#batches.state?.() ?? null);
    const batches = resumed?.position && order !== null ? (this.#batches.pass?.(order) ?? this.#batches) : this.#batches;
    const skip = resumed?.position ?? 0;
    this.#state = { position: skip, order };
    let index = 0;
    for (const batch of batches) if (index++ >= skip) yield requireBatch(batch);
  }

  async #make(indices: readonly number[]): Promise<B> {
    const { dataset } = this;
    if (this.#collate === undefined && isBatched<S, B>(dataset)) return outsideScopes(() => dataset.batch(indices));
    const samples = await outsideScopes(() => Promise.all(indices.map((i) => dataset.get(i))));
    return outsideScopes(() => (this.#collate ?? (collate as unknown as (samples: S[]) => B))(samples));
  }

  /** One pass: the batches, each prepared while the one before is used. */
  async *[Symbol.asyncIterator](): AsyncGenerator<B, void, undefined> {
    const pass = this.#pass();
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
          const batch = this.#make(next.value);
          // A failure is reported when the batch is asked for.
          batch.catch(() => {});
          waiting.push(batch);
        }
        const first = waiting.shift();
        if (first === undefined) break;
        const batch = await first;
        this.#state = { ...this.#state, position: this.#state.position + 1 };
        yield batch;
      }
      this.#state = { position: 0, order: null };
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
