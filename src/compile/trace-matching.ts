/**
 * Matches two traces of one function that were recorded with different sizes. If they have equal events, one program for the larger sizes serves both:
 * each small tensor is the leading part of the large one along every axis.
 */
import type { Definition } from "../core/definition.ts";
import { DTYPES } from "../core/dtype.ts";
import type { Storage } from "../core/storage.ts";
import { isSameView, movedOf, type Moved, type Shapes } from "./geometry.ts";
import { allEvents, madeOf, type Creation, type Event, type Operation, type Scalar } from "./log.ts";
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
  readonly shapes: Shapes;
  /** Bytes of an element. */
  readonly element: number;
}

export interface TraceMatch {
  /** The smaller path's events, by those of the larger. */
  readonly events: ReadonlyMap<Event, Event>;
  readonly storages: ReadonlyMap<Storage, StoragePair>;
  /** Lengths that differ, each pair once. */
  readonly axes: readonly Axis[];
  /** The smaller path's length of each of the axes of the base match. */
  readonly sizes: readonly number[];
  /** Numbers that differ. */
  readonly numbers: readonly Scalar[];
  /** Operands of the larger path that show other elements than those of the smaller at the same indices of the storage. */
  readonly moved: ReadonlyMap<Operand, Moved>;
}

/** Attributes that say no more than how large a result is. */
const SIZES = new Set(["shape", "sizes", "length", "k"]);

/** Whether an operation can leave padding out. */
export const isPaddable = ({ traits, padded }: Definition<never>): boolean => traits.elementwise === true || padded !== undefined;

/** Whether attributes are equal, but for those that may follow sizes. */
function areAttributesAlike(a: unknown, b: unknown, follows: readonly string[] = [], isSize = false): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== typeof b || a === null || b === null) return false;
  if (typeof a === "number" || typeof a === "bigint") return isSize;
  if (typeof a !== "object") return false;
  if (ArrayBuffer.isView(a) || ArrayBuffer.isView(b)) return false;
  const [x, y] = [a as Record<string, unknown>, b as Record<string, unknown>];
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(x);
  return (
    keys.length === Object.keys(y).length &&
    keys.every((k) => areAttributesAlike(x[k], y[k], follows, isSize || SIZES.has(k) || follows.includes(k)))
  );
}

/** Whether numbers that follow no size in the base match follow none here. */
function isFollowedAlike(follows: readonly string[], a: unknown, b: unknown, base: unknown): boolean {
  const [x, y, z] = [a, b, base] as Record<string, unknown>[];
  return follows.every((k) => {
    const [l, m, n] = [x![k], y![k], z![k]].map((v) => [v].flat(4)) as [unknown[], unknown[], unknown[]];
    return l.every((v, i) => v !== n[i] || v === m[i]);
  });
}

/** Two corresponding storages at the beginning of two paths. */
export interface InitialPair {
  readonly large: Storage;
  readonly pair: StoragePair;
}

/** Shapes of all that an event reads and makes. */
function shapesOf(e: Leaf): Shape[] {
  const made = madeOf(e).map((m) => m.tensor.shape);
  if (e.kind === "operation") return [...e.inputs.map((o) => o.desc.shape), ...made];
  // What a view shows matters where it is read.
  if (e.kind === "view") return [];
  return e.kind === "assign" ? [e.target.desc.shape, e.source.desc.shape] : made;
}

/**
 * Matches two paths; a string says in what they differ. base: the match that the program was made with. The same axes must be padded as there, and
 * axes of equal length there must have equal lengths here.
 */
export function matchTraces(
  large: Iterable<Event>,
  small: Iterable<Event>,
  initial: readonly InitialPair[],
  base: TraceMatch | null = null,
): TraceMatch | string {
  const events = new Map<Event, Event>();
  const storages = new Map(initial.map((b) => [b.large, b.pair]));
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
  const moved = new Map<Operand, Moved>();
  const isSameOperand = (a: Operand, b: Operand): boolean => {
    if (a.desc.dtype !== b.desc.dtype || a.desc.shape.length !== b.desc.shape.length) return false;
    const pair = storages.get(a.storage);
    if ((pair?.small ?? a.storage) !== b.storage) return false;
    const all = [a.storage.contentInBytes / DTYPES[a.desc.dtype].sizeInBytes];
    const shapes = pair?.shapes ?? { large: all, small: all };
    const before = base?.moved.get(a) ?? null;
    if (before === null && isSameView(a, b, shapes)) return true;
    if (before === null && base !== null) return false;
    const found = movedOf(a, b, shapes, before);
    if (found !== null) moved.set(a, found);
    return found !== null;
  };
  const areCallsAlike = (a: Operation | Creation, b: Operation | Creation): boolean => {
    const { follows = [] } = a.definition;
    const known = base?.events.get(a) as typeof a | undefined;
    return (
      areAttributesAlike(a.attrs, b.attrs, follows) && (known === undefined || isFollowedAlike(follows, a.attrs, b.attrs, known.attrs))
    );
  };
  const isSameStorage = (a: Operand, b: Operand): boolean => (storages.get(a.storage)?.small ?? a.storage) === b.storage;
  const differs = (a: Leaf, b: Leaf | undefined): string | null => {
    if (b === undefined || a.kind !== b.kind) return nameOf(b ?? a);
    switch (a.kind) {
      case "operation": {
        const other = b as typeof a;
        const isLike =
          a.definition === other.definition &&
          a.inputs.length === other.inputs.length &&
          a.inputs.every((o, i) => isSameOperand(o, other.inputs[i]!)) &&
          areCallsAlike(a, other);
        return isLike ? null : a.origin;
      }
      case "create": {
        const other = b as typeof a;
        return a.definition === other.definition && a.device === other.device && areCallsAlike(a, other) ? null : a.origin;
      }
      case "view":
        return a.definition === (b as typeof a).definition && isSameStorage(a.input, (b as typeof a).input) ? null : a.origin;
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
        return isSameOperand(a.target, other.target) && isSameOperand(a.source, other.source) ? null : a.origin;
      }
      case "retraced":
        return null;
      case "custom":
        return a.node.name;
      case "loop":
      case "loopTest":
      case "loopEnd":
        return nameOf(a);
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
      if (m.ownsStorage)
        storages.set(x.storage, { small: y.storage, shapes: { large: x.shape, small: y.shape }, element: DTYPES[x.dtype].sizeInBytes });
    }
  }
  if (at !== others.length) return nameOf(others[at]!);
  const found = [...axes.values()];
  return { events, storages, axes: found, sizes: found.map((a) => a.size), numbers, moved };
}

function nameOf(e: Leaf): string {
  if ("origin" in e) return e.origin;
  if (e.kind === "loopTest" || e.kind === "loopEnd") return e.begin.origin;
  return e.kind === "custom" ? e.node.name : e.kind === "scalar" ? "a number" : "data";
}
