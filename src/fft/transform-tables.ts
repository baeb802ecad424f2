/** The constants of transforms, computed in float64 and rounded once. */
import { cosSin } from "../core/circle.ts";
import type { TableSpec } from "../runtime/tables.ts";
import type { Plan } from "./transform-plan.ts";

/** cos and sin of 2π angle(i) / n for i below length. */
function cosSinTable(length: number, n: number, angle: (i: number) => number): [Float32Array, Float32Array] {
  const [cos, sin] = [new Float32Array(length), new Float32Array(length)];
  // Few different angles: each once.
  const all = 4 * n <= length ? Array.from({ length: n }, (_, t) => cosSin(t, n)) : null;
  for (let i = 0; i < length; i++) {
    const t = angle(i) % n;
    const [c, s] = all === null ? cosSin(t, n) : all[t]!;
    cos[i] = c + 0;
    sin[i] = s + 0;
  }
  return [cos, sin];
}

/** The matrix: 2π row * column / n. */
export const matrixTable = (n: number): TableSpec => ({
  key: `matrix ${n}`,
  shape: [n, n],
  make: () => cosSinTable(n * n, n, (i) => Math.floor(i / n) * (i % n)),
});

/** Twiddle factors between two steps: 2π row * column / n for n / radix rows and `radix` columns. */
export const stepTable = (n: number, radix: number): TableSpec => ({
  key: `step ${n} ${radix}`,
  shape: [n / radix, radix, 1],
  make: () => cosSinTable(n, n, (i) => Math.floor(i / radix) * (i % radix)),
});

/** The chirp: π i² / n for i below length. */
export const chirpTable = (n: number, length: number): TableSpec => ({
  key: `chirp ${n} ${length}`,
  shape: [length, 1],
  make: () => cosSinTable(length, 2 * n, (i) => (i * i) % (2 * n)),
});

/** The transform (of `length`, a power of two, without a factor) of the chirp's inverse at indices 1 - inputs to outputs - 1. */
export const filterTable = (n: number, length: number, inputs: number, outputs: number, sign: number): TableSpec => ({
  key: `filter ${n} ${length} ${inputs} ${outputs} ${sign}`,
  shape: [length, 1],
  make: () => {
    const [re, im] = [new Float64Array(length), new Float64Array(length)];
    const store = (index: number, m: number): void => {
      const [c, s] = cosSin((m * m) % (2 * n), 2 * n);
      re[index] = c;
      im[index] = -sign * s;
    };
    for (let m = 0; m < outputs; m++) store(m, m);
    for (let m = 1; m < inputs; m++) store(length - m, m);
    transform(re, im);
    return [Float32Array.from(re), Float32Array.from(im)];
  },
});

/** The radix-2 FFT, in place, with exp(-2πi jk / n), of a power of two. */
function transform(re: Float64Array, im: Float64Array): void {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; (j & bit) !== 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i >= j) continue;
    [re[i], re[j]] = [re[j]!, re[i]!];
    [im[i], im[j]] = [im[j]!, im[i]!];
  }
  for (let half = 1; half < n; half *= 2)
    for (let k = 0; k < half; k++) {
      const [c, s] = cosSin(k, 2 * half);
      for (let a = k; a < n; a += 2 * half) {
        const b = a + half;
        const [x, y] = [re[b]! * c + im[b]! * s, im[b]! * c - re[b]! * s];
        re[b] = re[a]! - x;
        im[b] = im[a]! - y;
        re[a]! += x;
        im[a]! += y;
      }
    }
}

/** The weights of a half spectrum's elements: 2, for an element and its conjugate; 1 for the first, and for even n the last. */
export const halfTable = (n: number, length: number): TableSpec => ({
  key: `half ${n} ${length}`,
  shape: [length],
  make: () => [Float32Array.from({ length }, (_, k) => (k === 0 || 2 * k === n ? 1 : 2))],
});

/** What a plan reads, of that many inputs and outputs. */
export function tablesOf(plan: Plan, inputs: number, outputs: number, sign: number): TableSpec[] {
  const found = new Map<string, TableSpec>();
  const note = (spec: TableSpec): void => void found.set(spec.key, spec);
  const visit = (p: Plan, from: number, to: number, direction: number): void => {
    switch (p.kind) {
      case "matrix":
        note(matrixTable(p.n));
        break;
      case "step":
        note(matrixTable(p.radix));
        note(stepTable(p.n, p.radix));
        visit(p.rest, p.n / p.radix, Math.ceil(to / p.radix), direction);
        break;
      case "chirp":
        note(chirpTable(p.n, Math.max(from, to)));
        note(filterTable(p.n, p.length, from, to, direction));
        visit(p.inner, from, p.length, -1);
        visit(p.inner, p.length, to, 1);
        break;
      default:
        p satisfies never;
    }
  };
  visit(plan, inputs, outputs, sign);
  return [...found.values()];
}
