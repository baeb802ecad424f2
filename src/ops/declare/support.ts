/** Helpers of lowerings and gradients that many operations share. @package */
import { neutral } from "../../core/padded-axes.ts";
import { narrowToBfloat16, roundToBfloat16, widenBfloat16 } from "../../graph/bfloat16.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { OperatorName } from "../../dml/operators.generated.ts";
import { arithmetic } from "../../autograd/gradient-arithmetic.ts";
import { call } from "../../dispatch/dispatch.ts";
import { DTYPES, dataTypeName as dmlName, isFloat, isInteger, type DType } from "../../core/dtype.ts";
import { DTypeError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { sameShape, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { define } from "../../core/definition.ts";

/** Tests give bool. */
export const BOOL = { output: { dtype: "bool" } } as const;

/** x in another dtype. float to bool asks for x != 0; DirectML's CAST does the rest. */
export function cast(g: GraphBuilder, x: Expr, dtype: DType): Expr {
  if (x.dtype === dtype) return x;
  if (x.dtype === "bool" && dtype === "uint8") return g.reinterpret(x, { dtype });
  if (dtype === "bool" && x.dtype === "float64") {
    const bits = magnitude(g, x);
    return g.elementWiseLogicalNot(g.elementWiseLogicalEquals(bits, constant(g, "uint64", 0n, x.sizes), BOOL), BOOL);
  }
  if (dtype === "bool") {
    const zero = g.expand(
      g.fillValueConstant({ output: { sizes: [1], dtype: x.dtype }, valueDataType: dmlName(x.dtype), value: { dtype: x.dtype, value: 0 } }),
      x.sizes,
    );
    return g.elementWiseLogicalNot(g.elementWiseLogicalEquals(x, zero, BOOL), BOOL);
  }
  if (x.dtype === "bfloat16") return cast(g, widenBfloat16(g, x), dtype);
  if (dtype === "bfloat16") return narrowToBfloat16(g, roundToBfloat16(g, cast(g, x, "float32")));
  if (isInteger(x.dtype) && narrows(x.dtype, dtype)) return narrowed(g, x, dtype);
  return g.cast(x, { output: { dtype } });
}

const bitsOf = (g: GraphBuilder, x: Expr): Expr => g.reinterpret(x, { dtype: "uint64" });
const SIGN = 1n << 63n;
/** float64 without its sign, as bits: they have the order of the numbers. DirectML compares no float64. */
const magnitude = (g: GraphBuilder, x: Expr): Expr => g.elementWiseBitAnd(bitsOf(g, x), constant(g, "uint64", SIGN - 1n, x.sizes));
/** |x| of float64. */
export const abs64 = (g: GraphBuilder, x: Expr): Expr => g.reinterpret(magnitude(g, x), { dtype: "float64" });
/** -x of float64. */
export const neg64 = (g: GraphBuilder, x: Expr): Expr =>
  g.reinterpret(g.elementWiseBitXor(bitsOf(g, x), constant(g, "uint64", SIGN, x.sizes)), { dtype: "float64" });
/** Whether |x| of float64 is less than 2^exponent. */
const isBelow = (g: GraphBuilder, x: Expr, exponent: number): Expr =>
  g.elementWiseLogicalLessThan(magnitude(g, x), constant(g, "uint64", BigInt(1023 + exponent) << 52n, x.sizes), BOOL);

/** Whether integers of one dtype may lie outside another integer dtype. */
function narrows(from: DType, to: DType): boolean {
  const [a, b] = [DTYPES[from], DTYPES[to]];
  if (b.kind !== "int") return false;
  return a.sizeInBytes > b.sizeInBytes || (a.isSigned && !b.isSigned) || (a.sizeInBytes === b.sizeInBytes && a.isSigned !== b.isSigned);
}

/** The low bits of integers, as PyTorch casts: DirectML's CAST gives the nearest number of the dtype instead. */
function narrowed(g: GraphBuilder, x: Expr, dtype: DType): Expr {
  const { sizeInBytes, isSigned } = DTYPES[dtype];
  if (sizeInBytes === 8) return g.reinterpret(DTYPES[x.dtype].sizeInBytes === 8 ? x : g.cast(x, { output: { dtype: "int64" } }), { dtype });
  const wide = sizeInBytes === 4 || DTYPES[x.dtype].sizeInBytes === 8 ? "int64" : "int32";
  const seen =
    x.dtype === wide
      ? x
      : x.dtype === "uint64"
        ? g.reinterpret(x, { dtype: "int64" })
        : x.dtype === "uint32" && wide === "int32"
          ? g.reinterpret(x, { dtype: "int32" })
          : g.cast(x, { output: { dtype: wide } });
  const number = (v: number): Expr => constant(g, wide, wide === "int64" ? BigInt(v) : v, x.sizes);
  const low = g.elementWiseBitAnd(seen, number(2 ** (8 * sizeInBytes) - 1));
  const sign = 2 ** (8 * sizeInBytes - 1);
  return g.cast(isSigned ? g.elementWiseSubtract(g.elementWiseBitXor(low, number(sign)), number(sign)) : low, { output: { dtype } });
}

/**
 * Real numbers in an integer dtype, rounded towards zero. What lies outside 32 (for int64: 64) bits, and NaN, is the least number of these,
 * and shorter dtypes take the low bits, as PyTorch has it on x86; DirectML's CAST alone gives the nearest number or 0.
 */
export function whole(g: GraphBuilder, x: Expr, dtype: DType): Expr {
  if (dtype === "uint32" || dtype === "uint64") return g.cast(x, { output: { dtype } });
  const wide = dtype === "int64" ? "int64" : "int32";
  const end = dtype === "int64" ? 2 ** 63 : 2 ** 31;
  const min = constant(g, wide, dtype === "int64" ? -(2n ** 63n) : -(2 ** 31), x.sizes);
  const inside =
    x.dtype === "float64"
      ? isBelow(g, x, dtype === "int64" ? 63 : 31)
      : g.elementWiseLogicalLessThan(g.elementWiseAbs(x), constant(g, x.dtype, end, x.sizes), BOOL);
  const seen = g.elementWiseIf(inside, g.cast(x, { output: { dtype: wide } }), min);
  return wide === dtype ? seen : narrowed(g, seen, dtype);
}

/** A number seen with the sizes of another expression. */
export function constant(g: GraphBuilder, dtype: DType, value: number | bigint, sizes: readonly number[]): Expr {
  return g.expand(g.fillValueConstant({ output: { sizes: [1], dtype }, valueDataType: dmlName(dtype), value: { dtype, value } }), sizes);
}

/** start, start + step, … with these sizes. */
export function sequence(
  g: GraphBuilder,
  dtype: DType,
  sizes: readonly number[],
  start: number | bigint = 0,
  step: number | bigint = 1,
): Expr {
  return g.fillValueSequence({
    output: { sizes, dtype },
    valueDataType: dmlName(dtype),
    valueStart: { dtype, value: start },
    valueDelta: { dtype, value: step },
  });
}

/** A vector broadcast to `sizes`, along one axis. */
export const alongAxis = (g: GraphBuilder, vector: Expr, sizes: readonly number[], axis: number): Expr =>
  g.reinterpret(vector, { sizes, strides: sizes.map((_, i) => (i === axis ? 1 : 0)) });

/** x with its last two axes transposed. */
export const transposeLast = (g: GraphBuilder, x: Expr): Expr => {
  const order = [...x.sizes.keys()];
  return g.transpose(x, [...order.slice(0, -2), ...order.slice(-2).toReversed()]);
};

/** Part of an expression along an axis: packed, unless it is the whole. */
export function cut(g: GraphBuilder, x: Expr, axis: number, start: number, length: number): Expr {
  if (start === 0 && length === x.sizes[axis]) return x;
  const sizes = x.sizes.map((d, i) => (i === axis ? length : d));
  return g.slice1(x, {
    output: { sizes },
    inputWindowOffsets: sizes.map((_, i) => (i === axis ? start : 0)),
    inputWindowSizes: sizes,
    inputWindowStrides: sizes.map(() => 1),
  });
}

/** SCATTER, which takes no more updates along the axis than x has elements there: x is padded for it, and cut again. */
export function emitScatterElements(g: GraphBuilder, x: Expr, indices: Expr, updates: Expr, axis: number): Expr {
  const [n, k] = [x.sizes[axis]!, updates.sizes[axis]!];
  const sizes = x.sizes.map((d, i) => (i === axis ? Math.max(n, k) : d));
  const base =
    k <= n
      ? x
      : g.join(
          [
            x,
            constant(
              g,
              x.dtype,
              0,
              sizes.map((d, i) => (i === axis ? k - n : d)),
            ),
          ].map((e) => g.packed(e)),
          { output: { sizes }, axis },
        );
  return cut(g, g.scatter(base, indices, updates, { output: { sizes }, axis }), axis, 0, n);
}

const WIDER: { readonly [K in DType]: readonly DType[] } = {
  bool: ["uint8", "int32"],
  uint8: ["int32", "uint32", "int64"],
  int8: ["int32", "int64"],
  uint16: ["int32", "uint32", "int64"],
  int16: ["int32", "int64"],
  uint32: ["int64", "uint64"],
  int32: ["int64"],
  uint64: ["int64"],
  int64: [],
  float16: ["float32"],
  bfloat16: ["float32"],
  float32: [],
  float64: [],
};

/** The dtype itself where the device has the operator for it, else the next one that holds all its values. */
export function computable(g: GraphBuilder, operator: OperatorName, dtype: DType, tensor?: string): DType {
  const fits = (d: DType): boolean => g.supports(operator, d, tensor) && g.capabilities.hasDType(d);
  return fits(dtype) ? dtype : (WIDER[dtype].find(fits) ?? dtype);
}

/** Runs emit over inputs in a dtype that the device has the operator for, and gives the result in the inputs' dtype again. */
export function widened(g: GraphBuilder, operator: OperatorName, inputs: readonly Expr[], emit: (...inputs: Expr[]) => Expr): Expr {
  const dtype = inputs[0]!.dtype;
  const inner = computable(g, operator, dtype);
  return cast(g, emit(...inputs.map((x) => cast(g, x, inner))), dtype);
}

/** A packed uint32 index as another dtype; int32 has the same bits. @package */
export const asIndex = (g: GraphBuilder, index: Expr, dtype: DType): Expr =>
  dtype === "int32" ? g.reinterpret(index, { dtype }) : cast(g, index, dtype);

/** dtype, unless it is float64, which DirectML moves, chooses and converts, but does not compute in. */
export function computing(operation: string, dtype: DType, argument = "dtype"): DType {
  if (dtype === "float64") throw new DTypeError(operation, argument, "one that computes (float64 is only stored and cast)", dtype);
  return dtype;
}

/** The dtype of results that are real numbers: integers and bool give float32. */
export const floating = (operation: string, dtype: DType): DType => (isFloat(dtype) ? computing(operation, dtype) : "float32");

/** Throws unless the dtype is a floating one that computes. */
export function requireFloat(operation: string, x: Tensor, argument = "x"): void {
  if (!isFloat(x.dtype)) throw new DTypeError(operation, argument, "of a floating dtype", x.describe());
  computing(operation, x.dtype, argument);
}

interface SumToAttributes {
  readonly axes: readonly number[];
  readonly shape: Shape;
}

/** Sum over axes, in the input's own (floating) dtype: what gradients of broadcasting need. DirectML: REDUCE SUM. */
const sumToOp = define<SumToAttributes>({
  name: "sum",
  batched: ({ attrs: { axes, shape }, size, full, run }) => run([full(0)], { axes: axes.map((a) => a + 1), shape: [size, ...shape] }),
  infer: ([x], { shape }) => [{ shape, dtype: x!.dtype }],
  lower: (g, [x], { axes }) => {
    if (axes.length === 0) return [g.packed(x!)];
    const sizes = x!.sizes.map((d, i) => (axes.includes(i) ? 1 : d));
    return [g.reduce(x!, { function: "SUM", output: { sizes, dtype: x!.dtype }, axes })];
  },
  grad: (dy, { specs: [x], attrs: { axes } }) => [
    arithmetic.expand(
      arithmetic.reshape(
        dy,
        x!.shape.map((d, i) => (axes.includes(i) ? 1 : d)),
      ),
      x!.shape,
    ),
  ],
  saves: { inputs: [], outputs: false },
  padded: neutral(({ axes }) => axes, 0),
  whenEmpty: 0,
});

/** A gradient of a broadcast operand, summed to the operand's shape. */
export function sumTo(x: Tensor, { shape }: { readonly shape: Shape }): Tensor {
  if (sameShape(x.shape, shape)) return x;
  const lead = x.rank - shape.length;
  const axes = x.shape.flatMap((d, i) => (i < lead || (shape[i - lead] === 1 && d !== 1) ? [i] : []));
  return call(sumToOp, [x], { axes, shape });
}
