/** Bitwise operations: on integers; on bool they are the logical ones. */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call } from "../../dispatch/dispatch.ts";
import { DTYPES, type DType } from "../../core/dtype.ts";
import { DTypeError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import type { Tensor } from "../../core/tensor.ts";
import { binary, operands, type Arithmetic } from "./binary.ts";
import { define, type Definition } from "../../core/definition.ts";
import { comparable } from "./int64-order.ts";
import { BOOL, constant } from "../declare/support.ts";

const whole =
  (bool: boolean) =>
  (name: string, promoted: DType): DType => {
    if (DTYPES[promoted].kind === "float" || (promoted === "bool" && !bool))
      throw new DTypeError(name, "dtype", bool ? "an integer one or bool" : "an integer one", promoted);
    return promoted;
  };

const bitwise = (name: string, emit: (g: GraphBuilder, a: Expr, b: Expr) => Expr): Definition<undefined> =>
  binary(name, { dtype: whole(true), emit, grad: () => [null, null], saves: [] });

const andOp = bitwise("bitwiseAnd", (g, a, b) => g.elementWiseBitAnd(a, b));
const orOp = bitwise("bitwiseOr", (g, a, b) => g.elementWiseBitOr(a, b));
const xorOp = bitwise("bitwiseXor", (g, a, b) => g.elementWiseBitXor(a, b));

const notOp = define({
  name: "bitwiseNot",
  traits: { elementwise: true },
  infer: ([x]) => [{ shape: x!.shape, dtype: whole(true)("bitwiseNot", x!.dtype) }],
  lower: (g, [x]) => [x!.dtype === "bool" ? g.elementWiseLogicalNot(x!) : g.elementWiseBitNot(x!)],
  grad: null,
});

const UNSIGNED: { readonly [K in DType]?: DType } = { int8: "uint8", int16: "uint16", int32: "uint32", int64: "uint64" };

/**
 * A shift by at least the number of bits, or by a negative number, shifts all bits out: 0, or to the right the sign. Devices differ there,
 * so such shifts are never left to them.
 */
function shifted(g: GraphBuilder, a: Expr, b: Expr, direction: "left" | "right"): Expr {
  const bits = 8 * DTYPES[a.dtype].sizeInBytes;
  const number = (v: number): Expr => constant(g, a.dtype, a.dtype.endsWith("int64") ? BigInt(v) : v, a.sizes);
  const isUnsigned = a.dtype.startsWith("u");
  const tooFar = g.elementWiseLogicalGreaterThan(comparable(g, b), comparable(g, number(bits - 1)), BOOL);
  const beyond = isUnsigned
    ? tooFar
    : g.elementWiseLogicalOr(tooFar, g.elementWiseLogicalLessThan(comparable(g, b), comparable(g, number(0)), BOOL), BOOL);
  if (direction === "right" && !isUnsigned) return shiftedWithin(g, a, g.elementWiseIf(beyond, number(bits - 1), b), direction);
  return g.elementWiseIf(beyond, number(0), shiftedWithin(g, a, g.elementWiseIf(beyond, number(0), b), direction));
}

/** Shifts take unsigned types only: the same bits are seen as such. */
function shiftedWithin(g: GraphBuilder, a: Expr, b: Expr, direction: "left" | "right"): Expr {
  const dtype = UNSIGNED[a.dtype];
  const shift = (x: Expr, y: Expr): Expr => (direction === "left" ? g.elementWiseBitShiftLeft(x, y) : g.elementWiseBitShiftRight(x, y));
  if (dtype === undefined) return shift(a, b);
  const seen = (x: Expr): Expr => g.reinterpret(x, { dtype });
  if (direction === "left") return g.reinterpret(shift(seen(a), seen(b)), { dtype: a.dtype });
  // Filled with the sign: the bits of a negative number are inverted, shifted with zeros, and inverted again.
  const zero = constant(g, a.dtype, a.dtype === "int64" ? 0n : 0, a.sizes);
  const negative = g.elementWiseLogicalLessThan(comparable(g, a), comparable(g, zero), BOOL);
  const plain = g.elementWiseIf(negative, g.elementWiseBitNot(a), a);
  const moved = g.reinterpret(shift(seen(plain), seen(b)), { dtype: a.dtype });
  return g.elementWiseIf(negative, g.elementWiseBitNot(moved), moved);
}

const leftOp = binary("bitwiseLeftShift", {
  dtype: whole(false),
  emit: (g, a, b) => shifted(g, a, b, "left"),
  grad: () => [null, null],
  saves: [],
});
const rightOp = binary("bitwiseRightShift", {
  dtype: whole(false),
  emit: (g, a, b) => shifted(g, a, b, "right"),
  grad: () => [null, null],
  saves: [],
});

/** a & b. Integers or bool; shapes broadcast; dtypes promote. Reference: torch.bitwise_and. DirectML: ELEMENT_WISE_BIT_AND. */
export const bitwiseAnd = (a: Arithmetic, b: Arithmetic): Tensor => call(andOp, operands("bitwiseAnd", a, b), undefined);
/** a | b. Reference: torch.bitwise_or. DirectML: ELEMENT_WISE_BIT_OR. */
export const bitwiseOr = (a: Arithmetic, b: Arithmetic): Tensor => call(orOp, operands("bitwiseOr", a, b), undefined);
/** a ^ b. Reference: torch.bitwise_xor. DirectML: ELEMENT_WISE_BIT_XOR. */
export const bitwiseXor = (a: Arithmetic, b: Arithmetic): Tensor => call(xorOp, operands("bitwiseXor", a, b), undefined);
/** ~x; of bool, not x. Reference: torch.bitwise_not. DirectML: ELEMENT_WISE_BIT_NOT. */
export const bitwiseNot = (x: Tensor): Tensor => call(notOp, [x], undefined);
/** a << b; 0 for b outside [0, bits). Integers. Reference: torch.bitwise_left_shift. DirectML: ELEMENT_WISE_BIT_SHIFT_LEFT. */
export const bitwiseLeftShift = (a: Arithmetic, b: Arithmetic): Tensor => call(leftOp, operands("bitwiseLeftShift", a, b), undefined);
/** a >> b, keeping the sign; for b outside [0, bits) only the sign is left. Integers. Reference: torch.bitwise_right_shift. DirectML: ELEMENT_WISE_BIT_SHIFT_RIGHT. */
export const bitwiseRightShift = (a: Arithmetic, b: Arithmetic): Tensor => call(rightOp, operands("bitwiseRightShift", a, b), undefined);

export const methods = { bitwiseAnd, bitwiseOr, bitwiseXor, bitwiseNot, bitwiseLeftShift, bitwiseRightShift };
