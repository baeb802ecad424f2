/** Other element types. */
import { DTYPES, isFloat, type DType } from "../../core/dtype.ts";
import { elements } from "../../core/elements.ts";
import * as ops from "../../ops/index.ts";
import { kernel } from "../../ops/kernel/custom-kernel.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { narrowType, type NarrowType } from "../format/narrow-types.ts";
import { Constant, dtypeOf, elementTypeOf, STRING, Texts, type Value } from "../format/value.ts";
import { family } from "./operator.ts";

/** Versions before 6 named types by text. */
const NAMES = [
  "UNDEFINED",
  "FLOAT",
  "UINT8",
  "INT8",
  "UINT16",
  "INT16",
  "INT32",
  "INT64",
  "STRING",
  "BOOL",
  "FLOAT16",
  "DOUBLE",
  "UINT32",
  "UINT64",
];

function castTo(c: Call): Value {
  const type = c.opset < 6 ? NAMES.indexOf(c.text("to", "")) : c.int("to", 0);
  if (type === STRING) return asTexts(c);
  if (c.inputs[0] instanceof Texts) return parsed(c, c.inputs[0], type);
  const narrow = narrowType(type);
  return narrow === null ? ops.to(c.x, dtypeOf(type, c.name)) : narrowed(c, c.x, narrow);
}

/** Numbers as the shortest texts that give them back. */
function asTexts(c: Call): Texts {
  if (c.inputs[0] instanceof Texts) return c.inputs[0];
  const { dtype, shape } = c.numeric(0);
  const text = (v: number): string => {
    if (Number.isNaN(v)) return "NaN";
    if (!Number.isFinite(v)) return v > 0 ? "INF" : "-INF";
    if (dtype === "bool") return v === 0 ? "False" : "True";
    return isFloat(dtype) && dtype !== "float64" ? shortest(v) : String(v);
  };
  return new Texts(shape, c.numbers(0).map(text));
}

/** The fewest digits that give the same float32. */
function shortest(v: number): string {
  for (let digits = 1; digits < 9; digits++) {
    const text = Number(v.toPrecision(digits));
    if (Math.fround(text) === v) return String(text);
  }
  return String(Number(v.toPrecision(9)));
}

const WORDS: Readonly<Record<string, number>> = { inf: Infinity, infinity: Infinity, nan: NaN };

function parsed(c: Call, texts: Texts, type: number): Constant {
  const dtype = dtypeOf(type, c.name);
  const list = texts.elements.map((s) => {
    const text = s.trim();
    const word = WORDS[text.replace(/^[+-]/, "").toLowerCase()];
    const number = word === undefined ? (text === "" ? NaN : Number(text)) : text.startsWith("-") ? -word : word;
    if (Number.isNaN(number) && !/^[+-]?nan$/i.test(text)) throw c.invalid("input", "texts of numbers", s);
    return isFloat(dtype) || dtype === "bool" ? number : BigInt(Math.trunc(number));
  });
  return new Constant(dtype, texts.shape, elements(dtype, list));
}

/** Numbers of a type that no dtype of ours has, in the dtype that holds them. */
export function narrowed(c: Call, x: Tensor, type: NarrowType): Tensor {
  if (type.range !== null) {
    const [low, high] = type.range;
    const whole = ops.to(isFloat(x.dtype) ? ops.trunc(ops.to(x, "float32")) : x, "int32");
    // As longer integers, they keep their low bits.
    return ops.to(ops.add(ops.remainder(ops.sub(whole, low), high - low + 1), low), type.dtype);
  }
  if (type.float === null) throw c.unsupported(`a cast to ${type.name}`);
  const { fraction, exponent, max, hasInfinity } = type.float;
  const hasNan = type.bits === 8;
  const wide = ops.to(x, "float32");
  // Ties go to even: adding and taking away a large number rounds to a step; larger numbers round their lowest bits.
  const size = ops.abs(wide);
  const step = 1.5 * 2 ** (exponent - fraction + 23);
  const small = ops.sub(ops.add(size, step), step);
  const bits = reinterpreted([ops.clampMax(size, 3e38)], { dtype: "uint32" })[0]!;
  const drop = 23 - fraction;
  const odd = ops.bitwiseAnd(ops.bitwiseRightShift(bits, drop), 1);
  const moved = ops.add(ops.add(bits, odd), 2 ** (drop - 1) - 1);
  const kept = ops.bitwiseLeftShift(ops.bitwiseRightShift(moved, drop), drop);
  const large = reinterpreted([kept], { dtype: "float32" })[0]!;
  const rounded = ops.where(ops.lt(size, 2 ** exponent), small, large);
  const beyond = !hasNan || c.flag("saturate", true) ? max : hasInfinity ? Infinity : NaN;
  const isInfinite = ops.isinf(size);
  const bounded = ops.where(ops.gt(rounded, max), ops.fullLike(rounded, beyond), rounded);
  const finite = ops.where(isInfinite, ops.fullLike(rounded, beyond), bounded);
  const signed = ops.where(ops.lt(wide, 0), ops.neg(finite), finite);
  return ops.to(ops.where(ops.isnan(wide), hasNan ? wide : ops.zerosLike(wide), signed), type.dtype);
}

/** The same bits as another type of the same size. DirectML: ELEMENT_WISE_IDENTITY. */
const reinterpreted = kernel<{ readonly dtype: DType }>({
  name: "bitCast",
  infer: ([x], { dtype }) => [{ shape: x!.shape, dtype }],
  lower: (g, [x], { dtype }) => [g.reinterpret(g.packed(x!), { dtype })],
  grad: null,
});

function bitCast(c: Call): Tensor {
  const x = c.x;
  const dtype = dtypeOf(c.int("to", 0), c.name);
  // Bytes other than 0 and 1 are true, too.
  if (dtype === "bool" && DTYPES[x.dtype].sizeInBytes === 1)
    return ops.ne(x.dtype === "bool" ? x : reinterpreted([x], { dtype: "uint8" })[0]!, 0);
  if (DTYPES[dtype].sizeInBytes !== DTYPES[x.dtype].sizeInBytes) throw c.unsupported(`${x.describe()} as ${dtype}, which has another size`);
  return reinterpreted([x], { dtype })[0]!;
}

function castLike(c: Call): Value {
  const like = c.inputs[1] ?? null;
  if (like instanceof Texts) return asTexts(c);
  const narrow = c.narrow(1);
  if (narrow !== null) return narrowed(c, c.x, narrow);
  const { dtype } = c.numeric(1);
  return c.inputs[0] instanceof Texts ? parsed(c, c.inputs[0], elementTypeOf(dtype)) : ops.to(c.x, dtype);
}

export const cast = family({ BitCast: bitCast, Cast: castTo, CastLike: castLike }, { isRaw: true });
