/** Functions of elements: unary, binary, comparison, activation, casts. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { method, op, type Entry } from "./entry.ts";

type Binary = (a: dx.Tensor, b: dx.Tensor | number | bigint | boolean) => dx.Tensor;

/** f(input, other), with alpha where PyTorch has it. */
function pair(f: Binary, inPlace?: string): Entry {
  const other = (c: Call): dx.Tensor | number | bigint | boolean => {
    const value = c.positional.length > 1 ? c.positional[1]! : c.get("other", "min", "max")!;
    if (typeof value === "string" || value === null || Array.isArray(value)) throw new dx.DTypeError("golden", "other", "a tensor or a number", String(value));
    const alpha = c.get("alpha");
    if (alpha !== undefined && alpha !== 1) return value instanceof dx.Tensor ? dx.mul(value, alpha as number) : Number(value) * (alpha as number);
    return value as dx.Tensor | number;
  };
  return { run: (c) => f(operand(c), other(c)), inPlace: inPlace === undefined ? undefined : (c: Call) => method(c, inPlace, other(c)) };
}
/** Operations that take a number as the first argument, as PyTorch does. */
const NUMBER_FIRST = new Set(["add", "sub"]);
/** The first operand: a tensor, as for the method, or a number for some. */
const operand = (c: Call): dx.Tensor => (NUMBER_FIRST.has(c.case.op) && typeof c.positional[0] !== "string" ? (c.positional[0] as unknown as dx.Tensor) : c.x);
const reversed = (f: (a: dx.Tensor | number | bigint | boolean, b: dx.Tensor) => dx.Tensor): Entry => ({ run: (c) => f(c.positional[1] as dx.Tensor | number, c.x) });

const CASTS: Readonly<Record<string, dx.DType>> = { bool: "bool", byte: "uint8", char: "int8", short: "int16", int: "int32", long: "int64", half: "float16", float: "float32", double: "float64", bfloat16: "bfloat16" };
const casts = Object.fromEntries(Object.entries(CASTS).map(([name, dtype]): [string, Entry] => [name, { run: (c) => c.x.to(dtype) }]));

export const elementwise: Readonly<Record<string, Entry>> = {
  clamp: { run: (c) => dx.clamp(c.x, limit(c, "min"), limit(c, "max")), inPlace: (c) => method(c, "clamp_", limit(c, "min"), limit(c, "max")) },
  add: pair(dx.add, "add_"), sub: pair(dx.sub, "sub_"),
  maximum: pair(dx.maximum), clamp_min: pair(dx.clampMin, "clampMin_"), clamp_max: pair(dx.clampMax, "clampMax_"),
  rsub: { run: (c) => dx.sub(...swapped(c)) },
  __radd__: reversed(dx.add), __rmul__: reversed(dx.mul), __rsub__: reversed(dx.sub), __rdiv__: reversed(dx.div), __rpow__: reversed(dx.pow),
  lt: pair(dx.lt), le: pair(dx.le),
  logical_or: pair(dx.logicalOr),
  __rand__: reversed(dx.bitwiseAnd),
  "nn.functional.logsigmoid": op((c) => dx.logSigmoid(c.x)), "nn.functional.hardsigmoid": op((c) => dx.hardSigmoid(c.x)), "nn.functional.hardswish": op((c) => dx.hardSwish(c.x)),
  "nn.functional.glu": { run: (c) => dx.glu(c.x, c.number("dim", -1)) },
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
