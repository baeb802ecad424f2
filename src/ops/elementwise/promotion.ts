/** Type promotion. */
import { DTYPES, resultType as resultOf, type DType } from "../../core/dtype.ts";
import type { Arithmetic } from "./binary.ts";

/** The dtype of an operation over tensors and numbers. Reference: torch.result_type. */
export const resultType = (...values: readonly Arithmetic[]): DType => resultOf(values);

/** Whether values of one dtype may be written into another in place: floats into no integer, numbers into no bool. Reference: torch.can_cast. */
export function canCast(from: DType, to: DType): boolean {
  if (DTYPES[from].kind === "float" && DTYPES[to].kind !== "float") return false;
  return to !== "bool" || from === "bool";
}
