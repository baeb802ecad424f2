/** The workloads: each is data, so that peers in other languages run the same. */
import { mobileNetV2, resnet50, TRAINED, type Node } from "./nets.ts";

export type Kind =
  | { readonly kind: "matmul"; readonly batch: number; readonly m: number; readonly k: number; readonly n: number }
  | { readonly kind: "matvec"; readonly n: number }
  | { readonly kind: "elementwise"; readonly op: "add" | "tanh" | "scalars" | "tensors"; readonly n: number }
  | { readonly kind: "sum"; readonly axis: number | null; readonly m: number; readonly n: number }
  | { readonly kind: "softmax" | "layernorm" | "transpose"; readonly m: number; readonly n: number }
  | { readonly kind: "gather"; readonly rows: number; readonly columns: number; readonly count: number }
  | { readonly kind: "concat"; readonly axis: number; readonly m: number; readonly n: number }
  | { readonly kind: "cast"; readonly n: number }
  | {
      readonly kind: "conv";
      readonly batch: number;
      readonly inputs: number;
      readonly size: number;
      readonly outputs: number;
      readonly kernel: number;
      readonly stride: number;
      readonly groups: number;
    }
  | { readonly kind: "maxpool"; readonly batch: number; readonly channels: number; readonly size: number }
  | { readonly kind: "net"; readonly batch: number; readonly nodes: readonly Node[] }
  | {
      readonly kind: "encoder";
      readonly batch: number;
      readonly length: number;
      readonly width: number;
      readonly heads: number;
      readonly layers: number;
    }
  | { readonly kind: "train"; readonly network: string; readonly nodes?: readonly Node[]; readonly batch?: number }
  | { readonly kind: "lstm"; readonly length: number; readonly batch: number; readonly inputs: number; readonly width: number }
  | { readonly kind: "sort"; readonly rows: number; readonly columns: number }
  | { readonly kind: "topk"; readonly rows: number; readonly columns: number; readonly count: number }
  | {
      readonly kind: "resize";
      readonly mode: "bilinear" | "nearest";
      readonly batch: number;
      readonly channels: number;
      readonly size: number;
    }
  | { readonly kind: "attention"; readonly batch: number; readonly heads: number; readonly length: number; readonly width: number }
  | { readonly kind: "scatter"; readonly rows: number; readonly columns: number; readonly count: number }
  | { readonly kind: "tiny"; readonly n: number };

export interface Workload {
  readonly name: string;
  readonly group: string;
  readonly what: Kind;
  readonly unit: "GFLOP/s" | "GB/s" | "Melement/s" | "images/s" | "sequences/s" | "steps/s" | "calls/s";
  /** In one execution. */
  readonly work: number;
}

const M = 2 ** 20;
const list: Workload[] = [];
const add = (group: string, name: string, unit: Workload["unit"], work: number, what: Kind): void => {
  const scale = unit === "GFLOP/s" || unit === "GB/s" ? 1e9 : unit === "Melement/s" ? 1e6 : 1;
  list.push({ group, name, unit, work: work / scale, what });
};

for (const n of [64, 256, 512, 1024, 2048])
  add("matmul", `matmul ${n}`, "GFLOP/s", 2 * n ** 3, { kind: "matmul", batch: 1, m: n, k: n, n });
add("matmul", "matmul of 32 batches, 128 x 64 x 128", "GFLOP/s", 2 * 32 * 128 * 64 * 128, {
  kind: "matmul",
  batch: 32,
  m: 128,
  k: 64,
  n: 128,
});
add("matmul", "matrix times vector 4096", "GFLOP/s", 2 * 4096 ** 2, { kind: "matvec", n: 4096 });

// Bytes: each input read once, the output written once.
add("elementwise", "add, 16 Mi", "GB/s", 12 * 16 * M, { kind: "elementwise", op: "add", n: 16 * M });
add("elementwise", "tanh, 16 Mi", "GB/s", 8 * 16 * M, { kind: "elementwise", op: "tanh", n: 16 * M });
add("elementwise", "relu(a x + b) c + tanh(x), scalars, 16 Mi", "GB/s", 8 * 16 * M, { kind: "elementwise", op: "scalars", n: 16 * M });
add("elementwise", "relu(a x + b) c + tanh(x), tensors, 16 Mi", "GB/s", 20 * 16 * M, { kind: "elementwise", op: "tensors", n: 16 * M });
for (const [name, axis] of [
  ["all", null],
  ["the last axis", 1],
  ["the first axis", 0],
] as const)
  add("reduce", `sum over ${name}, 4096 x 4096`, "GB/s", 4 * 16 * M, { kind: "sum", axis, m: 4096, n: 4096 });
add("reduce", "softmax 4096 x 4096", "GB/s", 8 * 16 * M, { kind: "softmax", m: 4096, n: 4096 });
add("reduce", "layerNorm 4096 x 1024", "GB/s", 8 * 4 * M, { kind: "layernorm", m: 4096, n: 1024 });
add("move", "transpose 4096 x 4096", "GB/s", 8 * 16 * M, { kind: "transpose", m: 4096, n: 4096 });
add("move", "gather 8192 rows of 256", "GB/s", 8 * 8192 * 256, { kind: "gather", rows: 50_000, columns: 256, count: 8192 });
add("move", "concat, first axis", "GB/s", 8 * 16 * M, { kind: "concat", axis: 0, m: 2048, n: 4096 });
add("move", "concat, last axis", "GB/s", 8 * 16 * M, { kind: "concat", axis: 1, m: 4096, n: 2048 });
add("move", "cast to float16, 16 Mi", "GB/s", 6 * 16 * M, { kind: "cast", n: 16 * M });

for (const batch of [1, 8])
  for (const [name, inputs, size, outputs, kernel, stride, groups] of [
    ["3x3, 64 channels", 64, 56, 64, 3, 1, 1],
    ["1x1, 256 to 64", 256, 56, 64, 1, 1, 1],
    ["7x7 stride 2, 3 to 64", 3, 224, 64, 7, 2, 1],
    ["3x3 stride 2, 128 channels", 128, 56, 128, 3, 2, 1],
    ["3x3, 512 channels", 512, 7, 512, 3, 1, 1],
    ["depthwise 3x3, 256 channels", 256, 56, 256, 3, 1, 256],
  ] as const) {
    const flops = 2 * batch * outputs * Math.ceil(size / stride) ** 2 * (inputs / groups) * kernel ** 2;
    add("conv", `conv ${name}, batch ${batch}`, "GFLOP/s", flops, { kind: "conv", batch, inputs, size, outputs, kernel, stride, groups });
  }
for (const batch of [1, 8])
  add("conv", `max pooling 3x3 stride 2, batch ${batch}`, "GB/s", 4 * batch * 64 * (112 ** 2 + 56 ** 2), {
    kind: "maxpool",
    batch,
    channels: 64,
    size: 112,
  });

for (const batch of [1, 16])
  add("recurrent", `LSTM of 64 steps, 128 to 256, batch ${batch}`, "GFLOP/s", 2 * 64 * batch * 1024 * (128 + 256), {
    kind: "lstm",
    length: 64,
    batch,
    inputs: 128,
    width: 256,
  });
add("order", "sort 256 rows of 4096", "Melement/s", M, { kind: "sort", rows: 256, columns: 4096 });
add("order", "sort one row of 1 Mi", "Melement/s", M, { kind: "sort", rows: 1, columns: M });
add("order", "topk 32 of 256 rows of 16384", "Melement/s", 4 * M, { kind: "topk", rows: 256, columns: 16384, count: 32 });
for (const mode of ["bilinear", "nearest"] as const)
  add("resize", `resize 56 to 112, ${mode}, 8 x 64 channels`, "GB/s", 4 * 8 * 64 * 5 * 56 ** 2, {
    kind: "resize",
    mode,
    batch: 8,
    channels: 64,
    size: 56,
  });
add("attention", "attention of 8 x 8 heads, 512 of 64", "GFLOP/s", 4 * 64 * 512 ** 2 * 64, {
  kind: "attention",
  batch: 8,
  heads: 8,
  length: 512,
  width: 64,
});
add("scatter", "scatterAdd of 65536 rows of 64 into 4096", "GB/s", 8 * 65536 * 64, {
  kind: "scatter",
  rows: 4096,
  columns: 64,
  count: 65536,
});

for (const batch of [1, 8]) {
  add("infer", `ResNet-50, batch ${batch}`, "images/s", batch, { kind: "net", batch, nodes: resnet50() });
  add("infer", `MobileNetV2, batch ${batch}`, "images/s", batch, { kind: "net", batch, nodes: mobileNetV2() });
}
add("infer", "encoder of 4 layers, batch 8 of 128", "sequences/s", 8, {
  kind: "encoder",
  batch: 8,
  length: 128,
  width: 256,
  heads: 4,
  layers: 4,
});
for (const [name, network] of [
  ["MLP of 784, 512, 512, 10", "mlp"],
  ["LeNet-5", "lenet"],
  ["ResNet-18 of 32 x 32", "resnet18"],
  ["ResNet-50, batch 4", "resnet50"],
  ["MobileNetV2, batch 8", "mobileNetV2"],
  ["language model of 2 layers", "languageModel"],
] as const)
  add("train", `training step, ${name}`, "steps/s", 1, { kind: "train", network, ...TRAINED[network] });
for (const n of [1, 16]) add("overhead", `add of ${n}`, "calls/s", 1, { kind: "tiny", n });

export const WORKLOADS: readonly Workload[] = list;
