/** How shaders compute a transform: in one launch, in two with twiddle factors between them, or as a convolution with a chirp. */
import { cosSin } from "../core/circle.ts";
import type { TableSpec } from "../runtime/tables.ts";
import { MAX_SHARED_ELEMENTS } from "../shader/kernels/fft.ts";
import { chirpTable, filterTable } from "./transform-tables.ts";

export type ShaderPlan =
  | { readonly kind: "once"; readonly n: number }
  /** n = first * second: transforms of each `second`-th element, twiddle factors, transforms of `second` neighbours. */
  | { readonly kind: "twice"; readonly n: number; readonly first: number; readonly second: number }
  /** A circular convolution of `length`, a power of two. */
  | { readonly kind: "chirp"; readonly n: number; readonly length: number };

/** The largest radix: a thread has so many complex numbers in registers. */
const MAX_RADIX = 16;
const PRIMES = [2, 3, 5, 7, 11, 13];

/** Radices whose product is n, the largest first; null: n has a larger prime factor. */
export function radicesOf(n: number): readonly number[] | null {
  if (n <= MAX_RADIX) return [n];
  const radices: number[] = [];
  let rest = n;
  for (const p of PRIMES.slice(1))
    for (; rest % p === 0; rest /= p) {
      // Threes in pairs.
      const i = p === 3 ? radices.indexOf(3) : -1;
      if (i >= 0) radices[i] = 9;
      else radices.push(p);
    }
  const twos = Math.log2(rest);
  if (!Number.isInteger(twos)) return null;
  // A factor of 2 needs no pass of its own where another radix can take it.
  const count = Math.ceil(twos / 4);
  let left = twos;
  for (let i = 0; i < count; i++) {
    const exponent = Math.ceil(left / (count - i));
    radices.push(2 ** exponent);
    left -= exponent;
  }
  const small = radices.indexOf(2);
  const other = radices.findIndex((r, i) => i !== small && 2 * r <= MAX_RADIX);
  if (small >= 0 && other >= 0) {
    radices[other]! *= 2;
    radices.splice(small, 1);
  }
  return radices.toSorted((a, b) => b - a);
}

const fits = (n: number): boolean => n <= MAX_SHARED_ELEMENTS && radicesOf(n) !== null;

function divided(n: number): ShaderPlan | null {
  for (let first = Math.floor(Math.sqrt(n)); first >= n / MAX_SHARED_ELEMENTS && first > 1; first--)
    if (n % first === 0 && fits(first) && fits(n / first)) return { kind: "twice", n, first, second: n / first };
  return null;
}

const known = new Map<number, ShaderPlan | null>();
const MAX_KNOWN = 4096;

/** The plan for length n; null: there is none. */
export function shaderPlanOf(n: number): ShaderPlan | null {
  const before = known.get(n);
  if (before !== undefined) return before;
  const length = 2 ** Math.ceil(Math.log2(2 * n - 1));
  const chirp = (): ShaderPlan | null => (length <= MAX_SHARED_ELEMENTS ? { kind: "chirp", n, length } : null);
  const plan: ShaderPlan | null = fits(n) ? { kind: "once", n } : (divided(n) ?? chirp());
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(n, plan);
  return plan;
}

/** Pairs of two tables' elements. */
function paired([a, b]: readonly Float32Array[]): Float32Array[] {
  const pairs = new Float32Array(2 * a!.length);
  a!.forEach((v, i) => {
    pairs[2 * i] = v;
    pairs[2 * i + 1] = b![i]!;
  });
  return [pairs];
}

const pairsOf = ({ key, shape, make }: TableSpec): TableSpec => ({
  key: `pairs of ${key}`,
  shape: [shape[0]!, 2],
  make: () => paired(make()),
});

/**
 * For each pass but the first, cos and sin of 2π t q / (stride * radix): those of one butterfly, which have one t, are neighbours, for t < stride and q < radix. A
 * butterfly reads two at once. Where there is one pass: (1, 0).
 */
function twiddleTable(n: number): TableSpec {
  const passes = radicesOf(n)!.map((radix, k, all) => ({ radix, stride: all.slice(0, k).reduce((a, b) => a * b, 1) })).slice(1); // prettier-ignore
  const count = passes.reduce((sum, { radix, stride }) => sum + radix * stride, 0);
  return {
    key: `twiddle factors ${n}`,
    shape: [Math.max(1, count), 2],
    make: () => {
      const pairs = passes.flatMap(({ radix, stride }) =>
        Array.from({ length: stride * radix }, (_, i) => cosSin(Math.floor(i / radix) * (i % radix), stride * radix)),
      );
      return [Float32Array.from(pairs.length === 0 ? [1, 0] : pairs.flat(), (x) => x + 0)];
    },
  };
}

/** cos and sin of 2π row * column / n, for each of `inner` neighbours. */
const factorsTable = (first: number, second: number, inner: number): TableSpec => ({
  key: `factors ${first} ${second} ${inner}`,
  shape: [first * second * inner, 2],
  make: () => [
    Float32Array.from({ length: 2 * first * second * inner }, (_, i) => {
      const at = Math.floor((i >> 1) / inner);
      return cosSin(Math.floor(at / second) * (at % second), first * second)[i & 1]! + 0;
    }),
  ],
});

/** The most elements that factors for all of an axis's neighbours may have: tables of more would cost more than they save. */
const MAX_FACTORS = 2 ** 24;

/** Whether a plan is for transforms along an axis with `inner` neighbours. */
export const servesInner = (plan: ShaderPlan, inner: number): boolean => plan.kind !== "twice" || plan.n * inner <= MAX_FACTORS;

/** The tables that a plan reads, in the order of its shaders' inputs. */
export function shaderTables(plan: ShaderPlan, inner: number): TableSpec[] {
  switch (plan.kind) {
    case "once":
      return [twiddleTable(plan.n)];
    case "twice":
      return [twiddleTable(plan.first), factorsTable(plan.first, plan.second, inner), twiddleTable(plan.second)];
    case "chirp":
      return [
        twiddleTable(plan.length),
        pairsOf(chirpTable(plan.n, plan.n)),
        pairsOf(filterTable(plan.n, plan.length, plan.n, plan.n, -1)),
      ];
    default:
      return plan satisfies never;
  }
}
