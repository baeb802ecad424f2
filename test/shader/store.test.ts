/** Stored measurements of a machine: written, read at a device's first use, and ignored if they are another device's. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { loadReports, nativeDevice, shaderKnowledge, shaderSource } from "../../src/runtime/devices.ts";
import type { Measurement } from "../../src/shader/measured.ts";
import { forgetStored, measuredFor, parseStored, readStored, storePath, writeStored } from "../../src/shader/store.ts";
import { eachDevice, numbers } from "../device.ts";

const variables = ["XDG_CACHE_HOME", "LOCALAPPDATA", "DXTENSOR_SHADERS", "DXTENSOR_FUSE"] as const;
let folder: string;
let before: (string | undefined)[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-shaders-"));
  before = variables.map((name) => process.env[name]);
  process.env.XDG_CACHE_HOME = folder;
  process.env.LOCALAPPDATA = folder;
  delete process.env.DXTENSOR_SHADERS;
  // Fused operators choose no shader.
  process.env.DXTENSOR_FUSE = "off";
});
afterEach(() => {
  variables.forEach((name, i) => {
    if (before[i] === undefined) delete process.env[name];
    else process.env[name] = before[i];
  });
  rmSync(folder, { recursive: true });
});

const of = (shader: Measurement["shader"], context: "alone" | "compiled", extent: number, ratio: number): Measurement => ({
  shader,
  dtype: "float32",
  place: context,
  extent,
  directml: ratio,
  byShader: 1,
  isWrong: false,
});

eachDevice("measurements", (name) => {
  const keep = (...measurements: Measurement[]): string => {
    const native = nativeDevice(dx.device(name));
    return writeStored(native, loadReports()[native.runtime], { time: "2026-01-02T03:04:05.000Z", measurements });
  };
  /** The shaders that fn makes on a reopened device. */
  const launched = (fn: () => dx.Tensor): number => {
    dx.closeDevice(name);
    numbers(fn());
    return dx.counters(name).shadersCompiled;
  };
  afterEach(() => dx.closeDevice(name));

  it("choose, in eager calls and in compiled functions each for itself", () => {
    const relu = (n: number) => () => dx.relu(dx.ones([n]));
    const compiled = (n: number) => (): dx.Tensor => {
      const f = dx.compile((x: dx.Tensor) => dx.relu(x.mul(2)).add(1));
      let y = f(dx.ones([n]));
      for (let i = 0; i < 2; i++) y = f(dx.full([n], i));
      f.dispose();
      return y;
    };
    const both = (n: number): number[] => [launched(relu(n)), launched(compiled(n))];
    keep(of("relu", "alone", 64, 2), of("relu", "compiled", 64, 0.5));
    expect([both(64), both(32)]).toEqual([[1, 0], [0, 0]]); // prettier-ignore
    keep(of("relu", "alone", 64, 0.5), of("relu", "compiled", 64, 2));
    expect([both(64), both(1024), both(32)]).toEqual([[0, 1], [0, 1], [0, 0]]); // prettier-ignore
    // A GEMM fuses the activation.
    const behind = dx.compile((x: dx.Tensor) => dx.relu(dx.matmul(x, x)));
    expect(launched(() => behind(dx.ones([8, 8])))).toBe(0);
    behind.dispose();
    process.env.DXTENSOR_SHADERS = "off";
    expect(both(64)).toEqual([0, 0]);
  });

  it("are told of, forgotten, and none of another machine's business", () => {
    const native = nativeDevice(dx.device(name));
    const report = loadReports()[native.runtime];
    const text = (): string => shaderSource(native);
    expect([readStored(native, report), forgetStored(native)]).toEqual([null, false]);
    const path = keep(of("gelu", "alone", 8, 3));
    expect(path.startsWith(folder)).toBe(true);
    expect(text()).toBe("as measured here on 2026-01-02");
    expect(shaderKnowledge(native).ranges).toEqual([{ shader: "gelu", dtype: "float32", place: "alone", from: 8, to: null }]);
    const other = { ...native, adapter: { ...native.adapter, driverVersion: "other" } };
    expect(readStored(other, report)).toMatchObject({ problem: expect.stringMatching(/^it was measured with another driver: /) as string });
    writeFileSync(path, readFileSync(path, "utf8").slice(0, 100));
    expect(text()).toContain(`${path} does not count: it is no JSON`);
    expect(launched(() => dx.gelu(dx.ones([8])))).toBe(0);
    expect([forgetStored(native), forgetStored(native)]).toEqual([true, false]);
    expect(text()).not.toContain(folder);
  });

  it("that cannot be read count as none", () => {
    const native = nativeDevice(dx.device(name));
    const path = storePath(native);
    mkdirSync(path, { recursive: true });
    expect(shaderSource(native)).toContain("it is no file of at most a mebibyte");
    rmSync(path, { recursive: true });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "x".repeat(2 ** 20 + 1));
    expect(shaderSource(native)).toContain("it is no file of at most a mebibyte");
    expect(shaderKnowledge(native).ranges).toEqual(shaderKnowledge({ ...native, adapter: { ...native.adapter, name: "none" } }).ranges);
  });
});

describe("a file", () => {
  const native = nativeDevice(dx.device("cpu"));
  const wanted = measuredFor(native, loadReports().software);
  const good = { format: 1, for: wanted, time: "now", measurements: [of("relu", "alone", 1, 1)] };
  const problem = (content: unknown): unknown => parseStored(JSON.stringify(content), wanted);

  it("counts as it was written", () => {
    expect(parseStored(JSON.stringify(good), wanted)).toEqual({ stored: { time: "now", measurements: good.measurements } });
  });

  it.each([
    ["a text", "relu", "it is not of format 1"],
    ["null", null, "it is not of format 1"],
    ["a list", [], "it is not of format 1"],
    ["a later format", { ...good, format: 2 }, "it is not of format 1"],
    ["no circumstances", { ...good, for: null }, "it is not of format 1"],
    ["an older dxtensor", { ...good, for: { ...wanted, dxtensor: "0.0.1" } }, /another dxtensor: "0.0.1", here "/],
    ["another library", { ...good, for: { ...wanted, libraries: "" } }, /another libraries: "", here "software /],
    ["nothing", { ...good, measurements: undefined }, "it has no measurements"],
    ["a shader that is none", { ...good, measurements: [{ ...good.measurements[0], shader: "fast" }] }, "its measurement 0 is none"],
    ["a size below 1", { ...good, measurements: [...good.measurements, of("relu", "alone", 0, 1)] }, "its measurement 1 is none"],
    ["no time", { ...good, measurements: [{ ...good.measurements[0], directml: "1" }] }, "its measurement 0 is none"],
  ])("with %s does not", (_, content, text) => {
    expect(problem(content)).toEqual({ problem: typeof text === "string" ? text : (expect.stringMatching(text) as string) });
  });
});
