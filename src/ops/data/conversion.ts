/** Dtype and device conversion, reading elements. */
import { castShader } from "../../shader/kernels/select.ts";
import { call } from "../../dispatch/dispatch.ts";
import { deviceNames, type DeviceLike } from "../../core/device.ts";
import {
  DTYPES,
  arrayClass,
  dtypeNamed,
  fromBfloat16,
  fromHalf,
  isDType,
  isFloat,
  isInteger,
  resultType,
  type ArrayOf,
  type DType,
  type TypedArray,
} from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { readBytes, readBytesInto, readBytesSync } from "../../runtime/buffers.ts";
import { contiguousOp } from "../../runtime/assign.ts";
import { requireDevice, nativeDevice } from "../../runtime/devices.ts";
import { transfer } from "../../runtime/transfer.ts";
import type { Tensor } from "../../core/tensor.ts";
import { noGrad, isGradEnabled } from "../../autograd/grad-mode.ts";
import { TapeNode } from "../../autograd/tape.ts";
import { requireElements } from "../../runtime/meta.ts";
import { requireReal } from "../../runtime/traced.ts";
import { tracer } from "../../core/tracer.ts";
import { cast, whole } from "../declare/support.ts";
import { define } from "../../core/definition.ts";

/** x in another dtype, element by element. DirectML: CAST. Reference: torch.Tensor.to. @package */
export const castOp = define<{ readonly dtype: DType }>({
  name: "to",
  traits: { elementwise: true, carries: true },
  infer: ([x], { dtype }) => [{ shape: x!.shape, dtype }],
  lower: (g, [x], { dtype }) => [
    castShader(g, x!, dtype) ??
      (isFloat(x!.dtype) && isInteger(dtype) ? whole(g, x!.dtype === "float64" ? x! : cast(g, x!, "float32"), dtype) : cast(g, x!, dtype)),
  ],
  grad: (dy, { specs: [x] }) => [toDType(dy, x!.dtype)],
  saves: { inputs: [], outputs: false },
});

/** The tensor with packed elements: itself when it is so already. */
export const contiguous = (x: Tensor): Tensor => (x.desc.isPacked ? x : call(contiguousOp, [x], undefined));

/** The tensor in another dtype: itself when it has it. @package */
export function toDType(x: Tensor, dtype: DType): Tensor {
  if (!isDType(dtype)) throw new DTypeError("to", "dtype", `one of ${Object.keys(DTYPES).join(", ")}`, dtype);
  return x.dtype === dtype ? x : call(castOp, [x], { dtype });
}

/**
 * A composition that PyTorch has as one kernel: with bfloat16 as the dtype of its tensors together it is computed in float32 and rounded
 * once. @package
 */
export function roundedOnce(tensors: readonly Tensor[], compute: (...wide: Tensor[]) => Tensor): Tensor {
  const dtype = resultType(tensors);
  if (dtype !== "bfloat16") return compute(...tensors);
  return toDType(compute(...tensors.map((t) => (isFloat(t.dtype) ? toDType(t, "float32") : t))), dtype);
}

/** The tensor itself if its elements are real numbers, else in float32. @package */
export const asFloat = (x: Tensor): Tensor => (isFloat(x.dtype) ? x : toDType(x, "float32"));

/** The tensor on another device (itself when it is there), in another dtype, or both. */
export function to(x: Tensor, target: DeviceLike | DType): Tensor {
  if (isDType(target)) return toDType(x, target);
  const meant = typeof target === "string" ? dtypeNamed(target) : undefined;
  if (meant !== undefined)
    throw new DTypeError(
      "to",
      "target",
      `a dtype's name, or a device: ${deviceNames((k) => k.hasElements)}`,
      target,
      `Did you mean ${meant}?`,
    );
  const d = requireDevice("to", target);
  x.requireLive("to");
  if (d === x.device) return x;
  tracer()?.read("to", x);
  requireReal("to", [x]);
  const moved = transfer(x, nativeDevice(d, "to"));
  if (x.requiresGrad && isGradEnabled()) {
    const from = x.device;
    moved.node = new TapeNode("to", [x], [x.desc], [], ([dy]) => [to(dy!, from)]);
  }
  return moved;
}

interface Range {
  readonly source: Tensor;
  readonly offset: number;
  readonly size: number;
}

/** The packed bytes of a tensor, as a range of some storage. */
function rangeOf(operation: string, x: Tensor): Range {
  x.requireLive(operation);
  tracer()?.read(operation, x);
  requireElements(operation, x);
  requireReal(operation, [x]);
  const source = noGrad(() => contiguous(x));
  const bytes = DTYPES[x.dtype].sizeInBytes;
  return { source, offset: source.offset * bytes, size: x.size * bytes };
}

/**
 * The elements in row-major order, without blocking the event loop. float16 and bfloat16 come as raw 16-bit words (see
 * toArray for numbers), bool as bytes, int64 and uint64 as BigInts. dtype: the tensor's own, which types know the array by; DTypeError for
 * another one.
 */
export const data = (x: Tensor, dtype?: DType): Promise<TypedArray> => readAs("data", x, dtype);

function requireOwn(operation: string, x: Tensor, dtype: DType | undefined): void {
  if (dtype !== undefined && dtype !== x.dtype)
    throw new DTypeError(operation, "dtype", `the tensor's own (${x.dtype})`, dtype, `x.to("${dtype}") casts.`);
}

async function readAs(operation: string, x: Tensor, dtype?: DType): Promise<TypedArray> {
  requireOwn(operation, x, dtype);
  const { source, offset, size } = rangeOf(operation, x);
  const reading =
    size === 0 ? Promise.resolve(new ArrayBuffer(0)) : readBytes(nativeDevice(x.device), source.storage.handle, offset, size, operation);
  if (source !== x) source.dispose();
  return new (arrayClass(x.dtype))(await reading, 0, x.size);
}

/** data(), blocking until the work queued before is done. */
export const dataSync = (x: Tensor, dtype?: DType): TypedArray => {
  requireOwn("dataSync", x, dtype);
  return readAsSync("dataSync", x);
};

function readAsSync(operation: string, x: Tensor): TypedArray {
  const { source, offset, size } = rangeOf(operation, x);
  const bytes = size === 0 ? new ArrayBuffer(0) : readBytesSync(nativeDevice(x.device), source.storage.handle, offset, size, operation);
  if (source !== x) source.dispose();
  return new (arrayClass(x.dtype))(bytes, 0, x.size);
}

/**
 * dataSync() into memory that exists: the elements in row-major order, written to a typed array of the tensor's dtype and size, or to a Uint8Array (a Buffer, too) of
 * its bytes, which is the result. New memory costs more than the copy: its pages are made when they are first written. Throws ValueError for another array.
 * Reference: torch.Tensor.copy_ to a tensor of the host.
 */
export function dataIntoSync<A extends TypedArray>(x: Tensor, into: A): A {
  const Own = arrayClass(x.dtype);
  const size = x.size * DTYPES[x.dtype].sizeInBytes;
  const isView = into instanceof Own || into instanceof Uint8Array;
  if (!isView || into.byteLength !== size) {
    const received = isView ? `${into.constructor.name} of ${into.byteLength} bytes` : into;
    throw new ValueError("dataIntoSync", "into", `a ${Own.name}, or a Uint8Array, of ${size} bytes`, received);
  }
  const { source, offset } = rangeOf("dataIntoSync", x);
  const bytes = new Uint8Array(into.buffer, into.byteOffset, size);
  if (size > 0) readBytesInto(nativeDevice(x.device), source.storage.handle, offset, bytes, "dataIntoSync");
  if (source !== x) source.dispose();
  return into;
}

/** Elements as JavaScript values: numbers, bigints for 64-bit integers, booleans for bool. @package */
export function values(dtype: DType, raw: TypedArray): (number | bigint | boolean)[] {
  if (dtype === "bool") return Array.from(raw as Uint8Array, (v) => v !== 0);
  if (dtype === "float16") return Array.from(raw as Uint16Array, fromHalf);
  if (dtype === "bfloat16") return Array.from(raw as Uint16Array, fromBfloat16);
  return Array.from(raw as ArrayLike<number | bigint>);
}

type Nested = number | bigint | boolean | Nested[];

function nest(flat: readonly (number | bigint | boolean)[], shape: readonly number[]): Nested {
  let at = 0;
  const build = (axis: number): Nested =>
    axis === shape.length ? flat[at++]! : Array.from({ length: shape[axis]! }, () => build(axis + 1));
  return build(0);
}

/** The elements as nested arrays: a number for rank 0. */
export const toArray = async (x: Tensor): Promise<Nested> => nest(values(x.dtype, await readAs("toArray", x)), x.shape);

/** toArray(), blocking. */
export const toArraySync = (x: Tensor): Nested => nest(values(x.dtype, readAsSync("toArraySync", x)), x.shape);

/** toArraySync(), under PyTorch's name. Reference: torch.Tensor.tolist. */
const tolist = (x: Tensor): Nested => nest(values(x.dtype, readAsSync("tolist", x)), x.shape);

function single(operation: string, x: Tensor): void {
  if (x.size !== 1) throw new ShapeError(operation, "tensor", "of one element", x.describe());
}

/** The result of item(dtype): a bigint for 64-bit integers, else a number. */
export type ItemOf<D extends DType> = D extends "int64" | "uint64" ? bigint : number;

/** The element as item() gives it: exactly, or an error. */
function itemOf(operation: string, value: number | bigint | boolean, dtype: DType | undefined): number | bigint {
  if (typeof value !== "bigint") return Number(value);
  if (dtype !== undefined) return value;
  if (value >= -(2 ** 53) && value <= 2 ** 53) return Number(value);
  throw new ValueError(
    operation,
    "tensor",
    "of an integer that a number holds exactly (up to 2^53)",
    value,
    `${operation}("int64") gives a bigint.`,
  );
}

/**
 * The one element as a number (booleans as 0 and 1). dtype: the tensor's own, which types know the result by: item("int64") is a bigint.
 * Throws ShapeError for other sizes, DTypeError for another dtype, and without a dtype ValueError for 64-bit integers beyond 2^53, of which
 * a number has not all digits. Reference: torch.Tensor.item.
 */
export function item(x: Tensor): Promise<number>;
export function item<D extends DType>(x: Tensor, dtype: D): Promise<ItemOf<D>>;
export async function item(x: Tensor, dtype?: DType): Promise<number | bigint> {
  requireOwn("item", x, dtype);
  single("item", x);
  return itemOf("item", values(x.dtype, await readAs("item", x))[0]!, dtype);
}

/** item(), blocking. */
export function itemSync(x: Tensor): number;
export function itemSync<D extends DType>(x: Tensor, dtype: D): ItemOf<D>;
export function itemSync(x: Tensor, dtype?: DType): number | bigint {
  requireOwn("itemSync", x, dtype);
  single("itemSync", x);
  return itemOf("itemSync", values(x.dtype, readAsSync("itemSync", x))[0]!, dtype);
}

/** The number of elements. Reference: torch.numel. */
const numel = (x: Tensor): number => x.size;

/** The tensor in float32. Reference: torch.Tensor.float. */
const float = (x: Tensor): Tensor => toDType(x, "float32");
/** The tensor in float16. Reference: torch.Tensor.half. */
const half = (x: Tensor): Tensor => toDType(x, "float16");
/** The tensor in float64. Reference: torch.Tensor.double. */
const double = (x: Tensor): Tensor => toDType(x, "float64");
/** The tensor in int32. Reference: torch.Tensor.int. */
const int = (x: Tensor): Tensor => toDType(x, "int32");
/** The tensor in int64. Reference: torch.Tensor.long. */
const long = (x: Tensor): Tensor => toDType(x, "int64");
/** The tensor in bool. Reference: torch.Tensor.bool. */
const bool = (x: Tensor): Tensor => toDType(x, "bool");
/** The number of axes. */
const dim = (x: Tensor): number => x.rank;

export const methods = {
  to,
  contiguous,
  numel,
  dim,
  tolist,
  float,
  half,
  double,
  int,
  long,
  bool,

  toArray,
  toArraySync,
};
export const overloaded = { data, dataSync, dataIntoSync, item, itemSync };

declare module "../../core/tensor.ts" {
  interface Tensor {
    /**
     * The elements in row-major order, without blocking the event loop: data("int32") is an Int32Array to the types, too. float16 and
     * bfloat16 come as raw 16-bit words (see toArray for numbers), bool as bytes, int64 and uint64 as BigInts. Throws DTypeError for a dtype
     * that is not the tensor's.
     */
    data(): Promise<TypedArray>;
    data<D extends DType>(dtype: D): Promise<ArrayOf[D]>;
    /** data(), blocking until the work queued before is done. */
    dataSync(): TypedArray;
    dataSync<D extends DType>(dtype: D): ArrayOf[D];
    /**
     * dataSync() into memory that exists: the elements in row-major order, written to a typed array of the tensor's dtype and size, or to a Uint8Array (a Buffer, too)
     * of its bytes, which is the result. New memory costs more than the copy. Throws ValueError for another array. Reference: torch.Tensor.copy_ to a tensor of the
     * host.
     */
    dataIntoSync<A extends TypedArray>(into: A): A;
    /**
     * The one element as a number (booleans as 0 and 1). dtype: the tensor's own, which types know the result by: item("int64") is a bigint.
     * Throws ShapeError for other sizes, DTypeError for another dtype, and without a dtype ValueError for 64-bit integers beyond 2^53, of
     * which a number has not all digits. Reference: torch.Tensor.item.
     */
    item(): Promise<number>;
    item<D extends DType>(dtype: D): Promise<ItemOf<D>>;
    /** item(), blocking. */
    itemSync(): number;
    itemSync<D extends DType>(dtype: D): ItemOf<D>;
  }
}
