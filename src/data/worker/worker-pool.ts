/** The workers of a loader: threads that answer requests, the loader's end of their channels, and their end. */
import type { Worker } from "node:worker_threads";
import { DataWorkerError } from "../../core/errors.ts";
import type { HostNode } from "./host-collate.ts";
import type { Answer, BatchRequest, NextRequest, PassRequest, WorkerStart } from "./protocol.ts";
import { receivedError } from "./sent-errors.ts";
import { collateError } from "./tensors.ts";

/** What a worker answered: a batch, samples of which the loader makes one, or null where its stream has ended. */
export type Received = { readonly node: HostNode } | { readonly samples: readonly unknown[] } | null;

interface Waiting {
  readonly resolve: (received: Received) => void;
  readonly reject: (error: Error) => void;
}

interface Member {
  readonly worker: Worker;
  readonly waiting: Map<number, Waiting>;
  /** Why it answers no more. */
  failure: DataWorkerError | null;
}

/** Limits of a worker's memory, as node:worker_threads takes them. */
export interface WorkerLimits {
  /** Of objects that live long, in MiB. */
  readonly maxOldGenerationSizeMb?: number;
  /** Of new objects, in MiB. */
  readonly maxYoungGenerationSizeMb?: number;
  /** Of compiled code, in MiB. */
  readonly codeRangeSizeMb?: number;
  /** Of the stack, in MiB. Node's default: 4. */
  readonly stackSizeMb?: number;
}

/** What all workers of a pool have. */
export interface PoolPlan {
  readonly operation: string;
  readonly start: Omit<WorkerStart, "id" | "code">;
  readonly resourceLimits: WorkerLimits | undefined;
  /** Milliseconds that a batch may take; 0 for any number. */
  readonly timeout: number;
}

const problemOf = (reason: DataWorkerError["reason"], cause: Error): string =>
  `${reason === "start" ? "the data set could not be made: " : ""}${cause.name}: ${cause.message}`;

/** What an answer that is an error becomes. */
function failureOf(operation: string, worker: number, { part, index, error }: Extract<Answer, { message: "error" }>): DataWorkerError {
  const cause = error.collate === null ? receivedError(error) : collateError(error.collate);
  if (error.collate !== null) cause.stack = receivedError(error).stack ?? cause.stack ?? "";
  return new DataWorkerError(operation, part, worker, index, problemOf(part, cause), cause);
}

/**
 * What a thread begins with. Not `eval: true`: what --import loads (tsx) would not be there. The code is no part of the address, which each line of a
 * stack would repeat.
 */
const entry = (): URL => {
  const text = `const { workerData } = process.getBuiltinModule("node:worker_threads");
(0, eval)(workerData.code + "\\n//# sourceURL=dxtensor-data-worker.js");`;
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`);
};

/** Threads with one data set each. They keep no process alive but while a batch is awaited. */
export class WorkerPool {
  readonly #plan: PoolPlan;
  readonly #members: readonly Member[];
  #nextId = 0;
  /** Loops that await a batch. */
  #awaited = 0;
  #isClosed = false;

  constructor(plan: PoolPlan, code: string) {
    this.#plan = plan;
    this.#members = Array.from({ length: plan.start.numWorkers }, (_, id) => this.#open(id, code));
  }

  /** Whether all workers can answer. */
  get isAlive(): boolean {
    return !this.#isClosed && this.#members.every((member) => member.failure === null);
  }

  #open(id: number, code: string): Member {
    const { start, resourceLimits, operation } = this.#plan;
    const threads = process.getBuiltinModule("node:worker_threads");
    const worker = new threads.Worker(entry(), {
      name: `dxtensor data ${id}`,
      workerData: { ...start, id, code } satisfies WorkerStart,
      ...(resourceLimits === undefined ? {} : { resourceLimits }),
    });
    worker.unref();
    const member: Member = { worker, waiting: new Map(), failure: null };
    const fail = (reason: DataWorkerError["reason"], problem: string, cause?: Error): void => {
      if (member.failure !== null) return;
      member.failure = new DataWorkerError(operation, reason, id, null, problem, cause);
      for (const { reject } of member.waiting.values()) reject(member.failure);
      member.waiting.clear();
    };
    worker.on("message", (answer: Answer) => {
      const waiting = member.waiting.get(answer.id);
      member.waiting.delete(answer.id);
      // Of a pass that was left there is none.
      if (waiting === undefined) return;
      if (answer.message === "error") waiting.reject(failureOf(operation, id, answer));
      else waiting.resolve(answer.message === "end" ? null : answer);
    });
    worker.on("error", (error: Error & { code?: string }) => {
      if (error.code === "ERR_WORKER_OUT_OF_MEMORY") fail("outOfMemory", `it reached its limit of memory: ${error.message}`, error);
      else fail("exit", `it was ended by an error that nothing caught: ${error.message}`, error);
    });
    worker.on("messageerror", (error: Error) => fail("exit", `its answer could not be read: ${error.message}`, error));
    worker.on("exit", (code) => fail("exit", `it exited with code ${code}`));
    return member;
  }

  /** A pass begins in all workers. */
  begin(request: PassRequest): void {
    for (const { worker } of this.#members) worker.postMessage(request);
  }

  /** Asks a worker for a batch. */
  ask(id: number, request: Omit<BatchRequest, "id"> | Omit<NextRequest, "id">): Promise<Received> {
    const member = this.#members[id]!;
    const received = new Promise<Received>((resolve, reject) => {
      if (member.failure !== null) {
        reject(member.failure);
        return;
      }
      const requestId = this.#nextId++;
      member.waiting.set(requestId, { resolve, reject });
      member.worker.postMessage({ ...request, id: requestId });
    });
    // A failure is reported when the batch is awaited.
    received.catch(() => {});
    return received;
  }

  /** Awaits a batch of a worker: until then the process lives, for as long as the timeout allows. */
  async wait<T>(id: number, batch: Promise<T>): Promise<T> {
    const { timeout, operation } = this.#plan;
    let timer: NodeJS.Timeout | undefined;
    this.#hold(1);
    try {
      if (timeout === 0) return await batch;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          reject(new DataWorkerError(operation, "timeout", id, null, `it gave no batch within ${timeout} ms`));
        }, timeout);
      });
      return await Promise.race([batch, late]);
    } finally {
      clearTimeout(timer);
      this.#hold(-1);
    }
  }

  #hold(change: 1 | -1): void {
    this.#awaited += change;
    if (this.#isClosed) return;
    for (const { worker } of this.#members)
      if (this.#awaited > 0) worker.ref();
      else worker.unref();
  }

  /** Ends all workers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(
      this.#members.map(({ worker, waiting }) => {
        waiting.clear();
        return worker.terminate();
      }),
    );
  }
}
