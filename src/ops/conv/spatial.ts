/**
 * Shared by convolution and pooling: options for one to three spatial axes, and tensors with the four or five axes that DirectML requires.
 * @package
 */
import { asResult } from "../../dispatch/dispatch.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { isHalf, isInteger } from "../../core/dtype.ts";
import { DTypeError, ShapeError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import type { Tensor } from "../../core/tensor.ts";
import { reshape } from "../shape/movement.ts";

/** One number for all spatial axes, or one for each. */
export type PerAxis = number | readonly number[];

/** Inserts an axis of length 1 before the width: [N, C, W] as [N, C, 1, W]. Other ranks stay. */
export function lifted(g: GraphBuilder, x: Expr): Expr {
  if (x.sizes.length !== 3) return x;
  return g.reinterpret(x, { sizes: [x.sizes[0]!, x.sizes[1]!, 1, x.sizes[2]!], strides: [x.strides[0]!, x.strides[1]!, 0, x.strides[2]!] });
}

/** Attributes of one spatial axis as those of two, of which the first has length 1. */
export const liftedList = (list: readonly number[], neutral: number): readonly number[] => (list.length === 1 ? [neutral, ...list] : list);

/** Extent of a window of k taps with dilation d. */
export const extent = (k: number, d: number): number => (k - 1) * d + 1;

/** Runs an operation on x with a batch axis; where x has none, it is added and removed again. */
export function batched(operation: string, x: Tensor, spatial: number, run: (x: Tensor) => Tensor): Tensor {
  requireSpatial(operation, x, spatial, true);
  if (x.rank === spatial + 2) return run(x);
  const y = run(reshape(x, [1, ...x.shape]));
  return asResult(reshape(y, y.shape.slice(1)));
}

/** integers: those are taken too. */
export function requireSpatial(operation: string, x: Tensor, spatial: number, integers = false): void {
  if (x.dtype !== "float32" && !isHalf(x.dtype) && !(integers && isInteger(x.dtype)))
    throw new DTypeError(operation, "x", integers ? "float32, float16, bfloat16 or integers" : "float32, float16 or bfloat16", x.dtype);
  const axes = ["W", "H, W", "D, H, W"][spatial - 1]!;
  if (x.rank !== spatial + 2 && x.rank !== spatial + 1)
    throw new ShapeError(operation, "x", `[N, C, ${axes}] or [C, ${axes}]`, x.describe());
}
