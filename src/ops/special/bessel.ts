/** Bessel functions. */
import type { Expr } from "../../graph/graph.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { eq } from "../elementwise/compare.ts";
import { unaryFormula, type Formula } from "../elementwise/formula.ts";
import { neg, sign } from "../elementwise/unary.ts";
import { where } from "../elementwise/where.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

/**
 * Chebyshev series of what is smooth in each function (C. Clenshaw, Chebyshev Series for Mathematical Functions, NPL Tables 5, 1962;
 * the intervals are those of S. Moshier's Cephes for I, J, K, Y), computed to 4e-9. Highest first.
 */
const SERIES = {
  // exp(-x) I0(x) and exp(-x) I1(x) / x in x / 4 - 1, up to x = 8; then times sqrt(x), in 16 / x - 1.
  i0Near: [
    -1.30002501e-8, 6.0469950225e-8, -2.6707938539e-7, 1.1173875391e-6, -4.4167383585e-6, 1.6448448071e-5, -5.7541950101e-5,
    0.0001885028851, -0.00057637557454, 0.0016394756169, -0.0043243099951, 0.010546460395, -0.023737414806, 0.04930528424, -0.094901097048,
    0.17162090152, -0.30468267234, 0.67679527441,
  ],
  i0Far: [3.3962320257e-9, 2.2666689905e-8, 2.0489185895e-7, 2.8913705208e-6, 6.8897583469e-5, 0.0033691164783, 0.80449041101],
  i1Near: [
    -1.8872497517e-9, 9.3815373865e-9, -4.4450591288e-8, 2.0032947536e-7, -8.5687202647e-7, 3.4702513081e-6, -1.3273163656e-5,
    4.7815651076e-5, -0.00016176081583, 0.00051228595617, -0.0015135724506, 0.0041564229443, -0.010564084895, 0.024726449031,
    -0.052945981208, 0.10264365869, -0.17641651836, 0.25258718644,
  ],
  i1Far: [-3.835380386e-9, -2.6314688469e-8, -2.5122362379e-7, -3.8825648089e-6, -0.00011058893876, -0.0097610974914, 0.77857623502],
  // K0(x) + ln(x / 2) I0(x) and x (K1(x) - ln(x / 2) I1(x)) in x² / 2 - 1, up to x = 2; then exp(x) sqrt(x) K(x) in 4 / x - 1.
  k0Near: [2.534791079e-7, 2.2862121031e-5, 0.0012646154114, 0.035979936515, 0.34428989992, -0.53532739323],
  k1Near: [-2.2133876307e-8, -2.4334061416e-6, -0.00017302889575, -0.0069757238596, -0.12261118082, -0.35315596078, 1.5253002273],
  k0Far: [
    -4.6604898977e-8, 2.7668136394e-7, -1.8317555227e-6, 1.3949813719e-5, -0.00012849549582, 0.0015698838857, -0.031448101312, 2.4403030821,
  ],
  k1Far: [
    5.7410841255e-8, -3.5019606031e-7, 2.4064849478e-6, -1.9361979742e-5, 0.00019521551847, -0.0028578168596, 0.10392373658, 2.7206261905,
  ],
  // J0, J1 / x, Y0 - 2/π ln(x) J0, x (Y1 - 2/π ln(x) J1) in x² / 32 - 1, up to x = 8.
  j0: [
    -2.6792535306e-9, 7.6081635924e-8, -1.7619469078e-6, 3.2460328821e-5, -0.00046062616621, 0.0048191800695, -0.034893769411,
    0.15806710233, -0.37009499387, 0.2651786132, -0.0087234423529, 0.31545594295,
  ],
  j1: [
    3.6871337591e-9, -9.5219847568e-8, 1.985877405e-6, -3.2555548669e-5, 0.00040503377284, -0.0036469406008, 0.022213639655,
    -0.082680491767, 0.16099926236, -0.14897514507, 0.16208969265,
  ],
  y0: [
    5.2487947873e-9, -1.4407233274e-7, 3.2065325377e-6, -5.6320791411e-5, 0.00075311359326, -0.0072879624796, 0.047196689596,
    -0.17730201278, 0.26156734626, 0.17903431408, -0.27447430553, -0.066292226407,
  ],
  y1: [
    -1.0637036193e-7, 2.609462068e-6, -5.1056551642e-5, 0.00077057194787, -0.008557977083, 0.064992753322, -0.29423654402, 0.52936995602,
    0.7146204142, -1.9753486588, -1.9681658398, -1.6255962352,
  ],
  // Hankel's P and x Q (DLMF 10.17) in 128 / x² - 1.
  p0: [-5.1705945376e-8, 3.0751847875e-6, -0.00053652204681, 1.9989206987],
  q0: [-5.8175327495e-9, 1.4377965798e-7, -5.9315987288e-6, 0.00054708159541, -0.24889367369],
  p1: [6.1776339606e-8, -3.9872843005e-6, 0.00089898983309, 2.0018060817],
  q1: [6.5833546621e-9, -1.6767825107e-7, 7.3108922064e-6, -0.00077021788393, 0.74844459311],
} as const;

type Order = 0 | 1;

/** exp(-|x|) I(x). */
function emitScaledI(f: Formula, x: Expr, order: Order): Expr {
  const y = f.abs(x);
  const near = f.chebyshev(f.affine(f.min(y, 8), 0.25, -1), order === 0 ? SERIES.i0Near : SERIES.i1Near);
  const beyond = f.max(y, 8);
  const far = f.div(f.chebyshev(f.sub(f.div(16, beyond), 1), order === 0 ? SERIES.i0Far : SERIES.i1Far), f.sqrt(beyond));
  const size = f.where(f.le(y, 8), order === 0 ? near : f.mul(near, y), far);
  const signed = order === 0 ? size : f.where(f.lt(x, 0), f.neg(size), size);
  return f.where(f.isNan(x), x, signed);
}
/** I(x): exp in two halves, so that it overflows only where the result does. Infinities give NaN, as in PyTorch. */
function emitI(f: Formula, x: Expr, order: Order): Expr {
  const half = f.exp(f.mul(f.abs(x), 0.5));
  return f.mul(f.mul(half, emitScaledI(f, x, order)), half);
}
/** exp(x) K(x), or K(x). */
function emitK(f: Formula, x: Expr, order: Order, isScaled: boolean): Expr {
  const low = f.min(x, 2);
  const t = f.affine(f.square(low), 0.5, -1);
  const logarithm = f.log(f.mul(low, 0.5));
  const inner =
    order === 0
      ? f.sub(f.chebyshev(t, SERIES.k0Near), f.mul(logarithm, emitI(f, low, 0)))
      : f.add(f.mul(logarithm, emitI(f, low, 1)), f.div(f.chebyshev(t, SERIES.k1Near), low));
  const near = isScaled ? f.mul(inner, f.exp(low)) : inner;
  const high = f.max(x, 2);
  const outer = f.div(f.chebyshev(f.sub(f.div(4, high), 1), order === 0 ? SERIES.k0Far : SERIES.k1Far), f.sqrt(high));
  const far = isScaled ? outer : f.mul(f.exp(f.neg(high)), outer);
  return f.cases([f.eq(x, 0), Infinity], [f.lt(x, 0), NaN], [f.le(x, 2), near], far);
}

/** sqrt(2 / (π x)) (P cos - Q sin) for J, (P sin + Q cos) for Y, of x - (2 order + 1) π / 4, for x of at least 8. */
function emitHankel(f: Formula, x: Expr, order: Order, kind: "J" | "Y"): Expr {
  const t = f.affine(f.div(1, f.square(x)), 128, -1);
  const p = f.chebyshev(t, order === 0 ? SERIES.p0 : SERIES.p1);
  const q = f.div(f.chebyshev(t, order === 0 ? SERIES.q0 : SERIES.q1), x);
  const [s, c] = [f.sin(x), f.cos(x)];
  // The shift by π / 4 is done on sine and cosine: x itself has no digits to spare.
  const [cosine, sine] = order === 0 ? [f.add(c, s), f.sub(s, c)] : [f.sub(s, c), f.neg(f.add(s, c))];
  const sum = kind === "J" ? f.sub(f.mul(p, cosine), f.mul(q, sine)) : f.add(f.mul(p, sine), f.mul(q, cosine));
  return f.div(f.mul(sum, 1 / Math.sqrt(Math.PI)), f.sqrt(x));
}
function emitJ(f: Formula, x: Expr, order: Order): Expr {
  const y = f.abs(x);
  const low = f.min(y, 8);
  const smooth = f.chebyshev(f.affine(f.square(low), 1 / 32, -1), order === 0 ? SERIES.j0 : SERIES.j1);
  const near = order === 0 ? smooth : f.mul(smooth, low);
  const size = f.cases([f.isInfinite(x), 0], [f.lt(y, 8), near], emitHankel(f, f.max(y, 8), order, "J"));
  return f.where(f.isNan(x), x, order === 0 ? size : f.where(f.lt(x, 0), f.neg(size), size));
}
function emitY(f: Formula, x: Expr, order: Order): Expr {
  const low = f.min(x, 8);
  const smooth = f.chebyshev(f.affine(f.square(low), 1 / 32, -1), order === 0 ? SERIES.y0 : SERIES.y1);
  const near = f.add(order === 0 ? smooth : f.div(smooth, low), f.mul(f.mul(f.log(low), 2 / Math.PI), emitJ(f, low, order)));
  const far = emitHankel(f, f.max(x, 8), order, "Y");
  return f.cases([f.eq(x, 0), -Infinity], [f.lt(x, 0), NaN], [f.eq(x, Infinity), order === 0 ? 0 : NaN], [f.lt(x, 8), near], far);
}

/** v / x, `limit` where x is 0. */
const ratio = (v: Tensor, x: Tensor, limit: number): Tensor => {
  const origin = eq(x, 0);
  return where(origin, limit, div(v, where(origin, 1, x)));
};

/** I0(x), the modified Bessel function. Integers give float32 (as in all functions of this file). Reference: torch.i0. DirectML: EXP, SQRT. */
export const i0 = unaryFormula(
  "i0",
  (f, x) => emitI(f, x, 0),
  (dy, x) => mul(dy, i1(x)),
) as (x: Tensor) => Tensor;
/** exp(-|x|) I0(x). Reference: torch.special.i0e. */
export const i0e = unaryFormula(
  "i0e",
  (f, x) => emitScaledI(f, x, 0),
  (dy, x, y) => mul(dy, sub(i1e(x), mul(sign(x), y))),
  "both",
) as (x: Tensor) => Tensor;
/** I1(x). Reference: torch.special.i1. */
export const i1 = unaryFormula(
  "i1",
  (f, x) => emitI(f, x, 1),
  (dy, x, y) => mul(dy, sub(i0(x), ratio(y, x, 0.5))),
  "both",
) as (x: Tensor) => Tensor;
/** exp(-|x|) I1(x). Reference: torch.special.i1e. */
export const i1e = unaryFormula(
  "i1e",
  (f, x) => emitScaledI(f, x, 1),
  (dy, x, y) => mul(dy, sub(i0e(x), add(mul(y, sign(x)), ratio(y, x, 0.5)))),
  "both",
) as (x: Tensor) => Tensor;

/** K0(x). Reference: torch.special.modified_bessel_k0. */
export const modifiedBesselK0 = unaryFormula(
  "modifiedBesselK0",
  (f, x) => emitK(f, x, 0, false),
  (dy, x) => mul(dy, neg(modifiedBesselK1(x))),
) as (x: Tensor) => Tensor;
/** K1(x). Reference: torch.special.modified_bessel_k1. */
export const modifiedBesselK1 = unaryFormula(
  "modifiedBesselK1",
  (f, x) => emitK(f, x, 1, false),
  (dy, x, y) => mul(dy, neg(add(modifiedBesselK0(x), div(y, x)))),
  "both",
) as (x: Tensor) => Tensor;
/** exp(x) K0(x). No gradient, as in PyTorch (nor has exp(x) K1(x)). Reference: torch.special.scaled_modified_bessel_k0. */
export const scaledModifiedBesselK0 = unaryFormula("scaledModifiedBesselK0", (f, x) => emitK(f, x, 0, true), null);
/** exp(x) K1(x). Reference: torch.special.scaled_modified_bessel_k1. */
export const scaledModifiedBesselK1 = unaryFormula("scaledModifiedBesselK1", (f, x) => emitK(f, x, 1, true), null);
/** I0(x), as i0. Reference: torch.special.modified_bessel_i0. */
export const modifiedBesselI0 = unaryFormula(
  "modifiedBesselI0",
  (f, x) => emitI(f, x, 0),
  (dy, x) => mul(dy, modifiedBesselI1(x)),
) as (x: Tensor) => Tensor;
/** I1(x), as i1. Reference: torch.special.modified_bessel_i1. */
export const modifiedBesselI1 = unaryFormula(
  "modifiedBesselI1",
  (f, x) => emitI(f, x, 1),
  (dy, x, y) => mul(dy, sub(modifiedBesselI0(x), ratio(y, x, 0.5))),
  "both",
) as (x: Tensor) => Tensor;
/** J0(x). Reference: torch.special.bessel_j0. DirectML: SIN, COS, SQRT. */
export const besselJ0 = unaryFormula(
  "besselJ0",
  (f, x) => emitJ(f, x, 0),
  (dy, x) => mul(dy, neg(besselJ1(x))),
) as (x: Tensor) => Tensor;
/** J1(x). Reference: torch.special.bessel_j1. */
export const besselJ1 = unaryFormula(
  "besselJ1",
  (f, x) => emitJ(f, x, 1),
  (dy, x, y) => mul(dy, sub(besselJ0(x), ratio(y, x, 0.5))),
  "both",
) as (x: Tensor) => Tensor;
/** Y0(x). Reference: torch.special.bessel_y0. */
export const besselY0 = unaryFormula(
  "besselY0",
  (f, x) => emitY(f, x, 0),
  (dy, x) => mul(dy, neg(besselY1(x))),
) as (x: Tensor) => Tensor;
/** Y1(x). Reference: torch.special.bessel_y1. */
export const besselY1 = unaryFormula(
  "besselY1",
  (f, x) => emitY(f, x, 1),
  (dy, x, y) => mul(dy, sub(besselY0(x), div(y, x))),
  "both",
) as (x: Tensor) => Tensor;
/** sin(x) / x. No gradient, as in PyTorch. Reference: torch.special.spherical_bessel_j0. */
export const sphericalBesselJ0 = unaryFormula(
  "sphericalBesselJ0",
  (f, x) => {
    const square = f.square(x);
    const near = f.polynomial(square, [-1 / 5040, 1 / 120, -1 / 6, 1]);
    return f.cases([f.isInfinite(x), 0], [f.lt(f.abs(x), 0.5), near], f.div(f.sin(x), x));
  },
  null,
);

export const methods = { i0 };
export const inPlaceMethods = { i0_: i0 };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("composed", "modified Bessel functions", [real([3, 4], 0.5, 2)], (x) => [
    ...[i0, i0e, i1, i1e].map((f) => f(x!)),
    ...[modifiedBesselI0, modifiedBesselI1, modifiedBesselK0, modifiedBesselK1].map((f) => f(x!.detach())),
    ...[scaledModifiedBesselK0, scaledModifiedBesselK1].map((f) => f(x!.detach())),
  ]),
  sample("periodic", "Bessel functions", [real([3, 4], 0.5, 2)], (x) =>
    [besselJ0, besselJ1, besselY0, besselY1, sphericalBesselJ0].map((f) => f(x!.detach())),
  ),
];
