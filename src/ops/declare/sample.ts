/** Calls of an operation on which devices are judged. A family's `samples` are cases of `dxtensor verify`. */
import type { DType } from "../../core/dtype.ts";
import type { Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";

/** How exact results are: what src/verify/values/tolerances.ts allows each kind. */
export type Exactness = "exact" | "rounded" | "function" | "periodic" | "arc" | "sum" | "composed" | "normalized" | "trained";

export interface Argument {
  readonly shape: Shape;
  readonly dtype: DType;
  /** Values are eighths from low to high; integers for integers. */
  readonly low: number;
  readonly high: number;
  /** No two equal, for maxima and sorting. */
  readonly distinct: boolean;
}

export interface Sample {
  readonly name: string;
  readonly inputs: readonly Argument[];
  readonly run: (...inputs: Tensor[]) => Tensor | readonly Tensor[];
  readonly kind: Exactness;
}

export const real = (shape: Shape, low = -2, high = 2): Argument => ({ shape, dtype: "float32", low, high, distinct: false });
export const half = (shape: Shape, low = -2, high = 2): Argument => ({ shape, dtype: "float16", low, high, distinct: false });
export const distinct = (shape: Shape, dtype: DType = "float32"): Argument => ({ shape, dtype, low: -2, high: 2, distinct: true });
export const whole = (shape: Shape, low = -9, high = 9, dtype: DType = "int32"): Argument => ({ shape, dtype, low, high, distinct: false });

/** A call, and how exact its results are. */
export const sample = (kind: Exactness, name: string, inputs: readonly Argument[], run: Sample["run"]): Sample => ({
  name,
  inputs,
  run,
  kind,
});
