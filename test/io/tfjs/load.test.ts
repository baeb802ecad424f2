/** Models of TensorFlow.js 4.22 and their results (record.mjs). */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

interface Array64 {
  readonly shape: readonly number[];
  readonly values: string;
}
interface Recorded {
  readonly name: string;
  readonly modelTopology: object;
  readonly weightSpecs: readonly { readonly name: string; readonly shape: readonly number[]; readonly dtype: string }[];
  readonly weightData: string;
  readonly inputs: readonly (Array64 & { readonly name: string })[];
  readonly outputs: readonly Array64[];
  readonly names?: readonly string[];
}
const recorded = JSON.parse(gunzipSync(readFileSync(new URL("recorded.json.gz", import.meta.url))).toString()) as {
  readonly layers: readonly Recorded[];
  readonly graphs: readonly Recorded[];
};
const named = (name: string): Recorded => [...recorded.layers, ...recorded.graphs].find((r) => r.name === name)!;

const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"));
const floatsOf = (base64: string): Float32Array => new Float32Array(bytesOf(base64).buffer);
const artifactsOf = ({ modelTopology, weightSpecs, weightData }: Recorded): dx.io.tfjs.TfjsArtifacts => ({
  modelTopology,
  weightSpecs,
  weightData: bytesOf(weightData),
});

const tensorsOf = (r: Recorded, device: string): dx.Tensor[] =>
  r.inputs.map(({ shape, values }) => dx.tensor(floatsOf(values), { shape, device }));

function expectResults(made: readonly dx.Tensor[], r: Recorded): void {
  expect(made.map((y) => y.shape)).toEqual(r.outputs.map((y) => y.shape));
  made.forEach((y, i) => expectClose(dx.to(y, "float32"), [...floatsOf(r.outputs[i]!.values)], { rtol: 2e-5, atol: 2e-5 }));
}

eachDevice("a layers model gives TensorFlow.js's results", (device) => {
  for (const r of recorded.layers)
    it(r.name, () =>
      dx.scope(async () => {
        using model = await dx.io.tfjs.load(artifactsOf(r), { device });
        const inputs = tensorsOf(r, device);
        const byName = Object.fromEntries(model.inputs.map(({ name }, i) => [name, inputs[i]!]));
        for (let i = 0; i < 2; i++) expectResults(Object.values(model.call(byName)), r);
        expectResults(Object.values(model.call(byName, { eager: true })), r);
      }),
    );
});

eachDevice("a graph model gives TensorFlow.js's results", (device) => {
  for (const r of recorded.graphs)
    it(r.name, () =>
      dx.scope(async () => {
        using model = await dx.io.tfjs.load(artifactsOf(r), { device, outputs: r.names });
        expect(model.inputs.map(({ name }) => name)).toEqual(["x"]);
        const [x] = tensorsOf(r, device);
        for (let i = 0; i < 2; i++) expectResults(Object.values(model.call(x!)), r);
      }),
    );
});

const conv = named("conv2d same, strides 2, relu");
const classes = named("to classes");
const folder = mkdtempSync(join(tmpdir(), "tfjs-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A folder with a model.json and files of weights. */
function written(name: string, r: Recorded, { parts = 1, change = (_: Record<string, unknown>): void => {} } = {}): string {
  const path = join(folder, name);
  const bytes = bytesOf(r.weightData);
  const paths = Array.from({ length: parts }, (_, i) => `${name}-${i + 1}of${parts}.bin`);
  const size = Math.ceil(bytes.length / parts);
  paths.forEach((file, i) => writeFileSync(join(folder, file), bytes.subarray(i * size, (i + 1) * size)));
  const json = { format: "layers-model", modelTopology: r.modelTopology, weightsManifest: [{ paths, weights: [...r.weightSpecs] }] };
  change(json);
  writeFileSync(path, JSON.stringify(json));
  return path;
}

eachDevice("a model.json", (device) => {
  it("has its weights in files, which are read in order", () =>
    dx.scope(async () => {
      const path = written("model.json", conv, { parts: 3 });
      for (const source of [path, pathToFileURL(path), folder]) {
        using model = await dx.io.tfjs.load(source, { device });
        expectResults([model(...tensorsOf(conv, device))], conv);
      }
    }));

  it("may have weights of 8 and 16 bits", () =>
    dx.scope(async () => {
      const specs = conv.weightSpecs;
      const values = floatsOf(conv.weightData);
      for (const [dtype, scale, bound] of [
        ["uint8", 1 / 128, 0.1],
        ["uint16", 1 / 32768, 1e-3],
        ["float16", 1, 5e-3],
      ] as const) {
        const codes = Array.from(values, (v) => Math.round((v + 1) / scale));
        const packed = dtype === "uint8" ? Uint8Array.from(codes) : dtype === "uint16" ? Uint16Array.from(codes) : null;
        const halves = dx.tensor(values, { device: "cpu" }).to("float16").dataSync();
        const quantization = dtype === "float16" ? { dtype } : { dtype, scale, min: -1 };
        using model = await dx.io.tfjs.load(
          { modelTopology: conv.modelTopology, weightSpecs: specs.map((s) => ({ ...s, quantization })), weightData: packed ?? (halves as unknown as Uint16Array) },
          { device },
        ); // prettier-ignore
        const difference = dx.sub(
          model(...tensorsOf(conv, device)),
          dx.tensor(floatsOf(conv.outputs[0]!.values), { shape: conv.outputs[0]!.shape, device }),
        );
        expect(dx.abs(difference).max().itemSync()).toBeLessThan(bound);
      }
    }));

  it("becomes a module that learns, and an ONNX file", () =>
    dx.scope(async () => {
      using model = await dx.io.tfjs.load(artifactsOf(classes), { device, trainable: true });
      const inputs = tensorsOf(classes, device);
      const loss = (): dx.Tensor => dx.neg(dx.log(model(...inputs).narrow(1, 1, 1)).sum());
      const before = loss();
      before.backward();
      const optimizer = dx.optim.sgd(model.parameters(), { lr: 0.05 });
      optimizer.step();
      expect(loss().itemSync()).toBeLessThan(before.itemSync());
      using again = await dx.io.onnx.load(await dx.io.onnx.serialize(model, inputs[0]!), { device });
      expect(dx.allcloseSync(again(...inputs), model(...inputs), { atol: 1e-5 })).toBe(true);
    }));

  it("may end at any layer", () =>
    dx.scope(async () => {
      using model = await dx.io.tfjs.load(artifactsOf(classes), { device, outputs: ["global_average_pooling2d_GlobalAveragePooling2D1"] });
      expect(model(...tensorsOf(classes, device)).shape).toEqual([2, 4]);
    }));
});

describe("what is no model of TensorFlow.js is a typed error", () => {
  const failure = async (source: Parameters<typeof dx.io.tfjs.load>[0], options = {}): Promise<string> => {
    const error: unknown = await dx.io.tfjs.load(source, { device: "cpu", ...options }).then(
      (model) => model.dispose(),
      (e: unknown) => e,
    );
    expect(error).toBeInstanceOf(dx.DxError);
    return (error as Error).message;
  };

  it("files", async () => {
    const cases: readonly (readonly [name: string, change: (json: Record<string, unknown>) => void, message: RegExp])[] = [
      ["none", (json) => delete json["modelTopology"], /must be a model\.json of TensorFlow\.js, with modelTopology/],
      ["missing", (json) => (json["weightsManifest"] = [{ paths: ["nowhere.bin"], weights: [] }]), /nowhere\.bin must be a file that can be read/],
      ["outside", (json) => (json["weightsManifest"] = [{ paths: ["../up.bin"], weights: [] }]), /files in its folder; received \.\.\/up\.bin/],
      ["absolute", (json) => (json["weightsManifest"] = [{ paths: ["/etc/hostname"], weights: [] }]), /files in its folder/],
      ["lists", (json) => (json["weightsManifest"] = 3), /a list weightsManifest; received 3/],
      ["few", (json) => (json["weightsManifest"] as { weights: unknown[] }[])[0]!.weights.pop(), /bytes of weights, as its list says/],
      ["many", (json) => (json["weightsManifest"] as { weights: unknown[] }[])[0]!.weights.push({ name: "x", shape: [9], dtype: "float32" }), /as x needs/],
      ["dtype", (json) => (json["weightsManifest"] as { weights: unknown[] }[])[0]!.weights.push({ name: "x", shape: [], dtype: "string" }), /float32, int32 or bool; received string/],
      ["shape", (json) => (json["weightsManifest"] as { weights: unknown[] }[])[0]!.weights.push({ name: "x", shape: [-1], dtype: "int32" }), /x of shape \[-1\]/],
      ["class", (json) => (json["modelTopology"] = { class_name: "Picture", config: {} }), /of class Model, Functional or Sequential; received "Picture"/],
    ]; // prettier-ignore
    for (const [name, change, message] of cases) expect(await failure(written(`${name}.json`, conv, { change }))).toMatch(message);
    writeFileSync(join(folder, "text.json"), "{");
    expect(await failure(join(folder, "text.json"))).toMatch(/a model\.json of TensorFlow\.js/);
    expect(await failure(join(folder, "nowhere.json"))).toMatch(/a file that can be read/);
    expect(await failure({} as dx.io.tfjs.TfjsArtifacts)).toMatch(/an object with modelTopology/);
    expect(await failure({ modelTopology: {}, weightData: [3] as never })).toMatch(/weightData must be bytes/);
    expect(await failure(artifactsOf(conv), { outputs: ["there"] })).toMatch(/a model with the layer there/);
    expect(await failure(artifactsOf(conv), { outputs: [] })).toMatch(/outputs must be names/);
  });

  it.skipIf(process.platform === "win32")("a link out of the folder", async () => {
    symlinkSync("/etc/hostname", join(folder, "link.bin"));
    const change = (json: Record<string, unknown>): void => void (json["weightsManifest"] = [{ paths: ["link.bin"], weights: [] }]);
    expect(await failure(written("link.json", conv, { change }))).toMatch(/a link to/);
  });

  const sequential = (...layers: readonly object[]): dx.io.tfjs.TfjsArtifacts => ({
    modelTopology: { class_name: "Sequential", config: { layers } },
  });
  const input = { class_name: "InputLayer", config: { name: "x", batch_input_shape: [null, 4, 4, 2], dtype: "float32" } };
  const layer = (class_name: string, config: object): object => ({ class_name, config: { name: "one", ...config } });

  it("layers", async () => {
    expect(await failure(sequential(input, layer("Conv9D", {}), layer("Lambda", {}), layer("Lambda", {})))).toMatch(
      /received Conv9D \(1: one\), Lambda \(2: one, one\)/,
    );
    expect(await failure(sequential())).toMatch(/with layers; received none/);
    expect(await failure(sequential(layer("Dense", { units: 2 })))).toMatch(/batch_input_shape of one/);
    expect(await failure(sequential(input, layer("Dense", { units: 2 })))).toMatch(
      /all weights of its layers; received none named one\/(?:kernel|bias)/,
    );
    expect(await failure(sequential(input, layer("Flatten", { data_format: "channels_first" })))).toMatch(/data_format channels_first/);
    expect(await failure(sequential(input, layer("Activation", { activation: "maxout" })))).toMatch(/activation maxout/);
    expect(await failure(sequential(input, layer("MaxPooling2D", { pool_size: "two" })))).toMatch(/2 integers pool_size of one/);
    const kernel = (shape: readonly number[]): object => ({ weightSpecs: [{ name: "one/kernel", shape, dtype: "float32" }], weightData: new Float32Array(shape.reduce((n, d) => n * d, 1)) }); // prettier-ignore
    expect(await failure({ ...sequential(input, layer("Conv2D", { use_bias: false })), ...kernel([5]) })).toMatch(
      /one\/kernel of 4 axes; received \[5\]/,
    );
    expect(await failure({ ...sequential(input, layer("LSTM", { units: 9, use_bias: false })), ...kernel([2, 8]) })).toMatch(
      /of 2 axes, the last of 36/,
    );
    const circle = ["a", "b"].map((name) => ({
      class_name: "ReLU",
      name,
      config: { name },
      inbound_nodes: [[[name === "a" ? "b" : "a", 0, 0, {}]]],
    }));
    const ends = { input_layers: [], output_layers: [["a", 0, 0]] };
    expect(await failure({ modelTopology: { class_name: "Model", config: { layers: circle, ...ends } } })).toMatch(/without a circle/);
    expect(await failure({ modelTopology: { class_name: "Model", config: { layers: [], ...ends } } })).toMatch(/none called a/);
  });

  it("nodes", async () => {
    const graph = (...node: readonly object[]): dx.io.tfjs.TfjsArtifacts => ({ modelTopology: { node } });
    const x = { name: "x", op: "Placeholder", attr: { dtype: { type: "DT_FLOAT" } } };
    expect(await failure(graph(x, { name: "y", op: "Merge", input: ["x"] }, { name: "z", op: "Switch", input: ["y"] }))).toMatch(
      /Merge \(1: y\), Switch \(1: z\)/,
    );
    expect(await failure(graph(x, { name: "y", op: "Relu", input: ["u"] }))).toMatch(/none called u/);
    expect(await failure(graph(x, { name: "y", op: "Relu", input: ["y"] }, { name: "z", op: "Relu", input: ["y"] }))).toMatch(/circle/);
    expect(await failure(graph(x, { name: "y", op: "AddV2", input: ["x"] }))).toMatch(/with 2 inputs of y; received 1/);
    expect(await failure(graph(x, { name: "y", op: "Relu", input: ["x:1"] }))).toMatch(/with a result 1 of x/);
    expect(await failure(graph(x, { name: "c", op: "Const" }, { name: "y", op: "AddV2", input: ["x", "c"] }))).toMatch(
      /elements of all its constants; received none of c/,
    );
    expect(await failure(graph(x, x))).toMatch(/each node once; received x twice/);
    expect(await failure(graph({ ...x, attr: { dtype: { type: "DT_STRING" } } }))).toMatch(/elements of DT_STRING/);
    expect(await failure(graph(x, { name: "y", op: "Mean", input: ["x", "x"] }))).toMatch(/input 1 that is no constant/);
  });
});
