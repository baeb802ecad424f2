/**
 * Training on two GPUs against one, images a second at the same batch for each GPU, with compiled steps: nn.dataParallel in one process, and two ranks with a
 * GPU each; and where the time of a step goes. A plain program, so that it runs where nothing can be installed. Losses are compared with those of one GPU
 * that computes both halves of each batch. --eager measures steps that are not compiled.
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
  --cases LIST     network:samples for each GPU (default: encoder:64,resnet:64,resnet:256)
  --batches LIST   samples for each GPU, of each network in --cases, in place of those there
  --seconds S      how long each is timed (default: 0.7)
  --buckets LIST   other sizes of buckets in KiB, also measured (default: none)
  --only LIST      of one, both, parallel, parts, ranks (default: all)
  --eager          steps that are not compiled
  --json FILE      write the results as JSON
  --help           this text

Needs two GPUs, and for the ranks the engine of dx.distributed (DXTENSOR_DISTRIBUTED names its file).`;

const CHECKED = 4;
/** Steps before the clock is read, and milliseconds of them: a GPU's clock rises while it works. */
const [WARM, WARM_UP] = [4, 200];

interface Timed {
  readonly losses: readonly number[];
  readonly samplesPerSecond: number;
  /** A step's time, and how much of it JavaScript needs to issue it. */
  readonly milliseconds: number;
  readonly issuing: number;
}

/** What a rank has to do. */
interface Job {
  readonly name: string;
  readonly batch: number;
  readonly seconds: number;
  readonly eager: boolean;
  readonly devices: readonly string[];
  readonly store: string;
}

interface Step {
  (x: dx.Tensor, y: dx.Tensor): dx.Tensor;
  /** Of a compiled one: frees its program. */
  dispose?(): void;
}
type Batch = [x: dx.Tensor, y: dx.Tensor];

/** Samples `from` to `to` of a step's batch: the same numbers wherever they are computed. */
function batchOf(c: Case, device: string, step: number, from: number, to: number): Batch {
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

/** One device's step. */
function stepOf(c: Case, network: dx.nn.Layer, eager: boolean): Step {
  const optimizer = c.optimizer(network.parameters());
  const step: Step = (x, y) => {
    const loss = dx.crossEntropy(network.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  return eager ? (x, y) => dx.scope(() => dx.keep(step(x, y))) : dx.compile(step, { check: false });
}

/** The losses of the first steps, then the time of as many as fit into the time. `mean` makes the whole batch's loss of a part's. */
async function time(
  devices: readonly string[],
  samples: number,
  seconds: number,
  data: (step: number) => readonly Batch[],
  step: (parts: readonly Batch[]) => dx.Tensor,
  mean: (loss: dx.Tensor) => Promise<number> = (loss) => loss.item().then(Number),
  agreed: (count: number) => Promise<number> = (count) => Promise.resolve(count),
): Promise<Timed> {
  const losses: number[] = [];
  for (let i = 0; i < CHECKED; i++) losses.push(await mean(step(data(i))));
  const parts = data(CHECKED);
  const wait = (): Promise<unknown> => Promise.all(devices.map((device) => dx.synchronize(device)));
  const run = async (count: number): Promise<readonly [milliseconds: number, issuing: number]> => {
    await wait();
    const start = performance.now();
    for (let i = 0; i < count; i++) step(parts).dispose();
    const issued = performance.now() - start;
    await wait();
    return [(performance.now() - start) / count, issued / count];
  };
  let [first] = await run(WARM);
  const start = performance.now();
  while ((await agreed(performance.now() - start < WARM_UP ? 1 : 0)) === 1) [first] = await run(WARM);
  const count = await agreed(Math.max(5, Math.min(1000, Math.round((seconds * 1000) / first / 2))));
  // The better of two.
  const [one, two] = [await run(count), await run(count)];
  const [milliseconds, issuing] = one[0] < two[0] ? one : two;
  return { losses, milliseconds, issuing, samplesPerSecond: (samples / milliseconds) * 1000 };
}

/** Two processes of this program, one for each device. */
async function ranks(job: Omit<Job, "store">): Promise<Record<string, Timed>> {
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
    return JSON.parse(first!) as Record<string, Timed>;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runRank({ name, batch, seconds, eager, devices, store }: Job): Promise<void> {
  const group = await dx.distributed.initProcessGroup({ store: dx.distributed.fileStore(store), timeoutMs: 300_000 });
  const c = CASES.find((one) => one.name === name)!;
  const device = devices[group.rank]!;
  const network = networkOf(c, device);
  const ddp = dx.distributed.distributedDataParallel(network, { broadcastBuffers: false });
  const optimizer = c.optimizer(network.parameters()) as dx.optim.Optimizer;
  const lossOf = (x: dx.Tensor, y: dx.Tensor): dx.Tensor => dx.crossEntropy((eager ? ddp : network).forward(x) as dx.Tensor, y);
  const step: Step = eager
    ? (x, y) =>
        dx.scope(() => {
          const loss = lossOf(x, y);
          loss.backward();
          optimizer.step();
          optimizer.zeroGrad();
          return dx.keep(loss.detach());
        })
    : ddp.compileStep(lossOf, optimizer);
  const agree = async (values: number[], op: "mean" | "min"): Promise<number> => {
    const t = await dx.distributed.allReduce(dx.tensor(values, { device: "cpu" }), { op });
    return Number(await t.item());
  };
  const data = (i: number): Batch[] => [batchOf(c, device, i, group.rank * batch, (group.rank + 1) * batch)];
  const mean = async (loss: dx.Tensor): Promise<number> => agree([Number(await loss.item())], "mean");
  const whole = await time(
    [device],
    batch * group.size,
    seconds,
    data,
    ([part]) => step(...part!),
    mean,
    (n) => agree([n], "min"),
  );
  const noSync = eager
    ? null
    : await time(
        [device],
        batch * group.size,
        seconds / 3,
        data,
        ([part]) => ddp.noSync(() => step(...part!)),
        mean,
        (n) => agree([n], "min"),
      );
  await dx.distributed.destroyProcessGroup();
  console.log(JSON.stringify({ ranks: whole, ...(noSync === null ? {} : { "ranks, backward alone": noSync }) }));
}

/** A row of the table at the end. */
interface Row {
  readonly network: string;
  readonly "samples a GPU": number;
  readonly "one GPU, samples/s": number | string;
  readonly "two apart": number | string;
  readonly dataParallel: number | string;
  readonly "two ranks": number | string;
}

/** Of what runs on two GPUs: samples a second, as a multiple of one GPU's. */
function rowOf(network: string, batch: number, found: Readonly<Record<string, Timed | string>>): Row {
  const rate = (name: string): number | null => {
    const timed = found[name];
    return timed === undefined || typeof timed === "string" ? null : timed.samplesPerSecond;
  };
  const one = rate("one");
  const ratio = (name: string): number | string => {
    const own = rate(name);
    return own === null || one === null ? "not measured" : Number((own / one).toFixed(3));
  };
  return {
    network,
    "samples a GPU": batch,
    "one GPU, samples/s": one === null ? "not measured" : Math.round(one),
    "two apart": ratio("two apart"),
    dataParallel: ratio("dataParallel"),
    "two ranks": ratio("ranks"),
  };
}

interface Settings {
  readonly devices: readonly string[];
  readonly seconds: number;
  readonly eager: boolean;
  readonly buckets: readonly (number | undefined)[];
  readonly only: readonly string[];
}

/** Adds to `found` what is measured, and prints each result as soon as it is there. */
async function measure(
  c: Case,
  batch: number,
  { devices, seconds, eager, buckets, only }: Settings,
  found: Record<string, Timed | string>,
): Promise<void> {
  const [first] = devices as readonly [string];
  const has = (name: string): boolean => only.length === 0 || only.includes(name);
  const note = (name: string, timed: Timed): Timed => {
    found[name] = timed;
    const one = found.one as Timed | undefined;
    const reference = found.reference as Timed | undefined;
    const ratio = one === undefined ? "" : `, ${(timed.samplesPerSecond / one.samplesPerSecond).toFixed(2)} x one`;
    let losses = "";
    if (reference !== undefined && /^(dataParallel|ranks)(,.*KiB)?$/.test(name)) {
      const difference = Math.max(...timed.losses.map((loss, i) => Math.abs(loss - reference.losses[i]!)));
      const isEqual = difference < 2e-3;
      if (!isEqual) process.exitCode = 1;
      losses = `; losses ${isEqual ? "equal" : "DIFFERENT"} (${difference.toExponential(1)} apart)`;
    }
    console.error(
      `  ${name}: ${timed.milliseconds.toFixed(3)} ms a step (JavaScript ${timed.issuing.toFixed(3)}), ` +
        `${timed.samplesPerSecond.toFixed(0)} samples a second${ratio}${losses}`,
    );
    return timed;
  };
  const halves = (i: number): Batch[] => devices.map((device, k) => batchOf(c, device, i, k * batch, (k + 1) * batch));
  const all = batch * devices.length;

  const steps = devices.map((device) => stepOf(c, networkOf(c, device), eager));
  const alone = networkOf(c, first);
  const bytes = alone.parameters().reduce((n, p) => n + p.size * 4, 0);
  console.error(`${c.name}, ${batch} samples for each GPU; gradients ${(bytes / 1e6).toFixed(2)} MB`);
  note(
    "one",
    await time(
      [first],
      batch,
      seconds,
      (i) => halves(i).slice(0, 1),
      ([part]) => steps[0]!(...part!),
    ),
  );
  if (has("both"))
    note(
      "two apart",
      await time(
        devices,
        all,
        seconds,
        halves,
        (parts) => parts.map((part, i) => steps[i]!(...part)).map((loss, i) => (i > 0 ? (loss.dispose(), loss) : loss))[0]!,
      ),
    );
  for (const step of steps) step.dispose?.();
  // Both halves by one GPU: what the losses of two have to be.
  const whole = networkOf(c, first);
  const optimizer = c.optimizer(whole.parameters());
  const both: Step = (x, y) => {
    const loss = dx.crossEntropy(dx.cat(dx.chunk(x, devices.length).map((part) => whole.forward(part))), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const reference: Step = eager ? both : dx.compile(both);
  const losses: number[] = [];
  for (let i = 0; i < CHECKED; i++) losses.push(Number(await reference(...batchOf(c, first, i, 0, all)).item()));
  reference.dispose?.();
  found.reference = { losses, samplesPerSecond: 0, milliseconds: 0, issuing: 0 };

  if (has("parallel") && eager) {
    const network = networkOf(c, first);
    const parallel = dx.nn.dataParallel(network, devices);
    const own = c.optimizer(network.parameters());
    const step: Step = (x, y) =>
      dx.scope(() => {
        const loss = dx.crossEntropy(parallel.forward(x) as dx.Tensor, y);
        loss.backward();
        own.step();
        own.zeroGrad();
        return dx.keep(loss.detach());
      });
    note(
      "dataParallel",
      await time(
        devices,
        all,
        seconds,
        (i) => [batchOf(c, first, i, 0, all)],
        ([part]) => step(...part!),
      ),
    );
  }
  if (has("parallel") && !eager)
    for (const kib of buckets) {
      const network = networkOf(c, first);
      const step = dx.nn
        .dataParallel(network, devices)
        .compileStep(
          (x: dx.Tensor, y: dx.Tensor) => dx.crossEntropy(network.forward(x), y),
          c.optimizer(network.parameters()) as dx.optim.Optimizer,
          {
            check: false,
            ...(kib === undefined ? {} : { bucketSizeInBytes: kib * 1024 }),
          },
        );
      note(
        `dataParallel${kib === undefined ? "" : `, ${kib} KiB`}`,
        await time(devices, all, seconds, halves, (parts) => step.ofParts(parts)),
      );
      if (kib === undefined)
        note(
          "dataParallel, split by it",
          await time(
            devices,
            all,
            seconds / 2,
            (i) => [batchOf(c, first, i, 0, all)],
            ([part]) => step(...part!),
          ),
        );
      step.dispose();
    }
  if (has("parts") && !eager) {
    // The same gradients of a loss that costs nothing: what is left is the exchange and the update.
    const network = networkOf(c, first);
    const step = dx.nn.dataParallel(network, devices).compileStep(
      (x: dx.Tensor) =>
        network
          .parameters()
          .map((p) => dx.mul(dx.sum(p), 1e-9))
          .reduce((a, b) => dx.add(a, b))
          .add(dx.mul(dx.sum(x), 0)),
      c.optimizer(network.parameters()) as dx.optim.Optimizer,
      { check: false },
    );
    const timed = note(
      "exchange and update alone",
      await time(
        devices,
        all,
        seconds / 2,
        (i) => halves(i),
        (parts) => step.ofParts(parts.map(([x]) => [dx.select(x, 0, 0)] as [dx.Tensor])),
      ),
    );
    console.error(`    ${(bytes / timed.milliseconds / 1e6).toFixed(1)} GB/s in each direction at least`);
    step.dispose();
  }
  if (!has("ranks")) return;
  if (!dx.distributed.isAvailable()) console.error("  ranks: not run: no engine of dx.distributed");
  else
    try {
      for (const [name, timed] of Object.entries(await ranks({ name: c.name, batch, seconds, eager, devices }))) note(name, timed);
    } catch (error) {
      console.error(`  ranks: ${String(error)}`);
      process.exitCode = 1;
    }
}

const listOf = (text: string): string[] => text.split(",").filter((x) => x !== "");

/** Each network with each number of samples. */
function casesOf(cases: string, batches: string): (readonly [name: string, batch: number])[] {
  const list = listOf(cases).map((text) => text.split(":"));
  if (batches === "") return list.map(([name, batch]) => [name!, numberOf("cases", batch ?? "")]);
  const names = [...new Set(list.map(([name]) => name!))];
  return names.flatMap((name) => listOf(batches).map((batch) => [name, numberOf("batches", batch)] as const));
}

async function main(): Promise<void> {
  const values = optionsOf(help, {
    devices: { type: "string", default: "dml:0,dml:1" },
    cases: { type: "string", default: "encoder:64,resnet:64,resnet:256" },
    batches: { type: "string", default: "" },
    seconds: { type: "string", default: "0.7" },
    buckets: { type: "string", default: "" },
    only: { type: "string", default: "" },
    eager: { type: "boolean", default: false },
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
  const settings: Settings = {
    devices,
    seconds: numberOf("seconds", values.seconds),
    eager: values.eager,
    buckets: [undefined, ...listOf(values.buckets).map((text) => numberOf("buckets", text))],
    only: listOf(values.only),
  };
  const results: Record<string, Record<string, Timed | string>> = {};
  const rows: Row[] = [];
  for (const [name, batch] of casesOf(values.cases, values.batches)) {
    const c = CASES.find((one) => one.name === name);
    if (c === undefined) throw new TypeError(`--cases must name networks (${CASES.map((one) => one.name).join(", ")}); received ${name}`);
    const found: Record<string, Timed | string> = {};
    results[`${name}:${batch}`] = found;
    try {
      await measure(c, batch, settings, found);
    } catch (error) {
      // What other batches take is measured all the same.
      console.error(`  ${name}, ${batch} samples: ${String(error)}`);
      process.exitCode = 1;
    }
    rows.push(rowOf(name, batch, found));
  }
  console.log("Samples a second of two GPUs over those of one, at the same number of samples for each GPU:");
  console.table(rows);
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ date: new Date().toISOString(), devices, results }, null, 2));
}

await main();
