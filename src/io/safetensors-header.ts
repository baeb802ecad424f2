/** The header of a safetensors file: names, dtypes, shapes and offsets of its tensors, and texts. Pure. */
import { DTYPES, type DType } from "../core/dtype.ts";
import { sizeOf } from "../core/shape.ts";
import { FormatError } from "../core/errors.ts";
import { define } from "../core/own-property.ts";

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
export const LONGEST_HEADER = 100_000_000;

export interface Entry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** In bytes from the start of the data. */
  readonly start: number;
  readonly end: number;
}

export interface Header {
  readonly entries: readonly Entry[];
  readonly metadata: Record<string, string>;
  /** Where the data begin in the file. */
  readonly dataStart: number;
}

/** The length and the text before the data, padded so that those begin at a multiple of 8. */
export function formatHeader(entries: readonly Entry[], metadata: Readonly<Record<string, string>>): Uint8Array {
  const fields: Record<string, unknown> = {};
  if (Object.keys(metadata).length > 0) define<unknown>(fields, "__metadata__", metadata);
  for (const e of entries) define<unknown>(fields, e.name, { dtype: NAMES[e.dtype], shape: e.shape, data_offsets: [e.start, e.end] });
  const text = new TextEncoder().encode(JSON.stringify(fields));
  const length = Math.ceil(text.byteLength / 8) * 8;
  const bytes = new Uint8Array(8 + length).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
  bytes.set(text, 8);
  return bytes;
}

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);

type Bad = (expected: string, received: string) => FormatError;

const refusal =
  (operation: string, source: string): Bad =>
  (expected, received) =>
    new FormatError(operation, source, expected, received);

/** Where the data begin, by the first 8 bytes of a file of `total` bytes. */
export function dataStartOf(bytes: Uint8Array, total: number, source: string, operation = "safetensors.load"): number {
  const bad = refusal(operation, source);
  if (total < 8 || bytes.byteLength < 8) throw bad("of at least 8 bytes", `${Math.min(total, bytes.byteLength)} bytes`);
  const length = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
  if (length > BigInt(LONGEST_HEADER))
    throw bad(`with a header of at most ${LONGEST_HEADER} bytes`, `one of ${length} bytes: no safetensors file, or a damaged one`);
  const dataStart = 8 + Number(length);
  if (dataStart > total) throw bad(`of at least ${dataStart} bytes, as its header says`, `${total} bytes: the file is cut off`);
  return dataStart;
}

/** The header of a file of `total` bytes (null: of a pipe, which has no size), of which `bytes` holds at least the header. */
export function parseHeader(
  bytes: Uint8Array,
  total: number | null = bytes.byteLength,
  source = "bytes",
  operation = "safetensors.load",
): Header {
  const bad = refusal(operation, source);
  const dataStart = dataStartOf(bytes, total ?? bytes.byteLength, source, operation);
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
      for (const [key, text] of Object.entries(value)) define(metadata, key, text as string);
    } else {
      throw bad("with texts as metadata", JSON.stringify(value));
    }
  }
  requireWholeFile(entries, total === null ? null : total - dataStart, bad);
  return { entries, metadata, dataStart };
}

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
function requireWholeFile(entries: readonly Entry[], available: number | null, bad: Bad): void {
  let at = 0;
  for (const e of [...entries].sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (e.start !== at)
      throw bad(
        `with the data of ${e.name} from byte ${at} on`,
        `from ${e.start} on: ${e.start < at ? "it overlaps another tensor's" : "there is a hole before it"}`,
      );
    at = e.end;
  }
  if (available !== null && at !== available)
    throw bad(`with ${at} bytes of data, as its header says`, `${available}${available < at ? ": the file is cut off" : ""}`);
}
