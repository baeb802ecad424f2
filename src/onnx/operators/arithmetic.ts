/** Arithmetic, comparisons and logic of several tensors, whose shapes broadcast. */
import * as ops from "../../ops/index.ts";
import { DTYPES, isFloat } from "../../core/dtype.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { Constant } from "../format/value.ts";
import { family, type Run } from "./operator.ts";

/** Before version 7 the second operand was laid along the first only when asked, from an axis on. */
function pair(c: Call): [Tensor, Tensor] {
  const [a, b] = [c.tensor(0), c.tensor(1)];
  if (c.opset >= 7 || !c.flag("broadcast") || b.rank === 0) return [a, b];
  const axis = c.hasAttribute("axis") ? c.axis(c.int("axis", 0), a.rank) : a.rank - b.rank;
  return [a, ops.reshape(b, [...b.shape, ...new Array<number>(a.rank - axis - b.rank).fill(1)])];
}

const binary =
  (fn: (a: Tensor, b: Tensor) => Tensor): Run =>
  (c) =>
    fn(...pair(c));

/** The first with the second, that with the third, … */
const folded =
  (fn: (a: Tensor, b: Tensor) => Tensor): Run =>
  (c) =>
    c.all().reduce((a, b) => fn(a, b));

function divide(c: Call): Tensor {
  const [a, b] = pair(c);
  return isFloat(a.dtype) ? ops.div(a, b) : ops.div(a, b, { roundingMode: "trunc" });
}

function modulo(c: Call): Tensor {
  const [a, b] = [c.tensor(0), c.tensor(1)];
  return c.flag("fmod") ? ops.fmod(a, b) : ops.remainder(a, b);
}

/** An operand that is one number, known when the model is loaded, and does not change the shape of the result with x; null: it is not. */
function fixedNumber(c: Call, at: number, x: Tensor): number | null {
  const v = c.inputs[at];
  if (!(v instanceof Constant) || v.isParameter || v.size !== 1 || v.shape.length > x.rank) return null;
  return v.numbers()[0]!;
}

/** The base's dtype is the result's, whatever the exponent's. */
function power(c: Call): Tensor {
  const base = c.tensor(0);
  const exponent = base.dtype === "float32" ? fixedNumber(c, 1, base) : null;
  if (exponent !== null) return ops.pow(base, exponent);
  const [a, b] = pair(c);
  if (isFloat(a.dtype) || !isFloat(b.dtype)) return ops.to(ops.pow(a, b), a.dtype);
  return ops.to(ops.trunc(ops.pow(ops.to(a, "float32"), b)), a.dtype);
}

/** Shifts by the width or more leave nothing (right of negative numbers: the sign); counts below zero shift as large ones do. */
function bitShift(c: Call): Tensor {
  const isLeft = c.oneOf("direction", "LEFT", ["LEFT", "RIGHT"]) === "LEFT";
  const [a, b] = [c.tensor(0), c.tensor(1)];
  const { sizeInBytes, isSigned } = DTYPES[a.dtype];
  const width = 8 * sizeInBytes;
  const isBeyond = isSigned ? ops.logicalOr(ops.ge(b, width), ops.lt(b, 0)) : ops.ge(b, width);
  const count = ops.where(isBeyond, ops.zerosLike(b), b);
  const shifted = isLeft ? ops.bitwiseLeftShift(a, count) : ops.bitwiseRightShift(a, count);
  const none = ops.zerosLike(shifted);
  const emptied = isLeft || !isSigned ? none : ops.where(ops.lt(a, 0), ops.fullLike(shifted, -1), none);
  return ops.where(isBeyond, emptied, shifted);
}

function clip(c: Call): Tensor {
  let x = c.x;
  if (c.opset < 11) return ops.clamp(x, c.float("min", -3.4028234663852886e38), c.float("max", 3.4028234663852886e38));
  if (x.dtype === "float32" && c.has(1) && c.has(2)) {
    const [min, max] = [fixedNumber(c, 1, x), fixedNumber(c, 2, x)];
    if (min !== null && max !== null) return min < max ? ops.hardtanh(x, { minVal: min, maxVal: max }) : ops.clamp(x, min, max);
  }
  const [low, high] = [c.optional(1), c.optional(2)];
  if (low !== null) x = ops.maximum(x, low);
  return high === null ? x : ops.minimum(x, high);
}

export const arithmetic = family({
  Add: binary(ops.add),
  And: binary(ops.logicalAnd),
  BitShift: bitShift,
  BitwiseAnd: binary(ops.bitwiseAnd),
  BitwiseOr: binary(ops.bitwiseOr),
  BitwiseXor: binary(ops.bitwiseXor),
  Clip: clip,
  Div: divide,
  Equal: binary(ops.eq),
  Greater: binary(ops.gt),
  GreaterOrEqual: binary(ops.ge),
  Less: binary(ops.lt),
  LessOrEqual: binary(ops.le),
  Max: folded(ops.maximum),
  Mean: (c) =>
    ops.div(
      c.all().reduce((a, b) => ops.add(a, b)),
      c.inputs.length,
    ),
  Min: folded(ops.minimum),
  Mod: modulo,
  Mul: binary(ops.mul),
  Or: binary(ops.logicalOr),
  Pow: power,
  Sub: binary(ops.sub),
  Sum: folded(ops.add),
  Where: (c) => ops.where(c.tensor(0), c.tensor(1), c.tensor(2)),
  Xor: binary(ops.logicalXor),
});
