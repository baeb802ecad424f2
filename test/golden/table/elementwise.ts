/** Functions of elements: unary, binary, comparison, activation, casts. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { Missing } from "../cases.ts";
import type { Entry } from "./entry.ts";

const UNARY = ["abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "exp2", "expm1", "floor", "frac", "log", "log10", "log1p", "log2", "neg", "reciprocal", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "isnan", "isinf", "isfinite", "isposinf", "isneginf"] as const;
type Unary = (x: dx.Tensor) => dx.Tensor;

const method = (c: Call, name: string, ...args: unknown[]): void => void (c.x as unknown as Record<string, (...args: unknown[]) => void>)[name]!(...args);

const unary = Object.fromEntries(UNARY.map((name): [string, Entry] => [name, {
  run: (c) => (dx[name] as Unary)(c.x),
  inPlace: `${name}_` in dx.Tensor.prototype ? (c) => method(c, `${name}_`) : undefined,
}]));

type Binary = (a: dx.Tensor, b: dx.Tensor | number | bigint | boolean) => dx.Tensor;

/** f(input, other), with alpha where PyTorch has it. */
function pair(f: Binary, inPlace?: string): Entry {
  const other = (c: Call): dx.Tensor | number | bigint | boolean => {
    const value = c.positional.length > 1 ? c.positional[1]! : c.get("other", "exponent", "min", "max")!;
    if (typeof value === "string" || value === null || Array.isArray(value)) throw new dx.DTypeError("golden", "other", "a tensor or a number", String(value));
    const alpha = c.get("alpha");
    if (alpha !== undefined && alpha !== 1) return value instanceof dx.Tensor ? dx.mul(value, alpha as number) : Number(value) * (alpha as number);
    return value as dx.Tensor | number;
  };
  return {
    run: (c) => {
      if (c.has("rounding_mode")) throw new Missing("div has no rounding modes here");
      return f(operand(c), other(c));
    },
    ...(inPlace === undefined ? {} : { inPlace: (c: Call) => {
      if (c.has("rounding_mode")) throw new Missing("div has no rounding modes here");
      method(c, inPlace, other(c));
    } }),
  };
}
/** Operations that take a number at the first place, as PyTorch does. */
const NUMBER_FIRST = new Set(["add", "sub", "mul", "div", "true_divide", "pow", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_right_shift"]);
/** The first operand: a tensor, as for the method, or a number for some. */
const operand = (c: Call): dx.Tensor => (NUMBER_FIRST.has(c.case.op) && typeof c.positional[0] !== "string" ? (c.positional[0] as unknown as dx.Tensor) : c.x);
const reversed = (f: (a: dx.Tensor | number | bigint | boolean, b: dx.Tensor) => dx.Tensor): Entry => ({ run: (c) => f(c.positional[1] as dx.Tensor | number, c.x) });

const options = (c: Call, names: Readonly<Record<string, string>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(names).flatMap(([theirs, ours]) => (c.has(theirs) ? [[ours, c.get(theirs)]] : [])));
type WithOptions = (x: dx.Tensor, options: never) => dx.Tensor;
const activation = (f: WithOptions, names: Readonly<Record<string, string>> = {}): Entry => ({ run: (c) => f(c.x, options(c, names) as never) });

const CASTS: Readonly<Record<string, dx.DType>> = { bool: "bool", byte: "uint8", char: "int8", short: "int16", int: "int32", long: "int64", half: "float16", float: "float32", double: "float64", bfloat16: "bfloat16" };
const casts = Object.fromEntries(Object.entries(CASTS).map(([name, dtype]): [string, Entry] => [name, { run: (c) => c.x.to(dtype) }]));

export const elementwise: Readonly<Record<string, Entry>> = {
  ...unary,
  round: { run: (c) => dx.round(c.x, { decimals: c.number("decimals", 0) }), inPlace: (c) => method(c, "round_", { decimals: c.number("decimals", 0) }) },
  nan_to_num: { run: (c) => dx.nanToNum(c.x, options(c, { nan: "nan", posinf: "posinf", neginf: "neginf" })) },
  clamp: { run: (c) => dx.clamp(c.x, limit(c, "min"), limit(c, "max")), inPlace: (c) => method(c, "clamp_", limit(c, "min"), limit(c, "max")) },
  add: pair(dx.add, "add_"), sub: pair(dx.sub, "sub_"), mul: pair(dx.mul, "mul_"), div: pair(dx.div, "div_"), true_divide: pair(dx.div, "div_"),
  pow: pair(dx.pow, "pow_"), maximum: pair(dx.maximum), minimum: pair(dx.minimum), clamp_min: pair(dx.clampMin, "clampMin_"), clamp_max: pair(dx.clampMax, "clampMax_"),
  rsub: { run: (c) => dx.sub(...swapped(c)) },
  __radd__: reversed(dx.add), __rmul__: reversed(dx.mul), __rsub__: reversed(dx.sub), __rdiv__: reversed(dx.div), __rpow__: reversed(dx.pow),
  eq: pair(dx.eq), ne: pair(dx.ne), lt: pair(dx.lt), le: pair(dx.le), gt: pair(dx.gt), ge: pair(dx.ge),
  logical_and: pair(dx.logicalAnd), logical_or: pair(dx.logicalOr), logical_xor: pair(dx.logicalXor), logical_not: { run: (c) => dx.logicalNot(c.x) },
  bitwise_and: pair(dx.bitwiseAnd), bitwise_or: pair(dx.bitwiseOr), bitwise_xor: pair(dx.bitwiseXor), bitwise_not: { run: (c) => dx.bitwiseNot(c.x) }, bitwise_right_shift: pair(dx.bitwiseRightShift), __rand__: reversed(dx.bitwiseAnd),
  where: { run: (c) => dx.where(c.x, c.positional[1] as dx.Tensor, c.positional[2] as dx.Tensor) },
  masked_fill: { run: (c) => dx.maskedFill(c.x, c.tensor(c.positional[1]), c.operand("value")), inPlace: (c) => method(c, "maskedFill_", c.positional[1], c.operand("value")) },
  "nn.functional.relu": { run: (c) => dx.relu(c.x), inPlace: (c) => method(c, "relu_") },
  "nn.functional.sigmoid": activation(dx.sigmoid), "nn.functional.tanh": activation(dx.tanh),
  "nn.functional.leaky_relu": activation(dx.leakyRelu, { negative_slope: "slope" }), "nn.functional.elu": activation(dx.elu, { alpha: "alpha" }),
  "nn.functional.selu": activation(dx.selu), "nn.functional.celu": activation(dx.celu, { alpha: "alpha" }), "nn.functional.silu": activation(dx.silu),
  "nn.functional.gelu": activation(dx.gelu, { approximate: "approximate" }), "nn.functional.softplus": activation(dx.softplus, { beta: "beta", threshold: "threshold" }),
  "nn.functional.logsigmoid": activation(dx.logSigmoid), "nn.functional.mish": activation(dx.mish), "nn.functional.softsign": activation(dx.softsign),
  "nn.functional.hardtanh": activation(dx.hardtanh, { min_val: "min", max_val: "max" }), "nn.functional.relu6": activation(dx.relu6), "nn.functional.hardsigmoid": activation(dx.hardSigmoid),
  "nn.functional.hardswish": activation(dx.hardSwish), "nn.functional.hardshrink": activation(dx.hardshrink, { lambd: "lambda" }), "nn.functional.softshrink": activation(dx.softshrink, { lambd: "lambda" }),
  "nn.functional.tanhshrink": activation(dx.tanhshrink), "nn.functional.threshold": { run: (c) => dx.threshold(c.x, c.number("threshold", 0), c.number("value", 0)) },
  "nn.functional.prelu": { run: (c) => dx.prelu(c.x, c.tensor(c.get("weight"))) }, "nn.functional.glu": { run: (c) => dx.glu(c.x, c.number("dim", -1)) },
  ...casts,
  to: { run: (c) => {
    const dtype = [...c.positional.slice(1), c.get("dtype")].find((v) => typeof v === "object" && v !== null && "dtype" in v) as { dtype: dx.DType } | undefined;
    return c.x.to(dtype?.dtype ?? c.x.dtype);
  } },
};

function limit(c: Call, name: string): dx.Tensor | number | null {
  const v = c.get(name);
  return v === undefined || v === null ? null : (v as dx.Tensor | number);
}

function swapped(c: Call): [dx.Tensor | number, dx.Tensor] {
  const alpha = c.get("alpha");
  const other = c.positional.length > 1 ? c.positional[1] : c.get("other");
  const scaled = alpha === undefined || alpha === 1 ? c.x : dx.mul(c.x, alpha as number);
  return [other as dx.Tensor | number, scaled];
}
