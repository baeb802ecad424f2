/** Tensors that a call saves, and changes, freezing and second passes before backward(): as in PyTorch 2.15. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

const leaf = (data: dx.TensorData): dx.Tensor => dx.tensor(data, { requiresGrad: true });
const bump = (t: dx.Tensor): dx.Tensor => dx.noGrad(() => t.add_(1));

eachDevice("between forward and backward", (device) => {
  const alone = (body: () => void) => (): Promise<void> => clean(device, body, { collect: true });

  test(
    "a leaf that is frozen in between gets no gradient, one that is not does",
    alone(() => {
      const [w, v] = [leaf([1, 2]), leaf([3, 4])];
      const y = w.mul(v).sum();
      w.requiresGrad_(false);
      y.backward();
      expect(w.grad).toBeNull();
      expect(numbers(v.grad!)).toEqual([1, 2]);
    }),
  );

  test(
    "rmsNorm reads its weight for x's gradient only",
    alone(() => {
      const x = dx.tensor([[1, 2, 4]]);
      const w = leaf([1, 2, 3]);
      const y = dx.rmsNorm(x, [3], w, { eps: 0 }).sum();
      bump(w);
      y.backward();
      const length = Math.sqrt(7);
      numbers(w.grad!).forEach((g, i) => expect(g).toBeCloseTo([1, 2, 4][i]! / length, 5));
      const z = dx.rmsNorm(leaf([[1, 2, 4]]), [3], w).sum();
      bump(w);
      expect(() => z.backward()).toThrow(/in-place operation changed it/);
    }),
  );

  test(
    "instanceNorm saves a copy of its weight",
    alone(() => {
      const [x, w] = [leaf([[[1, 2, 4]]]), leaf([2])];
      const y = dx.instanceNorm(x, w, null, { eps: 0 });
      bump(w);
      y.mul(dx.tensor([1, 0, 0]))
        .sum()
        .backward();
      // Of the weight 2 that was there: twice (1 - 1/3 - n0²/3) r and so on.
      const r = 1 / Math.sqrt(14 / 9);
      const n = [1, 2, 4].map((v) => (v - 7 / 3) * r);
      numbers(x.grad!).forEach((g, i) => expect(g).toBeCloseTo(2 * r * ((i === 0 ? 1 : 0) - 1 / 3 - (n[0]! * n[i]!) / 3), 4));
    }),
  );

  test(
    "mseLoss reads both operands",
    alone(() => {
      for (const index of [0, 1]) {
        const both = [leaf([1, 2]), leaf([3, 5])] as const;
        const y = dx.mseLoss(...both);
        bump(both[index]!);
        expect(() => y.backward()).toThrow(/in-place operation changed it/);
      }
    }),
  );

  test(
    "scatters into slices save nothing: a second pass is right",
    alone(() => {
      const source = leaf([5]);
      const x = leaf([[1, 2]]);
      const results = [
        dx.selectScatter(x, source, 1, 0),
        dx.sliceScatter(x, source.reshape(1, 1), 1, 1, 2),
        dx.diagonalScatter(x, source),
        dx.asStridedScatter(x, source, [1], [1], 1),
      ];
      for (const y of results) {
        x.grad = null;
        source.grad = null;
        y.sum().backward();
        y.sum().backward();
        expect(numbers(source.grad!)).toEqual([2]);
        expect(numbers(x.grad!).toSorted((a, b) => a - b)).toEqual([0, 2]);
      }
    }),
  );

  test(
    "a number written into an expanded tensor, with and without a gradient",
    alone(() => {
      const e = dx.ones([2]).expand(3, 2);
      e.set([":", { start: 0, end: 1 }], -1.5);
      expect(numbers(e)).toEqual([-1.5, 1, -1.5, 1, -1.5, 1]);
      expect(() => e.set([":", { start: 0, end: 1 }], dx.tensor([[1], [2], [3]]))).toThrow(dx.ShapeError);
      const x = leaf([1, 2]);
      const y = x.mul(3).expand(3, 2);
      y.set([0, 1], 7);
      expect(numbers(y)).toEqual([3, 7, 3, 7, 3, 7]);
      y.sum().backward();
      expect(numbers(x.grad!)).toEqual([9, 0]);
    }),
  );

  test(
    "norm of order 0 requires a gradient, and gives none",
    alone(() => {
      const [x, m] = [leaf([1, 0, -2]), leaf([[0, 2]])];
      const y = dx.norm(x.mul(2), 0).add(dx.norm(m, 0, 1).sum());
      expect([y.requiresGrad, numbers(y)]).toEqual([true, [3]]);
      y.backward();
      expect([x.grad, m.grad]).toEqual([null, null]);
    }),
  );

  test(
    "the gradient of groupNorm's bias reads nothing but what comes in",
    alone(() => {
      const [x, w, b] = [
        leaf([
          [
            [1, 2, 4],
            [0, 3, 1],
          ],
        ]),
        leaf([1, 2]),
        leaf([3, 4]),
      ];
      const found = dx.grad(dx.groupNorm(x, 1, w, b).sum(), [x, w, b], { createGraph: true });
      expect(found.map((g) => g!.requiresGrad)).toEqual([true, true, false]);
    }),
  );

  test(
    "second derivatives of norm layers are there, null or zero, as PyTorch's are",
    alone(() => {
      const kinds = (t: dx.Tensor, inputs: readonly dx.Tensor[]): (boolean | null)[] | null =>
        t.requiresGrad
          ? dx
              .grad(t.square().sum(), inputs, { allowUnused: true, retainGraph: true })
              .map((g) => (g === null ? null : Boolean(g.any().itemSync())))
          : null;
      const data = [[[0.5, -1, 2, 0.25], [1.5, 0.5, -2, 1]], [[-1, 3, 0.5, 1], [2, -0.75, 0.25, 0]]]; // prettier-ignore
      const weighed = dx.tensor(data).sin();
      const rows: [dx.nn.Module, (boolean | null)[], (boolean | null)[], (boolean | null)[] | null][] = [
        [dx.nn.groupNorm(1, 2), [true, true, false], [true, false, false], null],
        [dx.nn.instanceNorm1d(2, { affine: true }), [true, true, null], [true, null, null], [null, null, null]],
        [dx.nn.batchNorm1d(2), [true, true, null], [true, null, null], [null, null, null]],
        [dx.nn.layerNorm([4]), [true, true, null], [true, null, null], [null, null, null]],
      ];
      for (const [layer, ...want] of rows) {
        const x = leaf(data);
        const inputs = [x, ...layer.parameters()];
        const first = (): dx.Tensor[] => dx.grad((layer(x) as dx.Tensor).mul(weighed).sum(), inputs, { createGraph: true });
        expect(first().map((t) => kinds(t, inputs))).toEqual(want);
        // A pass of its own leaves the same.
        const of = first()[0]!;
        of.square().sum().backward();
        expect(inputs.map((t) => (t.grad === null ? null : Boolean(t.grad.any().itemSync())))).toEqual(want[0]);
      }
    }),
  );

  test(
    "second derivatives of prelu at 0 and of gridSample are PyTorch's",
    alone(() => {
      const [x, w] = [leaf([0, 1, -2]), leaf([0.25])];
      const [g, gw] = dx.grad(
        dx
          .prelu(x, w)
          .mul(dx.tensor([2, 3, 4]))
          .sum(),
        [x, w],
        { createGraph: true },
      );
      expect([numbers(g), numbers(gw)]).toEqual([[0.5, 3, 1], [-8]]);
      const second = (t: dx.Tensor): number[][] => dx.grad(t.square().sum(), [x, w], { retainGraph: true }).map((d) => numbers(d));
      expect([second(g), second(gw)]).toEqual([[[0, 0, 0], [8]], [[0, 0, -64], [0]]]); // prettier-ignore
      const image = dx.tensor([[[[1, 2], [3, 4]]]], { requiresGrad: true }); // prettier-ignore
      for (const mode of ["bilinear", "nearest", "bicubic"] as const) {
        const loss = dx.gridSample(image, dx.tensor([[[[0.1, -0.2]]]]), { mode }).sum();
        const [first] = dx.grad(loss, [image], { createGraph: true });
        expect(first.requiresGrad).toBe(true);
        expect(dx.grad(first.square().sum(), [image], { allowUnused: true })).toEqual([null]);
      }
    }),
  );

  test(
    "a loss of no rows, and one part of complex numbers, depend on what PyTorch's do",
    alone(() => {
      const x = dx.zeros([0, 3], { requiresGrad: true });
      const none = dx.zeros([0], { dtype: "int64" });
      for (const loss of [
        dx.crossEntropy(x, none, { reduction: "sum" }),
        dx.nllLoss(x, none),
        dx.crossEntropy(x, none, { reduction: "none" }),
      ])
        expect(dx.grad(loss.sum(), [x], { createGraph: true })[0].requiresGrad).toBe(true);
      for (const part of ["real", "imag"] as const) {
        const [a, b] = [leaf([1, 2]), leaf([3, 4])];
        const z = dx.complex(a, b);
        z.mul(2)[part].sum().backward();
        expect([a, b].map((t) => numbers(t.grad!))).toEqual(part === "real" ? [[2, 2], [0, 0]] : [[0, 0], [2, 2]]); // prettier-ignore
      }
    }),
  );

  test(
    "positive(x) is x",
    alone(() => {
      const x = leaf([1]);
      const y = dx.positive(x);
      x.mul(2).backward();
      expect(y).toBe(x);
      expect(() => dx.positive(dx.tensor([true]))).toThrow(dx.DTypeError);
    }),
  );

  test(
    "what takes no element has a gradient of zeros",
    alone(() => {
      const x = leaf([1, 2]);
      const none = dx.zeros([0], { dtype: "int64" });
      const s = leaf([]);
      dx.scatterAdd(x, 0, none, s).sum().backward();
      expect([s.grad!.shape, numbers(x.grad!)]).toEqual([[0], [1, 1]]);
      const [w, b] = [leaf([1, 2]), leaf([3, 4])];
      const empty = dx.zeros([0, 2, 3], { requiresGrad: true });
      for (const norm of [
        () => dx.groupNorm(empty, 1, w, b),
        () => dx.instanceNorm(empty, w, b),
        () => dx.batchNorm(empty, null, null, w, b, { training: true }),
      ]) {
        for (const t of [w, b, empty]) t.grad = null;
        const y = norm();
        expect(y).not.toBe(empty);
        y.sum().backward();
        expect([numbers(w.grad!), numbers(b.grad!), empty.grad!.shape]).toEqual([
          [0, 0],
          [0, 0],
          [0, 2, 3],
        ]);
      }
      const scale = leaf([1, 2, 3]);
      dx.rmsNorm(dx.zeros([0, 3]), [3], scale)
        .sum()
        .backward();
      expect(numbers(scale.grad!)).toEqual([0, 0, 0]);
    }),
  );

  test(
    "a saved output that a view showed has second derivatives when the view is gone",
    alone(() => {
      const x = leaf([1, 2]);
      const y = dx.scope(() => {
        const h = x.mul(2);
        h.select(0, 0).exp_();
        return h.square();
      });
      const [first] = dx.grad(y.sum(), [x], { createGraph: true });
      const [second] = dx.grad(first.sum(), [x]);
      // exp(2x)² = exp(4x), and 4x².
      expect(numbers(first)[0]! / (4 * Math.exp(4))).toBeCloseTo(1, 4);
      expect(numbers(second)[0]! / (16 * Math.exp(4))).toBeCloseTo(1, 4);
      expect([numbers(first)[1], numbers(second)[1]]).toEqual([16, 8]);
    }),
  );
});
