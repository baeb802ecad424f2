/** safetensors files: named tensors and text metadata, without code. https://github.com/huggingface/safetensors */
import { open, readFile, rename, rm } from "node:fs/promises";
import { defaultDevice, device as deviceOf, type DeviceLike } from "../device.ts";
import { DTYPES, type DType } from "../dtype.ts";
import { DTypeError, ValueError } from "../errors.ts";
import { fromBytes } from "../ops/creation.ts";
import { data } from "../ops/data.ts";
import { sizeOf } from "../shape.ts";
import { Tensor } from "../tensor.ts";
import { FormatError } from "./format-error.ts";

const NAMES: { readonly [K in DType]: string } = {
  float32: "F32",
  float16: "F16",
  float64: "F64",
  bfloat16: "BF16",
  int8: "I8",
  int16: "I16",
  int32: "I32",
  int64: "I64",
  uint8: "U8",
  uint16: "U16",
  uint32: "U32",
  uint64: "U64",
  bool: "BOOL",
};
const BY_NAME = new Map(Object.entries(NAMES).map(([dtype, name]) => [name, dtype as DType]));

/** Longer headers are refused, as the reference implementation does. */
const LONGEST_HEADER = 100_000_000;

export type Tensors = Readonly<Record<string, Tensor>>;
export type Metadata = Readonly<Record<string, string>>;

export interface Loaded {
  readonly tensors: Record<string, Tensor>;
  readonly metadata: Record<string, string>;
}

export interface LoadOptions {
  /** Where the tensors go. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

interface Entry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly start: number;
  readonly end: number;
}

/** Header and data, in the order of the file. Tensors are sorted so that every one begins at a multiple of its element size. */
async function parts(tensors: Tensors, metadata: Metadata): Promise<Uint8Array[]> {
  for (const [key, value] of Object.entries(metadata))
    if (typeof value !== "string") throw new ValueError("safetensors.save", `metadata.${key}`, "text", value);
  const list = Object.entries(tensors);
  for (const [name, t] of list) {
    if (!(t instanceof Tensor)) throw new DTypeError("safetensors.save", name, "a tensor", typeof t);
    if (name === "__metadata__") throw new ValueError("safetensors.save", "name", "another than __metadata__", name);
    t.demandLive("safetensors.save", name);
  }
  list.sort(([a, x], [b, y]) => DTYPES[y.dtype].sizeInBytes - DTYPES[x.dtype].sizeInBytes || (a < b ? -1 : 1));
  // All reads are queued before the first is waited for: what is saved is the state of now.
  const reads = list.map(([, t]) => data(t));
  const bytes = (await Promise.all(reads)).map((a) => new Uint8Array(a.buffer, a.byteOffset, a.byteLength));
  const header: Record<string, unknown> = Object.keys(metadata).length > 0 ? { __metadata__: metadata } : {};
  let at = 0;
  list.forEach(([name, t], i) => {
    header[name] = { dtype: NAMES[t.dtype], shape: t.shape, data_offsets: [at, (at += bytes[i]!.byteLength)] };
  });
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = Math.ceil(text.byteLength / 8) * 8;
  const head = new Uint8Array(8 + length).fill(0x20);
  new DataView(head.buffer).setBigUint64(0, BigInt(length), true);
  head.set(text, 8);
  return [head, ...bytes];
}

/** Tensors by name as the bytes of a safetensors file. Metadata: texts by name. */
export async function serialize(tensors: Tensors, metadata: Metadata = {}): Promise<Uint8Array> {
  const list = await parts(tensors, metadata);
  const all = new Uint8Array(list.reduce((n, b) => n + b.byteLength, 0));
  let at = 0;
  for (const b of list) {
    all.set(b, at);
    at += b.byteLength;
  }
  return all;
}

/** Writes tensors by name (all dtypes, any strides) into a file, which appears whole or not at all. */
export async function save(path: string, tensors: Tensors, metadata: Metadata = {}): Promise<void> {
  const list = await parts(tensors, metadata);
  const unfinished = `${path}.${process.pid}.part`;
  try {
    const file = await open(unfinished, "w");
    try {
      for (const b of list) if (b.byteLength > 0) await file.writeFile(b);
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);

/** The header of a file, checked against the length of its data. */
export function parseHeader(
  bytes: Uint8Array,
  source = "bytes",
): { readonly entries: Entry[]; readonly metadata: Record<string, string>; readonly dataStart: number } {
  const bad = (expected: string, received: string): FormatError => new FormatError("safetensors.load", source, expected, received);
  if (bytes.byteLength < 8) throw bad("of at least 8 bytes", `${bytes.byteLength} bytes`);
  const length = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
  if (length > BigInt(LONGEST_HEADER))
    throw bad(`with a header of at most ${LONGEST_HEADER} bytes`, `one of ${length} bytes: no safetensors file, or a damaged one`);
  const dataStart = 8 + Number(length);
  if (dataStart > bytes.byteLength)
    throw bad(`of at least ${dataStart} bytes, as its header says`, `${bytes.byteLength} bytes: the file is cut off`);
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(8, dataStart)));
  } catch (error) {
    throw bad("with a JSON header", error instanceof Error ? error.message : String(error));
  }
  if (!isObject(header)) throw bad("with a JSON object as its header", JSON.stringify(header));
  const metadata: Record<string, string> = {};
  const entries: Entry[] = [];
  for (const [name, value] of Object.entries(header)) {
    if (name !== "__metadata__") {
      entries.push(parseEntry(name, value, bad));
    } else if (isObject(value) && Object.values(value).every((v) => typeof v === "string")) {
      Object.assign(metadata, value);
    } else {
      throw bad("with texts as metadata", JSON.stringify(value));
    }
  }
  demandWhole(entries, bytes.byteLength - dataStart, bad);
  return { entries, metadata, dataStart };
}

type Bad = (expected: string, received: string) => FormatError;

function parseEntry(name: string, value: unknown, bad: Bad): Entry {
  const whole = (v: unknown): v is number[] => Array.isArray(v) && v.every((n) => Number.isSafeInteger(n) && (n as number) >= 0);
  if (
    !isObject(value) ||
    typeof value.dtype !== "string" ||
    !whole(value.shape) ||
    !whole(value.data_offsets) ||
    value.data_offsets.length !== 2
  )
    throw bad(`with dtype, shape and data_offsets for tensor ${name}`, JSON.stringify(value));
  const dtype = BY_NAME.get(value.dtype);
  if (dtype === undefined) throw bad(`with one of the dtypes ${[...BY_NAME.keys()].join(", ")} for tensor ${name}`, value.dtype);
  const [start, end] = value.data_offsets as [number, number];
  const size = sizeOf(value.shape) * DTYPES[dtype].sizeInBytes;
  if (end - start !== size)
    throw bad(`with ${size} bytes for tensor ${name} (${value.dtype}[${value.shape.join(", ")}])`, `${end - start}`);
  return { name, dtype, shape: value.shape, start, end };
}

/** The tensors must fill the data without holes and without sharing bytes. */
function demandWhole(entries: readonly Entry[], available: number, bad: Bad): void {
  let at = 0;
  for (const e of [...entries].sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (e.start !== at)
      throw bad(
        `with the data of ${e.name} from byte ${at} on`,
        `from ${e.start} on: ${e.start < at ? "it overlaps another tensor's" : "there is a hole before it"}`,
      );
    at = e.end;
  }
  if (at !== available)
    throw bad(`with ${at} bytes of data, as its header says`, `${available}${available < at ? ": the file is cut off" : ""}`);
}

/** The tensors in the bytes of a safetensors file. Throws FormatError for anything else. */
export function deserialize(bytes: Uint8Array, options: LoadOptions = {}, source = "bytes"): Loaded {
  const { entries, metadata, dataStart } = parseHeader(bytes, source);
  const device = options.device === undefined ? defaultDevice() : deviceOf(options.device);
  const tensors: Record<string, Tensor> = {};
  for (const e of entries)
    tensors[e.name] = fromBytes("safetensors.load", device, e.dtype, e.shape, bytes.subarray(dataStart + e.start, dataStart + e.end));
  return { tensors, metadata };
}

/** Reads a file written by save() or any other implementation. Throws FormatError when it is damaged. */
export async function load(path: string, options: LoadOptions = {}): Promise<Loaded> {
  return deserialize(await readFile(path), options, path);
}
