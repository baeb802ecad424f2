import { describe, expect, it } from "vitest";
import * as kernels from "../../../src/shader/kernels/elementwise.ts";
import { floatOfHalf, halfOfFloat } from "../../../src/shader/operations.ts";
import { expectClose, launch, numbers } from "./support.ts";

const erf = (x: number): number => {
  let sum = 0;
  for (let n = 0, term = x; n < 300; n++, term *= (-x * x) / n) sum += term / (2 * n + 1);
  return Math.abs(x) > 5 ? Math.sign(x) : (2 / Math.sqrt(Math.PI)) * sum;
};
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** Less than a tile, a tile, and more, whole vectors and not. */
const sizes = [1, 7, 1024, 1031, 3000, 4096];

describe.each(["f32", "f16"] as const)("one tensor of %s", (e) => {
  const unary = [
    ["copy", kernels.copy, (x: number) => x],
    ["relu", kernels.relu, (x: number) => (x < 0 ? 0 : x)],
    ["gelu", kernels.gelu, (x: number) => (x / 2) * (1 + erf(x / Math.SQRT2))],
  ] as const;
  it.each(unary)("%s", (_, kernel, reference) => {
    for (const size of sizes) {
      const values = numbers(size, size, 4, e);
      values[size >> 1] = NaN;
      const { y } = launch(kernel(e), { x: { shape: [size], values }, y: { shape: [size] } });
      expectClose(y!, values.map(reference), e);
    }
  });

  it("add, and SwiGLU with its gradient", () => {
    for (const size of sizes) {
      const [a, b, dy] = [1, 2, 3].map((seed) => numbers(size, seed + size, 3, e)) as [number[], number[], number[]];
      const shape = [size];
      const [first, second] = [
        { shape, values: a },
        { shape, values: b },
      ];
      expectClose(launch(kernels.add(e), { a: first, b: second, y: { shape } }).y!, a.map((x, i) => x + b[i]!), e); // prettier-ignore
      expectClose(launch(kernels.swiglu(e), { a: first, b: second, y: { shape } }).y!, a.map((x, i) => x * sigmoid(x) * b[i]!), e); // prettier-ignore
      const { da, db } = launch(kernels.swigluBackward(e), {
        a: first,
        b: second,
        dy: { shape, values: dy },
        da: { shape },
        db: { shape },
      });
      expectClose(da!, a.map((x, i) => dy[i]! * b[i]! * sigmoid(x) * (1 + x * (1 - sigmoid(x)))), e); // prettier-ignore
      expectClose(db!, a.map((x, i) => dy[i]! * x * sigmoid(x)), e); // prettier-ignore
    }
  });
});

it("gelu of float16 from end to end: all digits of its tails, 0 and infinities beyond", () => {
  const values = Array.from({ length: 4001 }, (_, i) => floatOfHalf(halfOfFloat((i - 2000) / 250)));
  values.push(-10, -100, -65504, 100, 65504, Infinity, NaN, 0, -0, 6e-8);
  const { y } = launch(kernels.gelu("f16"), { x: { shape: [values.length], values }, y: { shape: [values.length] } });
  const erfc = (x: number): number => {
    let sum = 0;
    const [n, end] = [4000, x + 8];
    const h = (end - x) / n;
    for (let i = 0; i <= n; i++) sum += Math.exp(-((x + i * h) ** 2)) * (i === 0 || i === n ? 1 : i % 2 === 1 ? 4 : 2);
    return ((sum * h) / 3) * (2 / Math.sqrt(Math.PI));
  };
  values.forEach((x, i) => {
    const wanted = Number.isFinite(x)
      ? Math.abs(x) > 12
        ? Math.max(x, 0)
        : x * 0.5 * (x < 0 ? erfc(-x / Math.SQRT2) : 2 - erfc(x / Math.SQRT2))
      : x;
    const error = Number.isFinite(wanted) ? Math.abs(y![i]! - wanted) : Object.is(y![i], wanted) ? 0 : Infinity;
    expect(error, `gelu(${x}): ${y![i]}, ${wanted}`).toBeLessThanOrEqual(
      Number.isFinite(wanted) ? Math.abs(wanted) * 2 ** -11 * 1.2 + 4e-8 : 0,
    );
  });
});

it("casts between float32 and float16, to the nearest", () => {
  const size = 1037;
  const values = numbers(size, 3, 70000);
  const half = launch(kernels.cast("f32", "f16"), { x: { shape: [size], values }, y: { shape: [size] } }).y!;
  expect(half).toEqual(values.map((x) => floatOfHalf(halfOfFloat(x))));
  const back = launch(kernels.cast("f16", "f32"), { x: { shape: [size], values: half }, y: { shape: [size] } }).y!;
  expect(back).toEqual(half);
});

it("a step of Adam", () => {
  const size = 1029;
  const [p, g, m] = [1, 2, 3].map((seed) => numbers(size, seed, 1)) as [number[], number[], number[]];
  const v = numbers(size, 4, 1).map((x) => Math.fround(x * x));
  const [lr, b1, b2, eps, decay, t, apart] = [1e-2, 0.9, 0.999, 1e-8, 0.1, 3, 0.01];
  const scalars = [lr, b1, 1 - b1, 1 - b1 ** t, 1 - b2 ** t];
  const shape = [size];
  const buffers = { p: { shape, values: p }, g: { shape, values: g }, m: { shape, values: m }, v: { shape, values: v } };
  const { pNext, mNext, vNext } = launch(
    kernels.adam(),
    { ...buffers, scalars: { shape: [5], values: scalars }, pNext: { shape }, mNext: { shape }, vNext: { shape } },
    { sign: -1, beta2: b2, rest2: 1 - b2, eps, decay, shrinking: apart },
  );
  const next = p.map((x, i) => {
    const grad = decay * x - g[i]!;
    const first = b1 * m[i]! + (1 - b1) * grad;
    const second = b2 * v[i]! + (1 - b2) * grad * grad;
    const step = (lr / (1 - b1 ** t)) * (first / (Math.sqrt(second) / Math.sqrt(1 - b2 ** t) + eps));
    return [x * (1 - lr * apart) - step, first, second] as const;
  });
  expectClose(pNext!, next.map((x) => x[0])); // prettier-ignore
  expectClose(mNext!, next.map((x) => x[1])); // prettier-ignore
  expectClose(vNext!, next.map((x) => x[2])); // prettier-ignore
});
