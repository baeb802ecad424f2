/** NumPy's .npz files: those that NumPy 2 wrote (record.py), what is written here, and damaged ones. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { zipBytes } from "../../../src/io/zip-writer.ts";
import { clean, eachDevice } from "../../device.ts";
import { zip, type NewZipEntry, type ZipOptions } from "../pytorch/write.ts";

const { npy, npz, FormatError } = dx.io;

interface Recorded {
  readonly file: string;
  readonly arrays: Record<string, { readonly dtype: dx.DType; readonly shape: readonly number[]; readonly bytes: string }>;
}
const { files, refused, other } = JSON.parse(readFileSync(new URL("files.json", import.meta.url), "utf8")) as {
  files: Record<string, Recorded>;
  refused: Record<string, string>;
  other: Recorded;
};
const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"));
const hexOf = (t: dx.Tensor): string => {
  const array = t.dataSync();
  return array.every((v) => v === 0) && array.length > 1000
    ? "zeros"
    : Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("hex");
};
const contentOf = (tensors: dx.io.Tensors) =>
  Object.fromEntries(Object.entries(tensors).map(([name, t]) => [name, { dtype: t.dtype, shape: t.shape, bytes: hexOf(t) }]));
const disposeAll = (tensors: dx.io.Tensors): void => {
  for (const t of Object.values(tensors)) t.dispose();
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-npz-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

eachDevice("io.npz", (device) => {
  test.each(Object.keys(files))("%s: as NumPy has it, from a file and from bytes", (name) =>
    clean(device, async () => {
      const { file, arrays } = files[name]!;
      const path = join(folder, `${name}.npz`);
      await writeFile(path, bytesOf(file));
      for (const tensors of [await npz.load(path), await npz.load(pathToFileURL(path)), await npz.deserialize(bytesOf(file))]) {
        expect(contentOf(tensors)).toEqual(arrays);
        expect(Object.keys(tensors)).toEqual(Object.keys(arrays));
        disposeAll(tensors);
      }
    }),
  );

  test("a column-major array is a view with NumPy's strides", () =>
    clean(device, async () => {
      const { fortran } = await npz.deserialize(bytesOf(files["savez_compressed"]!.file), { names: ["fortran"] });
      expect(fortran.strides).toEqual([1, 2, 6]);
      fortran.dispose();
    }));

  test("saved, stored and deflated, three times: equal bytes, which another program reads", () =>
    clean(device, async () => {
      const recorded = files["savez"]!;
      const tensors = await npz.deserialize(bytesOf(recorded.file));
      for (const compressed of [false, true]) {
        const path = join(folder, `saved-${compressed}.npz`);
        const bytes = await npz.serialize(tensors, { compressed });
        for (let i = 0; i < 3; i++) {
          await npz.save(path, tensors, { compressed });
          expect(new Uint8Array(await readFile(path))).toEqual(bytes);
        }
        const unzipped = unzipSync(bytes);
        expect(Object.keys(unzipped)).toEqual(Object.keys(recorded.arrays).map((name) => `${name}.npy`));
        for (const [name, t] of Object.entries(tensors)) expect(new Uint8Array(unzipped[`${name}.npy`]!)).toEqual(await npy.serialize(t));
        const again = await npz.load(path);
        expect(contentOf(again)).toEqual(recorded.arrays);
        disposeAll(again);
      }
      disposeAll(tensors);
    }));

  test("views, results with gradients, and arrays of several pieces", () =>
    clean(device, async () => {
      const x = dx.arange(5_000_000, { dtype: "float32" }).reshape([2500, 2000]);
      const tensors = { t: x.t(), y: x.slice(0, 2).requiresGrad_().mul(2), __proto__$: x.select(1, 2), "": dx.zeros([]) };
      const progress: number[] = [];
      const path = join(folder, "pieces.npz");
      await npz.save(path, tensors, { onProgress: ({ bytes, totalBytes }) => progress.push(bytes / totalBytes) });
      expect(progress.at(-1)).toBe(1);
      expect(progress).toEqual([...progress].sort((a, b) => a - b));
      const seen: string[] = [];
      const again = await npz.load(path, { onProgress: ({ name, bytes, totalBytes }) => seen.push(`${name} ${bytes === totalBytes}`) });
      expect(seen.at(-1)).toBe(" true");
      expect(seen.slice(0, 3)).toEqual(["t false", "t false", "t false"]);
      for (const [name, t] of Object.entries(tensors)) expect(again[name]!.equalSync(t)).toBe(true);
    }));

  test("what is saved is the tensor at the time of the call", () =>
    clean(device, async () => {
      const x = dx.arange(4, { dtype: "float32" });
      const saving = npz.serialize({ x });
      x.add_(1);
      expect((await npz.deserialize(await saving))["x"]!.toArraySync()).toEqual([0, 1, 2, 3]);
    }));

  test("a failure frees what was read before", () =>
    clean(device, async () => {
      const good = { name: "a.npy", bytes: await npy.serialize(dx.ones([3])) };
      await expect(npz.deserialize(zip([good, { ...good, name: "b.npy", crc: 1 }]))).rejects.toThrow(FormatError);
      const stop = new AbortController();
      const path = join(folder, "stopped.npz");
      await writeFile(path, zip([good, { ...good, name: "b.npy" }]));
      await expect(npz.load(path, { signal: stop.signal, onProgress: () => stop.abort(new Error("enough")) })).rejects.toThrow("enough");
    }));
});

describe("npz without a device", () => {
  test("meta: shapes and dtypes alone, and nothing is read beyond the headers", async () => {
    const { file, arrays } = files["savez"]!;
    const tensors = await npz.deserialize(bytesOf(file), { device: "meta" });
    expect(Object.values(tensors).map((t) => [t.dtype, t.shape])).toEqual(Object.values(arrays).map((a) => [a.dtype, a.shape]));
  });

  test("names choose arrays, and give the result its type", async () => {
    const chosen = await npz.deserialize(bytesOf(files["savez"]!.file), { names: ["scalar", "x", "x"] });
    expectTypeOf(chosen).toEqualTypeOf<{ readonly scalar: dx.Tensor; readonly x: dx.Tensor }>();
    expect(Object.keys(chosen)).toEqual(["scalar", "x"]);
    expectTypeOf(await npz.deserialize(bytesOf(files["no arrays"]!.file))).toEqualTypeOf<dx.io.Tensors>();
    const none = npz.deserialize(bytesOf(files["positional"]!.file), { names: ["x"] });
    await expect(none).rejects.toThrow(/arr_0, arr_1/);
    await expect(none).rejects.toThrow(dx.ValueError);
  });

  test("entries that are no arrays are left out only where names say so", async () => {
    await expect(npz.deserialize(bytesOf(other.file))).rejects.toThrow(/notes\.txt/);
    expect(contentOf(await npz.deserialize(bytesOf(other.file), { names: ["a"] }))).toEqual(other.arrays);
  });

  test("64-bit sizes are written and read", async () => {
    const bytes = await npy.serialize(dx.arange(3));
    const entry = (name: string) => ({
      name,
      sizeInBytes: bytes.byteLength,
      bytes: async function* () {
        yield bytes;
      },
    });
    for (const isDeflated of [false, true]) {
      const parts: Uint8Array[] = [];
      for await (const part of zipBytes([entry("a.npy"), entry("b.npy")], { isDeflated, largeFrom: 0 })) parts.push(part);
      const tensors = await npz.deserialize(Buffer.concat(parts));
      expect(Object.values(tensors).map((t) => t.toArraySync())).toEqual([[0, 1, 2], [0, 1, 2]]); // prettier-ignore
    }
  });
});

describe("npz files that are refused", () => {
  const npyBytes = (text: string, data = 24): Uint8Array => {
    const head = Buffer.from(`\x93NUMPY\x01\x00\x00\x00${text}`, "latin1");
    head.writeUInt16LE(text.length, 8);
    return new Uint8Array(Buffer.concat([head, Buffer.alloc(data)]));
  };
  const header = (shape: string): string => `{'descr': '<f4', 'fortran_order': False, 'shape': ${shape}, }`;
  const a: NewZipEntry = { name: "a.npy", bytes: npyBytes(header("(2, 3)")) };
  const archive = (entry: Partial<NewZipEntry>, options: ZipOptions = {}): Buffer => zip([{ ...a, ...entry }], options);

  test.each(Object.keys(refused))("%s", async (name) => {
    await expect(npz.deserialize(bytesOf(refused[name]!))).rejects.toThrow(dx.UnsupportedError);
  });

  test.each<[string, () => Uint8Array]>([
    ["nothing", () => new Uint8Array()],
    ["text", () => Buffer.from("hello, this is no zip file")],
    ["a .npy file", () => a.bytes],
    ["a cut file", () => archive({}).subarray(0, -1)],
    ["two arrays of one name", () => zip([a, a])],
    ["a wrong CRC", () => archive({ crc: 1 })],
    ["a wrong CRC of a deflated array", () => archive({ crc: 1, isDeflated: true })],
    ["deflated bytes that are none", () => archive({ method: 8 })],
    ["fewer deflated bytes than stated", () => archive({ isDeflated: true, sizeInBytes: 5000 })],
    ["more deflated bytes than stated", () => archive({ isDeflated: true, sizeInBytes: 90 })],
    ["a shape beyond the entry", () => archive({ bytes: npyBytes(header("(1000000, 1000000)")) })],
    ["an empty array file", () => archive({ bytes: new Uint8Array() })],
    ["a header beyond the entry", () => archive({ bytes: npyBytes(header("(2, 3)")).subarray(0, 40) })],
    ["an entry behind the file", () => archive({ headerStart: 2 ** 30 })],
    ["arrays in each other", () => zip([a, { ...a, name: "b.npy", headerStart: 0 }])],
    ["a 64-bit directory behind the file", () => archive({}, { isLarge: true, directoryStart: 2 ** 60 })],
    ["an encrypted array", () => archive({ flags: 1 })],
    ["a bomb", () => archive({ isDeflated: true, sizeInBytes: 2 ** 31, bytes: Buffer.alloc(2 ** 20) })],
  ])("%s", async (name, made) => {
    const kind = name === "an encrypted array" ? dx.UnsupportedError : FormatError;
    await expect(npz.deserialize(made())).rejects.toThrow(kind);
    const path = join(folder, `refused ${name}.npz`);
    await writeFile(path, made());
    await expect(npz.load(path)).rejects.toThrow(kind);
  });

  test("maxBytes: how much deflated arrays may become", async () => {
    const bytes = bytesOf(files["zeros"]!.file);
    await expect(npz.deserialize(bytes, { maxBytes: 1000 })).rejects.toThrow(/at most 1000 bytes when inflated.*pass maxBytes/);
    disposeAll(await npz.deserialize(bytes, { maxBytes: 400_000 }));
    disposeAll(await npz.deserialize(bytesOf(files["savez"]!.file), { maxBytes: 0 }));
    await expect(npz.deserialize(bytes, { maxBytes: Number.NaN })).rejects.toThrow(dx.ValueError);
  });

  test("every byte changed, and every cut: tensors or an error of the library's", async () => {
    for (const isDeflated of [false, true]) {
      const whole = new Uint8Array(zip([{ ...a, isDeflated }]));
      for (let at = 0; at < whole.length; at += 3)
        for (const bytes of [whole.subarray(0, at), whole.with(at, whole[at]! ^ 1), whole.with(at, 0xff)])
          await npz.deserialize(bytes).then(disposeAll, (error: unknown) => {
            expect(error).toBeInstanceOf(dx.DxError);
          });
    }
  });

  test("arguments: what is no tensor, names that no file can hold, bfloat16, folders, pipes", async () => {
    const x = dx.zeros([2]);
    // @ts-expect-error a tensor alone has no name
    await expect(npz.serialize(x)).rejects.toThrow(dx.DTypeError);
    // @ts-expect-error numbers are no tensors
    await expect(npz.serialize({ a: 1 })).rejects.toThrow(dx.DTypeError);
    for (const name of ["\ud800", "a\0b", "n".repeat(70_000)]) await expect(npz.serialize({ [name]: x })).rejects.toThrow(dx.ValueError);
    await expect(npz.serialize({ x: x.to("bfloat16") })).rejects.toThrow(dx.DTypeError);
    await expect(npz.load(folder)).rejects.toThrow(FormatError);
    await expect(npz.load(join(folder, "none.npz"))).rejects.toThrow(FormatError);
    await expect(npz.save(join(folder, "none", "x.npz"), { x })).rejects.toThrow(dx.ValueError);
    await expect(npz.load("x", { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
    if (process.platform === "win32") return;
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const [read] = await Promise.allSettled([npz.load(pipe), writeFile(pipe, archive({}))]);
    expect(String((read as PromiseRejectedResult).reason)).toMatch(/a pipe/);
  });

  test("an AbortSignal leaves no file behind", async () => {
    const into = join(folder, "aborted");
    await mkdir(into);
    const stop = new AbortController();
    const onProgress = (): void => stop.abort(new Error("enough"));
    for (const compressed of [false, true])
      await expect(npz.save(join(into, "a.npz"), { x: dx.zeros([8]) }, { compressed, signal: stop.signal, onProgress })).rejects.toThrow(
        "enough",
      );
    expect(await readdir(into)).toEqual([]);
  });
});
