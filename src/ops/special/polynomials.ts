/** Orthogonal polynomials: the degree is a number, or a tensor that broadcasts with x. */
import { call } from "../../dispatch/dispatch.ts";
import { ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { Tensor } from "../../core/tensor.ts";
import { formula, type Formula } from "../elementwise/formula.ts";
import { operands, type Arithmetic } from "../elementwise/binary.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

interface Family {
  /** The polynomial of degree 1. */
  readonly first: (f: Formula, x: Expr) => Expr;
  /** That of degree k + 1, from those of degrees k - 1 and k. */
  readonly next: (f: Formula, x: Expr, k: number, before: Expr, last: Expr) => Expr;
  /** For |x| < 1 and degrees above it: a closed form, where recurrences lose digits and time. */
  readonly closed?: { readonly from: number; readonly emit: (f: Formula, x: Expr, n: Expr) => Expr };
  /** At 1 and -1, for all degrees. sign: that of (-1)^n at -1. */
  readonly edge?: (f: Formula, isRight: Expr, sign: Expr, n: Expr) => Expr;
  /** What x is replaced by first. */
  readonly moved?: (f: Formula, x: Expr) => Expr;
}

/** Degrees of tensors beyond it are not known when the operation is made: they give NaN where there is no closed form. */
const LARGEST = 64;

/** Step by step; the degree is an expression of integers. */
function emitRecurrence(f: Formula, family: Family, x: Expr, n: Expr): Expr {
  let before = f.of(1);
  let last = family.first(f, x);
  let result = f.where(f.eq(n, 0), before, last);
  for (let k = 1; k < LARGEST; k++) {
    [before, last] = [last, family.next(f, x, k, before, last)];
    result = f.where(f.eq(n, k + 1), last, result);
  }
  return f.where(f.gt(n, LARGEST), NaN, result);
}

function edgeOf(f: Formula, edge: NonNullable<Family["edge"]>, x: Expr, n: Expr): Expr {
  const isOdd = f.eq(f.sub(n, f.mul(f.trunc(f.mul(n, 0.5)), 2)), 1);
  const isRight = f.gt(x, 0);
  return edge(f, isRight, f.where(isRight, 1, f.where(isOdd, -1, 1)), n);
}

function polynomial(name: string, family: Family): (x: Arithmetic, n: Arithmetic) => Tensor {
  const seen = (f: Formula, x: Expr): Expr => family.moved?.(f, x) ?? x;
  const ofNumber = formula<{ readonly n: number }>(name, {
    emit: (f, [input], { n }) => {
      const x = seen(f, input!);
      if (!(n >= 0 && n < 2 ** 63)) return f.mul(f.of(0), 1);
      if (n === 0) return f.where(f.isNan(x), x, 1);
      let before = f.of(1);
      let last = family.first(f, x);
      const isLong = family.closed !== undefined && n > family.closed.from;
      for (let k = 1; k < Math.min(n, isLong ? LARGEST * 4 : n); k++) [before, last] = [last, family.next(f, x, k, before, last)];
      return isLong ? f.where(f.lt(f.abs(x), 1), family.closed!.emit(f, x, f.of(n)), last) : last;
    },
    grad: null,
  });
  const ofTensor = formula(name, {
    emit: (f, [input, degree]) => {
      const [x, n] = [seen(f, input!), f.trunc(degree!)];
      const steps = emitRecurrence(f, family, x, n);
      const { closed } = family;
      const reached = family.edge === undefined ? steps : f.where(f.eq(f.abs(x), 1), edgeOf(f, family.edge, x, n), steps);
      const inner = closed === undefined ? steps : f.where(f.and(f.gt(n, closed.from), f.lt(f.abs(x), 1)), closed.emit(f, x, n), reached);
      // A degree that is no number, or none of 64 bits, counts as negative, as in PyTorch.
      return f.where(f.and(f.ge(n, 0), f.lt(n, 2 ** 63)), inner, 0);
    },
    grad: null,
  });
  return (x, n) => {
    if (typeof n !== "object" && x instanceof Tensor) {
      const degree = Math.trunc(Number(n));
      if (degree > 4096 && degree < 2 ** 63) throw new ValueError(name, "n", "at most 4096", n);
      return call(ofNumber, [x], { n: degree });
    }
    return call(ofTensor, operands(name, x, n), undefined);
  };
}

const twice = (f: Formula, x: Expr, before: Expr, last: Expr): Expr => f.sub(f.mul(f.mul(x, 2), last), before);
const angle = (f: Formula, x: Expr): Expr => f.g.elementWiseAcos(f.min(f.max(x, -1), 1));
const chebyshevOf = (first: Family["first"], emit: NonNullable<Family["closed"]>["emit"], edge: NonNullable<Family["edge"]>): Family => ({
  first,
  edge,
  next: (f, x, _, before, last) => twice(f, x, before, last),
  closed: { from: 8, emit },
});
const T = chebyshevOf(
  (_, x) => x,
  (f, x, n) => f.cos(f.mul(n, angle(f, x))),
  (_, __, sign) => sign,
);
const U = chebyshevOf(
  (f, x) => f.mul(x, 2),
  (f, x, n) => {
    const a = angle(f, x);
    return f.div(f.sin(f.mul(f.add(n, 1), a)), f.sin(a));
  },
  (f, _, sign, n) => f.mul(sign, f.add(n, 1)),
);
const V = chebyshevOf(
  (f, x) => f.affine(x, 2, -1),
  (f, x, n) => {
    const a = angle(f, x);
    return f.div(f.cos(f.mul(f.add(n, 0.5), a)), f.cos(f.mul(a, 0.5)));
  },
  (f, isRight, sign, n) => f.where(isRight, 1, f.mul(sign, f.affine(n, 2, 1))),
);
const W = chebyshevOf(
  (f, x) => f.affine(x, 2, 1),
  (f, x, n) => {
    const a = angle(f, x);
    return f.div(f.sin(f.mul(f.add(n, 0.5), a)), f.sin(f.mul(a, 0.5)));
  },
  (f, isRight, sign, n) => f.where(isRight, f.affine(n, 2, 1), sign),
);
const shifted = (family: Family): Family => ({ ...family, moved: (f, x) => f.affine(x, 2, -1) });

/** T_n(x), Chebyshev's polynomial of the first kind; 0 for negative n. No gradient, as in PyTorch (and below). Reference: torch.special.chebyshev_polynomial_t. */
export const chebyshevPolynomialT = polynomial("chebyshevPolynomialT", T);
/** U_n(x), of the second kind. Reference: torch.special.chebyshev_polynomial_u. */
export const chebyshevPolynomialU = polynomial("chebyshevPolynomialU", U);
/** V_n(x), of the third kind. Reference: torch.special.chebyshev_polynomial_v. */
export const chebyshevPolynomialV = polynomial("chebyshevPolynomialV", V);
/** W_n(x), of the fourth kind. Reference: torch.special.chebyshev_polynomial_w. */
export const chebyshevPolynomialW = polynomial("chebyshevPolynomialW", W);
/** T_n(2x - 1). Reference: torch.special.shifted_chebyshev_polynomial_t. */
export const shiftedChebyshevPolynomialT = polynomial("shiftedChebyshevPolynomialT", shifted(T));
/** U_n(2x - 1). Reference: torch.special.shifted_chebyshev_polynomial_u. */
export const shiftedChebyshevPolynomialU = polynomial("shiftedChebyshevPolynomialU", shifted(U));
/** V_n(2x - 1). Reference: torch.special.shifted_chebyshev_polynomial_v. */
export const shiftedChebyshevPolynomialV = polynomial("shiftedChebyshevPolynomialV", shifted(V));
/** W_n(2x - 1). Reference: torch.special.shifted_chebyshev_polynomial_w. */
export const shiftedChebyshevPolynomialW = polynomial("shiftedChebyshevPolynomialW", shifted(W));
/** H_n(x), Hermite's polynomial of the physicists. Reference: torch.special.hermite_polynomial_h. */
export const hermitePolynomialH = polynomial("hermitePolynomialH", {
  first: (f, x) => f.mul(x, 2),
  next: (f, x, k, before, last) => f.mul(f.sub(f.mul(x, last), f.mul(before, k)), 2),
});
/** He_n(x), Hermite's polynomial of the statisticians. Reference: torch.special.hermite_polynomial_he. */
export const hermitePolynomialHe = polynomial("hermitePolynomialHe", {
  first: (_, x) => x,
  next: (f, x, k, before, last) => f.sub(f.mul(x, last), f.mul(before, k)),
});
/** L_n(x), Laguerre's polynomial. Reference: torch.special.laguerre_polynomial_l. */
export const laguerrePolynomialL = polynomial("laguerrePolynomialL", {
  first: (f, x) => f.sub(1, x),
  next: (f, x, k, before, last) => f.sub(f.mul(f.mul(last, f.sub(2 * k + 1, x)), 1 / (k + 1)), f.mul(before, k / (k + 1))),
});
/** P_n(x), Legendre's polynomial. Reference: torch.special.legendre_polynomial_p. */
export const legendrePolynomialP = polynomial("legendrePolynomialP", {
  first: (_, x) => x,
  next: (f, x, k, before, last) => f.sub(f.mul(f.mul(x, last), (2 * k + 1) / (k + 1)), f.mul(before, k / (k + 1))),
});

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("composed", "orthogonal polynomials", [real([3, 4], -0.75, 0.75)], (x) =>
    [
      chebyshevPolynomialT,
      chebyshevPolynomialU,
      chebyshevPolynomialV,
      chebyshevPolynomialW,
      shiftedChebyshevPolynomialT,
      shiftedChebyshevPolynomialU,
      shiftedChebyshevPolynomialV,
      shiftedChebyshevPolynomialW,
      hermitePolynomialH,
      hermitePolynomialHe,
      laguerrePolynomialL,
      legendrePolynomialP,
    ].map((f) => f(x!.detach(), 3)),
  ),
];
