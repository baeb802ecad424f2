/** Strided views: unfold, asStrided, and scatter through a view. */
import { tie } from "../../autograd/tie.ts";
import { assign, view as makeView } from "../../dispatch/dispatch.ts";
import { AutogradError, ShapeError, ValueError } from "../../core/errors.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { sameShape, showShape, sizeOf, type Shape } from "../../core/shape.ts";
import { DTYPES } from "../../core/dtype.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tensor } from "../creation/creation.ts";
import { contiguous, toDType } from "../data/conversion.ts";
import { defineView, type ViewDefinition } from "../../core/definition.ts";
import { sumRows } from "../index/gather.ts";
import { diagonal, movedim, reshape, select, slice } from "./movement.ts";
import { existingAxis } from "../creation/ranges.ts";
import { sum } from "../reduce/reduce.ts";
import { clone } from "../data/state.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

interface UnfoldAttributes {
  readonly axis: number;
  readonly size: number;
  readonly step: number;
}

const unfoldOp: ViewDefinition<UnfoldAttributes> = defineView({
  name: "unfold",
  view: ({ shape, strides }, { axis, size, step }) => ({
    shape: [...shape.map((d, i) => (i === axis ? Math.floor((d - size) / step) + 1 : d)), size],
    strides: [...strides.map((s, i) => (i === axis ? s * step : s)), strides[axis] ?? 1],
    offset: 0,
  }),
  grad: (dy, { spec, attrs: { axis, size, step } }) => {
    // Each window's element goes back to where it came from; those in several windows are added.
    const count = dy.shape[axis]!;
    const windows = movedim(dy, -1, axis + 1);
    const merged = reshape(windows, [...windows.shape.slice(0, axis), count * size, ...windows.shape.slice(axis + 2)]);
    const indices = Int32Array.from({ length: count * size }, (_, i) => Math.floor(i / size) * step + (i % size));
    return sumRows(merged, tensor(indices, { device: dy.device }), axis, spec.shape);
  },
});

/**
 * Windows of `size` elements at every step-th index of an axis, as a view with a last axis of its own. Gradients of overlapping windows
 * are added. Reference: torch.Tensor.unfold.
 */
export function unfold(x: Tensor, axis: number, size: number, step: number): Tensor {
  if (!Number.isInteger(step) || step < 1) throw new ValueError("unfold", "step", "an integer of at least 1", step);
  if (x.rank === 0) {
    if (axis !== 0 && axis !== -1) throw new ValueError("unfold", "axis", "0 or -1", axis);
    if (!Number.isInteger(size) || size < 0 || size > 1) throw new ValueError("unfold", "size", "0 or 1", size);
    return slice(reshape(x, [1]), 0, 0, size);
  }
  const a = existingAxis("unfold", x, axis);
  if (!Number.isInteger(size) || size < 0 || size > x.shape[a]!)
    throw new ValueError("unfold", "size", `an integer in [0, ${x.shape[a]}]`, size);
  return makeView(unfoldOp, x, { axis: a, size, step });
}

interface StridedAttributes {
  readonly shape: Shape;
  readonly strides: readonly number[];
  /** From the tensor's own first element. */
  readonly offset: number;
}

const asStridedOp: ViewDefinition<StridedAttributes> = defineView({
  name: "asStrided",
  view: (_, { shape, strides, offset }) => ({ shape, strides, offset }),
  // The indices are those of a packed tensor.
  apply: (x, attrs) => makeView(asStridedOp, contiguous(x), attrs),
  grad: (dy, { spec, attrs: { shape, strides, offset } }) => {
    const indices = new Int32Array(sizeOf(shape));
    let at = 0;
    const visit = (axis: number, element: number): void => {
      if (axis === shape.length) indices[at++] = element;
      else for (let i = 0; i < shape[axis]!; i++) visit(axis + 1, element + i * strides[axis]!);
    };
    visit(0, offset);
    const flat = sumRows(reshape(dy, [indices.length]), tensor(indices, { device: dy.device }), 0, [sizeOf(spec.shape)]);
    return reshape(flat, spec.shape);
  },
});

/**
 * Any view of x's storage: sizes, strides and the first element's offset, in elements from the storage's start. Gradients flow where x is
 * packed and the view lies within it. Throws ShapeError where it would leave the storage. Reference: torch.as_strided.
 */
export function asStrided(x: Tensor, shape: Shape, strides: readonly number[], storageOffset: number = x.storageOffset): Tensor {
  const whole = [...shape, ...strides, storageOffset].every((v) => Number.isInteger(v) && v >= 0);
  if (shape.length !== strides.length || !whole)
    throw new ValueError("asStrided", "shape, strides and storageOffset", "as many integers of at least 0", [
      shape,
      strides,
      storageOffset,
    ]);
  const last = shape.reduce((n, d, i) => n + (d - 1) * strides[i]!, storageOffset);
  const capacity = x.storage.sizeInBytes / DTYPES[x.dtype].sizeInBytes;
  if (sizeOf(shape) > 0 && last >= capacity)
    throw new ShapeError("asStrided", "shape and strides", `within a storage of ${capacity} elements`, `a last element at ${last}`);
  const offset = storageOffset - x.storageOffset;
  const within = offset >= 0 && last - x.storageOffset < x.size;
  if (isGradEnabled() && x.requiresGrad && (!x.isContiguous || !within))
    throw new AutogradError({
      operation: "asStrided",
      argument: "x",
      expected: "packed, with the view inside it, if it requires a gradient",
      received: `${x.describe()} of strides [${x.strides.join(", ")}]`,
    });
  return makeView(asStridedOp, x, { shape: [...shape], strides: [...strides], offset });
}

/** A copy of x with `source` written to a view of it. */
function written(operation: string, x: Tensor, source: Tensor, part: (copy: Tensor) => Tensor): Tensor {
  const copy = clone(x);
  const target = part(copy);
  if (!sameShape(target.shape, source.shape))
    throw new ShapeError(operation, "source", `of shape ${showShape(target.shape)}`, source.describe());
  // The assigned tensor loses its buffer, so it is never the caller's own.
  if (target.size === 0) return tie(copy, source, "linear");
  assign(operation, target, () => (source.dtype === x.dtype ? clone(source) : toDType(source, x.dtype)), {
    replaces: true,
    isAgain: true,
  });
  return copy;
}

/** x with source in place of a slice. Reference: torch.slice_scatter. */
export const sliceScatter = (x: Tensor, source: Tensor, axis = 0, start = 0, end = Number.MAX_SAFE_INTEGER, step = 1): Tensor =>
  written("sliceScatter", x, source, (copy) => slice(copy, axis, start, end, step));
/** x with source at one index of an axis. Reference: torch.select_scatter. */
export const selectScatter = (x: Tensor, source: Tensor, axis: number, index: number): Tensor =>
  written("selectScatter", x, source, (copy) => select(copy, axis, index));
/** x with source on a diagonal. Reference: torch.diagonal_scatter. */
export const diagonalScatter = (
  x: Tensor,
  source: Tensor,
  options: {
    /** Above the main diagonal if positive, below it if negative. Default: 0. */
    readonly offset?: number; /** The first axis of the matrices. Default: 0. */
    readonly axis0?: number;
    /** axis0 by its PyTorch name. @alias axis0 */
    readonly dim1?: number;
    /** The second axis of the matrices. Default: 1. */
    readonly axis1?: number;
    /** axis1 by its PyTorch name. @alias axis1 */
    readonly dim2?: number;
  } = {},
): Tensor => written("diagonalScatter", x, source, (copy) => diagonal(copy, options));
/** x with source in a view of its storage that no element is in twice. Reference: torch.as_strided_scatter. */
export const asStridedScatter = (x: Tensor, source: Tensor, shape: Shape, strides: readonly number[], storageOffset = 0): Tensor =>
  written("asStridedScatter", x, source, (copy) => asStrided(copy, shape, strides, storageOffset));

/** x summed over the axes that broadcasting it from `shape` would make; x itself where there are none. Reference: torch.Tensor.sum_to_size. @autocast float32 */
export function sumToSize(x: Tensor, ...shape: number[] | [Shape]): Tensor {
  const target = (Array.isArray(shape[0]) ? shape[0] : shape) as Shape;
  const lead = x.rank - target.length;
  if (lead < 0 || target.some((d, i) => d !== 1 && d !== x.shape[lead + i]))
    throw new ShapeError("sumToSize", "shape", `one that broadcasts to ${showShape(x.shape)}`, showShape(target));
  if (target.length === 0) return sum(x);
  const axes = x.shape.flatMap((d, i) => (i < lead || (target[i - lead] === 1 && d !== 1) ? [i] : []));
  return axes.length === 0 && lead === 0 ? x : reshape(sum(x, axes), target);
}

export const methods = { unfold, asStrided, sliceScatter, selectScatter, diagonalScatter, asStridedScatter, sumToSize };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "unfold and asStrided", [real([3, 9])], (x) =>
    [unfold(x!, 1, 4, 2), asStrided(x!.contiguous(), [2, 3], [9, 2], 1)].map((t) => t.contiguous()),
  ),
];
