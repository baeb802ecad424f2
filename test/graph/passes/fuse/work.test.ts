/** Small matrix products and maxima of windows as parts of regions: of random shapes and layouts, compared with float64 and with DirectML's operators. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { factsOf, group } from "../../../../src/graph/passes/fuse/clusters.ts";
import { launchOf } from "../../../../src/graph/passes/fuse/launch.ts";
import { evaluateShader } from "../../../../src/shader/evaluate.ts";
import { devices, eachDevice } from "../../../device.ts";
import { build, operators, type Built } from "../../build.ts";
import { fused, mulberry } from "./programs.ts";

const SEEDS = Array.from({ length: Number(process.env.DXTENSOR_FUZZ ?? 6) }, (_, i) => i + 1);

const numbers = (t: dx.Tensor): number[] => ([t.toArraySync()] as unknown[]).flat(10 as 0).map(Number);

function expectNear(got: readonly number[], expected: readonly number[], name: string): void {
  expect(got).toHaveLength(expected.length);
  const range = Math.max(1, ...expected.filter(Number.isFinite).map(Math.abs));
  const wrong = got.flatMap((v, i) => (Object.is(v, expected[i]) || v === expected[i] || Math.abs(v - expected[i]!) <= 3e-5 * range ? [] : [`${name} at ${i}: ${v} and ${expected[i]}`])); // prettier-ignore
  expect(wrong.slice(0, 3)).toEqual([]);
}

/** Operators that are parts of regions. */
const inside = (f: { explain(): dx.Explanation }): string[] => f.explain().fused.flatMap(({ nodes }) => nodes.map((n) => n.operator));

for (const device of devices)
  describe(`products in regions on ${device}`, () => {
    it.each(SEEDS)("seed %i", (seed) => {
      const plan = mulberry(seed + 300);
      const pick = <T>(list: readonly T[]): T => list[Math.floor(plan() * list.length)]!;
      const [batch, m, n, k] = [pick([1, 1, 3]), pick([1, 3, 8, 33]), pick([2, 4, 10, 16, 37]), pick([1, 2, 7, 8, 10, 16, 24, 100, 128])];
      const [leftIsTransposed, rightIsTransposed, hasBias, offset] = [plan() < 0.5, plan() < 0.5, plan() < 0.5, pick([0, 1, 4])];
      const special = seed % 4 === 0 ? [NaN, Infinity, -Infinity] : [];
      const data = mulberry(seed + 900);
      const values = (count: number): number[] => Array.from({ length: count }, () => (special.length > 0 && data() < 0.01 ? special[Math.floor(data() * 3)]! : Math.fround(data() * 2 - 1))); // prettier-ignore
      const matrices = (list: readonly number[], rows: number, columns: number, isTransposed: boolean): dx.Tensor => {
        const flat = dx.tensor([...new Array<number>(offset).fill(9), ...list], { device: dx.device(device) }).slice(0, offset);
        return isTransposed ? flat.reshape([batch, columns, rows]).transpose(1, 2) : flat.reshape([batch, rows, columns]);
      };
      const run = (a: dx.Tensor, b: dx.Tensor, c: dx.Tensor): dx.Tensor[] => {
        const y = dx.matmul(a, b);
        const z = (hasBias ? y.add(c) : y).mul(0.5);
        return [z, dx.softmax(z, -1), dx.sum(dx.relu(z), [0, 1])];
      };
      const compiled = (["always", "off"] as const).map((fuse) => dx.compile(run, { fuse }));
      for (let call = 0; call < 3; call++) {
        const [left, right, bias] = [values(batch * m * k), values(batch * k * n), values(n)];
        const at = (list: readonly number[], z: number, rows: number, columns: number, i: number, j: number, isTransposed: boolean): number => list[z * rows * columns + (isTransposed ? j * rows + i : i * columns + j)]!; // prettier-ignore
        const z = Array.from({ length: batch * m * n }, (_, at0) => {
          const [own, i, j] = [Math.floor(at0 / (m * n)), Math.floor(at0 / n) % m, at0 % n];
          let sum = 0;
          for (let q = 0; q < k; q++) sum += at(left, own, m, k, i, q, leftIsTransposed) * at(right, own, k, n, q, j, rightIsTransposed);
          return (hasBias ? sum + bias[j]! : sum) * 0.5;
        });
        const soft = z.map((v, i) => {
          const row = z.slice(i - (i % n), i - (i % n) + n);
          const max = Math.max(...row);
          return Math.exp(v - max) / row.reduce((sum, x) => sum + Math.exp(x - max), 0);
        });
        const sums = Array.from({ length: n }, (_, j) => z.reduce((sum, v, i) => (i % n === j ? sum + (v <= 0 ? 0 : v) : sum), 0));
        const tensors = [matrices(left, m, k, leftIsTransposed), matrices(right, k, n, rightIsTransposed), dx.tensor(bias, { device: dx.device(device) })] as const; // prettier-ignore
        const [by, plain] = compiled.map((f) => f(...tensors).map(numbers)) as [number[][], number[][]];
        expectNear(by[0]!, z, "the product");
        // Microsoft's softmax and sums differ from ours where there are infinities.
        if (special.length === 0) [soft, sums].forEach((expected, i) => expectNear(by[i + 1]!, expected, `result ${i + 1}`));
        else expectNear(by[0]!, plain[0]!, "the product, not fused");
      }
      expect(inside(compiled[0]!)).toContain("GEMM");
      for (const f of compiled) f.dispose();
    });

    it.each(SEEDS)("windows of seed %i", (seed) => {
      const plan = mulberry(seed + 500);
      const pick = <T>(list: readonly T[]): T => list[Math.floor(plan() * list.length)]!;
      const kernel = pick([[2, 2], [3, 3], [1, 2], [3, 2]] as const); // prettier-ignore
      const stride = pick([[2, 2], [1, 2], [3, 3]] as const); // prettier-ignore
      const [padding, ceilMode, dilation] = [pick([0, 0, 1]), plan() < 0.3, pick([1, 1, 2])];
      const options = { stride, padding: padding === 1 && kernel[0] > 1 ? 1 : 0, ceilMode, dilation };
      const shape = [2, 3, pick([7, 8, 11]), pick([8, 9])] as const;
      const special = seed % 3 === 0 ? [NaN, Infinity, -Infinity] : [];
      const data = mulberry(seed + 700);
      // Of few values, so that several are the largest.
      const value = (): number => (special.length > 0 && data() < 0.2 ? special[Math.floor(data() * 3)]! : Math.floor(data() * 5) - 2);
      const run = (x: dx.Tensor): dx.Tensor[] => {
        const own = x.detach().requiresGrad_();
        const y = dx.maxPool2d(dx.relu(own.mul(1)), [...kernel], options);
        y.mul(y.add(1)).sum().backward();
        return [y.detach(), own.grad!];
      };
      const compiled = (["always", "off"] as const).map((fuse) => dx.compile(run, { fuse }));
      for (let call = 0; call < 3; call++) {
        const x = dx.tensor(Array.from({ length: shape.reduce((a, b) => a * b) }, value), { device: dx.device(device) }).reshape([...shape]); // prettier-ignore
        const [by, plain] = compiled.map((f) => f(x).map(numbers)) as [number[][], number[][]];
        plain.forEach((expected, i) => expectNear(by[i]!, expected, `result ${i}`));
      }
      expect(inside(compiled[0]!).filter((name) => name === "MAX_POOLING2" || name === "MAX_POOLING_GRAD").length).toBeGreaterThan(0);
      for (const f of compiled) f.dispose();
    });
  });

eachDevice("regions with products", () => {
  it("read operands that were computed before, and products of nothing", () => {
    const run = dx.compile((a: dx.Tensor, b: dx.Tensor) => dx.matmul(dx.tanh(a), dx.exp(b)).mul(2), { fuse: "always" });
    const [a, b] = [dx.tensor([[0.5, -1], [2, 0]]), dx.tensor([[0, 1], [-1, 0.5]])]; // prettier-ignore
    const expected = dx.matmul(dx.tanh(a), dx.exp(b)).mul(2).toArraySync();
    expectNear(numbers(run(a, b)), (expected as number[][]).flat(), "of computed operands");
    expect(numbers(run(dx.zeros([2, 0]), dx.zeros([0, 3])))).toEqual([0, 0, 0, 0, 0, 0]);
    run.dispose();
  });
});

eachDevice("products by shaders", (name) => {
  const before = process.env["DXTENSOR_SHADERS"];
  beforeEach(() => (process.env["DXTENSOR_SHADERS"] = "on"));
  afterEach(() => {
    if (before === undefined) delete process.env["DXTENSOR_SHADERS"];
    else process.env["DXTENSOR_SHADERS"] = before;
  });
  const device = dx.device(name);
  const random = (seed: number, ...shape: number[]): dx.Tensor => dx.randn(shape, { device, generator: new dx.Generator(seed) });
  const product = (x: dx.Tensor, y: dx.Tensor): number[] => {
    const [a, b] = [x, y].map((t) => t.toArraySync() as number[][]) as [number[][], number[][]];
    return a.flatMap((row) => b[0]!.map((_, j) => row.reduce((sum, v, q) => sum + v * b[q]![j]!, 0)));
  };
  const inRegion = (f: { explain(): dx.Explanation }): boolean => inside(f).includes("GEMM");

  it("are parts of regions where they are small, with transposed operands, a bias, and batches", () => {
    const [x, w, b] = [random(1, 24, 20), random(2, 12, 20), random(3, 12)];
    const layer = dx.compile((p: dx.Tensor, q: dx.Tensor, r: dx.Tensor) => dx.tanh(dx.linear(p, q, r)).mul(2), { fuse: "always" });
    const expected = product(x, dx.transpose(w, 0, 1)).map((v, i) => 2 * Math.tanh(v + (b.toArraySync() as number[])[i % 12]!));
    for (let call = 0; call < 3; call++) expectNear(numbers(layer(x, w, b)), expected, "a layer");
    expect(inRegion(layer)).toBe(true);
    const [many, one] = [random(4, 3, 16, 8), random(5, 8, 32)];
    const batched = dx.compile((p: dx.Tensor, q: dx.Tensor) => dx.tanh(dx.matmul(p, q)).mul(2), { fuse: "always" });
    const each = [0, 1, 2].flatMap((i) => product(dx.select(many, 0, i), one)).map((v) => 2 * Math.tanh(v));
    expectNear(numbers(batched(many, one)), each, "a batch");
    expect(inRegion(batched)).toBe(true);
    for (const f of [layer, batched]) f.dispose();
  });

  it("stay the shader where they are alone, have an activation in their launch, or are large", () => {
    const [x, y] = [random(6, 32, 16), random(7, 16, 32)];
    const alone = dx.compile((p: dx.Tensor, q: dx.Tensor) => dx.matmul(p, q), { fuse: "always" });
    expectNear(numbers(alone(x, y)), product(x, y), "a product");
    expect(alone.explain().nodes.map((n) => n.operator)).toEqual(["SHADER"]);
    expect(alone.explain().fused).toEqual([]);
    const active = dx.compile((p: dx.Tensor, q: dx.Tensor) => dx.softplus(dx.sigmoid(dx.matmul(p, q))), { fuse: "always" });
    const expected = product(x, y).map((v) => Math.log1p(Math.exp(1 / (1 + Math.exp(-v)))));
    expectNear(numbers(active(x, y)), expected, "with an activation");
    const large = dx.compile((p: dx.Tensor, q: dx.Tensor) => dx.tanh(dx.matmul(p, q)).mul(2).exp(), { fuse: "always" });
    large(random(8, 64, 64), random(9, 64, 128));
    expect(inRegion(large)).toBe(false);
    for (const f of [alone, active, large]) f.dispose();
  });
});

const GEMM = { transA: "NONE", transB: "NONE", alpha: 1, beta: 0 } as const;
const productOf = ({ g, input }: Built, m: number, n: number, k: number) =>
  g.gemm(input(1, 1, m, k), input(1, 1, k, n), { ...GEMM, output: { sizes: [1, 1, m, n] } });

describe("what stays with DirectML", () => {
  it.each([
    ["of more terms than a thread adds one behind the other", 64, 64, 129],
    ["of more terms than threads read alone", 512, 512, 64],
  ])("a product %s", (_name, m, n, k) => {
    const built = build();
    built.graph.outputs = [built.g.elementWiseTanh(productOf(built, m, n, k))];
    expect(operators(fused(built))).toContain("GEMM");
    const small = build();
    small.graph.outputs = [small.g.elementWiseTanh(productOf(small, 64, 64, 64))];
    expect(operators(fused(small))).toEqual(["SHADER"]);
  });

  it("a product whose operand the region computes", () => {
    const built = build();
    const { g, input } = built;
    const x = g.elementWiseTanh(g.elementWiseExp(input(1, 1, 8, 8)));
    built.graph.outputs = [g.elementWiseTanh(g.gemm(x, x, { ...GEMM, output: { sizes: [1, 1, 8, 8] } }))];
    const result = fused(built);
    expect(operators(result)).toEqual(["SHADER", "SHADER"]);
    expect(result.nodes[0]!.fused!.ends).toContain("a product of what is computed here");
  });

  it("a product of which one group of threads would have all rows", () => {
    const built = build();
    const { g } = built;
    const y = productOf(built, 2, 4_080, 64);
    const sum = g.reduce(g.elementWiseTanh(y), { function: "SUM", output: { sizes: [1, 1, 2, 1], dtype: "float32" }, axes: [3] });
    built.graph.outputs = [g.elementWiseAdd(y, g.expand(sum, [1, 1, 2, 4_080]))];
    const regions = fused(built).nodes.flatMap((n) => (n.fused === undefined ? [] : [n.fused]));
    for (const { nodes } of regions)
      expect(nodes.some((n) => n.operator === "GEMM") && nodes.some((n) => n.operator === "REDUCE")).toBe(false);
  });

  it("windows of many taps", () => {
    const built = build();
    const { g, input } = built;
    const pool = { windowSize: [7, 7], strides: [1, 1], startPadding: [0, 0], endPadding: [0, 0], dilations: [1, 1] };
    built.graph.outputs = [g.elementWiseTanh(g.maxPooling2(input(1, 1, 9, 9), { ...pool, output: { sizes: [1, 1, 3, 3] } }).output)];
    expect(operators(fused(built))).toContain("MAX_POOLING2");
  });
});

const traits = { seesTexels: true, roundsHalf: false };

/** The first region of a graph by the evaluator, which sees accesses outside of a buffer and unaligned ones. Inputs are random. */
function evaluated({ graph }: Built): void {
  const facts = factsOf(graph, new Map(), 8);
  const [first] = group(graph, facts);
  const { kernel, node } = launchOf([first!.region!], facts, traits, 0, "");
  const { uniforms } = kernel.program.compiled(traits);
  const { constants, groups } = node.shader!;
  const random = mulberry(1);
  const words = (bytes: number): Uint32Array => new Uint32Array(Float32Array.from({ length: bytes / 4 }, () => random() - 0.5).buffer);
  const buffers = Object.fromEntries([
    ...node.inputs.map((x, i) => [`x${i}`, words(x!.value.sizeInBytes)] as const),
    ...node.outputs.map((x, i) => [`y${i}`, words(x!.value.sizeInBytes)] as const),
  ]);
  const named = Object.fromEntries(uniforms.map((u, i) => [u.name, constants[i]!]));
  const { faults } = evaluateShader(kernel.program.source, { groups: groups[0] * groups[1], grid: groups[0], buffers, uniforms: named });
  expect(faults).toEqual([]);
}

describe("by the evaluator", () => {
  it.each([
    [5, 7, 3],
    [16, 16, 16],
    [33, 12, 20],
    [4, 5, 24],
  ])("a product of %i x %i x %i with its rows' sums", (m, n, k) => {
    const built = build();
    const y = productOf(built, m, n, k);
    const { g } = built;
    const sum = g.reduce(y, { function: "SUM", output: { sizes: [1, 1, m, 1], dtype: "float32" }, axes: [3] });
    built.graph.outputs = [g.elementWiseSubtract(y, g.expand(sum, [1, 1, m, n]))];
    evaluated(built);
  });

  it("windows with padding, and their gradient", () => {
    const pool = { windowSize: [3, 3], strides: [2, 2], startPadding: [1, 1], endPadding: [1, 1], dilations: [1, 1] };
    const forward = build();
    forward.graph.outputs = [forward.g.elementWiseTanh(forward.g.maxPooling2(forward.input(1, 2, 7, 7), { ...pool, output: { sizes: [1, 2, 4, 4] } }).output)]; // prettier-ignore
    evaluated(forward);
    const backward = build();
    backward.graph.outputs = [backward.g.elementWiseTanh(backward.g.maxPoolingGrad(backward.input(1, 2, 7, 7), backward.input(1, 2, 4, 4), pool))]; // prettier-ignore
    evaluated(backward);
  });
});
