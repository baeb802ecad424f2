/** Shape arithmetic: the only file with rules of how shapes combine. */
import { ShapeError, ValueError } from "./errors.ts";

/** Length of each axis, the outermost first; [] for a scalar. */
export type Shape = readonly number[];

export function sizeOf(shape: Shape): number {
  let n = 1;
  for (const d of shape) n *= d;
  return n;
}

/** Strides, in elements, of a packed row-major tensor. */
export function packedStrides(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = step;
    step *= Math.max(1, shape[i]!);
  }
  return strides;
}

export function sameShape(a: Shape, b: Shape): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export const showShape = (shape: Shape): string => `[${shape.join(", ")}]`;

/** True when the elements are contiguous in row-major order; strides of axes of length 1 do not matter. */
export function isPacked(shape: Shape, strides: readonly number[]): boolean {
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    if (shape[i] === 0) return true;
    if (shape[i] !== 1 && strides[i] !== step) return false;
    step *= shape[i]!;
  }
  return true;
}

/** axis in [-rank, rank) as one in [0, rank); rank 0 counts as 1. */
export function normalizeAxis(operation: string, axis: number, rank: number, argument = "axis"): number {
  const n = Math.max(rank, 1);
  if (!Number.isInteger(axis) || axis < -n || axis >= n) throw new ValueError(operation, argument, `an integer in [${-n}, ${n - 1}]`, axis);
  return axis < 0 ? axis + n : axis;
}

/** Most axes of a tensor that is created, or that axes are counted of: PyTorch's limit. */
export const MAX_RANK = 64;

/** One axis, several, or none given (all of them), without repeats, in rising order. */
export function normalizeAxes(operation: string, axes: number | readonly number[] | null | undefined, rank: number): number[] {
  if (rank > MAX_RANK) throw new ShapeError(operation, "x", `of at most ${MAX_RANK} axes`, `${rank} axes`);
  if (axes === null || axes === undefined) return Array.from({ length: rank }, (_, i) => i);
  const list = (typeof axes === "number" ? [axes] : axes).map((a) => normalizeAxis(operation, a, rank));
  if (new Set(list).size !== list.length) throw new ValueError(operation, "axis", "a list without repeats", list);
  return rank === 0 ? [] : list.sort((a, b) => a - b);
}

/** The shape that both broadcast to (numpy's rule). */
export function broadcastShapes(operation: string, a: Shape, b: Shape): number[] {
  const rank = Math.max(a.length, b.length);
  const out = new Array<number>(rank);
  for (let i = 0; i < rank; i++) {
    const x = a[a.length - rank + i] ?? 1;
    const y = b[b.length - rank + i] ?? 1;
    if (x !== y && x !== 1 && y !== 1)
      throw new ShapeError(operation, "b", `of a shape that broadcasts with ${showShape(a)}`, showShape(b));
    out[i] = x === 1 ? y : x;
  }
  return out;
}

export const isBroadcastableTo = (shape: Shape, target: Shape): boolean =>
  shape.length <= target.length && shape.every((d, i) => d === 1 || d === target[target.length - shape.length + i]);

/** Strides that show a tensor broadcast to a larger shape: zero along the axes that are repeated. */
export function broadcastStrides(shape: Shape, strides: readonly number[], target: Shape): number[] {
  const lead = target.length - shape.length;
  return target.map((d, i) => (i < lead || (shape[i - lead] === 1 && d !== 1) ? 0 : strides[i - lead]!));
}

/** A shape with one -1 filled in, checked against the number of elements. */
export function inferShape(operation: string, shape: Shape, size: number): number[] {
  const unknown = shape.indexOf(-1);
  if (shape.some((d, i) => !Number.isInteger(d) || d < -1 || (d === -1 && i !== unknown)))
    throw new ValueError(operation, "shape", "integers of at least 0 with at most one -1", showShape(shape));
  const known = shape.reduce((n, d) => (d === -1 ? n : n * d), 1);
  if (unknown < 0 ? known !== size : known === 0 || size % known !== 0)
    throw new ShapeError(operation, "shape", `of ${size} elements`, showShape(shape));
  return shape.map((d) => (d === -1 ? size / known : d));
}

/**
 * Strides that show the same elements under another shape without moving them, or null when a copy is needed. Axes of the old
 * shape that are contiguous may be merged and split.
 */
export function viewStrides(shape: Shape, strides: readonly number[], target: Shape): number[] | null {
  if (sizeOf(shape) === 0) return packedStrides(target);
  const out = new Array<number>(target.length);
  let t = target.length - 1;
  let chunk = 1; // elements of the current run of dense axes
  let base = strides.length > 0 ? strides[strides.length - 1]! : 1;
  let taken = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    chunk *= shape[i]!;
    const dense = i > 0 && (shape[i - 1] === 1 || strides[i - 1] === chunk * base);
    if (dense) continue;
    while (t >= 0 && (taken < chunk || target[t] === 1)) {
      out[t] = taken * base;
      taken *= target[t]!;
      t--;
    }
    if (taken !== chunk) return null;
    if (i > 0) {
      base = strides[i - 1]!;
      chunk = 1;
      taken = 1;
    }
  }
  while (t >= 0) {
    if (target[t] !== 1) return null;
    out[t--] = taken * base;
  }
  return out;
}

/** Numbers in a list that the host makes for one call. */
const MAX_LISTED = 2 ** 25;

/** Throws ValueError where the host would list more numbers than anybody waits for. */
export function requireListed(operation: string, argument: string, count: number, received: unknown): void {
  if (!(count <= MAX_LISTED))
    throw new ValueError(operation, argument, `such that the host lists at most ${MAX_LISTED} numbers for it`, received);
}

/** DirectML counts in 32 bits, and some drivers with a sign. */
const MAX_STEP = 2 ** 31 - 1;

/** Integers of 31 bits as a list of the given length: one number is repeated. */
export function expandList(operation: string, argument: string, value: number | readonly number[], length: number, min = 0): number[] {
  // Callers in JavaScript leave out what they must give.
  const list = typeof value === "number" ? new Array<number>(length).fill(value) : Array.isArray(value) ? (value as number[]) : [];
  if (list.length !== length || list.some((v) => !Number.isInteger(v) || v < min || v > MAX_STEP))
    throw new ValueError(operation, argument, `an integer or ${length} of them, each at least ${min} and at most ${MAX_STEP}`, value);
  return list;
}
