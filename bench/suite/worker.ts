/**
 * A peer's process: reads a request a line, answers a line. { prepare: Workload } gives { digest } or { lacks: why }; { round: seconds } gives
 * { seconds } of one execution; { end } ends it. pytorch.py speaks the same.
 * Arguments: the form, "eager" or "compiled", and the device.
 */
import * as dx from "dxtensor";
import { CASES } from "../device/networks.ts";
import { stepOf } from "../device/steps.ts";
import { digestOf } from "./data.ts";
import { callOf, Source } from "./operations.ts";
import { serve, type Job } from "./serve.ts";
import type { Workload } from "./workloads.ts";

const [form = "eager", name = "cpu"] = process.argv.slice(2);
const device = dx.device(name);
dx.setDefaultDevice(device);

async function valuesOf(t: dx.Tensor): Promise<number[]> {
  const values: readonly unknown[] = [await t.toArray()];
  return values.flat(Infinity) as number[];
}

/** Executions of which none waits for another; the queue is empty afterwards. */
const repeated =
  (once: () => dx.Tensor) =>
  async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) dx.scope(once).dispose();
    await dx.synchronize(device);
  };

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
  return { run: repeated(() => run(x, y)), digest: digestOf(losses), free: () => model.dispose() };
}

async function prepare({ what, name }: Workload): Promise<Job> {
  if (what.kind === "train") return training(what.network);
  const { inputs, call } = callOf(new Source(device), what)!;
  const run = form === "eager" ? call : dx.compile(call, { name });
  const once = (): dx.Tensor => dx.noGrad(() => run(...inputs));
  const first = dx.scope(once);
  const digest = digestOf(await valuesOf(first));
  first.dispose();
  return { run: repeated(once), digest, free: () => inputs.forEach((t) => t.dispose()) };
}

await serve(prepare);
