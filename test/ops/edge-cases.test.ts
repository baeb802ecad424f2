/** Calls that PyTorch takes and that have no case recorded: empty indices, shared memory, scalars, half precision. Expected: PyTorch 2.15. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, eachMode } from "../device.ts";

eachMode("rare calls", (_, mode) => {
  test("an empty index of another rank gathers nothing", () => {
    expect(
      mode.run((x: dx.Tensor, i: dx.Tensor) => dx.gather(x, 0, i), dx.tensor([1, 2, 3]), dx.zeros([2, 0], { dtype: "int64" })).shape,
    ).toEqual([2, 0]);
  });

  test("a matmul over an empty axis with beta 0 leaves NaN out", () => {
    const found = mode.run(
      (c: dx.Tensor, a: dx.Tensor, b: dx.Tensor) => dx.addmm(c, a, b, { beta: 0 }),
      dx.full([2, 2], NaN),
      dx.zeros([2, 0]),
      dx.zeros([0, 2]),
    );
    expect(found.toArraySync()).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  test("a NaN is the largest and the smallest behind an infinity too, in views", () => {
    for (const dtype of ["float32", "float16"] as const) {
      const data = [-Infinity, 100, Infinity, -Infinity, 0.5, NaN, 3, NaN];
      const pairs = dx.stack([dx.tensor(data), dx.ones([8])], 1).to(dtype);
      const found = mode.run((x: dx.Tensor) => {
        const row = x.select(1, 0);
        return [dx.argmax(row), dx.argmin(row), dx.max(row, 0).indices, dx.min(row, 0).indices, dx.argmax(row.slice(0, 0, 5))];
      }, pairs) as dx.Tensor[];
      expect(found.map((t) => Number(t.itemSync()))).toEqual([5, 5, 5, 5, 2]);
      // The largest finite number is less than infinity.
      const max = dtype === "float16" ? 65504 : 3.4028234663852886e38;
      const close = dx.stack([dx.tensor([1, max, Infinity, NaN, -max, -Infinity]), dx.ones([6])], 1).to(dtype);
      const ends = mode.run((x: dx.Tensor) => {
        const row = x.select(1, 0);
        return [dx.argmax(row.slice(0, 0, 3)), dx.argmin(row.slice(0, 4, 6))];
      }, close) as dx.Tensor[];
      expect(ends.map((t) => Number(t.itemSync()))).toEqual([2, 1]);
    }
  });

  test("cumulative products of zeros and infinities have PyTorch's gradients", () => {
    const gradient = (createGraph: boolean) => (x: dx.Tensor) => dx.grad(x.cumprod(0).sum(), [x], { createGraph })[0]!;
    const cases: [number[], number[], boolean][] = [
      [[0.5, 2, 0, 4, Infinity, 2], [3, 0.5, Infinity, 0, 0, 0], false],
      [[0.5, 0, 2, NaN, 2], [1, NaN, 0, 0, 0], false],
      [[2, Infinity, 0, -1, 0, 3], [Infinity, NaN, NaN, 0, 0, 0], false],
      [[1, 2, Infinity], [Infinity, Infinity, NaN], false],
      [[1, 2, Infinity], [Infinity, Infinity, NaN], true],
      [[1, NaN, 3], [NaN, NaN, NaN], true],
    ];
    for (const [data, want, createGraph] of cases)
      expect(
        mode
          .run(gradient(createGraph), dx.tensor(data, { requiresGrad: true }))
          .detach()
          .toArraySync(),
      ).toEqual(want);
  });

  test("what has the shape already comes back itself, with its gradient", () => {
    const x = dx.ones([2, 3, 4], { requiresGrad: true });
    for (const same of [dx.atleast1d(x), dx.atleast2d(x), dx.atleast3d(x), dx.sumToSize(x, [2, 3, 4]), dx.broadcastTensors(x, x)[1]])
      expect(same).toBe(x);
    const found = mode.run(
      (t: dx.Tensor) => {
        dx.atleast2d(t).sum().backward();
        return dx.atleast3d(t).grad!;
      },
      dx.ones([2, 3, 4], { requiresGrad: true }),
    );
    expect(found.sum().itemSync()).toBe(24);
  });

  test("keys that attention adds are seen by every query, behind a bool mask too", () => {
    const mask = dx.tensor([[false, true, true], [true, false, true], [false, false, false]]); // prettier-ignore
    for (const [addZeroAttn, addBiasKv] of [
      [true, true],
      [true, false],
      [false, true],
    ] as const) {
      const layer = dx.nn.multiheadAttention(4, 1, { batchFirst: true, addZeroAttn, addBiasKv });
      // Scores of 0: all keys that a query sees weigh alike.
      dx.noGrad(() => layer.parameters().forEach((p) => p.zero_()));
      const added = Number(addZeroAttn) + Number(addBiasKv);
      const more = (n: number): number[] => new Array<number>(added).fill(1 / n);
      const found = mode.run((x: dx.Tensor) => layer.forward(x, x, x, { attnMask: mask, weights: "average" }).weights!, dx.ones([1, 3, 4]));
      const [one, all] = [1 + added, 3 + added];
      expect(found.allcloseSync(dx.tensor([[
        [1 / one, 0, 0, ...more(one)],
        [0, 1 / one, 0, ...more(one)],
        [1 / all, 1 / all, 1 / all, ...more(all)],
      ]]))).toBe(true); // prettier-ignore
    }
  });

  test("linear of one output", () => {
    const found = mode.run(
      (x: dx.Tensor, w: dx.Tensor, b: dx.Tensor) => dx.nn.functional.linear(x, w, b),
      dx.tensor([
        [1, 2],
        [3, 4],
      ]),
      dx.tensor([10, 1]),
      dx.tensor(0.5),
    );
    expect(found.toArraySync()).toEqual([12.5, 34.5]);
  });

  test("windows of masks", () => {
    const x = dx.tensor([
      [
        [
          [true, false],
          [false, true],
        ],
      ],
    ]);
    expect(mode.run((t: dx.Tensor) => dx.nn.functional.unfold(t, [1, 2]), x).toArraySync()).toEqual([
      [
        [true, false],
        [false, true],
      ],
    ]);
  });

  test("a difference next to NaN is NaN only there", () => {
    const [slope] = mode.run((t: dx.Tensor) => dx.gradient(t, { spacing: 2 }), dx.tensor([1, 3, NaN, 4, 8])) as dx.Tensor[];
    expect(slope!.toArraySync()).toEqual([1, NaN, 0.25, NaN, 2]);
  });

  test("the largest column sum of no columns is 0", () => {
    expect(mode.run((t: dx.Tensor) => dx.matrixNorm(t, 1), dx.zeros([3, 0])).toArraySync()).toBe(0);
    expect(mode.run((t: dx.Tensor) => dx.matrixNorm(t, Infinity), dx.zeros([0, 3])).toArraySync()).toBe(0);
  });

  test("Chebyshev's polynomials of any degree at 1 and -1", () => {
    const [x, n] = [dx.tensor([1, -1, 1, -1]), dx.tensor([200, 201, 0, 100])];
    expect(mode.run(dx.chebyshevPolynomialT, x, n).toArraySync()).toEqual([1, -1, 1, 1]);
    expect(mode.run(dx.chebyshevPolynomialU, x, n).toArraySync()).toEqual([201, -202, 1, 101]);
  });

  test("a quotient's factor keeps its digits with float16", () => {
    const half = (v: number): dx.Tensor => dx.tensor([v], { dtype: "float16" });
    const found = mode.run((x: dx.Tensor, a: dx.Tensor, b: dx.Tensor) => dx.addcdiv(x, a, b, { value: 3.14 }), half(-6), half(2), half(1));
    // One unit in the last place of float16: a driver's conversion may truncate. A factor of float16 would give 0.28125.
    const [got] = found.toArraySync() as number[];
    expect(Math.abs(got! - 0.28)).toBeLessThan(2.5e-4);
  });
});

eachDevice("gradients of rare calls", () => {
  test("a position that an index has twice counts once in the value's gradient", () => {
    const value = dx.tensor(2).requiresGrad_();
    dx.indexFill(dx.zeros([2, 3]), 1, dx.tensor([1, 1, 0], { dtype: "int64" }), value)
      .sum()
      .backward();
    expect(value.grad!.toArraySync()).toBe(4);
  });

  test("a sum to the same shape is a view", () => {
    const x = dx.ones([2, 3]);
    expect(dx.sumToSize(x, 2, 3).storage).toBe(x.storage);
  });

  test("one sample and one class make a margin loss of 0", () => {
    expect(dx.nn.functional.multiMarginLoss(dx.tensor(3), dx.tensor(0, { dtype: "int64" }), { p: 2 }).toArraySync()).toBe(0);
  });
});
