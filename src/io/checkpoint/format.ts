/** The format of checkpoints: the manifest that a safetensors file carries in its metadata, its version, and how values are written as JSON. Pure. */
import { DTYPES, type DType } from "../../core/dtype.ts";
import { FormatError } from "../../core/errors.ts";

/** The file's text that holds the manifest. */
export const MANIFEST = "dxtensor.checkpoint";
/** A shard's text that says whose it is. */
export const SHARD = "dxtensor.shard";
/** Files of a higher version are refused. */
export const VERSION = 2;
/** Of a file without tensors in parts, which older readers know. */
export const VERSION_OF_WHOLES = 1;
/** Lists and objects inside each other. */
export const MAX_DEPTH = 500;

/**
 * A value as JSON. What JSON has is itself; anything else is an object with one key: {"$tensor": 3}, {"$bigint": "0xc"}, {"$number": "NaN"}.
 * An object of the user's with a key that begins with $ is {"$object": [[key, value], …]}.
 */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** One tensor of the state: an entry of the file, or a view of one. */
export interface TensorRecord {
  readonly entry: string;
  /** A view of the entry's elements; without it the tensor is the entry. */
  readonly view?: { readonly shape: readonly number[]; readonly strides: readonly number[]; readonly offset: number };
  /** The axes by decreasing stride, if the elements are dense and in another order than the axes. */
  readonly order?: readonly number[];
  readonly requiresGrad?: true;
  readonly isParameter?: true;
}

/** One typed array of the state. */
export interface ArrayRecord {
  readonly entry: string;
  /** Its class: "Float32Array". */
  readonly type: string;
}

/** An entry whose elements are those of others, one behind the other: each rank has written some of them. */
export interface DividedRecord {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** In their order: their entries, and how many elements come before each. */
  readonly parts: readonly { readonly entry: string; readonly start: number }[];
}

/** A file that holds a part of the entries. */
export interface ShardRecord {
  readonly file: string;
  readonly sizeInBytes: number;
}

export interface Manifest {
  readonly version: number;
  /** Of this save alone. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
  readonly state: Json;
  readonly tensors: readonly TensorRecord[];
  readonly arrays: readonly ArrayRecord[];
  /** Empty where this file has all entries. */
  readonly shards: readonly ShardRecord[];
  /** Entries in parts, by their names. Version 2. */
  readonly divided?: Readonly<Record<string, DividedRecord>>;
}

/** What a shard says of itself. */
export interface ShardNote {
  readonly version: number;
  /** Of the save. */
  readonly id: string;
  /** The process that wrote it. */
  readonly owner: string;
}

type Fields = Readonly<Record<string, unknown>>;
export const isRecord = (v: unknown): v is Fields => typeof v === "object" && v !== null && !Array.isArray(v);
const isIndex = (v: unknown): v is number => Number.isSafeInteger(v) && (v as number) >= 0;
const isSizes = (v: unknown): v is readonly number[] => Array.isArray(v) && v.every(isIndex);
const isId = (v: unknown): v is string => typeof v === "string" && /^[0-9a-f]{16}$/.test(v);

const isView = (v: unknown): boolean =>
  v === undefined || (isRecord(v) && isSizes(v.shape) && isSizes(v.strides) && v.shape.length === v.strides.length && isIndex(v.offset));
const isTrue = (v: unknown): boolean => v === undefined || v === true;
const isTensorRecord = (v: unknown): boolean =>
  isRecord(v) &&
  typeof v.entry === "string" &&
  isView(v.view) &&
  (v.order === undefined || isSizes(v.order)) &&
  isTrue(v.requiresGrad) &&
  isTrue(v.isParameter);
const isArrayRecord = (v: unknown): boolean => isRecord(v) && [v.entry, v.type].every((text) => typeof text === "string");
/** Shards are in the folder of their manifest, never elsewhere. */
const isShardRecord = (v: unknown): boolean =>
  isRecord(v) && typeof v.file === "string" && /^[^/\\\0]+\.safetensors$/.test(v.file) && isIndex(v.sizeInBytes);
const isDividedRecord = (v: unknown): boolean =>
  isRecord(v) &&
  typeof v.dtype === "string" &&
  Object.hasOwn(DTYPES, v.dtype) &&
  isSizes(v.shape) &&
  isList(v.parts, (part) => isRecord(part) && typeof part.entry === "string" && isIndex(part.start));
const isList = (v: unknown, of: (item: unknown) => boolean): boolean => Array.isArray(v) && v.every(of);

function parsed(operation: string, source: string, key: string, text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new FormatError(operation, source, `with JSON as ${key}`, error instanceof Error ? error.message : String(error));
  }
  if (!isRecord(value) || !isIndex(value.version)) throw new FormatError(operation, source, `with an object as ${key}`, text.slice(0, 60));
  if (value.version > VERSION)
    throw new FormatError(
      operation,
      source,
      `a checkpoint of version ${VERSION} at most`,
      `one of version ${value.version}`,
      "A newer dxtensor wrote it: update this one.",
    );
  return value;
}

/** The manifest in a file's texts; null in a file that is no checkpoint. Throws FormatError for a damaged one, and one of a newer version. */
export function parseManifest(operation: string, source: string, metadata: Readonly<Record<string, string>>): Manifest | null {
  const text = metadata[MANIFEST];
  if (text === undefined) return null;
  const fields = parsed(operation, source, MANIFEST, text);
  const isWhole =
    isId(fields.id) &&
    isIndex(fields.savedAt) &&
    fields.state !== undefined &&
    isList(fields.tensors, isTensorRecord) &&
    isList(fields.arrays, isArrayRecord) &&
    isList(fields.shards, isShardRecord) &&
    (fields.divided === undefined || (isRecord(fields.divided) && Object.values(fields.divided).every(isDividedRecord)));
  if (!isWhole)
    throw new FormatError(
      operation,
      source,
      "with id, savedAt, state, tensors, arrays and shards in its manifest",
      `a damaged one: ${Object.keys(fields).join(", ")}`,
    );
  return fields as unknown as Manifest;
}

/** What a shard says of itself; null in a file that is none, or a damaged one. */
export function parseShardNote(metadata: Readonly<Record<string, string>>): ShardNote | null {
  try {
    const fields = parsed("load", "shard", SHARD, metadata[SHARD] ?? "");
    return isId(fields.id) && typeof fields.owner === "string" ? (fields as unknown as ShardNote) : null;
  } catch {
    return null;
  }
}
