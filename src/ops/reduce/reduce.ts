/** Reductions: sum, mean, prod, any, all. */
import { neutral, type PaddedRule } from "../../core/padded-axes.ts";
import type { DML_REDUCE_FUNCTION } from "../../dml/operators.generated.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { arithmetic } from "../../autograd/gradient-arithmetic.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { tie } from "../../autograd/tie.ts";
import { call } from "../../dispatch/dispatch.ts";
import { DTYPES, isFloat, isInteger, type DType } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import { normalizeAxes, normalizeAxis, type Shape, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, div, mul } from "../elementwise/binary.ts";
import { eq, gt } from "../elementwise/compare.ts";
import { toDType } from "../data/conversion.ts";
import { define, type Definition, type GradRule } from "../../core/definition.ts";
import { cat } from "../shape/join.ts";
import { expand, narrow, permute, reshape } from "../shape/movement.ts";
import { cumprodExclusive } from "../scan/cumulative.ts";
import { emitReduce } from "./reduce-lower.ts";
import { cast, computing, requireFloat } from "../declare/support.ts";
import { where } from "../elementwise/where.ts";
import { axesBehindBatch } from "../declare/batched.ts";

/** Which axes, and whether they stay with length 1. */
export interface ReduceOptions {
  /** Default: false. */
  readonly keepDims?: boolean | undefined;
  /** keepDims by its PyTorch name. @alias keepDims */
  readonly keepdim?: boolean | undefined;

  /** The result's dtype; the input is cast to it first. */
  readonly dtype?: DType | undefined;
}
/** One axis, several, or null for all. Negative ones count from the end. */
export type Axes = number | readonly number[] | null;

/** @package */
export interface ReduceAttributes {
  readonly axes: readonly number[];
  readonly keepDims: boolean;
}

/** The shape of a reduction. @package */
export const reducedShape = (shape: Shape, { axes, keepDims }: ReduceAttributes): number[] =>
  shape.flatMap((d, i) => (axes.includes(i) ? (keepDims ? [1] : []) : [d]));

/** dy of a reduction, spread over the shape of its input again. @package */
export function spread(dy: Tensor, shape: Shape, { axes, keepDims }: ReduceAttributes): Tensor {
  const kept = keepDims
    ? dy
    : reshape(
        dy,
        shape.map((d, i) => (axes.includes(i) ? 1 : d)),
      );
  return expand(kept, shape);
}

/** SUM and MULTIPLY lack the small integers: those are reduced as int64, and wrap afterwards. */
function narrowReduce(g: GraphBuilder, x: Expr, fn: DML_REDUCE_FUNCTION, axes: readonly number[]): Expr {
  const small = isInteger(x.dtype) && DTYPES[x.dtype].sizeInBytes < 4;
  return small ? cast(g, emitReduce(g, cast(g, x, "int64"), fn, axes), x.dtype) : emitReduce(g, x, fn, axes);
}

/** A reduction that keeps the dtype, over at least one axis. */
function reduction<A extends ReduceAttributes = ReduceAttributes>(
  name: string,
  fn: DML_REDUCE_FUNCTION,
  grad: GradRule<A>,
  saves: { inputs: number[]; outputs: boolean },
  padded: PaddedRule<A>,
  whenEmpty?: number,
): Definition<A> {
  return define<A>({
    name,
    batched: axesBehindBatch,
    infer: ([x], attrs) => [{ shape: reducedShape(x!.shape, attrs), dtype: x!.dtype }],
    lower: (g, [x], { axes }) => [
      x!.sizes.some((d, i) => d !== 1 && axes.includes(i)) ? narrowReduce(g, x!, fn, axes) : g.elementWiseIdentity(x!),
    ],
    grad,
    saves,
    padded,
    ...(whenEmpty === undefined ? {} : { whenEmpty }),
  });
}

const alongAxes = ({ axes }: ReduceAttributes): readonly number[] => axes;

const sumOp = reduction(
  "sum",
  "SUM",
  (dy, { specs: [x], attrs }) => [spread(dy, x!.shape, attrs)],
  { inputs: [], outputs: false },
  neutral(alongAxes, 0),
  0,
);
const meanOp = reduction(
  "mean",
  "AVERAGE",
  (dy, { specs: [x], attrs }) => {
    const count = attrs.axes.reduce((n, a) => n * x!.shape[a]!, 1);
    return [div(spread(dy, x!.shape, attrs), count)];
  },
  { inputs: [], outputs: false },
  (g, [x], { axes }, [out], p, lower) => {
    if (!axes.some((a) => p.isPadded(0, a))) return lower([x!]);
    // Half precision is summed in float32, as AVERAGE does.
    const total = emitReduce(g, cast(g, p.filled(0, 0), "float32"), "SUM", axes);
    return [cast(g, g.elementWiseDivide(total, g.expand(p.count(0, axes), total.sizes)), out!.dtype)];
  },
  NaN,
);
/** y / x where no element of x is zero, else zeros. */
function withoutZeros(x: Tensor, y: Tensor, attrs: ReduceAttributes): Tensor {
  const zeros = eq(x, 0);
  return arithmetic.without(div(spread(y, x.shape, attrs), add(x, toDType(zeros, x.dtype))), any(zeros));
}

interface ProductAttributes extends ReduceAttributes {
  /** Whether no axis was given: PyTorch's gradient is then 0 everywhere if there are two zeros, whatever else there is. */
  readonly isWhole?: boolean;
}
const prodOp = reduction<ProductAttributes>(
  "prod",
  "MULTIPLY",
  (dy, { inputs: [x], outputs: [y], attrs }) => {
    if (x!.rank === 0) return [dy];
    const rest = x!.shape.filter((_, i) => !attrs.axes.includes(i));
    const order = [...x!.shape.map((_, i) => i).filter((i) => !attrs.axes.includes(i)), ...attrs.axes];
    const rows = reshape(permute(x!, order), [...rest, sizeOf(attrs.axes.map((i) => x!.shape[i]!))]);
    // The product of all other elements, which is right where some are zero too.
    const others = mul(cumprodExclusive(rows, false), cumprodExclusive(rows, true));
    const back = permute(
      reshape(
        others,
        order.map((a) => x!.shape[a]!),
      ),
      order.map((_, i) => order.indexOf(i)),
    );
    const tied = tie(back, x!);
    // Without zeros it is the result by each factor, as in PyTorch: the gradient's own gradient flows through the result too, and NaN everywhere.
    const factor = isGradEnabled()
      ? add(arithmetic.without(tied, all(x!)), withoutZeros(x!, y!, attrs))
      : where(any(eq(x!, 0)), back, div(spread(y!, x!.shape, attrs), x!));
    const slopes = mul(spread(dy, x!.shape, attrs), factor);
    if (attrs.isWhole !== true) return [slopes];
    const hasSome = gt(sum(toDType(eq(x!, 0), "int32")), 1);
    return [isGradEnabled() ? arithmetic.without(slopes, hasSome) : where(hasSome, 0, slopes)];
  },
  { inputs: [0], outputs: true },
  neutral(alongAxes, 1),
  1,
);

const testOp = (name: "any" | "all"): Definition<ReduceAttributes> =>
  define<ReduceAttributes>({
    name,
    batched: axesBehindBatch,
    infer: ([x], attrs) => [{ shape: reducedShape(x!.shape, attrs), dtype: x!.dtype === "uint8" ? "uint8" : "bool" }],
    lower: (g, [x], { axes }, [out]) => {
      const bits = cast(g, x!, "bool");
      const chosen = x!.sizes.some((d, i) => d !== 1 && axes.includes(i))
        ? emitReduce(g, bits, name === "any" ? "MAX" : "MIN", axes)
        : g.elementWiseIdentity(bits);
      return [g.reinterpret(chosen, { dtype: out!.dtype })];
    },
    grad: null,
    padded: neutral(alongAxes, name === "any" ? 0 : 1),
    whenEmpty: name === "any" ? 0 : 1,
  });
const anyOp = testOp("any");
const allOp = testOp("all");

/** The axes and options of a reduction as its attributes. @package */
export const reduceAttributes = (operation: string, x: Tensor, axis: Axes | undefined, options: ReduceOptions): ReduceAttributes => {
  // An empty list means all axes, as in PyTorch.
  const axes = Array.isArray(axis) && axis.length === 0 ? null : axis;
  return { axes: normalizeAxes(operation, axes, x.rank), keepDims: options.keepDims ?? false };
};

/** A cast to more bytes than this is cast and reduced in parts, so that the whole tensor never exists in memory. */
const MAX_WIDENED = 64 * 2 ** 20;

/** The reduction of x in another dtype; the cast tensor is freed at once, so that the next one reuses its memory. */
function reducedAs(op: Definition<ReduceAttributes>, x: Tensor, dtype: DType, attrs: ReduceAttributes): Tensor {
  const same = toDType(x, dtype);
  const result = call(op, [same], attrs);
  if (same !== x) same.dispose();
  return result;
}

/** The same, without a large tensor of a wider dtype. `join` makes one of two parts' results. */
function widenedReduce(
  op: Definition<ReduceAttributes>,
  x: Tensor,
  dtype: DType,
  attrs: ReduceAttributes,
  join: (a: Tensor, b: Tensor) => Tensor,
): Tensor {
  const bytes = x.size * DTYPES[dtype].sizeInBytes;
  const isWider = DTYPES[dtype].sizeInBytes > DTYPES[x.dtype].sizeInBytes;
  if (!isWider || bytes <= 2 * MAX_WIDENED) return reducedAs(op, x, dtype, attrs);
  // The longest axis is split; parts of a reduced axis are folded, parts of another axis are concatenated.
  const axis = x.shape.reduce((best, d, i) => (d > x.shape[best]! ? i : best), 0);
  const length = x.shape[axis]!;
  const step = Math.max(1, Math.floor((length * MAX_WIDENED) / bytes));
  const part = (start: number): Tensor => {
    const piece = narrow(x, axis, start, Math.min(step, length - start));
    const result = widenedReduce(op, piece, dtype, attrs, join);
    piece.dispose();
    return result;
  };
  if (!attrs.axes.includes(axis)) {
    const parts = Array.from({ length: Math.ceil(length / step) }, (_, i) => part(i * step));
    const whole = cat(parts, attrs.keepDims ? axis : axis - attrs.axes.filter((a) => a < axis).length);
    for (const p of parts) p.dispose();
    return whole;
  }
  let result = part(0);
  for (let start = step; start < length; start += step) {
    const [before, next] = [result, part(start)];
    result = join(before, next);
    before.dispose();
    next.dispose();
  }
  return result;
}

/**
 * The sum over the axes (all of them by default). Integers and bool give int64; an empty sum is 0.
 * axis: one, several, or null for all. Reference: torch.sum. DirectML: REDUCE SUM. @autocast float32
 */
export function sum(x: Tensor, axis: Axes = null, options: ReduceOptions = {}): Tensor {
  const dtype = options.dtype ?? (isFloat(x.dtype) ? x.dtype : "int64");
  computing("sum", dtype);
  return widenedReduce(sumOp, x, dtype, reduceAttributes("sum", x, axis, options), add);
}

/** The mean over the axes (all of them by default). Floating dtypes; NaN when empty. Reference: torch.mean. DirectML: REDUCE AVERAGE. */
export function mean(x: Tensor, axis: Axes = null, options: ReduceOptions = {}): Tensor {
  const source = options.dtype === undefined ? x : toDType(x, options.dtype);
  requireFloat("mean", source);
  return call(meanOp, [source], reduceAttributes("mean", x, axis, options));
}

/** The product over one axis (or all). Integers and bool give int64; an empty product is 1. Reference: torch.prod. DirectML: REDUCE MULTIPLY. @autocast float32 */
export function prod(x: Tensor, axis: number | null = null, options: ReduceOptions = {}): Tensor {
  const dtype = options.dtype ?? (isFloat(x.dtype) ? x.dtype : "int64");
  computing("prod", dtype);
  const axes = axis === null ? null : normalizeAxis("prod", axis, x.rank);
  if (dtype === "bool") return call(allOp, [toDType(x, "bool")], reduceAttributes("prod", x, axes, options));
  const attrs: ProductAttributes = { ...reduceAttributes("prod", x, axes, options), ...(axis === null ? { isWhole: true } : {}) };
  return widenedReduce(prodOp, x, dtype, attrs, mul);
}

/** Whether some element is not zero: bool (uint8 for uint8). False when empty. Reference: torch.any. DirectML: REDUCE MAX. */
export const any = (x: Tensor, axis: Axes = null, options: ReduceOptions = {}): Tensor =>
  call(anyOp, [x], reduceAttributes("any", x, axis, options));

/** Whether all elements are not zero: bool (uint8 for uint8). True when empty. Reference: torch.all. DirectML: REDUCE MIN. */
export const all = (x: Tensor, axis: Axes = null, options: ReduceOptions = {}): Tensor =>
  call(allOp, [x], reduceAttributes("all", x, axis, options));

export const methods = { sum, mean, prod, any, all };
