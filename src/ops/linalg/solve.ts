/** Inverses and linear systems. @package */
import { call, dispatch } from "../../dispatch/dispatch.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import { engine } from "../../runtime/lapack/engine.ts";
import { normalizeAxis, sameShape, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Definition, HostArray } from "../../core/definition.ts";
import { matmul } from "../matmul/matmul.ts";
import { flatten, movedim, reshape, squeeze, unsqueeze } from "../shape/movement.ts";
import { tril, triu } from "../creation/ranges.ts";
import { neg } from "../elementwise/unary.ts";
import {
  batchOf,
  columns,
  countOf,
  defineHost,
  requireLike,
  requireMatrices,
  requireReal,
  requireSquare,
  failure,
  mT,
  storeColumns,
  rowsOf,
  spread,
} from "./support.ts";

interface Checked {
  /** Whether a singular matrix is an error; its name. */
  readonly check: string | null;
}

/** A result, and where a matrix is singular: 0, or the index of the first zero on the diagonal of its factor, from 1. */
export interface WithInfo {
  /** The result, valid where info is 0. */
  readonly result: Tensor;
  /** int32, for each matrix of the batch: LAPACK's info, 0 for success. */
  readonly info: Tensor;
}

const isSingular = (operation: string, x: HostArray, i: number, info: number): Error =>
  failure(operation, x, i, info, `the matrix is singular: element ${info} on the diagonal of its LU factor is zero`);

/** The i-th matrix, by columns, as its LU factors; where it is singular goes to infos, or is the error of `check`. */
function factored(
  a: HostArray,
  i: number,
  n: number,
  check: string | null,
  infos: Int32Array,
): { factors: Float64Array; pivots: Int32Array } {
  const factors = columns(a, i, n, n);
  const pivots = new Int32Array(n);
  infos[i] = engine().lu(n, n, factors, pivots);
  if (infos[i] !== 0 && check !== null) throw isSingular(check, a, i, infos[i]!);
  return { factors, pivots };
}

/** inverse, info */
const inverseOp = defineHost<Checked>({
  name: "linalg.invEx",
  infer: ([a]) => [a!, { shape: batchOf(a!.shape), dtype: "int32" }],
  host: ([a], { check }) => {
    const n = rowsOf(a!.shape);
    const count = countOf(a!.shape);
    const out = new Float64Array(a!.data.length);
    const infos = new Int32Array(count);
    for (let i = 0; i < count && n > 0; i++) {
      const { factors, pivots } = factored(a!, i, n, check, infos);
      const inverse = new Float64Array(n * n);
      for (let j = 0; j < n; j++) inverse[j * n + j] = 1;
      if (infos[i] === 0) engine().luSolve(n, n, factors, pivots, inverse, false);
      else inverse.fill(NaN);
      storeColumns(out, i, n, n, inverse);
    }
    return [out, infos];
  },
  grad: (dy, { outputs: [x] }) => [neg(matmul(mT(x!), matmul(dy, mT(x!))))],
  saves: { inputs: [], outputs: [0] },
});

/**
 * The inverses of square matrices [..., n, n]. Throws LinAlgError for a singular one, with its index in the batch. Gradient:
 * -X^T G X^T. Runs on the host: LAPACK getrf, getrs. Reference: torch.linalg.inv.
 */
export function inv(a: Tensor): Tensor {
  requireSquare("linalg.inv", a);
  return call(inverseOp, [a], { check: "linalg.inv" });
}

/** inv() that does not throw: a singular matrix gives NaN and its info. Reference: torch.linalg.inv_ex. */
export function invEx(
  a: Tensor,
  {
    checkErrors = false,
  }: {
    /** Whether a failure is a LinAlgError instead of a number in `info`. Default: false. */
    readonly checkErrors?: boolean | undefined;
  } = {},
): { readonly inverse: Tensor; readonly info: Tensor } {
  requireSquare("linalg.invEx", a);
  const [inverse, info] = dispatch(inverseOp, [a], { check: checkErrors ? "linalg.invEx" : null });
  return { inverse: inverse!, info: info! };
}

/** solution, info of a [..., n, n] and b [..., n, k] with equal batches */
const solveOp: Definition<Checked> = defineHost<Checked>({
  name: "linalg.solveEx",
  infer: ([a, b]) => [b!, { shape: batchOf(a!.shape), dtype: "int32" }],
  host: ([a, b], { check }) => {
    const [n, k] = b!.shape.slice(-2) as [number, number];
    const count = countOf(a!.shape);
    const out = new Float64Array(b!.data.length);
    const infos = new Int32Array(count);
    for (let i = 0; i < count && n > 0; i++) {
      const { factors, pivots } = factored(a!, i, n, check, infos);
      const x = columns(b!, i, n, k);
      if (infos[i] !== 0) x.fill(NaN);
      else if (k > 0) engine().luSolve(n, k, factors, pivots, x, false);
      storeColumns(out, i, n, k, x);
    }
    return [out, infos];
  },
  grad: (dy, { inputs: [a], outputs: [x], needs }) => {
    const [db] = dispatch(solveOp, [mT(a!), dy], { check: null });
    return [needs[0] ? neg(matmul(db!, mT(x!))) : null, db!];
  },
  saves: { inputs: [0], outputs: [0] },
});

/** Options of linalg.solve(). Reference: torch.linalg.solve. */
export interface SolveOptions {
  /** false: X A = B instead of A X = B. Default: true. */
  readonly left?: boolean | undefined;
}

function solved(operation: string, a: Tensor, b: Tensor, left: boolean, check: boolean): WithInfo {
  const n = requireSquare(operation, a);
  requireReal(operation, b, "B");
  requireLike(operation, a, b);
  const isVector = b.rank === 1 || (b.rank === a.rank - 1 && sameShape(b.shape, a.shape.slice(0, -1)));
  if (isVector && !left) throw new ValueError(operation, "left", "true where B holds vectors", left);
  const matrix = isVector ? unsqueeze(b, -1) : b;
  if (matrix.rank < 2 || matrix.shape.at(left ? -2 : -1) !== n)
    throw new ShapeError(operation, "B", left ? `[..., ${n}, K] or [..., ${n}]` : `[..., K, ${n}]`, b.describe());
  const [x, y] = spread(operation, left ? a : mT(a), left ? matrix : mT(matrix));
  const [found, info] = dispatch(solveOp, [x, y], { check: check ? operation : null });
  const result = left ? found! : mT(found!);
  return { result: isVector ? squeeze(result, -1) : result, info: info! };
}

/**
 * X of A X = B. A: [..., n, n]; B: [..., n, k], or vectors [n] or with A's batch. Batches broadcast. Throws LinAlgError for a singular A,
 * with its index in the batch. Gradients: dB = A^-T G, dA = -dB X^T. Runs on the host: LAPACK getrf, getrs. Reference: torch.linalg.solve.
 */
export const solve = (a: Tensor, b: Tensor, { left = true }: SolveOptions = {}): Tensor => solved("linalg.solve", a, b, left, true).result;

/** solve() that does not throw: a singular matrix gives NaN and its info. Reference: torch.linalg.solve_ex. */
export const solveEx = (
  a: Tensor,
  b: Tensor,
  {
    left = true,
    checkErrors = false,
  }: SolveOptions & {
    /** Whether a failure is a LinAlgError instead of a number in `info`. Default: false. */
    readonly checkErrors?: boolean | undefined;
  } = {},
): WithInfo => solved("linalg.solveEx", a, b, left, checkErrors);

interface TriangleAttributes {
  readonly upper: boolean;
  readonly unit: boolean;
}

const triangularOp: Definition<TriangleAttributes> = defineHost<TriangleAttributes>({
  name: "linalg.solveTriangular",
  infer: ([, b]) => [b!],
  host: ([a, b], { upper, unit }) => {
    const [n, k] = b!.shape.slice(-2) as [number, number];
    const out = new Float64Array(b!.data.length);
    const count = countOf(b!.shape);
    for (let i = 0; i < count && n * k > 0; i++) {
      const x = columns(b!, i, n, k);
      engine().triangularSolve(n, k, columns(a!, i, n, n), x, { upper, transposed: false, unit });
      storeColumns(out, i, n, k, x);
    }
    return [out];
  },
  grad: (dy, { inputs: [a], outputs: [x], needs, attrs: { upper, unit } }) => {
    const db = call(triangularOp, [mT(a!), dy], { upper: !upper, unit });
    if (!needs[0]) return [null, db];
    const full = neg(matmul(db, mT(x!)));
    return [upper ? triu(full, unit ? 1 : 0) : tril(full, unit ? -1 : 0), db];
  },
  saves: { inputs: [0], outputs: [0] },
});

/** Options of linalg.solveTriangular(). Reference: torch.linalg.solve_triangular. */
export interface TriangularOptions extends SolveOptions {
  /** Which triangle of A is read; the other one is ignored. */
  readonly upper: boolean;
  /** The diagonal of A counts as ones. Default: false. */
  readonly unitriangular?: boolean | undefined;
}

/**
 * X of A X = B for triangular A [..., n, n], B [..., n, k]; batches broadcast. A zero on the diagonal gives infinities and NaN, no error.
 * Gradients: dB = A^-T G, dA = the triangle of -dB X^T. Runs on the host: BLAS trsm. Reference: torch.linalg.solve_triangular.
 */
export function solveTriangular(a: Tensor, b: Tensor, { upper, left = true, unitriangular = false }: TriangularOptions): Tensor {
  const operation = "linalg.solveTriangular";
  const n = requireSquare(operation, a);
  requireMatrices(operation, b, "B");
  requireLike(operation, a, b);
  if (b.shape.at(left ? -2 : -1) !== n) throw new ShapeError(operation, "B", left ? `[..., ${n}, K]` : `[..., K, ${n}]`, b.describe());
  const [x, y] = spread(operation, left ? a : mT(a), left ? b : mT(b));
  const found = call(triangularOp, [x, y], { upper: left ? upper : !upper, unit: unitriangular });
  return left ? found : mT(found);
}

/**
 * The inverse of A as a linear map: A's first `ind` axes, and its others, have equal numbers of elements. Reference: torch.linalg.tensorinv.
 */
export function tensorinv(a: Tensor, ind = 2): Tensor {
  if (!Number.isInteger(ind) || ind <= 0) throw new ValueError("linalg.tensorinv", "ind", "an integer above 0", ind);
  const [before, behind] = [a.shape.slice(0, ind), a.shape.slice(ind)];
  if (sizeOf(before) !== sizeOf(behind))
    throw new ShapeError("linalg.tensorinv", "A", "of as many elements before axis ind as behind", a.describe());
  return reshape(inv(reshape(a, [sizeOf(before), sizeOf(behind)])), [...behind, ...before]);
}

/**
 * X of tensordot(A, X, X's rank) = B. axes: those of A that are moved to its end before. Reference: torch.linalg.tensorsolve.
 */
export function tensorsolve(
  a: Tensor,
  b: Tensor,
  {
    axes = [],
  }: {
    /** Axes of a that are moved to its end first. Default: none. */
    readonly axes?: readonly number[] | undefined;
    /** axes by its PyTorch name. @alias axes */
    readonly dims?: readonly number[] | undefined;
  } = {},
): Tensor {
  const list = axes.map((axis) => normalizeAxis("linalg.tensorsolve", axis, a.rank));
  const moved =
    list.length === 0
      ? a
      : movedim(
          a,
          list,
          list.map((_, i) => a.rank - list.length + i),
        );
  const shape = moved.shape.slice(b.rank);
  if (sizeOf(shape) !== b.size || moved.size !== b.size * b.size)
    throw new ShapeError("linalg.tensorsolve", "A", "of B's shape and then as many elements", `A ${a.describe()}, B ${b.describe()}`);
  return reshape(solve(reshape(moved, [b.size, b.size]), flatten(b)), shape);
}

/**
 * solveTriangular() with torch.triangular_solve's result: X of A X = b, and A. Reference: torch.triangular_solve.
 */
export function triangularSolve(
  b: Tensor,
  a: Tensor,
  {
    upper = true,
    transpose = false,
    unitriangular = false,
  }: {
    /** Whether a is upper triangular. Default: true. */
    readonly upper?: boolean | undefined; /** Whether a is transposed first. Default: false. */
    readonly transpose?: boolean | undefined; /** Whether a's diagonal counts as ones. Default: false. */
    readonly unitriangular?: boolean | undefined;
  } = {},
): { readonly solution: Tensor; readonly clonedCoefficient: Tensor } {
  const clonedCoefficient = spread("linalg.triangularSolve", a, b)[0];
  const solution = solveTriangular(transpose ? mT(a) : a, b, { upper: transpose ? !upper : upper, unitriangular });
  return { solution, clonedCoefficient };
}
