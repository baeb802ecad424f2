/** What a worker thread of a loader knows of itself: a value that all copies of this library in the thread see. */

/** A worker thread of a loader, as the code inside sees it. Reference: torch.utils.data.get_worker_info. */
export interface WorkerInfo {
  /** From 0 to numWorkers - 1. */
  readonly id: number;
  /** Workers that share the data set. */
  readonly numWorkers: number;
  /** An integer in [0, 2^32) for this worker and this pass: the seed of what a stream draws. */
  readonly seed: number;
  /** The pass, from 0. */
  readonly epoch: number;
}

const key: unique symbol = Symbol.for("dxtensor.dataWorker") as never;

/** The worker that this thread is; null for any other thread. */
export const dataWorker = (): WorkerInfo | null => (globalThis as { [key]?: WorkerInfo })[key] ?? null;

/** Says which worker this thread is. */
export function setDataWorker(info: WorkerInfo): void {
  (globalThis as { [key]?: WorkerInfo })[key] = info;
}
