/** Embedding bag. @functional */
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { isHalf, isInteger, resultType } from "../../core/dtype.ts";
import type { Tensor } from "../../core/tensor.ts";
import { div, mul, sub } from "../elementwise/binary.ts";
import { eq, ge, logicalAnd, lt, ne } from "../elementwise/compare.ts";
import { toDType } from "../data/conversion.ts";
import { embedding, type EmbeddingOptions } from "./embedding.ts";
import { amax } from "../reduce/extrema.ts";
import { sumRows } from "./gather.ts";
import { reshape, unsqueeze } from "../shape/movement.ts";
import { arange } from "../creation/ranges.ts";
import { any } from "../reduce/reduce.ts";
import { searchsorted } from "../sort/search.ts";
import { clamp, clampMin, where } from "../elementwise/where.ts";

/** Options of embeddingBag(). Reference: torch.nn.functional.embedding_bag. */
export interface EmbeddingBagOptions extends EmbeddingOptions {
  /** Where each bag begins, where the indices have one axis. */
  readonly offsets?: Tensor | null | undefined;
  /** Default: "mean". */
  readonly mode?: "sum" | "mean" | "max" | undefined;
  /** One factor for each index, for "sum". */
  readonly perSampleWeights?: Tensor | null | undefined;
  /** Whether the last offset is the end of the last bag. Default: false. */
  readonly includeLastOffset?: boolean | undefined;
}

/**
 * For each bag of indices the sum, mean or maximum (`mode`) of their rows of the table [V, D]: [B, D]. indices: [B, n], or one axis with offsets;
 * those equal to paddingIndex do not count. Empty bags give zeros. DirectML: GATHER; sums by
 * index (docs/operations.md); REDUCE MAX. Reference: torch.nn.functional.embedding_bag.
 */
export function embeddingBag(indices: Tensor, table: Tensor, options: EmbeddingBagOptions = {}): Tensor {
  const name = "embeddingBag";
  const { offsets = null, mode = "mean", perSampleWeights = null, includeLastOffset = false } = options;
  if (mode !== "sum" && mode !== "mean" && mode !== "max") throw new ValueError(name, "mode", '"sum", "mean" or "max"', mode);
  if (perSampleWeights !== null && mode !== "sum") throw new ValueError(name, "perSampleWeights", 'null unless mode is "sum"', mode);
  if (indices.rank === 2 ? offsets !== null : indices.rank !== 1 || offsets === null)
    throw new ShapeError(
      name,
      "indices",
      "[B, n], or one axis with offsets",
      `${indices.describe()}${offsets === null ? "" : " with offsets"}`,
    );
  if (perSampleWeights !== null && perSampleWeights.shape.join() !== indices.shape.join())
    throw new ShapeError(name, "perSampleWeights", "of the indices' shape", perSampleWeights.describe());
  if (offsets !== null && (!isInteger(offsets.dtype) || offsets.rank !== 1))
    throw new DTypeError(name, "offsets", "integers of one axis", offsets.describe());
  requireSameDevice(name, [
    indices,
    table,
    ...(offsets === null ? [] : [offsets]),
    ...(perSampleWeights === null ? [] : [perSampleWeights]),
  ]);
  const flat = reshape(indices, [indices.size]);
  const rows = embedding(flat, table, options);
  const bags = indices.rank === 2 ? indices.shape[0]! : offsets!.shape[0]! - (includeLastOffset ? 1 : 0);
  const at = arange(flat.size, { dtype: "int32", device: indices.device });
  const bag =
    indices.rank === 2
      ? toDType(div(at, Math.max(1, indices.shape[1]!)), "int32")
      : sub(searchsorted(toDType(offsets!, "int32"), at, { right: true }), 1);
  let counts = logicalAnd(ge(bag, 0), lt(bag, bags));
  const padding = options.paddingIdx ?? null;
  if (padding !== null) counts = logicalAnd(counts, ne(flat, padding < 0 ? padding + table.shape[0]! : padding));
  if (mode === "max") {
    const members = logicalAnd(eq(unsqueeze(arange(bags, { dtype: "int32", device: indices.device }), 1), bag), counts);
    const inside = where(unsqueeze(members, 2), rows, -Infinity);
    return where(unsqueeze(any(members, 1), 1), amax(inside, 1), 0);
  }
  const bagIndex = clamp(bag, 0, Math.max(0, bags - 1));
  const factors = perSampleWeights === null ? null : reshape(perSampleWeights, [flat.size, 1]);
  const dtype = resultType([rows, ...(factors === null ? [] : [factors])]);
  // Sums of half precision are those of float32, rounded once.
  const [r, weights] = [rows, factors].map((t) => (t !== null && isHalf(t.dtype) ? toDType(t, "float32") : t));
  const weighted = weights == null ? r! : mul(r!, weights);
  const total = sumRows(where(unsqueeze(counts, 1), weighted, 0), bagIndex, 0, [bags, table.shape[1]!]);
  if (mode === "sum") return toDType(total, dtype);
  return toDType(div(total, clampMin(sumRows(unsqueeze(toDType(counts, r!.dtype), 1), bagIndex, 0, [bags, 1]), 1)), dtype);
}
