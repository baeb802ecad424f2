/**
 * Whether two paths of one function, recorded with other sizes, ask for the same: then one program, made for the larger sizes, serves both.
 * Each tensor's elements have to lie at the beginning of every axis of the larger one.
 */
import type { Definition } from "../definition.ts";
import { DTYPES } from "../dtype.ts";
import { packedStrides } from "../shape.ts";
import type { Storage } from "../storage.ts";
import { allEvents, madeOf, type Event, type Scalar } from "./log.ts";
import type { Operand } from "./operand.ts";

type Leaf = ReturnType<typeof allEvents> extends Generator<infer E> ? E : never;
type Shape = readonly number[];

/** An axis that differs: its length in both. */
export interface Axis {
  readonly large: number;
  readonly small: number;
}

/** A storage of both, and the shapes of the tensors that fill it. */
export interface StoragePair {
  readonly small: Storage;
  readonly shapes: { readonly large: Shape; readonly small: Shape };
}

export interface Pairing {
  /** The smaller path's events, by those of the larger. */
  readonly events: ReadonlyMap<Event, Event>;
  readonly storages: ReadonlyMap<Storage, StoragePair>;
  /** Lengths that differ, each pair once. */
  readonly axes: readonly Axis[];
  /** The smaller path's length of each of the axes of the pairing that this one is like. */
  readonly sizes: readonly number[];
  /** Numbers that differ. */
  readonly numbers: readonly Scalar[];
}

/** Attributes that say no more than how large a result is. */
const SIZES = new Set(["shape", "sizes", "length", "k"]);

/** Whether an operation may be asked to leave padding out. */
export const isFitting = ({ traits, padded }: Definition<never>): boolean => traits.elementwise === true || padded !== undefined;

const areAlike = (a: Shape, b: Shape): boolean => a.length === b.length && a.every((d, i) => d === b[i]);

/** Whether attributes are equal, but for sizes. */
function areAttributesAlike(a: unknown, b: unknown, isSize = false): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== typeof b || a === null || b === null) return false;
  if (typeof a === "number") return isSize;
  if (typeof a !== "object") return false;
  if (ArrayBuffer.isView(a) || ArrayBuffer.isView(b)) return false;
  const [x, y] = [a as Record<string, unknown>, b as Record<string, unknown>];
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(x);
  return keys.length === Object.keys(y).length && keys.every((k) => areAttributesAlike(x[k], y[k], isSize || SIZES.has(k)));
}

/** Sizes in which each axis that differs is followed by what belongs to one place of it: [2, n, 3, 4] is [2, 12 n]. */
function merged({ large, small }: StoragePair["shapes"]): { large: number[]; small: number[] } {
  const result = { large: [] as number[], small: [] as number[] };
  large.forEach((d, i) => {
    const last = result.large.length - 1;
    if (d === small[i] && last >= 0) {
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

/** Whether a view of the one storage shows what the view of the other does, at the same places. */
export function isSameView(large: Seen, small: Seen, shapes: StoragePair["shapes"]): boolean {
  if (large.desc.shape.length !== small.desc.shape.length) return false;
  if (small.desc.size === 0 || large.desc.size === 0) return areAlike(large.desc.shape, small.desc.shape);
  const sizes = merged(shapes);
  const first = digits(small.offset, sizes.small);
  if (!areAlike(first, digits(large.offset, sizes.large))) return false;
  const ends = [first.slice(), first.slice()];
  for (let d = 0; d < small.desc.shape.length; d++) {
    // An axis of one place has no step.
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

/** Pairs what two paths begin with. */
export interface Beginning {
  readonly large: Storage;
  readonly pair: StoragePair;
}

/** Shapes of all that an event reads and makes. */
function shapesOf(e: Leaf): Shape[] {
  const made = madeOf(e).map((m) => m.tensor.shape);
  if (e.kind === "operation") return [...e.inputs.map((o) => o.desc.shape), ...made];
  if (e.kind === "view") return [e.input.desc.shape, ...made];
  return e.kind === "assign" ? [e.target.desc.shape, e.source.desc.shape] : made;
}

/**
 * The pairing of two paths, or in what they differ. base: another smaller path's, with which the program is made: the same axes have to be
 * padded, and those that had one length there have one here.
 */
export function pairPaths(
  large: Iterable<Event>,
  small: Iterable<Event>,
  beginnings: readonly Beginning[],
  base: Pairing | null = null,
): Pairing | string {
  const events = new Map<Event, Event>();
  const storages = new Map(beginnings.map((b) => [b.large, b.pair]));
  const axes = new Map<string, Axis & { readonly size: number }>();
  for (const a of base?.axes ?? []) axes.set(`${a.large}/${a.small}`, { ...a, size: -1 });
  const numbers: Scalar[] = [];
  /** a, b: of the paths; c: of the one that the program is made with. */
  const areAxesLike = (a: Shape, b: Shape, c: Shape): boolean =>
    a.length === b.length &&
    a.every((d, i) => {
      if (c[i] === d) return b[i] === d;
      const key = `${d}/${c[i]}`;
      const known = axes.get(key);
      if (known !== undefined && known.size >= 0) return known.size === b[i];
      axes.set(key, { large: d, small: c[i]!, size: b[i]! });
      return true;
    });
  const isSameOperand = (a: Operand, b: Operand): boolean => {
    if (a.desc.dtype !== b.desc.dtype || a.desc.shape.length !== b.desc.shape.length) return false;
    const pair = storages.get(a.storage);
    if (pair === undefined) {
      if (a.storage !== b.storage) return false;
      const all = [a.storage.contentInBytes / DTYPES[a.desc.dtype].sizeInBytes];
      return isSameView(a, b, { large: all, small: all });
    }
    return pair.small === b.storage && isSameView(a, b, pair.shapes);
  };
  const differs = (a: Leaf, b: Leaf | undefined): string | null => {
    if (b === undefined || a.kind !== b.kind) return nameOf(b ?? a);
    switch (a.kind) {
      case "operation": {
        const other = b as typeof a;
        const isLike =
          a.definition === other.definition &&
          a.inputs.length === other.inputs.length &&
          a.inputs.every((o, i) => isSameOperand(o, other.inputs[i]!)) &&
          areAttributesAlike(a.attrs, other.attrs);
        return isLike ? null : a.origin;
      }
      case "create": {
        const other = b as typeof a;
        return a.definition === other.definition && a.device === other.device && areAttributesAlike(a.attrs, other.attrs) ? null : a.origin;
      }
      case "view":
        return a.definition === (b as typeof a).definition && isSameOperand(a.input, (b as typeof a).input) ? null : a.origin;
      case "scalar": {
        const other = b as typeof a;
        if (a.dtype !== other.dtype || a.device !== other.device) return "a number";
        if (!Object.is(a.value, other.value) || other.varies) numbers.push(a);
        return null;
      }
      case "constant": {
        const other = b as typeof a;
        return a.dtype === other.dtype && a.shape.length === other.shape.length && a.device === other.device ? null : "data";
      }
      case "assign": {
        const other = b as typeof a;
        if (!isSameOperand(a.target, other.target) || !isSameOperand(a.source, other.source)) return a.origin;
        // A write to a part goes to places that are made of its sizes.
        const isWhole = a.target.offset === 0 && a.target.desc.isPacked && a.target.desc.sizeInBytes === a.target.storage.contentInBytes;
        const isFixed =
          areAlike(a.target.desc.shape, other.target.desc.shape) && areAlike(a.target.desc.strides, other.target.desc.strides);
        return isWhole || (isFixed && a.target.offset === other.target.offset) ? null : a.origin;
      }
      case "opening":
        return null;
      case "custom":
        return a.node.name;
      default:
        return a satisfies never;
    }
  };
  const others = [...allEvents(small)];
  let at = 0;
  for (const a of allEvents(large)) {
    const b = others[at++];
    const found = differs(a, b);
    if (found !== null) return found;
    const [seen, other, known] = [a, b!, (base?.events.get(a) ?? b!) as Leaf].map(shapesOf) as [Shape[], Shape[], Shape[]];
    if (!seen.every((shape, i) => areAxesLike(shape, other[i]!, known[i]!))) return nameOf(a);
    events.set(a, b!);
    const [made, of] = [madeOf(a), madeOf(b!)];
    for (const [i, m] of made.entries()) {
      const [x, y] = [m.tensor, of[i]!.tensor];
      if (x.dtype !== y.dtype) return nameOf(a);
      if (m.ownsStorage) storages.set(x.storage, { small: y.storage, shapes: { large: x.shape, small: y.shape } });
      else {
        const pair = storages.get(x.storage);
        if (pair !== undefined && !isSameView(x, y, pair.shapes)) return nameOf(a);
      }
    }
  }
  if (at !== others.length) return nameOf(others[at]!);
  const found = [...axes.values()];
  return { events, storages, axes: found, sizes: found.map((a) => a.size), numbers };
}

function nameOf(e: Leaf): string {
  if ("origin" in e) return e.origin;
  return e.kind === "custom" ? e.node.name : e.kind === "scalar" ? "a number" : "data";
}
