/** What loaders need to read with workers: their options, and a pool for one pass or for all. */
import { withDevice, type DeviceLike } from "../core/device.ts";
import { ValueError } from "../core/errors.ts";
import { outsideScopes } from "../core/scope.ts";
import { disposeAll, paddingOf } from "./collate.ts";
import { requireCount } from "./sampler.ts";
import { moduleAddress, type WorkerSource } from "./worker-dataset.ts";
import { workerPass, type PassPlan } from "./worker/pass.ts";
import { WorkerPool, type Received, type WorkerLimits } from "./worker/worker-pool.ts";
import type { BatchForm, PassRequest } from "./worker/protocol.ts";
import { tensorsOf } from "./worker/tensors.ts";
import { threadCode } from "./worker/thread.generated.ts";

/** Options of loaders whose data set is made in worker threads. Reference: torch.utils.data.DataLoader. */
export interface WorkerLoaderOptions {
  /** Worker threads that read samples and make batches of them; the data set is one of workerDataset(). Default: 0, this thread reads. */
  readonly numWorkers?: number | undefined;
  /** Whether the workers live on after a pass, with their data sets, until close(). Default: false. */
  readonly persistentWorkers?: boolean | undefined;
  /** Batches that a worker may have ready or in work. Default: 2. */
  readonly prefetchFactor?: number | undefined;
  /** A module whose default export is called in each worker, with `{ id, numWorkers }`, before the data set is made: a URL or an absolute path. */
  readonly workerInit?: URL | string | undefined;
  /** Milliseconds after which a batch that did not come is a DataWorkerError. Default: 0, no limit. PyTorch counts seconds. */
  readonly timeout?: number | undefined;
  /** Limits of memory of each worker, as node:worker_threads takes them. Default: Node's. */
  readonly resourceLimits?: WorkerLimits | undefined;
}

/** Ends the workers of loaders that were collected. */
const lost = new FinalizationRegistry<{ pool: WorkerPool | null }>((held) => void held.pool?.close());

/** The workers of a loader. @package */
export class Workers {
  readonly numWorkers: number;
  readonly #prefetchFactor: number;
  readonly #isPersistent: boolean;
  readonly #operation: string;
  readonly #options: WorkerLoaderOptions;
  readonly #init: string | null;
  /** Of persistent workers, between two passes. */
  readonly #held: { pool: WorkerPool | null } = { pool: null };

  /** Throws ValueError for options out of range, and for options of workers without any. */
  constructor(operation: string, options: WorkerLoaderOptions) {
    this.#operation = operation;
    this.#options = options;
    this.numWorkers = requireCount(operation, "numWorkers", options.numWorkers ?? 0, 0);
    this.#prefetchFactor = requireCount(operation, "prefetchFactor", options.prefetchFactor ?? 2, 1);
    requireCount(operation, "timeout", options.timeout ?? 0, 0);
    this.#isPersistent = options.persistentWorkers ?? false;
    if (this.numWorkers === 0)
      for (const name of ["persistentWorkers", "prefetchFactor", "workerInit", "timeout", "resourceLimits"] as const)
        if (options[name] !== undefined && options[name] !== false && options[name] !== 0)
          throw new ValueError(operation, name, "left out without workers (numWorkers)", options[name]);
    this.#init = options.workerInit === undefined ? null : moduleAddress(operation, "workerInit", options.workerInit);
    lost.register(this, this.#held);
  }

  #open(source: WorkerSource): WorkerPool {
    const { pool } = this.#held;
    this.#held.pool = null;
    if (pool !== null && pool.isAlive) return pool;
    void pool?.close();
    const { numWorkers } = this;
    const { resourceLimits, timeout = 0 } = this.#options;
    const start = { ...source, init: this.#init, numWorkers };
    return new WorkerPool({ operation: this.#operation, start, resourceLimits, timeout }, threadCode);
  }

  /** One pass over what workers read. */
  async *pass<B>(source: WorkerSource, request: PassRequest, plan: PlanOfLoader<B>): AsyncGenerator<B, void, undefined> {
    const { collateFn, device } = plan;
    const tensors = (received: NonNullable<Received>): B | Promise<B> =>
      "node" in received ? (tensorsOf(received.node) as B) : collateFn!(received.samples as never[]);
    const pool = this.#open(source);
    let isWhole = false;
    try {
      pool.begin(request);
      yield* workerPass<B>({
        pool,
        numWorkers: this.numWorkers,
        prefetchFactor: this.#prefetchFactor,
        prefetch: plan.prefetch,
        next: plan.next(pool),
        skip: plan.skip ?? 0,
        drop: (worker) => pool.ask(worker, { message: "next", isDropped: true }),
        make: (received) => outsideScopes(() => (device === undefined ? tensors(received) : withDevice(device, () => tensors(received)))),
        dispose: disposeAll,
      });
      isWhole = true;
    } finally {
      // Of passes at the same time one leaves its workers.
      if (this.#isPersistent && pool.isAlive && this.#held.pool === null && (isWhole || !plan.isStream)) this.#held.pool = pool;
      else await pool.close();
    }
  }

  /** Ends the workers that are held for the next pass. */
  async close(): Promise<void> {
    const { pool } = this.#held;
    this.#held.pool = null;
    await pool?.close();
  }
}

/** What a loader adds to a pass. @package */
export interface PlanOfLoader<B> {
  readonly prefetch: number;
  readonly isStream: boolean;
  /** Of a stream: batches that are passed over first. */
  readonly skip?: number | undefined;
  readonly device: DeviceLike | undefined;
  readonly collateFn: ((samples: never[]) => B | Promise<B>) | undefined;
  readonly next: (pool: WorkerPool) => PassPlan<B>["next"];
}

/** @internal How workers make batches for a loader with this function: their own collate, also padded, or none. */
export function formOf(collateFn: object | undefined, isWhole: boolean): BatchForm {
  const padding = collateFn === undefined ? undefined : paddingOf(collateFn);
  if (collateFn !== undefined && padding === undefined) return { by: "loader", padding };
  return { by: collateFn === undefined && isWhole ? "dataset" : "collate", padding };
}
