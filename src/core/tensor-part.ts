/** Tensors that are a rank's part of a whole tensor: which part. */
import type { Shape } from "./shape.ts";
import type { Tensor } from "./tensor.ts";

/** A part of a whole tensor: `length` of its elements in row-major order, those behind the last one zeros. @package */
export interface TensorPart {
  /** Of the whole tensor. */
  readonly shape: Shape;
  /** Its first element. */
  readonly start: number;
  /** Its elements, the zeros included. */
  readonly length: number;
}

const parts = new WeakMap<Tensor, TensorPart>();

/** Which part a tensor is; undefined for a whole one. */
export const partOf = (t: Tensor): TensorPart | undefined => parts.get(t);

/** Says which part a tensor is. */
export function setPart(t: Tensor, part: TensorPart | undefined): void {
  if (part !== undefined) parts.set(t, part);
}
