/** The shaders of convolution with operands in NHWC and in float16: in the evaluator against float64, and as operations on views. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { Capabilities } from "../../../src/dml/capabilities.ts";
import { GraphBuilder } from "../../../src/graph/builder.generated.ts";
import { Graph, packedExpr } from "../../../src/graph/graph.ts";
import { isDepthwise, tiledPlan, type ConvolutionSizes } from "../../../src/shader/kernels/convolution-plan.ts";
import { NO_EPILOGUE } from "../../../src/shader/kernels/epilogue.ts";
import { CONVOLUTION_TILES, type Layouts } from "../../../src/shader/kernels/convolution-tiles.ts";
import { convolutionShader } from "../../../src/shader/kernels/select-convolution.ts";
import { NVIDIA_OVER_VULKAN } from "../../../src/shader/measured.ts";
import { eachDevice } from "../../device.ts";
import { share } from "../../share.ts";
import { restoresShaders } from "../device.ts";
import { KINDS, outputOf, plain, reference, run, type Shape } from "./convolution-support.ts";
import { expectClose, numbers } from "./support.ts";

const LAST: Layouts = { x: "NHWC", dy: "NHWC" };

const SHAPES: readonly (readonly [name: string, shape: Shape])[] = [
  ["3 x 3, odd channels", { ...plain, images: 2, channels: 3, filters: 5, input: [5, 6], kernel: [3, 3], padding: [1, 1] }],
  ["3 x 3, chunks of 4", { ...plain, images: 2, channels: 12, filters: 20, input: [5, 3], kernel: [3, 3], padding: [1, 1] }],
  ["chunks of 16, by 2", { ...plain, images: 1, channels: 16, filters: 32, input: [7, 5], kernel: [3, 3], padding: [1, 1], stride: [2, 2] }],
  ["strides, dilations and padding that differ", { ...plain, images: 2, channels: 8, filters: 4, input: [11, 8], kernel: [2, 3], stride: [3, 2], dilation: [2, 1], padding: [0, 2] }],
  ["one element", { ...plain, images: 2, channels: 16, filters: 32, input: [4, 4], kernel: [1, 1] }],
  ["one element by 2, odd", { ...plain, images: 2, channels: 5, filters: 3, input: [5, 4], kernel: [1, 1], stride: [2, 2] }],
  ["groups", { ...plain, images: 2, groups: 3, channels: 4, filters: 8, input: [4, 5], kernel: [3, 2], padding: [1, 0] }],
  ["groups, odd", { ...plain, images: 1, groups: 2, channels: 3, filters: 3, input: [4, 5], kernel: [2, 2] }],
  ["one axis, 11 long", { ...plain, images: 2, channels: 4, filters: 4, input: [1, 20], kernel: [1, 11], padding: [0, 4] }],
]; // prettier-ignore

const DEPTHWISE: readonly Shape[] = [
  { ...plain, images: 2, groups: 10, channels: 1, filters: 1, input: [5, 8], kernel: [3, 3], padding: [1, 1] },
  { ...plain, images: 3, groups: 3, channels: 1, filters: 2, input: [9, 7], kernel: [3, 2], stride: [2, 1], dilation: [1, 2], padding: [1, 0] },
  { ...plain, images: 2, groups: 2, channels: 1, filters: 1, input: [1, 1040], kernel: [1, 3], padding: [0, 1] },
]; // prettier-ignore

const CASES = SHAPES.map(([name, shape], index) => [name, shape, index] as const);
const TILES = Object.values(CONVOLUTION_TILES);

describe.each(KINDS.map((kind, i) => [kind, i] as const))("%s", (kind, of) => {
  it.each(share(CASES, 3, of))("in NHWC: %s", (_, shape, index) => {
    const c: ConvolutionSizes = { kind, ...shape, layouts: LAST, output: outputOf(shape) };
    const { a, b, y } = reference(c, 7);
    const tile = index % 2 === 0 ? CONVOLUTION_TILES.small : CONVOLUTION_TILES.narrow;
    expectClose(run(c, a, b, { tile, wished: index % 3 === 2 ? 1 : 3 }), y, "f32", 64);
  });

  it.each(share(CASES, 5, of))("float16: %s", (_, shape, index) => {
    for (const layouts of [plain.layouts, LAST]) {
      const c: ConvolutionSizes = { kind, ...shape, element: "f16", layouts, output: outputOf(shape) };
      const { a, b, y } = reference(c, 5);
      expectClose(run(c, a, b, { tile: CONVOLUTION_TILES.small, wished: index % 2 === 0 ? 1 : 2 }), y, "f16", 8);
    }
  });

  it.each(share(DEPTHWISE, 3, of))("depthwise %#", (shape) => {
    for (const [element, layouts] of [["f32", LAST], ["f16", plain.layouts], ["f16", LAST]] as const) {
      const c: ConvolutionSizes = { kind, ...shape, element, layouts, output: outputOf(shape) };
      expect(isDepthwise(c)).toBe(true);
      const { a, b, y } = reference(c, 3);
      expectClose(run(c, a, b, null), y, element, 64);
    }
  }); // prettier-ignore

  it("in NHWC, by all tiles", () => {
    const shape: Shape = { ...plain, images: 1, channels: 8, filters: 72, input: [5, 5], kernel: [1, 3], padding: [0, 1] };
    for (const tile of share(TILES, 6, 2 * of)) {
      const c: ConvolutionSizes = { kind, ...shape, layouts: LAST, output: outputOf(shape) };
      const { a, b, y } = reference(c, 5);
      expectClose(run(c, a, b, { tile, wished: 2 }), y, "f32", 128);
    }
  });
});

it("the weight gradient of operands in two layouts", () => {
  const shape: Shape = { ...plain, images: 2, channels: 8, filters: 12, input: [6, 5], kernel: [3, 3], padding: [1, 1] };
  for (const layouts of [{ x: "NHWC", dy: "NCHW" }, { x: "NCHW", dy: "NHWC" }] as const) {
    const c: ConvolutionSizes = { kind: "weightGradient", ...shape, layouts, output: outputOf(shape) };
    const { a, b, y } = reference(c, 2);
    expectClose(run(c, a, b, { tile: CONVOLUTION_TILES.small, wished: 2 }), y, "f32", 64);
  }
}); // prettier-ignore

it("NaN and infinity stay in the windows that have them", () => {
  const shape: Shape = { ...plain, images: 1, channels: 4, filters: 3, input: [6, 6], kernel: [3, 3], padding: [1, 1] };
  const c: ConvolutionSizes = { kind: "forward", ...shape, layouts: LAST, output: [6, 6] };
  const { a, b } = reference(c, 11);
  a[0] = NaN;
  a[35] = Infinity;
  const got = run(c, a, b, { tile: CONVOLUTION_TILES.small, wished: 2 });
  const wrong = got.filter((v, i) => {
    const [y, x] = [Math.floor((i % 36) / 6), i % 6];
    if (y < 2 && x < 2) return !Number.isNaN(v);
    return y > 3 && x > 3 ? Number.isFinite(v) : !Number.isFinite(v);
  });
  expect(wrong).toEqual([]);
});

it("an epilogue in float16 behind one launch and behind parts", () => {
  const shape: Shape = { ...plain, element: "f16", layouts: LAST, images: 2, channels: 4, filters: 6, input: [4, 5], kernel: [3, 3], padding: [1, 1] };
  const c: ConvolutionSizes = { kind: "forward", ...shape, output: outputOf(shape) };
  const { a, b, y } = reference(c, 9);
  const [bias, addend] = [numbers(6, 4, 1, "f16"), numbers(y.length, 5, 1, "f16")];
  const expected = y.map((v, i) => Math.max(0, v + bias[Math.floor(i / 20) % 6]! + addend[i]!));
  const epilogue = { ...NO_EPILOGUE, hasBias: true, hasAddend: true, activation: { operator: "ACTIVATION_RELU", attributes: {} } } as const;
  for (const wished of [1, 2]) {
    expect(tiledPlan(c, epilogue, { tile: CONVOLUTION_TILES.small, wished }).splits).toBe(wished);
    expectClose(run(c, a, b, { tile: CONVOLUTION_TILES.small, wished }, epilogue, bias, { addend }), expected, "f16", 8);
  }
}); // prettier-ignore

it("are chosen where convolutions of that size were measured, and no other strides", () => {
  const graph = new Graph();
  const options = { name: "test", featureLevel: 0x6000, dataTypes: 0, fusesGraphs: false, waveLanes: 0, runsShaders: true } as const;
  const g = new GraphBuilder(graph, new Capabilities({ ...options, fasterShaders: () => NVIDIA_OVER_VULKAN }));
  const input = (...sizes: number[]) => packedExpr(graph.addInput(4 * sizes.reduce((a, b) => a * b, 1)), "float32", sizes);
  const geometry = { groups: 1, input: [32, 32], kernel: [3, 3], output: [32, 32], stride: [1, 1], dilation: [1, 1], padding: [1, 1] };
  const [image, packed] = [input(16, 32, 32, 64), input(16, 64, 32, 32)];
  const last = g.transpose(image, [0, 3, 1, 2]);
  const other = g.transpose(packed, [0, 1, 3, 2]);
  const chosen = (kind: "forward" | "weightGradient", x: typeof last, b: typeof last): boolean =>
    convolutionShader(g, kind, x, b, null, geometry) !== null;
  const w = input(64, 64, 3, 3);
  expect([last, packed, other].map((x) => chosen("forward", x, w))).toEqual([true, true, false]);
  expect([last, packed, other].map((dy) => chosen("weightGradient", last, dy))).toEqual([true, true, false]);
});

eachDevice("operations", (name) => {
  const device = dx.device(name);
  restoresShaders(device);

  type Fn = (x: dx.Tensor, w: dx.Tensor) => dx.Tensor;
  const last: Fn = (x, w) => dx.conv2d(x.permute(0, 3, 1, 2), w, null, { padding: 1, groups: x.shape[3]! / w.shape[1]! });
  const cases: readonly (readonly [name: string, dtype: "float32" | "float16", x: number[], w: number[], fn: Fn, dispatches: number])[] = [
    ["of a view in NHWC", "float32", [2, 6, 7, 8], [6, 8, 3, 3], last, 1],
    ["of a view in NHWC, depthwise", "float32", [2, 6, 7, 10], [10, 1, 3, 3], last, 1],
    ["of a view in NHWC, in float16", "float16", [2, 6, 7, 8], [6, 8, 3, 3], last, 1],
    ["in float16", "float16", [2, 5, 6, 7], [4, 5, 3, 3], (x, w) => dx.conv2d(x, w, null, { stride: 2, padding: 1 }), 1],
    ["in float16, depthwise", "float16", [2, 6, 6, 7], [6, 1, 3, 3], (x, w) => dx.conv2d(x, w, null, { groups: 6 }), 1],
    ["in float16, transposed", "float16", [2, 5, 6, 7], [5, 4, 3, 3], (x, w) => dx.convTranspose2d(x, w, null, { stride: 2 }), 1],
    ["in float16 of an empty batch", "float16", [0, 5, 6, 7], [4, 5, 3, 3], (x, w) => dx.conv2d(x, w), 1],
    ["of every other pixel", "float32", [2, 4, 6, 8], [4, 4, 3, 3], (x, w) => dx.conv2d(x.slice(2, 0, 6, 2).slice(3, 0, 8, 2), w), 2],
  ]; // prettier-ignore

  // A CPU that stands for a GPU compiles each of the shaders for seconds.
  const some = name === "cpu" ? cases : share(cases, 8, 2);

  it.each(some)("%s", (_, dtype, shapeX, shapeW, fn, dispatches) => {
    const real = (shape: readonly number[], seed: number): Float32Array =>
      Float32Array.from(numbers(shape.reduce((a, b) => a * b, 1), seed, 1, dtype === "float16" ? "f16" : "f32"));
    const [x, w] = [real(shapeX, 1), real(shapeW, 2)];
    const compute = (mode: "off" | "on", of: "float32" | "float16"): { bits: string[]; values: number[][]; launches: number } => {
      process.env.DXTENSOR_SHADERS = mode;
      dx.closeDevice(device);
      const tensor = (values: Float32Array, shape: readonly number[]): dx.Tensor =>
        dx.tensor(values, { shape: [...shape], device, dtype: of }).requiresGrad_();
      const leaves = [tensor(x, shapeX), tensor(w, shapeW)] as const;
      const step = dx.compile((a: dx.Tensor, b: dx.Tensor) => {
        const y = fn(a, b);
        return [y, ...dx.grad(y.mul(0.1).sum(), [a, b])] as dx.Tensor[];
      });
      const forward = dx.compile(fn);
      const lists = [1, 2, 3].map(() => [...step(...leaves), fn(...leaves), forward(...leaves)].map((t) => [...(t.to("float32").dataSync() as Float32Array)]));
      return { bits: lists.map(String), values: lists[0]!, launches: shapeX[0] === 0 ? 1 : forward.explain().dispatches };
    };
    const [wanted, found] = [compute("off", "float32"), compute("on", dtype)];
    expect(new Set(found.bits).size).toBe(1);
    expect(found.launches).toBe(dispatches);
    found.values.forEach((list, i) => expectClose(list, wanted.values[i]!, dtype === "float16" ? "f16" : "f32", 64));
  }); // prettier-ignore
});
