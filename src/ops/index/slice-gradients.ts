/** Gradients of slices combined: each element is written once, and those of overlapping slices are added where they overlap. @package */
import type { PartialGradient, TensorSpec } from "../../core/definition.ts";
import type { Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { assign } from "../../dispatch/dispatch.ts";
import { clone } from "../data/state.ts";
import { add } from "../elementwise/binary.ts";
import { zeros } from "../creation/creation.ts";
import { cat } from "../shape/join.ts";
import { reshape, sliceAdjoint, sliceView, unsqueeze } from "../shape/movement.ts";

/** Inputs of one JOIN; more are joined in steps. */
const FAN_IN = 512;

/** Interleaved slices are joined where at most this many zeros are written for each of their elements. */
const MAX_ZEROS = 8;

/** A gradient of the elements from lo to before hi along each axis. */
interface Piece {
  readonly grad: Tensor;
  readonly lo: readonly number[];
  readonly hi: readonly number[];
}

const ones = (list: readonly unknown[]): number[] => list.map(() => 1);
const lengths = (lo: readonly number[], hi: readonly number[]): number[] => lo.map((l, i) => hi[i]! - l);
const replaced = (list: readonly number[], axis: number, value: number): number[] => list.map((v, i) => (i === axis ? value : v));

/** The piece padded with zeros to these bounds. */
function padded({ grad, lo, hi }: Piece, from: readonly number[], to: readonly number[]): Piece {
  if (lo.every((l, i) => l === from[i] && hi[i] === to[i])) return { grad, lo, hi };
  const box = { starts: lengths(from, lo), sizes: grad.shape, steps: ones(lo) };
  return { grad: sliceAdjoint(grad, box, lengths(from, to)), lo: from, hi: to };
}

/** A piece's elements from `start` to before `end` along an axis. */
function cut({ grad, lo, hi }: Piece, axis: number, start: number, end: number): Tensor {
  if (start === lo[axis] && end === hi[axis]) return grad;
  const starts = lo.map((l, i) => (i === axis ? start - l : 0));
  return sliceView(grad, { starts, sizes: replaced(grad.shape, axis, end - start), steps: ones(lo) });
}

function joined(parts: readonly Tensor[], axis: number): Tensor {
  if (parts.length === 1) return parts[0]!;
  if (parts.length <= FAN_IN) return cat(parts, axis);
  const groups: Tensor[] = [];
  for (let i = 0; i < parts.length; i += FAN_IN) groups.push(joined(parts.slice(i, i + FAN_IN), axis));
  return joined(groups, axis);
}

/** Two pieces that overlap along an axis and are alike along the others. */
function overlapped(a: Piece, b: Piece, axis: number): Piece {
  const [first, second] = a.lo[axis]! <= b.lo[axis]! ? [a, b] : [b, a];
  const from = second.lo[axis]!;
  const to = Math.min(first.hi[axis]!, second.hi[axis]!);
  const parts: Tensor[] = [];
  if (first.lo[axis]! < from) parts.push(cut(first, axis, first.lo[axis]!, from));
  parts.push(add(cut(first, axis, from, to), cut(second, axis, from, to)));
  const longer = first.hi[axis]! > second.hi[axis]! ? first : second;
  if (to < longer.hi[axis]!) parts.push(cut(longer, axis, to, longer.hi[axis]!));
  return { grad: joined(parts, axis), lo: first.lo, hi: replaced(first.hi, axis, longer.hi[axis]!) };
}

/** Pieces of which each overlaps the ones before it, merged by halves: work in proportion to their sizes. */
function merged(pieces: readonly Piece[], axis: number): Piece {
  if (pieces.length === 1) return pieces[0]!;
  const [a, b] = [pieces.slice(0, pieces.length >> 1), pieces.slice(pieces.length >> 1)].map((half) => combined(half, axis)) as [
    Piece,
    Piece,
  ];
  return overlapped(a, b, axis);
}

/** Pieces that differ along one axis only, in the order of their starts, as one from the first to the last element. */
function combined(pieces: readonly Piece[], axis: number, from?: number, to?: number): Piece {
  const groups: Piece[][] = [];
  let end = -Infinity;
  for (const p of pieces) {
    if (p.lo[axis]! >= end) groups.push([]);
    groups.at(-1)!.push(p);
    end = Math.max(end, p.hi[axis]!);
  }
  const parts: Tensor[] = [];
  const gaps = new Map<number, Tensor>();
  const { grad, lo, hi } = pieces[0]!;
  const start = from ?? lo[axis]!;
  let at = start;
  const fill = (next: number): void => {
    const length = next - at;
    if (length <= 0) return;
    let gap = gaps.get(length);
    if (gap === undefined) gaps.set(length, (gap = zeros(replaced(grad.shape, axis, length), { dtype: grad.dtype, device: grad.device })));
    parts.push(gap);
  };
  for (const group of groups) {
    const piece = merged(group, axis);
    fill(piece.lo[axis]!);
    parts.push(piece.grad);
    at = piece.hi[axis]!;
  }
  if (to !== undefined) fill(to);
  return { grad: joined(parts, axis), lo: replaced(lo, axis, start), hi: replaced(hi, axis, to ?? at) };
}

/** All pieces as one, which covers their bounding box; of all of `shape` where that takes no copy more. */
function assembled(pieces: readonly Piece[], shape: Shape, first = 0): Piece {
  const [some] = pieces as [Piece, ...Piece[]];
  if (pieces.length === 1) return some;
  let axis = first;
  while (axis < shape.length && pieces.every((p) => p.lo[axis] === some.lo[axis] && p.hi[axis] === some.hi[axis])) axis++;
  if (axis === shape.length) return { ...some, grad: pieces.slice(1).reduce((sum, p) => add(sum, p.grad), some.grad) };
  const alike = new Map<string, Piece[]>();
  for (const p of pieces) {
    const key = `${p.lo[axis]},${p.hi[axis]}`;
    const list = alike.get(key);
    if (list === undefined) alike.set(key, [p]);
    else list.push(p);
  }
  const rows = [...alike.values()].map((list) => assembled(list, shape, axis + 1)).sort((a, b) => a.lo[axis]! - b.lo[axis]!);
  const from = some.lo.map((_, i) => Math.min(...rows.map((r) => r.lo[i]!)));
  const to = some.hi.map((_, i) => Math.max(...rows.map((r) => r.hi[i]!)));
  const alongside = rows.map((r) => padded(r, replaced(from, axis, r.lo[axis]!), replaced(to, axis, r.hi[axis]!)));
  const isWide = shape.every((d, i) => i === axis || (from[i] === 0 && to[i] === d));
  return isWide ? combined(alongside, axis, 0, shape[axis]!) : combined(alongside, axis);
}

/** A gradient of every steps[i]-th element from starts[i] on, along each axis; lo and hi count these. starts[i] < steps[i]. */
interface Lattice extends Piece {
  readonly starts: readonly number[];
  readonly steps: readonly number[];
}

const latticeOf = ({ grad, box }: PartialGradient): Lattice => {
  const steps = box!.steps.map((s, i) => (box!.sizes[i]! > 1 ? s : 1));
  const lo = box!.starts.map((s, i) => Math.floor(s / steps[i]!));
  return { grad, lo, hi: lo.map((l, i) => l + box!.sizes[i]!), starts: box!.starts.map((s, i) => s % steps[i]!), steps };
};

function grouped<T>(list: readonly T[], keyOf: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const item of list) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

/** Gradients of the same elements' lattices as one each. */
const united = (lattices: readonly Lattice[], shape: Shape): Lattice[] =>
  grouped(lattices, ({ starts, steps }) => `${starts.join()}/${steps.join()}`).map((group) => {
    const { starts, steps } = group[0]!;
    const lengthsOfAxes = shape.map((d, i) => Math.ceil((d - starts[i]!) / steps[i]!));
    return { ...assembled(group, lengthsOfAxes), starts, steps };
  });

/** Lattices of one step that differ along an axis by where they start: each element between them is written once. */
function interleaved(lattices: readonly Lattice[], axis: number, shape: Shape): Lattice {
  const { steps, starts } = lattices[0]!;
  const from = steps.map((_, i) => Math.min(...lattices.map((l) => l.lo[i]!)));
  const to = steps.map((_, i) => Math.max(...lattices.map((l) => l.hi[i]!)));
  const sizes = lengths(from, to);
  const step = steps[axis]!;
  let none: Tensor | null = null;
  const parts = Array.from({ length: step }, (_, start) => {
    const lattice = lattices.find((l) => l.starts[axis] === start);
    const { dtype, device } = lattices[0]!.grad;
    return lattice === undefined ? (none ??= zeros(sizes, { dtype, device })) : padded(lattice, from, to).grad;
  });
  const lo = replaced(from, axis, from[axis]! * step);
  const hi = replaced(to, axis, Math.min(to[axis]! * step, shape[axis]!));
  const columns = parts.map((t) => unsqueeze(t, axis + 1));
  const grad = reshape(joined(columns, axis + 1), replaced(sizes, axis, sizes[axis]! * step));
  const piece = { grad, lo, hi: replaced(hi, axis, to[axis]! * step) };
  return { grad: cut(piece, axis, lo[axis]!, hi[axis]!), lo, hi, starts: replaced(starts, axis, 0), steps: replaced(steps, axis, 1) };
}

/** Gradients of slices with steps as few as can be: those of one lattice together, and lattices that lie between each other. */
function woven(parts: readonly PartialGradient[], shape: Shape): Lattice[] {
  let lattices = united(parts.map(latticeOf), shape);
  for (let axis = 0; axis < shape.length; axis++) {
    const keyOf = ({ starts, steps }: Lattice): string => `${replaced(starts, axis, 0).join()}/${steps.join()}`;
    const groups = grouped(lattices, keyOf);
    const isWorth = (group: readonly Lattice[]): boolean => {
      const step = group[0]!.steps[axis]!;
      return group.length > 1 && step > 1 && step <= MAX_ZEROS * group.length;
    };
    lattices = united(
      groups.flatMap((group) => (isWorth(group) ? [interleaved(group, axis, shape)] : group)),
      shape,
    );
  }
  return lattices;
}

const isDense = ({ steps }: Lattice): boolean => steps.every((s) => s === 1);

/** The sum of gradients that are zero outside their boxes, as one of the whole tensor. DirectML: SLICE_GRAD, JOIN, ELEMENT_WISE_ADD. */
export function gatherParts(parts: readonly PartialGradient[], { shape }: TensorSpec): Tensor {
  const whole = ({ grad, lo, starts, steps }: Lattice): Tensor =>
    grad.shape.every((d, i) => d === shape[i])
      ? grad
      : sliceAdjoint(grad, { starts: starts.map((s, i) => s + lo[i]! * steps[i]!), sizes: grad.shape, steps }, shape);
  const full = parts.filter((p) => p.grad.size > 0);
  // Slices of no elements alone.
  if (full.length === 0) return sliceAdjoint(parts[0]!.grad, parts[0]!.box!, shape);
  const lattices = full.map(latticeOf);
  const stepped = full.filter((_, i) => !isDense(lattices[i]!));
  const sums = woven(stepped, shape);
  const dense = [...lattices.filter(isDense), ...sums.filter(isDense)];
  const gathered = dense.length === 0 ? [] : united(dense, shape);
  return [...gathered, ...sums.filter((l) => !isDense(l))].map(whole).reduce((a, b) => add(a, b));
}

/** A copy of a tensor with the gradients of some slices added where these are, one after the other. */
export function withParts(whole: Tensor, parts: readonly PartialGradient[]): Tensor {
  const sum = clone(whole);
  for (const { grad, box } of parts) {
    const shown = sliceView(sum, box!);
    assign("add", shown, () => add(shown, grad));
    // What the pass frees is free at once.
    if (shown !== sum) shown.dispose();
  }
  return sum;
}
