/** Winograd's convolution: its transforms in the evaluator against float64, with guards around every buffer, and as operations. */
import { describe, expect, it, vi } from "vitest";
import * as dx from "../../../src/index.ts";
import { Capabilities } from "../../../src/dml/capabilities.ts";
import { GraphBuilder } from "../../../src/graph/builder.generated.ts";
import { Graph, packedExpr, type Activation, type EpilogueOp, type Expr } from "../../../src/graph/graph.ts";
import { NVIDIA_OVER_VULKAN } from "../../../src/shader/measured.ts";
import { mergeCommonSubexpressions } from "../../../src/graph/passes/common-subexpressions.ts";
import { resultShape, type ConvolutionSizes } from "../../../src/shader/kernels/convolution-plan.ts";
import { NO_EPILOGUE, type EpilogueForm } from "../../../src/shader/kernels/epilogue.ts";
import { threadsOfTile } from "../../../src/shader/kernels/gemm.ts";
import { convolutionShader } from "../../../src/shader/kernels/select-convolution.ts";
import { winogradPlanes, winogradResult, type PlanesForm, type TilesNumbers } from "../../../src/shader/kernels/winograd.ts";
import { isForWinograd, isWinograd, tunedWinogradSplit, usualWinogradSplit, winogradPlan, winogradSplits, winogradVariants, type WinogradSplit } from "../../../src/shader/kernels/winograd-plan.ts"; // prettier-ignore
import { winogradWeightGradient, winogradWeights } from "../../../src/shader/kernels/winograd-weights.ts";
import { inForm } from "../../../src/shader/shader-forms.ts";
import { eachDevice } from "../../device.ts";
import { build } from "../../graph/build.ts";
import { isWhole, share } from "../../share.ts";
import { restoresShaders } from "../device.ts";
import { KINDS, outputOf, plain, reference, type Shape } from "./convolution-support.ts";
import { expectClose, launch, numbers, type LaunchBuffer } from "./support.ts";

/** What the launch of products has: a [count, terms, rows] where it is transposed, else [count, rows, terms], b the other way round. The GEMM has tests of its own. */
function multiplied(a: readonly number[], b: readonly number[], [count, rows, columns, terms]: readonly [number, number, number, number], isTransposed: boolean): number[] {
  const c = new Float32Array(count * rows * columns);
  for (let n = 0; n < count; n++)
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        let sum = 0;
        for (let k = 0; k < terms; k++)
          sum += a[n * rows * terms + (isTransposed ? k * rows + i : i * terms + k)]! * b[n * terms * columns + (isTransposed ? k * columns + j : j * terms + k)]!;
        c[(n * rows + i) * columns + j] = sum;
      }
  return [...c];
} // prettier-ignore

const flat = (values: readonly number[]): LaunchBuffer => ({ shape: [values.length], values });

/** By the transforms of a split. */
function run(c: ConvolutionSizes, a: readonly number[], b: readonly number[], split: WinogradSplit, epilogue: EpilogueForm = NO_EPILOGUE, more: Readonly<Record<string, readonly number[]>> = {}): number[] {
  const { product, source, gradient, result, hasLanes } = winogradPlan(c, split);
  const { size } = split;
  const { planes: matrices, rows, columns, terms } = product;
  const sizes = [matrices * product.split, rows, columns, terms] as const;
  const planes = (values: readonly number[], { form, params }: { form: PlanesForm; params: TilesNumbers }): number[] =>
    launch(winogradPlanes(form), { x: flat(values), u: { shape: [matrices * params.total * form.width] } }, params).u!;
  const ends = Object.fromEntries(Object.entries(more).map(([name, values]) => [name, flat(values)]));
  const end = { element: c.element, isSplit: product.split > 1, ...epilogue };
  const y = { shape: resultShape(c) };
  if (gradient !== null) {
    const m = flat(multiplied(planes(b, gradient), planes(a, source), sizes, false));
    return launch(winogradWeightGradient({ ...end, size, hasLanes }), { m, ...ends, y }, { kernels: rows * columns, splits: product.split }).y!;
  }
  const weights = winogradWeights({ size, element: c.element, isRotated: c.kind === "inputGradient" });
  const v = launch(weights, { w: flat(b), v: { shape: [matrices * rows * terms * product.split] } }, { filters: c.filters, channels: c.channels }).v!;
  const m = flat(multiplied(v, planes(a, source), sizes, true));
  return launch(winogradResult({ ...end, ...result!.form }), { m, ...ends, y }, { ...result!.params, splits: product.split }).y!;
} // prettier-ignore

const three: Shape = { ...plain, images: 2, channels: 3, filters: 5, input: [5, 6], kernel: [3, 3], padding: [1, 1] };
const small: WinogradSplit = { size: 2, tile: "smallInTwo", split: 1, width: 1 };
const four: WinogradSplit = { ...small, width: 4 };
const large: WinogradSplit = { ...small, size: 4 };
const sized = (kind: ConvolutionSizes["kind"], shape: Shape): ConvolutionSizes => ({ kind, ...shape, output: outputOf(shape) });

const SHAPES: readonly (readonly [name: string, shape: Shape, split: WinogradSplit])[] = [
  ["odd height", three, small],
  ["odd width, no padding", { ...three, input: [6, 7], padding: [0, 0] }, four],
  ["padded by 2 and 0", { ...three, channels: 4, filters: 6, padding: [2, 0] }, { ...four, split: 2 }],
  ["padded by 3", { ...three, channels: 4, filters: 6, padding: [3, 3] }, { ...small, split: 2 }],
  ["one pixel of five images", { ...three, images: 5, input: [3, 3], padding: [0, 0] }, four],
  ["four tiles in a row", { ...three, channels: 2, filters: 2, input: [3, 8] }, four],
  ["eight tiles in a row, no padding", { ...three, channels: 2, filters: 4, images: 1, input: [4, 18], padding: [0, 0] }, four],
  ["eight tiles in a row, padded by 2", { ...three, channels: 2, filters: 1, images: 1, input: [3, 14], padding: [1, 2] }, four],
  ["40 channels", { ...three, channels: 40, filters: 36, images: 1, input: [2, 3] }, { size: 2, tile: "medium", split: 2, width: 1 }],
  ["one channel", { ...three, channels: 1, filters: 1, images: 3, input: [2, 2] }, small],
  ["halves", { ...three, element: "f16" }, small],
  ["tiles of 4 x 4, odd", { ...three, input: [7, 9] }, large],
  ["tiles of 4 x 4 that fit", { ...three, channels: 4, filters: 4, input: [8, 8] }, { ...large, split: 2 }],
  ["four tiles of 4 x 4 in two rows", { ...three, channels: 2, filters: 2, input: [8, 8] }, { ...large, width: 4 }],
  ["four tiles of 4 x 4 in a row", { ...three, channels: 2, filters: 2, images: 1, input: [5, 16] }, { ...large, width: 4 }],
  ["halves in rows", { ...three, element: "f16", filters: 2, input: [4, 8] }, four],
]; // prettier-ignore

describe.each(KINDS.map((kind, first) => ({ kind, first })))("$kind", ({ kind, first }) => {
  it.each(share(SHAPES, 3, first))("%s", (_, shape, split) => {
    const c = sized(kind, shape);
    const { a, b, y } = reference(c, 7);
    expectClose(run(c, a, b, split), y, c.element, 360);
  });
});

it("adds parts of weight gradients by a thread for each matrix and by one for all", () => {
  const c = sized("weightGradient", { ...three, images: 5, input: [8, 9] });
  const { a, b, y } = reference(c, 7);
  const plans = [1, 2, 5].map((split) => winogradPlan(c, { ...small, split }).product.split);
  expect(plans).toEqual([1, 2, 4]);
  for (const split of [1, 2, 5]) expectClose(run(c, a, b, { ...small, split }), y, "f32", 360);
  expectClose(run(c, a, b, { ...large, split: 2 }), y, "f32", 2000);
});

describe("ends", () => {
  const relu: Activation = { operator: "ACTIVATION_RELU", attributes: {} };
  it.each([
    ["one tile", three, small],
    ["four tiles", three, four],
    ["four in a row, in parts", { ...three, channels: 4, filters: 4, input: [3, 8] }, { ...four, split: 2 }],
  ] as const)("%s", (_, shape, split) => {
    for (const kind of ["forward", "inputGradient"] as const) {
      const c = sized(kind, shape);
      const { a, b, y } = reference(c, 9);
      const [, channels, ...plane] = resultShape(c);
      const [bias, mean, variance, gain, shift] = [1, 2, 3, 4, 5].map((seed) => numbers(channels, seed, 1)) as [number[], number[], number[], number[], number[]]; // prettier-ignore
      const spread = variance.map((v) => v * v + 0.5);
      const addend = numbers(y.length, 5, 1);
      const expected = y.map((v, i) => {
        const k = Math.floor(i / (plane[0] * plane[1])) % channels;
        return Math.max(0, ((v + bias[k]! - mean[k]!) / Math.sqrt(spread[k]! + 1e-3)) * gain[k]! + shift[k]! + addend[i]!);
      });
      const ends = { hasBias: true, epsilon: 1e-3, hasAddend: true, activation: relu, reluGradient: null };
      expectClose(run(c, a, b, split, ends, { bias, mean, variance: spread, gain, shift, addend }), expected, "f32", 360);
      const mask = numbers(y.length, 6, 1);
      const zeroed = y.map((v, i) => (mask[i]! > 0 ? v : 0));
      expectClose(run(c, a, b, split, { ...NO_EPILOGUE, reluGradient: "where above 0" }, { mask }), zeroed, "f32", 360);
    }
  });

  it("a weight gradient that is added to one before", () => {
    const c = sized("weightGradient", three);
    const { a, b, y } = reference(c, 9);
    const addend = numbers(y.length, 5, 1);
    expectClose(run(c, a, b, small, { ...NO_EPILOGUE, hasAddend: true }, { addend }), y.map((v, i) => v + addend[i]!), "f32", 360); // prettier-ignore
  });
});

it("NaN reaches the windows that have it, infinity as well or as NaN, and no others", () => {
  const c = sized("forward", { ...three, images: 1, input: [8, 8] });
  for (const split of [small, four])
    for (const [at, special] of [[0, NaN], [9, NaN], [27, Infinity], [36, -Infinity], [63, NaN]] as const) {
      const { a, b } = reference(c, 11);
      a[at] = special;
      const got = run(c, a, b, split);
      const [row, column] = [Math.floor(at / 8), at % 8];
      const wrong = got.flatMap((v, i) => {
        const [y, x] = [Math.floor((i % 64) / 8), i % 8];
        const reached = Math.abs(y - row) <= 1 && Math.abs(x - column) <= 1;
        const isRight = reached ? (Number.isNaN(special) ? Number.isNaN(v) : !Number.isFinite(v)) : Number.isFinite(v);
        return isRight ? [] : [`${special} at ${at}, ${i}: ${v}`];
      });
      expect(wrong).toEqual([]);
    }
}); // prettier-ignore

describe("the plan", () => {
  const of = (kind: ConvolutionSizes["kind"], channels: number, plane: number, images = 16): ConvolutionSizes =>
    sized(kind, { ...plain, images, channels, filters: channels, input: [plane, plane], kernel: [3, 3], padding: [1, 1] });

  it("is for kernels of 3 x 3 by steps of 1, in NCHW, without groups", () => {
    const is = (more: Partial<ConvolutionSizes>): boolean => isWinograd({ ...of("forward", 64, 8), ...more });
    expect([is({}), is({ kernel: [3, 1] }), is({ stride: [1, 2] }), is({ dilation: [2, 1] }), is({ groups: 2 })]).toEqual([true, false, false, false, false]); // prettier-ignore
    expect([is({ layouts: { x: "NHWC", dy: "NCHW" } }), is({ images: 0 }), is({ output: [0, 8] })]).toEqual([false, false, false]);
    expect([isForWinograd(of("forward", 31, 32)), isForWinograd(of("forward", 32, 32)), isForWinograd(of("forward", 32, 2))]).toEqual([false, true, false]); // prettier-ignore
    // 16 matrices of 512 channels by 32,768 tiles.
    expect([isWinograd(of("forward", 512, 64, 32)), isWinograd(of("forward", 512, 64, 8))]).toEqual([false, true]);
  });

  it("keeps a large device busy, in buffers of at most 2^29 bytes", () => {
    for (const kind of KINDS)
      for (const [channels, plane] of [[64, 32], [128, 16], [256, 8], [512, 4], [64, 56], [128, 28], [256, 14], [512, 7], [32, 224]] as const) {
        const c = of(kind, channels, plane);
        const usual = usualWinogradSplit(c)!;
        expect(winogradSplits(c)).toContainEqual(usual);
        const { product } = winogradPlan(c, usual);
        const groups = product.planes * product.split * Math.ceil(product.rows / product.tile.bm) * Math.ceil(product.columns / product.tile.bn);
        expect(groups * threadsOfTile(product.tile)).toBeGreaterThanOrEqual(200 * 128);
        for (const split of winogradVariants(c).values()) {
          const { product: p, source } = winogradPlan(c, split);
          expect(Math.max(source.params.total * source.form.width, p.split * p.rows * p.columns) * p.planes).toBeLessThanOrEqual(2 ** 27);
        }
      } // prettier-ignore
  });
});

it("tune offers tiles of 4 x 4, but not for weight gradients", () => {
  for (const kind of KINDS) {
    const c = sized(kind, { ...plain, images: 16, channels: 64, filters: 64, input: [16, 16], kernel: [3, 3], padding: [1, 1] });
    const { variants } = inForm({ isShader: true, variant: null }, () => tunedWinogradSplit(c));
    expect(variants.some((name) => name.startsWith("winograd of 4"))).toBe(kind !== "weightGradient");
    expect(variants.some((name) => name.startsWith("winograd medium"))).toBe(true);
    const { result } = inForm({ isShader: true, variant: "winograd of 4 medium / 1" }, () => tunedWinogradSplit(c));
    expect(result?.size ?? null).toBe(kind === "weightGradient" ? null : 4);
  }
});

describe("nodes", () => {
  const geometry = { groups: 1, input: [8, 8], kernel: [3, 3], output: [8, 8], stride: [1, 1], dilation: [1, 1], padding: [1, 1] };
  const of = { forward: ["x", "w"], inputGradient: ["dy", "w"], weightGradient: ["x", "dy"] } as const;
  const shapes = { x: [16, 48, 8, 8], dy: [16, 32, 8, 8], w: [32, 48, 3, 3] };

  it("are four launches, the last of which takes what follows, and gradients keep no transform of the forward pass", () => {
    const { graph, g, input } = build();
    const tensors = { x: input(...shapes.x), dy: input(...shapes.dy), w: input(...shapes.w) };
    vi.stubEnv("DXTENSOR_SHADERS", "on");
    const made = KINDS.map((kind) => convolutionShader(g, kind, tensors[of[kind][0]], tensors[of[kind][1]], null, { ...geometry })!);
    vi.unstubAllEnvs();
    expect(graph.nodes.map(({ operator }) => operator)).toEqual(new Array(12).fill("SHADER"));
    const last = made.map((y) => y.value.producer!);
    // Of the data gradient's channels.
    const [mean, variance, gain, shift] = Array.from({ length: 4 }, () => input(1, 48, 1, 1)) as [Expr, Expr, Expr, Expr];
    const norm: EpilogueOp = { kind: "norm", epsilon: 1e-5, mean, variance, gain, shift };
    const taken = last.map((node, i) => [{ kind: "add" as const, addend: input(...made[i]!.sizes) }, norm].filter((op) => (node.withEpilogue?.(op) ?? null) !== null).map(({ kind }) => kind)); // prettier-ignore
    expect(taken).toEqual([["add"], ["add", "norm"], ["add"]]);
    graph.outputs = made;
    expect(mergeCommonSubexpressions(graph).nodes.length).toBe(12);
  });

  it("are others where a buffer would be too large", () => {
    const { graph, g, input } = build();
    vi.stubEnv("DXTENSOR_SHADERS", "on");
    const large = { ...geometry, input: [64, 64], output: [64, 64] };
    convolutionShader(g, "forward", input(32, 512, 64, 64), input(32, 512, 3, 3), null, large);
    vi.unstubAllEnvs();
    expect(graph.nodes.length).toBe(1);
  });
});

it("are chosen on NVIDIA's GPUs over Vulkan from 64 channels and 2^28 products on, 2^29 in float16, by compiled functions", () => {
  const options = { name: "test", featureLevel: 0x6000, dataTypes: 0xffff, fusesGraphs: false, waveLanes: 0, runsShaders: true } as const;
  const graph = new Graph();
  const g = new GraphBuilder(graph, new Capabilities({ ...options, fasterShaders: () => NVIDIA_OVER_VULKAN }));
  const geometry = { groups: 1, kernel: [3, 3], stride: [1, 1], dilation: [1, 1], padding: [1, 1] };
  const launches = (images: number, channels: number, size: number, dtype: "float32" | "float16" = "float32"): number[] => {
    const input = (...sizes: number[]): Expr => packedExpr(graph.addInput(4 * sizes.reduce((a, b) => a * b, 1)), dtype, sizes);
    const [x, w, dy] = [input(images, channels, size, size), input(channels, channels, 3, 3), input(images, channels, size, size)];
    return ([["forward", x, w], ["inputGradient", dy, w], ["weightGradient", x, dy]] as const).map(([kind, a, b]) => {
      const before = graph.nodes.length;
      convolutionShader(g, kind, a, b, null, { ...geometry, input: [size, size], output: [size, size] });
      return graph.nodes.length - before;
    });
  };
  expect(launches(16, 64, 32)).toEqual([4, 4, 4]);
  expect(launches(16, 512, 4)).toEqual([4, 4, 4]);
  expect(launches(16, 64, 32, "float16")).toEqual([4, 4, 4]);
  expect(Math.max(...launches(8, 64, 32, "float16"))).toBeLessThan(3);
  // Too few channels, or products.
  expect(Math.max(...launches(64, 32, 64))).toBeLessThan(3);
  expect(Math.max(...launches(4, 64, 32))).toBeLessThan(3);
}); // prettier-ignore

/** A driver for CPUs compiles these shaders for minutes. */
const SLOW = { timeout: 600_000 };

eachDevice("operations", (name) => {
  const device = dx.device(name);
  restoresShaders(device);

  const SIZES = [
    [[2, 3, 5, 7], 4, 1],
    [[3, 40, 4, 8], 36, 1],
    [[1, 8, 6, 6], 8, 0],
  ] as const;
  // A CPU that stands for a GPU compiles each of the shaders for seconds.
  const isFast = name === "cpu" || isWhole;

  it.each(isFast ? SIZES : SIZES.slice(1, 2))("a convolution of %j by %i filters, padded by %i, with gradients", SLOW, (shape, filters, padding) => {
    const of = (sizes: readonly number[], seed: number): dx.Tensor =>
      dx.tensor(numbers(sizes.reduce((a, b) => a * b, 1), seed, 1), { shape: [...sizes], device }).requiresGrad_(); // prettier-ignore
    const leaves = [of(shape, 1), of([filters, shape[1], 3, 3], 2), of([filters], 3)] as const;
    const fn = (x: dx.Tensor, w: dx.Tensor, bias: dx.Tensor): dx.Tensor[] => {
      const y = dx.relu(dx.conv2d(x, w, bias, { padding }));
      return [y, ...dx.grad(y.mul(y).mul(0.05).sum(), [x, w, bias])] as dx.Tensor[];
    };
    const read = (list: readonly dx.Tensor[]): number[][] => list.map((t) => [...(t.dataSync() as Float32Array)]);
    process.env.DXTENSOR_SHADERS = "off";
    const wanted = read(dx.compile(fn)(...leaves));
    process.env.DXTENSOR_SHADERS = "only-measured";
    const variants = isWhole || shape[1] === 40 ? ["winograd medium / 1", "winograd of 4 medium / 1"] : ["winograd smallInTwo / 1"];
    for (const variant of isFast ? variants : variants.slice(0, 1)) {
      dx.closeDevice(device);
      const own = leaves.map((t, i) => of(t.shape, i + 1)) as unknown as [dx.Tensor, dx.Tensor, dx.Tensor];
      const step = dx.compile(fn, { fuse: "always" });
      const calls = inForm({ isShader: true, variant }, () => [1, 2, 3].map(() => read(step(...own)))).result;
      expect(String(step.explain())).toContain("winograd");
      expect(String(calls[1])).toBe(String(calls[0]));
      expect(String(calls[2])).toBe(String(calls[0]));
      calls[0]!.forEach((list, i) => expectClose(list, wanted[i]!, "f32", 4000));
    }
  });
}); // prettier-ignore
