/**
 * The routines under the `linalg` operations, in double precision: LAPACK's where a library is found, else our own in JavaScript.
 * Chosen at first use, once for each thread.
 */
import { NativeLoadError } from "../../core/errors.ts";
import { exists } from "../../core/home.ts";
import { lapackPaths, loadBinding } from "../../native/load-addon.ts";
import { libraryEngine } from "./lapack-library.ts";
import { portable } from "./portable.ts";

export interface Triangle {
  readonly upper: boolean;
  readonly transposed: boolean;
  /** The diagonal counts as ones. */
  readonly unit: boolean;
}

export interface SingularValues {
  readonly s: Float64Array;
  /** [m, m] or [m, k]; empty where only values are wanted. */
  readonly u: Float64Array;
  /** [n, n] or [k, n]. */
  readonly vt: Float64Array;
  /** Above 0: it did not converge. */
  readonly info: number;
}
export type SingularVectors = "all" | "some" | "none";

export interface Eigenvalues {
  readonly re: Float64Array;
  readonly im: Float64Array;
  /** Columns of length one whose largest element is real. */
  readonly vectorsRe: Float64Array;
  readonly vectorsIm: Float64Array;
  readonly info: number;
}

/** Matrices are column-major and are overwritten unless said otherwise. What is returned as a number is LAPACK's info. */
export interface Engine {
  /** "LAPACK (/usr/lib/…)", "portable". */
  readonly name: string;
  /** a [n, n], its lower triangle: overwritten by the Cholesky factor. potrf */
  cholesky(n: number, a: Float64Array): number;
  /** a [m, n]: L and U with row exchanges, numbered from 1. getrf */
  lu(m: number, n: number, a: Float64Array, pivots: Int32Array): number;
  /** b [n, k]: the solution. lu is read only. getrs */
  luSolve(n: number, k: number, lu: Float64Array, pivots: Int32Array, b: Float64Array, transposed: boolean): void;
  /** b [n, k]: the solution. a is read only. trsm */
  triangularSolve(n: number, k: number, a: Float64Array, b: Float64Array, triangle: Triangle): void;
  /** a [n, n], its lower triangle: L and D by Bunch and Kaufman. sytrf */
  ldl(n: number, a: Float64Array, pivots: Int32Array): number;
  /** b [n, k]: the solution. sytrs */
  ldlSolve(n: number, k: number, a: Float64Array, pivots: Int32Array, b: Float64Array): void;
  /** a [m, n]: R and Householder vectors; tau [min(m, n)]. geqrf */
  qr(m: number, n: number, a: Float64Array, tau: Float64Array): void;
  /** a [m, columns], whose first k columns hold Householder vectors: the first columns of their product. orgqr */
  reflectorProduct(m: number, columns: number, k: number, a: Float64Array, tau: Float64Array): void;
  /** a [m, n] is lost. gesdd */
  svd(m: number, n: number, a: Float64Array, vectors: SingularVectors): SingularValues;
  /** a [n, n] symmetric: eigenvectors as columns; w: ascending eigenvalues. syevd */
  symmetricEigen(n: number, a: Float64Array, w: Float64Array): number;
  /** a [n, n] is lost. geev */
  eigen(n: number, a: Float64Array): Eigenvalues;
}

let chosen: Engine | undefined;

function choose(): Engine {
  const paths = lapackPaths();
  if (paths === null) return portable;
  const tried: string[] = [];
  for (const path of paths) {
    if (!exists(path)) {
      tried.push(`${path} (no such file)`);
      continue;
    }
    const found = libraryEngine(loadBinding(), path);
    if (typeof found !== "string") return found;
    tried.push(`${path} (${found})`);
  }
  // A file that was named and can't be used is an error; that a system has none is not.
  if (process.env.DXTENSOR_LAPACK)
    throw new NativeLoadError(
      "linalg",
      "DXTENSOR_LAPACK names no usable LAPACK library",
      tried,
      "Debian: apt install liblapack3, or set it to portable.",
    );
  return portable;
}

/** The engine of this thread. Throws NativeLoadError when DXTENSOR_LAPACK names a file that can't be used. */
export const engine = (): Engine => (chosen ??= choose());

/** @internal For tests: these routines from now on; null: as the environment variables say. */
export function useEngine(next: Engine | null): void {
  chosen = next ?? undefined;
}
