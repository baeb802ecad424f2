/** Functions with dynamic sizes on arguments of other layouts, sizes and dtypes, with state, and with NaN in the padding: compared with eager calls. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";

const values = (t: dx.Tensor): number[] =>
  [
    ...dx
      .noGrad(() => t.detach())
      .to("float32")
      .dataSync(),
  ].map(Number);

function expectAlike(got: dx.Tensor, want: dx.Tensor, what: string): void {
  expect([what, got.dtype, got.shape]).toEqual([what, want.dtype, want.shape]);
  const [a, b] = [values(got), values(want)];
  const at = b.findIndex((v, i) => !(Object.is(v, a[i]) || v === a[i] || Math.abs(v - a[i]!) <= 1e-4 * Math.max(1, Math.abs(v))));
  if (at >= 0) expect([what, at, a[at]]).toEqual([what, at, b[at]]);
}

const noise = (shape: readonly number[], seed: number): dx.Tensor =>
  dx.tensor(
    Float32Array.from({ length: shape.reduce((n, d) => n * d, 1) }, (_, i) => Math.sin((i + 1) * 12.9898 * (seed + 1))),
    { shape },
  );

interface Subject {
  readonly call: (x: dx.Tensor) => dx.Tensor[];
  readonly state?: readonly dx.Tensor[];
}

/** Results, arguments and state of eager and compiled calls; gives how many programs there are. */
function programsOf(make: () => Subject, inputs: readonly (() => dx.Tensor)[], options: dx.CompileOptions = { dynamic: [0] }): number {
  const [eager, other] = [make(), make()];
  const compiled = dx.compile(other.call, options);
  inputs.forEach((input, i) => {
    const [x, y] = [input(), input()];
    const [want, got] = [eager.call(x), compiled(y)];
    const what = `${x.describe()}, call ${i}`;
    want.forEach((t, k) => {
      expectAlike(got[k]!, t, `${what}, result ${k}`);
    });
    expectAlike(y, x, `${what}, argument`);
    eager.state?.forEach((t, k) => {
      expectAlike(other.state![k]!, t, `${what}, state ${k}`);
    });
  });
  const { programs } = compiled;
  compiled.dispose();
  return programs;
}

const parts = (x: dx.Tensor): dx.Tensor[] => [
  x.slice(0, -1),
  x.slice(0, 1).sub(x.slice(0, 0, -1)),
  x.reshape([-1]),
  x.transpose(0, 1).reshape([-1]),
  x.transpose(0, 1).matmul(x),
  dx.cat([x, x.mul(2)], 0),
  x.flip(0),
];

const layouts: Record<string, (n: number, seed: number) => dx.Tensor> = {
  transposed: (n, seed) => noise([3, n], seed).transpose(0, 1),
  "columns of more": (n, seed) => noise([n, 6], seed).slice(1, 1, 4),
  "columns of a transposed tensor": (n, seed) => noise([6, n], seed).transpose(0, 1).slice(1, 2, 5),
  "rows of more": (n, seed) => noise([16, 3], seed).slice(0, 1, 1 + n),
  "every second row": (n, seed) => noise([2 * n, 3], seed).slice(0, 0, undefined, 2),
};

eachDevice("layouts with dynamic sizes", () => {
  it.each(Object.keys(layouts))("arguments may be %s, and are written in place", (name) => {
    const inputs = [5, 6, 5, 7, 8, 7].map((n, i) => () => layouts[name]!(n, i));
    expect(programsOf(() => ({ call: parts }), inputs)).toBeLessThanOrEqual(name === "every second row" ? 4 : 2);
    const write = (x: dx.Tensor): dx.Tensor[] => {
      x.mul_(2).slice(0, -1).fill_(7);
      return [x.sum(0)];
    };
    programsOf(() => ({ call: write }), inputs);
  });

  it("an expanded argument has a program of its own", () => {
    const inputs = [5, 6, 7].map((n, i) => () => noise([1, 3], i).expand(n, 3));
    expect(programsOf(() => ({ call: parts }), inputs)).toBe(3);
  });

  it("sizes 0, 1 and 2, and those beyond the largest bucket, have programs of their own", () => {
    const call = (x: dx.Tensor): dx.Tensor[] => [x.slice(0, -1), x.reshape([-1]), x.sum(0)];
    const inputs = [5, 0, 6, 1, 2, 9, 5].map((n, i) => () => noise([n, 3], i));
    expect(programsOf(() => ({ call }), inputs)).toBe(5);
    // 5 and 6 share one of 7.
    expect(programsOf(() => ({ call }), inputs, { dynamic: [0], buckets: [7] })).toBe(4);
  });

  it("two axes may be of one size by chance, then of two, and the other way around", () => {
    const call = (x: dx.Tensor): dx.Tensor[] => [
      x.reshape([-1, 2]),
      x.transpose(0, 1).reshape([-1, 2]),
      x.slice(1, -2).slice(0, -1),
      x.flip([0, 1]),
    ];
    const sizes = [
      [5, 9],
      [5, 10],
      [6, 6],
      [6, 5],
      [5, 5],
      [12, 12],
      [9, 12],
      [6, 12],
      [3, 3],
      [3, 4],
    ] as const;
    const inputs = sizes.map(
      ([n, l], i) =>
        () =>
          noise([n, l, 2], i),
    );
    expect(programsOf(() => ({ call }), inputs, { dynamic: [[0, 1]] })).toBeLessThanOrEqual(7);
  });

  it("state is read and written across calls, in parts and by index", () => {
    const inputs = [5, 6, 7, 8, 3, 2, 1, 5].map((n, i) => () => noise([n, 3], i));
    const make = (): Subject => {
      const [cache, at] = [dx.zeros([16, 3]), dx.zeros([1], { dtype: "int64" })];
      return {
        state: [cache, at],
        call: (x) => {
          const n = x.shape[0]!;
          cache.indexCopy_(0, dx.arange(n, { dtype: "int64" }).add(at), x);
          cache.slice(0, 16 - n).add_(x);
          cache.slice(0, 1, 1 + n).copy_(x.mul(2));
          cache.select(0, n - 1).sub_(1);
          at.copy_(at.add(n).remainder(4));
          return [cache.cumsum(0).select(0, -1)];
        },
      };
    };
    expect(programsOf(make, inputs)).toBe(5);
  });

  it.each(["float16", "bfloat16", "float64", "int64", "int32", "uint8", "bool"] as const)("%s", (dtype) => {
    const call = (x: dx.Tensor): dx.Tensor[] => [
      x.slice(0, -1),
      x.reshape([-1]),
      x.transpose(0, 1).reshape([-1]),
      dx.cat([x, x.flip(0)], 0),
      dx.full([2], x.shape[0]!, { dtype: dtype === "bool" ? "int32" : dtype }),
      dx.arange(x.shape[0]!, x.shape[0]! + 2, { dtype: dtype === "bool" || dtype === "float64" ? "int32" : dtype }),
    ];
    const inputs = [5, 6, 7, 8].map((n, i) => () => noise([n, 3], i).mul(3).abs().to(dtype));
    expect(programsOf(() => ({ call }), inputs)).toBe(2);
  });

  it("NaN and infinities in the padding reach nothing", () => {
    const call = (x: dx.Tensor): dx.Tensor[] => [
      dx.scaledDotProductAttention(x, x, x),
      dx.sort(x, 0).values,
      dx.sort(x, 0, { descending: true }).indices,
      dx.scatter(x.mul(0), 0, dx.zerosLike(x, { dtype: "int64" }), dx.onesLike(x)),
      dx.nn.functional.conv1d(x.transpose(0, 1).unsqueeze(0), dx.ones([2, 3, 2])),
      dx.nn.functional.maxPool1d(x.transpose(0, 1).unsqueeze(0), 2),
    ];
    const inputs = [6, 5, 8, 7, 5].map((n, i) => () => (i % 2 === 1 ? noise([n, 3], i) : dx.full([n, 3], i === 0 ? NaN : Infinity)));
    expect(programsOf(() => ({ call }), inputs)).toBe(2);
  });

  it("unchecked calls find parts of each size", () => {
    const inputs = [5, 6, 5, 6, 8, 7, 8].map((n, i) => () => noise([n, 3], i));
    expect(programsOf(() => ({ call: parts }), inputs, { dynamic: [0], check: false })).toBe(2);
  });
});
