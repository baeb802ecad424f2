/** Distances and normalization: cdist, pdist, cosineSimilarity, normalize. */
import { matmulAxes } from "../../core/padded-axes.ts";
import { isGradEnabled, noGrad } from "../../autograd/grad-mode.ts";
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { isFloat, isHalf, resultType } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { broadcastShapes, normalizeAxis, sameShape, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { eq } from "../elementwise/compare.ts";
import { asFloat, toDType } from "../data/conversion.ts";
import { define, type Definition } from "../../core/definition.ts";
import { camelCase } from "../../core/did-you-mean.ts";
import { extremeOf } from "./extreme-lower.ts";
import { amax, amin } from "./extrema.ts";
import { tensor } from "../creation/creation.ts";
import { cat } from "../shape/join.ts";
import { indexSelect } from "../index/gather.ts";
import { svdvals } from "../linalg/svd.ts";
import { emitGemm, matmul } from "../matmul/matmul.ts";
import { expand, movedim, squeeze, transpose, unsqueeze } from "../shape/movement.ts";
import { sum, type Axes, type ReduceOptions } from "./reduce.ts";
import { emitReduce } from "./reduce-lower.ts";
import { norm } from "./statistics.ts";
import { constant, requireFloat, sumTo, transposeLast } from "../declare/support.ts";
import { abs } from "../elementwise/unary.ts";
import { clampMin, where } from "../elementwise/where.ts";
import { half, real, sample, type Sample } from "../declare/sample.ts";
import { byPosition, oneByPosition } from "../declare/positional.ts";

function requireOrder(operation: string, p: number): void {
  if (!(p >= 0)) throw new ValueError(operation, "p", "a number of at least 0", p);
}

/** The p-norm of a - b. Shapes broadcast. Reference: torch.dist. DirectML: REDUCE L2. @autocast float32 */
export const dist = (a: Tensor, b: Tensor, p = 2): Tensor => norm(sub(a, b), p);

/** sqrt(|a|^2 + |b|^2 - 2 a b) of all rows a of [batch..., P, M] and b of [batch..., R, M]: [batch..., P, R], float32. */
const euclideanOp: Definition<undefined> = define({
  name: "cdist",
  infer: ([a, b]) => [{ shape: pairedRows(a!.shape, b!.shape), dtype: a!.dtype }],
  lower: (g, [a, b], _, [out]) => {
    const { shape } = out!;
    const squares = (x: Expr): Expr => emitReduce(g, x, "SUM_SQUARE", [x.sizes.length - 1]);
    const lengths = g.elementWiseAdd(g.expand(squares(a!), shape), g.expand(transposeLast(g, squares(b!)), shape));
    const gemm = emitGemm(g, a!, transposeLast(g, b!), null, shape.slice(0, -2), { alpha: -2, beta: 0 });
    const total = g.elementWiseAdd(lengths, g.reinterpret(gemm, { sizes: shape }));
    return [g.elementWiseSqrt(extremeOf(g, "max", total, constant(g, total.dtype, 0, shape)))];
  },
  // dy (a - b) / y, 0 where y is.
  grad: (dy, { inputs: [a, b], outputs: [y], specs, needs }) => {
    const ratio = where(eq(y!, 0), scalarTensor(dy.device, dy.dtype, 0), div(dy, where(eq(y!, 0), 1, y!)));
    const pull = (x: Tensor, towards: Tensor, weights: Tensor): Tensor =>
      sub(mul(x, sum(weights, -1, { keepDims: true })), matmul(weights, towards));
    return [
      needs[0] ? sumTo(pull(a!, b!, ratio), specs[0]!) : null,
      needs[1] ? sumTo(pull(b!, a!, transpose(ratio, -1, -2)), specs[1]!) : null,
    ];
  },
  saves: { inputs: [0, 1], outputs: true },
  padded: matmulAxes(0, 1, (rank) => rank - 1),
});

const pairedRows = (a: Shape, b: Shape): number[] => [...broadcastShapes("cdist", a.slice(0, -2), b.slice(0, -2)), a.at(-2)!, b.at(-2)!];

/** The p-norms of differences along the last axis. Where all are 0 the second derivative for p = 2 is 0, as in PyTorch's cdist; norm's is NaN there. */
function lengths(gaps: Tensor, p: number): Tensor {
  if (p !== 2 || !isGradEnabled() || !gaps.requiresGrad) return norm(gaps, p, -1);
  const isSame = noGrad(() => eq(norm(gaps, p, -1, { keepDims: true }), 0));
  return where(squeeze(isSame, -1), 0, norm(where(isSame, 1, gaps), p, -1));
}

/** More rows than this use the matrix product, which is faster and rounds more, as in PyTorch. */
const FEW_ROWS = 25;

/** Options of cdist(). Reference: torch.cdist. */
export interface CdistOptions {
  /** Order of the norm. Default: 2. */
  readonly p?: number | undefined;
  /**
   * For p = 2: whether distances are made of |a|^2 + |b|^2 - 2 a b, which is much faster and rounds small distances between long vectors, or of
   * differences. Default: by the matrix product where a or b has more than 25 rows.
   */
  readonly computeMode?:
    | "useMmForEuclidDistIfNecessary"
    | "useMmForEuclidDist"
    | "donotUseMmForEuclidDist"
    | "use_mm_for_euclid_dist_if_necessary"
    | "use_mm_for_euclid_dist"
    | "donot_use_mm_for_euclid_dist"
    | undefined;
}

/**
 * The p-norms of all differences of a row of a [..., P, M] and one of b [..., R, M]: [..., P, R]. Batches broadcast.
 * DirectML: GEMM and REDUCE SUM_SQUARE, or REDUCE L2. Reference: torch.cdist. @autocast float32
 */
export function cdist(a: Tensor, b: Tensor, p?: number | CdistOptions, options?: CdistOptions): Tensor {
  const { p: order = 2, computeMode = "useMmForEuclidDistIfNecessary" } = oneByPosition<CdistOptions>("cdist", "p", p, options);
  requireSameDevice("cdist", [a, b]);
  requireFloat("cdist", a, "a");
  requireFloat("cdist", b, "b");
  requireOrder("cdist", order);
  if (a.rank < 2 || b.rank < 2 || a.shape.at(-1) !== b.shape.at(-1))
    throw new ShapeError("cdist", "a and b", "[..., P, M] and [..., R, M]", `${a.describe()}, ${b.describe()}`);
  const isWorthwhile = a.shape.at(-2)! > FEW_ROWS || b.shape.at(-2)! > FEW_ROWS;
  const mode = camelCase(computeMode);
  const byGemm = mode === "useMmForEuclidDist" || (mode === "useMmForEuclidDistIfNecessary" && isWorthwhile);
  const dtype = resultType([a, b]);
  if (order !== 2 || !byGemm || a.size === 0 || b.size === 0 || dtype === "float64")
    return lengths(sub(unsqueeze(a, -2), unsqueeze(b, -3)), order);
  // Squares of lengths, and what is left of their sum, need float32.
  return toDType(call(euclideanOp, [toDType(a, "float32"), toDType(b, "float32")], undefined), dtype);
}

/** Limits: pairs of rows that the host lists, and elements that are compared at a time. */
const MAX_PAIRS = 2 ** 28;
const PAIRED = 2 ** 22;

/** The p-norms of the differences of all pairs of rows of x [N, M], [N (N - 1) / 2]. Reference: torch.nn.functional.pdist. @functional @autocast float32 */
export function pdist(x: Tensor, p = 2): Tensor {
  requireFloat("pdist", x);
  requireOrder("pdist", p);
  if (x.rank !== 2) throw new ShapeError("pdist", "x", "[N, M]", x.describe());
  const [n, length] = x.shape as [number, number];
  const count = (n * (n - 1)) / 2;
  if (count > MAX_PAIRS) throw new ShapeError("pdist", "x", `of rows that make at most ${MAX_PAIRS} pairs`, x.describe());
  const distances = (first: Int32Array, second: Int32Array): Tensor => {
    const rows = (indices: Int32Array): Tensor => indexSelect(x, 0, tensor(indices, { device: x.device }));
    return norm(sub(rows(first), rows(second)), p, 1);
  };
  // In parts: the rows of all pairs take more memory than the result.
  const step = Math.min(count, Math.max(1, Math.floor(PAIRED / Math.max(1, length))));
  const parts: Tensor[] = [];
  let [first, second] = [new Int32Array(step), new Int32Array(step)];
  let [k, done] = [0, 0];
  for (let i = 0; i < n; i++)
    for (let j = i + 1; j < n; j++) {
      first[k] = i;
      second[k] = j;
      if (++k < step) continue;
      parts.push(distances(first, second));
      done += k;
      [first, second] = [new Int32Array(Math.min(step, count - done)), new Int32Array(Math.min(step, count - done))];
      k = 0;
    }
  if (k > 0 || count === 0) parts.push(distances(first, second));
  return parts.length === 1 ? parts[0]! : cat(parts, 0);
}

/** Options of pairwiseDistance(). Reference: torch.nn.functional.pairwise_distance. */
export interface PairwiseOptions {
  /** Order of the norm. Default: 2. */
  readonly p?: number | undefined;
  /** Added to each difference. Default: 1e-6. */
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;

  /** Whether axes that are reduced stay, with length 1. Default: false. */
  readonly keepDims?: boolean | undefined;
  /** keepDims by its PyTorch name. @alias keepDims */
  readonly keepdim?: boolean | undefined;
}
/** Options of cosineSimilarity(). Reference: torch.nn.functional.cosine_similarity. */
export interface SimilarityOptions {
  /** Default: 1. */
  readonly axis?: number | undefined;
  /** axis by its PyTorch name. @alias axis */
  readonly dim?: number | undefined;

  /** Least length of each of the two. Default: 1e-8. */
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;
}

/** The p-norm of a - b + epsilon along the last axis. Shapes broadcast. Reference: torch.nn.functional.pairwise_distance. @functional */
export function pairwiseDistance(a: Tensor, b: Tensor, p?: number | PairwiseOptions, options?: PairwiseOptions): Tensor {
  const { p: order = 2, eps: epsilon = 1e-6, keepDims = false } = byPosition<PairwiseOptions>("pairwiseDistance", ["p"], [p, options]);
  if (Number.isNaN(order)) throw new ValueError("pairwiseDistance", "p", "a number", order);
  return norm(add(asFloat(sub(a, b)), epsilon), order, -1, { keepDims });
}

/**
 * The cosine of the angle between a and b along an axis; each is divided by its length, or by epsilon where that is less.
 * Shapes broadcast. Reference: torch.nn.functional.cosine_similarity.
 * @functional @autocast float32
 */
export function cosineSimilarity(a: Tensor, b: Tensor, axis?: number | SimilarityOptions, eps?: number): Tensor {
  const { axis: dim = 1, eps: epsilon = 1e-8 } = byPosition<SimilarityOptions>("cosineSimilarity", ["axis", "eps"], [axis, eps]);
  requireSameDevice("cosineSimilarity", [a, b]);
  const common = resultType([a, b]);
  // Squares of lengths overflow float16.
  if (isHalf(common)) return toDType(cosineSimilarity(toDType(a, "float32"), toDType(b, "float32"), dim, epsilon), common);
  if (!isFloat(common)) throw new DTypeError("cosineSimilarity", "a or b", "of a floating dtype", a.describe());
  const shape = broadcastShapes("cosineSimilarity", a.shape, b.shape);
  const along = normalizeAxis("cosineSimilarity", dim, shape.length);
  // The length's own gradient flows on where it is replaced by epsilon, as in PyTorch.
  const unit = (t: Tensor): Tensor => {
    const v = expand(toDType(t, common), shape);
    const length = norm(v, 2, along, { keepDims: true });
    return div(
      v,
      add(
        length,
        noGrad(() => sub(clampMin(length, epsilon), length)),
      ),
    );
  };
  return sum(mul(unit(a), unit(b)), along);
}

/** Options of normalize(). Reference: torch.nn.functional.normalize. */
export interface NormalizeOptions {
  /** Order of the norm. Default: 2. */
  readonly p?: number | undefined;
  /** The axis, or axes, that the norm is taken along. Default: 1. */
  readonly axis?: Axes | undefined;
  /** axis by its PyTorch name. @alias axis */
  readonly dim?: Axes | undefined;
  /** Lower limit of the divisor. Default: 1e-12. */
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;
}

/** x divided by its p-norm along an axis, or by epsilon where that is less. Reference: torch.nn.functional.normalize. @functional @autocast float32 */
export function normalize(x: Tensor, p?: number | NormalizeOptions, axis?: number | readonly number[], options?: NormalizeOptions): Tensor {
  const { p: order = 2, axis: along = 1, eps = 1e-12 } = byPosition<NormalizeOptions>("normalize", ["p", "axis"], [p, axis, options]);
  return div(x, clampMin(norm(x, order, along, { keepDims: true }), eps));
}

/**
 * Which norm of a matrix: of all elements ("fro"), the largest (smallest, if negative) sum of a column (1) or a row (Infinity), or singular
 * value (2), or the sum of those ("nuc").
 */
export type MatrixOrder = "fro" | "nuc" | 1 | -1 | 2 | -2 | typeof Infinity;

/** The largest of sums that are not negative; of none it is 0. */
const largest = (x: Tensor, axis: number, keepDims: boolean): Tensor =>
  x.shape.at(axis) === 0 ? sum(x, axis, { keepDims }) : amax(x, axis, { keepDims });

/**
 * The norm of the matrices that two axes (the last by default) span. Those made of singular values ("nuc", 2, -2) run on the
 * host. DirectML: REDUCE. Reference: torch.linalg.matrix_norm. @autocast float32
 */
export function matrixNorm(
  x: Tensor,
  order: MatrixOrder | number = "fro",
  axes: readonly [number, number] = [-2, -1],
  options: ReduceOptions = {},
): Tensor {
  const source = options.dtype === undefined ? x : toDType(x, options.dtype);
  requireFloat("matrixNorm", source);
  if (x.rank < 2) throw new ShapeError("matrixNorm", "x", "of at least two axes", x.describe());
  const [row, column] = axes.map((a) => normalizeAxis("matrixNorm", a, x.rank)) as [number, number];
  if (row === column || axes.length !== 2) throw new ValueError("matrixNorm", "axes", "two different axes", axes);
  const keepDims = options.keepDims ?? false;
  if (order === "fro") return norm(source, 2, [row, column], { keepDims });
  if (order === "nuc" || Math.abs(order) === 2) {
    const values = svdvals(movedim(source, [row, column], [-2, -1]));
    const found = order === "nuc" ? sum(values, -1) : order > 0 ? largest(values, -1, false) : amin(values, -1);
    return keepDims ? unsqueeze(unsqueeze(found, Math.min(row, column)), Math.max(row, column)) : found;
  }
  if (Math.abs(order) !== 1 && Math.abs(order) !== Infinity)
    throw new ValueError("matrixNorm", "order", '"fro", "nuc", ±1, ±2 or ±Infinity', order);
  const [summed, chosen] = Math.abs(order) === 1 ? [row, column] : [column, row];
  const sums = sum(abs(source), summed, { keepDims });
  const rest = keepDims || chosen < summed ? chosen : chosen - 1;
  return order > 0 ? largest(sums, rest, keepDims) : amin(sums, rest, { keepDims });
}

/** sum of a * b along an axis. Shapes broadcast. Reference: torch.linalg.vecdot. @autocast lower */
export function vecdot(a: Tensor, b: Tensor, axis = -1): Tensor {
  if (sameShape(a.shape, []) || sameShape(b.shape, [])) throw new ShapeError("vecdot", "a and b", "of at least one axis", a.describe());
  if (a.dtype !== b.dtype) throw new DTypeError("vecdot", "b", `of a's dtype ${a.dtype}`, b.describe());
  requireFloat("vecdot", a, "a");
  return sum(mul(a, b), axis);
}

export const methods = { dist, matrixNorm };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("normalized", "distances by GEMM", [real([2, 27, 5]), real([3, 5])], (a, b) => cdist(a!, b!)),
  sample("normalized", "distances of halves by GEMM", [half([4, 5]), half([26, 5])], (a, b) => cdist(a!, b!)),
];
