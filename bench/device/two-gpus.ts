/**
 * Training on two GPUs against one, images a second at the same batch for each GPU: nn.dataParallel in one process, and two ranks with a GPU each. A plain
 * program, so that it runs where nothing can be installed. Losses are compared with those of one GPU that computes both halves of each batch.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import * as dx from "dxtensor";
import { CASES, type Case } from "./networks.ts";
import { numberOf, optionsOf } from "./options.ts";

const help = `node build/bench/device/two-gpus.js [OPTIONS]

  --devices A,B    the devices (default: dml:0,dml:1)
  --filter TEXT    only the networks whose name contains TEXT (default: resnet and encoder)
  --batch N        samples for each GPU (default: 64)
  --steps N        steps that are timed (default: 30)
  --json FILE      write the results as JSON
  --help           this text

Needs two GPUs, and for the ranks the engine of dx.distributed (DXTENSOR_DISTRIBUTED names its file).`;

const NAMES = ["resnet", "encoder"];
const CHECKED = 4;

interface Figures {
  readonly samplesPerSecond: number;
  readonly losses: readonly number[];
}

/** What a rank has to do. */
interface Job {
  readonly name: string;
  readonly batch: number;
  readonly steps: number;
  readonly devices: readonly string[];
  readonly store: string;
}

type Pass = (x: dx.Tensor) => dx.Tensor;

/** Samples `from` to `to` of a step's batch: the same numbers wherever they are computed. */
function batchOf(c: Case, device: string, step: number, from: number, to: number): readonly [dx.Tensor, dx.Tensor] {
  const each = c.input.slice(1);
  const size = each.reduce((a, b) => a * b, 1);
  const values = Float32Array.from({ length: (to - from) * size }, (_, i) => Math.sin((from * size + i) * 0.37 + step * 1.7));
  const labels = Int32Array.from({ length: to - from }, (_, i) => (from + i) % 10);
  return [dx.tensor(values, { device }).reshape([to - from, ...each]), dx.tensor(labels, { device })];
}

function networkOf(c: Case, device: string): dx.nn.Layer {
  return dx.withDevice(device, () => {
    dx.manualSeed(7);
    return c.build();
  });
}

/** The losses of the first steps, then the time of more. `mean` makes the whole batch's loss of a part's. */
async function train(
  c: Case,
  network: dx.nn.Layer,
  forward: Pass,
  device: string,
  range: readonly [from: number, to: number],
  steps: number,
  mean: (loss: dx.Tensor) => Promise<number> = (loss) => loss.item().then(Number),
): Promise<{ readonly losses: readonly number[]; readonly seconds: number }> {
  const optimizer = c.optimizer(network.parameters());
  const step = (x: dx.Tensor, y: dx.Tensor): dx.Tensor => {
    const loss = dx.crossEntropy(forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const losses: number[] = [];
  for (let i = 0; i < CHECKED; i++) losses.push(await mean(step(...batchOf(c, device, i, ...range))));
  const [x, y] = batchOf(c, device, CHECKED, ...range);
  await dx.synchronize(device);
  const start = performance.now();
  for (let i = 0; i < steps; i++) dx.scope(() => step(x, y)).dispose();
  await dx.synchronize(device);
  return { losses, seconds: (performance.now() - start) / 1000 };
}

/** Two processes of this program, one for each device. */
async function ranks(job: Omit<Job, "store">): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-two-gpus-"));
  try {
    const runs = job.devices.map(
      (_, rank) =>
        new Promise<string>((done, failed) => {
          const env = { ...process.env, RANK: String(rank), WORLD_SIZE: String(job.devices.length) };
          const own = JSON.stringify({ ...job, store: join(folder, "store") } satisfies Job);
          const child = spawn(process.execPath, [fileURLToPath(import.meta.url), "--rank", own], {
            env,
            stdio: ["ignore", "pipe", "inherit"],
          });
          let text = "";
          child.stdout.on("data", (piece: Buffer) => (text += piece.toString()));
          child.on("error", failed);
          child.on("close", (status) => (status === 0 ? done(text) : failed(new Error(`rank ${rank} ended with status ${status}`))));
        }),
    );
    const [first] = await Promise.all(runs);
    return JSON.parse(first!) as Figures;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runRank({ name, batch, steps, devices, store }: Job): Promise<void> {
  const group = await dx.distributed.initProcessGroup({ store: dx.distributed.fileStore(store), timeoutMs: 300_000 });
  const c = CASES.find((one) => one.name === name)!;
  const device = devices[group.rank]!;
  const network = networkOf(c, device);
  const ddp = dx.distributed.distributedDataParallel(network);
  const range = [group.rank * batch, (group.rank + 1) * batch] as const;
  const mean = async (loss: dx.Tensor): Promise<number> =>
    Number(await (await dx.distributed.allReduce(loss.detach().clone(), { op: "mean" })).item());
  const { losses, seconds } = await train(c, network, (x) => ddp.forward(x), device, range, steps, mean);
  await dx.distributed.destroyProcessGroup();
  console.log(JSON.stringify({ losses, samplesPerSecond: (batch * group.size * steps) / seconds } satisfies Figures));
}

async function measure(c: Case, devices: readonly string[], batch: number, steps: number): Promise<Record<string, Figures | string>> {
  const [first] = devices as readonly [string];
  const figures = async (network: dx.nn.Layer, forward: Pass, count: number, timed: number): Promise<Figures> => {
    const { losses, seconds } = await train(c, network, forward, first, [0, count], timed);
    return { losses, samplesPerSecond: (count * timed) / seconds };
  };
  const alone = networkOf(c, first);
  const one = await figures(alone, (x) => alone.forward(x), batch, steps);
  // Both halves by one GPU: what the losses of two have to be.
  const halves = networkOf(c, first);
  const both = (x: dx.Tensor): dx.Tensor => dx.cat(dx.chunk(x, devices.length).map((part) => halves.forward(part)));
  const reference = await figures(halves, both, batch * devices.length, 1);
  const net = networkOf(c, first);
  const parallel = dx.nn.dataParallel(net, devices);
  const several = await figures(net, (x) => parallel.forward(x), batch * devices.length, steps);
  const processes = dx.distributed.isAvailable()
    ? await ranks({ name: c.name, batch, steps, devices })
    : "not run: no engine of dx.distributed";
  return { one, reference, dataParallel: several, ranks: processes };
}

async function main(): Promise<void> {
  const values = optionsOf(help, {
    devices: { type: "string", default: "dml:0,dml:1" },
    batch: { type: "string", default: "64" },
    steps: { type: "string", default: "30" },
    rank: { type: "string" },
  });
  if (values.rank !== undefined) {
    await runRank(JSON.parse(values.rank) as Job);
    return;
  }
  const devices = values.devices.split(",");
  const there = new Set(dx.devices().map((listed) => String(listed.device)));
  const missing = devices.filter((name) => !there.has(name));
  if (missing.length > 0 || devices.length < 2) {
    console.error(
      `NOT MEASURED: this needs two GPUs; ${missing.join(", ") || "a second device"} is not there. Devices: ${[...there].join(", ")}.`,
    );
    process.exitCode = 1;
    return;
  }
  const results: Record<string, Record<string, Figures | string>> = {};
  for (const c of CASES.filter(({ name }) => NAMES.includes(name) && name.includes(values.filter))) {
    const found = (results[c.name] = await measure(c, devices, numberOf("batch", values.batch), numberOf("steps", values.steps)));
    const [one, reference] = [found.one as Figures, found.reference as Figures];
    console.error(`${c.name}: one device ${one.samplesPerSecond.toFixed(1)} samples a second`);
    for (const name of ["dataParallel", "ranks"]) {
      const figures = found[name]!;
      if (typeof figures === "string") {
        console.error(`  ${name}: ${figures}`);
        continue;
      }
      const difference = Math.max(...figures.losses.map((loss, i) => Math.abs(loss - reference.losses[i]!)));
      const isEqual = difference < 2e-3;
      const ratio = figures.samplesPerSecond / one.samplesPerSecond;
      console.error(
        `  ${name}: ${figures.samplesPerSecond.toFixed(1)} samples a second, ${ratio.toFixed(2)} x one device; losses ` +
          `${isEqual ? "equal" : "DIFFERENT"} (${difference.toExponential(1)} apart)`,
      );
      if (!isEqual) process.exitCode = 1;
    }
  }
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ date: new Date().toISOString(), devices, results }, null, 2));
}

await main();
