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
  const [x, state] = [input(1, 1, 144, 144), input(4)];
  const product = g.gemm(twice(g, x), x, { output: { sizes: [1, 1, 144, 144] }, transA: "NONE", transB: "NONE", alpha: 1, beta: 0 });
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

it("lets small reductions for other operators wait for each other, but not for what reads them", () => {
  const built = build();
  const { g, graph, input } = built;
  const [rows, x] = [input(1, 1, 32, 144), input(1, 1, 144, 144)];
  const product = (a: typeof x): typeof x => g.gemm(a, x, { output: { sizes: [1, 1, 32, 144] }, transA: "NONE", transB: "NONE", alpha: 1, beta: 0 }); // prettier-ignore
  const columns = (a: typeof x): typeof x =>
    g.reduce(a, { function: "SUM", output: { sizes: [1, 1, 1, 144], dtype: "float32" }, axes: [2] });
  const [first, second] = [product(rows), product(product(rows))];
  const sums = [columns(first), columns(second)].map((sum) => g.reshape(sum, [144]));
  graph.outputs = [g.join(sums, { output: { sizes: [288] }, axis: 0 })];
  const result = fused(built);
  expect(operators(result)).toEqual(["GEMM", "GEMM", "GEMM", "SHADER", "JOIN"]);
  const early = build();
  const y = early.input(1, 1, 32, 144);
  const sum = early.g.reduce(y, { function: "SUM", output: { sizes: [1, 1, 1, 144], dtype: "float32" }, axes: [2] });
  const scaled = early.g.gemm(early.g.expand(sum, [1, 1, 32, 144]), early.input(1, 1, 144, 144), { output: { sizes: [1, 1, 32, 144] }, transA: "NONE", transB: "NONE", alpha: 1, beta: 0 }); // prettier-ignore
  early.graph.outputs = [early.g.reduce(scaled, { function: "SUM", output: { sizes: [1, 1, 1, 144], dtype: "float32" }, axes: [2] })];
  expect(operators(fused(early))).toEqual(["SHADER", "GEMM", "SHADER"]);
});
