/** torch.linalg. docs/linalg.md says which functions run on the host. */
export { cholesky, choleskyEx, choleskyInverse, choleskySolve, type CholeskyOptions } from "./cholesky.ts";
export { det, logdet, slogdet } from "./det.ts";
export { eig, eigh, eigvals, eigvalsh, type Eigen, type EighOptions } from "./eigen.ts";
export { cond, matrixExp, matrixPower, norm, type CondOrder, type NormOrder } from "./functions.ts";
export { ldlFactor, ldlFactorEx, ldlSolve, type LDLFactors } from "./ldl.ts";
export { lstsq, type LeastSquares, type LstsqDriver, type LstsqOptions } from "./lstsq.ts";
export { lu, luFactor, luFactorEx, luSolve, luUnpack, type LUFactors, type LUOptions, type LUSolveOptions, type PLU } from "./lu.ts";
export { geqrf, householderProduct, ormqr, qr, type OrmqrOptions, type QRMode } from "./qr.ts";
export {
  inv,
  invEx,
  solve,
  solveEx,
  solveTriangular,
  tensorinv,
  tensorsolve,
  triangularSolve,
  type SolveOptions,
  type TriangularOptions,
  type WithInfo,
} from "./solve.ts";
export { matrixRank, pinv, svd, svdvals, type SVD, type ToleranceOptions } from "./svd.ts";
export { vander } from "../reduce/calculus.ts";
export { matrixNorm, vecdot, type MatrixOrder } from "../reduce/distance.ts";
export { matmul } from "../matmul/matmul.ts";
export { diagonal } from "../shape/movement.ts";
export { cross, multiDot } from "../matmul/matrix-products.ts";
export { norm as vectorNorm } from "../reduce/statistics.ts";
