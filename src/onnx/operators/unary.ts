/** One tensor in, one of the same shape out. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { family, type Run } from "./operator.ts";

const plain =
  (fn: (x: Tensor) => Tensor): Run =>
  (c) =>
    fn(c.x);

function isInf(c: Call): Tensor {
  const [up, down] = [c.flag("detect_positive", true), c.flag("detect_negative", true)];
  if (up && down) return ops.isinf(c.x);
  if (up) return ops.isposinf(c.x);
  return down ? ops.isneginf(c.x) : ops.logicalAnd(ops.isinf(c.x), false);
}

export const unary = family({
  Abs: plain(ops.abs),
  Acos: plain(ops.acos),
  Acosh: plain(ops.acosh),
  Asin: plain(ops.asin),
  Asinh: plain(ops.asinh),
  Atan: plain(ops.atan),
  Atanh: plain(ops.atanh),
  BitwiseNot: plain(ops.bitwiseNot),
  Ceil: plain(ops.ceil),
  Cos: plain(ops.cos),
  Cosh: plain(ops.cosh),
  Erf: plain(ops.erf),
  Exp: plain(ops.exp),
  Floor: plain(ops.floor),
  IsInf: isInf,
  IsNaN: plain(ops.isnan),
  Log: plain(ops.log),
  Neg: plain(ops.neg),
  Not: plain(ops.logicalNot),
  Reciprocal: plain(ops.reciprocal),
  Round: plain((x) => ops.round(x)),
  Sign: plain(ops.sign),
  Sin: plain(ops.sin),
  Sinh: plain(ops.sinh),
  Sqrt: plain(ops.sqrt),
  Tan: plain(ops.tan),
  Tanh: plain(ops.tanh),
});
