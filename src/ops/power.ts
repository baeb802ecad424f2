/** Powers. */
import type { GraphBuilder } from "../graph/builder.generated.ts";
import { call } from "../dispatch.ts";
import { isFloat, isInteger, scalarType } from "../dtype.ts";
import { DTypeError, ValueError } from "../errors.ts";
import type { Expr } from "../graph/graph.ts";
import { scalarTensor } from "../runtime/constants.ts";
import { Tensor } from "../tensor.ts";
import { binary, mul, operands, sub, type Arithmetic } from "./binary.ts";
import { eq, ge, logicalAnd } from "./compare.ts";
import { zerosLike } from "./creation.ts";
import { define } from "../definition.ts";
import { computing, constant } from "./support.ts";
import { log, square } from "./unary.ts";
import { where } from "./where.ts";

/** x^e of whole numbers by repeated squaring, wrapping as the dtype does: POW lacks 64 bits, and its range is that of floats. */
function wholePower(g: GraphBuilder, x: Expr, e: Expr): Expr {
  const number = (v: number): Expr => constant(g, x.dtype, x.dtype === "int64" || x.dtype === "uint64" ? BigInt(v) : v, x.sizes);
  const one = number(1);
  const zero = number(0);
  const bool = { output: { dtype: "bool" } } as const;
  let result = one;
  let base = x;
  for (let bit = 0; bit < 31; bit++) {
    const clear = g.elementWiseLogicalEquals(g.elementWiseBitAnd(e, number(2 ** bit)), zero, bool);
    result = g.elementWiseMultiply(result, g.elementWiseIf(clear, one, base));
    if (bit < 30) base = g.elementWiseMultiply(base, base);
  }
  return result;
}

const powOp = binary("pow", {
  operator: "ELEMENT_WISE_MULTIPLY",
  dtype: (promoted, name) => {
    if (promoted === "bool") throw new DTypeError(name, "dtype", "a number", "bool");
    return computing(name, promoted);
  },
  emit: (g, a, b) => (isInteger(a.dtype) ? wholePower(g, a, b) : g.elementWisePow(a, b)),
  grad: (dy, a, b, needs) => {
    const zero = scalarTensor(dy.device, dy.dtype, 0);
    // d/da = b a^(b-1), 0 where b is 0; d/db = a^b ln a, 0 where a is 0 and b is not negative.
    return [
      needs[0] ? where(eq(b, 0), zero, mul(dy, mul(b, pow(a, sub(b, 1))))) : null,
      needs[1] ? where(logicalAnd(eq(a, 0), ge(b, 0)), zero, mul(dy, mul(pow(a, b), log(a)))) : null,
    ];
  },
});

interface ExponentAttribute {
  readonly exponent: 1 | 0 | 0.5 | -1;
}

/** Exponents with an operator of their own. Saves a alone; its derivatives go on until they are zero. */
const simplePowerOp = define<ExponentAttribute>({
  name: "pow",
  traits: { elementwise: true },
  infer: ([a]) => [{ shape: a!.shape, dtype: computing("pow", a!.dtype) }],
  lower: (g, [a], { exponent }) => [
    exponent === 1
      ? g.elementWiseIdentity(a!)
      : exponent === 0
        ? g.packed(constant(g, a!.dtype, 1, a!.sizes))
        : exponent === 0.5
          ? g.elementWiseSqrt(a!)
          : g.elementWiseRecip(a!),
  ],
  grad: (dy, { inputs: [a], attrs: { exponent } }) => [exponent === 0 ? zerosLike(a!) : mul(dy, mul(pow(a!, exponent - 1), exponent))],
  saves: { outputs: false },
});

/**
 * a^b. Shapes broadcast; dtypes promote; whole numbers wrap. Squares, roots and reciprocals take their own operators.
 * Throws ValueError for a negative whole exponent of whole numbers. DirectML: ELEMENT_WISE_POW. Reference: torch.pow.
 */
export function pow(a: Arithmetic, b: Arithmetic): Tensor {
  if (a instanceof Tensor && typeof b === "number") {
    if (isFloat(a.dtype)) {
      if (b === 2) return square(a);
      if (b === 1 || b === 0 || b === 0.5 || b === -1) return call(simplePowerOp, [a], { exponent: b });
    } else if (b < 0 && scalarType(b) === "int32") {
      throw new ValueError("pow", "b", "at least 0 for whole numbers", b, "Cast a to a floating dtype.");
    }
  }
  return call(powOp, operands("pow", a, b), undefined);
}

export const methods = { pow };
export const inPlaceMethods = { pow_: pow };
