/** Streams of samples: data whose length nobody knows, read in order. */
import { withDevice, type DeviceLike } from "../core/device.ts";
import { ValueError } from "../core/errors.ts";
import { outsideScopes } from "../core/scope.ts";
import { defaultGenerator, type Generator } from "../ops/random/random.ts";
import { collate, disposeAll, type Batch } from "./collate.ts";
import { requireCount, requireIterable } from "./sampler.ts";
import { Passes, requireState, type LoaderState } from "./loader-state.ts";
import { WorkerStream } from "./worker-dataset.ts";
import type { PassSeed } from "./worker/seeds.ts";
import { Workers, formOf, type WorkerLoaderOptions } from "./workers.ts";

/** Samples in order, of any number: an iterable object, for example an async generator's. Each pass starts a new iteration. */
export type Stream<Sample> = AsyncIterable<Sample> | Iterable<Sample>;

/** Options of streamLoader(). */
export interface StreamLoaderOptions<S, B> extends WorkerLoaderOptions {
  /** Samples in a batch. Default: 1. */
  readonly batchSize?: number | undefined;
  /** Leaves out the last batch when it is not full. Default: false. */
  readonly dropLast?: boolean | undefined;
  /** Makes a batch of samples. Default: collate(). */
  readonly collateFn?: ((samples: S[]) => B | Promise<B>) | undefined;
  /** Batches prepared in advance, on their device: uploaded while the one before is used, without waiting. Default: 1. */
  readonly prefetch?: number | undefined;
  /** Where batches of host data are made. Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** Its seed makes those of workers (getWorkerInfo). Default: the default generator (manualSeed). */
  readonly generator?: Generator | undefined;
}

/** Iterates over a stream from the outside: its end is called when the loop ends. */
function iterate<S>(stream: Stream<S>): AsyncIterator<S> | Iterator<S> {
  return Symbol.asyncIterator in stream ? stream[Symbol.asyncIterator]() : stream[Symbol.iterator]();
}

/**
 * `for await (const batch of loader)` over a stream; each loop is one pass. Reference: torch.utils.data.DataLoader of an IterableDataset.
 * Batches live until they are disposed of.
 */
export class StreamLoader<const S, B = Batch<S>> implements AsyncIterable<B> {
  /** The stream. */
  readonly stream: Stream<S>;
  /** Samples in a batch. */
  readonly batchSize: number;
  /** Whether a last batch that is not full is left out. */
  readonly dropLast: boolean;
  /** Batches prepared in advance. */
  readonly prefetch: number;
  readonly #collate: (samples: S[]) => B | Promise<B>;
  readonly #collateFn: ((samples: S[]) => B | Promise<B>) | undefined;
  readonly #device: DeviceLike | undefined;
  readonly #workers: Workers;
  readonly #passes: Passes;
  #position = 0;
  #skip = 0;
  #current: PassSeed | null = null;

  /** Throws ValueError for a batchSize below 1, a prefetch below 0, or workers for another stream than workerDataset()'s. */
  constructor(stream: Stream<S>, options: StreamLoaderOptions<S, B> = {}) {
    const { batchSize = 1, dropLast = false, collateFn, prefetch = 1, generator } = options;
    requireIterable("StreamLoader", "stream", stream);
    this.stream = stream;
    this.batchSize = requireCount("StreamLoader", "batchSize", batchSize, 1);
    this.prefetch = requireCount("StreamLoader", "prefetch", prefetch, 0);
    this.dropLast = dropLast;
    this.#collateFn = collateFn;
    this.#collate = collateFn ?? (collate as unknown as (samples: S[]) => B);
    this.#device = options.device;
    this.#workers = new Workers("StreamLoader", options);
    if (this.#workers.numWorkers > 0 && !(stream instanceof WorkerStream))
      throw new ValueError("StreamLoader", "stream", "one of workerDataset(), for workers to make it", stream);
    this.#passes = new Passes(() => (generator ?? defaultGenerator()).seed);
  }

  /** Worker threads that read the stream. */
  get numWorkers(): number {
    return this.#workers.numWorkers;
  }

  /** Where the pass is. A loader with this state resumes after the batches that were handed out; it reads the samples before and drops them. */
  stateDict(): LoaderState {
    const state = { position: this.#position, order: null };
    return this.numWorkers === 0 ? state : { ...state, ...this.#pass, numWorkers: this.numWorkers };
  }

  /** The pass that the position is in, or the next one. */
  get #pass(): PassSeed {
    return this.#current ?? this.#passes.next;
  }

  /** The next pass begins where stateDict() was called. Throws ValueError for what is no state, and for one of another number of workers. */
  loadStateDict(state: LoaderState): void {
    const { position, numWorkers = 0 } = requireState("StreamLoader.loadStateDict", state);
    // One worker has the order of none.
    if (position > 0 && Math.max(1, numWorkers) !== Math.max(1, this.numWorkers))
      throw new ValueError("StreamLoader.loadStateDict", "state.numWorkers", `${this.numWorkers}, that of the loader`, numWorkers);
    this.#position = this.#skip = position;
    this.#current = null;
    this.#passes.load(state);
  }

  /** Ends workers that live on between passes (persistentWorkers). The next pass starts new ones. */
  async close(): Promise<void> {
    await this.#workers.close();
  }

  /** close(), for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async *#inWorkers({ source }: WorkerStream<S>): AsyncGenerator<B, void, undefined> {
    const skip = this.#skip;
    this.#skip = 0;
    this.#position = skip;
    this.#current = this.#passes.begin();
    const { batchSize, dropLast, prefetch } = this;
    const form = formOf(this.#collateFn, false);
    const batches = this.#workers.pass<B>(
      source,
      { message: "pass", form, batchSize, dropLast, ...this.#current },
      {
        prefetch,
        isStream: true,
        skip,
        device: this.#device,
        collateFn: this.#collateFn,
        next: (pool) => (worker) => pool.ask(worker, { message: "next", isDropped: false }),
      },
    );
    for await (const batch of batches) {
      this.#position++;
      yield batch;
    }
    this.#position = 0;
    this.#current = null;
  }

  /** One pass: the batches, each prepared while the one before is used. */
  async *[Symbol.asyncIterator](): AsyncGenerator<B, void, undefined> {
    if (this.numWorkers > 0) {
      yield* this.#inWorkers(this.stream as WorkerStream<S>);
      return;
    }
    const skip = this.#skip;
    this.#skip = 0;
    this.#position = skip;
    const iterator = iterate(this.stream);
    let isDone = false;
    const read = async (): Promise<S[]> => {
      const samples: S[] = [];
      while (samples.length < this.batchSize && !isDone) {
        const next = await outsideScopes(() => iterator.next());
        if (next.done === true) isDone = true;
        else samples.push(next.value);
      }
      return samples;
    };
    const make = async (): Promise<{ readonly batch: B } | null> => {
      const samples = await read();
      if (samples.length === 0 || (this.dropLast && samples.length < this.batchSize)) return null;
      const device = this.#device;
      return {
        batch: await outsideScopes(() =>
          device === undefined ? this.#collate(samples) : withDevice(device, () => this.#collate(samples)),
        ),
      };
    };
    const waiting: Promise<{ readonly batch: B } | null>[] = [];
    let last: Promise<unknown> = Promise.resolve();
    try {
      for (let i = 0; i < skip * this.batchSize && !isDone; i++) {
        const next = await outsideScopes(() => iterator.next());
        if (next.done === true) isDone = true;
        else disposeAll(next.value);
      }
      for (;;) {
        while (waiting.length <= this.prefetch && !isDone) {
          // One after the other: a stream has one order.
          const before = last;
          const batch = before.then(make);
          batch.catch(() => {});
          last = batch;
          waiting.push(batch);
        }
        const next = await waiting.shift();
        if (next === undefined || next === null) break;
        this.#position++;
        yield next.batch;
      }
      this.#position = 0;
    } finally {
      for (const batch of waiting)
        void batch.then(
          (made) => disposeAll(made?.batch),
          () => {},
        );
      await last.catch(() => {});
      if (!isDone) await iterator.return?.();
    }
  }
}

/** A loader of a stream. Throws ValueError for a batchSize below 1 or a prefetch below 0. */
export const streamLoader = <const S, B = Batch<S>>(stream: Stream<S>, options: StreamLoaderOptions<S, B> = {}): StreamLoader<S, B> =>
  new StreamLoader<S, B>(stream, options);
