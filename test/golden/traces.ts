/** PyTorch's recorded training runs: their format, and the models and optimizers that they describe. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import * as dx from "../../src/index.ts";
import { elementsOf, tensorOf, type GoldenTensor } from "./cases.ts";

type Weights = Readonly<Record<string, GoldenTensor>>;
type Wrapped = number | boolean | { readonly v: number | readonly Wrapped[] };

export interface TrainingTrace {
  readonly title: string;
  readonly layers: readonly string[];
  readonly loss: string;
  readonly optimizer: Readonly<Record<string, Wrapped | string>> & { readonly name: string };
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
  readonly tol: { readonly losses: { rtol: number; atol: number }; readonly weights: { rtol: number; atol: number } };
}

const folder = fileURLToPath(new URL("traces/", import.meta.url));
export const readTrace = (id: string): TrainingTrace => JSON.parse(gunzipSync(readFileSync(join(folder, `${id}.json.gz`))).toString("utf8")) as TrainingTrace;

const plain = (v: Wrapped): number | boolean | readonly (number | boolean | readonly unknown[])[] => (typeof v !== "object" ? v : Array.isArray(v.v) ? v.v.map(plain) : (v.v as number)) as number;

const { nn } = dx;

/** "Conv2d(1,4,3,stride=2,padding=1)" as a layer. */
function layerOf(text: string): dx.nn.Layer {
  const [, name, inner] = /^(\w+)(?:\((.*)\))?$/.exec(text)!;
  const parts = (inner ?? "").split(",").map((p) => p.trim()).filter((p) => p !== "");
  const numbers = parts.filter((p) => !p.includes("=")).map(Number);
  const options = Object.fromEntries(parts.filter((p) => p.includes("=")).map((p) => [p.split("=")[0]!.replace("output_padding", "outputPadding"), Number(p.split("=")[1])]));
  switch (name) {
    case "Linear": return nn.linear(numbers[0]!, numbers[1]!);
    case "Conv2d": return nn.conv2d(numbers[0]!, numbers[1]!, numbers[2]!, options);
    case "ConvTranspose2d": return nn.convTranspose2d(numbers[0]!, numbers[1]!, numbers[2]!, options);
    case "ReLU": return nn.relu();
    case "Tanh": return nn.tanh();
    case "GELU": return nn.gelu();
    case "Sigmoid": return nn.sigmoid();
    case "LeakyReLU": return nn.leakyRelu({ slope: numbers[0]! });
    default: throw new Error(`layer ${text}`);
  }
}

/** The model; one layer alone has names without a number. */
export function modelOf(trace: TrainingTrace): dx.nn.Layer {
  const layers = trace.layers.map(layerOf);
  const model = layers.length === 1 ? layers[0]! : nn.sequential(...layers);
  model.loadStateDict(tensorsOf(trace.initial));
  return model;
}

export const tensorsOf = (weights: Weights): Record<string, dx.Tensor> => Object.fromEntries(Object.entries(weights).map(([name, t]) => [name, tensorOf(t)]));
export const numbersOf = (t: GoldenTensor): number[] => elementsOf(t).map(Number);

export function optimizerOf(trace: TrainingTrace, parameters: readonly dx.Tensor[]): dx.optim.SGD | dx.optim.Adam {
  const { name, ...rest } = trace.optimizer;
  const renamed: Record<string, string> = { weight_decay: "weightDecay" };
  const options = Object.fromEntries(Object.entries(rest).map(([k, v]) => [renamed[k] ?? k, plain(v as Wrapped)]));
  switch (name) {
    case "SGD": return dx.optim.sgd(parameters, options as unknown as { lr: number });
    case "Adam": return dx.optim.adam(parameters, options as Partial<dx.optim.AdamOptions>);
    case "AdamW": return dx.optim.adamW(parameters, options as Partial<dx.optim.AdamOptions>);
    default: throw new Error(`optimizer ${name}`);
  }
}

export const lossOf = (trace: TrainingTrace, y: dx.Tensor, target: dx.Tensor): dx.Tensor => (trace.loss.startsWith("mse") ? nn.functional.mseLoss(y, target) : nn.functional.crossEntropy(y, target));
