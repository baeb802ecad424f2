/** The suite's ONNX models compute what its workloads are in dxtensor. */
import * as dx from "dxtensor";
import { expect, it } from "vitest";
import { encodeModel } from "../../bench/onnxruntime/onnx.ts";
import { onnxOf } from "../../bench/suite/onnx-models.ts";
import { callOf, Source } from "../../bench/suite/operations.ts";
import { WORKLOADS, type Kind } from "../../bench/suite/workloads.ts";

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

it("there is a model for each kind that a few nodes say", () => {
  const without = new Set(
    WORKLOADS.filter(({ what }) => ["cast", "net", "encoder", "train", "tiny"].includes(what.kind)).map((w) => w.what.kind),
  );
  expect(WORKLOADS.filter(({ what }) => !without.has(what.kind)).map((w) => w.what.kind)).toEqual(
    expect.arrayContaining([...new Set(SMALL.map((s) => s.kind))]),
  );
  for (const kind of without) expect(onnxOf(WORKLOADS.find((w) => w.what.kind === kind)!.what)).toBeNull();
});
