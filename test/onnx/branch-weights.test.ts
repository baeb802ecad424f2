/** Nodes over weights inside branches and loops, which load() computes, and exponents and limits that are known. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";
import { attribute, graph, model, node, tensor, value } from "./write.ts";

const { load } = dx.io.onnx;
const [FLOAT, INT64] = [1, 7];
const [ROWS, COLUMNS] = [160, 64];
const weight = Float32Array.from({ length: ROWS * COLUMNS }, (_, i) => ((i * 7919) % 101) / 101);
const int64 = (...list: number[]): BigInt64Array => BigInt64Array.from(list.map(BigInt));

/** The rows of the weight from `at` on before those up to it, by nodes whose names both branches use. */
const rotated = (at: number): ReturnType<typeof node>[] => [
  node("Constant", [], ["at"], [attribute.tensor("value", tensor("", [1], int64(at)))]),
  node("Constant", [], ["start"], [attribute.tensor("value", tensor("", [1], int64(0)))]),
  node("Constant", [], ["end"], [attribute.tensor("value", tensor("", [1], int64(ROWS)))]),
  node("Slice", ["weight", "at", "end"], ["low"]),
  node("Slice", ["weight", "start", "at"], ["high"]),
  node("Concat", ["low", "high"], ["joined"], [attribute.int("axis", 0)]),
];
const body = (at: number): ReturnType<typeof graph> =>
  graph({
    inputs: [],
    outputs: [value("product", FLOAT, [1, ROWS])],
    nodes: [...rotated(at), node("Transpose", ["joined"], ["transposed"]), node("MatMul", ["x", "transposed"], ["product"])],
  });

/** y = x times the rotated weight; the condition is data. */
const branching = (): Uint8Array =>
  model({
    opset: 18,
    graph: graph({
      inputs: [value("x", FLOAT, [1, COLUMNS]), value("rate", INT64, [])],
      outputs: [value("y", FLOAT, [1, ROWS])],
      initializers: [tensor("weight", [ROWS, COLUMNS], weight), tensor("wide", [], int64(16000))],
      nodes: [
        node("Equal", ["rate", "wide"], ["isWide"]),
        node("If", ["isWide"], ["y"], [attribute.graph("then_branch", body(8)), attribute.graph("else_branch", body(30))]),
      ],
    }),
  });

const data = Float32Array.from({ length: COLUMNS }, (_, i) => ((i * 31) % 17) / 17 - 0.5);
const product = (at: number): number[] =>
  Array.from({ length: ROWS }, (_, r) => {
    const row = (r + at) % ROWS;
    return data.reduce((sum, v, k) => sum + v * weight[row * COLUMNS + k]!, 0);
  });
const near = (t: dx.Tensor, want: readonly number[]): void => {
  const got = numbers(t);
  expect(got.length).toBe(want.length);
  got.forEach((v, i) => expect(Math.abs(v - want[i]!)).toBeLessThan(1e-4));
};

eachDevice("weights inside graphs of nodes", (device) => {
  test("of branches are computed once for each, eagerly, compiled, and of a copy", async () => {
    const loaded = await load(branching(), { device });
    const x = dx.tensor(data, { shape: [1, COLUMNS], device });
    const rates = [16000n, 8000n].map((rate) => dx.tensor(rate, { dtype: "int64", device }));
    const check = (m: dx.io.onnx.OnnxModel): void => {
      for (let call = 0; call < 3; call++)
        rates.forEach((rate, i) => {
          near(m.call({ x, rate }).y!, product([8, 30][i]!));
          near(m.call({ x, rate }, { eager: true }).y!, product([8, 30][i]!));
        });
    };
    await dx.scope(async () => {
      check(loaded);
      // The original is read by no node any more.
      const names = [...loaded.namedBuffers()].map(([name]) => name);
      expect(names).not.toContain("weight");
      expect(names).toContain("transposed");
      const copy = loaded.clone();
      loaded.dispose();
      check(copy);
      copy.dispose();
    });
    for (const t of [x, ...rates]) t.dispose();
  });

  test("of a loop are computed once, and what the loop changes is not", async () => {
    const step = graph({
      inputs: [value("i", INT64, []), value("go", 9, []), value("state", FLOAT, [ROWS, COLUMNS])],
      outputs: [value("go", 9, []), value("next", FLOAT, [ROWS, COLUMNS])],
      nodes: [...rotated(8), node("Add", ["state", "joined"], ["next"])],
    });
    const bytes = model({
      opset: 18,
      graph: graph({
        inputs: [value("x", FLOAT, [ROWS, COLUMNS])],
        outputs: [value("y", FLOAT, [ROWS, COLUMNS])],
        initializers: [tensor("weight", [ROWS, COLUMNS], weight), tensor("count", [], int64(3))],
        nodes: [node("Loop", ["count", "", "x"], ["y"], [attribute.graph("body", step)])],
      }),
    });
    using loaded = await load(bytes, { device });
    await dx.scope(async () => {
      const want = Array.from(weight, (_, i) => 1 + 3 * weight[(i + 8 * COLUMNS) % weight.length]!);
      for (let call = 0; call < 3; call++) near(loaded(dx.ones([ROWS, COLUMNS], { device })), want);
    });
  });

  test("exponents that are known take their own operators, with the shape and the values of Pow", async () => {
    const base = Float32Array.of(0, 1, 2.5, 4, 9, Infinity, NaN);
    for (const [exponent, dims] of [
      [Float32Array.of(2), []],
      [Float32Array.of(0.5), [1]],
      [int64(3), []],
      [Float32Array.of(-1), []],
      [Float32Array.of(0), []],
      [Float32Array.of(1.7), []],
      [Float32Array.of(2), [1, 1]],
      [Float32Array.of(2, 3), [2, 1]],
    ] as const) {
      const bytes = model({
        opset: 15,
        graph: graph({
          inputs: [value("x", FLOAT, [base.length])],
          outputs: [value("y", FLOAT, ["a"])],
          initializers: [tensor("e", dims, exponent)],
          nodes: [node("Pow", ["x", "e"], ["y"])],
        }),
      });
      using loaded = await load(bytes, { device });
      await dx.scope(async () => {
        const want = Array.from(exponent, Number).flatMap((e) => Array.from(base, (v) => v ** e));
        for (let call = 0; call < 3; call++) {
          const y = loaded(dx.tensor(base, { device }));
          expect(y.shape).toEqual(dims.length < 2 ? [base.length] : [dims[0], base.length]);
          numbers(y).forEach((v, i) => {
            if (Number.isFinite(want[i])) expect(Math.abs(v - want[i]!)).toBeLessThan(1e-5 * Math.max(1, want[i]!));
            else expect(v).toBe(want[i]);
          });
        }
      });
    }
  });

  test("limits that are known keep NaN, and crossed ones give the upper limit", async () => {
    const data = Float32Array.of(-7, -0, 3, 6, 8, Infinity, -Infinity, NaN);
    for (const [low, high, dims] of [
      [0, 6, []],
      [0, 6, [1]],
      [6, 0, []],
      [2, 2, []],
      [-Infinity, 6, []],
      [0, Infinity, []],
      [-3.4028234663852886e38, 3.4028234663852886e38, []],
    ] as const) {
      const bytes = model({
        opset: 13,
        graph: graph({
          inputs: [value("x", FLOAT, [data.length])],
          outputs: [value("y", FLOAT, [data.length])],
          initializers: [tensor("low", dims, Float32Array.of(low)), tensor("high", dims, Float32Array.of(high))],
          nodes: [node("Clip", ["x", "low", "high"], ["y"])],
        }),
      });
      using loaded = await load(bytes, { device });
      await dx.scope(async () => {
        const want = Array.from(data, (v) => (Number.isNaN(v) ? v : Math.min(Math.max(v, Math.fround(low)), Math.fround(high))));
        for (let call = 0; call < 3; call++)
          numbers(loaded(dx.tensor(data, { device }))).forEach((v, i) => expect(v + 0).toBe(want[i]! + 0));
      });
    }
  });
});
