/** QR factors, and products of Householder reflections. @package */
import { dispatch } from "../../dispatch/dispatch.ts";
import { AutogradError, ShapeError, ValueError } from "../../core/errors.ts";
import { engine } from "../../runtime/lapack/engine.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { cat } from "../shape/join.ts";
import { diagEmbed } from "../shape/diagonals.ts";
import { matmul } from "../matmul/matmul.ts";
import { broadcastTo, narrow, unsqueeze } from "../shape/movement.ts";
import { tril, triu } from "../creation/ranges.ts";
import { solveTriangular } from "./solve.ts";
import { batchOf, columns, countOf, defineHost, requireLike, requireMatrices, eyeLike, mT, storeColumns } from "./support.ts";
import { broadcastShapes } from "../../core/shape.ts";

/** Which parts linalg.qr() returns: reduced, complete, or R alone. */
export type QRMode = "reduced" | "complete" | "r";

/** Q, R */
const qrOp = defineHost<{ readonly mode: QRMode }>({
  name: "linalg.qr",
  infer: ([a], { mode }) => {
    const [m, n] = a!.shape.slice(-2) as [number, number];
    const batch = batchOf(a!.shape);
    const k = mode === "complete" ? m : Math.min(m, n);
    return [
      { shape: mode === "r" ? [0] : [...batch, m, k], dtype: a!.dtype },
      { shape: [...batch, k, n], dtype: a!.dtype },
    ];
  },
  host: ([a], { mode }) => {
    const [m, n] = a!.shape.slice(-2) as [number, number];
    const min = Math.min(m, n);
    const k = mode === "complete" ? m : min;
    const count = countOf(a!.shape);
    const q = new Float64Array(mode === "r" ? 0 : count * m * k);
    const r = new Float64Array(count * k * n);
    for (let b = 0; b < count && m > 0; b++) {
      const factors = columns(a!, b, m, n);
      const tau = new Float64Array(min);
      if (min > 0) engine().qr(m, n, factors, tau);
      for (let i = 0; i < k; i++) for (let j = i; j < n; j++) r[b * k * n + i * n + j] = factors[j * m + i]!;
      if (mode === "r" || k === 0) continue;
      const vectors = new Float64Array(m * k);
      vectors.set(factors.subarray(0, m * min));
      engine().reflectorProduct(m, k, min, vectors, tau);
      storeColumns(q, b, m, k, vectors);
    }
    return [q, r];
  },
  grad: (_, { inputs: [a], outputs: [q, r], dys: [gq, gr], attrs: { mode } }) => [qrGradient(a!, q!, r!, gq ?? null, gr ?? null, mode)],
});

const plus = (a: Tensor | null, b: Tensor): Tensor => (a === null ? b : add(a, b));

/** Seeger, Hetzel, Dai, Meissner and Lawrence, arXiv:1710.08717; wide matrices: Roberts and Roberts, arXiv:2009.10071. */
function qrGradient(a: Tensor, q: Tensor, r: Tensor, gq: Tensor | null, gr: Tensor | null, mode: QRMode): Tensor | null {
  const [m, n] = a.shape.slice(-2) as [number, number];
  if (mode === "r" || (mode === "complete" && m > n))
    throw new AutogradError({
      operation: "linalg.qr",
      argument: "mode",
      expected: mode === "r" ? '"reduced" or "complete" if a gradient is required' : '"reduced" if a gradient of a tall matrix is required',
      received: mode,
    });
  if (gq === null && gr === null) return null;
  if (m >= n) return squareGradient(q, r, gq, gr);
  // A = [X, Y], R = [R1, Q^T Y]
  const rest = gr === null ? null : narrow(gr, -1, m, n - m);
  const inner = rest === null ? gq : plus(gq, matmul(narrow(a, -1, m, n - m), mT(rest)));
  const gx = squareGradient(q, narrow(r, -1, 0, m), inner, gr === null ? null : narrow(gr, -1, 0, m));
  return cat([gx, rest === null ? mul(narrow(a, -1, m, n - m), 0) : matmul(q, rest)], -1);
}

function squareGradient(q: Tensor, r: Tensor, gq: Tensor | null, gr: Tensor | null): Tensor {
  const fromR = gr === null ? null : matmul(gr, mT(r));
  const fromQ = gq === null ? null : matmul(mT(q), gq);
  const upper = fromQ === null ? fromR! : fromR === null ? mul(fromQ, -1) : sub(fromR, fromQ);
  const symmetric = add(triu(upper), mT(triu(upper, 1)));
  return solveTriangular(mT(r), plus(gq, matmul(q, symmetric)), { upper: false, left: false });
}

/**
 * A = Q R: Q with orthonormal columns, R upper triangular. A: [..., m, n]; reduced: Q [..., m, k], R [..., k, n] with k = min(m, n);
 * complete: Q [..., m, m], R [..., m, n]; r: Q is empty. Gradient: (dQ + Q sym(triu(dR R^T - Q^T dQ))) R^-T, for reduced and for matrices
 * that are not tall. Runs on the host: LAPACK geqrf, orgqr. Reference: torch.linalg.qr.
 */
export function qr(
  a: Tensor,
  {
    mode = "reduced",
  }: {
    /** Which parts are computed. Default: "reduced". */
    readonly mode?: QRMode | undefined;
  } = {},
): { readonly Q: Tensor; readonly R: Tensor } {
  requireMatrices("linalg.qr", a);
  if (mode !== "reduced" && mode !== "complete" && mode !== "r")
    throw new ValueError("linalg.qr", "mode", '"reduced", "complete" or "r"', mode);
  const [Q, R] = dispatch(qrOp, [a], { mode });
  return { Q: Q!, R: R! };
}

/** a, tau */
const geqrfOp = defineHost({
  name: "linalg.geqrf",
  infer: ([a]) => [a!, { shape: [...batchOf(a!.shape), Math.min(...a!.shape.slice(-2))], dtype: a!.dtype }],
  host: ([a]) => {
    const [m, n] = a!.shape.slice(-2) as [number, number];
    const k = Math.min(m, n);
    const count = countOf(a!.shape);
    const out = new Float64Array(a!.data.length);
    const tau = new Float64Array(count * k);
    for (let b = 0; b < count && k > 0; b++) {
      const factors = columns(a!, b, m, n);
      engine().qr(m, n, factors, tau.subarray(b * k, (b + 1) * k));
      storeColumns(out, b, m, n, factors);
    }
    return [out, tau];
  },
  grad: null,
});

/**
 * QR in LAPACK's packed form: R in a's upper triangle, the vectors of Householder reflections below it, their factors tau [..., min(m, n)].
 * No gradient, as in PyTorch. Runs on the host: LAPACK geqrf. Reference: torch.geqrf.
 */
export function geqrf(x: Tensor): { readonly a: Tensor; readonly tau: Tensor } {
  requireMatrices("linalg.geqrf", x);
  const [a, tau] = dispatch(geqrfOp, [x], undefined);
  return { a: a!, tau: tau! };
}

/** V [..., m, k] and T [..., k, k] of H1 ... Hk = I - V T V^T. Schreiber and Van Loan, SIAM J. Sci. Stat. Comput. 10 (1989). */
function compact(operation: string, a: Tensor, tau: Tensor): readonly [Tensor, Tensor] {
  requireMatrices(operation, a);
  requireLike(operation, a, tau, "tau");
  const k = tau.shape.at(-1);
  if (tau.rank !== a.rank - 1 || k! > a.shape.at(-1)! || tau.shape.slice(0, -1).some((d, i) => d !== a.shape[i]))
    throw new ShapeError(operation, "tau", `${a.describe()}'s batch, and at most as many elements as it has columns`, tau.describe());
  const v = add(tril(narrow(a, -1, 0, k!), -1), eyeLike(a, a.shape.at(-2)!, k));
  const above = mul(unsqueeze(tau, -1), triu(matmul(mT(v), v), 1));
  return [v, solveTriangular(add(above, eyeLike(a, k!)), diagEmbed(tau), { upper: true, unitriangular: true })];
}

/**
 * The first n columns of the product of reflections I - tau v v^T, their vectors below the diagonal of a [..., m, n], m >= n; tau
 * [..., k], k <= n. Gradients of any order, by the product's compact form. Reference: torch.linalg.householder_product.
 */
export function householderProduct(a: Tensor, tau: Tensor): Tensor {
  const [m, n] = a.shape.slice(-2) as [number, number];
  const [v, t] = compact("linalg.householderProduct", a, tau);
  if (m < n) throw new ShapeError("linalg.householderProduct", "a", "of at least as many rows as columns", a.describe());
  return sub(eyeLike(a, m, n), matmul(matmul(v, t), mT(narrow(v, -2, 0, n))));
}

/** Options of linalg.ormqr(). Reference: torch.ormqr. */
export interface OrmqrOptions {
  /** false: other times Q. Default: true. */
  readonly left?: boolean | undefined;
  /** Q's transpose. Default: false. */
  readonly transpose?: boolean | undefined;
}

/**
 * Q times other, where Q [..., m, m] is the product of geqrf()'s reflections. Q itself is not computed. Gradients flow to all inputs.
 * Reference: torch.ormqr.
 */
export function ormqr(a: Tensor, tau: Tensor, other: Tensor, { left = true, transpose = false }: OrmqrOptions = {}): Tensor {
  const [v, t] = compact("linalg.ormqr", a, tau);
  requireMatrices("linalg.ormqr", other, "other");
  requireLike("linalg.ormqr", a, other, "other");
  const m = a.shape.at(-2)!;
  if (other.shape.at(left ? -2 : -1) !== m)
    throw new ShapeError("linalg.ormqr", "other", left ? `[..., ${m}, K]` : `[..., K, ${m}]`, other.describe());
  const batch = broadcastShapes("linalg.ormqr", batchOf(a.shape), batchOf(other.shape));
  const c = broadcastTo(other, [...batch, ...other.shape.slice(-2)]);
  const middle = transpose ? mT(t) : t;
  return sub(c, left ? matmul(v, matmul(middle, matmul(mT(v), c))) : matmul(matmul(matmul(c, v), middle), mT(v)));
}
