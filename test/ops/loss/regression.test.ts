/** Losses, embeddings and dropout against their definitions in float64. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice, clean, eachMode, numbers } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

const count = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
const wave = (shape: readonly number[], seed = 1): dx.Tensor =>
  dx.tensor(
    Float32Array.from({ length: count(shape) }, (_, i) => Math.sin(seed + 1.7 * i) * 2),
    { shape },
  );
const total = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);

const PAIRS: readonly [string, (x: dx.Tensor, t: dx.Tensor, o: dx.LossOptions) => dx.Tensor, (x: number, t: number) => number][] = [
  ["mseLoss", dx.mseLoss, (x, t) => (x - t) ** 2],
  ["l1Loss", dx.l1Loss, (x, t) => Math.abs(x - t)],
  [
    "smoothL1Loss",
    (x, t, o) => dx.smoothL1Loss(x, t, { ...o, beta: 0.5 }),
    (x, t) => (Math.abs(x - t) < 0.5 ? (x - t) ** 2 : Math.abs(x - t) - 0.25),
  ],
  [
    "huberLoss",
    (x, t, o) => dx.huberLoss(x, t, { ...o, delta: 0.5 }),
    (x, t) => (Math.abs(x - t) < 0.5 ? (x - t) ** 2 / 2 : 0.5 * (Math.abs(x - t) - 0.25)),
  ],
  ["binaryCrossEntropyWithLogits", dx.binaryCrossEntropyWithLogits, (x, t) => (1 - t) * x + Math.log1p(Math.exp(-x))],
];

eachMode("loss", (device, mode) => {
  test.each(PAIRS)("%s", (_name, fn, reference) =>
    clean(
      device,
      () => {
        const [x, t] = [wave([3, 4]), wave([3, 4], 5).sigmoid()];
        const want = numbers(x).map((v, i) => reference(v, numbers(t)[i]!));
        expectClose(
          mode.run((a, b) => fn(a, b, { reduction: "none" }), x, t),
          want,
        );
        expectClose(
          mode.run((a, b) => fn(a, b, { reduction: "sum" }), x, t),
          [total(want)],
        );
        expectClose(
          mode.run((a, b) => fn(a, b, {}), x, t),
          [total(want) / 12],
        );
        expect(
          dx.gradcheck((a, b) => fn(a, b, { reduction: "sum" }), [x.requiresGrad_(), t.detach().requiresGrad_()], {
            step: 0.005,
            absolute: 5e-3,
          }),
        ).toBe(true);
        expect(() => fn(x, t, { reduction: "all" as "sum" })).toThrow(/reduction must be "mean", "sum" or "none"/);
      },
      { collect: true },
    ),
  );

  test("binaryCrossEntropy bounds the logarithms; klDiv takes zeros", () =>
    clean(
      device,
      () => {
        expectClose(
          mode.run((a, b) => dx.binaryCrossEntropy(a, b, { reduction: "none" }), dx.tensor([0, 1, 0.25]), dx.tensor([1, 1, 0.5])),
          [100, 0, -(Math.log(0.25) + Math.log(0.75)) / 2],
        );
        expect(
          dx.gradcheck((a) => dx.binaryCrossEntropy(a, dx.tensor([0.2, 0.9])), [dx.tensor([0.4, 0.7]).requiresGrad_()], { step: 0.01 }),
        ).toBe(true);
        expectClose(
          mode.run((a, b) => dx.klDiv(a, b, { reduction: "none" }), dx.tensor([-1, -2]), dx.tensor([0, 0.5])),
          [0, 0.5 * (Math.log(0.5) + 2)],
        );
        expectClose(
          mode.run((a, b) => dx.klDiv(a, b, { logTarget: true, reduction: "sum" }), dx.tensor([-1, -2]), dx.tensor([-0.5, -3])),
          [Math.exp(-0.5) * 0.5 - Math.exp(-3)],
        );
      },
      { collect: true },
    ));

  const logs = (row: readonly number[]): number[] => {
    const top = Math.max(...row);
    const sum = Math.log(total(row.map((v) => Math.exp(v - top)))) + top;
    return row.map((v) => v - sum);
  };

  test.each([
    [[4, 5], "int32"],
    [[4, 5], "int64"],
    [[2, 3, 2, 2], "int32"],
    [[5], "int32"],
  ] as const)("crossEntropy of %j with %s classes", (shape, dtype) =>
    clean(
      device,
      () => {
        const x = wave(shape);
        const classes = shape.length === 1 ? shape[0] : shape[1]!;
        const inner = count(shape.slice(2));
        const outer = shape.length === 1 ? 1 : shape[0];
        const chosen = Array.from({ length: outer * inner }, (_, i) => (i * 2) % classes);
        if (shape.length > 1) chosen[1] = -100;
        const target = dx.tensor(chosen, { dtype, shape: shape.length === 1 ? [] : [shape[0], ...shape.slice(2)] });
        const weights = Array.from({ length: classes }, (_, i) => 0.5 + i / 4);
        const values = numbers(x);
        const rows = chosen.map((_, i) =>
          logs(Array.from({ length: classes }, (_v, c) => values[(Math.floor(i / inner) * classes + c) * inner + (i % inner)]!)),
        );
        const counted = chosen.map((c) => (c < 0 ? 0 : 1));
        for (const smoothing of [0, 0.2])
          for (const weighted of [false, true]) {
            const w = (c: number): number => (weighted ? weights[c]! : 1);
            const each = chosen.map((c, i) =>
              c < 0 ? 0 : -(1 - smoothing) * w(c) * rows[i]![c]! - (smoothing / classes) * total(rows[i]!.map((v, k) => w(k) * v)),
            );
            const options = (t: dx.Tensor | null): dx.CrossEntropyOptions => ({ labelSmoothing: smoothing, weight: weighted ? t : null });
            const wt = dx.tensor(weights);
            expectClose(
              mode.run((a, t, v) => dx.crossEntropy(a, t, { ...options(v), reduction: "none" }), x, target, wt),
              each,
            );
            expectClose(
              mode.run((a, t, v) => dx.crossEntropy(a, t, { ...options(v), reduction: "sum" }), x, target, wt),
              [total(each)],
            );
            expectClose(
              mode.run((a, t, v) => dx.crossEntropy(a, t, options(v)), x, target, wt),
              [total(each) / total(chosen.map((c, i) => counted[i]! * w(Math.max(c, 0))))],
            );
            for (const reduction of ["mean", "sum", "none"] as const)
              expect(dx.gradcheck((a) => dx.crossEntropy(a, target, { ...options(wt), reduction }), [x.detach().requiresGrad_()])).toBe(
                true,
              );
          }
      },
      { collect: true },
    ),
  );

  test("crossEntropy with probabilities", () =>
    clean(
      device,
      () => {
        const x = wave([3, 4]);
        const t = dx.softmax(wave([3, 4], 3), 1);
        const p = numbers(t);
        const each = [0, 1, 2].map(
          (i) => -total(logs(numbers(x).slice(4 * i, 4 * i + 4)).map((v, c) => v * (0.9 * p[4 * i + c]! + 0.1 / 4))),
        );
        expectClose(
          mode.run((a, b) => dx.crossEntropy(a, b, { labelSmoothing: 0.1 }), x, t),
          [total(each) / 3],
        );
        expect(dx.gradcheck((a) => dx.crossEntropy(a, t), [x.requiresGrad_()])).toBe(true);
      },
      { collect: true },
    ));

  test("an infinite loss of another class does not spoil the sum, and the mean of nothing is NaN", () =>
    clean(device, () => {
      const x = dx.tensor([[-Infinity, 0, 0]]);
      expectClose(
        mode.run((a, t) => dx.nllLoss(dx.logSoftmax(a, 1), t), x, dx.tensor(Int32Array.of(1))),
        [Math.log(2)],
      );
      expectClose(
        mode.run((a, t) => dx.nllLoss(a, t), dx.ones([1, 3]), dx.tensor(Int32Array.of(-100))),
        [NaN],
      );
      expectClose(
        mode.run(
          (a, t) => dx.nllLoss(a, t, { ignoreIndex: 2, reduction: "sum" }),
          dx.tensor([
            [1, 2, 4],
            [1, 2, 4],
          ]),
          dx.tensor(Int32Array.of(2, 0)),
        ),
        [-1],
      );
    }));

  test("positions that do not count have no gradient, even where none counts", () =>
    clean(device, () => {
      const gradient = mode.run(
        (a, t) => {
          const x = a.detach().requiresGrad_();
          return dx.grad(dx.crossEntropy(x, t), [x])[0]!;
        },
        dx.tensor([[1, 2, 3]]),
        dx.tensor(Int32Array.of(-100)),
      );
      expect(numbers(gradient)).toEqual([0, 0, 0]);
    }));

  test.each([
    ["[N, C]", [2, 3], [2]],
    ["[C]", [3], []],
    ["[N, C, d1]", [1, 3, 2], [1, 2]],
  ] as const)("crossEntropy with labelSmoothing of %s where no position counts has a gradient of 0", (_name, shape, targetShape) =>
    clean(device, () => {
      const x = wave(shape);
      for (const ignoreIndex of [-100, 1])
        for (const weighted of [false, true])
          for (const reduction of ["mean", "sum", "none"] as const) {
            const target = dx.full(targetShape, ignoreIndex, { dtype: "int32" });
            const [loss, gradient] = mode.run(
              (a, t, w) => {
                const leaf = a.detach().requiresGrad_();
                const weight = weighted ? w : null;
                const y = dx.crossEntropy(leaf, t, { labelSmoothing: 0.1, ignoreIndex, weight, reduction });
                return [y.detach(), dx.grad(y.sum(), [leaf])[0]!] as const;
              },
              x,
              target,
              dx.tensor([0.5, 1, 2]),
            );
            expect(new Set(numbers(loss))).toEqual(new Set([reduction === "mean" ? NaN : 0]));
            expect(numbers(gradient).every((v) => v === 0)).toBe(true);
          }
    }),
  );

  test("crossEntropy with labelSmoothing takes no infinity from a position that does not count", () =>
    clean(device, () => {
      const [loss, gradient] = mode.run(
        (a, t) => {
          const leaf = a.detach().requiresGrad_();
          const y = dx.crossEntropy(leaf, t, { labelSmoothing: 0.1 });
          return [y.detach(), dx.grad(y, [leaf])[0]!] as const;
        },
        dx.tensor([
          [-Infinity, 0, 0],
          [1, 2, 4],
        ]),
        dx.tensor(Int32Array.of(-100, 2)),
      );
      expectClose(loss, [0.3365127146]);
      expectClose(gradient, [
        [0, 0, 0],
        [0.0086767301, 0.0808618665, -0.0895386338],
      ]);
    }));

  test("smoothL1Loss and huberLoss of infinite differences have PyTorch's values and gradients", () =>
    clean(device, () => {
      const x = dx.tensor([Infinity, -Infinity, Infinity, NaN, 1e20, 0.25, -3, 0, 0.5]);
      const t = dx.tensor([0, 0, Infinity, 0, 0, 0, 0, 0, 0]);
      const slope = [1, -1, NaN, NaN, 1, 0.5, -1, 0, 1];
      const halves = (values: readonly number[]): number[] => values.map((v) => v / 2);
      const values = [Infinity, Infinity, NaN, NaN, 1e20, 0.0625, 2.75, 0, 0.25];
      for (const [fn, want, first] of [
        [(a: dx.Tensor, b: dx.Tensor) => dx.smoothL1Loss(a, b, { beta: 0.5, reduction: "none" }), values, slope],
        [(a: dx.Tensor, b: dx.Tensor) => dx.huberLoss(a, b, { delta: 0.5, reduction: "none" }), halves(values), halves(slope)],
      ] as const) {
        const [y, dx0, dt] = mode.run(
          (a, b) => {
            const [p, q] = [a.detach().requiresGrad_(), b.detach().requiresGrad_()];
            const loss = fn(p, q);
            return [loss.detach(), ...dx.grad(loss.sum(), [p, q])] as const;
          },
          x,
          t,
        );
        expectClose(y, want);
        expectClose(dx0!, first);
        expectClose(
          dt!,
          first.map((v) => -v),
        );
      }
      expectClose(
        mode.run(
          (a, b) => dx.smoothL1Loss(a, b, { reduction: "none" }),
          dx.tensor([1, 4], { dtype: "float16" }),
          dx.tensor(Int32Array.of(0, 1)),
        ),
        [0.5, 2.5],
      );
    }));

  test("poissonNllLoss gives NaN back to a target that is", () =>
    clean(device, () => {
      const gradient = mode.run(
        (x, target) => {
          const leaf = target.detach().requiresGrad_();
          return dx.grad(dx.poissonNllLoss(x, leaf, { full: true, reduction: "sum" }), [leaf])[0]!;
        },
        dx.tensor([0, 1, 1, 1, 0]),
        dx.tensor([NaN, 2, 0.5, 5, 3]),
      );
      expectClose(gradient, [NaN, -0.0568528175, -1, 0.7094379663, 1.2652789354]);
    }));

  test("embedding reads rows and adds their gradients up, except the padding's", () =>
    clean(
      device,
      () => {
        const table = wave([5, 3]);
        const indices = dx.tensor(Int32Array.of(4, 0, 4, 2), { shape: [2, 2] });
        const rows = numbers(table);
        const y = mode.run((i, t) => dx.embedding(i, t), indices, table);
        expect(y.shape).toEqual([2, 2, 3]);
        expectClose(
          y,
          [4, 0, 4, 2].flatMap((r) => rows.slice(3 * r, 3 * r + 3)),
        );
        expectClose(
          mode.run((i, t) => dx.embedding(i, t), indices.to("int64"), table),
          numbers(y),
        );
        expect(dx.gradcheck((t) => dx.embedding(indices, t), [table.requiresGrad_()])).toBe(true);
        const grad = mode.run(
          (i, t) => {
            const leaf = t.detach().requiresGrad_();
            return dx.grad(dx.embedding(i, leaf, { paddingIdx: -1 }).sum(), [leaf])[0]!;
          },
          indices,
          table,
        );
        expectClose(grad, [1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0]);
        expect(() => dx.embedding(dx.ones([2]), table)).toThrow(dx.DTypeError);
        expect(() => dx.embedding(indices, dx.ones([3]))).toThrow(dx.ShapeError);
        expect(() => dx.embedding(indices, table, { paddingIdx: 5 })).toThrow(dx.ValueError);
      },
      { collect: true },
    ));

  test("dropout leaves out the asked share, scales the rest, and its gradient uses the same mask", () =>
    clean(
      device,
      () => {
        const generator = new dx.Generator(7);
        const x = dx.ones([10000]).requiresGrad_();
        const y = dx.dropout(x, { p: 0.3, generator });
        const values = numbers(y);
        const kept = values.filter((v) => v !== 0);
        expect(Math.abs(kept.length / 10000 - 0.7)).toBeLessThan(0.02);
        expect(kept.every((v) => Math.abs(v - 1 / 0.7) < 1e-5)).toBe(true);
        expect(numbers(dx.grad(y.sum(), [x])[0]!)).toEqual(values);
        expect(numbers(dx.dropout(x, { p: 0.3, generator }))).not.toEqual(values);
        expect(numbers(dx.dropout(x, { p: 0.3, generator: new dx.Generator(7) }))).toEqual(values);
        expect(dx.dropout(x, { p: 0.3, training: false })).toBe(x);
        expect(numbers(dx.dropout(dx.ones([3]), { p: 1, generator }))).toEqual([0, 0, 0]);
        const whole = numbers(dx.dropoutChannels(dx.ones([8, 8, 5]), { p: 0.5, generator }));
        for (let i = 0; i < 64; i++) expect(new Set(whole.slice(5 * i, 5 * i + 5)).size).toBe(1);
        expect(() => dx.dropout(x, { p: 1.5 })).toThrow(/p must be in \[0, 1\]/);
      },
      { collect: true },
    ));

  test("what does not fit is refused", () =>
    clean(device, () => {
      const x = dx.ones([2, 3]);
      expect(() => dx.crossEntropy(x, dx.tensor(Int32Array.of(0)))).toThrow(/target must be \[2\] for x \[N, C, \.\.\.\]/);
      expect(() => dx.crossEntropy(x, dx.tensor(Int8Array.of(0, 1)))).toThrow(dx.DTypeError);
      expect(() => dx.crossEntropy(x, dx.tensor(Int32Array.of(0, 1)), { weight: dx.ones([2]) })).toThrow(
        /weight must be \[3\], one for each class/,
      );
      expect(() => dx.crossEntropy(x, dx.tensor(Int32Array.of(0, 1)), { labelSmoothing: 2 })).toThrow(dx.ValueError);
      expect(() => dx.crossEntropy(x, dx.ones([3, 2]))).toThrow(dx.ShapeError);
      expect(() => dx.mseLoss(x, dx.ones([2, 3], { dtype: "bool" }))).toThrow(dx.DTypeError);
      expect(() => dx.binaryCrossEntropy(x, dx.ones([3]))).toThrow(dx.ShapeError);
    }));
});

eachDevice("gradients of loss", (device) => {
  test("gradients of gradients of nllLoss", () =>
    clean(
      device,
      () => {
        const target = dx.tensor(Int32Array.of(1, 2));
        const twice = (a: dx.Tensor): dx.Tensor =>
          dx.enableGrad(() => {
            const p = a.requiresGrad ? a : a.detach().requiresGrad_();
            return dx.grad(dx.crossEntropy(p, target).square(), [p], { createGraph: true })[0]!;
          });
        expect(dx.gradcheck(twice, [wave([2, 3]).requiresGrad_()])).toBe(true);
      },
      { collect: true },
    ));
});

test("softMarginLoss has no gradient for its labels, and says so before backward does", () => {
  const y = dx.tensor([1, -1]).requiresGrad_();
  expect(() => dx.softMarginLoss(dx.ones([2]), y)).toThrow(/softMarginLoss: y must be labels that require no gradient/);
  expect(dx.noGrad(() => dx.softMarginLoss(dx.ones([2]), y)).requiresGrad).toBe(false);
});
