/** Data sets that are made in worker threads: a module whose default export makes one from plain options. */
import { ValueError } from "../core/errors.ts";
import { outsideScopes } from "../core/scope.ts";
import { dataWorker, type WorkerInfo } from "../host/data-worker.ts";
import type { Batch } from "./collate.ts";
import { Subset, type BatchedDataset, type Dataset } from "./dataset.ts";
import { ProduceError, contextsOf, isIndexed, makeSource, produce, type IndexedSource, type StreamSource } from "./worker/produce.ts";
import type { SampleContext } from "./worker/seeds.ts";
import { tensorsOf, withCollateErrors } from "./worker/tensors.ts";

/** A module whose default export is a function, or a class, that makes a data set or a stream from plain options. May be asynchronous. @open */
export interface WorkerModule {
  /** Makes the data set. */
  readonly default: ((options: never) => unknown) | (new (options: never) => unknown);
}

type Made<M> = M extends { readonly default: new (options: never) => infer D }
  ? D
  : M extends { readonly default: (options: never) => infer D }
    ? Awaited<D>
    : never;

/** The options that a module's default export takes. */
export type WorkerOptions<M> = M extends { readonly default: new (options: infer O) => unknown }
  ? O
  : M extends { readonly default: (options: infer O) => unknown }
    ? O
    : never;

type MadeDataset<D> = D extends readonly (infer S)[]
  ? WorkerDataset<S>
  : D extends { get(index: number, ...rest: never): infer S; batch(indices: readonly number[], ...rest: never): infer B }
    ? WorkerDataset<Awaited<S>, Batch<Awaited<B>>>
    : D extends { get(index: number, ...rest: never): infer S }
      ? WorkerDataset<Awaited<S>>
      : D extends AsyncIterable<infer S> | Iterable<infer S>
        ? WorkerStream<S>
        : never;

/** What workerDataset() makes of a module: its samples have the types that the module's data set gives. */
export type WorkerDataOf<M> = MadeDataset<Made<M>>;

/** What workers make the data set of. @package */
export interface WorkerSource {
  readonly module: string;
  readonly options: unknown;
}

const throwCause = (error: unknown): never => {
  throw error instanceof ProduceError ? error.cause : error;
};

/** A data set whose module workers load too. This thread has one as well: it knows the length, and serves `get` and numWorkers: 0. */
export class WorkerDataset<Sample, B = Batch<Sample>> implements BatchedDataset<Sample, B> {
  /** @internal */
  readonly source: WorkerSource;
  readonly #own: IndexedSource;

  /** @internal */
  constructor(source: WorkerSource, own: IndexedSource) {
    this.source = source;
    this.#own = own;
  }

  /** Number of samples. */
  get length(): number {
    return this.#own.length;
  }

  /** Sample `index`, read in this thread. */
  get(index: number, context?: SampleContext): Sample | Promise<Sample> {
    return this.#own.get(index, context ?? contextsOf({ seed: "0", epoch: 0 }, index, 1)[0]!) as Sample | Promise<Sample>;
  }

  /** The batch of the samples of these numbers, read in this thread as a worker reads it. */
  async batch(indices: readonly number[], contexts?: readonly SampleContext[]): Promise<B> {
    const each = contexts ?? contextsOf({ seed: "0", epoch: 0 }, 0, indices.length);
    const produced = await produce(this.#own, indices, each, { by: "dataset", padding: undefined }).catch((error: unknown) =>
      withCollateErrors(() => throwCause(error)),
    );
    if (!("node" in produced)) throw new ValueError("WorkerDataset.batch", "indices", "indices of samples", indices);
    return outsideScopes(() => tensorsOf(produced.node)) as B;
  }
}

/** A stream whose module workers load too: each has one of its own, and getWorkerInfo() says which part it is to read. */
export class WorkerStream<Sample> implements AsyncIterable<Sample> {
  /** @internal */
  readonly source: WorkerSource;
  readonly #own: AsyncIterable<Sample> | Iterable<Sample>;

  /** @internal */
  constructor(source: WorkerSource, own: StreamSource) {
    if (typeof own !== "object" || own === null || !(Symbol.asyncIterator in own || Symbol.iterator in own))
      throw new ValueError("WorkerStream", "own", "an iterable object, as workerDataset() makes it", own);
    this.source = source;
    this.#own = own as AsyncIterable<Sample> | Iterable<Sample>;
  }

  /** The stream of this thread. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample, void, undefined> {
    const stream = this.#own;
    yield* stream;
  }
}

/** @internal The address of a module: of a URL, or of an absolute path. */
export function moduleAddress(operation: string, argument: string, module: unknown): string {
  const expected = 'a URL of a module, as new URL("./dataset.js", import.meta.url), or an absolute path';
  const { pathToFileURL } = process.getBuiltinModule("node:url");
  const { isAbsolute } = process.getBuiltinModule("node:path");
  if (module instanceof URL) return module.href;
  if (typeof module !== "string") throw new ValueError(operation, argument, expected, module);
  if (/^(file|data|node):/.test(module)) return module;
  if (isAbsolute(module)) return pathToFileURL(module).href;
  throw new ValueError(operation, argument, expected, module);
}

/**
 * A data set that loaders can make in worker threads (numWorkers). The module's default export makes it from `options`: plain data that a thread can be
 * sent, once in this thread and once in each worker. Samples have numbers, bigints, booleans, typed arrays and { data, shape }, in arrays and objects.
 * `workerDataset<typeof import("./dataset.js")>(new URL("./dataset.js", import.meta.url), options)` has the types of the module's samples.
 *
 * module: a URL, or an absolute path as require.resolve() gives it. Throws ValueError for options that cannot be sent; what the module throws is
 * passed on. PyTorch pickles data sets in place of this.
 */
export async function workerDataset<M = unknown>(
  module: URL | string,
  ...[options]: unknown extends M
    ? [options?: unknown]
    : undefined extends WorkerOptions<M>
      ? [options?: WorkerOptions<M>]
      : [options: WorkerOptions<M>]
): Promise<unknown extends M ? WorkerDataset<unknown, unknown> : WorkerDataOf<M>> {
  const address = moduleAddress("workerDataset", "module", module);
  try {
    structuredClone(options);
  } catch (error) {
    throw new ValueError("workerDataset", "options", "plain data that a thread can be sent", options, (error as Error).message);
  }
  const source = { module: address, options };
  const own = await makeSource(address, options);
  const made = isIndexed(own) ? new WorkerDataset(source, own) : new WorkerStream(source, own);
  return made as unknown as unknown extends M ? WorkerDataset<unknown, unknown> : WorkerDataOf<M>;
}

/** The worker of a loader that this code runs in; null in any other thread. Reference: torch.utils.data.get_worker_info. */
export const getWorkerInfo = (): WorkerInfo | null => dataWorker();

/** What workers read: their data set, at these of its indices. @package */
export interface WorkerPart {
  readonly source: WorkerSource;
  readonly indexOf: (index: number) => number;
  /** Whether it is the whole data set, which may make batches itself. */
  readonly isWhole: boolean;
}

/** @internal What workers read for a data set; null for one that they cannot make. */
export function workerPart(dataset: Dataset<unknown>): WorkerPart | null {
  if (dataset instanceof WorkerDataset)
    return { source: (dataset as WorkerDataset<unknown>).source, indexOf: (index) => index, isWhole: true };
  const whole = dataset instanceof Subset ? workerPart(dataset.dataset) : null;
  if (whole === null) return null;
  const { indices } = dataset as Subset<unknown>;
  return { source: whole.source, indexOf: (index) => whole.indexOf(indices[index]!), isWhole: false };
}
