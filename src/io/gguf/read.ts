/** GGUF files that are open: the header at once, each tensor when it is asked for, in pieces. */
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { defaultDevice, device as deviceOf } from "../../core/device.ts";
import { DTYPES, type DType } from "../../core/dtype.ts";
import { DisposedError, FormatError, UnsupportedError, ValueError } from "../../core/errors.ts";
import { define } from "../../core/own-property.ts";
import type { Tensor } from "../../core/tensor.ts";
import { openSource, readAt } from "../../host/source.ts";
import { swapBytes } from "../byte-order.ts";
import { fillTensors } from "../fill-tensors.ts";
import { readParts, type Part, type PieceBuffers } from "../parts.ts";
import { converter } from "./convert.ts";
import { NeedsMore, parseHeader, type Entry, type Header } from "./header.ts";
import type {
  GgufFile,
  GgufLoadOptions,
  GgufPacked,
  GgufTensorInfo,
  GgufTensorOptions,
  GgufValue,
  GgufValueType,
  GgufVocabulary,
} from "./options.ts";
import { swapWords } from "./types.ts";
import { vocabularyOf } from "./vocabulary.ts";

/** What is read of a file at first; most headers are vocabularies, of some megabytes. */
const FIRST_BYTES = 2 ** 20;
const MAX_HEADER = 2 ** 30;

export interface GgufPart {
  readonly path: string;
  readonly file: FileHandle;
  readonly header: Header;
}

/** Opens one file, and reads its header. hasTexts: whether metadata have arrays of texts. */
export async function openPart(operation: string, path: string, hasTexts = true): Promise<GgufPart> {
  const { file, size } = await openSource(operation, path);
  try {
    if (size === null)
      throw new FormatError(operation, path, "a file", "a pipe", "Its tensors are read by their offsets: save it as a file.");
    for (let wanted = FIRST_BYTES; ;) {
      const bytes = await readAt(file, new Uint8Array(Math.min(wanted, size)), 0);
      const header = parsed(operation, path, bytes, size, hasTexts);
      if (!(header instanceof NeedsMore)) return { path, file, header };
      if (bytes.length === size) throw new FormatError(operation, path, "as long as it was when it was opened", `its end at byte ${size}`);
      if (header.bytes > MAX_HEADER) throw new FormatError(operation, path, `with a header of at most ${MAX_HEADER} bytes`, "a longer one");
      wanted = Math.max(4 * wanted, header.bytes);
    }
  } catch (error) {
    await file.close();
    throw error;
  }
}

function parsed(operation: string, path: string, bytes: Uint8Array, size: number, hasTexts: boolean): Header | NeedsMore {
  try {
    return parseHeader(operation, path, bytes, size, hasTexts);
  } catch (error) {
    if (error instanceof NeedsMore) return error;
    throw error;
  }
}

const PART_NAME = /^(.*-)(\d{5})-of-(\d{5})\.gguf$/s;

/** A file and, where it is one of several parts, the others. They are in order. hasTexts: whether metadata have arrays of texts, which vocabularies are. */
export async function openParts(operation: string, path: string, hasTexts = true): Promise<readonly GgufPart[]> {
  const asked = await openPart(operation, path, hasTexts);
  const parts: GgufPart[] = [];
  try {
    const count = asked.header.metadata["split.count"];
    if (typeof count !== "number" || count <= 1) return [asked];
    const [, stem, , last] = PART_NAME.exec(basename(path)) ?? [];
    if (stem === undefined || Number(last) !== count)
      throw new FormatError(operation, path, `named as one of ${count} parts: NAME-00001-of-${pad(count)}.gguf`, basename(path));
    for (let i = 0; i < count; i++) {
      const name = join(dirname(path), `${stem}${pad(i + 1)}-of-${last}.gguf`);
      const part = basename(name) === basename(path) ? asked : await openPart(operation, name, hasTexts);
      parts.push(part);
      const { metadata } = part.header;
      if (metadata["split.no"] !== i || metadata["split.count"] !== count)
        throw new FormatError(
          operation,
          name,
          `part ${i} of ${count}, as its name says`,
          `part ${String(metadata["split.no"])} of ${String(metadata["split.count"])}`,
        );
    }
    requireAll(operation, path, parts);
    return parts;
  } catch (error) {
    await Promise.all([...new Set([asked, ...parts])].map(({ file }) => file.close()));
    throw error;
  }
}

const pad = (n: number): string => String(n).padStart(5, "0");

function requireAll(operation: string, path: string, parts: readonly GgufPart[]): void {
  const total = parts[0]!.header.metadata["split.tensors.count"];
  const names = parts.flatMap(({ header }) => header.entries.map((e) => e.name));
  if (total !== undefined && total !== names.length)
    throw new FormatError(operation, path, `with ${String(total)} tensors in all parts`, `${names.length}`);
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new FormatError(operation, path, "with each tensor in one part", `${name} in two`);
    seen.add(name);
  }
}

/** What says that a file is one of several parts. */
const PART_KEYS: readonly string[] = ["split.no", "split.count", "split.tensors.count"];

function withoutParts<T>(values: Readonly<Record<string, T>>): Record<string, T> {
  const kept: Record<string, T> = {};
  for (const [key, value] of Object.entries(values)) if (!PART_KEYS.includes(key)) define(kept, key, value);
  return kept;
}

interface Located {
  readonly part: GgufPart;
  readonly entry: Entry;
}

const DTYPE_OPTIONS: readonly unknown[] = [undefined, "float32", "float16", "bfloat16"];

export class OpenGguf implements GgufFile {
  readonly version: number;
  readonly byteOrder: "little" | "big";
  readonly paths: readonly string[];
  readonly metadata: Readonly<Record<string, GgufValue>>;
  readonly metadataTypes: Readonly<Record<string, GgufValueType>>;
  readonly tensors: ReadonlyMap<string, GgufTensorInfo>;
  readonly #parts: readonly GgufPart[];
  readonly #located: ReadonlyMap<string, Located>;
  #vocabulary: GgufVocabulary | null | undefined;
  #isClosed = false;

  constructor(parts: readonly GgufPart[]) {
    const { header } = parts[0]!;
    this.#parts = parts;
    this.version = header.version;
    this.metadata = parts.length === 1 ? header.metadata : withoutParts(header.metadata);
    this.metadataTypes = parts.length === 1 ? header.metadataTypes : withoutParts(header.metadataTypes);
    this.byteOrder = header.isBigEndian ? "big" : "little";
    this.paths = parts.map(({ path }) => path);
    this.#located = new Map(parts.flatMap((part) => part.header.entries.map((entry) => [entry.name, { part, entry }] as const)));
    this.tensors = new Map(
      [...this.#located.values()].map(({ entry: { name, type, shape, sizeInBytes } }) => [name, { name, type, shape, sizeInBytes }]),
    );
  }

  get vocabulary(): GgufVocabulary | null {
    this.#vocabulary ??= vocabularyOf(this.paths[0]!, this.metadata);
    return this.#vocabulary;
  }

  async tensor(name: string, options: GgufTensorOptions = {}): Promise<Tensor> {
    return (await this.#load("gguf.tensor", [this.#find("gguf.tensor", "name", name)], options))[0]!;
  }

  async load(options: GgufLoadOptions = {}): Promise<Record<string, Tensor>> {
    const { names } = options;
    const wanted = names === undefined ? [...this.#located.values()] : [...new Set(names)].map((n) => this.#find("gguf.load", "names", n));
    const loaded = await this.#load("gguf.load", wanted, options);
    const tensors: Record<string, Tensor> = {};
    wanted.forEach(({ entry }, i) => define(tensors, entry.name, loaded[i]!));
    return tensors;
  }

  async packed(name: string): Promise<GgufPacked> {
    const operation = "gguf.packed";
    const located = this.#find(operation, "name", name);
    const { type, shape, sizeInBytes } = located.entry;
    const data = new Uint8Array(sizeInBytes);
    await readParts(operation, [partOf(operation, located, (offset, bytes) => data.set(bytes, offset))], {});
    return { type, shape, data };
  }

  /** Gives the blocks of a tensor to `write`, in pieces of `size` bytes, which are whole rows. */
  async pieces(
    operation: string,
    name: string,
    { size, buffers, write }: { readonly size: number; readonly buffers: PieceBuffers; readonly write: Part["write"] },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const part = partOf(operation, this.#find(operation, "name", name), write);
    await readParts(operation, [{ ...part, piece: size }], { signal }, false, buffers);
  }

  #find(operation: string, argument: string, name: string): Located {
    if (this.#isClosed) throw new DisposedError(operation, "file", "open", "one that was closed");
    const found = this.#located.get(name);
    if (found !== undefined) return found;
    const known = [...this.#located.keys()].join(", ");
    throw new ValueError(operation, argument, `of a tensor in ${this.paths[0]}: ${known.slice(0, 300) || "it has none"}`, name);
  }

  async #load(operation: string, wanted: readonly Located[], options: GgufTensorOptions): Promise<readonly Tensor[]> {
    const { dtype, packed: isPacked = false } = options;
    if (!DTYPE_OPTIONS.includes(dtype)) throw new ValueError(operation, "dtype", '"float32", "float16" or "bfloat16"', dtype);
    const device = options.device === undefined ? defaultDevice() : deviceOf(options.device);
    return fillTensors(
      operation,
      device,
      wanted.map((located) => {
        const target = targetOf(located.entry, dtype, isPacked);
        const convert = isPacked ? null : converter(located.entry.info, target.dtype);
        // fillTensors() writes at once.
        const part = (write: (offset: number, bytes: Uint8Array) => void): Part =>
          partOf(operation, located, convert === null ? write : (offset, bytes) => convert(offset, bytes, write));
        return { ...target, part };
      }),
      options,
    );
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.all(this.#parts.map(({ file }) => file.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Dtype and shape of the tensor that is made. */
function targetOf(
  { info, shape }: Entry,
  dtype: GgufTensorOptions["dtype"],
  isPacked: boolean,
): { readonly dtype: DType; readonly shape: readonly number[] } {
  if (info.dtype === null && isPacked)
    return { dtype: "uint8", shape: [...shape.slice(0, -1), (shape.at(-1)! / info.blockSize) * info.blockBytes] };
  if (info.dtype === null) return { dtype: dtype ?? "float32", shape };
  const isFloat = info.name === "F32" || info.name === "F16" || info.name === "BF16" || info.name === "F64";
  return { dtype: isFloat && !isPacked ? (dtype ?? info.dtype) : info.dtype, shape };
}

/** The bytes of a tensor, in this machine's order, in pieces of whole blocks. */
function partOf(operation: string, { part, entry }: Located, write: Part["write"]): Part {
  const { info, name, position, sizeInBytes } = entry;
  const { isBigEndian } = part.header;
  if (isBigEndian && info.words === null)
    throw new UnsupportedError({
      operation,
      argument: `${part.path}: ${name}`,
      expected: "little-endian",
      received: `big-endian blocks of ${info.name}, which llama.cpp does not define`,
    });
  const swapped: Part["write"] = (offset, bytes) => {
    if (info.dtype === null) swapWords(info, bytes);
    else swapBytes(bytes, DTYPES[info.dtype].sizeInBytes);
    return write(offset, bytes);
  };
  return { name, path: part.path, file: part.file, position, sizeInBytes, unit: info.blockBytes, write: isBigEndian ? swapped : write };
}
