/** The code of a worker thread: makes the data set, answers one request after the other. `npm run generate` makes thread.generated.ts of it. */
import { setDataWorker } from "../../host/data-worker.ts";
import { transferable } from "./host-collate.ts";
import { ProduceError, callDefault, contextsOf, formed, isIndexed, makeSource, produce, type Produced, type Source } from "./produce.ts";
import type { Answer, NextRequest, PassRequest, Request, WorkerStart } from "./protocol.ts";
import { seedOf, type PassSeed } from "./seeds.ts";
import { sentError } from "./sent-errors.ts";

const { parentPort, workerData } = process.getBuiltinModule("node:worker_threads");
const { module, options, init, id, numWorkers } = workerData as WorkerStart;

const identify = (pass: PassSeed): void =>
  setDataWorker({ id, numWorkers, seed: seedOf({ ...pass, seed: String(BigInt(pass.seed) ^ 0x5bd1e995n) }, id), epoch: pass.epoch });

async function start(): Promise<Source> {
  try {
    if (init !== null) await callDefault(init, { id, numWorkers });
    return await makeSource(module, options);
  } catch (error) {
    throw new ProduceError("start", null, error);
  }
}

let starting: Promise<Source> | null = null;
let pass: PassRequest | null = null;
let iterator: AsyncIterator<unknown> | Iterator<unknown> | null = null;

function send(requestId: number, produced: Produced): void {
  if ("samples" in produced) {
    parentPort!.postMessage({ message: "samples", id: requestId, samples: produced.samples } satisfies Answer);
    return;
  }
  const buffers: ArrayBuffer[] = [];
  const node = transferable(produced.node, buffers);
  parentPort!.postMessage({ message: "batch", id: requestId, node } satisfies Answer, buffers);
}

/** The next batch of a stream; null at its end. */
async function nextBatch(source: Source, { isDropped }: NextRequest): Promise<Produced | null> {
  const { batchSize, dropLast, form } = pass!;
  const samples: unknown[] = [];
  try {
    const stream = source as AsyncIterable<unknown> & Iterable<unknown>;
    iterator ??= Symbol.asyncIterator in source ? stream[Symbol.asyncIterator]() : stream[Symbol.iterator]();
    while (samples.length < batchSize) {
      const next = await iterator.next();
      if (next.done === true) break;
      samples.push(next.value);
    }
  } catch (error) {
    throw new ProduceError("sample", null, error);
  }
  if (samples.length === 0 || (dropLast && samples.length < batchSize)) return null;
  return isDropped ? { samples: [] } : formed(samples, form);
}

async function answer(request: Request): Promise<void> {
  if (request.message === "pass") {
    pass = request;
    identify(request);
    const left = iterator;
    iterator = null;
    await left?.return?.();
    return;
  }
  try {
    starting ??= start();
    const source = await starting;
    if (request.message === "next") {
      const produced = await nextBatch(source, request);
      if (produced === null) parentPort!.postMessage({ message: "end", id: request.id } satisfies Answer);
      else send(request.id, produced);
      return;
    }
    if (!isIndexed(source)) throw new TypeError("the module made a stream, and now samples by index are asked for");
    send(request.id, await produce(source, request.indices, contextsOf(pass!, request.position, request.indices.length), pass!.form));
  } catch (error) {
    const { part, index, cause } = error instanceof ProduceError ? error : new ProduceError("collate", null, error);
    parentPort!.postMessage({ message: "error", id: request.id, part, index, error: sentError(cause) } satisfies Answer);
  }
}

let last = Promise.resolve();
parentPort!.on("message", (request: Request) => {
  last = last.then(() => answer(request));
});
