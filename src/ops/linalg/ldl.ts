/** L D L^T factors of symmetric matrices that need not be definite. @package */
import { call, dispatch } from "../../dispatch/dispatch.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import { engine } from "../../runtime/lapack/engine.ts";
import { broadcastShapes } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { broadcastTo } from "../shape/movement.ts";
import { requirePivots } from "./lu.ts";
import {
  batchOf,
  columns,
  countOf,
  defineHost,
  requireLike,
  requireMatrices,
  requireSquare,
  failure,
  storeColumns,
  rowsOf,
  spread,
} from "./support.ts";

/** LD, pivots, info */
const ldlOp = defineHost<{ readonly check: string | null }>({
  name: "linalg.ldlFactorEx",
  infer: ([a]) => [a!, { shape: a!.shape.slice(0, -1), dtype: "int32" }, { shape: batchOf(a!.shape), dtype: "int32" }],
  host: ([a], { check }) => {
    const n = rowsOf(a!.shape);
    const count = countOf(a!.shape);
    const out = new Float64Array(a!.data.length);
    const pivots = new Int32Array(count * n);
    const infos = new Int32Array(count);
    for (let i = 0; i < count && n > 0; i++) {
      const factors = columns(a!, i, n, n);
      infos[i] = engine().ldl(n, factors, pivots.subarray(i * n, (i + 1) * n));
      if (infos[i] !== 0 && check !== null)
        throw failure(check, a!, i, infos[i]!, `element ${infos[i]} of D is zero: solving with it would divide by zero`);
      for (let j = 1; j < n; j++) factors.fill(0, j * n, j * n + j);
      storeColumns(out, i, n, n, factors);
    }
    return [out, pivots, infos];
  },
  grad: null,
});

/** L D L^T in LAPACK's packed form (its lower triangle), and the pivots. */
export interface LDLFactors {
  /** [..., N, N]: L below the diagonal, D on it and next to it. */
  readonly LD: Tensor;
  /** [..., N], int32: LAPACK's pivots, from 1; negative for blocks of 2. */
  readonly pivots: Tensor;
}

/**
 * A = L D L^T of symmetric matrices [..., n, n], whose lower triangle is read: L and the blocks of D packed, and LAPACK's pivots, int32.
 * Throws LinAlgError when D is singular. No gradient, as in PyTorch. Runs on the host: LAPACK sytrf. Reference: torch.linalg.ldl_factor.
 */
export function ldlFactor(a: Tensor): LDLFactors {
  requireSquare("linalg.ldlFactor", a);
  const [LD, pivots] = dispatch(ldlOp, [a], { check: "linalg.ldlFactor" });
  return { LD: LD!, pivots: pivots! };
}

/** ldlFactor() that does not throw: info is the index of the first zero of D, from 1, or 0. Reference: torch.linalg.ldl_factor_ex. */
export function ldlFactorEx(
  a: Tensor,
  {
    checkErrors = false,
  }: {
    /** Whether a failure is a LinAlgError instead of a number in `info`. Default: false. */
    readonly checkErrors?: boolean | undefined;
  } = {},
): LDLFactors & { readonly info: Tensor } {
  requireSquare("linalg.ldlFactorEx", a);
  const [LD, pivots, info] = dispatch(ldlOp, [a], { check: checkErrors ? "linalg.ldlFactorEx" : null });
  return { LD: LD!, pivots: pivots!, info: info! };
}

/** Throws unless the pivots are a result of ldlFactor(): with others LAPACK would write beyond the matrix. */
function requireRows(pivots: Int32Array): void {
  const n = pivots.length;
  for (let i = 0; i < n; i++) {
    const p = pivots[i]!;
    const isRow = p !== 0 && Math.abs(p) <= n && (p > 0 || pivots[i + 1] === p);
    if (!isRow) throw new ValueError("linalg.ldlSolve", "pivots", `rows from 1 to ${n}, or pairs of equal negative ones`, p);
    if (p < 0) i++;
  }
}

const ldlSolveOp = defineHost({
  name: "linalg.ldlSolve",
  infer: ([, , b]) => [b!],
  host: ([factors, pivots, b]) => {
    const [n, k] = b!.shape.slice(-2) as [number, number];
    const out = new Float64Array(b!.data.length);
    for (let i = 0; i < countOf(b!.shape) && n * k > 0; i++) {
      const x = columns(b!, i, n, k);
      const rows = (pivots!.data as Int32Array).slice(i * n, (i + 1) * n);
      requireRows(rows);
      engine().ldlSolve(n, k, columns(factors!, i, n, n), rows, x);
      storeColumns(out, i, n, k, x);
    }
    return [out];
  },
  grad: null,
});

/** X of A X = B by A's factors of ldlFactor(). B: [..., n, k]; batches broadcast. LAPACK sytrs. Reference: torch.linalg.ldl_solve. */
export function ldlSolve(factors: Tensor, pivots: Tensor, b: Tensor): Tensor {
  const operation = "linalg.ldlSolve";
  const n = requireSquare(operation, factors, "LD");
  requireMatrices(operation, b, "B");
  requireLike(operation, factors, b);
  requirePivots(operation, factors, pivots);
  if (rowsOf(b.shape) !== n) throw new ShapeError(operation, "B", `[..., ${n}, K]`, b.describe());
  const batch = broadcastShapes(operation, batchOf(factors.shape), batchOf(b.shape));
  const [lu, right] = spread(operation, factors, b);
  return call(ldlSolveOp, [lu, broadcastTo(pivots, [...batch, n]), right], undefined);
}
