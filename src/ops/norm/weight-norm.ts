/** Weight normalization. */
import { ShapeError } from "../../core/errors.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { div, mul } from "../elementwise/binary.ts";
import { norm } from "../reduce/statistics.ts";

/**
 * v * g / |v|, the norm over all axes but one (null: over all). g: of that axis' length, with 1 for the others, or one that broadcasts so.
 * Gradients flow to both. Reference: torch._weight_norm.
 */
export function weightNorm(v: Tensor, g: Tensor, axis: number | null = 0): Tensor {
  const kept = axis === null ? null : normalizeAxis("weightNorm", axis, v.rank);
  const axes = v.shape.flatMap((_, i) => (i === kept ? [] : [i]));
  const expected = v.shape.map((d, i) => (i === kept ? d : 1));
  if (g.size !== 1 && g.shape.join() !== expected.join()) throw new ShapeError("weightNorm", "g", `[${expected.join(", ")}]`, g.describe());
  const length = axes.length === 0 ? v.abs() : norm(v, 2, axes, { keepDims: true });
  return mul(v, div(g, length));
}
