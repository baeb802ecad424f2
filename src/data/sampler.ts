/** Samplers: the order in which a loader reads the samples of a data set. */
import { ValueError } from "../core/errors.ts";
import { processRanks } from "../core/process-ranks.ts";
import type { Dataset } from "./dataset.ts";
import { defaultGenerator, Generator } from "../ops/random/random.ts";

/** Indices of one pass over a data set; each iteration is a new pass. Reference: torch.utils.data.Sampler. */
export interface Sampler {
  /** Indices in one pass. */
  readonly length: number;
  /** Begins a new pass. */
  [Symbol.iterator](): Iterator<number>;
  /** What the next pass is drawn from, as plain data; DataLoader.state() keeps it. Without it, a resumed pass iterates from the start. */
  state?(): string;
  /** The pass that was drawn from a state. Leaves the sampler's own generator as it is. */
  pass?(state: string): Iterable<number>;
  /** The state whose pass is what is left of another state's after so many indices. Without it a resumed pass leaves out as many of the whole. */
  rest?(state: string, count: number): string;
  /** How many of this process's indices come before the pass of a state of rest(). */
  before?(state: string): number;
}

/** Lists of indices, one a batch; each iteration is a new pass. An array of lists is one too. */
export interface BatchIndices {
  /** Batches in one pass. */
  readonly length: number;
  /** Begins a new pass. */
  [Symbol.iterator](): Iterator<readonly number[]>;
  /** As in Sampler. */
  state?(): string;
  /** As in Sampler. */
  pass?(state: string): Iterable<readonly number[]>;
  /** As in Sampler, after so many batches. */
  rest?(state: string, count: number): string | undefined;
  /** As in Sampler: indices, not batches. */
  before?(state: string): number;
}

/** A data set, an array of samples, or their number. */
export type Sized = number | readonly unknown[] | Dataset<unknown>;

/** @internal Throws ValueError for what is no integer of at least `min`. */
export function requireCount(operation: string, argument: string, value: number, min: number): number {
  if (!Number.isSafeInteger(value) || value < min) throw new ValueError(operation, argument, `an integer of at least ${min}`, value);
  return value;
}

const sizeOf = (operation: string, of: Sized): number => requireCount(operation, "dataset", typeof of === "number" ? of : of.length, 0);

/** @internal 0, 1, 2, …, n - 1. */
export const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** @internal The number that a state of a sampler is. Throws ValueError for what is none. */
export function requireSamplerState(state: string): bigint {
  if (typeof state !== "string" || !/^\d{1,20}$/.test(state))
    throw new ValueError("Sampler.pass", "state", "an integer as text, as state() gives it", state);
  return BigInt(state);
}

/** @internal Throws ValueError for what cannot be iterated over. */
export function requireIterable(operation: string, argument: string, value: unknown): void {
  const fields = Object(value) as Partial<Iterable<unknown> & AsyncIterable<unknown>>;
  if (typeof fields[Symbol.iterator] !== "function" && typeof fields[Symbol.asyncIterator] !== "function")
    throw new ValueError(operation, argument, "an iterable object", value);
}

/** @internal Throws ValueError for what is no list of numbers; gives a copy. */
export function numbersOf(operation: string, argument: string, list: ArrayLike<number>): Float64Array {
  if (!Array.isArray(list) && !ArrayBuffer.isView(list))
    throw new ValueError(operation, argument, "an array or typed array of numbers", list);
  for (let i = 0; i < list.length; i++)
    if (typeof list[i] !== "number") throw new ValueError(operation, argument, "an array or typed array of numbers", list[i]);
  return Float64Array.from(list);
}

/** @internal The elements in a random order, in place (Fisher and Yates). */
export function shuffle<T extends { [index: number]: number | readonly number[]; readonly length: number }>(
  list: T,
  generator: Generator,
): T {
  for (let i = list.length - 1; i > 0; i--) {
    const j = generator.nextBelow(i + 1);
    const other = list[j]!;
    list[j] = list[i]!;
    list[i] = other;
  }
  return list;
}

/** What draws with a generator: its state is the generator's, and a pass is drawn again from a generator of that state. @package */
export abstract class Drawn<T> {
  readonly #generator: Generator | undefined;

  constructor(generator: Generator | undefined) {
    this.#generator = generator;
  }

  /** The generator's state on the host, from which the next pass is drawn. */
  state(): string {
    return String((this.#generator ?? defaultGenerator()).hostState);
  }

  /** The pass that was drawn from a state. */
  pass(state: string): Iterable<T> {
    return this.draw(new Generator(requireSamplerState(state)));
  }

  /** Draws a new pass. */
  [Symbol.iterator](): Iterator<T> {
    return this.draw(this.#generator ?? defaultGenerator())[Symbol.iterator]();
  }

  protected abstract draw(generator: Generator): Iterable<T>;
}

/** Options of what only draws an order. */
export interface OrderOptions {
  /** Draws the order. Default: the default generator (manualSeed). */
  readonly generator?: Generator | undefined;
}

/** All indices in order. Reference: torch.utils.data.SequentialSampler. */
export class SequentialSampler implements Sampler {
  /** Indices in one pass. */
  readonly length: number;

  /** dataset: a data set, or its length. */
  constructor(dataset: Sized) {
    this.length = sizeOf("SequentialSampler", dataset);
  }

  /** 0, 1, 2, … */
  [Symbol.iterator](): Iterator<number> {
    return range(this.length)[Symbol.iterator]();
  }
}

/** Options of RandomSampler. */
export interface RandomSamplerOptions extends OrderOptions {
  /** Whether an index may be drawn more than once. Default: false. */
  readonly replacement?: boolean | undefined;
  /** Indices in one pass. Default: the length of the data set. Without replacement more than that gives several permutations. */
  readonly numSamples?: number | undefined;
}

/** Indices in a random order. Reference: torch.utils.data.RandomSampler. */
export class RandomSampler extends Drawn<number> implements Sampler {
  /** Indices in one pass. */
  readonly length: number;
  readonly #size: number;
  readonly #replacement: boolean;

  /** dataset: a data set, or its length. Throws ValueError for numSamples below 1, or for indices of an empty data set. */
  constructor(dataset: Sized, { replacement = false, numSamples, generator }: RandomSamplerOptions = {}) {
    super(generator);
    this.#size = sizeOf("RandomSampler", dataset);
    this.#replacement = replacement;
    this.length = numSamples === undefined ? this.#size : requireCount("RandomSampler", "numSamples", numSamples, 1);
    if (this.#size === 0 && this.length > 0) throw new ValueError("RandomSampler", "dataset", "at least one sample", 0);
  }

  protected *draw(generator: Generator): IndexGenerator {
    if (this.#replacement) {
      for (let i = 0; i < this.length; i++) yield generator.nextBelow(this.#size);
      return;
    }
    for (let left = this.length; left > 0; left -= this.#size) yield* shuffle(range(this.#size), generator).slice(0, left);
  }
}

/** JavaScript's generators, not the library's. */
type IndexGenerator = globalThis.Generator<number, void, undefined>;

/** Some indices in a random order. Reference: torch.utils.data.SubsetRandomSampler. */
export class SubsetRandomSampler extends Drawn<number> implements Sampler {
  /** The indices. */
  readonly indices: readonly number[];

  /** Throws ValueError for what is no index. */
  constructor(indices: readonly number[], { generator }: OrderOptions = {}) {
    super(generator);
    indices.forEach((index) => requireCount("SubsetRandomSampler", "indices", index, 0));
    this.indices = indices;
  }

  /** Indices in one pass. */
  get length(): number {
    return this.indices.length;
  }

  protected draw(generator: Generator): Iterable<number> {
    return shuffle([...this.indices], generator);
  }
}

/** Options of WeightedRandomSampler. */
export interface WeightedRandomSamplerOptions extends OrderOptions {
  /** Whether an index may be drawn more than once. Default: true. */
  readonly replacement?: boolean | undefined;
}

/** Indices with probabilities in proportion to weights, one weight a sample. Reference: torch.utils.data.WeightedRandomSampler. */
export class WeightedRandomSampler extends Drawn<number> implements Sampler {
  /** Indices in one pass. */
  readonly length: number;
  readonly #weights: Float64Array;
  readonly #replacement: boolean;

  /**
   * Throws ValueError for a weight that is negative or not finite, for weights of which none is positive, and without replacement for fewer positive
   * weights than samples.
   */
  constructor(weights: ArrayLike<number>, numSamples: number, { replacement = true, generator }: WeightedRandomSamplerOptions = {}) {
    super(generator);
    this.length = requireCount("WeightedRandomSampler", "numSamples", numSamples, 1);
    this.#weights = numbersOf("WeightedRandomSampler", "weights", weights);
    this.#replacement = replacement;
    const bad = this.#weights.find((weight) => !(weight >= 0 && Number.isFinite(weight)));
    if (bad !== undefined) throw new ValueError("WeightedRandomSampler", "weights", "finite numbers of at least 0", bad);
    const positive = this.#weights.filter((weight) => weight > 0).length;
    const needed = replacement ? 1 : numSamples;
    if (positive < needed)
      throw new ValueError("WeightedRandomSampler", "weights", needed === 1 ? "a positive one" : `${needed} positive ones`, positive);
  }

  protected draw(generator: Generator): Iterable<number> {
    const unit = (): number => generator.nextBelow(2 ** 53) / 2 ** 53;
    return this.#replacement ? this.#withReplacement(unit) : this.#withoutReplacement(unit);
  }

  #withReplacement(unit: () => number): number[] {
    let total = 0;
    const sums = this.#weights.map((weight) => (total += weight));
    const last = this.#weights.findLastIndex((weight) => weight > 0);
    return Array.from({ length: this.length }, () => {
      // The first index whose sum is greater: one of weight 0 is never it.
      const target = unit() * total;
      let [low, high] = [0, last];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (sums[middle]! > target) high = middle;
        else low = middle + 1;
      }
      return low;
    });
  }

  /** Keys that are exponentially distributed with the weights as rates: the smallest ones are a draw without replacement. */
  #withoutReplacement(unit: () => number): number[] {
    const keys = this.#weights.map((weight) => (weight === 0 ? Infinity : -Math.log(1 - unit()) / weight));
    return range(keys.length)
      .sort((a, b) => keys[a]! - keys[b]! || a - b)
      .slice(0, this.length);
  }
}

/** Options of DistributedSampler. */
export interface DistributedSamplerOptions {
  /** Processes that share the data set. Default: those of the process group, 1 without one. */
  readonly numReplicas?: number | undefined;
  /** This process, from 0 to numReplicas - 1. Default: its rank in the process group, 0 without one. */
  readonly rank?: number | undefined;
  /** A new order in each epoch (setEpoch). Default: true. */
  readonly shuffle?: boolean | undefined;
  /** The same in all processes; with the epoch it decides the order. Default: 0. */
  readonly seed?: number | undefined;
  /** Leaves out samples that do not divide evenly, instead of repeating the first ones. Default: false. */
  readonly dropLast?: boolean | undefined;
}

/**
 * Every numReplicas-th index, from `rank` on: the part of one process. The order of all is the same for any number of processes, and so is what is left of
 * it: the state of a loader resumes with another number of them. Reference: torch.utils.data.distributed.DistributedSampler.
 */
export class DistributedSampler implements Sampler {
  /** Indices in one pass: the same number in each process. */
  readonly length: number;
  readonly #size: number;
  readonly #options: Required<{ [K in keyof DistributedSamplerOptions]: NonNullable<DistributedSamplerOptions[K]> }>;
  #epoch = 0;

  /** dataset: a data set, or its length. Throws ValueError for a rank outside of numReplicas. */
  constructor(
    dataset: Sized,
    {
      numReplicas = processRanks()?.size ?? 1,
      rank = processRanks()?.rank ?? 0,
      shuffle: shuffled = true,
      seed = 0,
      dropLast = false,
    }: DistributedSamplerOptions = {},
  ) {
    this.#size = sizeOf("DistributedSampler", dataset);
    requireCount("DistributedSampler", "numReplicas", numReplicas, 1);
    if (requireCount("DistributedSampler", "rank", rank, 0) >= numReplicas)
      throw new ValueError("DistributedSampler", "rank", `in [0, ${numReplicas})`, rank);
    requireCount("DistributedSampler", "seed", seed, 0);
    this.#options = { numReplicas, rank, shuffle: shuffled, seed, dropLast };
    this.length = this.#lengthFrom(0);
  }

  /** This process's indices from an index of the order on. */
  #lengthFrom(start: number): number {
    const { numReplicas, dropLast } = this.#options;
    const left = (this.#size - start) / numReplicas;
    return dropLast ? Math.floor(left) : Math.ceil(left);
  }

  /** Sets the epoch, which decides the order of the next pass. Call it before each pass, in all processes. */
  setEpoch(epoch: number): void {
    this.#epoch = requireCount("DistributedSampler.setEpoch", "epoch", epoch, 0);
  }

  /** The epoch. */
  state(): string {
    return String(this.#epoch);
  }

  /** The pass of an epoch, or what rest() says is left of it. */
  pass(state: string): Iterable<number> {
    const { numReplicas, rank, shuffle: shuffled, seed } = this.#options;
    const { epoch, start } = this.#parsed(state);
    const order = range(this.#size);
    if (shuffled) shuffle(order, new Generator(BigInt(seed) + epoch));
    return Array.from({ length: this.#lengthFrom(start) }, (_, i) => order[(start + rank + i * numReplicas) % order.length]!);
  }

  /** "3:64": of epoch 3 all processes together have had 64. */
  rest(state: string, count: number): string {
    const { epoch, start } = this.#parsed(state);
    return `${epoch}:${Math.min(this.#size, start + requireCount("DistributedSampler.rest", "count", count, 0) * this.#options.numReplicas)}`;
  }

  /** This process's indices before those of a state. */
  before(state: string): number {
    return Math.floor(this.#parsed(state).start / this.#options.numReplicas);
  }

  #parsed(state: string): { readonly epoch: bigint; readonly start: number } {
    const [epoch, start = "0", ...more] = typeof state === "string" ? state.split(":") : [];
    const first = /^\d{1,15}$/.test(start) ? Number(start) : Infinity;
    if (more.length > 0 || first > this.#size)
      throw new ValueError(
        "Sampler.pass",
        "state",
        `an epoch, and an index of at most ${this.#size}, as state() and rest() give them`,
        state,
      );
    return { epoch: requireSamplerState(epoch!), start: first };
  }

  /** The pass of the epoch that was set last. */
  [Symbol.iterator](): Iterator<number> {
    return this.pass(this.state())[Symbol.iterator]();
  }
}

/** Batches of the indices of a sampler. Reference: torch.utils.data.BatchSampler. */
export class BatchSampler implements BatchIndices {
  readonly #sampler: Sampler;
  readonly #batchSize: number;
  readonly #dropLast: boolean;

  /** Throws ValueError for a batchSize below 1, and for a sampler that cannot be iterated over. */
  constructor(sampler: Sampler, batchSize: number, dropLast = false) {
    requireIterable("BatchSampler", "sampler", sampler);
    this.#sampler = sampler;
    this.#batchSize = requireCount("BatchSampler", "batchSize", batchSize, 1);
    this.#dropLast = dropLast;
  }

  /** Batches in one pass. */
  get length(): number {
    const full = this.#sampler.length / this.#batchSize;
    return this.#dropLast ? Math.floor(full) : Math.ceil(full);
  }

  /** The sampler's; "" for one that has none. */
  state(): string {
    return this.#sampler.state?.() ?? "";
  }

  /** The pass that was drawn from a state. */
  pass(state: string): Iterable<readonly number[]> {
    return this.#batches(this.#sampler.pass?.(state) ?? this.#sampler);
  }

  /** The sampler's, after so many batches; undefined for one that has none. */
  rest(state: string, count: number): string | undefined {
    return this.#sampler.rest?.(state, Math.min(count * this.#batchSize, this.#sampler.length));
  }

  /** The sampler's. */
  before(state: string): number {
    return this.#sampler.before?.(state) ?? 0;
  }

  /** Draws a new pass. */
  [Symbol.iterator](): Iterator<readonly number[]> {
    return this.#batches(this.#sampler);
  }

  *#batches(indices: Iterable<number>): globalThis.Generator<readonly number[], void, undefined> {
    let batch: number[] = [];
    for (const index of indices) {
      batch.push(index);
      if (batch.length < this.#batchSize) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0 && !this.#dropLast) yield batch;
  }
}
