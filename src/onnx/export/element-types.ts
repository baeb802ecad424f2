import type { DType } from "../../core/dtype.ts";

/** TensorProto.DataType of each dtype. */
export const ELEMENT_TYPES: Readonly<Record<DType, number>> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  float64: 11,
  uint32: 12,
  uint64: 13,
  bfloat16: 16,
};
