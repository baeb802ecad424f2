/**
 * Training steps whose weights and data are the peers' too (trainings.py has the same), so that their losses are compared. References:
 * LeCun et al. 1998 (LeNet-5), He et al. 2015 (ResNet-18, for images of 32 x 32), Vaswani et al. 2017 (the language model's layers).
 */
import * as dx from "dxtensor";
import { TRAINED, type Node } from "./nets.ts";
import type { Source } from "./operations.ts";

export interface Training {
  readonly inputs: readonly [x: dx.Tensor, y: dx.Tensor];
  readonly forward: (x: dx.Tensor) => dx.Tensor;
  readonly optimizer: { step(): void; zeroGrad(): void };
}

/** Makes parameters, and keeps them for the optimizer. */
class Weights {
  readonly all: dx.nn.Parameter[] = [];
  readonly #source: Source;

  constructor(source: Source) {
    this.#source = source;
  }

  add(values: dx.Tensor): dx.nn.Parameter {
    const parameter = new dx.nn.Parameter(values);
    this.all.push(parameter);
    return parameter;
  }
  drawn(seed: number, shape: readonly number[], scale: number): dx.nn.Parameter {
    return this.add(this.#source.floats(seed, shape, scale));
  }
  zeros(...shape: number[]): dx.nn.Parameter {
    return this.add(dx.zeros(shape, { device: this.#source.device }));
  }
  ones(...shape: number[]): dx.nn.Parameter {
    return this.add(dx.ones(shape, { device: this.#source.device }));
  }
  adam(): Training["optimizer"] {
    return dx.optim.adam(this.all, { lr: 1e-3, eps: 1e-8 });
  }
  sgd(lr = 0.01): Training["optimizer"] {
    return dx.optim.sgd(this.all, { lr, momentum: 0.9 });
  }
}

const sizeOf = (numbers: readonly number[]): number => numbers.reduce((a, b) => a * b, 1);

/** Labels i % 10. */
const labels = (source: Source, count: number): dx.Tensor =>
  dx.tensor(
    Int32Array.from({ length: count }, (_, i) => i % 10),
    { device: source.device },
  );

/** Weights of seeds 4000 + 2 i, of variance 1 / fan; biases of seeds 4001 + 2 i. */
function chain(weights: Weights, shapes: readonly (readonly number[])[]): readonly (readonly [dx.nn.Parameter, dx.nn.Parameter])[] {
  return shapes.map((shape, i) => {
    const weight = weights.drawn(4000 + 2 * i, shape, Math.sqrt(12 / sizeOf(shape.slice(1))));
    return [weight, weights.drawn(4001 + 2 * i, [shape[0]!], 0.1)] as const;
  });
}

function linears(x: dx.Tensor, layers: ReturnType<typeof chain>): dx.Tensor {
  return layers.reduce((y, [weight, bias], i) => {
    const z = dx.linear(y, weight, bias);
    return i + 1 < layers.length ? dx.relu(z) : z;
  }, x);
}

function mlp(source: Source): Training {
  const weights = new Weights(source);
  const layers = chain(weights, [
    [512, 784],
    [512, 512],
    [10, 512],
  ]);
  return {
    inputs: [source.floats(8, [64, 784], 2), labels(source, 64)],
    forward: (x) => linears(x, layers),
    optimizer: weights.adam(),
  };
}

function lenet(source: Source): Training {
  const weights = new Weights(source);
  const [first, second, ...rest] = chain(weights, [
    [6, 1, 5, 5],
    [16, 6, 5, 5],
    [120, 400],
    [84, 120],
    [10, 84],
  ]);
  return {
    inputs: [source.floats(8, [64, 1, 28, 28], 2), labels(source, 64)],
    forward: (x) => {
      const y = dx.maxPool2d(dx.relu(dx.conv2d(x, ...first!, { padding: 2 })), 2);
      return linears(dx.maxPool2d(dx.relu(dx.conv2d(y, ...second!)), 2).flatten(1), rest);
    },
    optimizer: weights.sgd(),
  };
}

function resnet18(source: Source): Training {
  const weights = new Weights(source);
  let seed = 5000;
  const convolution = (inputs: number, outputs: number, kernel: number, stride: number): ((x: dx.Tensor) => dx.Tensor) => {
    const weight = weights.drawn(seed++, [outputs, inputs, kernel, kernel], Math.sqrt((12 * 1.2) / (inputs * kernel ** 2)));
    const [scale, shift] = [weights.ones(outputs), weights.zeros(outputs)];
    const [mean, variance] = [dx.zeros([outputs], source), dx.ones([outputs], source)];
    return (x) => {
      const y = dx.conv2d(x, weight, null, { stride, padding: kernel >> 1 });
      return dx.batchNorm(y, mean, variance, scale, shift, { training: true });
    };
  };
  const stem = convolution(3, 64, 3, 1);
  const blocks = [64, 64, 128, 128, 256, 256, 512, 512].map((outputs, i) => {
    const stride = i > 0 && i % 2 === 0 ? 2 : 1;
    const inputs = outputs / stride;
    const [one, two] = [convolution(inputs, outputs, 3, stride), convolution(outputs, outputs, 3, 1)];
    const shortcut = stride === 1 ? (x: dx.Tensor): dx.Tensor => x : convolution(inputs, outputs, 1, stride);
    return (x: dx.Tensor): dx.Tensor => dx.relu(dx.add(two(dx.relu(one(x))), shortcut(x)));
  });
  const weight = weights.drawn(5900, [10, 512], 2 / Math.sqrt(512));
  const bias = weights.zeros(10);
  return {
    inputs: [source.floats(8, [16, 3, 32, 32], 2), labels(source, 16)],
    forward: (x) =>
      dx.linear(
        dx.mean(
          blocks.reduce((y, block) => block(y), dx.relu(stem(x))),
          [2, 3],
        ),
        weight,
        bias,
      ),
    optimizer: weights.sgd(),
  };
}

/** A net of images of 224 x 224, whose weights are those of inference; by small steps, so that losses stay comparable. */
function net(source: Source, nodes: readonly Node[], batch: number): Training {
  const weights = new Weights(source);
  const layers = nodes.map((n): ((values: readonly dx.Tensor[]) => dx.Tensor) => {
    if (n.op === "maxpool") return (values) => dx.maxPool2d(values[n.x]!, 3, { stride: 2, padding: 1 });
    if (n.op === "add") return (values) => activated(dx.add(values[n.x]!, values[n.y]!), n.activation);
    if (n.op === "classify") {
      const weight = weights.drawn(n.seed, [n.outputs, n.inputs], 2 / Math.sqrt(n.inputs));
      const bias = weights.zeros(n.outputs);
      return (values) => dx.linear(dx.mean(values[n.x]!, [2, 3]), weight, bias);
    }
    const fan = (n.inputs / n.groups) * n.kernel ** 2;
    const weight = weights.drawn(n.seed, [n.outputs, n.inputs / n.groups, n.kernel, n.kernel], Math.sqrt((12 * 1.2) / fan));
    const [scale, shift] = [weights.ones(n.outputs), weights.zeros(n.outputs)];
    const [mean, variance] = [dx.zeros([n.outputs], source), dx.ones([n.outputs], source)];
    return (values) => {
      const y = dx.conv2d(values[n.x]!, weight, null, { stride: n.stride, padding: n.kernel >> 1, groups: n.groups });
      return activated(dx.batchNorm(y, mean, variance, scale, shift, { training: true }), n.activation);
    };
  });
  return {
    inputs: [source.floats(8, [batch, 3, 224, 224], 2), labels(source, batch)],
    forward: (x) => layers.reduce<readonly dx.Tensor[]>((values, layer) => [...values, layer(values)], [x]).at(-1)!,
    optimizer: weights.sgd(1e-4),
  };
}

const activated = (x: dx.Tensor, activation: "relu" | "relu6" | "none"): dx.Tensor =>
  activation === "relu" ? dx.relu(x) : activation === "relu6" ? dx.clamp(x, 0, 6) : x;

/** An encoder's layer, normalised after each part, of seeds from `seed` on. */
function transformer(weights: Weights, seed: number, width: number, heads: number): (x: dx.Tensor, mask: dx.Tensor) => dx.Tensor {
  const [parts, out, wide, narrow] = [
    [3 * width, width],
    [width, width],
    [4 * width, width],
    [width, 4 * width],
  ].map(
    (shape, i) =>
      [weights.drawn(seed + 2 * i, shape, 2 * Math.sqrt(3 / shape[1]!)), weights.drawn(seed + 2 * i + 1, [shape[0]!], 0.1)] as const,
  );
  const [one, two] = [0, 1].map(() => [weights.ones(width), weights.zeros(width)] as const);
  return (x, mask) => {
    const [batch, length] = [x.shape[0]!, x.shape[1]!];
    const size = width / heads;
    const all = dx.linear(x, ...parts!).reshape(batch, length, 3, heads, size);
    const [q, k, v] = [0, 1, 2].map((i) => dx.select(all.permute(2, 0, 3, 1, 4), 0, i));
    const scores = dx.add(dx.matmul(dx.mul(q!, 1 / Math.sqrt(size)), dx.transpose(k!, -2, -1)), mask);
    const attended = dx.matmul(dx.softmax(scores, -1), v!).transpose(1, 2).reshape(batch, length, width);
    const y = dx.layerNorm(dx.add(x, dx.linear(attended, ...out!)), [width], ...one!);
    return dx.layerNorm(dx.add(y, dx.linear(dx.relu(dx.linear(y, ...wide!)), ...narrow!)), [width], ...two!);
  };
}

function languageModel(source: Source): Training {
  const [batch, length, width, heads, words] = [8, 64, 128, 4, 1000];
  const weights = new Weights(source);
  const ids = source.integers(9, batch * (length + 1), words).reshape(batch, length + 1);
  const [x, y] = [0, 1].map((from) => dx.narrow(ids, 1, from, length).contiguous());
  const table = weights.drawn(3000, [words, width], 1);
  const positions = weights.drawn(3001, [length, width], 1);
  const layers = [3100, 3108].map((seed) => transformer(weights, seed, width, heads));
  const head = weights.drawn(3002, [words, width], 2 * Math.sqrt(3 / width));
  const mask = dx.tensor(
    Float32Array.from({ length: length * length }, (_, i) => (i % length > Math.floor(i / length) ? -1e9 : 0)),
    { shape: [length, length], device: source.device },
  );
  return {
    inputs: [x!, y!.reshape(-1)],
    forward: (tokens) => {
      const first = dx.add(dx.embedding(tokens, table), positions);
      const last = layers.reduce((z, layer) => layer(z, mask), first);
      return dx.linear(last, head).reshape(-1, words);
    },
    optimizer: weights.adam(),
  };
}

export const TRAININGS: Readonly<Record<string, (source: Source) => Training>> = {
  mlp,
  lenet,
  resnet18,
  ...Object.fromEntries(Object.entries(TRAINED).map(([name, { nodes, batch }]) => [name, (source: Source) => net(source, nodes, batch)])),
  languageModel,
};
