/** Gradients where a function has a kink, a tie or a pole. PyTorch 2.15 gave the expected numbers. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachMode, numbers } from "../device.ts";

const F = dx.nn.functional;
const { NaN: nan, Infinity: inf } = globalThis;

interface Kink {
  readonly name: string;
  readonly inputs: readonly (readonly number[] | readonly (readonly number[])[])[];
  readonly of: (...inputs: dx.Tensor[]) => dx.Tensor;
  /** The gradient of each input, flat, for a gradient of ones. */
  readonly gradients: readonly (readonly number[])[];
}

/** Each x with each limit, and the gradients of both. */
const limits = (rows: readonly (readonly [x: number, edge: number, dx: number, dEdge: number])[]): Pick<Kink, "inputs" | "gradients"> => ({
  inputs: [rows.map((r) => r[0]), rows.map((r) => r[1])],
  gradients: [rows.map((r) => r[2]), rows.map((r) => r[3])],
});

const KINKS: readonly Kink[] = [
  { name: "clamp to numbers", inputs: [[-0.5, 0.25, nan, 0, -1, 1]], of: (x) => dx.clamp(x, -0.5, 0.25), gradients: [[0, 0, 0, 1, 0, 0]] },
  { name: "clamp to one number", inputs: [[0.25, 0, 1]], of: (x) => dx.clamp(x, 0.25, 0.25), gradients: [[0, 0, 0]] },
  { name: "clamp to numbers that crossed", inputs: [[0.25, 0, -0.5]], of: (x) => dx.clamp(x, 0.25, -0.5), gradients: [[0, 0, 0]] },
  { name: "clampMin by a number", inputs: [[-0.5, 0.25, nan, -1]], of: (x) => dx.clampMin(x, -0.5), gradients: [[0, 1, 0, 0]] },
  { name: "clampMax by a number", inputs: [[-0.5, 0.25, nan, 1]], of: (x) => dx.clampMax(x, 0.25), gradients: [[1, 0, 0, 0]] },
  {
    name: "maximum",
    ...limits([
      [0, 0, 0.5, 0.5],
      [1, nan, 1, 1],
      [nan, 1, 1, 1],
      [2, 1, 1, 0],
    ]),
    of: (a, b) => dx.maximum(a, b),
  },
  {
    name: "minimum",
    ...limits([
      [0, 0, 0.5, 0.5],
      [1, nan, 1, 1],
      [nan, 1, 1, 1],
      [2, 1, 0, 1],
    ]),
    of: (a, b) => dx.minimum(a, b),
  },
  {
    name: "fmax",
    ...limits([
      [0, 0, 0.5, 0.5],
      [1, nan, 1, 0],
      [nan, 1, 0, 1],
      [nan, nan, 1, 0],
    ]),
    of: (a, b) => dx.fmax(a, b),
  },
  {
    name: "fmin",
    ...limits([
      [0, 0, 0.5, 0.5],
      [1, nan, 1, 0],
      [nan, 1, 0, 1],
      [nan, nan, 1, 0],
    ]),
    of: (a, b) => dx.fmin(a, b),
  },
  {
    name: "atan2 at the origin",
    ...limits([
      [0, 0, 0, 0],
      [1, 0, 0, -1],
    ]),
    of: (y, x) => dx.atan2(y, x),
  },
  {
    name: "clamp to two tensors",
    inputs: [
      [2, 0, 0, -1, 0, -1, 1, nan, nan, 0],
      [0, 0, 0, 0, 1, 0, nan, 1, 0, -1],
      [2, 2, 0, 0, 0, nan, 1, 0, 1, nan],
    ],
    of: (x, min, max) => dx.clamp(x, min, max),
    gradients: [
      [0.5, 0.5, 1, 0, 0, 0, 1, 1, 1, 1],
      [0, 0.5, 0, 1, 0, 0, 0, 0, 0, 0],
      [0.5, 0, 0, 0, 1, 0, 0, 1, 0, 0],
    ],
  },
  ...(["max", "min", "median", "nanmedian"] as const).map((n): Kink => ({
    name: `${n} of all, with NaN`,
    inputs: [[1, nan, 2, nan]],
    of: (x) => dx[n](x),
    gradients: [n === "nanmedian" ? [1, 0, 0, 0] : [0, 0.5, 0, 0.5]],
  })),
  { name: "max of all, of an infinite gradient", inputs: [[1, 3, 3]], of: (x) => dx.max(x).mul(inf), gradients: [[0, inf, inf]] },
  { name: "median of infinities", inputs: [[-inf, -inf, 1]], of: (x) => dx.median(x), gradients: [[0.5, 0.5, 0]] },
  { name: "prod with NaN", inputs: [[2, nan, 3]], of: (x) => dx.prod(x), gradients: [[nan, nan, nan]] },
  { name: "prod with infinity", inputs: [[2, inf, 3]], of: (x) => dx.prod(x, 0), gradients: [[inf, nan, inf]] },
  { name: "prod with NaN and zero", inputs: [[0, nan, 3]], of: (x) => dx.prod(x, 0), gradients: [[nan, 0, nan]] },
  {
    name: "prod of rows, one of which has a zero",
    inputs: [
      [
        [2, inf, 3],
        [0, 2, 5],
      ],
    ],
    of: (x) => dx.prod(x, 1),
    gradients: [[inf, 6, inf, 10, 0, 0]],
  },
  { name: "cumprod with infinity", inputs: [[2, inf, 3]], of: (x) => dx.cumprod(x, 0), gradients: [[inf, nan, inf]] },
  { name: "cumprod with NaN", inputs: [[2, nan, 3]], of: (x) => dx.cumprod(x, 0), gradients: [[nan, nan, nan]] },
  { name: "cumprod with NaN behind zero", inputs: [[2, 0, nan]], of: (x) => dx.cumprod(x, 0), gradients: [[1, nan, 0]] },
  { name: "cumprod with two zeros and infinity", inputs: [[2, 0, 3, 0, inf]], of: (x) => dx.cumprod(x, 0), gradients: [[1, 8, 0, 0, 0]] },
  { name: "cumprod of one element", inputs: [[nan]], of: (x) => dx.cumprod(x, 0), gradients: [[1]] },
  { name: "var with infinity", inputs: [[1, -inf, 2]], of: (x) => dx.var(x), gradients: [[inf, nan, inf]] },
  { name: "var with NaN", inputs: [[1, nan, 2]], of: (x) => dx.var(x), gradients: [[nan, nan, nan]] },
  { name: "var of one element", inputs: [[1]], of: (x) => dx.var(x), gradients: [[nan]] },
  { name: "std with infinity", inputs: [[1, inf, 2]], of: (x) => dx.std(x), gradients: [[nan, nan, nan]] },
  { name: "logcumsumexp with infinity", inputs: [[1, inf, 2]], of: (x) => dx.logcumsumexp(x, 0), gradients: [[1, nan, 0]] },
  {
    name: "logcumsumexp with negative infinity",
    inputs: [[-inf, 1, -inf, 2]],
    of: (x) => dx.logcumsumexp(x, 0),
    gradients: [[nan, 2.2689414, 0, 0.731058538]],
  },
  {
    name: "nanToNum",
    inputs: [[inf, -inf, nan, 3]],
    of: (x) => dx.nanToNum(x, { nan: 2 }).mul(dx.tensor([inf, 1, inf, 1], { device: x.device })),
    gradients: [[nan, 0, nan, 1]],
  },
  { name: "nansum of an infinite gradient", inputs: [[nan, 1]], of: (x) => dx.nansum(x).mul(inf), gradients: [[nan, inf]] },
  {
    name: "xlogy of an infinite gradient and zero",
    inputs: [
      [0, 2, 0, 1],
      [0, 0, 2, nan],
    ],
    of: (x, y) => dx.xlogy(x, y).mul(dx.tensor([inf, 0, 1, 0], { device: x.device })),
    gradients: [
      [0, 0, 0.693147182, nan],
      [nan, nan, 0, nan],
    ],
  },
  {
    name: "xlog1py of zero gradients",
    inputs: [
      [0, 2, 0, 1],
      [-1, -1, 2, nan],
    ],
    of: (x, y) => dx.xlog1py(x, y).mul(dx.tensor([inf, 0, 1, 0], { device: x.device })),
    gradients: [
      [0, 0, 1.09861231, nan],
      [nan, nan, 0, nan],
    ],
  },
  { name: "largest norm with NaN", inputs: [[1, nan, -3]], of: (x) => dx.norm(x, Infinity), gradients: [[0, 0, -0]] },
  { name: "norm of order 3 with NaN and zero", inputs: [[0, nan, -3]], of: (x) => dx.norm(x, 3), gradients: [[nan, nan, nan]] },
  { name: "norm of order 0.5 with infinity and zero", inputs: [[0, inf, -3]], of: (x) => dx.norm(x, 0.5), gradients: [[nan, nan, -inf]] },
  {
    name: "renorm with NaN",
    inputs: [
      [
        [nan, 1],
        [3, 4],
      ],
    ],
    of: (x) => dx.renorm(x, 2, 0, 1),
    gradients: [[1, 1, 0.0320000015, -0.0239999946]],
  },
  {
    name: "quotients rounded down of infinity",
    inputs: [
      [5, -5],
      [inf, inf],
    ],
    of: (x, y) => dx.div(x, y, { roundingMode: "floor" }).mul(x),
    gradients: [
      [0, -1],
      [0, 0],
    ],
  },
  {
    name: "a matrix to the power of 0",
    inputs: [
      [
        [1, 2],
        [3, nan],
      ],
    ],
    of: (x) => dx.linalg.matrixPower(x, 0),
    gradients: [[0, 0, 0, 0]],
  },
  {
    name: "fmod of infinities",
    ...limits([
      [inf, 2, 1, -inf],
      [5, inf, 1, 0],
      [5, 2, 1, -2],
      [-5, 2, 1, 2],
    ]),
    of: (a, b) => dx.fmod(a, b),
  },
  {
    name: "remainder of infinities",
    ...limits([
      [5, inf, 1, 0],
      [-5, inf, 1, 1],
      [5, 2, 1, -2],
      [-5, 2, 1, 3],
    ]),
    of: (a, b) => dx.remainder(a, b),
  },
  {
    name: "cosineSimilarity of a short vector",
    inputs: [
      [1e-9, 0],
      [1, 2],
    ],
    of: (a, b) => dx.cosineSimilarity(a, b, { axis: 0 }),
    gradients: [
      [40249224, 89442720],
      [0.03577708, -0.01788854],
    ],
  },
  { name: "median of equal elements", inputs: [[1, 1, 0]], of: (x) => dx.median(x), gradients: [[0.5, 0.5, 0]] },
  { name: "nanmedian of equal elements", inputs: [[1, nan, 1, 0]], of: (x) => dx.nanmedian(x), gradients: [[0.5, 0, 0.5, 0]] },
  { name: "amax of equal elements", inputs: [[1, 1, 0]], of: (x) => dx.amax(x), gradients: [[0.5, 0.5, 0]] },
  {
    name: "binaryCrossEntropy at 0 and 1",
    inputs: [[0, 1, 0.5]],
    of: (x) => F.binaryCrossEntropy(x, dx.tensor([0.25, 1, 0], { device: x.device }), { reduction: "none" }),
    gradients: [[-249999998976, 0, 2]],
  },
  {
    name: "binaryCrossEntropyWithLogits at 0",
    inputs: [[0, 0, 1]],
    of: (x) => F.binaryCrossEntropyWithLogits(x, dx.tensor([0.25, 1, 0.5], { device: x.device }), { reduction: "none" }),
    gradients: [[0.25, -0.5, 0.2310585788]],
  },
  {
    name: "binaryCrossEntropyWithLogits with posWeight at 0",
    inputs: [[0, 1, 0.5]],
    of: (x) =>
      F.binaryCrossEntropyWithLogits(x, dx.tensor([0.25, 1, 0], { device: x.device }), {
        reduction: "none",
        posWeight: dx.tensor(3, { device: x.device }),
      }),
    gradients: [[0, -0.8068242073, 0.6224593322]],
  },
  {
    name: "marginRankingLoss at its margin",
    inputs: [[0, -1, 1]],
    of: (x) => F.marginRankingLoss(x, dx.zerosLike(x), dx.onesLike(x), { margin: 0, reduction: "none" }),
    gradients: [[0, -1, 0]],
  },
  {
    name: "hingeEmbeddingLoss at its margin",
    inputs: [[0, -1, 1]],
    of: (x) => F.hingeEmbeddingLoss(x, dx.neg(dx.onesLike(x)), { margin: 0, reduction: "none" }),
    gradients: [[0, -1, 0]],
  },
  {
    name: "multiMarginLoss at its margin",
    inputs: [[[1, 0, 0]]],
    of: (x) => F.multiMarginLoss(x, dx.zeros([1], { dtype: "int64", device: x.device })),
    gradients: [[0, 0, 0]],
  },
  {
    name: "multilabelMarginLoss at its margin",
    inputs: [[[1, 0, 0]]],
    of: (x) => F.multilabelMarginLoss(x, dx.tensor([[0, -1, -1]], { dtype: "int64", device: x.device })),
    gradients: [[0, 0, 0]],
  },
  {
    name: "tripletMarginLoss at its margin",
    inputs: [[[0, 0]], [[1, 0]], [[2, 0]]],
    of: (a, p, n) => F.tripletMarginLoss(a, p, n, { margin: 1, eps: 0 }),
    gradients: [
      [0, 0],
      [0, 0],
      [0, 0],
    ],
  },
  {
    name: "gridSample at the border",
    inputs: [
      [
        [1, 0],
        [-1, 0],
        [0.5, 0],
      ],
    ],
    of: (grid) =>
      F.gridSample(
        dx.tensor(
          [
            [
              [
                [0, 1],
                [-1, 0.5],
              ],
            ],
          ],
          { device: grid.device },
        ),
        grid.reshape([1, 1, 3, 2]),
        {
          paddingMode: "border",
          alignCorners: true,
        },
      ),
    gradients: [[0, -0.25, 0, -0.5, 0.625, -0.3125]],
  },
  { name: "relu", inputs: [[0, -1, 1]], of: dx.relu, gradients: [[0, 0, 1]] },
  { name: "hardtanh", inputs: [[-1, 0, 1]], of: (x) => dx.hardtanh(x), gradients: [[0, 1, 0]] },
  { name: "abs", inputs: [[0, -1, 1]], of: dx.abs, gradients: [[0, -1, 1]] },
  { name: "sqrt", inputs: [[0, 1]], of: dx.sqrt, gradients: [[inf, 0.5]] },
  { name: "norm at 0", inputs: [[0, 0]], of: (x) => dx.norm(x), gradients: [[0, 0]] },
  { name: "std of equal elements", inputs: [[1, 1, 1]], of: (x) => dx.std(x), gradients: [[0, 0, 0]] },
];

eachMode("gradients at corners, ties and poles", (device, mode) => {
  test.each(KINKS)("$name", ({ inputs, of, gradients }) =>
    clean(
      device,
      () => {
        const leaves = inputs.map((values) => dx.tensor(values as number[], { device, dtype: "float32" }).requiresGrad_());
        const found = mode.run((...xs) => dx.grad(of(...xs), xs, { gradient: dx.onesLike(of(...xs)) }), ...leaves);
        found.forEach((g, i) => {
          const [got, want] = [numbers(g!), gradients[i]!];
          const isNear = want.every((w, k) => Object.is(got[k], w) || Math.abs(got[k]! - w) <= 1e-6 * Math.max(1, Math.abs(w)));
          if (!isNear || got.length !== want.length) expect(got).toEqual(want);
        });
      },
      { collect: true },
    ),
  );
});

eachMode("second derivatives at corners", (device, mode) => {
  const twice = (f: (x: dx.Tensor) => dx.Tensor, x: dx.Tensor): dx.Tensor => {
    const [g] = dx.grad(f(x).sum(), [x], { createGraph: true });
    return dx.grad(g!.sum(), [x])[0]!;
  };
  const E = Math.exp(-1);
  test.each([
    ["elu", (x: dx.Tensor) => dx.elu(x), [0, E, 0]],
    ["elu of another alpha", (x: dx.Tensor) => dx.elu(x, { alpha: 0.5 }), [0, 0.5 * E, 0]],
    ["selu", dx.selu, [0, 0.6467686296, 0]],
    ["celu", (x: dx.Tensor) => dx.celu(x, { alpha: 2 }), [0, 0.3032653332, 0]],
    ["hardtanh", (x: dx.Tensor) => dx.hardtanh(x), [0, 0, 0]],
    ["threshold", (x: dx.Tensor) => dx.threshold(x, 0, 3), [0, 0, 0]],
    ["hardshrink", (x: dx.Tensor) => dx.hardshrink(x), [0, 0, 0]],
    ["softshrink", (x: dx.Tensor) => dx.softshrink(x), [0, 0, 0]],
    ["leakyRelu", (x: dx.Tensor) => dx.leakyRelu(x), [0, 0, 0]],
  ] as const)("%s", (_name, f, want) =>
    clean(
      device,
      () => {
        const found = numbers(mode.run((x) => twice(f, x), dx.tensor([0, -1, 1], { device, requiresGrad: true })));
        found.forEach((v, i) => expect(v).toBeCloseTo(want[i]!, 6));
        expect(found.length).toBe(3);
      },
      { collect: true },
    ),
  );
});
