import { lstat, mkdtemp, open, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DTYPES } from "../../src/core/dtype.ts";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { isWhole } from "../share.ts";

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
  const dtypes = Object.keys(DTYPES) as dx.DType[];

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
        transposed: x.t(),
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

  test("a tensor may have any name, __proto__ too", () =>
    clean(device, async () => {
      const kept = Object.fromEntries(
        ["__proto__", "constructor", "toString", "", "a.b", "\u0000"].map((name, i) => [name, dx.tensor([i, i + 1])]),
      );
      const metadata = JSON.parse('{"__proto__": "text", "constructor": "other"}') as Record<string, string>;
      const path = join(folder, "names.safetensors");
      await safetensors.save(path, kept, metadata);
      for (const loaded of [await safetensors.load(path), safetensors.deserialize(await safetensors.serialize(kept, metadata))]) {
        expect(Object.keys(loaded.tensors).sort()).toEqual(Object.keys(kept).sort());
        expect(Object.getPrototypeOf(loaded.tensors)).toBe(Object.prototype);
        for (const [name, t] of Object.entries(kept)) expect(numbers(loaded.tensors[name]!)).toEqual(numbers(t));
        expect(new Map(Object.entries(loaded.metadata))).toEqual(new Map(Object.entries(metadata)));
        for (const t of Object.values(loaded.tensors)) t.dispose();
      }
      for (const t of Object.values(kept)) t.dispose();
    }));

  test("saves to one path at once leave a whole file, and nothing else", () =>
    clean(device, async () => {
      const path = join(folder, "shared.safetensors");
      const all = Array.from({ length: 12 }, (_, i) => dx.full([1 << (10 + i)], i, { dtype: "float32" }));
      for (let round = 0; round < 3; round++) {
        await Promise.all(all.map((t) => safetensors.save(path, { t })));
        const { tensors } = await safetensors.load(path);
        const length = tensors.t!.size;
        expect(all.map((t) => t.size)).toContain(length);
        expect(numbers(tensors.t!).every((v) => v === Math.log2(length) - 10)).toBe(true);
        tensors.t!.dispose();
      }
      expect((await readdir(folder)).filter((name) => name.endsWith(".part"))).toEqual([]);
      for (const t of all) t.dispose();
    }));

  test.skipIf(process.platform === "win32")(
    "a link stays, what it leads to is replaced, and links under names of old unfinished files are left alone",
    () =>
      clean(device, async () => {
        const victim = join(folder, "victim");
        await writeFile(victim, "precious");
        const path = join(folder, "linked.safetensors");
        const names = [path, `${path}.${process.pid}.part`, `${path}.part`];
        await symlink(join(folder, "target.safetensors"), path);
        for (const name of names.slice(1)) await symlink(victim, name);
        const t = dx.ones([3]);
        await safetensors.save(path, { t });
        expect(await readFile(victim, "utf8")).toBe("precious");
        expect([(await lstat(path)).isSymbolicLink(), (await lstat(join(folder, "target.safetensors"))).isFile()]).toEqual([true, true]);
        for (const name of names.slice(1)) await rm(name);
        t.dispose();
      }),
  );

  test("what is saved is the state of the call; a later change of what has not been read is an error", () =>
    clean(device, async () => {
      const path = join(folder, "state.safetensors");
      const small = dx.tensor([1, 2, 3], { dtype: "float32" });
      const saving = safetensors.save(path, { small });
      small.add_(1);
      await saving;
      const gone = dx.tensor([7]);
      const transposed = dx
        .tensor([
          [1, 2],
          [3, 4],
        ])
        .t();
      const disposed = safetensors.save(join(folder, "gone.safetensors"), { gone, transposed });
      gone.dispose();
      transposed.dispose();
      await disposed;
      for (const [file, name, values] of [
        [path, "small", [1, 2, 3]],
        [join(folder, "gone.safetensors"), "gone", [7]],
        [join(folder, "gone.safetensors"), "transposed", [1, 3, 2, 4]],
      ] as const) {
        const { tensors } = await safetensors.load(file);
        expect(numbers(tensors[name]!)).toEqual(values);
        for (const t of Object.values(tensors)) t.dispose();
      }
      small.dispose();
      // 272 MiB are more than is read ahead.
      const large = Array.from({ length: 17 }, () => dx.zeros([4 << 20]));
      const late = safetensors.save(join(folder, "late.safetensors"), Object.fromEntries(large.map((t, i) => [`t${i}`, t])));
      // The last in the file's order, which is that of the names.
      large[9]!.add_(1);
      await expect(late).rejects.toThrow(dx.ValueError);
      await expect(late).rejects.toThrow(/unchanged until its bytes have been read/);
      expect((await readdir(folder)).filter((name) => name.includes("late") || name.endsWith(".part"))).toEqual([]);
      for (const t of large) t.dispose();
    }));

  test("progress is told, and a signal ends saving and loading without a trace", () =>
    clean(device, async () => {
      const path = join(folder, "pieces.safetensors");
      const tensors = { a: dx.ones([5 << 20]), b: dx.ones([9 << 20]), c: dx.ones([3]) };
      const bytes = 4 * ((14 << 20) + 3);
      const seen: dx.io.Progress[] = [];
      await safetensors.save(path, tensors, {}, { onProgress: (p) => seen.push(p) });
      const wrote = seen.splice(0);
      const loaded = await safetensors.load(path, { onProgress: (p) => seen.push(p) });
      for (const told of [wrote, seen]) {
        expect(told.map((p) => p.name)).toEqual(["a", "a", "b", "b", "b", "c"]);
        expect(told.every((p, i) => p.totalBytes === bytes && (i === 0 || p.bytes > told[i - 1]!.bytes))).toBe(true);
        expect(told.at(-1)!.bytes).toBe(bytes);
      }
      expect(loaded.tensors.b!.sum().itemSync()).toBe(9 << 20);
      for (const t of Object.values(loaded.tensors)) t.dispose();
      const before = await readFile(path);
      const reason = new Error("enough");
      for (const at of [1, 3, 6]) {
        for (const run of [
          (o: dx.io.TransferOptions) => safetensors.save(path, tensors, { other: "file" }, o),
          (o: dx.io.TransferOptions) => safetensors.load(path, o),
        ]) {
          const controller = new AbortController();
          let calls = 0;
          const onProgress = (): void => {
            if (++calls === at) controller.abort(reason);
          };
          await expect(run({ signal: controller.signal, onProgress })).rejects.toBe(reason);
          expect(calls).toBe(at);
          await expect(run({ signal: controller.signal })).rejects.toBe(reason);
          const thrown = (): void => {
            throw reason;
          };
          await expect(run({ onProgress: thrown })).rejects.toBe(reason);
        }
      }
      expect((await readFile(path)).equals(before)).toBe(true);
      expect((await readdir(folder)).filter((name) => name.endsWith(".part"))).toEqual([]);
      for (const t of Object.values(tensors)) t.dispose();
    }));
});

// On the software adapter alone: what is tested is the file, and 2 GiB are dear elsewhere.
test.runIf(isWhole)(
  "a file of more than 2 GiB goes in and out in pieces",
  async () => {
    const size = 2 ** 31 + 4100;
    const tail = 8;
    const marks: readonly (readonly [number, number])[] = [
      [0, 1],
      [2 ** 31 - 1, 2],
      [2 ** 31, 3],
      [size - 1, 4],
      [size + tail - 1, 5],
    ];
    const header = JSON.stringify({
      big: { dtype: "U8", shape: [size], data_offsets: [0, size] },
      tail: { dtype: "U8", shape: [tail], data_offsets: [size, size + tail] },
    }).padEnd(256);
    const path = join(folder, "large.safetensors");
    const again = join(folder, "large-again.safetensors");
    const head = new Uint8Array(8 + header.length);
    new DataView(head.buffer).setBigUint64(0, BigInt(header.length), true);
    head.set(new TextEncoder().encode(header), 8);
    const made = await open(path, "w");
    await made.write(head, 0, head.length, 0);
    for (const [at, value] of marks) await made.write(Uint8Array.of(value), 0, 1, head.length + at);
    await made.close();
    let host = 0;
    const onProgress = (): void => {
      host = Math.max(host, process.memoryUsage().arrayBuffers);
    };
    const { tensors } = await safetensors.load(path, { device: "cpu", onProgress });
    // Two pieces, not the file.
    expect(host / 2 ** 20).toBeLessThan(128);
    expect(tensors.big!.size).toBe(size);
    const ends = tensors.big!.slice(0, 2 ** 31 - 1, 2 ** 31 + 1);
    expect(numbers(ends)).toEqual([2, 3]);
    expect(numbers(tensors.tail!)).toEqual([0, 0, 0, 0, 0, 0, 0, 5]);
    await safetensors.save(again, tensors, {}, { onProgress });
    for (const t of [ends, ...Object.values(tensors)]) t.dispose();
    expect(host / 2 ** 20).toBeLessThan(1024);
    const file = await open(again, "r");
    const start = 8 + Number((await file.read(Buffer.alloc(8), 0, 8, 0)).buffer.readBigUInt64LE());
    expect((await file.stat()).size).toBe(start + size + tail);
    const near = [-1, 0, 1];
    const byte = async (at: number): Promise<number> => (await file.read(Buffer.alloc(1), 0, 1, start + at)).buffer[0]!;
    for (const [at] of marks)
      for (const d of near)
        if (at + d >= 0 && at + d < size + tail) expect(await byte(at + d)).toBe(marks.find(([m]) => m === at + d)?.[1] ?? 0);
    await file.close();
  },
  300_000,
);
