/** First and second derivatives of elementwise functions where gradients are infinite or no number. The numbers are from PyTorch 2.15. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachMode, numbers } from "../device.ts";

const F = dx.nn.functional;
const { NaN: nan, Infinity: inf } = globalThis;
const X = [-3.5, -1.3, 0.5, 3.5, 25, inf, nan];
type Pair = readonly [first: readonly number[], second: readonly number[] | null];

/** For gradients dy of 1, ∞, 1, and gradients of these of 1, 1, ∞. */
const SLOPES: readonly [string, (x: dx.Tensor) => dx.Tensor, Pair, Pair, Pair][] = [
  [
    "sigmoid",
    (x) => dx.sigmoid(x),
    [
      [0.028453, 0.1683, 0.235, 0.028453, 0, 0, nan],
      [0.026785, 0.096211, -0.057557, -0.026785, 0, 0, nan],
    ],
    [
      [inf, inf, inf, inf, nan, nan, nan],
      [inf, inf, -inf, -inf, nan, nan, nan],
    ],
    [
      [0.028453, 0.1683, 0.235, 0.028453, 0, 0, nan],
      [inf, inf, -inf, -inf, nan, nan, nan],
    ],
  ],
  [
    "gelu",
    (x) => F.gelu(x),
    [
      [-0.0028217, -0.12598, 0.8675, 1.0028, 1, nan, nan],
      [-0.008945, 0.053124, 0.61611, -0.008945, 0, nan, nan],
    ],
    [
      [-inf, -inf, inf, inf, inf, nan, nan],
      [-inf, inf, inf, -inf, nan, nan, nan],
    ],
    [
      [-0.0028217, -0.12598, 0.8675, 1.0028, 1, nan, nan],
      [-inf, inf, inf, -inf, nan, nan, nan],
    ],
  ],
  [
    "gelu by tanh",
    (x) => F.gelu(x, { approximate: "tanh" }),
    [
      [-0.0024224, -0.12588, 0.86737, 1.0024, 1, nan, nan],
      [-0.0085496, 0.054581, 0.61551, -0.0085496, 0, nan, nan],
    ],
    [
      [-inf, -inf, inf, inf, inf, nan, nan],
      [-inf, inf, inf, -inf, nan, nan, nan],
    ],
    [
      [-0.0024224, -0.12588, 0.86737, 1.0024, 1, nan, nan],
      [-inf, inf, inf, -inf, nan, nan, nan],
    ],
  ],
  [
    "mish",
    (x) => F.mish(x),
    [
      [-0.07276, -0.026401, 0.88642, 1.0099, 1, nan, nan],
      [-0.040746, 0.22445, 0.46805, -0.015588, 0, nan, nan],
    ],
    [[-inf, -inf, inf, inf, inf, nan, nan], null],
    [[-0.07276, -0.026401, 0.88642, 1.0099, 1, nan, nan], null],
  ],
  [
    "softplus",
    (x) => F.softplus(x),
    [
      [0.029312, 0.21417, 0.62246, 0.97069, 1, 1, nan],
      [0.028453, 0.1683, 0.235, 0.028453, 0, 0, nan],
    ],
    [
      [inf, inf, inf, inf, inf, inf, nan],
      [inf, inf, inf, inf, nan, nan, nan],
    ],
    [
      [0.029312, 0.21417, 0.62246, 0.97069, 1, 1, nan],
      [inf, inf, inf, inf, nan, nan, nan],
    ],
  ],
  [
    "elu",
    (x) => F.elu(x),
    [
      [0.030197, 0.27253, 1, 1, 1, 1, 1],
      [0.030197, 0.27253, 0, 0, 0, 0, 0],
    ],
    [
      [inf, inf, inf, inf, inf, inf, inf],
      [inf, inf, nan, nan, nan, nan, nan],
    ],
    [
      [0.030197, 0.27253, 1, 1, 1, 1, 1],
      [inf, inf, nan, nan, nan, nan, nan],
    ],
  ],
  [
    "selu",
    (x) => F.selu(x),
    [
      [0.05309, 0.47914, 1.0507, 1.0507, 1.0507, 1.0507, 1.0507],
      [0.05309, 0.47914, 0, 0, 0, 0, 0],
    ],
    [
      [inf, inf, inf, inf, inf, inf, inf],
      [inf, inf, nan, nan, nan, nan, nan],
    ],
    [
      [0.05309, 0.47914, 1.0507, 1.0507, 1.0507, 1.0507, 1.0507],
      [inf, inf, nan, nan, nan, nan, nan],
    ],
  ],
  [
    "celu",
    (x) => F.celu(x, { alpha: 1.5 }),
    [
      [0.096972, 0.42035, 1, 1, 1, 1, 1],
      [0.064648, 0.28023, 0, 0, 0, 0, 0],
    ],
    [
      [inf, inf, inf, inf, inf, inf, inf],
      [inf, inf, nan, nan, nan, nan, nan],
    ],
    [
      [0.096972, 0.42035, 1, 1, 1, 1, 1],
      [inf, inf, nan, nan, nan, nan, nan],
    ],
  ],
  [
    "hardSwish",
    (x) => F.hardSwish(x),
    [
      [0, 0.066667, 0.66667, 1, 1, 1, 1],
      [0, 0.33333, 0.33333, 0, 0, 0, 0],
    ],
    [
      [0, inf, inf, inf, inf, inf, inf],
      [0, inf, inf, 0, 0, 0, 0],
    ],
    [
      [0, 0.066667, 0.66667, 1, 1, 1, 1],
      [0, inf, inf, 0, 0, 0, 0],
    ],
  ],
];

const near = (t: dx.Tensor, want: readonly number[]): void => {
  numbers(t).forEach((v, i) => {
    const w = want[i]!;
    if (Number.isFinite(w)) expect(Math.abs(v - w), `at ${X[i] ?? i}: ${v} instead of ${w}`).toBeLessThanOrEqual(1e-3 * Math.abs(w) + 2e-5);
    else expect(v, `at ${X[i] ?? i}`).toBe(w);
  });
};

eachMode("slopes at special values", (device, mode) => {
  test.each(SLOPES)("%s", async (_, f, ...pairs) => {
    await clean(
      device,
      () => {
        const run = (x: dx.Tensor, dy: dx.Tensor, ddx: dx.Tensor): dx.Tensor[] => {
          const leaf = x.detach().requiresGrad_();
          const [g] = dx.grad(f(leaf), [leaf], { gradient: dy, createGraph: true });
          const [q] = dx.grad(g!, [leaf], { gradient: ddx });
          return [g!.detach(), q!];
        };
        [
          [1, 1],
          [inf, 1],
          [1, inf],
        ].forEach(([dy, ddx], i) => {
          const [first, second] = mode.run(run, dx.tensor(X), dx.full([7], dy!), dx.full([7], ddx!));
          near(first!, pairs[i]![0]);
          if (pairs[i]![1] !== null) near(second!, pairs[i]![1]);
        });
      },
      { collect: mode.name === "compiled" },
    );
  });

  test("elu far above 0, digamma at infinity, distances of 0", async () => {
    await clean(
      device,
      () => {
        const second = (f: (x: dx.Tensor) => dx.Tensor, x: dx.Tensor): dx.Tensor[] => {
          const leaf = x.detach().requiresGrad_();
          const [g] = dx.grad(f(leaf).sum(), [leaf], { createGraph: true });
          return dx.grad(g!.square().sum(), [leaf]);
        };
        for (const f of [F.elu, F.selu, F.celu]) near(mode.run((x) => second((t) => f(t), x), dx.tensor([90, 100, 1e30]))[0]!, [0, 0, 0]);
        near(mode.run((x) => dx.grad(dx.digamma(x).sum(), [x]), dx.tensor([inf, 25], { requiresGrad: true }))[0]!, [0, 0.040811]);
        const rows = dx.tensor([
          [0.5, 1],
          [0.2, -1],
          [2, 0.3],
        ]);
        const want = [-0.7799, 0.51766, 0.62022, 0.31985, 0.15967, -0.83751];
        for (const computeMode of ["donotUseMmForEuclidDist", "useMmForEuclidDist"] as const)
          numbers(mode.run((x) => second((t) => dx.cdist(t, t, { computeMode }), x), rows)[0]!).forEach((v, i) =>
            expect(v).toBeCloseTo(want[i]!, 2),
          );
      },
      { collect: mode.name === "compiled" },
    );
  });

  test("logcumsumexp", async () => {
    await clean(
      device,
      () => {
        const run = (x: dx.Tensor, dy: dx.Tensor): dx.Tensor[] => {
          const leaf = x.detach().requiresGrad_();
          const [plain] = dx.grad(dx.logcumsumexp(leaf, 0), [leaf], { gradient: dy });
          const [g] = dx.grad(dx.logcumsumexp(leaf, 0), [leaf], { gradient: dy, createGraph: true });
          const [q] = dx.grad(g!.square().sum(), [leaf]);
          return [plain!, g!.detach(), q!];
        };
        for (const [x, dy, first, second] of LOGSUMS) {
          const [plain, g, q] = mode.run(run, dx.tensor(x), dx.tensor(dy));
          near(plain!, first);
          near(g!, first);
          near(q!, second);
        }
      },
      { collect: mode.name === "compiled" },
    );
  });
});

/** x, dy, the gradient, and that of the sum of its squares. */
const LOGSUMS: readonly (readonly [readonly number[], readonly number[], readonly number[], readonly number[]])[] = [
  [
    [-0.3, 0.2, 1.4, 0.5],
    [1, 1, 1, 1],
    [1.5973, 0.98476, 1.2029, 0.21507],
    [0.50059, -0.38106, 0.21543, -0.33496],
  ],
  [
    [-0.3, 0.2, 1.4, 0.5],
    [0.5, -2, nan, -0.75],
    [-0.32756, -1.3644, -0.39673, -0.1613],
    [-0.99872, 1.1828, -0.076852, -0.1072],
  ],
  [
    [-0.3, -inf, 1.4, 0.5],
    [1, 2, -1, 1],
    [2.9605, 0, -0.21631, 0.25582],
    [-0.21119, 0, 0.21827, -0.0070711],
  ],
];
