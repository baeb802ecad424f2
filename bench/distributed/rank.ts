/** One rank of a measurement: its job comes as JSON, what it measured goes to stdout as JSON. */
import * as dx from "dxtensor";
import { engineAlone } from "./engine.ts";

/** What a rank measures. */
export type Job =
  | { readonly kind: "allReduce"; readonly sizes: readonly number[]; readonly repeats: number }
  | { readonly kind: "engine"; readonly sizes: readonly number[]; readonly repeats: number }
  | { readonly kind: "train"; readonly batch: number; readonly steps: number; readonly isParallel: boolean }
  | { readonly kind: "overhead"; readonly batch: number; readonly steps: number; readonly rounds: number };

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

/** A network of 1.3 million weights, and a function that does one step. */
function trainer(batch: number, isParallel: boolean): () => number {
  const model = dx.nn.sequential(dx.nn.linear(512, 1024), dx.nn.relu(), dx.nn.linear(1024, 768), dx.nn.relu(), dx.nn.linear(768, 10));
  const parallel = isParallel ? dx.distributed.distributedDataParallel(model) : model;
  const optimizer = dx.optim.sgd(model.parameters(), { lr: 1e-3 });
  const x = dx.randn([batch, 512]);
  const y = dx.tensor(Int32Array.from({ length: batch }, (_, i) => i % 10));
  return () =>
    dx.scope(() => {
      const loss = dx.nn.functional.crossEntropy(parallel.forward(x), y);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss.itemSync();
    });
}

function measureSteps(step: () => number, steps: number): readonly [wall: number, processor: number] {
  const start = performance.now();
  const before = process.cpuUsage();
  for (let i = 0; i < steps; i++) step();
  const { user, system } = process.cpuUsage(before);
  return [(performance.now() - start) / 1000 / steps, (user + system) / 1e6 / steps];
}

async function run(job: Exclude<Job, { readonly kind: "engine" }>): Promise<Answer> {
  if (job.kind === "allReduce") return await measureAllReduce(job.sizes, job.repeats);
  if (job.kind === "train") {
    const step = trainer(job.batch, job.isParallel);
    measureSteps(step, 3);
    const [wall, processor] = measureSteps(step, job.steps);
    return { wall: [wall], processor: [processor] };
  }
  // In turn: plain, then parallel, in each round.
  const pair = [trainer(job.batch, false), trainer(job.batch, true)];
  for (const step of pair) measureSteps(step, 3);
  const rounds = Array.from({ length: job.rounds }, (_, i) => {
    const [first, second] = i % 2 === 0 ? [0, 1] : [1, 0];
    const times = [];
    times[first] = measureSteps(pair[first]!, job.steps);
    times[second] = measureSteps(pair[second]!, job.steps);
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
