/** Gather and index select, and their adjoint, the sum by index. */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { tie } from "../../autograd/tie.ts";
import { asResult, call, requireSameDevice } from "../../dispatch/dispatch.ts";
import type { BatchRule } from "../../core/batching.ts";
import { isInteger } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { requireIndices } from "../../runtime/index-check.ts";
import { normalizeAxis, sizeOf, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { define, type Definition, type TensorSpec } from "../../core/definition.ts";
import { empty } from "../creation/creation.ts";
import { reshape, expand } from "../shape/movement.ts";
import { choosesSummedRows, sumRowsShader } from "../../shader/kernels/select.ts";
import { MAX_BEFORE_ATOMICS, sumsFew } from "../../shader/operations/summed-rows.ts";
import { lowerFold } from "./scatter-lower.ts";
import { cast } from "../declare/support.ts";
import { axisBehindBatch } from "../declare/batched.ts";

interface AxisAttributes {
  readonly axis: number;
}
interface SumAttributes extends AxisAttributes {
  readonly shape: Shape;
  readonly isShared: boolean;
}

/** Indices in a dtype that gathering takes. */
const indexExpr = (g: GraphBuilder, index: Expr): Expr =>
  index.dtype === "int32" || index.dtype === "int64" || index.dtype === "uint32" || index.dtype === "uint64"
    ? index
    : cast(g, index, "int32");

/** An index of each sample becomes one of the values' own shape. */
const sumOfBatch: BatchRule<SumAttributes> = ({ inputs: [, index], isBatched, attrs: { axis, shape, isShared }, size, full, run }) => {
  const dy = full(0);
  const own = { axis: axis + 1, shape: [size, ...shape] };
  if (!isShared) return run([dy, full(1)], { ...own, isShared });
  if (!isBatched[1]) return run([dy, index!], { ...own, isShared });
  return run([dy, alongOf(index!, dy, axis + 1)], { ...own, isShared: false });
};

const selectOfBatch: BatchRule<AxisAttributes> = ({ inputs: [, index], isBatched, attrs: { axis }, full, run }) => {
  const x = full(0);
  if (!isBatched[1]) return run([x, index!], { axis: axis + 1 });
  return [call(gatherOp, [x, alongOf(index!, x, axis + 1)], { axis: axis + 1 })];
};

/** An index [B, n] along an axis, expanded along the others of a tensor [B, ...]. */
const alongOf = (index: Tensor, like: Tensor, axis: number): Tensor =>
  expand(
    reshape(
      index,
      like.shape.map((_, i) => (i === 0 ? index.shape[0]! : i === axis ? index.shape[1]! : 1)),
    ),
    like.shape.map((d, i) => (i === axis ? index.shape[1]! : d)),
  );

const gatherOp: Definition<AxisAttributes> = define<AxisAttributes>({
  name: "gather",
  batched: axisBehindBatch,
  traits: { carries: true },
  infer: ([x, index]) => [{ shape: index!.shape, dtype: x!.dtype }],
  lower: (g, [x, index], { axis }) => {
    // The other axes of the index may be shorter than x's: x is seen as far as the index reaches.
    const seen = g.reinterpret(x!, { sizes: x!.sizes.map((d, i) => (i === axis ? d : index!.sizes[i]!)), strides: x!.strides });
    return [g.gatherElements(seen, indexExpr(g, index!), { output: { sizes: index!.sizes }, axis })];
  },
  grad: (dy, { inputs: [, index], specs: [x], attrs: { axis } }) => [
    call(sumByOp, [dy, index!], { axis, shape: x!.shape, isShared: false }),
    null,
  ],
  saves: { inputs: [1], outputs: false },
  padded: (_g, [x], _attrs, _outputs, p, lower) => lower([x!, p.filled(1, 0)]),
});

/**
 * Sums by index: out[…, j, …] = sum over i of dy[…, i, …] where index[…, i, …] = j. isShared: the index has one axis, for whole parts
 * along the axis. The adjoint of gathering.
 */
const sumByOp: Definition<SumAttributes> = define<SumAttributes>({
  name: "sumByIndex",
  batched: sumOfBatch,
  infer: ([dy], { shape }) => [{ shape, dtype: dy!.dtype }],
  lower: (g, [dy, index], { axis, shape, isShared }) => {
    const [count, rows] = [shape[0]!, dy!.sizes[0]!];
    const areRows = isShared && axis === 0 && shape.length > 0;
    const columns = sizeOf(dy!.sizes) / rows;
    const isFew = sumsFew(rows, count, columns, MAX_BEFORE_ATOMICS) && choosesSummedRows(g, dy!.dtype, rows, count, columns);
    const made = areRows && !isFew ? sumRowsShader(g, dy!, index!, count, rows) : null;
    return [made === null ? lowerFold(g, dy!, index!, { axis, shape, isShared, fold: "sum" }) : g.reinterpret(made, { sizes: shape })];
  },
  grad: (dy, { inputs: [, index], attrs: { axis, isShared } }) => [
    isShared ? call(indexSelectOp, [dy, index!], { axis }) : call(gatherOp, [dy, index!], { axis }),
    null,
  ],
  saves: { inputs: [1], outputs: false },
  padded: (_g, _inputs, _attrs, _outputs, p, lower) => lower([p.filled(0, 0), p.filled(1, 0)]),
  whenEmpty: 0,
});

const selectedShape = (x: TensorSpec, count: number, axis: number): number[] => x.shape.map((d, i) => (i === axis ? count : d));

const indexSelectOp: Definition<AxisAttributes> = define<AxisAttributes>({
  name: "indexSelect",
  batched: selectOfBatch,
  traits: { carries: true },
  infer: ([x, index], { axis }) => [{ shape: selectedShape(x!, index!.shape[0]!, axis), dtype: x!.dtype }],
  lower: (g, [x, index], { axis }) => {
    const rank = x!.sizes.length;
    const count = index!.sizes[0]!;
    const indexRow = g.reinterpret(indexExpr(g, index!), {
      sizes: [...new Array<number>(rank - 1).fill(1), count],
      strides: [...new Array<number>(rank - 1).fill(0), index!.strides[0]!],
    });
    return [g.gather(x!, indexRow, { output: { sizes: x!.sizes.map((d, i) => (i === axis ? count : d)) }, axis, indexDimensions: 1 })];
  },
  grad: (dy, { inputs: [, index], specs: [x], attrs: { axis } }) => [
    call(sumByOp, [dy, index!], { axis, shape: x!.shape, isShared: true }),
    null,
  ],
  padded: (_g, [x], _attrs, _outputs, p, lower) => lower([x!, p.filled(1, 0)]),
  saves: { inputs: [1], outputs: false },
});

/** @internal Parts of values added by a 1-axis index along an axis of zeros. */
export const sumRows = (values: Tensor, index: Tensor, axis: number, shape: Shape): Tensor =>
  call(sumByOp, [values, index], { axis, shape, isShared: true });

/** @internal Values added by an index of their own shape along an axis of zeros. */
export const sumElements = (values: Tensor, index: Tensor, axis: number, shape: Shape): Tensor =>
  call(sumByOp, [values, index], { axis, shape, isShared: false });

/** @package indexSelect with indices along an axis that are in range. */
export const selectRows = (x: Tensor, axis: number, index: Tensor): Tensor => call(indexSelectOp, [x, index], { axis });
const selectOwnOp: typeof indexSelectOp = define({ ...indexSelectOp, saves: { ...indexSelectOp.saves, keepsNumbers: true } });
/** The same by indices of the operation's own: a second pass needs no retainGraph. @package */
export const selectOwnRows = (x: Tensor, axis: number, index: Tensor): Tensor => call(selectOwnOp, [x, index], { axis });

/** @package gather with indices along an axis that are in range. */
export const takeElements = (x: Tensor, axis: number, index: Tensor): Tensor => call(gatherOp, [x, index], { axis });

/** @package */
export function requireIndex(operation: string, index: Tensor): void {
  if (!isInteger(index.dtype))
    throw new DTypeError(
      operation,
      "index",
      "of an integer dtype",
      index.describe(),
      index.dtype === "bool" ? "A mask's size depends on its data; use where() or maskedFill()." : undefined,
    );
}

/**
 * out[i][j] = x[index[i][j]][j] for axis 0, and so on for other axes. index: integers, as many axes as x, not longer than x on
 * the others. Throws IndexError for indices out of range on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1. Reference: torch.gather. DirectML: GATHER_ELEMENTS.
 */
export function gather(x: Tensor, axis: number, index: Tensor): Tensor {
  requireIndex("gather", index);
  requireSameDevice("gather", [x, index]);
  const a = normalizeAxis("gather", axis, x.rank);
  if (index.size === 0) return tie(empty(index.shape, { dtype: x.dtype, device: x.device }), x, "linear");
  if (Math.max(1, x.rank) !== Math.max(1, index.rank) || index.shape.some((d, i) => i !== a && d > (x.shape[i] ?? 1)))
    throw new ShapeError("gather", "index", `of ${x.rank} axes, not longer than ${x.describe()} but along axis ${a}`, index.describe());
  requireIndices("gather", index, { length: x.shape[a] ?? 1 });
  return call(gatherOp, [x, index], { axis: a });
}

/** The slices of x that a 1-D index picks along an axis. Reference: torch.index_select. DirectML: GATHER. */
export function indexSelect(x: Tensor, axis: number, index: Tensor): Tensor {
  requireIndex("indexSelect", index);
  requireSameDevice("indexSelect", [x, index]);
  const a = normalizeAxis("indexSelect", axis, x.rank);
  if (index.rank > 1) throw new ShapeError("indexSelect", "index", "of one axis", index.describe());
  if (x.rank === 0) {
    requireIndices("indexSelect", index, { length: 1 });
    if (index.size !== 1) throw new ShapeError("indexSelect", "index", "of one element for a tensor of rank 0", index.describe());
    return asResult(reshape(call(indexSelectOp, [reshape(x, [1]), reshape(index, [1])], { axis: 0 }), []));
  }
  if (x.shape[a] === 0 && index.size > 0) throw new ValueError("indexSelect", "index", "empty, since the axis is", index.describe());
  requireIndices("indexSelect", index, { length: x.shape[a]! });
  return call(indexSelectOp, [x, reshape(index, [index.size])], { axis: a });
}

export const methods = { gather, indexSelect };
