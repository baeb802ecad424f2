/** Linear algebra under its names outside of torch.linalg. */
import * as choleskys from "./cholesky.ts";
import * as dets from "./det.ts";
import * as functions from "./functions.ts";
import * as lus from "./lu.ts";
import * as qrs from "./qr.ts";
import * as solvers from "./solve.ts";
import * as svds from "./svd.ts";

/** linalg.cholesky(). Reference: torch.cholesky. */
export const cholesky = choleskys.cholesky;
/** linalg.choleskyInverse(). Reference: torch.cholesky_inverse. */
export const choleskyInverse = choleskys.choleskyInverse;
/** linalg.choleskySolve(). Reference: torch.cholesky_solve. */
export const choleskySolve = choleskys.choleskySolve;
/** linalg.det(). Reference: torch.det. */
export const det = dets.det;
/** linalg.geqrf(). Reference: torch.geqrf. */
export const geqrf = qrs.geqrf;
/** linalg.inv(). Reference: torch.inverse. */
export const inverse = solvers.inv;
/** linalg.logdet(). Reference: torch.logdet. */
export const logdet = dets.logdet;
/** linalg.luUnpack(). Reference: torch.lu_unpack. */
export const luUnpack = lus.luUnpack;
/** linalg.matrixExp(). Reference: torch.matrix_exp. */
export const matrixExp = functions.matrixExp;
/** linalg.matrixPower(). Reference: torch.matrix_power. */
export const matrixPower = functions.matrixPower;
/** linalg.ormqr(). Reference: torch.ormqr. */
export const ormqr = qrs.ormqr;
/** linalg.pinv(). Reference: torch.pinverse. */
export const pinverse = svds.pinv;
/** linalg.slogdet(). Reference: torch.slogdet. */
export const slogdet = dets.slogdet;
/** linalg.triangularSolve(). Reference: torch.triangular_solve. */
export const triangularSolve = solvers.triangularSolve;

export const methods = {
  cholesky,
  choleskyInverse,
  choleskySolve,
  det,
  geqrf,
  inverse,
  logdet,
  matrixExp,
  matrixPower,
  ormqr,
  pinverse,
  slogdet,
  triangularSolve,
};
