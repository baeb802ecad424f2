/** The header of a GGUF file: metadata and the table of tensors. Pure. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import { define } from "../../core/own-property.ts";
import { ARRAYS, VALUE_BYTES, VALUE_TYPES, isNumbers, type ElementType } from "./metadata.ts";
import type { GgufScalarType, GgufTensorInfo, GgufValue, GgufValueType } from "./options.ts";
import { bytesOfType, otherType, typeById, type TypeInfo } from "./types.ts";
import { swapBytes } from "../byte-order.ts";

export interface Entry extends GgufTensorInfo {
  readonly info: TypeInfo;
  /** In bytes from the start of the file. */
  readonly position: number;
}

export interface Header {
  readonly version: number;
  readonly isBigEndian: boolean;
  readonly metadata: Record<string, GgufValue>;
  readonly metadataTypes: Record<string, GgufValueType>;
  readonly entries: readonly Entry[];
}

/** How many bytes of the file the header needs at least: it is parsed again from so many. */
export class NeedsMore {
  readonly bytes: number;

  constructor(bytes: number) {
    this.bytes = bytes;
  }
}

export const MAGIC = 0x46554747;
/** Whether a file begins as GGUF files do. */
export const isGguf = (first: Uint8Array): boolean =>
  first.length >= 4 && new DataView(first.buffer, first.byteOffset, 4).getUint32(0, true) === MAGIC;
export const DEFAULT_ALIGNMENT = 32;
export const MAX_AXES = 4;
/** Arrays inside each other. */
const MAX_DEPTH = 8;
/** Of keys and tensors' names. */
const MAX_NAME = 65535;
/** A tensor without a name and axes. */
const ENTRY_BYTES = 24;
/** A key without a name, of one byte. */
const PAIR_BYTES = 13;

class Cursor {
  at = 0;
  isLittle = true;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #total: number;
  readonly #bad: (expected: string, received: string) => Error;

  constructor(bytes: Uint8Array, total: number, bad: (expected: string, received: string) => Error) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#total = total;
    this.#bad = bad;
  }

  /** `count` things of at least `each` bytes: a file that is too short for them is refused before anything is allocated. */
  require(what: string, count: number | bigint, each: number): number {
    const left = this.#total - this.at;
    if (Number(count) * each > left) throw this.#bad(`with ${count} ${what}, as it says`, `${left} bytes behind byte ${this.at}`);
    return Number(count);
  }

  #take(count: number): number {
    const { at } = this;
    if (at + count > this.#total) throw this.#bad(`of at least ${at + count} bytes, as its header says`, `${this.#total}: it is cut off`);
    if (at + count > this.#bytes.length) throw new NeedsMore(at + count);
    this.at += count;
    return at;
  }

  uint32(): number {
    return this.#view.getUint32(this.#take(4), this.isLittle);
  }

  uint64(): bigint {
    return this.#view.getBigUint64(this.#take(8), this.isLittle);
  }

  #text(max: number): Buffer {
    const start = this.at;
    const length = this.uint64();
    if (length > BigInt(max)) throw this.#bad(`with texts of at most ${max} bytes at byte ${start}`, `${length}`);
    const size = this.require("bytes of text", length, 1);
    const at = this.#take(size);
    return this.#bytes.subarray(at, at + size);
  }

  /** Bytes that are not UTF-8 are replaced: tokens may have them. */
  text(): string {
    return this.#text(Number.MAX_SAFE_INTEGER).toString("utf8");
  }

  /** Skips texts: no strings are made of them. */
  skipTexts(count: number): void {
    for (let i = 0; i < count; i++) {
      const start = this.#take(8);
      const [first, second] = [this.#view.getUint32(start, this.isLittle), this.#view.getUint32(start + 4, this.isLittle)];
      this.#take(this.require("bytes of text", this.isLittle ? second * 2 ** 32 + first : first * 2 ** 32 + second, 1));
    }
  }

  name(): string {
    const bytes = this.#text(MAX_NAME);
    const text = bytes.toString("utf8");
    if (text.includes("\ufffd") && !Buffer.from(text).equals(bytes)) throw this.#bad("with names in UTF-8", bytes.toString("hex"));
    return text;
  }

  scalar(type: GgufScalarType): number | bigint | boolean | string {
    switch (type) {
      case "string":
        return this.text();
      case "bool":
        return this.#view.getUint8(this.#take(1)) !== 0;
      case "uint8":
        return this.#view.getUint8(this.#take(1));
      case "int8":
        return this.#view.getInt8(this.#take(1));
      case "uint16":
        return this.#view.getUint16(this.#take(2), this.isLittle);
      case "int16":
        return this.#view.getInt16(this.#take(2), this.isLittle);
      case "uint32":
        return this.uint32();
      case "int32":
        return this.#view.getInt32(this.#take(4), this.isLittle);
      case "float32":
        return this.#view.getFloat32(this.#take(4), this.isLittle);
      case "float64":
        return this.#view.getFloat64(this.#take(8), this.isLittle);
      case "uint64":
        return asNumber(this.uint64());
      case "int64":
        return asNumber(this.#view.getBigInt64(this.#take(8), this.isLittle));
      default:
        return type satisfies never;
    }
  }

  numbers(type: keyof typeof ARRAYS, count: number): GgufValue {
    const width = VALUE_BYTES[type];
    const at = this.#take(count * width);
    const bytes = Uint8Array.from(this.#bytes.subarray(at, at + count * width));
    if (!this.isLittle) swapBytes(bytes, width);
    return new ARRAYS[type](bytes.buffer);
  }
}

const asNumber = (value: bigint): number | bigint =>
  value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;

export const padTo = (alignment: number, at: number): number => Math.ceil(at / alignment) * alignment;

/**
 * Parses the header of a file of `total` bytes, of which `bytes` are the first. hasTexts: whether arrays of texts, which vocabularies are, are made; else
 * metadata lack them. Throws NeedsMore where the bytes do not contain all of it.
 */
export function parseHeader(operation: string, source: string, bytes: Uint8Array, total: number, hasTexts = true): Header {
  const bad = (expected: string, received: string, hint?: string): FormatError =>
    new FormatError(operation, source, expected, received, hint);
  const cursor = new Cursor(bytes, total, bad);
  if (total < 4 || cursor.uint32() !== MAGIC) throw bad("a GGUF file", firstBytes(bytes));
  const version = versionOf(operation, source, cursor, bad);
  const tensors = cursor.uint64();
  const pairs = cursor.uint64();
  const tensorCount = cursor.require("tensors", tensors, ENTRY_BYTES);
  const pairCount = cursor.require("metadata values", pairs, PAIR_BYTES);
  const metadata: Record<string, GgufValue> = {};
  const metadataTypes: Record<string, GgufValueType> = {};
  for (let i = 0; i < pairCount; i++) {
    const key = cursor.name();
    if (Object.hasOwn(metadataTypes, key)) throw bad("with each metadata key once", `${key} twice`);
    const [value, type] = readValue(cursor, key, bad, hasTexts);
    if (value !== undefined) define(metadata, key, value);
    define(metadataTypes, key, type);
  }
  const alignment = alignmentOf(metadata, metadataTypes, bad);
  const rows: Row[] = [];
  const names = new Set<string>();
  for (let i = 0; i < tensorCount; i++) {
    const row = readRow(cursor, bad);
    if (names.has(row.name)) throw bad("with each tensor once", `${row.name} twice`);
    names.add(row.name);
    rows.push(row);
  }
  requireTypes(operation, source, rows);
  const entries = rows.map((row) => entryOf(row, padTo(alignment, cursor.at), alignment, total, bad));
  requireApart(entries, bad);
  return { version, isBigEndian: !cursor.isLittle, metadata, metadataTypes, entries };
}

type Bad = (expected: string, received: string, hint?: string) => FormatError;

function firstBytes(bytes: Uint8Array): string {
  if (bytes.length === 0) return "an empty one";
  const first = Buffer.from(bytes.subarray(0, 8));
  return `one that begins with ${/^[ -~]{4}/.test(first.toString("latin1")) ? JSON.stringify(first.toString("latin1", 0, 4)) : first.toString("hex")}`;
}

/** The version, by which the byte order is known. */
function versionOf(operation: string, source: string, cursor: Cursor, bad: Bad): number {
  const { at } = cursor;
  let version = cursor.uint32();
  if (version !== 0 && (version & 0xffff) === 0) {
    cursor.isLittle = false;
    cursor.at = at;
    version = cursor.uint32();
  }
  if (version === 1)
    throw new UnsupportedError({
      operation,
      argument: source,
      expected: "of version 2 or 3",
      received: "version 1",
      hint: "Convert the model again with llama.cpp.",
    });
  if (version !== 2 && version !== 3) throw bad("of version 2 or 3", `version ${version}`);
  return version;
}

function typeAt(cursor: Cursor, key: string, bad: Bad): ElementType {
  const id = cursor.uint32();
  const type = VALUE_TYPES[id];
  if (type === undefined) throw bad(`with a type from 0 to ${VALUE_TYPES.length - 1} for ${key}`, `${id}`);
  return type;
}

function readValue(cursor: Cursor, key: string, bad: Bad, hasTexts: boolean): readonly [GgufValue | undefined, GgufValueType] {
  const type = typeAt(cursor, key, bad);
  if (type !== "array") return [cursor.scalar(type), type];
  const [value, items] = readArray(cursor, key, bad, 1, hasTexts);
  return [value, `${items}[]`];
}

function readArray(cursor: Cursor, key: string, bad: Bad, depth: number, hasTexts: boolean): readonly [GgufValue | undefined, ElementType] {
  if (depth > MAX_DEPTH) throw bad(`with arrays nested at most ${MAX_DEPTH} deep`, `${key}, nested deeper`);
  const type = typeAt(cursor, key, bad);
  const count = cursor.require(`items of ${key}`, cursor.uint64(), VALUE_BYTES[type]);
  if (isNumbers(type)) return [cursor.numbers(type, count), type];
  if (type === "string" && !hasTexts) {
    cursor.skipTexts(count);
    return [undefined, type];
  }
  const items: GgufValue[] = [];
  // Arrays of arrays are few.
  for (let i = 0; i < count; i++) items.push(type === "array" ? readArray(cursor, key, bad, depth + 1, true)[0]! : cursor.scalar(type));
  return [items, type];
}

function alignmentOf(metadata: Record<string, GgufValue>, types: Record<string, GgufValueType>, bad: Bad): number {
  const key = "general.alignment";
  if (!Object.hasOwn(metadata, key)) return DEFAULT_ALIGNMENT;
  const value = metadata[key] as number;
  if (types[key] !== "uint32" || value === 0 || (value & (value - 1)) !== 0)
    throw bad(`with a power of two of type uint32 as ${key}`, `${types[key]} ${String(value)}`);
  return value;
}

interface Row {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: number;
  readonly offset: bigint;
}

function readRow(cursor: Cursor, bad: Bad): Row {
  const name = cursor.name();
  const axes = cursor.uint32();
  // Of an empty tensor, too.
  let size = 1;
  if (axes > MAX_AXES) throw bad(`with tensors of at most ${MAX_AXES} axes`, `${axes} of ${name}`);
  const lengths: number[] = [];
  for (let i = 0; i < axes; i++) {
    const length = Number(cursor.uint64());
    size *= Math.max(length, 1);
    if (size > Number.MAX_SAFE_INTEGER) throw bad(`with less than 2^53 elements in tensor ${name}`, `an axis of ${length}`);
    lengths.push(length);
  }
  return { name, shape: lengths.reverse(), type: cursor.uint32(), offset: cursor.uint64() };
}

/** All that are unknown at once. */
function requireTypes(operation: string, source: string, rows: readonly Row[]): void {
  const unknown = new Map<number, string[]>();
  for (const { name, type } of rows) if (!typeById.has(type)) unknown.set(type, [...(unknown.get(type) ?? []), name]);
  if (unknown.size === 0) return;
  const list = [...unknown].map(([type, [first, ...others]]) => {
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    return `${otherType(type)} of ${first}${more}`;
  });
  throw new UnsupportedError({
    operation,
    argument: source,
    expected: "of known element types",
    received: list.slice(0, 20).join(", "),
    hint: "llama.cpp's llama-quantize makes known types of them.",
  });
}

function entryOf({ name, shape, type, offset }: Row, dataStart: number, alignment: number, total: number, bad: Bad): Entry {
  const info = typeById.get(type)!;
  const text = `${info.name}[${shape.join(", ")}]`;
  const sizeInBytes = bytesOfType(info, shape);
  if (Number.isNaN(sizeInBytes)) throw bad(`with rows of a multiple of ${info.blockSize} elements for tensor ${name}`, text);
  if (offset % BigInt(alignment) !== 0n) throw bad(`with tensors at multiples of ${alignment} bytes`, `${name} at ${offset}`);
  // Beyond 2^53 sizes are not exact, and files are shorter.
  const position = dataStart + Number(offset);
  if (!(position + sizeInBytes <= total))
    throw bad(`of at least ${position + sizeInBytes} bytes, for tensor ${name} (${text})`, `${total}: it is cut off, or damaged`);
  return { name, type: info.name, shape, sizeInBytes, info, position };
}

function requireApart(entries: readonly Entry[], bad: Bad): void {
  const sorted = entries.filter((e) => e.sizeInBytes > 0).sort((a, b) => a.position - b.position);
  sorted.forEach((e, i) => {
    const next = sorted[i + 1];
    if (next !== undefined && e.position + e.sizeInBytes > next.position)
      throw bad("with tensors that have no bytes in common", `${e.name} and ${next.name}`);
  });
}
