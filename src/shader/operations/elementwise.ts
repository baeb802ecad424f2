/** Elementwise operators of DirectML as shader code. What NaN gives is what DirectML gives. */
import type { DType } from "../../core/dtype.ts";
import type { OperatorName } from "../../dml/operators.generated.ts";
import type { Scalar } from "../../graph/emitter.ts";
import { constantOf } from "../ir.ts";
import { Bool, Float, type Int, type Uint } from "../numbers.ts";
import {
  ALL,
  asBool,
  asUint,
  choose,
  FLOATS,
  isByte,
  isInfinite,
  isNaNByBits,
  literal,
  NUMBERS,
  type Attributes,
  type Code,
  type Constants,
  type ElementCode,
  type Reading,
} from "./code.ts";

type ScaleBias = readonly [scale: number, bias: number];
const scaleBiasOf = ({ attributes }: Attributes): ScaleBias | null => (attributes["scaleBias"] ?? null) as ScaleBias | null;
const number = ({ attributes }: Attributes, name: string): number => attributes[name] as number;
const dtypeOf = ({ inputs }: Attributes, i = 0): DType => inputs[i]!.dtype;

/** x times a constant 0, which is NaN for what is not finite. Drivers take a product with such a constant for 0, precise or not. */
function timesZero(x: Float, zero: number): Float {
  const sign = x.bits().and(0x80000000);
  const result = Object.is(zero, -0) ? sign.xor(0x80000000) : sign;
  return x.bits().and(0x7f800000).eq(0x7f800000).select(0x7fc00000, result).asFloat();
}

function product(a: Float, b: Float): Float {
  const [m, n] = [constantOf(a.value), constantOf(b.value)];
  if (n === 0) return timesZero(a, n);
  return m === 0 ? timesZero(b, m) : a.mul(b);
}

function scaled(x: Float, node: Attributes): Float {
  const pair = scaleBiasOf(node);
  if (pair === null) return x;
  const [scale, bias] = pair;
  const product = scale === 1 ? x : scale === -1 ? x.neg() : scale === 0 ? timesZero(x, scale) : x.mul(scale);
  return bias === 0 ? product : product.add(bias);
}

/** Integers are scaled in float32 by DirectML; these nodes stay with it. */
const isPlainOrFloat = (node: Attributes): boolean => scaleBiasOf(node) === null || FLOATS.has(dtypeOf(node));

const of = (dtypes: Reading["dtypes"], element: ElementCode, accepts?: Reading["accepts"]): Reading => ({
  dtypes,
  code: { element },
  ...(accepts === undefined ? {} : { accepts }),
});
const float = (fn: (x: Float, node: Attributes, s: Constants) => Float, accepts?: Reading["accepts"]): Reading =>
  of(FLOATS, (s, [x], node) => fn(scaled(x as Float, node), node, s), accepts);
/** Of numbers of one type, which all have the method. */
const binary = (name: "add" | "sub" | "mul" | "min" | "max", dtypes = NUMBERS): Reading =>
  of(dtypes, (_, [a, b]) => (asNumber(a!) as Uint)[name](asNumber(b!) as Uint));
const asNumber = (x: Code): Float | Int | Uint => (x instanceof Bool ? x.toUint() : x);
const truth = (x: Bool, node: Attributes): Code => (node.outputs[0]!.dtype === "uint32" ? x.toUint() : x);
/** False for NaN, by the bits: drivers make a comparison and a choice between its sides a minimum, which loses NaN. */
const comparing = (name: "eq" | "lt" | "gt" | "le" | "ge"): Reading =>
  of(ALL, (_, [a, b], node) => {
    const [x, y] = [asNumber(a!), asNumber(b!)];
    const is = (x as Uint)[name](y as Uint);
    return truth(x instanceof Float && y instanceof Float ? is.and(isNaNByBits(x).or(isNaNByBits(y)).not()) : is, node);
  });
const logical = (fn: (a: Bool, b: Bool) => Bool): Reading => of(ALL, (_, [a, b], node) => truth(fn(asBool(a!), asBool(b!)), node));
const bitwise = (name: "and" | "or" | "xor"): Reading =>
  of(new Set<DType>(["int32", "uint32", "uint8", "bool"]), (_, [a, b]) => (asNumber(a!) as Uint)[name](asNumber(b!) as Uint));

/** By the count's last five bits. */
const shift = (name: "shiftLeft" | "shiftRight"): Reading =>
  of(new Set<DType>(["uint32"]), (_, [x, by]) => (x as Uint)[name]((by as Uint).and(31)));

/** x converted as DirectML's CAST does it, but for the rounding to float16: floats to integers by truncation, saturating. */
export function converted(x: Code, from: DType, to: DType): Code {
  if (FLOATS.has(from)) {
    const value = x as Float;
    if (FLOATS.has(to)) return value;
    if (to === "int32") return value.toInt();
    return to === "uint32" ? value.toUint() : value.toUint().min(255);
  }
  if (from === "int32") {
    const value = x as Int;
    if (FLOATS.has(to)) return value.toFloat();
    if (to === "int32") return value;
    return to === "uint32" ? value.bits() : value.bits().min(255);
  }
  if (isByte(to) && isByte(from)) return x;
  const value = asUint(x);
  if (FLOATS.has(to)) return value.toFloat();
  if (to === "int32") return value.toInt();
  return to === "uint32" || isByte(from) ? value : value.min(255);
}

/** e^x - 1, with all digits near 0. */
export function expm1(x: Float): Float {
  const series = [7, 6, 5, 4, 3, 2].reduce((sum, n) => sum.mul(x).mul(1 / n).add(1), x.mul(1 / 8).add(1)); // prettier-ignore
  return x.abs().lt(0.25).select(series.mul(x), x.exp().sub(1));
}
/** ln(1 + t) for t from 0 on: the rounding of 1 + t is corrected. */
function log1p(t: Float): Float {
  const sum = t.add(1);
  return sum.eq(1).select(t, sum.log().mul(t.div(sum.sub(1))));
}
/** ln(1 + e^x). */
export const softplus = (x: Float): Float => x.max(0).add(log1p(x.abs().neg().exp()));

const bound = (s: Constants, node: Attributes, name: "min" | "max"): Code => {
  const value = node.attributes[name];
  return literal(s, dtypeOf(node), Number(typeof value === "object" ? (value as Scalar).value : value));
};
/** Min wins when it is above Max. NaN gives Max. */
const clip = of(
  NUMBERS,
  (s, [x], node) => {
    const value = FLOATS.has(dtypeOf(node)) ? scaled(x as Float, node) : x;
    return (value as Uint).min(bound(s, node, "max") as Uint).max(bound(s, node, "min") as Uint);
  },
  (node) => isPlainOrFloat(node) && ["min", "max"].every((name) => isFiniteOrFloat(node, name)),
);
const isFiniteOrFloat = (node: Attributes, name: string): boolean => {
  const value = node.attributes[name];
  if (FLOATS.has(dtypeOf(node))) return true;
  const n = Number(typeof value === "object" ? (value as Scalar).value : value);
  return Number.isInteger(n) && (dtypeOf(node) === "int32" ? n >= -(2 ** 31) && n < 2 ** 31 : n >= 0 && n < 2 ** 32);
};
const clipGradient = of(FLOATS, (s, [x, dy], node) => {
  const [value, low, high] = [x as Float, bound(s, node, "min") as Float, bound(s, node, "max") as Float];
  return value.gt(low).and(value.lt(high)).select(dy as Float, 0); // prettier-ignore
});

/** Exponents of which the power is a product or a root. */
function power(x: Float, exponent: number): Float {
  if (exponent === 0.5) return x.sqrt();
  if (exponent === 1) return x;
  return exponent === 2 ? x.mul(x) : exponent === 3 ? x.mul(x).mul(x) : x.mul(x).mul(x.mul(x));
}

const ROUNDINGS: { readonly [mode: string]: "round" | "trunc" } = { HALVES_TO_NEAREST_EVEN: "round", TOWARD_ZERO: "trunc" };

export const ELEMENTWISE: { readonly [K in OperatorName]?: Reading } = {
  ELEMENT_WISE_IDENTITY: of(ALL, (_, [x], node) => (scaleBiasOf(node) === null ? x! : scaled(x as Float, node)), isPlainOrFloat),
  CAST: of(ALL, (_, [x], node) => converted(x!, dtypeOf(node), node.outputs[0]!.dtype)),
  ELEMENT_WISE_ADD: binary("add"),
  ELEMENT_WISE_SUBTRACT: binary("sub"),
  ELEMENT_WISE_MULTIPLY: of(NUMBERS, (_, [a, b], node) =>
    FLOATS.has(dtypeOf(node)) ? product(a as Float, b as Float) : (asNumber(a!) as Uint).mul(asNumber(b!) as Uint),
  ),
  ELEMENT_WISE_MIN: binary("min", ALL),
  ELEMENT_WISE_MAX: binary("max", ALL),
  ELEMENT_WISE_DIVIDE: of(FLOATS, (_, [a, b]) => (a as Float).div(b as Float)),
  ELEMENT_WISE_DIFFERENCE_SQUARE: of(FLOATS, (_, [a, b]) => (a as Float).sub(b as Float).square()),
  ELEMENT_WISE_NEGATE: of(new Set<DType>(["float32", "float16", "int32"]), (_, [x]) => (x as Float).neg()),
  ELEMENT_WISE_ABS: float((x) => x.abs()),
  ELEMENT_WISE_SIGN: of(FLOATS, (s, [x]) => (x as Float).gt(0).select(s.f32(1), (x as Float).lt(0).select(s.f32(-1), 0))),
  ELEMENT_WISE_CEIL: float((x) => x.ceil()),
  ELEMENT_WISE_FLOOR: float((x) => x.floor()),
  ELEMENT_WISE_ROUND: float(
    (x, node) => x[ROUNDINGS[node.attributes["roundingMode"] as string]!](),
    (node) => (node.attributes["roundingMode"] as string) in ROUNDINGS,
  ),
  ELEMENT_WISE_EXP: float((x) => x.exp()),
  ELEMENT_WISE_LOG: float((x) => x.log()),
  ELEMENT_WISE_SQRT: float((x) => x.sqrt()),
  ELEMENT_WISE_RECIP: float((x, _, s) => s.f32(1).div(x)),
  ELEMENT_WISE_TANH: float((x) => x.tanh()),
  ELEMENT_WISE_ERF: float((x) => x.erf()),
  ELEMENT_WISE_CONSTANT_POW: float(
    (x, node) => power(x, number(node, "exponent")),
    (node) => [0.5, 1, 2, 3, 4].includes(number(node, "exponent")),
  ),
  ELEMENT_WISE_THRESHOLD: float((x, node) => x.max(number(node, "min"))),
  ELEMENT_WISE_CLIP: clip,
  ELEMENT_WISE_CLIP1: clip,
  ELEMENT_WISE_CLIP_GRAD: clipGradient,
  ELEMENT_WISE_CLIP_GRAD1: clipGradient,
  ELEMENT_WISE_IF: of(ALL, (_, [condition, a, b]) => choose(asBool(condition!), a!, b!)),
  ELEMENT_WISE_IS_NAN: of(ALL, (_, [x], node) => truth(isNaNByBits(x as Float), node), (node) => FLOATS.has(dtypeOf(node))), // prettier-ignore
  ELEMENT_WISE_IS_INFINITY: of(
    ALL,
    (_, [x], node) => {
      const [value, mode] = [x as Float, node.attributes["infinityMode"]];
      const any = isInfinite(value);
      return truth(mode === "EITHER" ? any : any.and(mode === "POSITIVE" ? value.gt(0) : value.lt(0)), node);
    },
    (node) => FLOATS.has(dtypeOf(node)),
  ),
  ELEMENT_WISE_LOGICAL_EQUALS: comparing("eq"),
  ELEMENT_WISE_LOGICAL_LESS_THAN: comparing("lt"),
  ELEMENT_WISE_LOGICAL_GREATER_THAN: comparing("gt"),
  ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL: comparing("le"),
  ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL: comparing("ge"),
  ELEMENT_WISE_LOGICAL_AND: logical((a, b) => a.and(b)),
  ELEMENT_WISE_LOGICAL_OR: logical((a, b) => a.or(b)),
  ELEMENT_WISE_LOGICAL_XOR: logical((a, b) => a.xor(b)),
  ELEMENT_WISE_LOGICAL_NOT: of(ALL, (_, [x], node) => truth(asBool(x!).not(), node)),
  ELEMENT_WISE_BIT_SHIFT_LEFT: shift("shiftLeft"),
  ELEMENT_WISE_BIT_SHIFT_RIGHT: shift("shiftRight"),
  ELEMENT_WISE_BIT_AND: bitwise("and"),
  ELEMENT_WISE_BIT_OR: bitwise("or"),
  ELEMENT_WISE_BIT_XOR: bitwise("xor"),
};
