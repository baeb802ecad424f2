/** The states of several ranks as one: what is common once, what is in parts together. Pure. */
import { DTYPES, type DType } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { define } from "../../core/own-property.ts";
import { sameShape, showShape, sizeOf, type Shape } from "../../core/shape.ts";
import type { TensorPart } from "../../core/tensor-part.ts";
import { entriesIn, specialOf, stateIn } from "./decode.ts";
import type { ArrayRecord, DividedRecord, Json, TensorRecord } from "./format.ts";

/** An entry that a rank has. */
export interface RankEntry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
  /** Whether other ranks that have it have the same elements. */
  readonly isCommon: boolean;
  /** Which part of a whole one it is. */
  readonly part?: TensorPart;
}

/** What a rank wants to save. */
export interface RankState {
  readonly state: Json;
  readonly tensors: readonly TensorRecord[];
  readonly arrays: readonly ArrayRecord[];
  readonly entries: readonly RankEntry[];
}

/** An entry that a rank writes. */
export interface RankWrite {
  /** The rank's own name for it. */
  readonly entry: string;
  /** Its name in the checkpoint. */
  readonly name: string;
  readonly shape: Shape;
}

/** The state of all ranks. */
export interface MergedState {
  readonly state: Json;
  readonly tensors: readonly TensorRecord[];
  readonly arrays: readonly ArrayRecord[];
  readonly divided: Readonly<Record<string, DividedRecord>>;
  /** By rank. */
  readonly writes: readonly (readonly RankWrite[])[];
}

/** A value as a rank has it. */
interface Own {
  readonly rank: number;
  readonly json: Json;
}

/** The kinds of special values that name a tensor or an array. */
const TENSORS = ["tensor", "numbers", "complex"];

/** The largest first, each to the rank with the fewest bytes; equal on all ranks. */
class Balance {
  readonly writes: RankWrite[][];
  readonly #bytes: number[];

  constructor(ranks: number) {
    this.writes = Array.from({ length: ranks }, () => []);
    this.#bytes = Array.from({ length: ranks }, () => 0);
  }

  give(rank: number, write: RankWrite, sizeInBytes: number): void {
    this.writes[rank]!.push(write);
    this.#bytes[rank]! += sizeInBytes;
  }

  lightest(ranks: readonly number[]): number {
    return ranks.reduce((best, rank) => (this.#bytes[rank]! < this.#bytes[best]! ? rank : best));
  }
}

class Merger {
  readonly tensors: TensorRecord[] = [];
  readonly arrays: ArrayRecord[] = [];
  readonly divided: Record<string, DividedRecord> = {};
  readonly balance: Balance;
  readonly #operation: string;
  readonly #ranks: readonly RankState[];
  readonly #entries: readonly ReadonlyMap<string, RankEntry>[];
  /** Numbers of tensors and arrays in the checkpoint, and names of entries, by rank and own number or name. */
  readonly #ids = new Map<string, number>();
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>(["__metadata__"]);
  /** Entries that several ranks may write: given out at the end. */
  readonly #common: { readonly entry: RankEntry; readonly name: string; readonly ranks: readonly number[] }[] = [];

  constructor(operation: string, ranks: readonly RankState[]) {
    this.#operation = operation;
    this.#ranks = ranks;
    this.#entries = ranks.map(({ entries }) => new Map(entries.map((entry) => [entry.name, entry])));
    this.balance = new Balance(ranks.length);
  }

  merge(all: readonly Own[]): Json {
    const [{ rank, json }] = all as [Own];
    if (typeof json !== "object" || json === null) return json;
    if (Array.isArray(json)) return this.#list(json as readonly Json[], all);
    const state = stateIn(json);
    if (state !== null) {
      const inner = all.flatMap((own) => {
        const its = stateIn(own.json);
        return its === null ? [] : [{ rank: own.rank, json: its.state }];
      });
      return { $state: { ...((json as { readonly $state: Record<string, Json> }).$state as object), state: this.merge(inner) } };
    }
    const entries = entriesIn(json);
    if (entries !== null) return this.#object(all);
    const { kind, value } = specialOf(json)!;
    if (TENSORS.includes(kind)) return this.#tensor(kind, value, all);
    if (kind === "array" && typeof value === "number") return { $array: this.#array(rank, value) };
    if (kind !== "map" && kind !== "set") return json;
    const items = all.flatMap((own) => {
      const its = specialOf(own.json);
      return its?.kind === kind ? [{ rank: own.rank, json: its.value }] : [];
    });
    return { [`$${kind}`]: this.merge(items) };
  }

  #list(first: readonly Json[], all: readonly Own[]): Json {
    const alike = all.filter(({ json }) => Array.isArray(json) && json.length === first.length);
    return first.map((_, i) => this.merge(alike.map(({ rank, json }) => ({ rank, json: (json as readonly Json[])[i]! }))));
  }

  /** All keys that any rank has. */
  #object(all: readonly Own[]): Json {
    const byKey = new Map<string, Own[]>();
    for (const { rank, json } of all)
      for (const [key, item] of entriesIn(json) ?? []) byKey.set(key, [...(byKey.get(key) ?? []), { rank, json: item }]);
    const merged = [...byKey].map(([key, items]) => [key, this.merge(items)] as const);
    if (merged.some(([key]) => key.startsWith("$"))) return { $object: merged };
    const made: Record<string, Json> = {};
    for (const [key, item] of merged) define(made, key, item);
    return made;
  }

  #tensor(kind: string, value: Json, all: readonly Own[]): Json {
    const { rank } = all[0]!;
    const idOf = (json: Json): number | null => {
      const special = specialOf(json);
      if (special?.kind !== kind) return null;
      const id = Array.isArray(special.value) ? (special.value as readonly Json[])[0] : special.value;
      return typeof id === "number" ? id : null;
    };
    const own = all.flatMap(({ rank: r, json }) => {
      const id = idOf(json);
      return id === null ? [] : [{ rank: r, record: this.#ranks[r]!.tensors[id]! }];
    });
    const key = `tensor ${rank} ${idOf(all[0]!.json)}`;
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = this.tensors.length;
      this.#ids.set(key, id);
      const { record } = own[0]!;
      this.tensors.push({ ...record, entry: this.#entry(rank, record.entry, own) });
    }
    return kind === "complex" ? { $complex: [id, (value as readonly Json[])[1]!] } : { [`$${kind}`]: id };
  }

  #array(rank: number, id: number): number {
    const key = `array ${rank} ${id}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.#ids.set(key, this.arrays.length);
    const record = this.#ranks[rank]!.arrays[id]!;
    return this.arrays.push({ ...record, entry: this.#entry(rank, record.entry, [{ rank, record }]) }) - 1;
  }

  #free(name: string): string {
    let free = name;
    for (let i = 2; this.#taken.has(free); i++) free = `${name}#${i}`;
    this.#taken.add(free);
    return free;
  }

  /** The name of an entry in the checkpoint. own: the records of the ranks that have a value there. */
  #entry(rank: number, own: string, records: readonly { readonly rank: number; readonly record: { readonly entry: string } }[]): string {
    const key = `${rank} ${own}`;
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const entry = this.#entries[rank]!.get(own)!;
    const name = this.#free(own);
    this.#names.set(key, name);
    const there = records.flatMap(({ rank: r, record }) => {
      const its = this.#entries[r]!.get(record.entry);
      return its === undefined ? [] : [{ rank: r, entry: its }];
    });
    if (entry.part !== undefined) this.#divide(name, entry.dtype, entry.part.shape, there);
    else {
      const alike = there.filter(
        ({ entry: its }) =>
          its.isCommon && its.part === undefined && its.name === own && its.dtype === entry.dtype && sameShape(its.shape, entry.shape),
      );
      this.#common.push({ entry, name, ranks: entry.isCommon ? alike.map((one) => one.rank) : [rank] });
    }
    return name;
  }

  /** Each rank writes its part. */
  #divide(name: string, dtype: DType, shape: Shape, there: readonly { readonly rank: number; readonly entry: RankEntry }[]): void {
    const size = sizeOf(shape);
    const parts: { readonly entry: string; readonly start: number }[] = [];
    let next = 0;
    const sorted = there.toSorted((a, b) => (a.entry.part?.start ?? 0) - (b.entry.part?.start ?? 0) || a.rank - b.rank);
    for (const { rank, entry } of sorted) {
      if (entry.part === undefined || entry.dtype !== dtype || !sameShape(entry.part.shape, shape))
        throw this.#refuse(name, `parts of ${dtype}${showShape(shape)} on all ranks`, `another tensor on rank ${rank}`);
      const held = Math.min(size, entry.part.start + entry.part.length) - entry.part.start;
      if (held <= 0 || entry.part.start !== next) continue;
      const itsName = this.#free(`${name}[${next}:${next + held}]`);
      parts.push({ entry: itsName, start: next });
      this.balance.give(rank, { entry: entry.name, name: itsName, shape: [held] }, held * DTYPES[dtype].sizeInBytes);
      next += held;
    }
    if (next !== size) throw this.#refuse(name, "in parts that are the whole tensor", `${next} of ${size} elements`);
    define<DividedRecord>(this.divided, name, { dtype, shape, parts });
  }

  #refuse(name: string, expected: string, received: string): ValueError {
    return new ValueError(this.#operation, `state.${name}`, expected, received, "All ranks of the group save the same state.");
  }

  finish(): void {
    const bytesOf = ({ dtype, shape }: RankEntry): number => sizeOf(shape) * DTYPES[dtype].sizeInBytes;
    for (const { entry, name, ranks } of this.#common.toSorted((a, b) => bytesOf(b.entry) - bytesOf(a.entry)))
      this.balance.give(this.balance.lightest(ranks), { entry: entry.name, name, shape: entry.shape }, bytesOf(entry));
  }
}

/**
 * The state of a checkpoint that all ranks write: the keys that any rank has; of each value the first rank's. Tensors in parts are divided entries, and those
 * that all ranks have alike are written by the rank with the least to write. Throws ValueError where the parts of a tensor are not all there.
 */
export function mergeStates(operation: string, ranks: readonly RankState[]): MergedState {
  const merger = new Merger(operation, ranks);
  const state = merger.merge(ranks.map(({ state: json }, rank) => ({ rank, json })));
  merger.finish();
  const { tensors, arrays, divided, balance } = merger;
  return { state, tensors, arrays, divided, writes: balance.writes };
}
