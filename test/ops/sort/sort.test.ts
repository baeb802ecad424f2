import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../../device.ts";
import { gradgradcheck, leaf } from "../../gradgrad.ts";
import { expectClose } from "../../tolerance.ts";

const { NaN: nan } = Number;

/** The indices that sort the values: NaN last, both zeros alike, equal elements in their order. */
function argsort(data: readonly number[], descending: boolean): number[] {
  const rank = (v: number): number => (Number.isNaN(v) ? Infinity : v);
  const isAfter = (a: number, b: number): number => {
    const [x, y] = [data[a]!, data[b]!];
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
    return rank(x) === rank(y) ? 0 : rank(x) < rank(y) ? -1 : 1;
  };
  return data.map((_, i) => i).sort((a, b) => (descending ? -isAfter(a, b) : isAfter(a, b)) || a - b);
}

eachMode("order", (device, mode) => {
  test("sort puts NaN last, keeps equal elements' order, and tells infinities and zeros apart as PyTorch does", () =>
    clean(
      device,
      () => {
        const data = [3, nan, -0, 0, -Infinity, 3, Infinity, nan, -2.5, 2 ** -126, -(2 ** -126)];
        for (const descending of [false, true]) {
          const { values, indices } = mode.run((x) => dx.sort(x, 0, { descending }), dx.tensor(data));
          const want = argsort(data, descending);
          expect(numbers(indices)).toEqual(want);
          expect(numbers(values)).toEqual(want.map((i) => data[i]!));
        }
      },
      { collect: true },
    ));

  test("long rows, and few of many elements, with equal elements and NaN", () =>
    clean(
      device,
      () => {
        const data = Array.from({ length: 40_000 }, (_, i) => (i % 5000 === 7 ? nan : ((i * 7919) % 613) - 300));
        for (const largest of [false, true]) {
          const want = argsort(data, largest);
          const sorted = mode.run((x) => dx.sort(x, 0, { descending: largest }), dx.tensor(data));
          expect(numbers(sorted.indices)).toEqual(want);
          const few = mode.run((x) => dx.topk(x, 50, 0, { largest }), dx.tensor(data));
          expect(numbers(few.indices)).toEqual(want.slice(0, 50));
          expect(numbers(few.values)).toEqual(want.slice(0, 50).map((i) => data[i]!));
        }
      },
      { collect: true },
    ));

  test("every dtype, 64-bit integers in all their bits", () =>
    clean(
      device,
      () => {
        const long = [5_000_000_000n, 3n, -5_000_000_000n, -1n, 2n ** 62n];
        expect([...(mode.run((x) => dx.sort(x).values, dx.tensor(BigInt64Array.from(long))).dataSync() as BigInt64Array)]).toEqual([
          -5_000_000_000n,
          -1n,
          3n,
          5_000_000_000n,
          2n ** 62n,
        ]);
        for (const dtype of ["float16", "int8", "int16", "int32", "uint8", "uint16", "uint32"] as const)
          expect(numbers(mode.run((x) => dx.sort(x, -1, { descending: true }).values, dx.tensor([3, 1, 2], { dtype })))).toEqual([3, 2, 1]);
        expect(numbers(mode.run((x) => dx.argsort(x, 0, { dtype: "int64" }), dx.tensor([true, false, true])))).toEqual([1, 0, 2]);
      },
      { collect: true },
    ));

  test("a long row, a strided one, topk of it and the k-th element", () =>
    clean(
      device,
      () => {
        const n = 3001;
        const data = Array.from({ length: n }, (_, i) => Math.fround(Math.sin(i * 12.9898) * 43758.5453) % 97);
        const x = dx.tensor(data);
        const sorted = [...data].sort((a, b) => a - b);
        expect(numbers(mode.run((t) => t.sort().values, x))).toEqual(sorted);
        const spread = dx.stack([x, dx.zeros([n])], 1).select(1, 0);
        expect(numbers(mode.run((t) => t.topk(5).values, spread))).toEqual(sorted.slice(-5).reverse());
        expect(numbers(mode.run((t) => t.kthvalue(100).values, x))).toEqual([sorted[99]!]);
      },
      { collect: true },
    ));

  test("medians with NaN, quantiles between elements", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([
          [4, 1, nan, 3],
          [8, 6, 7, 5],
        ]);
        const plain = mode.run((t) => dx.median(t, 1), x);
        expect([numbers(plain.values), numbers(plain.indices)]).toEqual([
          [nan, 6],
          [2, 1],
        ]);
        const skipping = mode.run((t) => dx.nanmedian(t, 1), x);
        expect([numbers(skipping.values), numbers(skipping.indices)]).toEqual([
          [3, 6],
          [3, 1],
        ]);
        expectClose(
          mode.run((t) => dx.nanquantile(t, dx.tensor([0, 0.25, 1]), { axis: 1 }), x),
          [
            [1, 5],
            [2, 5.75],
            [4, 8],
          ],
        );
        expectClose(
          mode.run((t) => dx.quantile(t, 0.5, { axis: 1 }), x),
          [nan, 6.5],
        );
        for (const [interpolation, want] of [
          ["lower", 5],
          ["higher", 6],
          ["nearest", 6],
          ["midpoint", 5.5],
          ["linear", 5.6],
        ] as const)
          expectClose(
            mode.run((t) => dx.quantile(t, 0.2, { interpolation }), dx.tensor([8, 6, 7, 5])),
            [want],
          );
      },
      { collect: true },
    ));

  test("mode: the smallest of the most frequent, and its last index", () =>
    clean(
      device,
      () => {
        const { values, indices } = mode.run(
          (t) => dx.mode(t, 1),
          dx.tensor([
            [2, 1, 1, 2, 3],
            [9, 9, 9, 1, 1],
            [5, 4, 3, 2, 1],
          ]),
        );
        expect([numbers(values), numbers(indices)]).toEqual([
          [1, 9, 1],
          [2, 2, 4],
        ]);
      },
      { collect: true },
    ));

  test("running extremes: NaN wins, the last of equal ones counts", () =>
    clean(
      device,
      () => {
        const up = mode.run((t) => dx.cummax(t, 0), dx.tensor([1, 3, 3, 2, nan, 9]));
        expect([numbers(up.values), numbers(up.indices)]).toEqual([
          [1, 3, 3, 3, nan, nan],
          [0, 1, 2, 2, 4, 4],
        ]);
        const down = mode.run((t) => dx.cummin(t, 0), dx.tensor([3n, 1n, 2n, 1n, -5_000_000_000n, 0n]));
        expect([numbers(down.values), numbers(down.indices)]).toEqual([
          [3, 1, 1, 1, -5e9, -5e9],
          [0, 1, 1, 3, 4, 4],
        ]);
      },
      { collect: true },
    ));

  test("running extremes along each axis, of each kind of number, and the gradients of their values", () =>
    clean(
      device,
      () => {
        const shape = [3, 70, 5];
        const data = Array.from({ length: 3 * 70 * 5 }, (_, i) => ((i * 7919) % 101) - 50);
        for (const dtype of ["float32", "float16", "bfloat16", "int32", "int64", "uint8"] as const)
          for (const axis of [0, 1, 2]) {
            const step = shape.slice(axis + 1).reduce((n, d) => n * d, 1);
            const values = dtype === "uint8" ? data.map((v) => v + 50) : data;
            for (const [name, beats] of [
              ["cummax", (a: number, b: number) => a >= b],
              ["cummin", (a: number, b: number) => a <= b],
            ] as const) {
              // prettier-ignore
              const wantIndices: number[] = [];
              values.forEach((v, i) => {
                const position = Math.floor(i / step) % shape[axis]!;
                const before = position === 0 ? null : wantIndices[i - step]!;
                wantIndices.push(before === null || beats(v, values[i - (position - before) * step]!) ? position : before);
              });
              const want = wantIndices.map((p, i) => values[i - ((Math.floor(i / step) % shape[axis]!) - p) * step]!);
              const x = dx.tensor(values, { dtype, shape });
              const found = mode.run((t) => dx[name](t!, axis, { dtype: axis === 0 ? "int64" : "int32" }), x);
              expect(found.values.dtype).toBe(dtype);
              expect(found.indices.dtype).toBe(axis === 0 ? "int64" : "int32");
              expect(numbers(dx.flatten(found.indices))).toEqual(wantIndices);
              expect(numbers(dx.flatten(found.values))).toEqual(want);
              if (dtype !== "float32") continue;
              const wantGradient = values.map(() => 0);
              wantIndices.forEach((p, i) => (wantGradient[i - ((Math.floor(i / step) % shape[axis]!) - p) * step]! += (i % 3) + 1));
              const weights = dx.tensor(
                values.map((_, i) => (i % 3) + 1),
                { shape },
              );
              const gradient = mode.run(
                (t, w) => {
                  const leaf = t!.detach().requiresGrad_();
                  return dx.grad(dx[name](leaf, axis).values, [leaf], { gradient: w! })[0]!;
                },
                x,
                weights,
              );
              expectClose(dx.flatten(gradient), wantGradient);
            }
          }
      },
      { collect: true },
    ));

  test("running extremes of infinities, zeros of both signs and NaN as in PyTorch, of nothing, and of one number", () =>
    clean(
      device,
      () => {
        const data = [-Infinity, -Infinity, -0, 0, -0, 1, -nan, Infinity, nan, 2];
        const up = mode.run((t) => dx.cummax(t!, 0), dx.tensor(data));
        expect(numbers(up.values)).toEqual([-Infinity, -Infinity, -0, 0, -0, 1, nan, nan, nan, nan]);
        expect(numbers(up.indices)).toEqual([0, 1, 2, 3, 4, 5, 6, 6, 8, 8]);
        const down = mode.run((t) => dx.cummin(t!, 0), dx.tensor(data));
        expect(numbers(down.values)).toEqual([...new Array<number>(6).fill(-Infinity), nan, nan, nan, nan]);
        expect(numbers(down.indices)).toEqual([0, 1, 1, 1, 1, 1, 6, 6, 8, 8]);
        expect(mode.run((t) => dx.cummax(t!, 1).values, dx.zeros([2, 0])).shape).toEqual([2, 0]);
        expect(numbers(mode.run((t) => dx.cummax(t!, 0).values, dx.tensor(3)))).toEqual([3]);
      },
      { collect: true },
    ));

  test("logcumsumexp neither overflows nor loses small parts", () =>
    clean(
      device,
      () => {
        const data = [-1000, 0, 1, 1000, 999, -Infinity];
        let sum = -Infinity;
        const want = data.map((v) => (sum = Math.max(sum, v) + Math.log1p(Math.exp(-Math.abs(sum - v)))));
        expectClose(
          mode.run((t) => dx.logcumsumexp(t, 0), dx.tensor(data)),
          want,
        );
      },
      { collect: true },
    ));

  test("refusals", () =>
    clean(device, () => {
      expect(() => dx.topk(dx.tensor([1, 2]), 3)).toThrow(/topk: k must be an integer in \[0, 2\]; received 3/);
      expect(() => dx.kthvalue(dx.tensor([1, 2]), 0)).toThrow(dx.ValueError);
      expect(() => dx.quantile(dx.tensor([1, 2]), 2)).toThrow(/q must be a number in \[0, 1\]/);
      expect(() => dx.mode(dx.zeros([2, 0]), 1)).toThrow(dx.ShapeError);
    }));
});

eachDevice("gradients of order", (device) => {
  test("first and second order", () =>
    clean(
      device,
      () => {
        gradgradcheck((x) => dx.sort(x, 0, { descending: true }).values.mul(dx.tensor([1, 2, 3]).unsqueeze(1)), [leaf([3, 2])]);
        gradgradcheck((x) => dx.topk(x, 2).values, [leaf([2, 5])]);
        gradgradcheck((x) => dx.median(x, 1).values, [leaf([2, 5])]);
        gradgradcheck((x) => dx.quantile(x, 0.3, { axis: 1 }), [leaf([2, 5])]);
        gradgradcheck((x) => dx.cummax(x, 1).values, [leaf([2, 5])]);
        gradgradcheck((x) => dx.logcumsumexp(x, 1), [leaf([2, 5])]);
        gradgradcheck((x) => dx.cumprod(x, 1), [leaf([2, 5])]);
        gradgradcheck(
          (x) => dx.cumprod(x, 1),
          [
            dx.tensor(
              [
                [1.5, 0, 2, 0, -1],
                [0.5, 1, 0, 2, 1],
              ],
              { requiresGrad: true },
            ),
          ],
        );
      },
      { collect: true },
    ));
});

test("topk keeps its indices for the gradient, not its values", () => {
  dx.withDevice("cpu", () => {
    const x = dx.tensor([3, 1, 2], { requiresGrad: true });
    const { values } = dx.topk(x, 2);
    values.mul_(10);
    values.sum().backward();
    expect(x.grad!.toArraySync()).toEqual([10, 0, 10]);
  });
});

test("a quantile of numbers counts no NaN", () => {
  dx.withDevice("cpu", () => {
    const nodes = (run: (x: dx.Tensor) => dx.Tensor): number => {
      const compiled = dx.compile(run);
      compiled(dx.tensor([[1, 3, 2, NaN]]));
      const { length } = compiled.explain().nodes;
      compiled.dispose();
      return length;
    };
    expect(nodes((x) => dx.quantile(x, 0.5, { axis: 1 }))).toBeLessThan(nodes((x) => dx.nanquantile(x, 0.5, { axis: 1 })));
  });
});
