/** Sets of integers low, low + step, …, high: what an unsigned value may be. */

export interface StridedRange {
  readonly low: number;
  readonly high: number;
  /** 0: there is one number. */
  readonly step: number;
}

/** The largest unsigned number. */
export const LARGEST = 0xffffffff;
export const ANY: StridedRange = { low: 0, high: LARGEST, step: 1 };
export const EMPTY: StridedRange = { low: 1, high: 0, step: 1 };

export const only = (n: number): StridedRange => ({ low: n, high: n, step: 0 });
/** All integers from low to high. */
export const between = (low: number, high: number): StridedRange => ({ low, high, step: low === high ? 0 : 1 });
export const isEmpty = ({ low, high }: StridedRange): boolean => low > high;

export function gcd(a: number, b: number): number {
  let [x, y] = [Math.abs(a), Math.abs(b)];
  while (y !== 0) [x, y] = [y, x % y];
  return x;
}

const modulo = (a: number, n: number): number => ((a % n) + n) % n;
const powerIn = (n: number): number => (n === 0 ? 2 ** 32 : gcd(n, 2 ** 32));
/** The step; 0 where there is one number. */
const ranged = (low: number, high: number, step: number): StridedRange =>
  low === high ? only(low) : { low, high: step > 1 ? low + Math.floor((high - low) / step) * step : high, step: Math.max(1, step) };

/** What is in both; at least that. */
export function meet(a: StridedRange, b: StridedRange): StridedRange {
  const [x, y] = a.step === 0 || (b.step !== 0 && a.step >= b.step) ? [a, b] : [b, a];
  const low = Math.max(x.low, y.low);
  const high = Math.min(x.high, y.high);
  if (x.step <= 1) return { low, high, step: low === high ? 0 : 1 };
  const first = low + modulo(x.low - low, x.step);
  const last = high - modulo(high - x.low, x.step);
  return { low: first, high: last, step: first === last ? 0 : x.step };
}

/** What is in one of them. */
export function join(a: StridedRange, b: StridedRange): StridedRange {
  if (isEmpty(a)) return b;
  if (isEmpty(b)) return a;
  return ranged(Math.min(a.low, b.low), Math.max(a.high, b.high), gcd(gcd(a.step, b.step), a.low - b.low));
}

/** Integers as the unsigned numbers that they are mod 2^32. */
export function wrapped(r: StridedRange): StridedRange {
  const turns = Math.floor(r.low / 2 ** 32);
  if (Number.isSafeInteger(r.low) && Number.isSafeInteger(r.high) && turns === Math.floor(r.high / 2 ** 32))
    return turns === 0 ? r : { ...r, low: r.low - turns * 2 ** 32, high: r.high - turns * 2 ** 32 };
  if (!Number.isSafeInteger(r.low)) return ANY;
  const step = powerIn(r.step);
  return ranged(modulo(r.low, step), LARGEST, step);
}

export function product(a: StridedRange, b: StridedRange): StridedRange {
  if (a.high * b.high > LARGEST) return ranged(0, LARGEST, Math.min(2 ** 31, powerIn(gcd(a.low, a.step)) * powerIn(gcd(b.low, b.step))));
  return ranged(a.low * b.low, a.high * b.high, gcd(gcd(a.step * b.low, b.step * a.low), a.step * b.step));
}

/** Rounded down. */
export function quotientOf(a: StridedRange, b: StridedRange): StridedRange {
  if (b.low === 0) return ANY;
  const isExact = b.step === 0 && a.step % b.low === 0;
  return ranged(Math.floor(a.low / b.high), Math.floor(a.high / b.low), isExact ? a.step / b.low : 1);
}

export function remainderOf(a: StridedRange, b: StridedRange): StridedRange {
  if (b.low === 0) return ANY;
  if (a.high < b.low) return a;
  const high = Math.min(a.high, b.high - 1);
  if (b.step !== 0) return between(0, high);
  const step = gcd(a.step, b.low);
  if (step === b.low) return only(a.low % b.low);
  const isSameTurn = Math.floor(a.low / b.low) === Math.floor(a.high / b.low);
  if (isSameTurn) return ranged(a.low % b.low, a.high % b.low, a.step);
  return ranged(a.low % step, high, step);
}

/** The bits of both. */
export function bitsInBoth(a: StridedRange, b: StridedRange): StridedRange {
  const [x, mask] = a.step === 0 ? [b, a] : [a, b];
  if (mask.step === 0 && Number.isInteger(Math.log2(mask.low + 1))) return remainderOf(x, only(mask.low + 1));
  const step = Math.max(powerIn(gcd(a.low, a.step)), powerIn(gcd(b.low, b.step)));
  return ranged(0, Math.min(a.high, b.high), Math.min(2 ** 31, step));
}

/** The bits of one of them. */
export function bitsInOne(a: StridedRange, b: StridedRange): StridedRange {
  const high = 2 ** Math.ceil(Math.log2(Math.max(a.high, b.high, 0) + 1)) - 1;
  return ranged(0, high, Math.min(2 ** 31, powerIn(gcd(a.low, a.step)), powerIn(gcd(b.low, b.step))));
}
