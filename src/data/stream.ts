/** Streams of samples: data whose length nobody knows, read in order. */
import { ValueError } from "../core/errors.ts";
import { outsideScopes } from "../core/scope.ts";
import { collate, disposeAll, type Batch } from "./collate.ts";
import { requireCount, requireIterable } from "./sampler.ts";

/** Samples in order, of any number: an iterable object, for example an async generator's. Each pass iterates anew. */
export type Stream<Sample> = AsyncIterable<Sample> | Iterable<Sample>;

/** Options of streamLoader(). */
export interface StreamLoaderOptions<S, B> {
  /** Samples in a batch. Default: 1. */
  readonly batchSize?: number | undefined;
  /** Leaves out the last batch when it is not full. Default: false. */
  readonly dropLast?: boolean | undefined;
  /** Makes a batch of samples. Default: collate(). */
  readonly collateFn?: ((samples: S[]) => B | Promise<B>) | undefined;
  /** Batches prepared in advance. Default: 1. */
  readonly prefetch?: number | undefined;
}

/** Where a loader is in its pass, as plain data that JSON represents exactly. */
export interface LoaderState {
  /** Batches of the pass that were handed out; 0 between two passes. */
  readonly position: number;
  /** What the order of the pass was drawn from; null for an order that is not drawn. */
  readonly order: string | null;
}

/** @internal A state that was checked. */
export function requireState(operation: string, state: LoaderState): LoaderState {
  if (typeof state !== "object" || state === null) throw new ValueError(operation, "state", "what stateDict() gave", state);
  requireCount(operation, "state.position", state.position, 0);
  if (state.order !== null && typeof state.order !== "string")
    throw new ValueError(operation, "state.order", "a text or null", state.order);
  return state;
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
  #position = 0;
  #skip = 0;

  /** Throws ValueError for a batchSize below 1 or a prefetch below 0. */
  constructor(stream: Stream<S>, { batchSize = 1, dropLast = false, collateFn, prefetch = 1 }: StreamLoaderOptions<S, B> = {}) {
    requireIterable("StreamLoader", "stream", stream);
    this.stream = stream;
    this.batchSize = requireCount("StreamLoader", "batchSize", batchSize, 1);
    this.prefetch = requireCount("StreamLoader", "prefetch", prefetch, 0);
    this.dropLast = dropLast;
    this.#collate = collateFn ?? (collate as unknown as (samples: S[]) => B);
  }

  /** Where the pass is. A loader with this state goes on behind the batches that were handed out; it reads the samples before and drops them. */
  stateDict(): LoaderState {
    return { position: this.#position, order: null };
  }

  /** The next pass begins where stateDict() was called. Throws ValueError for what is no state. */
  loadStateDict(state: LoaderState): void {
    this.#position = this.#skip = requireState("StreamLoader.loadStateDict", state).position;
  }

  /** One pass: the batches, each prepared while the one before is used. */
  async *[Symbol.asyncIterator](): AsyncGenerator<B, void, undefined> {
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
      return { batch: await outsideScopes(() => this.#collate(samples)) };
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
