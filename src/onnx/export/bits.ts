/** Forms of operations on bits and signs, and of quotients of integers. */
import { DTYPES, isFloat, type DType } from "../../core/dtype.ts";
import { ELEMENT_TYPES } from "./element-types.ts";
import { form, type Form, type FormCall, type Forms } from "./form.ts";
import type { Name } from "./onnx-graph.ts";
import { lowered, where } from "./lowered.ts";

const both = (c: FormCall): [Name, Name] => [c.cast(c.inputs[0]!, c.dtype), c.cast(c.inputs[1]!, c.dtype)];

const bitwise = (type: string, logic: string): Form =>
  form((c) => {
    if (c.dtype === "bool") return c.node(logic, both(c));
    return c.graph.opset < 18 ? c.refuse("integers need opset 18") : c.node(`Bitwise${type}`, both(c));
  });

/** Powers of two that int64 holds. */
const POWERS = Array.from({ length: 63 }, (_, i) => 2n ** BigInt(i));

/** Shifts as products and quotients of int64, whose upper bits the cast drops. What shifts all bits out gives 0, or the sign. */
function shifted(c: FormCall, direction: "left" | "right"): Name {
  const bits = 8 * DTYPES[c.dtype].sizeInBytes;
  if (bits === 64) c.refuse("64-bit integers");
  const long = (v: number): Name => c.graph.scalar("int64", v);
  const to64 = (x: Name): Name => c.node("Cast", [x], { to: ELEMENT_TYPES.int64 });
  const [a, b] = both(c).map(to64) as [Name, Name];
  const isWithin = c.node("And", [c.node("GreaterOrEqual", [b, long(0)]), c.node("Less", [b, long(bits)])]);
  const by = c.node("Where", [isWithin, b, long(direction === "left" ? 0 : bits - 1)]);
  const power = c.node("Gather", [c.graph.constant("int64", [POWERS.length], POWERS), by], { axis: 0 });
  const isSigned = !c.dtype.startsWith("u");
  const made = direction === "left" ? c.node("Mul", [a, power]) : c.node("Div", [c.node("Sub", [a, c.node("Mod", [a, power])]), power]);
  const kept = direction === "right" && isSigned ? made : c.node("Where", [isWithin, made, long(0)]);
  return c.node("Cast", [kept], { to: ELEMENT_TYPES[c.dtype] });
}

/** Whether the sign bit is set, of -0 too. */
function isNegative(c: FormCall, x: Name, dtype: DType): Name {
  const below = c.node("Less", [x, c.number(0, dtype)]);
  return isFloat(dtype) ? c.node("Or", [below, c.node("Less", [c.node("Reciprocal", [x]), c.number(0, dtype)])]) : below;
}

/** Downwards: the quotient of what is left without the remainder. */
const floored: Form = (c) => {
  if (isFloat(c.dtype)) return lowered(c);
  const [a, b] = both(c);
  return c.node("Div", [c.node("Sub", [a, c.node("Mod", [a, b])]), b]);
};

const known = (name: "Max" | "Min"): Form =>
  form((c) => {
    const [a, b] = both(c);
    if (!isFloat(c.dtype)) return c.node(name, [a, b]);
    const other = c.node("Where", [c.node("IsNaN", [b]), a, c.node(name, [a, b])]);
    return c.node("Where", [c.node("IsNaN", [a]), b, other]);
  });

export const bits: Forms = {
  bitwiseAnd: bitwise("And", "And"),
  bitwiseOr: bitwise("Or", "Or"),
  bitwiseXor: bitwise("Xor", "Xor"),
  bitwiseNot: form((c) => {
    if (c.dtype === "bool") return c.node("Not", [c.x.name]);
    return c.graph.opset < 18 ? c.refuse("integers need opset 18") : c.node("BitwiseNot", [c.x.name]);
  }),
  bitwiseLeftShift: form((c) => shifted(c, "left")),
  bitwiseRightShift: form((c) => shifted(c, "right")),
  signbit: form((c) => isNegative(c, c.x.name, c.x.dtype)),
  copysign: form((c) => {
    const [a, b] = both(c);
    const size = c.node("Abs", [a]);
    return c.node("Where", [isNegative(c, b, c.dtype), c.node("Neg", [size]), size]);
  }),
  divFloor: floored,
  floorDivide: floored,
  fmod: form((c) => c.node("Mod", both(c), { fmod: 1 })),
  fmax: known("Max"),
  fmin: known("Min"),
  atan2: form((c) => {
    const [y, x] = both(c);
    const zero = c.number(0);
    const [left, below] = [isNegative(c, x, c.dtype), isNegative(c, y, c.dtype)];
    const half = c.node("Where", [below, c.number(-Math.PI), c.number(Math.PI)]);
    const offset = c.node("Where", [left, half, zero]);
    // 0 / 0 at the origin, where the signs decide.
    const isOrigin = c.node("And", [c.node("Equal", [x, zero]), c.node("Equal", [y, zero])]);
    const angle = c.node("Add", [c.node("Atan", [c.node("Div", [y, x])]), offset]);
    return c.node("Where", [isOrigin, c.node("Where", [left, half, y]), angle]);
  }),
  heaviside: form((c) => {
    const [x, values] = both(c);
    const step = c.node("Cast", [c.node("Greater", [x, c.number(0)])], { to: ELEMENT_TYPES[c.dtype] });
    return where(c.graph, c.node("Equal", [x, c.number(0)]), values, step, c.dtype);
  }),
  isposinf: form((c) => c.node("IsInf", [c.x.name], { detect_negative: 0 })),
  isneginf: form((c) => c.node("IsInf", [c.x.name], { detect_positive: 0 })),
  threshold: form<{ limit: number; value: number }>((c) => {
    const isLow = c.node("LessOrEqual", [c.x.name, c.number(c.attrs.limit)]);
    return c.node("Where", [isLow, c.number(c.attrs.value), c.x.name]);
  }),
  nanToNum: form((c) => {
    const [x, nan, high, low] = c.inputs.map((v) => c.cast(v, c.dtype)) as [Name, Name, Name, Name];
    const is = (v: number): Name => c.node("Equal", [x, c.number(v)]);
    const finite = c.node("Where", [is(Infinity), high, c.node("Where", [is(-Infinity), low, x])]);
    return c.node("Where", [c.node("IsNaN", [x]), nan, finite]);
  }),
};
