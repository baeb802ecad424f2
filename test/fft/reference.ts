/** Transforms in float64, by their definition and, for powers of two, by halves. */
import * as dx from "../../src/index.ts";

/** Complex numbers as two arrays. */
export type ComplexValues = readonly [re: Float64Array, im: Float64Array];

/** Irregular numbers of order 1, as float32 has them. */
export const wave = (size: number, seed = 1): Float64Array =>
  Float64Array.from({ length: size }, (_, i) => Math.fround(Math.sin(seed + 12.9898 * i + 0.37 * i * i)));
export const complexWaves = (size: number, seed = 1): ComplexValues => [wave(size, seed), wave(size, seed + 0.7)];
export const zeros = (n: number): ComplexValues => [new Float64Array(n), new Float64Array(n)];

export const tensorOf = (x: Float64Array, shape: readonly number[], dtype: dx.DType = "float32"): dx.Tensor =>
  dx.tensor(Float32Array.from(x), { shape }).to(dtype);
export const complexOf = ([re, im]: ComplexValues, shape: readonly number[], dtype: dx.DType = "float32"): dx.ComplexTensor =>
  dx.complex(tensorOf(re, shape, dtype), tensorOf(im, shape, dtype));

/** Sums of x_j exp(sign 2πi jk / n). */
export function dft([re, im]: ComplexValues, sign: -1 | 1): ComplexValues {
  const n = re.length;
  if (n > 1 && (n & (n - 1)) === 0) return halves([re, im], sign);
  const out = zeros(n);
  const roots = Array.from({ length: n }, (_, t) => [Math.cos((2 * Math.PI * t) / n), sign * Math.sin((2 * Math.PI * t) / n)] as const);
  for (let k = 0; k < n; k++)
    for (let j = 0; j < n; j++) {
      const [c, s] = roots[(j * k) % n]!;
      out[0][k]! += re[j]! * c - im[j]! * s;
      out[1][k]! += re[j]! * s + im[j]! * c;
    }
  return out;
}

function halves([re, im]: ComplexValues, sign: -1 | 1): ComplexValues {
  const n = re.length;
  if (n === 1) return [re, im];
  const part = (x: Float64Array, from: number): Float64Array => Float64Array.from({ length: n / 2 }, (_, i) => x[2 * i + from]!);
  const even = halves([part(re, 0), part(im, 0)], sign);
  const odd = halves([part(re, 1), part(im, 1)], sign);
  const out = zeros(n);
  for (let k = 0; k < n / 2; k++) {
    const [c, s] = [Math.cos((2 * Math.PI * k) / n), sign * Math.sin((2 * Math.PI * k) / n)];
    const [a, b] = [odd[0][k]! * c - odd[1][k]! * s, odd[0][k]! * s + odd[1][k]! * c];
    out[0][k] = even[0][k]! + a;
    out[1][k] = even[1][k]! + b;
    out[0][k + n / 2] = even[0][k]! - a;
    out[1][k + n / 2] = even[1][k]! - b;
  }
  return out;
}

/** dft of length n along an axis of x, cut or padded with zeros; times scale. */
export function along(
  x: ComplexValues,
  shape: readonly number[],
  axis: number,
  n: number,
  sign: -1 | 1,
  scale = 1,
): { x: ComplexValues; shape: number[] } {
  const length = shape[axis]!;
  const after = shape.slice(axis + 1).reduce((p, q) => p * q, 1);
  const before = shape.slice(0, axis).reduce((p, q) => p * q, 1);
  const out = zeros(before * n * after);
  for (let p = 0; p < before; p++)
    for (let q = 0; q < after; q++) {
      const slice = zeros(n);
      for (let j = 0; j < Math.min(n, length); j++)
        for (const part of [0, 1] as const) slice[part][j] = x[part][(p * length + j) * after + q]!;
      const y = dft(slice, sign);
      for (let k = 0; k < n; k++) for (const part of [0, 1] as const) out[part][(p * n + k) * after + q] = y[part][k]! * scale;
    }
  return { x: out, shape: shape.map((d, i) => (i === axis ? n : d)) };
}

/** The first elements of an axis. */
export function first(x: Float64Array, shape: readonly number[], axis: number, count: number): number[] {
  const after = shape.slice(axis + 1).reduce((p, q) => p * q, 1);
  const length = shape[axis]!;
  return [...x].filter((_, i) => Math.floor(i / after) % length < count);
}

/** The elements with one zero only: its sign is a device's own affair. */
export const unsigned = (z: dx.ComplexTensor): unknown => JSON.parse(JSON.stringify(z.toArraySync())) as unknown;

const numbersOf = (t: dx.Tensor): ArrayLike<number> => t.to("float32").dataSync() as Float32Array;

/** The largest error of a result, as a share of the root of the mean square of what is expected. */
export function errorOf(got: dx.ComplexTensor | dx.Tensor, want: readonly ArrayLike<number>[]): number {
  const parts = got instanceof dx.Tensor ? [got] : [got.real, got.imag];
  let [worst, squares, count] = [0, 0, 0];
  parts.forEach((t, i) => {
    const found = numbersOf(t);
    const wanted = want[i]!;
    if (found.length !== wanted.length) throw new Error(`${t.describe()} instead of ${wanted.length} elements`);
    for (let k = 0; k < found.length; k++) {
      // NaN is no small error.
      const distance = Math.abs(found[k]! - wanted[k]!);
      worst = Number.isNaN(distance) ? Infinity : Math.max(worst, distance);
      squares += wanted[k]! ** 2;
      count++;
    }
  });
  return worst / Math.sqrt(squares / Math.max(1, count) || 1);
}
