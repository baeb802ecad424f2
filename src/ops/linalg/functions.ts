/** Functions of matrices: powers, the exponential, condition numbers, norms. The first two compute on the device. @package */
import { isHalf } from "../../core/dtype.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import { tie } from "../../autograd/tie.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul } from "../elementwise/binary.ts";
import { gt, isnan, logicalOr } from "../elementwise/compare.ts";
import { toDType } from "../data/conversion.ts";
import { matrixNorm, type MatrixOrder } from "../reduce/distance.ts";
import { div } from "../elementwise/division.ts";
import { amax } from "../reduce/extrema.ts";
import { matmul } from "../matmul/matmul.ts";
import { expand, select, unsqueeze } from "../shape/movement.ts";
import { sum, type Axes, type ReduceOptions } from "../reduce/reduce.ts";
import { norm as vectorNorm } from "../reduce/statistics.ts";
import { requireFloat } from "../declare/support.ts";
import { abs, ceil, exp2, log2 } from "../elementwise/unary.ts";
import { clamp, where } from "../elementwise/where.ts";
import { inv, invEx } from "./solve.ts";
import { svdvals } from "./svd.ts";
import { eyeLike } from "./support.ts";

function requireSquares(operation: string, x: Tensor): number {
  if (x.rank < 2 || x.shape.at(-1) !== x.shape.at(-2)) throw new ShapeError(operation, "A", "square matrices", x.describe());
  return x.shape.at(-1)!;
}

/**
 * A^n for an integer n; a negative n takes powers of A's inverse (on the host). [..., m, m]. DirectML: GEMM. Reference: torch.linalg.matrix_power.
 */
export function matrixPower(a: Tensor, n: number): Tensor {
  const order = requireSquares("linalg.matrixPower", a);
  if (!Number.isInteger(n)) throw new ValueError("linalg.matrixPower", "n", "an integer", n);
  // A derivative of zero, which is there.
  if (n === 0) return tie(a.rank === 2 ? eyeLike(a, order) : expand(eyeLike(a, order), a.shape).clone(), a);
  let square = n < 0 ? inv(a) : a;
  let result: Tensor | null = null;
  for (let rest = Math.abs(n); rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = result === null ? square : matmul(result, square);
    if (rest > 1) square = matmul(square, square);
  }
  return n === 1 ? a.clone() : result!;
}

/** How often a result is squared at most. */
const SQUARINGS = 32;
/** The 1-norm up to which the polynomial is exact to float32. */
const REACH = 2.5;

/**
 * e^A of square matrices [..., n, n]: Taylor's polynomial of degree 16 (Paterson and Stockmeyer's form) of A / 2^s, squared s times. It runs on
 * the device without reading data: 38 GEMMs for every A. float16 is computed in float32. NaN if the 1-norm of A
 * is greater than 10^10. DirectML: GEMM. Reference: torch.linalg.matrix_exp; Higham, Functions of Matrices, chapter 10.
 */
export function matrixExp(a: Tensor): Tensor {
  const n = requireSquares("linalg.matrixExp", a);
  requireFloat("linalg.matrixExp", a, "A");
  if (a.size === 0) return a.clone();
  if (isHalf(a.dtype)) return toDType(matrixExp(toDType(a, "float32")), a.dtype);
  const size = unsqueeze(unsqueeze(amax(sum(abs(a.detach()), -2), -1), -1), -1);
  const times = ceil(clamp(log2(mul(size, 1 / REACH)), 0, SQUARINGS + 1));
  let result = polynomial(mul(a, exp2(mul(times, -1))), n);
  for (let i = 0; i < SQUARINGS; i++) result = where(gt(times, i), matmul(result, result), result);
  return where(logicalOr(gt(times, SQUARINGS), isnan(size)), NaN, result);
}

/** The sum of x^k / k! for k up to 16, by six GEMMs. */
function polynomial(x: Tensor, n: number): Tensor {
  const powers = [eyeLike(x, n), x];
  for (let i = 0; i < 3; i++) powers.push(matmul(powers.at(-1)!, x));
  const fourth = powers[4]!;
  let factorial = 20922789888000;
  const weights: number[] = [];
  for (let k = 16; k >= 0; factorial /= k--) weights[k] = 1 / factorial;
  const part = (from: number): Tensor =>
    powers
      .slice(0, 4)
      .map((p, i) => mul(p, weights[from + i]!))
      .reduce((sum, term) => add(sum, term));
  const top = add(part(12), mul(fourth, weights[16]!));
  return [8, 4, 0].reduce((inner, from) => add(part(from), matmul(fourth, inner)), top);
}

/** Norms that linalg.cond() takes. */
export type CondOrder = MatrixOrder | "nuc" | 2 | -2;

/**
 * The condition numbers of matrices for a norm: ||A|| ||A^-1|| of square matrices, Infinity of singular ones. Orders 2 and -2 take any matrices:
 * the quotient of the largest and the smallest singular value, or its inverse. Runs on the host. Reference: torch.linalg.cond.
 */
export function cond(a: Tensor, p: CondOrder | null = null): Tensor {
  requireFloat("linalg.cond", a, "A");
  if (p === null || p === 2 || p === -2) {
    if (a.rank < 2) throw new ShapeError("linalg.cond", "A", "matrices: of at least two axes", a.describe());
    const s = svdvals(a);
    if (s.shape.at(-1) === 0) return sum(s, -1);
    const [largest, smallest] = [select(s, -1, 0), select(s, -1, s.shape.at(-1)! - 1)];
    return p === -2 ? div(smallest, largest) : div(largest, smallest);
  }
  requireSquares("linalg.cond", a);
  const product = mul(matrixNorm(a, p), matrixNorm(invEx(a).inverse, p));
  return where(isnan(product), Infinity, product);
}

/** The orders of norm(): a number for vectors, one of MatrixOrder for matrices. */
export type NormOrder = number | "fro" | "nuc" | null;

/**
 * The norm of vectors (one axis), of matrices (two axes), or of all elements. Without an order: the square root of the sum of squares.
 * Reference: torch.linalg.norm. @autocast float32
 */
export function norm(x: Tensor, order: NormOrder = null, axis: Axes = null, options: ReduceOptions = {}): Tensor {
  const axes = typeof axis === "number" ? [axis] : axis;
  if (order === null) return vectorNorm(x, 2, axes, options);
  const isMatrix = axes === null ? x.rank === 2 : axes.length === 2;
  if (isMatrix) return matrixNorm(x, order, (axes ?? [-2, -1]) as [number, number], options);
  if (typeof order === "string") throw new ValueError("linalg.norm", "order", "a number where there are no two axes", order);
  if (axes === null && x.rank !== 1)
    throw new ShapeError("linalg.norm", "x", "a vector or a matrix where an order is given without axes", x.describe());
  return vectorNorm(x, order, axes, options);
}
