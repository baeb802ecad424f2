/** One pass over the batches of workers: in order, with a limit of batches on their way, the next ones made into tensors while one is used. */
import type { Received, WorkerPool } from "./worker-pool.ts";

/** What a pass is made of. */
export interface PassPlan<B> {
  readonly pool: WorkerPool;
  readonly numWorkers: number;
  /** Batches that a worker may have on their way. */
  readonly prefetchFactor: number;
  /** Batches that are made into tensors ahead of the one in use. */
  readonly prefetch: number;
  /** Asks a worker for the next batch; null where the pass has no more of them. */
  readonly next: (worker: number) => Promise<Received> | null;
  /** Batches that are passed over first, and how a worker is asked to read and drop one. */
  readonly skip: number;
  readonly drop: (worker: number) => Promise<Received>;
  /** Makes the batch of what a worker gave. */
  readonly make: (received: NonNullable<Received>) => B | Promise<B>;
  /** Frees a batch that nobody asked for. */
  readonly dispose: (batch: B) => void;
}

interface Asked<T> {
  readonly worker: number;
  readonly value: Promise<T>;
}

/** The batches in order: the workers take turns; one whose stream has ended is passed over. */
export async function* workerPass<B>(plan: PassPlan<B>): AsyncGenerator<B, void, undefined> {
  const { pool, numWorkers, prefetchFactor, prefetch } = plan;
  const arriving: Asked<Received>[] = [];
  const made: Asked<{ readonly batch: B } | null>[] = [];
  const ended = new Set<number>();
  let turn = 0;
  let isDone = false;
  const make = async (asked: Promise<Received>): Promise<{ readonly batch: B } | null> => {
    const received = await asked;
    return received === null ? null : { batch: await plan.make(received) };
  };
  /** Whose turn it is. */
  const nextWorker = (): number => {
    while (ended.has(turn)) turn = (turn + 1) % numWorkers;
    const worker = turn;
    turn = (turn + 1) % numWorkers;
    return worker;
  };
  const fill = (): void => {
    while (!isDone && ended.size < numWorkers && arriving.length + made.length < numWorkers * prefetchFactor) {
      const worker = nextWorker();
      const value = plan.next(worker);
      if (value === null) isDone = true;
      else arriving.push({ worker, value });
    }
    while (arriving.length > 0 && made.length <= prefetch) {
      const { worker, value } = arriving.shift()!;
      const batch = make(value);
      // A failure is reported when the batch is asked for.
      batch.catch(() => {});
      made.push({ worker, value: batch });
    }
  };
  try {
    for (let left = plan.skip; left > 0 && ended.size < numWorkers;) {
      const dropped = Array.from({ length: left }, () => {
        const worker = nextWorker();
        return { worker, value: plan.drop(worker) };
      });
      for (const { worker, value } of dropped)
        if ((await pool.wait(worker, value)) === null) ended.add(worker);
        else left--;
    }
    for (;;) {
      fill();
      const first = made.shift();
      if (first === undefined) break;
      const next = await pool.wait(first.worker, first.value);
      if (next === null) {
        ended.add(first.worker);
        continue;
      }
      // Work for the time that the batch is used.
      fill();
      yield next.batch;
    }
  } finally {
    for (const { value } of made) void value.then((left) => left !== null && plan.dispose(left.batch), () => {}); // prettier-ignore
  }
}
