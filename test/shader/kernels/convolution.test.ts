/** The shaders of convolution in the evaluator: races, guards around every buffer, sizes that fit no tile, numbers that are none. */
import { afterEach, describe, expect, it, vi } from "vitest";
import * as dx from "../../../src/index.ts";
import type { Activation, EpilogueOp, Expr } from "../../../src/graph/graph.ts";
import { convolutionShader } from "../../../src/shader/kernels/select-convolution.ts";
import { build } from "../../graph/build.ts";
import { NO_EPILOGUE } from "../../../src/shader/kernels/epilogue.ts";
import { isDepthwise, resultShape, tiledPlan, type ConvolutionSizes } from "../../../src/shader/kernels/convolution-plan.ts";
import { CONVOLUTION_TILES } from "../../../src/shader/kernels/convolution-tiles.ts";
import { KINDS, outputOf, plain, reference, run, type Shape } from "./convolution-support.ts";
import { expectClose, numbers } from "./support.ts";

const SHAPES: readonly (readonly [name: string, shape: Shape])[] = [
  ["3 x 3", { ...plain, images: 2, channels: 3, filters: 5, input: [5, 6], kernel: [3, 3], padding: [1, 1] }],
  ["3 x 3 by 2, odd", { ...plain, images: 1, channels: 4, filters: 6, input: [7, 9], kernel: [3, 3], padding: [1, 1], stride: [2, 2] }],
  ["strides, dilations and padding that differ", { ...plain, images: 2, channels: 2, filters: 3, input: [11, 8], kernel: [2, 3], stride: [3, 2], dilation: [2, 1], padding: [0, 2] }], // prettier-ignore
  ["strides and dilations by phases", { ...plain, images: 2, channels: 3, filters: 2, input: [6, 7], kernel: [3, 2], stride: [2, 2], dilation: [2, 3], padding: [1, 2] }], // prettier-ignore
  ["one element", { ...plain, images: 2, channels: 16, filters: 32, input: [4, 4], kernel: [1, 1] }],
  ["one element by 2", { ...plain, images: 2, channels: 5, filters: 3, input: [5, 4], kernel: [1, 1], stride: [2, 2] }],
  ["groups", { ...plain, images: 2, groups: 3, channels: 2, filters: 4, input: [4, 5], kernel: [3, 2], padding: [1, 0] }],
  ["5 x 5", { ...plain, images: 1, channels: 2, filters: 3, input: [6, 6], kernel: [5, 5], padding: [2, 2] }],
  ["one axis, 11 long", { ...plain, images: 2, channels: 2, filters: 3, input: [1, 20], kernel: [1, 11], padding: [0, 4] }],
  ["windows in the padding", { ...plain, images: 1, channels: 1, filters: 2, input: [2, 2], kernel: [1, 1], padding: [2, 1] }],
];

describe.each(KINDS)("%s", (kind) => {
  it.each(SHAPES.map(([name, shape], index) => [name, shape, index] as const))("%s", (_, shape, index) => {
    const c: ConvolutionSizes = { kind, ...shape, output: outputOf(shape) };
    const { a, b, y } = reference(c, 7);
    const tile = index % 2 === 0 ? CONVOLUTION_TILES.small : CONVOLUTION_TILES.narrow;
    expectClose(run(c, a, b, { tile, wished: index % 3 === 2 ? 1 : 3 }), y, "f32", 64);
  });

  it.each([
    { ...plain, images: 2, groups: 6, channels: 1, filters: 1, input: [5, 8], kernel: [3, 3], padding: [1, 1] },
    {
      ...plain,
      images: 3,
      groups: 2,
      channels: 1,
      filters: 2,
      input: [9, 7],
      kernel: [3, 2],
      stride: [2, 1],
      dilation: [1, 2],
      padding: [1, 0],
    },
    { ...plain, images: 2, groups: 2, channels: 1, filters: 1, input: [1, 1040], kernel: [1, 3], padding: [0, 1] },
  ] as readonly Shape[])("depthwise %#", (shape) => {
    const c: ConvolutionSizes = { kind, ...shape, output: outputOf(shape) };
    expect(isDepthwise(c)).toBe(true);
    const { a, b, y } = reference(c, 3);
    expectClose(run(c, a, b, null), y, "f32", 64);
  });
});

describe("tiles", () => {
  const odd: Shape = { ...plain, images: 1, channels: 3, filters: 70, input: [5, 6], kernel: [3, 3], padding: [1, 1] };
  it.each([
    ["large", "forward"],
    ["tall", "inputGradient"],
    ["wide", "weightGradient"],
    ["medium", "forward"],
  ] as const)("%s, %s", (name, kind) => {
    const c: ConvolutionSizes = { kind, ...odd, output: outputOf(odd) };
    const { a, b, y } = reference(c, 5);
    expectClose(run(c, a, b, { tile: CONVOLUTION_TILES[name], wished: 2 }), y, "f32", 128);
  });
  it("that fit", () => {
    for (const kind of KINDS) {
      const c: ConvolutionSizes = { ...plain, kind, images: 2, channels: 32, filters: 32, input: [4, 4], kernel: [1, 1], output: [4, 4] };
      const { form } = tiledPlan(c, NO_EPILOGUE, { tile: CONVOLUTION_TILES.small, wished: 1 });
      expect([form.fits, form.isPointwise]).toEqual([{ rows: true, columns: true, depth: true }, kind !== "weightGradient"]);
      const { a, b, y } = reference(c, 5);
      expectClose(run(c, a, b, { tile: CONVOLUTION_TILES.small, wished: 2 }), y, "f32", 64);
    }
  });
});

describe("ends", () => {
  const relu: Activation = { operator: "ACTIVATION_RELU", attributes: {} };
  const shape: Shape = { ...plain, images: 2, channels: 3, filters: 5, input: [4, 5], kernel: [3, 3], padding: [1, 1] };
  it.each([
    [shape, 1],
    [shape, 2],
    [{ ...shape, groups: 3, channels: 1, filters: 1 }, 0],
  ] as const)("a bias and an activation %#", (sizes, wished) => {
    for (const kind of ["forward", "inputGradient"] as const) {
      const c: ConvolutionSizes = { kind, ...sizes, output: outputOf(sizes) };
      const { a, b, y } = reference(c, 9);
      const shape = resultShape(c);
      const bias = numbers(shape[1], 4, 1);
      const expected = y.map((v, i) => Math.max(0, v + bias[Math.floor(i / (shape[2] * shape[3])) % shape[1]]!));
      const chosen = wished === 0 ? null : { tile: CONVOLUTION_TILES.small, wished };
      expectClose(run(c, a, b, chosen, { ...NO_EPILOGUE, hasBias: true, activation: relu }, bias), expected, "f32", 64);
    }
  });

  it.each([
    [shape, 1],
    [shape, 2],
    [{ ...shape, input: [4, 4], kernel: [1, 1], padding: [0, 0], channels: 16, filters: 32 }, 1],
    [{ ...shape, stride: [2, 2] }, 1],
    [{ ...shape, groups: 3, channels: 1, filters: 1 }, 0],
  ] as const)("batch norm, a sum with a tensor and an activation %#", (sizes, wished) => {
    for (const kind of ["forward", "inputGradient"] as const) {
      const c: ConvolutionSizes = { kind, ...sizes, output: outputOf(sizes) };
      const { a, b, y } = reference(c, 9);
      const [n, channels, ...plane] = resultShape(c);
      const [mean, variance, gain, shift] = [1, 2, 3, 4].map((seed) => numbers(channels, seed, 1)) as [
        number[],
        number[],
        number[],
        number[],
      ];
      const spread = variance.map((v) => v * v + 0.5);
      const addend = numbers(n * channels * plane[0] * plane[1], 5, 1);
      const expected = y.map((v, i) => {
        const k = Math.floor(i / (plane[0] * plane[1])) % channels;
        return Math.max(0, ((v - mean[k]!) / Math.sqrt(spread[k]! + 1e-3)) * gain[k]! + shift[k]! + addend[i]!);
      });
      const chosen = wished === 0 ? null : { tile: CONVOLUTION_TILES.small, wished };
      const ends = { hasBias: false, epsilon: 1e-3, hasAddend: true, activation: relu, reluGradient: null };
      expectClose(run(c, a, b, chosen, ends, [], { mean, variance: spread, gain, shift, addend }), expected, "f32", 128);
    }
  });
});

it.each(["unless at most 0", "where above 0"] as const)("relu's gradient by a tensor, zero %s, behind a sum", (reluGradient) => {
  const shape: Shape = { ...plain, images: 2, channels: 3, filters: 4, input: [5, 6], kernel: [3, 3], padding: [1, 1] };
  const special = [0, -0, NaN, Infinity, -Infinity, 1e-38, -1e-38, 3, -3];
  for (const wished of [0, 1, 2]) {
    const own = wished === 0 ? { ...shape, groups: 3, channels: 1, filters: 1 } : shape;
    const c: ConvolutionSizes = { kind: "inputGradient", ...own, output: outputOf(own) };
    const { a, b, y } = reference(c, 13);
    y[3] = NaN;
    const addend = numbers(y.length, 5, 1);
    addend[3] = NaN;
    const mask = y.map((_, i) => special[i % special.length]!);
    const expected = y.map((v, i) => {
      const isZero = reluGradient === "where above 0" ? !(mask[i]! > 0) : mask[i]! <= 0;
      return isZero ? 0 : v + addend[i]!;
    });
    const chosen = wished === 0 ? null : { tile: CONVOLUTION_TILES.small, wished };
    const got = run(c, a, b, chosen, { ...NO_EPILOGUE, hasAddend: true, reluGradient }, [], { addend, mask });
    expectClose(got, expected, "f32", 64);
  }
});

it("NaN and infinity stay in the windows that have them", () => {
  const shape: Shape = { ...plain, images: 1, channels: 2, filters: 3, input: [6, 6], kernel: [3, 3], padding: [1, 1] };
  for (const groups of [1, 2]) {
    const c: ConvolutionSizes = { kind: "forward", ...shape, ...(groups === 2 ? { groups, channels: 1, filters: 1 } : {}), output: [6, 6] };
    const { a, b } = reference(c, 11);
    a[0] = NaN;
    a[35] = Infinity;
    const got = run(c, a, b, groups === 2 ? null : { tile: CONVOLUTION_TILES.small, wished: 2 });
    const wrong = got.flatMap((v, i) => {
      const [y, x] = [Math.floor((i % 36) / 6), i % 6];
      const isOther = groups === 2 && i >= 36;
      const seen = isOther ? "number" : y < 2 && x < 2 ? "NaN" : y > 3 && x > 3 ? "infinity" : "number";
      const is = Number.isNaN(v) ? "NaN" : Number.isFinite(v) ? "number" : "infinity";
      return seen === is ? [] : [`${i}: ${v}`];
    });
    expect(wrong).toEqual([]);
  }
});

describe("what a node's launch takes of what follows", () => {
  const geometry = { input: [8, 8], kernel: [3, 3], output: [8, 8], stride: [1, 1], dilation: [1, 1], padding: [1, 1] };
  const of = { forward: ["x", "w"], inputGradient: ["dy", "w"], weightGradient: ["x", "dy"] } as const;
  it.each([
    // One launch, by the direct shader too, a sum of parts, and the depthwise shaders.
    ["forward", 1, 8, [["add", "norm"]]],
    ["forward", 1, 320, [[], ["add", "norm"]]],
    ["forward", 8, 8, [["add", "norm"]]],
    ["inputGradient", 1, 8, [["add", "norm"]]],
    ["inputGradient", 1, 72, [["add", "norm"]]],
    ["weightGradient", 1, 8, [[]]],
    ["weightGradient", 1, 72, [[]]],
    ["weightGradient", 8, 8, [[]]],
    ["weightGradient", 1, 72, [[], ["add"]], 64],
    ["weightGradient", 1, 1, [[]], 64],
  ] as const)("%s in %i groups of %i channels", (kind, groups, channels, expected, images: number = 1) => {
    const { graph, g, input } = build();
    vi.stubEnv("DXTENSOR_SHADERS", "on");
    const shapes = { x: [images, channels, 8, 8], dy: [images, 8, 8, 8], w: [8, channels / groups, 3, 3] };
    const [a, b] = of[kind].map((name) => input(...shapes[name]));
    const y = convolutionShader(g, kind, a!, b!, null, { ...geometry, groups })!;
    vi.unstubAllEnvs();
    const addend = input(...y.sizes);
    const [mean, variance, gain, shift] = [1, 2, 3, 4].map(() => input(1, y.sizes[1]!, 1, 1)) as [Expr, Expr, Expr, Expr];
    const ops: readonly EpilogueOp[] = [{ kind: "add", addend }, { kind: "norm", epsilon: 1e-5, mean, variance, gain, shift }];
    const taken = graph.nodes.map(({ withEpilogue }) => ops.filter((op) => (withEpilogue?.(op) ?? null) !== null).map(({ kind }) => kind));
    expect(taken).toEqual(expected);
  });
}); // prettier-ignore

describe("operations on the software adapter", () => {
  const device = dx.device("cpu");
  const before = process.env.DXTENSOR_SHADERS;
  afterEach(() => {
    if (before === undefined) delete process.env.DXTENSOR_SHADERS;
    else process.env.DXTENSOR_SHADERS = before;
    dx.closeDevice(device);
  });
  const real = (shape: readonly number[], seed: number): dx.Tensor => dx.randn([...shape], { device, generator: new dx.Generator(seed) });

  type Fn = (...x: dx.Tensor[]) => dx.Tensor;
  const cases: readonly (readonly [name: string, shapes: readonly (readonly number[])[], fn: Fn])[] = [
    ["of a view, by steps", [[2, 6, 7, 3], [4, 3, 3, 2]], (x, w) => dx.conv2d(x!.permute(0, 3, 1, 2), w!, null, { stride: 2, padding: 1, dilation: [1, 2] })],
    ["transposed, with a bias, then an activation", [[2, 6, 4, 5], [6, 2, 3, 3], [4]],
      (x, w, b) => dx.sigmoid(dx.convTranspose2d(x!, w!, b!, { stride: 2, outputPadding: 1, groups: 2 }))],
    ["with many channels of small planes", [[2, 160, 3, 3], [40, 160, 3, 3], [40]], (x, w, b) => dx.relu(dx.conv2d(x!.mul(0.02), w!, b!, { padding: 1 }))],
    ["of an empty batch", [[0, 3, 5, 5], [4, 3, 3, 3]], (x, w) => dx.conv2d(x!, w!)],
    ["that reaches padding only", [[1, 1, 2, 2], [1, 1, 1, 1]], (x, w) => dx.conv2d(x!, w!, null, { stride: 9, padding: 4 })],
    ["over three axes, by DirectML's operator", [[1, 2, 3, 4, 5], [2, 2, 2, 2, 2]], (x, w) => dx.conv3d(x!, w!)],
  ]; // prettier-ignore

  it.each(cases)("%s", (_, shapes, fn) => {
    const inputs = shapes.map((shape, i) => real(shape, i + 1));
    const lists = inputs.map((x) => x.dataSync() as Float32Array);
    const run = (mode: "off" | "on"): { bits: string[]; values: number[][] } => {
      process.env.DXTENSOR_SHADERS = mode;
      dx.closeDevice(device);
      const leaves = shapes.map((shape, i) => dx.tensor(lists[i]!, { shape: [...shape], device }).requiresGrad_());
      const step = dx.compile((...x: dx.Tensor[]) => {
        const y = fn(...x);
        return [y, ...dx.grad(y.mul(y).sum(), x)] as dx.Tensor[];
      });
      const calls = [1, 2, 3].map(() => [...step(...leaves), fn(...leaves)].map((t) => t.dataSync() as Float32Array));
      return { bits: calls.map((list) => list.map((v) => Buffer.from(v.buffer, v.byteOffset, v.byteLength).toString("hex")).join()), values: calls[0]!.map((v) => [...v]) }; // prettier-ignore
    };
    const [wanted, found] = [run("off"), run("on")];
    expect(new Set(found.bits).size).toBe(1);
    found.values.forEach((list, i) => expectClose(list, wanted.values[i]!, "f32", 1440));
  });

  it.each([1, 6])("a weight's gradient that is added to one before, %i groups", (groups) => {
    const [x, w, before] = [
      [2, 6, 7, 7],
      [6, 6 / groups, 3, 3],
      [6, 6 / groups, 3, 3],
    ].map((shape, i) => real(shape, i + 1));
    const lists = [x, w, before].map((t) => [t!.shape, t!.dataSync() as Float32Array] as const);
    const run = (mode: "off" | "on"): number[] => {
      process.env.DXTENSOR_SHADERS = mode;
      dx.closeDevice(device);
      const [a, b, c] = lists.map(([shape, values]) => dx.tensor(values, { shape: [...shape], device })) as [
        dx.Tensor,
        dx.Tensor,
        dx.Tensor,
      ];
      b.requiresGrad_();
      b.grad = c;
      dx.compile((t: dx.Tensor) => dx.conv2d(t, b, null, { padding: 1, groups }).pow(2).sum().backward())(a);
      return [...(b.grad.dataSync() as Float32Array)];
    };
    expectClose(run("on"), run("off"), "f32", 1440);
  });
});
