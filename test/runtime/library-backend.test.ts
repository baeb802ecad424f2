/** Backends of native libraries: the sample in C++, and a library that fails on demand. */
import { execFile } from "node:child_process";
import { copyFileSync, existsSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { loadBinding, hostEnvironment } from "../../src/native/load-addon.ts";
import { addonPaths, libraryPaths } from "../../src/native/paths.ts";
import { buildFaulty, buildSample, canBuild, ending, newFolder } from "./library-backend/build.ts";

const device = "sample";
const isWindows = process.platform === "win32";
const caught = (fn: () => unknown): Error => {
  try {
    fn();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
};

type Matrix = number[][];

/** float64. */
const product = (a: Matrix, b: Matrix): Matrix => a.map((row) => b[0]!.map((_, j) => row.reduce((sum, x, k) => sum + x * b[k]![j]!, 0)));
const transposed = (a: Matrix): Matrix => a[0]!.map((_, j) => a.map((row) => row[j]!));
/** Multiples of 1/8 below 4: sums of a few products are exact in float32. */
const matrix = (rows: number, columns: number, seed: number): Matrix =>
  Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => (((i * 7 + j * 5 + seed * 11) % 61) - 30) / 8));

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** Runs a program to its end, whatever that is. */
const runFile = (file: string): Promise<Ended> => {
  const run = promisify(execFile)(process.execPath, [file], { env: { ...process.env, NODE_NO_WARNINGS: "1" } });
  return run.then(
    ({ stdout, stderr }) => ({ stdout, stderr, code: 0 }),
    (error: unknown) => error as Ended,
  );
};
const fallen = (): string[] => dx.fallbackStats().map((record) => record.operation);

describe.skipIf(!canBuild)(
  "libraries with the C ABI (skipped where there is no C++ compiler and CMake, and on Windows outside of verify:windows)",
  () => {
    let folder: string;
    let sample: string;
    beforeAll(async () => {
      folder = newFolder();
      sample = await buildSample(folder);
      dx.backend.loadLibrary(sample);
    });
    // Windows keeps the files of libraries that are loaded.
    afterAll(() => {
      if (!isWindows) rmSync(folder, { recursive: true, force: true });
    });
    beforeEach(() => dx.resetFallbackStats());

    it("is registered as any other backend is", () => {
      expect(dx.backend.list()).toContainEqual({ name: "sample", version: "0.1.0", isRegistered: true, package: null, file: null });
      expect(dx.devices().find((d) => d.backend === "sample")).toMatchObject({
        name: "host memory",
        version: "0.1.0",
        isHardware: false,
        memoryInBytes: 2 ** 30,
      });
      const x = dx.ones([1000], { device });
      expect(dx.memoryStatistics(device).liveInBytes).toBeGreaterThanOrEqual(4000);
      expect(x.device.toString()).toBe("sample:0");
      expect(() => dx.ones([1], { device: "sample:1" })).toThrow(dx.DeviceError);
    });

    it("adds and multiplies matrices, packed, strided, transposed, broadcast, in batches", () => {
      const [a, b] = [matrix(3, 4, 1), matrix(4, 5, 2)];
      const [x, y] = [dx.tensor(a, { device }), dx.tensor(b, { device })];
      const bias = dx.tensor(b[0]!, { device });
      dx.resetFallbackStats();
      expect(x.add(x).toArraySync()).toEqual(a.map((row) => row.map((v) => 2 * v)));
      expect(x.matmul(y).toArraySync()).toEqual(product(a, b));
      expect(y.transpose(0, 1).matmul(x.transpose(0, 1)).toArraySync()).toEqual(product(transposed(b), transposed(a)));
      expect(x.transpose(0, 1).add(x.transpose(0, 1)).toArraySync()).toEqual(transposed(a).map((row) => row.map((v) => 2 * v)));
      expect(y.add(bias).toArraySync()).toEqual(b.map((row) => row.map((v, j) => v + b[0]![j]!)));
      expect(fallen()).toEqual([]);
      const part = y.slice(1, 1, 5, 2);
      expect(part.add(part).toArraySync()).toEqual(b.map((row) => [2 * row[1]!, 2 * row[3]!]));
      const three = dx.tensor([a, matrix(3, 4, 3)], { device });
      expect(three.matmul(y).toArraySync()).toEqual([product(a, b), product(matrix(3, 4, 3), b)]);
    });

    it("in place, scalars, empty tensors, NaN and infinities", () => {
      const x = dx.tensor([1, NaN, -Infinity, 0], { device });
      x.add_(dx.tensor([1, 1, 1, -0], { device }));
      expect(x.toArraySync()).toEqual([2, NaN, -Infinity, 0]);
      expect(dx.tensor(2, { device }).add(dx.tensor(3, { device })).toArraySync()).toBe(5);
      const empty = dx.zeros([0, 3], { device });
      expect(empty.add(empty).shape).toEqual([0, 3]);
      expect(empty.matmul(dx.ones([3, 2], { device })).shape).toEqual([0, 2]);
      expect(dx.zeros([2, 0], { device }).matmul(dx.zeros([0, 3], { device })).toArraySync()).toEqual([[0, 0, 0], [0, 0, 0]]); // prettier-ignore
    });

    it("has gradients of both operations", () => {
      const [a, b, c, w] = [matrix(3, 4, 1), matrix(4, 2, 2), matrix(3, 2, 3), matrix(3, 2, 4)];
      const [x, y, z] = [a, b, c].map((values) => dx.tensor(values, { device }).requiresGrad_()) as [dx.Tensor, dx.Tensor, dx.Tensor];
      x.matmul(y).add(z).mul(dx.tensor(w, { device })).sum().backward();
      expect(x.grad!.toArraySync()).toEqual(product(w, transposed(b)));
      expect(y.grad!.toArraySync()).toEqual(product(transposed(a), w));
      expect(z.grad!.toArraySync()).toEqual(w);
    });

    it("runs compiled functions, each time with other data", () => {
      const f = dx.compile((x: dx.Tensor, y: dx.Tensor) => x.matmul(y).add(x));
      for (const seed of [1, 2, 3]) {
        const [a, b] = [matrix(3, 3, seed), matrix(3, 3, seed + 5)];
        const expected = product(a, b).map((row, i) => row.map((v, j) => v + a[i]![j]!));
        expect(f(dx.tensor(a, { device }), dx.tensor(b, { device })).toArraySync()).toEqual(expected);
      }
      expect(fallen()).toEqual([]);
    });

    it("what it lacks falls back and is counted; strict mode refuses it", () => {
      const x = dx.tensor([1, 2, 3], { device, dtype: "int32" });
      expect(x.add(x).toArraySync()).toEqual([2, 4, 6]);
      expect(dx.fallbackStats()).toContainEqual(expect.objectContaining({ operation: "add", device: "sample:0" }));
      const y = dx.tensor([1, 2, 3], { device });
      expect(y.mul(y).toArraySync()).toEqual([1, 4, 9]);
      expect(fallen()).toContain("mul");
      // A fused activation comes as an operator of its own.
      expect(dx.relu(y.matmul(dx.tensor([[-1], [1], [0]], { device }))).toArraySync()).toEqual([1]);
      dx.setStrict(true);
      try {
        expect(() => y.mul(y)).toThrow(dx.UnsupportedError);
      } finally {
        dx.setStrict(false);
      }
    });

    it("memory is given back by dispose, by scopes and by garbage collection", async () => {
      const held = () => dx.memoryStatistics(device).pooledInBytes;
      // The operand 1 is kept.
      const add = () => dx.scope(() => void dx.ones([1 << 16], { device }).add(1));
      add();
      const before = held();
      const x = dx.ones([1 << 16], { device });
      expect(held()).toBe(before + 4 * (1 << 16));
      x.dispose();
      expect(held()).toBe(before);
      add();
      expect(held()).toBe(before);
      const limit = held() + 200 * 4 * (1 << 16);
      for (let i = 0; i < 2000; i++) dx.empty([1 << 16], { device });
      expect(held()).toBeLessThan(limit);
      expect(() => dx.zeros([2 ** 20, 1024], { device })).toThrow(dx.OutOfMemoryError);
      expect(await dx.ones([2], { device }).toArray()).toEqual([1, 1]);
      await dx.synchronize(device);
    });

    it("the addon refuses handles and ranges that are none", () => {
      const addon = loadBinding();
      const load = addon.backendLoad(sample);
      expect(load).toMatchObject({ reason: null, name: "sample" });
      const { library } = load as Extract<typeof load, { reason: null }>;
      const { device: id, operations } = addon.backendOpen(library, 0);
      expect(operations).toEqual(["ELEMENT_WISE_ADD", "GEMM"]);
      const other = addon.backendOpen(library, 0).device;
      const [memory, foreign] = [addon.backendAllocate(id, 16), addon.backendAllocate(other, 16)];
      const four = { dtype: 1, sizes: [4], strides: [1] };
      const operation = addon.backendPrepare(id, "ELEMENT_WISE_ADD", [four, four, four], 2, []);
      const ranges = (...list: number[]) => Float64Array.from(list);
      addon.backendWrite(memory, 0, Float32Array.of(1, 2, 3, 4));
      addon.backendRun(operation, ranges(memory, 0, 16, memory, 0, 16, memory, 0, 16));
      expect([...new Float32Array(addon.backendRead(memory, 0, 16))]).toEqual([2, 4, 6, 8]);
      expect(addon.backendPrepare(id, "GEMM", [four, four, four], 2, [])).toBe(0);
      const wrong: (() => unknown)[] = [
        () => addon.backendDevices(99),
        () => addon.backendOpen(library, 1),
        () => addon.backendAllocate(99, 16),
        () => addon.backendRead(memory, 4, 16),
        () => addon.backendRead(memory, 2 ** 53, 2 ** 53),
        () => addon.backendRead(memory, -1, 4),
        () => addon.backendWrite(memory, 8, new Uint8Array(9)),
        () => addon.backendWrite(memory, 0, "text" as never),
        () => addon.backendCopy(memory, 0, foreign, 0, 16),
        () => addon.backendCopy(memory, 8, memory, 0, 16),
        () => addon.backendFree(99),
        () => addon.backendClose(99),
        () => addon.backendSynchronize(0),
        () => addon.backendRun(99, ranges()),
        () => addon.backendRun(operation, ranges(memory, 0, 16)),
        () => addon.backendRun(operation, ranges(memory, 0, 16, memory, 0, 16, foreign, 0, 16)),
        () => addon.backendRun(operation, ranges(memory, 0, 16, memory, 0, 16, memory, 4, 12)),
        () => addon.backendRun(operation, ranges(memory, 0, 16, memory, 0, 16, memory, 4, 16)),
        () => addon.backendRun(operation, ranges(memory, 0, 16, memory, 0, 16, NaN, 0, 16)),
        () => addon.backendRun(operation, [] as never),
        () => addon.backendPrepare(id, "A", [{ ...four, dtype: 99 }], 1, []),
        () => addon.backendPrepare(id, "A", [{ ...four, strides: [] }], 1, []),
        () => addon.backendPrepare(id, "A", [{ dtype: 1, sizes: [2 ** 52], strides: [2 ** 52] }], 1, []),
        () => addon.backendPrepare(id, "A", [{ dtype: 1, sizes: Array<number>(9).fill(1), strides: Array<number>(9).fill(1) }], 1, []),
        () => addon.backendPrepare(id, "A", [], 1, []),
        () => addon.backendPrepare(id, "A", [], 0, [{ name: "a", value: {} as never }]),
        () => addon.backendPrepare(id, "A", [], 0, [{ name: "a", value: ["b"] as never }]),
      ];
      for (const call of wrong)
        expect({ call: String(call), error: caught(call) }).toMatchObject({
          error: { kind: expect.stringMatching(/invalid|internal/) as string },
        });
      addon.backendClose(id);
      for (const call of [() => addon.backendFree(memory), () => addon.backendRun(operation, ranges()), () => addon.backendClose(id)])
        expect(caught(call)).toMatchObject({ kind: "invalid" });
      addon.backendForget(operation);
      addon.backendClose(other);
    });

    it.each([1, 2])("random calls of the addon, seed %i", async (seed) => {
      const addon = addonPaths(hostEnvironment()).find((path) => existsSync(path))!;
      const software = libraryPaths(hostEnvironment()).software!;
      const program = resolve("test", "native", "calls.mjs");
      const { stdout } = await promisify(execFile)(process.execPath, [
        "--expose-gc",
        program,
        addon,
        software,
        String(seed),
        "4000",
        sample,
      ]);
      const { calls, good } = JSON.parse(stdout) as { calls: number; good: number };
      expect(calls).toBeGreaterThan(2000);
      expect(good).toBeGreaterThan(calls / 4);
    });

    it("a device that is closed opens again", () => {
      const x = dx.ones([4], { device });
      dx.closeDevice(device);
      expect(() => x.add(x).toArraySync()).toThrow(dx.DxError);
      expect(
        dx
          .ones([2], { device })
          .add(dx.ones([2], { device }))
          .toArraySync(),
      ).toEqual([2, 2]);
    });

    it("the same file again is the same backend, whatever it is called; another name is another one", () => {
      const first = dx.backend.loadLibrary(sample);
      expect(dx.backend.loadLibrary(relative(process.cwd(), sample))).toBe(first);
      expect(dx.backend.loadLibrary(pathToFileURL(sample))).toBe(first);
      // Windows allows links to administrators alone.
      if (!isWindows) {
        const link = join(folder, "link.so");
        symlinkSync(sample, link);
        expect(dx.backend.loadLibrary(link)).toBe(first);
      }
      const second = dx.backend.loadLibrary(sample, { name: "sample-2" });
      expect(second).toMatchObject({ name: "sample-2", version: "0.1.0" });
      expect(
        dx
          .ones([2], { device: "sample-2" })
          .add(dx.ones([2], { device: "sample-2" }))
          .toArraySync(),
      ).toEqual([2, 2]);
      const copy = join(folder, `copy.${ending}`);
      copyFileSync(sample, copy);
      expect(caught(() => dx.backend.loadLibrary(copy))).toMatchObject({ name: "BackendError", argument: "backend.name" });
    });

    describe("refuses", () => {
      it.each([[undefined], [""], [1], [null], [new URL("https://example.org/a.so")]])("a path that is none: %s", (path) => {
        expect(caught(() => dx.backend.loadLibrary(path as never))).toMatchObject({ name: "ValueError", argument: "path" });
      });

      it.each([
        [{ name: "Upper" }, "BackendError"],
        [{ name: "float32" }, "BackendError"],
        [{ name: "cpu" }, "BackendError"],
        [null, "ValueError"],
      ])("options %j", (options, name) => {
        expect(caught(() => dx.backend.loadLibrary(sample, options as never))).toMatchObject({ name });
      });

      it("a file that is not there, a folder, and files that are no libraries", () => {
        const absent = join(folder, `absent.${ending}`);
        const error = caught(() => dx.backend.loadLibrary(absent));
        expect(error).toBeInstanceOf(dx.BackendLoadError);
        expect(error).toMatchObject({ name: "BackendLibraryError", reason: "missingFile", file: absent });
        expect(caught(() => dx.backend.loadLibrary(folder))).toMatchObject({ reason: "notALibrary", file: folder });
        const text = join(folder, `text.${ending}`);
        for (const content of ["no library", "", "\x7fELF\x02\x01\x01", "MZ"]) {
          writeFileSync(text, content);
          expect(caught(() => dx.backend.loadLibrary(text))).toMatchObject({ name: "BackendLibraryError", reason: "notALibrary" });
        }
      });

      it.runIf(isWindows)("a library whose own libraries are missing", () => {
        const needy = join(dirname(sample), "needy.dll");
        expect(caught(() => dx.backend.loadLibrary(needy))).toMatchObject({
          name: "BackendLibraryError",
          reason: "notALibrary",
          message: expect.stringContaining("a library that it needs was not found") as string,
        });
      });

      it.each([
        ["missingSymbol", "symbol", "it does not export dxtensor_backend_last_error"],
        ["version", "newer", "version 2 of the C ABI; this dxtensor has version 1. Update dxtensor."],
        ["version", "older", "Compile it with the dxtensor_backend.h of this dxtensor."],
        ["refused", "initialise", "no licence for this machine"],
        ["refused", "table", "its table has no run"],
        ["refused", "size", "it fills 64 of"],
      ] as const)("%s: %s", async (reason, name, text) => {
        const file = await buildFaulty(folder, name);
        for (let i = 0; i < 2; i++)
          expect(caught(() => dx.backend.loadLibrary(file))).toMatchObject({
            name: "BackendLibraryError",
            reason,
            file,
            message: expect.stringContaining(text) as string,
          });
        expect(() => dx.device("faulty")).toThrow(dx.DeviceError);
      });

      it("a name that devices cannot have", async () => {
        const file = await buildFaulty(folder, "name");
        expect(caught(() => dx.backend.loadLibrary(file))).toMatchObject({ name: "BackendError", argument: "backend.name" });
      });
    });

    it.each([
      ["NativeError", "fails-internal", "the fan stopped"],
      ["OutOfMemoryError", "fails-memory", "the fan stopped"],
      ["DeviceRemovedError", "fails-removed", "the fan stopped"],
      ["DeviceTimeoutError", "fails-timeout", "the fan stopped"],
      ["NativeError", "fails-unsupported", "the fan stopped"],
      ["NativeError", "fails-unknown", "the fan stopped"],
      ["OutOfMemoryError", "fails-allocate", "no bytes left"],
      ["NativeError", "fails-open", "the device does not answer"],
    ] as const)("a failing call is a %s with the library's text: %s", async (name, backend, text) => {
      const file = await buildFaulty(folder, backend);
      dx.backend.loadLibrary(file, { name: backend });
      const error = caught(() => {
        const x = dx.tensor([1, 2], { device: backend });
        return x.add(x).toArraySync();
      });
      expect(error).toMatchObject({ name, message: expect.stringContaining(text) as string });
      expect(dx.ones([1]).add(1).toArraySync()).toEqual([2]);
    });

    /** A program that loads the sample in workers, or here, and computes. */
    const program = (workers: number, end: string): string => `
import { Worker, isMainThread, parentPort } from "node:worker_threads";
const compute = async () => {
  const dx = await import(${JSON.stringify(pathToFileURL(resolve("dist/index.js")).href)});
  dx.backend.loadLibrary(${JSON.stringify(sample)});
  let x = dx.ones([16, 16], { device: "sample" });
  const kept = [];
  for (let i = 0; i < 200; i++) kept.push(x.matmul(x).add(x));
  return kept.at(-1).sum().itemSync();
};
if (${workers} === 0) { process.stdout.write(await compute() + "\\n"); ${end} }
else if (!isMainThread) { parentPort.postMessage(await compute()); ${end} }
else {
  const one = () => new Promise((done, fail) => { let got; const worker = new Worker(import.meta.filename);
    worker.once("message", (value) => (got = value)).once("error", fail).once("exit", () => done(got)); });
  process.stdout.write(JSON.stringify(await Promise.all(Array.from({ length: ${workers} }, one))) + "\\n");
}`;

    it.each([
      ["in two workers", 2, "", "[4352,4352]"],
      ["in two workers that exit", 2, "process.exit(0);", "[4352,4352]"],
      ["loaded at the end", 0, "", "4352"],
      ["loaded at process.exit()", 0, "process.exit(0);", "4352"],
      ["loaded when an error ends the process", 0, "throw new Error('the end');", "4352"],
    ])("%s", async (_, workers, end, expected) => {
      const file = join(folder, `program-${workers}-${end.length}.mjs`);
      writeFileSync(file, program(workers, end));
      const { stdout, stderr, code } = await runFile(file);
      expect([stdout.trimEnd(), code, stderr.includes("the end")]).toEqual([
        expected,
        end.startsWith("throw") ? 1 : 0,
        end.startsWith("throw"),
      ]);
    });
  },
);
