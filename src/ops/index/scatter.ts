/** Scatter: writing elements by index, replacing x's elements or reducing with them. */
import { heldScalar, scalarTensor } from "../../runtime/constants.ts";
import { requireIndices } from "../../runtime/index-check.ts";
import { tie } from "../../autograd/tie.ts";
import { call, callOver, requireSameDevice } from "../../dispatch/dispatch.ts";
import { isFloat } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { normalizeAxis, showShape } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { define, type Definition } from "../../core/definition.ts";
import { add, div, mul } from "../elementwise/binary.ts";
import { eq, gt } from "../elementwise/compare.ts";
import { onesLike, zerosLike } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { requireIndex, gather, sumElements } from "./gather.ts";
import { expand, reshape, sliceView } from "../shape/movement.ts";
import { foldedElements } from "./scatter-reduce-in-place.ts";
import { emitScatter, paddedIndex, scatterOp, type ScatterAttributes } from "./scatter-op.ts";
import { foldTwo, foldingType, identityOf, lowerFold } from "./scatter-lower.ts";
import { clone } from "../data/state.ts";
import { cast, constant } from "../declare/support.ts";
import { floor } from "../elementwise/unary.ts";
import { where } from "../elementwise/where.ts";
import { sample, type Sample, distinct, real, whole } from "../declare/sample.ts";
import { axisBehindBatch } from "../declare/batched.ts";

interface ReduceAttributes extends ScatterAttributes {
  readonly fold: "prod" | "amax" | "amin";
  readonly includeSelf: boolean;
}

/** x folded with the updates at each index; without includeSelf the updates alone where there are any. */
const scatterFoldOp: Definition<ReduceAttributes> = define<ReduceAttributes>({
  name: "scatterReduce",
  batched: axisBehindBatch,
  infer: ([x]) => [x!],
  lower: (g, [x, index, source], { axis, fold, includeSelf }) => {
    const inner = foldingType(x!.dtype);
    const own = cast(g, x!, inner);
    const nothing = constant(g, inner, identityOf(fold, inner), index!.sizes);
    const base = includeSelf ? own : emitScatter(g, own, index!, g.packed(nothing), axis);
    const folded = lowerFold(g, cast(g, source!, inner), index!, { axis, shape: x!.sizes, fold, isShared: false });
    return [cast(g, foldTwo(g, fold, base, folded), x!.dtype)];
  },
  padded: (_g, [x, , source], { axis, fold }, _outputs, p, lower) => {
    const index = paddedIndex(p, axis);
    if (index === null) return null;
    return lower([x!, index, fold === "prod" ? p.filled(2, 1, source!, [axis]) : p.repeated(2, axis, source!)]);
  },
  grad: (dy, { inputs: [x, index, source], outputs: [y], attrs }) =>
    attrs.fold === "prod" ? prodGrad(dy, x!, index!, source!, y!, attrs) : extremeGrad(dy, x!, index!, source!, y!, attrs),
});

/** Elements that equal the result share its gradient. */
function extremeGrad(
  dy: Tensor,
  x: Tensor,
  index: Tensor,
  source: Tensor,
  y: Tensor,
  { axis, includeSelf }: ReduceAttributes,
): (Tensor | null)[] {
  const number = (condition: Tensor): Tensor => toDType(condition, dy.dtype);
  const mine = number(eq(x, y));
  const isSelf = includeSelf ? mine : call(scatterOp, [mine, index, zerosLike(index, { dtype: dy.dtype })], { axis });
  const isSource = number(eq(source, gather(y, axis, index)));
  const count = add(isSelf, sumElements(isSource, index, axis, x.shape));
  const share = div(dy, count);
  const kept = where(gt(isSelf, 0), share, scalarTensor(dy.device, dy.dtype, 0));
  return [includeSelf ? kept : ownGrad(kept, dy, index, axis), null, mul(isSource, gather(share, axis, index))];
}

/** Elements that no index selects keep x, and its whole gradient. */
function ownGrad(kept: Tensor, dy: Tensor, index: Tensor, axis: number): Tensor {
  const named = sumElements(onesLike(index, { dtype: dy.dtype }), index, axis, dy.shape);
  return where(gt(named, 0), scalarTensor(dy.device, dy.dtype, 0), where(eq(named, 0), dy, kept));
}

/** The result without each factor: a quotient where the factor is not 0, else the product of the others. */
function prodGrad(
  dy: Tensor,
  x: Tensor,
  index: Tensor,
  source: Tensor,
  y: Tensor,
  { axis, includeSelf }: ReduceAttributes,
): (Tensor | null)[] {
  const one = scalarTensor(dy.device, dy.dtype, 1);
  const zero = scalarTensor(dy.device, dy.dtype, 0);
  const attrs = { axis, fold: "prod", includeSelf: true } as const;
  const own = where(eq(x, 0), one, x);
  const quotients = div(mul(dy, call(scatterFoldOp, [own, index, source], { axis, fold: "prod", includeSelf })), own);
  const forSelf = includeSelf ? quotients : call(scatterOp, [quotients, index, zerosLike(index, { dtype: dy.dtype })], { axis });
  const isZero = eq(source, 0);
  const zeros = gather(sumElements(toDType(isZero, dy.dtype), index, axis, x.shape), axis, index);
  const withoutZeros = call(scatterFoldOp, [includeSelf ? x : onesLike(x), index, where(isZero, one, source)], attrs);
  const alone = mul(isZero, eq(zeros, 1));
  const quotient = div(gather(mul(dy, y), axis, index), where(isZero, one, source));
  return [forSelf, null, where(alone, gather(mul(dy, withoutZeros), axis, index), where(isZero, zero, quotient))];
}

/** x, index and source checked; source cut to the index. */
function checked(operation: string, x: Tensor, axis: number, index: Tensor, source: Tensor): { a: number; part: Tensor } {
  requireIndex(operation, index);
  requireSameDevice(operation, [x, index, source]);
  const a = normalizeAxis(operation, axis, x.rank);
  const rank = Math.max(1, x.rank);
  if (Math.max(1, index.rank) !== rank || index.shape.some((d, i) => i !== a && d > (x.shape[i] ?? 1)))
    throw new ShapeError(operation, "index", `of ${x.rank} axes, not longer than ${x.describe()} but along axis ${a}`, index.describe());
  if (Math.max(1, source.rank) !== rank || index.shape.some((d, i) => d > (source.shape[i] ?? 1)))
    throw new ShapeError(operation, "source", `of at least ${showShape(index.shape)}`, source.describe());
  if (source.dtype !== x.dtype) throw new DTypeError(operation, "source", `of dtype ${x.dtype}, like x`, source.describe());
  requireIndices(operation, index, { length: x.shape[a] ?? 1 });
  const isCut = source.rank > 0 && source.shape.some((d, i) => d !== (index.shape[i] ?? 1));
  const whole = { starts: source.shape.map(() => 0), sizes: [...index.shape], steps: source.shape.map(() => 1) };
  return { a, part: isCut ? sliceView(source, whole) : reshape(source, index.shape) };
}

/**
 * x with source's elements at the indices that `index` has along an axis: out[index[i][j]][j] = source[i][j] for axis 0. source: a
 * tensor at least as large as the index, or a number. Of equal indices any one wins. reduce: "add" or "multiply" instead of replacing.
 * Gradients flow to x and source. DirectML: SCATTER. Reference: torch.scatter.
 */
export function scatter(
  x: Tensor,
  axis: number,
  index: Tensor,
  source: Tensor | number | bigint | boolean,
  {
    reduce,
  }: {
    /** Adds or multiplies instead of setting. Default: sets. */
    readonly reduce?: "add" | "multiply" | undefined;
  } = {},
): Tensor {
  const updates = source instanceof Tensor ? source : expand(heldScalar("scatter", "source", x.device, x.dtype, source), index.shape);
  if (reduce !== undefined && reduce !== "add" && reduce !== "multiply")
    throw new ValueError("scatter", "reduce", "add or multiply", reduce);
  if (reduce !== undefined) return scatterReduce(x, axis, index, updates, reduce === "add" ? "sum" : "prod", {}, "scatter");
  const { a, part } = checked("scatter", x, axis, index, updates);
  return index.size === 0 ? tie(clone(x), part, "linear") : callOver(scatterOp, [x, index, part], { axis: a });
}

/** x with source's elements added at the indices that `index` has along an axis. Reference: torch.scatter_add. @autocast widest */
export function scatterAdd(x: Tensor, axis: number, index: Tensor, source: Tensor): Tensor {
  return scatterReduce(x, axis, index, source, "sum", {}, "scatterAdd");
}

/** How scatterReduce() joins elements of equal indices. */
export type ScatterReduction = "sum" | "prod" | "mean" | "amax" | "amin";
/** @internal */
export const REDUCTIONS: readonly ScatterReduction[] = ["sum", "prod", "mean", "amax", "amin"];

/** Options of scatterReduce(). Reference: torch.Tensor.scatter_reduce. */
export interface ScatterReduceOptions {
  /** x's own element takes part. Default: true. */
  readonly includeSelf?: boolean | undefined;
}

/**
 * x's elements reduced with source's at the indices that `index` has along an axis. Elements that no index selects keep x. Integers'
 * means are rounded down. DirectML: by size ONE_HOT and GEMM, comparisons, or TOP_K1 with SCATTER; see docs/operations.md.
 * Reference: torch.scatter_reduce.
 */
export function scatterReduce(
  x: Tensor,
  axis: number,
  index: Tensor,
  source: Tensor,
  reduce: ScatterReduction,
  { includeSelf = true }: ScatterReduceOptions = {},
  operation = "scatterReduce",
): Tensor {
  if (!REDUCTIONS.includes(reduce)) throw new ValueError(operation, "reduce", `one of ${REDUCTIONS.join(", ")}`, reduce);
  const { a, part } = checked(operation, x, axis, index, source);
  if (index.size === 0) return tie(clone(x), part, "linear");
  const folded = (to: Tensor, indices: Tensor, values: Tensor, along: number): Tensor =>
    reduced(to, along, indices, values, reduce, includeSelf, (v) => asBool(x, sumElements(v, indices, along, to.shape)));
  return foldedElements(x, a, index, part, folded) ?? folded(x, index, part, a);
}

/** @internal Sums of bool are bool, as in PyTorch. */
export const asBool = (x: Tensor, t: Tensor): Tensor => (x.dtype === "bool" ? toDType(t, "bool") : t);

/** @internal x reduced with source; `sums` adds values at the index. */
export function reduced(
  x: Tensor,
  axis: number,
  index: Tensor,
  source: Tensor,
  reduce: ScatterReduction,
  includeSelf: boolean,
  sums: (values: Tensor) => Tensor,
): Tensor {
  if (reduce !== "sum" && reduce !== "mean") return call(scatterFoldOp, [x, index, source], { axis, fold: reduce, includeSelf });
  const base = includeSelf ? x : call(scatterOp, [x, index, zerosLike(source)], { axis });
  const total = add(base, sums(source));
  if (reduce === "sum") return total;
  const wide = isFloat(x.dtype) ? x.dtype : "int32";
  const hits = sums(onesLike(source, { dtype: wide }));
  const count = includeSelf ? add(hits, 1) : where(gt(hits, 0), hits, scalarTensor(x.device, wide, 1));
  if (isFloat(x.dtype)) return div(total, count);
  return toDType(floor(div(total, count)), x.dtype);
}

export const methods = { scatter, scatterAdd, scatterReduce };
export const inPlaceMethods = { scatter_: scatter, scatterAdd_: scatterAdd, scatterReduce_: scatterReduce };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("rounded", "scatter", [distinct([3, 5]), real([3, 5])], (x, source) => scatter(x!, 1, x!.detach().argsort(1), source!)),
  sample("composed", "scatterReduce", [real([3, 4], 0.5, 2), distinct([3, 6]), whole([3, 6], 0, 3)], (x, source, index) => [
    scatterReduce(x!, 1, index!, source!, "sum"),
    scatterReduce(x!, 1, index!, source!, "amax"),
  ]),
];
