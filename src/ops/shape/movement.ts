/** Views: reshape, permute, transpose, expand, squeeze. Nothing is computed unless a copy is unavoidable. */
import { asResult, call, together, view as makeView } from "../../dispatch/dispatch.ts";
import { IndexError, ShapeError, ValueError } from "../../core/errors.ts";
import {
  broadcastStrides,
  inferShape,
  isBroadcastableTo,
  normalizeAxis,
  sameShape,
  showShape,
  sizeOf,
  viewStrides,
  type Shape,
} from "../../core/shape.ts";
import { int32, shiftedToFront } from "../../core/padded-axes.ts";
import type { Tensor } from "../../core/tensor.ts";
import { contiguous } from "../data/conversion.ts";
import { define, defineView, type Box, type PartialGradient, type ViewDefinition } from "../../core/definition.ts";
import { sumTo } from "../declare/support.ts";
import { withAttributes } from "../declare/batched.ts";

const viewOp: ViewDefinition<{ readonly shape: Shape; readonly strides: readonly number[] }> = defineView({
  name: "view",
  view: (_, { shape, strides }) => ({ shape, strides, offset: 0 }),
  apply: (x, { shape }) => reshape(x, shape),
  grad: (dy, { spec }) => reshape(dy, spec.shape),
  part: ({ grad, box }, { spec, attrs }) => (box === null ? null : reshapedPart(grad, box, attrs.shape, spec.shape)),
});

/** A box of a tensor of shape `from`, seen in shape `to`: null where more than axes of length 1 come and go. */
function reshapedPart(grad: Tensor, box: Box, from: Shape, to: Shape): PartialGradient | null {
  const kept = from.flatMap((d, i) => (d === 1 ? [] : [i]));
  const taken = to.flatMap((d, i) => (d === 1 ? [] : [i]));
  if (kept.length !== taken.length || kept.some((i, k) => from[i] !== to[taken[k]!])) return null;
  if (from.some((d, i) => d === 1 && box.sizes[i] !== 1)) return null;
  const moved = (list: readonly number[], none: number): number[] => {
    const out = to.map(() => none);
    kept.forEach((i, k) => {
      out[taken[k]!] = list[i]!;
    });
    return out;
  };
  const sizes = moved(box.sizes, 1);
  return { grad: reshape(grad, sizes), box: { starts: moved(box.starts, 0), sizes, steps: moved(box.steps, 1) } };
}

const permuteOp: ViewDefinition<{ readonly axes: readonly number[] }> = defineView({
  name: "permute",
  view: ({ shape, strides }, { axes }) => ({ shape: axes.map((a) => shape[a]!), strides: axes.map((a) => strides[a]!), offset: 0 }),
  grad: (dy, { attrs: { axes } }) =>
    permute(
      dy,
      axes.map((_, i) => axes.indexOf(i)),
    ),
  part: ({ grad, box }, { attrs: { axes } }) => {
    if (box === null) return null;
    const back = axes.map((_, i) => axes.indexOf(i));
    const moved = (list: readonly number[]): number[] => back.map((i) => list[i]!);
    return { grad: permute(grad, back), box: { starts: moved(box.starts), sizes: moved(box.sizes), steps: moved(box.steps) } };
  },
});

const expandOp: ViewDefinition<{ readonly shape: Shape }> = defineView({
  name: "expand",
  view: (x, { shape }) => ({ shape, strides: broadcastStrides(x.shape, x.strides, shape), offset: 0 }),
  grad: (dy, { spec }) => sumTo(dy, spec),
});

/** Parts along each axis: every steps[i]-th element from starts[i] on. @package */
export type SliceAttributes = Box;

const sliceOp: ViewDefinition<SliceAttributes> = defineView({
  name: "slice",
  view: ({ strides }, { starts, sizes, steps }) => ({
    shape: sizes,
    strides: strides.map((s, i) => s * steps[i]!),
    offset: sizeOf(sizes) === 0 ? 0 : strides.reduce((sum, s, i) => sum + s * starts[i]!, 0),
  }),
  grad: (dy, { spec, attrs }) => sliceAdjoint(dy, attrs, spec.shape),
  part: ({ grad, box }, { attrs: { starts, sizes, steps } }) => ({
    grad,
    box:
      box === null
        ? { starts, sizes, steps }
        : {
            starts: box.starts.map((s, i) => starts[i]! + s * steps[i]!),
            sizes: box.sizes,
            steps: box.steps.map((s, i) => s * steps[i]!),
          },
  }),
});

/** @internal dy at the box's elements of a tensor of zeros. */
export const sliceAdjoint = (dy: Tensor, { starts, sizes, steps }: Box, shape: Shape): Tensor =>
  call(sliceGradOp, [dy], { starts, sizes, steps, shape });

/** The adjoint of a slice: x written to the slice's elements of a tensor of zeros. DirectML: SLICE_GRAD. @package */
export const sliceGradOp = define<SliceAttributes & { readonly shape: Shape }>({
  name: "sliceGrad",
  batched: withAttributes((attrs, size) => ({
    starts: [0, ...attrs.starts],
    sizes: [size, ...attrs.sizes],
    steps: [1, ...attrs.steps],
    shape: [size, ...attrs.shape],
  })),
  padded: (g, _inputs, attrs, _outputs, p, lower) => {
    const smaller = p.smaller as typeof attrs;
    return attrs.starts.reduce(
      (list, start, i) => {
        if (start === smaller.starts[i]) return list;
        const [x, by] = [
          list[0]!,
          g.elementWiseSubtract(
            int32(g, start, [1]),
            p.number((a: typeof attrs) => a.starts[i]!),
          ),
        ];
        return [shiftedToFront(g, x, by, i)];
      },
      lower([p.filled(0, 0)]),
    );
  },
  follows: ["starts"],
  traits: { carries: true },
  infer: ([x], { shape }) => [{ shape, dtype: x!.dtype }],
  lower: (g, [x], { starts, sizes, steps, shape }) => {
    const seen = shape.length === 0 ? [1] : shape;
    const some = <T>(list: readonly T[], none: T): readonly T[] => (list.length === 0 ? [none] : list);
    const windows = sizes.map((n, i) => (n - 1) * steps[i]! + 1);
    return [
      g.sliceGrad(x!, {
        outputGradient: { sizes: seen },
        inputWindowOffsets: some(starts, 0),
        inputWindowSizes: some(windows, 1),
        inputWindowStrides: some(steps, 1),
      }),
    ];
  },
  grad: (dy, { attrs: { starts, sizes, steps } }) => [sliceView(dy, { starts, sizes, steps })],
  saves: { inputs: [], outputs: false },
  whenEmpty: 0,
});

/** @internal A part along each axis; the arguments are in range. */
export const sliceView = (x: Tensor, attrs: SliceAttributes): Tensor => makeView(sliceOp, x, attrs);

/** @internal The whole of x, as attributes of a slice. */
export const wholeSlice = (x: Tensor): { starts: number[]; sizes: number[]; steps: number[] } => ({
  starts: x.shape.map(() => 0),
  sizes: [...x.shape],
  steps: x.shape.map(() => 1),
});

/** @internal The same bytes with these sizes and strides, without checks. */
const reviewed = (x: Tensor, shape: Shape, strides: readonly number[]): Tensor => makeView(viewOp, x, { shape, strides });

const aliasOp: ViewDefinition<undefined> = defineView({
  name: "alias",
  view: ({ shape, strides }) => ({ shape, strides, offset: 0 }),
  apply: (x) => alias(x),
  // As it came: a gradient argument is not the gradient itself behind it.
  grad: (dy) => dy,
  part: (dy) => (dy.box === null ? null : dy),
});

/** @internal The whole of x, as a view. */
export const alias = (x: Tensor): Tensor => makeView(aliasOp, x, undefined);

function targetShape(operation: string, x: Tensor, shape: readonly number[] | readonly [Shape]): number[] {
  return inferShape(operation, (Array.isArray(shape[0]) ? shape[0] : shape) as Shape, x.size);
}

/**
 * x with another shape of as many elements; one length may be -1. A view where the strides allow it, else a copy.
 * shape: a list, or the lengths one by one. Throws ShapeError when the numbers of elements differ. Reference: torch.reshape.
 */
export function reshape(x: Tensor, ...shape: number[] | [Shape]): Tensor {
  const target = targetShape("reshape", x, shape);
  const strides = viewStrides(x.shape, x.strides, target);
  if (strides !== null) return reviewed(x, target, strides);
  const packed = contiguous(x);
  return asResult(reviewed(packed, target, viewStrides(packed.shape, packed.strides, target)!));
}

/** reshape() that never copies. Throws ShapeError where it would have to. Reference: torch.Tensor.view. */
export function view(x: Tensor, ...shape: number[] | [Shape]): Tensor {
  const target = targetShape("view", x, shape);
  const strides = viewStrides(x.shape, x.strides, target);
  if (strides === null)
    throw new ShapeError(
      "view",
      "shape",
      `one that strides [${x.strides.join(", ")}] of ${x.describe()} can show`,
      showShape(target),
      "Use reshape(), which copies.",
    );
  return reviewed(x, target, strides);
}

/** Axes `startDim` to `endDim` (default 0 to the last), both included, as one: x itself where that is one axis. Reference: torch.flatten. */
export function flatten(
  x: Tensor,
  start:
    | number
    | {
        /** The first axis that is merged. Default: 0. */
        readonly startDim?: number;
        /** @deprecated Use startDim. */
        readonly start?: number;
        /** The last axis that is merged. Default: -1. */
        readonly endDim?: number;
        /** @deprecated Use endDim. */
        readonly end?: number;
      } = {},
  end?: number,
): Tensor {
  const bounds = typeof start === "number" ? { startDim: start, endDim: end } : { endDim: end, ...start };
  const a = normalizeAxis("flatten", bounds.startDim ?? 0, x.rank, "startDim");
  const b = normalizeAxis("flatten", bounds.endDim ?? -1, x.rank, "endDim");
  if (a > b) throw new ValueError("flatten", "startDim", `at most endDim (${b})`, a);
  if (a === b && x.rank > 0) return x;
  return reshape(x, [...x.shape.slice(0, a), sizeOf(x.shape.slice(a, b + 1)), ...x.shape.slice(b + 1)]);
}

/** One axis as several of the given lengths, one of which may be -1. Reference: torch.unflatten. */
export function unflatten(x: Tensor, axis: number, lengths: Shape): Tensor {
  const a = normalizeAxis("unflatten", axis, x.rank);
  if (x.rank === 0) throw new ShapeError("unflatten", "x", "of at least one axis", x.describe());
  return reshape(x, [...x.shape.slice(0, a), ...inferShape("unflatten", lengths, x.shape[a]!), ...x.shape.slice(a + 1)]);
}

/** x with its axes in another order. axes: each axis once. Reference: torch.permute. */
export function permute(x: Tensor, ...axes: number[] | [readonly number[]]): Tensor {
  const list = ((Array.isArray(axes[0]) ? axes[0] : axes) as readonly number[]).map((a) => normalizeAxis("permute", a, x.rank, "axes"));
  if (list.length !== x.rank || new Set(list).size !== list.length)
    throw new ValueError("permute", "axes", `each of the ${x.rank} axes once`, list);
  return makeView(permuteOp, x, { axes: list });
}

/** x with two axes exchanged. Reference: torch.transpose. */
export function transpose(x: Tensor, axis0: number, axis1: number): Tensor {
  const a = normalizeAxis("transpose", axis0, x.rank, "axis0");
  const b = normalizeAxis("transpose", axis1, x.rank, "axis1");
  const order = x.shape.map((_, i) => (i === a ? b : i === b ? a : i));
  return makeView(permuteOp, x, { axes: order });
}

/** The transpose of a matrix; vectors and scalars are what they are. Reference: torch.t. */
export function t(x: Tensor): Tensor {
  if (x.rank > 2) throw new ShapeError("t", "x", "of at most two axes", x.describe(), "Use transpose() or permute().");
  return x.rank < 2 ? makeView(permuteOp, x, { axes: x.shape.map((_, i) => i) }) : transpose(x, 0, 1);
}

/** x with axes moved from positions `from` to positions `to`; the others keep their order. Reference: torch.movedim. */
export function movedim(x: Tensor, from: number | readonly number[], to: number | readonly number[]): Tensor {
  const sources = [from].flat().map((a) => normalizeAxis("movedim", a as number, x.rank, "from"));
  const targets = [to].flat().map((a) => normalizeAxis("movedim", a as number, x.rank, "to"));
  if (sources.length !== targets.length || new Set(sources).size !== sources.length || new Set(targets).size !== targets.length)
    throw new ValueError("movedim", "from and to", "as many axes, without repeats", [sources, targets]);
  const order = new Array<number>(x.rank).fill(-1);
  sources.forEach((s, i) => {
    if (x.rank > 0) order[targets[i]!] = s;
  });
  const rest = x.shape.map((_, i) => i).filter((i) => !sources.includes(i));
  return makeView(permuteOp, x, { axes: order.map((a) => (a < 0 ? rest.shift()! : a)) });
}

/** x repeated along axes of length 1, and along new axes in front; -1 keeps a length. No copy. Reference: torch.Tensor.expand. */
export function expand(x: Tensor, ...shape: number[] | [Shape]): Tensor {
  const sizes = (Array.isArray(shape[0]) ? shape[0] : shape) as Shape;
  const lead = sizes.length - x.rank;
  const target = sizes.map((d, i) => (d === -1 && i >= lead ? x.shape[i - lead]! : d));
  return broadcastTo(x, target, "expand");
}

/** x repeated to a shape by broadcasting. No copy. Throws ShapeError when it does not fit. Reference: torch.broadcast_to. */
export function broadcastTo(x: Tensor, shape: Shape, operation = "broadcastTo"): Tensor {
  if (shape.some((d) => !Number.isInteger(d) || d < 0)) throw new ValueError(operation, "shape", "integers of at least 0", shape);
  if (!isBroadcastableTo(x.shape, shape))
    throw new ShapeError(operation, "shape", `one that ${x.describe()} broadcasts to`, showShape(shape));
  return sameShape(x.shape, shape) ? alias(x) : makeView(expandOp, x, { shape: [...shape] });
}

/** x without its axes of length 1, or without those named that have length 1. Reference: torch.squeeze. */
export function squeeze(x: Tensor, axis?: number | readonly number[]): Tensor {
  const named = axis === undefined ? null : [axis].flat().map((a) => normalizeAxis("squeeze", a as number, x.rank));
  if (named !== null && new Set(named).size !== named.length) throw new ValueError("squeeze", "axis", "a list without repeats", axis);
  const keep = x.shape.map((d, i) => d !== 1 || (named !== null && !named.includes(i)));
  if (keep.every(Boolean)) return alias(x);
  return reviewed(
    x,
    x.shape.filter((_, i) => keep[i]),
    x.strides.filter((_, i) => keep[i]),
  );
}

/** x with a new axis of length 1 at a position in [-rank-1, rank]. Reference: torch.unsqueeze. */
export function unsqueeze(x: Tensor, axis: number): Tensor {
  const a = normalizeAxis("unsqueeze", axis, x.rank + 1);
  const step = a < x.rank ? x.strides[a]! * x.shape[a]! : 1;
  return reviewed(x, [...x.shape.slice(0, a), 1, ...x.shape.slice(a)], [...x.strides.slice(0, a), step, ...x.strides.slice(a)]);
}

function axisOf(operation: string, x: Tensor, axis: number): number {
  if (x.rank === 0) throw new ShapeError(operation, "x", "of at least one axis", x.describe());
  return normalizeAxis(operation, axis, x.rank);
}

/** Every step-th element from start on, before end, along an axis; negative indices count from the end. Reference: torch's slice. */
export function slice(x: Tensor, axis: number, start = 0, end: number = Number.MAX_SAFE_INTEGER, step = 1): Tensor {
  const a = axisOf("slice", x, axis);
  if (!Number.isInteger(start) || !Number.isInteger(end)) throw new ValueError("slice", "start and end", "integers", [start, end]);
  if (!Number.isInteger(step) || step < 1) throw new ValueError("slice", "step", "an integer of at least 1", step);
  const n = x.shape[a]!;
  const position = (p: number): number => Math.min(n, Math.max(0, p < 0 ? p + n : p));
  const attrs = wholeSlice(x);
  attrs.starts[a] = position(start);
  attrs.sizes[a] = Math.max(0, Math.ceil((position(end) - position(start)) / step));
  attrs.steps[a] = step;
  return sliceView(x, attrs);
}

/** `length` elements from `start` on along an axis. Throws ValueError when they are not all there. Reference: torch.narrow. */
export function narrow(x: Tensor, axis: number, start: number, length: number): Tensor {
  const a = axisOf("narrow", x, axis);
  const n = x.shape[a]!;
  if (!Number.isInteger(start) || start < -n || start > n) throw new ValueError("narrow", "start", `an integer in [${-n}, ${n}]`, start);
  const first = start < 0 ? start + n : start;
  if (!Number.isInteger(length) || length < 0 || first + length > n)
    throw new ValueError("narrow", "length", `an integer in [0, ${n - first}]`, length);
  return slice(x, a, first, first + length);
}

/** The part at one index of an axis, without that axis. Reference: torch.select. */
export function select(x: Tensor, axis: number, index: number): Tensor {
  const a = axisOf("select", x, axis);
  const n = x.shape[a]!;
  if (!Number.isInteger(index) || index < -n || index >= n)
    throw new IndexError("select", "index", `an integer in [${-n}, ${n - 1}]`, index);
  const position = index < 0 ? index + n : index;
  const part = slice(x, a, position, position + 1);
  return reviewed(
    part,
    part.shape.filter((_, i) => i !== a),
    part.strides.filter((_, i) => i !== a),
  );
}

/** The parts along an axis, without that axis. Reference: torch.unbind. */
export function unbind(x: Tensor, axis = 0): Tensor[] {
  const a = axisOf("unbind", x, axis);
  return together(Array.from({ length: x.shape[a]! }, (_, i) => select(x, a, i)));
}

/** The main diagonal (or one above, for offset > 0, or below) of two axes, as a last axis. Reference: torch.diagonal. */
export function diagonal(
  x: Tensor,
  {
    offset = 0,
    axis0 = 0,
    axis1 = 1,
  }: {
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
): Tensor {
  const a = axisOf("diagonal", x, axis0);
  const b = axisOf("diagonal", x, axis1);
  if (a === b) throw new ValueError("diagonal", "axis1", "another axis than axis0", axis1);
  return makeView(diagonalOp, x, { offset, axes: [a, b] });
}

const diagonalOp: ViewDefinition<{ readonly offset: number; readonly axes: readonly [number, number] }> = defineView({
  name: "diagonal",
  view: ({ shape, strides }, { offset, axes: [a, b] }) => {
    const length = Math.max(0, Math.min(shape[a]! + Math.min(offset, 0), shape[b]! - Math.max(offset, 0)));
    const rest = <T>(list: readonly T[]): T[] => list.filter((_, i) => i !== a && i !== b);
    const start = length === 0 ? 0 : offset >= 0 ? offset * strides[b]! : -offset * strides[a]!;
    return { shape: [...rest(shape), length], strides: [...rest(strides), strides[a]! + strides[b]!], offset: start };
  },
  grad: (dy, { spec, attrs }) => diagonalGrad(dy, spec.shape, attrs),
});

let diagonalGrad: (dy: Tensor, shape: Shape, attrs: { readonly offset: number; readonly axes: readonly [number, number] }) => Tensor;

/** @internal Set by ops/creation/ranges.ts, which imports this file. */
export function setDiagonalGrad(grad: typeof diagonalGrad): void {
  diagonalGrad = grad;
}

export const methods = {
  reshape,
  view,
  flatten,
  unflatten,
  permute,
  transpose,
  t,
  movedim,
  expand,
  broadcastTo,
  squeeze,
  unsqueeze,
  slice,
  narrow,
  select,
  unbind,
  diagonal,
};
