/** Modules and functions as ONNX files: what is read again gives the same numbers, for other lengths too. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { own } from "../../src/core/definition.ts";
import { readModel } from "../../src/onnx/format/proto.ts";
import { eachDevice } from "../device.ts";
import { expectClose } from "../tolerance.ts";
import { NOT_EXPORTED } from "./not-exported.ts";
import type { Source } from "./export-cases.ts";
import { agrees } from "./round-trip.ts";

const { nn } = dx;
const normal = (...shape: number[]): dx.Tensor => dx.randn(shape);
const tokens = (...shape: number[]): dx.Tensor => dx.randint(0, 10, shape, { dtype: "int64" });
const batch = { input: { 0: "batch" } };
const both = { input: { 0: "batch", 1: "time" } };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-onnx-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

eachDevice("a model as an ONNX file", (device) => {
  beforeEach(() => {
    dx.setDefaultDevice(device);
    dx.manualSeed(3);
  });

  test("a perceptron, of any batch, with its weights' names", async () => {
    const model = nn.sequential(nn.linear(6, 8), nn.gelu(), nn.dropout(0.5), nn.linear(8, 3));
    const message = readModel(await dx.io.onnx.serialize(model, normal(2, 6), { dynamicAxes: batch, metadata: { epoch: "7" } }));
    expect(model.training).toBe(true);
    expect(message.producer).toBe("dxtensor");
    expect(message.metadata).toEqual({ epoch: "7" });
    expect(message.graph!.initializers.map((t) => t.name)).toEqual(expect.arrayContaining(Object.keys(model.stateDict())));
    expect(message.graph!.inputs[0]!.type!.dims).toEqual(["batch", 6]);
    expect(message.graph!.outputs[0]!.type!.dims).toEqual(["batch", 3]);
    model.eval();
    for (const opset of [17, 18, 19, 20, 21]) await agrees(model, (n) => [normal(n, 6)], batch, opset);
  });

  test("convolutions, norms and pools", async () => {
    const model = nn.sequential(
      nn.conv2d(3, 4, 3, { padding: 1, stride: 2 }),
      nn.batchNorm2d(4),
      nn.relu(),
      nn.groupNorm(2, 4),
      nn.maxPool2d(2),
      nn.convTranspose2d(4, 4, 3, { stride: 2, outputPadding: 1 }),
      nn.upsample({ scaleFactor: 2, mode: "bilinear" }),
      nn.adaptiveAvgPool2d(1),
      nn.flatten(),
      nn.linear(4, 2),
    );
    model.eval();
    await agrees(model, (n) => [normal(n, 3, 8, 8)], batch);
  });

  test("embeddings, attention and recurrent layers, of any batch and time", async () => {
    const encoder = nn.sequential(
      nn.embedding(10, 8),
      nn.transformerEncoderLayer(8, 2, { dimFeedforward: 16, batchFirst: true }),
      nn.rmsNorm([8]),
    );
    encoder.eval();
    await agrees(encoder, (n, t) => [tokens(n, t)], both);
    const lstm = nn.lstm(8, 4, { numLayers: 2, bidirectional: true, batchFirst: true });
    await agrees(
      (x) => lstm(x).output,
      (n, t) => [normal(n, t, 8)],
      both,
    );
    await agrees(
      (q) => dx.scaledDotProductAttention(q, q, q, { isCausal: true }),
      (n, t) => [normal(n, t, 8)],
      both,
    );
  });

  test("a length that may follow from two axes is refused, not guessed", async () => {
    // For m of 6 and n of 3: a third of the one, one less than the other.
    const source: Source = (a, b) => dx.zeros([a!.shape[0]! - 1]).add(b!.sum());
    const axes = { input0: { 0: "n" }, input1: { 0: "m" } };
    await agrees(source, (n, t) => [normal(n), normal(t)], axes);
    await expect(dx.io.onnx.serialize(source, [normal(3), normal(6)], { dynamicAxes: axes })).rejects.toThrow("in 2 ways");
  });

  test("operations, views and writes in place", async () => {
    await agrees(
      (x, y) => ({
        chosen: dx.where(x.gt(y), x, 0),
        powers: x.pow(2).add(y.div(3)),
        joined: dx.cat([x, y], 1),
        stacked: dx.stack([x, y], 1),
        product: x.t().matmul(y),
        part: x.slice(1, 1, 4).relu(),
        repeated: x.repeat([2, 1]),
        best: dx.topk(x, 2).values,
        spread: dx.std(x, 1),
        whole: x.to("int64"),
        last: x.select(0, -1),
      }),
      (n) => [normal(n, 6), normal(n, 6)],
      { input0: { 0: "batch" }, input1: { 0: "batch" } },
    );
    await agrees(
      (x) => {
        const y = x.clone();
        y.slice(1, 0, 2).mul_(3);
        return [y, y.add(x)];
      },
      () => [normal(2, 6)],
    );
    await agrees(
      (x) => [x.add(1), x.gt(0)],
      () => [normal(2, 3).to("float16")],
    );
    await agrees(
      (x) => x.mul(3).add(1),
      () => [tokens(2, 3).to("int32")],
    );
  });

  test("an exported file is read, exported again, and agrees", async () => {
    const layer = nn.linear(4, 2);
    const first = await dx.io.onnx.load(await dx.io.onnx.serialize(layer, normal(2, 4), { dynamicAxes: batch }));
    await agrees(
      (x) => first.call(x)["output"]!,
      (n) => [normal(n, 4)],
      batch,
    );
    first.dispose();
  });

  test("a file, with its weights inside or next to it", async () => {
    const layer = nn.linear(40, 20);
    const x = normal(1, 40);
    const wanted = await layer(x).toArray();
    for (const externalData of [false, true]) {
      const path = join(folder, `${externalData}.onnx`);
      const seen: number[] = [];
      await dx.io.onnx.export(layer, x, path, {
        externalData,
        onProgress: ({ bytes }) => seen.push(bytes),
        names: { inputs: ["x"], outputs: ["y"] },
      });
      expect(seen.length).toBeGreaterThan(0);
      expect(existsSync(`${path}.data`)).toBe(externalData);
      if (externalData) expect(statSync(path).size).toBeLessThan(1000);
      const model = await dx.io.onnx.load(path);
      expectClose(model.call({ x })["y"]!, wanted, { rtol: 1e-5, atol: 1e-6 });
      model.dispose();
    }
  });

  test("a write that fails leaves an older model and its weights as they were", async () => {
    const path = join(folder, "kept.onnx");
    const x = normal(1, 4);
    await dx.io.onnx.export(nn.linear(4, 3), x, path, { externalData: true });
    const before = [path, `${path}.data`].map((file) => readFileSync(file));
    const next = nn.linear(4, 3);
    const stopped = new AbortController();
    await expect(
      dx.io.onnx.export(next, x, path, { externalData: true, signal: stopped.signal, onProgress: () => stopped.abort() }),
    ).rejects.toThrow("aborted");
    // A folder where the weights should be written: the model was written before that is known.
    rmSync(`${path}.data`);
    mkdirSync(`${path}.data`);
    await expect(dx.io.onnx.export(next, x, path, { externalData: true })).rejects.toThrow(dx.ValueError);
    expect(readFileSync(path)).toEqual(before[0]);
    rmdirSync(`${path}.data`);
    writeFileSync(`${path}.data`, before[1]!);
    // A folder instead of the model: nothing replaces the weights.
    rmSync(path);
    mkdirSync(path);
    await expect(dx.io.onnx.export(next, x, path, { externalData: true })).rejects.toThrow(dx.ValueError);
    rmdirSync(path);
    writeFileSync(path, before[0]!);
    expect([path, `${path}.data`].map((file) => readFileSync(file))).toEqual(before);
    expect(readdirSync(folder).toSorted()).toEqual(["kept.onnx", "kept.onnx.data"]);
    await dx.io.onnx.export(next, x, path, { externalData: true });
    expect(readFileSync(`${path}.data`)).not.toEqual(before[1]);
  });

  test("tied weights are written once", async () => {
    const table = nn.embedding(10, 4);
    const head = nn.linear(4, 10, { bias: false });
    head.weight = table.weight;
    class Tied extends nn.Module {
      table = table;
      head = head;
      forward(x: dx.Tensor): dx.Tensor {
        return this.head(this.table(x));
      }
    }
    const model = new Tied();
    const { graph } = readModel(await dx.io.onnx.serialize(model, tokens(2, 3)));
    expect(graph!.initializers.filter((t) => t.dims.join() === "10,4").map((t) => t.name)).toEqual(["table.weight"]);
  });

  test("what has no form is listed, all of it, and no file is written", async () => {
    const path = join(folder, "no.onnx");
    const twice = (x: dx.Tensor): dx.Tensor => dx.linalg.pinv(x).add(dx.linalg.pinv(x));
    const source: Source = (x) => [twice(x), dx.dropout(x, { p: 0.5, training: true })];
    const error: unknown = await dx.io.onnx.export(source, normal(2, 2), path).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(dx.UnsupportedError);
    expect((error as Error).message).toMatch(/linalg.pinv \(2 times\);.*dropout/);
    expect(readdirSync(folder)).toEqual([]);
    const state = dx.zeros([2]);
    await expect(dx.io.onnx.serialize((x) => state.add_(x), normal(2))).rejects.toThrow(dx.UnsupportedError);
    expect(await state.toArray()).toEqual([0, 0]);
    await expect(dx.io.onnx.serialize((x) => (x.shape[0]! > 3 ? x.neg() : x), normal(2), { dynamicAxes: batch })).rejects.toThrow(
      "for other lengths",
    );
  });

  test("wrong arguments", async () => {
    const layer = nn.linear(4, 2);
    const x = normal(2, 4);
    await expect(dx.io.onnx.serialize(layer, x, { opset: 12 })).rejects.toThrow(dx.ValueError);
    await expect(dx.io.onnx.serialize(layer, x, { dynamicAxes: { other: { 0: "n" } } })).rejects.toThrow(dx.ValueError);
    await expect(dx.io.onnx.serialize(layer, x, { dynamicAxes: { input: { 5: "n" } } })).rejects.toThrow(dx.ValueError);
    await expect(dx.io.onnx.serialize(layer, x, { names: { inputs: ["a", "b"] } })).rejects.toThrow(dx.ValueError);
    await expect(dx.io.onnx.serialize((() => 3) as never, x)).rejects.toThrow(dx.DTypeError);
    await expect(dx.io.onnx.serialize(layer, 3 as never)).rejects.toThrow(dx.DTypeError);
    const path = join(folder, "stopped.onnx");
    await expect(dx.io.onnx.export(layer, x, path, { signal: AbortSignal.abort() })).rejects.toThrow("aborted");
    expect(readdirSync(folder)).toEqual([]);
    await expect(dx.io.onnx.export(layer, x, join(folder, "none", "a.onnx"))).rejects.toThrow(dx.ValueError);
  });
});

test("every definition has a form, or is listed as one that has none", async () => {
  const forms = new Set(await dx.io.onnx.exportable());
  const names = new Set(own.map((d) => d.name));
  const listed = Object.values(NOT_EXPORTED).flat();
  expect([...names].filter((name) => !forms.has(name) && !listed.includes(name))).toEqual([]);
  expect(listed.filter((name) => forms.has(name))).toEqual([]);
  expect([...forms].filter((name) => !names.has(name))).toEqual([]);
});
