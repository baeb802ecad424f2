/** Graphs whose nodes come in any order, cut graphs, and graphs that are none. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { numbers } from "../device.ts";
import { attribute, graph, model, node, tensor, value } from "./write.ts";

const { load } = dx.io.onnx;
const FLOAT = 1;
const BOOL = 9;
const INT64 = 7;
const device = "cpu";
type Message = ReturnType<typeof node>;

/** y = (-|x| + w) * v, and z of another weight. */
const nodes = (): Message[] => [
  node("Abs", ["x"], ["a"]),
  node("Neg", ["a"], ["b"]),
  node("Add", ["b", "w"], ["c"], [], "", "sum"),
  node("Mul", ["c", "v"], ["y"]),
  node("Sub", ["a", "u"], ["z"]),
];
const built = (list: readonly Message[], outputs = ["y", "z"]): Uint8Array =>
  model({
    opset: 18,
    graph: graph({
      inputs: [value("x", FLOAT, [2]), value("unused", FLOAT, [2])],
      outputs: outputs.map((name) => value(name, FLOAT, [2])),
      initializers: ["w", "v", "u"].map((name, i) => tensor(name, [2], Float32Array.of(i + 1, i + 2))),
      nodes: list,
    }),
  });

const inputs = (): Record<string, dx.Tensor> => ({ x: dx.tensor([1, -3], { device }), unused: dx.tensor([0, 0], { device }) });

test("nodes may come in any order, in graphs inside nodes too", async () => {
  const list = nodes();
  for (const order of [list, list.toReversed(), [list[3]!, list[0]!, list[4]!, list[2]!, list[1]!]]) {
    using loaded = await load(built(order), { device });
    for (const eager of [true, false]) {
      const { y, z } = loaded.call(inputs(), { eager });
      expect([numbers(y!), numbers(z!)]).toEqual([
        [0, -3],
        [-2, -1],
      ]);
    }
  }
  const body = graph({
    inputs: [value("i", INT64, []), value("going", BOOL, []), value("sum", FLOAT, [2])],
    outputs: [value("on", BOOL, []), value("next", FLOAT, [2])],
    nodes: [node("Add", ["twice", "b"], ["next"]), node("Add", ["sum", "sum"], ["twice"]), node("Identity", ["going"], ["on"])],
  });
  using looped = await load(
    model({
      opset: 18,
      graph: graph({
        inputs: [value("x", FLOAT, [2])],
        outputs: [value("y", FLOAT, [2])],
        initializers: [tensor("count", [], BigInt64Array.of(2n))],
        nodes: [node("Loop", ["count", "", "x"], ["y"], [attribute.graph("body", body)]), node("Neg", ["x"], ["b"])],
      }),
    }),
    { device },
  );
  expect(numbers(looped.call({ x: dx.tensor([1, -3], { device }) }).y!)).toEqual([1, -3]);
});

test("outputs ends the graph at any value, and what that does not need is not there", async () => {
  using loaded = await load(built(nodes()), { device, outputs: ["c", "a"] });
  expect(loaded.outputs.map((o) => o.name)).toEqual(["c", "a"]);
  expect(loaded.inputs.map((i) => i.name)).toEqual(["x"]);
  expect(loaded.nodes.map((n) => n.operator)).toEqual(["Abs", "Neg", "Add"]);
  expect([...loaded.namedParameters()].map(([name]) => name)).toEqual(["w"]);
  for (let call = 0; call < 2; call++) {
    const { c, a } = loaded.call({ x: dx.tensor([1, -3], { device }) });
    expect([numbers(c!), numbers(a!)]).toEqual([
      [0, -1],
      [1, 3],
    ]);
  }
  expect(() => loaded(dx.tensor([1, -3], { device }))).toThrow(/model must be of one output/);
  for (const outputs of [["nothing"], [], ["a", "a"], [""]]) await expect(load(built(nodes()), { outputs })).rejects.toThrow(dx.ValueError);
  // An operator that is not known does not matter where it is left out.
  const strange = [...nodes(), node("Strange", ["y"], ["s"])];
  await expect(load(built(strange, ["s"]), { device })).rejects.toThrow(dx.UnsupportedError);
  (await load(built(strange, ["s"]), { device, outputs: ["y"] })).dispose();
});

test("circles, values that nothing makes and values that two nodes make are errors that name the nodes", async () => {
  const wrong = (list: readonly Message[]): Promise<unknown> => load(built(list, ["y"]), { device });
  await expect(wrong([node("Add", ["x", "q"], ["y"], [], "", "one"), node("Neg", ["y"], ["q"], [], "", "two")])).rejects.toThrow(
    /a circle through .*(one|two) .*(one|two)/,
  );
  await expect(wrong([node("Add", ["y", "x"], ["y"])])).rejects.toThrow(dx.FormatError);
  await expect(wrong([node("Add", ["x", "missing"], ["y"], [], "", "one")])).rejects.toThrow(/1 that are not: missing of one \(Add\)/);
  await expect(wrong([node("Neg", ["x"], ["other"])])).rejects.toThrow(/output y/);
  await expect(wrong([node("Neg", ["x"], ["y"]), node("Abs", ["x"], ["y"])])).rejects.toThrow(/value y must be made by one node/);
  // A long chain in the wrong order takes no stack.
  const long = Array.from({ length: 20_000 }, (_, i) => node("Identity", [i === 0 ? "x" : `v${i}`], [i === 19_999 ? "y" : `v${i + 1}`]));
  using deep = await load(built(long.toReversed(), ["y"]), { device, eager: true });
  expect(numbers(deep.call(inputs()).y!)).toEqual([1, -3]);
});
