/**
 * Nonzero and masked select: results whose shape depends on data. Each has a form that waits for one count
 * (`await nonzero(x)`), one that blocks for it (`nonzeroSync(x)`), and one of a fixed size, padded, that computes on the device alone and
 * so may be compiled (`nonzero(x, { size })`).
 */
import { tie } from "../../autograd/tie.ts";
import { isFloat } from "../../core/dtype.ts";
import { DTypeError, ShapeError, TraceError, ValueError } from "../../core/errors.ts";
import { asResult, dispatch } from "../../dispatch/dispatch.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { Expr } from "../../graph/graph.ts";
import { MAX_AXES } from "../../graph/many-axes.ts";
import { heldScalar, scalarTensor } from "../../runtime/constants.ts";
import { requireIndices } from "../../runtime/index-check.ts";
import { broadcastShapes, packedStrides, sizeOf, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { add, sub } from "../elementwise/binary.ts";
import { lt, ne } from "../elementwise/compare.ts";
import { zeros } from "../creation/creation.ts";
import { data, dataSync, toDType } from "../data/conversion.ts";
import { define } from "../../core/definition.ts";
import type { IndexDType } from "../reduce/extrema.ts";
import { requireIndex, gather, indexSelect } from "./gather.ts";
import { cat } from "../shape/join.ts";
import { broadcastTo, narrow, reshape, select } from "../shape/movement.ts";
import { arange, existingAxis } from "../creation/ranges.ts";
import { cumsum } from "../scan/cumulative.ts";
import { clone } from "../data/state.ts";
import { cast, computable, computing, constant } from "../declare/support.ts";
import { clampMin, where } from "../elementwise/where.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

/** Flat indices [N, 1] into a shape as coordinates [N, axes]. */
function unraveled(g: GraphBuilder, indices: Expr, shape: Shape): Expr {
  const inner = computable(g, "ELEMENT_WISE_DIVIDE", "uint32");
  const number = (v: number): Expr => constant(g, inner, inner === "int64" || inner === "uint64" ? BigInt(v) : v, indices.sizes);
  const flat = cast(g, indices, inner);
  const columns = packedStrides(shape).map((stride, i) => {
    const at = g.elementWiseDivide(flat, number(stride));
    const before = g.elementWiseMultiply(g.elementWiseDivide(flat, number(stride * shape[i]!)), number(shape[i]!));
    return cast(g, g.elementWiseSubtract(at, before), "uint32");
  });
  return g.join(columns, { output: { sizes: [indices.sizes[0]!, shape.length], dtype: "uint32" }, axis: 1 });
}

/** Coordinates of all nonzero elements in order, rows behind their count undefined; and that count. */
const coordinatesOp = define({
  name: "nonzero",
  grad: null,
  infer: ([x]) => [
    { shape: [1], dtype: "uint32" },
    { shape: [sizeOf(x!.shape), Math.max(1, x!.shape.length)], dtype: "uint32" },
  ],
  lower: (g, [x]) => {
    const seen = x!.dtype === "bool" ? g.reinterpret(x!, { dtype: "uint8" }) : x!;
    const total = sizeOf(x!.sizes);
    const isFlat = x!.sizes.length > MAX_AXES;
    const found = g.nonzeroCoordinates(isFlat ? g.reshape(seen, [total]) : seen, {
      outputCount: { sizes: [1], dtype: "uint32" },
      outputCoordinates: { sizes: [total, isFlat ? 1 : x!.sizes.length], dtype: "uint32" },
    });
    return [found.outputCount, isFlat ? unraveled(g, found.outputCoordinates, x!.sizes) : found.outputCoordinates];
  },
});

/** Throws inside compile(), where a shape can't wait for data. @package */
export function refuseTraced(operation: string, option: string | null = "size", hint = "The result is then of that length, padded."): void {
  if (tracer() === null) return;
  const reason = "the result's shape depends on data";
  throw new TraceError({
    operation,
    argument: option ?? "x",
    expected: option === null ? `outside compile(): ${reason}` : `given inside compile(): without it ${reason}`,
    received: option === null ? "a traced tensor" : "none",
    hint,
  });
}

/** Options of nonzero(). Reference: torch.nonzero. */
export interface NonzeroOptions {
  /** The dtype of the coordinates. Default: int32. */
  readonly dtype?: IndexDType | undefined;
}
/** A fixed number of rows, so that the result needs no wait: nonzero() with `size`. */
export interface SizedOptions extends NonzeroOptions {
  /** The number of rows: those behind the last nonzero element have `fill`. */
  readonly size: number;
  /** Default: 0. */
  readonly fill?: number | undefined;
}

interface Found {
  readonly count: Tensor;
  readonly rows: Tensor;
}

function coordinates(x: Tensor, dtype: IndexDType): Found {
  computing("nonzero", x.dtype);
  // NaN is not 0, and the operator takes no 64-bit numbers: x != 0 decides.
  const isPlain = !isFloat(x.dtype) && x.dtype !== "int64" && x.dtype !== "uint64";
  const [count, rows] = dispatch(coordinatesOp, [isPlain ? x : ne(x, 0)], undefined);
  return { count: toDType(count!, "int32"), rows: toDType(rows!, dtype) };
}

const blank = (x: Tensor, rows: number, dtype: IndexDType): Tensor => zeros([rows, x.rank], { dtype, device: x.device });

/** The first rows, without coordinates for a scalar. */
const cutTo = ({ rows }: Found, count: number, x: Tensor): Tensor => {
  const some = narrow(rows, 0, 0, count);
  return clone(x.rank === 0 ? narrow(some, 1, 0, 0) : some);
};

function sized(x: Tensor, { size, fill = 0, dtype = "int32" }: SizedOptions): Tensor {
  if (!Number.isInteger(size) || size < 0) throw new ValueError("nonzero", "size", "an integer of at least 0", size);
  if (x.rank === 0 || x.size === 0 || size === 0) return add(blank(x, size, dtype), fill);
  const { count, rows } = coordinates(x, dtype);
  const available = rows.shape[0]!;
  const enough = available >= size ? narrow(rows, 0, 0, size) : cat([rows, blank(x, size - available, dtype)], 0);
  const isRow = reshape(lt(arange(size, { device: x.device }), count), [size, 1]);
  return where(isRow, enough, scalarTensor(x.device, dtype, fill));
}

/**
 * The coordinates of the nonzero elements in row-major order: [count, rank]. A promise of them, or with `size` that many rows, padded, without waiting.
 * DirectML: NONZERO_COORDINATES. Reference: torch.nonzero.
 */
export function nonzero(x: Tensor, options: SizedOptions): Tensor;
export function nonzero(x: Tensor, options?: NonzeroOptions): Promise<Tensor>;
export function nonzero(x: Tensor, options: NonzeroOptions | SizedOptions = {}): Promise<Tensor> | Tensor {
  if ("size" in options) return sized(x, options);
  refuseTraced("nonzero");
  return waited(x, options);
}

async function waited(x: Tensor, { dtype = "int32" }: NonzeroOptions): Promise<Tensor> {
  if (x.size === 0) return blank(x, 0, dtype);
  const found = coordinates(x, dtype);
  const [count] = await data(found.count);
  return cutTo(found, Number(count), x);
}

/** nonzero(), blocking until the device has counted. */
export function nonzeroSync(x: Tensor, { dtype = "int32" }: NonzeroOptions = {}): Tensor {
  refuseTraced("nonzeroSync", "size", "Use nonzero(x, { size }), whose result is of that length, padded.");
  if (x.size === 0) return blank(x, 0, dtype);
  const found = coordinates(x, dtype);
  return cutTo(found, Number(dataSync(found.count)[0]), x);
}

/** nonzero() by NumPy's name. Reference: torch.argwhere. */
export const argwhere = nonzero;
/** nonzeroSync() by NumPy's name. */
export const argwhereSync = nonzeroSync;

/** x and the mask, broadcast to each other and flattened. */
function masked(operation: string, x: Tensor, mask: Tensor): { flat: Tensor; picks: Tensor } {
  if (mask.dtype !== "bool") throw new DTypeError(operation, "mask", "of dtype bool", mask.describe());
  const shape = broadcastShapes(operation, x.shape, mask.shape);
  return { flat: reshape(broadcastTo(x, shape), [-1]), picks: reshape(broadcastTo(mask, shape), [-1]) };
}

/** A fixed number of elements, so that the result needs no wait: maskedSelect() with `size`. */
export interface MaskedOptions {
  /** The number of elements: those behind the last one picked are `fill`. */
  readonly size: number;
  /** Default: 0. */
  readonly fill?: number | undefined;
}

/**
 * The elements where a mask is true, as a vector. A promise of it, or with `size` that many at once, padded. Shapes broadcast; gradients
 * flow to x. DirectML: NONZERO_COORDINATES, GATHER. Reference: torch.masked_select.
 */
export function maskedSelect(x: Tensor, mask: Tensor, options: MaskedOptions): Tensor;
export function maskedSelect(x: Tensor, mask: Tensor): Promise<Tensor>;
export function maskedSelect(x: Tensor, mask: Tensor, options?: MaskedOptions): Promise<Tensor> | Tensor {
  const { flat, picks } = masked("maskedSelect", x, mask);
  if (options !== undefined) {
    const indices = sized(picks, { size: options.size, fill: -1 });
    const at = reshape(indices, [options.size]);
    const fill = heldScalar("maskedSelect", "fill", x.device, x.dtype, options.fill ?? 0);
    if (flat.size === 0) return broadcastTo(fill, [options.size]);
    return where(lt(at, 0), fill, indexSelect(flat, 0, clampMin(at, 0)));
  }
  refuseTraced("maskedSelect");
  return nonzero(picks).then((indices) => picked(flat, indices));
}

/** maskedSelect(), blocking until the device has counted. */
export function maskedSelectSync(x: Tensor, mask: Tensor): Tensor {
  const { flat, picks } = masked("maskedSelectSync", x, mask);
  refuseTraced("maskedSelectSync", "size", "Use maskedSelect(x, mask, { size }), whose result is of that length, padded.");
  return picked(flat, nonzeroSync(picks));
}

const picked = (flat: Tensor, indices: Tensor): Tensor =>
  indices.size === 0 ? narrow(flat, 0, 0, 0) : indexSelect(flat, 0, select(indices, 1, 0));

/**
 * x with source's elements, in their order, where the mask is true. The shape is that of x and the mask. Gradients flow to both.
 * Throws ShapeError when source has fewer elements than the result. Reference: torch.Tensor.masked_scatter.
 */
export function maskedScatter(x: Tensor, mask: Tensor, source: Tensor): Tensor {
  const { flat, picks } = masked("maskedScatter", x, mask);
  if (source.dtype !== x.dtype) throw new DTypeError("maskedScatter", "source", `of dtype ${x.dtype}, like x`, source.describe());
  const shape = broadcastShapes("maskedScatter", x.shape, mask.shape);
  if (flat.size === 0) return reshape(clone(flat), shape);
  if (source.size === 0) throw new ShapeError("maskedScatter", "source", "of at least one element", source.describe());
  const order = clampMin(sub(cumsum(picks, 0, { dtype: "int32" }), 1), 0);
  const within = where(lt(order, source.size), order, scalarTensor(x.device, "int32", 0));
  return asResult(reshape(where(picks, indexSelect(reshape(source, [-1]), 0, within), flat), shape));
}

/** Indices that count from the end if negative, as indices from the start. @package */
export function wrapped(operation: string, index: Tensor, length: number): Tensor {
  requireIndex(operation, index);
  requireIndices(operation, index, { length, wraps: true });
  const signed = index.dtype === "int32" || index.dtype === "int64" ? index : toDType(index, "int32");
  return where(lt(signed, 0), add(signed, length), signed);
}

/** The elements of flattened x at `index`, which may count from the end; the result has their shape. Reference: torch.take. */
export function take(x: Tensor, index: Tensor): Tensor {
  const at = wrapped("take", index, x.size);
  if (index.size === 0) return tie(zeros(index.shape, { dtype: x.dtype, device: x.device }), x, "linear");
  return asResult(reshape(gather(reshape(x, [-1]), 0, reshape(at, [-1])), index.shape));
}

/** gather() in which x and index broadcast to each other but along the axis; without an axis, of the flattened x. Indices may count from the end. Reference: torch.take_along_dim. */
export function takeAlongAxis(x: Tensor, index: Tensor, axis: number | null = null): Tensor {
  if (axis === null) return gather(reshape(x, [-1]), 0, reshape(wrapped("takeAlongAxis", index, x.size), [-1]));
  const a = existingAxis("takeAlongAxis", x, axis);
  if (index.rank !== x.rank) throw new ShapeError("takeAlongAxis", "index", `of ${x.rank} axes`, index.describe());
  index.shape.forEach((d, i) => {
    if (i !== a && d !== 1 && x.shape[i] !== 1 && d !== x.shape[i])
      throw new ShapeError("takeAlongAxis", "index", `of length 1 or ${x.shape[i]} along axis ${i}`, index.describe());
  });
  const wide = (own: Tensor, other: Tensor): Tensor =>
    broadcastTo(
      own,
      own.shape.map((d, i) => (i === a || d !== 1 ? d : other.shape[i]!)),
      "takeAlongAxis",
    );
  return gather(wide(x, index), a, wide(wrapped("takeAlongAxis", index, x.shape[a]!), x));
}

export const methods = { nonzeroSync, argwhereSync, maskedSelectSync, maskedScatter, take, takeAlongAxis };
export const inPlaceMethods = { maskedScatter_: maskedScatter };
/** Promises, or tensors of a fixed size. */
export const overloaded = { nonzero, argwhere, maskedSelect };

declare module "../../core/tensor.ts" {
  interface Tensor {
    /** The coordinates of the nonzero elements: a promise, or with `size` that many rows. */
    nonzero(options: SizedOptions): Tensor;
    nonzero(options?: NonzeroOptions): Promise<Tensor>;
    /** The coordinates of the nonzero elements, as nonzero(). Reference: torch.argwhere. */
    argwhere(options: SizedOptions): Tensor;
    /** The coordinates of the nonzero elements, as nonzero(). Reference: torch.argwhere. */
    argwhere(options?: NonzeroOptions): Promise<Tensor>;
    /** The elements where a mask is true: a promise, or with `size` that many. */
    maskedSelect(mask: Tensor, options: MaskedOptions): Tensor;
    maskedSelect(mask: Tensor): Promise<Tensor>;
  }
}

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "nonzero of a given length", [real([3, 4])], (x) => nonzero(x!.detach().gt(0), { size: 8 })),
];
