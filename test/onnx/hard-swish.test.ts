/** x * Clip(x + 3, 0, 6) / 6 of old files: one operator in a program, the same numbers, and other nodes where something else reads a part of it. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import type { NodeMessage } from "../../src/onnx/format/proto.ts";
import { Constant } from "../../src/onnx/format/value.ts";
import { withHardSwish } from "../../src/onnx/hard-swish.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { attribute, graph, model, node, tensor, value } from "./write.ts";

const FLOAT = 1;
const VALUES = { three: 3, zero: 0, six: 6 };

const constants = Object.entries(VALUES).map(([name, v]) =>
  node("Constant", [], [name], [attribute.tensor("value", tensor("", [], Float32Array.of(v)))]),
);
const file = (inputs: readonly [string, string][], outputs: readonly string[] = ["y"]): Uint8Array => {
  const [[a, b], [c, d]] = inputs as [[string, string], [string, string]];
  const isDividedFirst = b === "six";
  return model({
    opset: 11,
    graph: graph({
      inputs: [value("x", FLOAT, ["n"])],
      outputs: outputs.map((name) => value(name, FLOAT, ["n"])),
      nodes: [
        ...constants,
        node("Add", ["x", "three"], ["shifted"]),
        node("Clip", ["shifted", "zero", "six"], ["clipped"]),
        node(isDividedFirst ? "Div" : "Mul", [a, b], ["third"]),
        node(isDividedFirst ? "Mul" : "Div", [c, d], ["y"]),
      ],
    }),
  });
};
const multiplied = (outputs?: readonly string[]): Uint8Array => file([["x", "clipped"], ["third", "six"]], outputs); // prettier-ignore
const divided = (): Uint8Array => file([["clipped", "six"], ["third", "x"]]); // prettier-ignore

const input = [-Infinity, -1000, -4, -3, -2.9, -1e-30, 0, 0.5, 2.9, 3, 4, 1000, Infinity, NaN];
const wanted = (x: number): number => (x * Math.min(6, Math.max(0, x + 3))) / 6;

eachDevice("hard swish in several nodes", (device) => {
  test("a pattern gives the numbers of its nodes in three calls, eagerly too", async () => {
    await clean(device, async () => {
      for (const bytes of [multiplied(), divided(), multiplied(["y", "clipped"])]) {
        using read = await dx.io.onnx.load(bytes, { device });
        for (const scale of [1, 1, 0.25]) {
          const values = input.map((v) => v * scale);
          using x = dx.tensor(values, { device });
          for (const eager of [false, true]) {
            const { y } = read.call({ x }, { eager });
            const got = numbers(y!);
            values.forEach((v, i) => (Number.isNaN(wanted(v)) ? expect(got[i]).toBeNaN() : expect(got[i]).toBeCloseTo(wanted(v), 4)));
            y!.dispose();
          }
        }
        expect(read.nodes.filter((n) => n.operator === "Clip")).toHaveLength(1);
      }
    });
  });
});

const named = (type: string, inputs: string[], outputs: string[], domain = ""): NodeMessage => ({
  inputs,
  outputs,
  name: outputs[0]!,
  type,
  domain,
  overload: "",
  attributes: [],
});
const pattern = (): NodeMessage[] => [
  named("Add", ["three", "x"], ["s"]),
  named("Clip", ["s", "zero", "six"], ["c"]),
  named("Mul", ["c", "x"], ["m"]),
  named("Div", ["m", "six"], ["y"]),
];
const weight = (name: string): Constant | undefined =>
  name in VALUES ? Constant.scalar("float32", VALUES[name as keyof typeof VALUES]) : undefined;
const types = (nodes: readonly NodeMessage[], outputs = ["y"], of = weight): string =>
  withHardSwish(nodes, outputs, of)
    .map((n) => n.type)
    .join();

test("the four nodes become one, in the last one's position and with its name", () => {
  const [merged] = withHardSwish(pattern(), ["y"], weight);
  expect(merged).toMatchObject({ type: "HardSwish", inputs: ["x"], outputs: ["y"], name: "y" });
  expect(types([...pattern(), named("Relu", ["y"], ["z"])], ["z"])).toBe("HardSwish,Relu");
});

test("what is not exactly the pattern stays", () => {
  const all = "Add,Clip,Mul,Div";
  expect(types(pattern(), ["y", "c"])).toBe(all);
  expect(types([...pattern(), named("Relu", ["s"], ["z"])])).toBe(`${all},Relu`);
  expect(types(pattern(), ["y"], () => undefined)).toBe(all);
  const other = (name: string, v: Constant) => (asked: string) => (asked === name ? v : weight(asked));
  expect(types(pattern(), ["y"], other("three", Constant.scalar("float32", 2)))).toBe(all);
  expect(types(pattern(), ["y"], other("six", Constant.scalar("float64", 6)))).toBe(all);
  expect(types(pattern(), ["y"], other("zero", new Constant("float32", [2], Float32Array.of(0, 0))))).toBe(all);
  const parameter = Constant.scalar("float32", 3);
  parameter.isParameter = true;
  expect(types(pattern(), ["y"], other("three", parameter))).toBe(all);
  const [add, clip, mul, div] = pattern() as [NodeMessage, NodeMessage, NodeMessage, NodeMessage];
  expect(types([add, clip, mul, named("Div", ["six", "m"], ["y"])])).toBe(all);
  expect(types([add, clip, named("Mul", ["c", "z"], ["m"]), div])).toBe(all);
  expect(types([add, clip, named("Mul", ["c", "c"], ["m"]), div])).toBe(all);
  expect(types([add, named("Clip", ["s", "zero"], ["c"]), mul, div])).toBe(all);
  expect(types([named("Add", ["three", "x"], ["s"], "mine"), clip, mul, div])).toBe(all);
  expect(types([add, clip])).toBe("Add,Clip");
});
