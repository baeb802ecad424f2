/** How a transform of length n is computed: one GEMM with its matrix, steps of smaller ones (Cooley-Tukey), or a convolution (Bluestein). */

export type Plan =
  /** One GEMM with the n x n matrix. */
  | { readonly kind: "matrix"; readonly n: number }
  /** A GEMM with the matrix of `radix`, twiddle factors, then the plan `rest`. */
  | { readonly kind: "step"; readonly n: number; readonly radix: number; readonly rest: Plan }
  /** A circular convolution with a chirp, by transforms of a power of two. */
  | { readonly kind: "chirp"; readonly n: number; readonly length: number; readonly inner: Plan };

/** The largest matrix: twice 1 MiB. */
const LARGEST = 512;
/** What a step costs in addition to its multiply-adds, in multiply-adds: twiddle factors, and dispatches of its own. */
const PASS = 128;

interface Costed {
  readonly plan: Plan;
  /** Terms of sums for each element, passes included. */
  readonly cost: number;
}

const known = new Map<number, Costed>();
/** Plans are small; a program that asks for more lengths than this makes some of them again. */
const KNOWN = 4096;

function cheapest(n: number, allowsChirp: boolean): Costed | null {
  let best: Costed | null = n <= LARGEST ? { plan: { kind: "matrix", n }, cost: n + PASS } : null;
  for (let radix = 2; radix <= Math.min(LARGEST, n / 2); radix++) {
    if (n % radix !== 0 || (best !== null && radix + PASS >= best.cost)) continue;
    const rest = allowsChirp ? costed(n / radix) : smooth(n / radix);
    if (rest === null) continue;
    const cost = radix + PASS + rest.cost;
    if (best === null || cost < best.cost) best = { plan: { kind: "step", n, radix, rest: rest.plan }, cost };
  }
  return best;
}

const smoothKnown = new Map<number, Costed | null>();
/** Of a length whose factors are small: powers of two are. */
function smooth(n: number): Costed | null {
  let found = smoothKnown.get(n);
  if (found === undefined) {
    if (smoothKnown.size >= KNOWN) smoothKnown.clear();
    smoothKnown.set(n, (found = cheapest(n, false)));
  }
  return found;
}

function costed(n: number): Costed {
  const before = known.get(n);
  if (before !== undefined) return before;
  let best = cheapest(n, true);
  if (best === null || n > PASS) {
    const length = 2 ** Math.ceil(Math.log2(2 * n - 1));
    const inner = smooth(length)!;
    const cost = (2 * length * (inner.cost + PASS)) / n;
    if (best === null || cost < best.cost) best = { plan: { kind: "chirp", n, length, inner: inner.plan }, cost };
  }
  if (known.size >= KNOWN) known.clear();
  known.set(n, best);
  return best;
}

/** The plan for length n. */
export const planOf = (n: number): Plan => costed(n).plan;
