/** PyTorch's rules of dtypes, complex ones included. */
import { COMPLEX, ComplexTensor, REAL, type ComplexDType } from "../core/complex-tensor.ts";
import { isFloat, promoteTypes as promoted, resultType as resultOf, type DType, type Operand } from "../core/dtype.ts";
import { DTypeError } from "../core/errors.ts";
import type { Arithmetic } from "../ops/elementwise/binary.ts";
import { canCast as castable } from "../ops/elementwise/promotion.ts";
import { Tensor } from "../core/tensor.ts";
import type { ComplexNumber } from "./arithmetic.ts";

type AnyDType = DType | ComplexDType;

const isComplexType = (dtype: AnyDType): dtype is ComplexDType => dtype in REAL;
const realOf = (dtype: AnyDType): DType => (isComplexType(dtype) ? REAL[dtype] : dtype);

function complexOf(operation: string, dtype: DType): ComplexDType {
  const complex = COMPLEX[isFloat(dtype) ? dtype : "float32"];
  if (complex === undefined) throw new DTypeError(operation, "dtypes", "ones whose complex dtype is complex32 or complex64", dtype);
  return complex;
}

/** The dtype of an operation over two dtypes. Reference: torch.promote_types. */
export function promoteTypes(a: DType, b: DType): DType;
export function promoteTypes(a: AnyDType, b: AnyDType): AnyDType;
export function promoteTypes(a: AnyDType, b: AnyDType): AnyDType {
  const real = promoted(realOf(a), realOf(b));
  return isComplexType(a) || isComplexType(b) ? complexOf("promoteTypes", real) : real;
}

/** The dtype of an operation over tensors and numbers. Reference: torch.result_type. */
export function resultType(...values: readonly Arithmetic[]): DType;
export function resultType(...values: readonly (Arithmetic | ComplexTensor | ComplexNumber)[]): AnyDType;
export function resultType(...values: readonly (Arithmetic | ComplexTensor | ComplexNumber)[]): AnyDType {
  let complex = false;
  const real = resultOf(
    values.map((v): Operand => {
      if (v instanceof Tensor || typeof v !== "object") return v;
      complex = true;
      // A pair of numbers counts as a number that is not whole.
      return v instanceof ComplexTensor ? v.re : 0.5;
    }),
  );
  return complex ? complexOf("resultType", real) : real;
}

/**
 * Whether values of one dtype may be written into another in place: complex numbers into none of real ones, floats into no integer,
 * numbers into no bool. Reference: torch.can_cast.
 */
export const canCast = (from: AnyDType, to: AnyDType): boolean => isComplexType(to) || (!isComplexType(from) && castable(from, to));
