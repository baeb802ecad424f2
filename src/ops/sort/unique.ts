/** Unique and unique consecutive. The number of results depends on data, so they block until it is known. */
import { ShapeError } from "../../core/errors.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { sub } from "../elementwise/binary.ts";
import { ne } from "../elementwise/compare.ts";
import { ones, tensor } from "../creation/creation.ts";
import { gather, indexSelect } from "../index/gather.ts";
import { cat } from "../shape/join.ts";
import { flatten, movedim, narrow, reshape, select } from "../shape/movement.ts";
import { nonzeroSync, refuseTraced } from "../index/nonzero.ts";
import { arange, existingAxis } from "../creation/ranges.ts";
import { any } from "../reduce/reduce.ts";
import { cumsum } from "../scan/cumulative.ts";
import { scatter } from "../index/scatter.ts";
import { argsort } from "./sort.ts";
import { clone } from "../data/state.ts";

/** Options of unique() and uniqueConsecutive(). Reference: torch.unique. */
export interface UniqueOptions {
  /** Distinct parts along an axis. Default: distinct elements of all. */
  readonly axis?: number | null | undefined;
  /** axis by its PyTorch name. @alias axis */
  readonly dim?: number | null | undefined;
}

/** What unique() gives. */
export interface Unique {
  /** The elements, each once. */
  readonly values: Tensor;
  /** For each element the index of its value. */
  readonly inverse: Tensor;
  /** How often each value occurs. */
  readonly counts: Tensor;
}

/** Rows [n, m] in lexicographic order: stable sorts from the last column to the first. */
function orderOf(rows: Tensor): Tensor {
  let order = arange(rows.shape[0]!, { device: rows.device });
  for (let column = rows.shape[1]! - 1; column >= 0; column--)
    order = gather(order, 0, argsort(gather(select(rows, 1, column), 0, order), 0));
  return order;
}

/** Runs of equal rows [n, m]: where each begins, and its number for each row. */
function runsOf(rows: Tensor): { starts: Tensor; numbers: Tensor } {
  const n = rows.shape[0]!;
  const first = ones([1], { dtype: "bool", device: rows.device });
  const differ = n > 1 ? [any(ne(narrow(rows, 0, 1, n - 1), narrow(rows, 0, 0, n - 1)), 1)] : [];
  const begins = cat([first, ...differ], 0);
  return { starts: select(nonzeroSync(begins), 1, 0), numbers: sub(cumsum(begins, 0, { dtype: "int32" }), 1) };
}

function distinct(operation: string, x: Tensor, { axis = null }: UniqueOptions, isSorted: boolean): Unique {
  refuseTraced(operation, null, "Of a fixed number are the elements of sort(x) that differ from the one before them, chosen by where().");
  const a = axis === null ? 0 : existingAxis(operation, x, axis);
  const parts = axis === null ? flatten(x) : movedim(x, a, 0);
  const n = parts.shape[0]!;
  const m = sizeOf(parts.shape.slice(1));
  if (n === 0 || m === 0) {
    if (axis !== null && n > 0) throw new ShapeError(operation, "x", "of at least one element along the other axes", x.describe());
    const none = tensor(new Int32Array(0), { device: x.device });
    return { values: clone(axis === null ? parts : x), inverse: axis === null ? reshape(none, x.shape) : none, counts: none };
  }
  const rows = reshape(parts, [n, m]);
  const order = isSorted ? orderOf(rows) : null;
  const lined = order === null ? rows : indexSelect(rows, 0, order);
  const { starts, numbers } = runsOf(lined);
  const found = reshape(indexSelect(lined, 0, starts), [starts.size, ...parts.shape.slice(1)]);
  const back = order === null ? numbers : scatter(numbers, 0, order, numbers);
  const ends = cat([narrow(starts, 0, 1, starts.size - 1), tensor(Int32Array.of(n), { device: x.device })], 0);
  return {
    values: axis === null ? found : movedim(found, 0, a),
    inverse: axis === null ? reshape(back, x.shape) : back,
    counts: sub(ends, starts),
  };
}

/**
 * The distinct elements in order, with the index of each element's value and how often each occurs. With an axis: the distinct parts along
 * it, in lexicographic order. NaN are distinct from each other. Blocks until the device has counted. Reference: torch.unique.
 */
export const unique = (x: Tensor, options: UniqueOptions = {}): Unique => distinct("unique", x, options, true);

/** unique() of neighbours only: runs of equal elements, in their order. Reference: torch.unique_consecutive. */
export const uniqueConsecutive = (x: Tensor, options: UniqueOptions = {}): Unique => distinct("uniqueConsecutive", x, options, false);

export const methods = { unique, uniqueConsecutive };
