/** Sizes that no device has, and values of the wrong kind: typed errors at once, in words of the call. */
import { expect, it } from "vitest";
import * as dx from "../src/index.ts";
import { numbers } from "./device.ts";

const cpu = { device: "cpu" } as const;
const wrong = (value: unknown): never => value as never;

it("refuses negative, huge and unfit sizes, as typed errors", () =>
  dx.scope(() => {
    const x = dx.ones([1, 1, 8, 8], cpu);
    const filter = dx.ones([1, 1, 3, 3], cpu);
    const many = dx.full([1], 1, { ...cpu, dtype: "uint8" }).expand([2 ** 31 + 8]);
    const sizes: readonly [string, () => unknown][] = [
      ...[[-1], [1.5], [Number.NaN], [Infinity], [2 ** 33], [2 ** 53, 2 ** 53], wrong("3"), wrong(null), [wrong("3")]].flatMap(
        (shape): [string, () => unknown][] =>
          (["full", "zeros", "ones", "empty"] as const).map((name) => [
            `${name} ${String(shape)}`,
            () => (name === "full" ? dx.full(shape, 1, cpu) : dx[name](shape, cpu)),
          ]),
      ),
      ["rand", () => dx.rand([2 ** 33], cpu)],
      ["randn", () => dx.randn([-3], cpu)],
      ["tensor", () => dx.tensor([1, 2], { ...cpu, shape: [-2, -1] })],
      ["argmax of all", () => dx.argmax(many)],
      ["argmin along an axis", () => dx.argmin(many, 0)],
      ["max along an axis", () => dx.max(many, 0)],
      ["min along an axis", () => dx.min(many, 0)],
      ["an expanded operand", () => x.expand([2 ** 30, 1, 8, 8]).add(1)],
      ["reshape", () => x.reshape([-2, 4])],
      ["narrow", () => dx.narrow(x, 2, -1, 2 ** 40)],
      ["split", () => dx.split(x, -1, 0)],
      ["chunk", () => dx.chunk(x, 0, 0)],
      ["repeat", () => x.repeat([2 ** 31, 1, 1, 1])],
      ["repeat of less than nothing", () => x.repeat([-1, 1, 1, 1])],
      ["tile", () => x.tile([2 ** 20, 2 ** 20])],
      ["pad", () => dx.pad(x, [2 ** 32, 0])],
      ["pad to less than nothing", () => dx.pad(x, [-100, 0])],
      ["arange", () => dx.arange(1e300, cpu)],
      ["linspace", () => dx.linspace(0, 1, 2 ** 33, cpu)],
      ["linspace of less than nothing", () => dx.linspace(0, 1, -5, cpu)],
      ["eye", () => dx.eye(-1)],
      ["one hot", () => dx.oneHot(dx.tensor([1], { ...cpu, dtype: "int64" }), 2 ** 40)],
      ["a permutation", () => dx.randperm(2 ** 40)],
      ["indices of a triangle", () => dx.triuIndices(2 ** 31 - 1, 2 ** 31 - 1)],
      ["combinations", () => dx.combinations(dx.ones([4000], cpu), 3)],
      ["a derivative of high order", () => dx.polygamma(2 ** 40, x)],
      ["a transform", () => dx.fft.fft(x, { n: 2 ** 40 })],
      ...[2 ** 31, 2 ** 40, 2 ** 53, 1e308].map((n): [string, () => unknown] => [
        `interpolation to ${n}`,
        () => dx.interpolate(x, { size: [n, n] }),
      ]),
      ["unflatten", () => x.unflatten(0, [2 ** 40, -1])],
      ...[0, -1, 1.5, Number.NaN, 100_000, 2 ** 31, 2 ** 53].flatMap((k): [string, () => unknown][] => [
        [`a window of ${k}`, () => dx.maxPool2d(x, k, { padding: 0 })],
        [`a window of ${k} in its padding`, () => dx.avgPool2d(x, k, { padding: Math.floor(k / 2) })],
      ]),
      ...[-1, 1.5, 2 ** 31, 2 ** 40].flatMap((v): [string, () => unknown][] => [
        [`pooling by steps of ${v}`, () => dx.maxPool2d(x, 2, { stride: v })],
        [`pooling ${v} apart`, () => dx.maxPool2d(x, 2, { dilation: v })],
        [`pooling padded by ${v}`, () => dx.maxPool2d(x, 2, { padding: v })],
        [`pooling to ${v}`, () => dx.adaptiveAvgPool2d(x, v)],
        [`convolution by steps of ${v}`, () => dx.conv2d(x, filter, null, { stride: v })],
        [`convolution ${v} apart`, () => dx.conv2d(x, filter, null, { dilation: v })],
        [`convolution padded by ${v}`, () => dx.conv2d(x, filter, null, { padding: v })],
      ]),
      ["a convolution's result", () => dx.conv2d(x, filter, null, { padding: 2 ** 17 })],
      ["a transposed convolution's result", () => dx.convTranspose2d(x, filter, null, { stride: 2 ** 20 })],
      ...[0, -1, 1.5, Number.NaN, Infinity, 2 ** 53, "1GB", 2n ** 30n, null, {}, [], true].map((v): [string, () => unknown] => [
        `a limit of ${typeof v} ${String(v)}`,
        () => dx.setMemoryLimit(wrong(v)),
      ]),
    ];
    for (const [name, call] of sizes) {
      let thrown: unknown = null;
      try {
        call();
      } catch (error) {
        thrown = error;
      }
      if (!(thrown instanceof dx.DxError)) throw new Error(`${name} was not refused with a typed error: ${String(thrown)}`);
    }
    expect(numbers(x.sum())).toEqual([64]);
    // What is large and right stays so.
    expect(numbers(dx.maxPool2d(x, 8))).toEqual([1]);
    expect(numbers(dx.avgPool2d(x, 4096, { padding: 2048, stride: 4096, countIncludePad: false }))).toEqual([1]);
  }));

it("refuses what would end the process, or would not end, soon", () =>
  dx.scope(() => {
    const x = dx.ones([1, 1, 4, 4], cpu);
    const list: unknown[] = [];
    list.push(list);
    const unrolled = (start: number, inner: number): unknown =>
      dx.shader({ inputs: { x: "float32" }, outputs: { y: "float32" }, threads: 64 }, (s) => {
        s.for(0, start, () => s.for(0, inner, () => s.buffers.y.store(0, 1), { unroll: true }), { unroll: true });
      })({ x });
    const calls: readonly (() => unknown)[] = [
      () => dx.adaptiveAvgPool1d(x.reshape([1, 1, 16]), 2 ** 31 - 1),
      () => dx.adaptiveMaxPool2dWithIndices(dx.ones([2, 2, 33, 33], cpu), 1e9),
      () => dx.interpolate(x, { size: 2 ** 24, mode: "area" }),
      () => dx.mvlgamma(dx.full([3], 1e10, cpu), 1e9),
      () => dx.pdist(dx.ones([1, 1], cpu).expand([2 ** 20, 1])),
      () => dx.tensorSplit(x, 2 ** 31),
      () => dx.chunk(dx.zeros([0], cpu), 2 ** 31),
      () => dx.combinations(dx.ones([1], cpu), 2 ** 53, { withReplacement: true }),
      () => dx.randperm(2 ** 31 - 1),
      () => dx.trilIndices(2 ** 31 - 1, 2 ** 31 - 1),
      () => dx.tensor(wrong(list)),
      () => dx.tensor(wrong([1, list])),
      () => unrolled(2 ** 31, 1),
      () => unrolled(2 ** 10, 2 ** 10),
      () => dx.blockDiag(dx.ones([2 ** 20, 1], cpu), dx.ones([1, 2 ** 20], cpu)),
      () => JSON.stringify(dx.zeros([1], { ...cpu, dtype: "uint8" }).expand([2 ** 27])),
      () => dx.keep(wrong(5)),
      () => dx.explain(wrong(5)),
      () => dx.shader(wrong({ threads: 64 }), () => {}),
      () => dx.roiPool(x, dx.ones([1, 5], cpu), wrong({ spatialScale: 1 })),
      () => dx.tensordot(x, x, wrong([[0, 0]])),
    ];
    const started = performance.now();
    for (const call of calls) expect(call, `by ${call.toString()}`).toThrow(dx.DxError);
    expect(performance.now() - started).toBeLessThan(60_000);
    // Rows without elements take no time.
    expect(dx.trilIndices(2 ** 31 - 1, 0).shape).toEqual([2, 0]);
    expect(numbers(dx.trilIndices(2 ** 31 - 1, 3, { offset: 2 - 2 ** 31 }))).toEqual([2 ** 31 - 2, 0]);
  }));

it("debug() of a shader whose loops do not end says so", async () => {
  const endless = (
    body: (s: { for: (from: number, to: number, body: () => void, options: { unroll: false }) => void }) => void,
  ): Promise<unknown> =>
    dx
      .shader({ inputs: { x: "float32" }, outputs: { y: "float32" }, threads: 1 }, (s) => {
        body(s);
        s.buffers.y.store(0, 1);
      })
      .debug({ x: dx.ones([1], cpu) });
  const never = { unroll: false } as const;
  await expect(endless((s) => s.for(0, 2 ** 31, () => {}, never))).rejects.toThrow("this loop does not end");
  const nested = endless((s) => s.for(0, 2 ** 19, () => s.for(0, 2 ** 19, () => {}, never), never));
  await expect(nested).rejects.toThrow("its loops make more than 2097152 trips");
}, 120_000);

it("true and false are no axes and no sizes", () =>
  dx.scope(() => {
    const x = dx.ones([1, 1, 4, 4], cpu);
    const calls: readonly (() => unknown)[] = [
      () => dx.amax(x, wrong(true)),
      () => dx.all(x, wrong(true)),
      () => x.nansum(wrong(true)),
      () => dx.masked.prod(x, wrong(true)),
      () => dx.adaptiveAvgPool2d(x, wrong(true)),
      () => dx.avgPool2d(x, wrong(true)),
      () => dx.fold(x, wrong(true), 1),
      () => x.quantize(wrong(false), x),
      () => x.split(wrong(false)),
      () => x.bernoulli_(wrong(false)),
      () => x.tensordot(x, wrong(true)),
      () => dx.nn.linear(wrong(true), 2),
    ];
    for (const call of calls) expect(call, `by ${call.toString()}`).toThrow(/must be .*; received (true|false)/);
    // Where PyTorch takes a scalar, a boolean is one.
    expect(numbers(dx.add(x, true).sum())).toEqual([32]);
  }));

it("pdist of 2,000 points is part by part what it is at once", () =>
  dx.scope(() => {
    const n = 2000;
    const points = dx.tensor(
      Float32Array.from({ length: n * 3 }, (_, i) => ((i * 37) % 101) / 10),
      { ...cpu, shape: [n, 3] },
    );
    const distances = numbers(dx.pdist(points));
    expect(distances.length).toBe((n * (n - 1)) / 2);
    const flat = numbers(points);
    let k = 0;
    let worst = 0;
    for (let i = 0; i < n; i++)
      for (let j = i + 1; j < n; j++) {
        const [a, b, c] = [0, 1, 2].map((d) => flat[3 * i + d]! - flat[3 * j + d]!) as [number, number, number];
        worst = Math.max(worst, Math.abs(distances[k++]! - Math.hypot(a, b, c)));
      }
    expect(worst).toBeLessThan(1e-5);
  }));
