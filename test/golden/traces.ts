/** PyTorch's recorded training runs: their format, the models and optimizers that they describe, and a run beside each. */
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
  readonly final: Weights;
  readonly evalOutput: GoldenTensor;
  readonly tol: { readonly losses: Tolerance; readonly weights: Tolerance };
}

export const traceFiles = (folder: string): string[] => readdirSync(folder).filter((f) => f.endsWith(".json.gz")).toSorted();
export const readTrace = (file: string): TrainingTrace => JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")) as TrainingTrace;
export const traceIn = (folder: string, id: string): TrainingTrace => readTrace(join(folder, `${id}.json.gz`));

const plain = (v: Wrapped): number | boolean | string | readonly unknown[] => (typeof v !== "object" ? v : Array.isArray(v.v) ? (v.v as Wrapped[]).map(plain) : (v.v as number));

const { nn } = dx;

/** "Conv2d(1,4,3,stride=2,padding=1)" as a layer. */
function layerOf(text: string): dx.nn.Layer {
  const [, name, inner] = /^(\w+)(?:\((.*)\))?$/.exec(text) ?? [];
  if (name === undefined) throw new Missing(`a model of "${text}"`);
  const parts = (inner ?? "").split(",").map((p) => p.trim()).filter((p) => p !== "");
  const numbers = parts.filter((p) => !p.includes("=")).map(Number);
  const options = Object.fromEntries(parts.filter((p) => p.includes("=")).map((p) => [p.split("=")[0]!.replace("output_padding", "outputPadding"), Number(p.split("=")[1])]));
  switch (name) {
    case "Linear": return nn.linear(numbers[0]!, numbers[1]!);
    case "Conv2d": return nn.conv2d(numbers[0]!, numbers[1]!, numbers[2]!, options);
    case "ConvTranspose2d": return nn.convTranspose2d(numbers[0]!, numbers[1]!, numbers[2]!, options);
    case "ReLU": return nn.relu();
    case "ELU": return nn.elu();
    case "SiLU": return nn.silu();
    case "Tanh": return nn.tanh();
    case "GELU": return nn.gelu();
    case "Sigmoid": return nn.sigmoid();
    case "LeakyReLU": return nn.leakyRelu({ slope: numbers[0]! });
    default: throw new Missing(`a layer ${text}`);
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

/** The model; one layer alone has names without a number. */
export function modelOf(trace: TrainingTrace): dx.nn.Layer {
  const recurrent = recurrentOf(trace.layers);
  const layers = recurrent === null ? trace.layers.map(layerOf) : [recurrent];
  const model = layers.length === 1 ? layers[0]! : nn.sequential(...layers);
  model.loadStateDict(tensorsOf(trace.initial));
  return model;
}

const tensorsOf = (weights: Weights): Record<string, dx.Tensor> => Object.fromEntries(Object.entries(weights).map(([name, t]) => [name, tensorOf(t)]));
const numbersOf = (t: GoldenTensor): number[] => elementsOf(t).map(Number);

function optimizerOf(trace: TrainingTrace, parameters: readonly dx.Tensor[]): dx.optim.SGD | dx.optim.Adam {
  const { name, ...rest } = trace.optimizer;
  const renamed: Record<string, string> = { weight_decay: "weightDecay" };
  const options = Object.fromEntries(Object.entries(rest).map(([k, v]) => [renamed[k] ?? k, plain(v)]));
  switch (name) {
    case "SGD": return dx.optim.sgd(parameters, options as unknown as { lr: number });
    case "Adam": return dx.optim.adam(parameters, options as Partial<dx.optim.AdamOptions>);
    case "AdamW": return dx.optim.adamW(parameters, options as Partial<dx.optim.AdamOptions>);
    default: throw new Missing(`an optimizer ${name}`);
  }
}

function lossOf(trace: TrainingTrace, y: dx.Tensor, target: dx.Tensor): dx.Tensor {
  if (trace.loss.startsWith("mse")) return nn.functional.mseLoss(y, target);
  if (trace.loss.startsWith("smoothL1")) return nn.functional.smoothL1Loss(y, target);
  return nn.functional.crossEntropy(y, target);
}

const rows = (t: dx.Tensor, batch: readonly number[] | undefined): dx.Tensor =>
  batch === undefined ? t : dx.indexSelect(t, 0, dx.tensor(Int32Array.from(batch)));

function away(what: string, got: dx.Tensor, want: GoldenTensor, bound: Tolerance): string | null {
  const found = Array.from(got.dataSync() as Float32Array, Number);
  const wanted = numbersOf(want);
  const at = found.length === wanted.length ? found.findIndex((g, i) => !near(g, wanted[i]!, bound)) : 0;
  return at < 0 ? null : `${what}: element ${at} is ${found[at]} instead of ${wanted[at]}`;
}

/** Trains as recorded; what is wrong, or null. Compiled: every step but the first is one compiled function. */
export function train(trace: TrainingTrace, { compiled = false }: { readonly compiled?: boolean } = {}): string | null {
  if (trace.scheduler !== null) throw new Missing(`a schedule ${trace.scheduler.name}`);
  if (trace.clip !== null) throw new Missing(`gradients clipped by ${trace.clip.by}`);
  const model = modelOf(trace);
  try {
    return trained(trace, model, compiled);
  } finally {
    model.dispose();
  }
}

function trained(trace: TrainingTrace, model: dx.nn.Layer, compiled: boolean): string | null {
  const optimizer = optimizerOf(trace, model.parameters());
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
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const step = compiled ? dx.compile(whole) : whole;
  for (let i = 0; i < trace.steps; i++) {
    const batch = trace.batches?.[i];
    const [bx, by] = [rows(x, batch), rows(target, batch)];
    let loss: dx.Tensor;
    if (i === 0) {
      loss = forwardBackward(bx, by);
      for (const [name, p] of model.namedParameters()) problems.push(away(`gradient of ${name}`, p.grad!, trace.gradsStep1[name]!, { rtol: 1e-4, atol: 1e-5 }));
      optimizer.step();
      for (const [name, p] of model.namedParameters()) problems.push(away(`${name} after one step`, p, trace.afterStep1[name]!, trace.tol.weights));
      optimizer.zeroGrad();
    } else {
      loss = step(bx, by);
    }
    const got = loss.itemSync();
    if (!near(got, trace.losses[i]!, trace.tol.losses)) problems.push(`loss of step ${i} is ${got} instead of ${trace.losses[i]}`);
  }
  for (const [name, p] of model.namedParameters()) problems.push(away(`${name} at the end`, p, trace.final[name]!, trace.tol.weights));
  model.eval();
  problems.push(away("the output", dx.noGrad(() => model.forward(x)), trace.evalOutput, trace.tol.weights));
  if (compiled) (step as dx.Compiled<[dx.Tensor, dx.Tensor], dx.Tensor>).dispose();
  optimizer.dispose();
  return problems.find((p) => p !== null) ?? null;
}

/** train() as an outcome beside those of the cases. */
export function runTrace(trace: TrainingTrace, mode: { readonly compiled?: boolean }): Outcome {
  const id = `trace:${trace.id}`;
  try {
    if (trace.kind === "schedules") throw new Missing("learning-rate schedules");
    const problem = dx.scope(() => train(trace, mode));
    return problem === null ? { id, result: "passed", way: "graph" } : { id, result: "failed", reason: problem };
  } catch (error) {
    if (error instanceof Missing) return { id, result: "missing", reason: error.message };
    return { id, result: "failed", reason: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
