/** Regularized incomplete gamma functions. */
import { call } from "../../dispatch/dispatch.ts";
import type { Expr } from "../../graph/graph.ts";
import type { Tensor } from "../../core/tensor.ts";
import { mul, operands, sub, type Arithmetic } from "../elementwise/binary.ts";
import { formula, type Formula } from "../elementwise/formula.ts";
import { exp, log, neg } from "../elementwise/unary.ts";
import { emitErfc } from "./error-functions.ts";
import { emitLogGamma, lgamma } from "./gamma.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

/** Steps that bring series and fraction to float32's last bit wherever they are used. */
const STEPS = 64;
/** From here on, near the diagonal, Temme's expansion. */
const LARGE = 20;
/**
 * Taylor coefficients of the first functions of N. Temme's uniform expansion (SIAM J. Math. Anal. 10, 1979; A. DiDonato and
 * A. Morris, ACM TOMS 12, 1986, equation 20 and following) in η, highest power first.
 */
const TEMME = [
  [
    -4.38203602e-9, 1.02618098e-8, 6.70785354e-9, -1.76659527e-7, 8.29671134e-7, -1.85406221e-6, -2.18544851e-6, 3.91926318e-5,
    -0.000178755144, 0.000352733686, 0.00115740741, -0.0148148148, 0.0833333333, -0.333333333,
  ],
  [
    1.37863345e-7, 4.6471278e-9, -1.61209009e-6, 7.64916092e-6, -1.80985503e-5, -4.01877572e-7, 0.000205761317, -0.000990226337,
    0.00264550265, -0.00347222222, -0.00185185185,
  ],
  [3.42357873e-8, -1.27606352e-5, 5.29234488e-5, -0.000107366532, 2.00938786e-6, 0.000771604938, -0.00268132716, 0.00413359788],
] as const;

/** x^a e^-x / Γ(a + 1), a factor of both forms. */
function prefix(f: Formula, a: Expr, x: Expr): Expr {
  const direct = f.exp(f.sub(f.sub(f.mul(a, f.log(x)), x), emitLogGamma(f, f.add(a, 1))));
  // For large a the three parts cancel: a (ln(x / a) - (x - a) / a), and Stirling's correction.
  const ratio = f.div(f.sub(x, a), a);
  const correction = f.div(1 / 12, a);
  const scaled = f.sub(f.mul(a, logRest(f, ratio)), correction);
  const large = f.div(f.exp(scaled), f.sqrt(f.mul(a, 2 * Math.PI)));
  return f.where(f.gt(a, LARGE), large, direct);
}
/** ln(1 + m) - m, by its series near 0. */
function logRest(f: Formula, m: Expr): Expr {
  const t = f.div(m, f.add(m, 2));
  const square = f.square(t);
  const odd = f.mul(f.mul(t, f.mul(square, 2)), f.polynomial(square, [1 / 11, 1 / 9, 1 / 7, 1 / 5, 1 / 3]));
  // 2t - m = -m t.
  const near = f.sub(odd, f.mul(m, t));
  return f.where(f.lt(f.abs(m), 0.5), near, f.sub(f.log(f.add(m, 1)), m));
}

/** P(a, x) or, upper, Q(a, x) = 1 - P. */
function emit(f: Formula, a: Expr, x: Expr, upper: boolean): Expr {
  const factor = prefix(f, a, x);
  // DLMF 8.7.1: the sum of x^n / ((a + 1) ... (a + n)).
  let term = f.of(1);
  let series = f.of(1);
  for (let n = 1; n <= STEPS; n++) {
    term = f.mul(term, f.div(x, f.add(a, n)));
    series = f.add(series, term);
  }
  const lower = f.mul(factor, series);
  // DLMF 8.9.2 in its even part, from the inside out.
  let fraction = f.add(f.sub(x, a), 2 * STEPS + 1);
  for (let n = STEPS; n >= 1; n--) fraction = f.sub(f.add(f.sub(x, a), 2 * n - 1), f.div(f.mul(f.sub(n, a), n), fraction));
  const above = f.div(f.mul(factor, a), fraction);
  const mu = f.div(f.sub(x, a), a);
  const half = f.max(f.neg(logRest(f, mu)), 0);
  const eta = f.mul(f.sign(mu), f.sqrt(f.mul(half, 2)));
  const rest = f.mul(a, half);
  let sum = f.of(0);
  for (const coefficients of TEMME.toReversed()) sum = f.add(f.div(sum, a), f.polynomial(eta, coefficients));
  const remainder = f.mul(f.div(f.exp(f.neg(rest)), f.sqrt(f.mul(a, 2 * Math.PI))), sum);
  const normal = f.mul(emitErfc(f, f.mul(f.mul(f.sign(mu), f.sqrt(rest)), upper ? 1 : -1)), 0.5);
  const uniform = upper ? f.add(normal, remainder) : f.sub(normal, remainder);
  const isDiagonal = f.and(f.gt(a, LARGE), f.lt(f.abs(mu), 0.3));
  const isLower = f.lt(x, f.add(a, 1));
  const general = upper ? f.where(isLower, f.sub(1, lower), above) : f.where(isLower, lower, f.sub(1, above));
  const [none, all] = upper ? [1, 0] : [0, 1];
  return f.cases(
    [f.or(f.or(f.isNan(a), f.isNan(x)), f.or(f.lt(a, 0), f.lt(x, 0))), NaN],
    [f.eq(a, 0), f.where(f.gt(x, 0), all, NaN)],
    [f.eq(x, 0), none],
    [f.isInfinite(a), f.where(f.isInfinite(x), NaN, none)],
    [f.isInfinite(x), all],
    [isDiagonal, uniform],
    general,
  );
}

/** dP/dx = x^(a-1) e^-x / Γ(a). */
const slope = (dy: Tensor, a: Tensor, x: Tensor): Tensor => mul(dy, exp(sub(sub(mul(sub(a, 1), log(x)), x), lgamma(a))));

const igammaOp = formula("igamma", {
  emit: (f, [a, x]) => emit(f, a!, x!, false),
  grad: [null, (dy, [a, x]): Tensor => slope(dy, a!, x!)],
});
const igammacOp = formula("igammac", {
  emit: (f, [a, x]) => emit(f, a!, x!, true),
  grad: [null, (dy, [a, x]): Tensor => neg(slope(dy, a!, x!))],
});

/** P(a, x), the share of Γ(a) below x; a and x at least 0. The derivative by a is not implemented, as in PyTorch: to request it is an error. Reference: torch.igamma. */
export const igamma = (a: Arithmetic, x: Arithmetic): Tensor => call(igammaOp, operands("igamma", a, x), undefined);
/** Q(a, x) = 1 - P(a, x). Reference: torch.igammac. */
export const igammac = (a: Arithmetic, x: Arithmetic): Tensor => call(igammacOp, operands("igammac", a, x), undefined);

export const methods = { igamma, igammac };
export const inPlaceMethods = { igamma_: igamma, igammac_: igammac };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("composed", "incomplete gamma functions", [real([3, 4], 1, 3), real([4], 0.5, 2)], (a, x) => [
    igamma(a!.detach(), x!),
    igammac(a!.detach(), x!),
  ]),
];
