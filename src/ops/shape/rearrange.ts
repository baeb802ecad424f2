/** Rearranging: hstack, vstack, dstack, meshgrid, rot90 and similar operations, all of them views and JOINs. */
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { resultType } from "../../core/dtype.ts";
import { broadcastShapes, normalizeAxis, sameShape } from "../../core/shape.ts";
import { tie } from "../../autograd/tie.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tensor, zeros } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { indexSelect } from "../index/gather.ts";
import { cat, requireParts, flip, stack } from "./join.ts";
import { broadcastTo, flatten, narrow, reshape, slice, transpose } from "./movement.ts";
import { existingAxis } from "../creation/ranges.ts";
import { clone } from "../data/state.ts";

/** x with at least one axis: x itself where it has. Reference: torch.atleast_1d. */
export const atleast1d = (x: Tensor): Tensor => (x.rank === 0 ? reshape(x, [1]) : x);
/** x with at least two axes, new ones in front: x itself where it has them. Reference: torch.atleast_2d. */
export const atleast2d = (x: Tensor): Tensor => (x.rank < 2 ? reshape(x, [1, x.size]) : x);
/** x with at least three axes: a matrix gets one behind, a vector one on each side, x itself where it has them. Reference: torch.atleast_3d. */
export const atleast3d = (x: Tensor): Tensor => (x.rank > 2 ? x : reshape(x, x.rank === 2 ? [...x.shape, 1] : [1, x.size, 1]));

function requireNonEmpty(operation: string, tensors: readonly Tensor[]): void {
  if (tensors.length === 0) throw new ValueError(operation, "tensors", "at least one tensor", "none");
}

/** The tensors joined along the second axis, vectors along the first. Reference: torch.hstack. */
export function hstack(tensors: readonly Tensor[]): Tensor {
  requireNonEmpty("hstack", tensors);
  const all = tensors.map(atleast1d);
  return cat(all, all[0]!.rank === 1 ? 0 : 1);
}

/** The tensors below each other, vectors as rows. Reference: torch.vstack. */
export function vstack(tensors: readonly Tensor[]): Tensor {
  requireNonEmpty("vstack", tensors);
  return cat(tensors.map(atleast2d), 0);
}

/** The tensors behind each other along the third axis. Reference: torch.dstack. */
export function dstack(tensors: readonly Tensor[]): Tensor {
  requireNonEmpty("dstack", tensors);
  return cat(tensors.map(atleast3d), 2);
}

/** The tensors joined along the second axis, vectors as columns. Reference: torch.column_stack. */
export function columnStack(tensors: readonly Tensor[]): Tensor {
  requireNonEmpty("columnStack", tensors);
  return hstack(tensors.map((t) => (t.rank < 2 ? reshape(t, [t.size, 1]) : t)));
}

/**
 * Views of x along an axis: that number of parts, of which the first are longer by one where needed, or parts between the indices listed.
 * Reference: torch.tensor_split.
 */
export function tensorSplit(x: Tensor, sections: number | readonly number[], axis = 0): Tensor[] {
  const a = existingAxis("tensorSplit", x, axis);
  const n = x.shape[a]!;
  if (typeof sections !== "number") {
    if (!Array.isArray(sections) || sections.some((p) => !Number.isInteger(p)))
      throw new ValueError("tensorSplit", "sections", "a number of parts or a list of indices", sections);
    const ends = [...sections, n];
    return ends.map((end, i) => slice(x, a, i === 0 ? 0 : ends[i - 1]!, i === ends.length - 1 ? Number.MAX_SAFE_INTEGER : end));
  }
  if (!Number.isInteger(sections) || sections < 1) throw new ValueError("tensorSplit", "sections", "an integer of at least 1", sections);
  requireParts("tensorSplit", "sections", sections, sections);
  const [short, longer] = [Math.floor(n / sections), n % sections];
  let start = 0;
  return Array.from({ length: sections }, (_, i) => {
    const length = short + (i < longer ? 1 : 0);
    start += length;
    return narrow(x, a, start - length, length);
  });
}

function evenly(operation: string, x: Tensor, sections: number | readonly number[], axis: number, minRank: number): Tensor[] {
  if (x.rank < minRank) throw new ShapeError(operation, "x", `of at least ${minRank} axes`, x.describe());
  if (typeof sections === "number" && (!Number.isInteger(sections) || sections < 1 || x.shape[axis]! % sections !== 0))
    throw new ValueError(operation, "sections", `a number that divides ${x.shape[axis]}`, sections);
  if (typeof sections !== "number" && !Array.isArray(sections))
    throw new ValueError(operation, "sections", "a number of parts or a list of indices", sections);
  return tensorSplit(x, sections, axis);
}
/** Equal parts (or parts between indices) along the second axis, of a vector along the first. Reference: torch.hsplit. */
export const hsplit = (x: Tensor, sections: number | readonly number[]): Tensor[] => evenly("hsplit", x, sections, x.rank === 1 ? 0 : 1, 1);
/** Equal parts (or parts between indices) along the first axis. Reference: torch.vsplit. */
export const vsplit = (x: Tensor, sections: number | readonly number[]): Tensor[] => evenly("vsplit", x, sections, 0, 2);
/** Equal parts (or parts between indices) along the third axis. Reference: torch.dsplit. */
export const dsplit = (x: Tensor, sections: number | readonly number[]): Tensor[] => evenly("dsplit", x, sections, 2, 3);

/** The tensors broadcast to their common shape: views, or the tensors themselves where they have it. Reference: torch.broadcast_tensors. */
export function broadcastTensors(...tensors: Tensor[]): Tensor[] {
  const shape = tensors.reduce<readonly number[]>((s, t) => broadcastShapes("broadcastTensors", s, t.shape), []);
  return tensors.map((t) => (sameShape(t.shape, shape) ? t : broadcastTo(t, shape)));
}

/** Matrices along the diagonal of a large one of zeros; vectors count as rows. Reference: torch.block_diag. */
export function blockDiag(...tensors: Tensor[]): Tensor {
  requireNonEmpty("blockDiag", tensors);
  for (const t of tensors) if (t.rank > 2) throw new ShapeError("blockDiag", "tensor", "of at most two axes", t.describe());
  const blocks = tensors.map(atleast2d);
  const dtype = resultType(blocks);
  const width = blocks.reduce((n, t) => n + t.shape[1]!, 0);
  let start = 0;
  const rows = blocks.map((t) => {
    const [height, own] = t.shape as [number, number];
    const blank = (columns: number): Tensor => zeros([height, columns], { dtype, device: t.device });
    const row = cat([blank(start), toDType(t, dtype), blank(width - start - own)], 1);
    start += own;
    return row;
  });
  return cat(rows, 0);
}

/** Each of some vectors along an axis of its own, as views of one shape. indexing: "ij", or "xy", which exchanges the first two. Reference: torch.meshgrid. */
export function meshgrid(
  tensors: readonly Tensor[],
  {
    indexing = "ij",
  }: {
    /** "ij": the first axis follows the first vector; "xy": the second one does. Default: "ij". */
    readonly indexing?: "ij" | "xy" | undefined;
  } = {},
): Tensor[] {
  requireNonEmpty("meshgrid", tensors);
  if (indexing !== "ij" && indexing !== "xy") throw new ValueError("meshgrid", "indexing", "ij or xy", indexing);
  for (const t of tensors) {
    if (t.rank > 1) throw new ShapeError("meshgrid", "tensors", "vectors or scalars", t.describe());
    if (t.dtype !== tensors[0]!.dtype) throw new DTypeError("meshgrid", "tensors", `all of dtype ${tensors[0]!.dtype}`, t.describe());
  }
  const shape = tensors.map((t) => t.size);
  const grids = tensors.map((t, i) =>
    broadcastTo(
      reshape(
        t,
        shape.map((d, k) => (k === i ? d : 1)),
      ),
      shape,
    ),
  );
  return indexing === "xy" && tensors.length > 1 ? grids.map((g) => transpose(g, 0, 1)) : grids;
}

/** Every combination of one element of each vector, as rows. Reference: torch.cartesian_prod. */
export function cartesianProd(...tensors: Tensor[]): Tensor {
  requireNonEmpty("cartesianProd", tensors);
  for (const t of tensors) if (t.rank !== 1) throw new ShapeError("cartesianProd", "tensors", "of one axis", t.describe());
  if (tensors.length === 1) return tensors[0]!;
  return stack(
    meshgrid(tensors).map((t) => flatten(t)),
    1,
  );
}

/** In the list that the host makes of combinations. */
const MAX_INDICES = 2 ** 26;
/** Of elements in one of them. */
const MAX_CHOSEN = 2 ** 10;

/** Every choice of r elements of a vector in their order, as rows; withReplacement: an element more than once. Reference: torch.combinations. */
export function combinations(
  x: Tensor,
  r = 2,
  {
    withReplacement = false,
  }: {
    /** Whether an element may be taken again. Default: false. */
    readonly withReplacement?: boolean | undefined;
  } = {},
): Tensor {
  if (x.rank !== 1) throw new ShapeError("combinations", "x", "of one axis", x.describe());
  if (!Number.isInteger(r) || r < 0) throw new ValueError("combinations", "r", "an integer of at least 0", r);
  if (r === 0) return zeros([0], { dtype: x.dtype, device: x.device });
  // Of no elements: it depends on x all the same.
  const none = (): Tensor => tie(zeros([0, r], { dtype: x.dtype, device: x.device }), x, "linear");
  if (r > x.size && (!withReplacement || x.size === 0)) return none();
  if (r > MAX_CHOSEN) throw new ValueError("combinations", "r", `at most ${MAX_CHOSEN}`, r);
  // r of n, or of n + r - 1 with replacement.
  let count = r;
  for (let i = 0; i < r; i++) count *= (withReplacement ? x.size + i : x.size - i) / (i + 1);
  if (count > MAX_INDICES) throw new ValueError("combinations", "r", `such that there are at most ${MAX_INDICES / r} of them`, r);
  const indices: number[] = [];
  const choose = (first: number, chosen: readonly number[]): void => {
    if (chosen.length === r) indices.push(...chosen);
    else for (let i = first; i < x.size; i++) choose(withReplacement ? i : i + 1, [...chosen, i]);
  };
  choose(0, []);
  if (indices.length === 0) return none();
  return reshape(indexSelect(x, 0, tensor(Int32Array.from(indices), { device: x.device })), [indices.length / r, r]);
}

/** x rotated by k times 90 degrees in the plane of two axes, from the first towards the second. Reference: torch.rot90. */
export function rot90(x: Tensor, k = 1, axes: readonly number[] = [0, 1]): Tensor {
  if (axes.length !== 2) throw new ValueError("rot90", "axes", "two axes", axes);
  if (!Number.isInteger(k)) throw new ValueError("rot90", "k", "an integer", k);
  if (x.rank < 2) throw new ShapeError("rot90", "x", "of at least two axes", x.describe());
  const [a, b] = axes.map((i) => normalizeAxis("rot90", i, x.rank, "axes")) as [number, number];
  if (a === b) throw new ValueError("rot90", "axes", "two different axes", axes);
  switch (((k % 4) + 4) % 4) {
    case 1:
      return transpose(flip(x, b), a, b);
    case 2:
      return flip(x, [a, b]);
    case 3:
      return flip(transpose(x, a, b), b);
    default:
      return clone(x);
  }
}

/** x in reverse order along the second axis. Reference: torch.fliplr. */
export function fliplr(x: Tensor): Tensor {
  if (x.rank < 2) throw new ShapeError("fliplr", "x", "of at least two axes", x.describe());
  return flip(x, 1);
}
/** x in reverse order along the first axis. Reference: torch.flipud. */
export function flipud(x: Tensor): Tensor {
  if (x.rank < 1) throw new ShapeError("flipud", "x", "of at least one axis", x.describe());
  return flip(x, 0);
}

/** Matrices with their last two axes exchanged, as a view. Reference: torch.Tensor.mT. */
export function mT(x: Tensor): Tensor {
  if (x.rank === 0) return reshape(x, []);
  if (x.rank < 2) throw new ShapeError("mT", "x", "of at least two axes", x.describe());
  return transpose(x, -1, -2);
}
/** transpose() by NumPy's name. Reference: torch.swapaxes. */
export const swapaxes = (x: Tensor, axis0: number, axis1: number): Tensor => transpose(x, axis0, axis1);
/** narrow() as a copy. Reference: torch.narrow_copy. */
export const narrowCopy = (x: Tensor, axis: number, start: number, length: number): Tensor => clone(narrow(x, axis, start, length));

export const methods = { tensorSplit, hsplit, vsplit, dsplit, rot90, fliplr, flipud, swapaxes, narrowCopy };
