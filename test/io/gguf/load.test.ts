/** Files of llama.cpp's own Python package (record.py): metadata of every type, tensors, byte orders, several parts. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { OpenGguf, openParts } from "../../../src/io/gguf/read.ts";
import { clean, eachDevice, numbers } from "../../device.ts";

const { gguf } = dx.io;
const file = (name: string): string => fileURLToPath(new URL(`files/${name}`, import.meta.url));
const { small } = JSON.parse(readFileSync(fileURLToPath(new URL("blocks.json", import.meta.url)), "utf8")) as {
  readonly small: Readonly<Record<string, string>>;
};

const shapes = { scalars: [5], half: [2, 3], double: [2, 2, 2], bytes: [6], shorts: [4], ints: [1, 2, 3, 1], longs: [2] };
const base64 = (t: dx.Tensor): string => {
  const data = t.dataSync();
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-gguf-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const expectedMetadata = {
  "general.architecture": "llama",
  "own.uint8": 200,
  "own.int8": -100,
  "own.uint16": 60000,
  "own.int16": -30000,
  "own.uint32": 4000000000,
  "own.int32": -2000000000,
  "own.float32": 0.5,
  "own.float64": 1e-300,
  "own.yes": true,
  "own.no": false,
  "own.text": "größe 名",
  "own.small": 12,
  "own.uint64": 2n ** 64n - 1n,
  "own.int64": -(2n ** 63n),
  "own.ints": Int32Array.of(1, -2, 3),
  "own.floats": Float32Array.of(0.5, 1.5),
  "own.bools": [true, false],
  "own.texts": ["a", "", "ü"],
};

describe.each(["all.gguf", "big-endian.gguf", "aligned.gguf", "split-00001-of-00003.gguf", "split-00003-of-00003.gguf"])("%s", (name) => {
  test("its metadata, types and vocabulary", async () => {
    await using opened = await gguf.open(file(name));
    expect(opened.metadata).toMatchObject(expectedMetadata);
    expect(opened.byteOrder).toBe(name.startsWith("big") ? "big" : "little");
    expect(opened.paths.length).toBe(name.startsWith("split") ? 3 : 1);
    expect(Object.keys(opened.metadata).filter((key) => key.startsWith("split"))).toEqual([]);
    const types = Object.entries(opened.metadataTypes).filter(([key]) => /^own\.\w+int\d+$|^own\.int/.test(key));
    for (const [key, type] of types) expect(type).toBe(key === "own.ints" ? "int32[]" : key.slice(4));
    expect(opened.vocabulary).toEqual({
      model: "gpt2",
      tokens: ["<s>", "a", "b", "ab"],
      scores: null,
      types: Int32Array.of(3, 1, 1, 1),
      merges: ["a b"],
      special: { bos: 0, eos: 0 },
    });
  });
});

eachDevice("io.gguf", (device) => {
  test.each(["all.gguf", "big-endian.gguf", "aligned.gguf", "split-00002-of-00003.gguf"])("%s: tensors as they were written", (name) =>
    clean(device, async () => {
      const { tensors } = await gguf.load(pathToFileURL(file(name)), { names: Object.keys(small) });
      for (const [key, shape] of Object.entries(shapes)) {
        expect([key, tensors[key]!.shape, base64(tensors[key]!)]).toEqual([key, shape, small[key]]);
        tensors[key]!.dispose();
      }
    }),
  );

  test("packed blocks as float32, float16 and bytes, lazily", () =>
    clean(device, async () => {
      await using opened = await gguf.open(file("all.gguf"));
      expect(opened.tensors.get("Q4_K")).toEqual({ name: "Q4_K", type: "Q4_K", shape: [2, 256], sizeInBytes: 288 });
      const t = await opened.tensor("Q4_0");
      expect([t.describe(), new Set(numbers(t))]).toEqual([`float32[2, 256]${t.describe().slice(15)}`, new Set([1])]);
      const half = await opened.tensor("Q4_0", { dtype: "float16" });
      expect([half.dtype, new Set(numbers(half))]).toEqual(["float16", new Set([1])]);
      const bytes = await opened.tensor("Q4_0", { packed: true });
      const { type, shape, data } = await opened.packed("Q4_0");
      expect([bytes.dtype, bytes.shape, type, shape]).toEqual(["uint8", [2, 144], "Q4_0", [2, 256]]);
      expect(Uint8Array.from(numbers(bytes))).toEqual(data);
      const brain = await opened.tensor("BF16");
      const [wide, integers] = [await opened.tensor("half", { dtype: "float32" }), await opened.tensor("ints", { dtype: "float16" })];
      expect([brain.dtype, wide.dtype, integers.dtype]).toEqual(["bfloat16", "float32", "int32"]);
      for (const x of [t, half, bytes, brain, wide, integers]) x.dispose();
    }));

  test("meta reads nothing; progress, signals and wrong names", () =>
    clean(device, async () => {
      const opened = await gguf.open(file("all.gguf"));
      const all = await opened.load({ device: "meta" });
      expect(Object.keys(all)).toEqual([...opened.tensors.keys()]);
      for (const [name, t] of Object.entries(all)) expect([name, t.shape]).toEqual([name, opened.tensors.get(name)!.shape]);
      let bytes = 0;
      const loaded = await opened.load({ onProgress: (p) => (bytes = p.bytes) });
      expect(bytes).toBe([...opened.tensors.values()].reduce((n, t) => n + t.sizeInBytes, 0));
      for (const t of [...Object.values(all), ...Object.values(loaded)]) t.dispose();
      await expect(opened.load({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
      const stop = (): void => {
        throw new Error("stop");
      };
      await expect(opened.load({ onProgress: stop })).rejects.toThrow("stop");
      await expect(opened.tensor("none")).rejects.toThrow(/gguf\.tensor: name must be of a tensor in .*scalars, half/);
      await expect(opened.load({ names: ["half", "none"] })).rejects.toThrow(dx.ValueError);
      await expect(opened.tensor("half", { dtype: "int8" as "float32" })).rejects.toThrow(dx.ValueError);
      await opened.close();
      await opened.close();
      await expect(opened.tensor("half")).rejects.toThrow(dx.DisposedError);
    }));
});

test.each(["all.gguf", "big-endian.gguf", "split-00002-of-00003.gguf"])("%s without texts has all else", async (name) => {
  await using whole = await gguf.open(file(name));
  await using lean = new OpenGguf(await openParts("test", file(name), false));
  const isOfTexts = (key: string): boolean => whole.metadataTypes[key] === "string[]";
  const kept = Object.entries(whole.metadata).filter(([key]) => !isOfTexts(key));
  expect(kept.length).toBeLessThan(Object.keys(whole.metadata).length);
  expect(lean.metadata).toEqual(Object.fromEntries(kept));
  expect(lean.metadataTypes).toEqual(whole.metadataTypes);
  expect([...lean.tensors]).toEqual([...whole.tensors]);
});

test("parts that are missing, twice there or named otherwise are refused", async () => {
  const part = (i: number): string => `split-0000${i}-of-00003.gguf`;
  copyFileSync(file(part(1)), join(folder, part(1)));
  await expect(gguf.open(join(folder, part(1)))).rejects.toThrow(/split-00002-of-00003\.gguf must be a file that can be read/);
  for (const [from, to] of [[2, 2], [2, 3]] as const) copyFileSync(file(part(from)), join(folder, part(to))); // prettier-ignore
  await expect(gguf.open(join(folder, part(1)))).rejects.toThrow(/part 2 of 3, as its name says; received part 1 of 3/);
  copyFileSync(file(part(1)), join(folder, "other.gguf"));
  await expect(gguf.open(join(folder, "other.gguf"))).rejects.toThrow(/named as one of 3 parts: NAME-00001-of-00003\.gguf/);
});
