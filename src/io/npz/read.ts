/** Reads the arrays of .npz files, each piece by piece to its device. */
import type { Device } from "../../core/device.ts";
import { DTYPES } from "../../core/dtype.ts";
import { FormatError, ValueError } from "../../core/errors.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { openSource, readAt, type RandomAccess } from "../../host/source.ts";
import { empty } from "../../ops/creation/creation.ts";
import { nativeDevice } from "../../runtime/devices.ts";
import { Filling } from "../../runtime/filling.ts";
import { swapBytes } from "../byte-order.ts";
import { PREFIX_BYTES, dataStartOf, parseHeader, type NpyHeader } from "../npy/header.ts";
import { storedShape, toHeaderShape } from "../npy/element-order.ts";
import { PIECE } from "../pieces.ts";
import { ZipFile, type ZipEntry } from "../zip-file.ts";
import type { NpzLoadOptions } from "./options.ts";

const SUFFIX = ".npy";
/** Of the deflated arrays, unless the file is large or the user allows more. */
const MAX_INFLATED = 2 ** 30;
const MAX_RATIO = 100;

export async function loadFile(
  operation: string,
  source: string,
  device: Device,
  options: NpzLoadOptions,
): Promise<Record<string, Tensor>> {
  const { file, size } = await openSource(operation, source);
  try {
    if (size === null) throw new FormatError(operation, source, "a file", "a pipe", "A zip file is read from its end: save it as a file.");
    await requireZip(operation, source, file);
    return await load(operation, source, file, size, device, options);
  } finally {
    await file.close();
  }
}

export async function loadBytes(
  operation: string,
  bytes: Uint8Array,
  device: Device,
  options: NpzLoadOptions,
): Promise<Record<string, Tensor>> {
  if (!(bytes instanceof Uint8Array)) throw new ValueError(operation, "bytes", "a Uint8Array", bytes);
  const read = (buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }> => {
    const part = bytes.subarray(position, position + length);
    buffer.set(part, offset);
    return Promise.resolve({ bytesRead: part.byteLength });
  };
  const file = { read } as unknown as RandomAccess;
  await requireZip(operation, "bytes", file);
  return load(operation, "bytes", file, bytes.byteLength, device, options);
}

async function requireZip(operation: string, source: string, file: RandomAccess): Promise<void> {
  const magic = await readAt(file, new Uint8Array(6), 0);
  // An archive without arrays begins with its end.
  if (magic[0] === 0x50 && magic[1] === 0x4b) return;
  const isNpy = magic[0] === 0x93 && Buffer.from(magic.subarray(1)).toString("latin1") === "NUMPY";
  throw new FormatError(
    operation,
    source,
    "a .npz file",
    isNpy ? "a .npy file" : magic.byteLength === 0 ? "an empty one" : `one that begins with ${Buffer.from(magic).toString("hex")}`,
    isNpy ? "io.npy.load() reads those." : undefined,
  );
}

async function load(
  operation: string,
  source: string,
  file: RandomAccess,
  size: number,
  device: Device,
  options: NpzLoadOptions,
): Promise<Record<string, Tensor>> {
  const { maxBytes } = options;
  if (maxBytes !== undefined && !(maxBytes >= 0)) throw new ValueError(operation, "maxBytes", "a number of at least 0", maxBytes);
  const zip = await ZipFile.open(
    file,
    {
      operation,
      source,
      writer: "numpy.savez()",
      maxInflated: (fileBytes) => maxBytes ?? Math.max(MAX_INFLATED, MAX_RATIO * fileBytes),
      hints: { inflated: "If you trust the file, pass maxBytes.", method: "Save it with numpy.savez_compressed()." },
    },
    size,
  );
  const entries = chosen(operation, source, zip, options.names);
  const totalBytes = entries.reduce((sum, { entry }) => sum + entry.sizeInBytes, 0);
  let bytes = 0;
  const loaded: [name: string, tensor: Tensor][] = [];
  try {
    for (const { name, entry } of entries) {
      options.signal?.throwIfAborted();
      const onPiece = (count: number): void => {
        options.signal?.throwIfAborted();
        bytes += count;
        options.onProgress?.({ bytes, totalBytes, name });
      };
      loaded.push([name, await readArray(operation, `${source}: ${entry.name}`, zip, entry, device, onPiece)]);
    }
    options.signal?.throwIfAborted();
    return Object.fromEntries(loaded);
  } catch (error) {
    for (const [, tensor] of loaded) tensor.dispose();
    throw error;
  }
}

function chosen(
  operation: string,
  source: string,
  zip: ZipFile,
  names: readonly string[] | undefined,
): readonly { readonly name: string; readonly entry: ZipEntry }[] {
  const all = [...zip.entries.values()];
  if (names === undefined) {
    const other = all.find(({ name }) => !name.endsWith(SUFFIX));
    if (other !== undefined)
      throw new FormatError(operation, source, "an archive of .npy files", other.name, "Name the arrays that are wanted: names.");
    return all.map((entry) => ({ name: entry.name.slice(0, -SUFFIX.length), entry }));
  }
  return [...new Set(names)].map((name) => {
    const entry = zip.entries.get(`${name}${SUFFIX}`);
    if (entry !== undefined) return { name, entry };
    const known = all.map((e) => e.name.replace(/\.npy$/, "")).join(", ");
    throw new ValueError(operation, "names", `of arrays in ${source}: ${known.slice(0, 500) || "it has none"}`, name);
  });
}

async function readArray(
  operation: string,
  source: string,
  zip: ZipFile,
  entry: ZipEntry,
  device: Device,
  onPiece: (bytes: number) => void,
): Promise<Tensor> {
  const pieces = zip.pieces(entry);
  try {
    const { header, rest } = await readHeader(operation, source, pieces);
    const elementBytes = DTYPES[header.dtype].sizeInBytes;
    const size = sizeOf(header.shape) * elementBytes;
    if (header.dataStart + size > entry.sizeInBytes)
      throw new FormatError(operation, source, `with ${header.dataStart + size} bytes, as its header says`, `${entry.sizeInBytes}`);
    if (!device.hasElements) return empty(header.shape, { dtype: header.dtype, device });
    const filling = new Filling(operation, nativeDevice(device, operation), header.dtype, storedShape(header));
    try {
      onPiece(header.dataStart);
      const write = (offset: number, bytes: Uint8Array): void => {
        if (header.isBigEndian) swapBytes(bytes, elementBytes);
        filling.write(offset, bytes);
        onPiece(bytes.byteLength);
      };
      await writeAll(rest, pieces, size, write);
      return toHeaderShape(filling.tensor, header);
    } catch (error) {
      filling.tensor.dispose();
      throw error;
    }
  } finally {
    await pieces.return();
  }
}

/** Reads the header, and gives what was read beyond it. */
async function readHeader(
  operation: string,
  source: string,
  pieces: AsyncGenerator<Uint8Array>,
): Promise<{ readonly header: NpyHeader; readonly rest: Uint8Array }> {
  let head: Uint8Array = new Uint8Array();
  let wanted = PREFIX_BYTES;
  let isPrefix = true;
  for (;;) {
    const next = head.byteLength < wanted ? await pieces.next() : null;
    if (next !== null && next.done !== true) {
      head = Buffer.concat([head, next.value]);
      continue;
    }
    if (isPrefix) wanted = dataStartOf(operation, head.subarray(0, PREFIX_BYTES), source);
    else return { header: parseHeader(operation, head, wanted, source), rest: head.subarray(wanted) };
    isPrefix = false;
  }
}

/** Writes the elements in pieces of PIECE bytes, so that each has whole elements, and reads on to the end of the entry, where its CRC is checked. */
async function writeAll(
  first: Uint8Array,
  pieces: AsyncGenerator<Uint8Array>,
  size: number,
  write: (offset: number, bytes: Uint8Array) => void,
): Promise<void> {
  const buffer = new Uint8Array(Math.min(PIECE, size));
  let offset = 0;
  let used = 0;
  const take = (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.byteLength && offset < size;) {
      const part = bytes.subarray(at, at + Math.min(buffer.byteLength, size - offset) - used);
      buffer.set(part, used);
      at += part.byteLength;
      used += part.byteLength;
      if (used < Math.min(buffer.byteLength, size - offset)) continue;
      write(offset, buffer.subarray(0, used));
      offset += used;
      used = 0;
    }
  };
  take(first);
  for await (const piece of pieces) take(piece);
}
