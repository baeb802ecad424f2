/** Numbers as the bytes of a dtype. */
import { arrayClass, toBfloat16, toHalf, type DType, type TypedArray } from "./dtype.ts";

/** A JavaScript number as an element of a typed array of the dtype. */
export function element(dtype: DType, value: number | bigint | boolean): number | bigint {
  switch (dtype) {
    case "float16":
      return toHalf(Number(value));
    case "bfloat16":
      return toBfloat16(Number(value));
    case "bool":
      return value ? 1 : 0;
    case "int64":
      return BigInt.asIntN(64, typeof value === "bigint" ? value : BigInt(Math.trunc(Number(value))));
    case "uint64":
      return BigInt.asUintN(64, typeof value === "bigint" ? value : BigInt(Math.trunc(Number(value))));
    default:
      return Number(value);
  }
}

/** Elements as a typed array of the dtype. */
export function elements(dtype: DType, values: readonly (number | bigint | boolean)[]): TypedArray {
  const array = new (arrayClass(dtype))(values.length);
  for (let i = 0; i < values.length; i++) array[i] = element(dtype, values[i]!) as never;
  return array;
}
