/** Memory of backends from outside belongs to tensors by weak references of the addon's: src/backend/outside-memory.ts. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { loadBinding } from "../../src/native/load-addon.ts";
import { FIRST_OUTSIDE } from "../../src/backend/outside-memory.ts";
import { reclaim } from "../../src/runtime/buffers.ts";
import { backend as openreg } from "../../packages/openreg/src/backend.ts";

beforeAll(() => dx.backend.register(openreg));

it("a loop that never yields keeps memory bounded, all the way", () => {
  const device = "openreg:0";
  const x = dx.ones([4096], { device });
  const steps = dx.compile((a: dx.Tensor) => a.mul(2).add(1));
  let [buffers, bytes] = [0, 0];
  for (let i = 0; i < 4000; i++) {
    x.add(i % 7);
    if (i % 4 === 0) steps(x);
    if (i % 100 !== 0) continue;
    const { liveBuffers, liveInBytes } = dx.memoryStatistics(device);
    [buffers, bytes] = [Math.max(buffers, liveBuffers), Math.max(bytes, liveInBytes)];
  }
  // 5000 results of 16 KiB, 80 MiB, were made.
  expect(buffers).toBeLessThan(1500);
  expect(bytes).toBeLessThan(24 * 2 ** 20);
  expect(x.sum().itemSync()).toBe(4096);
});

it("one that makes more than the device has needs no yield either", () => {
  const device = "openreg:0";
  const x = dx.ones([2 ** 18], { device });
  for (let i = 0; i < 700; i++) x.neg();
  expect(dx.memoryStatistics(device).liveInBytes).toBeLessThan(200 * 2 ** 20);
  expect(x.sum().itemSync()).toBe(2 ** 18);
});

it("what is referred to stays through a full collection, and its views' memory too", () => {
  const held = Array.from({ length: 20 }, (_, i) => dx.full([64], i, { device: "openreg:1" }).narrow(0, 4, 8));
  for (let i = 0; i < 3; i++) reclaim(true);
  held.forEach((t, i) => expect(t.toArraySync()).toEqual(new Array(8).fill(i)));
});

it("an operation's scratch memory is its call's: it goes back with it, also where the call fails", async () => {
  const device = "openreg:0";
  const x = dx.ones([1 << 19], { device, dtype: "uint8" });
  const held = async (): Promise<number> => {
    await dx.synchronize(device);
    const { pooledInBytes, liveInBytes } = dx.memoryStatistics(device);
    return pooledInBytes - liveInBytes;
  };
  const before = await held();
  const { liveBuffers, liveInBytes } = dx.memoryStatistics(device);
  for (let call = 0; call < 3; call++) {
    dx.scope(() => expect(x.sum().itemSync()).toBe(1 << 19));
    expect(await held()).toBe(before);
  }
  // Widened to int64, it does not fit any more.
  dx.setMemoryLimit(liveInBytes + (1 << 20));
  expect(() => x.sum()).toThrow(dx.OutOfMemoryError);
  expect([await held(), dx.memoryStatistics(device).liveBuffers <= liveBuffers]).toEqual([before, true]);
  dx.setMemoryLimit(undefined);
  dx.scope(() => expect(x.sum().itemSync()).toBe(1 << 19));
  expect(await held()).toBe(before);
  x.dispose();
});

describe("numbers of the addon", () => {
  const binding = loadBinding();

  it("weigh in `pressure` until they are taken away, once", () => {
    const owner = {};
    const before = [...binding.pressure];
    const handle = binding.track(owner, 1000);
    expect(handle).toBeGreaterThan(FIRST_OUTSIDE);
    expect([...binding.pressure]).toEqual([before[0]! + 1, before[1]! + 1000]);
    expect(binding.collectedOwners()).not.toContain(handle);
    binding.untrack(handle);
    expect([...binding.pressure]).toEqual(before);
    expect(() => binding.untrack(handle)).toThrow(/not tracked/);
    expect(binding.track(owner, 4)).toBeGreaterThan(handle);
  });

  it.each([[1], [null], [undefined], ["text"]])("an owner that is no object is refused: %s", (owner) => {
    expect(() => binding.track(owner as never, 4)).toThrow(/must be an object/);
  });

  it.each([[-1], [1.5], [NaN], ["4"]])("a size that is none is refused: %s", (size) => {
    expect(() => binding.track({}, size as never)).toThrow(/track/);
  });
});

/** A program with a backend of its own, of which no tensor is disposed of. */
const program = (where: "main" | "worker", end: string): string => `
import { Worker, isMainThread } from "node:worker_threads";
const body = async () => {
  const dx = await import(${JSON.stringify(pathToFileURL(resolve("dist/bundle/dxtensor.js")).href)});
  let live = 0, most = 0;
  const bytes = ({ memory, offset, size }) => memory.subarray(offset, offset + size);
  dx.backend.register({ name: "tiny", interfaceVersion: 1, version: "1",
    devices: () => [{ name: "tiny", memoryInBytes: 2 ** 30, isHardware: false }],
    open: () => ({ dtypes: ["float32"], operators: ["ELEMENT_WISE_IDENTITY"],
      allocate: (size) => { most = Math.max(most, ++live); return new Uint8Array(size); },
      free: () => { live--; },
      write: (memory, offset, data) => memory.set(data, offset),
      read: async (memory, offset, size) => bytes({ memory, offset, size }).slice(),
      readSync: (memory, offset, size) => bytes({ memory, offset, size }).slice(),
      copy: (from, to) => bytes(to).set(bytes(from)),
      prepare: () => ({ run: ([from], [to]) => bytes(to).set(bytes(from).subarray(0, to.size)) }),
      synchronize: async () => {}, synchronizeSync: () => {}, isIdle: () => true,
      memory: () => ({ heldInBytes: 0, limitInBytes: 2 ** 30 }), close: () => {} }) });
  const x = dx.ones([256], { device: "tiny" });
  for (let i = 0; i < 4000; i++) x.clone();
  return [most, x.toArraySync().length];
};
const report = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
if (${where === "main"} || !isMainThread) {
  report(await body());
  ${end}
} else {
  const worker = new Worker(new URL(import.meta.url));
  await new Promise((done, fail) => worker.once("exit", done).once("error", fail));
}`;

describe("with memory held", () => {
  let folder: string;
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "dxtensor-owners-"))));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ["main", ""],
    ["main", "process.exit(0);"],
    ["worker", ""],
    ["worker", "process.exit(0);"],
  ] as const)("the %s thread ends quietly: %s", async (where, end) => {
    const file = join(folder, "program.mjs");
    writeFileSync(file, program(where, end));
    const { stdout, stderr } = await execa(process.execPath, [file], {
      env: { DXTENSOR_NATIVE: process.env.DXTENSOR_NATIVE ?? "", NODE_NO_WARNINGS: "1" },
    });
    expect(stderr).toBe("");
    const [most, length] = JSON.parse(stdout) as [number, number];
    expect(most).toBeLessThan(1500);
    expect(length).toBe(256);
  });
});
