/** NumPy's .npy files: those that NumPy 2 wrote (record.py), and damaged ones. */
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice } from "../../device.ts";

const { npy, FormatError } = dx.io;

interface Recorded {
  readonly file: string;
  readonly dtype: dx.DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly bytes: string;
}
const { files, refused } = JSON.parse(readFileSync(new URL("files.json", import.meta.url), "utf8")) as {
  files: Record<string, Recorded>;
  refused: Record<string, string>;
};
const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"));
const hexOf = (t: dx.Tensor): string => {
  const array = t.dataSync();
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("hex");
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-npy-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

eachDevice("io.npy", (device) => {
  test.each(Object.keys(files))("%s: as NumPy has it, from a file and from bytes", (name) =>
    clean(device, async () => {
      const { file, dtype, shape, strides, bytes } = files[name]!;
      const path = join(folder, `${name}.npy`);
      await writeFile(path, bytesOf(file));
      const isPacked = shape.includes(0) || !name.startsWith("fortran");
      for (const t of [await npy.load(path), await npy.load(pathToFileURL(path)), npy.deserialize(bytesOf(file))]) {
        expect([t.dtype, t.shape, hexOf(t), t.requiresGrad]).toEqual([dtype, shape, bytes, false]);
        if (!isPacked) expect(t.strides).toEqual(strides);
        t.dispose();
      }
    }),
  );

  test.each(["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "scalar", "vector", "empty", "deep"])(
    "%s: saved with NumPy's bytes, three times",
    (name) =>
      clean(device, async () => {
        const recorded = bytesOf(files[name]!.file);
        const t = npy.deserialize(recorded);
        const path = join(folder, `saved-${name}.npy`);
        for (let i = 0; i < 3; i++) {
          await npy.save(path, t);
          expect(new Uint8Array(await readFile(path))).toEqual(recorded);
        }
        expect(await npy.serialize(t)).toEqual(recorded);
        t.dispose();
      }),
  );

  test("views are saved packed, and a result with a gradient as its elements", () =>
    clean(device, async () => {
      const x = dx.tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      for (const view of [x.t(), x.slice(0, 2), x.select(1, 2), x.flip(0), x.expand([2, 2, 3]), x.clone().requiresGrad_().mul(2)])
        expect(npy.deserialize(await npy.serialize(view)).toArraySync()).toEqual(view.toArraySync());
    }));

  test("what is saved is the tensor at the time of the call", () =>
    clean(device, async () => {
      const x = dx.arange(4, { dtype: "float32" });
      const saving = npy.serialize(x);
      x.add_(1);
      expect(npy.deserialize(await saving).toArraySync()).toEqual([0, 1, 2, 3]);
    }));

  test("a column-major tensor may be changed and computed with", () =>
    clean(
      device,
      () => {
        const t = npy.deserialize(bytesOf(files["fortran"]!.file));
        t.select(0, 1).zero_();
        expect(t.sum().itemSync()).toBe(66);
        expect(
          dx
            .compile((a: dx.Tensor) => a.mul(2).sum())(t)
            .itemSync(),
        ).toBe(132);
      },
      { collect: true },
    ));
});

describe("npy on meta", () => {
  test("shape and dtype alone", async () => {
    const { file, shape } = files["fortran"]!;
    const path = join(folder, "meta.npy");
    await writeFile(path, bytesOf(file));
    for (const t of [await npy.load(path, { device: "meta" }), npy.deserialize(bytesOf(file), { device: "meta" })])
      expect([t.shape, t.dtype, t.device.type]).toEqual([shape, "float32", "meta"]);
  });
});

describe("files that are refused", () => {
  test.each(Object.keys(refused))("%s", (name) => {
    expect(() => npy.deserialize(bytesOf(refused[name]!))).toThrow(dx.UnsupportedError);
  });

  const withHeader = (text: string, data = 24): Uint8Array => {
    const head = Buffer.from(`\x93NUMPY\x01\x00\x00\x00${text}`, "latin1");
    head.writeUInt16LE(text.length, 8);
    return new Uint8Array(Buffer.concat([head, Buffer.alloc(data)]));
  };
  const header = (shape: string, rest = ""): string => `{'descr': '<f4', 'fortran_order': False, 'shape': ${shape}, ${rest}}`;

  test("a header by hand is read, with keys in any order", () => {
    for (const text of [header("(2, 3)"), "{'shape': (2, 3,), \"descr\": '<f4', 'fortran_order': False}\n"])
      expect(npy.deserialize(withHeader(text)).shape).toEqual([2, 3]);
    expect(npy.deserialize(withHeader(header("(2L, 3L)"))).shape).toEqual([2, 3]);
    // Bytes after the elements are ignored, as in NumPy.
    expect(npy.deserialize(withHeader(header("(2, 2)"))).shape).toEqual([2, 2]);
  });

  test.each([
    ["nothing", new Uint8Array()],
    ["one byte", Uint8Array.of(0x93)],
    ["a zip file", Uint8Array.of(0x50, 0x4b, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0)],
    ["another version", withHeader(header("(2, 3)")).with(6, 9)],
    ["a header beyond the end", withHeader(header("(2, 3)")).subarray(0, 40)],
    ["elements beyond the end", withHeader(header("(2, 4)"))],
    ["a huge shape", withHeader(header("(9999999999, 9999999999)"))],
    ["a huge shape without elements", withHeader(header("(0, 9007199254740991)"))],
    ["a negative size", withHeader(header("(-1, 3)"))],
    ["a size that is no number", withHeader(header("(x, 3)"))],
    ["many axes", withHeader(header(`(${"1, ".repeat(65)})`))],
    ["a call in the header", withHeader("{'descr': '<f4', 'fortran_order': False, 'shape': __import__('os')}")],
    ["a key twice", withHeader(header("(2, 3)", "'shape': (1, 1), "))],
    ["an unknown key", withHeader(header("(2, 3)", "'more': 1, "))],
    ["a key less", withHeader("{'descr': '<f4', 'shape': (2, 3)}")],
    ["no dict", withHeader("2")],
    ["a long header", (() => { const b = withHeader(header("(2, 3)")); b.set([2, 0, 0xff, 0xff, 0xff, 0x7f], 6); return b; })()], // prettier-ignore
  ])("%s", async (name, bytes) => {
    expect(() => npy.deserialize(bytes)).toThrow(FormatError);
    const path = join(folder, `refused ${name}.npy`);
    await writeFile(path, bytes);
    await expect(npy.load(path)).rejects.toThrow(FormatError);
  });

  test("every byte of a header changed, and every cut: a tensor or an error of the library's", () => {
    const whole = bytesOf(files["f4"]!.file);
    for (let at = 0; at < 128; at++)
      for (const bytes of [whole.subarray(0, at), whole.with(at, whole[at]! ^ 1), whole.with(at, 0xff)])
        try {
          npy.deserialize(bytes).dispose();
        } catch (error) {
          expect(error).toBeInstanceOf(dx.DxError);
        }
  });

  test("what no file can hold, and files that cannot be opened", async () => {
    await expect(npy.save(join(folder, "b.npy"), dx.zeros([2], { dtype: "bfloat16" }))).rejects.toThrow(dx.DTypeError);
    await expect(npy.save(join(folder, "none", "x.npy"), dx.zeros([2]))).rejects.toThrow(dx.ValueError);
    await expect(npy.load(join(folder, "none.npy"))).rejects.toThrow(FormatError);
    const gone = dx.zeros([2]);
    gone.dispose();
    await expect(npy.serialize(gone)).rejects.toThrow(dx.DxError);
  });

  test("an AbortSignal leaves nothing behind", async () => {
    const path = join(folder, "aborted.npy");
    const stop = new AbortController();
    const onProgress = (): void => stop.abort(new Error("enough"));
    await expect(npy.save(path, dx.zeros([8]), { signal: stop.signal, onProgress })).rejects.toThrow("enough");
    await expect(readFile(path)).rejects.toThrow(/ENOENT/);
    await npy.save(path, dx.zeros([8]));
    await expect(npy.load(path, { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
  });
});
