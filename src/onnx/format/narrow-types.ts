/** Element types that no dtype of ours has: each is held in one that has all of its numbers. */
import { arrayClass, type DType, type TypedArray } from "../../core/dtype.ts";
import { elements } from "../../core/elements.ts";

export interface NarrowType {
  readonly name: string;
  /** What holds its numbers. */
  readonly dtype: DType;
  readonly bits: 2 | 4 | 8;
  /** The number of a code. */
  readonly decode: (code: number) => number;
  /** Integers: the smallest and the largest. */
  readonly range: readonly [number, number] | null;
  /** Floating: bits of the fraction, the exponent of the smallest normal number, the largest number; null where nothing is rounded to it. */
  readonly float: { readonly fraction: number; readonly exponent: number; readonly max: number; readonly hasInfinity: boolean } | null;
}

const integer = (name: string, bits: 2 | 4, isSigned: boolean): NarrowType => {
  const half = 2 ** (bits - 1);
  return {
    name,
    dtype: isSigned ? "int8" : "uint8",
    bits,
    decode: (code) => (isSigned && code >= half ? code - 2 * half : code),
    range: isSigned ? [-half, half - 1] : [0, 2 * half - 1],
    float: null,
  };
};

/** A sign, an exponent with a bias, a fraction. special: the number of a code that is none of these, or null. */
function float(
  name: string,
  { bits, fraction, bias, max, hasInfinity = false }: { bits: 4 | 8; fraction: number; bias: number; max: number; hasInfinity?: boolean },
  special: (code: number) => number | null,
): NarrowType {
  const decode = (code: number): number => {
    const known = special(code);
    if (known !== null) return known;
    const size = code & (2 ** (bits - 1) - 1);
    const exponent = size >> fraction;
    const part = (size & (2 ** fraction - 1)) / 2 ** fraction;
    const number = exponent === 0 ? part * 2 ** (1 - bias) : (1 + part) * 2 ** (exponent - bias);
    return code >> (bits - 1) === 1 ? -number : number;
  };
  return { name, dtype: "float16", bits, decode, range: null, float: { fraction, exponent: 1 - bias, max, hasInfinity } };
}

const unsignedZero = (code: number): number | null => (code === 0x80 ? NaN : null);

/** By ONNX's number of the type. */
const TYPES: ReadonlyMap<number, NarrowType> = new Map([
  [17, float("float8e4m3fn", { bits: 8, fraction: 3, bias: 7, max: 448 }, (code) => ((code & 0x7f) === 0x7f ? NaN : null))],
  [18, float("float8e4m3fnuz", { bits: 8, fraction: 3, bias: 8, max: 240 }, unsignedZero)],
  [
    19,
    float("float8e5m2", { bits: 8, fraction: 2, bias: 15, max: 57344, hasInfinity: true }, (code) => {
      const size = code & 0x7f;
      return size === 0x7c ? (code > 0x7f ? -Infinity : Infinity) : size > 0x7c ? NaN : null;
    }),
  ],
  [20, float("float8e5m2fnuz", { bits: 8, fraction: 2, bias: 16, max: 57344 }, unsignedZero)],
  [21, integer("uint4", 4, false)],
  [22, integer("int4", 4, true)],
  [23, float("float4e2m1", { bits: 4, fraction: 1, bias: 1, max: 6 }, () => null)],
  [
    24,
    {
      name: "float8e8m0",
      dtype: "float32",
      bits: 8,
      decode: (code: number): number => (code === 0xff ? NaN : 2 ** (code - 127)),
      range: null,
      float: null,
    } as NarrowType,
  ],
  [25, integer("uint2", 2, false)],
  [26, integer("int2", 2, true)],
]);

/** null for a type that a dtype has, and for one that nothing holds. */
export const narrowType = (type: number): NarrowType | null => TYPES.get(type) ?? null;

/** The numbers of packed codes, the low bits first. */
export function unpackedCodes({ dtype, bits, decode }: NarrowType, bytes: Uint8Array, count: number): TypedArray {
  const mask = 2 ** bits - 1;
  const perByte = 8 / bits;
  const known = elements(
    dtype,
    Array.from({ length: mask + 1 }, (_, code) => decode(code)),
  ) as unknown as ArrayLike<number>;
  const data = new (arrayClass(dtype))(count) as unknown as { [i: number]: number };
  for (let i = 0; i < count; i++) data[i] = known[(bytes[Math.floor(i / perByte)]! >> (bits * (i % perByte))) & mask]!;
  return data as unknown as TypedArray;
}

/** Bytes of so many packed codes. */
export const packedLength = ({ bits }: NarrowType, count: number): number => Math.ceil((count * bits) / 8);
