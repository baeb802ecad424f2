/** Floating-point representation: signbit, copysign, nextafter, frexp, ldexp. */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { tie } from "../../autograd/tie.ts";
import { call, dispatch } from "../../dispatch/dispatch.ts";
import { isFloat, type DType } from "../../core/dtype.ts";
import { DTypeError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import type { Tensor } from "../../core/tensor.ts";
import { binary, div, mul, operands, realOperands, type Arithmetic } from "./binary.ts";
import { eq } from "./compare.ts";
import { zerosLike } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { define, type Definition } from "../../core/definition.ts";
import { comparable } from "./int64-order.ts";
import { pow } from "./power.ts";
import { BOOL, cast, computing, constant, requireFloat, floating, sumTo } from "../declare/support.ts";
import { exp2 } from "./unary.ts";
import { maskedFill } from "./where.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

interface Layout {
  readonly words: DType;
  readonly sign: number;
  readonly mantissaBits: number;
  readonly exponentMask: number;
  /** The exponent of numbers in [0.5, 1). */
  readonly half: number;
}
const layoutOf = (dtype: DType): Layout =>
  dtype === "float16"
    ? { words: "uint16", sign: 0x8000, mantissaBits: 10, exponentMask: 0x1f, half: 14 }
    : { words: "uint32", sign: 0x80000000, mantissaBits: 23, exponentMask: 0xff, half: 126 };
const wordsOf = (g: GraphBuilder, x: Expr): Expr => g.reinterpret(x, { dtype: layoutOf(x.dtype).words });
const word = (g: GraphBuilder, x: Expr, v: number): Expr => constant(g, layoutOf(x.dtype).words, v, x.sizes);
const number = (g: GraphBuilder, x: Expr, v: number): Expr => constant(g, x.dtype, v, x.sizes);

/** Whether the sign bit is set, of NaN and -0 too. */
const emitSignbit = (g: GraphBuilder, x: Expr): Expr =>
  g.elementWiseLogicalGreaterThanOrEqual(wordsOf(g, x), word(g, x, layoutOf(x.dtype).sign), BOOL);

const signbitOp = define({
  name: "signbit",
  traits: { elementwise: true },
  infer: ([x]) => [{ shape: x!.shape, dtype: (computing("signbit", x!.dtype), "bool" as const) }],
  lower: (g, [x]) => {
    if (isFloat(x!.dtype)) return [emitSignbit(g, x!)];
    const zero = constant(g, x!.dtype, x!.dtype === "int64" || x!.dtype === "uint64" ? 0n : 0, x!.sizes);
    return [g.elementWiseLogicalLessThan(comparable(g, x!), comparable(g, zero), BOOL)];
  },
  grad: null,
});

const copysignOp: Definition<undefined> = define({
  ...binary("copysign", {
    dtype: floating,
    emit: (g, a, b) => {
      const { sign, words } = layoutOf(a.dtype);
      const magnitude = g.elementWiseBitAnd(wordsOf(g, a), word(g, a, sign - 1));
      return g.reinterpret(
        g.elementWiseBitOr(g.reinterpret(magnitude, { dtype: words }), g.elementWiseBitAnd(wordsOf(g, b), word(g, b, sign))),
        { dtype: a.dtype },
      );
    },
    grad: null,
  }),
  grad: (dy, { inputs: [a], outputs: [y], specs, needs }) => [
    // The ratio of result and a is their signs' product, 0 where a is.
    needs[0] ? sumTo(mul(dy, maskedFill(div(y!, a!), eq(a!, 0), 0)), specs[0]!) : null,
    needs[1] ? sumTo(zerosLike(dy), specs[1]!) : null,
  ],
  saves: { inputs: [0], outputs: true },
});

const nextafterOp = binary("nextafter", {
  dtype: (name, promoted) => {
    if (!isFloat(promoted)) throw new DTypeError(name, "dtype", "a floating one", promoted);
    return computing(name, promoted);
  },
  emit: (g, a, b) => {
    const { sign } = layoutOf(a.dtype);
    const bits = wordsOf(g, a);
    const zero = number(g, a, 0);
    const smallest = g.elementWiseBitOr(word(g, a, 1), g.elementWiseBitAnd(wordsOf(g, b), word(g, b, sign)));
    const outward = g.elementWiseLogicalEquals(
      g.elementWiseLogicalLessThan(a, b, BOOL),
      g.elementWiseLogicalGreaterThan(a, zero, BOOL),
      BOOL,
    );
    const moved = g.elementWiseIf(outward, g.elementWiseAdd(bits, word(g, a, 1)), g.elementWiseSubtract(bits, word(g, a, 1)));
    const isZero = g.elementWiseLogicalEquals(g.elementWiseBitAnd(bits, word(g, a, sign - 1)), word(g, a, 0), BOOL);
    const next = g.reinterpret(g.elementWiseIf(isZero, smallest, moved), { dtype: a.dtype });
    const nan = g.elementWiseLogicalOr(g.elementWiseIsNan(a, BOOL), g.elementWiseIsNan(b, BOOL), BOOL);
    return g.elementWiseIf(nan, g.elementWiseAdd(a, b), g.elementWiseIf(g.elementWiseLogicalEquals(a, b, BOOL), b, next));
  },
  grad: (dy, _a, _b, needs) => [dy, needs[1] ? zerosLike(dy) : null],
  saves: [],
});

/** x as mantissa in ±[0.5, 1) times 2^exponent; zeros, infinities and NaN have exponent 0. */
const frexpOp = define({
  name: "frexp",
  traits: { elementwise: true },
  infer: ([x]) => [x!, { shape: x!.shape, dtype: "int32" }],
  lower: (g, [x]) => {
    const { mantissaBits, exponentMask, half, words } = layoutOf(x!.dtype);
    const raw = (v: Expr): Expr =>
      g.elementWiseBitAnd(g.elementWiseBitShiftRight(wordsOf(g, v), word(g, v, mantissaBits)), word(g, v, exponentMask));
    // Numbers without an exponent of their own are scaled first.
    const lift = mantissaBits + 2;
    const tiny = g.elementWiseLogicalEquals(raw(x!), word(g, x!, 0), BOOL);
    const seen = g.elementWiseIf(tiny, g.elementWiseMultiply(x!, number(g, x!, 2 ** lift)), x!);
    const plain = g.elementWiseLogicalOr(
      g.elementWiseLogicalEquals(seen, number(g, x!, 0), BOOL),
      g.elementWiseLogicalEquals(raw(seen), word(g, x!, exponentMask), BOOL),
      BOOL,
    );
    const kept = g.elementWiseBitAnd(wordsOf(g, seen), g.elementWiseBitNot(word(g, x!, exponentMask * 2 ** mantissaBits)));
    const mantissa = g.reinterpret(g.elementWiseBitOr(g.reinterpret(kept, { dtype: words }), word(g, x!, half * 2 ** mantissaBits)), {
      dtype: x!.dtype,
    });
    const whole = (v: number): Expr => constant(g, "int32", v, x!.sizes);
    const exponent = g.elementWiseSubtract(cast(g, raw(seen), "int32"), g.elementWiseIf(tiny, whole(half + lift), whole(half)));
    return [g.elementWiseIf(plain, x!, mantissa), g.elementWiseIf(plain, whole(0), exponent)];
  },
  grad: (dy, { outputs: [, exponent] }) => [div(dy, toDType(exp2(exponent!), dy.dtype))],
  saves: { inputs: [], outputs: [1] },
});

/** Whether the sign bit is set (of -0 and NaN too). Reference: torch.signbit. DirectML: ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL. */
export const signbit = (x: Tensor): Tensor => (x.dtype === "bool" ? toDType(mul(x, false), "bool") : call(signbitOp, [x], undefined));
/** |a| with the sign of b. Integers give float32. Reference: torch.copysign. DirectML: ELEMENT_WISE_BIT_AND and BIT_OR. */
export function copysign(a: Arithmetic, b: Arithmetic): Tensor {
  const pair = realOperands("copysign", a, b);
  // By b it is a step function, whose derivative reads nothing.
  if (!pair[0]!.requiresGrad && pair[1]!.requiresGrad)
    return tie(
      noGrad(() => call(copysignOp, pair, undefined)),
      pair[1]!,
    );
  return call(copysignOp, pair, undefined);
}
/** The number next to a in the direction of b. Floating dtypes. Reference: torch.nextafter. DirectML: ELEMENT_WISE_ADD of the bits. */
export const nextafter = (a: Arithmetic, b: Arithmetic): Tensor => call(nextafterOp, operands("nextafter", a, b), undefined);

/** {mantissa, exponent}: x = mantissa * 2^exponent, the mantissa in ±[0.5, 1), the exponent int32. Reference: torch.frexp. */
export function frexp(x: Tensor): { readonly mantissa: Tensor; readonly exponent: Tensor } {
  requireFloat("frexp", x);
  const [mantissa, exponent] = dispatch(frexpOp, [x], undefined);
  return { mantissa: mantissa!, exponent: exponent! };
}
/** x * 2^exponent. Reference: torch.ldexp. DirectML: ELEMENT_WISE_POW. */
export const ldexp = (x: Tensor, exponent: Arithmetic): Tensor =>
  mul(x, typeof exponent === "object" ? pow(2, toDType(exponent, floating("ldexp", exponent.dtype))) : 2 ** Number(exponent));

export const methods = { signbit, copysign, nextafter, frexp, ldexp };
export const inPlaceMethods = { copysign_: copysign, nextafter_: nextafter, ldexp_: ldexp };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "parts of floating numbers", [real([3, 4]), real([4])], (a, b) => {
    const { mantissa, exponent } = frexp(a!);
    return [mantissa, exponent, copysign(a!, b!), nextafter(a!.detach(), b!.detach())];
  }),
];
