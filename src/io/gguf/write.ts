/** Writes GGUF files. */
import { isFloat, type DType } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { outsideScopes } from "../../core/scope.ts";
import { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { to } from "../../ops/data/conversion.ts";
import { PendingFile } from "../pending-file.ts";
import { Frozen, HostBytes, type Readable } from "../pieces.ts";
import { DEFAULT_ALIGNMENT, MAGIC, MAX_AXES, padTo } from "./header.ts";
import { Sink, writeValue } from "./metadata.ts";
import type { GgufContent, GgufPacked, GgufQuantizeType } from "./options.ts";
import { roundTo } from "./halves.ts";
import { quantize } from "./quantize.ts";
import { bytesOfType, TYPES, typeByName, type TypeInfo } from "./types.ts";

/** With its final 0, as llama.cpp has it. */
const MAX_NAME = 64;
const QUANTIZED: readonly unknown[] = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"] satisfies GgufQuantizeType[];

const isHalf = (dtype: DType | null): dtype is "float16" | "bfloat16" => dtype === "float16" || dtype === "bfloat16";

/** float32 elements that are packed, or rounded to 16 bits, when they are read. */
class Quantized implements Readable {
  readonly name: string;
  readonly sizeInBytes: number;
  readonly #values: Frozen;
  readonly #info: TypeInfo;

  constructor(values: Frozen, info: TypeInfo) {
    this.name = values.name;
    this.sizeInBytes = (values.sizeInBytes / 4 / info.blockSize) * info.blockBytes;
    this.#values = values;
    this.#info = info;
  }

  async read(start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    const { blockBytes, blockSize, dtype, name } = this.#info;
    const first = Math.floor(start / blockBytes);
    const last = Math.ceil(end / blockBytes);
    const values = new Float32Array(await this.#values.read(first * blockSize * 4, last * blockSize * 4));
    let bytes: Uint8Array<ArrayBuffer>;
    if (isHalf(dtype)) {
      // Not on the device: some truncate.
      const words = new Uint16Array(values.length);
      roundTo(dtype, values, words);
      bytes = new Uint8Array(words.buffer);
    } else bytes = quantize(name as GgufQuantizeType, blockBytes, values);
    return bytes.subarray(start - first * blockBytes, end - first * blockBytes);
  }

  dispose(): void {
    this.#values.dispose();
  }
}

interface Item {
  readonly name: string;
  readonly info: TypeInfo;
  readonly shape: readonly number[];
  readonly source: Tensor | Uint8Array;
}

const typeOf = (dtype: DType): TypeInfo | undefined => TYPES.find((type) => type.dtype === dtype);

/** The type that a tensor gets. */
function chosen(operation: string, name: string, t: Tensor, asked: GgufContent["quantize"]): TypeInfo {
  const own = typeOf(t.dtype);
  if (own === undefined) {
    const known = TYPES.flatMap(({ dtype }) => dtype ?? []).join(", ");
    throw new DTypeError(operation, name, `of a dtype that GGUF files have: ${known}`, t.dtype);
  }
  const type = typeof asked === "function" ? asked(name, t) : asked;
  if (type === undefined || !isFloat(t.dtype)) return own;
  if (!QUANTIZED.includes(type)) throw new ValueError(operation, "quantize", `one of ${QUANTIZED.join(", ")}`, type);
  const info = typeByName.get(type)!;
  const isWhole = (t.shape.at(-1) ?? 1) % info.blockSize === 0;
  if (typeof asked === "function" && !isWhole)
    throw new ShapeError(operation, name, `with rows of a multiple of ${info.blockSize} elements for ${type}`, t.shape);
  return typeof asked === "function" || (t.rank >= 2 && isWhole) ? info : own;
}

function itemOf(operation: string, name: string, value: Tensor | GgufPacked, asked: GgufContent["quantize"]): Item {
  if (new TextEncoder().encode(name).length >= MAX_NAME)
    throw new ValueError(operation, "tensors", `by names of less than ${MAX_NAME} bytes, as llama.cpp has it`, name);
  const item = value instanceof Tensor ? ofTensor(operation, name, value, asked) : ofBlocks(operation, name, value);
  if (item.shape.length > MAX_AXES) throw new ShapeError(operation, name, `of at most ${MAX_AXES} axes`, item.shape);
  return item;
}

function ofTensor(operation: string, name: string, t: Tensor, asked: GgufContent["quantize"]): Item {
  t.requireLive(operation, name);
  tracer()?.read(operation, t);
  return { name, info: chosen(operation, name, t, asked), shape: t.shape, source: t };
}

function ofBlocks(operation: string, name: string, value: GgufPacked): Item {
  if (typeof value !== "object" || value === null || !(value.data instanceof Uint8Array) || !Array.isArray(value.shape))
    throw new DTypeError(operation, name, "a tensor, or { type, shape, data } of packed blocks", value);
  const { type, shape, data } = value;
  const info = typeByName.get(type);
  if (info === undefined) throw new ValueError(operation, `${name}.type`, `one of ${[...typeByName.keys()].join(", ")}`, type);
  if (!shape.every((d) => Number.isSafeInteger(d) && d >= 0)) throw new ShapeError(operation, `${name}.shape`, "a list of lengths", shape);
  const bytes = bytesOfType(info, shape);
  if (Number.isNaN(bytes)) throw new ShapeError(operation, `${name}.shape`, `with rows of a multiple of ${info.blockSize} elements`, shape);
  if (bytes !== data.byteLength)
    throw new ValueError(operation, `${name}.data`, `of ${bytes} bytes for ${type}[${shape.join(", ")}]`, data.byteLength);
  return { name, info, shape, source: data };
}

function readable(operation: string, { name, info, source }: Item): Readable {
  if (source instanceof Uint8Array) return new HostBytes(name, source);
  if (source.dtype === info.dtype) return new Frozen(operation, name, source);
  const isPacked = info.dtype === null || isHalf(info.dtype);
  const values = outsideScopes(() => noGrad(() => to(source, isPacked ? "float32" : info.dtype)));
  const frozen = new Frozen(operation, name, values);
  if (values !== source) values.dispose();
  return isPacked ? new Quantized(frozen, info) : frozen;
}

/** Header and tensors. */
export function pendingFile(operation: string, content: GgufContent): PendingFile {
  const { tensors, metadata = {}, metadataTypes = {}, quantize: asked } = content;
  if (typeof tensors !== "object" || tensors === null) throw new DTypeError(operation, "tensors", "an object of tensors by name", tensors);
  if (typeof asked !== "function" && asked !== undefined && !QUANTIZED.includes(asked))
    throw new ValueError(operation, "quantize", `a function, or one of ${QUANTIZED.join(", ")}`, asked);
  for (const key of Object.keys(metadataTypes))
    if (!Object.hasOwn(metadata, key)) throw new ValueError(operation, "metadataTypes", "of keys that metadata has", key);
  const alignment = alignmentOf(operation, content);
  const items = Object.entries(tensors).map(([name, value]) => itemOf(operation, name, value, asked));
  const sink = new Sink();
  sink.uint32(MAGIC);
  sink.uint32(3);
  sink.uint64(items.length);
  sink.uint64(Object.keys(metadata).length);
  for (const [key, value] of Object.entries(metadata)) {
    sink.text(key);
    writeValue(operation, sink, key, value, metadataTypes[key]);
  }
  let offset = 0;
  for (const { name, info, shape } of items) {
    sink.text(name);
    sink.uint32(shape.length);
    for (const length of [...shape].reverse()) sink.uint64(length);
    sink.uint32(info.id);
    sink.uint64(offset);
    offset = padTo(alignment, offset + bytesOfType(info, shape));
  }
  sink.zeros(padTo(alignment, sink.length) - sink.length);
  return new PendingFile(sink.bytes(), bodyOf(operation, items, alignment));
}

/** The tensors, each with the zeros behind it. */
function bodyOf(operation: string, items: readonly Item[], alignment: number): Readable[] {
  const parts: Readable[] = [];
  try {
    for (const item of items) {
      const size = bytesOfType(item.info, item.shape);
      parts.push(readable(operation, item));
      const padding = padTo(alignment, size) - size;
      if (padding > 0) parts.push(new HostBytes(item.name, new Uint8Array(padding)));
    }
    return parts;
  } catch (error) {
    for (const part of parts) part.dispose();
    throw error;
  }
}

function alignmentOf(operation: string, { metadata = {}, metadataTypes = {} }: GgufContent): number {
  const key = "general.alignment";
  if (!Object.hasOwn(metadata, key)) return DEFAULT_ALIGNMENT;
  const value = metadata[key];
  const type = metadataTypes[key] ?? "uint32";
  if (type !== "uint32" || typeof value !== "number" || !(value > 0) || value > 2 ** 20 || !Number.isInteger(Math.log2(value)))
    throw new ValueError(operation, `metadata.${key}`, "a power of two of type uint32, at most 2^20", value);
  return value;
}
