/** Which entries a checkpoint has: tensors that share elements share an entry, so that they share memory again when they are loaded. */
import { DTYPES, type DType } from "../../core/dtype.ts";
import { internDesc, type Storage } from "../../core/storage.ts";
import { outsideScopes } from "../../core/scope.ts";
import type { Shape } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { Frozen, HostBytes, type Readable } from "../pieces.ts";
import { arrayType } from "./arrays.ts";
import type { SavedArray, SavedTensor } from "./encode.ts";
import type { ArrayRecord, TensorRecord } from "./format.ts";

/** An entry of a file to be. */
export interface NewEntry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly bytes: Readable;
}

export interface Layout {
  readonly entries: readonly NewEntry[];
  readonly tensors: readonly TensorRecord[];
  readonly arrays: readonly ArrayRecord[];
}

/** The axes by decreasing stride where the elements are dense, in any order of the axes; null for others. */
function denseOrder(shape: Shape, strides: readonly number[]): readonly number[] | null {
  const order = shape.map((_, axis) => axis).filter((axis) => shape[axis]! !== 1);
  order.sort((a, b) => strides[b]! - strides[a]! || a - b);
  let size = 1;
  for (const axis of order.toReversed()) {
    if (strides[axis] !== size) return null;
    size *= shape[axis]!;
  }
  const ones = shape.flatMap((n, axis) => (n === 1 ? [axis] : []));
  return [...ones, ...order];
}

const firstOf = (t: Tensor): number => t.offset;
const endOf = (t: Tensor): number => t.offset + t.desc.extent;

/** Tensors of one storage and dtype in groups: those of different groups have no element in common. */
function groupsOf(tensors: readonly SavedTensor[]): readonly (readonly SavedTensor[])[] {
  const groups: SavedTensor[][] = [];
  let end = -1;
  for (const saved of [...tensors].sort((a, b) => firstOf(a.tensor) - firstOf(b.tensor))) {
    if (firstOf(saved.tensor) >= end) groups.push([]);
    groups.at(-1)!.push(saved);
    end = Math.max(end, endOf(saved.tensor));
  }
  return groups;
}

/** Names of entries: two of one name get numbers. */
class Names {
  readonly #taken = new Set(["__metadata__"]);

  take(name: string): string {
    let free = name;
    for (let i = 2; this.#taken.has(free); i++) free = `${name}#${i}`;
    this.#taken.add(free);
    return free;
  }
}

class Layouter {
  readonly entries: NewEntry[] = [];
  readonly records = new Map<SavedTensor, TensorRecord>();
  readonly #operation: string;
  readonly #names = new Names();

  constructor(operation: string) {
    this.#operation = operation;
  }

  #entryOf(name: string, tensor: Tensor, version: number): string {
    const entry = this.#names.take(name);
    const bytes = new Frozen(this.#operation, entry, tensor, version);
    this.entries.push({ name: entry, dtype: tensor.dtype, shape: tensor.shape, bytes });
    return entry;
  }

  #record({ requiresGrad, isParameter }: SavedTensor, how: TensorRecord): TensorRecord {
    return { ...how, ...(requiresGrad ? { requiresGrad: true } : {}), ...(isParameter ? { isParameter: true } : {}) };
  }

  /** Tensors that have elements in common, or one. */
  addGroup(group: readonly SavedTensor[]): void {
    const first = group[0]!;
    const { desc, offset } = first.tensor;
    const version = Math.min(...group.map((saved) => saved.version));
    // An expanded tensor has fewer elements in memory than it shows.
    const isOne = group.every(({ tensor }) => tensor.desc === desc && tensor.offset === offset) && desc.extent >= desc.size;
    if (isOne) {
      const entry = this.#entryOf(first.name, first.tensor, version);
      const order = desc.isPacked ? null : denseOrder(desc.shape, desc.strides);
      for (const saved of group) this.records.set(saved, this.#record(saved, { entry, ...(order === null ? {} : { order }) }));
      return;
    }
    const start = Math.min(...group.map(({ tensor }) => firstOf(tensor)));
    const end = Math.max(...group.map(({ tensor }) => endOf(tensor)));
    const covering = group.find(({ tensor }) => tensor.isContiguous && firstOf(tensor) === start && endOf(tensor) === end);
    const entry =
      covering === undefined ? this.#spanOf(first, start, end, version) : this.#entryOf(covering.name, covering.tensor, version);
    for (const saved of group) {
      const { shape, strides } = saved.tensor.desc;
      this.records.set(saved, this.#record(saved, { entry, view: { shape, strides, offset: firstOf(saved.tensor) - start } }));
    }
  }

  /** The elements of a storage from one to another, as a list. */
  #spanOf({ name, tensor }: SavedTensor, start: number, end: number, version: number): string {
    const span = outsideScopes(() => new Tensor(tensor.storage, internDesc(tensor.device, tensor.dtype, [end - start]), start));
    const entry = this.#entryOf(name, span, version);
    span.dispose();
    return entry;
  }

  addArray({ name, type, bytes }: SavedArray): ArrayRecord {
    const entry = this.#names.take(name);
    const { dtype } = arrayType(type)!;
    const shape = [bytes.byteLength / DTYPES[dtype].sizeInBytes];
    this.entries.push({ name: entry, dtype, shape, bytes: new HostBytes(entry, bytes) });
    return { entry, type };
  }
}

/** The entries of a state's tensors and arrays, as they are now. */
export function layoutOf(operation: string, tensors: readonly SavedTensor[], arrays: readonly SavedArray[]): Layout {
  const layouter = new Layouter(operation);
  const shared = new Map<Storage, Map<DType, SavedTensor[]>>();
  const apart: SavedTensor[][] = [];
  for (const saved of tensors) {
    const { storage, dtype, size } = saved.tensor;
    if (size === 0) {
      apart.push([saved]);
      continue;
    }
    const byDtype = shared.get(storage) ?? new Map<DType, SavedTensor[]>();
    shared.set(storage, byDtype);
    const list = byDtype.get(dtype);
    if (list === undefined) byDtype.set(dtype, [saved]);
    else list.push(saved);
  }
  for (const group of apart) layouter.addGroup(group);
  for (const byDtype of shared.values()) for (const list of byDtype.values()) for (const group of groupsOf(list)) layouter.addGroup(group);
  return {
    entries: layouter.entries,
    tensors: tensors.map((saved) => layouter.records.get(saved)!),
    arrays: arrays.map((array) => layouter.addArray(array)),
  };
}
