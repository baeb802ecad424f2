/** Decompositions and solvers, checked by the product of their factors, with LAPACK and with the portable routines; PyTorch's recorded cases too. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { engine, useEngine } from "../../../src/runtime/lapack/engine.ts";
import { portable } from "../../../src/runtime/lapack/portable.ts";
import { numbers } from "../../device.ts";
import { readCases, readIndex } from "../../golden/cases.ts";
import { goldenFolder } from "../../golden/folder.ts";
import { runCase } from "../../golden/run.ts";
import { leaf } from "../../gradgrad.ts";

const { linalg } = dx;
const identity = (n: number): dx.Tensor => dx.eye(n);
const spd = (n: number, batch: readonly number[] = []): dx.Tensor => {
  const x = leaf([...batch, n, n]).detach();
  return x.matmul(dx.mT(x)).add(identity(n));
};
function near(got: dx.Tensor, want: dx.Tensor, bound = 1e-4): void {
  expect(got.shape).toEqual(want.shape);
  const [a, b] = [numbers(got), numbers(want)];
  for (let i = 0; i < b.length; i++)
    expect(Math.abs(a[i]! - b[i]!), `element ${i}: ${a[i]} for ${b[i]}`).toBeLessThanOrEqual(bound * Math.max(1, Math.abs(b[i]!)));
}

const HOST =
  /^(linalg\.(?!cross|multi_dot|vander|vecdot|vector_norm)|cholesky|geqrf|logdet|lu_|ormqr|pinverse|qr$|svd$|triangular_solve|matrix_exp|norm$)/;

describe.each(["as found", "portable"])("linalg, %s", (which) => {
  beforeAll(() => useEngine(which === "portable" ? portable : null));
  afterAll(() => useEngine(null));

  test("says which routines it uses", () => {
    expect(engine().name).toMatch(which === "portable" ? /^portable$/ : /^(LAPACK \(.+\)|portable)$/);
  });

  test.each(readIndex(goldenFolder).filter(({ op }) => HOST.test(op)))("PyTorch's cases of $op", ({ file }) => {
    const cases = readCases(join(goldenFolder, file));
    const names = cases.reduce<readonly string[]>(
      (best, c) => (c.names !== undefined && c.names.length > best.length ? c.names : best),
      [],
    );
    const outcomes = cases.map((c) => runCase(c, names));
    expect(outcomes.filter((o) => o.result === "failed" || o.result === "missing")).toEqual([]);
  });

  test("factors of batches of views multiply to the matrices", () => {
    const all = leaf([3, 2, 6, 5]).detach();
    const views = [
      all,
      dx.mT(all),
      dx.slice(all, 0, 0, 3, 2),
      dx.permute(all, [1, 0, 3, 2]),
      dx.broadcastTo(dx.select(all, 0, 1), [4, 2, 6, 5]),
    ];
    for (const a of views) {
      const k = Math.min(...a.shape.slice(-2));
      const { P, L, U } = linalg.lu(a);
      near(P.matmul(L).matmul(U), a);
      const { Q, R } = linalg.qr(a);
      near(Q.matmul(R), a);
      const complete = linalg.qr(a, { mode: "complete" });
      near(complete.Q.matmul(complete.R), a);
      near(linalg.qr(a, { mode: "r" }).R, R);
      for (const fullMatrices of [false, true]) {
        const { U: u, S, Vh } = linalg.svd(a, { fullMatrices });
        near(
          dx
            .narrow(u, -1, 0, k)
            .mul(dx.unsqueeze(S, -2))
            .matmul(dx.narrow(Vh, -2, 0, k)),
          a,
        );
      }
      near(a.matmul(linalg.pinv(a)).matmul(a), a);
      const square = a.matmul(dx.mT(a));
      const { eigenvalues, eigenvectors } = linalg.eigh(square);
      near(eigenvectors.mul(dx.unsqueeze(eigenvalues, -2)).matmul(dx.mT(eigenvectors)), square);
    }
  });

  test("each way of solving gives the same solution", () => {
    const a = spd(4, [3]);
    const x = leaf([3, 4, 2], { from: 40 }).detach();
    const b = a.matmul(x);
    near(linalg.solve(a, b), x, 1e-3);
    near(linalg.solve(a, dx.mT(b), { left: false }), dx.mT(x), 1e-3);
    near(linalg.inv(a).matmul(b), x, 1e-3);
    near(dx.choleskySolve(b, linalg.cholesky(a)), x, 1e-3);
    near(dx.choleskySolve(b, linalg.cholesky(a, { upper: true }), { upper: true }), x, 1e-3);
    near(dx.choleskyInverse(linalg.cholesky(a)).matmul(b), x, 1e-3);
    const lu = linalg.luFactor(a);
    near(linalg.luSolve(lu.LU, lu.pivots, b), x, 1e-3);
    // Without exchanges: a has a diagonal that outweighs the rest.
    const plain = linalg.luFactor(a, { pivot: false });
    near(linalg.luSolve(plain.LU, plain.pivots, b), x, 1e-3);
    const { P, L, U } = linalg.lu(a, { pivot: false });
    expect(P.shape).toEqual([0]);
    near(L.matmul(U), a, 1e-4);
    const ldl = linalg.ldlFactor(a);
    near(linalg.ldlSolve(ldl.LD, ldl.pivots, b), x, 1e-3);
    near(linalg.lstsq(a, b).solution, x, 1e-3);
    // Batches broadcast; vectors have A's batch, or are one.
    near(linalg.solve(dx.select(a, 0, 1), b), dx.stack([0, 1, 2].map((i) => linalg.solve(dx.select(a, 0, 1), dx.select(b, 0, i)))));
    near(linalg.solve(a, dx.select(b, 2, 0)), dx.select(x, 2, 0), 1e-3);
    near(linalg.solve(dx.select(a, 0, 0), dx.select(dx.select(b, 0, 0), 1, 1)), dx.select(dx.select(x, 0, 0), 1, 1), 1e-3);
  });

  test("least squares of tall, wide and deficient matrices", () => {
    const a = leaf([5, 3]).detach();
    const b = leaf([5, 2], { from: 9 }).detach();
    const { solution, residuals, rank, singularValues } = linalg.lstsq(a, b, { driver: "gelsd" });
    near(dx.mT(a).matmul(a.matmul(solution)), dx.mT(a).matmul(b), 1e-4);
    near(residuals, a.matmul(solution).sub(b).square().sum(0), 1e-4);
    expect([rank.itemSync(), singularValues.shape]).toEqual([3, [3]]);
    const deficient = dx.cat([a, a], 1);
    const shortest = linalg.lstsq(deficient, b, { driver: "gelss" });
    near(shortest.solution, dx.cat([solution, solution], 0).div(2), 1e-4);
    expect([shortest.rank.itemSync(), shortest.residuals.shape]).toEqual([3, [0]]);
    expect(linalg.lstsq(a, dx.select(b, 1, 0)).solution.shape).toEqual([3]);
  });

  test("determinants, ranks, conditions and norms of known matrices", () => {
    const a = dx.tensor([
      [2, 1],
      [1, 3],
    ]);
    expect(linalg.det(a).itemSync()).toBeCloseTo(5, 5);
    expect(dx.logdet(a).itemSync()).toBeCloseTo(Math.log(5), 5);
    expect(
      dx
        .logdet(
          dx.tensor([
            [0, 1],
            [1, 0],
          ]),
        )
        .itemSync(),
    ).toBeNaN();
    const { sign, logabsdet } = linalg.slogdet(
      dx.tensor([
        [
          [0, 1],
          [1, 0],
        ],
        [
          [1, 1],
          [1, 1],
        ],
      ]),
    );
    expect([numbers(sign), numbers(logabsdet)]).toEqual([
      [-1, 0],
      [0, -Infinity],
    ]);
    expect(
      numbers(
        linalg.matrixRank(
          dx.tensor([
            [
              [1, 2],
              [2, 4],
            ],
            [
              [1, 2],
              [3, 4],
            ],
            [
              [0, 0],
              [0, 0],
            ],
          ]),
        ),
      ),
    ).toEqual([1, 2, 0]);
    expect(linalg.matrixRank(a, { atol: 2 }).itemSync()).toBe(1);
    expect(linalg.matrixRank(a, { hermitian: true }).itemSync()).toBe(2);
    const s = numbers(linalg.svdvals(a));
    expect(linalg.cond(a).itemSync()).toBeCloseTo(s[0]! / s[1]!, 4);
    expect(linalg.cond(a, -2).itemSync()).toBeCloseTo(s[1]! / s[0]!, 4);
    expect(linalg.cond(a, 1).itemSync()).toBeCloseTo((4 * 4) / 5, 4);
    expect(
      linalg
        .cond(
          dx.tensor([
            [1, 2],
            [2, 4],
          ]),
          "fro",
        )
        .itemSync(),
    ).toBe(Infinity);
    expect(linalg.matrixNorm(a, "nuc").itemSync()).toBeCloseTo(s[0]! + s[1]!, 4);
    expect(linalg.norm(a, 2).itemSync()).toBeCloseTo(s[0]!, 4);
    near(
      linalg.matrixNorm(leaf([2, 3, 4]).detach(), 2, [0, 2], { keepDims: true }),
      dx.unsqueeze(dx.unsqueeze(dx.select(linalg.svdvals(dx.permute(leaf([2, 3, 4]).detach(), [1, 0, 2])), 1, 0), 0), -1),
    );
  });

  test("eigenvalues of a rotation are complex", () => {
    const { eigenvalues, eigenvectors } = linalg.eig(
      dx.tensor([
        [0, -1],
        [1, 0],
      ]),
    );
    near(dx.sort(eigenvalues.imag).values, dx.tensor([-1, 1]));
    near(eigenvalues.real, dx.zeros([2]));
    expect(eigenvectors.dtype).toBe("complex64");
  });

  test("powers and exponentials", () => {
    const a = leaf([2, 3, 3]).detach().add(identity(3).mul(2));
    near(linalg.matrixPower(a, 5), a.matmul(a).matmul(a).matmul(a).matmul(a), 1e-4);
    near(linalg.matrixPower(a, -2).matmul(a).matmul(a), dx.broadcastTo(identity(3), [2, 3, 3]), 1e-2);
    near(linalg.matrixPower(a, 0), dx.broadcastTo(identity(3), [2, 3, 3]));
    near(dx.matrixExp(dx.zeros([2, 3, 3])), dx.broadcastTo(identity(3), [2, 3, 3]));
    near(dx.matrixExp(dx.diag(dx.tensor([-200, 0, 3, 40]))), dx.diag(dx.tensor([Math.exp(-200), 1, Math.exp(3), Math.exp(40)])), 1e-3);
    // A rotation by any angle, and a nilpotent matrix: large elements, no large result.
    near(
      dx.matrixExp(
        dx.tensor([
          [0, -100],
          [100, 0],
        ]),
      ),
      dx.tensor([
        [Math.cos(100), -Math.sin(100)],
        [Math.sin(100), Math.cos(100)],
      ]),
      1e-3,
    );
    near(
      dx.matrixExp(
        dx.tensor([
          [0, 1e6],
          [0, 0],
        ]),
      ),
      dx.tensor([
        [1, 1e6],
        [0, 1],
      ]),
      1e-4,
    );
    expect(numbers(dx.matrixExp(dx.tensor([[NaN]])))).toEqual([NaN]);
    expect(numbers(dx.matrixExp(dx.tensor([[1e12]])))).toEqual([NaN]);
    expect(dx.matrixExp(dx.ones([2, 2], { dtype: "float16" })).dtype).toBe("float16");
  });

  test("empty matrices and batches", () => {
    const empties: readonly (readonly number[])[] = [
      [0, 0],
      [0, 3, 3],
      [2, 0, 0],
      [0, 2, 4],
      [2, 4, 0],
      [0, 0, 5],
    ];
    for (const shape of empties) {
      const a = dx.zeros(shape);
      const [m, n] = shape.slice(-2) as [number, number];
      const [batch, k] = [shape.slice(0, -2), Math.min(m, n)];
      expect(linalg.svd(a).U.shape).toEqual([...batch, m, m]);
      expect(linalg.svdvals(a).shape).toEqual([...batch, k]);
      expect(linalg.qr(a).R.shape).toEqual([...batch, k, n]);
      expect(linalg.qr(a, { mode: "complete" }).Q.shape).toEqual([...batch, m, m]);
      expect(linalg.pinv(a).shape).toEqual([...batch, n, m]);
      expect(linalg.luFactorEx(a).LU.shape).toEqual(shape);
      expect(linalg.matrixRank(a).shape).toEqual(batch);
      expect(linalg.lstsq(a, dx.zeros([...batch, m, 2])).solution.shape).toEqual([...batch, n, 2]);
      if (m !== n) continue;
      expect(linalg.inv(a).shape).toEqual(shape);
      expect(linalg.cholesky(a).shape).toEqual(shape);
      expect(linalg.eigh(a).eigenvalues.shape).toEqual(shape.slice(0, -1));
      expect(linalg.eig(a).eigenvalues.shape).toEqual(shape.slice(0, -1));
      expect(linalg.ldlFactor(a).pivots.shape).toEqual(shape.slice(0, -1));
      expect(linalg.solve(a, dx.zeros([...batch, n, 2])).shape).toEqual([...batch, n, 2]);
      expect(dx.matrixExp(a).shape).toEqual(shape);
      expect(linalg.det(a).shape).toEqual(batch);
      if (n === 0) expect(numbers(linalg.det(a)).every((x) => x === 1)).toBe(true);
    }
    expect(linalg.solve(dx.eye(3), dx.zeros([3, 0])).shape).toEqual([3, 0]);
    expect(numbers(dx.select(linalg.svd(dx.zeros([1, 2, 0])).U, 0, 0))).toEqual([1, 0, 0, 1]);
  });

  test("float64 is computed as such, in one routine", () => {
    const third = dx.tensor(
      [
        [3, 0],
        [0, 1],
      ],
      { dtype: "float64" },
    );
    expect(linalg.inv(third).dtype).toBe("float64");
    expect((linalg.inv(third).dataSync() as Float64Array)[0]).toBe(1 / 3);
    expect((linalg.det(third).dataSync() as Float64Array)[0]).toBe(3);
    expect(
      (
        linalg
          .svdvals(
            dx.tensor(
              [
                [1e-12, 0],
                [0, 1],
              ],
              { dtype: "float64" },
            ),
          )
          .dataSync() as Float64Array
      )[1],
    ).toBeCloseTo(1e-12, 20);
    expect(
      linalg
        .matrixRank(
          dx.tensor(
            [
              [1e-12, 0],
              [0, 1],
            ],
            { dtype: "float64" },
          ),
        )
        .itemSync(),
    ).toBe(2);
    expect(
      linalg
        .matrixRank(
          dx.tensor([
            [1e-12, 0],
            [0, 1],
          ]),
        )
        .itemSync(),
    ).toBe(1);
  });
});
