/** Numbers as the bytes of a dtype. */
import { DTYPES, arrayClass, toBfloat16, toHalf, type DType, type TypedArray } from "./dtype.ts";
import { DTypeError } from "./errors.ts";

type Scalar = number | bigint | boolean;

const LARGEST: { readonly [K in DType]?: number } = { float32: 3.4028234663852886e38, float16: 65504, bfloat16: 3.3895313892515355e38 };

/** The largest finite number of a floating dtype. */
export const largestOf = (dtype: DType): number => LARGEST[dtype] ?? Number.MAX_VALUE;

/**
 * Whether a dtype can represent a number once its fraction is truncated, as PyTorch decides it: infinities and NaN belong to floating dtypes alone,
 * everything to bool, and unsigned dtypes take a negative integer by its low bits (-1 is 255 in uint8).
 */
export function canRepresent(dtype: DType, value: Scalar): boolean {
  const { kind, sizeInBytes, isSigned } = DTYPES[dtype];
  if (typeof value === "boolean" || kind === "bool") return true;
  if (kind === "float") {
    if (typeof value === "number" && !Number.isFinite(value)) return true;
    return Math.abs(Number(value)) <= largestOf(dtype);
  }
  const end = 2 ** (8 * sizeInBytes - (isSigned ? 1 : 0));
  if (isSigned) return value < end && value >= -end;
  return value < end && (typeof value === "bigint" || Number.isInteger(value) ? value > -end : value >= 0);
}

/** The smallest and the largest number of an integer dtype. */
export function rangeOf(dtype: DType): readonly [min: bigint, max: bigint] {
  const { sizeInBytes, isSigned } = DTYPES[dtype];
  const end = 1n << BigInt(8 * sizeInBytes - (isSigned ? 1 : 0));
  return [isSigned ? -end : 0n, end - 1n];
}

/** Throws DTypeError unless the dtype can represent the number. */
export function requireRepresentable(operation: string, argument: string, dtype: DType, value: Scalar): void {
  if (!canRepresent(dtype, value)) throw notRepresentable(operation, argument, dtype, value);
}

export const notRepresentable = (operation: string, argument: string, dtype: DType, value: unknown): DTypeError =>
  new DTypeError(operation, argument, `a number that ${dtype} can represent`, value);

/**
 * Throws DTypeError for an integer beyond 64 bits, which no dtype represents. Operands of arithmetic may be outside the range of a shorter dtype: they wrap, as
 * in PyTorch.
 */
export function requireOperand(dtype: DType, value: Scalar): void {
  if (typeof value === "boolean" || DTYPES[dtype].kind !== "int") return;
  if (!(value >= -(2 ** 63) && value < 2 ** 64)) throw notRepresentable("number", "operand", "int64", value);
}

/** A JavaScript number as an element of a typed array of the dtype. */
export function element(dtype: DType, value: Scalar): number | bigint {
  switch (dtype) {
    case "float16":
      return toHalf(Number(value));
    case "bfloat16":
      return toBfloat16(Number(value));
    case "bool":
      return value || Number.isNaN(value) ? 1 : 0;
    case "int64":
      return BigInt.asIntN(64, typeof value === "bigint" ? value : BigInt(Math.trunc(Number(value))));
    case "uint64":
      return BigInt.asUintN(64, typeof value === "bigint" ? value : BigInt(Math.trunc(Number(value))));
    case "float32":
    case "float64":
      return Number(value);
    default:
      // Its low bits: a number has not all digits of a BigInt.
      return Number(typeof value === "bigint" ? BigInt.asIntN(32, value) : value);
  }
}

/** Elements as a typed array of the dtype. */
export function elements(dtype: DType, values: readonly Scalar[]): TypedArray {
  const array = new (arrayClass(dtype))(values.length);
  for (let i = 0; i < values.length; i++) array[i] = element(dtype, values[i]!) as never;
  return array;
}

/** Bytes of bools: what is not 0 is 1, as everything that computes with them expects. */
export function truths(bytes: ArrayBufferView): ArrayBufferView {
  const source = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let i = 0;
  while (i < source.length && source[i]! <= 1) i++;
  if (i === source.length) return bytes;
  const made = new Uint8Array(source);
  for (; i < made.length; i++) if (made[i]! > 1) made[i] = 1;
  return made;
}
