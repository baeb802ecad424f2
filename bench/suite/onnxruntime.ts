/** ONNX Runtime on the processor as a peer: the protocol is worker.ts's. Argument: the number of threads. */
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { encodeModel } from "../onnxruntime/onnx.ts";
import { loadOrt, type OrtTensor } from "../onnxruntime/runtime.ts";
import { digestOf, type Digest } from "./data.ts";
import { onnxOf } from "./onnx-models.ts";
import type { Workload } from "./workloads.ts";

interface Job {
  readonly once: () => Promise<OrtTensor>;
  readonly digest: Digest;
  readonly free: () => Promise<void>;
}

const [threads = "1"] = process.argv.slice(2);
const ort = loadOrt();

async function prepare({ what }: Workload): Promise<Job | null> {
  const made = onnxOf(what);
  if (made === null) return null;
  const session = await ort.InferenceSession.create(encodeModel(made.model), {
    executionProviders: ["cpu"],
    intraOpNumThreads: Number(threads),
    interOpNumThreads: 1,
    graphOptimizationLevel: "all",
    logSeverityLevel: 3,
  });
  const feeds = Object.fromEntries(
    Object.entries(made.feeds).map(([name, { type, data, shape }]) => [name, new ort.Tensor(type, data, shape)]),
  );
  const once = async (): Promise<OrtTensor> => (await session.run(feeds))["y"]!;
  return { once, digest: digestOf((await once()).data), free: () => session.release() };
}

/** Seconds of one execution: as many as fill the time. */
async function round({ once }: Job, least: number): Promise<number> {
  for (let count = 1; ;) {
    const start = performance.now();
    for (let i = 0; i < count; i++) await once();
    const seconds = (performance.now() - start) / 1000;
    if (seconds >= least) return seconds / count;
    count = Math.max(count + 1, Math.min(count * 20, Math.ceil((count * least * 1.1) / Math.max(seconds, 1e-6))));
  }
}

let job: Job | null = null;
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as { prepare?: Workload; round?: number; end?: true };
  if (request.end === true) break;
  let answer: unknown;
  try {
    if (request.prepare !== undefined) {
      await job?.free();
      job = null;
      job = await prepare(request.prepare);
      answer = job === null ? { lacks: "not in this peer" } : { digest: job.digest };
    } else answer = { seconds: await round(job!, request.round!), resident: process.memoryUsage.rss() };
  } catch (error) {
    answer = { lacks: error instanceof Error ? error.message : String(error) };
  }
  console.log(JSON.stringify(answer));
}
// Sessions leave threads behind that keep the process.
process.exit(0);
