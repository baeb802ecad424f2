/** Networks as ONNX Runtime optimizes them for one machine (record_channel_blocks.py), with the results of the networks before. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { unblocked } from "../../src/onnx/channel-blocks.ts";
import { clean, eachDevice } from "../device.ts";
import { expectClose } from "../tolerance.ts";
import { attribute, graph, model, node, tensor, value } from "./write.ts";

interface Recorded {
  readonly model: string;
  readonly operators: Readonly<Record<string, number>>;
  readonly y: string;
  readonly input: string;
  readonly shape: readonly number[];
  readonly wanted: string;
  readonly wantedShape: readonly number[];
}
const recorded = JSON.parse(gunzipSync(readFileSync(new URL("channel-blocks.json.gz", import.meta.url))).toString()) as Record<
  string,
  Recorded
>;
const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"));
const floatsOf = (base64: string): Float32Array => new Float32Array(bytesOf(base64).buffer);
const AMBIGUOUS = "multiples of 16";

eachDevice("channels in blocks", (device) => {
  test("give the network's results, eagerly and compiled", async () => {
    await clean(device, async () => {
      for (const [name, r] of Object.entries(recorded)) {
        using read = await dx.io.onnx.load(bytesOf(r.model), { device, ...(name === AMBIGUOUS ? { channelBlock: 16 } : {}) });
        for (const eager of [true, false]) {
          using x = dx.tensor(floatsOf(r.input), { shape: r.shape, device });
          using y = read.call({ x }, { eager })[r.y]!;
          expect(y.shape).toEqual(r.wantedShape);
          expectClose(y, [...floatsOf(r.wanted)], { rtol: 1e-4, atol: 1e-4 });
        }
      }
    });
  });
});

test("every operator of the domain was recorded", () => {
  const kinds = new Set(Object.values(recorded).flatMap(({ operators }) => Object.keys(operators)));
  expect([...kinds].toSorted()).toEqual(dx.io.onnx.operators()["com.microsoft.nchwc"]);
});

test("a block that the shapes do not tell must be given, and one that they exclude is refused", async () => {
  const bytes = bytesOf(recorded[AMBIGUOUS]!.model);
  await expect(dx.io.onnx.load(bytes, { device: "cpu" })).rejects.toThrow(dx.UnsupportedError);
  await expect(dx.io.onnx.load(bytes, { device: "cpu" })).rejects.toThrow(/channelBlock/);
  const told = bytesOf(recorded["convolutions"]!.model);
  await expect(dx.io.onnx.load(told, { device: "cpu", channelBlock: 8 })).rejects.toThrow(dx.FormatError);
  await expect(dx.io.onnx.load(told, { device: "cpu", channelBlock: 4 as 8 })).rejects.toThrow(dx.ValueError);
});

const convolution = (weights: readonly string[], shape: readonly number[]): Uint8Array =>
  model({
    opset: 13,
    domains: { "com.microsoft.nchwc": 1 },
    graph: graph({
      inputs: [value("x", 1, [1, 3, 4, 4]), value("v", 1, shape)],
      outputs: [value("y", 1, [1, 8, 4, 4])],
      initializers: [tensor("w", shape, new Float32Array(shape.reduce((a, b) => a * b, 1)))],
      nodes: [node("Conv", ["x", ...weights], ["y"], [attribute.ints("kernel_shape", [1, 1])], "com.microsoft.nchwc")],
    }),
  });

test("weights that are no constants, or no multiples of a block, are refused", async () => {
  await expect(dx.io.onnx.load(convolution(["v"], [8, 3, 1, 1]), { device: "cpu" })).rejects.toThrow(/float32 in the file.*v/s);
  await expect(dx.io.onnx.load(convolution([], [8, 3, 1, 1]), { device: "cpu" })).rejects.toThrow(dx.UnsupportedError);
  await expect(dx.io.onnx.load(convolution(["w"], [9, 3, 1, 1]), { device: "cpu" })).rejects.toThrow(dx.FormatError);
  using read = await dx.io.onnx.load(convolution(["w"], [8, 3, 1, 1]), { device: "cpu" });
  expect(read.call({ x: dx.ones([1, 3, 4, 4]), v: dx.zeros([8, 3, 1, 1]) })["y"]!.shape).toEqual([1, 8, 4, 4]);
});

test("weights of blocks of 8 and of 16 get ONNX's order", () => {
  for (const [shape, groups, block, inner] of [
    [[16, 16, 3, 2], 1, 8, 8],
    [[32, 16, 1, 1], 1, 16, 16],
    [[16, 3, 2, 2], 1, 8, 1],
    [[16, 1, 3, 3], 16, 8, 1],
    [[32, 8, 2, 1], 2, 8, 8],
  ] as const) {
    const [o, i, h, w] = shape;
    const at = (a: number, b: number, k: number): number => (a * i + b) * h * w + k;
    const blocks = new Float32Array(o * i * h * w);
    for (let a = 0; a < o; a++)
      for (let b = 0; b < i; b++)
        for (let k = 0; k < h * w; k++) {
          const [ob, ib] = [Math.floor(a / block), Math.floor(b / inner)];
          blocks[(((ob * (i / inner) + ib) * h * w + k) * inner + (b % inner)) * block + (a % block)] = at(a, b, k);
        }
    expect(unblocked(blocks, shape, groups, block)).toEqual(Float32Array.from(blocks.keys()));
  }
});
