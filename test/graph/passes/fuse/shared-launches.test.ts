import { expect, it } from "vitest";
import { build, operators } from "../../build.ts";
import { fused } from "./programs.ts";

const twice = (g: ReturnType<typeof build>["g"], x: ReturnType<ReturnType<typeof build>["input"]>) =>
  g.elementWiseTanh(g.elementWiseExp(x));

it("launches small regions together that do not depend on each other", () => {
  const built = build();
  const { g, graph, input } = built;
  graph.outputs = [twice(g, input(100)), twice(g, input(7)), twice(g, input(3, 5))];
  const result = fused(built);
  expect(operators(result)).toEqual(["SHADER"]);
  expect(result.nodes[0]!.outputs).toHaveLength(3);
});

it("keeps regions apart that depend on each other, and those that write state that others read", () => {
  const built = build();
  const { g, graph, input } = built;
  const [x, state] = [input(1, 1, 4, 4), input(4)];
  const product = g.gemm(twice(g, x), x, { output: { sizes: [1, 1, 4, 4] }, transA: "NONE", transB: "NONE", alpha: 1, beta: 0 });
  graph.outputs = [twice(g, product), g.elementWiseSin(state)];
  graph.state = [{ buffer: state.value, value: twice(g, state) }];
  expect(operators(fused(built)).sort()).toEqual(["ELEMENT_WISE_SIN", "GEMM", "SHADER", "SHADER", "SHADER"]);
});

it("launches the updates of states together that nobody else reads, each in place", () => {
  const built = build();
  const { g, graph, input } = built;
  const states = [input(1), input(1), input(6)];
  graph.state = states.map((x) => ({ buffer: x.value, value: g.elementWiseIdentity(x, { scaleBias: [1, 1] }) }));
  const result = fused(built);
  expect(operators(result)).toEqual(["SHADER"]);
  const { inputs, outputs, shader } = result.nodes[0]!;
  const inPlace = shader!.inPlace as readonly (readonly [number, number])[];
  const pairs = inPlace.map(([i, o]) => [inputs[i]!.value, outputs[o]!.value]);
  expect(pairs).toEqual(graph.state.map(({ buffer, value }) => [buffer, value.value]));
});
