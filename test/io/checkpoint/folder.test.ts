/** Checkpoints in a folder: shards, the last n, the last complete one, and the files of killed saves. */
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { ownerName } from "../../../src/io/checkpoint/folder.ts";
import { MANIFEST, SHARD } from "../../../src/io/checkpoint/format.ts";
import { formatHeader } from "../../../src/io/safetensors-header.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-folder-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});
const at = (name: string): string => join(folder, name);
/** Ten arrays of 800 bytes, all of one number. */
const state = (n: number): Record<string, Float64Array> =>
  Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`a${i}`, new Float64Array(100).fill(n)]));
const files = (): readonly string[] => readdirSync(folder).sort();
const shards = (): readonly string[] => files().filter((name) => /-of-/.test(name));
/** A shard as another process would have left it. */
const shardOf = (id: string, owner: string): string => {
  const name = `step-1-00001-of-00002-${id}.safetensors`;
  writeFileSync(at(name), formatHeader([], { [SHARD]: JSON.stringify({ version: 1, id, owner }) }));
  return name;
};

describe("shards", () => {
  test("hold at most so many bytes, and are read as one", async () => {
    await dx.save(at("model.safetensors"), state(1), { maxShardBytes: 2000 });
    expect(shards()).toHaveLength(5);
    expect(shards().every((name, i) => name.startsWith(`model-0000${i + 1}-of-00005-`))).toBe(true);
    expect(await dx.load(at("model.safetensors"))).toEqual(state(1));
    // A larger entry has a file of its own.
    await dx.save(at("model.safetensors"), state(2), { maxShardBytes: 1 });
    expect(shards()).toHaveLength(10);
    expect(await dx.load(at("model.safetensors"))).toEqual(state(2));
    // One file is enough.
    await dx.save(at("model.safetensors"), state(3), { maxShardBytes: 8000 });
    expect(files()).toEqual(["model.safetensors"]);
    expect(await dx.load(at("model.safetensors"))).toEqual(state(3));
  });

  test("each is a safetensors file of its own, and is refused as a checkpoint", async () => {
    await dx.save(
      at("model.safetensors"),
      { a: dx.ones([2], { device: "cpu" }), b: dx.zeros([3], { device: "cpu" }) },
      { maxShardBytes: 8 },
    );
    const [first, second] = shards();
    expect(Object.keys((await dx.io.safetensors.load(at(first!))).tensors)).toEqual(["a"]);
    expect(Object.keys((await dx.io.safetensors.load(at(second!))).tensors)).toEqual(["b"]);
    await expect(dx.load(at(first!))).rejects.toThrow(/one of its shards/);
  });

  test("of a replaced or removed checkpoint go, those that another file names stay", async () => {
    await dx.save(at("last.safetensors"), state(1), { maxShardBytes: 4000 });
    copyFileSync(at("last.safetensors"), at("best.safetensors"));
    await dx.save(at("last.safetensors"), state(2), { maxShardBytes: 4000 });
    expect(await dx.load(at("best.safetensors"))).toEqual(state(1));
    expect(shards()).toHaveLength(4);
    renameSync(at("best.safetensors"), at("other"));
    await dx.save(at("last.safetensors"), state(3), { maxShardBytes: 4000 });
    expect(await dx.load(at("other"))).toEqual(state(1));
    expect(await dx.load(at("last.safetensors"))).toEqual(state(3));
    rmSync(at("other"));
    await dx.save(at("last.safetensors"), state(4));
    expect(files()).toEqual(["last.safetensors"]);
  });

  test("of saves that did not end go with the next one, those of live processes stay", async () => {
    const own = ownerName();
    const [process_ = "", thread = ""] = own.split("/");
    const dead = shardOf("0000000000000001", `${process_.replace(/-\d+-\d+$/, "")}-4194304-1/${thread}`);
    const ended = shardOf("0000000000000002", own);
    const sibling = shardOf("0000000000000003", `${process_}/another-thread`);
    const foreign = shardOf("0000000000000004", "0123456789abcdef-1-1/x");
    const old = shardOf("0000000000000005", "0123456789abcdef-1-2/x");
    utimesSync(at(old), 0, 0);
    const notOurs = "notes-00001-of-00002-0000000000000006.safetensors";
    writeFileSync(at(notOurs), formatHeader([], {}));
    await dx.save(at("step-2.safetensors"), state(1));
    expect(files()).toEqual([notOurs, sibling, foreign, "step-2.safetensors"].sort());
    expect([dead, ended].every((name) => !files().includes(name))).toBe(true);
  });

  test.skipIf(process.platform === "win32")("a link to a checkpoint leads to its shards (POSIX)", async () => {
    await dx.save(at("model.safetensors"), state(1), { maxShardBytes: 4000 });
    const elsewhere = mkdtempSync(join(tmpdir(), "dxtensor-link-"));
    try {
      symlinkSync(at("model.safetensors"), join(elsewhere, "link"));
      expect(await dx.load(join(elsewhere, "link"))).toEqual(state(1));
      await dx.save(join(elsewhere, "link"), state(2), { maxShardBytes: 4000 });
      expect(readdirSync(elsewhere)).toEqual(["link"]);
      expect(shards()).toHaveLength(2);
      expect(await dx.load(at("model.safetensors"))).toEqual(state(2));
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  test("that are missing, cut off or another save's are an error", async () => {
    await dx.save(at("model.safetensors"), state(1), { maxShardBytes: 4000 });
    const [first, second] = shards();
    const bytes = readFileSync(at(first!));
    rmSync(at(first!));
    await expect(dx.load(at("model.safetensors"))).rejects.toThrow(/with all of its shards/);
    expect(await dx.latest(folder)).toBeNull();
    writeFileSync(at(first!), bytes.subarray(0, -1));
    await expect(dx.load(at("model.safetensors"))).rejects.toThrow(dx.io.FormatError);
    copyFileSync(at(second!), at(first!));
    await expect(dx.load(at("model.safetensors"))).rejects.toThrow(/without an entry of another file|as its manifest says/);
    writeFileSync(at(first!), bytes);
    expect(await dx.load(at("model.safetensors"))).toEqual(state(1));
    const changed = Buffer.from(readFileSync(at(second!)));
    const id = /-([0-9a-f]{16})\./.exec(second!)![1]!;
    changed.write(
      id.replace(/^./, (c) => (c === "0" ? "1" : "0")),
      changed.indexOf(id),
    );
    writeFileSync(at(second!), changed);
    await expect(dx.load(at("model.safetensors"))).rejects.toThrow(/a shard of the save/);
  });
});

describe("keepLast", () => {
  test("keeps the last saves of one name, whatever their numbers, and nothing else goes", async () => {
    for (const name of ["other-1.safetensors", "step-7.txt", "step-x.safetensors"]) await dx.save(at(name), {});
    writeFileSync(at("step-99.safetensors"), "no checkpoint");
    for (const n of [100, 200, 300, 1, 2]) await dx.save(at(`step-${n}.safetensors`), state(n), { keepLast: 3, maxShardBytes: 4000 });
    expect(files().filter((name) => !/-of-/.test(name))).toEqual(
      [
        "other-1.safetensors",
        "step-1.safetensors",
        "step-2.safetensors",
        "step-300.safetensors",
        "step-7.txt",
        "step-99.safetensors",
        "step-x.safetensors",
      ].sort(),
    );
    expect(shards()).toHaveLength(6);
    expect(await dx.latest(folder)).toBe(at("step-2.safetensors"));
    await dx.save(at("step-3.safetensors"), state(3), { keepLast: 1 });
    expect(files().filter((name) => /^step-\d+\.safetensors$/.test(name))).toEqual(["step-3.safetensors", "step-99.safetensors"]);
    expect(shards()).toEqual([]);
    await dx.save(at("step-3.safetensors"), state(4), { keepLast: 1 });
    expect(await dx.load(at("step-3.safetensors"))).toEqual(state(4));
  });
});

describe("latest", () => {
  test("is the last complete one; null without any", async () => {
    expect(await dx.latest(at("nowhere"))).toBeNull();
    expect(await dx.latest(folder)).toBeNull();
    await dx.save(at("a-2"), { n: 1 });
    await dx.save(at("a-10"), { n: 2 });
    expect(await dx.latest(folder)).toBe(at("a-10"));
    await dx.save(at("a-1"), { ...state(3), n: 3 }, { maxShardBytes: 4000 });
    expect(await dx.latest(folder)).toBe(at("a-1"));
    truncateSync(at(shards()[0]!), 10);
    expect(await dx.latest(folder)).toBe(at("a-10"));
    truncateSync(at("a-10"), 60);
    expect(await dx.latest(pathToFileURL(folder))).toBe(at("a-2"));
    writeFileSync(at("a-2"), formatHeader([], { [MANIFEST]: JSON.stringify({ version: 1 }) }));
    expect(await dx.latest(folder)).toBeNull();
    await expect(dx.latest(3 as never)).rejects.toThrow(dx.DTypeError);
  });
});

describe("manifests", () => {
  const write = (manifest: unknown, entries: Parameters<typeof formatHeader>[0] = []): void => {
    const head = formatHeader(entries, { [MANIFEST]: typeof manifest === "string" ? manifest : JSON.stringify(manifest) });
    const data = entries.reduce((n, e) => Math.max(n, e.end), 0);
    writeFileSync(at("m"), Buffer.concat([head, new Uint8Array(data)]));
  };
  const whole = { version: 1, id: "0123456789abcdef", savedAt: 1, state: {}, tensors: [], arrays: [], shards: [] };
  const entry = { name: "a", dtype: "float32", shape: [4], start: 0, end: 16 } as const;

  test("of a newer version are refused with the way out", async () => {
    write({ ...whole, version: 3, other: 1 });
    const error: unknown = await dx.load(at("m")).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(dx.io.FormatError);
    expect((error as Error).message).toMatch(/version 3.*update this one/);
    write(whole);
    expect(await dx.load(at("m"))).toEqual({});
  });

  const tensor = (record: object): object => ({ ...whole, state: { $tensor: 0 }, tensors: [{ entry: "a", ...record }] });
  let deep: unknown = 1;
  for (let i = 0; i < 3000; i++) deep = [deep];
  test.each<[string, unknown]>([
    ["no JSON", "{"],
    ["a list", []],
    ["no version", { ...whole, version: undefined }],
    ["an id that is a path", { ...whole, id: "../../etc/passwd" }],
    ["a shard elsewhere", { ...whole, shards: [{ file: "../m.safetensors", sizeInBytes: 1 }] }],
    ["a shard of no name", { ...whole, shards: [{ file: "a\u0000.safetensors", sizeInBytes: 1 }] }],
    ["an unknown kind of value", { ...whole, state: { $later: 1 } }],
    ["a value of another kind", { ...whole, state: { $date: "x" } }],
    ["a number by no name", { ...whole, state: { $number: "1e5" } }],
    ["a bigint of no digits", { ...whole, state: { $bigint: "12" } }],
    ["a map of no pairs", { ...whole, state: { $map: [[1]] } }],
    ["a state of nothing", { ...whole, state: { $state: {} } }],
    ["an object of no pairs", { ...whole, state: { $object: [[1, 2]] } }],
    ["a tensor that is not there", { ...whole, state: { $tensor: 0 } }],
    ["a tensor of no number", { ...whole, state: { $tensor: -1 } }],
    ["an entry that is not there", { ...whole, state: { $tensor: 0 }, tensors: [{ entry: "b" }] }],
    ["an array that is not there", { ...whole, state: { $array: 1 } }],
    ["an array of an unknown class", { ...whole, state: { $array: 0 }, arrays: [{ entry: "a", type: "Array" }] }],
    ["an array of other elements", { ...whole, state: { $array: 0 }, arrays: [{ entry: "a", type: "Float64Array" }] }],
    ["numbers that are no words", { ...whole, state: { $numbers: 0 }, tensors: [{ entry: "a" }] }],
    ["a view beyond its entry", tensor({ view: { shape: [2], strides: [4], offset: 0 } })],
    ["a view behind its entry", tensor({ view: { shape: [1], strides: [1], offset: 4 } })],
    ["a view of other axes", tensor({ view: { shape: [1], strides: [], offset: 0 } })],
    ["a view without end", tensor({ view: { shape: [2 ** 52, 2 ** 52], strides: [0, 0], offset: 0 } })],
    ["a view of many axes", tensor({ view: { shape: Array(100).fill(1), strides: Array(100).fill(1), offset: 0 } })],
    ["an order of other axes", tensor({ order: [1] })],
    ["an order of one axis twice", tensor({ order: [0, 0] })],
    ["a complex tensor of no pairs", { ...whole, state: { $complex: [0, false] }, tensors: [{ entry: "a" }] }],
    ["a tree without end", { ...whole, state: deep }],
  ])("that are damaged are refused: %s", async (_, manifest) => {
    write(manifest, [entry]);
    const error: unknown = await dx.load(at("m"), { device: "cpu" }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(dx.io.FormatError);
    expect((error as dx.DxError).operation).toBe("load");
  });
});
