/** save() and load() of nested states. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DTYPES } from "../../../src/core/dtype.ts";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, storageOf } from "../../device.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-checkpoint-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});
const at = (name: string): string => join(folder, name);

/** What load() gives for what save() took. */
async function roundTrip<T>(state: T, options: dx.CheckpointSaveOptions = {}): Promise<dx.SavedState<T>> {
  await dx.save(at("state.safetensors"), state, options);
  return dx.load<T>(at("state.safetensors"));
}

const dtypes = Object.keys(DTYPES) as dx.DType[];
const valuesOf = (dtype: dx.DType): readonly (number | bigint | boolean)[] =>
  dtype === "int64" || dtype === "uint64" ? [0n, 1n, 2n ** 62n + 1n] : dtype === "bool" ? [true, false, true] : [0, 1, 100];

describe("plain data", () => {
  test("comes back as it was, whatever it is", async () => {
    const state = {
      numbers: [0, -0, 1.5, -1e308, 5e-324, NaN, Infinity, -Infinity, 2 ** 53],
      big: [0n, -1n, 2n ** 200n, -(2n ** 64n)],
      texts: ["", "ä\u0000\ud800", "__proto__", "$tensor"],
      nothing: [null, undefined, true, false],
      dates: [new Date(0), new Date(-1e12), new Date(NaN)],
      map: new Map<unknown, unknown>([
        ["a", 1],
        [{ nested: [1n] }, new Map([[1, new Set([NaN])]])],
      ]),
      set: new Set([1, "1", null]),
      special: { $tensor: 3, plain: 1 },
      special2: { $state: { of: "X", state: null } },
      "": { "": { "a.b": 1 } },
      empty: [{}, [], new Map(), new Set()],
      sparse: Object.assign([], { length: 3, 1: "x" }),
    };
    const again = await roundTrip(state);
    expect(again).toStrictEqual({ ...state, sparse: [undefined, "x", undefined] });
    expect(Object.is(again.numbers[1], -0)).toBe(true);
    expect(Object.hasOwn(again, "numbers")).toBe(true);
  });

  test("names that objects have anyhow are names", async () => {
    const state = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2, "toString": [3]}') as Record<string, unknown>;
    const again = (await roundTrip(state)) as Record<string, unknown>;
    expect(Object.keys(again)).toEqual(Object.keys(state));
    expect(Object.getOwnPropertyDescriptor(again, "__proto__")?.value).toEqual({ a: 1 });
    expect(Object.getPrototypeOf(again)).toBe(Object.prototype);
  });

  test.each([null, 3, "text", [], NaN, 7n].map((value) => [value]))("%s may be the whole state", async (value) => {
    expect(await roundTrip(value)).toStrictEqual(value);
  });

  test("typed arrays of each class", async () => {
    const bytes = Uint8Array.from({ length: 32 }, (_, i) => i * 7);
    const state = {
      arrays: [
        Float32Array,
        Float64Array,
        Int8Array,
        Int16Array,
        Int32Array,
        BigInt64Array,
        Uint8Array,
        Uint8ClampedArray,
        Uint16Array,
        Uint32Array,
        BigUint64Array,
        DataView,
      ].map((type) => new (type as Uint8ArrayConstructor)(bytes.buffer.slice(0))),
      part: bytes.subarray(3, 9),
      buffer: bytes.buffer,
      empty: new Float64Array(0),
    };
    const again = await roundTrip(state);
    expect(again).toStrictEqual({ ...state, part: Uint8Array.from(state.part) });
    expect(await roundTrip([Buffer.from("text")])).toStrictEqual([Uint8Array.from(Buffer.from("text"))]);
    const twice = new Uint8Array([1, 2]);
    const [first, second] = await roundTrip([twice, twice]);
    expect(first).toBe(second);
  });

  const half = (globalThis as { Float16Array?: typeof Uint16Array }).Float16Array;
  test.skipIf(half === undefined)("a Float16Array (Node 24 and later)", async () => {
    const array = half!.of(1.5, -0, 65504);
    expect(await roundTrip({ array })).toStrictEqual({ array });
  });

  test("an array that changes while it is saved is saved as it was", async () => {
    const array = new Float64Array([1, 2, 3]);
    const saving = dx.save(at("a"), { array });
    array.fill(0);
    await saving;
    expect(await dx.load(at("a"))).toEqual({ array: new Float64Array([1, 2, 3]) });
  });
});

describe("what cannot be saved", () => {
  class Point {
    x = 1;
  }
  const cycle: Record<string, unknown> = {};
  cycle.self = { cycle };
  let deep: unknown[] = [];
  for (let i = 0; i < 2000; i++) deep = [deep];
  test.each<[string, unknown, string]>([
    ["a function", { a: { fn: () => 1 } }, "state.a.fn"],
    ["a symbol", [Symbol("s")], "state.0"],
    ["an object of a class", { point: new Point() }, "state.point"],
    ["a promise", { p: Promise.resolve(1) }, "state.p"],
    ["a key that is no text", { a: { [Symbol("key")]: 1 } }, "state.a"],
    ["a cycle", cycle, "state.self.cycle"],
    ["a tree without end", deep, "state"],
    ["an expression", { r: /x/ }, "state.r"],
  ])("%s is refused by name", async (_, state, argument) => {
    const error: unknown = await dx.save(at("x"), state).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(dx.DxError);
    expect(error).toMatchObject({ operation: "save", argument });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("nothing: a state that was forgotten, or misspelt", async () => {
    const model = { state: 1 } as { state: number; sate?: number };
    await expect(dx.save(at("x"), model.sate)).rejects.toMatchObject({ name: "ValueError", operation: "save", argument: "state" });
    await expect((dx.save as (path: string) => Promise<void>)(at("x"))).rejects.toThrow(dx.ValueError);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("tensors that were disposed of, are on meta, or in a compiled function", async () => {
    const gone = dx.ones([2], { device: "cpu" });
    gone.dispose();
    await expect(dx.save(at("x"), { gone })).rejects.toThrow(dx.DisposedError);
    await expect(dx.save(at("x"), { t: dx.ones([2], { device: "meta" }) })).rejects.toThrow(dx.DeviceError);
    let saving: Promise<void> | null = null;
    dx.compile(() => {
      saving = dx.save(at("x"), { t: 1 });
      return dx.ones([1], { device: "cpu" });
    })();
    await expect(saving).rejects.toThrow(dx.TraceError);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([0, -1, 1.5, NaN])("options out of their range: %s", async (value) => {
    await expect(dx.save(at("a-1"), {}, { keepLast: value })).rejects.toThrow(dx.ValueError);
    await expect(dx.save(at("a-1"), {}, { maxShardBytes: value })).rejects.toThrow(dx.ValueError);
    await expect(dx.save(at("a"), {}, { keepLast: 2 })).rejects.toThrow(/keepLast/);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("plain data that the header has no room for", async () => {
    await expect(dx.save(at("x"), { text: "x".repeat(100_000_001) })).rejects.toThrow(dx.ValueError);
    expect(readdirSync(folder)).toEqual([]);
  });
});

eachDevice("save and load", (device) => {
  test.each(dtypes)("a tensor of %s", (dtype) =>
    clean(device, async () => {
      const t = dx.tensor(valuesOf(dtype), { dtype });
      const { same } = await roundTrip({ same: t });
      expect(same.describe()).toBe(t.describe());
      expect(same.dataSync()).toEqual(t.dataSync());
      same.dispose();
    }),
  );

  test("views, empty tensors, scalars, expanded and permuted ones", () =>
    clean(device, async () => {
      const x = dx.arange(24).reshape([2, 3, 4]);
      const state = {
        permuted: dx.arange(24).reshape([2, 3, 4]).permute(2, 0, 1),
        transposed: dx.arange(6).reshape([2, 3]).t(),
        ones: dx.arange(6).reshape([1, 2, 1, 3]).transpose(1, 3),
        gaps: dx.arange(10).slice(0, 2, 9, 3),
        expanded: dx.arange(3).reshape([3, 1]).expand([3, 1000]),
        none: dx.zeros([0, 3]),
        scalar: dx.tensor(7),
        x,
      };
      const again = await roundTrip(state);
      for (const [name, t] of Object.entries(state)) {
        const mine = again[name as keyof typeof state];
        expect([name, mine.describe(), mine.toArraySync()]).toEqual([name, t.describe(), t.toArraySync()]);
        // An axis of one element may have any stride.
        const strides = (x: dx.Tensor): readonly number[] => x.strides.filter((_, axis) => x.shape[axis] !== 1);
        if (name !== "gaps") expect([name, strides(mine)]).toEqual([name, strides(t)]);
      }
      expect(again.gaps.isContiguous).toBe(true);
      expect(storageOf(again.expanded)).toHaveProperty("sizeInBytes", 12);
      for (const t of Object.values(again)) t.dispose();
    }));

  test("tensors that share elements share them again, and others do not", () =>
    clean(device, async () => {
      const weight = dx.arange(12).reshape([3, 4]);
      const halves = dx.arange(10);
      const state = {
        weight,
        tied: weight.view([3, 4]),
        again: weight,
        transposed: weight.t(),
        row: weight.slice(0, 1, 2),
        first: halves.slice(0, 0, 6),
        second: halves.slice(0, 4, 10),
        apart: [dx.arange(4).slice(0, 0, 2)],
      };
      const loaded = await roundTrip(state);
      expect(loaded.again).toBe(loaded.weight);
      expect(loaded.tied).not.toBe(loaded.weight);
      expect(new Set([loaded.weight, loaded.tied, loaded.transposed, loaded.row].map(storageOf)).size).toBe(1);
      expect(storageOf(loaded.first)).toBe(storageOf(loaded.second));
      expect(new Set([loaded.weight, loaded.first, loaded.apart[0]!].map(storageOf)).size).toBe(3);
      loaded.weight.fill_(5);
      expect(loaded.transposed.toArraySync()).toEqual(Array.from({ length: 4 }, () => [5, 5, 5]));
      expect(loaded.row.toArraySync()).toEqual([[5, 5, 5, 5]]);
      loaded.second.zero_();
      expect(loaded.first.toArraySync()).toEqual([0, 1, 2, 3, 0, 0]);
      const plain = await dx.io.safetensors.load(at("state.safetensors"));
      expect(Object.fromEntries(Object.entries(plain.tensors).map(([name, t]) => [name, t.shape]))).toEqual({
        weight: [3, 4],
        first: [10],
        "apart.0": [2],
      });
      for (const t of [...Object.values(plain.tensors), ...Object.values(loaded).flat()]) t.dispose();
    }));

  test("gradients are required as before, parameters are parameters, complex tensors complex", () =>
    clean(device, async () => {
      const parameter = new dx.nn.Parameter(dx.ones([2]));
      const frozen = new dx.nn.Parameter(dx.ones([2]), { requiresGrad: false });
      const z = dx.complex(dx.tensor([1, 2]), dx.tensor([3, 4]));
      const again = await roundTrip({
        parameter,
        frozen,
        leaf: dx.ones([2], { requiresGrad: true }),
        plain: dx.ones([2]),
        z,
        conj: z.conj(),
      });
      expect(again.parameter).toBeInstanceOf(dx.nn.Parameter);
      expect([again.parameter, again.frozen, again.leaf, again.plain].map((t) => t.requiresGrad)).toEqual([true, false, true, false]);
      expect(again.frozen).toBeInstanceOf(dx.nn.Parameter);
      expect(again.leaf.isLeaf).toBe(true);
      expect(again.z.toArraySync()).toEqual(z.toArraySync());
      expect([again.conj.isConj, again.conj.toArraySync()]).toEqual([true, z.conj().toArraySync()]);
      for (const t of [parameter, frozen, again.parameter, again.frozen, again.leaf, again.plain, again.z, again.conj]) t.dispose();
    }));

  test("names that collide, and any characters in them", () =>
    clean(device, async () => {
      const state = {
        "a.b": dx.tensor(1),
        a: { b: dx.tensor(2) },
        __metadata__: dx.tensor(3),
        $x: dx.tensor(4),
        "": dx.tensor(5),
        "é\n": dx.tensor(6),
      };
      const again = await roundTrip(state);
      expect([again["a.b"], again.a.b, again.__metadata__, again.$x, again[""], again["é\n"]].map((t) => t.itemSync())).toEqual([
        1, 2, 3, 4, 5, 6,
      ]);
      for (const t of [again["a.b"], again.a.b, again.__metadata__, again.$x, again[""], again["é\n"]]) t.dispose();
    }));

  test("what is saved is the state of now, or an error", () =>
    clean(device, async () => {
      const t = dx.zeros([1000]);
      const saving = dx.save(at("now"), { t });
      t.add_(1);
      t.dispose();
      await saving;
      const { t: again } = await dx.load<{ t: dx.Tensor }>(at("now"));
      expect(again.sum().itemSync()).toBe(0);
      again.dispose();

      const late = dx.zeros([4]);
      const object = { stateDict: async () => Promise.resolve({ n: 1 }) };
      const second = dx.save(at("late"), { late, object });
      late.add_(1);
      await expect(second).rejects.toThrow(dx.ValueError);
      expect(readdirSync(folder)).toEqual(["now"]);
    }));

  test("objects with a state of their own, now or later, in each other", () =>
    clean(device, async () => {
      const inner = { stateDict: () => ({ weights: dx.ones([2]), n: 1n }) };
      const state = { later: { stateDict: async () => Promise.resolve({ inner, step: 3 }) }, list: [inner] };
      const again = await roundTrip(state);
      expect(again.later.step).toBe(3);
      expect(again.list[0]!.n).toBe(1n);
      const { inner: own } = again.later as unknown as { inner: { weights: dx.Tensor } };
      expect(own.weights.toArraySync()).toEqual([1, 1]);
      for (const t of [own.weights, again.list[0]!.weights]) t.dispose();
      await expect(dx.save(at("x"), { bad: { stateDict: async () => Promise.reject(new Error("mine")) } })).rejects.toThrow("mine");
    }));

  test("where tensors go: by one device, names, or a function; meta reads none", () =>
    clean(device, async () => {
      await dx.save(at("d"), { a: { b: dx.ones([2]), c: dx.ones([3]) }, ab: dx.ones([4]), n: 5 });
      const names = async (device_: dx.CheckpointDevice): Promise<readonly string[]> => {
        const { a, ab, n } = await dx.load<{ a: Record<"b" | "c", dx.Tensor>; ab: dx.Tensor; n: number }>(at("d"), { device: device_ });
        expect([n, a.b.shape, a.c.shape, ab.shape]).toEqual([5, [2], [3], [4]]);
        const found = [a.b, a.c, ab].map((t) => String(t.device));
        for (const t of [a.b, a.c, ab]) t.dispose();
        return found;
      };
      const own = String(dx.defaultDevice());
      expect(await names("meta")).toEqual(["meta", "meta", "meta"]);
      expect(await names({ a: "meta", "a.c": own })).toEqual(["meta", own, own]);
      expect(await names((name, { shape }) => (name === "ab" || shape[0] === 2 ? "meta" : undefined))).toEqual(["meta", own, "meta"]);
      await expect(names("nowhere")).rejects.toThrow(dx.DeviceError);
      const { ab } = await dx.load<{ ab: dx.Tensor }>(at("d"), { only: ["ab"] });
      expect(ab.toArraySync()).toEqual([1, 1, 1, 1]);
      ab.dispose();
      await expect(dx.load(at("d"), { only: ["b"] })).rejects.toThrow(/with b, which `only` names/);
    }));

  test("progress, and a signal that ends it with nothing left", () =>
    clean(device, async () => {
      const state = { a: dx.ones([5 * 2 ** 20]), b: new Float64Array(2 ** 20), c: dx.ones([3]) };
      const seen: number[] = [];
      await dx.save(at("p"), state, { onProgress: ({ bytes, totalBytes }) => seen.push(bytes / totalBytes) });
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
      expect([seen.length, seen.at(-1)]).toEqual([4, 1]);
      const reads: string[] = [];
      const again = await dx.load<typeof state>(at("p"), { onProgress: ({ name }) => reads.push(name) });
      expect(reads.sort()).toEqual(["a", "a", "b", "c"]);
      again.a.dispose();
      again.c.dispose();
      const stop = new AbortController();
      await expect(
        dx.save(at("q"), state, { signal: stop.signal, maxShardBytes: 2 ** 23, onProgress: () => stop.abort(new Error("stop")) }),
      ).rejects.toThrow("stop");
      expect(readdirSync(folder)).toEqual(["p"]);
      await expect(dx.load(at("p"), { signal: stop.signal })).rejects.toThrow("stop");
      const second = new AbortController();
      await expect(dx.load(at("p"), { signal: second.signal, onProgress: () => second.abort(new Error("now")) })).rejects.toThrow("now");
    }));

  test("other files: safetensors without a manifest, and what is none", () =>
    clean(device, async () => {
      await dx.io.safetensors.save(at("plain"), { a: dx.ones([2]), $b: dx.tensor(3) }, { made: "by hand" });
      const { a, $b } = await dx.load<Record<"a" | "$b", dx.Tensor>>(at("plain"));
      expect([a.toArraySync(), $b.itemSync()]).toEqual([[1, 1], 3]);
      a.dispose();
      $b.dispose();
      await expect(dx.load(at("none"))).rejects.toThrow(dx.io.FormatError);
      await expect(dx.load(folder)).rejects.toThrow(dx.io.FormatError);
    }));
});
