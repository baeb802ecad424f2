/** Elementwise functions of one tensor. */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { OperatorName } from "../../dml/operators.generated.ts";
import { tie } from "../../autograd/tie.ts";
import { call } from "../../dispatch/dispatch.ts";
import { isFloat, isHalf } from "../../core/dtype.ts";
import { DTypeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "./binary.ts";
import { zerosLike } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { define, type Definition } from "../../core/definition.ts";
import { BOOL, abs64, cast, computing, constant, floating, neg64, widened } from "../declare/support.ts";
import { sample, type Sample, real as reals } from "../declare/sample.ts";

interface UnaryOptions {
  readonly emit: (g: GraphBuilder, x: Expr) => Expr;
  /** dx from dy, the input x and the output y; null for those that `saves` leaves out. */
  readonly grad: (dy: Tensor, x: Tensor, y: Tensor) => Tensor;
  readonly saves: "input" | "output" | "both" | "none";
  /** On the bits of float64, in which no operator computes. Default: float64 is refused. */
  readonly emit64?: (g: GraphBuilder, x: Expr) => Expr;
}

const saved = (which: UnaryOptions["saves"]): { inputs: number[]; outputs: boolean } => ({
  inputs: which === "input" || which === "both" ? [0] : [],
  outputs: which === "output" || which === "both",
});

/** A function of real numbers: integers and bool are taken as float32. */
function real(name: string, options: UnaryOptions): Definition<undefined> {
  return define({
    name,
    traits: { elementwise: true },
    infer: ([x]) => [{ shape: x!.shape, dtype: floating(name, x!.dtype) }],
    lower: (g, [x], _, [out]) => [options.emit(g, cast(g, x!, out!.dtype))],
    grad: (dy, { inputs: [x], outputs: [y] }) => [options.grad(dy, x!, y!)],
    saves: saved(options.saves),
  });
}

/** A function that keeps the dtype; `operator` decides in which dtype it is computed. */
function keeping(name: string, operator: OperatorName, options: UnaryOptions): Definition<undefined> {
  return define({
    name,
    traits: { elementwise: true },
    infer: ([x]) => [{ shape: x!.shape, dtype: options.emit64 === undefined ? computing(name, x!.dtype) : x!.dtype }],
    lower: (g, [x]) => [x!.dtype === "float64" ? options.emit64!(g, x!) : widened(g, operator, [x!], (v) => options.emit(g, v!))],
    grad: (dy, { inputs: [x], outputs: [y] }) => [options.grad(dy, x!, y!)],
    saves: saved(options.saves),
  });
}

/** Rounding: integers are what they are. */
function rounding(name: string, emit: (g: GraphBuilder, x: Expr) => Expr): Definition<undefined> {
  return define({
    name,
    traits: { elementwise: true },
    infer: ([x]) => [{ shape: x!.shape, dtype: computing(name, x!.dtype) }],
    lower: (g, [x]) => [isFloat(x!.dtype) ? emit(g, x!) : g.elementWiseIdentity(x!)],
    grad: (dy) => [zerosLike(dy)],
    saves: saved("none"),
  });
}

const smaller = (g: GraphBuilder, x: Expr, limit: number): Expr =>
  g.elementWiseLogicalLessThan(g.elementWiseAbs(x), constant(g, x.dtype, limit, x.sizes), BOOL);
const scaled = (g: GraphBuilder, x: Expr, scale: number, bias: number): Expr => g.elementWiseIdentity(x, { scaleBias: [scale, bias] });

/**
 * log(1 + x). For small x, where 1 + x loses digits and GPUs' logarithms are exact to 2^-21 only, by 2 atanh(x / (2 + x)), whose
 * series ends after four terms here.
 * @package
 */
export function emitLog1p(g: GraphBuilder, x: Expr): Expr {
  const ratio = g.elementWiseDivide(x, scaled(g, x, 1, 2));
  const square = g.elementWiseMultiply(ratio, ratio);
  let series = scaled(g, square, 2 / 7, 2 / 5);
  for (const next of [2 / 3, 2]) series = scaled(g, g.elementWiseMultiply(series, square), 1, next);
  return g.elementWiseIf(smaller(g, x, 0.25), g.elementWiseMultiply(series, ratio), g.elementWiseLog(x, { scaleBias: [1, 1] }));
}

/** exp(x) - 1; for small x, where the difference loses digits, by its series. @package */
export function emitExpm1(g: GraphBuilder, x: Expr): Expr {
  let series = scaled(g, x, 1 / 7, 1);
  for (const n of [6, 5, 4, 3, 2]) series = scaled(g, g.elementWiseMultiply(series, x), 1 / n, 1);
  return g.elementWiseIf(smaller(g, x, 0.5), g.elementWiseMultiply(series, x), scaled(g, g.elementWiseExp(x), 1, -1));
}

/** The opposite of the least int8 is no int8: it wraps, as in PyTorch and in longer integers, where DirectML gives the nearest number. */
const wrapping = (g: GraphBuilder, x: Expr, emit: (x: Expr) => Expr): Expr =>
  x.dtype === "int8" || x.dtype === "int16" ? cast(g, emit(cast(g, x, "int32")), x.dtype) : emit(x);

const absOp = keeping("abs", "ELEMENT_WISE_ABS", {
  emit: (g, x) => wrapping(g, x, (v) => g.elementWiseAbs(v)),
  emit64: abs64,
  grad: (dy, x) => mul(dy, sign(x)),
  saves: "input",
});
const negOp = keeping("neg", "ELEMENT_WISE_NEGATE", {
  emit: (g, x) => wrapping(g, x, (v) => g.elementWiseNegate(v)),
  emit64: neg64,
  grad: (dy) => neg(dy),
  saves: "none",
});
const signOp = keeping("sign", "ELEMENT_WISE_SIGN", { emit: (g, x) => g.elementWiseSign(x), grad: (dy) => zerosLike(dy), saves: "none" });
const squareOp = keeping("square", "ELEMENT_WISE_MULTIPLY", {
  emit: (g, x) => g.elementWiseMultiply(x, x),
  // Its own third derivative is zero, not missing.
  grad: (dy, x) => mul(dy, mul(x, tie(scalarTensor(x.device, x.dtype, 2), x))),
  saves: "input",
});
const floorOp = rounding("floor", (g, x) => g.elementWiseFloor(x));
const ceilOp = rounding("ceil", (g, x) => g.elementWiseCeil(x));
const roundOp = rounding("round", (g, x) => g.elementWiseRound(x, { roundingMode: "HALVES_TO_NEAREST_EVEN" }));
const truncOp = rounding("trunc", (g, x) => g.elementWiseRound(x, { roundingMode: "TOWARD_ZERO" }));

const expOp = real("exp", { emit: (g, x) => g.elementWiseExp(x), grad: (dy, _, y) => mul(dy, y), saves: "output" });
const exp2Op = real("exp2", {
  emit: (g, x) => g.elementWisePow(constant(g, x.dtype, 2, x.sizes), x),
  grad: (dy, _, y) => mul(mul(dy, y), Math.LN2),
  saves: "output",
});
const expm1Op = real("expm1", { emit: emitExpm1, grad: (dy, _, y) => mul(dy, add(y, 1)), saves: "output" });
const logOp = real("log", { emit: (g, x) => g.elementWiseLog(x), grad: (dy, x) => div(dy, x), saves: "input" });
const log2Op = real("log2", {
  emit: (g, x) => g.elementWiseIdentity(g.elementWiseLog(x), { scaleBias: [Math.LOG2E, 0] }),
  grad: (dy, x) => div(dy, mul(x, Math.LN2)),
  saves: "input",
});
const log10Op = real("log10", {
  emit: (g, x) => g.elementWiseIdentity(g.elementWiseLog(x), { scaleBias: [Math.LOG10E, 0] }),
  grad: (dy, x) => div(dy, mul(x, Math.LN10)),
  saves: "input",
});
const log1pOp = real("log1p", { emit: emitLog1p, grad: (dy, x) => div(dy, add(x, 1)), saves: "input" });
const sqrtOp = real("sqrt", { emit: (g, x) => g.elementWiseSqrt(x), grad: (dy, _, y) => div(dy, mul(y, 2)), saves: "output" });
const rsqrtOp = real("rsqrt", {
  emit: (g, x) => g.elementWiseRecip(g.elementWiseSqrt(x)),
  grad: (dy, _, y) => mul(mul(dy, -0.5), mul(y, mul(y, y))),
  saves: "output",
});
const reciprocalOp = real("reciprocal", {
  emit: (g, x) => g.elementWiseRecip(x),
  grad: (dy, _, y) => neg(mul(dy, mul(y, y))),
  saves: "output",
});
const sinOp = real("sin", { emit: (g, x) => g.elementWiseSin(x), grad: (dy, x) => mul(dy, cos(x)), saves: "input" });
const cosOp = real("cos", { emit: (g, x) => g.elementWiseCos(x), grad: (dy, x) => neg(mul(dy, sin(x))), saves: "input" });
const tanOp = real("tan", { emit: (g, x) => g.elementWiseTan(x), grad: (dy, _, y) => mul(dy, add(mul(y, y), 1)), saves: "output" });
const asinOp = real("asin", { emit: (g, x) => g.elementWiseAsin(x), grad: (dy, x) => mul(dy, rsqrt(sub(1, square(x)))), saves: "input" });
const acosOp = real("acos", {
  emit: (g, x) => g.elementWiseAcos(x),
  grad: (dy, x) => neg(mul(dy, rsqrt(sub(1, square(x))))),
  saves: "input",
});
const atanOp = real("atan", { emit: (g, x) => g.elementWiseAtan(x), grad: (dy, x) => div(dy, add(square(x), 1)), saves: "input" });
const sinhOp = real("sinh", { emit: (g, x) => g.elementWiseSinh(x), grad: (dy, x) => mul(dy, cosh(x)), saves: "input" });
const coshOp = real("cosh", { emit: (g, x) => g.elementWiseCosh(x), grad: (dy, x) => mul(dy, sinh(x)), saves: "input" });
const tanhOp = real("tanh", { emit: (g, x) => g.elementWiseTanh(x), grad: (dy, _, y) => mul(dy, sub(1, mul(y, y))), saves: "output" });
const asinhOp = real("asinh", {
  // Of the magnitude: log(x + sqrt(x * x + 1)), as which GPUs compute it, has no digits for negative numbers.
  emit: (g, x) => g.elementWiseMultiply(g.elementWiseSign(x), g.elementWiseAsinh(g.elementWiseAbs(x))),
  grad: (dy, x) => mul(dy, rsqrt(add(square(x), 1))),
  saves: "input",
});
const acoshOp = real("acosh", {
  emit: (g, x) => g.elementWiseAcosh(x),
  grad: (dy, x) => mul(dy, rsqrt(sub(square(x), 1))),
  saves: "input",
});
const atanhOp = real("atanh", { emit: (g, x) => g.elementWiseAtanh(x), grad: (dy, x) => div(dy, sub(1, square(x))), saves: "input" });
const erfOp = real("erf", {
  emit: (g, x) => g.elementWiseErf(x),
  grad: (dy, x) => mul(mul(dy, 2 / Math.sqrt(Math.PI)), exp(neg(square(x)))),
  saves: "input",
});

function numeric(operation: string, x: Tensor): void {
  if (x.dtype === "bool") throw new DTypeError(operation, "x", "of a numeric dtype", x.describe(), "Use logicalNot, or cast it first.");
}

/** |x|. Any dtype but bool; kept. Reference: torch.abs. DirectML: ELEMENT_WISE_ABS. */
export function abs(x: Tensor): Tensor {
  numeric("abs", x);
  return x.dtype.startsWith("uint") ? mul(x, 1) : call(absOp, [x], undefined);
}
/** -x. Any dtype but bool; kept (unsigned integers wrap). Reference: torch.neg. DirectML: ELEMENT_WISE_NEGATE. */
export function neg(x: Tensor): Tensor {
  numeric("neg", x);
  return x.dtype === "uint8" || x.dtype === "uint16" || x.dtype === "uint32" || x.dtype === "uint64"
    ? sub(0, x)
    : call(negOp, [x], undefined);
}
/** -1, 0 or 1 by the sign of x. Any dtype; kept. Reference: torch.sign. DirectML: ELEMENT_WISE_SIGN. */
export const sign = (x: Tensor): Tensor => call(signOp, [x], undefined);
/** x * x. Any dtype; kept, but for bool, which gives int64. Reference: torch.square. DirectML: ELEMENT_WISE_MULTIPLY. @autocast float32 */
export function square(x: Tensor): Tensor {
  return x.dtype === "bool" ? toDType(x, "int64") : call(squareOp, [x], undefined);
}
/** The largest integer not above x; integers are returned as they are. Reference: torch.floor. DirectML: ELEMENT_WISE_FLOOR. */
export function floor(x: Tensor): Tensor {
  numeric("floor", x);
  return call(floorOp, [x], undefined);
}
/** The smallest integer not below x; integers are returned as they are. Reference: torch.ceil. DirectML: ELEMENT_WISE_CEIL. */
export function ceil(x: Tensor): Tensor {
  numeric("ceil", x);
  return call(ceilOp, [x], undefined);
}
/** x without its fraction; integers are returned as they are. Reference: torch.trunc. DirectML: ELEMENT_WISE_ROUND. */
export function trunc(x: Tensor): Tensor {
  numeric("trunc", x);
  return call(truncOp, [x], undefined);
}
/** x - trunc(x): the fraction with the sign of x. Floating dtypes. Reference: torch.frac. */
export function frac(x: Tensor): Tensor {
  if (!isFloat(x.dtype)) throw new DTypeError("frac", "x", "of a floating dtype", x.describe());
  return sub(x, trunc(x));
}
/**
 * The nearest integer, halves to the even one; with `decimals`, so many digits after the point (before it, if negative).
 * Integers are kept. Reference: torch.round. DirectML: ELEMENT_WISE_ROUND.
 */
export function round(
  x: Tensor,
  {
    decimals = 0,
  }: {
    /** Digits behind the point that are kept; negative ones before it. Default: 0. */
    readonly decimals?: number;
  } = {},
): Tensor {
  numeric("round", x);
  if (!Number.isInteger(decimals)) throw new ValueError("round", "decimals", "an integer", decimals);
  if (decimals === 0) return call(roundOp, [x], undefined);
  if (!isFloat(x.dtype)) throw new DTypeError("round", "x", "of a floating dtype when decimals are given", x.describe());
  if (isHalf(x.dtype)) return toDType(round(toDType(x, "float32"), { decimals }), x.dtype);
  const scale = 10 ** Math.abs(decimals);
  return decimals > 0 ? div(call(roundOp, [mul(x, scale)], undefined), scale) : mul(call(roundOp, [div(x, scale)], undefined), scale);
}

/** e^x. Result floating: integers give float32 (as in all functions below). Reference: torch.exp. DirectML: ELEMENT_WISE_EXP. @autocast float32 */
export const exp = (x: Tensor): Tensor => call(expOp, [x], undefined);
/** 2^x. Reference: torch.exp2. DirectML: ELEMENT_WISE_POW. */
export const exp2 = (x: Tensor): Tensor => call(exp2Op, [x], undefined);
/** e^x - 1, exact for small x too. Reference: torch.expm1. DirectML: ELEMENT_WISE_EXP and LOG. @autocast float32 */
export const expm1 = (x: Tensor): Tensor => call(expm1Op, [x], undefined);
/** ln(x). Reference: torch.log. DirectML: ELEMENT_WISE_LOG. @autocast float32 */
export const log = (x: Tensor): Tensor => call(logOp, [x], undefined);
/** Logarithm to base 2. Reference: torch.log2. DirectML: ELEMENT_WISE_LOG. @autocast float32 */
export const log2 = (x: Tensor): Tensor => call(log2Op, [x], undefined);
/** Logarithm to base 10. Reference: torch.log10. DirectML: ELEMENT_WISE_LOG. @autocast float32 */
export const log10 = (x: Tensor): Tensor => call(log10Op, [x], undefined);
/** ln(1 + x), exact for small x too. Reference: torch.log1p. DirectML: ELEMENT_WISE_LOG. @autocast float32 */
export const log1p = (x: Tensor): Tensor => call(log1pOp, [x], undefined);
/** Square root. Reference: torch.sqrt. DirectML: ELEMENT_WISE_SQRT. */
export const sqrt = (x: Tensor): Tensor => call(sqrtOp, [x], undefined);
/** 1 / sqrt(x). Reference: torch.rsqrt. DirectML: ELEMENT_WISE_SQRT and RECIP. @autocast float32 */
export const rsqrt = (x: Tensor): Tensor => call(rsqrtOp, [x], undefined);
/** 1 / x. Reference: torch.reciprocal. DirectML: ELEMENT_WISE_RECIP. @autocast float32 */
export const reciprocal = (x: Tensor): Tensor => call(reciprocalOp, [x], undefined);
/** Sine of radians. Reference: torch.sin. DirectML: ELEMENT_WISE_SIN. */
export const sin = (x: Tensor): Tensor => call(sinOp, [x], undefined);
/** Cosine of radians. Reference: torch.cos. DirectML: ELEMENT_WISE_COS. */
export const cos = (x: Tensor): Tensor => call(cosOp, [x], undefined);
/** Tangent of radians. Reference: torch.tan. DirectML: ELEMENT_WISE_TAN. @autocast float32 */
export const tan = (x: Tensor): Tensor => call(tanOp, [x], undefined);
/** Inverse sine, in radians. Reference: torch.asin. DirectML: ELEMENT_WISE_ASIN. @autocast float32 */
export const asin = (x: Tensor): Tensor => call(asinOp, [x], undefined);
/** Inverse cosine, in radians. Reference: torch.acos. DirectML: ELEMENT_WISE_ACOS. @autocast float32 */
export const acos = (x: Tensor): Tensor => call(acosOp, [x], undefined);
/** Inverse tangent, in radians. Reference: torch.atan. DirectML: ELEMENT_WISE_ATAN. */
export const atan = (x: Tensor): Tensor => call(atanOp, [x], undefined);
/** Hyperbolic sine. Reference: torch.sinh. DirectML: ELEMENT_WISE_SINH. @autocast float32 */
export const sinh = (x: Tensor): Tensor => call(sinhOp, [x], undefined);
/** Hyperbolic cosine. Reference: torch.cosh. DirectML: ELEMENT_WISE_COSH. @autocast float32 */
export const cosh = (x: Tensor): Tensor => call(coshOp, [x], undefined);
/** Hyperbolic tangent. Reference: torch.tanh. DirectML: ELEMENT_WISE_TANH. @functional */
export const tanh = (x: Tensor): Tensor => call(tanhOp, [x], undefined);
/** Inverse hyperbolic sine. Reference: torch.asinh. DirectML: ELEMENT_WISE_ASINH. */
export const asinh = (x: Tensor): Tensor => call(asinhOp, [x], undefined);
/** Inverse hyperbolic cosine. Reference: torch.acosh. DirectML: ELEMENT_WISE_ACOSH. */
export const acosh = (x: Tensor): Tensor => call(acoshOp, [x], undefined);
/** Inverse hyperbolic tangent. Reference: torch.atanh. DirectML: ELEMENT_WISE_ATANH. */
export const atanh = (x: Tensor): Tensor => call(atanhOp, [x], undefined);
/** The error function. Reference: torch.erf. DirectML: ELEMENT_WISE_ERF. */
export const erf = (x: Tensor): Tensor => call(erfOp, [x], undefined);

export const methods = {
  abs,
  neg,
  sign,
  square,
  floor,
  ceil,
  trunc,
  frac,
  round,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sqrt,
  rsqrt,
  reciprocal,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
};
export const inPlaceMethods = {
  abs_: abs,
  neg_: neg,
  sign_: sign,
  square_: square,
  floor_: floor,
  ceil_: ceil,
  trunc_: trunc,
  frac_: frac,
  round_: round,
  exp_: exp,
  exp2_: exp2,
  expm1_: expm1,
  log_: log,
  log2_: log2,
  log10_: log10,
  log1p_: log1p,
  sqrt_: sqrt,
  rsqrt_: rsqrt,
  reciprocal_: reciprocal,
  sin_: sin,
  cos_: cos,
  tan_: tan,
  asin_: asin,
  acos_: acos,
  atan_: atan,
  sinh_: sinh,
  cosh_: cosh,
  tanh_: tanh,
  asinh_: asinh,
  acosh_: acosh,
  atanh_: atanh,
  erf_: erf,
};

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("periodic", "sine, cosine and tangent", [reals([3, 5], -1, 1)], (x) => [sin(x!), cos(x!), tan(x!)]),
  sample("arc", "inverse trigonometric functions", [reals([3, 5], -0.75, 0.75)], (x) => [asin(x!), acos(x!), atan(x!)]),
  sample("composed", "hyperbolic functions", [reals([3, 5], 0.25, 0.75)], (x) => [sinh(x!), cosh(x!), atanh(x!), acosh(add(x!, 1))]),
  sample("composed", "reciprocal", [reals([3, 5], 0.5, 4)], (x) => reciprocal(x!)),
  sample("composed", "error function", [reals([3, 5], -2, 2)], (x) => erf(x!)),
];
