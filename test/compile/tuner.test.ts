/** compile() with `tune`: tuned programs compute the same, and what was measured is not measured again. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { loadReports, nativeDevice } from "../../src/runtime/devices.ts";
import { parseTuned, readTuned, tunedPath } from "../../src/shader/tuned-store.ts";
import { eachDevice } from "../device.ts";

const variables = ["XDG_CACHE_HOME", "LOCALAPPDATA", "DXTENSOR_SHADERS", "DXTENSOR_FUSE"] as const;
let folder: string;
let before: (string | undefined)[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-tuned-"));
  before = variables.map((name) => process.env[name]);
  process.env.XDG_CACHE_HOME = folder;
  process.env.LOCALAPPDATA = folder;
  delete process.env.DXTENSOR_SHADERS;
  delete process.env.DXTENSOR_FUSE;
});
afterEach(() => {
  variables.forEach((name, i) => {
    if (before[i] === undefined) delete process.env[name];
    else process.env[name] = before[i];
  });
  rmSync(folder, { recursive: true });
});

eachDevice("a tuned program", (name) => {
  afterEach(() => dx.closeDevice(name));
  // Small shaders: a CPU driver compiles long ones slowly.
  const net = (x: dx.Tensor, w: dx.Tensor): dx.Tensor => dx.relu(x.mul(w)).add(w);
  const inputs = (): [dx.Tensor, dx.Tensor] => {
    const of = (seed: number): dx.Tensor => dx.randn([8, 8], { device: name, generator: new dx.Generator(seed) });
    return [of(1), of(2)];
  };
  /** What a function measures in two calls; each result is compared. */
  const tuned = (options: dx.TuneOptions = {}): { readonly seen: string[]; readonly text: string } => {
    const [x, w] = inputs();
    const wanted = net(x, w);
    const seen: string[] = [];
    const onMeasure = (p: dx.TuneProgress): void => {
      expect(p.measured).toBe(seen.length);
      seen.push(p.what);
      options.onMeasure?.(p);
    };
    const f = dx.compile(net, { fuse: "always", tune: { ...options, onMeasure } });
    for (let i = 0; i < 3; i++) expect(f(x, w).allcloseSync(wanted, { rtol: 1e-5, atol: 1e-6 })).toBe(true);
    const text = String(f.explain());
    f.dispose();
    return { seen, text };
  };
  it("computes the same, says what it measured, and measures nothing in the next process", () => {
    const { seen, text } = tuned();
    expect(seen).toContain("relu float32[8, 8]");
    // A region is measured unless the shader of an operation was faster than DirectML's operator: then less is left to fuse.
    expect(`${seen.join("\n")} ${text}`).toMatch(/nodes of|\(shader[^)]*\) against [\d.]+ us \(DirectML\)/);
    expect(text).toMatch(/measured: \d+\.\d us \(.+\) against \d+\.\d us \(.+\)/);
    // A device that is opened again reads the file, as another process does.
    dx.closeDevice(name);
    const again = tuned();
    expect(again.seen).toEqual([]);
    expect(again.text).toContain("measured:");
  });

  it("measures again where the file is damaged", () => {
    const native = nativeDevice(dx.device(name));
    mkdirSync(dirname(tunedPath(native)), { recursive: true });
    writeFileSync(tunedPath(native), "{");
    expect(tuned({ signal: AbortSignal.abort() }).seen).toEqual([]);
    expect(readTuned(native, loadReports()[native.runtime]).size).toBe(0);
  });

  it("stops when it is told to, and runs as without", () => {
    const stop = new AbortController();
    expect(tuned({ signal: stop.signal, onMeasure: () => stop.abort() }).seen).toHaveLength(1);
    expect(tuned({ seconds: 0 }).seen).toEqual([]);
  });

  it("refuses dynamic sizes, and measures nothing where shaders are switched off", () => {
    expect(() => dx.compile(net, { dynamic: [0], tune: true })).toThrow(/tune must be false/);
    process.env.DXTENSOR_SHADERS = "off";
    expect(tuned().seen).toEqual([]);
  });
});

it("compares the tiles of a shader where long shaders are soon compiled, and takes none that is slower", () => {
  dx.closeDevice("cpu");
  const native = nativeDevice(dx.device("cpu"));
  (native.capabilities as { compilesLongShaders: boolean }).compilesLongShaders = true;
  const of = (shape: number[], seed: number): dx.Tensor => dx.randn(shape, { device: "cpu", generator: new dx.Generator(seed) });
  const codes = dx.randint(0, 256, [8, 16], { device: "cpu", dtype: "int32", generator: new dx.Generator(4) }).to("uint8");
  const layer = new dx.nn.QuantizedLinear({ codes, scales: dx.full([8, 1], 2 ** -8, { device: "cpu" }), bits: 4 });
  const net = (x: dx.Tensor): dx.Tensor => layer(x);
  const x = of([1, 32], 1);
  const f = dx.compile(net, { tune: true });
  expect(f(x).allcloseSync(net(x), { rtol: 1e-4, atol: 1e-4 })).toBe(true);
  const choices = [...readTuned(native, loadReports()[native.runtime]).values()];
  const formsOf = (name: string): string[] => Object.keys(choices.find(({ what }) => what.startsWith(name))!.seconds);
  expect(formsOf("packedLinear")).toEqual(expect.arrayContaining(["shader 64/8x4 ahead", "shader 64/8x4 direct"]));
  for (const { taken, seconds } of choices) expect(seconds[taken]).toBe(taken === "DirectML" ? seconds["DirectML"] : Math.min(...Object.values(seconds))); // prettier-ignore
  f.dispose();
  dx.closeDevice("cpu");
});

it("takes no choices that were damaged, or measured elsewhere", () => {
  const own = { driver: "1" };
  const choice = { what: "relu", taken: "shader", seconds: { DirectML: 2e-6, shader: 1e-6 } };
  const textOf = (choices: unknown, circumstances: unknown = own): string => JSON.stringify({ format: 1, for: circumstances, choices });
  expect([...parseTuned(textOf({ a: choice }), own)]).toEqual([["a", choice]]);
  const others = ["{", "null", "[]", '{"format":1}', textOf({ a: choice }, { driver: "2" }), textOf({ a: { ...choice, taken: "none" } }), textOf({ a: { ...choice, seconds: { shader: -1 } } })]; // prettier-ignore
  for (const text of others) expect(parseTuned(text, own).size).toBe(0);
});
