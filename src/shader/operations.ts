/** The pure operations of the shader language: types and semantics, for constant folding and the evaluator. */

/** f32, i32 and u32 are 32 bits wide; a bool is 0 or 1 here, and all bits of a register on the device. */
export type Scalar = "f32" | "i32" | "u32" | "bool";

export interface Operation {
  readonly args: readonly Scalar[];
  readonly result: Scalar;
  readonly apply: (a: number, b: number, c: number) => number;
}

const floats = new Float32Array(1);
const words = new Uint32Array(floats.buffer);
const halves = new Uint16Array(1);

export const bitsOfFloat = (x: number): number => {
  floats[0] = x;
  return words[0]!;
};
export const floatOfBits = (x: number): number => {
  words[0] = x;
  return floats[0]!;
};

const { fround } = Math;
const isLess = (a: number, b: number): number => Number(a < b);
const isAtLeast = (a: number, b: number): number => Number(a >= b);
const isEqual = (a: number, b: number): number => Number(a === b);
const differs = (a: number, b: number): number => Number(a !== b);
/** Direct3D's min and max give the number where the other one is NaN. */
const minNumber = (a: number, b: number): number => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.min(a, b));
const maxNumber = (a: number, b: number): number => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.max(a, b));

function roundEven(x: number): number {
  const down = Math.floor(x);
  const rest = x - down;
  if (rest !== 0.5) return rest < 0.5 ? down : Math.ceil(x);
  // Of -0.5: -0.
  return down % 2 === 0 ? down : Math.ceil(x);
}

/** float32 to the bits of a float16, to the nearest, ties to even. */
export function halfOfFloat(x: number): number {
  const bits = bitsOfFloat(x);
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) return sign | roundEven(floatOfBits(magnitude) * 2 ** 24);
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
  return sign | ((rounded - 0x38000000) >>> 13);
}

/** The same towards zero: Direct3D's rule for conversions to a format of lower range, which not every device follows. */
function truncatedHalf(x: number): number {
  const half = halfOfFloat(x);
  return (half & 0x7fff) !== 0 && Math.abs(floatOfHalf(half)) > Math.abs(x) ? half - 1 : half;
}

/** The number that the lower 16 bits are as a float16. */
export function floatOfHalf(word: number): number {
  halves[0] = word;
  const bits = halves[0]!;
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

function bitCount(x: number): number {
  let n = 0;
  for (let bits = x; bits !== 0; bits &= bits - 1) n++;
  return n;
}

function reverseBits(x: number): number {
  let result = 0;
  for (let i = 0; i < 32; i++) result = (result << 1) | ((x >>> i) & 1);
  return result >>> 0;
}

const saturate = (x: number, low: number, high: number): number => (Number.isNaN(x) ? 0 : Math.trunc(Math.min(Math.max(x, low), high)) + 0);

const op = (args: readonly Scalar[], result: Scalar, apply: (a: number, b: number, c: number) => number): Operation => ({
  args,
  result,
  apply,
});
const f1 = (apply: (a: number) => number): Operation => op(["f32"], "f32", (a) => fround(apply(a)));
const f2 = (apply: (a: number, b: number) => number): Operation => op(["f32", "f32"], "f32", (a, b) => fround(apply(a, b)));
const i2 = (apply: (a: number, b: number) => number): Operation => op(["i32", "i32"], "i32", (a, b) => apply(a, b) | 0);
const u2 = (apply: (a: number, b: number) => number): Operation => op(["u32", "u32"], "u32", (a, b) => apply(a, b) >>> 0);
const b2 = (apply: (a: number, b: number) => number): Operation => op(["bool", "bool"], "bool", apply);
const compare = (type: Scalar, apply: (a: number, b: number) => number): Operation => op([type, type], "bool", apply);
const choose = (type: Scalar): Operation => op(["bool", type, type], type, (c, a, b) => (c !== 0 ? a : b));

export const OPERATIONS = {
  "add.f32": f2((a, b) => a + b),
  "sub.f32": f2((a, b) => a - b),
  "mul.f32": f2((a, b) => a * b),
  "div.f32": f2((a, b) => a / b),
  "fma.f32": op(["f32", "f32", "f32"], "f32", (a, b, c) => fround(a * b + c)),
  "min.f32": f2(minNumber),
  "max.f32": f2(maxNumber),
  "neg.f32": f1((a) => -a),
  "abs.f32": f1(Math.abs),
  "sqrt.f32": f1(Math.sqrt),
  "rsqrt.f32": f1((a) => 1 / Math.sqrt(a)),
  "exp2.f32": f1((a) => 2 ** a),
  "log2.f32": f1(Math.log2),
  "floor.f32": f1(Math.floor),
  "ceil.f32": f1(Math.ceil),
  "trunc.f32": f1(Math.trunc),
  "round.f32": f1((a) => (Number.isFinite(a) ? roundEven(a) : a)),
  "lt.f32": compare("f32", isLess),
  "ge.f32": compare("f32", isAtLeast),
  "eq.f32": compare("f32", isEqual),
  "ne.f32": compare("f32", differs),

  "add.i32": i2((a, b) => a + b),
  "sub.i32": i2((a, b) => a - b),
  "mul.i32": i2(Math.imul),
  "min.i32": i2(Math.min),
  "max.i32": i2(Math.max),
  "and.i32": i2((a, b) => a & b),
  "or.i32": i2((a, b) => a | b),
  "xor.i32": i2((a, b) => a ^ b),
  "shl.i32": op(["i32", "u32"], "i32", (a, b) => a << b),
  "shr.i32": op(["i32", "u32"], "i32", (a, b) => a >> b),
  "neg.i32": op(["i32"], "i32", (a) => -a | 0),
  "not.i32": op(["i32"], "i32", (a) => ~a),
  "lt.i32": compare("i32", isLess),
  "ge.i32": compare("i32", isAtLeast),
  "eq.i32": compare("i32", isEqual),
  "ne.i32": compare("i32", differs),

  "add.u32": u2((a, b) => a + b),
  "sub.u32": u2((a, b) => a - b),
  "mul.u32": u2(Math.imul),
  /** By zero: all bits, as Direct3D has it. */
  "div.u32": u2((a, b) => (b === 0 ? 0xffffffff : Math.floor(a / b))),
  "mod.u32": u2((a, b) => (b === 0 ? 0xffffffff : a % b)),
  "min.u32": u2(Math.min),
  "max.u32": u2(Math.max),
  "and.u32": u2((a, b) => a & b),
  "or.u32": u2((a, b) => a | b),
  "xor.u32": u2((a, b) => a ^ b),
  "shl.u32": u2((a, b) => a << b),
  "shr.u32": u2((a, b) => a >>> b),
  "not.u32": op(["u32"], "u32", (a) => ~a >>> 0),
  "count.u32": op(["u32"], "u32", bitCount),
  "reverse.u32": op(["u32"], "u32", reverseBits),
  "lt.u32": compare("u32", isLess),
  "ge.u32": compare("u32", isAtLeast),
  "eq.u32": compare("u32", isEqual),
  "ne.u32": compare("u32", differs),

  "and.bool": b2((a, b) => a & b),
  "or.bool": b2((a, b) => a | b),
  "xor.bool": b2((a, b) => a ^ b),
  "not.bool": op(["bool"], "bool", (a) => 1 - a),

  "select.f32": choose("f32"),
  "select.i32": choose("i32"),
  "select.u32": choose("u32"),
  "select.bool": choose("bool"),

  "f32.to.i32": op(["f32"], "i32", (a) => saturate(a, -(2 ** 31), 2 ** 31 - 1)),
  "f32.to.u32": op(["f32"], "u32", (a) => saturate(a, 0, 2 ** 32 - 1)),
  "i32.to.f32": op(["i32"], "f32", fround),
  "u32.to.f32": op(["u32"], "f32", fround),
  "bool.to.u32": op(["bool"], "u32", (a) => a),
  "f32.as.u32": op(["f32"], "u32", bitsOfFloat),
  "u32.as.f32": op(["u32"], "f32", floatOfBits),
  "i32.as.u32": op(["i32"], "u32", (a) => a >>> 0),
  "u32.as.i32": op(["u32"], "i32", (a) => a | 0),
  /** Devices round it as they like: for numbers that a float16 holds exactly. `roundedHalf` (half.ts) rounds to the nearest. */
  "f32.to.half": op(["f32"], "u32", truncatedHalf),
  "half.to.f32": op(["u32"], "f32", floatOfHalf),
} satisfies { readonly [name: string]: Operation };

export type OperationName = keyof typeof OPERATIONS;

export const operation = (name: OperationName): Operation => OPERATIONS[name];

/** The same bits as another type: no instruction. */
export const isCast = (name: OperationName): boolean => name.includes(".as.");
