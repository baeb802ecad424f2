/** Forms of numbers in their parts, of transforms, and of pools of boxes. */
import type { DftAttributes } from "../../fft/dft.ts";
import { DTYPES, type DType } from "../../core/dtype.ts";
import { ELEMENT_TYPES } from "./element-types.ts";
import { form, type FormCall, type Forms } from "./form.ts";
import type { Name } from "./onnx-graph.ts";

/** Exponents [e] with 2^(e - 1) <= |x| < 2^e, of finite numbers other than 0; and the mantissas. */
function parts(c: FormCall, x: Name, dtype: DType): [mantissa: Name, exponent: Name] {
  const number = (v: number): Name => c.graph.scalar(dtype, v);
  const size = c.node("Abs", [x]);
  const isPlain = c.node("Or", [c.node("Equal", [x, number(0)]), c.node("Or", [c.node("IsNaN", [x]), c.node("IsInf", [x])])]);
  const safe = c.node("Where", [isPlain, number(1), size]);
  // A logarithm may be one off: the mantissa says which way. Two factors, since 2^-e may be too small for one.
  const estimate = c.node("Floor", [c.node("Mul", [c.node("Log", [safe]), number(Math.LOG2E)])]);
  const half = c.node("Floor", [c.node("Mul", [estimate, number(0.5)])]);
  const power = (e: Name): Name => c.node("Pow", [number(2), c.node("Neg", [e])]);
  const scaled = c.node("Mul", [c.node("Mul", [safe, power(half)]), power(c.node("Sub", [estimate, half]))]);
  const above = c.node("GreaterOrEqual", [scaled, number(2)]);
  const below = c.node("Less", [scaled, number(1)]);
  const step = (up: number, down: number, keep: number): Name =>
    c.node("Where", [above, number(up), c.node("Where", [below, number(down), number(keep)])]);
  const mantissa = c.node("Mul", [c.node("Mul", [scaled, step(0.25, 1, 0.5)]), c.node("Sign", [x])]);
  const exponent = c.node("Add", [estimate, step(2, 0, 1)]);
  return [c.node("Where", [isPlain, x, mantissa]), c.node("Where", [isPlain, number(0), exponent])];
}

/** The float32 next to a towards b: one unit of a's last digit away from 0, towards it half of one below a power of two. */
function neighbour(c: FormCall): Name {
  if (c.dtype !== "float32") c.refuse(c.dtype);
  const [a, b] = c.inputs.map((v) => c.cast(v, c.dtype)) as [Name, Name];
  const number = (v: number): Name => c.number(v);
  const smallest = number(2 ** -149);
  const [mantissa, exponent] = parts(c, a, c.dtype);
  const unit = c.node("Max", [c.node("Pow", [number(2), c.node("Max", [c.node("Sub", [exponent, number(24)]), number(-149)])]), smallest]);
  const isRising = c.node("Less", [a, b]);
  const isOutward = c.node("Equal", [isRising, c.node("Greater", [a, number(0)])]);
  const isEdge = c.node("Equal", [c.node("Abs", [mantissa]), number(0.5)]);
  const inward = c.node("Where", [isEdge, c.node("Max", [c.node("Mul", [unit, number(0.5)]), smallest]), unit]);
  const size = c.node("Where", [isOutward, unit, inward]);
  const next = c.node("Where", [isRising, c.node("Add", [a, size]), c.node("Sub", [a, size])]);
  const fromInfinity = c.node("Mul", [c.node("Sign", [a]), number(3.4028234663852886e38)]);
  const fromZero = c.node("Mul", [c.node("Sign", [b]), smallest]);
  const moved = c.node("Where", [c.node("IsInf", [a]), fromInfinity, c.node("Where", [c.node("Equal", [a, number(0)]), fromZero, next])]);
  const isNan = c.node("Or", [c.node("IsNaN", [a]), c.node("IsNaN", [b])]);
  return c.node("Where", [isNan, c.node("Add", [a, b]), c.node("Where", [c.node("Equal", [a, b]), b, moved])]);
}

/** Counts of ones in a byte. */
const ONES = Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

/** Byte by byte, of the number modulo 2^32 and what is above. */
function ones(c: FormCall): Name {
  const { dtype } = c.x;
  if (dtype === "bool") return c.node("Cast", [c.x.name], { to: ELEMENT_TYPES.int32 });
  if (dtype === "uint64") c.refuse("uint64");
  const long = (v: number): Name => c.graph.scalar("int64", v);
  const table = c.graph.constant("int32", [256], ONES);
  const half = 2 ** 32;
  const x = c.cast(c.x, "int64");
  const bytes = DTYPES[dtype].sizeInBytes;
  const low = c.node("Mod", [x, long(bytes < 4 ? 2 ** (8 * bytes) : half)]);
  const words = bytes === 8 ? [low, c.node("Mod", [c.node("Div", [c.node("Sub", [x, low]), long(half)]), long(half)])] : [low];
  const counts = words.flatMap((word) =>
    Array.from({ length: Math.min(bytes, 4) }, (_, i) => {
      const byte = c.node("Mod", [i === 0 ? word : c.node("Div", [word, long(256 ** i)]), long(256)]);
      return c.node("Gather", [table, byte], { axis: 0 });
    }),
  );
  return counts.reduce((a, b) => c.node("Add", [a, b]));
}

/** x [P, inputs, Q]: DFT along the second axis, of pairs along the last. */
function transformed(c: FormCall<DftAttributes>): Name[] {
  const { sign, scale, from, to } = c.attrs;
  const [n, inputs, outputs] = [c.fixed("n"), c.fixed("inputs"), c.fixed("outputs")];
  const last = c.graph.ints([3]);
  const column = (i: number): Name => c.node("Unsqueeze", [c.inputs[i]!.name, last]);
  const pairs = from === "real" ? column(0) : c.node("Concat", [column(0), column(1)], { axis: 3 });
  const whole = inputs < n ? c.node("Pad", [pairs, c.graph.ints([0, 0, 0, 0, 0, n - inputs, 0, 0]), c.number(0)]) : pairs;
  const inverse = sign === 1 ? 1 : 0;
  // Inputs of real numbers, transformed forwards, may be real; ONNX divides an inverse transform by its length.
  const source = inverse === 1 && from === "real" ? c.node("Pad", [whole, c.graph.ints([0, 0, 0, 0, 0, 0, 0, 1]), c.number(0)]) : whole;
  const made =
    c.graph.opset >= 20
      ? c.node("DFT", [source, null, c.graph.scalar("int64", 1)], { inverse })
      : c.node("DFT", [source], { axis: 1, inverse });
  const factor = inverse === 1 ? scale * n : scale;
  const scaled = factor === 1 ? made : c.node("Mul", [made, c.number(factor)]);
  const kept = outputs < n ? c.node("Slice", [scaled, c.graph.ints([0]), c.graph.ints([outputs]), c.graph.ints([1])]) : scaled;
  const part = (i: number): Name => c.node("Gather", [kept, c.graph.scalar("int64", i)], { axis: 3 });
  return to === "real" ? [part(0)] : [part(0), part(1)];
}

export const numberParts: Forms = {
  bitCount: form(ones),
  dft: form(transformed),
  frexp: form((c) => {
    const [mantissa, exponent] = parts(c, c.x.name, c.x.dtype);
    return [mantissa, c.node("Cast", [exponent], { to: ELEMENT_TYPES.int32 })];
  }),
  nextafter: form(neighbour),
  roiPool: form<{ readonly size: readonly [number, number] }>((c) => {
    const [x, boxes] = c.inputs;
    return c.node("MaxRoiPool", [x!.name, c.cast(boxes!, c.dtype)], { pooled_shape: c.fixed("size"), spatial_scale: { float: 1 } });
  }),
};
