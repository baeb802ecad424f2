/** Damaged and hostile GGUF files: typed errors that say what was expected, soon, without memory for what the file only claims to have. */
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { Sink, VALUE_TYPES } from "../../../src/io/gguf/metadata.ts";
import { generator } from "../../onnx/mutate.ts";

const { gguf, FormatError } = dx.io;
let folder: string;
let path: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-gguf-hostile-"));
  path = join(folder, "x.gguf");
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Tensor {
  readonly name?: string;
  readonly dims?: readonly (number | bigint)[];
  readonly type?: number;
  readonly offset?: number | bigint;
}

/** A file made by hand. pairs: writers of keys with their values. */
function made(
  tensors: readonly Tensor[],
  {
    pairs = [],
    count,
    data = 64,
    version = 3,
  }: { pairs?: readonly ((s: Sink) => void)[]; count?: bigint; data?: number; version?: number } = {},
): Uint8Array {
  const sink = new Sink();
  sink.uint32(0x46554747);
  sink.uint32(version);
  sink.uint64(count ?? tensors.length);
  sink.uint64(pairs.length);
  for (const pair of pairs) pair(sink);
  for (const { name = "t", dims = [2], type = 0, offset = 0 } of tensors) {
    sink.text(name);
    sink.uint32(dims.length);
    for (const d of dims) sink.uint64(d);
    sink.uint32(type);
    sink.uint64(offset);
  }
  sink.zeros(((32 - (sink.length % 32)) % 32) + data);
  return sink.bytes();
}

const pair =
  (key: string, write: (sink: Sink) => void): ((sink: Sink) => void) =>
  (sink) => {
    sink.text(key);
    write(sink);
  };
const id = (type: (typeof VALUE_TYPES)[number]): number => VALUE_TYPES.indexOf(type);
const arrayOf = (type: number, length: number | bigint) => (sink: Sink) => {
  sink.uint32(id("array"));
  sink.uint32(type);
  sink.uint64(length);
};

async function refused(bytes: Uint8Array, text: RegExp, kind: abstract new (...args: never[]) => Error = FormatError): Promise<void> {
  writeFileSync(path, bytes);
  const error = await gguf.open(path).then(
    (file) => file.close(),
    (e: unknown) => e,
  );
  expect(error).toBeInstanceOf(kind);
  expect(String(error)).toMatch(text);
}

test("what is no GGUF file, or of another version", async () => {
  await refused(new Uint8Array(), /a GGUF file; received an empty one/);
  await refused(new TextEncoder().encode("ggml and more"), /a GGUF file; received one that begins with "ggml"/);
  await refused(Uint8Array.of(1, 2, 3, 4, 5), /one that begins with 0102030405/);
  await refused(made([], { version: 1 }), /of version 2 or 3; received version 1.*Convert/, dx.UnsupportedError);
  await refused(made([], { version: 99 }), /of version 2 or 3; received version 99/);
  await expect(gguf.open(join(folder, "absent.gguf"))).rejects.toThrow(/ENOENT/);
  await expect(gguf.open(folder)).rejects.toThrow(/a file or a pipe; received a folder/);
  await expect(gguf.open(7 as unknown as string)).rejects.toThrow(dx.DTypeError);
});

test("absurd counts and lengths, before anything is allocated", async () => {
  await refused(made([], { count: 2n ** 63n }), /with 9223372036854775808 tensors, as it says/);
  await refused(made([], { pairs: [pair("a", arrayOf(id("uint8"), 2n ** 62n))] }), /4611686018427387904 items of a, as it says/);
  await refused(made([], { pairs: [pair("a", arrayOf(id("string"), 10_000))] }), /10000 items of a/);
  const text = pair("a", (sink) => {
    sink.uint32(id("string"));
    sink.uint64(2n ** 40n);
  });
  await refused(made([], { pairs: [text] }), /bytes of text, as it says/);
  await refused(made([{ dims: [2n ** 62n, 2n ** 62n] }]), /less than 2\^53 elements in tensor t/);
  await refused(made([{ dims: [0, 2n ** 62n] }]), /less than 2\^53 elements/);
  await refused(made([{ dims: [2 ** 40] }]), /bytes, for tensor t \(F32\[1099511627776\]\)/);
  await refused(made([{ dims: [1, 1, 1, 1, 1] }]), /at most 4 axes; received 5 of t/);
});

test("offsets, overlaps, odd rows and unknown types", async () => {
  await refused(made([{ offset: 2n ** 63n }]), /cut off, or damaged/);
  await refused(made([{ offset: 4 }]), /multiples of 32 bytes; received t at 4/);
  await refused(made([{ name: "a", dims: [9] }, { name: "b", offset: 32 }]), /no bytes in common; received a and b/); // prettier-ignore
  await refused(made([{}, {}]), /each tensor once; received t twice/);
  await refused(made([{ dims: [31], type: 2 }]), /rows of a multiple of 32 elements for tensor t; received Q4_0\[31\]/);
  const unknown = [{ name: "a", type: 4 }, { name: "b", type: 999 }, { name: "c", type: 4 }]; // prettier-ignore
  await refused(made(unknown), /received Q4_2 \(4\) of a and 1 more, 999 of b/, dx.UnsupportedError);
});

test("metadata: twice, of unknown types, nested deeply, with a bad alignment", async () => {
  const one = pair("a", (sink) => {
    sink.uint32(id("uint32"));
    sink.uint32(3);
  });
  await refused(made([], { pairs: [one, one] }), /each metadata key once; received a twice/);
  await refused(made([], { pairs: [pair("a", (sink) => sink.uint32(77))] }), /a type from 0 to 12 for a; received 77/);
  const deep = pair("a", (sink) => {
    sink.uint32(id("array"));
    for (let i = 0; i < 5000; i++) {
      sink.uint32(id("array"));
      sink.uint64(1);
    }
  });
  await refused(made([], { pairs: [deep] }), /nested at most 8 deep/);
  const alignment = pair("general.alignment", (sink) => {
    sink.uint32(id("uint32"));
    sink.uint32(3);
  });
  await refused(made([], { pairs: [alignment] }), /power of two of type uint32 as general\.alignment; received uint32 3/);
  const parts = pair("split.count", (sink) => {
    sink.uint32(id("uint16"));
    sink.number("uint16", 65535);
  });
  await refused(made([], { pairs: [parts] }), /named as one of 65535 parts/);
});

test("texts that are passed over are checked like others", async () => {
  const { openParts } = await import("../../../src/io/gguf/read.ts");
  const texts = (first: number | bigint): Uint8Array =>
    made([], {
      pairs: [
        pair("a", (sink) => {
          arrayOf(id("string"), 2)(sink);
          sink.uint64(first);
          sink.uint64(0);
        }),
      ],
      data: 512,
    });
  const opened = async (bytes: Uint8Array): Promise<unknown> => {
    writeFileSync(path, bytes);
    const parts = await openParts("test", path, false);
    for (const { file } of parts) await file.close();
    return parts[0]!.header.metadataTypes;
  };
  expect(await opened(texts(0))).toEqual({ a: "string[]" });
  await expect(opened(texts(2n ** 40n))).rejects.toThrow(/with 1099511627776 bytes of text, as it says/);
  await expect(opened(texts(2n ** 64n - 1n))).rejects.toThrow(FormatError);
  await expect(opened(made([], { pairs: [pair("a", arrayOf(id("string"), 10_000))] }))).rejects.toThrow(/10000 items of a/);
  const twice = pair("a", arrayOf(id("string"), 0));
  await expect(opened(made([], { pairs: [twice, twice] }))).rejects.toThrow(/each metadata key once; received a twice/);
});

test("a vocabulary that contradicts itself", async () => {
  const metadata = { "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": ["a", "b"], "tokenizer.ggml.scores": Float32Array.of(1) };
  await gguf.save(path, { tensors: {}, metadata });
  await using file = await gguf.open(path);
  expect(() => file.vocabulary).toThrow(/with 2 of float32 as tokenizer\.ggml\.scores/);
});

const whole = readFileSync(fileURLToPath(new URL("files/all.gguf", import.meta.url)));

test("a file that is cut off anywhere, also after it was opened", async () => {
  for (let length = 0; length < whole.length - 64; length += 29) await refused(whole.subarray(0, length), /gguf\.open: /);
  writeFileSync(path, whole);
  await using file = await gguf.open(path);
  truncateSync(path, whole.length - 200);
  await expect(file.load({ device: "cpu" })).rejects.toThrow(/as long as it was when it was opened/);
});

test("2000 files with bytes changed are read, or are typed errors, soon", async () => {
  const random = generator(20);
  const header = 2000;
  let errors = 0;
  const start = performance.now();
  for (let i = 0; i < 2000; i++) {
    const bytes = Uint8Array.from(whole);
    for (let n = 1 + Math.floor(random() * 3); n > 0; n--) {
      const at = Math.floor(random() * (random() < 0.9 ? header : bytes.length));
      bytes[at] = random() < 0.5 ? Math.floor(random() * 256) : bytes[at]! ^ (1 << Math.floor(random() * 8));
    }
    writeFileSync(path, bytes);
    try {
      const file = await gguf.open(path);
      try {
        void file.vocabulary;
        for (const t of Object.values(await file.load({ device: "cpu" }))) t.dispose();
      } finally {
        await file.close();
      }
    } catch (error) {
      errors++;
      expect([i, error instanceof dx.DxError ? "typed" : error]).toEqual([i, "typed"]);
    }
  }
  expect(errors).toBeGreaterThan(300);
  expect(performance.now() - start).toBeLessThan(60_000);
});
