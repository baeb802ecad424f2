/** Weights that a file fills with one value: constants of the loaded model, unless a call may give another shape. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { attribute, graph, model, node, tensor, value } from "./write.ts";

const [FLOAT, INT64] = [1, 7];
const SHAPE = [96, 64];
const longs = (...v: number[]): BigInt64Array => BigInt64Array.from(v, BigInt);

/** x times a matrix of twos. isInput: the shape is among the inputs, too. */
const file = (isInput = false, shape: readonly number[] = SHAPE, irVersion = 10): Uint8Array =>
  model({
    opset: 18,
    irVersion,
    graph: graph({
      inputs: [value("x", FLOAT, ["n", shape[0]!]), ...(isInput ? [value("shape", INT64, [2])] : [])],
      outputs: [value("y", FLOAT, ["n", isInput ? "m" : shape[1]!])],
      initializers: [tensor("shape", [2], longs(...shape))],
      nodes: [
        node("ConstantOfShape", ["shape"], ["w"], [attribute.tensor("value", tensor("", [1], Float32Array.of(2)))], "", "fill"),
        node("MatMul", ["x", "w"], ["y"], [], "", "product"),
      ],
    }),
  });
const operators = (m: dx.io.onnx.OnnxModel): string[] => m.nodes.map((n) => n.operator);

eachDevice("tensors of one value", (device) => {
  test("are on the device when the model is loaded, and no node", async () => {
    await clean(device, async () => {
      using read = await dx.io.onnx.load(file(), { device });
      expect(operators(read)).toEqual(["MatMul"]);
      expect(read.inputs.map((i) => i.name)).toEqual(["x"]);
      expect([...read.namedBuffers()].map(([name, t]) => [name, t.shape])).toEqual([["w", SHAPE]]);
      for (const scale of [1, 1, 3])
        for (const eager of [false, true]) {
          using x = dx.full([2, SHAPE[0]!], scale, { device });
          const { y } = read.call({ x }, { eager });
          expect([...new Set(numbers(y!))]).toEqual([2 * SHAPE[0]! * scale]);
          y!.dispose();
        }
    });
  });

  test("are so with a shape among the inputs where the format has no other values for it", async () => {
    await clean(device, async () => {
      using read = await dx.io.onnx.load(file(true, SHAPE, 3), { device });
      expect([operators(read), read.inputs.map((i) => i.name)]).toEqual([["MatMul"], ["x"]]);
      using x = dx.ones([1, SHAPE[0]!], { device });
      const { y } = read.call({ x });
      expect([...new Set(numbers(y!))]).toEqual([2 * SHAPE[0]!]);
      y!.dispose();
      expect(() => read.call({ x, shape: x })).toThrow(dx.ValueError);
    });
  });

  test("of a shape that a call may give are made by the call", async () => {
    await clean(device, async () => {
      using read = await dx.io.onnx.load(file(true), { device });
      expect(operators(read)).toEqual(["ConstantOfShape", "MatMul"]);
      using x = dx.ones([1, SHAPE[0]!], { device });
      using shape = dx.tensor(longs(SHAPE[0]!, 80), { dtype: "int64", device });
      const own = read.call({ x });
      const other = read.call({ x, shape }, { eager: true });
      expect([own["y"]!.shape, other["y"]!.shape]).toEqual([
        [1, 64],
        [1, 80],
      ]);
      expect(new Set([...numbers(own["y"]!), ...numbers(other["y"]!)])).toEqual(new Set([2 * SHAPE[0]!]));
      for (const t of [own["y"]!, other["y"]!]) t.dispose();
    });
  });
});

test("a node stays that is small, that a layer stands for, or that asks for too much", async () => {
  using small = await dx.io.onnx.load(file(false, [8, 8]), { device: "cpu" });
  expect(operators(small)).toEqual(["ConstantOfShape", "MatMul"]);
  const ones = dx.ones(SHAPE, { device: "cpu" });
  using replaced = await dx.io.onnx.load(file(), { device: "cpu", layers: { fill: () => ones } });
  using x = dx.ones([1, SHAPE[0]!], { device: "cpu" });
  const { y } = replaced.call({ x });
  expect(numbers(y!)).toEqual(Array.from({ length: 64 }, () => 96));
  using huge = await dx.io.onnx.load(file(false, [96, 2 ** 40]), { device: "cpu" });
  expect(operators(huge)).toEqual(["ConstantOfShape", "MatMul"]);
  expect(() => huge.call({ x })).toThrow(dx.DxError);
  for (const t of [ones, y!]) t.dispose();
});
