/** Kernels of one element each: an expression over the elements of up to three tensors. Numbers are computed in float64 and rounded once. */
import type { backend } from "dxtensor";
import type { Elements } from "./memory.ts";
import { rows } from "./strides.ts";

type Call = backend.BackendCall;
/** A kernel over the elements of its tensors. */
export type Compute = (inputs: readonly Elements[], outputs: readonly Elements[]) => void;
/** Integers of 64 bits come as bigint: `+`, `<` and the like mean the same there. */
type Value = number;
type Fn = (a: Value, b: Value, c: Value) => Value;

/** The error function: its series, and the continued fraction of its complement. */
function erf(x: number): number {
  const a = Math.abs(x);
  if (!(a < 6)) return Number.isNaN(x) ? x : Math.sign(x);
  if (a < 2.5) {
    let sum = a;
    for (let n = 1, term = a; n < 60; n++) {
      term *= -(a * a) / n;
      sum += term / (2 * n + 1);
    }
    return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
  }
  let fraction = 0;
  for (let n = 60; n >= 1; n--) fraction = n / 2 / (a + fraction);
  return Math.sign(x) * (1 - Math.exp(-a * a) / Math.sqrt(Math.PI) / (a + fraction));
}

const sigmoid = (x: number): number => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
const bool = (x: boolean): Value => Number(x);

const attribute = (call: Call, name: string): number => call.attributes[name] as number;

/** Operators on floating numbers alone. */
const floating: { readonly [operator: string]: (call: Call) => Fn } = {
  ELEMENT_WISE_EXP: () => Math.exp,
  ELEMENT_WISE_LOG: () => Math.log,
  ELEMENT_WISE_SQRT: () => Math.sqrt,
  ELEMENT_WISE_RECIP: () => (x) => 1 / x,
  ELEMENT_WISE_SIN: () => Math.sin,
  ELEMENT_WISE_COS: () => Math.cos,
  ELEMENT_WISE_TAN: () => Math.tan,
  ELEMENT_WISE_TANH: () => Math.tanh,
  ELEMENT_WISE_ERF: () => erf,
  ELEMENT_WISE_FLOOR: () => Math.floor,
  ELEMENT_WISE_CEIL: () => Math.ceil,
  ELEMENT_WISE_IS_NAN: () => (x) => bool(Number.isNaN(x)),
  ELEMENT_WISE_DIVIDE: () => (a, b) => a / b,
  ELEMENT_WISE_POW: () => (a, b) => (a === 1 ? 1 : a ** b),
  ELEMENT_WISE_CONSTANT_POW: (call) => {
    const exponent = attribute(call, "exponent");
    return (x) => x ** exponent;
  },
  ELEMENT_WISE_CLIP: (call) => clip(attribute(call, "min"), attribute(call, "max")),
  ACTIVATION_IDENTITY: () => (x) => x,
  ACTIVATION_RELU: () => (x) => (x > 0 || Number.isNaN(x) ? x : 0),
  ACTIVATION_THRESHOLDED_RELU: (call) => {
    const alpha = attribute(call, "alpha");
    return (x) => (x <= alpha ? 0 : x);
  },
  ACTIVATION_SIGMOID: () => sigmoid,
  ACTIVATION_TANH: () => Math.tanh,
  ACTIVATION_GELU: () => (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  ACTIVATION_LEAKY_RELU: (call) => {
    const alpha = attribute(call, "alpha");
    return (x) => (x >= 0 || Number.isNaN(x) ? x : alpha * x);
  },
  ACTIVATION_ELU: (call) => {
    const alpha = attribute(call, "alpha");
    return (x) => (x >= 0 || Number.isNaN(x) ? x : alpha * Math.expm1(x));
  },
  ACTIVATION_RELU_GRAD: () => (x, dy) => (x <= 0 ? 0 : dy),
};

const clip =
  (least: Value, most: Value): Fn =>
  (x) =>
    x < least ? least : x > most ? most : x;

const zero = (x: Value): Value => (typeof x === "bigint" ? (0n as unknown as Value) : 0);

/** Operators on any numbers. */
const any: { readonly [operator: string]: (call: Call) => Fn } = {
  ELEMENT_WISE_IDENTITY: () => (x) => x,
  ELEMENT_WISE_NEGATE: () => (x) => -x,
  ELEMENT_WISE_ABS: () => (x) => (x < 0 || Object.is(x, -0) ? -x : x),
  ELEMENT_WISE_SIGN: () => (x) =>
    x > 0 ? ((typeof x === "bigint" ? 1n : 1) as Value) : x < 0 ? ((typeof x === "bigint" ? -1n : -1) as Value) : zero(x),
  ELEMENT_WISE_ADD: () => (a, b) => a + b,
  ELEMENT_WISE_ADD1: () => (a, b) => a + b,
  ELEMENT_WISE_SUBTRACT: () => (a, b) => a - b,
  ELEMENT_WISE_MULTIPLY: (call) => (call.inputs[0]!.dtype.endsWith("int32") ? (a, b) => Math.imul(a, b) : (a, b) => a * b),
  ELEMENT_WISE_DIFFERENCE_SQUARE: () => (a, b) => (a - b) * (a - b),
  ELEMENT_WISE_MAX: () => (a, b) => (a > b || Number.isNaN(a) ? a : b),
  ELEMENT_WISE_MIN: () => (a, b) => (a < b || Number.isNaN(a) ? a : b),
  ELEMENT_WISE_CLIP1: (call) => clip(attribute(call, "min"), attribute(call, "max")),
  ELEMENT_WISE_LOGICAL_NOT: () => (x) => bool(!x),
  ELEMENT_WISE_LOGICAL_AND: () => (a, b) => bool(Boolean(a) && Boolean(b)),
  ELEMENT_WISE_LOGICAL_OR: () => (a, b) => bool(Boolean(a) || Boolean(b)),
  ELEMENT_WISE_LOGICAL_XOR: () => (a, b) => bool(Boolean(a) !== Boolean(b)),
  ELEMENT_WISE_LOGICAL_EQUALS: () => (a, b) => bool(a === b),
  ELEMENT_WISE_LOGICAL_GREATER_THAN: () => (a, b) => bool(a > b),
  ELEMENT_WISE_LOGICAL_LESS_THAN: () => (a, b) => bool(a < b),
  ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL: () => (a, b) => bool(a >= b),
  ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL: () => (a, b) => bool(a <= b),
  ELEMENT_WISE_IF: () => (condition, a, b) => (condition ? a : b),
};

/** Operators on integers of up to 32 bits. */
const bits: { readonly [operator: string]: (call: Call) => Fn } = {
  ELEMENT_WISE_BIT_AND: () => (a, b) => a & b,
  ELEMENT_WISE_BIT_OR: () => (a, b) => a | b,
  ELEMENT_WISE_BIT_XOR: () => (a, b) => a ^ b,
  ELEMENT_WISE_BIT_NOT: () => (a) => ~a,
  ELEMENT_WISE_BIT_SHIFT_LEFT: () => (a, b) => (b < 32 ? a << b : 0),
  ELEMENT_WISE_BIT_SHIFT_RIGHT: (call) =>
    call.inputs[0]!.dtype.startsWith("u") ? (a, b) => (b < 32 ? a >>> b : 0) : (a, b) => a >> Math.min(b, 31),
};

export const elementwiseOperators = [...Object.keys(floating), ...Object.keys(any), ...Object.keys(bits)] as Call["operator"][];

const isLong = (dtype: string): boolean => dtype.endsWith("int64");

/** The kernel of an elementwise call; null where it has none. */
export function elementwise(call: Call): Compute | null {
  const inputs = call.inputs.map((t) => t!);
  const out = call.outputs[0]!;
  const onFloats = floating[call.operator];
  if (onFloats !== undefined && inputs.some((t) => t.dtype !== "float32")) return null;
  const onBits = bits[call.operator];
  if (onBits !== undefined && inputs.some((t) => isLong(t.dtype))) return null;
  let fn = (onFloats ?? onBits ?? any[call.operator]!)(call);
  if ((call.attributes["fusedActivation"] ?? null) !== null) return null;
  const scaleBias = call.attributes["scaleBias"] as readonly [number, number] | null | undefined;
  if (scaleBias != null) {
    if (inputs[0]!.dtype !== "float32") return null;
    const [plain, [scale, bias]] = [fn, scaleBias];
    fn = (a, b, c) => plain(Math.fround(a * scale + bias), b, c);
  }
  // A comparison of 64 bits gives one of 8: only there the kinds of number differ.
  const { length, steps, visit } = rows(
    out.sizes,
    [...inputs, out].map((t) => t.strides),
  );
  const count = inputs.length;
  return (given, [y]) => {
    const to = y as Float32Array;
    const [a, b = a, c = a] = given as Float32Array[];
    const [da, db, dc] = [steps[0]!, count > 1 ? steps[1]! : 0, count > 2 ? steps[2]! : 0];
    const dy = steps[count]!;
    visit((offsets) => {
      let [i, j, k] = [offsets[0]!, count > 1 ? offsets[1]! : 0, count > 2 ? offsets[2]! : 0];
      let o = offsets[count]!;
      for (let n = 0; n < length; n++, i += da, j += db, k += dc, o += dy) to[o] = fn(a![i]!, b![j]!, c![k]!);
    });
  };
}

/** CAST: to integers by truncation. */
export function cast(call: Call): Compute | null {
  const [from, out] = [call.inputs[0]!, call.outputs[0]!];
  const { length, steps, visit } = rows(out.sizes, [from.strides, out.strides]);
  const convert = isLong(out.dtype)
    ? (x: number | bigint): number | bigint => (typeof x === "bigint" ? x : Number.isFinite(x) ? BigInt(Math.trunc(x)) : 0n)
    : Number;
  return ([x], [y]) => {
    const to = y as unknown as (number | bigint)[];
    visit((offsets) => {
      for (let n = 0, i = offsets[0]!, o = offsets[1]!; n < length; n++, i += steps[0]!, o += steps[1]!) to[o] = convert(x![i]!);
    });
  };
}
