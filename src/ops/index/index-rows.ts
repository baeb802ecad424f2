/** Index add, copy, fill and reduce: writing slices along an axis by a 1-D index. */
import { tie } from "../../autograd/tie.ts";
import { call, callOver, requireSameDevice } from "../../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { requireRepresentable } from "../../core/elements.ts";
import { heldScalar } from "../../runtime/constants.ts";
import { requireIndices } from "../../runtime/index-check.ts";
import { normalizeAxis, showShape, sizeOf, type Shape } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { add, mul } from "../elementwise/binary.ts";
import { ones, zeros } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { foldedRows } from "./scatter-reduce-in-place.ts";
import { requireIndex, sumElements, sumRows } from "./gather.ts";
import { expand, reshape } from "../shape/movement.ts";
import { scatterOp } from "./scatter-op.ts";
import { REDUCTIONS, asBool, reduced, type ScatterReduceOptions, type ScatterReduction } from "./scatter.ts";
import { clone } from "../data/state.ts";
import { where } from "../elementwise/where.ts";

/** Checks of a 1-D index and of the slices along an axis that it picks. */
function checkedRows(operation: string, x: Tensor, axis: number, index: Tensor, source: Tensor | null): { a: number; wide: Shape } {
  requireIndex(operation, index);
  requireSameDevice(operation, source === null ? [x, index] : [x, index, source]);
  const a = normalizeAxis(operation, axis, x.rank);
  if (index.rank > 1) throw new ShapeError(operation, "index", "of at most one axis", index.describe());
  const shape = x.shape.map((d, i) => (i === a ? index.size : d));
  if (source !== null && (source.rank !== x.rank || source.shape.some((d, i) => d !== shape[i])))
    throw new ShapeError(operation, "source", `of shape ${showShape(shape)}`, source.describe());
  if (source !== null && source.dtype !== x.dtype)
    throw new DTypeError(operation, "source", `of dtype ${x.dtype}, like x`, source.describe());
  requireIndices(operation, index, { length: x.shape[a] ?? 1 });
  return { a, wide: shape };
}

/** A 1-D index broadcast to the shape of the slices that it picks. */
const spreadIndex = (index: Tensor, axis: number, shape: Shape): Tensor =>
  expand(reshape(index, shape.length === 0 ? [] : shape.map((_, i) => (i === axis ? index.size : 1))), shape);

/**
 * x with alpha times source's parts added along an axis at the indices of a 1-D index. DirectML: by size ONE_HOT and GEMM, or TOP_K1
 * with SCATTER. Reference: torch.index_add.
 */
export function indexAdd(
  x: Tensor,
  axis: number,
  index: Tensor,
  source: Tensor,
  {
    alpha = 1,
  }: {
    /** Factor of what is added. Default: 1. */
    readonly alpha?: number | boolean;
  } = {},
): Tensor {
  const { a } = checkedRows("indexAdd", x, axis, index, source);
  requireRepresentable("indexAdd", "alpha", x.dtype, alpha);
  if (source.size === 0) return tie(clone(x), source, "linear");
  if (x.rank === 0) return add(x, alpha === 1 ? source : mul(source, alpha));
  const flatIndex = reshape(index, [index.size]);
  const added = (to: Tensor, firsts: Tensor): Tensor => {
    const sums = index.size === 1 ? source : asBool(x, sumRows(source, firsts, a, to.shape));
    return add(to, alpha === 1 ? sums : mul(sums, alpha));
  };
  const next = foldedRows(x, a, flatIndex, source, added);
  if (next !== null) return next;
  const sums = asBool(x, sumRows(source, flatIndex, a, x.shape));
  return add(x, alpha === 1 ? sums : mul(sums, alpha));
}

/** x with source's slices along an axis at the indices of a 1-D index. DirectML: SCATTER. Reference: torch.index_copy. */
export function indexCopy(x: Tensor, axis: number, index: Tensor, source: Tensor): Tensor {
  const { a, wide } = checkedRows("indexCopy", x, axis, index, source);
  return source.size === 0 ? tie(clone(x), source, "linear") : callOver(scatterOp, [x, spreadIndex(index, a, wide), source], { axis: a });
}

/** x with a value at the indices of a 1-D index along an axis. value: a number or a tensor of rank 0. Reference: torch.index_fill. */
export function indexFill(x: Tensor, axis: number, index: Tensor, value: Tensor | number | bigint | boolean): Tensor {
  const { a, wide } = checkedRows("indexFill", x, axis, index, null);
  const fill = value instanceof Tensor ? toDType(value, x.dtype) : heldScalar("indexFill", "value", x.device, x.dtype, value);
  if (fill.rank !== 0) throw new ShapeError("indexFill", "value", "a number or a tensor of rank 0", fill.describe());
  if (sizeOf(wide) === 0) return tie(clone(x), fill, "linear");
  const spread = spreadIndex(index, a, wide);
  if (!fill.requiresGrad) return callOver(scatterOp, [x, spread, expand(fill, wide)], { axis: a });
  // A position that the index has twice counts once in the value's gradient.
  const named = call(
    scatterOp,
    [zeros(x.shape, { dtype: "bool", device: x.device }), spread, ones(wide, { dtype: "bool", device: x.device })],
    { axis: a },
  );
  return where(named, fill, x);
}

/** x's slices along an axis reduced with source's at the indices of a 1-D index. Reference: torch.index_reduce. */
export function indexReduce(
  x: Tensor,
  axis: number,
  index: Tensor,
  source: Tensor,
  reduce: Exclude<ScatterReduction, "sum">,
  { includeSelf = true }: ScatterReduceOptions = {},
): Tensor {
  if (!REDUCTIONS.includes(reduce) || (reduce as string) === "sum")
    throw new ValueError("indexReduce", "reduce", "one of prod, mean, amax, amin", reduce);
  const { a, wide } = checkedRows("indexReduce", x, axis, index, source);
  if (source.size === 0) return tie(clone(x), source, "linear");
  const flatIndex = reshape(index, [index.size]);
  const folded = (rows: Tensor, firsts: Tensor): Tensor => {
    const spread = spreadIndex(firsts, a, wide);
    return reduced(rows, a, spread, source, reduce, includeSelf, (v) =>
      x.rank === 0 ? sumElements(v, spread, a, rows.shape) : sumRows(v, firsts, a, rows.shape),
    );
  };
  return foldedRows(x, a, flatIndex, source, folded) ?? folded(x, flatIndex);
}

export const methods = { indexAdd, indexCopy, indexFill, indexReduce };
export const inPlaceMethods = { indexAdd_: indexAdd, indexCopy_: indexCopy, indexFill_: indexFill, indexReduce_: indexReduce };
