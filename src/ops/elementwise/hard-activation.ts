/** Hard and shrinking activation functions: piecewise linear. @functional */
import { chosenBy, tie } from "../../autograd/tie.ts";
import { call } from "../../dispatch/dispatch.ts";
import { isFloat, isHalf, isInteger } from "../../core/dtype.ts";
import { DTypeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { requireRepresentable } from "../../core/elements.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul, sub } from "./binary.ts";
import { bySlopes } from "./slope.ts";
import { ge, gt, le, logicalAnd, logicalOr, lt } from "./compare.ts";
import { toDType } from "../data/conversion.ts";
import { Formula } from "./formula.ts";
import { cast, constant, requireFloat } from "../declare/support.ts";
import { tanh } from "./unary.ts";
import { clamp, where } from "./where.ts";
import { real, sample, type Sample } from "../declare/sample.ts";
import { byPosition } from "../declare/positional.ts";
import { activation, floatOnly, zero, withNaN } from "./activation.ts";

interface Limits {
  readonly min: number;
  readonly max: number;
}
const hardtanhOp = activation<Limits>("hardtanh", {
  emit: (g, x, { min, max }) => {
    // CLIP takes no limits that crossed, nor infinite ones.
    if (Number.isFinite(min) && Number.isFinite(max) && min <= max) return withNaN(g, x, g.elementWiseClip(x, { min, max }));
    const f = new Formula(g, x.dtype, x.sizes);
    return withNaN(g, x, f.min(f.max(x, min), max));
  },
  // At the limits themselves PyTorch passes no gradient on, unlike clamp, and at NaN it does.
  grad: (dy, x, _, { min, max }) => chosenBy(dy, x, (d, v) => where(logicalOr(le(v, min), ge(v, max)), zero(d), d)),
  saves: "input",
});
/** Options of hardtanh(). Reference: torch.nn.functional.hardtanh. */
export interface HardtanhOptions {
  /** The lower limit. Default: -1. */
  readonly minVal?: number;
  /** @deprecated Use minVal. */
  readonly min?: number;
  /** The upper limit. Default: 1. */
  readonly maxVal?: number;
  /** @deprecated Use maxVal. */
  readonly max?: number;
}

/** x limited to [min, max]. Reference: torch.nn.functional.hardtanh. DirectML: ELEMENT_WISE_CLIP. */
export function hardtanh(x: Tensor, minVal?: number | HardtanhOptions, maxVal?: number): Tensor {
  const settings =
    typeof minVal === "object" && maxVal === undefined
      ? minVal
      : byPosition<HardtanhOptions>("hardtanh", ["minVal", "maxVal"], [minVal, maxVal]);
  const { minVal: min = -1, maxVal: max = 1 } = settings;
  if (x.dtype === "bool") throw new DTypeError("hardtanh", "x", "of a numeric dtype", x.describe());
  for (const [name, v] of Object.entries({ minVal: min, maxVal: max }))
    requireRepresentable("hardtanh", name, isInteger(x.dtype) ? "int64" : x.dtype, v);
  if (isInteger(x.dtype)) return clamp(x, Math.max(Math.trunc(min), x.dtype.startsWith("u") ? 0 : -Infinity), Math.trunc(max));
  return floatOnly("hardtanh", x, () => call(hardtanhOp, [x], { min, max }));
}
/** x limited to [0, 6]. Reference: torch.nn.functional.relu6. */
export const relu6 = (x: Tensor): Tensor => hardtanh(x, { minVal: 0, maxVal: 6 });

const hardSigmoidOp = activation<undefined>("hardSigmoid", {
  emit: (g, x) => withNaN(g, x, g.activationHardSigmoid(x, { alpha: 1 / 6, beta: 0.5 })),
  grad: (dy, x) => tie(where(logicalAnd(gt(x, -3), lt(x, 3)), mul(dy, 1 / 6), zero(dy)), x),
  saves: "input",
});
/** x / 6 + 1 / 2, limited to [0, 1]. DirectML: ACTIVATION_HARD_SIGMOID. Reference: torch.nn.functional.hardsigmoid. */
export const hardSigmoid = (x: Tensor): Tensor => floatOnly("hardSigmoid", x, () => call(hardSigmoidOp, [x], undefined));

const hardSwishOp = activation<undefined>("hardSwish", {
  emit: (g, x) => g.elementWiseMultiply(x, g.activationHardSigmoid(x, { alpha: 1 / 6, beta: 0.5 })),
  // (x + 1.5) / 3: near -1.5 the sum is exact, and x / 3 + 0.5 is not.
  grad: (dy, x) =>
    bySlopes(dy, x, [
      (d, v) => where(le(v, -3), zero(d), where(lt(v, 3), mul(d, mul(add(v, 1.5), 1 / 3)), d)),
      (d, v) => where(logicalAnd(gt(v, -3), lt(v, 3)), mul(d, 1 / 3), zero(d)),
    ]),
  saves: "input",
});
/** x * hardSigmoid(x). DirectML: ACTIVATION_HARD_SIGMOID and MULTIPLY. Reference: torch.nn.functional.hardswish. */
export const hardSwish = (x: Tensor): Tensor => floatOnly("hardSwish", x, () => call(hardSwishOp, [x], undefined));

/** Whether x lies in [-lambda, lambda]; NaN does not. */
const isWithin = (f: Formula, x: Expr, lambda: number): Expr => f.and(f.ge(x, -lambda), f.le(x, lambda));

const hardshrinkOp = activation<{ readonly lambda: number }>("hardshrink", {
  emit: (g, x, { lambda }) => {
    const f = new Formula(g, x.dtype, x.sizes);
    return f.where(isWithin(f, x, lambda), 0, x);
  },
  grad: (dy, x, _, { lambda }) => shrunk(dy, x, lambda),
  saves: "input",
});
/** Nothing where x lies in [-lambda, lambda]. */
const shrunk = (dy: Tensor, x: Tensor, lambda: number): Tensor =>
  chosenBy(dy, x, (d, v) => where(logicalAnd(ge(v, -lambda), le(v, lambda)), zero(d), d));

/** x beyond [-lambd, lambd], 0 within. Reference: torch.nn.functional.hardshrink. DirectML: ELEMENT_WISE_IF. */
export function hardshrink(
  x: Tensor,
  lambd:
    | number
    | {
        /** Numbers of at most this size become 0. Default: 0.5. */
        readonly lambd?: number;
        /** @deprecated Use lambd. */
        readonly lambda?: number;
      } = 0.5,
): Tensor {
  const lambda = typeof lambd === "object" ? (lambd.lambd ?? 0.5) : lambd;
  requireFloat("hardshrink", x);
  return call(hardshrinkOp, [x], { lambda });
}

const softshrinkOp = activation<{ readonly lambda: number }>("softshrink", {
  emit: (g, x, { lambda }) => {
    const f = new Formula(g, x.dtype, x.sizes);
    return f.cases([isWithin(f, x, lambda), 0], [f.gt(x, 0), f.sub(x, lambda)], f.add(x, lambda));
  },
  grad: (dy, x, _, { lambda }) => shrunk(dy, x, lambda),
  saves: "input",
});
/** x moved towards 0 by lambd, 0 within [-lambd, lambd]. Reference: torch.nn.functional.softshrink. DirectML: ELEMENT_WISE_IF. */
export function softshrink(
  x: Tensor,
  lambd:
    | number
    | {
        /** Numbers of at most this size become 0; others come nearer to 0 by it. Default: 0.5. */
        readonly lambd?: number;
        /** @deprecated Use lambd. */
        readonly lambda?: number;
      } = 0.5,
): Tensor {
  const lambda = typeof lambd === "object" ? (lambd.lambd ?? 0.5) : lambd;
  requireFloat("softshrink", x);
  if (!(lambda >= 0)) throw new ValueError("softshrink", "lambd", "at least 0", lambda);
  return call(softshrinkOp, [x], { lambda });
}
/** x - tanh(x). Reference: torch.nn.functional.tanhshrink. */
export const tanhshrink = (x: Tensor): Tensor => sub(x, tanh(x));
const thresholdOp = activation<{ readonly limit: number; readonly value: number }>("threshold", {
  emit: (g, x, { limit, value }) => {
    // The limit itself is not rounded to half precision.
    const f = new Formula(g, "float32", x.sizes);
    return g.elementWiseIf(f.le(cast(g, x, "float32"), limit), constant(g, x.dtype, value, x.sizes), x);
  },
  grad: (dy, x, _, { limit }) => chosenBy(dy, x, (d, v) => where(le(isHalf(v.dtype) ? toDType(v, "float32") : v, limit), zero(d), d)),
  saves: "input",
});
/** x where x > threshold, value elsewhere. Reference: torch.nn.functional.threshold. DirectML: ELEMENT_WISE_IF. */
export function threshold(x: Tensor, limit: number, value: number): Tensor {
  requireRepresentable("threshold", "value", x.dtype, value);
  if (!isFloat(x.dtype)) return where(le(x, limit), scalarTensor(x.device, x.dtype, value), x);
  return floatOnly("threshold", x, () => call(thresholdOp, [x], { limit, value }));
}

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "activations that choose", [real([2, 3, 4])], (x) => [
    hardtanh(x!, { minVal: -0.3, maxVal: 0.4 }),
    hardshrink(x!, { lambd: 0.3 }),
    softshrink(x!, { lambd: 0.25 }),
    threshold(x!, 0.1, 0.5),
  ]),
];
