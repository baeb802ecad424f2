/** ONNX Runtime on the processor as a peer: the protocol is worker.ts's. Argument: the number of threads. */
import { encodeModel } from "../onnxruntime/onnx.ts";
import { loadOrt, type OrtTensor } from "../onnxruntime/runtime.ts";
import { digestOf } from "./data.ts";
import { onnxOf } from "./onnx-models.ts";
import { serve, type Job } from "./serve.ts";
import type { Workload } from "./workloads.ts";

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
  const run = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await once();
  };
  return { run, digest: digestOf((await once()).data), free: () => session.release() };
}

await serve(prepare);
// Sessions leave threads behind that keep the process.
process.exit(0);
