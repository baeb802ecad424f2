/** From complex tensors to JavaScript: pairs of numbers. */
import { ComplexTensor, REAL } from "../core/complex-tensor.ts";
import type { DeviceLike } from "../core/device.ts";
import { DTypeError } from "../core/errors.ts";
import type { CloseOptions } from "../ops/elementwise/closeness.ts";
import {
  eq as same,
  isfinite as finite,
  isinf as infinite,
  isnan as nan,
  logicalAnd,
  logicalOr,
  ne as other,
  le,
} from "../ops/elementwise/compare.ts";
import * as reading from "../ops/data/conversion.ts";
import { add as plus, mul as times } from "../ops/elementwise/binary.ts";
import { alias } from "../ops/shape/movement.ts";
import { all } from "../ops/reduce/reduce.ts";
import { sameShape } from "../core/shape.ts";
import { isDType, type TypedArray } from "../core/dtype.ts";
import type { Tensor } from "../core/tensor.ts";
import { sub, type ComplexNumber } from "./arithmetic.ts";
import { abs } from "./elementary.ts";
import { fromPairs, resolved } from "./pairs.ts";
import { scope } from "../core/scope.ts";
import { noGrad } from "../autograd/grad-mode.ts";

/** Pairs [re, im] in nested arrays: one pair for rank 0. */
export type NestedPairs = ComplexNumber | readonly NestedPairs[];

const paired = (z: ComplexTensor): Tensor => noGrad(() => alias(resolved(z)));

/** Real and imaginary parts interleaved, in row-major order; complex32 as raw 16-bit words. Does not block. */
export function data(z: ComplexTensor): Promise<TypedArray> {
  const both = paired(z);
  return reading.data(both).finally(() => both.dispose());
}
/** data(), blocking. */
export const dataSync = (z: ComplexTensor): TypedArray => scope(() => reading.dataSync(paired(z)));
/** The elements as nested arrays of pairs [re, im]. */
export function toArray(z: ComplexTensor): Promise<NestedPairs> {
  const both = paired(z);
  return (reading.toArray(both) as Promise<unknown> as Promise<NestedPairs>).finally(() => both.dispose());
}
/** toArray(), blocking. */
export const toArraySync = (z: ComplexTensor): NestedPairs => scope(() => reading.toArraySync(paired(z)) as unknown as NestedPairs);
/** The one element as [re, im]. Throws ShapeError for other sizes. */
export const item = async (z: ComplexTensor): Promise<ComplexNumber> => [await reading.item(z.re), await reading.item(z.im)];
/** item(), blocking. */
export const itemSync = (z: ComplexTensor): ComplexNumber => [reading.itemSync(z.re), reading.itemSync(z.im)];

/** On another device, or in another complex dtype. */
export function to(z: ComplexTensor, target: DeviceLike): ComplexTensor {
  if (isDType(target)) throw new DTypeError("to", "target", "complex32, complex64 or a device", target, "Take real, imag or abs() first.");
  const real = typeof target === "string" && target in REAL ? REAL[target as keyof typeof REAL] : target;
  const there = reading.to(z.pairs, real);
  return there === z.pairs ? z : fromPairs(there, z.isConj);
}

const seen = (w: ComplexTensor | Tensor | number): { re: Tensor | number; im: Tensor | number } =>
  w instanceof ComplexTensor ? { re: w.re, im: w.im } : { re: w, im: 0 };
/** Whether both parts are equal, element by element. */
export const eq = (z: ComplexTensor, w: ComplexTensor | Tensor | number): Tensor =>
  logicalAnd(same(z.re, seen(w).re), same(z.im, seen(w).im));
/** Whether the elements differ, bool. Shapes broadcast. Reference: torch.ne. */
export const ne = (z: ComplexTensor, w: ComplexTensor | Tensor | number): Tensor =>
  logicalOr(other(z.re, seen(w).re), other(z.im, seen(w).im));
/** Whether either part is NaN. */
export const isnan = (z: ComplexTensor): Tensor => logicalOr(nan(z.re), nan(z.im));
/** Whether either part is infinite. */
export const isinf = (z: ComplexTensor): Tensor => logicalOr(infinite(z.re), infinite(z.im));
/** Whether both parts are finite. */
export const isfinite = (z: ComplexTensor): Tensor => logicalAnd(finite(z.re), finite(z.im));

/** |z - w| <= atol + rtol |w|, element by element; equal ones are close. */
export function isclose(z: ComplexTensor, w: ComplexTensor, { rtol = 1e-5, atol = 1e-8, equalNan = false }: CloseOptions = {}): Tensor {
  if (z.dtype !== w.dtype) throw new DTypeError("isclose", "w", `of z's dtype ${z.dtype}`, w.describe());
  const within = le(abs(sub(z, w)), plus(times(abs(w), rtol), atol));
  const close = logicalOr(eq(z, w), logicalAnd(isfinite(z), logicalAnd(isfinite(w), within)));
  return equalNan ? logicalOr(close, logicalAnd(isnan(z), isnan(w))) : close;
}
/** Whether all elements are close: reads one number back. */
export const allclose = async (z: ComplexTensor, w: ComplexTensor, options: CloseOptions = {}): Promise<boolean> =>
  Boolean(await reading.item(all(isclose(z, w, options))));
/** allclose that blocks. */
export const allcloseSync = (z: ComplexTensor, w: ComplexTensor, options: CloseOptions = {}): boolean =>
  Boolean(reading.itemSync(all(isclose(z, w, options))));
/** Whether both have one shape and equal elements: reads one number back. */
export const equal = async (z: ComplexTensor, w: ComplexTensor): Promise<boolean> =>
  sameShape(z.shape, w.shape) && Boolean(await reading.item(all(eq(z, w))));
/** equal that blocks. */
export const equalSync = (z: ComplexTensor, w: ComplexTensor): boolean =>
  sameShape(z.shape, w.shape) && Boolean(reading.itemSync(all(eq(z, w))));
