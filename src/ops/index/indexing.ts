/** Indexing and slicing: x.index(…) and x.set(…). */
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { tie } from "../../autograd/tie.ts";
import { asResult, assign, callOver } from "../../dispatch/dispatch.ts";
import { DTypeError, IndexError, ShapeError, ValueError } from "../../core/errors.ts";
import { requireRepresentable } from "../../core/elements.ts";
import { heldScalar } from "../../runtime/constants.ts";
import { broadcastShapes, isBroadcastableTo, sameShape, showShape, sizeOf } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { tensor, type TensorData } from "../creation/creation.ts";
import { to, toDType } from "../data/conversion.ts";
import { indexSelect, sumRows } from "./gather.ts";
import { foldedRows } from "./scatter-reduce-in-place.ts";
import { alias, broadcastTo, flatten, movedim, narrow, permute, reshape, select, slice, unsqueeze } from "../shape/movement.ts";

import { nonzeroSync, wrapped } from "./nonzero.ts";
import { arange } from "../creation/ranges.ts";
import { cumsum } from "../scan/cumulative.ts";
import { scatterOp } from "./scatter-op.ts";
import { clone } from "../data/state.ts";
import { clamp, where } from "../elementwise/where.ts";

/** Part of an axis: every step-th index from start on, before end; null leaves an end open; negative indices count from the end. */
export interface Slice {
  /** The first element; negative ones count from the end. Default: the start. */
  readonly start?: number | null;
  /** The first element that is left out; negative ones count from the end. Default: the end. */
  readonly end?: number | null;
  /** Distance between elements, at least 1. Default: 1. */
  readonly step?: number;
}

/**
 * What may stand for an axis: an integer (the axis goes), a Slice or ":" (it stays), null (a new axis of length 1), "..." (as many
 * ":" as fit), integers as a tensor or a list (a part for each; several broadcast to each other), or a bool tensor, which stands for as
 * many axes as it has and picks where it holds.
 */
export type Index = number | Slice | null | ":" | "..." | Tensor | readonly number[];

/** A Slice from start to end. */
export const s = (start: number | null = null, end: number | null = null, step = 1): Slice => ({ start, end, step });

interface Pick {
  readonly index: Tensor;
  readonly axis: number;
}
interface Resolved {
  /** The view that integers, slices and new axes select; axes with a tensor of indices are whole. */
  readonly part: Tensor;
  /** The tensors of indices, and the axes of `part` that they pick from. */
  readonly picks: readonly Pick[];
}

const isMask = (i: Index): i is Tensor => i instanceof Tensor && (i.dtype === "bool" || i.dtype === "uint8");

/** How many axes an index stands for. */
const width = (i: Index): number => (i === null || i === "..." ? 0 : isMask(i) ? i.rank : 1);

function resolve(operation: string, x: Tensor, indices: readonly Index[]): Resolved {
  const taken = indices.reduce<number>((n, i) => n + width(i), 0);
  if (indices.filter((i) => i === "...").length > 1)
    throw new ValueError(operation, "index", "a list with at most one ...", indices.length);
  if (taken > x.rank) throw new ShapeError(operation, "index", `for at most ${x.rank} axes of ${x.describe()}`, `${taken}`);
  const full = indices.includes("...") ? indices : [...indices, "..." as const];
  let part = x;
  let axis = 0;
  const picks: Pick[] = [];
  for (const i of full) {
    if (i === null) {
      part = unsqueeze(part, axis++);
    } else if (i === "...") {
      axis += x.rank - taken;
    } else if (i === ":") {
      axis++;
    } else if (typeof i === "number") {
      part = select(part, axis, i);
    } else if (isMask(i)) {
      const shape = part.shape.slice(axis, axis + i.rank);
      if (!sameShape(i.shape, shape)) throw new ShapeError(operation, "index", `a mask of ${showShape(shape)}`, i.describe());
      const rows = nonzeroSync(toDType(i, "bool"));
      for (let k = 0; k < i.rank; k++) picks.push({ index: select(rows, 1, k), axis: axis++ });
      if (i.rank === 0) {
        // A single truth value picks all or nothing along a new axis.
        part = unsqueeze(part, axis);
        picks.push({ index: toDType(narrow(arange(1, { device: x.device }), 0, 0, rows.shape[0]!), "int32"), axis: axis++ });
      }
    } else if (i instanceof Tensor && i.rank === 0) {
      // A tensor of rank 0: the axis goes, as it does for a number.
      const at = reshape(wrapped(operation, i, part.shape[axis]!), [1]);
      part = asResult(reshape(indexSelect(part, axis, at), [...part.shape.slice(0, axis), ...part.shape.slice(axis + 1)]));
    } else if (i instanceof Tensor || Array.isArray(i)) {
      picks.push({ index: indexTensor(operation, x, i as Tensor | readonly number[], part.shape[axis]!), axis });
      axis++;
    } else {
      const { start = null, end = null, step = 1 } = i as Slice;
      part = slice(part, axis++, start ?? 0, end ?? Number.MAX_SAFE_INTEGER, step);
    }
  }
  return { part, picks };
}

function indexTensor(operation: string, x: Tensor, index: Tensor | readonly number[], length: number): Tensor {
  if (index instanceof Tensor) return wrapped(operation, index, length);
  for (const i of index)
    if (!Number.isInteger(i) || i < -length || i >= length)
      throw new IndexError(operation, "index", `integers in [${-length}, ${length - 1}]`, i);
  return tensor(
    Int32Array.from(index, (i) => (i < 0 ? i + length : i)),
    { device: x.device },
  );
}

/**
 * Part of x: `x.index(0)`, `x.index(":", s(1, 3))`, `x.index("...", null)`, `x.index([2, 0])`, `x.index(rows, columns)`, `x.index(mask)`.
 * Axes not named are whole. A view, but for tensors or lists of indices, which copy. A mask blocks until the device has counted; await
 * maskedSelect() or nonzero() for what does not, and give them a `size` inside compile(). Reference: torch's x[…].
 */
export const index = (x: Tensor, ...indices: Index[]): Tensor => indexed("index", x, indices);

function indexed(operation: string, x: Tensor, indices: readonly Index[]): Tensor {
  const { part, picks } = resolve(operation, x, indices);
  if (picks.length === 0) return part === x ? alias(x) : part;
  if (picks.length > 1) return asResult(pickedAt(part, picks));
  const { index: positions, axis } = picks[0]!;
  if (positions.rank === 1) return indexSelect(part, axis, positions);
  const found = indexSelect(part, axis, flatten(positions));
  return asResult(reshape(found, [...part.shape.slice(0, axis), ...positions.shape, ...part.shape.slice(axis + 1)]));
}

/** Elements (or slices) at indices of several axes: the indices' broadcast shape replaces these axes, in front unless they are adjacent. */
function pickedAt(part: Tensor, picks: readonly Pick[]): Tensor {
  const shape = picks.reduce<readonly number[]>((s, p) => broadcastShapes("index", s, p.index.shape), []);
  const axes = picks.map((p) => p.axis);
  const rest = part.shape.map((_, i) => i).filter((i) => !axes.includes(i));
  const rows = reshape(permute(part, [...axes, ...rest]), [sizeOf(axes.map((a) => part.shape[a]!)), ...rest.map((i) => part.shape[i]!)]);
  const flat = picks.map((p) => toDType(p.index, "int32")).reduce((positions, next, k) => add(mul(positions, part.shape[axes[k]!]!), next));
  const found = indexSelect(rows, 0, flatten(broadcastTo(flat, shape)));
  const result = reshape(found, [...shape, ...rest.map((i) => part.shape[i]!)]);
  const adjacent = axes.every((a, i) => i === 0 || a === axes[i - 1]! + 1);
  if (!adjacent || axes[0] === 0) return result;
  const from = shape.map((_, i) => i);
  return movedim(
    result,
    from,
    from.map((i) => i + axes[0]!),
  );
}

/** The flat indices of the elements that the index selects. */
function flatIndicesOf(operation: string, x: Tensor, indices: readonly Index[]): Tensor {
  const isScalarIndex = (i: Index): boolean => i instanceof Tensor && i.rank === 0 && !isMask(i);
  if (x.desc.isPacked && !indices.some(isScalarIndex)) {
    const { part, picks } = resolve(operation, x, indices);
    if (part.size > 0 && picks.length > 0) return namedBy(part, picks, part.offset - x.offset);
  }
  // The index applied to the flat indices of all elements.
  return indexed(operation, reshape(arange(x.size, { device: x.device }), x.shape), indices);
}

/** The same for a view of a packed tensor: index times stride, summed over the axes. */
function namedBy(part: Tensor, picks: readonly Pick[], offset: number): Tensor {
  const shape = picks.reduce<readonly number[]>((s, p) => broadcastShapes("index", s, p.index.shape), []);
  const axes = picks.map((p) => p.axis);
  const rest = part.shape.map((_, i) => i).filter((i) => !axes.includes(i));
  const isAdjacent = axes.every((a, i) => i === 0 || a === axes[i - 1]! + 1);
  const before = isAdjacent ? axes[0]! : 0;
  const numbers = (t: Tensor, axis: number): Tensor => mul(toDType(t, "int32"), part.strides[axis]!);
  const picked = picks.map((p) => numbers(p.index, p.axis)).reduce((a, b) => add(a, b));
  const lengths = [...rest.slice(0, before).map(() => 1), ...shape, ...rest.slice(before).map(() => 1)];
  let named = reshape(add(broadcastTo(picked, shape), offset), lengths);
  rest.forEach((axis, k) => {
    if (part.shape[axis] === 1) return;
    const at = k < before ? k : k + shape.length;
    const rows = numbers(arange(part.shape[axis]!, { dtype: "int32", device: part.device }), axis);
    named = add(named, reshape(rows, lengths.map((_, i) => (i === at ? part.shape[axis]! : 1)))); // prettier-ignore
  });
  return named;
}

/** x with the elements that the index names replaced: another tensor, through which gradients flow to x and to value. */
function replaced(operation: string, x: Tensor, indices: readonly Index[], value: Tensor): Tensor {
  const masked = uncounted(operation, x, indices, value, (_, v) => v);
  if (masked !== null) return masked;
  const target = flatIndicesOf(operation, x, indices);
  requireFits(operation, value, target);
  if (target.size === 0) return tie(clone(x), value, "linear");
  const values = broadcastTo(toDType(trimmed(value, target.rank), x.dtype), target.shape);
  return reshape(callOver(scatterOp, [reshape(x, [-1]), reshape(target, [-1]), reshape(values, [-1])], { axis: 0 }), x.shape);
}

/**
 * Inside compile(), where a mask can't be counted: x with the elements that one mask (among numbers, slices and new axes) picks changed by
 * their values. The value of an element is at the count of true elements before it. Null where there is no such mask.
 */
function uncounted(
  operation: string,
  x: Tensor,
  indices: readonly Index[],
  value: Tensor,
  change: (old: Tensor, value: Tensor) => Tensor,
): Tensor | null {
  const tensors = indices.filter((i) => i instanceof Tensor || Array.isArray(i));
  const mask = tensors[0];
  if (tracer() === null || tensors.length !== 1 || !(mask instanceof Tensor) || !isMask(mask) || mask.rank === 0) return null;
  const views = indices.flatMap<Index>((i) => (i === mask ? mask.shape.map(() => ":" as const) : [i]));
  const { part } = resolve(operation, x, views);
  const axesOf = (i: Index): number =>
    i === "..." ? x.rank - indices.reduce<number>((n, o) => n + width(o), 0) : Number(typeof i !== "number");
  const axis = indices.slice(0, indices.indexOf(mask)).reduce<number>((n, i) => n + axesOf(i), 0);
  const end = axis + mask.rank;
  if (!sameShape(part.shape.slice(axis, end), mask.shape))
    throw new ShapeError(operation, "index", `a mask of ${showShape(part.shape.slice(axis, end))}`, mask.describe());
  const tail = part.shape.slice(end);
  const short = trimmed(value, part.rank - mask.rank + 1);
  const values = reshape(short, [...new Array<number>(part.rank - mask.rank + 1 - short.rank).fill(1), ...short.shape]);
  const count = values.shape[axis]!;
  const shape = [...part.shape.slice(0, axis), count, ...tail];
  if (!isBroadcastableTo(values.shape, shape))
    throw new ShapeError(operation, "value", `one that broadcasts to ${showShape(shape)}`, value.describe());
  if (part.size === 0 || count === 0) return tie(clone(x), value, "linear");
  const holds = toDType(mask, "bool");
  const number = (): Tensor => clamp(sub(cumsum(toDType(flatten(holds), "int32"), 0), 1), 0, count - 1);
  const spread = count === 1 ? values : indexSelect(values, axis, number());
  const lengths = count === 1 ? mask.shape.map(() => 1) : mask.shape;
  const spreadValues = toDType(reshape(spread, [...values.shape.slice(0, axis), ...lengths, ...values.shape.slice(axis + 1)]), x.dtype);
  const next = where(reshape(holds, [...mask.shape, ...tail.map(() => 1)]), change(part, spreadValues), part);
  return part.size === x.size ? asResult(reshape(next, x.shape)) : replaced(operation, x, views, next);
}

/** value without the axes of length 1 in front that are too many. */
const trimmed = (value: Tensor, rank: number): Tensor => (value.rank > rank ? reshape(value, value.shape.slice(value.rank - rank)) : value);

/**
 * The elements that the index names take the value (broadcast to their shape, cast to x's dtype). x is changed in place; while
 * gradients are recorded for x or value, they flow on. The index comes as a list. Returns x. Reference: torch's x[…] = value.
 */
export function set(x: Tensor, indices: Index | readonly Index[], value: Tensor | TensorData): Tensor {
  const list: readonly Index[] = Array.isArray(indices) ? (indices as readonly Index[]) : [indices as Index];
  if (typeof value === "number") requireRepresentable("set", "value", x.dtype, value);
  const source = value instanceof Tensor ? to(value, x.device) : tensor(value, { dtype: x.dtype, device: x.device });
  const isView = !list.some((i) => i instanceof Tensor || Array.isArray(i));
  // A single number may be written to elements that share memory, as fill_() writes it.
  if (isView && source.rank === 0 && x.shape.some((d, i) => d > 1 && x.strides[i] === 0)) {
    const { part } = resolve("set", x, list);
    if (part.size > 0) assign("set", part, () => broadcastTo(toDType(source, x.dtype), part.shape), { replaces: true, uniform: true });
    return x;
  }
  const only = list.length === 1 ? list[0]! : null;
  if (only !== null && isMask(only) && fitsMask(x, only, source)) return assign("set", x, () => maskedBy(x, only, source));
  // The index is resolved once only: a mask waits for the device each time.
  if (!isView || (isGradEnabled() && (x.requiresGrad || source.requiresGrad)))
    return assign("set", x, () => replaced("set", x, list, source));
  const { part } = resolve("set", x, list);
  requireFits("set", source, part);
  if (part.size === 0) return x;
  assign("set", part, () => broadcastTo(toDType(trimmed(source, part.rank), x.dtype), part.shape));
  return x;
}

function requireFits(operation: string, value: Tensor, part: Tensor): void {
  const lead = Math.max(0, value.rank - part.rank);
  const fits =
    value.shape.slice(0, lead).every((d) => d === 1) &&
    value.shape.slice(lead).every((d, i) => d === 1 || d === part.shape[part.rank - (value.rank - lead) + i]);
  if (!fits) throw new ShapeError(operation, "value", `one that broadcasts to ${showShape(part.shape)}`, value.describe());
}

/** Whether a mask of x's first axes takes a value that broadcasts to what it picks: then the picked indices need not be known. */
const fitsMask = (x: Tensor, mask: Tensor, value: Tensor): boolean =>
  sameShape(mask.shape, x.shape.slice(0, mask.rank)) && isBroadcastableTo(value.shape, x.shape.slice(mask.rank));

const maskedBy = (x: Tensor, mask: Tensor, value: Tensor): Tensor =>
  where(toDType(reshape(mask, [...mask.shape, ...x.shape.slice(mask.rank).map(() => 1)]), "bool"), toDType(value, x.dtype), x);

/**
 * x with values at the elements that tensors of indices (or a mask) pick, as set() but as another tensor. accumulate: values are added, those
 * of equal indices too. Reference: torch.index_put. @autocast widest
 */
export function indexPut(
  x: Tensor,
  indices: readonly Index[],
  values: Tensor | number,
  {
    accumulate = false,
  }: {
    /** Whether values are added instead of set, those of equal indices too. Default: false. */
    readonly accumulate?: boolean | undefined;
  } = {},
): Tensor {
  const source = values instanceof Tensor ? values : heldScalar("indexPut", "values", x.device, x.dtype, values);
  if (source.dtype !== x.dtype) throw new DTypeError("indexPut", "values", `of dtype ${x.dtype}, like x`, source.describe());
  if (!accumulate) return replaced("indexPut", x, indices, source);
  const masked = uncounted("indexPut", x, indices, source, add);
  if (masked !== null) return masked;
  const target = flatIndicesOf("indexPut", x, indices);
  requireFits("indexPut", source, target);
  if (target.size === 0) return tie(clone(x), source, "linear");
  const added = flatten(broadcastTo(trimmed(source, target.rank), target.shape));
  const next = foldedRows(flatten(x), 0, flatten(target), added, (rows, positions) =>
    add(rows, target.size === 1 ? added : toDType(sumRows(added, positions, 0, rows.shape), x.dtype)),
  );
  if (next !== null) return reshape(next, x.shape);
  return add(x, toDType(reshape(sumRows(added, flatten(target), 0, [x.size]), x.shape), x.dtype));
}

export const methods = { index, at: index, set, indexPut };
export const inPlaceMethods = { indexPut_: indexPut };
