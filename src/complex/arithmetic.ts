/** Sums, products and quotients of complex numbers. */
import { ComplexTensor } from "../core/complex-tensor.ts";
import { isFloat, resultType as resultOf, type DType } from "../core/dtype.ts";
import { DTypeError } from "../core/errors.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { add as plus, div as over, mul as times, sub as minus, type Arithmetic } from "../ops/elementwise/binary.ts";
import { eq, isinf } from "../ops/elementwise/compare.ts";
import { toDType } from "../ops/data/conversion.ts";
import { matmul as realMatmul } from "../ops/matmul/matmul.ts";
import { alias, broadcastTo, unsqueeze } from "../ops/shape/movement.ts";
import { sum as total, type Axes, type ReduceOptions, mean as average } from "../ops/reduce/reduce.ts";
import { cumsum as running } from "../ops/scan/cumulative.ts";
import { abs, neg as negative, sign } from "../ops/elementwise/unary.ts";
import { maximum, where } from "../ops/elementwise/where.ts";
import { broadcastShapes, normalizeAxes, normalizeAxis } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { fromPairs, fromParts, ofPairs } from "./pairs.ts";

/** A JavaScript complex number: its real and imaginary part. */
export type ComplexNumber = readonly [re: number, im: number];
/** Operands of arithmetic: complex and real tensors, numbers, and pairs of numbers. */
export type ComplexOperand = ComplexTensor | Tensor | number | ComplexNumber;

interface Operand {
  readonly re: Arithmetic;
  /** null: real. */
  readonly im: Arithmetic | null;
}

function operandOf(operation: string, v: ComplexOperand): Operand {
  if (v instanceof ComplexTensor) return { re: v.re, im: v.im };
  if (v instanceof Tensor || typeof v === "number") return { re: v, im: null };
  if (Array.isArray(v) && v.length === 2 && v.every((n) => typeof n === "number")) return { re: v[0] as number, im: v[1] as number };
  throw new DTypeError(operation, "operand", "a complex or real tensor, a number or a pair of numbers", String(v));
}

/** The real dtype that both are computed in. Numbers never widen. */
function commonType(operation: string, a: Operand, b: Operand): DType {
  const tensors = [a.re, b.re].filter((v): v is Tensor => v instanceof Tensor);
  for (const t of tensors)
    if (isFloat(t.dtype) && t.dtype !== "float32" && t.dtype !== "float16")
      throw new DTypeError(operation, "operand", "float32, float16, or an integer's dtype", t.describe());
  const dtype = resultOf(tensors);
  return isFloat(dtype) ? dtype : "float32";
}

function operands(operation: string, a: ComplexOperand, b: ComplexOperand): [Operand, Operand] {
  const [x, y] = [operandOf(operation, a), operandOf(operation, b)];
  const dtype = commonType(operation, x, y);
  const cast = (v: Arithmetic): Arithmetic => (v instanceof Tensor ? toDType(v, dtype) : v);
  const seen = ({ re, im }: Operand): Operand => ({ re: cast(re), im: im === null ? null : cast(im) });
  return [seen(x), seen(y)];
}

/** A result of two parts, of which one may be of a smaller shape. */
function result(re: Tensor, im: Tensor): ComplexTensor {
  const shape = broadcastShapes("complex", re.shape, im.shape);
  return fromParts(broadcastTo(re, shape), broadcastTo(im, shape));
}

/** A function that is linear in both parts, applied to the pairs of two complex tensors at once; null for other operands. */
function linear(a: ComplexOperand, b: ComplexOperand, fn: (a: Tensor, b: Tensor) => Tensor): ComplexTensor | null {
  if (!(a instanceof ComplexTensor) || !(b instanceof ComplexTensor) || a.isConj !== b.isConj) return null;
  const dtype = resultOf([a.re, b.re]);
  return fromPairs(fn(toDType(a.pairs, dtype), toDType(b.pairs, dtype)), a.isConj);
}

/** Both numbers of each pair with the same real operand. */
function scaled(operation: string, z: ComplexTensor, by: Arithmetic, fn: (pairs: Tensor, by: Arithmetic) => Tensor): ComplexTensor {
  const [x, y] = operands(operation, z, by as Tensor | number);
  const pairs = toDType(z.pairs, (x.re as Tensor).dtype);
  return fromPairs(fn(pairs, y.re instanceof Tensor ? unsqueeze(y.re, -1) : y.re), z.isConj);
}
const isReal = (v: ComplexOperand): v is Tensor | number => v instanceof Tensor || typeof v === "number";

/** a + b. */
export function add(a: ComplexOperand, b: ComplexOperand): ComplexTensor {
  const both = linear(a, b, plus);
  if (both !== null) return both;
  const [x, y] = operands("add", a, b);
  return result(plus(x.re, y.re), (x.im === null ? y.im : y.im === null ? x.im : plus(x.im, y.im)) as Tensor);
}

/** a - b. */
export function sub(a: ComplexOperand, b: ComplexOperand): ComplexTensor {
  const both = linear(a, b, minus);
  if (both !== null) return both;
  const [x, y] = operands("sub", a, b);
  return result(minus(x.re, y.re), (x.im === null ? negative(y.im as Tensor) : y.im === null ? x.im : minus(x.im, y.im)) as Tensor);
}

/** b - a. */
export const rsub = (a: ComplexOperand, b: ComplexOperand): ComplexTensor => sub(b, a);

/** a b. */
export function mul(a: ComplexOperand, b: ComplexOperand): ComplexTensor {
  if (a instanceof ComplexTensor && isReal(b)) return scaled("mul", a, b, times);
  if (b instanceof ComplexTensor && isReal(a)) return scaled("mul", b, a, times);
  const [x, y] = operands("mul", a, b) as [{ re: Arithmetic; im: Arithmetic }, { re: Arithmetic; im: Arithmetic }];
  return result(minus(times(x.re, y.re), times(x.im, y.im)), plus(times(x.re, y.im), times(x.im, y.re)));
}

/** a / b. b is first divided by the larger of its parts, so that no square overflows; by zero and by infinity as in C. */
export function div(a: ComplexOperand, b: ComplexOperand): ComplexTensor {
  if (a instanceof ComplexTensor && isReal(b)) return scaled("div", a, b, over);
  const [x, y] = operands("div", a, b);
  if (!(y.re instanceof Tensor)) return mul(a, inverse(y.re as number, y.im as number));
  const [re, im] = [y.re, y.im as Tensor];
  // A factor that cancels: no gradient flows through it.
  const { scale, isZero, isEndless } = noGrad(() => {
    const larger = maximum(abs(re), abs(im));
    return { scale: larger, isZero: eq(larger, 0), isEndless: isinf(larger) };
  });
  const boxed = (t: Tensor): Tensor => noGrad(() => where(isinf(t), sign(t), 0));
  const reduced = (t: Tensor, atZero: number): Tensor =>
    where(isZero, atZero, where(isEndless, boxed(t), over(t, where(isZero, 1, scale))));
  const [c, d] = [reduced(re, 1), reduced(im, 0)];
  const square = times(plus(times(c, c), times(d, d)), scale);
  if (x.im === null) return result(over(times(x.re, c), square), over(negative(times(x.re, d)), square));
  return result(over(plus(times(x.re, c), times(x.im, d)), square), over(minus(times(x.im, c), times(x.re, d)), square));
}

/** 1 / (re + i im) in float64. */
function inverse(re: number, im: number): ComplexNumber {
  const scale = Math.max(Math.abs(re), Math.abs(im)) || 1;
  const [c, d] = [re / scale, im / scale];
  const square = (c * c + d * d) * scale;
  return [c / square, -d / square];
}

/** -z. */
export const neg = (z: ComplexTensor): ComplexTensor => ofPairs(z, negative);
/** z itself, as a view. */
export const positive = (z: ComplexTensor): ComplexTensor => ofPairs(z, alias);
/** 1 / z. */
export const reciprocal = (z: ComplexTensor): ComplexTensor => div(1, z);
/** z z. */
export const square = (z: ComplexTensor): ComplexTensor => mul(z, z);

type Reduction = (x: Tensor, axis: Axes, options: ReduceOptions) => Tensor;
function reduced(z: ComplexTensor, axis: Axes, options: ReduceOptions, operation: string, fn: Reduction): ComplexTensor {
  // Of a scalar there is no axis to name.
  if (z.rank === 0) return fromParts(fn(z.re, axis, options), fn(z.im, axis, options));
  const axes = axis === null || (Array.isArray(axis) && axis.length === 0) ? null : axis;
  return ofPairs(z, (pairs) => fn(pairs, normalizeAxes(operation, axes, z.rank), options));
}

/** The sum over axes (null: all). */
export const sum = (z: ComplexTensor, axis: Axes = null, options: ReduceOptions = {}): ComplexTensor =>
  reduced(z, axis, options, "sum", total);
/** The mean over axes (null: all). */
export const mean = (z: ComplexTensor, axis: Axes = null, options: ReduceOptions = {}): ComplexTensor =>
  reduced(z, axis, options, "mean", average);
/** Sums up to each index of an axis. */
export const cumsum = (z: ComplexTensor, axis: number): ComplexTensor =>
  z.rank === 0
    ? fromParts(running(z.re, axis), running(z.im, axis))
    : ofPairs(z, (pairs) => running(pairs, normalizeAxis("cumsum", axis, z.rank)));

/** The matrix product; one of both may be real. Shapes as matmul's. */
export function matmul(a: ComplexTensor | Tensor, b: ComplexTensor | Tensor): ComplexTensor {
  const [x, y] = operands("matmul", a, b) as [{ re: Tensor; im: Tensor | null }, { re: Tensor; im: Tensor | null }];
  if (x.im === null) return result(realMatmul(x.re, y.re), realMatmul(x.re, y.im!));
  if (y.im === null) return result(realMatmul(x.re, y.re), realMatmul(x.im, y.re));
  return result(minus(realMatmul(x.re, y.re), realMatmul(x.im, y.im)), plus(realMatmul(x.re, y.im), realMatmul(x.im, y.re)));
}
