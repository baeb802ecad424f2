/** Discrete Fourier transforms of a few complex numbers in a thread's registers. */
import { cosSin } from "../../core/circle.ts";
import type { Float } from "../numbers.ts";

export interface ComplexFloat {
  readonly re: Float;
  readonly im: Float;
}

export const plus = (a: ComplexFloat, b: ComplexFloat): ComplexFloat => ({ re: a.re.add(b.re), im: a.im.add(b.im) });
const minus = (a: ComplexFloat, b: ComplexFloat): ComplexFloat => ({ re: a.re.sub(b.re), im: a.im.sub(b.im) });
export const times = (a: ComplexFloat, b: ComplexFloat): ComplexFloat => ({
  re: a.re.mul(b.re).sub(a.im.mul(b.im)),
  im: a.re.mul(b.im).add(a.im.mul(b.re)),
});
export const conjugate = ({ re, im }: ComplexFloat): ComplexFloat => ({ re, im: im.neg() });

/** a exp(-2πi t / n). */
function rotated({ re, im }: ComplexFloat, t: number, n: number): ComplexFloat {
  const [c, s] = cosSin(t, n);
  if (s === 0) return c > 0 ? { re, im } : { re: re.neg(), im: im.neg() };
  if (c === 0) return s > 0 ? { re: im, im: re.neg() } : { re: im.neg(), im: re };
  return { re: re.mul(c).add(im.mul(s)), im: im.mul(c).sub(re.mul(s)) };
}

/** Of an odd prime length: pairs of elements and their mirror images. */
function primeTransform(x: readonly ComplexFloat[]): ComplexFloat[] {
  const n = x.length;
  const half = (n - 1) / 2;
  const pairs = Array.from({ length: half }, (_, j) => [x[j + 1]!, x[n - 1 - j]!] as const);
  const [sums, differences] = [pairs.map(([a, b]) => plus(a, b)), pairs.map(([a, b]) => minus(a, b))];
  const y = new Array<ComplexFloat>(n);
  y[0] = sums.reduce(plus, x[0]!);
  for (let k = 1; k <= half; k++) {
    let { re, im } = x[0]!;
    let [sineRe, sineIm]: [Float | null, Float | null] = [null, null];
    for (let j = 1; j <= half; j++) {
      const [c, s] = cosSin((j * k) % n, n);
      const [sum, difference] = [sums[j - 1]!, differences[j - 1]!];
      [re, im] = [re.add(sum.re.mul(c)), im.add(sum.im.mul(c))];
      const [a, b] = [difference.re.mul(s), difference.im.mul(s)];
      [sineRe, sineIm] = [sineRe === null ? a : sineRe.add(a), sineIm === null ? b : sineIm.add(b)];
    }
    y[k] = { re: re.add(sineIm!), im: im.sub(sineRe!) };
    y[n - k] = { re: re.sub(sineIm!), im: im.add(sineRe!) };
  }
  return y;
}

function factorOf(n: number): number {
  if (n % 4 === 0 && n > 4) return 4;
  for (let f = 2; f * f <= n; f++) if (n % f === 0) return f;
  return n;
}

/** sum of x_j exp(-2πi jk / n) for each k. */
export function smallTransform(x: readonly ComplexFloat[]): ComplexFloat[] {
  const n = x.length;
  if (n === 1) return [...x];
  if (n === 2) return [plus(x[0]!, x[1]!), minus(x[0]!, x[1]!)];
  const a = factorOf(n);
  if (a === n) return primeTransform(x);
  const b = n / a;
  const columns = Array.from({ length: b }, (_, j) =>
    smallTransform(Array.from({ length: a }, (_, i) => x[i * b + j]!)).map((v, k) => rotated(v, j * k, n)),
  );
  const y = new Array<ComplexFloat>(n);
  for (let k = 0; k < a; k++) smallTransform(columns.map((column) => column[k]!)).forEach((v, i) => (y[k + i * a] = v));
  return y;
}
