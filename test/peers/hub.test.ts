/** `dxtensor/hub` on a server of this process, with the interface of the Hugging Face Hub. */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import * as dx from "../../src/index.ts";
import { downloadModel, type HubOptions } from "../../src/peers/hub/index.ts";

const folder = mkdtempSync(join(tmpdir(), "dxtensor-hub-"));
const SHA = "0123456789abcdef0123456789abcdef01234567";
const config = { model_type: "bert", vocab_size: 16, hidden_size: 8, num_hidden_layers: 1, num_attention_heads: 2, intermediate_size: 8 };
const files = new Map<string, Uint8Array>([
  ["README.md", Buffer.from("text")],
  ["config.json", Buffer.from(JSON.stringify(config))],
  ["pytorch_model.bin", Buffer.from("a pickle")],
  ["onnx/model.onnx", Buffer.from("a graph")],
]);

let server: Server;
let hubUrl = "";
let asked: string[] = [];
let tokens: (string | undefined)[] = [];
beforeAll(async () => {
  vi.spyOn(console, "debug").mockImplementation(() => {});
  const model = await dx.models.fromConfig(config, { family: "bert", device: "cpu" });
  const weights = join(folder, "weights.safetensors");
  await dx.io.safetensors.save(weights, model.stateDict());
  files.set("model.safetensors", readFileSync(weights));
  const entry = (path: string): object => {
    const bytes = files.get(path)!;
    return { type: "file", path, size: bytes.length, oid: createHash("sha1").update(bytes).digest("hex") };
  };
  server = createServer((request, response) => {
    const url = new URL(request.url!, "http://localhost");
    asked.push(`${request.method} ${url.pathname}`);
    tokens.push(request.headers.authorization);
    const json = (value: unknown): void => void response.setHeader("content-type", "application/json").end(JSON.stringify(value));
    const base = "/api/models/some/model";
    if (url.pathname === `${base}/revision/main`) json({ _id: "1", id: "some/model", sha: SHA });
    else if (url.pathname === `${base}/tree/${SHA}`) json([{ type: "directory", path: "onnx" }, ...[...files.keys()].map(entry)]);
    else if (url.pathname === `${base}/paths-info/${SHA}`) {
      let text = "";
      request.on("data", (part) => (text += String(part)));
      request.on("end", () => json((JSON.parse(text) as { readonly paths: string[] }).paths.map(entry)));
    } else if (url.pathname.startsWith(`/some/model/resolve/${SHA}/`)) {
      const bytes = files.get(url.pathname.slice(`/some/model/resolve/${SHA}/`.length))!;
      const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
      const [from, to] = range === null ? [0, bytes.length] : [Number(range[1]), Math.min(Number(range[2]) + 1, bytes.length)];
      response.writeHead(range === null ? 200 : 206, {
        "content-length": to - from,
        etag: '"x"',
        ...(range === null ? {} : { "content-range": `bytes ${from}-${to - 1}/${bytes.length}` }),
      });
      response.end(bytes.subarray(from, to));
    } else response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ error: "Repository not found" }));
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  hubUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  asked = [];
  tokens = [];
});
afterAll(async () => {
  vi.restoreAllMocks();
  await new Promise((done) => server.close(done));
  rmSync(folder, { recursive: true });
});

const download = (options: HubOptions = {}, repo = "some/model"): Promise<string> =>
  downloadModel(repo, { hubUrl, cacheDir: join(folder, "cache"), ...options });

it("brings what a model is read from into the cache, once", async () => {
  const progress: string[] = [];
  const path = await download({ onProgress: ({ name, bytes, totalBytes }) => progress.push(`${name} ${bytes === totalBytes}`) });
  expect(path).toBe(join(folder, "cache", "models--some--model", "snapshots", SHA));
  expect(readdirSync(path).toSorted((a, b) => (a < b ? -1 : 1))).toEqual(["config.json", "model.safetensors"]);
  expect(progress).toEqual(["config.json false", "model.safetensors true"]);
  const model = await dx.models.fromPretrained(path, { family: "bert", device: "cpu" });
  expect(dx.scope(() => model(dx.tensor([[1, 2]], { dtype: "int32", device: "cpu" })).shape)).toEqual([1, 2, 8]);
  model.dispose();

  asked = [];
  expect(await download()).toBe(path);
  expect(asked.filter((line) => line.includes("/resolve/"))).toEqual([]);
  asked = [];
  expect(await download({ offline: true })).toBe(path);
  expect(await download({ offline: true, revision: SHA, files: ["config.json"] })).toBe(path);
  expect(asked).toEqual([]);
});

it("takes files by name or by a function, and a token", async () => {
  const path = await download({ files: ["onnx/model.onnx"], accessToken: "hf_secret" });
  expect(readFileSync(join(path, "onnx/model.onnx"), "utf8")).toBe("a graph");
  expect(new Set(tokens)).toEqual(new Set(["Bearer hf_secret"]));
  await download({ files: (name) => name.endsWith(".md") });
  expect(readFileSync(join(path, "README.md"), "utf8")).toBe("text");
});

it("says what is wrong", async () => {
  await expect(download({ files: ["model.gguf"] })).rejects.toThrow(
    /files must be of some\/model: README\.md, config\.json, .*; received model\.gguf/,
  );
  await expect(download({ files: () => false })).rejects.toThrow(dx.ValueError);
  await expect(download({ files: ["../up"] })).rejects.toThrow(/names in the model's folder/);
  await expect(download({ files: [] })).rejects.toThrow(dx.DTypeError);
  await expect(download({ revision: "../main" })).rejects.toThrow(/a branch, a tag or a commit/);
  for (const repo of ["model", "../model", "a/b/c", ""]) await expect(download({}, repo)).rejects.toThrow(/OWNER\/NAME/);
  await expect(download({}, "some/other")).rejects.toThrow(/some\/other must be a model that the server gives/);
  await expect(download({ offline: true, revision: "v2" })).rejects.toThrow(/in the cache with offline: true; received none in/);
  await expect(download({ offline: true, files: ["model.gguf"] })).rejects.toThrow(/model\.gguf must be in the cache/);
  await expect(download({ signal: AbortSignal.abort(new Error("no more")) })).rejects.toThrow("no more");
  asked = [];
  const controller = new AbortController();
  const slow: typeof fetch = (url, init) => {
    controller.abort(new Error("enough"));
    return fetch(url, init);
  };
  await expect(download({ signal: controller.signal, fetch: slow })).rejects.toThrow("enough");
});
