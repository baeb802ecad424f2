/**
 * A peer's process: reads a request a line, answers a line. { prepare: Workload } gives { digest } or { lacks: why }; { round: seconds } gives
 * { seconds } of one execution; { end } ends it. pytorch.py speaks the same.
 * Arguments: the form, "eager" or "compiled", and the device.
 */
import * as dx from "dxtensor";
import { stepOf } from "../device/steps.ts";
import { digestOf } from "./data.ts";
import { callOf, Source } from "./operations.ts";
import { serve, type Job } from "./serve.ts";
import { TRAININGS } from "./trainings.ts";
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
  const make = TRAININGS[network];
  if (make === undefined) throw new Error(`no network ${network}`);
  const { inputs, forward, optimizer } = make(new Source(device));
  const step = stepOf({ forward }, optimizer);
  const run = form === "eager" ? step : dx.compile(step, { name: network });
  const losses: number[] = [];
  for (let i = 0; i < 4; i++) losses.push(Number(await dx.scope(() => run(...inputs)).item()));
  return { run: repeated(() => run(...inputs)), digest: digestOf(losses), free: () => inputs.forEach((t) => t.dispose()) };
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
