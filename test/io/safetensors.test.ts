import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

const { safetensors, FormatError } = dx.io;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-safetensors-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A file made by hand. */
function file(header: unknown, body: readonly number[] = []): Uint8Array {
  const text = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + body.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  bytes.set(body, 8 + text.length);
  return bytes;
}

eachDevice("io.safetensors", (device) => {
  const dtypes: readonly dx.DType[] = [
    "float32",
    "float16",
    "float64",
    "bfloat16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
  ];

  test.each(dtypes)("%s goes into a file and back", (dtype) =>
    clean(device, async () => {
      const wide = dtype === "int64" || dtype === "uint64";
      const values = wide ? [0n, 1n, 2n ** 62n + 1n] : dtype === "bool" ? [true, false, true] : [0, 1, 100];
      const path = join(folder, `${dtype}.safetensors`);
      const t = dx.tensor(values, { dtype });
      await safetensors.save(path, { t });
      const { tensors } = await safetensors.load(path);
      expect(tensors.t!.describe()).toBe(t.describe());
      expect(tensors.t!.dataSync()).toEqual(t.dataSync());
      t.dispose();
      tensors.t!.dispose();
    }),
  );

  test("views, empty tensors, scalars, odd names and metadata", () =>
    clean(device, async () => {
      const x = dx.tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      const kept = {
        turned: x.t(),
        part: x.slice(1, 1),
        none: dx.zeros([0, 3]),
        one: dx.tensor(7),
        "é.weight ": dx.tensor(Uint8Array.of(9)),
      };
      const path = join(folder, "mixed.safetensors");
      await safetensors.save(path, kept, { format: "pt", epoch: "3" });
      const { tensors, metadata } = await safetensors.load(path);
      expect(metadata).toEqual({ format: "pt", epoch: "3" });
      expect(Object.keys(tensors).sort()).toEqual(Object.keys(kept).sort());
      for (const [name, t] of Object.entries(kept)) {
        expect(tensors[name]!.shape).toEqual(t.shape);
        expect(numbers(tensors[name]!)).toEqual(numbers(t));
      }
      const bytes = await readFile(path);
      const length = Number(bytes.readBigUInt64LE(0));
      expect(length % 8).toBe(0);
      const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Record<string, { dtype: string; data_offsets: number[] }>;
      const sizes: Record<string, number> = { F32: 4, U8: 1 };
      for (const [name, e] of Object.entries(header)) if (name !== "__metadata__") expect(e.data_offsets[0]! % sizes[e.dtype]!).toBe(0);
      for (const t of [x, ...Object.values(kept), ...Object.values(tensors)]) t.dispose();
    }));

  test("a file of another implementation is read", () =>
    clean(device, () => {
      const { tensors } = safetensors.deserialize(
        file(
          { a: { dtype: "F32", shape: [2], data_offsets: [1, 9] }, b: { dtype: "U8", shape: [], data_offsets: [0, 1] } },
          [5, 0, 0, 128, 63, 0, 0, 0, 64],
        ),
      );
      expect(numbers(tensors.a!)).toEqual([1, 2]);
      expect(numbers(tensors.b!)).toEqual([5]);
    }));

  test("a module's checkpoint brings its results back", () =>
    clean(
      device,
      async () => {
        const make = (): dx.nn.Layer =>
          dx.nn.sequential(
            dx.nn.linear(3, 4, { generator: new dx.Generator(1) }),
            dx.nn.batchNorm1d(4),
            dx.nn.linear(4, 2, { generator: new dx.Generator(2) }),
          );
        const [a, b] = [make(), make()];
        const x = dx.tensor([
          [1, 2, 3],
          [3, 1, 2],
          [0, 1, 0],
        ]);
        dx.noGrad(() => a.forward(x));
        const path = join(folder, "model.safetensors");
        const state = a.stateDict();
        await safetensors.save(path, state);
        const { tensors } = await safetensors.load(path);
        dx.nn.init.zeros((b as dx.nn.Sequential).at(0).parameters()[0]!);
        b.loadStateDict(tensors);
        const [ya, yb] = [a.eval().forward(x), b.eval().forward(x)];
        expect(numbers(yb)).toEqual(numbers(ya));
        for (const t of [x, ya, yb, ...Object.values(state), ...Object.values(tensors)]) t.dispose();
        a.dispose();
        b.dispose();
      },
      { collect: true },
    ));

  test("damaged files are errors that say what is wrong", () =>
    clean(device, async () => {
      const bytes = await safetensors.serialize({ a: dx.tensor([1, 2, 3]), b: dx.tensor(Uint8Array.of(1)) });
      const refused = (b: Uint8Array, text: RegExp): void => {
        expect(() => safetensors.deserialize(b)).toThrow(FormatError);
        expect(() => safetensors.deserialize(b)).toThrow(text);
      };
      refused(bytes.subarray(0, 5), /of at least 8 bytes; received 5 bytes/);
      refused(bytes.subarray(0, 30), /the file is cut off/);
      refused(bytes.subarray(0, bytes.length - 1), /13 bytes of data, as its header says; received 12: the file is cut off/);
      refused(Uint8Array.from([...bytes, 0]), /received 14/);
      refused(new TextEncoder().encode('{"this": "is no such file"}'), /no safetensors file/);
      refused(file("{"), /with a JSON header/);
      refused(file([1]), /JSON object/);
      refused(file({ a: { dtype: "F33", shape: [], data_offsets: [0, 4] } }, [0, 0, 0, 0]), /one of the dtypes/);
      refused(
        file({ a: { dtype: "F32", shape: [2], data_offsets: [0, 4] } }, [0, 0, 0, 0]),
        /8 bytes for tensor a \(F32\[2\]\); received 4/,
      );
      refused(file({ a: { dtype: "U8", shape: [-1], data_offsets: [0, 1] } }, [0]), /dtype, shape and data_offsets/);
      refused(
        file({ a: { dtype: "U8", shape: [1], data_offsets: [0, 1] }, b: { dtype: "U8", shape: [1], data_offsets: [0, 1] } }, [0]),
        /overlaps/,
      );
      refused(file({ a: { dtype: "U8", shape: [1], data_offsets: [1, 2] } }, [0, 0]), /a hole before it/);
      refused(file({ __metadata__: { n: 1 } }), /texts as metadata/);
      await writeFile(join(folder, "bad.safetensors"), bytes.subarray(0, 30));
      await expect(safetensors.load(join(folder, "bad.safetensors"))).rejects.toThrow(/bad\.safetensors must be/);
      await expect(safetensors.load(join(folder, "absent.safetensors"))).rejects.toThrow(/ENOENT/);
    }));

  test("what cannot be saved is refused, and no file is left behind", () =>
    clean(device, async () => {
      const gone = dx.ones([1]);
      gone.dispose();
      const t = dx.ones([1]);
      await expect(safetensors.save(join(folder, "new.safetensors"), { gone })).rejects.toThrow(dx.DisposedError);
      await expect(safetensors.save(join(folder, "new.safetensors"), { __metadata__: t })).rejects.toThrow(dx.ValueError);
      await expect(safetensors.save(join(folder, "none", "new.safetensors"), { t })).rejects.toThrow(/ENOENT/);
      expect((await readdir(folder)).filter((n) => n.startsWith("new"))).toEqual([]);
      t.dispose();
    }));
});
