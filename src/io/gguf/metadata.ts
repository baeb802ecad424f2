/** The values of a GGUF file's metadata. */
import { ValueError } from "../../core/errors.ts";
import type { GgufValue, GgufValueType } from "./options.ts";

/** In the order of their numbers in files. */
export const VALUE_TYPES = [
  "uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "string", "array", "uint64", "int64", "float64",
] as const; // prettier-ignore

export type ElementType = (typeof VALUE_TYPES)[number];

/** Fewest bytes of a value; of a text and an array that is empty. */
export const VALUE_BYTES: { readonly [K in ElementType]: number } = {
  uint8: 1,
  int8: 1,
  uint16: 2,
  int16: 2,
  uint32: 4,
  int32: 4,
  float32: 4,
  bool: 1,
  string: 8,
  array: 12,
  uint64: 8,
  int64: 8,
  float64: 8,
};

type Numbers = Exclude<ElementType, "bool" | "string" | "array">;

export const ARRAYS = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  uint64: BigUint64Array,
  int64: BigInt64Array,
  float64: Float64Array,
} satisfies { readonly [K in Numbers]: unknown };

export const isNumbers = (type: ElementType): type is Numbers => type !== "bool" && type !== "string" && type !== "array";

/** What integers may be. */
const RANGES: { readonly [type: string]: readonly [bigint, bigint] } = {
  uint8: [0n, 2n ** 8n - 1n],
  int8: [-(2n ** 7n), 2n ** 7n - 1n],
  uint16: [0n, 2n ** 16n - 1n],
  int16: [-(2n ** 15n), 2n ** 15n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};

const isTyped = (value: unknown): value is ArrayLike<number | bigint> => ArrayBuffer.isView(value) && !(value instanceof DataView);

/** The items of an array, null for a scalar. */
const itemsOf = (value: GgufValue): ArrayLike<GgufValue> | null => (Array.isArray(value) || isTyped(value) ? value : null);

function numberType(value: number | bigint): ElementType {
  if (typeof value === "number" && !Number.isSafeInteger(value)) return "float32";
  if (value >= 0) return value < 2 ** 32 ? "uint32" : "uint64";
  return value >= -(2 ** 31) ? "int32" : "int64";
}

/** The type of a list's items: numbers have one that takes all of them. */
function itemType(items: ArrayLike<GgufValue>): ElementType {
  if (isTyped(items)) return (Object.entries(ARRAYS).find(([, array]) => items instanceof array)?.[0] ?? "array") as ElementType;
  const list = Array.from(items);
  if (list.some((item) => itemsOf(item) !== null)) return "array";
  const types = new Set(list.map((item) => scalarType(item)));
  if (types.size === 0) return "int32";
  if (types.size === 1) return [...types][0]!;
  if (types.has("string") || types.has("bool")) return "array";
  if (types.has("float32")) return "float32";
  if (types.has("uint64")) return types.has("int32") || types.has("int64") ? "int64" : "uint64";
  if (types.has("int64")) return "int64";
  return list.every((item) => (item as number) < 2 ** 31) ? "int32" : "int64";
}

function scalarType(value: GgufValue): ElementType {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  return numberType(value as number | bigint);
}

/** Bytes that become more. */
export class Sink {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #grow(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const grown = new Uint8Array(2 * this.#length);
      grown.set(this.#bytes);
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    return at;
  }

  uint32(value: number): void {
    const at = this.#grow(4);
    this.#view.setUint32(at, value, true);
  }

  uint64(value: number | bigint): void {
    const at = this.#grow(8);
    this.#view.setBigUint64(at, BigInt(value), true);
  }

  text(value: string): void {
    const bytes = new TextEncoder().encode(value);
    this.uint64(bytes.length);
    const at = this.#grow(bytes.length);
    this.#bytes.set(bytes, at);
  }

  zeros(count: number): void {
    this.#grow(count);
  }

  number(type: Numbers, value: number | bigint): void {
    const at = this.#grow(VALUE_BYTES[type]);
    const view = this.#view;
    switch (type) {
      case "uint8":
        return view.setUint8(at, Number(value));
      case "int8":
        return view.setInt8(at, Number(value));
      case "uint16":
        return view.setUint16(at, Number(value), true);
      case "int16":
        return view.setInt16(at, Number(value), true);
      case "uint32":
        return view.setUint32(at, Number(value), true);
      case "int32":
        return view.setInt32(at, Number(value), true);
      case "float32":
        return view.setFloat32(at, Number(value), true);
      case "float64":
        return view.setFloat64(at, Number(value), true);
      case "uint64":
        return view.setBigUint64(at, BigInt(value), true);
      case "int64":
        return view.setBigInt64(at, BigInt(value), true);
      default:
        throw new Error(type satisfies never);
    }
  }
}

/** Writes a value with its type before it. Throws ValueError for one that does not fit its type. */
export function writeValue(operation: string, sink: Sink, key: string, value: GgufValue, asked: GgufValueType | undefined): void {
  const items = itemsOf(value);
  if (asked !== undefined && asked.endsWith("[]") !== (items !== null))
    throw new ValueError(
      operation,
      `metadata.${key}`,
      asked.endsWith("[]") ? `an array, as its type ${asked} says` : `of type ${asked}`,
      value,
    );
  if (items === null) {
    const type = (asked as ElementType | undefined) ?? scalarType(value);
    sink.uint32(VALUE_TYPES.indexOf(type));
    return writeItem(operation, sink, key, value, type);
  }
  sink.uint32(VALUE_TYPES.indexOf("array"));
  writeItems(operation, sink, key, items, (asked?.slice(0, -2) as ElementType | undefined) ?? itemType(items));
}

function writeItems(operation: string, sink: Sink, key: string, items: ArrayLike<GgufValue>, type: ElementType): void {
  sink.uint32(VALUE_TYPES.indexOf(type));
  sink.uint64(items.length);
  for (let i = 0; i < items.length; i++) writeItem(operation, sink, `${key}[${i}]`, items[i]!, type);
}

function writeItem(operation: string, sink: Sink, key: string, value: GgufValue, type: ElementType): void {
  const bad = (expected: string): ValueError => new ValueError(operation, `metadata.${key}`, expected, value);
  if (type === "array") {
    const items = itemsOf(value);
    if (items === null) throw bad("an array, as others of its list are");
    return writeItems(operation, sink, key, items, itemType(items));
  }
  if (type === "string") {
    if (typeof value !== "string") throw bad("text");
    return sink.text(value);
  }
  if (type === "bool") {
    if (typeof value !== "boolean") throw bad("true or false");
    return sink.number("uint8", value ? 1 : 0);
  }
  if (typeof value !== "number" && typeof value !== "bigint") throw bad(`a number of type ${type}`);
  const range = RANGES[type];
  if (range !== undefined) {
    if (typeof value === "number" && !Number.isSafeInteger(value)) throw bad(`an integer of type ${type}`);
    if (value < range[0] || value > range[1]) throw bad(`of type ${type}, from ${range[0]} to ${range[1]}`);
  }
  sink.number(type, value);
}
