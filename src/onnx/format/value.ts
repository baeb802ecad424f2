/** Values on a graph's edges: tensors, constants known on the host, sequences, and absent values. */
import type { Device } from "../../core/device.ts";
import { arrayClass, DTYPES, type DType, type TypedArray } from "../../core/dtype.ts";
import { DisposedError, UnsupportedError } from "../../core/errors.ts";
import { Filling } from "../../runtime/filling.ts";
import { fromBytes } from "../../ops/creation/creation.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { values } from "../../ops/data/conversion.ts";
import { clone } from "../../ops/data/state.ts";
import { nativeDevice } from "../../runtime/devices.ts";
import { ordinary } from "../../core/inference.ts";
import { outsideScopes } from "../../core/scope.ts";
import { sizeOf, type Shape } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { tracer, withTracer } from "../../core/tracer.ts";
import { narrowType, type NarrowType } from "./narrow-types.ts";

/** Constants of so many elements or fewer stay on the host: they are computed with when they are first met. */
export const KEPT = 4096;

/** Hands over elements that lie in a file, piece by piece: the offset in bytes, and the bytes. */
export type Pieces = (take: (offset: number, bytes: Uint8Array) => void) => void;

/** Elements whose values are known without asking a device: initializers, constants, shapes. */
export class Constant {
  readonly dtype: DType;
  readonly shape: Shape;
  /** Whether it belongs to a model, and is disposed of with it. A larger one then lies on the device alone. */
  isOwned = false;
  /** The type that its file says, where that is none of ours. */
  readonly narrow: NarrowType | null;
  /** Whether it is a parameter, whose elements may change: nodes over it are not computed ahead. */
  isParameter = false;
  /** Whether code has asked for its elements, so that programs may contain them. */
  isRead = false;
  #data: TypedArray | null;
  #pieces: Pieces | null;
  /** Whether the pieces refer to memory that the caller owns and may write to after the load. */
  #isLent = false;
  /** Where a model keeps it; null: nowhere yet. */
  #tensor: Tensor | null = null;
  /** Copies on other devices. */
  #elsewhere: Map<Device, Tensor> | null = null;

  constructor(dtype: DType, shape: Shape, data: TypedArray | Pieces, narrow: NarrowType | null = null) {
    this.dtype = dtype;
    this.shape = shape;
    this.narrow = narrow;
    this.#data = typeof data === "function" ? null : data;
    this.#pieces = typeof data === "function" ? data : null;
  }

  /** Integers as an int64 vector, as shapes are. */
  static integers(list: readonly number[]): Constant {
    return new Constant(
      "int64",
      [list.length],
      BigInt64Array.from(list, (n) => BigInt(n)),
    );
  }

  /** Floats in bytes of the caller's, which nobody changes until they are uploaded. */
  static lent(dtype: DType, shape: Shape, bytes: Uint8Array): Constant {
    const made = new Constant(dtype, shape, (take) => take(0, bytes));
    made.#isLent = true;
    return made;
  }

  static scalar(dtype: DType, value: number | bigint): Constant {
    const data = new (arrayClass(dtype))(1);
    (data as { [i: number]: number | bigint })[0] = value;
    return new Constant(dtype, [], data);
  }

  get size(): number {
    return sizeOf(this.shape);
  }

  /** The elements; of a parameter and of a large weight they are read back from the device, or from their file. */
  get data(): TypedArray {
    const own = this.#tensor;
    if (own !== null) this.isRead = true;
    if (this.#data !== null && !this.isParameter) return this.#data;
    if (own !== null && !own.isDisposed) return withTracer(null, () => own.dataSync());
    if (this.#pieces === null) throw new DisposedError("onnx", "weight", "one of a model that is not disposed of", this.describe());
    const bytes = new Uint8Array(byteLength(this.dtype, this.shape));
    this.#pieces((offset, piece) => bytes.set(piece, offset));
    return new (arrayClass(this.dtype))(bytes.buffer, 0, this.size);
  }

  describe(): string {
    return `${this.dtype}[${this.shape.join(", ")}]`;
  }

  /** On a device. Those of a model are kept there, and large ones leave the host; others are as any tensor that a call makes. */
  on(device: Device): Tensor {
    const own = this.#tensor;
    if (own !== null && (this.isParameter || (own.device === device && !own.isDisposed))) return own;
    const copy = this.#elsewhere?.get(device);
    if (copy !== undefined && !copy.isDisposed) return copy;
    if (!this.isOwned || tracer() !== null) return fromBytes("onnx", device, this.dtype, this.shape, this.data);
    const t = outsideScopes(() => ordinary(() => this.#uploaded(device)));
    if (own === null || own.isDisposed) this.#tensor = t;
    else (this.#elsewhere ??= new Map<Device, Tensor>()).set(device, t);
    if (this.size > KEPT) this.#data = null;
    if (this.#isLent) this.#pieces = null;
    return t;
  }

  /** Where a model keeps it; null: nowhere. */
  get tensor(): Tensor | null {
    return this.#tensor;
  }

  /** Has this tensor's elements from now on. */
  show(tensor: Tensor): void {
    this.#tensor = tensor;
    this.#data = null;
  }

  /** Of the same elements, with a tensor of its own. */
  copy(): Constant {
    const made = new Constant(this.dtype, this.shape, this.#data ?? this.#pieces ?? new (arrayClass(this.dtype))(0), this.narrow);
    const own = this.#tensor;
    if (own !== null) {
      const tensor = outsideScopes(() => ordinary(() => noGrad(() => clone(own))));
      const data = this.isParameter ? null : this.#data;
      made.show(tensor);
      made.#data = data;
    }
    return made;
  }

  #uploaded(device: Device): Tensor {
    if (this.#data !== null || this.#pieces === null) return fromBytes("onnx", device, this.dtype, this.shape, this.data);
    const filling = new Filling("onnx", nativeDevice(device, "onnx"), this.dtype, this.shape);
    try {
      this.#pieces((offset, bytes) => filling.write(offset, bytes));
    } catch (error) {
      filling.tensor.dispose();
      throw error;
    }
    return filling.tensor;
  }

  numbers(): number[] {
    return values(this.dtype, this.data).map(Number);
  }

  dispose(): void {
    this.#tensor?.grad?.dispose();
    this.#tensor?.dispose();
    for (const t of this.#elsewhere?.values() ?? []) t.dispose();
    this.#elsewhere = null;
  }
}

/** Texts are carried for what names them; no operator computes with them. */
export class Texts {
  readonly shape: Shape;
  readonly elements: readonly string[];
  constructor(shape: Shape, elements: readonly string[]) {
    this.shape = shape;
    this.elements = elements;
  }
}

/** A map: keys, and as many values. */
export class Pairs {
  readonly keys: readonly (string | bigint)[];
  /** Numbers [keys], or texts. */
  readonly values: Tensor | Constant | Texts;
  constructor(keys: readonly (string | bigint)[], values: Tensor | Constant | Texts) {
    this.keys = keys;
    this.values = values;
  }
}

/** null: an optional value that is not there. */
export type Value = Tensor | Constant | Texts | Pairs | readonly Value[] | null;

export const isNumeric = (v: Value | undefined): v is Tensor | Constant => v instanceof Tensor || v instanceof Constant;

export const describe = (v: Value | undefined): string => {
  if (v === null || v === undefined) return "nothing";
  if (v instanceof Texts) return `string[${v.shape.join(", ")}]`;
  if (v instanceof Pairs) return `a map of ${v.keys.length}`;
  return v instanceof Tensor || v instanceof Constant ? v.describe() : `a sequence of ${v.length}`;
};

/** TensorProto.DataType: the names of all, and our dtypes of those that we have. */
const TYPES: readonly (readonly [name: string, dtype: DType | null])[] = [
  ["undefined", null],
  ["float", "float32"],
  ["uint8", "uint8"],
  ["int8", "int8"],
  ["uint16", "uint16"],
  ["int16", "int16"],
  ["int32", "int32"],
  ["int64", "int64"],
  ["string", null],
  ["bool", "bool"],
  ["float16", "float16"],
  ["double", "float64"],
  ["uint32", "uint32"],
  ["uint64", "uint64"],
  ["complex64", null],
  ["complex128", null],
  ["bfloat16", "bfloat16"],
  ["float8e4m3fn", null],
  ["float8e4m3fnuz", null],
  ["float8e5m2", null],
  ["float8e5m2fnuz", null],
  ["uint4", null],
  ["int4", null],
  ["float4e2m1", null],
  ["float8e8m0", null],
  ["uint2", null],
  ["int2", null],
];
export const STRING = 8;

export const typeName = (type: number): string => TYPES[type]?.[0] ?? `type ${type}`;

/** Our dtype for ONNX's number of an element type, or what holds its elements. */
export function dtypeOf(type: number, where: string): DType {
  const dtype = TYPES[type]?.[1] ?? narrowType(type)?.dtype ?? null;
  if (dtype === null) throw new UnsupportedError({ operation: where, received: `elements of type ${typeName(type)}` });
  return dtype;
}

export const elementTypeOf = (dtype: DType): number => TYPES.findIndex(([, d]) => d === dtype);

export const byteLength = (dtype: DType, shape: Shape): number => sizeOf(shape) * DTYPES[dtype].sizeInBytes;
