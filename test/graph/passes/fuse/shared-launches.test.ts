import { expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { eachDevice } from "../../../device.ts";
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

it("keeps regions apart that depend on each other, and writes state that others read with a later one, in place", () => {
  const built = build();
  const { g, graph, input } = built;
  const [x, state] = [input(1, 1, 144, 144), input(4)];
  const product = g.gemm(twice(g, x), x, { output: { sizes: [1, 1, 144, 144] }, transA: "NONE", transB: "NONE", alpha: 1, beta: 0 });
  graph.outputs = [twice(g, product), g.elementWiseSin(state)];
  graph.state = [{ buffer: state.value, value: twice(g, state) }];
  const { nodes } = fused(built);
  expect(nodes.map((n) => n.operator).sort()).toEqual(["ELEMENT_WISE_SIN", "GEMM", "SHADER", "SHADER"]);
  const writer = nodes.findIndex((n) => n.outputs.some((y) => y!.value === graph.state[0]!.value.value));
  expect(nodes.findIndex((n) => n.operator === "ELEMENT_WISE_SIN")).toBeLessThan(writer);
  const { inputs, outputs, shader } = nodes[writer]!;
  expect((shader!.inPlace as readonly (readonly [number, number])[]).map(([i, o]) => [inputs[i]!.value, outputs[o]!.value])).toContainEqual([state.value, graph.state[0]!.value.value]); // prettier-ignore
});

it("writes a state apart that is a result, or that is made and read again", () => {
  const built = build();
  const { g, graph, input } = built;
  const [x, state] = [input(4), input(4)];
  const next = twice(g, state);
  graph.outputs = [twice(g, x), g.elementWiseSin(state), g.elementWiseSin(next)];
  graph.state = [{ buffer: state.value, value: next }];
  expect(operators(fused(built)).sort()).toEqual(["ELEMENT_WISE_SIN", "ELEMENT_WISE_SIN", "SHADER", "SHADER"]);
});

it("orders updates of states that are made of each other, which are too many for a launch", () => {
  const built = build();
  const { g, graph, input } = built;
  const [a, b] = [input(1, 32), input(256, 32)];
  const scaled = (x: typeof a, rows: number): typeof a => [1, 2, 3].reduce((y) => g.elementWiseMultiply(y, input(rows, 32)), twice(g, x));
  const first = g.slice1(b, { output: { sizes: [1, 32] }, inputWindowOffsets: [2, 0], inputWindowSizes: [1, 32], inputWindowStrides: [1, 1] }); // prettier-ignore
  const next = [g.elementWiseAdd(scaled(a, 1), first), g.elementWiseAdd(scaled(b, 256), g.expand(a, [256, 32]))];
  graph.state = [{ buffer: a.value, value: next[0]! }, { buffer: b.value, value: next[1]! }]; // prettier-ignore
  expect(operators(fused(built))).toEqual(["SHADER", "SHADER"]);
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

eachDevice("a launch of regions with different threads", () => {
  it("gives those with fewer more rows of a group", () => {
    const run = dx.compile((x: dx.Tensor, y: dx.Tensor, z: dx.Tensor) => [dx.mean(x).mul(2), dx.sum(y, 0).neg(), z.mul(2).add(1), dx.amax(z, 1)] as const, { fuse: "always" }); // prettier-ignore
    const values = (n: number, seed: number): number[] => Array.from({ length: n }, (_, i) => ((i * 7 + seed) % 11) - 5);
    for (const seed of [0, 3, 8]) {
      const [x, y, z] = [values(64, seed), values(640, seed), values(33 * 40, seed)];
      const results = run(dx.tensor(x), dx.tensor(y).reshape([64, 10]), dx.tensor(z).reshape([33, 40]));
      const [mean, sums, scaled, largest] = results.map((t) => ([t.toArraySync()] as unknown[]).flat(3).map(Number));
      expect(mean![0]).toBeCloseTo(x.reduce((a, b) => a + b) / 32, 5);
      expect(sums).toEqual(Array.from({ length: 10 }, (_, j) => -y.reduce((sum, v, i) => (i % 10 === j ? sum + v : sum), 0)));
      expect(scaled).toEqual(z.map((v) => 2 * v + 1));
      expect(largest).toEqual(Array.from({ length: 33 }, (_, i) => Math.max(...z.slice(40 * i, 40 * i + 40))));
    }
    expect(run.explain().fused.length).toBeLessThanOrEqual(2);
    run.dispose();
  });
});

it("launches a small reduction for an operator with the last region before that", () => {
  const built = build();
  const { g, graph, input } = built;
  const [x, w] = [input(1, 1, 32, 144), input(1, 1, 144, 144)];
  const product = (a: typeof x): typeof x => g.gemm(a, w, { output: { sizes: [1, 1, 32, 144] }, transA: "NONE", transB: "NONE", alpha: 1, beta: 0 }); // prettier-ignore
  const first = product(x);
  const sum = g.reduce(first, { function: "SUM", output: { sizes: [1, 1, 1, 144], dtype: "float32" }, axes: [2] });
  const second = product(twice(g, product(first)));
  graph.outputs = [g.join([g.reshape(sum, [144]), g.reshape(product(second), [32 * 144])], { output: { sizes: [33 * 144] }, axis: 0 })];
  const result = fused(built);
  expect(operators(result)).toEqual(["GEMM", "GEMM", "SHADER", "GEMM", "GEMM", "JOIN"]);
});
