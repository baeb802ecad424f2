/** The routines of a LAPACK library, called through the addon. */
import type { Binding, LapackArgument } from "../../native/binding.ts";
import type { Engine, SingularVectors } from "./engine.ts";

const ROUTINES = ["dpotrf", "dgetrf", "dgetrs", "dtrsm", "dsytrf", "dsytrs", "dgeqrf", "dorgqr", "dgesdd", "dsyevd", "dgeev"] as const;
type Routine = (typeof ROUTINES)[number];

const letter = (condition: boolean, yes: string, no: string): string => (condition ? yes : no);

class Library implements Engine {
  readonly name: string;
  readonly #binding: Binding;
  readonly #path: string;
  readonly #info = new Int32Array(1);

  constructor(binding: Binding, path: string) {
    this.name = `LAPACK (${path})`;
    this.#binding = binding;
    this.#path = path;
  }

  #call(routine: Routine, ...args: LapackArgument[]): void {
    this.#binding.lapackCall(this.#path, routine, args);
  }

  /** Calls a routine that reports how it went as its last argument. */
  #ask(routine: Routine, ...args: LapackArgument[]): number {
    this.#call(routine, ...args, this.#info);
    return this.#info[0]!;
  }

  /**
   * Calls a routine with as much working space as it says it wants, or the addon's minimum: `call` is given the space and its length, -1 for
   * the question.
   */
  #spacious(call: (work: Float64Array, length: number) => number, minimum = 1): number {
    const question = new Float64Array(1);
    call(question, -1);
    const length = Math.max(minimum, Math.ceil(question[0]!));
    return call(new Float64Array(length), length);
  }

  cholesky(n: number, a: Float64Array): number {
    const info = this.#ask("dpotrf", "L", n, a, n);
    if (info !== 0) return info;
    // OpenBLAS's takes NaN for a pivot.
    for (let j = 0; j < n; j++) if (Number.isNaN(a[j * n + j])) return j + 1;
    return 0;
  }

  lu(m: number, n: number, a: Float64Array, pivots: Int32Array): number {
    return this.#ask("dgetrf", m, n, a, m, pivots);
  }

  luSolve(n: number, k: number, lu: Float64Array, pivots: Int32Array, b: Float64Array, transposed: boolean): void {
    this.#ask("dgetrs", letter(transposed, "T", "N"), n, k, lu, n, pivots, b, n);
  }

  triangularSolve(n: number, k: number, a: Float64Array, b: Float64Array, triangle: Parameters<Engine["triangularSolve"]>[4]): void {
    const { upper, transposed, unit } = triangle;
    const options = [letter(upper, "U", "L"), letter(transposed, "T", "N"), letter(unit, "U", "N")] as const;
    this.#call("dtrsm", "L", ...options, n, k, new Float64Array([1]), a, n, b, n);
  }

  ldl(n: number, a: Float64Array, pivots: Int32Array): number {
    return this.#spacious((work, length) => this.#ask("dsytrf", "L", n, a, n, pivots, work, length));
  }

  ldlSolve(n: number, k: number, a: Float64Array, pivots: Int32Array, b: Float64Array): void {
    this.#ask("dsytrs", "L", n, k, a, n, pivots, b, n);
  }

  qr(m: number, n: number, a: Float64Array, tau: Float64Array): void {
    this.#spacious((work, length) => this.#ask("dgeqrf", m, n, a, m, tau, work, length));
  }

  reflectorProduct(m: number, columns: number, k: number, a: Float64Array, tau: Float64Array): void {
    this.#spacious((work, length) => this.#ask("dorgqr", m, columns, k, a, m, tau, work, length));
  }

  svd(m: number, n: number, a: Float64Array, vectors: SingularVectors): ReturnType<Engine["svd"]> {
    const k = Math.min(m, n);
    const [columns, rows] = vectors === "all" ? [m, n] : vectors === "some" ? [k, k] : [0, 0];
    const s = new Float64Array(k);
    const u = new Float64Array(m * columns);
    const vt = new Float64Array(rows * n);
    const job = { all: "A", some: "S", none: "N" }[vectors];
    const some = new Float64Array(1);
    const iwork = new Int32Array(8 * k);
    const [left, right] = vectors === "none" ? [some, some] : [u, vt];
    const info = this.#spacious(
      (work, length) => this.#ask("dgesdd", job, m, n, a, m, s, left, m, right, Math.max(1, rows), work, length, iwork),
      4 * k * k + 10 * k + Math.max(m, n),
    );
    return { s, u, vt, info };
  }

  symmetricEigen(n: number, a: Float64Array, w: Float64Array): number {
    const iwork = new Int32Array(Math.max(1, 3 + 5 * n));
    return this.#spacious(
      (work, length) => this.#ask("dsyevd", "V", "L", n, a, n, w, work, length, iwork, length < 0 ? -1 : iwork.length),
      1 + 6 * n + 2 * n * n,
    );
  }

  eigen(n: number, a: Float64Array): ReturnType<Engine["eigen"]> {
    const re = new Float64Array(n);
    const im = new Float64Array(n);
    const packed = new Float64Array(n * n);
    const none = new Float64Array(1);
    const info = this.#spacious((work, length) => this.#ask("dgeev", "N", "V", n, a, n, re, im, none, 1, packed, n, work, length));
    // A conjugate pair's columns hold the real and the imaginary part.
    const vectorsRe = packed.slice();
    const vectorsIm = new Float64Array(n * n);
    for (let j = 0; j + 1 < n; j++) {
      if (!(im[j]! > 0)) continue;
      for (let i = 0; i < n; i++) {
        const part = packed[(j + 1) * n + i]!;
        vectorsRe[(j + 1) * n + i] = packed[j * n + i]!;
        vectorsIm[j * n + i] = part;
        vectorsIm[(j + 1) * n + i] = -part;
      }
      j++;
    }
    return { re, im, vectorsRe, vectorsIm, info };
  }
}

/** The engine over the library at a path, or why it can't be one. */
export function libraryEngine(binding: Binding, path: string): Engine | string {
  const error = binding.lapackOpen(path);
  if (error !== null) return error;
  const missing = ROUTINES.filter((routine) => !binding.lapackHas(path, routine));
  return missing.length > 0 ? `lacks ${missing.join(", ")}` : new Library(binding, path);
}
