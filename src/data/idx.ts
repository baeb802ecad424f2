/** IDX files and MNIST: http://yann.lecun.com/exdb/mnist */
import { access } from "node:fs/promises";
import { join } from "node:path";
import type { DeviceLike } from "../core/device.ts";
import { type DType, type TypedArray, DTYPES, arrayClass } from "../core/dtype.ts";
import { FormatError } from "../core/errors.ts";
import { tensor } from "../ops/creation/creation.ts";
import { toDType } from "../ops/data/conversion.ts";
import { div } from "../ops/elementwise/binary.ts";
import { reshape } from "../ops/shape/movement.ts";
import { scope } from "../core/scope.ts";
import { sizeOf } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { TensorDataset } from "./dataset.ts";
import { pathOf, readWhole, type FilePath } from "../host/source.ts";
import { inflated, isZlibError } from "../io/inflate.ts";

const CODES: { readonly [code: number]: DType } = {
  0x08: "uint8",
  0x09: "int8",
  0x0b: "int16",
  0x0c: "int32",
  0x0d: "float32",
  0x0e: "float64",
};

/** The content of an IDX file: elements with their dtype and shape. */
export interface IdxData {
  /** The elements' dtype, as the file states it. */
  readonly dtype: DType;
  /** Length of each axis. */
  readonly shape: readonly number[];
  /** The elements in row-major order. */
  readonly data: TypedArray;
}

interface IdxHeader {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Offset of the elements. */
  readonly start: number;
  /** Bytes of the file. */
  readonly total: number;
}

function headerOf(bytes: Uint8Array, source: string): IdxHeader {
  const bad = (expected: string, received: string): FormatError => new FormatError("readIdx", source, expected, received);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < 4) throw bad("of at least 4 bytes", `${bytes.byteLength} bytes`);
  const dtype = CODES[bytes[2]!];
  if (bytes[0] !== 0 || bytes[1] !== 0 || dtype === undefined)
    throw bad("begun by 0, 0 and a type code", `0x${Buffer.from(bytes.subarray(0, 4)).toString("hex")}: no IDX file`);
  const rank = bytes[3]!;
  const start = 4 + 4 * rank;
  if (bytes.byteLength < start) throw bad(`with the lengths of ${rank} axes`, `${bytes.byteLength} bytes: the file is cut off`);
  const shape = Array.from({ length: rank }, (_, i) => view.getUint32(4 + 4 * i));
  return { dtype, shape, start, total: start + sizeOf(shape) * DTYPES[dtype].sizeInBytes };
}

/** The elements in the bytes of an IDX file. Throws FormatError for anything else, also when bytes are missing or left over. */
export function parseIdx(bytes: Uint8Array, source = "bytes"): IdxData {
  const { dtype, shape, start, total } = headerOf(bytes, source);
  const { sizeInBytes } = DTYPES[dtype];
  if (bytes.byteLength !== total)
    throw new FormatError("readIdx", source, `of ${total} bytes for ${dtype}[${shape.join(", ")}]`, `${bytes.byteLength} bytes`);
  // Not bytes.slice: a Buffer's shares its memory.
  const copy = new Uint8Array(bytes.subarray(start));
  // Elements are big-endian.
  for (let i = 0; sizeInBytes > 1 && i < copy.length; i += sizeInBytes) copy.subarray(i, i + sizeInBytes).reverse();
  return { dtype, shape, data: new (arrayClass(dtype))(copy.buffer, 0, sizeOf(shape)) };
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** What Node 20 holds in one list of bytes. */
const MAX_BYTES = 2 ** 32 - 1;

/** The content of an IDX file, unpacked where it is a gzip file: never more than its header says. */
async function contentOf(bytes: Uint8Array, source: string): Promise<IdxData> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return parseIdx(bytes, source);
  async function* packed(): AsyncGenerator<Uint8Array, void, undefined> {
    yield bytes;
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  let total: number | null = null;
  try {
    for await (const part of inflated(packed(), "createGunzip")) {
      total ??= headerOf(part, source).total;
      parts.push(part);
      if ((length += part.byteLength) > total) throw new FormatError("readIdx", source, `of ${total} bytes, as its header says`, "more");
    }
  } catch (error) {
    throw isZlibError(error) ? new FormatError("readIdx", source, "a whole gzip file", error.message) : error;
  }
  return parseIdx(Buffer.concat(parts, length), source);
}

/** Reads an IDX file, also a .gz file, by path or file: URL. Throws FormatError when it is damaged or not there; the file system's error is its cause. */
export async function readIdx(path: FilePath): Promise<IdxData> {
  const source = pathOf("readIdx", "path", path);
  return contentOf(await readWhole("readIdx", source, MAX_BYTES), source);
}

/** Options of mnist(). */
export interface DigitsOptions {
  /** The 60,000 training digits, or the 10,000 test digits. Default: true. */
  readonly train?: boolean | undefined;
  /** Take the first so many. Default: all. */
  readonly limit?: number | undefined;
  /** Where the tensors go. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

/**
 * The MNIST digits of a folder with the four original files, unpacked or as .gz files: images float32 [N, 1, 28, 28] in [0, 1], labels int32 [N].
 * Throws when a file is missing, damaged or not what its name says; nothing replaces it.
 */
export async function mnist(
  folder: FilePath,
  { train = true, limit, device }: DigitsOptions = {},
): Promise<TensorDataset<[Tensor, Tensor]>> {
  const prefix = join(pathOf("mnist", "folder", folder), train ? "train" : "t10k");
  const [imagesPath, labelsPath] = [`${prefix}-images-idx3-ubyte`, `${prefix}-labels-idx1-ubyte`];
  const hint =
    "The folder holds the four files of MNIST, each as it is or as .gz: train-images-idx3-ubyte, train-labels-idx1-ubyte, and those of t10k.";
  const read = async (path: string): Promise<IdxData> => {
    const isPacked = !(await isThere(path)) && (await isThere(`${path}.gz`));
    const source = isPacked ? `${path}.gz` : path;
    return contentOf(await readWhole("mnist", source, MAX_BYTES, hint), source);
  };
  const images = await read(imagesPath);
  const labels = await read(labelsPath);
  const count = images.shape[0] ?? 0;
  if (images.dtype !== "uint8" || images.shape.length !== 3 || images.shape[1] !== 28 || images.shape[2] !== 28)
    throw new FormatError("mnist", imagesPath, "images of 28 x 28 bytes", `${images.dtype}[${images.shape.join(", ")}]`);
  if (labels.dtype !== "uint8" || labels.shape.length !== 1 || labels.shape[0] !== count)
    throw new FormatError("mnist", labelsPath, `${count} labels, one for each image`, `${labels.dtype}[${labels.shape.join(", ")}]`);
  const wrong = (labels.data as Uint8Array).findIndex((v) => v > 9);
  if (wrong >= 0) throw new FormatError("mnist", labelsPath, "digits from 0 to 9", `${String(labels.data[wrong])} at ${wrong}`);
  const n = Math.min(count, limit ?? count);
  const [x, y] = scope((): [Tensor, Tensor] => [
    reshape(div(toDType(tensor((images.data as Uint8Array).subarray(0, n * 784), { device }), "float32"), 255), [n, 1, 28, 28]),
    tensor(Int32Array.from((labels.data as Uint8Array).subarray(0, n)), { device }),
  ]);
  return new TensorDataset(x, y);
}
