/** NumPy's files: one tensor each. */
import type { FileHandle } from "node:fs/promises";
import { defaultDevice, device as deviceOf, type Device, type DeviceLike } from "../../core/device.ts";
import { DTYPES } from "../../core/dtype.ts";
import { DTypeError, FormatError } from "../../core/errors.ts";
import { sizeOf } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { openSource, pathOf, readAt, type FilePath } from "../../host/source.ts";
import { empty, fromBytes } from "../../ops/creation/creation.ts";
import { nativeDevice } from "../../runtime/devices.ts";
import { Filling } from "../../runtime/filling.ts";
import { swapBytes } from "../byte-order.ts";
import { readParts, type TransferOptions } from "../parts.ts";
import { PendingFile } from "../pending-file.ts";
import { Frozen } from "../pieces.ts";
import { PREFIX_BYTES, dataStartOf, formatHeader, parseHeader, type NpyHeader } from "./header.ts";
import { storedShape, toHeaderShape } from "./element-order.ts";

/** Options of npy.load(). */
export interface NpyLoadOptions extends TransferOptions {
  /** Where the tensor goes; "meta" reads shape and dtype alone. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

const deviceFor = (options: NpyLoadOptions): Device => (options.device === undefined ? defaultDevice() : deviceOf(options.device));

function requireLength(operation: string, source: string, header: NpyHeader, total: number): number {
  const size = sizeOf(header.shape) * DTYPES[header.dtype].sizeInBytes;
  if (header.dataStart + size > total)
    throw new FormatError(operation, source, `with ${header.dataStart + size} bytes, as its header says`, `${total}`);
  return size;
}

/**
 * Reads a file of numpy.save(): bool, int8 to int64, uint8 to uint64, float16 to float64, of either byte order, in pieces of 16 MiB. Of a
 * column-major file (Fortran order) it returns a view with NumPy's strides. Objects, records and complex numbers are refused, and no code in the file
 * is run.
 *
 * path: text or a file: URL, of a file or a pipe. Throws FormatError for a damaged file, UnsupportedError for a dtype that the library lacks.
 * Reference: numpy.load.
 */
export async function load(path: FilePath, options: NpyLoadOptions = {}): Promise<Tensor> {
  options.signal?.throwIfAborted();
  const operation = "npy.load";
  const source = pathOf(operation, "path", path);
  const device = deviceFor(options);
  const { file, size } = await openSource(operation, source);
  try {
    const isPipe = size === null;
    const prefix = await readAt(file, new Uint8Array(PREFIX_BYTES), isPipe ? null : 0);
    const head = new Uint8Array(Math.max(dataStartOf(operation, prefix, source), prefix.byteLength));
    head.set(prefix);
    const rest = await readAt(file, head.subarray(prefix.byteLength), isPipe ? null : prefix.byteLength);
    const length = prefix.byteLength + rest.byteLength;
    const header = parseHeader(operation, head.subarray(0, length), dataStartOf(operation, prefix, source), source);
    if (!isPipe) requireLength(operation, source, header, size);
    if (!device.hasElements) return empty(header.shape, { dtype: header.dtype, device });
    return toHeaderShape(await fill(source, file, header, device, options, isPipe), header);
  } finally {
    await file.close();
  }
}

async function fill(
  path: string,
  file: FileHandle,
  header: NpyHeader,
  device: Device,
  options: TransferOptions,
  isPipe: boolean,
): Promise<Tensor> {
  const operation = "npy.load";
  const { dtype, isBigEndian } = header;
  const elementBytes = DTYPES[dtype].sizeInBytes;
  const filling = new Filling(operation, nativeDevice(device, operation), dtype, storedShape(header));
  try {
    const write = (offset: number, bytes: Uint8Array): void => {
      if (isBigEndian) swapBytes(bytes, elementBytes);
      filling.write(offset, bytes);
    };
    const sizeInBytes = sizeOf(header.shape) * elementBytes;
    await readParts(operation, [{ name: path, path, file, position: header.dataStart, sizeInBytes, write }], options, isPipe);
    options.signal?.throwIfAborted();
    return filling.tensor;
  } catch (error) {
    filling.tensor.dispose();
    throw error;
  }
}

/** The tensor in the bytes of a .npy file. Throws FormatError for a damaged file, UnsupportedError for a dtype that the library lacks. */
export function deserialize(bytes: Uint8Array, options: Pick<NpyLoadOptions, "device"> = {}): Tensor {
  const operation = "npy.deserialize";
  const source = "bytes";
  const header = parseHeader(operation, bytes, dataStartOf(operation, bytes.subarray(0, PREFIX_BYTES), source), source);
  const size = requireLength(operation, source, header, bytes.byteLength);
  const device = deviceFor(options);
  if (!device.hasElements) return empty(header.shape, { dtype: header.dtype, device });
  const data = bytes.slice(header.dataStart, header.dataStart + size);
  if (header.isBigEndian) swapBytes(data, DTYPES[header.dtype].sizeInBytes);
  return toHeaderShape(fromBytes(operation, device, header.dtype, storedShape(header), data), header);
}

function fileOf(operation: string, tensor: Tensor): PendingFile {
  if (!(tensor instanceof Tensor)) throw new DTypeError(operation, "tensor", "a tensor", tensor);
  tensor.requireLive(operation, "tensor");
  tracer()?.read(operation, tensor);
  return new PendingFile(formatHeader(operation, tensor.dtype, tensor.shape), [new Frozen(operation, "tensor", tensor)]);
}

/** A tensor as the bytes of a .npy file of version 1, packed, as numpy.save() writes it. bfloat16 is refused, since NumPy lacks it. */
export async function serialize(tensor: Tensor): Promise<Uint8Array> {
  return fileOf("npy.serialize", tensor).bytes();
}

/**
 * Writes a tensor into a .npy file, which appears whole or not at all; numpy.load() reads it. The elements are those of now: a tensor that changes
 * before they were read is a ValueError. bfloat16 is refused, since NumPy lacks it.
 *
 * path: text or a file: URL. Throws ValueError where the file cannot be written. Reference: numpy.save.
 */
export async function save(path: FilePath, tensor: Tensor, options: TransferOptions = {}): Promise<void> {
  options.signal?.throwIfAborted();
  const target = pathOf("npy.save", "path", path);
  await fileOf("npy.save", tensor).write("npy.save", target, options);
}
