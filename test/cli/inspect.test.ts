/** `dxtensor inspect`, on the build. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, it } from "vitest";
import * as dx from "../../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "dxtensor-inspect-command-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: string[]): { readonly status: number | null; readonly stdout: string; readonly stderr: string } =>
  spawnSync(process.execPath, [resolve("dist", "cli", "main.js"), "inspect", ...args], { encoding: "utf8" });

it("prints a table, filtered", () => {
  const { status, stdout, stderr } = run("test/io/gguf/files/all.gguf", "--filter", "Q4");
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^test\/io\/gguf\/files\/all\.gguf: gguf, 3\.\d kB\n/);
  expect(stdout).toMatch(/^Q4_K +Q4_K +\[2, 256\] +288$/m);
  expect(stdout).not.toMatch(/^scalars/m);
});

it("prints JSON, and writes a page of a model alone", async () => {
  const model = join(folder, "model.onnx");
  const page = join(folder, "model.html");
  await dx.io.onnx.export((x: dx.Tensor) => x.mul(2), [dx.ones([2, 3], { device: "cpu" })], model);
  const { status, stdout } = run(model, "--json", "--page", page);
  expect([status, (JSON.parse(stdout) as { format: string }).format]).toEqual([0, "onnx"]);
  expect(readFileSync(page, "utf8")).toContain('"type":"Mul"');
  const refused = run("test/io/gguf/files/all.gguf", "--page", page, "--json");
  expect([refused.status, JSON.parse(refused.stdout)]).toMatchObject([1, { ok: false, code: "ValueError" }]);
});

it("says what is wrong", () => {
  const { status, stderr } = run("package.json");
  expect(status).toBe(1);
  expect(stderr).toMatch(/^dxtensor: FormatError: inspect: package\.json must be an index with weight_map/);
});
