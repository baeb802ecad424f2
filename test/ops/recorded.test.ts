/** Edge cases of many operations, compared with PyTorch 2.15 on the CPU: eagerly, and compiled where the programs differ. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, eachMode, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const t = (v: unknown): dx.Tensor => dx.tensor(v as number[]);
const half = (v: unknown): dx.Tensor => dx.tensor(v as number[], { dtype: "float16" });
const int64 = (v: readonly number[]): dx.Tensor => dx.tensor(v, { dtype: "int64" });
const bytes = (v: unknown): dx.Tensor => dx.tensor(v as number[], { dtype: "uint8" });
const integers = (x: dx.Tensor): number[] => numbers(x).map(Number);

/** What is asked of an operation, its operands, and PyTorch's result in row-major order. */
const ROWS: readonly [string, (...x: dx.Tensor[]) => dx.Tensor, () => dx.Tensor[], readonly number[]][] = [
  [
    "logit with bounds that cross",
    (x) => dx.logit(x!, { eps: 0.6 }),
    () => [t([0.1, 0.5, 0.7, 0.9])],
    [0.40546518, 0.40546518, -0.40546516, -0.40546516],
  ],
  [
    "cosineSimilarity along an axis that is broadcast",
    (a, b) => dx.cosineSimilarity(a!, b!, { axis: -2 }),
    () => [
      t([
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
      ]),
      t([[[1, -1, 2]], [[3, 0, 1]]]),
    ],
    [0.857493, -0.919145, 0.94868326, 0.85749304, 0, 0.94868326],
  ],
  [
    "cosineSimilarity of float16 whose squares overflow",
    (a, b) => dx.cosineSimilarity(a!, b!),
    () => [half([[30, -40, 25]]), half([[20, 30, -50]])],
    // float64 gives -0.536845; PyTorch rounds the lengths as well: -0.5371.
    [-0.53662109],
  ],
  [
    "softplus of a negative beta",
    (x) => dx.softplus(x!, { beta: -1, threshold: 0.2 }),
    () => [t([3.6, -2, 0.5])],
    [-0.026957095, -2, -0.474077],
  ],
  [
    "round of float16 to more digits than it has",
    (x) => dx.round(x!, { decimals: 7 }),
    () => [half([-8.4765625, 0.33325195])],
    [-8.4765625, 0.33325195],
  ],
  [
    "pixels halved",
    (x) => dx.interpolate(x!, { size: [2, 2], mode: "bilinear" }),
    () => [
      bytes([
        [
          [
            [5, 1, 6, 5],
            [6, 4, 2, 5],
            [3, 3, 2, 9],
            [7, 3, 1, 2],
          ],
        ],
      ]),
    ],
    [4, 5, 4, 4],
  ],
  [
    "localResponseNorm of integers",
    (x) => dx.localResponseNorm(x!, 2, { alpha: 0.1, k: 1.25, beta: 0.5 }),
    () => [
      dx.tensor(
        [
          [
            [-8, 6],
            [9, 0],
            [5, 7],
          ],
        ],
        { dtype: "int32" },
      ),
    ],
    [-3.7923636, 3.4355898, 3.0960939, 0, 1.9536616, 3.6639674],
  ],
  [
    "multiMarginLoss of one sample in a batch's shape",
    (x, y) => dx.multiMarginLoss(x!, y!, { reduction: "none" }),
    () => [t([0.1, 0.7, 0.3]), int64([1])],
    [0.33333334],
  ],
  ["pairwiseDistance of order -1", (a, b) => dx.pairwiseDistance(a!, b!, { p: -1 }), () => [t([1, 2, 3]), t([4, 0, 1])], [0.75000018]],
  ["pairwiseDistance of integers", (a, b) => dx.pairwiseDistance(a!, b!), () => [int64([1, 2, 3]), int64([4, 0, 1])], [4.123106]],
  ["mseLoss against integers", (a, b) => dx.mseLoss(a!, b!), () => [t([1.5, 2]), int64([1, 4])], [2.125]],
  ["l1Loss against integers", (a, b) => dx.l1Loss(a!, b!), () => [t([1.5, 2]), int64([1, 4])], [1.25]],
  [
    "embeddingBag of float16, summed in float32",
    (i, w, s) => dx.embeddingBag(i!, w!, { offsets: int64([0]), mode: "sum", perSampleWeights: s }),
    () => [
      int64([1, 0, 2]),
      half([
        [3.27, -3.9],
        [2.82, -4.7],
        [4.16, 1.82],
      ]),
      half([5.1, 1.13, 4.95]),
    ],
    [38.65625, -19.375],
  ],
  [
    "cov of float16 with weights of float32",
    (x, w) => dx.cov(x!, { aweights: w }),
    () => [
      half([
        [1, 2, 4],
        [3, 1, 0],
      ]),
      t([0.5, 0.25, 1]),
    ],
    [3.2142859, -3, -3, 3],
  ],
  [
    "linalg.choleskySolve",
    (b, l) => dx.linalg.choleskySolve(b!, l!),
    () => [
      t([[1], [2]]),
      t([
        [2, 0],
        [1, 3],
      ]),
    ],
    [0.16666666, 0.16666667],
  ],
];

eachMode("as PyTorch", (device, mode) => {
  for (const [name, run, operands, wanted] of ROWS)
    test(name, () => {
      // Some drivers' CAST cuts off what a float16 has no digits for.
      const rtol = device !== "cpu" && name.includes("float16") ? 1e-3 : 1e-5;
      expectClose(mode.run(run, ...operands()), wanted, { rtol, atol: 1e-6 });
    });

  test("shifts by less than nothing, and by all bits and more", () => {
    const a = (): dx.Tensor => int64([-5, 7, -5, 7, -5]);
    const by = (): dx.Tensor => int64([-1, -1, 64, 64, 2]);
    expect(integers(mode.run((x, s) => dx.bitwiseLeftShift(x!, s!), a(), by()))).toEqual([0, 0, 0, 0, -20]);
    expect(integers(mode.run((x, s) => dx.bitwiseRightShift(x!, s!), a(), by()))).toEqual([-1, 0, -1, 0, -2]);
    expect(integers(mode.run((x, s) => dx.bitwiseLeftShift(x!, s!), bytes([200, 7]), bytes([8, 2])))).toEqual([0, 28]);
    expect(integers(mode.run((x, s) => dx.bitwiseRightShift(x!, s!), bytes([200, 7]), bytes([8, 2])))).toEqual([0, 1]);
  });
});

eachDevice("gradients as PyTorch's", (device) => {
  const gradients = (run: (...x: dx.Tensor[]) => dx.Tensor, inputs: readonly dx.Tensor[], gradient?: dx.Tensor): dx.Tensor[] => {
    const leaves = inputs.map((x) => x.requiresGrad_());
    return dx.grad([run(...leaves)], leaves, gradient === undefined ? {} : { gradient: [gradient] }).map((g) => g!);
  };

  test("a NaN lets the gradient through elu, selu and celu", () => {
    const at = (): dx.Tensor => t([NaN, -1, 2]);
    expectClose(gradients((x) => dx.elu(x!), [at()], t([2, 3, 4]))[0]!, [2, 1.1036384, 4], { rtol: 1e-6, atol: 1e-6 });
    expectClose(gradients((x) => dx.selu(x!), [at()], t([2, 3, 4]))[0]!, [2.101402, 1.9403057, 4.2028041], { rtol: 1e-6, atol: 1e-6 });
    expectClose(gradients((x) => dx.celu(x!), [at()], t([2, 3, 4]))[0]!, [2, 1.1036384, 4], { rtol: 1e-6, atol: 1e-6 });
  });

  test("softplus of a negative beta", () => {
    expectClose(
      gradients((x) => dx.softplus(x!, { beta: -1, threshold: 0.2 }), [t([3.6, -2, 0.5])], t([1, 1, 1]))[0]!,
      [0.026596995, 1, 0.37754068],
      { rtol: 1e-5, atol: 1e-6 },
    );
  });

  test("residuals of least squares have gradients, and those of no unknowns are all of B", () => {
    const run = (a: dx.Tensor, b: dx.Tensor): dx.Tensor => {
      const { solution, residuals } = dx.linalg.lstsq(a, b, { driver: "gels" });
      return dx.add(solution.sum(), dx.mul(residuals.sum(), 2));
    };
    const [da, db] = gradients(
      (a, b) => run(a!, b!),
      [
        t([
          [1, 2],
          [3, 5],
          [2, 1],
        ]),
        t([[1], [2], [4]]),
      ],
    );
    expectClose(da!, [-5.8032184, 2.4205692, 2.1335759, -0.88968432, -1.5360588, 0.6411974], { rtol: 1e-4, atol: 1e-4 });
    expectClose(db!, [2.3898311, -0.88135356, 0.62712109], { rtol: 1e-4, atol: 1e-4 });
    const { residuals } = dx.linalg.lstsq(dx.zeros([3, 0]), t([[1], [2], [3]]), { driver: "gelss" });
    expect(integers(residuals)).toEqual([14]);
  });

  test("a Cholesky factor counts with both triangles", () => {
    const b = (): dx.Tensor => t([[1], [2]]);
    const [db, dl] = gradients(
      (x, l) => dx.linalg.choleskySolve(x!, l!),
      [
        b(),
        t([
          [2, 0],
          [1, 3],
        ]),
      ],
      b(),
    );
    expectClose(dl!, [-1 / 6, -1 / 6, -1 / 6, -1 / 6], { rtol: 1e-5, atol: 1e-6 });
    expectClose(db!, [1 / 6, 1 / 6], { rtol: 1e-5, atol: 1e-6 });
    const [, du] = gradients(
      (x, u) => dx.linalg.choleskySolve(x!, u!, { upper: true }),
      [
        b(),
        t([
          [2, 1],
          [0, 3],
        ]),
      ],
      b(),
    );
    expectClose(du!, [-1 / 6, -1 / 6, -1 / 6, -1 / 6], { rtol: 1e-5, atol: 1e-6 });
  });

  test("singular values alone have gradients where they are equal", () => {
    const [d] = gradients((x) => dx.linalg.norm(x!, -2), [dx.zeros([3, 3])]);
    expectClose(d!, [1 / 3, 0, 0, 0, 1 / 3, 0, 0, 0, 1 / 3], { rtol: 1e-6, atol: 1e-6 });
  });

  test("a product over an axis of a tensor without elements", () => {
    const x = dx.zeros([0, 3, 2]).requiresGrad_();
    expect(dx.grad([dx.prod(x, 1).sum()], [x])[0]!.shape).toEqual([0, 3, 2]);
  });

  test("emptyPermuted lies in the order that is asked for", () => {
    expect(dx.emptyPermuted([2, 3, 4], [1, 0, 2]).strides).toEqual([4, 8, 1]);
    expect(() => dx.emptyPermuted([2, 3], [0, 0])).toThrow(dx.ValueError);
    expect(() => dx.emptyPermuted([2, 3], [0])).toThrow(dx.ValueError);
  });

  test("what PyTorch refuses", () => {
    const refused: (() => unknown)[] = [
      () => dx.inner(t([[1], [2]]), t([1, 2])),
      () => dx.inner(t([1, 2]), int64([1, 2])),
      () => dx.tensordot(t([1, 2]), int64([1, 2]), 1),
      () => dx.vecdot(int64([1, 2]), int64([1, 2])),
      () => dx.cross(t([1, 2, 3]), int64([1, 2, 3])),
      () => dx.addmv(int64([1]), t([[1, 2]]), t([1, 2])),
      () => dx.histogramdd(dx.ones([2, 2, 1]), [2], { weight: dx.ones([4]) }),
      () => dx.masked.amax(dx.tensor([true, false]), null, { mask: dx.tensor([true, true]) }),
      () => dx.squeeze(dx.ones([1, 2]), [0, 0]),
      () => dx.nanmean(int64([1, 2])),
      () => dx.topk(dx.tensor([true, false]), 1),
      () => dx.trapezoid(dx.tensor([true, false])),
      () => dx.cov(dx.tensor([true, false])),
      () => dx.prelu(t([1, 2]), int64([1])),
      () => dx.layerNorm(t([1, 2]), [2], int64([1, 1])),
      () => dx.takeAlongAxis(dx.ones([5, 3]), dx.zeros([2, 3], { dtype: "int64" }), 1),
      () => dx.masked.sum(t([1, 2]), null, { mask: dx.tensor([[true, true]]) }),
    ];
    for (const call of refused) expect(call).toThrow(dx.DxError);
  });

  test.runIf(device === "cpu")("what PyTorch refuses by its numbers", () => {
    const refused: (() => unknown)[] = [
      () => dx.multinomial(t([0, 0]), 1),
      () => dx.multinomial(t([1, NaN]), 1),
      () => dx.multinomial(t([1, -1]), 1),
      () => dx.binaryCrossEntropy(t([1.5]), t([1])),
      () => dx.floorDivide(int64([1, 2]), int64([1, 0])),
      () => dx.remainder(int64([1, 2]), int64([0, 1])),
      () => dx.fmod(int64([1, 2]), int64([0, 1])),
      () => dx.div(int64([1, 2]), int64([0, 1]), { roundingMode: "trunc" }),
      () => dx.cov(t([1, 2]), { aweights: t([1, -1]) }),
    ];
    for (const call of refused) expect(call).toThrow(dx.ValueError);
    expect(integers(dx.div(int64([4]), int64([0])))).toEqual([Infinity]);
  });

  test("operands of another dtype are cast to the target's", () => {
    expect(integers(dx.selectScatter(dx.zeros([2, 2]), int64([3, 4]), 0, 1))).toEqual([0, 0, 3, 4]);
    expect(integers(dx.masked.sum(t([1, 2, 3]), null, { mask: t([1, 0, 2]) }))).toEqual([4]);
    expect(integers(dx.full([2], -8.5, { dtype: "int64" }))).toEqual([-8, -8]);
    expect(numbers(dx.masked.amax(dx.tensor([true, false]))).map(Boolean)).toEqual([true]);
  });
});
