/** DataLoader: batches of a data set, in order or shuffled, the next one prepared while the last one is used. */
import { ComplexTensor } from "../core/complex-tensor.ts";
import { ValueError } from "../core/errors.ts";
import { defaultGenerator, type Generator } from "../ops/random/random.ts";
import { keep, outsideScopes } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { collate, type Batch } from "./collate.ts";
import { datasetOf, type BatchedDataset, type Dataset } from "./dataset.ts";

/** Options of dataLoader(). Reference: torch.utils.data.DataLoader. */
export interface DataLoaderOptions<S, B> {
  /** Samples in a batch. Default: 1. */
  readonly batchSize?: number | undefined;
  /** A new order in each pass. Default: false. */
  readonly shuffle?: boolean | undefined;
  /** Draws the orders. Default: the default generator (manualSeed). */
  readonly generator?: Generator | undefined;
  /** Leaves out the last batch when it is not full. Default: false. */
  readonly dropLast?: boolean | undefined;
  /** Makes a batch of samples. Default: what the data set has for whole batches, else collate(). */
  readonly collateFn?: ((samples: S[]) => B | Promise<B>) | undefined;
  /** @deprecated Use collateFn. */
  readonly collate?: ((samples: S[]) => B | Promise<B>) | undefined;

  /** Batches prepared in advance. Default: 1. */
  readonly prefetch?: number | undefined;
}

function requireInteger(argument: string, value: number, min: number): number {
  if (!Number.isInteger(value) || value < min) throw new ValueError("DataLoader", argument, `an integer of at least ${min}`, value);
  return value;
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
  /** Samples in a batch. */
  readonly batchSize: number;
  /** Whether each pass has a new order. */
  readonly shuffle: boolean;
  /** Whether a last batch that is not full is left out. */
  readonly dropLast: boolean;
  /** Batches prepared in advance. */
  readonly prefetch: number;
  readonly #generator: Generator | undefined;
  readonly #collate: ((samples: S[]) => B | Promise<B>) | undefined;

  /** Throws ValueError for a batchSize below 1 or a prefetch below 0. */
  constructor(dataset: Samples<S, B>, options: DataLoaderOptions<S, B> = {}) {
    this.dataset = datasetOf<S>(dataset);
    this.batchSize = requireInteger("batchSize", options.batchSize ?? 1, 1);
    this.prefetch = requireInteger("prefetch", options.prefetch ?? 1, 0);
    this.shuffle = options.shuffle ?? false;
    this.dropLast = options.dropLast ?? false;
    this.#generator = options.generator;
    this.#collate = options.collateFn;
  }

  /** Batches in one pass. */
  get length(): number {
    const full = this.dataset.length / this.batchSize;
    return this.dropLast ? Math.floor(full) : Math.ceil(full);
  }

  /** Numbers of the samples in the order of a pass. */
  #order(): Uint32Array {
    const order = Uint32Array.from({ length: this.dataset.length }, (_, i) => i);
    if (!this.shuffle) return order;
    const generator = this.#generator ?? defaultGenerator();
    for (let i = order.length - 1; i > 0; i--) {
      const j = generator.nextBelow(i + 1);
      const other = order[j]!;
      order[j] = order[i]!;
      order[i] = other;
    }
    return order;
  }

  async #make(indices: readonly number[]): Promise<B> {
    const { dataset } = this;
    if (this.#collate === undefined && isBatched<S, B>(dataset)) return outsideScopes(() => dataset.batch(indices));
    const samples = await outsideScopes(() => Promise.all(indices.map((i) => dataset.get(i))));
    return outsideScopes(() => (this.#collate ?? (collate as unknown as (samples: S[]) => B))(samples));
  }

  /** One pass: the batches, each prepared while the one before is used. */
  async *[Symbol.asyncIterator](): AsyncGenerator<B, void, undefined> {
    const order = this.#order();
    const waiting: Promise<B>[] = [];
    let next = 0;
    const start = (): void => {
      const indices = [...order.subarray(next * this.batchSize, (next + 1) * this.batchSize)];
      next++;
      const batch = this.#make(indices);
      // A failure is reported when the batch is asked for.
      batch.catch(() => {});
      waiting.push(batch);
    };
    try {
      while (next < this.length || waiting.length > 0) {
        while (next < this.length && waiting.length <= this.prefetch) start();
        yield await waiting.shift()!;
      }
    } finally {
      // The loop was left early: what was prepared is not needed.
      for (const batch of waiting) void batch.then(disposeAll, () => {});
    }
  }
}

function disposeAll(value: unknown): void {
  if (value instanceof Tensor || value instanceof ComplexTensor) keep(value).dispose();
  else if (Array.isArray(value)) value.forEach(disposeAll);
  else if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype)
    Object.values(value).forEach(disposeAll);
}

/** A DataLoader of a data set, or of an array of samples. Reference: torch.utils.data.DataLoader. */
export const dataLoader = <const S, B = Batch<S>>(dataset: Samples<S, B>, options: DataLoaderOptions<S, B> = {}): DataLoader<S, B> =>
  new DataLoader<S, B>(dataset, options);
