// Made by npm run generate from the families in src/ops.
import { guarded } from "./kinds.generated.ts";
import * as $opsLinalgCholesky from "../ops/linalg/cholesky.ts";
import * as $opsLinalgDet from "../ops/linalg/det.ts";
import * as $opsLinalgEigen from "../ops/linalg/eigen.ts";
import * as $opsLinalgFunctions from "../ops/linalg/functions.ts";
import * as $opsExportsAutocast from "../ops/exports/autocast.generated.ts";
import * as $opsLinalgLdl from "../ops/linalg/ldl.ts";
import * as $opsLinalgLstsq from "../ops/linalg/lstsq.ts";
import * as $opsLinalgLu from "../ops/linalg/lu.ts";
import * as $opsLinalgQr from "../ops/linalg/qr.ts";
import * as $opsLinalgSolve from "../ops/linalg/solve.ts";
import * as $opsLinalgSvd from "../ops/linalg/svd.ts";
import * as $opsReduceCalculus from "../ops/reduce/calculus.ts";
import * as $opsShapeMovement from "../ops/shape/movement.ts";
export type { CholeskyOptions } from "../ops/linalg/cholesky.ts";
export type { Eigen } from "../ops/linalg/eigen.ts";
export type { EighOptions } from "../ops/linalg/eigen.ts";
export type { CondOrder } from "../ops/linalg/functions.ts";
export type { NormOrder } from "../ops/linalg/functions.ts";
export type { LDLFactors } from "../ops/linalg/ldl.ts";
export type { LeastSquares } from "../ops/linalg/lstsq.ts";
export type { LstsqDriver } from "../ops/linalg/lstsq.ts";
export type { LstsqOptions } from "../ops/linalg/lstsq.ts";
export type { LUFactors } from "../ops/linalg/lu.ts";
export type { LUOptions } from "../ops/linalg/lu.ts";
export type { LUSolveOptions } from "../ops/linalg/lu.ts";
export type { PLU } from "../ops/linalg/lu.ts";
export type { OrmqrOptions } from "../ops/linalg/qr.ts";
export type { QRMode } from "../ops/linalg/qr.ts";
export type { SolveOptions } from "../ops/linalg/solve.ts";
export type { TriangularOptions } from "../ops/linalg/solve.ts";
export type { WithInfo } from "../ops/linalg/solve.ts";
export type { SVD } from "../ops/linalg/svd.ts";
export type { ToleranceOptions } from "../ops/linalg/svd.ts";
export type { MatrixOrder } from "../ops/reduce/distance.ts";
/**
 * The Cholesky factors L of symmetric positive definite matrices [..., n, n]: A = L L^T. Only one triangle of A is read. Throws
 * LinAlgError for a matrix that is not positive definite, with its index in the batch. Gradient: L^-T sym(L^T G) L^-1. Runs on the host:
 * LAPACK potrf. Reference: torch.linalg.cholesky.
 */
export const cholesky = guarded($opsLinalgCholesky.cholesky, "linalg.cholesky", "a options:CholeskyOptions?");
/**
 * cholesky() that does not throw: info is the order of the leading minor that is not positive, 0 where there is none.
 * Reference: torch.linalg.cholesky_ex.
 */
export const choleskyEx = guarded($opsLinalgCholesky.choleskyEx, "linalg.choleskyEx", "a options:upper_bc9ca8?");
/** The inverse of A, by A's Cholesky factor. Runs on the host: BLAS trsm. Reference: torch.cholesky_inverse. */
export const choleskyInverse = guarded($opsLinalgCholesky.choleskyInverse, "linalg.choleskyInverse", "factor options:CholeskyOptions?");
/** X of A X = B, by A's Cholesky factor. B: [..., n, k]; batches broadcast. Runs on the host: BLAS trsm. Reference: torch.cholesky_solve. */
export const choleskySolve = guarded($opsLinalgCholesky.choleskySolve, "linalg.choleskySolve", "b factor options:CholeskyOptions?");
/**
 * The determinants of square matrices [..., n, n]; 1 for n = 0. First and second gradients hold for singular matrices too. Runs on the
 * host: LAPACK getrf; gesdd for gradients. Reference: torch.linalg.det.
 */
export const det = guarded($opsLinalgDet.det, "linalg.det", "a");
/** The logarithms of the determinants: NaN for negative ones, -Infinity for 0. Reference: torch.logdet. */
export const logdet = guarded($opsLinalgDet.logdet, "linalg.logdet", "a");
/**
 * The signs of the determinants and the logarithms of their absolute values: 0 and -Infinity for a singular matrix. Gradient of the logarithm:
 * A^-T, NaN for a singular matrix. Runs on the host: LAPACK getrf. Reference: torch.linalg.slogdet.
 */
export const slogdet = guarded($opsLinalgDet.slogdet, "linalg.slogdet", "a");
/**
 * A V = V diag(w) of real square matrices [..., n, n] of float32: complex eigenvalues [..., n] in no order (conjugate pairs are adjacent) and
 * eigenvectors as columns of norm 1, unique up to a factor of absolute value 1. Gradients are those of losses that do not depend on that factor. Throws
 * LinAlgError for infinities and NaN. Runs on the host: LAPACK geev. Reference: torch.linalg.eig.
 */
export const eig = guarded($opsLinalgEigen.eig, "linalg.eig", "a");
/**
 * A = V diag(w) V^T of symmetric matrices [..., n, n]: ascending eigenvalues [..., n], orthonormal eigenvectors as columns, unique up to
 * their sign. Gradient: V (diag(dw) + (V^T dV) / (w_j - w_i)) V^T, infinite where eigenvalues are equal. Throws LinAlgError for infinities
 * and NaN. Runs on the host: LAPACK syevd. Reference: torch.linalg.eigh.
 */
export const eigh = guarded($opsLinalgEigen.eigh, "linalg.eigh", "a options:EighOptions?");
/** The eigenvalues of real square matrices, complex. Reference: torch.linalg.eigvals. */
export const eigvals = guarded($opsLinalgEigen.eigvals, "linalg.eigvals", "a");
/** The eigenvalues of symmetric matrices, ascending. Gradient: V diag(G) V^T. Reference: torch.linalg.eigvalsh. */
export const eigvalsh = guarded($opsLinalgEigen.eigvalsh, "linalg.eigvalsh", "a options:EighOptions?");
/**
 * The condition numbers of matrices for a norm: ||A|| ||A^-1|| of square matrices, Infinity of singular ones. Orders 2 and -2 take any matrices:
 * the quotient of the largest and the smallest singular value, or its inverse. Runs on the host. Reference: torch.linalg.cond.
 */
export const cond = guarded($opsLinalgFunctions.cond, "linalg.cond", "a p:fro_nuc_n1_m1_n2_m2OrNumberOrNull?");
/**
 * e^A of square matrices [..., n, n]: Taylor's polynomial of degree 16 (Paterson and Stockmeyer's form) of A / 2^s, squared s times. It runs on
 * the device without reading data: 38 GEMMs for every A. float16 is computed in float32. NaN if the 1-norm of A
 * is greater than 10^10. DirectML: GEMM. Reference: torch.linalg.matrix_exp; Higham, Functions of Matrices, chapter 10.
 */
export const matrixExp = guarded($opsLinalgFunctions.matrixExp, "linalg.matrixExp", "a");
/**
 * A^n for an integer n; a negative n takes powers of A's inverse (on the host). [..., m, m]. DirectML: GEMM. Reference: torch.linalg.matrix_power.
 */
export const matrixPower = guarded($opsLinalgFunctions.matrixPower, "linalg.matrixPower", "a n:number");
/**
 * The norm of vectors (one axis), of matrices (two axes), or of all elements. Without an order: the square root of the sum of squares.
 * Reference: torch.linalg.norm. @autocast float32
 */
export const norm = guarded($opsExportsAutocast.linalgNorm, "linalg.norm", "x order:fro_nucOrNumberOrNull? axis:numberOrNumbersOrNull? options:ReduceOptions?");
/**
 * A = L D L^T of symmetric matrices [..., n, n], whose lower triangle is read: L and the blocks of D packed, and LAPACK's pivots, int32.
 * Throws LinAlgError when D is singular. No gradient, as in PyTorch. Runs on the host: LAPACK sytrf. Reference: torch.linalg.ldl_factor.
 */
export const ldlFactor = guarded($opsLinalgLdl.ldlFactor, "linalg.ldlFactor", "a");
/** ldlFactor() that does not throw: info is the index of the first zero of D, from 1, or 0. Reference: torch.linalg.ldl_factor_ex. */
export const ldlFactorEx = guarded($opsLinalgLdl.ldlFactorEx, "linalg.ldlFactorEx", "a options:checkErrors_94ae5b?");
/** X of A X = B by A's factors of ldlFactor(). B: [..., n, k]; batches broadcast. LAPACK sytrs. Reference: torch.linalg.ldl_solve. */
export const ldlSolve = guarded($opsLinalgLdl.ldlSolve, "linalg.ldlSolve", "factors pivots b");
/**
 * The X that minimizes ||A X - B||, with the least norm if there are several. A: [..., m, n]; B: [..., m, k], or vectors with A's batch. All drivers
 * use singular values here. Gradients of the solution, by those of the pseudo-inverse. Runs on the host: LAPACK gesdd.
 * Reference: torch.linalg.lstsq.
 */
export const lstsq = guarded($opsLinalgLstsq.lstsq, "linalg.lstsq", "a b options:LstsqOptions?");
/**
 * A = P L U: P [..., m, m] a permutation, L [..., m, k] unit lower, U [..., k, n] upper triangular. Gradient (square):
 * P L^-T (tril(L^T dL, -1) + triu(dU U^T)) U^-T. Without pivots P is empty, as PyTorch's. Runs on the host: LAPACK getrf. Reference:
 * torch.linalg.lu.
 */
export const lu = guarded($opsLinalgLu.lu, "linalg.lu", "a options:LUOptions?");
/**
 * A = P L U, packed: [..., m, n] and row exchanges [..., min(m, n)] of int32, from 1. Throws LinAlgError when U has a zero on its
 * diagonal. Gradient: as for lu(). Runs on the host: LAPACK getrf. Reference: torch.linalg.lu_factor.
 */
export const luFactor = guarded($opsLinalgLu.luFactor, "linalg.luFactor", "a options:LUOptions?");
/** luFactor() that does not throw: info is the index of the first zero on U's diagonal, from 1, or 0. Reference: torch.linalg.lu_factor_ex. */
export const luFactorEx = guarded($opsLinalgLu.luFactorEx, "linalg.luFactorEx", "a options:pivot_a32a8c?");
/** X of A X = B by A's packed factors. B: [..., n, k]; batches broadcast. Reference: torch.linalg.lu_solve. */
export const luSolve = guarded($opsLinalgLu.luSolve, "linalg.luSolve", "factors pivots b options:LUSolveOptions?");
/** P [..., m, m], L [..., m, k] and U [..., k, n] of packed factors, k = min(m, n). Reference: torch.lu_unpack. */
export const luUnpack = guarded($opsLinalgLu.luUnpack, "linalg.luUnpack", "factors pivots");
/**
 * QR in LAPACK's packed form: R in a's upper triangle, the vectors of Householder reflections below it, their factors tau [..., min(m, n)].
 * No gradient, as in PyTorch. Runs on the host: LAPACK geqrf. Reference: torch.geqrf.
 */
export const geqrf = guarded($opsLinalgQr.geqrf, "linalg.geqrf", "x");
/**
 * The first n columns of the product of reflections I - tau v v^T, their vectors below the diagonal of a [..., m, n], m >= n; tau
 * [..., k], k <= n. Gradients of any order, by the product's compact form. Reference: torch.linalg.householder_product.
 */
export const householderProduct = guarded($opsLinalgQr.householderProduct, "linalg.householderProduct", "a tau");
/**
 * Q times other, where Q [..., m, m] is the product of geqrf()'s reflections. Q itself is not computed. Gradients flow to all inputs.
 * Reference: torch.ormqr.
 */
export const ormqr = guarded($opsLinalgQr.ormqr, "linalg.ormqr", "a tau other options:OrmqrOptions?");
/**
 * A = Q R: Q with orthonormal columns, R upper triangular. A: [..., m, n]; reduced: Q [..., m, k], R [..., k, n] with k = min(m, n);
 * complete: Q [..., m, m], R [..., m, n]; r: Q is empty. Gradient: (dQ + Q sym(triu(dR R^T - Q^T dQ))) R^-T, for reduced and for matrices
 * that are not tall. Runs on the host: LAPACK geqrf, orgqr. Reference: torch.linalg.qr.
 */
export const qr = guarded($opsLinalgQr.qr, "linalg.qr", "a options:mode_8e1659?");
/**
 * The inverses of square matrices [..., n, n]. Throws LinAlgError for a singular one, with its index in the batch. Gradient:
 * -X^T G X^T. Runs on the host: LAPACK getrf, getrs. Reference: torch.linalg.inv.
 */
export const inv = guarded($opsLinalgSolve.inv, "linalg.inv", "a");
/** inv() that does not throw: a singular matrix gives NaN and its info. Reference: torch.linalg.inv_ex. */
export const invEx = guarded($opsLinalgSolve.invEx, "linalg.invEx", "a options:checkErrors_94ae5b?");
/**
 * X of A X = B. A: [..., n, n]; B: [..., n, k], or vectors [n] or with A's batch. Batches broadcast. Throws LinAlgError for a singular A,
 * with its index in the batch. Gradients: dB = A^-T G, dA = -dB X^T. Runs on the host: LAPACK getrf, getrs. Reference: torch.linalg.solve.
 */
export const solve = guarded($opsLinalgSolve.solve, "linalg.solve", "a b options:SolveOptions?");
/** solve() that does not throw: a singular matrix gives NaN and its info. Reference: torch.linalg.solve_ex. */
export const solveEx = guarded($opsLinalgSolve.solveEx, "linalg.solveEx", "a b options:left_36adb2?");
/**
 * X of A X = B for triangular A [..., n, n], B [..., n, k]; batches broadcast. A zero on the diagonal gives infinities and NaN, no error.
 * Gradients: dB = A^-T G, dA = the triangle of -dB X^T. Runs on the host: BLAS trsm. Reference: torch.linalg.solve_triangular.
 */
export const solveTriangular = guarded($opsLinalgSolve.solveTriangular, "linalg.solveTriangular", "a b options:TriangularOptions");
/**
 * The inverse of A as a linear map: A's first `ind` axes, and its others, have equal numbers of elements. Reference: torch.linalg.tensorinv.
 */
export const tensorinv = guarded($opsLinalgSolve.tensorinv, "linalg.tensorinv", "a ind:number?");
/**
 * X of tensordot(A, X, X's rank) = B. axes: those of A that are moved to its end before. Reference: torch.linalg.tensorsolve.
 */
export const tensorsolve = guarded($opsLinalgSolve.tensorsolve, "linalg.tensorsolve", "a b options:axes_d75f62?");
/**
 * solveTriangular() with torch.triangular_solve's result: X of A X = b, and A. Reference: torch.triangular_solve.
 */
export const triangularSolve = guarded($opsLinalgSolve.triangularSolve, "linalg.triangularSolve", "b a options:upper_c2974e?");
/**
 * How many singular values of matrices [..., m, n] are greater than max(atol, rtol * the largest): int32. Runs on the host: LAPACK gesdd,
 * or syevd. Reference: torch.linalg.matrix_rank.
 */
export const matrixRank = guarded($opsLinalgSvd.matrixRank, "linalg.matrixRank", "a options:ToleranceOptions?");
/**
 * The pseudo-inverses [..., n, m] of matrices [..., m, n]; singular values up to max(atol, rtol * the largest) count as zero. Runs on the
 * host: LAPACK gesdd, or syevd. Reference: torch.linalg.pinv.
 */
export const pinv = guarded($opsLinalgSvd.pinv, "linalg.pinv", "a options:ToleranceOptions?");
/**
 * A = U diag(S) Vh: A [..., m, n]; S [..., k] descending, k = min(m, n); U [..., m, m] and Vh [..., n, n], or [..., m, k] and [..., k, n]
 * without `fullMatrices`. Vectors are unique up to their sign, or up to a rotation for equal values, and so are their gradients. Throws
 * LinAlgError for infinities and NaN. Runs on the host: LAPACK gesdd. Reference: torch.linalg.svd.
 */
export const svd = guarded($opsLinalgSvd.svd, "linalg.svd", "a options:fullMatrices_a5187b?");
/** The singular values [..., min(m, n)], descending. Gradient: U diag(G) Vh. Reference: torch.linalg.svdvals. */
export const svdvals = guarded($opsLinalgSvd.svdvals, "linalg.svdvals", "a");
/** The powers of a vector's elements as rows (of several vectors, as matrices). Reference: torch.vander, torch.linalg.vander. */
export const vander = guarded($opsReduceCalculus.vander, "linalg.vander", "x options:VanderOptions?");
/**
 * The norm of the matrices that two axes (the last by default) span. Those made of singular values ("nuc", 2, -2) run on the
 * host. DirectML: REDUCE. Reference: torch.linalg.matrix_norm. @autocast float32
 */
export const matrixNorm = guarded($opsExportsAutocast.matrixNorm, "linalg.matrixNorm", "x order:fro_nuc_n1_m1_n2_m2OrNumber? axes:numbers? options:ReduceOptions?");
/** sum of a * b along an axis. Shapes broadcast. Reference: torch.linalg.vecdot. @autocast lower */
export const vecdot = guarded($opsExportsAutocast.vecdot, "linalg.vecdot", "a b axis:number?");
/**
 * The matrix product with PyTorch's rules: vectors are rows on the left and columns on the right and lose that axis again; axes
 * before the last two are batches and broadcast.
 *
 * a: [K] or [..., M, K]; b: [K] or [..., K, N]; of one dtype. Result: [..., M, N] without the axes that vectors lack.
 * Integers are multiplied and added exactly, modulo 2^bits. Throws ShapeError when the inner lengths differ, DTypeError for bool,
 * float64, bfloat16 and mixed dtypes. DirectML: GEMM; for integers by digits of eight bits, or by size MULTIPLY and REDUCE. Reference: torch.matmul.
 * @autocast lower
 */
export const matmul = guarded($opsExportsAutocast.matmul, "linalg.matmul", "a b");
/** The main diagonal (or one above, for offset > 0, or below) of two axes, as a last axis. Reference: torch.diagonal. */
export const diagonal = guarded($opsShapeMovement.diagonal, "linalg.diagonal", "x options:offset_59a49a?");
/**
 * The cross product of vectors of three elements along an axis; the other axes broadcast. Without an axis the first of length 3 is taken.
 * Reference: torch.cross. @autocast widest
 */
export const cross = guarded($opsExportsAutocast.cross, "linalg.cross", "a b axis:number?");
/**
 * The product of several matrices in the order that costs least; the first and the last may be vectors. DirectML: GEMM.
 * Reference: torch.linalg.multi_dot. @autocast lower
 */
export const multiDot = guarded($opsExportsAutocast.multiDot, "linalg.multiDot", "...tensors:eachTensor");
/**
 * The p-norm over the axes (all of them by default): (sum |x|^p)^(1/p); for p = 0 the number of elements that are not 0, for
 * ±Infinity the largest or smallest |x|. Floating dtypes. Reference: torch.linalg.vector_norm. DirectML: REDUCE L2, L1.
 * @autocast float32
 */
export const vectorNorm = guarded($opsExportsAutocast.norm, "linalg.vectorNorm", "x p:number? axis:numberOrNumbersOrNull? options:ReduceOptions?");
