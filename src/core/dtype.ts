/** Element types, their sizes, their DirectML types and PyTorch's promotion rules. */

import { meant } from "./did-you-mean.ts";

export type DType =
  "float32" | "float16" | "float64" | "bfloat16" | "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64" | "bool";

export type DTypeKind = "bool" | "int" | "float";

export interface DTypeInfo {
  readonly name: DType;
  readonly sizeInBytes: number;
  readonly kind: DTypeKind;
  readonly isSigned: boolean;
  /** DML_TENSOR_DATA_TYPE of the storage. */
  readonly dml: number;
  /** False for types that are only stored and cast. */
  readonly computes: boolean;
  /** Position in the promotion order. */
  readonly rank: number;
}

const info = (
  name: DType,
  sizeInBytes: number,
  kind: DTypeKind,
  isSigned: boolean,
  dml: number,
  rank: number,
  computes = true,
): DTypeInfo => ({ name, sizeInBytes, kind, isSigned, dml, computes, rank });

export const DTYPES: { readonly [K in DType]: DTypeInfo } = {
  bool: info("bool", 1, "bool", false, 5, 0),
  uint8: info("uint8", 1, "int", false, 5, 1),
  int8: info("int8", 1, "int", true, 8, 2),
  uint16: info("uint16", 2, "int", false, 4, 3),
  int16: info("int16", 2, "int", true, 7, 4),
  uint32: info("uint32", 4, "int", false, 3, 5),
  int32: info("int32", 4, "int", true, 6, 6),
  uint64: info("uint64", 8, "int", false, 10, 7),
  int64: info("int64", 8, "int", true, 11, 8),
  float16: info("float16", 2, "float", true, 2, 9),
  bfloat16: info("bfloat16", 2, "float", true, 4, 9),
  float32: info("float32", 4, "float", true, 1, 10),
  float64: info("float64", 8, "float", true, 9, 11, false),
};

export const isDType = (value: unknown): value is DType => typeof value === "string" && Object.hasOwn(DTYPES, value);
/** Names of dtypes elsewhere. */
const called: { readonly [name: string]: DType } = {
  float: "float32",
  f32: "float32",
  fp32: "float32",
  single: "float32",
  number: "float32",
  half: "float16",
  f16: "float16",
  fp16: "float16",
  bf16: "bfloat16",
  double: "float64",
  f64: "float64",
  fp64: "float64",
  int: "int32",
  i32: "int32",
  integer: "int32",
  long: "int64",
  i64: "int64",
  bigint: "int64",
  short: "int16",
  byte: "uint8",
  u8: "uint8",
  char: "int8",
  boolean: "bool",
};

/** The dtype that is called so elsewhere ("fp16", "torch.half"), or undefined. */
export const dtypeNamed = (name: string): DType | undefined => {
  const key = name.toLowerCase().replace(/^torch\.|array$/g, "");
  return Object.hasOwn(called, key) ? called[key] : undefined;
};

/** "Did you mean float16?" for a name that is no dtype's, or undefined. */
export function dtypeMeant(name: string): string | undefined {
  const known = dtypeNamed(name);
  return known === undefined ? meant(name, Object.keys(DTYPES)) : `Did you mean ${known}?`;
}

export const isFloat = (dtype: DType): boolean => DTYPES[dtype].kind === "float";
/** Half of float32: where a composition rounds several times, PyTorch rounds once. */
export const isHalf = (dtype: DType): boolean => dtype === "float16" || dtype === "bfloat16";
export const isInteger = (dtype: DType): boolean => DTYPES[dtype].kind === "int";

const KIND_ORDER: { readonly [K in DTypeKind]: number } = { bool: 0, int: 1, float: 2 };

/** The dtype of an operation over two dtypes (PyTorch's promote_types). */
export function promoteTypes(a: DType, b: DType): DType {
  if (a === b) return a;
  const x = DTYPES[a];
  const y = DTYPES[b];
  if (x.kind !== y.kind) return KIND_ORDER[x.kind] > KIND_ORDER[y.kind] ? a : b;
  if (x.kind === "float") return x.rank === y.rank ? "float32" : x.rank > y.rank ? a : b; // float16 with bfloat16
  if (x.isSigned === y.isSigned) return x.sizeInBytes > y.sizeInBytes ? a : b;
  const signed = x.isSigned ? x : y;
  const unsigned = x.isSigned ? y : x;
  if (signed.sizeInBytes > unsigned.sizeInBytes) return signed.name;
  return unsigned.sizeInBytes === 1 ? "int16" : unsigned.sizeInBytes === 2 ? "int32" : "int64";
}

/** What takes part in a promotion: a tensor (or what is known of one), or a JavaScript scalar. */
export type Operand = { readonly dtype: DType; readonly shape: readonly number[] } | number | bigint | boolean;

type Level = "tensor" | "rank0" | "scalar";
const levelOf = (o: Operand): Level => (typeof o !== "object" ? "scalar" : o.shape.length === 0 ? "rank0" : "tensor");

/** The dtype of an operation over operands (PyTorch's result_type): tensors with axes come before rank-0 tensors, these before scalars. */
export function resultType(operands: readonly Operand[]): DType {
  let result: DType | null = null;
  for (const level of ["tensor", "rank0", "scalar"] as const) {
    let here: DType | null = null;
    for (const o of operands) {
      if (levelOf(o) !== level) continue;
      const dtype = typeof o === "object" ? o.dtype : scalarType(o);
      here = here === null ? dtype : promoteTypes(here, dtype);
    }
    if (here === null) continue;
    if (result === null) result = here;
    else if (KIND_ORDER[DTYPES[here].kind] > KIND_ORDER[DTYPES[result].kind])
      result = level === "scalar" && here === "float32" && isFloat(result) ? result : here;
  }
  return result ?? "float32";
}

/** The dtype that a JavaScript scalar stands for: bool, int64 for bigints and integers of at most 64 bits, else float32. */
export function scalarType(value: number | bigint | boolean): DType {
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" || (Number.isInteger(value) && value < 2 ** 64 && value >= -(2 ** 63)) ? "int64" : "float32";
}

/** The typed arrays that tensors are made of and read into. */
export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

interface ArrayClass {
  new (length: number): TypedArray;
  new (buffer: ArrayBuffer, byteOffset?: number, length?: number): TypedArray;
}

/** The typed array of each dtype, as arrayClass() gives it. */
export interface ArrayOf {
  /** The elements. */
  readonly float32: Float32Array;
  /** The elements. */
  readonly float64: Float64Array;
  /** The elements' 16 bits each. */
  readonly float16: Uint16Array;
  /** The elements' 16 bits each. */
  readonly bfloat16: Uint16Array;
  /** The elements. */
  readonly int8: Int8Array;
  /** The elements. */
  readonly int16: Int16Array;
  /** The elements. */
  readonly int32: Int32Array;
  /** The elements as BigInts. */
  readonly int64: BigInt64Array;
  /** The elements. */
  readonly uint8: Uint8Array;
  /** The elements. */
  readonly uint16: Uint16Array;
  /** The elements. */
  readonly uint32: Uint32Array;
  /** The elements as BigInts. */
  readonly uint64: BigUint64Array;
  /** 0 for false, 1 for true. */
  readonly bool: Uint8Array;
}

/** The typed array of a dtype's elements; float16 and bfloat16 as raw 16-bit words, bool as bytes. */
export function arrayClass(dtype: DType): ArrayClass {
  switch (dtype) {
    case "float32":
      return Float32Array as unknown as ArrayClass;
    case "float64":
      return Float64Array as unknown as ArrayClass;
    case "int8":
      return Int8Array as unknown as ArrayClass;
    case "int16":
      return Int16Array as unknown as ArrayClass;
    case "int32":
      return Int32Array as unknown as ArrayClass;
    case "int64":
      return BigInt64Array as unknown as ArrayClass;
    case "uint8":
    case "bool":
      return Uint8Array as unknown as ArrayClass;
    case "uint16":
    case "float16":
    case "bfloat16":
      return Uint16Array as unknown as ArrayClass;
    case "uint32":
      return Uint32Array as unknown as ArrayClass;
    case "uint64":
      return BigUint64Array as unknown as ArrayClass;
    default:
      return dtype satisfies never;
  }
}

/** The dtype of a typed array's elements; Uint8ClampedArray is uint8. */
export function dtypeOfArray(array: ArrayBufferView): DType | null {
  if (array instanceof Float32Array) return "float32";
  if (array instanceof Float64Array) return "float64";
  if (array instanceof Int8Array) return "int8";
  if (array instanceof Int16Array) return "int16";
  if (array instanceof Int32Array) return "int32";
  if (array instanceof BigInt64Array) return "int64";
  if (array instanceof Uint8Array || array instanceof Uint8ClampedArray) return "uint8";
  if (array instanceof Uint16Array) return "uint16";
  if (array instanceof Uint32Array) return "uint32";
  if (array instanceof BigUint64Array) return "uint64";
  return null;
}

const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);

/** A number as the nearest float16 (ties to even), as a 16-bit word. */
export function toHalf(value: number): number {
  f32[0] = value;
  const bits = u32[0]!;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = (bits >>> 23) & 0xff;
  if (exponent === 255) return sign | 0x7c00 | ((bits & 0x7fffff) !== 0 ? 0x200 : 0);
  // Scaled so that float32 arithmetic itself rounds to float16's last digit.
  const magnitude = Math.abs(f32[0]!);
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < 2 ** -14) return sign | roundEven(magnitude * 2 ** 24);
  const e = exponent - 127;
  const word = roundEven((magnitude / 2 ** e) * 1024);
  return sign | (((e + 15) << 10) + (word - 1024));
}

function roundEven(x: number): number {
  const low = Math.floor(x);
  const rest = x - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
}

export function fromHalf(word: number): number {
  const sign = (word & 0x8000) !== 0 ? -1 : 1;
  const exponent = (word >> 10) & 31;
  const mantissa = word & 1023;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  if (exponent === 31) return mantissa !== 0 ? NaN : sign * Infinity;
  return sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}

/** A number as the nearest bfloat16 (ties to even), as a 16-bit word. */
export function toBfloat16(value: number): number {
  f32[0] = value;
  const bits = u32[0]!;
  if (Number.isNaN(value)) return (bits >>> 16) | 0x40;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

export function fromBfloat16(word: number): number {
  u32[0] = word << 16;
  return f32[0]!;
}

/** Bytes of a packed tensor, rounded up to 4. */
export function packedBytes(dtype: DType, sizes: readonly number[]): number {
  let n = DTYPES[dtype].sizeInBytes;
  for (const d of sizes) n *= d;
  return Math.ceil(n / 4) * 4;
}

/** The name of DML_TENSOR_DATA_TYPE for attributes such as valueDataType. */
export function dataTypeName(
  dtype: DType,
): "FLOAT32" | "FLOAT16" | "FLOAT64" | "INT8" | "INT16" | "INT32" | "INT64" | "UINT8" | "UINT16" | "UINT32" | "UINT64" {
  if (dtype === "bool") return "UINT8";
  if (dtype === "bfloat16") return "UINT16";
  return dtype.toUpperCase() as ReturnType<typeof dataTypeName>;
}
