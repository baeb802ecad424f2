/** gguf.save(): what it writes is read again, here and with the blocks of llama.cpp's reference (blocks.json). */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, numbers } from "../../device.ts";

const { gguf } = dx.io;
const recorded = JSON.parse(readFileSync(fileURLToPath(new URL("blocks.json", import.meta.url)), "utf8")) as {
  readonly rows: string;
  readonly quantize: Readonly<Record<string, string>>;
};
const rows = new Float32Array(Uint8Array.from(Buffer.from(recorded.rows, "base64")).buffer);

let folder: string;
let path: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-gguf-save-"));
  path = join(folder, "model.gguf");
});
afterAll(() => rmSync(folder, { recursive: true }));

eachDevice("io.gguf.save", (device) => {
  test.each(["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"] as const)("%s: the bytes of llama.cpp's reference", (type) =>
    clean(device, async () => {
      const weight = dx.tensor(rows, { shape: [4, 64] });
      const odd = dx.ones([2, 3]);
      const norm = dx.ones([64]);
      const view = weight.t();
      for (let call = 0; call < 3; call++) {
        await gguf.save(path, { tensors: { weight, odd, norm, view }, quantize: type });
        await using file = await gguf.open(path);
        const { data } = await file.packed("weight");
        expect(Buffer.from(data).toString("base64")).toBe(recorded.quantize[type]);
        const types = [...file.tensors.values()].map((t) => t.type);
        expect(types).toEqual(type.endsWith("16") ? [type, type, "F32", type] : [type, "F32", "F32", "F32"]);
        const t = await file.tensor("view", { dtype: "float32" });
        expect(t.shape).toEqual([64, 4]);
        t.dispose();
      }
      for (const t of [weight, odd, norm, view]) t.dispose();
    }),
  );

  test("dtypes, views, empty tensors and scalars come back as they were", () =>
    clean(device, async () => {
      const x = dx.arange(6).reshape([2, 3]);
      const tensors = {
        view: x.t(),
        part: x.slice(1, 1),
        scalar: dx.tensor(7),
        none: dx.zeros([0, 3]),
        half: x.to("float16"),
        brain: x.to("bfloat16"),
        long: dx.tensor([2n ** 62n], { dtype: "int64" }),
        byte: dx.tensor([-3, 3], { dtype: "int8" }),
        __proto: dx.ones([1]),
      };
      await gguf.save(path, { tensors });
      const loaded = await gguf.load(path);
      for (const [name, t] of Object.entries(tensors)) {
        expect([name, loaded.tensors[name]!.describe()]).toEqual([name, t.describe()]);
        expect(numbers(loaded.tensors[name]!)).toEqual(numbers(t));
      }
      for (const t of [x, ...Object.values(tensors), ...Object.values(loaded.tensors)]) t.dispose();
    }));

  test("a function chooses the type of each tensor, and a packed one is copied", () =>
    clean(device, async () => {
      const [a, b] = [dx.tensor(rows, { shape: [4, 64] }), dx.ones([3])];
      await gguf.save(path, { tensors: { a, b }, quantize: (name) => (name === "a" ? "Q4_0" : undefined) });
      const file = await gguf.open(path);
      const packed = await file.packed("a");
      // A file that was replaced stays open; Windows replaces no open file.
      const isReplaceable = process.platform !== "win32";
      if (isReplaceable) await gguf.save(path, { tensors: { copy: packed, b } });
      else await expect(gguf.save(path, { tensors: { copy: packed, b } })).rejects.toThrow(/must be a file that can be written/);
      expect(await file.packed("a")).toEqual(packed);
      await file.close();
      if (!isReplaceable) await gguf.save(path, { tensors: { copy: packed, b } });
      await using again = await gguf.open(path);
      expect(await again.packed("copy")).toEqual(packed);
      await expect(gguf.save(path, { tensors: { a, b }, quantize: () => "Q8_0" })).rejects.toThrow(dx.ShapeError);
      a.dispose();
      b.dispose();
    }));

  test("what cannot be saved is refused, and no file is left behind", () =>
    clean(device, async () => {
      const target = join(folder, "refused.gguf");
      const [t, flags, deep] = [dx.ones([2]), dx.tensor([true]), dx.ones([1, 1, 1, 1, 1])];
      const gone = dx.ones([1]);
      gone.dispose();
      const refused = async (
        content: dx.io.gguf.GgufContent,
        kind: abstract new (...args: never[]) => Error,
        text: RegExp,
      ): Promise<void> => {
        await expect(gguf.save(target, content)).rejects.toThrow(kind);
        await expect(gguf.save(target, content)).rejects.toThrow(text);
      };
      await refused({ tensors: { flags } }, dx.DTypeError, /of a dtype that GGUF files have: float32/);
      await refused({ tensors: { deep } }, dx.ShapeError, /at most 4 axes/);
      await refused({ tensors: { gone } }, dx.DisposedError, /gone/);
      await refused({ tensors: { ["x".repeat(64)]: t } }, dx.ValueError, /less than 64 bytes/);
      await refused({ tensors: { t }, quantize: "Q4_K" as "Q4_0" }, dx.ValueError, /Q4_K/);
      await refused({ tensors: { t: { type: "Q4_0", shape: [32], data: new Uint8Array(17) } } }, dx.ValueError, /of 18 bytes/);
      await refused({ tensors: { t: { type: "Q4_0", shape: [31], data: new Uint8Array(18) } } }, dx.ShapeError, /multiple of 32/);
      await refused({ tensors: { t: 1 as unknown as dx.Tensor } }, dx.DTypeError, /tensor/);
      await refused({ tensors: { t }, metadata: { "general.alignment": 3 } }, dx.ValueError, /power of two/);
      await refused({ tensors: { t }, metadata: { a: 300 }, metadataTypes: { a: "uint8" } }, dx.ValueError, /of type uint8, from 0 to 255/);
      await refused({ tensors: { t }, metadata: { a: 0.5 }, metadataTypes: { a: "int32" } }, dx.ValueError, /an integer of type int32/);
      await refused({ tensors: { t }, metadata: { a: "x" }, metadataTypes: { a: "string[]" } }, dx.ValueError, /an array/);
      await refused({ tensors: { t }, metadataTypes: { b: "uint8" } }, dx.ValueError, /of keys that metadata has/);
      await expect(gguf.save(join(folder, "none", "x.gguf"), { tensors: { t } })).rejects.toThrow(/ENOENT/);
      const stop = new AbortController();
      const options = { signal: stop.signal, onProgress: () => stop.abort(new Error("stopped")) };
      await expect(gguf.save(target, { tensors: { t } }, options)).rejects.toThrow("stopped");
      expect(readdirSync(folder).filter((name) => name !== "model.gguf")).toEqual([]);
      for (const x of [t, flags, deep]) x.dispose();
    }));
});

test("metadata of every kind come back, with their types", async () => {
  const metadata: Record<string, dx.io.gguf.GgufValue> = {
    "general.architecture": "llama",
    "llama.rope.freq_base": 10000,
    small: 3,
    negative: -3,
    huge: 2n ** 63n,
    low: -(2n ** 60n),
    fraction: 0.25,
    double: 0.1,
    yes: true,
    texts: ["ä", "b"],
    bools: [true, false],
    bytes: Uint8Array.of(1, 2),
    longs: BigInt64Array.of(-5n),
    mixed: [1, -2],
    reals: [1, 0.5],
    nested: [[1, 2], ["a"], []],
    none: [],
  };
  const types = { "llama.rope.freq_base": "float32", double: "float64" } as const;
  await gguf.save(path, { tensors: {}, metadata, metadataTypes: types });
  await using file = await gguf.open(path);
  expect(file.metadata).toEqual({
    ...metadata,
    low: -(2n ** 60n),
    mixed: Int32Array.of(1, -2),
    reals: Float32Array.of(1, 0.5),
    nested: [Uint32Array.of(1, 2), ["a"], new Int32Array()],
    none: new Int32Array(),
  });
  expect(file.metadataTypes).toMatchObject({
    ...types,
    small: "uint32",
    negative: "int32",
    huge: "uint64",
    low: "int64",
    fraction: "float32",
    yes: "bool",
    texts: "string[]",
    bytes: "uint8[]",
    longs: "int64[]",
    nested: "array[]",
  });
  const first = readFileSync(path);
  await file.close();
  await gguf.save(path, { tensors: {}, metadata: file.metadata, metadataTypes: file.metadataTypes });
  expect(readFileSync(path).equals(first)).toBe(true);
});
