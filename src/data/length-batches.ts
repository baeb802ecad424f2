/** LengthBatchSampler: batches of samples with similar lengths. */
import { ValueError } from "../core/errors.ts";
import type { Generator } from "../ops/random/random.ts";
import { Drawn, numbersOf, range, requireCount, shuffle, type BatchIndices } from "./sampler.ts";

/** Options of LengthBatchSampler. */
export interface LengthBatchSamplerOptions {
  /** Samples in a batch. */
  readonly batchSize: number;
  /** Upper bounds of the buckets, increasing; longer samples have a bucket of their own. Default: neighbours in order of length, of 100 batches at a time. */
  readonly boundaries?: readonly number[] | undefined;
  /** A new order of the samples and of the batches in each pass. Default: false. */
  readonly shuffle?: boolean | undefined;
  /** Leaves out batches that are not full: with boundaries one a bucket, else the last. Default: false. */
  readonly dropLast?: boolean | undefined;
  /** Draws the orders. Default: the default generator (manualSeed). */
  readonly generator?: Generator | undefined;
}

/** Batches of samples with similar lengths, so that padding is little. TensorFlow has Dataset.bucket_by_sequence_length for this. */
export class LengthBatchSampler extends Drawn<readonly number[]> implements BatchIndices {
  /** Batches in one pass. */
  readonly length: number;
  readonly #lengths: Float64Array;
  readonly #options: LengthBatchSamplerOptions;

  /** lengths: of each sample. Throws ValueError for a length below 0, a batchSize below 1, or boundaries that do not increase. */
  constructor(lengths: ArrayLike<number>, options: LengthBatchSamplerOptions) {
    super(options.generator);
    requireCount("LengthBatchSampler", "batchSize", options.batchSize, 1);
    this.#lengths = numbersOf("LengthBatchSampler", "lengths", lengths);
    const bad = this.#lengths.find((length) => !(length >= 0));
    if (bad !== undefined) throw new ValueError("LengthBatchSampler", "lengths", "numbers of at least 0", bad);
    const { boundaries } = options;
    if (boundaries?.some((bound, i) => !(bound > (boundaries[i - 1] ?? -Infinity))) === true)
      throw new ValueError("LengthBatchSampler", "boundaries", "increasing numbers", boundaries);
    this.#options = options;
    // How many there are does not depend on the order.
    this.length = this.#batches(range(lengths.length)).length;
  }

  protected draw(generator: Generator): Iterable<readonly number[]> {
    const order = range(this.#lengths.length);
    if (this.#options.shuffle !== true) return this.#batches(order);
    return shuffle(this.#batches(shuffle(order, generator)), generator);
  }

  #batches(order: readonly number[]): (readonly number[])[] {
    const { batchSize, dropLast = false } = this.#options;
    return this.#groups(order).flatMap((group) => {
      const batches: (readonly number[])[] = [];
      for (let i = 0; i < group.length; i += batchSize) batches.push(group.slice(i, i + batchSize));
      if (dropLast && batches.length > 0 && batches.at(-1)!.length < batchSize) batches.pop();
      return batches;
    });
  }

  /** The samples of each bucket, or of each piece of 100 batches in order of length. */
  #groups(order: readonly number[]): number[][] {
    const { batchSize, boundaries } = this.#options;
    const lengths = this.#lengths;
    if (boundaries !== undefined) {
      const groups: number[][] = Array.from({ length: boundaries.length + 1 }, () => []);
      for (const i of order) {
        const bucket = boundaries.findIndex((bound) => lengths[i]! <= bound);
        groups[bucket === -1 ? boundaries.length : bucket]!.push(i);
      }
      return groups;
    }
    const groups: number[][] = [];
    for (let i = 0; i < order.length; i += 100 * batchSize)
      groups.push(order.slice(i, i + 100 * batchSize).sort((a, b) => lengths[a]! - lengths[b]! || a - b));
    return groups;
  }
}
