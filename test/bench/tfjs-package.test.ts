/** A package of npm in the form of nsfwjs: modules with a model.json and with weights of 8 bits as base64, which the bench compares with ONNX Runtime. */
import { gzipSync } from "node:zlib";
import * as dx from "dxtensor";
import { Header } from "tar";
import { expect, it } from "vitest";
import { artifactsOf } from "../../bench/tfjs-package.ts";

/** An entry of a tar archive. */
function entry(name: string, text: string): Buffer {
  const header = Buffer.alloc(512);
  new Header({ path: name, size: text.length, type: "File", mode: 0o644 }).encode(header);
  return Buffer.concat([header, Buffer.from(text), Buffer.alloc(511 - ((text.length + 511) % 512))]);
}

/** A module as browserify writes it. */
const moduleOf = (value: string): string =>
  `!function(e){module.exports=e()}(function(){return function(f){var m={exports:{}};return f(m),m.exports}(function(m){m.exports=${value}})});`;
const layer = (class_name: string, config: object): object => ({ class_name, config });
const model = {
  modelTopology: {
    model_config: {
      class_name: "Sequential",
      config: {
        layers: [
          layer("InputLayer", { name: "x", batch_input_shape: [null, 2], dtype: "float32" }),
          layer("Dense", { name: "dense", units: 3, activation: "linear" }),
        ],
      },
    },
  },
  weightsManifest: [
    {
      paths: ["a", "b"],
      weights: [
        { name: "dense/kernel", shape: [2, 3], dtype: "float32", quantization: { min: -1, scale: 0.5, dtype: "uint8" } },
        { name: "dense/bias", shape: [3], dtype: "float32", quantization: { min: 0, scale: 0.25, dtype: "uint8" } },
      ],
    },
  ],
};
const base64 = (...bytes: number[]): string => JSON.stringify(Buffer.from(bytes).toString("base64"));
const archive = gzipSync(
  Buffer.concat([
    entry("package/dist/models/other/model.min.js", moduleOf("{}")),
    entry("package/dist/models/own/model.min.js", moduleOf(JSON.stringify(model))),
    // Not in their order; the second begins inside of a weight.
    entry("package/dist/models/own/group1-shard2of2.min.js", moduleOf(base64(5, 4, 2, 0))),
    entry("package/dist/models/own/group1-shard1of2.min.js", moduleOf(base64(0, 1, 2, 3, 4))),
    Buffer.alloc(1024),
  ]),
);

it("is read in the order of its weights' names, and gives what its numbers say", async () => {
  using read = await dx.io.tfjs.load(artifactsOf(archive, "package/dist/models/own"), { device: "cpu" });
  using x = dx.tensor([[1, 2]], { device: "cpu" });
  // Kernel [[-1, -0.5, 0], [0.5, 1, 1.5]], bias [1, 0.5, 0].
  for (const eager of [true, false, false, false]) {
    const [y] = Object.values(read.call({ x }, { eager }));
    expect(y!.toArraySync()).toEqual([[1, 2, 3]]);
    y!.dispose();
  }
});

it("without a model says so", () => {
  expect(() => artifactsOf(archive, "package/dist/models/none")).toThrow("no model");
});
