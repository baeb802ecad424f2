/** LU factors with row exchanges, and solving with them. @package */
import { call, dispatch } from "../../dispatch/dispatch.ts";
import type { DType } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { engine } from "../../runtime/lapack/engine.ts";
import { sameShape, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, sub } from "../elementwise/binary.ts";
import { zeros } from "../creation/creation.ts";
import { cat } from "../shape/join.ts";
import { matmul } from "../matmul/matmul.ts";
import { broadcastTo, narrow } from "../shape/movement.ts";
import { tril, triu } from "../creation/ranges.ts";
import { solveTriangular } from "./solve.ts";
import {
  batchOf,
  columns,
  columnsOf,
  countOf,
  defineHost,
  requireLike,
  requireMatrices,
  requireSquare,
  eyeLike,
  failure,
  mT,
  storeColumns,
  rowsOf,
  spread,
} from "./support.ts";

/** L in the lower triangle without its ones, U in the upper one; row exchanges, numbered from 1. */
export interface LUFactors {
  /** [..., M, N]: L below the diagonal, its ones left out; U on and above it. */
  readonly LU: Tensor;
  /** [..., min(M, N)], int32: LAPACK's pivots, from 1. */
  readonly pivots: Tensor;
}

const min = (shape: Shape): number => Math.min(rowsOf(shape), columnsOf(shape));

/** Factors of a matrix by columns without exchanges, and the index of the first zero on U's diagonal, from 1, or 0: Gaussian elimination. */
function eliminate(m: number, n: number, a: Float64Array, pivots: Int32Array): number {
  let info = 0;
  for (let j = 0; j < pivots.length; j++) {
    pivots[j] = j + 1;
    const diagonal = a[j * m + j]!;
    if (diagonal === 0 && info === 0) info = j + 1;
    for (let i = j + 1; i < m; i++) a[j * m + i]! /= diagonal;
    for (let c = j + 1; c < n; c++) {
      const factor = a[c * m + j]!;
      for (let i = j + 1; i < m; i++) a[c * m + i]! -= a[j * m + i]! * factor;
    }
  }
  return info;
}

/** LU, pivots, info */
const luOp = defineHost<{ readonly check: string | null; readonly pivot: boolean }>({
  name: "linalg.luFactorEx",
  infer: ([a]) => [a!, { shape: [...batchOf(a!.shape), min(a!.shape)], dtype: "int32" }, { shape: batchOf(a!.shape), dtype: "int32" }],
  host: ([a], { check, pivot }) => {
    const [m, n] = a!.shape.slice(-2) as [number, number];
    const k = Math.min(m, n);
    const count = countOf(a!.shape);
    const out = new Float64Array(a!.data.length);
    const pivots = new Int32Array(count * k);
    const infos = new Int32Array(count);
    for (let i = 0; i < count && k > 0; i++) {
      const factors = columns(a!, i, m, n);
      const own = pivots.subarray(i * k, (i + 1) * k);
      infos[i] = pivot ? engine().lu(m, n, factors, own) : eliminate(m, n, factors, own);
      if (infos[i] !== 0 && check !== null)
        throw failure(check, a!, i, infos[i]!, `element ${infos[i]} on U's diagonal is zero: solving with it would divide by zero`);
      storeColumns(out, i, m, n, factors);
    }
    return [out, pivots, infos];
  },
  grad: (dy, { outputs: [factors, pivots] }) => [luGradient(factors!, pivots!, dy)],
  saves: { inputs: [], outputs: [0, 1] },
});

/** Of A by the gradient of its packed factors, for square, wide and tall matrices. */
function luGradient(factors: Tensor, pivots: Tensor, dy: Tensor): Tensor {
  const [m, n] = factors.shape.slice(-2) as [number, number];
  const k = Math.min(m, n);
  const p = call(permutationOp, [pivots.detach()], { rows: m, dtype: factors.dtype });
  const square = narrow(narrow(factors, -2, 0, k), -1, 0, k);
  const l = add(tril(square, -1), eyeLike(factors, k));
  const u = triu(square);
  const head = narrow(narrow(dy, -2, 0, k), -1, 0, k);
  const [gl, gu] = [tril(head, -1), triu(head)];
  let lower = matmul(mT(l), gl);
  let upper = matmul(gu, mT(u));
  // U's columns behind the square part depend on L, L's rows below it on U.
  const [wide, tall] = [n > k, m > k];
  const rest = wide ? [narrow(factors, -1, k, n - k), narrow(dy, -1, k, n - k)] : [];
  const below = tall ? [narrow(factors, -2, k, m - k), narrow(dy, -2, k, m - k)] : [];
  if (wide) lower = sub(lower, matmul(rest[1]!, mT(rest[0]!)));
  if (tall) upper = sub(upper, matmul(mT(below[0]!), below[1]!));
  const middle = solveTriangular(mT(u), add(tril(lower, -1), triu(upper)), { upper: false, left: false });
  let ga = solveTriangular(mT(l), middle, { upper: true, unitriangular: true });
  if (wide) ga = cat([ga, solveTriangular(mT(l), rest[1]!, { upper: true, unitriangular: true })], -1);
  if (tall) ga = cat([ga, solveTriangular(mT(u), below[1]!, { upper: false, left: false })], -2);
  return matmul(p, ga);
}

interface PermutationAttributes {
  readonly rows: number;
  readonly dtype: DType;
}

/** P of A = P L U, from the row exchanges. */
const permutationOp = defineHost<PermutationAttributes>({
  name: "linalg.luUnpack",
  infer: ([pivots], { rows, dtype }) => [{ shape: [...pivots!.shape.slice(0, -1), rows, rows], dtype }],
  host: ([pivots], { rows }) => {
    const k = columnsOf(pivots!.shape);
    const count = pivots!.shape.slice(0, -1).reduce((p, d) => p * d, 1);
    const out = new Float64Array(count * rows * rows);
    for (let b = 0; b < count; b++) {
      const order = Array.from({ length: rows }, (_, i) => i);
      for (let i = 0; i < k; i++) {
        const other = pivots!.data[b * k + i]! - 1;
        if (!(other >= 0 && other < rows)) throw new ValueError("linalg.luUnpack", "pivots", `rows from 1 to ${rows}`, other + 1);
        [order[i], order[other]] = [order[other]!, order[i]!];
      }
      order.forEach((row, i) => {
        out[b * rows * rows + row * rows + i] = 1;
      });
    }
    return [out];
  },
  grad: null,
});

/** Options of linalg.lu() and linalg.luFactor(). Reference: torch.linalg.lu. */
export interface LUOptions {
  /** Whether rows are exchanged, which avoids division by zero. false: elimination without exchanges, as in PyTorch on CUDA. Default: true. */
  readonly pivot?: boolean | undefined;
}

function factored(operation: string, a: Tensor, pivot: boolean, check: string | null): Tensor[] {
  requireMatrices(operation, a);
  return dispatch(luOp, [a], { check, pivot });
}

/**
 * A = P L U, packed: [..., m, n] and row exchanges [..., min(m, n)] of int32, from 1. Throws LinAlgError when U has a zero on its
 * diagonal. Gradient: as for lu(). Runs on the host: LAPACK getrf. Reference: torch.linalg.lu_factor.
 */
export function luFactor(a: Tensor, { pivot = true }: LUOptions = {}): LUFactors {
  const [LU, pivots] = factored("linalg.luFactor", a, pivot, "linalg.luFactor");
  return { LU: LU!, pivots: pivots! };
}

/** luFactor() that does not throw: info is the index of the first zero on U's diagonal, from 1, or 0. Reference: torch.linalg.lu_factor_ex. */
export function luFactorEx(
  a: Tensor,
  {
    pivot = true,
    checkErrors = false,
  }: LUOptions & {
    /** Whether a failure is a LinAlgError instead of a number in `info`. Default: false. */
    readonly checkErrors?: boolean | undefined;
  } = {},
): LUFactors & { readonly info: Tensor } {
  const [LU, pivots, info] = factored("linalg.luFactorEx", a, pivot, checkErrors ? "linalg.luFactorEx" : null);
  return { LU: LU!, pivots: pivots!, info: info! };
}

/** The result of linalg.lu(): A = P L U. */
export interface PLU {
  /** [..., M, M]: the permutation; empty without pivots. */
  readonly P: Tensor;
  /** [..., M, K]: lower triangular, with ones on the diagonal. */
  readonly L: Tensor;
  /** [..., K, N]: upper triangular. */
  readonly U: Tensor;
}

/** P [..., m, m], L [..., m, k] and U [..., k, n] of packed factors, k = min(m, n). Reference: torch.lu_unpack. */
export function luUnpack(factors: Tensor, pivots: Tensor): PLU {
  const operation = "linalg.luUnpack";
  requireMatrices(operation, factors, "LU");
  requirePivots(operation, factors, pivots);
  const [m, n] = factors.shape.slice(-2) as [number, number];
  const k = Math.min(m, n);
  const L = add(tril(narrow(factors, -1, 0, k), -1), eyeLike(factors, m, k));
  return { P: call(permutationOp, [pivots.detach()], { rows: m, dtype: factors.dtype }), L, U: triu(narrow(factors, -2, 0, k)) };
}

export function requirePivots(operation: string, factors: Tensor, pivots: Tensor): void {
  if (pivots.dtype !== "int32") throw new DTypeError(operation, "pivots", "of dtype int32", pivots.describe());
  const shape = [...batchOf(factors.shape), min(factors.shape)];
  if (!sameShape(pivots.shape, shape)) throw new ShapeError(operation, "pivots", `[${shape.join(", ")}]`, pivots.describe());
}

/**
 * A = P L U: P [..., m, m] a permutation, L [..., m, k] unit lower, U [..., k, n] upper triangular. Gradient (square):
 * P L^-T (tril(L^T dL, -1) + triu(dU U^T)) U^-T. Without pivots P is empty, as PyTorch's. Runs on the host: LAPACK getrf. Reference:
 * torch.linalg.lu.
 */
export function lu(a: Tensor, { pivot = true }: LUOptions = {}): PLU {
  const [LU, pivots] = factored("linalg.lu", a, pivot, null);
  const { P, L, U } = luUnpack(LU!, pivots!);
  return { P: pivot ? P : zeros([0], { dtype: a.dtype, device: a.device }), L, U };
}

/** Options of linalg.luSolve(). Reference: torch.linalg.lu_solve. */
export interface LUSolveOptions {
  /** false: X A = B. Default: true. */
  readonly left?: boolean | undefined;
  /** A's transpose instead of A. Default: false. */
  readonly adjoint?: boolean | undefined;
}

/** X of A X = B by A's packed factors. B: [..., n, k]; batches broadcast. Reference: torch.linalg.lu_solve. */
export function luSolve(factors: Tensor, pivots: Tensor, b: Tensor, { left = true, adjoint = false }: LUSolveOptions = {}): Tensor {
  const operation = "linalg.luSolve";
  const n = requireSquare(operation, factors, "LU");
  requireMatrices(operation, b, "B");
  requireLike(operation, factors, b);
  requirePivots(operation, factors, pivots);
  if (b.shape.at(left ? -2 : -1) !== n) throw new ShapeError(operation, "B", left ? `[..., ${n}, K]` : `[..., K, ${n}]`, b.describe());
  if (!left) return mT(luSolve(factors, pivots, mT(b), { adjoint: !adjoint }));
  const [lu, right] = spread(operation, factors, b);
  if (right.size === 0) return broadcastTo(zeros([1, 1], { dtype: b.dtype, device: b.device }), right.shape);
  const p = call(permutationOp, [pivots.detach()], { rows: n, dtype: factors.dtype });
  const lower = { upper: false, unitriangular: true };
  if (!adjoint) return solveTriangular(lu, solveTriangular(lu, matmul(mT(p), right), lower), { upper: true });
  const first = solveTriangular(mT(lu), right, { upper: false });
  return matmul(p, solveTriangular(mT(lu), first, { upper: true, unitriangular: true }));
}
