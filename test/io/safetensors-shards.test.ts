/** safetensors.open(): files, and those that an index lists, as one. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

const { safetensors, FormatError } = dx.io;
const INDEX = "model.safetensors.index.json";
const [A, B] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-shards-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const writeIndex = (map: unknown): Promise<void> =>
  writeFile(join(folder, INDEX), JSON.stringify({ metadata: { total_size: 28 }, weight_map: map }));

/** Two files and their index. */
async function writeShards(): Promise<void> {
  const [x, y, z] = [dx.tensor([0, 1, 2]), dx.tensor([[1, 2]], { dtype: "float16" }), dx.tensor([7], { dtype: "int64" })];
  await safetensors.save(join(folder, A), { x, y }, { format: "pt" });
  await safetensors.save(join(folder, B), { z }, { format: "pt", other: "1" });
  await writeIndex({ x: A, y: A, z: B });
  for (const t of [x, y, z]) t.dispose();
}

eachDevice("io.safetensors.open", (device) => {
  test.each([
    ["an index", INDEX],
    ["a folder", ""],
  ])("%s is one state, read lazily", (_, name) =>
    // prettier-ignore
    clean(device, async () => {
      await writeShards();
      const file = await safetensors.open(join(folder, name));
      expect([...file.tensors.values()]).toEqual([
        { name: "x", dtype: "float32", shape: [3], sizeInBytes: 12 },
        { name: "y", dtype: "float16", shape: [1, 2], sizeInBytes: 4 },
        { name: "z", dtype: "int64", shape: [1], sizeInBytes: 8 },
      ]);
      expect([file.paths, file.metadata]).toEqual([[join(folder, A), join(folder, B)], { format: "pt", other: "1" }]);
      const y = await file.tensor("y");
      const some = await file.load({ names: ["z", "x"] });
      expect([numbers(y), Object.keys(some), numbers(some["x"]!)]).toEqual([[1, 2], ["z", "x"], [0, 1, 2]]);
      let bytes = 0;
      const all = await safetensors.load(join(folder, name), { onProgress: (p) => (bytes = p.bytes) });
      expect([Object.keys(all.tensors), bytes, all.metadata]).toEqual([["x", "y", "z"], 24, { format: "pt", other: "1" }]);
      const meta = await file.load({ device: "meta" });
      expect(meta["z"]!.describe()).toContain("int64[1]");
      await expect(file.tensor("w")).rejects.toThrow(/name must be of a tensor in .*: x, y, z; received/);
      await expect(file.load({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
      await file.close();
      await file.close();
      await expect(file.tensor("y")).rejects.toThrow(dx.DisposedError);
      await expect(file.load()).rejects.toThrow(dx.DisposedError);
      for (const t of [y, ...Object.values(some), ...Object.values(all.tensors), ...Object.values(meta)]) t.dispose();
    }),
  );

  test("a single file, alone and as a folder's only one", () =>
    clean(device, async () => {
      const x = dx.arange(3);
      await safetensors.save(join(folder, "any.safetensors"), { x });
      for (const name of ["any.safetensors", ""]) {
        await using file = await safetensors.open(join(folder, name));
        const y = await file.tensor("x");
        expect(numbers(y)).toEqual([0, 1, 2]);
        y.dispose();
      }
      x.dispose();
    }));
});

async function refused(text: RegExp): Promise<void> {
  for (const read of [safetensors.open, safetensors.load]) {
    const error = await read(folder).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(FormatError);
    expect(String(error)).toMatch(text);
  }
}

test("an index that does not match its files is refused", async () => {
  await writeShards();
  await writeIndex({ x: A, y: A, z: B, w: B, v: A });
  await refused(/an index of tensors that its files have; received w, v, which they lack/);
  await writeIndex({ x: A, y: B, z: B });
  await refused(/received y, which they lack/);
  await writeIndex({ x: A, z: B });
  await refused(/an index of all tensors of its files; received none of y/);
  const x = dx.ones([1]);
  await safetensors.save(join(folder, B), { x, z: x });
  x.dispose();
  await writeIndex({ x: A, y: A, z: B });
  await refused(/each tensor once; received x in model-00001-of-00002\.safetensors and model-00002/);
  await rm(join(folder, B));
  await refused(/model-00002-of-00002\.safetensors must be a file that can be read; received ENOENT/);
});

test("an index that is none, or leads out of its folder, is refused", async () => {
  await refused(/a folder with model\.safetensors\.index\.json or model\.safetensors; received one without/);
  for (const text of ["{", "[]", "{}", '{"weight_map": []}', '{"weight_map": {"a": 1}}']) {
    await writeFile(join(folder, INDEX), text);
    await refused(/an index/);
  }
  for (const name of ["../secret.safetensors", "/etc/passwd", "..", "", "sub/x.safetensors", "a\\b", "\0"]) {
    await writeIndex({ x: name });
    await refused(/an index of files in its folder/);
  }
});

// On Windows a link needs a right of its own.
test.skipIf(process.platform === "win32")(
  "links out of the folder are refused, but not those of a cache that keeps all files elsewhere",
  async () => {
    await writeShards();
    const outside = await mkdtemp(join(tmpdir(), "dxtensor-blobs-"));
    try {
      await rename(join(folder, A), join(outside, "blob-a"));
      await symlink(join(outside, "blob-a"), join(folder, A));
      await refused(/model-00001-of-00002\.safetensors, a link to .*blob-a/);
      for (const name of [B, INDEX]) {
        await rename(join(folder, name), join(outside, `blob-${name}`));
        await symlink(join(outside, `blob-${name}`), join(folder, name));
      }
      await using file = await safetensors.open(folder);
      expect([...file.tensors.keys()]).toEqual(["x", "y", "z"]);
    } finally {
      await rm(outside, { recursive: true });
    }
  },
);

test("a folder with several files says which", async () => {
  for (const name of ["b.safetensors", "a.safetensors"]) await safetensors.save(join(folder, name), {});
  await refused(/one with a\.safetensors, b\.safetensors\. Name the file/);
  await mkdir(join(folder, "model.safetensors"));
  await refused(/a file or a pipe; received a folder/);
});
