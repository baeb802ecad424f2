/** Typed arrays in checkpoints: by which dtype their elements are stored, and how they are made of bytes. Pure. */
import type { DType } from "../../core/dtype.ts";

interface ArrayType {
  readonly dtype: DType;
  readonly make: (buffer: ArrayBuffer) => ArrayBufferView | ArrayBuffer;
}

const typed = (dtype: DType, type: new (buffer: ArrayBuffer) => ArrayBufferView): ArrayType => ({
  dtype,
  make: (buffer) => new type(buffer),
});

const types = new Map<string, ArrayType>([
  ["Float32Array", typed("float32", Float32Array)],
  ["Float64Array", typed("float64", Float64Array)],
  ["Int8Array", typed("int8", Int8Array)],
  ["Int16Array", typed("int16", Int16Array)],
  ["Int32Array", typed("int32", Int32Array)],
  ["BigInt64Array", typed("int64", BigInt64Array)],
  ["Uint8Array", typed("uint8", Uint8Array)],
  ["Uint8ClampedArray", typed("uint8", Uint8ClampedArray)],
  ["Uint16Array", typed("uint16", Uint16Array)],
  ["Uint32Array", typed("uint32", Uint32Array)],
  ["BigUint64Array", typed("uint64", BigUint64Array)],
  ["DataView", typed("uint8", DataView)],
  ["ArrayBuffer", { dtype: "uint8", make: (buffer) => buffer }],
]);
/** Node has it from version 24 on. */
const half = (globalThis as { Float16Array?: new (buffer: ArrayBuffer) => ArrayBufferView }).Float16Array;
if (half !== undefined) types.set("Float16Array", typed("float16", half));

/** The class of a name, as a checkpoint names it; undefined for one that this Node lacks. */
export const arrayType = (name: string): ArrayType | undefined => types.get(name);

export const isArray = (value: object): value is ArrayBufferView | ArrayBufferLike =>
  ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer;

/** Its class's name, "Uint8Array" for a Buffer, and its bytes, which it shares. */
export function entryTypeOf(array: ArrayBufferView | ArrayBufferLike): { readonly type: string; readonly bytes: Uint8Array } {
  if (!ArrayBuffer.isView(array)) return { type: "ArrayBuffer", bytes: new Uint8Array(array) };
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  // A subclass is stored as the class that it is made of.
  let prototype: unknown = Object.getPrototypeOf(array);
  for (; prototype !== null; prototype = Object.getPrototypeOf(prototype)) {
    const { name } = (prototype as object).constructor;
    if (types.has(name)) return { type: name, bytes };
  }
  return { type: "Uint8Array", bytes };
}
