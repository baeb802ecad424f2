/** x.index(…) and x.set(…): parts of a tensor by whole numbers, slices, new axes and tensors of indices. */
import { isGradEnabled } from "../autograd/grad-mode.ts";
import { asResult, assign, call } from "../dispatch.ts";
import { isInteger } from "../dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../errors.ts";
import { showShape } from "../shape.ts";
import { Tensor } from "../tensor.ts";
import { mul } from "./binary.ts";
import { tensor, zeros, type TensorData } from "./creation.ts";
import { to, toDType } from "./data.ts";
import { define, type Definition } from "../definition.ts";
import { gather, indexSelect } from "./gather.ts";
import { alias, broadcastTo, flatten, reshape, select, slice, unsqueeze } from "./movement.ts";
import { arange } from "./ranges.ts";

/** Part of an axis: every step-th place from start on, before end; null leaves an end open; negative places count from the end. */
export interface Slice {
  readonly start?: number | null;
  readonly end?: number | null;
  readonly step?: number;
}

/**
 * What may stand for an axis: a place (the axis goes), a Slice or ":" (it stays), null (a new axis of length 1), "..." (as many
 * ":" as fit), or integers as a tensor or a list (a part for each; at most one of these).
 */
export type Index = number | Slice | null | ":" | "..." | Tensor | readonly number[];

/** A Slice from start to end. */
export const s = (start: number | null = null, end: number | null = null, step = 1): Slice => ({ start, end, step });

interface Resolved {
  /** The view that the places, slices and new axes show; axes with a tensor of indices are whole. */
  readonly part: Tensor;
  /** The tensor of indices, and the axis of `part` that it picks from. */
  readonly pick: { readonly index: Tensor; readonly axis: number } | null;
}

function resolve(operation: string, x: Tensor, indices: readonly Index[]): Resolved {
  const taken = indices.filter((i) => i !== null && i !== "...").length;
  if (indices.filter((i) => i === "...").length > 1)
    throw new ValueError(operation, "index", "a list with at most one ...", indices.length);
  if (taken > x.rank) throw new ShapeError(operation, "index", `for at most ${x.rank} axes of ${x.describe()}`, `${taken}`);
  const full = indices.includes("...") ? indices : [...indices, "..." as const];
  let part = x;
  let axis = 0;
  let pick: Resolved["pick"] = null;
  for (const i of full) {
    if (i === null) {
      part = unsqueeze(part, axis++);
    } else if (i === "...") {
      axis += x.rank - taken;
    } else if (i === ":") {
      axis++;
    } else if (typeof i === "number") {
      part = select(part, axis, i);
    } else if (i instanceof Tensor || Array.isArray(i)) {
      if (pick !== null)
        throw new ValueError(
          operation,
          "index",
          "one that has indices for at most one axis",
          "several",
          "Use gather() or takeAlongAxis().",
        );
      pick = { index: indexTensor(operation, x, i as Tensor | readonly number[], part.shape[axis]!), axis };
      axis++;
    } else {
      const { start = null, end = null, step = 1 } = i as Slice;
      part = slice(part, axis++, start ?? 0, end ?? Number.MAX_SAFE_INTEGER, step);
    }
  }
  return { part, pick };
}

function indexTensor(operation: string, x: Tensor, index: Tensor | readonly number[], length: number): Tensor {
  if (index instanceof Tensor) {
    if (!isInteger(index.dtype))
      throw new DTypeError(
        operation,
        "index",
        "of an integer dtype",
        index.describe(),
        "The result's shape would depend on a mask's data: use where() or maskedFill().",
      );
    return index;
  }
  for (const i of index)
    if (!Number.isInteger(i) || i < -length || i >= length)
      throw new ValueError(operation, "index", `whole numbers in [${-length}, ${length - 1}]`, i);
  return tensor(
    Int32Array.from(index, (i) => (i < 0 ? i + length : i)),
    { device: x.device },
  );
}

/**
 * Part of x: `x.index(0)`, `x.index(":", s(1, 3))`, `x.index("...", null)`, `x.index([2, 0])`. Axes not named are whole. A view,
 * but for tensors or lists of indices, which copy. Reference: torch's x[…].
 */
export function index(x: Tensor, ...indices: Index[]): Tensor {
  const { part, pick } = resolve("index", x, indices);
  if (pick === null) return part === x ? alias(x) : part;
  const { index: picks, axis } = pick;
  if (picks.rank === 1) return indexSelect(part, axis, picks);
  const found = indexSelect(part, axis, flatten(picks));
  return asResult(reshape(found, [...part.shape.slice(0, axis), ...picks.shape, ...part.shape.slice(axis + 1)]));
}

/** Flat x with the elements at `places` replaced by values; of equal places any one wins. DirectML: SCATTER_ELEMENTS. */
const putOp: Definition<undefined> = define({
  name: "put",
  infer: ([x]) => [x!],
  lower: (g, [x, places, values]) => [
    g.scatter(g.packed(x!), g.packed(places!), g.packed(values!), { axis: 0, output: { sizes: x!.sizes } }),
  ],
  grad: (dy, { inputs: [, places], needs }) => [
    needs[0] ? call(putOp, [dy, places!, zeros(places!.shape, { dtype: dy.dtype, device: dy.device })], undefined) : null,
    null,
    needs[2] ? gather(dy, 0, places!) : null,
  ],
  saves: { inputs: [1], outputs: false },
});

/** x with the elements that the index names replaced: another tensor, through which gradients flow to x and to value. */
function replaced(x: Tensor, indices: readonly Index[], value: Tensor): Tensor {
  // The same index of the elements' numbers tells which they are.
  const target = index(reshape(arange(x.size, { device: x.device }), x.shape), ...indices);
  demandFits("set", value, target);
  if (target.size === 0) return mul(x, 1);
  const values = broadcastTo(toDType(trimmed(value, target.rank), x.dtype), target.shape);
  return reshape(call(putOp, [reshape(x, [-1]), reshape(target, [-1]), reshape(values, [-1])], undefined), x.shape);
}

/** value without the axes of length 1 in front that are too many. */
const trimmed = (value: Tensor, rank: number): Tensor => (value.rank > rank ? reshape(value, value.shape.slice(value.rank - rank)) : value);

/**
 * The elements that the index names take the value (broadcast to their shape, cast to x's dtype). x is changed in place; while
 * gradients are recorded for x or value, they flow on. The index comes as a list. Returns x. Reference: torch's x[…] = value.
 */
export function set(x: Tensor, indices: Index | readonly Index[], value: Tensor | TensorData): Tensor {
  const list: readonly Index[] = Array.isArray(indices) ? (indices as readonly Index[]) : [indices as Index];
  const source = value instanceof Tensor ? to(value, x.device) : tensor(value, { dtype: x.dtype, device: x.device });
  const { part, pick } = resolve("set", x, list);
  if (isGradEnabled() && (x.requiresGrad || source.requiresGrad)) return assign("set", x, () => replaced(x, list, source));
  if (pick !== null) return assign("set", x, () => replaced(x, list, source));
  demandFits("set", source, part);
  if (part.size === 0) return x;
  assign("set", part, () => broadcastTo(toDType(trimmed(source, part.rank), x.dtype), part.shape));
  return x;
}

function demandFits(operation: string, value: Tensor, part: Tensor): void {
  const lead = Math.max(0, value.rank - part.rank);
  const fits =
    value.shape.slice(0, lead).every((d) => d === 1) &&
    value.shape.slice(lead).every((d, i) => d === 1 || d === part.shape[part.rank - (value.rank - lead) + i]);
  if (!fits) throw new ShapeError(operation, "value", `one that broadcasts to ${showShape(part.shape)}`, value.describe());
}

export { index as at };
export const methods = { index, at: index, set };
