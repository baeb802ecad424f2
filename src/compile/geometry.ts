/** Matches views of two storages whose axes have different lengths: whether they show the same elements, and how one is found in the other. */
import { packedStrides } from "../core/shape.ts";

type Shape = readonly number[];

/** The shapes of the tensors that fill a storage, in a path of larger and in one of smaller sizes. */
export interface Shapes {
  readonly large: Shape;
  readonly small: Shape;
}

/** A tensor's layout in memory, for any sizes of its axes. */
export interface Layout {
  /** Sizes of a packed tensor that covers the elements, gaps between rows among them; null: there is none with these sizes of the axes. */
  readonly covering: (shape: Shape) => number[] | null;
  /** Strides of a tensor with these sizes of the axes. */
  readonly strides: (shape: Shape) => number[] | null;
}

/** The layout of a tensor no two elements of which share an address; null where steps along one axis are not a multiple of those along the next. */
export function layoutOf({ shape, strides }: { readonly shape: Shape; readonly strides: Shape }): Layout | null {
  const axes = [...shape.keys()];
  const order = axes.filter((a) => shape[a]! > 1).toSorted((a, b) => strides[b]! - strides[a]!);
  const pitches = order.map((a, i) => (i === 0 ? Infinity : strides[order[i - 1]!]! / strides[a]!));
  if (order.some((a, i) => strides[a]! < 1 || pitches[i]! < shape[a]! || (i > 0 && !Number.isInteger(pitches[i])))) return null;
  const unit = order.length === 0 ? 1 : strides[order.at(-1)!]!;
  const covering = (sizes: Shape): number[] | null => {
    const found = order.map((a, i) => (i === 0 || pitches[i] === shape[a] ? sizes[a]! : pitches[i]!));
    return found.some((d, i) => d < sizes[order[i]!]!) ? null : [...found, unit];
  };
  return {
    covering,
    strides: (sizes) => {
      const whole = covering(sizes);
      if (whole === null) return null;
      const steps = packedStrides(whole);
      const found = axes.map((a) => steps[order.indexOf(a)] ?? 1);
      for (const a of axes.toReversed()) if (!order.includes(a) && a + 1 < axes.length) found[a] = found[a + 1]! * sizes[a + 1]!;
      return found;
    },
  };
}

export const areAlike = (a: Shape, b: Shape): boolean => a.length === b.length && a.every((d, i) => d === b[i]);

/** Which axes differ. */
const splitsOf = ({ large, small }: Shapes): boolean[] => large.map((d, i) => d !== small[i]);

/** Sizes in which each axis that differs is followed by the axes of one index of it: [2, n, 3, 4] is [2, 12 n]. */
function merged({ large, small }: Shapes, splits: readonly boolean[] = splitsOf({ large, small })): { large: number[]; small: number[] } {
  const result = { large: [] as number[], small: [] as number[] };
  large.forEach((d, i) => {
    const last = result.large.length - 1;
    if (splits[i] === false && last >= 0) {
      result.large[last]! *= d;
      result.small[last]! *= d;
    } else {
      result.large.push(d);
      result.small.push(small[i]!);
    }
  });
  return result;
}

/** A distance in a packed tensor as steps along its axes. */
function digits(distance: number, sizes: Shape): number[] {
  const steps = packedStrides(sizes);
  let rest = distance;
  return steps.map((s) => {
    const n = Math.floor(rest / s);
    rest -= n * s;
    return n;
  });
}

interface Seen {
  readonly desc: { readonly shape: Shape; readonly strides: Shape; readonly size: number };
  readonly offset: number;
}

/** Whether a view of the one storage shows the same elements as the view of the other, at the same indices. */
export function isSameView(large: Seen, small: Seen, shapes: Shapes): boolean {
  if (large.desc.shape.length !== small.desc.shape.length) return false;
  if (small.desc.size === 0 || large.desc.size === 0) return areAlike(large.desc.shape, small.desc.shape);
  const sizes = merged(shapes);
  const first = digits(small.offset, sizes.small);
  if (!areAlike(first, digits(large.offset, sizes.large))) return false;
  const ends = [first.slice(), first.slice()];
  for (let d = 0; d < small.desc.shape.length; d++) {
    // An axis of one element has no stride.
    if (small.desc.shape[d]! === 1 && large.desc.shape[d]! === 1) continue;
    const step = digits(small.desc.strides[d]!, sizes.small);
    if (!areAlike(step, digits(large.desc.strides[d]!, sizes.large))) return false;
    step.forEach((s, k) => {
      ends[0]![k]! += s * (small.desc.shape[d]! - 1);
      ends[1]![k]! += s * (large.desc.shape[d]! - 1);
    });
  }
  return ends[0]!.every((e, k) => e < sizes.small[k]!) && ends[1]!.every((e, k) => e < sizes.large[k]!);
}

/** How a smaller path's view of a storage is found in the larger storage. */
export interface Moved {
  /** Elements that are contiguous in both: what an address counts. */
  readonly width: number;
  /** Leading axes of the view, along which addresses are computed. */
  readonly axes: number;
  /** Steps along the view's axes reach from one axis of the storage into another: an address is split by division. */
  readonly carries: boolean;
  /** Of the view: in `width`, in the larger storage, or where it carries in the smaller. */
  readonly offset: number;
  readonly strides: Shape;
  readonly shape: Shape;
  /** Strides of the storage's merged axes, in `width`, of both. */
  readonly storage: { readonly large: Shape; readonly small: Shape };
  /** Which of the storage's axes begin a merged one. */
  readonly splits: readonly boolean[];
}

/** Whether steps along the view's axes stay within one axis of the storage each. */
function staysInside(first: Shape, steps: readonly Shape[], shape: Shape, sizes: Shape): boolean {
  return sizes.every((size, k) => first[k]! + steps.reduce((sum, s, d) => sum + s[k]! * (shape[d]! - 1), 0) < size);
}

/** before: with which a program was made, whose form has to be kept. Null: there is none. */
export function movedOf(large: Seen, small: Seen, shapes: Shapes, before: Moved | null): Moved | null {
  const { shape, strides, size } = small.desc;
  if (size === 0 || large.desc.size === 0) return null;
  const splits = before?.splits ?? splitsOf(shapes);
  if (splitsOf(shapes).some((isSplitHere, i) => isSplitHere && splits[i] !== true)) return null;
  const sizes = merged(shapes, splits);
  const [outer, own] = [packedStrides(sizes.large), packedStrides(sizes.small)];
  const steps = strides.map((s, d) => (shape[d] === 1 ? 0 : s));
  const first = digits(small.offset, sizes.small);
  const along = steps.map((s) => digits(s, sizes.small));
  const carries = !staysInside(first, along, shape, sizes.small);
  if (before?.carries === false && carries) return null;
  const isSplit = before?.carries ?? carries;
  const flat = (list: Shape): number => list.reduce((sum, n, k) => sum + n * outer[k]!, 0);
  const offset = isSplit ? small.offset : flat(first);
  const moves = isSplit ? steps : along.map(flat);
  // Trailing axes that neither differ nor leave a row of the storage are read as one.
  let axes = shape.length;
  let width = 1;
  const isRow = (w: number, rest: number): boolean =>
    [offset, ...moves.slice(0, rest), ...outer.slice(0, -1), ...own.slice(0, -1), sizes.large.at(-1)!, sizes.small.at(-1)!].every(
      (n) => n % w === 0,
    );
  while (axes > 0) {
    const d = axes - 1;
    const [n, wide] = [shape[d]!, width * shape[d]!];
    if (before === null ? n !== large.desc.shape[d] || (n > 1 && moves[d] !== width) || !isRow(wide, d) : axes <= before.axes) break;
    axes = d;
    width = wide;
  }
  if (before !== null && (width !== before.width || !isRow(width, axes))) return null;
  const inRows = (list: Shape): Shape => list.map((n) => n / width);
  return {
    width,
    axes,
    carries: isSplit,
    offset: offset / width,
    strides: inRows(moves.slice(0, axes)),
    shape: shape.slice(0, axes),
    storage: { large: inRows(outer), small: inRows(own) },
    splits,
  };
}
