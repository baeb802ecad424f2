/** The workloads in dxtensor: the calls and their tensors. */
import * as dx from "dxtensor";
import { uniform, whole } from "./data.ts";
import type { Node } from "./nets.ts";
import type { Kind } from "./workloads.ts";

export interface Call {
  readonly inputs: readonly dx.Tensor[];
  readonly call: (...inputs: dx.Tensor[]) => dx.Tensor;
}

const area = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/** Makes tensors on one device. */
export class Source {
  readonly device: dx.Device;

  constructor(device: dx.Device) {
    this.device = device;
  }

  floats(seed: number, shape: readonly number[], scale = 1, offset = 0): dx.Tensor {
    return dx.tensor(uniform(seed, area(shape), scale, offset), { shape: [...shape], device: this.device });
  }

  integers(seed: number, count: number, below: number): dx.Tensor {
    return dx.tensor(whole(seed, count, below), { device: this.device });
  }
}

const activations = { relu: dx.relu, relu6: dx.relu6, none: (x: dx.Tensor): dx.Tensor => x };

type Layer = (values: readonly dx.Tensor[]) => dx.Tensor;

function layer(source: Source, node: Node): Layer {
  switch (node.op) {
    case "conv": {
      const { x, inputs, outputs, kernel, stride, groups, seed } = node;
      const fan = (inputs / groups) * kernel ** 2;
      const weight = source.floats(seed, [outputs, inputs / groups, kernel, kernel], Math.sqrt((12 * 1.2) / fan));
      const bias = source.floats(seed + 1, [outputs], 0.2);
      const [zeros, ones] = [dx.zeros([outputs], source), dx.ones([outputs], source)];
      const activate = activations[node.activation];
      const options = { stride, padding: kernel >> 1, groups };
      return (v) => activate(dx.batchNorm(dx.conv2d(v[x]!, weight, null, options), zeros, ones, ones, bias));
    }
    case "maxpool":
      return (v) => dx.maxPool2d(v[node.x]!, 3, { stride: 2, padding: 1 });
    case "add":
      return (v) => activations[node.activation](dx.add(v[node.x]!, v[node.y]!));
    case "classify": {
      const weight = source.floats(node.seed, [node.outputs, node.inputs], 2 / Math.sqrt(node.inputs));
      const bias = source.floats(node.seed + 1, [node.outputs], 0.2);
      return (v) => dx.linear(dx.mean(v[node.x]!, [2, 3]), weight, bias);
    }
  }
}

function net(source: Source, { batch, nodes }: Kind & { kind: "net" }): Call {
  const layers = nodes.map((node) => layer(source, node));
  return {
    inputs: [source.floats(7, [batch, 3, 224, 224], 2)],
    call: (x) => {
      const values = [x];
      for (const run of layers) values.push(run(values));
      return values.at(-1)!;
    },
  };
}

function encoder(source: Source, { batch, length, width, heads, layers }: Kind & { kind: "encoder" }): Call {
  const weights = Array.from({ length: layers }, (_, l) =>
    (
      [
        [3 * width, width],
        [width, width],
        [4 * width, width],
        [width, 4 * width],
      ] as const
    ).map(([outputs, inputs], i) => ({
      weight: source.floats(2000 + 8 * l + 2 * i, [outputs, inputs], 2 * Math.sqrt(3 / inputs)),
      bias: source.floats(2001 + 8 * l + 2 * i, [outputs], 0.1),
    })),
  );
  const apply = (x: dx.Tensor, { weight, bias }: { weight: dx.Tensor; bias: dx.Tensor }): dx.Tensor => dx.linear(x, weight, bias);
  return {
    inputs: [source.floats(7, [batch, length, width], 2)],
    call: (input) => {
      let x = input;
      for (const [toParts, toOut, toWide, toNarrow] of weights) {
        const parts = apply(x, toParts!)
          .reshape(batch, length, 3, heads, width / heads)
          .permute(2, 0, 3, 1, 4);
        const [q, k, v] = [0, 1, 2].map((i) => dx.select(parts, 0, i));
        const attended = dx.scaledDotProductAttention(q!, k!, v!).transpose(1, 2).reshape(batch, length, width);
        x = dx.layerNorm(dx.add(x, apply(attended, toOut!)), [width]);
        x = dx.layerNorm(dx.add(x, apply(dx.relu(apply(x, toWide!)), toNarrow!)), [width]);
      }
      return x;
    },
  };
}

function elementwise(source: Source, { op, n }: Kind & { kind: "elementwise" }): Call {
  const inputs = Array.from({ length: { add: 2, tanh: 1, scalars: 1, tensors: 4 }[op] }, (_, i) => source.floats(i + 1, [n], 4));
  switch (op) {
    case "add":
      return { inputs, call: (x, b) => dx.add(x!, b!) };
    case "tanh":
      return { inputs, call: (x) => dx.tanh(x!) };
    case "scalars":
      return { inputs, call: (x) => dx.add(dx.mul(dx.relu(dx.add(dx.mul(x!, 1.5), 0.25)), 0.75), dx.tanh(x!)) };
    case "tensors":
      return { inputs, call: (x, a, b, c) => dx.add(dx.mul(dx.relu(dx.add(dx.mul(a!, x!), b!)), c!), dx.tanh(x!)) };
  }
}

/** null: training has a state, steps.ts makes it. */
export function callOf(source: Source, what: Kind): Call | null {
  switch (what.kind) {
    case "matmul": {
      const s = what.batch > 1 ? [what.batch] : [];
      return {
        inputs: [source.floats(1, [...s, what.m, what.k]), source.floats(2, [...s, what.k, what.n])],
        call: (a, b) => dx.matmul(a!, b!),
      };
    }
    case "matvec":
      return { inputs: [source.floats(1, [what.n, what.n]), source.floats(2, [what.n])], call: (a, x) => dx.mv(a!, x!) };
    case "elementwise":
      return elementwise(source, what);
    case "sum": {
      const { axis } = what;
      return { inputs: [source.floats(1, [what.m, what.n], 1, 0.25)], call: (x) => (axis === null ? dx.sum(x!) : dx.sum(x!, axis)) };
    }
    case "softmax":
      return { inputs: [source.floats(1, [what.m, what.n], 8)], call: (x) => dx.softmax(x!, -1) };
    case "layernorm":
      return {
        inputs: [source.floats(1, [what.m, what.n], 4), source.floats(2, [what.n], 1, 1), source.floats(3, [what.n])],
        call: (x, weight, bias) => dx.layerNorm(x!, [what.n], weight!, bias!),
      };
    case "transpose":
      return { inputs: [source.floats(1, [what.m, what.n])], call: (x) => dx.contiguous(dx.transpose(x!, 0, 1)) };
    case "gather":
      return {
        inputs: [source.integers(2, what.count, what.rows), source.floats(1, [what.rows, what.columns])],
        call: (indices, table) => dx.embedding(indices!, table!),
      };
    case "concat":
      return {
        inputs: [source.floats(1, [what.m, what.n]), source.floats(2, [what.m, what.n])],
        call: (a, b) => dx.cat([a!, b!], what.axis),
      };
    case "cast":
      return { inputs: [source.floats(1, [what.n], 8)], call: (x) => dx.to(x!, "float16") };
    case "conv": {
      const { batch, inputs, size, outputs, kernel, stride, groups } = what;
      const weight = source.floats(2, [outputs, inputs / groups, kernel, kernel]);
      const options = { stride, padding: kernel >> 1, groups };
      return { inputs: [source.floats(1, [batch, inputs, size, size], 2)], call: (x) => dx.conv2d(x!, weight, null, options) };
    }
    case "maxpool":
      return {
        inputs: [source.floats(1, [what.batch, what.channels, what.size, what.size], 2)],
        call: (x) => dx.maxPool2d(x!, 3, { stride: 2, padding: 1 }),
      };
    case "net":
      return net(source, what);
    case "encoder":
      return encoder(source, what);
    case "lstm": {
      const { length, batch, inputs, width } = what;
      const layer = dx.nn.lstm(inputs, width);
      const state: [string, number[]][] = [
        ["weight_ih_l0", [4 * width, inputs]],
        ["weight_hh_l0", [4 * width, width]],
        ["bias_ih_l0", [4 * width]],
        ["bias_hh_l0", [4 * width]],
      ];
      layer.loadStateDict(Object.fromEntries(state.map(([name, shape], i) => [name, source.floats(i + 2, shape, 0.125)])));
      return { inputs: [source.floats(1, [length, batch, inputs], 2)], call: (x) => layer.forward(x!).output };
    }
    case "sort":
      return { inputs: [source.floats(1, [what.rows, what.columns], 4)], call: (x) => dx.sort(x!).values };
    case "topk":
      return { inputs: [source.floats(1, [what.rows, what.columns], 4)], call: (x) => dx.topk(x!, what.count).values };
    case "resize": {
      const options = { size: [2 * what.size, 2 * what.size], mode: what.mode };
      return { inputs: [source.floats(1, [what.batch, what.channels, what.size, what.size], 2)], call: (x) => dx.interpolate(x!, options) };
    }
    case "attention": {
      const shape = [what.batch, what.heads, what.length, what.width];
      return { inputs: [1, 2, 3].map((i) => source.floats(i, shape, 2)), call: (q, k, v) => dx.scaledDotProductAttention(q!, k!, v!) };
    }
    case "scatter": {
      const zeros = dx.zeros([what.rows, what.columns], source);
      const rows = source.integers(2, what.count, what.rows).reshape(-1, 1).expand(what.count, what.columns);
      return {
        inputs: [zeros, dx.contiguous(rows), source.floats(1, [what.count, what.columns])],
        call: (x, index, values) => dx.scatterAdd(x!, 0, index!, values!),
      };
    }
    case "tiny":
      return { inputs: [source.floats(1, [what.n]), source.floats(2, [what.n])], call: (a, b) => dx.add(a!, b!) };
    case "train":
      return null;
  }
}
