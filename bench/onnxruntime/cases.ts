/** The workloads of ONNX Runtime and dxtensor: the same mathematics as an ONNX model and as a function of tensors. */
import * as dx from "dxtensor";
import type { OnnxModel, OnnxNode } from "./onnx.ts";

export interface Case {
  readonly name: string;
  readonly shape: readonly number[];
  readonly model: OnnxModel;
  /** The function on a device, whose weights it holds. */
  readonly make: (device: string) => (x: dx.Tensor) => dx.Tensor;
}

/** Values in [-1, 1) that are the same everywhere. */
export function noise(count: number, seed: number, scale = 1): Float32Array {
  let state = seed >>> 0;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 31 - 1) * scale;
  });
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

interface Weight {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

const weight = (name: string, shape: readonly number[], seed: number): Weight => ({
  name,
  shape,
  data: noise(sizeOf(shape), seed, 1 / Math.sqrt(Math.max(1, sizeOf(shape.slice(1))))),
});

const onDevice = (device: string, weights: readonly Weight[]): readonly dx.Tensor[] =>
  weights.map(({ data, shape }) => dx.tensor(data, { shape, device }));

const single = (
  name: string,
  shape: readonly number[],
  out: readonly number[],
  nodes: readonly OnnxNode[],
  weights: readonly Weight[],
  forward: (x: dx.Tensor, w: readonly dx.Tensor[]) => dx.Tensor,
): Case => ({
  name,
  shape,
  model: { nodes, weights, inputs: [{ name: "x", shape }], outputs: [{ name: "y", shape: out }] },
  make: (device) => {
    const held = onDevice(device, weights);
    return (x) => forward(x, held);
  },
});

const gemm = (n: number): Case =>
  single(
    `GEMM ${n} x ${n} x ${n}`,
    [n, n],
    [n, n],
    [{ type: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
    [weight("w", [n, n], 7)],
    (x, [w]) => x.matmul(w!),
  );

/** N dependent additions of 16 numbers: the cost of an operation without its arithmetic. */
const chain = (count: number): Case =>
  single(
    `${count} dependent additions of 16 numbers`,
    [16],
    [16],
    Array.from({ length: count }, (_, i) => ({
      type: "Add",
      inputs: [i === 0 ? "x" : `t${i}`, "w"],
      outputs: [i === count - 1 ? "y" : `t${i + 1}`],
    })),
    [weight("w", [16], 3)],
    (x, [w]) => {
      let y = x;
      for (let i = 0; i < count; i++) y = y.add(w!);
      return y;
    },
  );

const convolution = (n: number, channels: number, size: number): Case =>
  single(
    `3 x 3 convolution of [${n}, ${channels}, ${size}, ${size}]`,
    [n, channels, size, size],
    [n, channels, size, size],
    [{ type: "Conv", inputs: ["x", "w"], outputs: ["y"], attributes: { kernel_shape: [3, 3], pads: [1, 1, 1, 1], strides: [1, 1] } }],
    [weight("w", [channels, channels, 3, 3], 5)],
    (x, [w]) => dx.conv2d(x, w!, null, { padding: 1 }),
  );

/** The quickstart's network, forward. */
const network = (n: number): Case =>
  single(
    `the quickstart's network, ${n} digits`,
    [n, 1, 28, 28],
    [n, 10],
    [
      { type: "Conv", inputs: ["x", "w1", "b1"], outputs: ["c1"], attributes: { kernel_shape: [5, 5] } },
      { type: "Relu", inputs: ["c1"], outputs: ["r1"] },
      { type: "MaxPool", inputs: ["r1"], outputs: ["p1"], attributes: { kernel_shape: [2, 2], strides: [2, 2] } },
      { type: "Conv", inputs: ["p1", "w2", "b2"], outputs: ["c2"], attributes: { kernel_shape: [5, 5] } },
      { type: "Relu", inputs: ["c2"], outputs: ["r2"] },
      { type: "MaxPool", inputs: ["r2"], outputs: ["p2"], attributes: { kernel_shape: [2, 2], strides: [2, 2] } },
      { type: "Flatten", inputs: ["p2"], outputs: ["f"], attributes: { axis: { i: 1 } } },
      { type: "Gemm", inputs: ["f", "w3", "b3"], outputs: ["g"], attributes: { transB: { i: 1 } } },
      { type: "Relu", inputs: ["g"], outputs: ["r3"] },
      { type: "Gemm", inputs: ["r3", "w4", "b4"], outputs: ["y"], attributes: { transB: { i: 1 } } },
    ],
    [
      weight("w1", [8, 1, 5, 5], 11),
      weight("b1", [8], 12),
      weight("w2", [16, 8, 5, 5], 13),
      weight("b2", [16], 14),
      weight("w3", [64, 256], 15),
      weight("b3", [64], 16),
      weight("w4", [10, 64], 17),
      weight("b4", [10], 18),
    ],
    (x, [w1, b1, w2, b2, w3, b3, w4, b4]) => {
      const first = dx.maxPool2d(dx.relu(dx.conv2d(x, w1!, b1!)), 2);
      const second = dx.maxPool2d(dx.relu(dx.conv2d(first, w2!, b2!)), 2);
      const hidden = dx.relu(dx.nn.functional.linear(second.flatten({ start: 1 }), w3!, b3!));
      return dx.nn.functional.linear(hidden, w4!, b4!);
    },
  );

/** In the order of the table. The two chains give what one operation more costs. */
export const cases: readonly Case[] = [
  gemm(64),
  gemm(256),
  gemm(512),
  convolution(1, 16, 32),
  convolution(4, 32, 32),
  network(1),
  network(32),
  chain(8),
  chain(72),
];
export const chains = { few: 8, many: 72 } as const;
