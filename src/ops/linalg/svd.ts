/** Singular values, pseudo-inverses and ranks. @package */
import { call, dispatch } from "../../dispatch/dispatch.ts";
import type { HostArray } from "../../core/definition.ts";
import { DTypeError } from "../../core/errors.ts";
import { engine } from "../../runtime/lapack/engine.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { full } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { div } from "../elementwise/division.ts";
import { diagEmbed } from "../shape/diagonals.ts";
import { matmul } from "../matmul/matmul.ts";
import { broadcastTo, narrow, unsqueeze } from "../shape/movement.ts";
import { neg, square } from "../elementwise/unary.ts";
import {
  batchOf,
  columns,
  columnsOf,
  countOf,
  defineHost,
  requireConverged,
  requireFinite,
  requireMatrices,
  requireSquare,
  epsilonOf,
  eyeLike,
  mT,
  storeColumns,
  rowsOf,
} from "./support.ts";

interface SvdAttributes {
  readonly full: boolean;
}

/** S, U, Vh: where no gradient comes to the first one zeros do, which singular values alone bear where some are equal. */
const svdOp = defineHost<SvdAttributes>({
  name: "linalg.svd",
  infer: ([a], { full: isFull }) => {
    const [m, n] = a!.shape.slice(-2) as [number, number];
    const k = Math.min(m, n);
    const batch = batchOf(a!.shape);
    return [
      { shape: [...batch, k], dtype: a!.dtype },
      { shape: [...batch, m, isFull ? m : k], dtype: a!.dtype },
      { shape: [...batch, isFull ? n : k, n], dtype: a!.dtype },
    ];
  },
  host: ([a], { full: isFull }) => {
    requireFinite("linalg.svd", a!);
    const [m, n] = a!.shape.slice(-2) as [number, number];
    const k = Math.min(m, n);
    const [left, right] = isFull ? [m, n] : [k, k];
    const count = countOf(a!.shape);
    const [u, s, vh] = [new Float64Array(count * m * left), new Float64Array(count * k), new Float64Array(count * right * n)];
    for (let i = 0; i < count; i++) {
      if (k === 0) {
        for (let j = 0; j < left; j++) u[i * m * left + j * left + j] = 1;
        for (let j = 0; j < right; j++) vh[i * right * n + j * n + j] = 1;
        continue;
      }
      const found = engine().svd(m, n, columns(a!, i, m, n), isFull ? "all" : "some");
      requireConverged("linalg.svd", a!, i, found.info);
      storeColumns(u, i, m, left, found.u);
      s.set(found.s, i * k);
      storeColumns(vh, i, right, n, found.vt);
    }
    return [s, u, vh];
  },
  grad: (_, { outputs: [s, u, vh], dys: [gs, gu, gvh] }) => [svdGradient(u!, s!, vh!, gu ?? null, gs ?? null, gvh ?? null)],
  saves: { inputs: [] },
});

/**
 * Of A by the gradients of its singular values and vectors; those of vectors beyond the first min(m, n) are left out. Infinite where
 * singular values are equal, or zero in matrices that are not square. Giles, "Collected matrix derivative results" (2008).
 */
function svdGradient(fullU: Tensor, s: Tensor, fullVh: Tensor, dU: Tensor | null, dS: Tensor | null, dVh: Tensor | null): Tensor | null {
  const k = s.shape.at(-1)!;
  const first = (x: Tensor, axis: number): Tensor => (x.shape.at(axis) === k ? x : narrow(x, axis, 0, k));
  const [u, vh] = [first(fullU, -1), first(fullVh, -2)];
  const [gu, gvh] = [dU === null ? null : first(dU, -1), dVh === null ? null : first(dVh, -2)];
  if (gu === null && gvh === null) return dS === null ? null : matmul(mul(u, unsqueeze(dS, -2)), vh);
  const skew = (x: Tensor): Tensor => sub(x, mT(x));
  const squares = square(s);
  const one = eyeLike(s, k);
  const gap = add(sub(unsqueeze(squares, -2), unsqueeze(squares, -1)), one);
  let middle = dS === null ? null : diagEmbed(dS);
  const plus = (x: Tensor): void => void (middle = middle === null ? x : add(middle, x));
  if (gu !== null) plus(mul(div(skew(matmul(mT(u), gu)), gap), unsqueeze(s, -2)));
  if (gvh !== null) plus(mul(div(skew(matmul(vh, mT(gvh))), gap), unsqueeze(s, -1)));
  let ga = matmul(matmul(u, middle!), vh);
  if (gu !== null && u.shape.at(-2)! > k) {
    const scaled = div(gu, unsqueeze(s, -2));
    ga = add(ga, matmul(sub(scaled, matmul(u, matmul(mT(u), scaled))), vh));
  }
  if (gvh !== null && vh.shape.at(-1)! > k) {
    const scaled = div(gvh, unsqueeze(s, -1));
    ga = add(ga, matmul(u, sub(scaled, matmul(matmul(scaled, mT(vh)), vh))));
  }
  return ga;
}

/** The result of linalg.svd(): A = U diag(S) Vh. */
export interface SVD {
  /** [..., M, K] or [..., M, M]: the left singular vectors, in columns. */
  readonly U: Tensor;
  /** [..., K]: the singular values, descending. */
  readonly S: Tensor;
  /** [..., K, N] or [..., N, N]: the right singular vectors, in rows. */
  readonly Vh: Tensor;
}

/**
 * A = U diag(S) Vh: A [..., m, n]; S [..., k] descending, k = min(m, n); U [..., m, m] and Vh [..., n, n], or [..., m, k] and [..., k, n]
 * without `fullMatrices`. Vectors are unique up to their sign, or up to a rotation for equal values, and so are their gradients. Throws
 * LinAlgError for infinities and NaN. Runs on the host: LAPACK gesdd. Reference: torch.linalg.svd.
 */
export function svd(
  a: Tensor,
  {
    fullMatrices = true,
  }: {
    /** Whether U and Vh are square. Default: true. */
    readonly fullMatrices?: boolean | undefined;
  } = {},
): SVD {
  requireMatrices("linalg.svd", a);
  const [S, U, Vh] = dispatch(svdOp, [a], { full: fullMatrices });
  return { U: U!, S: S!, Vh: Vh! };
}

/** The singular values [..., min(m, n)], descending. Gradient: U diag(G) Vh. Reference: torch.linalg.svdvals. */
export const svdvals = (a: Tensor): Tensor => svd(a, { fullMatrices: false }).S;

/** Options of linalg.matrixRank() and linalg.pinv(): which singular values count as zero. */
export interface ToleranceOptions {
  /** The absolute tolerance below which singular values count as zero: a number, or a tensor with the batch's shape. Default: 0. */
  readonly atol?: number | Tensor | null | undefined;
  /** The tolerance relative to the largest singular value. Default: max(m, n) epsilon, or 0 where atol is given. */
  readonly rtol?: number | Tensor | null | undefined;
  /** A is symmetric: its eigenvalues are used instead. Default: false. */
  readonly hermitian?: boolean | undefined;
}

interface RankAttributes {
  readonly hermitian: boolean;
}

/** Singular values and vectors of one matrix; of a symmetric one by its eigenvalues, read from its lower triangle. */
function decompose(operation: string, a: HostArray, i: number, hermitian: boolean) {
  const [m, n] = a.shape.slice(-2) as [number, number];
  const matrix = columns(a, i, m, n);
  if (!hermitian) {
    const found = engine().svd(m, n, matrix, "some");
    requireConverged(operation, a, i, found.info);
    return found;
  }
  const w = new Float64Array(n);
  requireConverged(operation, a, i, engine().symmetricEigen(n, matrix, w));
  const vt = new Float64Array(n * n);
  for (let c = 0; c < n; c++) for (let r = 0; r < n; r++) vt[r * n + c] = Math.sign(w[c]! || 1) * matrix[c * n + r]!;
  return { s: w.map(Math.abs), u: matrix, vt };
}

/** NaN stands for a tolerance that was not passed. */
function toleranceOf(atol: number, rtol: number, s: Float64Array, a: HostArray): number {
  const largest = s.reduce((x, y) => Math.max(x, y), 0);
  const absolute = Number.isNaN(atol) ? 0 : atol;
  const relative = !Number.isNaN(rtol) ? rtol : absolute > 0 ? 0 : Math.max(rowsOf(a.shape), columnsOf(a.shape)) * epsilonOf(a.dtype);
  return Math.max(absolute, relative * largest);
}

const rankOp = defineHost<RankAttributes>({
  name: "linalg.matrixRank",
  infer: ([a]) => [{ shape: batchOf(a!.shape), dtype: "int32" }],
  host: ([a, atol, rtol], { hermitian }) => {
    requireFinite("linalg.matrixRank", a!);
    const out = new Int32Array(countOf(a!.shape));
    if (a!.data.length === 0) return [out];
    out.forEach((_, i) => {
      const { s } = decompose("linalg.matrixRank", a!, i, hermitian);
      const tolerance = toleranceOf(atol!.data[i]!, rtol!.data[i]!, s, a!);
      out[i] = s.filter((v) => v > tolerance).length;
    });
    return [out];
  },
  grad: null,
});

const pinvOp = defineHost<RankAttributes>({
  name: "linalg.pinv",
  infer: ([a]) => [{ shape: [...batchOf(a!.shape), columnsOf(a!.shape), rowsOf(a!.shape)], dtype: a!.dtype }],
  host: ([a, atol, rtol], { hermitian }) => {
    requireFinite("linalg.pinv", a!);
    const [m, n] = a!.shape.slice(-2) as [number, number];
    const k = Math.min(m, n);
    const out = new Float64Array(a!.data.length);
    for (let b = 0; b < countOf(a!.shape) && k > 0; b++) {
      const { s, u, vt } = decompose("linalg.pinv", a!, b, hermitian);
      const tolerance = toleranceOf(atol!.data[b]!, rtol!.data[b]!, s, a!);
      for (let p = 0; p < k; p++) {
        if (!(s[p]! > tolerance)) continue;
        for (let i = 0; i < n; i++) {
          const factor = vt[i * k + p]! / s[p]!;
          for (let j = 0; j < m; j++) out[b * m * n + i * m + j]! += factor * u[p * m + j]!;
        }
      }
    }
    return [out];
  },
  grad: (dy, { inputs: [a], outputs: [x] }) => [pinvGradient(a!, x!, dy), null, null],
  saves: { inputs: [0] },
});

/** Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973): right for matrices whose rank does not change nearby. */
export function pinvGradient(a: Tensor, x: Tensor, dy: Tensor): Tensor {
  const [xt, g] = [mT(x), mT(dy)];
  if (rowsOf(a.shape) <= columnsOf(a.shape)) {
    const k = matmul(g, x);
    const kxt = matmul(k, xt);
    const inner = sub(kxt, matmul(matmul(a, x), kxt));
    return add(sub(inner, mT(matmul(x, k))), matmul(matmul(xt, x), sub(g, matmul(k, a))));
  }
  const k = matmul(x, g);
  const xtk = matmul(xt, k);
  const outer = add(matmul(matmul(sub(g, matmul(a, k)), x), xt), sub(xtk, matmul(matmul(xtk, x), a)));
  return add(neg(mT(matmul(k, x))), outer);
}

function toleranceTensor(operation: string, name: string, tolerance: number | Tensor | null | undefined, a: Tensor): Tensor {
  const shape = batchOf(a.shape);
  if (tolerance === null || tolerance === undefined || typeof tolerance === "number")
    return full(shape, tolerance ?? NaN, { dtype: a.dtype, device: a.device });
  if (tolerance.dtype.startsWith("int") || tolerance.dtype === "bool")
    throw new DTypeError(operation, name, "of a floating dtype", tolerance.describe());
  return broadcastTo(toDType(tolerance, a.dtype), shape);
}

function tolerances(operation: string, a: Tensor, { atol, rtol, hermitian = false }: ToleranceOptions): readonly [Tensor, Tensor] {
  if (hermitian) requireSquare(operation, a);
  else requireMatrices(operation, a);
  return [toleranceTensor(operation, "atol", atol, a), toleranceTensor(operation, "rtol", rtol, a)];
}

/**
 * How many singular values of matrices [..., m, n] are greater than max(atol, rtol * the largest): int32. Runs on the host: LAPACK gesdd,
 * or syevd. Reference: torch.linalg.matrix_rank.
 */
export function matrixRank(a: Tensor, options: ToleranceOptions = {}): Tensor {
  const [atol, rtol] = tolerances("linalg.matrixRank", a, options);
  return call(rankOp, [a.detach(), atol.detach(), rtol.detach()], { hermitian: options.hermitian ?? false });
}

/**
 * The pseudo-inverses [..., n, m] of matrices [..., m, n]; singular values up to max(atol, rtol * the largest) count as zero. Runs on the
 * host: LAPACK gesdd, or syevd. Reference: torch.linalg.pinv.
 */
export function pinv(a: Tensor, options: ToleranceOptions = {}): Tensor {
  const [atol, rtol] = tolerances("linalg.pinv", a, options);
  return call(pinvOp, [a, atol.detach(), rtol.detach()], { hermitian: options.hermitian ?? false });
}
