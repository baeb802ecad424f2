/** safetensors files: named tensors and text metadata, without code. https://github.com/huggingface/safetensors */
import type { FileHandle } from "node:fs/promises";
import { defaultDevice, device as deviceOf, type Device, type DeviceLike } from "../core/device.ts";
import { DTYPES } from "../core/dtype.ts";
import { DTypeError, ValueError, FormatError } from "../core/errors.ts";
import { fromBytes } from "../ops/creation/creation.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { Filling } from "../runtime/filling.ts";
import { readParts, type Part, type TransferOptions } from "./parts.ts";
import { PendingFile } from "./pending-file.ts";
import { Frozen, bytesOf } from "./pieces.ts";
import { define } from "../core/own-property.ts";
import { dataStartOf, parseHeader, type Entry, type Header } from "./safetensors-header.ts";
import { headOf } from "./tensor-file.ts";
import { openSource, pathOf, readAt, type FilePath } from "../host/source.ts";

export type { Progress, TransferOptions } from "./parts.ts";

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

/** Options of safetensors.load(). */
export interface LoadOptions extends TransferOptions {
  /** Where the tensors go. Default: the default device. */
  readonly device?: DeviceLike | undefined;
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
 * Reads a file written by save() or any other implementation, of any size, or a pipe: it goes to the device in pieces. path: text or a file: URL.
 * Bytes of bools other than 0 and 1 are true. Throws FormatError when it is damaged, or neither a file nor a pipe.
 */
export async function load(path: FilePath, options: LoadOptions = {}): Promise<Loaded> {
  options.signal?.throwIfAborted();
  const source = pathOf("safetensors.load", "path", path);
  const device = options.device === undefined ? defaultDevice() : deviceOf(options.device);
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
  const native = nativeDevice(device, "safetensors.load");
  const made = new Map<Entry, Filling>();
  try {
    for (const e of entries) made.set(e, new Filling("safetensors.load", native, e.dtype, e.shape));
    const parts = [...entries]
      .sort((a, b) => a.start - b.start)
      .map((e): Part => {
        const filling = made.get(e)!;
        const write = (offset: number, bytes: Uint8Array): void => filling.write(offset, bytes);
        return { name: e.name, path, file, position: dataStart + e.start, sizeInBytes: e.end - e.start, write };
      });
    await readParts("safetensors.load", parts, options, isPipe);
    if (isPipe && (await readAt(file, new Uint8Array(1), null)).byteLength > 0) {
      const size = parts.reduce((n, part) => n + part.sizeInBytes, dataStart);
      throw new FormatError("safetensors.load", path, `with ${size} bytes, as its header says`, "more");
    }
    options.signal?.throwIfAborted();
  } catch (error) {
    for (const { tensor } of made.values()) tensor.dispose();
    throw error;
  }
  const tensors: Record<string, Tensor> = {};
  for (const [entry, { tensor }] of made) define(tensors, entry.name, tensor);
  return tensors;
}
