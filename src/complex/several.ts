/** Functions of the package that take real and complex tensors alike. */
import { ComplexTensor } from "../core/complex-tensor.ts";
import { ShapeError } from "../core/errors.ts";
import * as elementary from "../ops/elementwise/elementary.ts";
import * as join from "../ops/shape/join.ts";
import * as unary from "../ops/elementwise/unary.ts";
import * as choice from "../ops/elementwise/where.ts";
import type { Arithmetic } from "../ops/elementwise/binary.ts";
import { zerosLike } from "../ops/creation/creation.ts";
import { normalizeAxis } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import * as complex from "./elementary.ts";
import { fromPairs, fromParts, resolved } from "./pairs.ts";

/** |x|, element by element: real numbers either way. Keeps a real tensor's dtype. Reference: torch.abs. DirectML: ELEMENT_WISE_ABS. */
export const abs = (x: Tensor | ComplexTensor): Tensor => (x instanceof ComplexTensor ? complex.abs(x) : unary.abs(x));
/** The angle: of real numbers 0, π for negative ones, NaN for NaN. Integers give float32. Reference: torch.angle. */
export const angle = (x: Tensor | ComplexTensor): Tensor => (x instanceof ComplexTensor ? complex.angle(x) : elementary.angle(x));

/** The pairs of complex numbers, or of real ones. */
const pairsOf = (x: Tensor | ComplexTensor): Tensor => (x instanceof ComplexTensor ? resolved(x) : join.stack([x, zerosLike(x)], -1));
/** The axis of the pairs: each tensor's own is counted from the front. */
const along = (operation: string, xs: readonly (Tensor | ComplexTensor)[], axis: number, more: number): number =>
  normalizeAxis(operation, axis, xs[0]!.rank + more);
const isAnyComplex = (xs: readonly unknown[]): boolean => xs.some((x) => x instanceof ComplexTensor);

/**
 * The tensors joined along an axis. All other lengths must agree; dtypes promote. Tensors of shape [0] are left
 * out, as in PyTorch. Throws ShapeError when they do not fit. DirectML: JOIN. Reference: torch.cat.
 */
export function cat(tensors: readonly Tensor[], axis?: number): Tensor;
export function cat(tensors: readonly (Tensor | ComplexTensor)[], axis?: number): ComplexTensor;
export function cat(tensors: readonly (Tensor | ComplexTensor)[], axis = 0): Tensor | ComplexTensor {
  if (!isAnyComplex(tensors)) return join.cat(tensors as readonly Tensor[], axis);
  // Tensors of shape [0] take no part: they have no pairs of the others' rank.
  const taken = tensors.filter((t) => !(t.rank === 1 && t.size === 0));
  const list = taken.length === 0 ? tensors : taken;
  if (list[0]!.rank === 0) throw new ShapeError("cat", "tensors[0]", "of at least one axis", list[0]!.describe());
  return fromPairs(join.cat(list.map(pairsOf), along("cat", list, axis, 0)), false);
}

/** Tensors of one shape as parts along a new axis. Reference: torch.stack. DirectML: JOIN. */
export function stack(tensors: readonly Tensor[], axis?: number): Tensor;
export function stack(tensors: readonly (Tensor | ComplexTensor)[], axis?: number): ComplexTensor;
export function stack(tensors: readonly (Tensor | ComplexTensor)[], axis = 0): Tensor | ComplexTensor {
  if (!isAnyComplex(tensors)) return join.stack(tensors as readonly Tensor[], axis);
  return fromPairs(join.stack(tensors.map(pairsOf), along("stack", tensors, axis, 1)), false);
}

/** a where the condition is true, else b. All broadcast. Reference: torch.where. DirectML: ELEMENT_WISE_IF. */
export function where(condition: Tensor, a: Arithmetic, b: Arithmetic): Tensor;
export function where(condition: Tensor, a: Arithmetic | ComplexTensor, b: Arithmetic | ComplexTensor): ComplexTensor;
export function where(condition: Tensor, a: Arithmetic | ComplexTensor, b: Arithmetic | ComplexTensor): Tensor | ComplexTensor {
  if (!isAnyComplex([a, b])) return choice.where(condition, a as Arithmetic, b as Arithmetic);
  const seen = (v: Arithmetic | ComplexTensor): readonly [Arithmetic, Arithmetic] => (v instanceof ComplexTensor ? [v.re, v.im] : [v, 0]);
  const [x, y] = [seen(a), seen(b)];
  return fromParts(choice.where(condition, x[0], y[0]), choice.where(condition, x[1], y[1]));
}
