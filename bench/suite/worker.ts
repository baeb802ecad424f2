/**
 * A peer's process: reads a request a line, answers a line. { prepare: Workload } gives { digest } or { lacks: why }; { round: seconds } gives
 * { seconds } of one execution; { end } ends it. pytorch.py speaks the same.
 * Arguments: the form, "eager" or "compiled", and the device.
 */
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import * as dx from "dxtensor";
import { CASES } from "../device/networks.ts";
import { stepOf } from "../device/steps.ts";
import { digestOf, type Digest } from "./data.ts";
import { callOf, Source } from "./operations.ts";
import type { Workload } from "./workloads.ts";

interface Job {
  readonly once: () => dx.Tensor;
  readonly digest: Digest;
  readonly free: () => void;
}

const [form = "eager", name = "cpu"] = process.argv.slice(2);
const device = dx.device(name);
dx.setDefaultDevice(device);

async function valuesOf(t: dx.Tensor): Promise<number[]> {
  const values: readonly unknown[] = [await t.toArray()];
  return values.flat(Infinity) as number[];
}

async function training(network: string): Promise<Job> {
  const chosen = CASES.find((c) => c.name === network);
  if (chosen === undefined) throw new Error(`no network ${network}`);
  dx.manualSeed(1);
  const model = chosen.build().to(device);
  const step = stepOf(model, chosen.optimizer(model.parameters()));
  const x = dx.tensor(
    Float32Array.from({ length: chosen.input.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(i)),
    { shape: [...chosen.input], device },
  );
  const y = dx.tensor(
    Int32Array.from({ length: chosen.input[0]! }, (_, i) => i % 10),
    { device },
  );
  const run = form === "eager" ? step : dx.compile(step, { name: "step" });
  const losses: number[] = [];
  for (let i = 0; i < 4; i++) losses.push(Number(await dx.scope(() => run(x, y)).item()));
  return { once: () => run(x, y), digest: digestOf(losses), free: () => model.dispose() };
}

async function prepare({ what, name }: Workload): Promise<Job> {
  if (what.kind === "train") return training(what.network);
  const { inputs, call } = callOf(new Source(device), what)!;
  const run = form === "eager" ? call : dx.compile(call, { name });
  const once = (): dx.Tensor => dx.noGrad(() => run(...inputs));
  const first = dx.scope(once);
  const digest = digestOf(await valuesOf(first));
  first.dispose();
  return { once, digest, free: () => inputs.forEach((t) => t.dispose()) };
}

/** Seconds of one execution: as many as fill the time, and the queue empty afterwards. */
async function round({ once }: Job, least: number): Promise<number> {
  for (let count = 1; ;) {
    const start = performance.now();
    for (let i = 0; i < count; i++) dx.scope(once).dispose();
    await dx.synchronize(device);
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
      job?.free();
      job = null;
      job = await prepare(request.prepare);
      answer = { digest: job.digest };
    } else answer = { seconds: await round(job!, request.round!), resident: process.memoryUsage.rss() };
  } catch (error) {
    answer = { lacks: error instanceof Error ? error.message : String(error) };
  }
  console.log(JSON.stringify(answer));
}
