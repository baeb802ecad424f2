/**
 * In-place folds by index (indexAdd_, scatterReduce_, …), at the cost of the indexed elements instead of the whole tensor: these
 * elements are read, folded and written back. @package
 */
import { isWritten } from "../../autograd/over.ts";
import { callOver } from "../../dispatch/dispatch.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul } from "../elementwise/binary.ts";
import { eq, ne } from "../elementwise/compare.ts";
import { zeros } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { amin } from "../reduce/extrema.ts";
import { selectRows, takeElements } from "./gather.ts";
import { expand, flatten, narrow, reshape } from "../shape/movement.ts";
import { pad } from "../shape/pad.ts";
import { arange } from "../creation/ranges.ts";
import { cummax } from "../scan/cumulative-extrema.ts";
import { scatterOp } from "./scatter-op.ts";
import { sort } from "../sort/sort.ts";
import { where } from "../elementwise/where.ts";

/** Below this size computing the whole tensor is as fast as the operations on rows. */
const MIN_SIZE = 2 ** 16;
/** The tensor has to be this many times larger than the indexed elements. */
const MIN_RATIO = 8;
/** Indices are compared pairwise up to this many comparisons, and sorted beyond. */
const MAX_COMPARED = 2 ** 16;

/** rows: those that the index names; firsts: for each row, the position in the index of the first equal one. Gives each first row folded with its equals. */
export type FoldRows = (rows: Tensor, firsts: Tensor) => Tensor;

/** Whether a fold of `count` elements into x writes only these: where x is changed in place and no gradient is recorded. */
const pays = (x: Tensor, source: Tensor, count: number): boolean =>
  isWritten(x, source) && x.size >= MIN_SIZE && x.size < 2 ** 31 && count * MIN_RATIO <= x.size;

/** x with the rows along an axis that a 1-axis index names folded; firsts is [k]. Null where the whole is to be computed, as in any other operation. */
export function foldedRows(x: Tensor, axis: number, index: Tensor, source: Tensor, fold: FoldRows): Tensor | null {
  if (x.rank === 0 || !pays(x, source, source.size)) return null;
  const firsts = firstsOf(index);
  const folded = fold(selectRows(x, axis, index), firsts);
  const next = index.size === 1 ? folded : selectRows(folded, axis, firsts);
  const spread = expand(
    reshape(
      index,
      x.shape.map((_, i) => (i === axis ? index.size : 1)),
    ),
    source.shape,
  );
  return callOver(scatterOp, [x, spread, next], { axis });
}

/** The same for an index of an element for each of source. Rows, firsts and source are flat where there are several along the axis. */
export function foldedElements(
  x: Tensor,
  axis: number,
  index: Tensor,
  source: Tensor,
  fold: (rows: Tensor, firsts: Tensor, source: Tensor, axis: number) => Tensor,
): Tensor | null {
  if (x.rank === 0 || !pays(x, source, index.size)) return null;
  if (index.shape[axis] === 1) {
    const firsts = zeros(index.shape, { dtype: "int32", device: x.device });
    return callOver(scatterOp, [x, index, fold(takeElements(x, axis, index), firsts, source, axis)], { axis });
  }
  const [flatX, values] = [flatten(x), flatten(source)];
  const flatIndex = flatten(flatIndices(x, axis, index));
  const made = foldedRows(flatX, 0, flatIndex, values, (rows, firsts) => fold(rows, firsts, values, 0));
  return made === null ? null : reshape(made, x.shape);
}

/** The flat indices of elements of packed x, from an index along an axis. */
function flatIndices(x: Tensor, axis: number, index: Tensor): Tensor {
  const strides = x.shape.map((_, i) => sizeOf(x.shape.slice(i + 1)));
  return index.shape.reduce(
    (sum, d, i) => {
      if (i === axis || d === 1) return sum;
      const along = mul(arange(d, { dtype: "int32", device: x.device }), strides[i]!);
      return add(sum, reshape(along, index.shape.map((_, k) => (k === i ? d : 1)))); // prettier-ignore
    },
    mul(toDType(index, "int32"), strides[axis]!),
  );
}

/** For each element of a 1-D index the position of the first equal element, int32. */
function firstsOf(index: Tensor): Tensor {
  const { device, size: k } = index;
  if (k === 1) return zeros([1], { dtype: "int32", device });
  const numbers = arange(k, { dtype: "int32", device });
  if (k * k <= MAX_COMPARED) return toDType(amin(where(eq(reshape(index, [k, 1]), index), numbers, k), 1), "int32");
  const { values, indices } = sort(index, 0);
  const isNew = ne(narrow(values, 0, 1, k - 1), narrow(values, 0, 0, k - 1));
  const starts = cummax(pad(where(isNew, narrow(numbers, 0, 1, k - 1), 0), [1, 0]), 0).values;
  const firsts = selectRows(toDType(indices, "int32"), 0, starts);
  return callOver(scatterOp, [zeros([k], { dtype: "int32", device }), indices, firsts], { axis: 0 });
}
