/** Cholesky factors, and solving with them. @package */
import { call, dispatch } from "../../dispatch/dispatch.ts";
import { ShapeError } from "../../core/errors.ts";
import { engine } from "../../runtime/lapack/engine.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul } from "../elementwise/binary.ts";
import { matmul } from "../matmul/matmul.ts";
import { tril } from "../creation/ranges.ts";
import { neg } from "../elementwise/unary.ts";
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
  failure,
  mT,
  storeColumns,
  rowsOf,
  spread,
} from "./support.ts";

interface CholeskyAttributes {
  readonly upper: boolean;
  readonly check: string | null;
}

/** factor, info */
const choleskyOp = defineHost<CholeskyAttributes>({
  name: "linalg.choleskyEx",
  infer: ([a]) => [a!, { shape: batchOf(a!.shape), dtype: "int32" }],
  host: ([a], { upper, check }) => {
    const n = rowsOf(a!.shape);
    const count = countOf(a!.shape);
    const out = new Float64Array(a!.data.length);
    const infos = new Int32Array(count);
    for (let b = 0; b < count && n > 0; b++) {
      const start = b * n * n;
      // Rows read as columns: the lower triangle of that is the upper one of A.
      const factor = a!.data.slice(start, start + n * n) as Float64Array;
      if (!upper) for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) factor[j * n + i] = factor[i * n + j]!;
      infos[b] = engine().cholesky(n, factor);
      if (infos[b] !== 0 && check !== null)
        throw failure(
          check,
          a!,
          b,
          infos[b]!,
          `the matrix is not positive definite: its leading minor of order ${infos[b]} is not positive`,
        );
      for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) out[start + (upper ? j * n + i : i * n + j)] = factor[j * n + i]!;
    }
    return [out, infos];
  },
  grad: (dy, { outputs: [factor], attrs: { upper } }) => {
    const [l, g] = upper ? [mT(factor!), mT(dy)] : [factor!, dy];
    const m = matmul(mT(l), g);
    const middle = mul(add(tril(m), mT(tril(m, -1))), 0.5);
    const left = solveTriangular(mT(l), middle, { upper: true });
    return [solveTriangular(l, left, { upper: false, left: false })];
  },
  saves: { inputs: [], outputs: [0] },
});

/** Options of linalg.cholesky(), choleskySolve() and choleskyInverse(). Reference: torch.linalg.cholesky. */
export interface CholeskyOptions {
  /** The factor is U of U^T U, made from A's upper triangle. Default: false, L of L L^T from the lower one. */
  readonly upper?: boolean | undefined;
}

/**
 * The Cholesky factors L of symmetric positive definite matrices [..., n, n]: A = L L^T. Only one triangle of A is read. Throws
 * LinAlgError for a matrix that is not positive definite, with its index in the batch. Gradient: L^-T sym(L^T G) L^-1. Runs on the host:
 * LAPACK potrf. Reference: torch.linalg.cholesky.
 */
export function cholesky(a: Tensor, { upper = false }: CholeskyOptions = {}): Tensor {
  requireSquare("linalg.cholesky", a);
  return call(choleskyOp, [a], { upper, check: "linalg.cholesky" });
}

/**
 * cholesky() that does not throw: info is the order of the leading minor that is not positive, 0 where there is none.
 * Reference: torch.linalg.cholesky_ex.
 */
export function choleskyEx(
  a: Tensor,
  {
    upper = false,
    checkErrors = false,
  }: CholeskyOptions & {
    /** Whether a failure is a LinAlgError instead of a number in `info`. Default: false. */
    readonly checkErrors?: boolean | undefined;
  } = {},
): { readonly L: Tensor; readonly info: Tensor } {
  requireSquare("linalg.choleskyEx", a);
  const [L, info] = dispatch(choleskyOp, [a], { upper, check: checkErrors ? "linalg.choleskyEx" : null });
  return { L: L!, info: info! };
}

const solveOp = defineHost<{ readonly upper: boolean }>({
  name: "linalg.choleskySolve",
  infer: ([, b]) => [b!],
  host: ([factor, b], { upper }) => {
    const [n, k] = [rowsOf(b!.shape), columnsOf(b!.shape)];
    const out = new Float64Array(b!.data.length);
    for (let i = 0; i < countOf(b!.shape) && n > 0 && k > 0; i++) {
      const x = columns(b!, i, n, k);
      for (const transposed of [upper, !upper])
        engine().triangularSolve(n, k, columns(factor!, i, n, n), x, { upper, transposed, unit: false });
      storeColumns(out, i, n, k, x);
    }
    return [out];
  },
  // As if both triangles of the factor counted, as in choleskyInverse.
  grad: (dy, { inputs: [factor], outputs: [x], attrs: { upper }, needs }) => {
    const db = choleskySolve(dy, factor!, { upper });
    if (!needs[0]) return [null, db];
    const product = matmul(db, mT(x!));
    const inner = neg(add(product, mT(product)));
    return [upper ? matmul(factor!, inner) : matmul(inner, factor!), db];
  },
  saves: { inputs: [0] },
});

/** X of A X = B, by A's Cholesky factor. B: [..., n, k]; batches broadcast. Runs on the host: BLAS trsm. Reference: torch.cholesky_solve. */
export function choleskySolve(b: Tensor, factor: Tensor, { upper = false }: CholeskyOptions = {}): Tensor {
  requireSquare("linalg.choleskySolve", factor, "L");
  requireMatrices("linalg.choleskySolve", b, "B");
  requireLike("linalg.choleskySolve", factor, b);
  if (b.shape.at(-2) !== factor.shape.at(-1))
    throw new ShapeError("linalg.choleskySolve", "B", `[..., ${factor.shape.at(-1)}, K]`, b.describe());
  const [l, y] = spread("linalg.choleskySolve", factor, b);
  return call(solveOp, [l, y], { upper });
}

const inverseOp = defineHost<{ readonly upper: boolean }>({
  name: "linalg.choleskyInverse",
  infer: ([l]) => [l!],
  host: ([l], { upper }) => {
    const n = rowsOf(l!.shape);
    const out = new Float64Array(l!.data.length);
    for (let b = 0; b < countOf(l!.shape) && n > 0; b++) {
      const factor = columns(l!, b, n, n);
      const x = new Float64Array(n * n);
      for (let j = 0; j < n; j++) x[j * n + j] = 1;
      for (const transposed of [upper, !upper]) engine().triangularSolve(n, n, factor, x, { upper, transposed, unit: false });
      storeColumns(out, b, n, n, x);
    }
    return [out];
  },
  // As if both triangles of the factor counted, which is what PyTorch gives.
  grad: (dy, { inputs: [factor], outputs: [x], attrs: { upper } }) => {
    const inner = neg(matmul(matmul(x!, add(dy, mT(dy))), x!));
    return [upper ? matmul(factor!, inner) : matmul(inner, factor!)];
  },
});

/** The inverse of A, by A's Cholesky factor. Runs on the host: BLAS trsm. Reference: torch.cholesky_inverse. */
export function choleskyInverse(factor: Tensor, { upper = false }: CholeskyOptions = {}): Tensor {
  requireSquare("linalg.choleskyInverse", factor, "L");
  return call(inverseOp, [factor], { upper });
}
