/** The engine where no LAPACK is found: the same results by the same or simpler algorithms, slower for large matrices. */
import type { Engine } from "./engine.ts";
import { eigen } from "./portable-eigen.ts";
import { cholesky, lu, luSolve, qr, reflectorProduct, triangularSolve } from "./portable-factors.ts";
import { symmetricEigen, svd } from "./portable-jacobi.ts";
import { ldl, ldlSolve } from "./portable-ldl.ts";

export const portable: Engine = {
  name: "portable",
  cholesky,
  lu,
  luSolve,
  triangularSolve,
  ldl,
  ldlSolve,
  qr,
  reflectorProduct,
  svd,
  symmetricEigen,
  eigen,
};
