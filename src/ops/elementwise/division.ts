/** Division and remainders. */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call } from "../../dispatch/dispatch.ts";
import { DTYPES, isFloat, isInteger, type DType, type TypedArray } from "../../core/dtype.ts";
import { requireRepresentable, elements } from "../../core/elements.ts";
import { DTypeError, ValueError } from "../../core/errors.ts";
import type { OperatorName } from "../../dml/operators.generated.ts";
import type { Expr } from "../../graph/graph.ts";
import { checksValues } from "../../runtime/index-check.ts";
import { Tensor } from "../../core/tensor.ts";
import type { Definition, SavedInputs } from "../../core/definition.ts";
import { binary, div as quotient, mul, operands, sub, type Arithmetic } from "./binary.ts";
import { zerosLike } from "../creation/creation.ts";
import { dataSync } from "../data/conversion.ts";
import { Formula } from "./formula.ts";
import { comparable } from "./int64-order.ts";
import { BOOL, cast, computable, computing, constant } from "../declare/support.ts";
import { neg } from "./unary.ts";
import { sample, type Sample, real, whole as integers } from "../declare/sample.ts";

const whole = (g: GraphBuilder, like: Expr, v: number): Expr =>
  constant(g, like.dtype, DTYPES[like.dtype].sizeInBytes === 8 ? BigInt(v) : v, like.sizes);
const isNegative = (g: GraphBuilder, x: Expr): Expr => g.elementWiseLogicalLessThan(comparable(g, x), comparable(g, whole(g, x, 0)), BOOL);
const isZero = (g: GraphBuilder, x: Expr): Expr => g.elementWiseLogicalEquals(x, whole(g, x, 0), BOOL);

/** Whether the device has the operator for a dtype, or runs the one operator on the software adapter. */
const hasOperator = (g: GraphBuilder, operator: OperatorName, dtype: DType): boolean =>
  g.supports(operator, dtype) || g.capabilities.fallsBackByNode;

/** Quotient or remainder bit by bit, for devices (below feature level 6.0 with 64-bit integers) that divide no integers of this dtype. */
function longDivision(g: GraphBuilder, dividend: Expr, divisor: Expr, wanted: "quotient" | "remainder"): Expr {
  const signed = DTYPES[dividend.dtype].isSigned;
  const wide = signed ? "int64" : "uint64";
  const [a, b] = [cast(g, dividend, wide), cast(g, divisor, wide)];
  return cast(g, longDivision64(g, a, b, wanted, signed), dividend.dtype);
}

function longDivision64(g: GraphBuilder, a: Expr, b: Expr, wanted: "quotient" | "remainder", signed: boolean): Expr {
  const magnitude = (x: Expr): Expr =>
    g.reinterpret(signed ? g.elementWiseIf(isNegative(g, x), g.elementWiseSubtract(whole(g, x, 0), x), x) : x, { dtype: "uint64" });
  const [n, d] = [magnitude(a), magnitude(b)];
  const number = (v: bigint): Expr => constant(g, "uint64", v, n.sizes);
  const [zero, one] = [number(0n), number(1n)];
  let rest = zero;
  let quotient = zero;
  for (let bit = 63; bit >= 0; bit--) {
    const next = g.elementWiseBitAnd(g.elementWiseBitShiftRight(n, number(BigInt(bit))), one);
    rest = g.elementWiseBitOr(g.elementWiseBitShiftLeft(rest, one), next);
    const fits = g.elementWiseLogicalGreaterThanOrEqual(rest, d, BOOL);
    if (wanted === "remainder" || bit > 0) rest = g.elementWiseSubtract(rest, g.elementWiseIf(fits, d, zero));
    if (wanted === "quotient") quotient = g.elementWiseBitOr(quotient, g.elementWiseIf(fits, number(1n << BigInt(bit)), zero));
  }
  const result = g.reinterpret(wanted === "quotient" ? quotient : rest, { dtype: a.dtype });
  if (!signed) return result;
  const negative = wanted === "remainder" ? isNegative(g, a) : g.elementWiseLogicalXor(isNegative(g, a), isNegative(g, b), BOOL);
  return g.elementWiseIf(negative, g.elementWiseSubtract(whole(g, result, 0), result), result);
}

/** The remainder of a floored division, from that of a truncated one. */
function withSignOf(g: GraphBuilder, b: Expr, rest: Expr): Expr {
  const differs = g.elementWiseLogicalXor(isNegative(g, rest), isNegative(g, b), BOOL);
  const moved = g.elementWiseIf(differs, g.elementWiseAdd(rest, b), rest);
  return g.elementWiseIf(isZero(g, rest), rest, moved);
}

/** The remainder with the sign of a, or (floored) of b, of integers. */
function wholeRemainder(g: GraphBuilder, a: Expr, b: Expr, floored: boolean): Expr {
  const inner = computable(g, floored ? "ELEMENT_WISE_MODULUS_FLOOR" : "ELEMENT_WISE_MODULUS_TRUNCATE", a.dtype);
  const [x, y] = [cast(g, a, inner), cast(g, b, inner)];
  const isNative = hasOperator(g, "ELEMENT_WISE_MODULUS_FLOOR", inner);
  if (isNative && inner !== "int64")
    return cast(g, floored ? g.elementWiseModulusFloor(x, y) : g.elementWiseModulusTruncate(x, y), a.dtype);
  // MODULUS of negative int64 is wrong on NVIDIA's GPUs (-4 mod 2 gives -2), the quotient is right.
  const rest = isNative
    ? g.elementWiseSubtract(x, g.elementWiseMultiply(g.elementWiseDivide(x, y), y))
    : longDivision(g, x, y, "remainder");
  return cast(g, floored ? withSignOf(g, y, rest) : rest, a.dtype);
}

/** a / b of integers, towards zero, or (floored) downwards. */
function wholeQuotient(g: GraphBuilder, a: Expr, b: Expr, floored: boolean): Expr {
  const inner = computable(g, "ELEMENT_WISE_DIVIDE", a.dtype);
  const [x, y] = [cast(g, a, inner), cast(g, b, inner)];
  const quotient = hasOperator(g, "ELEMENT_WISE_DIVIDE", inner) ? g.elementWiseDivide(x, y) : longDivision(g, x, y, "quotient");
  if (!floored || !DTYPES[inner].isSigned) return cast(g, quotient, a.dtype);
  // The dividend is not rounded first: what is next to the least number would overflow.
  const rest = g.elementWiseSubtract(x, g.elementWiseMultiply(quotient, y));
  const isAbove = g.elementWiseLogicalAnd(
    g.elementWiseLogicalNot(isZero(g, rest), BOOL),
    g.elementWiseLogicalXor(isNegative(g, rest), isNegative(g, y), BOOL),
    BOOL,
  );
  return cast(g, g.elementWiseIf(isAbove, g.elementWiseSubtract(quotient, whole(g, quotient, 1)), quotient), a.dtype);
}

/** The remainder of real numbers, with the sign of a or (floored) of b; a itself, or b, where b is infinite: a / b times b is no number then. */
function realRemainder(g: GraphBuilder, a: Expr, b: Expr, floored: boolean): Expr {
  const f = new Formula(g, a.dtype, a.sizes);
  const rest = floored ? g.elementWiseModulusFloor(a, b) : g.elementWiseModulusTruncate(a, b);
  const isEdge = f.and(f.isInfinite(b), f.lt(f.abs(a), Infinity));
  const edge = floored ? f.where(f.and(f.not(f.eq(a, 0)), f.xor(f.lt(a, 0), f.lt(b, 0))), b, a) : a;
  return f.where(isEdge, edge, rest);
}

/** floor(a / b) of real numbers, exact where the quotient is whole, as PyTorch (and Python) computes it. */
function floorQuotient(g: GraphBuilder, a: Expr, b: Expr): Expr {
  const f = new Formula(g, a.dtype, a.sizes);
  const rest = realRemainder(g, a, b, false);
  const plain = f.div(f.sub(a, rest), b);
  const below = f.and(f.not(f.eq(rest, 0)), f.xor(f.lt(b, 0), f.lt(rest, 0)));
  const exact = f.where(below, f.sub(plain, 1), plain);
  const down = f.floor(exact);
  const nearest = f.where(f.gt(f.sub(exact, down), 0.5), f.add(down, 1), down);
  const ratio = f.div(a, b);
  // A quotient of zero has the sign of a / b; a division by zero is the plain one.
  return f.cases([f.eq(b, 0), ratio], [f.eq(exact, 0), f.mul(ratio, 0)], nearest);
}

const numbers = (name: string, promoted: DType): DType => {
  if (promoted === "bool") throw new DTypeError(name, "dtype", "a numeric one", promoted);
  return computing(name, promoted);
};

const rounded = (name: string, isFloor: boolean, hasGradient: boolean): Definition<undefined> =>
  binary(name, {
    operator: "ELEMENT_WISE_SUBTRACT",
    dtype: numbers,
    emit: (g, a, b) =>
      !isFloat(a.dtype)
        ? wholeQuotient(g, a, b, isFloor)
        : isFloor
          ? floorQuotient(g, a, b)
          : g.elementWiseRound(g.elementWiseDivide(a, b), { roundingMode: "TOWARD_ZERO" }),
    grad: hasGradient ? (dy, _a, _b, needs) => needs.map((n) => (n ? zerosLike(dy) : null)) : null,
    saves: [],
  });
const floorOp = rounded("divFloor", true, true);
/** div() towards zero. @package */
export const truncOp = rounded("div", false, true);
// PyTorch knows the derivative of div with a rounding mode only.
const floorDivideOp = rounded("floorDivide", true, false);

/** A remainder grows with the dividend, whatever that is. */
const savedForDivisor: SavedInputs = ([, b]) => (b ? [0, 1] : []);

const remainderOp = binary("remainder", {
  operator: "ELEMENT_WISE_SUBTRACT",
  dtype: numbers,
  emit: (g, a, b) => (isFloat(a.dtype) ? realRemainder(g, a, b, true) : wholeRemainder(g, a, b, true)),
  grad: (dy, a, b, needs) => [dy, needs[1] ? neg(mul(dy, call(floorOp, [a, b], undefined))) : null],
  saves: savedForDivisor,
});
const fmodOp = binary("fmod", {
  operator: "ELEMENT_WISE_SUBTRACT",
  dtype: numbers,
  emit: (g, a, b) => (isFloat(a.dtype) ? realRemainder(g, a, b, false) : wholeRemainder(g, a, b, false)),
  grad: (dy, a, b, needs) => [dy, needs[1] ? neg(mul(dy, call(truncOp, [a, b], undefined))) : null],
  saves: savedForDivisor,
});

/** Options of div(). Reference: torch.div. */
export interface DivOptions {
  /** null (default): the real quotient; "trunc": rounded towards zero; "floor": downwards. Both keep whole dtypes. */
  readonly roundingMode?: "trunc" | "floor" | null | undefined;
}

/**
 * a / b; without a rounding mode integers give float32. Shapes broadcast; dtypes promote. A rounded quotient of whole
 * numbers by zero is a ValueError on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1. DirectML: ELEMENT_WISE_DIVIDE, MODULUS_FLOOR. Reference: torch.div.
 */
export function div(a: Arithmetic, b: Arithmetic, { roundingMode = null }: DivOptions = {}): Tensor {
  if (roundingMode === null) return quotient(a, b);
  if (roundingMode !== "trunc" && roundingMode !== "floor")
    throw new ValueError("div", "roundingMode", '"trunc", "floor" or null', roundingMode);
  return call(roundingMode === "floor" ? floorOp : truncOp, operands("div", a, divisor("div", a, b)), undefined);
}
/** floor(a / b), without a gradient: div with a rounding mode has one. Reference: torch.floor_divide. DirectML: MODULUS_FLOOR, ELEMENT_WISE_DIVIDE. */
export const floorDivide = (a: Arithmetic, b: Arithmetic): Tensor =>
  call(floorDivideOp, operands("floorDivide", a, divisor("floorDivide", a, b)), undefined);
const holdsZero = (data: TypedArray): boolean =>
  data instanceof BigInt64Array || data instanceof BigUint64Array ? data.includes(0n) : data.includes(0);
/** Whether a number is 0, or becomes it in the dtype of the integers that it divides, as 256 does in uint8. */
const isZeroIn = (a: Arithmetic, b: number | bigint | boolean): boolean =>
  Number(b) === 0 || (a instanceof Tensor && isInteger(a.dtype) && Number.isInteger(Number(b)) && Number(elements(a.dtype, [b])[0]) === 0);
/**
 * b, which is not 0 where integers are divided: there is no such number, and PyTorch refuses it too. A tensor is read for it where
 * indices are: on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1.
 */
function divisor(operation: string, a: Arithmetic, b: Arithmetic): Arithmetic {
  const isWhole = a instanceof Tensor ? !isFloat(a.dtype) : Number.isInteger(Number(a));
  if (!isWhole) return b;
  const hasZero = b instanceof Tensor ? !isFloat(b.dtype) && checksValues(b) && holdsZero(dataSync(b)) : isZeroIn(a, b);
  if (hasZero) throw new ValueError(operation, "b", "other than 0 for integers", b instanceof Tensor ? b.describe() : b);
  return b;
}

/** a - b floor(a / b): the remainder with the sign of b. Reference: torch.remainder. DirectML: ELEMENT_WISE_MODULUS_FLOOR. */
export const remainder = (a: Arithmetic, b: Arithmetic): Tensor =>
  call(remainderOp, operands("remainder", a, divisor("remainder", a, b)), undefined);
/** a - b trunc(a / b): the remainder with the sign of a. Reference: torch.fmod. DirectML: ELEMENT_WISE_MODULUS_TRUNCATE. */
export const fmod = (a: Arithmetic, b: Arithmetic): Tensor => call(fmodOp, operands("fmod", a, divisor("fmod", a, b)), undefined);
/** b - alpha * a. Reference: torch.rsub. DirectML: ELEMENT_WISE_SUBTRACT. */
export function rsub(
  a: Tensor,
  b: Arithmetic,
  {
    alpha = 1,
  }: {
    /** Factor of the tensor that is subtracted. Default: 1. */
    readonly alpha?: number | undefined;
  } = {},
): Tensor {
  requireRepresentable("rsub", "alpha", a.dtype, alpha);
  return sub(b, alpha === 1 ? a : mul(a, alpha));
}
/** a / b as real numbers. Reference: torch.true_divide. */
export const trueDivide = (a: Arithmetic, b: Arithmetic): Tensor => quotient(a, b);

/**
 * Euclid's algorithm as often as the worst case, neighbours of Fibonacci's sequence, needs it. Devices that have no MODULUS of
 * 64 bits refuse it (and fall back, counted): 90 long divisions would be as many thousand nodes.
 */
function emitGcd(g: GraphBuilder, a: Expr, b: Expr): Expr {
  const { sizeInBytes, isSigned } = DTYPES[a.dtype];
  const magnitude = (x: Expr): Expr => (isSigned ? g.elementWiseIf(isNegative(g, x), g.elementWiseSubtract(whole(g, x, 0), x), x) : x);
  let [x, y] = [magnitude(a), magnitude(b)];
  const one = whole(g, a, 1);
  const steps = Math.ceil((8 * sizeInBytes) / Math.log2((1 + Math.sqrt(5)) / 2)) + 1;
  for (let i = 1; ; i++) {
    const done = isZero(g, y);
    if (i === steps) return g.elementWiseIf(done, x, y);
    const rest = g.elementWiseModulusTruncate(x, g.elementWiseIf(done, one, y));
    [x, y] = [g.elementWiseIf(done, x, y), g.elementWiseIf(done, y, rest)];
  }
}
const wholeOnly = (name: string, promoted: DType): DType => {
  if (DTYPES[promoted].kind !== "int") throw new DTypeError(name, "dtype", "an integer one", promoted);
  return promoted;
};
const gcdOp = binary("gcd", { operator: "ELEMENT_WISE_SUBTRACT", dtype: wholeOnly, emit: emitGcd, grad: () => [null, null], saves: [] });
const lcmOp = binary("lcm", {
  operator: "ELEMENT_WISE_SUBTRACT",
  dtype: wholeOnly,
  emit: (g, a, b) => {
    const divisor = emitGcd(g, a, b);
    const none = isZero(g, divisor);
    const multiple = g.elementWiseMultiply(wholeQuotient(g, a, g.elementWiseIf(none, whole(g, a, 1), divisor), false), b);
    return DTYPES[a.dtype].isSigned
      ? g.elementWiseIf(isNegative(g, multiple), g.elementWiseSubtract(whole(g, multiple, 0), multiple), multiple)
      : multiple;
  },
  grad: () => [null, null],
  saves: [],
});
/** The greatest common divisor. Integers; gcd(0, 0) is 0. Reference: torch.gcd. DirectML: ELEMENT_WISE_MODULUS_TRUNCATE. */
export const gcd = (a: Arithmetic, b: Arithmetic): Tensor => call(gcdOp, operands("gcd", a, b), undefined);
/** The least common multiple. Integers; 0 where one is 0. Reference: torch.lcm. DirectML: ELEMENT_WISE_MODULUS_TRUNCATE, DIVIDE. */
export const lcm = (a: Arithmetic, b: Arithmetic): Tensor => call(lcmOp, operands("lcm", a, b), undefined);

export const methods = { div, floorDivide, remainder, fmod, rsub, trueDivide, gcd, lcm };
export const inPlaceMethods = {
  div_: div,
  floorDivide_: floorDivide,
  remainder_: remainder,
  fmod_: fmod,
  trueDivide_: trueDivide,
  gcd_: gcd,
  lcm_: lcm,
};

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("rounded", "remainders", [real([3, 4]), real([4], 0.75, 2)], (a, b) => [fmod(a!, b!), remainder(a!, b!)]),
  sample("exact", "whole quotients", [integers([3, 4], -30, 30), integers([4], 1, 7)], (a, b) => [
    div(a!, b!, { roundingMode: "floor" }),
    div(a!, b!, { roundingMode: "trunc" }),
    floorDivide(a!, b!),
  ]),
  sample("exact", "common divisors and multiples", [integers([3, 4], 1, 30), integers([4], 1, 12)], (a, b) => [gcd(a!, b!), lcm(a!, b!)]),
];
