/** Models of packages on `cpu`, compared with ONNX Runtime: a call's processor and wall-clock time in alternating rounds, and the first call of fresh processes. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as dx from "dxtensor";
import { ask } from "../scripts/tools/program.ts";
import { median } from "./measure.ts";
import { inputsOf, modelFiles, sessionOptions, type ModelFile } from "./model-list.ts";
import { loadOrt, ortVersion } from "./onnxruntime/runtime.ts";
import { packageModel, type PackageModel } from "./package-model.ts";

/** Milliseconds. */
export interface Pair {
  readonly ours: number;
  readonly onnxRuntime: number;
}

export interface ModelTimes {
  readonly name: string;
  /** Of all threads together. */
  readonly processor: Pair;
  readonly wall: Pair;
  /** To load the model and to call it for the first time, in a fresh process. */
  readonly first: Pair;
}

const ROUNDS = 9;
const ROUND_MS = 60;
const PROCESSES = 3;

interface Round {
  readonly processor: number;
  readonly wall: number;
}

async function roundOf(run: () => Promise<unknown>, count: number): Promise<Round> {
  const before = process.cpuUsage();
  const start = performance.now();
  for (let i = 0; i < count; i++) await run();
  const wall = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  return { processor: (user + system) / 1000 / count, wall: wall / count };
}

const program = join(dirname(fileURLToPath(import.meta.url)), "model-first.js");

/** Each in processes of its own, by turns. */
function firstCalls(name: string, device: dx.Device, threads: number): Pair {
  const times = { dxtensor: [] as number[], onnxruntime: [] as number[] };
  for (let i = 0; i < PROCESSES; i++)
    for (const library of ["dxtensor", "onnxruntime"] as const) {
      const text = ask(process.execPath, [program, library, name, `${device}`, `${threads}`], { limitMs: 120_000, isShown: true });
      if (text === null) throw new Error(`the first call of ${name} by ${library} failed`);
      times[library].push(Number(text));
    }
  return { ours: median(times.dxtensor), onnxRuntime: median(times.onnxruntime) };
}

async function timesOf(file: ModelFile, source: PackageModel, device: dx.Device, threads: number): Promise<ModelTimes> {
  const first = firstCalls(file.name, device, threads);
  const ort = loadOrt();
  const session = await ort.InferenceSession.create(await source.onnx(async () => dx), sessionOptions(threads));
  const model = await source.load(dx, device);
  const feeds = inputsOf(file, ({ dtype, data, shape }) => new ort.Tensor(dtype, data, shape));
  const inputs = inputsOf(file, ({ dtype, data, shape }) => dx.tensor(data, { dtype, shape, device }));
  const theirs = (): Promise<unknown> => session.run(feeds);
  const ours = async (): Promise<void> => {
    // All at once, as ONNX Runtime gives them.
    const outputs = Object.values(model.call(inputs));
    await Promise.all(outputs.map((t) => t.data()));
    for (const t of outputs) t.dispose();
  };
  for (let i = 0; i < 3; i++) {
    await theirs();
    await ours();
  }
  const start = performance.now();
  await theirs();
  const count = Math.min(100, Math.max(2, Math.round(ROUND_MS / (performance.now() - start))));
  const rounds: { readonly theirs: Round; readonly ours: Round }[] = [];
  for (let i = 0; i < ROUNDS; i++) rounds.push({ theirs: await roundOf(theirs, count), ours: await roundOf(ours, count) });
  for (const t of Object.values(inputs)) t.dispose();
  model.dispose();
  await session.release();
  const pairOf = (of: (round: Round) => number): Pair => ({
    ours: median(rounds.map((r) => of(r.ours))),
    onnxRuntime: median(rounds.map((r) => of(r.theirs))),
  });
  return { name: file.name, processor: pairOf((r) => r.processor), wall: pairOf((r) => r.wall), first };
}

/** Of the models whose packages are in the cache; none where ONNX Runtime is not installed. */
export async function* modelTimes(device: dx.Device, threads: number, wants: (name: string) => boolean): AsyncGenerator<ModelTimes> {
  if (ortVersion() === null) return;
  for (const file of modelFiles) {
    const source = wants(file.name) ? packageModel(file) : null;
    if (source !== null) yield timesOf(file, source, device, threads);
  }
}
