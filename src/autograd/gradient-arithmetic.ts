/** The operations that autograd itself needs. ops/wiring.ts sets them, since autograd may not import operations. */
import type { PartialGradient, TensorSpec, ViewDefinition } from "../core/definition.ts";
import type { DType } from "../core/dtype.ts";
import type { Shape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";

export interface Arithmetic {
  add(a: Tensor, b: Tensor): Tensor;
  /** a += b, in place. */
  accumulate(a: Tensor, b: Tensor): void;
  onesLike(t: Tensor): Tensor;
  /** Zeros on the device of a tensor. */
  zeros(like: Tensor, spec: TensorSpec): Tensor;
  /** The sum of gradients that are zero outside their boxes (of step 1), at least one: of all of a tensor. */
  gather(parts: readonly PartialGradient[], spec: TensorSpec): Tensor;
  /** A copy of a tensor with a few gradients added inside their boxes. */
  addParts(whole: Tensor, parts: readonly PartialGradient[]): Tensor;
  /** x with zeros where the mask (numbers) is not zero. */
  without(x: Tensor, mask: Tensor): Tensor;
  /** A packed copy, through which gradients flow. */
  clone(t: Tensor): Tensor;
  /** The same elements, without a history. */
  detach(t: Tensor): Tensor;
  cast(t: Tensor, dtype: DType): Tensor;
  /** The sum over the axes along which `shape` was broadcast to t's. */
  sumTo(t: Tensor, shape: Shape): Tensor;
  reshape(t: Tensor, shape: Shape): Tensor;
  /** Along a new first axis. */
  stack(list: readonly Tensor[]): Tensor;
  /** Zeros of the shape of a vector with 1 at an index. */
  oneHot(vector: Tensor, index: number): Tensor;
  expand(t: Tensor, shape: Shape): Tensor;
  /** a where taken (one boolean) is true, else b. */
  select(taken: Tensor, a: Tensor, b: Tensor): Tensor;
  view(definition: ViewDefinition<never>, x: Tensor, attrs: never): Tensor;
}

export const arithmetic = {} as Arithmetic;
