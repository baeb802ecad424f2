/** safetensors files: named tensors and text metadata, without code. https://github.com/huggingface/safetensors */
import { stat, type FileHandle } from "node:fs/promises";
import { defaultDevice, device as deviceOf, type Device } from "../core/device.ts";
import { DTYPES } from "../core/dtype.ts";
import { DTypeError, ValueError, FormatError } from "../core/errors.ts";
import { fromBytes } from "../ops/creation/creation.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { fillTensors } from "./fill-tensors.ts";
import type { Part, TransferOptions } from "./parts.ts";
import { PendingFile } from "./pending-file.ts";
import { Frozen, bytesOf } from "./pieces.ts";
import { define } from "../core/own-property.ts";
import { dataStartOf, parseHeader, type Entry, type Header } from "./safetensors-header.ts";
import type { LoadOptions, SafetensorsFile } from "./safetensors-options.ts";
import { headOf } from "./tensor-file.ts";
import { openSource, pathOf, readAt, type FilePath } from "../host/source.ts";

export type { Progress, TransferOptions } from "./parts.ts";
export type { LoadOptions, SafetensorsFile, SafetensorsInfo, SafetensorsLoadOptions } from "./safetensors-options.ts";

/** Tensors by name. */
export type Tensors = Readonly<Record<string, Tensor>>;
/** Texts by name, as a safetensors file carries them. */
export type Metadata = Readonly<Record<string, string>>;

/** The content of a safetensors file. */
export interface Loaded {
  /** The tensors by name. */
  readonly tensors: Record<string, Tensor>;
  /** The file's texts by name; empty where it has none. */
  readonly metadata: Record<string, string>;
}

/** Header and tensors, in the order of the file: every one begins at a multiple of its element size. */
function fileOf(operation: string, tensors: Tensors, metadata: Metadata): PendingFile {
  for (const [key, value] of Object.entries(metadata))
    if (typeof value !== "string") throw new ValueError(operation, `metadata.${key}`, "text", value);
  const list = Object.entries(tensors);
  for (const [name, t] of list) {
    if (!(t instanceof Tensor)) throw new DTypeError(operation, name, "a tensor", t);
    if (name === "__metadata__") throw new ValueError(operation, "name", "another than __metadata__", name);
    t.requireLive(operation, name);
    tracer()?.read(operation, t);
  }
  list.sort(([a, x], [b, y]) => DTYPES[y.dtype].sizeInBytes - DTYPES[x.dtype].sizeInBytes || (a < b ? -1 : 1));
  let at = 0;
  const entries = list.map(([name, t]): Entry => ({ name, dtype: t.dtype, shape: t.shape, start: at, end: (at += bytesOf(t)) }));
  const head = headOf(operation, entries, metadata);
  return new PendingFile(
    head,
    list.map(([name, t]) => new Frozen(operation, name, t)),
  );
}

/** Tensors by name as the bytes of a safetensors file. Metadata: texts by name. */
export async function serialize(tensors: Tensors, metadata: Metadata = {}): Promise<Uint8Array> {
  return fileOf("safetensors.serialize", tensors, metadata).bytes();
}

/**
 * Writes tensors by name (all dtypes, any strides, any size) into a file, which appears whole or not at all. They are read in
 * pieces: what is saved is the state of now, and a tensor that changes before its bytes were read is a ValueError; the first
 * 256 MiB are read at once.
 *
 * path: text or a file: URL. A file that is replaced keeps its mode and owner, a link stays one, and a device or FIFO is written to. A process
 * that is killed leaves a hidden file (.dxtensor-….part), which the next save into the folder removes. Throws ValueError where the file cannot
 * be written.
 */
export async function save(path: FilePath, tensors: Tensors, metadata: Metadata = {}, options: TransferOptions = {}): Promise<void> {
  options.signal?.throwIfAborted();
  const target = pathOf("safetensors.save", "path", path);
  await fileOf("safetensors.save", tensors, metadata).write("safetensors.save", target, options);
}

/** The tensors in the bytes of a safetensors file. Throws FormatError for anything else. */
export function deserialize(bytes: Uint8Array, options: Pick<LoadOptions, "device"> = {}, source = "bytes"): Loaded {
  const { entries, metadata, dataStart } = parseHeader(bytes, bytes.byteLength, source);
  const device = options.device === undefined ? defaultDevice() : deviceOf(options.device);
  const tensors: Record<string, Tensor> = {};
  for (const e of entries)
    define(
      tensors,
      e.name,
      fromBytes("safetensors.load", device, e.dtype, e.shape, bytes.subarray(dataStart + e.start, dataStart + e.end)),
    );
  return { tensors, metadata };
}

/**
 * Opens a file and reads its header; tensors are read when they are asked for. Of an index (`model.safetensors.index.json`) the files that it lists are
 * opened as one, and of a folder, as Hugging Face has them, its index or only file. Close it, or declare it with `await using`.
 *
 * path: text or a file: URL. Throws FormatError for damaged files, for an index that names tensors which its files lack, or have twice, or lacks some of
 * theirs, and for one that leads out of its folder.
 */
export async function open(path: FilePath): Promise<SafetensorsFile> {
  const source = pathOf("safetensors.open", "path", path);
  const { openAll } = await import("./safetensors-shards.ts");
  return openAll("safetensors.open", source);
}

/** The tensors of an index, or of a folder. */
async function loadAll(source: string, device: Device, options: LoadOptions): Promise<Loaded> {
  const { openAll } = await import("./safetensors-shards.ts");
  const opened = await openAll("safetensors.load", source);
  try {
    return { tensors: await opened.load({ ...options, device }), metadata: { ...opened.metadata } };
  } finally {
    await opened.close();
  }
}

/**
 * Reads a file written by save() or any other implementation, of any size, or a pipe: it goes to the device in pieces. Of an index
 * (`model.safetensors.index.json`) and of a folder it reads the files that open() opens. path: text or a file: URL. Bytes of bools other than 0 and 1 are
 * true. Throws FormatError when it is damaged, or none of these.
 */
export async function load(path: FilePath, options: LoadOptions = {}): Promise<Loaded> {
  options.signal?.throwIfAborted();
  const source = pathOf("safetensors.load", "path", path);
  const device = options.device === undefined ? defaultDevice() : deviceOf(options.device);
  if (source.endsWith(".json") || (await stat(source).catch(() => null))?.isDirectory() === true) return loadAll(source, device, options);
  const { file, size } = await openSource("safetensors.load", source);
  try {
    const first = await readAt(file, new Uint8Array(8), size === null ? null : 0);
    const head = new Uint8Array(dataStartOf(first, size ?? Infinity, source));
    head.set(first);
    const rest = await readAt(file, head.subarray(8), size === null ? null : 8);
    const header = parseHeader(head.subarray(0, 8 + rest.byteLength), size, source);
    return { tensors: await loadTensors(source, file, header, device, options, size === null), metadata: header.metadata };
  } finally {
    await file.close();
  }
}

/** The tensors of a file that is open. */
async function loadTensors(
  path: string,
  file: FileHandle,
  { entries, dataStart }: Header,
  device: Device,
  options: LoadOptions,
  isPipe: boolean,
): Promise<Record<string, Tensor>> {
  const wanted = entries.map((e) => ({
    dtype: e.dtype,
    shape: e.shape,
    part: (write: Part["write"]): Part => ({
      name: e.name,
      path,
      file,
      position: dataStart + e.start,
      sizeInBytes: e.end - e.start,
      write,
    }),
  }));
  const requireEnd = async (): Promise<void> => {
    if ((await readAt(file, new Uint8Array(1), null)).byteLength === 0) return;
    const size = entries.reduce((n, e) => Math.max(n, e.end), 0);
    throw new FormatError("safetensors.load", path, `with ${dataStart + size} bytes, as its header says`, "more");
  };
  const made = await fillTensors("safetensors.load", device, wanted, options, isPipe ? { requireEnd } : undefined);
  const tensors: Record<string, Tensor> = {};
  entries.forEach((e, i) => define(tensors, e.name, made[i]!));
  return tensors;
}
