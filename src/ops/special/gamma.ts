/** Gamma, digamma, polygamma and zeta functions. */
import { call } from "../../dispatch/dispatch.ts";
import { isFloat } from "../../core/dtype.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul, operands, sub, type Arithmetic } from "../elementwise/binary.ts";
import { formula, unaryFormula, type Formula } from "../elementwise/formula.ts";
import { unsqueeze } from "../shape/movement.ts";
import { arange } from "../creation/ranges.ts";
import { sum } from "../reduce/reduce.ts";
import { emitLog1p } from "../elementwise/unary.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

/** Above it the asymptotic series of DLMF 5.11 are exact to float32; below, recurrences lead to [1.5, 2.5). */
const FAR = 8.5;
/** ln Γ(2 + z) = (1 - γ) z + sum of (-1)^k (ζ(k) - 1) z^k / k, DLMF 5.7.3; divided by z. Highest power first. */
const LOG_GAMMA = [
  4.3748667899e-6, -9.4394882753e-6, 2.0507212776e-5, -4.4926236738e-5, 9.9457512782e-5, -0.00022315475845, 0.00050966952474,
  -0.0011927539117, 0.0028905103307, -0.0073855510287, 0.020580808428, -0.067352301053, 0.32246703342, 0.422784335098,
];
/** Its derivative: ψ(2 + z). */
const DIGAMMA = [
  6.1248135059e-5, -0.00012271334758, 0.00024608655331, -0.00049418860412, 0.00099457512782, -0.0020083928261, 0.0040773561979,
  -0.0083492773819, 0.017343061984, -0.036927755143, 0.082323233711, -0.20205690316, 0.64493406685, 0.422784335098,
];

/** x - round(x): the reduced argument of a function of period 1. */
const fraction = (f: Formula, x: Expr): Expr => f.sub(x, f.round(x));
/** cot(πr) for r in [-0.5, 0.5]: cos(πr) as the sine of π (0.5 - |r|), since π/2 rounded has a cosine that is not 0. */
const cotangent = (f: Formula, r: Expr): Expr => f.div(f.sin(f.mul(f.sub(0.5, f.abs(r)), Math.PI)), f.sin(f.mul(r, Math.PI)));

/** y at least 0.5 as 2 + z with z in [-0.5, 0.5); `passed` is called with each z + 1 on the way down. */
function reduced(f: Formula, y: Expr, passed: (isPassed: Expr, value: Expr) => void): { z: Expr; isBelow: Expr } {
  const isBelow = f.lt(y, 1.5);
  let at = f.where(isBelow, f.add(y, 1), y);
  for (let i = 0; i < Math.ceil(FAR - 2.5); i++) {
    const isAbove = f.ge(at, 2.5);
    const next = f.sub(at, 1);
    passed(isAbove, next);
    at = f.where(isAbove, next, at);
  }
  return { z: f.where(isBelow, f.sub(y, 1), f.sub(at, 2)), isBelow };
}

/** ln |Γ(x)|. @package */
export function emitLogGamma(f: Formula, x: Expr): Expr {
  const isReflected = f.lt(x, 0.5);
  const y = f.where(isReflected, f.sub(1, x), x);
  let product = f.of(1);
  const { z, isBelow } = reduced(f, y, (isPassed, value) => (product = f.where(isPassed, f.mul(product, value), product)));
  const series = f.mul(z, f.polynomial(z, LOG_GAMMA));
  const near = f.where(isBelow, f.sub(series, emitLog1p(f.g, z)), f.add(series, f.log(product)));
  const inverse = f.div(1, y);
  const correction = f.mul(inverse, f.polynomial(f.square(inverse), [1 / 1260, -1 / 360, 1 / 12]));
  const far = f.add(f.add(f.mul(f.sub(y, 0.5), f.sub(f.log(y), 1)), 0.5 * Math.log(2 * Math.PI) - 0.5), correction);
  const right = f.where(f.lt(y, FAR), near, far);
  const sine = f.abs(f.sin(f.mul(fraction(f, x), Math.PI)));
  const left = f.sub(f.log(f.div(Math.PI, sine)), right);
  return f.cases([f.isInfinite(x), Infinity], [isReflected, left], right);
}

/** ψ(x). @package */
export function emitDigamma(f: Formula, x: Expr): Expr {
  const isReflected = f.lt(x, 0.5);
  const y = f.where(isReflected, f.sub(1, x), x);
  let sum = f.of(0);
  const { z, isBelow } = reduced(f, y, (isPassed, value) => (sum = f.where(isPassed, f.add(sum, f.div(1, value)), sum)));
  const series = f.polynomial(z, DIGAMMA);
  const inverse = f.div(1, y);
  const near = f.where(isBelow, f.sub(series, inverse), f.add(series, sum));
  const square = f.square(inverse);
  const far = f.sub(f.sub(f.log(y), f.mul(inverse, 0.5)), f.mul(square, f.polynomial(square, [1 / 252, -1 / 120, 1 / 12])));
  const right = f.where(f.lt(y, FAR), near, far);
  const rest = fraction(f, x);
  const left = f.sub(right, f.mul(cotangent(f, rest), Math.PI));
  const isPole = f.and(f.lt(x, 0), f.eq(rest, 0));
  return f.cases([isPole, NaN], [f.eq(x, 0), f.neg(f.div(1, x))], [isReflected, left], right);
}

/** Terms that are summed before the Euler-Maclaurin formula (DLMF 2.10.1) takes over. */
const TERMS = 9;
/** B(2j) / (2j)!. */
const BERNOULLI = [1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160];

/** ζ(s, q) for s > 1 and q > 0. */
function emitZeta(f: Formula, s: Expr | number, q: Expr): Expr {
  const minus = typeof s === "number" ? -s : f.neg(s);
  let sum = f.pow(q, minus);
  for (let k = 1; k < TERMS; k++) sum = f.add(sum, f.pow(f.add(q, k), minus));
  const end = f.add(q, TERMS);
  const power = f.pow(end, minus);
  const inverse = f.div(1, end);
  sum = f.add(sum, f.add(f.div(f.mul(power, end), f.sub(s, 1)), f.mul(power, 0.5)));
  let factor: Expr = f.mul(power, f.mul(inverse, s));
  BERNOULLI.forEach((b, j) => {
    sum = f.add(sum, f.mul(factor, b));
    if (j === BERNOULLI.length - 1) return;
    const rising = f.mul(f.add(s, 2 * j + 1), f.of(f.add(s, 2 * j + 2)));
    factor = f.mul(f.mul(factor, rising), f.square(inverse));
  });
  return sum;
}

/** The n-th derivative of cot(πx), as a polynomial in cot(πx), highest power first: d cot = -(1 + cot²). */
function cotangentDerivative(n: number): number[] {
  let p = [1, 0];
  for (let k = 0; k < n; k++) {
    const slope = p.slice(0, -1).map((c, i) => c * (p.length - 1 - i));
    const next = new Array<number>(p.length + 1).fill(0);
    slope.forEach((c, i) => {
      next[i + 0]! -= c;
      next[i + 2]! -= c;
    });
    p = next;
  }
  return p.map((c) => c * Math.PI ** n);
}

const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));

const polygammaOp = formula<{ readonly order: number }>("polygamma", {
  emit: (f, [x], { order: n }) => {
    const isReflected = f.lt(x!, 0.5);
    const y = f.where(isReflected, f.sub(1, x!), x!);
    const sign = n % 2 === 1 ? 1 : -1;
    const right = f.mul(emitZeta(f, n + 1, y), sign * factorial(n));
    const rest = fraction(f, x!);
    // DLMF 5.15.6.
    const left = f.sub(f.mul(right, -sign), f.mul(f.polynomial(cotangent(f, rest), cotangentDerivative(n)), Math.PI));
    const isPole = f.and(isReflected, f.eq(rest, 0));
    // At infinity PyTorch gives 0 for the first order, NaN for the others.
    const atInfinity = f.eq(x!, Infinity);
    return f.cases([isPole, sign * Infinity], [atInfinity, n === 1 ? 0 : NaN], [isReflected, left], right);
  },
  grad: [(dy, [x], _, { order }): Tensor => mul(dy, polygamma(order + 1, x!))],
});

/** ln |Γ(x)|. Integers give float32 (as in all functions of this file). Reference: torch.lgamma. DirectML: LOG, SIN, arithmetic. */
export const lgamma = unaryFormula("lgamma", emitLogGamma, (dy, x) => mul(dy, digamma(x))) as (x: Tensor) => Tensor;
/** ψ(x) = d ln Γ(x) / dx. Reference: torch.digamma. DirectML: LOG, SIN, COS, arithmetic. */
export const digamma = unaryFormula("digamma", emitDigamma, (dy, x) => mul(dy, polygamma(1, x))) as (x: Tensor) => Tensor;

/** The n-th derivative of ψ. Reference: torch.polygamma. DirectML: POW, SIN, COS. */
export function polygamma(n: number, x: Tensor): Tensor {
  if (!Number.isInteger(n) || n < 0) throw new ValueError("polygamma", "n", "an integer of at least 0", n);
  return n === 0 ? digamma(x) : call(polygammaOp, [x], { order: n });
}

/** Up to this many terms are added one by one; more are computed as one more axis and reduced. */
const FEW_DIMENSIONS = 8;
/** Up to here float32 represents every integer. */
const MAX_DIMENSIONS = 2 ** 24;

/** ln of the multivariate gamma function of p dimensions, for x above (p - 1) / 2. Reference: torch.mvlgamma. */
export function mvlgamma(x: Tensor, p: number): Tensor {
  if (!Number.isInteger(p) || p < 1 || p > MAX_DIMENSIONS)
    throw new ValueError("mvlgamma", "p", `an integer from 1 to ${MAX_DIMENSIONS}`, p);
  if (x.rank > 7) throw new ShapeError("mvlgamma", "x", "of at most 7 axes", x.describe());
  const constant = (p * (p - 1) * Math.log(Math.PI)) / 4;
  if (p > FEW_DIMENSIONS) {
    const steps = mul(arange(p, { dtype: isFloat(x.dtype) ? x.dtype : "float32", device: x.device }), 0.5);
    return add(sum(lgamma(sub(unsqueeze(x, -1), steps)), -1), constant);
  }
  let total = lgamma(x);
  for (let i = 1; i < p; i++) total = add(total, lgamma(sub(x, i / 2)));
  return add(total, constant);
}

const zetaOp = formula("zeta", {
  emit: (f, [s, q]) => {
    const isPole = f.and(f.le(q!, 0), f.eq(q!, f.floor(q!)));
    const isKnown = f.or(f.gt(q!, 0), f.eq(s!, f.floor(s!)));
    // Below 0 and for a whole s: the sum over all of r + k, a function of period 1, less the terms before q.
    const isLeft = f.le(q!, 0);
    const isOdd = f.not(f.eq(f.mul(f.floor(f.mul(s!, 0.5)), 2), s!));
    const signed = (isReflected: Expr, x: Expr): Expr => f.where(isReflected, f.neg(x), x);
    const rest = fraction(f, q!);
    const near = f.abs(rest);
    const own = emitZeta(f, s!, f.where(isLeft, near, q!));
    const other = signed(isOdd, emitZeta(f, s!, f.sub(1, near)));
    const all = signed(f.and(isOdd, f.lt(rest, 0)), f.add(own, other));
    const left = f.sub(all, signed(isOdd, emitZeta(f, s!, f.sub(1, q!))));
    const value = f.where(isLeft, left, own);
    return f.cases([f.eq(s!, 1), Infinity], [f.lt(s!, 1), NaN], [isPole, Infinity], [isKnown, value], NaN);
  },
  // By s it has no simple form: refused, as in PyTorch.
  grad: [null, (dy, [s, q]): Tensor => mul(dy, mul(mul(s!, -1), zeta(add(s!, 1), q!)))],
});
/** Hurwitz's ζ(s, q) for s > 1: the sum of (k + q)^-s. For a negative q that is no integer: NaN, unless s is an integer. Reference: torch.special.zeta. */
export const zeta = (s: Arithmetic, q: Arithmetic): Tensor => call(zetaOp, operands("zeta", s, q), undefined);

export const methods = {
  lgamma,
  digamma,
  mvlgamma /** The derivative of order n of digamma. Reference: torch.polygamma. */,
  polygamma: (x: Tensor, n: number): Tensor => polygamma(n, x),
};
export const inPlaceMethods = { lgamma_: lgamma, digamma_: digamma, mvlgamma_: mvlgamma, polygamma_: methods.polygamma };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("composed", "gamma functions", [real([3, 4], 1.5, 4)], (x) => [lgamma(x!), digamma(x!), polygamma(1, x!)]),
  sample("composed", "the zeta function", [real([3, 4], 2, 4), real([4], 1, 3)], (s, q) => zeta(s!.detach(), q!)),
];
