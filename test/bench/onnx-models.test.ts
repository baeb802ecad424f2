/** The suite's ONNX models compute the same as its workloads in dxtensor. */
import * as dx from "dxtensor";
import { expect, it } from "vitest";
import { encodeModel } from "../../bench/onnxruntime/onnx.ts";
import { onnxOf } from "../../bench/suite/onnx-models.ts";
import { callOf, Source } from "../../bench/suite/operations.ts";
import type { Node } from "../../bench/suite/nets.ts";
import { WORKLOADS, type Kind } from "../../bench/suite/workloads.ts";

/** Each node that a net has, on the suite's image. */
const SMALL_NET: readonly Node[] = [
  { op: "conv", x: 0, inputs: 3, outputs: 4, kernel: 7, stride: 4, groups: 1, activation: "relu6", seed: 100 },
  { op: "maxpool", x: 1 },
  { op: "conv", x: 2, inputs: 4, outputs: 4, kernel: 3, stride: 1, groups: 4, activation: "relu", seed: 102 },
  { op: "conv", x: 3, inputs: 4, outputs: 4, kernel: 1, stride: 1, groups: 1, activation: "none", seed: 104 },
  { op: "add", x: 2, y: 4, activation: "relu" },
  { op: "classify", x: 5, inputs: 4, outputs: 3, seed: 106 },
];

const SMALL: readonly Kind[] = [
  { kind: "matmul", batch: 1, m: 5, k: 3, n: 4 },
  { kind: "matmul", batch: 2, m: 5, k: 3, n: 4 },
  { kind: "matvec", n: 6 },
  ...(["add", "tanh", "scalars", "tensors"] as const).map((op): Kind => ({ kind: "elementwise", op, n: 9 })),
  ...[null, 0, 1].map((axis): Kind => ({ kind: "sum", axis, m: 3, n: 4 })),
  ...(["softmax", "layernorm", "transpose"] as const).map((kind): Kind => ({ kind, m: 3, n: 5 })),
  { kind: "gather", rows: 7, columns: 3, count: 5 },
  ...[0, 1].map((axis): Kind => ({ kind: "concat", axis, m: 2, n: 3 })),
  { kind: "conv", batch: 2, inputs: 4, size: 6, outputs: 8, kernel: 3, stride: 2, groups: 2 },
  { kind: "maxpool", batch: 1, channels: 2, size: 8 },
  { kind: "lstm", length: 4, batch: 2, inputs: 3, width: 5 },
  { kind: "sort", rows: 3, columns: 9 },
  { kind: "topk", rows: 3, columns: 9, count: 4 },
  ...(["bilinear", "nearest"] as const).map((mode): Kind => ({ kind: "resize", mode, batch: 1, channels: 2, size: 5 })),
  { kind: "attention", batch: 1, heads: 2, length: 6, width: 4 },
  { kind: "scatter", rows: 4, columns: 3, count: 10 },
  { kind: "net", batch: 1, nodes: SMALL_NET },
  { kind: "encoder", batch: 2, length: 3, width: 8, heads: 2, layers: 2 },
];

const flat = (t: dx.Tensor): number[] => Array.from(dx.contiguous(t).dataSync() as Float32Array);

it.each(SMALL.map((what) => [JSON.stringify(what), what] as const))("%s", async (_, what) => {
  const { model, feeds } = onnxOf(what)!;
  using loaded = await dx.io.onnx.load(encodeModel(model), { device: "cpu" });
  dx.scope(() => {
    const inputs = Object.entries(feeds).map(([name, { data, shape }]) => [name, dx.tensor(data, { shape: [...shape], device: "cpu" })]);
    const got = flat(loaded.call(Object.fromEntries(inputs) as Record<string, dx.Tensor>)["y"] as dx.Tensor);
    const { inputs: own, call } = callOf(new Source(dx.device("cpu")), what)!;
    const want = flat(call(...own));
    expect(got).toHaveLength(want.length);
    got.forEach((v, i) => expect(v).toBeCloseTo(want[i]!, 4));
  });
});

it("there is a model for each kind but training and what ONNX has not", () => {
  const without = new Set(WORKLOADS.filter(({ what }) => ["cast", "train", "tiny"].includes(what.kind)).map((w) => w.what.kind));
  expect(WORKLOADS.filter(({ what }) => !without.has(what.kind)).map((w) => w.what.kind)).toEqual(
    expect.arrayContaining([...new Set(SMALL.map((s) => s.kind))]),
  );
  for (const kind of without) expect(onnxOf(WORKLOADS.find((w) => w.what.kind === kind)!.what)).toBeNull();
});
