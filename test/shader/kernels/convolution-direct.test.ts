/** The direct shaders of convolution: in the evaluator against float64, with guards around every buffer, and as operations. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { Capabilities } from "../../../src/dml/capabilities.ts";
import { GraphBuilder } from "../../../src/graph/builder.generated.ts";
import { Graph, packedExpr, type Expr } from "../../../src/graph/graph.ts";
import { NVIDIA_OVER_VULKAN } from "../../../src/shader/measured.ts";
import { unaryShader } from "../../../src/shader/kernels/select.ts";
import { convolutionShader } from "../../../src/shader/kernels/select-convolution.ts";
import { resultShape, type ConvolutionSizes } from "../../../src/shader/kernels/convolution-plan.ts";
import { directPlan, directSplits, isForDirect, usualSplit } from "../../../src/shader/kernels/convolution-direct-plan.ts";
import { NO_EPILOGUE } from "../../../src/shader/kernels/epilogue.ts";
import type { Layouts } from "../../../src/shader/kernels/convolution-tiles.ts";
import { inForm } from "../../../src/shader/shader-forms.ts";
import { eachDevice } from "../../device.ts";
import { isWhole, share } from "../../share.ts";
import { generator } from "../random.ts";
import { restoresShaders } from "../device.ts";
import { KINDS, outputOf, plain, reference, run, type Shape } from "./convolution-support.ts";
import { expectClose, numbers } from "./support.ts";

const LAST: Layouts = { x: "NHWC", dy: "NHWC" };

/** One of a list, or all in the suite of all cases. */
const some = <T>(list: readonly T[], index: number): readonly T[] => (isWhole ? list : [list[index % list.length]!]);

const SHAPES: readonly (readonly [name: string, shape: Shape])[] = [
  ["5 x 5, four at a time", { ...plain, images: 2, channels: 1, filters: 4, input: [7, 8], kernel: [5, 5] }],
  ["5 x 5, padded", { ...plain, images: 1, channels: 2, filters: 3, input: [4, 8], kernel: [5, 5], padding: [2, 2] }],
  ["3 x 3, odd channels", { ...plain, images: 3, channels: 3, filters: 5, input: [5, 6], kernel: [3, 3], padding: [1, 1] }],
  ["strides, dilations and padding that differ", { ...plain, images: 2, channels: 2, filters: 3, input: [11, 8], kernel: [2, 3], stride: [3, 2], dilation: [2, 1], padding: [0, 2] }],
  ["more padding than the kernel", { ...plain, images: 1, channels: 2, filters: 9, input: [3, 4], kernel: [2, 2], padding: [3, 2] }],
  ["one axis, 7 long, dilated", { ...plain, images: 2, channels: 2, filters: 2, input: [1, 20], kernel: [1, 7], dilation: [1, 2], padding: [0, 6] }],
  ["a column of pixels", { ...plain, images: 2, channels: 9, filters: 1, input: [9, 2], kernel: [3, 2], stride: [2, 1] }],
  ["four at a time with dilation", { ...plain, images: 1, channels: 1, filters: 2, input: [4, 16], kernel: [2, 3], dilation: [1, 3], padding: [1, 3] }],
]; // prettier-ignore

/** With a shape that the seed chooses. */
function randomShape(seed: number): Shape {
  const random = generator(seed);
  const pair = (from: number, to: number): [number, number] => [from + random(to - from + 1), from + random(to - from + 1)];
  const [kernel, dilation, padding] = [pair(1, 3), pair(1, 2), pair(0, 3)];
  const reach = [0, 1].map((i) => (kernel[i]! - 1) * dilation[i]! + 1);
  const input = pair(1, 9).map((n, i) => Math.max(n, reach[i]! - 2 * padding[i]!)) as [number, number];
  const layouts = random(3) === 0 ? LAST : plain.layouts;
  return { ...plain, layouts, element: random(3) === 0 ? "f16" : "f32", images: 1 + random(3), channels: 1 + random(6), filters: 1 + random(6), input, kernel, dilation, padding, stride: pair(1, 3) }; // prettier-ignore
}

describe.each(KINDS.map((kind, i) => [kind, i] as const))("%s", (kind, of) => {
  it.each(SHAPES.map(([name, shape], index) => [name, shape, index] as const))("%s", (_, shape, index) => {
    const c: ConvolutionSizes = { kind, ...shape, output: outputOf(shape) };
    const { a, b, y } = reference(c, 7);
    for (const split of some(directSplits(c), index)) expectClose(run(c, a, b, split), y, "f32", 64);
  });

  it.each(share([...Array(60).keys()], 20, 4 * of + 1))("random sizes %i", (seed) => {
    const shape = randomShape(seed);
    const c: ConvolutionSizes = { kind, ...shape, output: outputOf(shape) };
    const { a, b, y } = reference(c, seed);
    for (const split of some(directSplits(c), seed)) expectClose(run(c, a, b, split), y, shape.element, 64);
  });
});

describe("what follows the sums", () => {
  const shape: Shape = { ...plain, images: 2, channels: 3, filters: 5, input: [4, 5], kernel: [3, 3], padding: [1, 1] };
  const relu = { operator: "ACTIVATION_RELU", attributes: {} } as const;
  it.each(["forward", "inputGradient"] as const)("batch norm, a sum and an activation, %s", (kind) => {
    const c: ConvolutionSizes = { kind, ...shape, output: outputOf(shape) };
    const { a, b, y } = reference(c, 9);
    const [, channels, ...plane] = resultShape(c);
    const [mean, variance, gain, shift] = [1, 2, 3, 4].map((seed) => numbers(channels, seed, 1)) as [number[], number[], number[], number[]]; // prettier-ignore
    const spread = variance.map((v) => v * v + 0.5);
    const addend = numbers(y.length, 6, 1);
    const expected = y.map((v, i) => {
      const k = Math.floor(i / (plane[0] * plane[1])) % channels;
      return Math.max(0, ((v - mean[k]!) / Math.sqrt(spread[k]! + 1e-3)) * gain[k]! + shift[k]! + addend[i]!);
    });
    const epilogue = { hasBias: false, epsilon: 1e-3, hasAddend: true, activation: relu, reluGradient: null };
    for (const split of some(directSplits(c), kind === "forward" ? 1 : 0))
      expectClose(run(c, a, b, split, epilogue, [], { mean, variance: spread, gain, shift, addend }), expected, "f32", 128);
  });

  it("relu's gradient by a tensor", () => {
    const c: ConvolutionSizes = { kind: "inputGradient", ...shape, output: outputOf(shape) };
    const { a, b, y } = reference(c, 9);
    const mask = y.map((_, i) => [0, -0, NaN, Infinity, -Infinity, 1e-38, 3][i % 7]!);
    const expected = y.map((v, i) => (mask[i]! <= 0 ? 0 : v));
    expectClose(run(c, a, b, { block: 4, split: 2 }, { ...NO_EPILOGUE, reluGradient: "unless at most 0" }, [], { mask }), expected, "f32", 64);
  }); // prettier-ignore
});

it("NaN and infinity stay in the windows that have them", () => {
  const shape: Shape = { ...plain, images: 1, channels: 2, filters: 3, input: [6, 6], kernel: [3, 3], padding: [1, 1] };
  const c: ConvolutionSizes = { kind: "forward", ...shape, output: [6, 6] };
  const { a, b } = reference(c, 11);
  a[0] = NaN;
  a[35] = Infinity;
  const got = run(c, a, b, { block: 4, split: 1 });
  const wrong = got.filter((v, i) => {
    const [y, x] = [Math.floor((i % 36) / 6), i % 6];
    if (y < 2 && x < 2) return !Number.isNaN(v);
    return y > 3 && x > 3 ? Number.isFinite(v) || Number.isNaN(v) : !Number.isFinite(v);
  });
  expect(wrong).toEqual([]);
  // The weight gradient: a pixel that no window of the row of taps reaches changes nothing, whatever its neighbours in memory are.
  const inner: ConvolutionSizes = { ...plain, kind: "weightGradient", images: 1, channels: 1, filters: 2, input: [4, 8], kernel: [2, 2], stride: [2, 2], output: [1, 2] }; // prettier-ignore
  const finite = reference(inner, 3);
  const spoiled = finite.a.map((v, i) => (i >= 16 || i % 8 >= 4 ? NaN : v));
  expectClose(run(inner, spoiled, finite.b, { block: 2, split: 1 }), finite.y, "f32", 8);
});

describe("the choice", () => {
  const few = { ...plain, images: 64, channels: 1, filters: 8, input: [28, 28], kernel: [5, 5], output: [24, 24] } as const;
  it("takes few channels, few products and no strides between elements of dy", () => {
    const is = (c: Partial<ConvolutionSizes>): boolean => isForDirect({ kind: "forward", ...few, ...c });
    expect(KINDS.map((kind) => is({ kind }))).toEqual([true, true, true]);
    expect([is({ filters: 64 }), is({ images: 512 }), is({ groups: 2 }), is({ kernel: [1, 1] }), is({ kernel: [8, 8] })]).toEqual([false, false, false, false, false]); // prettier-ignore
    const byTwo = { stride: [2, 2], output: [12, 12] } as const;
    expect(KINDS.map((kind) => is({ kind, ...byTwo }))).toEqual([true, false, true]);
    // A row of one image is larger than shared memory.
    expect(is({ images: 1, channels: 16, input: [6, 200], output: [2, 196] })).toBe(false);
  });

  it("has enough groups for a large device, of at most 1,024 threads and 32 KB", () => {
    for (const kind of KINDS) {
      const c: ConvolutionSizes = { kind, ...few };
      for (const split of directSplits(c)) {
        const plan = directPlan(c, split);
        expect(plan.form.threads).toBeLessThanOrEqual(1024);
        if (plan.kind === "planes") expect(4 * (plan.form.sourceWords + plan.form.weightWords)).toBeLessThanOrEqual(32768);
      }
      expect(directSplits(c)).toContainEqual(usualSplit(c));
    }
  });
});

it("are chosen on NVIDIA's GPUs over Vulkan from 2^20 products on, by compiled functions", () => {
  const graph = new Graph();
  const options = { name: "test", featureLevel: 0x6000, dataTypes: 0xffff, fusesGraphs: false, waveLanes: 0, runsShaders: true } as const;
  const g = new GraphBuilder(graph, new Capabilities({ ...options, fasterShaders: () => NVIDIA_OVER_VULKAN }));
  const geometry = { groups: 1, input: [28, 28], kernel: [5, 5], output: [24, 24], stride: [1, 1], dilation: [1, 1], padding: [0, 0] };
  const groups = (images: number, dtype: "float32" | "float16"): (number | null)[] => {
    const input = (...sizes: number[]): Expr => packedExpr(graph.addInput(4 * sizes.reduce((a, b) => a * b, 1)), dtype, sizes);
    const [x, w, dy] = [input(images, 1, 28, 28), input(8, 1, 5, 5), input(images, 8, 24, 24)];
    return ([["forward", x, w], ["inputGradient", dy, w], ["weightGradient", x, dy]] as const).map(([kind, a, b]) => {
      const before = graph.nodes.length;
      return convolutionShader(g, kind, a, b, null, geometry) === null ? null : graph.nodes[before]!.shader!.groups[0];
    });
  };
  expect(groups(64, "float32")).toEqual([256, 256, 40]);
  expect(graph.nodes.map((node) => node.operator)).toEqual(["SHADER", "SHADER", "SHADER"]);
  // Parts of a weight gradient, which tune may take, are added by an operator: it may be part of a region.
  const before = graph.nodes.length;
  inForm({ isShader: true, variant: "direct 4 / 22" }, () => groups(64, "float32"));
  expect(graph.nodes.slice(before).map((node) => node.operator)).toEqual(["SHADER", "SHADER", "SHADER", "REDUCE"]);
  expect(groups(8, "float32")).toEqual([null, null, null]);
  expect(groups(64, "float16")).toEqual([256, 256, 40]);
  // A relu stays behind the launch that it can be the epilogue of.
  const y = convolutionShader(g, "forward", ...([[64, 1, 28, 28], [8, 1, 5, 5]].map((sizes) => packedExpr(graph.addInput(4 * sizes.reduce((a, b) => a * b, 1)), "float32", sizes)) as [Expr, Expr]), null, geometry)!;
  expect(unaryShader(g, "relu", y)).toBeNull();
  expect(y.value.producer!.withActivation!({ operator: "ACTIVATION_RELU", attributes: {} })).not.toBeNull();
}); // prettier-ignore

eachDevice("operations", (name) => {
  const device = dx.device(name);
  restoresShaders(device);

  // A CPU that stands for a GPU compiles each of the shaders for seconds.
  const dtypes = name === "cpu" || isWhole ? (["float32", "float16"] as const) : (["float32"] as const);

  it.each(dtypes)("two convolutions with their gradients, %s", (dtype) => {
    const of = (shape: readonly number[], seed: number): number[] => numbers(shape.reduce((a, b) => a * b, 1), seed, 1, "f16"); // prettier-ignore
    const shapes = [[3, 1, 12, 12], [6, 1, 5, 5], [6], [4, 6, 3, 3]] as const; // prettier-ignore
    const compute = (mode: "off" | "on", of32: "float32" | "float16"): { bits: string[]; values: number[][] } => {
      process.env.DXTENSOR_SHADERS = mode;
      dx.closeDevice(device);
      const leaves = shapes.map((shape, i) => dx.tensor(of(shape, i + 1), { shape: [...shape], device, dtype: of32 }).requiresGrad_());
      const fn = (x: dx.Tensor, w: dx.Tensor, bias: dx.Tensor, v: dx.Tensor): dx.Tensor[] => {
        const y = dx.conv2d(dx.relu(dx.conv2d(x, w, bias)).mul(0.125), v, null, { padding: 1 });
        return [y, ...dx.grad(y.mul(0.125).sum(), [x, w, bias, v])] as dx.Tensor[];
      };
      const step = dx.compile(fn, { fuse: "always" });
      const lists = [step, step, step, fn].map((f) => f(...(leaves as [dx.Tensor, dx.Tensor, dx.Tensor, dx.Tensor])).map((t) => [...(t.to("float32").dataSync() as Float32Array)])); // prettier-ignore
      return { bits: lists.slice(0, 3).map(String), values: [...lists[0]!, ...lists[3]!] };
    };
    const [wanted, found] = [compute("off", "float32"), compute("on", dtype)];
    expect(new Set(found.bits).size).toBe(1);
    found.values.forEach((list, i) => expectClose(list, wanted.values[i]!, dtype === "float16" ? "f16" : "f32", 720));
  });
});
