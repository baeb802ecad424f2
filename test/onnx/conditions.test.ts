/** Inputs that load() makes constants, and the branches that they decide. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { numbers } from "../device.ts";
import { attribute, graph, model, node, tensor, value } from "./write.ts";

const { load } = dx.io.onnx;
const FLOAT = 1;
const INT64 = 7;
const device = "cpu";

const large = (start: number): Float32Array => Float32Array.from({ length: 20 }, (_, i) => start + i);

/** y = x + (rate is 16000 ? a : b), each branch with its weight; the condition is computed. */
const branching = (): Uint8Array => {
  const branch = (name: string, start: number): ReturnType<typeof graph> =>
    graph({
      inputs: [],
      outputs: [value(`${name}_sum`, FLOAT, [20])],
      initializers: [tensor(name, [20], large(start))],
      nodes: [node("Add", ["x", name], [`${name}_sum`])],
    });
  return model({
    opset: 18,
    graph: graph({
      inputs: [value("x", FLOAT, [20]), value("rate", INT64, [])],
      outputs: [value("y", FLOAT, [20])],
      initializers: [tensor("wide", [], BigInt64Array.of(16000n))],
      nodes: [
        node("Equal", ["rate", "wide"], ["isWide"]),
        node("If", ["isWide"], ["y"], [attribute.graph("then_branch", branch("a", 100)), attribute.graph("else_branch", branch("b", 200))]),
      ],
    }),
  });
};
const x = (): dx.Tensor => dx.tensor(large(0), { device });
const wanted = (start: number): number[] => Array.from({ length: 20 }, (_, i) => start + 2 * i);

test("an If that they decide becomes its branch, whose weights are the model's, and the other one's are not loaded", async () => {
  for (const [rate, name, start] of [
    [16000, "a", 100],
    [8000n, "b", 200],
    [[16000], "a", 100],
    [BigInt64Array.of(8000n), "b", 200],
    [dx.tensor(16000n, { device }), "a", 100],
  ] as const) {
    using loaded = await load(branching(), { device, constants: { rate } });
    expect(loaded.inputs.map((i) => i.name)).toEqual(["x"]);
    expect([...loaded.namedParameters()].map(([n]) => n)).toEqual([name]);
    expect(loaded.nodes.some((n) => n.operator === "If")).toBe(false);
    const compiled = dx.compile((t: dx.Tensor) => loaded(t));
    for (let call = 0; call < 3; call++)
      for (const y of [loaded(x()), compiled(x()), loaded.call({ x: x() }, { eager: true }).y!]) expect(numbers(y)).toEqual(wanted(start));
    compiled.dispose();
  }
});

test("without them the branch is chosen in each call", async () => {
  using loaded = await load(branching(), { device });
  for (const [rate, start] of [
    [16000n, 100],
    [8000n, 200],
    [16000n, 100],
    [1n, 200],
  ] as const)
    expect(numbers(loaded.call({ x: x(), rate: dx.tensor(rate, { device }) }).y!)).toEqual(wanted(start));
});

test("constants that are no inputs, or do not fit, are typed errors", async () => {
  const wrong = (constants: Record<string, unknown>): Promise<unknown> => load(branching(), { device, constants: constants as never });
  await expect(wrong({ nothing: 1 })).rejects.toThrow(/constants must be of inputs: x, rate/);
  await expect(wrong({ rate: [1, 2] })).rejects.toThrow(dx.ShapeError);
  await expect(wrong({ rate: 1.5 })).rejects.toThrow(dx.ValueError);
  await expect(wrong({ rate: "16000" })).rejects.toThrow(dx.DTypeError);
  await expect(wrong({ rate: dx.tensor(1, { device }) })).rejects.toThrow(dx.DTypeError);
  await expect(wrong({ x: [1, 2, 3] })).rejects.toThrow(dx.ShapeError);
  using loaded = await load(branching(), { device, constants: { x: large(1), rate: 8000 } });
  expect(numbers(loaded.call({}).y!)[0]).toBe(201);
});
