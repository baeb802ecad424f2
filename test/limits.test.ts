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
      ["places of a triangle", () => dx.triuIndices(2 ** 31 - 1, 2 ** 31 - 1)],
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
