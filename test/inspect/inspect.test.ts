/** What `dxtensor inspect` finds in files of every format; weights are not read. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { zipSync } from "fflate";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { inspect } from "../../src/inspect/inspect.ts";
import { layoutOf } from "../../src/inspect/layout.ts";
import { pageOf } from "../../src/inspect/page.ts";
import { nameFilter, totalsOf } from "../../src/inspect/report.ts";
import { runModel } from "../../src/model-run/run-model.ts";
import { bytesText, describe, jsonOf, valueText } from "../../src/inspect/text.ts";
import { generator } from "../onnx/mutate.ts";
import { attribute, graph, model, node, tensor, value } from "../onnx/write.ts";

const repository = (name: string): string => fileURLToPath(new URL(`../io/${name}`, import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-inspect-"));
});
afterAll(() => rmSync(folder, { recursive: true }));
const path = (name: string): string => join(folder, name);

const tensors = { "a.weight": dx.ones([2, 3], { device: "cpu" }), "a.bias": dx.ones([3], { dtype: "float16", device: "cpu" }) };
const rows = [
  { name: "a.weight", dtype: "float32", shape: [2, 3], sizeInBytes: 24 },
  { name: "a.bias", dtype: "float16", shape: [3], sizeInBytes: 6 },
];

test("safetensors, an index, a folder and NumPy's files", async () => {
  await dx.io.safetensors.save(path("model.safetensors"), tensors, { made: "here" });
  writeFileSync(
    path("x.safetensors.index.json"),
    JSON.stringify({ weight_map: { "a.weight": "model.safetensors", "a.bias": "model.safetensors" } }),
  );
  for (const name of ["model.safetensors", "x.safetensors.index.json", ""]) {
    const report = await inspect(path(name));
    expect([report.format, report.metadata, report.tensors]).toEqual(["safetensors", { made: "here" }, rows]);
    expect(report.files).toEqual([{ path: path("model.safetensors"), sizeInBytes: readFileSync(path("model.safetensors")).length }]);
  }
  await dx.io.npz.save(path("x.npz"), tensors);
  expect(await inspect(path("x.npz"))).toMatchObject({ format: "npz", tensors: rows });
  await dx.io.npy.save(path("x.npy"), tensors["a.weight"]);
  expect(await inspect(path("x.npy"))).toMatchObject({ format: "npy", tensors: [{ ...rows[0], name: "" }] });
});

test("GGUF, in parts too, without its weights", async () => {
  const report = await inspect(repository("gguf/files/all.gguf"));
  expect(report.metadata).toMatchObject({ version: 3, "general.architecture": "llama" });
  expect(report.tensors.find(({ name }) => name === "Q4_K")).toEqual({ name: "Q4_K", dtype: "Q4_K", shape: [2, 256], sizeInBytes: 288 });
  const parts = await inspect(repository("gguf/files/split-00002-of-00003.gguf"));
  expect([parts.files.length, parts.tensors.length]).toEqual([3, report.tensors.length]);
});

test("a model.json of TensorFlow.js, and its folder", async () => {
  const inner = join(folder, "tfjs");
  mkdirSync(inner);
  const weights = [
    { name: "dense/kernel", shape: [4, 2], dtype: "float32", quantization: { dtype: "uint8", min: 0, scale: 1 } },
    { name: "dense/bias", shape: [2], dtype: "float32" },
  ];
  const config = { layers: [{ class_name: "Dense", config: { name: "dense", units: 2, batch_input_shape: [null, 4] } }] };
  const json = {
    modelTopology: { class_name: "Sequential", config },
    weightsManifest: [{ paths: ["w.bin"], weights }],
    generatedBy: "keras v2",
  };
  writeFileSync(join(inner, "model.json"), JSON.stringify(json));
  writeFileSync(join(inner, "w.bin"), new Uint8Array(16));
  for (const each of [inner, join(inner, "model.json")]) {
    const report = await inspect(each);
    expect([report.format, report.metadata, report.files[1]]).toEqual([
      "tfjs",
      { format: "layers-model", generatedBy: "keras v2" },
      { path: join(inner, "w.bin"), sizeInBytes: 16 },
    ]);
    expect(report.tensors).toEqual([
      { name: "dense/kernel", dtype: "uint8", shape: [4, 2], sizeInBytes: 8 },
      { name: "dense/bias", dtype: "float32", shape: [2], sizeInBytes: 8 },
    ]);
  }
  const options = { input: [], dim: [], shape: [], fill: "ones", seed: 0, device: "cpu", eager: false, repeat: 0, profile: null } as const;
  const { outputs } = await runModel(inner, options, () => {});
  expect(outputs).toMatchObject([{ name: "dense", shape: [1, 2], min: 0, max: 0 }]);
});

test("PyTorch's files: paths of tensors, and the other values", async () => {
  const report = await inspect(repository("pytorch/files/training.pt"));
  expect(report.format).toBe("pytorch");
  expect(report.tensors.length).toBeGreaterThan(10);
  for (const { name, sizeInBytes } of report.tensors) expect([name, sizeInBytes! >= 0]).toEqual([name, true]);
  expect(report.tensors.some(({ name }) => name.includes(".weight"))).toBe(true);
});

test("checkpoints, and folders of them", async () => {
  const run = mkdtempSync(path("run-"));
  for (const step of [1, 2]) await dx.save(join(run, `step-${step}.safetensors`), { step, weight: tensors["a.weight"] });
  for (const name of ["", "step-2.safetensors"]) {
    const report = await inspect(join(run, name));
    expect([report.format, report.files[0]!.path]).toEqual(["checkpoint", join(run, "step-2.safetensors")]);
    expect(report.metadata["state"]).toMatchObject({ step: 2 });
    expect(report.tensors.map(({ dtype, shape }) => [dtype, shape])).toEqual([["float32", [2, 3]]]);
  }
});

const branch = (name: string): ReturnType<typeof graph> =>
  graph({
    inputs: [],
    outputs: [value(`${name}_out`, 1, [2])],
    initializers: [tensor(`${name}_w`, [2], Float32Array.of(1, 2))],
    nodes: [node("Identity", [`${name}_w`], [`${name}_out`])],
  });

const onnx = (): Uint8Array =>
  model({
    opset: 18,
    graph: graph({
      inputs: [value("x", 1, ["n", 3]), value("yes", 9, [])],
      outputs: [value("y", 1, ["n", 4])],
      initializers: [tensor("w", [3, 4], new Float32Array(12)), tensor("axes", [1], BigInt64Array.of(0n))],
      nodes: [
        node("MatMul", ["x", "w"], ["p"]),
        node("Constant", [], ["c"], [attribute.tensor("value", tensor("", [4], new Float32Array(4)))]),
        node("Add", ["p", "c"], ["q"]),
        node("If", ["yes"], ["r"], [attribute.graph("then_branch", branch("a")), attribute.graph("else_branch", branch("b"))]),
        node("LeakyRelu", ["q"], ["y"], [attribute.float("alpha", 0.5)]),
      ],
    }),
  });

test("ONNX: the graph, and weights of initializers, constants and branches", async () => {
  writeFileSync(path("model.onnx"), onnx());
  const report = await inspect(path("model.onnx"));
  const found = Object.fromEntries(report.tensors.map(({ name, dtype, shape, sizeInBytes }) => [name, [dtype, shape, sizeInBytes]]));
  expect(found).toEqual({
    "If.else_branch.b_w": ["float32", [2], 8],
    "If.then_branch.a_w": ["float32", [2], 8],
    axes: ["int64", [1], 8],
    c: ["float32", [4], 16],
    w: ["float32", [3, 4], 48],
  });
  expect(report.graph!.inputs).toEqual([
    { name: "x", dtype: "float32", shape: ["n", 3] },
    { name: "yes", dtype: "bool", shape: [] },
  ]);
  expect(report.graph!.nodes.map(({ type }) => type)).toEqual(["MatMul", "Constant", "Add", "If", "LeakyRelu"]);
  expect(report.graph!.nodes[4]!.attributes).toEqual({ alpha: "0.5" });
  const text = describe(report);
  expect(text).toContain("5 nodes: Add 1, Constant 1, If 1, LeakyRelu 1, MatMul 1");
  expect(text).toMatch(/^w +float32 +\[3, 4\] +48$/m);
  expect(text).toMatch(/^all +5 +21 +88$/m);
  const json = JSON.parse(jsonOf(report)) as { readonly ok: boolean; readonly totals: readonly unknown[] };
  expect([json.ok, json.totals]).toEqual([true, totalsOf(report.tensors)]);
});

test("a page names every node, and nothing in it ends the script", async () => {
  writeFileSync(path("model.onnx"), onnx());
  const report = await inspect(path("model.onnx"));
  const hostile = { ...report, metadata: { "</script><b>": "<img src=x>" } };
  const page = pageOf(hostile, report.graph!);
  for (const type of ["MatMul", "Add", "If", "LeakyRelu"]) expect(page).toContain(`"type":"${type}"`);
  expect(page).not.toContain('"type":"Constant"');
  expect(page).not.toMatch(/<b>|<img/);
  expect(page.match(/<\/script>/g)!.length).toBe(2);
  expect(page).not.toMatch(/https?:\/\/(?!www\.w3\.org)/);
});

test("what cannot be read is a typed error", async () => {
  const refused = async (name: string, text: RegExp): Promise<void> => {
    const error = await inspect(path(name)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(dx.DxError);
    expect(String(error)).toMatch(text);
  };
  await refused("absent", /ENOENT/);
  writeFileSync(path("empty"), "");
  await refused("empty", /a file of a known format/);
  writeFileSync(path("text"), "This is no model at all, but text.");
  await refused("text", /a file of a known format; received .*, read as an ONNX model\. Known are ONNX, GGUF/);
  writeFileSync(
    path("program.pt"),
    zipSync({ "m/data/0": new Uint8Array(4), "m/constants.pkl": new Uint8Array(2), "m/data.pkl": new Uint8Array(2) }),
  );
  await refused("program.pt", /a program of TorchScript/);
  writeFileSync(path("other.zip"), zipSync({ "a.txt": new Uint8Array(4) }));
  await refused("other.zip", /an archive of \.npy files/);
  const whole = onnx();
  for (let length = 1; length < whole.length; length += 7) {
    writeFileSync(path("cut.onnx"), whole.subarray(0, length));
    await inspect(path("cut.onnx")).catch((error: unknown) => expect(error).toBeInstanceOf(dx.DxError));
  }
  writeFileSync(path("cut.gguf"), readFileSync(repository("gguf/files/all.gguf")));
  truncateSync(path("cut.gguf"), 900);
  await refused("cut.gguf", /cut off/);
});

test("models with bytes changed are read, or are typed errors", async () => {
  const whole = onnx();
  const random = generator(7);
  let errors = 0;
  for (let i = 0; i < 500; i++) {
    const bytes = Uint8Array.from(whole);
    for (let n = 1 + Math.floor(random() * 3); n > 0; n--) bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    writeFileSync(path("changed.onnx"), bytes);
    const report = await inspect(path("changed.onnx")).catch((error: unknown) => error);
    if (report instanceof Error) {
      errors++;
      expect([i, report instanceof dx.DxError ? "typed" : report]).toEqual([i, "typed"]);
    } else {
      const found = report as Awaited<ReturnType<typeof inspect>>;
      describe(found);
      if (found.graph !== null) pageOf(found, found.graph);
    }
  }
  expect(errors).toBeGreaterThan(100);
});

test("a layout: layers go down, nodes of a layer do not overlap, edges meet their nodes", () => {
  const edges: [number, number][] = Array.from({ length: 300 }, (_, i) => [i, i + 1 + ((i * 7) % 40)]);
  const { nodes, edges: lines, width, height } = layoutOf(341, edges);
  edges.forEach(([from, to], i) => {
    expect(nodes[from]!.y).toBeLessThan(nodes[to]!.y);
    expect([lines[i]![0], lines[i]!.at(-1)]).toEqual([nodes[from], nodes[to]]);
  });
  const sorted = nodes.toSorted((a, b) => a.y - b.y || a.x - b.x);
  sorted.forEach((n, i) => {
    if (i > 0 && sorted[i - 1]!.y === n.y) expect(n.x - sorted[i - 1]!.x).toBeGreaterThan(132);
    expect([n.x >= 0 && n.x <= width, n.y >= 0 && n.y <= height]).toEqual([true, true]);
  });
  expect(layoutOf(2, [[0, 1], [1, 0]]).nodes.length).toBe(2); // prettier-ignore
  expect(layoutOf(0, []).height).toBe(0);
});

test("texts and filters", () => {
  expect([0, 999, 1000, 98_362_432].map(bytesText)).toEqual(["0 bytes", "999 bytes", "1.0 kB", "98.4 MB"]);
  expect([Int32Array.of(1, 2, 3, 4, 5), ["a"], 2n ** 60n, { a: 1n }].map(valueText)).toEqual([
    "[1, 2, 3, 4, … 5 items]",
    '["a"]',
    "1152921504606846976",
    '{\\"a\\":\\"1\\"}',
  ]);
  expect(["blk.0.attn_q.weight", "blk.1.attn_q.bias", "blkx0"].map(nameFilter("blk.*weight"))).toEqual([true, false, false]);
});
