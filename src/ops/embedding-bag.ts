/** Sums, means and maxima of bags of a table's rows. @functional */
import { demandSameDevice } from "../dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../errors.ts";
import { isInteger } from "../dtype.ts";
import type { Tensor } from "../tensor.ts";
import { div, mul, sub } from "./binary.ts";
import { eq, ge, logicalAnd, ne } from "./compare.ts";
import { toDType } from "./data.ts";
import { embedding, type EmbeddingOptions } from "./embedding.ts";
import { amax } from "./extrema.ts";
import { matmul } from "./matmul.ts";
import { reshape, unsqueeze } from "./movement.ts";
import { arange } from "./ranges.ts";
import { any, sum } from "./reduce.ts";
import { clampMin, where } from "./where.ts";

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
 * For each bag of indices what `mode` makes of their rows of the table [V, D]: [B, D]. indices: [B, n], or one axis with offsets;
 * those equal to paddingIndex do not count. Empty bags give zeros. DirectML: GATHER, GEMM; REDUCE MAX. Reference: torch.nn.functional.embedding_bag.
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
    throw new DTypeError(name, "offsets", "whole numbers of one axis", offsets.describe());
  demandSameDevice(name, [
    indices,
    table,
    ...(offsets === null ? [] : [offsets]),
    ...(perSampleWeights === null ? [] : [perSampleWeights]),
  ]);
  const flat = reshape(indices, [indices.size]);
  let rows = embedding(flat, table, options);
  if (perSampleWeights !== null) rows = mul(rows, reshape(perSampleWeights, [flat.size, 1]));
  const bags = indices.rank === 2 ? indices.shape[0]! : offsets!.shape[0]! - (includeLastOffset ? 1 : 0);
  const at = arange(flat.size, { dtype: "int32", device: indices.device });
  const bag =
    indices.rank === 2
      ? toDType(div(at, Math.max(1, indices.shape[1]!)), "int32")
      : sub(sum(ge(unsqueeze(at, 1), toDType(offsets!, "int32")), 1, { dtype: "int32" }), 1);
  let members = eq(unsqueeze(arange(bags, { dtype: "int32", device: indices.device }), 1), bag);
  const padding = options.paddingIndex ?? null;
  if (padding !== null) members = logicalAnd(members, ne(flat, padding < 0 ? padding + table.shape[0]! : padding));
  if (mode === "max") {
    const inside = where(unsqueeze(members, 2), rows, -Infinity);
    return where(unsqueeze(any(members, 1), 1), amax(inside, 1), 0);
  }
  const weights = toDType(members, table.dtype);
  const total = matmul(weights, rows);
  return mode === "sum" ? total : div(total, clampMin(sum(weights, 1, { keepDims: true }), 1));
}
