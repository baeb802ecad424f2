/** A pickle's values as JavaScript's, and its tensors, whose storages are allocated and not yet read. */
import type { Device } from "../../core/device.ts";
import { DTYPES, isFloat } from "../../core/dtype.ts";
import { ComplexTensor } from "../../core/complex-tensor.ts";
import { define } from "../../core/own-property.ts";
import { outsideScopes } from "../../core/scope.ts";
import { MAX_RANK, sizeOf } from "../../core/shape.ts";
import { internDesc } from "../../core/storage.ts";
import { Tensor } from "../../core/tensor.ts";
import { Parameter } from "../../nn/parameter.ts";
import { nativeDevice } from "../../runtime/devices.ts";
import { Filling } from "../../runtime/filling.ts";
import { damaged, unknown } from "./refuse.ts";
import { Callable, Dict, Dtype, PythonSet, StorageRef, StorageType, TensorRef, type ElementType } from "./values.ts";

/** Lists and dicts inside each other. */
const MAX_DEPTH = 1000;

/** A storage that tensors need: its entry, and what takes its bytes. */
export interface NeededStorage {
  readonly key: string;
  /** Of one number. */
  readonly elementBytes: number;
  readonly sizeInBytes: number;
  readonly filling: Filling;
}

/** How many real numbers an element has. */
const partsOf = ({ isComplex }: ElementType): number => (isComplex ? 2 : 1);

export class Converter {
  readonly storages = new Map<string, NeededStorage & { readonly elements: ElementType }>();
  readonly #source: string;
  readonly #device: Device;
  /** How many bytes each entry has. */
  readonly #entryBytes: (key: string) => number;
  readonly #made = new Map<object, unknown>();
  readonly #open = new Set<object>();

  constructor(source: string, device: Device, entryBytes: (key: string) => number) {
    this.#source = source;
    this.#device = device;
    this.#entryBytes = entryBytes;
  }

  /** The storages' own tensors are no longer needed; those of the values stay. */
  release(): void {
    for (const { filling } of this.storages.values()) filling.tensor.dispose();
  }

  dispose(): void {
    for (const value of this.#made.values()) if (value instanceof Tensor || value instanceof ComplexTensor) value.dispose();
    this.release();
  }

  value(value: unknown, depth = 0): unknown {
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
    if (value instanceof Dtype) return value.elements.name;
    if (this.#made.has(value)) return this.#made.get(value);
    if (depth > MAX_DEPTH) throw damaged(this.#source, `nested at most ${MAX_DEPTH} deep`, "more");
    if (this.#open.has(value)) throw unknown(this.#source, "a list or dict that contains itself");
    this.#open.add(value);
    const made = this.#object(value, depth + 1);
    this.#open.delete(value);
    this.#made.set(value, made);
    return made;
  }

  #object(value: object, depth: number): unknown {
    if (Array.isArray(value)) return value.map((item: unknown) => this.value(item, depth));
    if (value instanceof Dict) return this.#dict(value, depth);
    if (value instanceof PythonSet) return new Set(value.items.map((item) => this.value(item, depth)));
    if (value instanceof TensorRef) return this.#tensor(value);
    if (value instanceof Callable) throw unknown(this.#source, value.name);
    if (value instanceof StorageRef || value instanceof StorageType) throw unknown(this.#source, "a storage without a tensor");
    throw unknown(this.#source, value.constructor.name);
  }

  /** An object, unless a key is neither a text nor an integer. */
  #dict({ entries }: Dict, depth: number): unknown {
    const pairs = [...entries].map(([key, item]) => [key, this.value(item, depth)] as const);
    const keys = new Set(pairs.map(([key]) => (typeof key === "string" || Number.isSafeInteger(key) ? String(key) : undefined)));
    if (keys.has(undefined) || keys.size < pairs.length) return new Map(pairs.map(([key, item]) => [this.value(key, depth), item]));
    const made: Record<string, unknown> = {};
    for (const [key, item] of pairs) define(made, String(key), item);
    return made;
  }

  #storage({ key, elements: own, count }: StorageRef, elements: ElementType): NeededStorage {
    const known = this.storages.get(key);
    if (known !== undefined) {
      if (known.elements !== elements) throw unknown(this.#source, `one storage as ${known.elements.name} and as ${elements.name}`);
      return known;
    }
    const elementBytes = DTYPES[elements.dtype].sizeInBytes;
    const bytes = own === null ? count : count * elementBytes * partsOf(elements);
    const available = this.#entryBytes(key);
    if (bytes !== available) throw damaged(this.#source, `with ${bytes} bytes as the storage ${key}`, String(available));
    const numbers = Math.floor(bytes / elementBytes);
    const filling = outsideScopes(() => new Filling("pytorch.load", nativeDevice(this.#device, "pytorch.load"), elements.dtype, [numbers]));
    const storage = { key, elements, elementBytes, sizeInBytes: numbers * elementBytes, filling };
    this.storages.set(key, storage);
    return storage;
  }

  #tensor(ref: TensorRef): Tensor | ComplexTensor {
    const { elements, shape, strides, offset } = ref;
    const size = sizeOf(shape);
    const last = size === 0 ? 0 : shape.reduce((n, length, axis) => n + (length - 1) * strides[axis]!, offset + 1);
    if (shape.length > MAX_RANK) throw unknown(this.#source, `a tensor of ${shape.length} axes`, `At most ${MAX_RANK} are possible.`);
    const parts = partsOf(elements);
    const { filling } = this.#storage(ref.storage, elements);
    if (!Number.isSafeInteger(size) || !Number.isSafeInteger(last) || last * parts > filling.tensor.size)
      throw damaged(
        this.#source,
        `with tensors inside their storages (${ref.storage.key} has ${filling.tensor.size / parts} elements)`,
        `[${shape.join(", ")}] with strides [${strides.join(", ")}] from ${offset} on`,
      );
    const [ownShape, ownStrides] = elements.isComplex
      ? [
          [...shape, 2],
          [...strides.map((stride) => 2 * stride), 1],
        ]
      : [shape, strides];
    const { storage } = filling.tensor;
    // What has no elements has no memory, and no offset.
    const t = new Tensor(storage, internDesc(this.#device, elements.dtype, ownShape, ownStrides), size === 0 ? 0 : offset * parts);
    if (ref.requiresGrad && !isFloat(elements.dtype)) throw damaged(this.#source, "with gradients of floating dtypes only", elements.name);
    if (elements.isComplex) {
      t.leafRequiresGrad = ref.requiresGrad;
      return new ComplexTensor(t, ref.isConj);
    }
    if (!ref.isParameter) {
      t.leafRequiresGrad = ref.requiresGrad;
      return t;
    }
    const parameter = new Parameter(t, { requiresGrad: ref.requiresGrad });
    t.dispose();
    return parameter;
  }
}
