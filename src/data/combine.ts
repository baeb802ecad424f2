/** Data sets made of data sets: parts, splits, several as one, mapped, cached. */
import { ValueError } from "../core/errors.ts";
import { outsideScopes } from "../core/scope.ts";
import { defaultGenerator } from "../ops/random/random.ts";
import { disposeAll } from "./collate.ts";
import { Subset, datasetOf, type Dataset } from "./dataset.ts";
import { requireCount, shuffle, type OrderOptions } from "./sampler.ts";
import type { SampleContext } from "./worker/seeds.ts";

/** Some samples of a data set, by their indices. Throws ValueError for an index out of range. Reference: torch.utils.data.Subset. */
export const subset = <const Sample>(dataset: readonly Sample[] | Dataset<Sample>, indices: readonly number[]): Subset<Sample> =>
  new Subset<Sample>(dataset, indices);

/** The lengths that fractions of n stand for: rounded down, the rest one each from the first on. */
function lengthsOf(n: number, parts: readonly number[]): readonly number[] {
  const sum = parts.reduce((a, b) => a + b, 0);
  const isFractions = parts.some((part) => !Number.isInteger(part)) || (sum === 1 && n !== 1);
  if (!isFractions) {
    parts.forEach((part) => requireCount("randomSplit", "lengths", part, 0));
    if (sum !== n) throw new ValueError("randomSplit", "lengths", `integers with the sum ${n}, or fractions with the sum 1`, parts);
    return parts;
  }
  if (parts.some((part) => !(part >= 0 && part <= 1)) || Math.abs(sum - 1) > 1e-6)
    throw new ValueError("randomSplit", "lengths", `integers with the sum ${n}, or fractions with the sum 1`, parts);
  const lengths = parts.map((part) => Math.floor(n * part));
  for (let i = 0, left = n - lengths.reduce((a, b) => a + b, 0); left > 0; i = (i + 1) % lengths.length, left--) lengths[i]!++;
  return lengths;
}

/**
 * Divides a data set at random into parts without a common sample. lengths: integers whose sum is the data set's length, or fractions whose sum is 1.
 * generator: draws the order; default: the default generator (manualSeed). Throws ValueError for other sums. Reference: torch.utils.data.random_split.
 */
export function randomSplit<const Sample>(
  dataset: readonly Sample[] | Dataset<Sample>,
  lengths: readonly number[],
  { generator }: OrderOptions = {},
): Subset<Sample>[] {
  const sizes = lengthsOf(dataset.length, lengths);
  const order = shuffle(
    Array.from({ length: dataset.length }, (_, i) => i),
    generator ?? defaultGenerator(),
  );
  let start = 0;
  return sizes.map((size) => new Subset<Sample>(dataset, order.slice(start, (start += size))));
}

/** Several data sets, one after the other. Reference: torch.utils.data.ConcatDataset. */
export class ConcatDataset<const Sample> implements Dataset<Sample> {
  /** The data sets. */
  readonly datasets: readonly Dataset<Sample>[];

  /** Throws ValueError for none. */
  constructor(datasets: readonly (readonly Sample[] | Dataset<Sample>)[]) {
    if (datasets.length === 0) throw new ValueError("ConcatDataset", "datasets", "at least one data set", "none");
    this.datasets = datasets.map((d) => datasetOf<Sample>(d));
  }

  /** Samples of all data sets. */
  get length(): number {
    return this.datasets.reduce((n, d) => n + d.length, 0);
  }

  /** Sample `index`, counted through all data sets. Throws ValueError for an index out of range. */
  get(index: number, context?: SampleContext): Sample | Promise<Sample> {
    let rest = requireIndex("ConcatDataset.get", index, this.length);
    for (const d of this.datasets) {
      if (rest < d.length) return d.get(rest, context);
      rest -= d.length;
    }
    throw new ValueError("ConcatDataset.get", "index", `in [0, ${this.length})`, index);
  }
}

function requireIndex(operation: string, index: number, length: number): number {
  if (!Number.isInteger(index) || index < 0 || index >= length) throw new ValueError(operation, "index", `in [0, ${length})`, index);
  return index;
}

/** Several data sets as one, one after the other. Throws ValueError for none. Reference: torch.utils.data.ConcatDataset. */
export const concat = <const Sample>(datasets: readonly (readonly Sample[] | Dataset<Sample>)[]): ConcatDataset<Sample> =>
  new ConcatDataset<Sample>(datasets);

/** A data set whose samples go through a function, when they are read. TensorFlow has Dataset.map for this. */
export class MappedDataset<const Sample, Result> implements Dataset<Result> {
  readonly #dataset: Dataset<Sample>;
  readonly #fn: (sample: Sample, index: number, context?: SampleContext) => Result | Promise<Result>;

  /** fn: gets a sample, its index, and the loader's context for random choices; may be asynchronous. */
  constructor(
    dataset: readonly Sample[] | Dataset<Sample>,
    fn: (sample: Sample, index: number, context?: SampleContext) => Result | Promise<Result>,
  ) {
    this.#dataset = datasetOf<Sample>(dataset);
    this.#fn = fn;
  }

  /** Number of samples. */
  get length(): number {
    return this.#dataset.length;
  }

  /** What the function makes of sample `index`. Throws ValueError for an index out of range. */
  get(index: number, context?: SampleContext): Result | Promise<Result> {
    const sample = this.#dataset.get(requireIndex("MappedDataset.get", index, this.length), context);
    return sample instanceof Promise ? sample.then((value: Sample) => this.#fn(value, index, context)) : this.#fn(sample, index, context);
  }
}

/** A data set whose samples go through a function, when they are read. fn: gets a sample, its index, and the loader's context; may be asynchronous. */
export const map = <const Sample, Result>(
  dataset: readonly Sample[] | Dataset<Sample>,
  fn: (sample: Sample, index: number, context?: SampleContext) => Result | Promise<Result>,
): MappedDataset<Sample, Result> => new MappedDataset<Sample, Result>(dataset, fn);

/** Options of cache(). */
export interface CacheOptions {
  /** How many samples are kept; the one that was not read for longest goes. Default: all. */
  readonly maxSamples?: number | undefined;
}

/** A data set that keeps the samples that were read. TensorFlow has Dataset.cache for this. */
export class CachedDataset<const Sample> implements Dataset<Sample> {
  readonly #dataset: Dataset<Sample>;
  readonly #maxSamples: number;
  readonly #known = new Map<number, Sample | Promise<Sample>>();

  /** maxSamples: how many are kept at most; the one that was not read for longest goes. Default: all. Throws ValueError for less than 1. */
  constructor(dataset: readonly Sample[] | Dataset<Sample>, { maxSamples = Infinity }: CacheOptions = {}) {
    this.#dataset = datasetOf<Sample>(dataset);
    this.#maxSamples = maxSamples === Infinity ? Infinity : requireCount("CachedDataset", "maxSamples", maxSamples, 1);
  }

  /** Number of samples. */
  get length(): number {
    return this.#dataset.length;
  }

  /** Sample `index`: read once, also by calls at the same time. What could not be read is read again by the next call. */
  get(index: number, context?: SampleContext): Sample | Promise<Sample> {
    const known = this.#known.get(index);
    if (known !== undefined) {
      this.#known.delete(index);
      this.#known.set(index, known);
      return known;
    }
    // Tensors among the samples outlive the scope of the first call.
    const sample = outsideScopes(() => this.#dataset.get(requireIndex("CachedDataset.get", index, this.length), context));
    this.#known.set(index, sample);
    if (sample instanceof Promise) void this.#settle(index, sample);
    if (this.#known.size > this.#maxSamples) this.#known.delete(this.#known.keys().next().value!);
    return sample;
  }

  /** Keeps the sample in place of its promise; a failure is not kept. */
  async #settle(index: number, read: Promise<Sample>): Promise<void> {
    try {
      const sample = await read;
      if (this.#known.get(index) === read) this.#known.set(index, sample);
    } catch {
      // The caller of get() has the error.
      if (this.#known.get(index) === read) this.#known.delete(index);
    }
  }

  /** Forgets all samples and disposes of the tensors among them. */
  clear(): void {
    for (const sample of this.#known.values())
      if (sample instanceof Promise)
        void sample.then(disposeAll, () => {
          // The caller of get() has the error.
        });
      else disposeAll(sample);
    this.#known.clear();
  }
}

/** A data set that keeps the samples that were read. maxSamples: how many at most; default: all. */
export const cache = <const Sample>(dataset: readonly Sample[] | Dataset<Sample>, options: CacheOptions = {}): CachedDataset<Sample> =>
  new CachedDataset<Sample>(dataset, options);
