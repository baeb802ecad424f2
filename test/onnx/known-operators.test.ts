/** What load() and call() refuse: operators and operator sets, files that end early, data outside, and inputs of other kinds. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { numbers } from "../device.ts";
import { graph, model, node, tensor, value, type Graph } from "./write.ts";

const { load } = dx.io.onnx;
const FLOAT = 1;
const device = "cpu";
const plain = (nodes: Graph["nodes"], opset = 18, domains: Readonly<Record<string, number>> = {}): Uint8Array =>
  model({ opset, domains, graph: graph({ inputs: [value("x", FLOAT, [2])], outputs: [value("y", FLOAT, [2])], nodes }) });

test("operators that are not known are listed at once, with their number and nodes", async () => {
  const list = Array.from({ length: 5 }, (_, i) => node("Bar", [i === 0 ? "x" : `b${i}`], [`b${i + 1}`], [], "com.foo", `bar${i}`));
  const bytes = plain([...list, node("Qux", ["b5"], ["q"]), node("Abs", ["q"], ["y"])], 18, { "com.foo": 1 });
  await expect(load(bytes, { device })).rejects.toThrow(dx.UnsupportedError);
  await expect(load(bytes, { device })).rejects.toThrow(
    /operator com\.foo\.Bar \(5 nodes: bar0, bar1, bar2, …\), operator Qux \(1 node: q\)\./,
  );
  const layers = Object.fromEntries(["bar0", "bar1", "bar2", "bar3", "bar4", "q"].map((name) => [name, (t: dx.Tensor) => t.mul(-2)]));
  using loaded = await load(bytes, { device, layers });
  for (let call = 0; call < 2; call++) expect(numbers(loaded(dx.tensor([1, -2], { device })))).toEqual([64, 128]);
  await expect(load(bytes, { device, layers: { ...layers, nothing: (t: dx.Tensor) => t } })).rejects.toThrow(dx.ValueError);
});

test("operator sets that do not exist are refused", async () => {
  const relu = [node("Relu", ["x"], ["y"])];
  await expect(load(plain(relu, 999), { device })).rejects.toThrow(/operator set ai\.onnx must be of version 28 at most; received 999/);
  await expect(load(plain(relu, 18, { "ai.onnx.ml": 99 }), { device })).rejects.toThrow(dx.UnsupportedError);
  for (const opset of [0, -1]) await expect(load(plain(relu, opset), { device })).rejects.toThrow(dx.FormatError);
});

test("a length below zero is one that is not known", async () => {
  const bytes = model({
    opset: 18,
    graph: graph({ inputs: [value("x", FLOAT, [-1, 2])], outputs: [value("y", FLOAT, [-1, 2])], nodes: [node("Relu", ["x"], ["y"])] }),
  });
  using loaded = await load(bytes, { device });
  expect(loaded.inputs[0]!.shape).toEqual([null, 2]);
  for (const n of [1, 3]) expect(loaded(dx.ones([n, 2], { device })).shape).toEqual([n, 2]);
  expect(() => loaded(dx.ones([2, 3], { device }))).toThrow(/input x must be \[\?, 2\]/);
});

test("files that end early, are missing or say absurd things of their data are typed errors", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-refused-"));
  const at = (name: string): string => join(folder, name);
  try {
    const external = (location: string, offset: number | string, length: number | string): Uint8Array =>
      model({
        opset: 18,
        graph: graph({
          inputs: [value("x", FLOAT, [2])],
          outputs: [value("y", FLOAT, [2])],
          initializers: [tensor("w", [2], { location, offset, length } as never)],
          nodes: [node("Add", ["x", "w"], ["y"])],
        }),
      });
    writeFileSync(at("data"), new Uint8Array(Float32Array.of(1, 2).buffer));
    writeFileSync(at("m.onnx"), external("data", 0, 8));
    using right = await load(at("m.onnx"), { device });
    expect(numbers(right(dx.tensor([1, 1], { device })))).toEqual([2, 3]);
    symlinkSync(tmpdir(), at("up"));
    const wrong: readonly Parameters<typeof external>[] = [
      ["data", 0, 2 ** 60],
      ["data", 2 ** 60, 8],
      ["data", "9007199254740991", "9007199254740991"],
      ["data", "1e300", 8],
      ["data", "-8", 8],
      ["data", "NaN", 8],
      ["data", 0, 4],
      ["data", 1, 8],
      ["missing", 0, 8],
      ["up/data", 0, 8],
      ["/etc/hostname", 0, 8],
      ["data\0", 0, 8],
    ];
    for (const values of wrong) {
      // A length that is longer than what the tensor has is no error, if the tensor's own bytes are there.
      if (values[2] === 2 ** 60) continue;
      writeFileSync(at("bad.onnx"), external(...values));
      const error: unknown = await load(at("bad.onnx"), { device }).catch((thrown: unknown) => thrown);
      expect([values, error instanceof dx.FormatError ? "FormatError" : error]).toEqual([values, "FormatError"]);
    }
    await expect(load(at("nothing.onnx"))).rejects.toThrow(dx.FormatError);
    await expect(load(folder)).rejects.toThrow(dx.FormatError);
    const bytes = plain([node("Relu", ["x"], ["y"])]);
    for (let length = 0; length < bytes.length; length++)
      await expect(load(bytes.subarray(0, length), { device })).rejects.toThrow(dx.DxError);
    for (const source of [5, null, undefined, {}, []]) await expect(load(source as never)).rejects.toThrow(dx.DxError);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("inputs of other kinds are typed errors that say what was expected", async () => {
  const two = model({
    opset: 18,
    graph: graph({
      inputs: [value("a", FLOAT, [2]), value("b", FLOAT, [2])],
      outputs: [value("y", FLOAT, [2])],
      nodes: [node("Add", ["a", "b"], ["y"])],
    }),
  });
  const loaded = await load(two, { device });
  const t = dx.tensor([1, 2], { device });
  for (const inputs of [null, undefined, 5, "a", [t, t], new Map([["a", t]]), { a: [1, 2], b: t }, { a: t }, { a: t, c: t }, t])
    for (let call = 0; call < 2; call++) expect(() => loaded.call(inputs as never)).toThrow(dx.DxError);
  expect(() => loaded.call({ a: t, b: dx.tensor([1n, 2n], { device }) })).toThrow(/input b must be of dtype float32; received int64\[2\]/);
  expect(() => loaded.call({ a: t })).toThrow(/input b must be given/);
  const gone = dx.tensor([1, 2], { device });
  expect(numbers(loaded.call({ a: t, b: gone }).y!)).toEqual([2, 4]);
  gone.dispose();
  expect(() => loaded.call({ a: t, b: gone })).toThrow(dx.DisposedError);
  expect(numbers(loaded(t, t))).toEqual([2, 4]);
  expect(() => loaded(t)).toThrow(dx.DxError);
  expect(() => loaded(t, t, t)).toThrow(/inputs must be 2: a, b/);
  loaded.dispose();
  expect(() => loaded.call({ a: t, b: t })).toThrow(dx.DisposedError);
  expect(() => loaded(t, t)).toThrow(dx.DisposedError);
  expect(() => loaded.replace("y", (t: dx.Tensor) => t)).toThrow(dx.DisposedError);
});
