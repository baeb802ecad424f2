/** Gradients of first and second order of decompositions and solvers compared with finite differences, for functions that do not depend on the gauge. */
import { describe, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { numbers } from "../../device.ts";
import { gradgradcheck, leaf } from "../../gradgrad.ts";

const { linalg } = dx;
type F = (...inputs: dx.Tensor[]) => dx.Tensor;
const mT = dx.mT;
/** Far from singular, and its rows are exchanged the same way nearby. */
const firm = (x: dx.Tensor): dx.Tensor => x.mul(0.3).add(dx.eye(x.shape.at(-2)!, x.shape.at(-1)).mul(2));
const spd = (x: dx.Tensor): dx.Tensor => firm(x).matmul(mT(firm(x)));
/** Symmetric, with eigenvalues apart. */
const apart = (x: dx.Tensor): dx.Tensor =>
  x
    .add(mT(x))
    .mul(0.15)
    .add(dx.diag(dx.arange(x.shape.at(-1)!, { dtype: "float32" }).mul(1.5).add(1)));
const cube = (x: dx.Tensor): dx.Tensor => x.mul(x).mul(x);
const swapped = (x: dx.Tensor): dx.Tensor => dx.flip(firm(x), [-2]);

const cases: readonly (readonly [string, F, readonly (readonly number[])[]])[] = [
  ["inv", (a) => linalg.inv(firm(a)), [[2, 2, 2]]],
  [
    "solve",
    (a, b) => linalg.solve(firm(a), b),
    [
      [3, 3],
      [2, 3, 2],
    ],
  ],
  [
    "solve of vectors",
    (a, b) => linalg.solve(firm(a), b),
    [
      [2, 2, 2],
      [2, 3],
    ],
  ],
  [
    "solve from the right",
    (a, b) => linalg.solve(firm(a), b, { left: false }),
    [
      [3, 3],
      [2, 3],
    ],
  ],
  [
    "solveTriangular upper",
    (a, b) => linalg.solveTriangular(firm(a), b, { upper: true }),
    [
      [3, 3],
      [3, 2],
    ],
  ],
  [
    "solveTriangular unit lower",
    (a, b) => linalg.solveTriangular(firm(a), b, { upper: false, unitriangular: true }),
    [
      [3, 3],
      [3, 2],
    ],
  ],
  [
    "solveTriangular from the right",
    (a, b) => linalg.solveTriangular(firm(a), b, { upper: false, left: false }),
    [
      [2, 2, 2],
      [2, 2],
    ],
  ],
  ["cholesky", (a) => linalg.cholesky(spd(a)), [[2, 2, 2]]],
  ["cholesky upper", (a) => linalg.cholesky(spd(a), { upper: true }), [[3, 3]]],
  [
    "choleskySolve",
    (b, l) => dx.choleskySolve(b, dx.tril(firm(l))),
    [
      [3, 2],
      [3, 3],
    ],
  ],
  ["choleskyInverse", (l) => dx.choleskyInverse(dx.tril(firm(l))), [[3, 3]]],
  [
    "lu",
    (a) => {
      const { L, U } = linalg.lu(swapped(a));
      return dx.cat([L, U], -1);
    },
    [[2, 2, 2]],
  ],
  [
    "lu of wide matrices",
    (a) => {
      const { L, U } = linalg.lu(swapped(a));
      return dx.cat([L, U], -1);
    },
    [[2, 4]],
  ],
  [
    "lu of tall matrices",
    (a) => {
      const { L, U } = linalg.lu(swapped(a));
      return dx.cat([L, U], -2);
    },
    [[4, 2]],
  ],
  ["lu without pivots of square matrices", (a) => linalg.luFactor(dx.add(a, dx.mul(dx.eye(3, 3), 4)), { pivot: false }).LU, [[3, 3]]],
  ["lu without pivots of wide matrices", (a) => linalg.luFactor(dx.add(a, dx.mul(dx.eye(2, 4), 4)), { pivot: false }).LU, [[2, 4]]],
  ["lu without pivots of tall matrices", (a) => linalg.luFactor(dx.add(a, dx.mul(dx.eye(4, 2), 4)), { pivot: false }).LU, [[4, 2]]],
  [
    "luSolve",
    (a, b) => {
      const { LU, pivots } = linalg.luFactor(swapped(a));
      return linalg.luSolve(LU, pivots, b);
    },
    [
      [3, 3],
      [3, 2],
    ],
  ],
  [
    "luSolve adjoint from the right",
    (a, b) => {
      const { LU, pivots } = linalg.luFactor(swapped(a));
      return linalg.luSolve(LU, pivots, b, { left: false, adjoint: true });
    },
    [
      [3, 3],
      [2, 3],
    ],
  ],
  ["det", (a) => linalg.det(a), [[2, 2, 2]]],
  ["det of singular matrices", (a) => linalg.det(dx.cat([a, a.sum(-2, { keepDims: true })], -2)), [[2, 3]]],
  ["slogdet", (a) => linalg.slogdet(firm(a)).logabsdet, [[2, 2, 2]]],
  ["logdet", (a) => dx.logdet(spd(a)), [[3, 3]]],
  [
    "qr",
    (a) => {
      const { Q, R } = linalg.qr(firm(a));
      return dx.cat([Q, R], -2);
    },
    [[2, 2, 2]],
  ],
  [
    "qr of tall matrices",
    (a) => {
      const { Q, R } = linalg.qr(firm(a));
      return dx.cat([Q, R], -2);
    },
    [[4, 2]],
  ],
  [
    "qr of wide matrices",
    (a) => {
      const { Q, R } = linalg.qr(firm(a));
      return dx.cat([Q, R], -1);
    },
    [[2, 4]],
  ],
  ["R alone", (a) => linalg.qr(firm(a)).R, [[2, 4]]],
  ["complete qr", (a) => linalg.qr(firm(a), { mode: "complete" }).Q, [[2, 3]]],
  ["householderProduct", (a, tau) => linalg.householderProduct(a.mul(0.5), tau), [[4, 3], [2]]],
  ["ormqr", (a, tau, c) => dx.ormqr(a.mul(0.5), tau, c, { transpose: true }), [[3, 2], [2], [3, 2]]],
  ["svdvals", (a) => linalg.svdvals(apart(a)), [[3, 3]]],
  [
    "svd",
    (a) => {
      const { U, S, Vh } = linalg.svd(apart(a), { fullMatrices: false });
      return U.mul(dx.unsqueeze(cube(S), -2)).matmul(Vh);
    },
    [[3, 3]],
  ],
  [
    "svd of tall matrices",
    (a) => {
      const { U, Vh } = linalg.svd(dx.cat([apart(a), a], 0), { fullMatrices: false });
      return U.matmul(Vh);
    },
    [[2, 2]],
  ],
  [
    "svd of wide matrices",
    (a) => {
      const { U, Vh } = linalg.svd(dx.cat([apart(a), a], 1));
      return U.square()
        .sum(0)
        .add(
          Vh.narrow(0, 0, 2)
            .square()
            .matmul(dx.arange(4, { dtype: "float32" })),
        );
    },
    [[2, 2]],
  ],
  ["eigvalsh", (a) => linalg.eigvalsh(apart(a)), [[2, 2, 2]]],
  ["eigh", (a) => linalg.eigh(apart(a), { uplo: "U" }).eigenvectors.square(), [[3, 3]]],
  ["eigvals", (a) => linalg.eigvals(apart(a).add(dx.triu(a, 1).mul(0.2))).real, [[3, 3]]],
  [
    "eig of complex pairs",
    (a) => {
      const { eigenvalues, eigenvectors } = linalg.eig(
        dx.cat([dx.cat([a.mul(0.1).add(1), a.mul(0.1).sub(2)], 1), dx.cat([a.mul(0.2).add(2), a.mul(0.1).add(1)], 1)], 0),
      );
      return dx.cat([eigenvalues.imag.square(), eigenvectors.abs().flatten()], 0);
    },
    [[1, 1]],
  ],
  ["pinv of tall matrices", (a) => linalg.pinv(firm(a)), [[4, 2]]],
  ["pinv of wide matrices", (a) => linalg.pinv(firm(a)), [[2, 3]]],
  ["pinv of symmetric matrices", (a) => linalg.pinv(apart(a), { hermitian: true }), [[3, 3]]],
  [
    "lstsq",
    (a, b) => linalg.lstsq(firm(a), b).solution,
    [
      [4, 2],
      [4, 2],
    ],
  ],
  ["matrixExp", (a) => dx.matrixExp(a.mul(0.5)), [[2, 2, 2]]],
  ["matrixExp, squared", (a) => dx.matrixExp(a.sub(mT(a)).mul(3)), [[2, 2]]],
  ["matrixPower", (a) => linalg.matrixPower(a.mul(0.5), 3), [[3, 3]]],
  ["matrixPower of inverses", (a) => linalg.matrixPower(firm(a), -2), [[3, 3]]],
  ["nuclear norm", (a) => linalg.matrixNorm(apart(a), "nuc"), [[3, 3]]],
  ["spectral norm", (a) => linalg.norm(apart(a), 2), [[3, 3]]],
  ["cond", (a) => linalg.cond(apart(a)), [[3, 3]]],
  ["cond by columns", (a) => linalg.cond(firm(a), "fro"), [[3, 3]]],
  ["tensorinv", (a) => linalg.tensorinv(dx.reshape(firm(dx.reshape(a, [4, 4])), [2, 2, 4]), 2), [[2, 2, 4]]],
  [
    "tensorsolve",
    (a, b) => linalg.tensorsolve(dx.reshape(firm(dx.reshape(a, [4, 4])), [2, 2, 4]), b),
    [
      [2, 2, 4],
      [2, 2],
    ],
  ],
];

describe("gradients of first and second order", () => {
  test.each(cases)("%s", (_, f, shapes) => {
    expect(
      gradgradcheck(
        f,
        shapes.map((s, i) => leaf(s, { from: 31 * i })),
      ),
    ).toBe(true);
  });
});

test("gradients that there are not are refused by name", () => {
  const a = leaf([3, 2]);
  expect(() => linalg.qr(a, { mode: "complete" }).Q.sum().backward()).toThrow(/mode must be "reduced"/);
  expect(() => linalg.qr(a, { mode: "r" }).R.sum().backward()).toThrow(dx.AutogradError);
  expect(() => dx.geqrf(a).a.sum().backward()).toThrow(dx.AutogradError);
  expect(linalg.matrixRank(a).requiresGrad).toBe(false);
});

test("gradients of the determinant of singular matrices are cofactors", () => {
  const a = dx.tensor(
    [
      [1, 2, 3],
      [4, 5, 6],
      [7, 8, 9],
    ],
    { requiresGrad: true },
  );
  linalg.det(a).backward();
  const want = [-3, 6, -3, 6, -12, 6, -3, 6, -3];
  numbers(a.grad!).forEach((v, i) => expect(v).toBeCloseTo(want[i]!, 3));
});

test("a history through the host is freed with its results", () => {
  const w = leaf([3, 3]);
  for (let i = 0; i < 3; i++) {
    const loss = linalg.slogdet(spd(w)).logabsdet.add(linalg.inv(firm(w)).sum());
    loss.backward();
    w.grad = null;
  }
  expect(() => linalg.inv(w.detach()).sum().backward()).toThrow(dx.AutogradError);
});
