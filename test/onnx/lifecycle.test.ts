/** Ownership: a model owns its weights, the caller inputs and outputs; and memory after a model is disposed of. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, liveBuffers, numbers } from "../device.ts";
import { attribute, graph, model, node, tensor, value } from "./write.ts";
import { isWhole, share } from "../share.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-lifecycle-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const FLOAT = 1;
const weights = Float32Array.from({ length: 20 }, (_, i) => i);
const large = Float32Array.from({ length: 10_000 }, (_, i) => i % 7);

/** y = x + w, and outputs that are x or w themselves, as they are, twice, or seen otherwise. */
const passing = (): Uint8Array =>
  model({
    opset: 18,
    graph: graph({
      inputs: [value("x", FLOAT, [20])],
      outputs: ["y", "x", "w", "same", "again", "cast", "transposed", "weight", "part", "big", "bent"].map((name) =>
        value(name, FLOAT, ["n"]),
      ),
      initializers: [
        tensor("w", [20], weights),
        tensor("big", [10_000], large),
        tensor("shape", [2], BigInt64Array.of(4n, 5n)),
        tensor("square", [2], BigInt64Array.of(100n, 100n)),
      ],
      nodes: [
        node("Add", ["x", "w"], ["y"]),
        node("Identity", ["x"], ["same"]),
        node("Identity", ["same"], ["again"]),
        node("Cast", ["x"], ["cast"], [attribute.int("to", 1)]),
        node("Reshape", ["x", "shape"], ["transposed"]),
        node("Cast", ["w"], ["weight"], [attribute.int("to", 1)]),
        node("Reshape", ["w", "shape"], ["part"]),
        node("Reshape", ["big", "square"], ["bent"]),
      ],
    }),
  });

eachDevice("what a model gives", (device) => {
  test("is the caller's alone: nothing that is done to it reaches inputs, weights or other outputs", () =>
    clean(device, async () => {
      using loaded = await dx.io.onnx.load(passing());
      const x = dx.tensor(weights);
      for (let call = 0; call < 3; call++) {
        const before = liveBuffers(device);
        const outputs = loaded.call({ x });
        expect(new Set(Object.values(outputs)).size).toBe(11);
        for (const t of Object.values(outputs)) t.add_(1000);
        expect(numbers(outputs.y!)).toEqual([...weights].map((v) => 2 * v + 1000));
        for (const name of ["x", "w", "same", "again", "cast", "transposed", "weight", "part"])
          expect([name, numbers(outputs[name]!)]).toEqual([name, [...weights].map((v) => v + 1000)]);
        expect(numbers(outputs.bent!)).toEqual([...large].map((v) => v + 1000));
        for (const t of Object.values(outputs)) t.dispose();
        // The first call leaves the number 1000 behind, for later ones.
        if (call > 0) expect(liveBuffers(device)).toBe(before);
        expect(numbers(x)).toEqual([...weights]);
      }
    }));

  test("is so when compiled", () =>
    clean(
      device,
      async () => {
        using loaded = await dx.io.onnx.load(passing());
        const compiled = dx.compile((x: dx.Tensor) => loaded.call({ x }));
        for (const add of [0, 1, 2]) {
          const x = dx.tensor(weights.map((v) => v + add));
          const outputs = compiled(x);
          for (const t of Object.values(outputs)) t.mul_(-1);
          for (const name of ["x", "same", "again", "cast", "transposed"])
            expect([name, numbers(outputs[name]!)]).toEqual([name, [...weights].map((v) => -v - add)]);
          for (const name of ["w", "weight", "part"]) expect([name, numbers(outputs[name]!)]).toEqual([name, [...weights].map((v) => -v)]);
          expect(numbers(x)).toEqual([...weights].map((v) => v + add));
        }
        compiled.dispose();
      },
      { collect: true },
    ));

  test("passes gradients to an input that is an output", () =>
    clean(
      device,
      async () => {
        using loaded = await dx.io.onnx.load(passing());
        const x = dx.tensor(weights, { requiresGrad: true });
        const { x: through, y } = loaded.call({ x });
        through!.mul(3).add(y!).sum().backward();
        expect(numbers(x.grad!)).toEqual([...weights].map(() => 4));
        x.grad!.dispose();
        x.grad = null;
      },
      { collect: true },
    ));

  test("stays after dispose(), and a call after it is an error that uploads nothing", () =>
    clean(device, async () => {
      const loaded = await dx.io.onnx.load(passing());
      const x = dx.tensor(weights);
      const { y } = loaded.call({ x });
      loaded.dispose();
      loaded.dispose();
      const before = liveBuffers(device);
      expect(() => loaded.call({ x })).toThrow(dx.DisposedError);
      expect(liveBuffers(device)).toBe(before);
      expect(numbers(y!)).toEqual([...weights].map((v) => 2 * v));
    }));

  test("does not change when the bytes that it was loaded from do, and tensors of nodes lie on the device once", () =>
    clean(device, async () => {
      const bytes = model({
        opset: 18,
        graph: graph({
          inputs: [value("x", FLOAT, [10_000])],
          outputs: [value("y", FLOAT, [10_000])],
          nodes: [node("Constant", [], ["c"], [attribute.tensor("value", tensor("c", [10_000], large))]), node("Add", ["x", "c"], ["y"])],
        }),
      });
      using loaded = await dx.io.onnx.load(bytes);
      bytes.fill(255);
      const x = dx.zeros([10_000]);
      for (let call = 0; call < 3; call++) {
        const uploads = dx.counters(device).uploads;
        dx.scope(() => expect(numbers(loaded.call({ x }).y!)).toEqual([...large]));
        // The first call may come before the upload by load().
        if (call > 0) expect(dx.counters(device).uploads - uploads).toBe(0);
      }
    }));

  test("of models that come and go leaves no bytes on the device", async () => {
    const run = async (): Promise<void> => {
      const loaded = await dx.io.onnx.load(passing(), { device });
      dx.scope(() => {
        loaded.call({ x: dx.tensor(weights, { device }) });
      });
      loaded.dispose();
    };
    await run();
    await dx.synchronize(device);
    const before = dx.memoryStatistics(device).liveInBytes;
    for (let i = 0; i < 20; i++) await run();
    await dx.synchronize(device);
    expect(dx.memoryStatistics(device).liveInBytes).toBe(before);
  });
});

/** Bytes of the process before and after a model of 256 MB is loaded from `path`, on the software adapter, whose device is the host's memory. */
function growth(path: string): number {
  const index = pathToFileURL(join(process.cwd(), "dist", "index.js")).href;
  const code = `const dx = await import(${JSON.stringify(index)}); dx.setDefaultDevice("cpu"); dx.ones([2]).dataSync(); gc(); const before = process.memoryUsage().rss;
    const m = await dx.io.onnx.load(${JSON.stringify(path)}); for (let i = 0; i < 5; i++) { gc(); await new Promise((r) => setTimeout(r, 50)); }
    console.log(process.memoryUsage().rss - before, m.call({}).y.shape.join());`;
  const { stdout } = spawnSync(process.execPath, ["--expose-gc", "--input-type=module", "-e", code], { encoding: "utf8" });
  expect(stdout).toMatch(/ 1$/m);
  return Number.parseInt(stdout, 10);
}

const COUNT = 64 * 2 ** 20;
/** The last of many weights. */
const lastOf = (data: Float32Array | { location: string; offset: number; length: number }, count: number): Uint8Array =>
  model({
    opset: 18,
    graph: graph({
      inputs: [],
      outputs: [value("y", FLOAT, [1])],
      initializers: [tensor("w", [count], data), tensor("last", [1], BigInt64Array.of(BigInt(count - 1)))],
      nodes: [node("Gather", ["w", "last"], ["y"])],
    }),
  });

test("a model takes its size in memory, not twice that, from one file and from one next to it", () => {
  writeFileSync(join(folder, "one.onnx"), lastOf(new Float32Array(COUNT), COUNT));
  writeFileSync(join(folder, "weights"), "");
  truncateSync(join(folder, "weights"), 4 * COUNT);
  writeFileSync(join(folder, "external.onnx"), lastOf({ location: "weights", offset: 0, length: 4 * COUNT }, COUNT));
  for (const name of share(["one.onnx", "external.onnx"], 2, 1)) {
    const grown = growth(join(folder, name)) / (4 * COUNT);
    expect([name, grown > 0.9 && grown < 1.5 ? "its size" : grown]).toEqual([name, "its size"]);
  }
});

test.skipIf(process.platform === "win32")(
  "weights next to a model may have more than 2 GiB (where all cases are asked for), and links may not lead out of its folder (Windows needs a right for links)",
  async () => {
    const count = isWhole ? 550_000_000 : 1000;
    mkdirSync(join(folder, "model"));
    mkdirSync(join(folder, "blobs"));
    const at = (...names: string[]): string => join(folder, ...names);
    writeFileSync(at("model", "weights"), "");
    truncateSync(at("model", "weights"), 4 * count);
    writeFileSync(at("model", "m.onnx"), lastOf({ location: "weights", offset: 0, length: 4 * count }, count));
    await dx.withDevice("cpu", async () => {
      using loaded = await dx.io.onnx.load(at("model", "m.onnx"));
      dx.scope(() => expect(numbers(loaded.call({}).y!)).toEqual([0]));
    });
    const small = (location: string): void => writeFileSync(at("model", "s.onnx"), lastOf({ location, offset: 0, length: 80 }, 20));
    writeFileSync(at("secret"), new Uint8Array(100));
    symlinkSync(at("secret"), at("model", "link"));
    symlinkSync("..", at("model", "up"));
    symlinkSync("weights", at("model", "inner"));
    symlinkSync("/dev/zero", at("model", "device"));
    for (const location of ["link", "up/secret", "../secret", at("secret"), "device", "", "."]) {
      small(location);
      await expect(dx.io.onnx.load(at("model", "s.onnx"), { device: "cpu" })).rejects.toThrow(dx.FormatError);
    }
    small("inner");
    (await dx.io.onnx.load(at("model", "s.onnx"), { device: "cpu" })).dispose();
    // A cache of files by their digest, with links to the model and to its weights.
    writeFileSync(at("blobs", "1"), lastOf({ location: "data", offset: 0, length: 80 }, 20));
    writeFileSync(at("blobs", "2"), new Uint8Array(80));
    mkdirSync(at("snapshot"));
    symlinkSync("../blobs/1", at("snapshot", "m.onnx"));
    symlinkSync("../blobs/2", at("snapshot", "data"));
    (await dx.io.onnx.load(at("snapshot", "m.onnx"), { device: "cpu" })).dispose();
  },
  300_000,
);
