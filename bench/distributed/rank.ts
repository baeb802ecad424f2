/** One rank of a measurement: its job comes as JSON, what it measured goes to stdout as JSON. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as dx from "dxtensor";
import { CASES } from "../device/networks.ts";
import { engineAlone } from "./engine.ts";

/** What a rank measures. */
export type Job =
  | { readonly kind: "allReduce"; readonly sizes: readonly number[]; readonly repeats: number }
  | { readonly kind: "engine"; readonly sizes: readonly number[]; readonly repeats: number }
  | { readonly kind: "train"; readonly batch: number; readonly steps: number; readonly isParallel: boolean }
  | NetworkJob
  | { readonly kind: "overhead"; readonly batch: number; readonly rounds: number; readonly isCompiled: boolean };

interface StepKind {
  readonly isParallel: boolean;
  readonly isCompiled: boolean;
}

/** Training steps of a network of bench/device/networks.ts, alone or as a rank of a group. */
export interface NetworkJob {
  readonly kind: "network";
  readonly network: string;
  readonly batch: number;
  readonly seconds: number;
  readonly isCompiled: boolean;
  /** Processes without a group begin when all have written a file here, by their number. */
  readonly meeting: { readonly folder: string; readonly processes: number } | null;
}

/** Seconds: of each size in order, or of a step. */
export interface Answer {
  readonly wall: readonly number[];
  readonly processor: readonly number[];
}

const middle = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** Median seconds of `run` for each size, all ranks together. */
async function measureSizes(
  sizes: readonly number[],
  repeats: number,
  barrier: () => PromiseLike<unknown>,
  begin: (bytes: number) => { run(): PromiseLike<unknown>; end(): void },
): Promise<Answer> {
  const wall: number[] = [];
  const processor: number[] = [];
  for (const bytes of sizes) {
    const { run, end } = begin(bytes);
    const times: number[] = [];
    const cpu: number[] = [];
    for (let i = 0; i < repeats + 2; i++) {
      await barrier();
      const start = performance.now();
      const before = process.cpuUsage();
      await run();
      times.push((performance.now() - start) / 1000);
      const { user, system } = process.cpuUsage(before);
      cpu.push((user + system) / 1e6);
    }
    wall.push(middle(times.slice(2)));
    processor.push(middle(cpu.slice(2)));
    end();
  }
  return { wall, processor };
}

const measureAllReduce = (sizes: readonly number[], repeats: number): Promise<Answer> =>
  measureSizes(
    sizes,
    repeats,
    () => dx.distributed.barrier(),
    (bytes) => {
      const x = dx.ones([bytes / 4]);
      return { run: () => dx.distributed.allReduce(x), end: () => x.dispose() };
    },
  );

async function measureEngine(sizes: readonly number[], repeats: number): Promise<Answer> {
  const engine = await engineAlone(Number(process.env["RANK"]), Number(process.env["WORLD_SIZE"]));
  const answer = await measureSizes(sizes, repeats, engine.barrier, (bytes) => {
    const memory = new Uint8Array(new Float32Array(bytes / 4).fill(1).buffer);
    return { run: () => engine.allReduce(memory), end: () => {} };
  });
  await engine.close();
  return answer;
}

/** A network of 1.3 million weights, and functions that do one step of it: of each kind that is named. */
function trainers(batch: number, kinds: readonly StepKind[]): readonly (() => number)[] {
  const model = dx.nn.sequential(dx.nn.linear(512, 1024), dx.nn.relu(), dx.nn.linear(1024, 768), dx.nn.relu(), dx.nn.linear(768, 10));
  const ddp = kinds.some(({ isParallel }) => isParallel) ? dx.distributed.distributedDataParallel(model) : null;
  const optimizer = dx.optim.sgd(model.parameters(), { lr: 1e-3 });
  const x = dx.randn([batch, 512]);
  const y = dx.tensor(Int32Array.from({ length: batch }, (_, i) => i % 10));
  return kinds.map(({ isParallel, isCompiled }) => {
    const from: dx.nn.Layer = isParallel && !isCompiled ? ddp! : model;
    const lossOf = (): dx.Tensor => dx.nn.functional.crossEntropy(from.forward(x), y);
    const step = (): dx.Tensor => {
      const loss = lossOf();
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss.detach();
    };
    if (!isCompiled) return () => dx.scope(() => step().itemSync());
    const compiled = isParallel ? ddp!.compileStep(lossOf, optimizer) : dx.compile(step);
    return () => dx.scope(() => compiled().itemSync());
  });
}

function measureSteps(step: () => unknown, steps: number): readonly [wall: number, processor: number] {
  const start = performance.now();
  const before = process.cpuUsage();
  for (let i = 0; i < steps; i++) step();
  const { user, system } = process.cpuUsage(before);
  return [(performance.now() - start) / 1000 / steps, (user + system) / 1e6 / steps];
}

/** A function that does one step. */
function networkStep({ network, batch, isCompiled }: NetworkJob, isParallel: boolean): () => void {
  const c = CASES.find(({ name }) => name === network);
  if (c === undefined) throw new TypeError(`no network ${network}: there are ${CASES.map(({ name }) => name).join(", ")}`);
  dx.manualSeed(7);
  const model = c.build();
  const optimizer = c.optimizer(model.parameters()) as dx.optim.Optimizer;
  const x = dx.randn([batch, ...c.input.slice(1)]);
  const y = dx.tensor(Int32Array.from({ length: batch }, (_, i) => i % 10));
  const ddp = isParallel ? dx.distributed.distributedDataParallel(model, { broadcastBuffers: false }) : null;
  const lossOf = (from: dx.nn.Layer): dx.Tensor => dx.crossEntropy(from.forward(x), y);
  if (isCompiled && ddp !== null) {
    const step = ddp.compileStep(() => lossOf(model), optimizer, { check: false });
    return () => void step().itemSync();
  }
  const step = (): dx.Tensor => {
    const loss = lossOf((ddp as dx.nn.Layer | null) ?? model);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss.detach();
  };
  if (!isCompiled) return () => dx.scope(() => void step().itemSync());
  const compiled = dx.compile(step, { check: false });
  return () => void compiled().itemSync();
}

/** Returns when all processes have called it. */
async function meet({ folder, processes }: NonNullable<NetworkJob["meeting"]>, part: string): Promise<void> {
  const all = Array.from({ length: processes }, (_, i) => join(folder, `${part}.${i}`));
  writeFileSync(all[Number(process.env["PROCESS"])]!, "");
  while (!all.every((file) => existsSync(file))) await sleep(1);
}

async function measureNetwork(job: NetworkJob): Promise<Answer> {
  const isParallel = dx.distributed.isLaunched();
  const agreed = async (count: number): Promise<number> =>
    isParallel ? Number(await (await dx.distributed.allReduce(dx.tensor([count]), { op: "min" })).item()) : count;
  const step = networkStep(job, isParallel);
  // The first call compiles.
  measureSteps(step, 2);
  const count = await agreed(Math.max(2, Math.round(job.seconds / measureSteps(step, 1)[0])));
  if (job.meeting !== null) await meet(job.meeting, "begin");
  const [wall, processor] = measureSteps(step, count);
  return { wall: [wall], processor: [processor] };
}

async function run(job: Exclude<Job, { readonly kind: "engine" }>): Promise<Answer> {
  if (job.kind === "allReduce") return await measureAllReduce(job.sizes, job.repeats);
  if (job.kind === "train") {
    const step = trainers(job.batch, [{ isParallel: job.isParallel, isCompiled: false }])[0]!;
    measureSteps(step, 3);
    const [wall, processor] = measureSteps(step, job.steps);
    return { wall: [wall], processor: [processor] };
  }
  if (job.kind === "network") return await measureNetwork(job);
  // In turn, on the same parameters: two networks differ by some percent, for their memory.
  const pair = trainers(job.batch, [
    { isParallel: false, isCompiled: job.isCompiled },
    { isParallel: true, isCompiled: job.isCompiled },
  ]);
  for (const step of pair) measureSteps(step, 3);
  const rounds = Array.from({ length: job.rounds }, (_, i) => {
    const [first, second] = i % 2 === 0 ? [0, 1] : [1, 0];
    const times = [];
    times[first] = measureSteps(pair[first]!, 1);
    times[second] = measureSteps(pair[second]!, 1);
    return times as [readonly [number, number], readonly [number, number]];
  });
  const of = (which: 0 | 1, what: 0 | 1): number => middle(rounds.map((round) => round[which]![what]!));
  return { wall: [of(0, 0), of(1, 0)], processor: [of(0, 1), of(1, 1)] };
}

const job = JSON.parse(process.argv[2]!) as Job;
if (job.kind !== "engine" && dx.distributed.isLaunched()) await dx.distributed.initProcessGroup({ timeoutMs: 120_000 });
const answer = job.kind === "engine" ? await measureEngine(job.sizes, job.repeats) : await run(job);
await dx.distributed.destroyProcessGroup();
process.stdout.write(`${JSON.stringify(answer)}\n`);
