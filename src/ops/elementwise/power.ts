/** Power. */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call } from "../../dispatch/dispatch.ts";
import { DTYPES, isFloat, isHalf, isInteger } from "../../core/dtype.ts";
import { requireRepresentable } from "../../core/elements.ts";
import { DTypeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { Tensor } from "../../core/tensor.ts";
import { binary, mul, operands, sub, type Arithmetic } from "./binary.ts";
import { eq, ge, logicalAnd } from "./compare.ts";
import { zerosLike } from "../creation/creation.ts";
import { define } from "../../core/definition.ts";
import { BOOL, cast, computing, constant, widened } from "../declare/support.ts";
import { log, square } from "./unary.ts";
import { where } from "./where.ts";

/**
 * x^e of integers by repeated squaring, wrapping as the dtype does: POW lacks 64 bits, and its range is that of floats. Of negative
 * exponents, 1 and -1 have powers, which the exponent's last bit decides; all others give 0, as in PyTorch.
 */
function wholePower(g: GraphBuilder, x: Expr, e: Expr): Expr {
  const { sizeInBytes, isSigned } = DTYPES[x.dtype];
  const bits = 8 * sizeInBytes;
  const number = (v: bigint): Expr => constant(g, x.dtype, bits === 64 ? v : Number(v), x.sizes);
  const [zero, one] = [number(0n), number(1n)];
  const isClear = (mask: bigint): Expr => g.elementWiseLogicalEquals(g.elementWiseBitAnd(e, number(mask)), zero, BOOL);
  const last = isSigned ? bits - 2 : bits - 1;
  let result = one;
  let base = x;
  for (let bit = 0; bit <= last; bit++) {
    result = g.elementWiseMultiply(result, g.elementWiseIf(isClear(2n ** BigInt(bit)), one, base));
    if (bit < last) base = g.elementWiseMultiply(base, base);
  }
  if (!isSigned) return result;
  const isUnit = g.elementWiseLogicalOr(g.elementWiseLogicalEquals(x, one, BOOL), g.elementWiseLogicalEquals(x, number(-1n), BOOL));
  const isPositive = isClear(-(2n ** BigInt(bits - 1)));
  return g.elementWiseIf(g.elementWiseLogicalOr(isPositive, isUnit), result, zero);
}

/** Exponents without a logarithm, computed as in PyTorch: of -0, negative numbers and infinities too. */
const SIMPLE = {
  0: (g, x) => g.packed(constant(g, x.dtype, 1, x.sizes)),
  1: (g, x) => g.elementWiseIdentity(x),
  3: (g, x) => widened(g, "ELEMENT_WISE_MULTIPLY", [x], (v) => g.elementWiseMultiply(g.elementWiseMultiply(v!, v!), v!)),
  0.5: (g, x) => g.elementWiseSqrt(x),
  [-0.5]: (g, x) => widened(g, "ELEMENT_WISE_SQRT", [x], (v) => g.elementWiseRecip(g.elementWiseSqrt(v!))),
  [-1]: (g, x) => g.elementWiseRecip(x),
  // In float32: the square of 256 is more than a float16 holds, its reciprocal is not.
  [-2]: (g, x) => {
    const wide = cast(g, x, "float32");
    return cast(g, g.elementWiseRecip(g.elementWiseMultiply(wide, wide)), x.dtype);
  },
} as const satisfies Record<number, (g: GraphBuilder, x: Expr) => Expr>;
type SimpleExponent = keyof typeof SIMPLE;
const isSimple = (exponent: number): exponent is SimpleExponent => Object.hasOwn(SIMPLE, exponent);

interface ExponentAttribute {
  readonly exponent: SimpleExponent;
}

/** Saves a alone; it can be differentiated until the derivative is zero. */
const simplePowerOp = define<ExponentAttribute>({
  name: "pow",
  traits: { elementwise: true },
  infer: ([a]) => [{ shape: a!.shape, dtype: computing("pow", a!.dtype) }],
  lower: (g, [a], { exponent }) => [SIMPLE[exponent](g, a!)],
  grad: (dy, { inputs: [a], attrs: { exponent } }) => [exponent === 0 ? zerosLike(a!) : mul(dy, mul(pow(a!, exponent - 1), exponent))],
  saves: { outputs: false },
});

/** POW is exp2(e * log2(x)), which leaves 0^0, 0^-1, inf^0, 1^inf, (-2)^inf and powers of NaN open. */
function realPower(g: GraphBuilder, x: Expr, e: Expr): Expr {
  const number = (v: number): Expr => constant(g, x.dtype, v, x.sizes);
  const is = (a: Expr, v: number): Expr => g.elementWiseLogicalEquals(a, number(v), BOOL);
  const base = g.elementWiseIf(g.elementWiseIsInfinity(e, { infinityMode: "EITHER", ...BOOL }), g.elementWiseAbs(x), x);
  const isPole = g.elementWiseLogicalAnd(is(x, 0), g.elementWiseLogicalLessThan(e, number(0), BOOL));
  // -0 to the power of a negative odd number is -Infinity.
  const isOdd = is(g.elementWiseAbs(g.elementWiseModulusTruncate(e, number(2))), 1);
  const pole = g.elementWiseIf(isOdd, g.elementWiseRecip(x), number(Infinity));
  const power = g.elementWiseIf(isPole, pole, g.elementWisePow(base, e));
  const isOne = g.elementWiseLogicalOr(is(base, 1), is(e, 0));
  return g.elementWiseIf(isOne, number(1), g.elementWiseIf(g.elementWiseIsNan(e, BOOL), e, power));
}

const powerOf = (emit: (g: GraphBuilder, a: Expr, b: Expr) => Expr): ReturnType<typeof binary> =>
  binary("pow", {
    operator: "ELEMENT_WISE_MULTIPLY",
    dtype: (name, promoted) => {
      if (promoted === "bool") throw new DTypeError(name, "dtype", "a numeric one", "bool");
      return computing(name, promoted);
    },
    emit: (g, a, b) => (isInteger(a.dtype) ? wholePower(g, a, b) : emit(g, a, b)),
    grad: (dy, a, b, needs) => {
      const zero = scalarTensor(dy.device, dy.dtype, 0);
      // d/da = b a^(b-1), 0 where b is 0; d/db = a^b ln a, 0 where a is 0 and b is not negative.
      return [
        needs[0] ? where(eq(b, 0), zero, mul(dy, mul(b, pow(a, sub(b, 1))))) : null,
        needs[1] ? where(logicalAnd(eq(a, 0), ge(b, 0)), zero, mul(dy, mul(pow(a, b), log(a)))) : null,
      ];
    },
  });
const powOp = powerOf(realPower);
/** For exponents that are known to be finite and not 0, one operator is right, or two. */
const positivePowOp = powerOf((g, a, b) => g.elementWisePow(a, b));
const negativePowOp = powerOf((g, a, b) => g.elementWiseRecip(g.elementWisePow(a, g.elementWiseIdentity(b, { scaleBias: [-1, 0] }))));

/**
 * a^b. Shapes broadcast; dtypes promote; integers wrap. Squares, cubes, roots and their reciprocals take their own operators.
 * Throws ValueError for a negative number as the exponent of integers; in a tensor it gives 0, but for 1 and -1. DirectML: ELEMENT_WISE_POW. Reference: torch.pow.
 * @autocast float32
 */
export function pow(a: Arithmetic, b: Arithmetic): Tensor {
  if (a instanceof Tensor && (typeof b === "number" || typeof b === "bigint")) {
    if (typeof b === "number" && isFloat(a.dtype)) {
      if (isHalf(a.dtype)) requireRepresentable("pow", "b", a.dtype, b);
      if (b === 2) return square(a);
      if (isSimple(b)) return call(simplePowerOp, [a], { exponent: b });
      // With odd negative exponents the sign of zero matters.
      if (Number.isFinite(Math.fround(b)) && b !== 0 && !(b < 0 && Math.abs(b % 2) === 1))
        return call(b > 0 ? positivePowOp : negativePowOp, operands("pow", a, b), undefined);
    } else if (!isFloat(a.dtype) && (typeof b === "bigint" || Number.isInteger(b))) {
      if (b < 0) throw new ValueError("pow", "b", "at least 0 for integers", b, "Cast a to a floating dtype.");
      requireRepresentable("pow", "b", a.dtype, b);
    }
  }
  return call(powOp, operands("pow", a, b), undefined);
}

export const methods = { pow };
export const inPlaceMethods = { pow_: pow };
