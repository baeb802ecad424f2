import { expect, it } from "vitest";
import { build, operators } from "../../build.ts";
import { fused } from "./programs.ts";

it("makes one launch of softmax with what is around it", () => {
  const built = build();
  const { g, graph } = built;
  const x = built.input(4, 12);
  const y = g.activationSoftmax1(g.elementWiseIdentity(x, { scaleBias: [0.5, 0] }), { axes: [1] });
  graph.outputs = [g.elementWiseAdd(y, x), g.reduce(y, { function: "SUM", output: { sizes: [4, 1], dtype: "float32" }, axes: [1] })];
  const result = fused(built);
  expect(operators(result)).toEqual(["SHADER"]);
  expect(result.nodes[0]!.inputs).toHaveLength(1);
  expect(result.nodes[0]!.outputs.map((o) => o!.value)).toEqual(graph.outputs.map((o) => o.value));
});

it("gives the mean and variance of batch normalisation where they are read", () => {
  const built = build();
  const { g, graph } = built;
  const [x, scale, bias] = [built.input(4, 3, 5, 5), built.input(1, 3, 1, 1), built.input(1, 3, 1, 1)];
  const { output, outputMean, outputVariance } = g.batchNormalizationTraining(x, scale, bias, { epsilon: 1e-5 });
  graph.outputs = [g.activationRelu(output), outputMean, outputVariance];
  const result = fused(built);
  expect(operators(result)).toEqual(["SHADER"]);
  expect(result.nodes[0]!.outputs).toHaveLength(3);
});

it("leaves rows that are too long to DirectML", () => {
  const built = build();
  built.graph.outputs = [built.g.activationSoftmax1(built.input(2, 2 ** 16), { axes: [1] })];
  expect(operators(fused(built))).toEqual(["ACTIVATION_SOFTMAX1"]);
});

it("has no region of rows of two shapes", () => {
  const built = build();
  const { g, graph } = built;
  const x = built.input(8, 16);
  const sum = (axis: number) => g.reduce(g.elementWiseExp(x), { function: "SUM", output: { sizes: axis === 0 ? [1, 16] : [8, 1], dtype: "float32" }, axes: [axis] }); // prettier-ignore
  graph.outputs = [sum(0), sum(1)];
  const result = fused(built);
  // Two regions, which share a launch where they have as many threads.
  expect(operators(result).every((name) => name === "SHADER")).toBe(true);
  expect(result.nodes.flatMap((n) => n.fused!.nodes.filter((inner) => inner.operator === "REDUCE"))).toHaveLength(2);
});
