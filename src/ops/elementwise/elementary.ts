/** Elementary functions: angles, odds, sinc, signs. */
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { isFloat } from "../../core/dtype.ts";
import { DTypeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { call } from "../../dispatch/dispatch.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import type { Tensor } from "../../core/tensor.ts";
import { div, mul, sub } from "./binary.ts";
import { eq, ge, le, logicalAnd } from "./compare.ts";
import { zerosLike } from "../creation/creation.ts";
import { type Formula, formula, unaryFormula } from "./formula.ts";
import { cos, sign, sin } from "./unary.ts";
import { where } from "./where.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

const zero = (like: Tensor): Tensor => scalarTensor(like.device, like.dtype, 0);

/** Degrees of radians. Integers give float32. Reference: torch.rad2deg. DirectML: ELEMENT_WISE_IDENTITY. */
export const rad2deg = unaryFormula(
  "rad2deg",
  (f, x) => f.mul(x, 180 / Math.PI),
  (dy) => rad2deg(dy),
  "none",
) as (x: Tensor) => Tensor;
/** Radians of degrees. Integers give float32. Reference: torch.deg2rad. DirectML: ELEMENT_WISE_IDENTITY. */
export const deg2rad = unaryFormula(
  "deg2rad",
  (f, x) => f.mul(x, Math.PI / 180),
  (dy) => deg2rad(dy),
  "none",
) as (x: Tensor) => Tensor;

/** sin(π x) / (π x), 1 at 0. Reference: torch.sinc. DirectML: ELEMENT_WISE_SIN. */
export const sinc = unaryFormula(
  "sinc",
  (f, x) => {
    const product = f.mul(x, Math.PI);
    const origin = f.eq(x, 0);
    return f.where(origin, 1, f.div(f.sin(product), f.where(origin, 1, product)));
  },
  (dy, x) => {
    const origin = eq(x, 0);
    const product = mul(where(origin, 1, x), Math.PI);
    const slope = div(sub(mul(cos(product), product), sin(product)), mul(product, where(origin, 1, x)));
    // The slope at 0 is 0. A second derivative needs it near 0, where it is -π² x / 3.
    return mul(dy, where(origin, isGradEnabled() ? mul(x, -(Math.PI ** 2) / 3) : zero(dy), slope));
  },
);

/** x in [epsilon, 1 - epsilon]; where that is empty (epsilon beyond 1 / 2) the lower bound comes first, as in PyTorch. */
const limited = (f: Formula, x: Expr, epsilon: number): Expr =>
  epsilon <= 0.5 ? f.min(f.max(x, epsilon), 1 - epsilon) : f.where(f.lt(x, epsilon), epsilon, f.min(x, 1 - epsilon));

const logitOp = formula<{ readonly epsilon: number | null }>("logit", {
  emit: (f, [x], { epsilon }) => {
    const z = epsilon === null ? x! : f.where(f.isNan(x!), x!, limited(f, x!, epsilon));
    return f.log(f.div(z, f.sub(1, z)));
  },
  grad: [
    (dy, [x], _, { epsilon }): Tensor => {
      const slope = div(dy, mul(x!, sub(1, x!)));
      const inside = logicalAnd(ge(x!, epsilon ?? 0), le(x!, 1 - (epsilon ?? 0)));
      return where(inside, slope, epsilon === null ? NaN : 0);
    },
  ],
});
/** ln(x / (1 - x)); with epsilon x is first limited to [epsilon, 1 - epsilon]. Reference: torch.logit. DirectML: ELEMENT_WISE_LOG. */
export function logit(
  x: Tensor,
  eps:
    | number
    | null
    | {
        /** x is clamped to [epsilon, 1 - epsilon] first. Default: null, not at all. */
        readonly eps?: number | null | undefined;
        /** @deprecated Use eps. */
        readonly epsilon?: number | null | undefined;
      } = null,
): Tensor {
  const epsilon = typeof eps === "object" && eps !== null ? (eps.eps ?? null) : eps;
  if (epsilon !== null && !(typeof epsilon === "number" && !Number.isNaN(epsilon)))
    throw new ValueError("logit", "eps", "a number or null", epsilon);
  return call(logitOp, [x], { epsilon });
}

/** sign(x), by PyTorch's other name for it. Reference: torch.sgn. */
export const sgn = (x: Tensor): Tensor => sign(x);
/** x itself, the same tensor: what is written to one is seen in the other. Reference: torch.positive. */
export function positive(x: Tensor): Tensor {
  if (x.dtype === "bool") throw new DTypeError("positive", "x", "of a numeric dtype", x.describe());
  return x;
}
/** The angle of real numbers: 0, π for negative ones, NaN for NaN. Integers give float32. Reference: torch.angle. */
export const angle = unaryFormula(
  "angle",
  (f, x) => f.cases([f.isNan(x), x], [f.lt(x, 0), Math.PI], 0),
  (dy) => zerosLike(dy),
  "none",
);
/** Whether an element is a real number: always. Reference: torch.isreal. */
export const isreal = (x: Tensor): Tensor => eq(isFloat(x.dtype) ? zerosLike(x) : mul(x, 0), 0);

export const methods = { rad2deg, deg2rad, sinc, logit, sgn, positive, angle, isreal };
export const inPlaceMethods = { rad2deg_: rad2deg, deg2rad_: deg2rad, sinc_: sinc, logit_: logit, sgn_: sgn };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("composed", "degrees, sinc, logit and angle", [real([3, 5], 0.25, 0.75)], (x) => [
    deg2rad(x!),
    rad2deg(x!),
    sinc(x!),
    logit(x!),
    angle(x!),
  ]),
];
