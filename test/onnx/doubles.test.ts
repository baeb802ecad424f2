/** Convolutions, pools and norms of float64 (record_doubles.py), which are computed on the host to float64's precision, and what is refused. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { readCases } from "./cases.ts";
import { runCase } from "./run.ts";
import { attribute, graph, model, node, value } from "./write.ts";

const cases = readCases(fileURLToPath(new URL("doubles.jsonl.gz", import.meta.url)));

test("layers of float64 give PyTorch's results in float64", () => {
  const outcomes = cases.map((c) => runCase(c, "cpu", { compiled: false }));
  expect(outcomes.filter((o) => o.result !== "passed").map((o) => `${o.id}: ${o.reason ?? o.result}`)).toEqual([]);
  expect(cases.length).toBeGreaterThan(25);
});

const DOUBLE = 11;
const one = (
  type: string,
  inputs: readonly (readonly (number | string)[])[],
  attributes: Parameters<typeof node>[3],
  outputs: readonly string[],
): Uint8Array =>
  // prettier-ignore
  model({
    opset: 21,
    graph: graph({
      inputs: inputs.map((shape, i) => value(`i${i}`, DOUBLE, shape)),
      outputs: [value("y", DOUBLE, ["a", "b", "c", "d"])],
      nodes: [node(type, inputs.map((_, i) => `i${i}`), outputs, attributes)], // prettier-ignore
    }),
  });

test("a model of float64 layers runs by its name in three calls, with an empty batch too", async () => {
  using read = await dx.io.onnx.load(
    one(
      "Conv",
      [
        ["n", 1, 3, 3],
        [2, 1, 2, 2],
      ],
      [attribute.ints("kernel_shape", [2, 2])],
      ["y"],
    ),
    { device: "cpu" },
  );
  const w = dx.tensor([1, 0, 0, 0, 0.5, 0.5, 0, 1e-17], { shape: [2, 1, 2, 2], dtype: "float64", device: "cpu" });
  for (const n of [1, 2, 1, 0]) {
    const x = dx.tensor(Float64Array.from({ length: 9 * n }, (_, i) => i + 1 / 3), { shape: [n, 1, 3, 3], dtype: "float64", device: "cpu" }); // prettier-ignore
    const y = read.call({ i0: x, i1: w })["y"]!;
    expect([y.dtype, y.shape]).toEqual(["float64", [n, 2, 2, 2]]);
    if (n > 0) expect((await y.data())[0]).toBe(1 / 3);
  }
});

test("what is not computed in float64 is refused by its name", async () => {
  const pair = await dx.io.onnx.load(one("MaxPool", [[1, 1, 4, 4]], [attribute.ints("kernel_shape", [2, 2])], ["y", "at"]), {
    device: "cpu",
  });
  const x = dx.zeros([1, 1, 4, 4], { dtype: "float64", device: "cpu" });
  expect(() => pair.call({ i0: x })).toThrow(/float64/);
  const wrong = await dx.io.onnx.load(one("Conv", [[1, 1, 4, 4], [2, 3, 2, 2]], [], ["y"]), { device: "cpu" }); // prettier-ignore
  expect(() => wrong.call({ i0: x, i1: dx.zeros([2, 3, 2, 2], { dtype: "float64", device: "cpu" }) })).toThrow(/channels fit 1 groups/);
  const large = await dx.io.onnx.load(one("AveragePool", [[1, 1, 4, 4]], [attribute.ints("kernel_shape", [3000, 3000]), attribute.ints("pads", [5000, 5000, 5000, 5000])], ["y"]), { device: "cpu" }); // prettier-ignore
  expect(() => large.call({ i0: x })).toThrow(dx.ValueError);
});
