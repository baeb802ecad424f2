/** Gathers in regions: random ones, with indices outside, compared with what the addresses say. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { selectRows, takeElements } from "../../../../src/ops/index/gather.ts";
import { factsOf, group } from "../../../../src/graph/passes/fuse/clusters.ts";
import { launchOf } from "../../../../src/graph/passes/fuse/launch.ts";
import { packedExpr, type Expr } from "../../../../src/graph/graph.ts";
import { evaluateShader } from "../../../../src/shader/evaluate.ts";
import { devices, eachDevice } from "../../../device.ts";
import { build, operators } from "../../build.ts";
import { count, fused, inside, mulberry, numbers, packedStrides } from "./programs.ts";
import { expectNear } from "./expect-near.ts";

const SEEDS = Array.from({ length: Number(process.env.DXTENSOR_FUZZ ?? 16) }, (_, i) => i + 1);

/** An element along an axis of a packed tensor, as DirectML reads it: from the end below 0, outside the one at that address, or 0 outside of all. */
function gathered(x: readonly number[], sizes: readonly number[], axis: number, at: readonly number[], index: number): number {
  const strides = packedStrides(sizes);
  const own = index < 0 ? index + sizes[axis]! : index;
  const address = at.reduce((n, c, i) => n + (i === axis ? own : c) * strides[i]!, 0);
  return x[address] ?? 0;
}

/** Of mean 0 and variance 1. */
function normalized(row: readonly number[]): number[] {
  const mean = row.reduce((a, b) => a + b) / row.length;
  const variance = row.reduce((sum, v) => sum + (v - mean) ** 2, 0) / row.length;
  return row.map((v) => (v - mean) / Math.sqrt(variance + 0.1));
}

const coordinates = (i: number, sizes: readonly number[]): number[] =>
  packedStrides(sizes).map((stride, a) => Math.floor(i / stride) % sizes[a]!);

for (const device of devices)
  describe(`gathers in regions on ${device}`, () => {
    it.each(SEEDS)("seed %i", (seed) => {
      const plan = mulberry(seed + 40);
      const pick = <T>(list: readonly T[]): T => list[Math.floor(plan() * list.length)]!;
      const sizes = [pick([1, 3, 7]), pick([2, 5, 9]), pick([1, 4, 6, 64])];
      const [axis, picks, isRows] = [pick([0, 1, 2]), pick([1, 3, 8, 40]), plan() < 0.5];
      const dtype = pick(["float32", "float32", "float16", "int32", "bool"] as const);
      const indexDtype = pick(["int32", "int64", "uint32", "uint64"] as const);
      const [isView, isComputed, isStrided, norm] = [plan() < 0.4, plan() < 0.4, plan() < 0.3, plan() < 0.4];
      const out = sizes.map((d, i) => (i === axis ? picks : d));
      const indexSizes = isRows ? [picks] : out;
      const data = mulberry(seed + 80);
      const usesFloats = dtype === "float32" || dtype === "float16";
      const value = (): number =>
        dtype === "bool" ? Number(data() < 0.5) : dtype === "int32" ? Math.floor(data() * 99) - 50 : Math.round(data() * 64) / 16 - 2;
      const far = [
        2 ** 31 - 1,
        -(2 ** 31),
        2 ** 30 + 1,
        1e6,
        -1e6,
        ...(indexDtype.endsWith("64") ? [2 ** 32, 1 - 2 ** 32, 2 ** 40 + 1] : []),
      ];
      const isUnsigned = indexDtype === "uint32" || indexDtype === "uint64";
      const anIndex = (): number => {
        const n = sizes[axis]!;
        const i =
          data() < 0.1 ? far[Math.floor(data() * far.length)]! : data() < 0.2 ? Math.floor(data() * 6 * n) - 3 * n : Math.floor(data() * n);
        return isUnsigned ? Math.abs(i) : i;
      };
      const run = (x: dx.Tensor, index: dx.Tensor, row: dx.Tensor): dx.Tensor[] => {
        const from = isComputed && usesFloats ? dx.mul(x, 2) : x;
        const own = isComputed && indexDtype === "int32" ? dx.mul(index, 1) : index;
        const y = isRows ? selectRows(from, axis, own) : takeElements(from, axis, own);
        const z = y.to("float32").mul(0.5).add(row);
        return [y, z, norm ? dx.layerNorm(z, [out[2]!], null, null, { eps: 0.1 }) : dx.amax(z, [2])];
      };
      const compiled = dx.compile(run, { fuse: "always" });
      for (let call = 0; call < 3; call++) {
        const [values, at, row] = [Array.from({ length: count(sizes) }, value), Array.from({ length: count(indexSizes) }, anIndex), Array.from({ length: out[2]! }, () => Math.round(data() * 32) / 8)]; // prettier-ignore
        const flat = dx.tensor(isView ? [...values.slice(0, 1), ...values] : values, { dtype, device: dx.device(device) });
        const x = isView ? flat.slice(0, 1).reshape(sizes) : flat.reshape(sizes);
        const list = isStrided ? at.flatMap((i) => [i, 0]) : at;
        const indices = dx.tensor(list.map((i) => (indexDtype.endsWith("64") ? BigInt(i) : i)) as number[], { dtype: indexDtype, device: dx.device(device) }); // prettier-ignore
        const index = isStrided ? dx.select(indices.reshape([...indexSizes, 2]), -1, 0) : indices.reshape(indexSizes);
        const from = isComputed && usesFloats ? values.map((v) => 2 * v) : values;
        const expected = Array.from({ length: count(out) }, (_, i) => {
          const c = coordinates(i, out);
          return gathered(from, sizes, axis, c, isRows ? at[c[axis]!]! : at[i]!);
        });
        const third = dx.tensor(row, { device: dx.device(device) });
        const z = expected.map((v, i) => v * 0.5 + row[i % out[2]!]!);
        const rows = Array.from({ length: z.length / out[2]! }, (_, i) => z.slice(i * out[2]!, (i + 1) * out[2]!));
        const [all, following, reduced] = compiled(x, index, third).map(numbers) as [number[], number[], number[]];
        expect(all).toEqual(expected);
        expectNear(following, z, 1e-6, "what follows");
        // DirectML over Vulkan gives NaN for the norm of rows of one element.
        if (!norm)
          expectNear(reduced, rows.map((r) => Math.max(...r)), 1e-6, "rows"); // prettier-ignore
        else if (out[2]! > 1) expectNear(reduced, rows.flatMap(normalized), 3e-5, "rows");
      }
      expect(inside(compiled).filter((name) => name.startsWith("GATHER")).length).toBeGreaterThan(0);
      compiled.dispose();
    });
  });

eachDevice("gathers in regions", (name) => {
  const device = dx.device(name);

  it("make an embedding with positions, a cast and a layer norm one launch, forward", () => {
    const run = (ids: dx.Tensor, table: dx.Tensor, positions: dx.Tensor, gain: dx.Tensor, shift: dx.Tensor): dx.Tensor =>
      dx.layerNorm(dx.embedding(ids, table).mul(4).add(positions), [16], gain, shift);
    const random = (seed: number, ...shape: number[]): dx.Tensor => dx.randn(shape, { device, generator: new dx.Generator(seed) });
    for (const dtype of ["int32", "int64"] as const) {
      const compiled = (["always", "off"] as const).map((fuse) => dx.compile(run, { fuse }));
      const ids = dx.tensor([[1, 5, 0, 5], [9, 2, 2, 1]], { dtype: "int32", device }).to(dtype); // prettier-ignore
      const inputs = [ids, random(1, 10, 16), random(2, 4, 16), random(3, 16), random(4, 16)] as const;
      const [by, plain] = compiled.map((f) => numbers(f(...inputs))) as [number[], number[]];
      expectNear(by, plain, 3e-5, dtype);
      expect(compiled[0]!.explain().dispatches).toBe(1);
      expect(compiled[1]!.explain().fused).toEqual([]);
      for (const f of compiled) f.dispose();
    }
  });

  it("choose the target's log-probability from memory, and sum it, in one launch", () => {
    const run = (logs: dx.Tensor, target: dx.Tensor): dx.Tensor => dx.nllLoss(logs, target);
    const compiled = dx.compile(run, { fuse: "always" });
    const logs = dx.tensor([[-1, -2, -Infinity], [-3, -0.5, -4], [-7, -8, -9]], { device }); // prettier-ignore
    const target = dx.tensor([1, 1, 2], { dtype: "int32", device });
    expect(compiled(logs, target).itemSync()).toBeCloseTo((2 + 0.5 + 9) / 3, 6);
    expect(compiled.explain().dispatches).toBe(1);
    compiled.dispose();
  });
});

/** A region of one gather by tuples, by the evaluator. */
function tuples(
  sizes: readonly number[],
  indexSizes: readonly number[],
  batches: number,
  out: readonly number[],
  indices: readonly number[],
): number[] {
  const { g, graph, input } = build();
  const x = input(...sizes);
  const index: Expr = packedExpr(graph.addInput(4 * count(indexSizes)), "int32", indexSizes);
  const options = { output: { sizes: [...out] }, inputDimensionCount: sizes.length, indicesDimensionCount: indexSizes.length };
  const y = batches > 0 ? g.gatherNd1(x, index, { ...options, batchDimensionCount: batches }) : g.gatherNd(x, index, options);
  graph.outputs = [g.elementWiseAbs(y)];
  const facts = factsOf(graph, new Map(), 8);
  const [first] = group(graph, facts);
  const { kernel, node } = launchOf([first!.region!], facts, { seesTexels: false, roundsHalf: false }, 0, "");
  const { uniforms } = kernel.program.compiled({ seesTexels: false, roundsHalf: false });
  const { constants, groups } = node.shader!;
  const bytes = new Map([[x.value, new Uint32Array(Float32Array.from({ length: count(sizes) }, (_, i) => i + 1).buffer)], [index.value, new Uint32Array(Int32Array.from(indices).buffer)]]); // prettier-ignore
  const result = new Uint32Array(count(out));
  const buffers = { ...Object.fromEntries(node.inputs.map((e, i) => [`x${i}`, bytes.get(e!.value)!] as const)), y0: result };
  const named = Object.fromEntries(uniforms.map((u, i) => [u.name, constants[i]!]));
  const { faults } = evaluateShader(kernel.program.source, { groups: groups[0] * groups[1], grid: groups[0], buffers, uniforms: named });
  expect(faults).toEqual([]);
  return [...new Float32Array(result.buffer)];
}

describe("gathers by tuples", () => {
  it("of two indices, with those outside", () => {
    const y = tuples([3, 4], [5, 2], 0, [1, 5], [0, 0, 2, 3, -1, -4, 0, 13, 100_000_000, 100_000_000]);
    // The last ones are outside of the tensor.
    expect(y).toEqual([1, 12, 9, 0, 0]);
  });

  it("of whole parts in batches", () => {
    const y = tuples([2, 3, 4], [2, 2, 1], 1, [2, 2, 4], [2, 0, 1, -1]);
    expect(y).toEqual([9, 10, 11, 12, 1, 2, 3, 4, 17, 18, 19, 20, 21, 22, 23, 24]);
  });

  it("of four indices stay with DirectML", () => {
    const { g, graph, input } = build();
    const x = input(2, 2, 2, 2);
    const index = packedExpr(graph.addInput(16 * 3), "int32", [1, 1, 3, 4]);
    const y = g.gatherNd(x, index, { output: { sizes: [1, 1, 1, 3] }, inputDimensionCount: 4, indicesDimensionCount: 2 });
    graph.outputs = [g.elementWiseAbs(g.elementWiseExp(y))];
    expect(operators(fused({ g, graph, input }))).toEqual(["GATHER_ND", "SHADER"]);
  });
});
