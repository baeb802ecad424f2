/** NaN-ignoring reductions, counts and covariance. */
import { isGradEnabled, noGrad } from "../../autograd/grad-mode.ts";
import { call } from "../../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { isFloat, isInteger, resultType } from "../../core/dtype.ts";
import { checksValues } from "../../runtime/index-check.ts";
import { scope } from "../../core/scope.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { gt, isnan, logicalNot, lt, ne } from "../elementwise/compare.ts";
import { asFloat, itemSync, toDType } from "../data/conversion.ts";
import { formula } from "../elementwise/formula.ts";
import { diagonal, reshape, t as transposed, unsqueeze } from "../shape/movement.ts";
import { amax, amin } from "./extrema.ts";
import { matmul } from "../matmul/matmul.ts";
import { any, mean, sum, type Axes, type ReduceOptions } from "./reduce.ts";
import { norm, std, variance, type VarianceOptions } from "./statistics.ts";
import { normalizeAxis } from "../../core/shape.ts";
import { requireFloat } from "../declare/support.ts";
import { sqrt } from "../elementwise/unary.ts";
import { clamp, clampMin, where } from "../elementwise/where.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

const knownOp = formula("withoutNan", {
  emit: (f, [x]) => f.where(f.isNan(x!), 0, x!),
  // Multiplied, as in PyTorch: an infinite gradient of an element that was left out is NaN.
  grad: [(dy, [x]): Tensor => mul(dy, toDType(logicalNot(isnan(x!)), dy.dtype))],
});
const known = (x: Tensor): Tensor => (isFloat(x.dtype) ? call(knownOp, [x], undefined) : x);

/** The sum without NaN. Reference: torch.nansum. DirectML: IS_NAN, REDUCE SUM. */
export const nansum = (x: Tensor, axis: Axes = null, options: ReduceOptions = {}): Tensor => sum(known(x), axis, options);
/** The mean of the elements that are not NaN. Floating dtypes. Reference: torch.nanmean. DirectML: IS_NAN, REDUCE SUM. */
export function nanmean(x: Tensor, axis: Axes = null, options: ReduceOptions = {}): Tensor {
  const source = options.dtype === undefined ? x : toDType(x, options.dtype);
  requireFloat("nanmean", source);
  const count = sum(logicalNot(isnan(source)), axis, { keepDims: options.keepDims, dtype: "int64" });
  return div(nansum(source, axis, options), toDType(count, source.dtype));
}
/** How many elements are not zero: int64. Reference: torch.count_nonzero. DirectML: REDUCE SUM. */
export const countNonzero = (x: Tensor, axis: Axes = null): Tensor => sum(ne(x, 0), axis, { dtype: "int64" });

/** The smallest and the largest element over one axis, or all. Reference: torch.aminmax. DirectML: REDUCE MIN and MAX. */
export function aminmax(
  x: Tensor,
  {
    axis = null,
    keepDims = false,
  }: {
    /** The axis that is reduced. Default: null, all. */
    readonly axis?: number | null | undefined;
    /** axis by its PyTorch name. @alias axis */
    readonly dim?: number | null | undefined;
    /** Whether axes that are reduced stay, with length 1. Default: false. */
    readonly keepDims?: boolean | undefined;
    /** keepDims by its PyTorch name. @alias keepDims */
    readonly keepdim?: boolean | undefined;
  } = {},
): { readonly min: Tensor; readonly max: Tensor } {
  return { min: amin(x, axis, { keepDims }), max: amax(x, axis, { keepDims }) };
}

/** Variance and mean. Reference: torch.var_mean. */
export const varMean = (x: Tensor, axis: Axes = null, options: VarianceOptions = {}): { readonly var: Tensor; readonly mean: Tensor } => ({
  var: variance(x, axis, options),
  mean: mean(x, axis, { keepDims: options.keepDims }),
});
/** Standard deviation and mean. Reference: torch.std_mean. */
export const stdMean = (x: Tensor, axis: Axes = null, options: VarianceOptions = {}): { readonly std: Tensor; readonly mean: Tensor } => ({
  std: std(x, axis, options),
  mean: mean(x, axis, { keepDims: options.keepDims }),
});

/** Slices along an axis scaled down to the p-norm maxNorm where theirs is larger. Reference: torch.renorm. DirectML: REDUCE. @autocast float32 */
export function renorm(x: Tensor, p: number, axis: number, maxNorm: number): Tensor {
  if (!(p > 0)) throw new ValueError("renorm", "p", "above 0", p);
  if (!(maxNorm >= 0)) throw new ValueError("renorm", "maxNorm", "at least 0", maxNorm);
  if (x.rank < 2) throw new ShapeError("renorm", "x", "of at least two axes", x.describe());
  const kept = normalizeAxis("renorm", axis, x.rank);
  const axes = x.shape.flatMap((_, i) => (i === kept ? [] : [i]));
  const lengthOf = (t: Tensor): Tensor => norm(t, p, axes, { keepDims: true });
  const shrunk = (t: Tensor, length: Tensor): Tensor => mul(t, div(maxNorm, add(length, 1e-7)));
  if (!x.requiresGrad || !isGradEnabled()) {
    const length = lengthOf(x);
    return where(gt(length, maxNorm), shrunk(x, length), x);
  }
  // Unscaled slices have no part in the norms' gradients, where their NaN would spread.
  const isOver = noGrad(() => gt(lengthOf(x), maxNorm));
  const over = where(isOver, x, 1);
  return where(isOver, shrunk(over, lengthOf(over)), x);
}

/** Options of cov(). Reference: torch.cov. */
export interface CovarianceOptions {
  /** Subtracted from the number of observations. Default: 1. */
  readonly correction?: number | undefined;
  /** How often each observation counts: integers [N]. */
  readonly fweights?: Tensor | null | undefined;
  /** How much each observation counts: [N]. */
  readonly aweights?: Tensor | null | undefined;
}

/** The covariances of variables (rows of x [V, N], or [N]). Result: [V, V], a scalar for one variable. DirectML: GEMM. Reference: torch.cov. */
export function cov(x: Tensor, { correction = 1, fweights = null, aweights = null }: CovarianceOptions = {}): Tensor {
  if (x.rank > 2) throw new ShapeError("cov", "x", "of at most two axes", x.describe());
  if (x.dtype === "bool") throw new DTypeError("cov", "x", "of a numeric dtype", x.describe());
  if (aweights !== null) requireFloat("cov", aweights, "aweights");
  const source = toDType(asFloat(x), resultType([asFloat(x), ...(aweights === null ? [] : [aweights])]));
  const rows = x.rank < 2 ? reshape(source, [1, x.size]) : source;
  const count = rows.shape[1]!;
  for (const [name, w] of [
    ["fweights", fweights],
    ["aweights", aweights],
  ] as const)
    if (w !== null && (w.rank !== 1 || w.shape[0] !== count)) throw new ShapeError("cov", name, `[${count}]`, w.describe());
  if (fweights !== null && !isInteger(fweights.dtype)) throw new ValueError("cov", "fweights", "of an integer dtype", fweights.describe());
  for (const [name, w] of Object.entries({ fweights, aweights }))
    if (w !== null && checksValues(w) && scope(() => itemSync(noGrad(() => any(lt(w, 0))))) !== 0)
      throw new ValueError("cov", name, "at least 0", w.describe());
  const [f, a] = [fweights, aweights].map((w) => (w === null ? null : toDType(w, rows.dtype)));
  const weights = f && a ? mul(f, a) : (f ?? a ?? null);
  const total = weights === null ? count : sum(weights);
  const average = weights === null ? mean(rows, 1, { keepDims: true }) : div(sum(mul(rows, weights), 1, { keepDims: true }), total);
  const centred = sub(rows, average);
  const lost = weights === null || aweights === null || correction === 0 ? correction : div(mul(sum(mul(weights, a!)), correction), total);
  const divisor = typeof total === "number" && typeof lost === "number" ? Math.max(0, total - lost) : clampMin(sub(total, lost), 0);
  const outerSum = matmul(weights === null ? centred : mul(centred, weights), transposed(centred));
  const result = div(outerSum, divisor);
  return rows.shape[0] === 1 ? reshape(result, []) : result;
}

/** The correlation coefficients of variables (rows of x [V, N], or [N]). Reference: torch.corrcoef. */
export function corrcoef(x: Tensor): Tensor {
  if (x.rank > 2) throw new ShapeError("corrcoef", "x", "of at most two axes", x.describe());
  const c = cov(x);
  if (c.rank === 0) return div(c, c);
  const deviation = sqrt(diagonal(c));
  return clamp(div(div(c, unsqueeze(deviation, -1)), deviation), -1, 1);
}

export const methods = { nansum, nanmean, countNonzero, aminmax, renorm, cov, corrcoef };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [sample("rounded", "nansum", [real([3, 5])], (x) => nansum(x!, 1))];
