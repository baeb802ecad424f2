/**
 * Eigenvalues and vectors of a general matrix: Hessenberg form by Householder reflections, Schur form by the QR algorithm with shifts in
 * complex arithmetic, vectors by substitution. Golub and Van Loan, chapters 7.4 to 7.6.
 */
import type { Engine, Eigenvalues } from "./engine.ts";
import { lengthOf } from "./portable-factors.ts";

const EPSILON = 2 ** -52;

/** A square complex matrix, column by column. */
interface Complex {
  readonly re: Float64Array;
  readonly im: Float64Array;
}

/** Q^T A Q with zeros below the first subdiagonal, overwriting a; gives Q. */
function hessenberg(n: number, a: Float64Array): Float64Array {
  const q = new Float64Array(n * n);
  for (let i = 0; i < n; i++) q[i * n + i] = 1;
  const v = new Float64Array(n);
  for (let k = 0; k < n - 2; k++) {
    const length = lengthOf(a, k * n + k + 1, (k + 1) * n);
    if (length === 0) continue;
    v.fill(0);
    const first = a[k * n + k + 1]!;
    for (let i = k + 1; i < n; i++) v[i] = a[k * n + i]! / length;
    v[k + 1]! += Math.sign(first || 1);
    const half = v.reduce((t, x) => t + x * x, 0) / 2;
    const across = (m: Float64Array, from: number): void => {
      for (let c = from; c < n; c++) {
        let total = 0;
        for (let i = k + 1; i < n; i++) total += v[i]! * m[c * n + i]!;
        for (let i = k + 1; i < n; i++) m[c * n + i]! -= (total / half) * v[i]!;
      }
    };
    const along = (m: Float64Array): void => {
      for (let r = 0; r < n; r++) {
        let total = 0;
        for (let c = k + 1; c < n; c++) total += v[c]! * m[c * n + r]!;
        for (let c = k + 1; c < n; c++) m[c * n + r]! -= (total / half) * v[c]!;
      }
    };
    across(a, k);
    along(a);
    along(q);
    for (let i = k + 2; i < n; i++) a[k * n + i] = 0;
  }
  return q;
}

function complexRoot(re: number, im: number): readonly [number, number] {
  const size = Math.hypot(re, im);
  const x = Math.sqrt((size + Math.abs(re)) / 2);
  if (x === 0) return [0, 0];
  const y = Math.abs(im) / (2 * x);
  const [a, b] = re >= 0 ? [x, y] : [y, x];
  return [a, im < 0 ? -b : b];
}

/** The eigenvalue of the last two rows of the block that is nearest to its last element. */
function shiftOf(n: number, { re, im }: Complex, last: number): readonly [number, number] {
  const [p, q, r, s] = [(last - 1) * n + last - 1, last * n + last - 1, (last - 1) * n + last, last * n + last];
  const [hr, hi] = [(re[p]! - re[s]!) / 2, (im[p]! - im[s]!) / 2];
  const [br, bi] = [re[q]! * re[r]! - im[q]! * im[r]!, re[q]! * im[r]! + im[q]! * re[r]!];
  let [dr, di] = complexRoot(hr * hr - hi * hi + br, 2 * hr * hi + bi);
  if (hr * dr + hi * di > 0) [dr, di] = [-dr, -di];
  return [re[s]! + hr + dr, im[s]! + hi + di];
}

/** Rows k and k + 1 of columns from `from`: multiplied by [[c, s], [-conj(s), c]]. */
function rotateRows(n: number, { re, im }: Complex, k: number, c: number, sr: number, si: number, from: number): void {
  for (let j = from; j < n; j++) {
    const at = j * n + k;
    const [xr, xi, yr, yi] = [re[at]!, im[at]!, re[at + 1]!, im[at + 1]!];
    re[at] = c * xr + sr * yr - si * yi;
    im[at] = c * xi + sr * yi + si * yr;
    re[at + 1] = c * yr - sr * xr - si * xi;
    im[at + 1] = c * yi - sr * xi + si * xr;
  }
}

/** Columns k and k + 1 of rows before `to`: multiplied by the adjoint of that. */
function rotateColumns(n: number, { re, im }: Complex, k: number, c: number, sr: number, si: number, to: number): void {
  for (let i = 0; i < to; i++) {
    const [a, b] = [k * n + i, (k + 1) * n + i];
    const [xr, xi, yr, yi] = [re[a]!, im[a]!, re[b]!, im[b]!];
    re[a] = c * xr + sr * yr + si * yi;
    im[a] = c * xi + sr * yi - si * yr;
    re[b] = c * yr - sr * xr + si * xi;
    im[b] = c * yi - sr * xi - si * xr;
  }
}

/** One step of the QR algorithm on rows first to last. */
function sweep(n: number, h: Complex, z: Complex, first: number, last: number, shift: readonly [number, number]): void {
  const { re, im } = h;
  const shifted = (sign: number): void => {
    for (let i = first; i <= last; i++) {
      re[i * n + i]! -= sign * shift[0];
      im[i * n + i]! -= sign * shift[1];
    }
  };
  shifted(1);
  const rotations: (readonly [number, number, number])[] = [];
  for (let k = first; k < last; k++) {
    const at = k * n + k;
    const [xr, xi, yr, yi] = [re[at]!, im[at]!, re[at + 1]!, im[at + 1]!];
    const size = Math.hypot(xr, xi);
    const length = Math.hypot(size, yr, yi);
    let rotation: readonly [number, number, number] = [1, 0, 0];
    if (length > 0 && size === 0) rotation = [0, yr / length, -yi / length];
    else if (length > 0) {
      // s = (x / |x|) conj(y) / length
      const [ur, ui] = [xr / size, xi / size];
      rotation = [size / length, (ur * yr + ui * yi) / length, (ui * yr - ur * yi) / length];
    }
    rotateRows(n, h, k, ...rotation, k);
    re[at + 1] = im[at + 1] = 0;
    rotations.push(rotation);
  }
  rotations.forEach((rotation, i) => {
    rotateColumns(n, h, first + i, ...rotation, Math.min(first + i + 2, last + 1));
    rotateColumns(n, z, first + i, ...rotation, n);
  });
  shifted(-1);
}

/** Makes h triangular; z takes part. False: it did not converge. */
function schur(n: number, h: Complex, z: Complex): boolean {
  const { re, im } = h;
  const size = (i: number, j: number): number => Math.abs(re[j * n + i]!) + Math.abs(im[j * n + i]!);
  let whole = 0;
  for (let i = 0; i < n * n; i++) whole = Math.max(whole, Math.abs(re[i]!));
  let tries = 0;
  for (let last = n - 1; last > 0;) {
    let first = last;
    for (; first > 0; first--) {
      const neighbours = size(first, first) + size(first - 1, first - 1);
      if (size(first, first - 1) <= EPSILON * (neighbours === 0 ? whole : neighbours)) break;
    }
    if (first > 0) re[(first - 1) * n + first] = im[(first - 1) * n + first] = 0;
    if (first === last) {
      last--;
      tries = 0;
      continue;
    }
    if (++tries > 100) return false;
    // Another shift now and then breaks cycles.
    const shift = tries % 10 === 0 ? ([size(last, last - 1) + re[last * n + last]!, im[last * n + last]!] as const) : shiftOf(n, h, last);
    sweep(n, h, z, first, last, shift);
  }
  return true;
}

/** The eigenvectors of a triangular matrix, as columns. */
function substitute(n: number, { re, im }: Complex): Complex {
  const out: Complex = { re: new Float64Array(n * n), im: new Float64Array(n * n) };
  let whole = 0;
  for (let i = 0; i < n * n; i++) whole = Math.max(whole, Math.abs(re[i]!) + Math.abs(im[i]!));
  const tiny = Math.max(EPSILON * whole, 1e-100);
  for (let k = 0; k < n; k++) {
    const [x, y] = [out.re.subarray(k * n, (k + 1) * n), out.im.subarray(k * n, (k + 1) * n)];
    x[k] = 1;
    for (let i = k - 1; i >= 0; i--) {
      let [sr, si] = [0, 0];
      for (let j = i + 1; j <= k; j++) {
        const at = j * n + i;
        sr -= re[at]! * x[j]! - im[at]! * y[j]!;
        si -= re[at]! * y[j]! + im[at]! * x[j]!;
      }
      let [dr, di] = [re[i * n + i]! - re[k * n + k]!, im[i * n + i]! - im[k * n + k]!];
      if (Math.abs(dr) + Math.abs(di) < tiny) [dr, di] = [tiny, 0];
      const size = dr * dr + di * di;
      x[i] = (sr * dr + si * di) / size;
      y[i] = (si * dr - sr * di) / size;
    }
  }
  return out;
}

/** The columns of z times those of x, of length one, their largest element real. */
function vectorsOf(n: number, z: Complex, x: Complex): Complex {
  const out: Complex = { re: new Float64Array(n * n), im: new Float64Array(n * n) };
  for (let k = 0; k < n; k++) {
    const [re, im] = [out.re.subarray(k * n, (k + 1) * n), out.im.subarray(k * n, (k + 1) * n)];
    for (let j = 0; j <= k; j++) {
      const [fr, fi] = [x.re[k * n + j]!, x.im[k * n + j]!];
      for (let i = 0; i < n; i++) {
        const [a, b] = [z.re[j * n + i]!, z.im[j * n + i]!];
        re[i]! += fr * a - fi * b;
        im[i]! += fr * b + fi * a;
      }
    }
    let largest = 0;
    for (let i = 1; i < n; i++) if (Math.hypot(re[i]!, im[i]!) > Math.hypot(re[largest]!, im[largest]!)) largest = i;
    const size = Math.hypot(re[largest]!, im[largest]!);
    const length = Math.hypot(lengthOf(re, 0, n), lengthOf(im, 0, n));
    const [cos, sin] = [re[largest]! / size / length, im[largest]! / size / length];
    for (let i = 0; i < n; i++) [re[i], im[i]] = [re[i]! * cos + im[i]! * sin, im[i]! * cos - re[i]! * sin];
    im[largest] = 0;
  }
  return out;
}

/** Real matrices have real eigenvalues and conjugate pairs: rounding is taken out, and pairs stand together, the upper one first. */
function paired(n: number, re: Float64Array, im: Float64Array, v: Complex): Omit<Eigenvalues, "info"> {
  const out = { re: new Float64Array(n), im: new Float64Array(n), vectorsRe: new Float64Array(n * n), vectorsIm: new Float64Array(n * n) };
  const isTaken = new Array<boolean>(n).fill(false);
  let index = 0;
  const append = (k: number, x: number, y: number, sign: number): void => {
    out.re[index] = x;
    out.im[index] = sign * y;
    for (let i = 0; i < n; i++) {
      out.vectorsRe[index * n + i] = v.re[k * n + i]!;
      out.vectorsIm[index * n + i] = y === 0 ? 0 : sign * v.im[k * n + i]!;
    }
    index++;
  };
  for (let k = 0; k < n; k++) {
    if (isTaken[k]) continue;
    isTaken[k] = true;
    let other = -1;
    const far = (j: number): number => Math.hypot(re[j]! - re[k]!, im[j]! + im[k]!);
    for (let j = k + 1; j < n; j++) if (!isTaken[j] && (other < 0 || far(j) < far(other))) other = j;
    if (other < 0 || far(other) >= Math.abs(im[k]!)) {
      append(k, re[k]!, 0, 1);
      continue;
    }
    isTaken[other] = true;
    const upper = im[k]! > 0 ? k : other;
    const [x, y] = [(re[k]! + re[other]!) / 2, Math.abs(im[k]! - im[other]!) / 2];
    append(upper, x, y, 1);
    append(upper, x, y, -1);
  }
  return out;
}

export const eigen: Engine["eigen"] = (n, a) => {
  // Squares of elements neither overflow nor vanish.
  const largest = a.reduce((t, x) => Math.max(t, Math.abs(x)), 0) || 1;
  for (let i = 0; i < n * n; i++) a[i]! /= largest;
  const q = hessenberg(n, a);
  const h: Complex = { re: a, im: new Float64Array(n * n) };
  const z: Complex = { re: q, im: new Float64Array(n * n) };
  const info = schur(n, h, z) ? 0 : 1;
  const v = vectorsOf(n, z, substitute(n, h));
  const diagonal = (x: Float64Array): Float64Array => Float64Array.from({ length: n }, (_, i) => x[i * n + i]! * largest);
  return { ...paired(n, diagonal(h.re), diagonal(h.im), v), info };
};
