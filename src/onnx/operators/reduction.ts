/** Reductions over axes, indices of extremes, running sums and products. */
import * as ops from "../../ops/index.ts";
import { isFloat } from "../../core/dtype.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { family, type Run } from "./operator.ts";

type Reduce = (x: Tensor, axes: readonly number[], keepDims: boolean) => Tensor;

/** Axes are an attribute in old versions, an input in new ones; none means all, or with noop_with_empty_axes nothing. */
const over =
  (fn: Reduce, alone: (x: Tensor) => Tensor = (x) => x): Run =>
  (c) => {
    const x = c.x;
    const listed = c.list("axes", 1) ?? [];
    if (listed.length === 0 && c.flag("noop_with_empty_axes")) return alone(x);
    const axes = listed.length === 0 ? x.shape.map((_, i) => i) : c.axes(listed, x.rank);
    return ops.to(fn(x, axes, c.flag("keepdims", true)), x.dtype);
  };

const sum = (x: Tensor, axes: readonly number[], keepDims: boolean): Tensor =>
  axes.length === 0 ? x : ops.sum(x, axes, { keepDims, dtype: isFloat(x.dtype) ? undefined : x.dtype });

/** Extremes of nothing are the smallest or the largest number; of bool, any or all. */
const extreme =
  (isMaximum: boolean): Reduce =>
  (x, axes, keepDims) => {
    if (axes.length === 0) return x;
    if (x.dtype === "bool") return isMaximum ? ops.any(x, axes, { keepDims }) : ops.all(x, axes, { keepDims });
    if (x.size > 0 || sizeOf(x.shape.filter((_, i) => !axes.includes(i))) === 0)
      return (isMaximum ? ops.amax : ops.amin)(x, axes, { keepDims });
    const shape = x.shape.flatMap((d, i) => (axes.includes(i) ? (keepDims ? [1] : []) : [d]));
    return ops.full(shape, isMaximum ? -Infinity : Infinity, { dtype: x.dtype, device: x.device });
  };

/** One axis after the other, the last first, so that the others keep their numbers. */
const product: Reduce = (x, axes, keepDims) =>
  [...axes].sort((a, b) => b - a).reduce((y, axis) => ops.prod(y, axis, { keepDims, dtype: isFloat(x.dtype) ? undefined : x.dtype }), x);

const squares: Reduce = (x, axes, keepDims) => sum(ops.mul(x, x), axes, keepDims);

function logSumExp(x: Tensor, axes: readonly number[], keepDims: boolean): Tensor {
  if (axes.length === 0) return x;
  return x.size === 0 ? ops.log(sum(x, axes, keepDims)) : ops.logsumexp(x, axes, { keepDims });
}

const mean: Reduce = (x, axes, keepDims) => {
  if (isFloat(x.dtype)) return axes.length === 0 ? x : ops.mean(x, axes, { keepDims });
  return ops.div(sum(x, axes, keepDims), sizeOf(axes.map((a) => x.shape[a]!)), { roundingMode: "trunc" });
};

const argExtreme =
  (fn: typeof ops.argmax): Run =>
  (c) => {
    const x = c.x;
    const axis = c.axis(c.int("axis", 0), x.rank);
    const keepDims = c.flag("keepdims", true);
    if (!c.flag("select_last_index")) return fn(x, axis, { keepDims, dtype: "int64" });
    const last = fn(ops.flip(x, axis), axis, { keepDims, dtype: "int64" });
    return ops.sub(x.shape[axis]! - 1, last);
  };

const running =
  (fn: (x: Tensor, axis: number, options: { readonly dtype?: Tensor["dtype"] }) => Tensor, start: number): Run =>
  (c) => {
    const x = c.x;
    const axis = c.axis(c.number(1), x.rank);
    const isReverse = c.flag("reverse");
    const ordered = isReverse ? ops.flip(x, axis) : x;
    const result = fn(c.flag("exclusive") ? shifted(ordered, axis, start) : ordered, axis, { dtype: x.dtype });
    return isReverse ? ops.flip(result, axis) : result;
  };

/** x shifted by one element along an axis. */
function shifted(x: Tensor, axis: number, start: number): Tensor {
  if (x.shape[axis] === 0) return x;
  const first = ops.fullLike(ops.narrow(x, axis, 0, 1), start);
  return ops.cat([first, ops.narrow(x, axis, 0, x.shape[axis]! - 1)], axis);
}

const logOf = (x: Tensor): Tensor => ops.log(x);

export const reduction = family({
  ArgMax: argExtreme(ops.argmax),
  ArgMin: argExtreme(ops.argmin),
  CumProd: running(ops.cumprod, 1),
  CumSum: running(ops.cumsum, 0),
  ReduceL1: over((x, axes, k) => sum(ops.abs(x), axes, k), ops.abs),
  ReduceL2: over(
    (x, axes, k) => (isFloat(x.dtype) ? ops.sqrt(squares(x, axes, k)) : ops.sqrt(squares(ops.to(x, "float32"), axes, k))),
    ops.abs,
  ),
  ReduceLogSum: over((x, axes, k) => ops.log(sum(x, axes, k)), logOf),
  ReduceLogSumExp: over(logSumExp),
  ReduceMax: over(extreme(true)),
  ReduceMean: over(mean),
  ReduceMin: over(extreme(false)),
  ReduceProd: over(product),
  ReduceSum: over(sum),
  ReduceSumSquare: over(squares, (x) => ops.mul(x, x)),
});

export const sumOver = (c: Call, x: Tensor, axes: readonly number[], keepDims: boolean): Tensor => sum(x, c.axes(axes, x.rank), keepDims);
