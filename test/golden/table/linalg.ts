/** Decompositions and solvers. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { near } from "../../tolerance.ts";
import { op, type Entry, type Table } from "./entry.ts";

const { linalg } = dx;
const bound = { rtol: 1e-4, atol: 1e-4 };
const upper = (c: Call): { upper: boolean } => ({ upper: c.bool("upper") });
const second = (c: Call): dx.Tensor => c.tensor(c.positional[1]);
const third = (c: Call): dx.Tensor => c.tensor(c.positional[2]);
const left = (c: Call): { left: boolean } => ({ left: c.get("left") !== false });
/** A number or a tensor; PyTorch's old rcond is a relative tolerance. */
const tolerance = (c: Call): dx.linalg.ToleranceOptions => ({ atol: c.defined("atol"), rtol: c.defined("rtol", "rcond", "tol"), hermitian: c.bool("hermitian") });

/** What is wrong with a product that should be the given matrices. */
function productDiffers(found: dx.Tensor, wanted: dx.Tensor): string | null {
  if (found.shape.join() !== wanted.shape.join()) return `factors multiply to ${found.describe()} instead of ${wanted.describe()}`;
  const [a, b] = [found, wanted].map((t) => t.dataSync() as Float32Array) as [Float32Array, Float32Array];
  const at = a.findIndex((v, i) => !near(v, b[i]!, bound));
  return at < 0 ? null : `element ${at} of the factors' product is ${String(a[at])} instead of ${String(b[at])}`;
}
function orthonormal(q: dx.Tensor): string | null {
  const n = q.shape.at(-1)!;
  return productDiffers(dx.matmul(dx.mT(q), q), dx.broadcastTo(dx.eye(n), [...q.shape.slice(0, -2), n, n]));
}

const qrGauge = ([q, r]: readonly dx.Tensor[], c: Call): string | null =>
  orthonormal(q!) ?? productDiffers(dx.matmul(q!, r!), c.x) ?? productDiffers(dx.triu(r!), r!);
const some = (x: dx.Tensor, axis: number, k: number): dx.Tensor => dx.narrow(x, axis, 0, k);
const svdGauge = (u: dx.Tensor, s: dx.Tensor, vh: dx.Tensor, x: dx.Tensor): string | null => {
  const k = s.shape.at(-1)!;
  return orthonormal(u) ?? orthonormal(dx.mT(vh)) ?? productDiffers(dx.matmul(dx.mul(some(u, -1, k), dx.unsqueeze(s, -2)), some(vh, -2, k)), x);
};
/** What LDL^T says of A it says by solving. */
const ldlGauge = ([ld, pivots]: readonly dx.Tensor[], c: Call): string | null =>
  c.x.size === 0 ? null : productDiffers(dx.matmul(dx.add(dx.tril(c.x), dx.mT(dx.tril(c.x, -1))), linalg.ldlSolve(ld!, pivots!, dx.broadcastTo(dx.eye(c.x.shape.at(-1)!), c.x.shape).clone())), dx.broadcastTo(dx.eye(c.x.shape.at(-1)!), c.x.shape));
const geqrfGauge = ([a, tau]: readonly dx.Tensor[], c: Call): string | null => {
  const k = tau!.shape.at(-1)!;
  const q = linalg.householderProduct(some(a!, -1, k), tau!);
  return qrGauge([q, dx.triu(some(a!, -2, k))], c);
};
const eighGauge = ([w, v]: readonly dx.Tensor[], c: Call): string | null => {
  const lower = c.text("UPLO", "L") === "L";
  const x = lower ? dx.add(dx.tril(c.x), dx.mT(dx.tril(c.x, -1))) : dx.add(dx.triu(c.x), dx.mT(dx.triu(c.x, 1)));
  return orthonormal(v!) ?? productDiffers(dx.matmul(dx.mul(v!, dx.unsqueeze(w!, -2)), dx.mT(v!)), x);
};
/** A V = V diag(w), and columns of length one. */
const eigGauge = (outputs: readonly unknown[], c: Call): string | null => {
  const [w, v] = outputs as unknown as [dx.ComplexTensor, dx.ComplexTensor];
  const lengths = v.abs().square().sum(-2);
  const right = v.mul(w.unsqueeze(-2));
  return productDiffers(dx.matmul(c.x, v.real), right.real) ?? productDiffers(dx.matmul(c.x, v.imag), right.imag) ?? productDiffers(lengths, dx.onesLike(lengths));
};
const svd = (run: (c: Call) => [dx.Tensor, dx.Tensor, dx.Tensor], isTransposed: boolean): Entry => ({ run, gauge: ([u, s, v], c) => svdGauge(u!, s!, isTransposed ? dx.mT(v!) : v!, c.x) });

const list = (v: object): dx.Tensor[] => Object.values(v) as dx.Tensor[];
const norm: Entry = op((c) => {
  const axis = c.axes("dim");
  return linalg.norm(c.x, c.defined<dx.linalg.NormOrder>("ord") ?? null, axis, { keepDims: c.bool("keepdim"), ...(c.dtype() === undefined ? {} : { dtype: c.dtype() }) });
});

export const linalgTable: Table = {
  cholesky: op((c) => linalg.cholesky(c.x, upper(c))), "linalg.cholesky": op((c) => linalg.cholesky(c.x, upper(c))),
  "linalg.cholesky_ex": op((c) => list(linalg.choleskyEx(c.x, upper(c)))),
  cholesky_inverse: op((c) => dx.choleskyInverse(c.x, upper(c))), cholesky_solve: op((c) => dx.choleskySolve(c.x, second(c), upper(c))),
  geqrf: { run: (c) => list(dx.geqrf(c.x)), gauge: geqrfGauge }, ormqr: op((c) => dx.ormqr(c.x, second(c), third(c), { ...left(c), transpose: c.bool("transpose") })),
  "linalg.householder_product": op((c) => linalg.householderProduct(c.x, second(c))),
  qr: { run: (c) => list(linalg.qr(c.x, { mode: c.get("some") === false ? "complete" : "reduced" })), gauge: qrGauge },
  "linalg.qr": { run: (c) => list(linalg.qr(c.x, { mode: c.text("mode", "reduced") as dx.linalg.QRMode })), gauge: qrGauge },
  svd: svd((c) => { const { U, S, Vh } = linalg.svd(c.x, { fullMatrices: c.get("some") === false }); return [U, S, dx.mT(Vh)]; }, true),
  "linalg.svd": svd((c) => { const { U, S, Vh } = linalg.svd(c.x, { fullMatrices: c.get("full_matrices") !== false }); return [U, S, Vh]; }, false),
  "linalg.svdvals": op((c) => linalg.svdvals(c.x)),
  "linalg.eigh": { run: (c) => list(linalg.eigh(c.x, { uplo: c.text("UPLO", "L") as "L" | "U" })), gauge: eighGauge },
  "linalg.eig": { run: (c) => { const { eigenvalues, eigenvectors } = linalg.eig(c.x); return [eigenvalues, eigenvectors]; }, gauge: eigGauge },
  "linalg.eigvals": { run: (c) => linalg.eigvals(c.x), gauge: ([w], c) => eigGauge([w, linalg.eig(c.x).eigenvectors], c) },
  "linalg.eigvalsh": op((c) => linalg.eigvalsh(c.x, { uplo: c.text("UPLO", "L") as "L" | "U" })),
  "linalg.det": op((c) => linalg.det(c.x)), det: op((c) => dx.det(c.x)), logdet: op((c) => dx.logdet(c.x)),
  "linalg.slogdet": op((c) => list(linalg.slogdet(c.x))), slogdet: op((c) => list(dx.slogdet(c.x))),
  "linalg.inv": op((c) => linalg.inv(c.x)), inverse: op((c) => dx.inverse(c.x)), "linalg.inv_ex": op((c) => list(linalg.invEx(c.x))),
  "linalg.solve": op((c) => linalg.solve(c.x, second(c), left(c))), "linalg.solve_ex": op((c) => list(linalg.solveEx(c.x, second(c), left(c)))),
  "linalg.solve_triangular": op((c) => linalg.solveTriangular(c.x, second(c), { ...upper(c), ...left(c), unitriangular: c.bool("unitriangular") })),
  triangular_solve: op((c) => list(dx.triangularSolve(c.x, second(c), { upper: c.get("upper") !== false, transpose: c.bool("transpose"), unitriangular: c.bool("unitriangular") }))),
  "linalg.lu": op((c) => list(linalg.lu(c.x))), "linalg.lu_factor": op((c) => list(linalg.luFactor(c.x))), "linalg.lu_factor_ex": op((c) => list(linalg.luFactorEx(c.x))),
  "linalg.lu_solve": op((c) => linalg.luSolve(c.x, second(c), third(c), { ...left(c), adjoint: c.bool("adjoint") })),
  lu_solve: op((c) => linalg.luSolve(second(c), third(c), c.x)), lu_unpack: op((c) => list(dx.luUnpack(c.x, second(c)))),
  "linalg.ldl_factor": { run: (c) => list(linalg.ldlFactor(c.x)), gauge: ldlGauge }, "linalg.ldl_factor_ex": { run: (c) => list(linalg.ldlFactorEx(c.x)), gauge: ldlGauge },
  "linalg.ldl_solve": op((c) => linalg.ldlSolve(c.x, second(c), third(c))),
  "linalg.lstsq": { run: (c) => list(linalg.lstsq(c.x, second(c), { rcond: c.defined("rcond"), driver: c.defined("driver") })), counts: true },
  "linalg.pinv": op((c) => linalg.pinv(c.x, tolerance(c))), pinverse: op((c) => dx.pinverse(c.x, tolerance(c))),
  "linalg.matrix_rank": { run: (c) => linalg.matrixRank(c.x, tolerance(c)), counts: true },
  "linalg.cond": op((c) => linalg.cond(c.x, c.defined<dx.linalg.CondOrder>("p") ?? null)),
  "linalg.matrix_power": op((c) => linalg.matrixPower(c.x, c.number("n", 1))), matrix_power: op((c) => dx.matrixPower(c.x, c.number("n", 1))),
  matrix_exp: op((c) => dx.matrixExp(c.x)), "linalg.matrix_exp": op((c) => dx.matrixExp(c.x)),
  "linalg.tensorinv": op((c) => linalg.tensorinv(c.x, c.number("ind", 2))),
  "linalg.tensorsolve": op((c) => linalg.tensorsolve(c.x, second(c), { axes: c.defined<readonly number[]>("dims", "axes") })),
  "linalg.norm": norm,
  "linalg.diagonal": op((c) => dx.diagonal(c.x, { offset: c.number("offset", 0), axis0: c.number("dim1", -2), axis1: c.number("dim2", -1) })),
  lu: op((c) => { const { LU, pivots } = linalg.luFactor(c.x); return (c.bool("get_infos") || c.positional[2] === true) ? [LU, pivots, linalg.luFactorEx(c.x).info] : [LU, pivots]; }),
};
