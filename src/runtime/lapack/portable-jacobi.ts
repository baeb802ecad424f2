/**
 * Singular values by one-sided, and eigenvalues of symmetric matrices by cyclic Jacobi rotations: no faster than LAPACK, and as accurate.
 * Demmel and Veselic, SIAM J. Matrix Anal. Appl. 13 (1992); Golub and Van Loan, chapter 8.5.
 */
import type { Engine, SingularVectors } from "./engine.ts";
import { lengthOf } from "./portable-factors.ts";

const SWEEPS = 60;
const EPSILON = 2 ** -52;

const dot = (x: Float64Array, a: number, y: Float64Array, b: number, n: number): number => {
  let total = 0;
  for (let i = 0; i < n; i++) total += x[a + i]! * y[b + i]!;
  return total;
};

/** Rotates two columns of length n by an angle. */
function rotate(x: Float64Array, n: number, p: number, q: number, cos: number, sin: number): void {
  for (let i = 0; i < n; i++) {
    const u = x[p * n + i]!;
    const v = x[q * n + i]!;
    x[p * n + i] = cos * u - sin * v;
    x[q * n + i] = sin * u + cos * v;
  }
}

/** Cosine and sine of the rotation that makes [[a, c], [c, b]] diagonal. */
function angle(a: number, b: number, c: number): readonly [number, number] {
  const zeta = (b - a) / (2 * c);
  const tan = Math.sign(zeta || 1) / (Math.abs(zeta) + Math.hypot(1, zeta));
  const cos = 1 / Math.hypot(1, tan);
  return [cos, cos * tan];
}

/**
 * Makes the columns of a [m, n] that are longer than `noise` orthogonal by rotations, which v [n, n] takes part in: what is left of a
 * dependent column is rounding, whose direction never settles. False: it did not converge.
 */
function orthogonalise(m: number, n: number, a: Float64Array, v: Float64Array, noise: number): boolean {
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    let isDone = true;
    for (let p = 0; p < n - 1; p++)
      for (let q = p + 1; q < n; q++) {
        const alpha = dot(a, p * m, a, p * m, m);
        const beta = dot(a, q * m, a, q * m, m);
        const gamma = dot(a, p * m, a, q * m, m);
        if (!(Math.abs(gamma) > EPSILON * Math.sqrt(alpha * beta)) || Math.min(alpha, beta) <= noise * noise) continue;
        isDone = false;
        const [cos, sin] = angle(alpha, beta, gamma);
        rotate(a, m, p, q, cos, sin);
        rotate(v, n, p, q, cos, sin);
      }
    if (isDone) return true;
  }
  return false;
}

/** Fills columns from `from` on with unit vectors that are orthogonal to all before. */
function complete(m: number, from: number, to: number, u: Float64Array): void {
  const candidate = new Float64Array(m);
  for (let c = from; c < to; c++) {
    let best = -1;
    for (let e = 0; e < m; e++) {
      candidate.fill(0);
      candidate[e] = 1;
      for (let pass = 0; pass < 2; pass++)
        for (let j = 0; j < c; j++) {
          const part = dot(u, j * m, candidate, 0, m);
          for (let i = 0; i < m; i++) candidate[i]! -= part * u[j * m + i]!;
        }
      const length = lengthOf(candidate, 0, m);
      if (length <= best) continue;
      best = length;
      for (let i = 0; i < m; i++) u[c * m + i] = candidate[i]! / length;
      if (length > 0.7) break;
    }
  }
}

export function transposed(m: number, n: number, a: Float64Array): Float64Array {
  const out = new Float64Array(m * n);
  for (let j = 0; j < n; j++) for (let i = 0; i < m; i++) out[i * n + j] = a[j * m + i]!;
  return out;
}

/** Of a matrix with at least as many rows as columns. v: [n, n], its columns. */
function tallSvd(m: number, n: number, a: Float64Array, columns: number) {
  let largest = 0;
  for (const x of a) largest = Math.max(largest, Math.abs(x));
  const scale = largest === 0 ? 1 : largest;
  const work = a.map((x) => x / scale);
  const v = new Float64Array(n * n);
  for (let i = 0; i < n; i++) v[i * n + i] = 1;
  const noise = EPSILON * lengthOf(work, 0, m * n);
  const info = orthogonalise(m, n, work, v, noise) ? 0 : 1;
  const lengths = Array.from({ length: n }, (_, j) => lengthOf(work, j * m, (j + 1) * m));
  const order = lengths.map((_, j) => j).sort((x, y) => lengths[y]! - lengths[x]!);
  const s = Float64Array.from(order, (j) => lengths[j]! * scale);
  const u = new Float64Array(m * columns);
  const right = new Float64Array(n * n);
  let rank = 0;
  order.forEach((j, index) => {
    right.set(v.subarray(j * n, (j + 1) * n), index * n);
    if (index >= columns || !(lengths[j]! > noise)) return;
    rank = index + 1;
    for (let i = 0; i < m; i++) u[index * m + i] = work[j * m + i]! / lengths[j]!;
  });
  complete(m, rank, columns, u);
  return { s, u, v: right, info };
}

export const svd: Engine["svd"] = (m, n, a, vectors: SingularVectors) => {
  const isTall = m >= n;
  const [rows, columns] = isTall ? [m, n] : [n, m];
  const wanted = vectors === "all" ? rows : vectors === "some" ? columns : 0;
  const { s, u, v, info } = tallSvd(rows, columns, isTall ? a : transposed(m, n, a), wanted);
  if (vectors === "none") return { s, u: new Float64Array(0), vt: new Float64Array(0), info };
  return isTall ? { s, u, vt: transposed(columns, columns, v), info } : { s, u: v, vt: transposed(rows, wanted, u), info };
};

export const symmetricEigen: Engine["symmetricEigen"] = (n, a, w) => {
  const v = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    v[i * n + i] = 1;
    for (let j = 0; j < i; j++) a[i * n + j] = a[j * n + i]!;
  }
  let isDone = false;
  for (let sweep = 0; sweep < SWEEPS && !isDone; sweep++) {
    isDone = true;
    for (let p = 0; p < n - 1; p++)
      for (let q = p + 1; q < n; q++) {
        const c = a[q * n + p]!;
        const size = Math.abs(a[p * n + p]!) + Math.abs(a[q * n + q]!);
        if (!(Math.abs(c) > (EPSILON / 8) * size) || c === 0) continue;
        isDone = false;
        const [cos, sin] = angle(a[p * n + p]!, a[q * n + q]!, c);
        rotate(a, n, p, q, cos, sin);
        for (let i = 0; i < n; i++) {
          const x = a[i * n + p]!;
          const y = a[i * n + q]!;
          a[i * n + p] = cos * x - sin * y;
          a[i * n + q] = sin * x + cos * y;
        }
        a[q * n + p] = a[p * n + q] = 0;
        rotate(v, n, p, q, cos, sin);
      }
  }
  const order = Array.from({ length: n }, (_, j) => j).sort((x, y) => a[x * n + x]! - a[y * n + y]!);
  order.forEach((j, index) => {
    w[index] = a[j * n + j]!;
  });
  order.forEach((j, index) => a.set(v.subarray(j * n, (j + 1) * n), index * n));
  return isDone ? 0 : 1;
};
