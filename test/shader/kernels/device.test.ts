/** The library's shaders on every device, against float64. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { addBroadcast, broadcastParams, mergedAxes } from "../../../src/shader/kernels/broadcast.ts";
import * as each from "../../../src/shader/kernels/elementwise.ts";
import { fitOf, gemm, PLAIN, TILES, type Tile } from "../../../src/shader/kernels/gemm.ts";
import * as rows from "../../../src/shader/kernels/rows.ts";
import { floatOfHalf, halfOfFloat } from "../../../src/shader/operations.ts";
import { embeddingBackward } from "../../../src/shader/kernels/scatter.ts";
import { eachDevice, numbers as read } from "../../device.ts";
import { runKernel } from "../device.ts";
import { expectClose, numbers } from "./support.ts";

const real = (shape: readonly number[], seed: number, scale = 2, dtype: "float32" | "float16" = "float32"): dx.Tensor =>
  dx.tensor(numbers(shape.reduce((a, b) => a * b, 1), seed, scale), { dtype: "float32" }).reshape([...shape]).to(dtype); // prettier-ignore
const values = (t: dx.Tensor): number[] => read(t.to("float32"));
const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);

function runGemm(tile: Tile, m: number, n: number, k: number): void {
  const [a, b] = [real([m, k], 1, 1), real([k, n], 2, 1)];
  const { c } = runKernel(gemm(tile, fitOf(tile, [m, n, k], PLAIN)), { inputs: { a, b }, outputs: { c: [m, n] } });
  const [x, y] = [values(a), values(b)];
  const entry = (row: number, column: number): number => sum(Array.from({ length: k }, (_, q) => x[row * k + q]! * y[q * n + column]!));
  expectClose(values(c!), Array.from({ length: m * n }, (_, i) => entry(Math.floor(i / n), i % n))); // prettier-ignore
}

eachDevice("the library's shaders", () => {
  it.each(["float32", "float16"] as const)("one result for each element of %s", (dtype) => {
    const e = dtype === "float32" ? "f32" : "f16";
    for (const size of [1000, 4096, 70001]) {
      const [a, b] = [real([size], 1, 4, dtype), real([size], 2, 4, dtype)];
      const [x, y] = [values(a), values(b)];
      const one = (kernel: typeof each.relu): number[] => values(runKernel(kernel(e), { inputs: { x: a }, outputs: { y: [size] } })["y"]!);
      expect(one(each.copy)).toEqual(x);
      expect(one(each.relu)).toEqual(x.map((v) => (v < 0 ? 0 : v)));
      const special = dx.tensor([NaN, -NaN, Infinity, -Infinity, 1e-7, -1e-7], { dtype });
      const kept = runKernel(each.relu(e), { inputs: { x: special }, outputs: { y: [6] } })["y"]!;
      expect(values(kept)).toEqual([NaN, NaN, Infinity, 0, values(special)[4]!, 0]);
      expectClose(one(each.gelu), values(dx.gelu(a.to("float32"))), e);
      const two = (kernel: typeof each.add): number[] => values(runKernel(kernel(e), { inputs: { a, b }, outputs: { y: [size] } })["y"]!);
      expectClose(two(each.add), x.map((v, i) => v + y[i]!), e); // prettier-ignore
      expectClose(two(each.swiglu), x.map((v, i) => (v / (1 + Math.exp(-v))) * y[i]!), e); // prettier-ignore
    }
  });

  it("casts", () => {
    const size = 5001;
    const x = real([size], 1, 100);
    const half = runKernel(each.cast("f32", "f16"), { inputs: { x }, outputs: { y: [size] } })["y"]!;
    // Not as DirectML's CAST, which cuts off on some devices.
    expect(values(half)).toEqual(values(x).map((v) => floatOfHalf(halfOfFloat(v))));
    expect(values(runKernel(each.cast("f16", "f32"), { inputs: { x: half }, outputs: { y: [size] } })["y"]!)).toEqual(values(half));
  });

  it("adds with broadcasting", () => {
    const [a, b] = [real([3, 50, 8], 1), real([50, 1], 2)];
    const merged = mergedAxes([3, 50, 8], [3, 50, 8], [50, 1])!;
    const { y } = runKernel(addBroadcast("f32", merged), { inputs: { a, b }, outputs: { y: [3, 50, 8] }, params: broadcastParams(merged) });
    expect(values(y!)).toEqual(values(a.add(b)));
  });

  it.each([7, 1024, 4097])("rows of %i", (columns) => {
    const shape = [5, columns];
    const x = real(shape, 3, 5);
    const params = { rows: 5, eps: 1e-5, ignored: 0xffffffff };
    const run = (kernel: typeof rows.softmax, inputs: { [name: string]: dx.Tensor }, output: string): number[] =>
      values(runKernel(kernel("f32", columns), { inputs, outputs: { [output]: shape }, params })[output]!);
    const flat = values(x);
    const byRow = (fn: (row: number[]) => number[]): number[] =>
      Array.from({ length: 5 }, (_, r) => fn(flat.slice(r * columns, (r + 1) * columns))).flat();
    const softmax = byRow((row) => {
      const exps = row.map((v) => Math.exp(v - Math.max(...row)));
      return exps.map((v) => v / sum(exps));
    });
    expectClose(run(rows.softmax, { x }, "y"), softmax);
    expectClose(run(rows.logSoftmax, { x }, "y"), softmax.map(Math.log)); // prettier-ignore
    const [weight, bias] = [real([columns], 4), real([columns], 5)];
    const [w, b] = [values(weight), values(bias)];
    const layer = byRow((row) => {
      const mean = sum(row) / columns;
      const scale = 1 / Math.sqrt(sum(row.map((v) => (v - mean) ** 2)) / columns + 1e-5);
      return row.map((v, i) => (v - mean) * scale * w[i]! + b[i]!);
    });
    expectClose(run(rows.layerNorm, { x, weight, bias }, "y"), layer);
    const rms = byRow((row) => {
      const scale = 1 / Math.sqrt(sum(row.map((v) => v * v)) / columns + 1e-5);
      return row.map((v, i) => v * scale * w[i]!);
    });
    expectClose(run(rows.rmsNorm, { x, weight }, "y"), rms);
    const target = dx.tensor([0, columns - 1, 3, -100, 5], { dtype: "int32" });
    const outputs = { logs: shape, loss: [5], counted: [5] };
    const { logs, loss } = runKernel(rows.crossEntropy("f32", columns), { inputs: { x, target }, outputs, params });
    expectClose(values(logs!), softmax.map(Math.log)); // prettier-ignore
    expectClose(values(loss!), [0, columns - 1, 3, -1, 5].map((t, r) => (t < 0 ? 0 : -Math.log(softmax[r * columns + t]!)))); // prettier-ignore
  });

  it("a GEMM by tiles, whole and not", () => {
    runGemm(TILES.smallInTwo, 128, 128, 32);
    runGemm(TILES.smallInTwo, 130, 67, 21);
  });

  // A driver that emulates a GPU on the CPU takes half a minute for each pipeline.
  it.skipIf(process.env.DXTENSOR_CPU_ADAPTERS === "1")(
    "a GEMM by each of the larger tiles (not where a CPU driver stands for a GPU)",
    () => {
      for (const tile of [TILES.large, TILES.wide, TILES.medium]) {
        runGemm(tile, 128, 128, 32);
        runGemm(tile, 130, 67, 21);
      }
    },
  );

  it("rows added by index, and a step of Adam", () => {
    const [dy, index] = [real([40, 5], 1).round(), dx.tensor(numbers(40, 2, 7).map(Math.trunc), { dtype: "int32" })];
    const { dweight } = runKernel(embeddingBackward(), { inputs: { dy, index }, outputs: { dweight: [6, 5] }, zeros: true });
    const expected = new Array<number>(30).fill(0);
    const [d, at] = [values(dy), read(index)];
    at.forEach((row, i) => {
      for (let c = 0; c < 5; c++) if (row >= 0 && row < 6) expected[row * 5 + c]! += d[i * 5 + c]!;
    });
    expect(values(dweight!)).toEqual(expected);
    const size = 3001;
    const [p, g, m, v] = [real([size], 1), real([size], 2), real([size], 3), real([size], 4).abs()] as const;
    const scalars = dx.tensor([1e-3, 0.9, 0.1, 1, 1 / 1.5 ** 2]);
    const params = { sign: 1, beta2: 0.99, rest2: 0.01, eps: 1e-8, decay: 0, shrinking: 0 };
    const outputs = { pNext: [size], mNext: [size], vNext: [size] };
    const made = runKernel(each.adam(), { inputs: { p, g, m, v, scalars }, outputs, params });
    const [ps, gs, ms, vs] = [p, g, m, v].map(values) as [number[], number[], number[], number[]];
    const first = ms.map((x, i) => 0.9 * x + 0.1 * gs[i]!);
    const second = vs.map((x, i) => 0.99 * x + 0.01 * gs[i]! ** 2);
    expectClose(values(made["mNext"]!), first);
    expectClose(values(made["vNext"]!), second);
    expectClose(values(made["pNext"]!), ps.map((x, i) => x - (1e-3 * first[i]!) / (Math.sqrt(second[i]!) * 1.5 + 1e-8))); // prettier-ignore
  });
});
