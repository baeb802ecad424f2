/** Writes by index at the ends of regions: random ones, into caches that the function keeps and into arguments, compared with what the indices say. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { packedExpr, type Expr } from "../../../../src/graph/graph.ts";
import { planList } from "../../../../src/graph/plan/list.ts";
import { devices, eachDevice } from "../../../device.ts";
import { build, operators } from "../../build.ts";
import { count, fused, inside, mulberry, numbers, packedStrides } from "./programs.ts";

const SEEDS = Array.from({ length: Number(process.env.DXTENSOR_FUZZ ?? 16) }, (_, i) => i + 1);

/** x with updates at indices along an axis: the last of equal indices wins, those outside write nothing. */
function written(x: readonly number[], sizes: readonly number[], axis: number, index: (i: number) => number, updates: readonly number[], k: number): number[] {
  const [result, from, to] = [[...x], packedStrides(sizes.map((d, i) => (i === axis ? k : d))), packedStrides(sizes)];
  updates.forEach((value, i) => {
    const row = index(i);
    if (row < 0 || row >= sizes[axis]!) return;
    const at = from.reduce((n, stride, a) => n + (a === axis ? row : Math.floor(i / stride) % (a === axis ? k : sizes[a]!)) * to[a]!, 0);
    result[at] = value;
  });
  return result;
} // prettier-ignore

function expectNear(got: readonly number[], expected: readonly number[], tolerance: number, name: string): void {
  expect(got).toHaveLength(expected.length);
  const wrong = got.flatMap((v, i) => (Object.is(v, expected[i]) || Math.abs(v - expected[i]!) <= tolerance ? [] : [`${name} at ${i}: ${v} and ${expected[i]}`])); // prettier-ignore
  expect(wrong.slice(0, 3)).toEqual([]);
}

for (const device of devices)
  describe(`writes by index in regions on ${device}`, () => {
    it.each(SEEDS)("seed %i", (seed) => {
      const plan = mulberry(seed + 140);
      const pick = <T>(list: readonly T[]): T => list[Math.floor(plan() * list.length)]!;
      const axis = pick([0, 0, 1, 2]);
      const k = pick([1, 1, 2, 3, 7]);
      const sizes = [pick([1, 3]), pick([2, 5]), pick([1, 3, 4, 64, 512])].map((d, i) => (i === axis ? 4 * k + pick([0, 1, 9]) : d));
      const dtype = pick(["float32", "float32", "float16", "int32"] as const);
      const indexDtype = pick(["int32", "int64"] as const);
      const [isShared, isOwn, isComputed, isReduced, hasNaN] = [plan() < 0.6, plan() < 0.7, plan() < 0.4, plan() < 0.4, plan() < 0.3];
      const out = sizes.map((d, i) => (i === axis ? k : d));
      const data = mulberry(seed + 180);
      const values = (n: number): number[] => Array.from({ length: n }, () => (dtype === "int32" ? Math.floor(data() * 99) - 50 : hasNaN && data() < 0.05 ? NaN : Math.round(data() * 64) / 16 - 2)); // prettier-ignore
      let expected = values(count(sizes));
      const cache = dx.tensor(expected, { dtype, device: dx.device(device) }).reshape(sizes);
      const run = (x: dx.Tensor, index: dx.Tensor, into: dx.Tensor): dx.Tensor[] => {
        const target = isOwn ? cache : into;
        const before = dx.mul(target, 3);
        const moved = isComputed ? dx.sub(dx.add(index, 5), 5) : index;
        const update = isReduced && dtype !== "int32" ? dx.sub(x, dx.amax(x, [2], { keepDims: true })) : dx.add(x, x);
        const next = isShared ? dx.indexCopy(target, axis, moved, update) : dx.scatter(target, axis, moved, update);
        if (!isOwn) return [before, dx.mul(next, 2)];
        cache.copy_(next);
        return [before, dx.mul(cache, 2)];
      };
      const compiled = dx.compile(run, { fuse: "always" });
      for (let call = 0; call < 3; call++) {
        const x = values(count(out));
        const at = Array.from({ length: isShared ? k : count(out) }, () => Math.floor(data() * sizes[axis]!));
        const other = values(count(sizes));
        const tensorOf = (list: readonly number[], shape: readonly number[]): dx.Tensor => dx.tensor([...list], { dtype, device: dx.device(device) }).reshape([...shape]); // prettier-ignore
        const index = dx.tensor(at, { dtype: "int32", device: dx.device(device) }).to(indexDtype).reshape(isShared ? [k] : out); // prettier-ignore
        const [before, after] = compiled(tensorOf(x, out), index, tensorOf(other, sizes)).map(numbers) as [number[], number[]];
        const from = isOwn ? expected : other;
        const [width, lead] = [out[2]!, packedStrides(out)[axis]!];
        const largest = (i: number): number => x.slice(i - (i % width), i - (i % width) + width).reduce((a, b) => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.max(a, b))); // prettier-ignore
        const update = x.map((v, i) => (isReduced && dtype !== "int32" ? v - largest(i) : 2 * v));
        const next = written(from, sizes, axis, (i) => at[isShared ? Math.floor(i / lead) % k : i]!, update, k);
        expectNear(before, from.map((v) => 3 * v), 0, "before"); // prettier-ignore
        expectNear(after, next.map((v) => 2 * v), 0, "after"); // prettier-ignore
        if (isOwn) expectNear(numbers(cache), (expected = next), 0, "the cache");
      }
      const regions = compiled.explain().fused;
      expect(inside(compiled).some((name) => name.startsWith("SCATTER"))).toBe(true);
      // Nothing else of a region reads what it writes.
      for (const { nodes } of regions) expect(nodes.filter((n) => n.operator === "SCATTER").length).toBeLessThan(nodes.length);
      compiled.dispose();
    });
  });

eachDevice("writes by index in regions", (name) => {
  const device = dx.device(name);

  it("write rotated keys and values into caches by the launch that rotates, in place", () => {
    const [rows, width, length] = [2, 8, 16];
    const caches = [dx.zeros([rows * length, width], { device }), dx.zeros([rows * length, width], { device })];
    const run = (k: dx.Tensor, v: dx.Tensor, angle: dx.Tensor, position: dx.Tensor): dx.Tensor[] => {
      const at = dx.add(dx.arange(rows, { dtype: "int32", device }).mul(length), position);
      const [a, b] = [k.narrow(1, 0, width / 2), k.narrow(1, width / 2, width / 2)];
      const rotated = dx.cat([a.mul(dx.cos(angle)).sub(b.mul(dx.sin(angle))), b.mul(dx.cos(angle)).add(a.mul(dx.sin(angle)))], 1);
      caches[0]!.indexCopy_(0, at, rotated);
      caches[1]!.indexCopy_(0, at, v);
      return caches.map((cache) => dx.matmul(k, cache.t()));
    };
    const compiled = dx.compile(run, { fuse: "always" });
    const expected = [0, 1].map(() => new Array<number>(rows * length * width).fill(0));
    for (let position = 0; position < 5; position++) {
      const [k, v, angle] = [1, 2, 3].map((seed) => dx.randn([rows, seed === 3 ? width / 2 : width], { device, generator: new dx.Generator(10 * position + seed) })) as [dx.Tensor, dx.Tensor, dx.Tensor]; // prettier-ignore
      compiled(k, v, angle, dx.tensor([position], { dtype: "int32", device }));
      const [ks, vs, angles] = [k, v, angle].map(numbers) as [number[], number[], number[]];
      for (let r = 0; r < rows; r++)
        for (let c = 0; c < width; c++) {
          const [half, i] = [width / 2, c % (width / 2)];
          const [a, b, t] = [ks[r * width + i]!, ks[r * width + half + i]!, angles[r * half + i]!];
          const to = (r * length + position) * width + c;
          expected[0]![to] = c < half ? a * Math.cos(t) - b * Math.sin(t) : b * Math.cos(t) + a * Math.sin(t);
          expected[1]![to] = vs[r * width + c]!;
        }
      caches.forEach((cache, i) => expectNear(numbers(cache), expected[i]!, 1e-6, `cache ${i}`));
    }
    const { fused: regions, copies } = compiled.explain();
    expect(copies).toBe(0);
    const writing = regions.filter(({ nodes }) => nodes.some((n) => n.operator === "SCATTER"));
    expect(writing.map(({ nodes }) => nodes.filter((n) => n.operator === "SCATTER").length)).toEqual([2]);
    expect(writing[0]!.nodes.map((n) => n.operator)).toContain("JOIN");
    compiled.dispose();
  });
});

describe("writes by index", () => {
  it("of many, and of more than a quarter of a tensor, stay with DirectML's operator; few are part of a region that reads the tensor", () => {
    const { g, graph, input } = build();
    const index = (count: number): Expr => packedExpr(graph.addInput(4 * count), "uint32", [count]);
    const [x, many, few] = [input(16), index(33), index(4)];
    const write = (to: Expr, at: Expr, values: Expr): Expr => g.scatter(to, at, values, { axis: 0, output: { sizes: to.sizes } });
    graph.outputs = [write(input(128), many, g.elementWiseNegate(input(33)))];
    expect(operators(fused({ g, graph, input }))).toEqual(["ELEMENT_WISE_NEGATE", "SCATTER"]);
    const rows = g.gather(x, few, { output: { sizes: [4] }, axis: 0, indexDimensions: 1 });
    graph.nodes = graph.nodes.slice(-1);
    graph.outputs = [g.elementWiseExp(write(x, few, g.elementWiseNegate(rows)))];
    expect(operators(fused({ g, graph, input }))).toEqual(["SHADER"]);
  });

  it("into two mutable buffers, each of what the other one held, copy neither", () => {
    const { g, graph, input } = build();
    const [a, b, index] = [input(40, 2), input(40, 2), packedExpr(graph.addInput(8), "uint32", [1, 2])];
    const rows = (x: Expr): Expr => g.elementWiseNegate(g.gather(x, index, { output: { sizes: [2, 2] }, axis: 0, indexDimensions: 1 }));
    const at = g.expand(g.reinterpret(index, { sizes: [2, 1] }), [2, 2]);
    const write = (x: Expr, updates: Expr): Expr => g.scatter(x, at, updates, { axis: 0, output: { sizes: x.sizes } });
    const [ofA, ofB] = [rows(a), rows(b)];
    graph.state = [
      { buffer: a.value, value: write(a, ofB) },
      { buffer: b.value, value: write(b, ofA) },
    ];
    const plan = planList(fused({ g, graph, input }), "swap", false);
    expect(plan.steps.filter((step) => "copy" in step)).toEqual([]);
  });

  it("of what is multiplied with the buffer's old elements stay alone: the product would have to wait, and the write need a copy", () => {
    const { g, graph, input } = build();
    const [x, values, index] = [input(1, 1, 400, 200), input(1, 1, 2, 200), packedExpr(graph.addInput(8), "uint32", [1, 1, 2, 1])];
    const updates = g.elementWiseExp(values);
    const product = g.gemm(updates, x, { output: { sizes: [1, 1, 2, 400] }, transA: "NONE", transB: "TRANSPOSE", alpha: 1, beta: 0 });
    const at = g.expand(index, [1, 1, 2, 200]);
    graph.outputs = [product];
    graph.state = [{ buffer: x.value, value: g.scatter(x, at, updates, { axis: 2, output: { sizes: x.sizes } }) }];
    expect(operators(fused({ g, graph, input }))).toEqual(["ELEMENT_WISE_EXP", "GEMM", "SCATTER"]);
  });
});
