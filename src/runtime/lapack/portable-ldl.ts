/** L D L^T by Bunch and Kaufman's diagonal pivoting (Math. Comp. 31, 1977), blocks of one or two rows, with LAPACK's pivots. */
import type { Engine } from "./engine.ts";

const ALPHA = (1 + Math.sqrt(17)) / 8;

export const ldl: Engine["ldl"] = (n, a, pivots) => {
  const at = (i: number, j: number): number => j * n + i;
  const exchange = (x: number, y: number): void => {
    const saved = a[x]!;
    a[x] = a[y]!;
    a[y] = saved;
  };
  let info = 0;
  for (let k = 0; k < n;) {
    const { p, size, isZero } = choosePivot(n, a, k);
    if (isZero) info ||= k + 1;
    const last = k + size - 1;
    if (p !== last) {
      for (let i = p + 1; i < n; i++) exchange(at(i, last), at(i, p));
      for (let i = last + 1; i < p; i++) exchange(at(i, last), at(p, i));
      exchange(at(last, last), at(p, p));
      if (size === 2) exchange(at(k + 1, k), at(p, k));
    }
    if (size === 1) {
      if (!isZero) eliminateOne(n, a, k);
      pivots[k] = p + 1;
    } else {
      eliminateTwo(n, a, k);
      pivots[k] = pivots[k + 1] = -(p + 1);
    }
    k += size;
  }
  return info;
};

function choosePivot(n: number, a: Float64Array, k: number): { readonly p: number; readonly size: 1 | 2; readonly isZero: boolean } {
  const size = (i: number, j: number): number => Math.abs(i >= j ? a[j * n + i]! : a[i * n + j]!);
  const own = size(k, k);
  let r = k;
  let column = 0;
  for (let i = k + 1; i < n; i++)
    if (size(i, k) > column) {
      column = size(i, k);
      r = i;
    }
  if (Math.max(own, column) === 0 || Number.isNaN(own)) return { p: k, size: 1, isZero: true };
  if (own >= ALPHA * column) return { p: k, size: 1, isZero: false };
  let row = 0;
  for (let j = k; j < n; j++) if (j !== r) row = Math.max(row, size(r, j));
  if (own >= ALPHA * column * (column / row)) return { p: k, size: 1, isZero: false };
  if (size(r, r) >= ALPHA * row) return { p: r, size: 1, isZero: false };
  return { p: r, size: 2, isZero: false };
}

function eliminateOne(n: number, a: Float64Array, k: number): void {
  const inverse = 1 / a[k * n + k]!;
  for (let j = k + 1; j < n; j++) {
    const factor = inverse * a[k * n + j]!;
    for (let i = j; i < n; i++) a[j * n + i]! -= factor * a[k * n + i]!;
  }
  for (let i = k + 1; i < n; i++) a[k * n + i]! *= inverse;
}

function eliminateTwo(n: number, a: Float64Array, k: number): void {
  const off = a[k * n + k + 1]!;
  const d11 = a[(k + 1) * n + k + 1]! / off;
  const d22 = a[k * n + k]! / off;
  const scale = 1 / (d11 * d22 - 1) / off;
  for (let j = k + 2; j < n; j++) {
    const first = scale * (d11 * a[k * n + j]! - a[(k + 1) * n + j]!);
    const second = scale * (d22 * a[(k + 1) * n + j]! - a[k * n + j]!);
    for (let i = j; i < n; i++) a[j * n + i]! -= a[k * n + i]! * first + a[(k + 1) * n + i]! * second;
    a[k * n + j] = first;
    a[(k + 1) * n + j] = second;
  }
}

export const ldlSolve: Engine["ldlSolve"] = (n, k, a, pivots, b) => {
  for (let c = 0; c < k; c++) solveOne(n, a, pivots, b.subarray(c * n, (c + 1) * n));
};

function solveOne(n: number, a: Float64Array, pivots: Int32Array, x: Float64Array): void {
  const exchange = (i: number, j: number): void => {
    const saved = x[i]!;
    x[i] = x[j]!;
    x[j] = saved;
  };
  for (let k = 0; k < n;) {
    const pivot = pivots[k]!;
    if (pivot > 0) {
      exchange(k, pivot - 1);
      for (let i = k + 1; i < n; i++) x[i]! -= a[k * n + i]! * x[k]!;
      x[k]! /= a[k * n + k]!;
      k++;
      continue;
    }
    exchange(k + 1, -pivot - 1);
    for (let i = k + 2; i < n; i++) x[i]! -= a[k * n + i]! * x[k]! + a[(k + 1) * n + i]! * x[k + 1]!;
    const off = a[k * n + k + 1]!;
    const d1 = a[k * n + k]! / off;
    const d2 = a[(k + 1) * n + k + 1]! / off;
    const [b1, b2] = [x[k]! / off, x[k + 1]! / off];
    x[k] = (d2 * b1 - b2) / (d1 * d2 - 1);
    x[k + 1] = (d1 * b2 - b1) / (d1 * d2 - 1);
    k += 2;
  }
  for (let k = n - 1; k >= 0;) {
    const pivot = pivots[k]!;
    const first = pivot > 0 ? k : k - 1;
    for (let j = first; j <= k; j++) for (let i = k + 1; i < n; i++) x[j]! -= a[j * n + i]! * x[i]!;
    exchange(k, Math.abs(pivot) - 1);
    k = first - 1;
  }
}
