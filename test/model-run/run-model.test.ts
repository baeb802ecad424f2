/** What `dxtensor run` does, and the command on the build. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { liveBuffers, settledBuffers } from "../device.ts";
import type { ModelRunOptions } from "../../src/model-run/options.ts";
import { runModel, type ModelRunReport } from "../../src/model-run/run-model.ts";
import { describeRun } from "../../src/model-run/run-report.ts";

const folder = mkdtempSync(join(tmpdir(), "dxtensor-run-model-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const command = (...args: string[]): { readonly status: number | null; readonly stdout: string; readonly stderr: string } =>
  spawnSync(process.execPath, [resolve("dist", "cli", "main.js"), "run", ...args, "--device", "cpu"], { encoding: "utf8" });

const run = (options: Partial<ModelRunOptions> = {}, file = model): Promise<ModelRunReport> =>
  runModel(file, { input: [], dim: [], shape: [], fill: "random", seed: 0, device: "cpu", eager: false, repeat: 0, profile: null, ...options }, () => {}); // prettier-ignore

const model = join(folder, "model.onnx");
beforeAll(async () => {
  // y/1 = x · x' + n for any batch; the name of the output cannot be a file's.
  const f = (x: dx.Tensor, n: dx.Tensor): dx.Tensor => x.matmul(x.transpose(0, 1)).add(n.to("float32"));
  const example = [dx.ones([2, 3], { device: "cpu" }), dx.ones([1], { dtype: "int32", device: "cpu" })] as const;
  await dx.io.onnx.export(f, [...example], model, { names: { inputs: ["x", "n"], outputs: ["y/1"] }, dynamicAxes: { x: { 0: "batch" } } });
});

it("runs a model on arrays, writes its outputs, and times it", async () => {
  const x = join(folder, "x=1.npy");
  await dx.io.npy.save(x, dx.tensor([[1, 2, 3], [4, 5, NaN]], { device: "cpu", dtype: "float64" })); // prettier-ignore
  const out = join(folder, "out");
  const { status, stdout, stderr } = command(model, "--input", `x=${x}`, "--input", "n=2", "--repeat", "3", "--profile", "2", "--output", out, "--json"); // prettier-ignore
  expect([status, stderr]).toEqual([0, ""]);
  const report = JSON.parse(stdout) as ModelRunReport & { readonly times: { readonly median: number } };
  expect(report.inputs.map((i) => [i.name, i.shape, i.from])).toEqual([
    ["x", [2, 3], `${x}, of float64`],
    ["n", [1], "2"],
  ]);
  expect(report.outputs).toMatchObject([{ file: join(out, "y_1.npy"), min: 16, mean: 16, nans: 3 }]);
  expect(await (await dx.io.npy.load(join(out, "y_1.npy"), { device: "cpu" })).toArray()).toEqual([[16, NaN], [NaN, NaN]]); // prettier-ignore
  expect(report.times.calls.length).toBe(3);
  expect(report.times.median).toBeGreaterThan(0);
  expect(report.slowest!.length).toBeGreaterThan(0);
  expect(report.slowest![0]!.node).toMatch(/\(\w+\)$| that makes /);
});

it("fills inputs by names of lengths and by shapes, the same for the same seed", async () => {
  const text = describeRun(await run({ dim: ["batch=4"], repeat: 2 }));
  expect(text).toMatch(/^x {6}float32 {2}\[4, 3\] {2}random$/m);
  expect(text).toMatch(/^first call {2}\d+\.\d+ ms$/m);
  expect(text).toMatch(/^2 more {6}\d+\.\d+ ms \(median\)/m);
  const options = { shape: ["x=5,3"], input: ["n=zeros"], seed: 7 };
  const [once, again] = [await run({ ...options, eager: true }), await run(options)];
  expect(again.inputs[0]!.shape).toEqual([5, 3]);
  expect(once.outputs[0]!.mean).toBeCloseTo(again.outputs[0]!.mean!, 5);
  expect((await run({ fill: "ones" })).outputs).toMatchObject([{ shape: [1, 1], min: 4, max: 4 }]);
});

it("frees what it has made", async () => {
  await run();
  const before = settledBuffers("cpu");
  await run({ dim: ["batch=64"], repeat: 3, profile: 3 });
  expect(liveBuffers("cpu")).toBe(before);
});

it("says what does not fit, and what to do", async () => {
  const text = join(folder, "text.onnx");
  writeFileSync(text, "no model");
  const safetensors = join(folder, "weights.onnx");
  writeFileSync(safetensors, Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from("{}")]));
  const large = join(folder, "large.npy");
  await dx.io.npy.save(large, dx.tensor([2n ** 40n], { device: "cpu", dtype: "int64" }));
  const refused: [Partial<ModelRunOptions>, RegExp, string?][] = [
    [{}, /received a GGUF file\. It has weights, but no graph: `npx dxtensor inspect /, "test/io/gguf/files/all.gguf"],
    [{}, /received a safetensors file\. .* loadStateDict/, safetensors],
    [{}, /received a \.npy file\. Arrays are inputs/, large],
    [{}, /wire type/, text],
    [{}, /ENOENT/, join(folder, "absent.onnx")],
    [{ input: ["z=1"] }, /--input must be NAME=VALUE with a name of x, n; received "?z/],
    [{ input: ["x"] }, /--input must be NAME=VALUE/],
    [{ input: ["n=1", "n=2"] }, /--input must be given once for each name; received "?n twice/],
    [{ dim: ["n=2"] }, /--dim must be NAME=VALUE with a name of batch; received "?n/],
    [{ dim: ["batch=-1"] }, /--dim batch must be an integer of at least 0; received "?-1/],
    [{ input: ["n=1.5"] }, /--input n must be of dtype int32; received "?1\.5/],
    [{ input: [`n=${large}`] }, /--input n must be with elements in the range of int32/],
    [{ input: [`x=${large}`] }, /--input x must be of dtype float32; .* x\.astype\("float32"\)/],
    [{ input: ["x=picture.png"] }, /a \.npy file, a number, random, zeros or ones; received "?picture\.png/],
    [{ shape: ["x=2"] }, /input x must be \[batch, 3\]; received float32\[2\]/],
    [{ device: "dml:99" }, /device_id/],
  ];
  for (const [options, message, file] of refused) await expect(run(options, file)).rejects.toThrow(message);
  const { status, stdout } = command(model, "--dim", "n=2", "--json");
  expect([status, JSON.parse(stdout)]).toMatchObject([1, { ok: false, code: "ValueError" }]);
});

it("names the lengths that nothing says where a call fails", async () => {
  const file = join(folder, "reshape.onnx");
  const f = (x: dx.Tensor): dx.Tensor => x.reshape([2, -1]);
  await dx.io.onnx.export(f, [dx.ones([2, 3], { device: "cpu" })], file, { names: { inputs: ["x"] }, dynamicAxes: { x: { 1: "width" } } });
  await expect(run({}, file)).resolves.toMatchObject({ outputs: [{ shape: [2, 1] }] });
  const odd = join(folder, "odd.onnx");
  await dx.io.onnx.export((x) => x.reshape([2, -1]), [dx.ones([4], { device: "cpu" })], odd, { names: { inputs: ["x"] }, dynamicAxes: { x: { 0: "n" } } }); // prettier-ignore
  await expect(run({}, odd)).rejects.toThrow(/These lengths are 1, since nothing says them: n\. Give them by --dim NAME=N/);
});
