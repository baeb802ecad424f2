/** PyTorch's recorded training runs: their format, the models and optimizers that they describe, and a run compared with each. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import * as dx from "../../src/index.ts";
import { near, type Tolerance } from "../tolerance.ts";
import { Missing, elementsOf, tensorOf, type GoldenTensor } from "./cases.ts";
import type { Outcome } from "./run.ts";

type Weights = Readonly<Record<string, GoldenTensor>>;
type Wrapped = number | boolean | string | { readonly v: number | readonly Wrapped[] };
type Options = Readonly<Record<string, Wrapped>>;

export interface TrainingTrace {
  readonly id: string;
  readonly kind: "training" | "schedules";
  readonly title: string;
  readonly layers: readonly string[];
  readonly loss: string;
  readonly optimizer: Options & { readonly name: string };
  readonly scheduler: (Options & { readonly name: string }) | null;
  readonly clip: { readonly by: "norm" | "value"; readonly max: Wrapped } | null;
  readonly inputs: readonly GoldenTensor[];
  readonly targets: GoldenTensor;
  readonly steps: number;
  readonly batches: readonly (readonly number[])[] | null;
  readonly initial: Weights;
  readonly gradsStep1: Weights;
  readonly afterStep1: Weights;
  readonly losses: readonly number[];
  readonly lrs: readonly number[];
  readonly final: Weights;
  readonly evalOutput: GoldenTensor;
  readonly tol: { readonly losses: Tolerance; readonly weights: Tolerance };
}

interface Schedule {
  readonly name: string;
  readonly options: Options;
  readonly baseLr: number;
  readonly metrics?: readonly number[];
  readonly lrs: readonly number[];
}

/** Learning rates of many schedules, without a training. */
interface ScheduleTrace {
  readonly id: string;
  readonly kind: "schedules";
  readonly schedules: readonly Schedule[];
  readonly tol: Tolerance;
}

export const traceFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((f) => f.endsWith(".json.gz"))
    .toSorted();
export const readTrace = (file: string): TrainingTrace => JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")) as TrainingTrace;
export const traceIn = (folder: string, id: string): TrainingTrace => readTrace(join(folder, `${id}.json.gz`));

/** PyTorch's name of an option in ours: T_max is tMax, max_lr is maxLr. */
const camel = (name: string): string =>
  (name.startsWith("T_") ? `t_${name.slice(2)}` : name).replace(/_(\w)/g, (_, c: string) => c.toUpperCase());
const optionsOf = (options: Options): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(options)
      .filter(([k]) => k !== "name")
      .map(([k, v]) => [camel(k), plain(v)]),
  );

const plain = (v: Wrapped): number | boolean | string | readonly unknown[] =>
  typeof v !== "object"
    ? v
    : Array.isArray(v)
      ? (v as Wrapped[]).map(plain)
      : Array.isArray(v.v)
        ? (v.v as Wrapped[]).map(plain)
        : (v.v as number);

const { nn } = dx;

/** "Conv2d(1,4,3,stride=2,padding=1)" as a layer. */
function layerOf(text: string): dx.nn.Layer {
  const [, name, inner] = /^(\w+)(?:\((.*)\))?$/.exec(text) ?? [];
  if (name === undefined) throw new Missing(`a model of "${text}"`);
  const parts = (inner ?? "")
    .split(",")
    .map((p) => p.trim())
    .filter((p) => p !== "");
  const numbers = parts.filter((p) => !p.includes("=")).map(Number);
  const options = Object.fromEntries(
    parts.filter((p) => p.includes("=")).map((p) => [p.split("=")[0]!.replace("output_padding", "outputPadding"), Number(p.split("=")[1])]),
  );
  switch (name) {
    case "Linear":
      return nn.linear(numbers[0]!, numbers[1]!);
    case "Conv2d":
      return nn.conv2d(numbers[0]!, numbers[1]!, numbers[2]!, options);
    case "ConvTranspose2d":
      return nn.convTranspose2d(numbers[0]!, numbers[1]!, numbers[2]!, options);
    case "ReLU":
      return nn.relu();
    case "ELU":
      return nn.elu();
    case "SiLU":
      return nn.silu();
    case "Tanh":
      return nn.tanh();
    case "GELU":
      return nn.gelu();
    case "Sigmoid":
      return nn.sigmoid();
    case "LeakyReLU":
      return nn.leakyRelu({ negativeSlope: numbers[0]! });
    default:
      throw new Missing(`a layer ${text}`);
  }
}

/** A recurrent layer, of whose outputs the last one in time goes through a linear layer. */
class LastStep extends nn.Module {
  readonly rnn: dx.nn.LSTM | dx.nn.GRU;
  readonly fc: dx.nn.Linear;

  constructor(kind: string, inputs: number, width: number, classes: number) {
    super();
    this.rnn = kind === "LSTM" ? nn.lstm(inputs, width, { batchFirst: true }) : nn.gru(inputs, width, { batchFirst: true });
    this.fc = nn.linear(width, classes);
  }

  forward(x: dx.Tensor): dx.Tensor {
    return this.fc.forward(this.rnn.forward(x).output.select(1, -1));
  }
}

function recurrentOf([rnn, taken, fc, ...more]: readonly string[]): dx.nn.Layer | null {
  const [, kind, inputs, width] = /^rnn: (LSTM|GRU)\((\d+),(\d+),batchFirst\)$/.exec(rnn ?? "") ?? [];
  const [, classes] = /^fc: Linear\(\d+,(\d+)\)$/.exec(fc ?? "") ?? [];
  if (kind === undefined || taken !== "take the last time step" || classes === undefined || more.length > 0) return null;
  return new LastStep(kind, Number(inputs), Number(width), Number(classes));
}

/** A language model of one block of causal attention. */
class CausalModel extends nn.Module {
  readonly tok = nn.embedding(9, 8);
  readonly pos = nn.embedding(6, 8);
  readonly ln1 = nn.layerNorm(8);
  readonly ln2 = nn.layerNorm(8);
  readonly lnf = nn.layerNorm(8);
  readonly qkv = nn.linear(8, 24);
  readonly proj = nn.linear(8, 8);
  readonly up = nn.linear(8, 32);
  readonly down = nn.linear(32, 8);
  readonly head = nn.linear(8, 9, { bias: false });

  forward(x: dx.Tensor): dx.Tensor {
    const [n, t] = x.shape as [number, number];
    let h = this.tok.forward(x).add(this.pos.forward(dx.arange(t, { dtype: "int32", device: x.device })));
    const heads = dx.chunk(this.qkv.forward(this.ln1.forward(h)), 3, -1).map((z) => z.reshape([n, t, 2, 4]).transpose(1, 2));
    const attention = nn.functional.scaledDotProductAttention(heads[0]!, heads[1]!, heads[2]!, { isCausal: true });
    h = h.add(this.proj.forward(attention.transpose(1, 2).reshape([n, t, 8])));
    h = h.add(this.down.forward(dx.gelu(this.up.forward(this.ln2.forward(h)))));
    return this.head.forward(this.lnf.forward(h));
  }
}

/** The model; one layer alone has names without a number. */
export function modelOf(trace: TrainingTrace): dx.nn.Layer {
  const recurrent = trace.layers[0]!.startsWith("h = tok(x)") ? new CausalModel() : recurrentOf(trace.layers);
  const layers = recurrent === null ? trace.layers.map(layerOf) : [recurrent];
  const model = layers.length === 1 ? layers[0]! : nn.sequential(...layers);
  model.loadStateDict(tensorsOf(trace.initial));
  return model;
}

const tensorsOf = (weights: Weights): Record<string, dx.Tensor> =>
  Object.fromEntries(Object.entries(weights).map(([name, t]) => [name, tensorOf(t)]));
const numbersOf = (t: GoldenTensor): number[] => elementsOf(t).map(Number);

const optimizers: Readonly<Record<string, ((p: readonly dx.Tensor[], o: object) => dx.optim.Optimizer) | undefined>> = {
  SGD: dx.optim.sgd,
  Adam: dx.optim.adam,
  AdamW: dx.optim.adamW,
  Adadelta: dx.optim.adadelta,
  Adagrad: dx.optim.adagrad,
  Adamax: dx.optim.adamax,
  ASGD: dx.optim.asgd,
  NAdam: dx.optim.nadam,
  RAdam: dx.optim.radam,
  RMSprop: dx.optim.rmsprop,
  Rprop: dx.optim.rprop,
};

function optimizerOf(trace: TrainingTrace, parameters: readonly dx.Tensor[]): dx.optim.Optimizer {
  const make = optimizers[trace.optimizer.name];
  if (make === undefined) throw new Missing(`an optimizer ${trace.optimizer.name}`);
  return make(parameters, optionsOf(trace.optimizer));
}

/** A schedule by PyTorch's name and options. */
function scheduleOf(optimizer: dx.optim.Optimizer, name: string, options: Options): dx.optim.lrScheduler.LRScheduler {
  const Schedule = (
    dx.optim.lrScheduler as unknown as Record<
      string,
      (new (o: dx.optim.Optimizer, options: object) => dx.optim.lrScheduler.LRScheduler) | undefined
    >
  )[name];
  if (Schedule === undefined) throw new Missing(`a schedule ${name}`);
  return new Schedule(optimizer, optionsOf(options));
}

/** The learning rates of each schedule; what is wrong, or null. */
export function schedules(trace: ScheduleTrace): string | null {
  for (const { name, options, baseLr, metrics, lrs } of trace.schedules) {
    const p = new nn.Parameter(dx.tensor([1]));
    const optimizer = dx.optim.sgd([p], { lr: baseLr });
    const schedule = scheduleOf(optimizer, name, name === "OneCycleLR" ? { ...options, cycle_momentum: false } : options);
    for (const [i, want] of lrs.entries()) {
      if (!near(optimizer.lr, want, trace.tol)) return `${name}: the rate of step ${i} is ${optimizer.lr} instead of ${want}`;
      if (i === lrs.length - 1) break;
      if (metrics === undefined) schedule.step();
      else (schedule as dx.optim.lrScheduler.ReduceLROnPlateau).step(metrics[i]);
    }
    optimizer.dispose();
    p.dispose();
  }
  return null;
}

function lossOf(trace: TrainingTrace, y: dx.Tensor, target: dx.Tensor): dx.Tensor {
  if (trace.loss.startsWith("mse")) return nn.functional.mseLoss(y, target);
  if (trace.loss.startsWith("smoothL1")) return nn.functional.smoothL1Loss(y, target);
  return nn.functional.crossEntropy(y.rank === 3 ? y.reshape([-1, y.shape[2]!]) : y, y.rank === 3 ? target.reshape([-1]) : target);
}

const rows = (t: dx.Tensor, batch: readonly number[] | undefined): dx.Tensor =>
  batch === undefined ? t : dx.indexSelect(t, 0, dx.tensor(Int32Array.from(batch)));

/**
 * Elements that have no gradient: the keys' part of an attention's bias adds the same to all scores of a query. What a sum of rounding
 * errors (1e-10 in PyTorch) is, Adam takes for a direction; so both runs move them by chance, by at most the sum
 * of the learning rates, which is their bound here.
 */
const CHANCE: Readonly<Record<string, { readonly name: string; readonly from: number; readonly to: number; readonly bound: Tolerance }>> = {
  "causal-lm-onecycle": { name: "qkv.bias", from: 8, to: 16, bound: { rtol: 0, atol: 0.2 } },
};

function away(what: string, got: dx.Tensor, want: GoldenTensor, bound: Tolerance, chance?: (typeof CHANCE)[string]): string | null {
  const found = Array.from(got.dataSync() as Float32Array, Number);
  const wanted = numbersOf(want);
  const boundAt = (i: number): Tolerance => (chance !== undefined && i >= chance.from && i < chance.to ? chance.bound : bound);
  const at = found.length === wanted.length ? found.findIndex((g, i) => !near(g, wanted[i]!, boundAt(i))) : 0;
  return at < 0 ? null : `${what}: element ${at} is ${found[at]} instead of ${wanted[at]}`;
}

/** Trains as recorded; what is wrong, or null. Compiled: every step but the first is one compiled function. */
export function train(trace: TrainingTrace, { compiled = false }: { readonly compiled?: boolean } = {}): string | null {
  const model = modelOf(trace);
  try {
    return trained(trace, model, compiled);
  } finally {
    model.dispose();
  }
}

function trained(trace: TrainingTrace, model: dx.nn.Layer, compiled: boolean): string | null {
  const optimizer = optimizerOf(trace, model.parameters());
  const schedule = trace.scheduler === null ? null : scheduleOf(optimizer, trace.scheduler.name, trace.scheduler);
  const clip = (): void => {
    if (trace.clip?.by === "norm") nn.utils.clipGradNorm_(model.parameters(), plain(trace.clip.max) as number);
    if (trace.clip?.by === "value") nn.utils.clipGradValue_(model.parameters(), plain(trace.clip.max) as number);
  };
  const x = tensorOf(trace.inputs[0]!);
  const target = tensorOf(trace.targets);
  const problems: (string | null)[] = [];
  const forwardBackward = (bx: dx.Tensor, by: dx.Tensor): dx.Tensor => {
    const loss = lossOf(trace, model.forward(bx), by);
    loss.backward();
    return loss;
  };
  const whole = (bx: dx.Tensor, by: dx.Tensor): dx.Tensor => {
    const loss = forwardBackward(bx, by);
    clip();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const step = compiled ? dx.compile(whole) : whole;
  for (let i = 0; i < trace.steps; i++) {
    const batch = trace.batches?.[i];
    const [bx, by] = [rows(x, batch), rows(target, batch)];
    const { lr } = optimizer;
    let loss: dx.Tensor;
    if (i === 0) {
      loss = forwardBackward(bx, by);
      for (const [name, p] of model.namedParameters())
        problems.push(away(`gradient of ${name}`, p.grad!, trace.gradsStep1[name]!, { rtol: 1e-4, atol: 1e-5 }));
      clip();
      optimizer.step();
      for (const [name, p] of model.namedParameters())
        problems.push(away(`${name} after one step`, p, trace.afterStep1[name]!, trace.tol.weights));
      optimizer.zeroGrad();
    } else {
      loss = step(bx, by);
    }
    if (!near(lr, trace.lrs[i]!, { rtol: 1e-6, atol: 1e-9 })) problems.push(`rate of step ${i} is ${lr} instead of ${trace.lrs[i]}`);
    schedule?.step();
    const got = loss.itemSync();
    if (!near(got, trace.losses[i]!, trace.tol.losses)) problems.push(`loss of step ${i} is ${got} instead of ${trace.losses[i]}`);
  }
  const chance = CHANCE[trace.id];
  for (const [name, p] of model.namedParameters())
    problems.push(away(`${name} at the end`, p, trace.final[name]!, trace.tol.weights, chance?.name === name ? chance : undefined));
  model.eval();
  problems.push(
    away(
      "the output",
      dx.noGrad(() => model.forward(x)),
      trace.evalOutput,
      trace.tol.weights,
    ),
  );
  if (compiled) (step as dx.Compiled<[dx.Tensor, dx.Tensor], dx.Tensor>).dispose();
  optimizer.dispose();
  return problems.find((p) => p !== null) ?? null;
}

/** train() as an outcome like those of the cases. */
export function runTrace(trace: TrainingTrace, mode: { readonly compiled?: boolean }): Outcome {
  const id = `trace:${trace.id}`;
  try {
    const problem = dx.scope(() => (trace.kind === "schedules" ? schedules(trace as unknown as ScheduleTrace) : train(trace, mode)));
    return problem === null ? { id, result: "passed", way: "graph" } : { id, result: "failed", reason: problem };
  } catch (error) {
    if (error instanceof Missing) return { id, result: "missing", reason: error.message };
    return { id, result: "failed", reason: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
