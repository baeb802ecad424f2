/** Error functions and the normal distribution. */
import type { Expr } from "../../graph/graph.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import type { Tensor } from "../../core/tensor.ts";
import { div, mul, sub } from "../elementwise/binary.ts";
import { unaryFormula, type Formula } from "../elementwise/formula.ts";
import { emitLog1p, exp, log, neg, square } from "../elementwise/unary.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

/** (1 + 2x) exp(x²) erfc(x) in (x - 3.75) / (x + 3.75), after Shepherd and Laframboise, Math. Comp. 36 (1981). */
const ERFCX = [
  1.076499803e-8, -2.1886401225e-7, 7.7403830455e-7, 4.1390279837e-6, -6.9169733028e-5, 0.00049077583652, -0.0024131635404, 0.0090749976707,
  -0.026658668435, 0.059209939998, -0.084249133367, -0.0045900545807, 2.3551578691,
];

/** exp(x²) erfc(x) for x at least 0. */
function emitScaledRight(f: Formula, x: Expr): Expr {
  const isFar = f.gt(x, 1e8);
  const t = f.where(isFar, 1, f.div(f.sub(x, 3.75), f.add(x, 3.75)));
  return f.div(f.chebyshev(t, ERFCX), f.affine(x, 2, 1));
}
/** exp(±x²), the square's rounding made good: x = a + b with a² exact. */
function emitExpSquare(f: Formula, x: Expr, sign: 1 | -1): Expr {
  const limited = f.min(f.max(x, -16), 16);
  const a = f.mul(f.round(f.mul(limited, 16)), 1 / 16);
  const rest = f.mul(f.sub(limited, a), f.add(limited, a));
  return f.mul(f.exp(f.mul(f.square(a), sign)), f.exp(f.mul(rest, sign)));
}
/** erfc(x). @package */
export function emitErfc(f: Formula, x: Expr): Expr {
  const y = f.abs(x);
  const tail = f.mul(emitScaledRight(f, y), emitExpSquare(f, y, -1));
  const far = f.where(f.lt(x, 0), f.sub(2, tail), tail);
  return f.cases([f.isNan(x), x], [f.lt(y, 0.5), f.sub(1, f.g.elementWiseErf(x))], far);
}
/** exp(x²) erfc(x). */
function emitErfcx(f: Formula, x: Expr): Expr {
  const right = emitScaledRight(f, f.abs(x));
  const left = f.sub(f.mul(emitExpSquare(f, x, 1), 2), right);
  return f.cases([f.isNan(x), x], [f.lt(x, -9.5), Infinity], [f.lt(x, 0), left], right);
}

const SQRT_PI = Math.sqrt(Math.PI);

/** 1 - erf(x), exact for large x too. Reference: torch.erfc. DirectML: ERF, EXP. */
export const erfc = unaryFormula("erfc", emitErfc, (dy, x) => mul(dy, mul(exp(neg(square(x))), -2 / SQRT_PI)));
/** exp(x²) erfc(x). Reference: torch.special.erfcx. DirectML: EXP. */
export const erfcx = unaryFormula("erfcx", emitErfcx, (dy, x, y) => mul(dy, sub(mul(mul(x, 2), y), 2 / SQRT_PI)), "both") as (
  x: Tensor,
) => Tensor;

/** M. Giles, Approximating the erfinv function, GPU Computing Gems (2012), table 5; highest power first. */
const GILES = {
  near: [
    2.81022636e-8, 3.43273939e-7, -3.5233877e-6, -4.39150654e-6, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
  ],
  far: [
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
  ],
};
/** The inverse of erf. Reference: torch.erfinv. DirectML: LOG, SQRT. @autocast float32 */
export const erfinv = unaryFormula(
  "erfinv",
  (f, x) => {
    const w = f.neg(f.log(f.mul(f.sub(1, x), f.add(x, 1))));
    const near = f.polynomial(f.sub(w, 2.5), GILES.near);
    const far = f.polynomial(f.sub(f.sqrt(w), 3), GILES.far);
    const y = f.mul(x, f.where(f.lt(w, 5), near, far));
    return f.cases([f.eq(x, 1), Infinity], [f.eq(x, -1), -Infinity], [f.gt(f.abs(x), 1), NaN], y);
  },
  (dy, _, y) => mul(dy, mul(exp(square(y)), SQRT_PI / 2)),
  "output",
);

/** The probability of at most x under the normal distribution. Reference: torch.special.ndtr. DirectML: ERF, EXP. */
export const ndtr = unaryFormula(
  "ndtr",
  (f, x) => f.mul(emitErfc(f, f.mul(x, -Math.SQRT1_2)), 0.5),
  (dy, x) => mul(dy, mul(exp(mul(square(x), -0.5)), 1 / Math.sqrt(2 * Math.PI))),
);

/** ln ndtr(x), exact for large negative x too. Reference: torch.special.log_ndtr. DirectML: ERF, EXP, LOG. */
export const logNdtr = unaryFormula(
  "logNdtr",
  (f, x) => {
    const z = f.mul(x, Math.SQRT1_2);
    const left = f.sub(f.log(f.mul(emitScaledRight(f, f.max(f.neg(z), 0)), 0.5)), f.square(z));
    const right = emitLog1p(f.g, f.mul(emitErfc(f, z), -0.5));
    return f.cases([f.eq(x, -Infinity), x], [f.lt(x, -1), left], right);
  },
  (dy, x) => mul(dy, div(Math.sqrt(2 / Math.PI), erfcx(mul(x, -Math.SQRT1_2)))),
);

/** M. Wichura, algorithm AS 241 (PPND7), Applied Statistics 37 (1988); highest power first. */
const WICHURA = {
  middle: [
    [59.10937472, 159.29113202, 50.434271938, 3.3871327179],
    [67.1875636, 78.757757664, 17.895169469, 1],
  ],
  tail: [
    [0.17023821103, 1.3067284816, 2.75681539, 1.4234372777],
    [0.12021132975, 0.7370016425, 1],
  ],
  far: [
    [0.017337203997, 0.42868294337, 3.081226386, 6.657905115],
    [0.012258202635, 0.24197894225, 1],
  ],
} as const;
/** The inverse of ndtr. Reference: torch.special.ndtri. DirectML: LOG, SQRT. */
export const ndtri = unaryFormula(
  "ndtri",
  (f, p) => {
    const ratio = (x: Expr, [above, below]: readonly (readonly number[])[]): Expr =>
      f.div(f.polynomial(x, above!), f.polynomial(x, below!));
    const q = f.sub(p, 0.5);
    const middle = f.mul(q, ratio(f.sub(0.180625, f.square(q)), WICHURA.middle));
    const r = f.sqrt(f.neg(f.log(f.where(f.lt(q, 0), p, f.sub(1, p)))));
    const size = f.where(f.le(r, 5), ratio(f.sub(r, 1.6), WICHURA.tail), ratio(f.sub(r, 5), WICHURA.far));
    const tail = f.mul(f.sign(q), size);
    return f.cases(
      [f.eq(p, 0), -Infinity],
      [f.eq(p, 1), Infinity],
      [f.or(f.lt(p, 0), f.gt(p, 1)), NaN],
      [f.le(f.abs(q), 0.425), middle],
      tail,
    );
  },
  (dy, _, y) => mul(dy, mul(exp(mul(square(y), 0.5)), Math.sqrt(2 * Math.PI))),
  "output",
);

/** -x ln(x), 0 at 0, -Infinity for negative x. Reference: torch.special.entr. DirectML: LOG. */
export const entr = unaryFormula(
  "entr",
  (f, x) => f.cases([f.isNan(x), x], [f.gt(x, 0), f.neg(f.mul(x, f.log(x)))], [f.eq(x, 0), 0], -Infinity),
  (dy, x) => mul(dy, sub(neg(log(x)), scalarTensor(x.device, dy.dtype, 1))),
);

export const methods = { erfc, erfinv };
export const inPlaceMethods = { erfc_: erfc, erfinv_: erfinv };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("composed", "error functions", [real([3, 4], -1, 1)], (x) => [erfc(x!), erfcx(x!), ndtr(x!), logNdtr(x!)]),
  sample("composed", "their inverses, and entropy", [real([3, 4], 0.25, 0.75)], (x) => [erfinv(x!), ndtri(x!), entr(x!)]),
];
