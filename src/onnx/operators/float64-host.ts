/** Arithmetic of float64, which DirectML has none for, on the host: what an operator makes of float64 stays there until a device needs it. */
import { elements } from "../../core/elements.ts";
import { broadcastShapes, sizeOf } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { Constant, type Value } from "../format/value.ts";
import { offsetOf } from "./broadcast-offset.ts";
import { LAYERS, SUPPORTED_SINCE, isComputed } from "./float64-layers.ts";
import { input, type Compute, type Numbers } from "./float64-numbers.ts";
import type { Family, Operator } from "./operator.ts";

const unary =
  (fn: (v: number) => number): Compute =>
  (c) => {
    const { shape, list } = input(c, 0);
    return { shape, list: list.map(fn) };
  };

function paired(c: Call, a: Numbers, b: Numbers, fn: (a: number, b: number) => number): Numbers {
  const shape = broadcastShapes(c.name, a.shape, b.shape);
  const size = c.hosted(sizeOf(shape), "inputs");
  return {
    shape,
    list: Array.from({ length: size }, (_, i) => fn(a.list[offsetOf(i, shape, a.shape)]!, b.list[offsetOf(i, shape, b.shape)]!)),
  };
}

/** The second operand, which before version 7 was laid along the first from an axis on. */
function second(c: Call): Numbers {
  const b = input(c, 1);
  if (c.opset >= 7 || !c.flag("broadcast") || b.shape.length === 0) return b;
  const rank = c.numeric(0).shape.length;
  const axis = c.hasAttribute("axis") ? c.axis(c.int("axis", 0), rank) : rank - b.shape.length;
  return { ...b, shape: [...b.shape, ...new Array<number>(Math.max(0, rank - axis - b.shape.length)).fill(1)] };
}

const binary =
  (fn: (a: number, b: number) => number): Compute =>
  (c) =>
    paired(c, input(c, 0), second(c), fn);

/** Of any number of inputs. */
const folded =
  (fn: (a: number, b: number) => number, end: (v: number, count: number) => number = (v) => v): Compute =>
  (c) => {
    let all = input(c, 0);
    for (let i = 1; i < c.inputs.length; i++) all = paired(c, all, input(c, i), fn);
    return { shape: all.shape, list: all.list.map((v) => end(v, c.inputs.length)) };
  };

/** Halves go to even. */
function rounded(v: number): number {
  const low = Math.floor(v);
  const rest = v - low;
  if (rest !== 0.5) return Math.round(v);
  return low % 2 === 0 ? low : low + 1;
}

/** With the sign of the divisor. */
function modulo(a: number, b: number): number {
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
}

const truth = (holds: boolean): number => (holds ? 1 : 0);
const passesNan =
  (pick: (a: number, b: number) => number) =>
  (a: number, b: number): number =>
    Number.isNaN(a) || Number.isNaN(b) ? NaN : pick(a, b);
const largest = passesNan(Math.max);
const smallest = passesNan(Math.min);

/** Axes of a reduction, which are an input or an attribute. */
function axesOf(c: Call, rank: number): number[] {
  const listed = c.has(1) ? c.numbers(1) : c.ints("axes");
  if (listed === null || listed.length === 0) return c.flag("noop_with_empty_axes") ? [] : Array.from({ length: rank }, (_, i) => i);
  return c.axes(listed, rank);
}

/** Sums, products and extremes along axes. */
const reduced =
  (start: number, step: (sum: number, v: number) => number, end: (sum: number, count: number) => number = (v) => v): Compute =>
  (c) => {
    const { shape, list } = input(c, 0);
    const axes = axesOf(c, shape.length);
    const kept = shape.map((d, i) => (axes.includes(i) ? 1 : d));
    const sums = new Array<number>(sizeOf(kept)).fill(start);
    list.forEach((v, i) => {
      const at = offsetOf(i, shape, kept);
      sums[at] = step(sums[at]!, v);
    });
    const count = axes.reduce((n, a) => n * shape[a]!, 1);
    const result = c.flag("keepdims", true) ? kept : kept.filter((_, i) => !axes.includes(i));
    return { shape: result, list: sums.map((v) => end(v, count)) };
  };

/** log(sum of exp), less the largest so that nothing overflows. */
function logSumExp(c: Call): Numbers {
  const { list: tops, shape } = reduced(-Infinity, largest)(c);
  const { shape: own, list } = input(c, 0);
  const axes = axesOf(c, own.length);
  const kept = own.map((d, i) => (axes.includes(i) ? 1 : d));
  const safe = tops.map((v) => (Number.isFinite(v) ? v : 0));
  const sums = tops.map(() => 0);
  list.forEach((v, i) => {
    const at = offsetOf(i, own, kept);
    sums[at]! += Math.exp(v - safe[at]!);
  });
  return { shape, list: sums.map((s, i) => Math.log(s) + safe[i]!) };
}

/** [..., M, K] by [..., K, N]. */
function product(c: Call, a: Numbers, b: Numbers): Numbers {
  const [left, right] = [a.shape.length === 1 ? [1, ...a.shape] : a.shape, b.shape.length === 1 ? [...b.shape, 1] : b.shape];
  const [m, k, n] = [left.at(-2)!, left.at(-1)!, right.at(-1)!];
  if (right.at(-2) !== k) throw c.invalid("inputs", `[..., M, K] and [..., K, N]`, [a.shape, b.shape]);
  const batch = broadcastShapes(c.name, left.slice(0, -2), right.slice(0, -2));
  const list = new Array<number>(c.hosted(sizeOf(batch) * m * n, "inputs"));
  for (let p = 0; p < sizeOf(batch); p++) {
    const [from, other] = [offsetOf(p, batch, left.slice(0, -2)) * m * k, offsetOf(p, batch, right.slice(0, -2)) * k * n];
    for (let i = 0; i < m; i++)
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let t = 0; t < k; t++) sum += a.list[from + i * k + t]! * b.list[other + t * n + j]!;
        list[(p * m + i) * n + j] = sum;
      }
  }
  const shape = [...batch, ...(a.shape.length === 1 ? [] : [m]), ...(b.shape.length === 1 ? [] : [n])];
  return { shape, list };
}

const transposed = ({ shape: [m, n], list }: Numbers): Numbers => ({
  shape: [n!, m!],
  list: Array.from({ length: m! * n! }, (_, i) => list[(i % m!) * n! + Math.floor(i / m!)]!),
});

function gemm(c: Call): Numbers {
  const side = (i: number, name: string): Numbers => (c.flag(name) ? transposed(input(c, i)) : input(c, i));
  const scaled = product(c, side(0, "transA"), side(1, "transB"));
  const [alpha, beta] = [c.float("alpha", 1), c.float("beta", 1)];
  const y = { shape: scaled.shape, list: scaled.list.map((v) => v * alpha) };
  return c.has(2) ? paired(c, y, input(c, 2), (a, b) => a + beta * b) : y;
}

/** exp(x - max) / sum along an axis, or its logarithm. */
const softmax =
  (isLog: boolean): Compute =>
  (c) => {
    const { shape, list } = input(c, 0);
    const axis = c.axis(c.int("axis", -1), shape.length);
    const kept = shape.map((d, i) => (i === axis ? 1 : d));
    const at = list.map((_, i) => offsetOf(i, shape, kept));
    const top = new Array<number>(sizeOf(kept)).fill(-Infinity);
    list.forEach((v, i) => (top[at[i]!] = Math.max(top[at[i]!]!, v)));
    const sums = new Array<number>(top.length).fill(0);
    list.forEach((v, i) => (sums[at[i]!]! += Math.exp(v - top[at[i]!]!)));
    const one = (v: number, k: number): number => (isLog ? v - top[k]! - Math.log(sums[k]!) : Math.exp(v - top[k]!) / sums[k]!);
    return { shape, list: list.map((v, i) => one(v, at[i]!)) };
  };

function clip(c: Call): Numbers {
  const { shape, list } = input(c, 0);
  const [low, high] = [c.number(1, -Infinity), c.number(2, Infinity)];
  return { shape, list: list.map((v) => smallest(largest(v, low), high)) };
}

function running(c: Call): Numbers {
  const { shape, list } = input(c, 0);
  const axis = c.axis(c.number(1), shape.length);
  const step = sizeOf(shape.slice(axis + 1));
  const length = shape[axis]!;
  const result = new Array<number>(list.length).fill(0);
  const [isExclusive, isReverse] = [c.flag("exclusive"), c.flag("reverse")];
  for (let row = 0; row < list.length / Math.max(1, length); row++) {
    const start = Math.floor(row / step) * step * length + (row % step);
    let sum = 0;
    for (let k = 0; k < length; k++) {
      const at = start + (isReverse ? length - 1 - k : k) * step;
      result[at] = isExclusive ? sum : sum + list[at]!;
      sum += list[at]!;
    }
  }
  return { shape, list: result };
}

/** Results of float64. */
const ARITHMETIC: Readonly<Record<string, Compute>> = {
  Abs: unary(Math.abs),
  Acos: unary(Math.acos),
  Acosh: unary(Math.acosh),
  Add: binary((a, b) => a + b),
  Asin: unary(Math.asin),
  Asinh: unary(Math.asinh),
  Atan: unary(Math.atan),
  Atanh: unary(Math.atanh),
  Ceil: unary(Math.ceil),
  Clip: clip,
  Cos: unary(Math.cos),
  Cosh: unary(Math.cosh),
  CumSum: running,
  Div: binary((a, b) => a / b),
  Exp: unary(Math.exp),
  Floor: unary(Math.floor),
  Gemm: gemm,
  ...LAYERS,
  Log: unary(Math.log),
  LogSoftmax: softmax(true),
  MatMul: (c) => product(c, input(c, 0), input(c, 1)),
  Max: folded(largest),
  Mean: folded(
    (a, b) => a + b,
    (v, n) => v / n,
  ),
  Min: folded(smallest),
  Mod: (c) => binary(c.flag("fmod") ? (a, b) => a % b : modulo)(c),
  Mul: binary((a, b) => a * b),
  Neg: unary((v) => -v),
  Pow: binary((a, b) => a ** b),
  Reciprocal: unary((v) => 1 / v),
  ReduceL1: reduced(0, (s, v) => s + Math.abs(v)),
  ReduceL2: reduced(0, (s, v) => s + v * v, Math.sqrt),
  ReduceLogSum: reduced(0, (s, v) => s + v, Math.log),
  ReduceLogSumExp: logSumExp,
  ReduceMax: reduced(-Infinity, largest),
  ReduceMean: reduced(
    0,
    (s, v) => s + v,
    (s, n) => s / n,
  ),
  ReduceMin: reduced(Infinity, smallest),
  ReduceProd: reduced(1, (s, v) => s * v),
  ReduceSum: reduced(0, (s, v) => s + v),
  ReduceSumSquare: reduced(0, (s, v) => s + v * v),
  Relu: unary((v) => (v > 0 || Number.isNaN(v) ? v : 0)),
  Round: unary(rounded),
  Sigmoid: unary((v) => 1 / (1 + Math.exp(-v))),
  Sign: unary(Math.sign),
  Sin: unary(Math.sin),
  Sinh: unary(Math.sinh),
  Softmax: softmax(false),
  Sqrt: unary(Math.sqrt),
  Sub: binary((a, b) => a - b),
  Sum: folded((a, b) => a + b),
  Tan: unary(Math.tan),
  Tanh: unary(Math.tanh),
};

/** Results of bool. */
const TESTS: Readonly<Record<string, Compute>> = {
  Equal: binary((a, b) => truth(a === b)),
  Greater: binary((a, b) => truth(a > b)),
  GreaterOrEqual: binary((a, b) => truth(a >= b)),
  IsNaN: unary((v) => truth(Number.isNaN(v))),
  Less: binary((a, b) => truth(a < b)),
  LessOrEqual: binary((a, b) => truth(a <= b)),
};

const isDouble = (v: Value | undefined): boolean => (v instanceof Tensor || v instanceof Constant) && v.dtype === "float64";

/** Versions from which an operator has its present meaning. */
const SINCE: Readonly<Record<string, number>> = {
  ...SUPPORTED_SINCE,
  Add: 1,
  Clip: 11,
  CumSum: 11,
  Div: 1,
  LogSoftmax: 13,
  Mul: 1,
  Pow: 1,
  Softmax: 13,
  Sub: 1,
};

function hosted(operator: Operator, compute: Compute, dtype: "float64" | "bool", first = 7): Operator {
  const run = (c: Call): Value[] => {
    // Older versions have other rules of shapes.
    if (!isDouble(c.inputs[0]) || c.opset < first || !isComputed(c)) return operator.run(c);
    for (let i = 0; i < c.inputs.length; i++) if (c.has(i)) c.hosted(sizeOf(c.numeric(i).shape), `input ${i}`);
    const { shape, list } = compute(c);
    return [new Constant(dtype, shape, elements(dtype, list))];
  };
  return { ...operator, run };
}

/** The operators that compute with float64 on the host. */
export const ON_HOST: readonly string[] = [...Object.keys(ARITHMETIC), ...Object.keys(TESTS)];

/** A family whose operators take float64, too. */
export const withDoubles = (table: Family): Family =>
  Object.fromEntries(
    Object.entries(table).map(([name, operator]) => {
      if (Object.hasOwn(ARITHMETIC, name)) return [name, hosted(operator, ARITHMETIC[name]!, "float64", SINCE[name])];
      return [name, Object.hasOwn(TESTS, name) ? hosted(operator, TESTS[name]!, "bool") : operator];
    }),
  );
