/** Cholesky, LU and QR factors and triangular systems in plain loops. Golub and Van Loan, Matrix Computations, chapters 3 to 5. */
import type { Engine } from "./engine.ts";

export const cholesky: Engine["cholesky"] = (n, a) => {
  for (let j = 0; j < n; j++) {
    for (let k = 0; k < j; k++) {
      const factor = a[k * n + j]!;
      for (let i = j; i < n; i++) a[j * n + i]! -= factor * a[k * n + i]!;
    }
    const pivot = a[j * n + j]!;
    if (!(pivot > 0)) return j + 1;
    const root = Math.sqrt(pivot);
    for (let i = j; i < n; i++) a[j * n + i]! /= root;
  }
  return 0;
};

function exchangeRows(a: Float64Array, m: number, columns: number, i: number, j: number): void {
  if (i === j) return;
  for (let c = 0; c < columns; c++) {
    const saved = a[c * m + i]!;
    a[c * m + i] = a[c * m + j]!;
    a[c * m + j] = saved;
  }
}

export const lu: Engine["lu"] = (m, n, a, pivots) => {
  let info = 0;
  for (let j = 0; j < Math.min(m, n); j++) {
    let p = j;
    for (let i = j + 1; i < m; i++) if (Math.abs(a[j * m + i]!) > Math.abs(a[j * m + p]!)) p = i;
    pivots[j] = p + 1;
    if (a[j * m + p] === 0) {
      info ||= j + 1;
      continue;
    }
    exchangeRows(a, m, n, j, p);
    const pivot = a[j * m + j]!;
    for (let i = j + 1; i < m; i++) a[j * m + i]! /= pivot;
    for (let c = j + 1; c < n; c++) {
      const factor = a[c * m + j]!;
      if (factor !== 0) for (let i = j + 1; i < m; i++) a[c * m + i]! -= factor * a[j * m + i]!;
    }
  }
  return info;
};

export const triangularSolve: Engine["triangularSolve"] = (n, k, a, b, { upper, transposed, unit }) => {
  const forward = upper === transposed;
  for (let c = 0; c < k; c++) {
    const x = b.subarray(c * n, (c + 1) * n);
    for (let step = 0; step < n; step++) {
      const i = forward ? step : n - 1 - step;
      let value = x[i]!;
      for (let j = forward ? 0 : i + 1; j < (forward ? i : n); j++) value -= (transposed ? a[i * n + j]! : a[j * n + i]!) * x[j]!;
      x[i] = unit ? value : value / a[i * n + i]!;
    }
  }
};

export const luSolve: Engine["luSolve"] = (n, k, factors, pivots, b, transposed) => {
  const lower = { upper: false, transposed, unit: true };
  const upper = { upper: true, transposed, unit: false };
  if (!transposed) for (let i = 0; i < n; i++) exchangeRows(b, n, k, i, pivots[i]! - 1);
  for (const part of transposed ? [upper, lower] : [lower, upper]) triangularSolve(n, k, factors, b, part);
  if (transposed) for (let i = n - 1; i >= 0; i--) exchangeRows(b, n, k, i, pivots[i]! - 1);
};

/** Column c minus tau v v^T of it, with v = [1, a's column j below row j]. */
function reflect(m: number, a: Float64Array, j: number, tau: number, b: Float64Array, c: number): void {
  let dot = b[c * m + j]!;
  for (let i = j + 1; i < m; i++) dot += a[j * m + i]! * b[c * m + i]!;
  dot *= tau;
  b[c * m + j]! -= dot;
  for (let i = j + 1; i < m; i++) b[c * m + i]! -= dot * a[j * m + i]!;
}

/** The length of a vector without overflow or underflow. */
export function lengthOf(x: Float64Array, from: number, to: number): number {
  let largest = 0;
  for (let i = from; i < to; i++) largest = Math.max(largest, Math.abs(x[i]!));
  if (largest === 0 || !Number.isFinite(largest)) return largest;
  let total = 0;
  for (let i = from; i < to; i++) total += (x[i]! / largest) ** 2;
  return largest * Math.sqrt(total);
}

export const qr: Engine["qr"] = (m, n, a, tau) => {
  for (let j = 0; j < Math.min(m, n); j++) {
    const at = j * m + j;
    const alpha = a[at]!;
    const below = lengthOf(a, at + 1, (j + 1) * m);
    tau[j] = 0;
    if (below === 0) continue;
    const beta = -Math.sign(alpha || 1) * Math.hypot(alpha, below);
    tau[j] = (beta - alpha) / beta;
    for (let i = j + 1; i < m; i++) a[j * m + i]! /= alpha - beta;
    a[at] = beta;
    for (let c = j + 1; c < n; c++) reflect(m, a, j, tau[j]!, a, c);
  }
};

export const reflectorProduct: Engine["reflectorProduct"] = (m, columns, k, a, tau) => {
  const vectors = a.slice(0, m * k);
  a.fill(0, 0, m * columns);
  for (let c = 0; c < columns; c++) a[c * m + c] = 1;
  for (let j = k - 1; j >= 0; j--) for (let c = j; c < columns; c++) reflect(m, vectors, j, tau[j]!, a, c);
};
