/** Reads the requested parts of a checkpoint: each tensor directly to its device, arrays to the host. */
import type { Device } from "../../core/device.ts";
import { DTYPES, isFloat } from "../../core/dtype.ts";
import { FormatError } from "../../core/errors.ts";
import { outsideScopes } from "../../core/scope.ts";
import { MAX_RANK, sizeOf } from "../../core/shape.ts";
import { internDesc } from "../../core/storage.ts";
import type { TensorPart } from "../../core/tensor-part.ts";
import { Tensor } from "../../core/tensor.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { cutPart, heldOf } from "../../nn/cut-part.ts";
import { Parameter } from "../../nn/parameter.ts";
import { contiguous } from "../../ops/data/conversion.ts";
import { permute } from "../../ops/shape/movement.ts";
import { nativeDevice } from "../../runtime/devices.ts";
import { Filling } from "../../runtime/filling.ts";
import { readParts, type Part, type TransferOptions } from "../parts.ts";
import { arrayType } from "./arrays.ts";
import { Decoder, entriesIn, specialOf, stateIn, type Resolver } from "./decode.ts";
import { MAX_DEPTH, type Json, type TensorRecord } from "./format.ts";
import type { Found, OpenCheckpoint } from "./open.ts";

/** What a tensor is before it is read. */
export interface TensorOutline {
  /** Its path in the state: "model.0.weight". */
  readonly name: string;
  /** Its record's number. */
  readonly id: number;
  readonly dtype: Tensor["dtype"];
  readonly shape: readonly number[];
}

/** Which device a tensor goes to. */
export type DeviceOf = (outline: TensorOutline) => Device;
/** Which part of a tensor is wanted; undefined for all of it. */
export type PartFor = (outline: TensorOutline) => TensorPart | undefined;

interface Wanted {
  readonly record: TensorRecord;
  readonly device: Device;
  readonly part: TensorPart | undefined;
}

/** A part of a tensor whose elements are as in its entry is read by itself, others with the whole. */
const isReadByItself = ({ view, order }: TensorRecord): boolean => view === undefined && order === undefined;

const join = (path: string, key: string | number): string => (path === "" ? String(key) : `${path}.${key}`);

/** The tensor that is filled for what is wanted. */
const keyOf = ({ record, device, part }: Wanted): string =>
  `${device} ${part !== undefined && isReadByItself(record) ? `${part.start} ` : ""}${record.entry}`;

export class Reader implements Resolver {
  readonly #checkpoint: OpenCheckpoint;
  readonly #options: TransferOptions;
  readonly #tensors = new Map<number, Wanted>();
  readonly #hostEntries = new Map<string, ArrayBuffer>();
  readonly #bases = new Map<string, Tensor>();
  readonly #made = new Map<number, Tensor>();
  readonly #arrays = new Map<number, ArrayBufferView | ArrayBuffer>();

  constructor(checkpoint: OpenCheckpoint, options: TransferOptions) {
    this.#checkpoint = checkpoint;
    this.#options = options;
  }

  #bad(expected: string, received: string): FormatError {
    return new FormatError("load", this.#checkpoint.path, expected, received);
  }

  #recordOf(id: number): TensorRecord {
    const record = this.#checkpoint.tensors[id];
    if (record === undefined) throw this.#bad(`with a tensor ${id}`, `${this.#checkpoint.tensors.length} tensors`);
    return record;
  }

  #entryOf(name: string): Found {
    const found = this.#checkpoint.entries.get(name);
    if (found === undefined) throw this.#bad(`with an entry ${name}, as its manifest says`, "none");
    return found;
  }

  /** Every tensor in a part of the state, in order. */
  outlines(json: Json, path: string): readonly TensorOutline[] {
    const found: TensorOutline[] = [];
    this.#visit(json, path, 0, (kind, id, name) => {
      if (kind !== "tensor" && kind !== "complex") return;
      const record = this.#recordOf(id);
      const { dtype, shape } = this.#entryOf(record.entry);
      found.push({ name, id, dtype, shape: record.view?.shape ?? shape });
    });
    return found;
  }

  /** Asks for all that a part of the state consists of. */
  want(json: Json, path: string, deviceOf: DeviceOf, partFor: PartFor = () => undefined): void {
    for (const outline of this.outlines(json, path)) {
      if (this.#tensors.has(outline.id)) continue;
      this.#tensors.set(outline.id, { record: this.#recordOf(outline.id), device: deviceOf(outline), part: partFor(outline) });
    }
    this.#visit(json, path, 0, (kind, id) => {
      if (kind === "numbers") this.#wantHost(this.#recordOf(id).entry);
      if (kind === "array") this.#wantHost(this.#arrayOf(id).entry);
    });
  }

  #wantHost(entry: string): void {
    const { sizeInBytes } = this.#entryOf(entry);
    if (!this.#hostEntries.has(entry)) this.#hostEntries.set(entry, new ArrayBuffer(sizeInBytes));
  }

  #arrayOf(id: number): { readonly entry: string; readonly type: string } {
    const record = this.#checkpoint.arrays[id];
    if (record === undefined) throw this.#bad(`with an array ${id}`, `${this.#checkpoint.arrays.length} arrays`);
    return record;
  }

  #visit(json: Json, path: string, depth: number, see: (kind: string, id: number, path: string) => void): void {
    if (typeof json !== "object" || json === null) return;
    if (depth > 2 * MAX_DEPTH) throw this.#bad(`nested at most ${MAX_DEPTH} deep`, "more");
    if (Array.isArray(json)) {
      json.forEach((item: Json, i) => {
        this.#visit(item, join(path, i), depth + 1, see);
      });
      return;
    }
    const state = stateIn(json);
    if (state !== null) {
      this.#visit(state.state, path, depth + 1, see);
      return;
    }
    const entries = entriesIn(json);
    if (entries !== null) {
      for (const [key, item] of entries) this.#visit(item, join(path, key), depth + 1, see);
      return;
    }
    const { kind, value } = specialOf(json)!;
    if (typeof value === "number") see(kind, value, path);
    else if (kind === "complex" && Array.isArray(value) && typeof value[0] === "number") see(kind, value[0], path);
    else if (kind === "map" || kind === "set") this.#visit(value, path, depth + 1, see);
  }

  /** Reads what was asked for. */
  async read(): Promise<void> {
    const parts: Part[] = [];
    // Bytes of an entry from `first` to `end`.
    const add = ({ name, spans }: Found, first: number, end: number, write: Part["write"]): void => {
      for (const { file, entry, at } of spans) {
        const from = Math.max(first, at);
        const sizeInBytes = Math.min(end, at + entry.end - entry.start) - from;
        if (sizeInBytes < 0 || (sizeInBytes === 0 && spans.length > 1)) continue;
        const position = file.header.dataStart + entry.start + from - at;
        const own: Part["write"] = from === first ? write : (offset, bytes) => write(offset + from - first, bytes);
        parts.push({ name, path: file.path, file: file.file, position, sizeInBytes, write: own });
      }
    };
    const fillings = new Map<string, Filling>();
    try {
      for (const wanted of this.#tensors.values()) {
        const { record, device } = wanted;
        const key = keyOf(wanted);
        if (fillings.has(key)) continue;
        const found = this.#entryOf(record.entry);
        const part = isReadByItself(record) ? wanted.part : undefined;
        const shape = part === undefined ? found.shape : [part.length];
        const filling = outsideScopes(() => new Filling("load", nativeDevice(device, "load"), found.dtype, shape));
        fillings.set(key, filling);
        if (!device.hasElements) continue;
        const write = (offset: number, bytes: Uint8Array): void => filling.write(offset, bytes);
        if (part === undefined) add(found, 0, found.sizeInBytes, write);
        else {
          const element = DTYPES[found.dtype].sizeInBytes;
          const held = heldOf(part) * element;
          if (held > 0) add(found, part.start * element, part.start * element + held, write);
          const gap = part.length * element - held;
          if (gap > 0) filling.write(held, new Uint8Array(gap));
        }
      }
      for (const [name, buffer] of this.#hostEntries)
        add(this.#entryOf(name), 0, buffer.byteLength, (offset, bytes) => new Uint8Array(buffer).set(bytes, offset));
      parts.sort((a, b) => (a.path === b.path ? a.position - b.position : a.path < b.path ? -1 : 1));
      await readParts("load", parts, this.#options);
      this.#options.signal?.throwIfAborted();
    } catch (error) {
      for (const { tensor } of fillings.values()) tensor.dispose();
      throw error;
    }
    for (const [key, { tensor }] of fillings) this.#bases.set(key, tensor);
  }

  /** A part of the state that was read. */
  value(json: Json): unknown {
    return new Decoder(this.#checkpoint.path, this).value(json);
  }

  tensor(id: number): Tensor {
    const made = this.#made.get(id) ?? this.#tensor(id);
    this.#made.set(id, made);
    return made;
  }

  #tensor(id: number): Tensor {
    const wanted = this.#tensors.get(id)!;
    const { record, part } = wanted;
    if (part !== undefined && !isReadByItself(record)) {
      const whole = this.#whole({ ...wanted, part: undefined });
      const own = outsideScopes(() => cutPart(whole, part));
      whole.dispose();
      return own;
    }
    return this.#whole(wanted);
  }

  /** The tensor of a record. */
  #whole(wanted: Wanted): Tensor {
    const { record, device } = wanted;
    const { view, order, requiresGrad = false, isParameter = false } = record;
    const key = keyOf(wanted);
    const base = this.#inOrder(key, order);
    const { shape, strides, offset } = view ?? { shape: base.shape, strides: base.strides, offset: 0 };
    const size = sizeOf(shape);
    if (!Number.isSafeInteger(size) || shape.length > MAX_RANK)
      throw this.#bad(`with tensors of at most ${MAX_RANK} axes`, `[${shape.slice(0, MAX_RANK).join(", ")}]`);
    const desc = internDesc(device, base.dtype, shape, strides);
    if (!Number.isSafeInteger(desc.extent) || offset + (size === 0 ? 0 : desc.extent) > base.size)
      throw this.#bad(`with a view inside its entry ${record.entry} of ${base.size} elements`, `an end at ${offset + desc.extent}`);
    if (requiresGrad && !isFloat(base.dtype)) throw this.#bad("with gradients of floating dtypes only", `one of ${base.dtype}`);
    const t = new Tensor(base.storage, desc, offset);
    if (!isParameter) {
      t.leafRequiresGrad = requiresGrad;
      return t;
    }
    const parameter = new Parameter(t, { requiresGrad });
    t.dispose();
    return parameter;
  }

  /** The elements of an entry, once in the memory order that they were saved from. */
  #inOrder(key: string, order: readonly number[] | undefined): Tensor {
    const base = this.#bases.get(key)!;
    if (order === undefined || !base.isContiguous) return base;
    if (order.length !== base.rank || new Set(order).size !== base.rank || order.some((axis) => axis >= base.rank))
      throw this.#bad(`with an order of ${base.rank} axes`, `[${order.join(", ")}]`);
    const inverse = order.map((_, axis) => order.indexOf(axis));
    const ordered = outsideScopes(() =>
      noGrad(() => {
        const inMemory = permute(base, [...order]);
        const packed = contiguous(inMemory);
        const view = permute(packed, inverse);
        const own = new Tensor(view.storage, view.desc, view.offset);
        for (const t of new Set([inMemory, packed, view])) t.dispose();
        return own;
      }),
    );
    base.dispose();
    this.#bases.set(key, ordered);
    return ordered;
  }

  numbers(id: number): readonly number[] {
    const { name, dtype } = this.#entryOf(this.#recordOf(id).entry);
    if (dtype !== "uint32") throw this.#bad("with words of uint32 for a generator", dtype);
    return [...new Uint32Array(this.#hostEntries.get(name)!)];
  }

  array(id: number): ArrayBufferView | ArrayBuffer {
    const known = this.#arrays.get(id);
    if (known !== undefined) return known;
    const { entry: name, type } = this.#arrayOf(id);
    const { dtype, shape } = this.#entryOf(name);
    const found = arrayType(type);
    if (found === undefined) throw this.#bad("with typed arrays that this Node has", type);
    if (found.dtype !== dtype) throw this.#bad(`with ${found.dtype} as the elements of a ${type}`, dtype);
    if (shape.length !== 1) throw this.#bad(`with a list as the elements of a ${type}`, `${DTYPES[dtype].name}[${shape.join(", ")}]`);
    const array = found.make(this.#hostEntries.get(name)!);
    this.#arrays.set(id, array);
    return array;
  }

  /** Frees what was read; tensors of value() stay valid. */
  release(): void {
    for (const base of this.#bases.values()) base.dispose();
    this.#bases.clear();
  }

  /** Frees the tensors of value() too. */
  dispose(): void {
    this.release();
    for (const t of this.#made.values()) t.dispose();
  }
}
