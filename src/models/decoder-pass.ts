/** Attention of decoders: what the layers of one pass share, and heads in groups. */
import type { DType } from "../core/dtype.ts";
import type { Tensor } from "../core/tensor.ts";
import { scaledDotProductAttention } from "../ops/exports/autocast.generated.ts";
import { arange } from "../ops/creation/ranges.ts";
import { ge, logicalAnd } from "../ops/elementwise/compare.ts";
import { where } from "../ops/elementwise/where.ts";
import { expand, reshape, unsqueeze } from "../ops/shape/movement.ts";
import { scalarTensor } from "../runtime/constants.ts";
import { toDType } from "../ops/data/conversion.ts";
import { ropeTables, rotationsAt, type RopeFrequencies, type RopeTables } from "./rope.ts";

/** One pass through a decoder: where its tokens are, and what they attend to. */
export interface DecoderPass {
  /** [B, L] or [1, L] int32: the position of each token. */
  readonly positions: Tensor;
  /** Cosines and sines of these positions, [B, 1, L, width / 2] or [1, 1, L, width / 2]. */
  rotations(frequencies: RopeFrequencies, dtype: DType): RopeTables;
  /** Attention of a layer: q [B, H, L, D] with the keys and values of this pass, [B, G, L, D], and those before. Result: [B, H, L, D]. */
  attend(layer: number, q: Tensor, k: Tensor, v: Tensor): Tensor;
}

/** 0 where a query sees a key, else -Infinity. seen: bool. */
export function additiveMask(seen: Tensor, like: Tensor): Tensor {
  const number = (value: number): Tensor => scalarTensor(like.device, like.dtype, value);
  return where(seen, number(0), number(-Infinity));
}

/** Which keys each query sees: those that are not behind it. queries: [..., L] int32; keys: their number. Result: bool [..., 1, L, keys]. */
export const causalMask = (queries: Tensor, keys: number): Tensor =>
  unsqueeze(ge(unsqueeze(queries, -1), arange(keys, { dtype: "int32", device: queries.device })), -3);

/** A mask for heads in groups: the rows are repeated, [B, 1, G * L, S]. */
export function groupedMask(mask: Tensor, groups: number): Tensor {
  const [batch, , length, keys] = mask.shape as [number, number, number, number];
  if (groups === 1 || length === 1) return mask;
  return reshape(expand(unsqueeze(mask, 2), [batch, 1, groups, length, keys]), [batch, 1, groups * length, keys]);
}

/**
 * Attention where several heads of q share one of k and v, which is not copied: the heads of a group are rows of one matrix. q: [B, H, L, D];
 * k, v: [B, G, S, D]; mask: as groupedMask() gives it, or null where each query sees the keys up to its own.
 */
export function groupedAttention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | null): Tensor {
  const [batch, heads, length, width] = q.shape as [number, number, number, number];
  const own = k.shape[1]!;
  if (heads === own) return scaledDotProductAttention(q, k, v, mask === null ? { isCausal: true } : { attnMask: mask });
  const rows = reshape(q, [batch, own, (heads / own) * length, width]);
  return reshape(scaledDotProductAttention(rows, k, v, { attnMask: mask }), q.shape);
}

/** A pass over whole texts, without a cache. */
export class FullPass implements DecoderPass {
  readonly positions: Tensor;
  readonly #length: number;
  readonly #padding: Tensor | null;
  #rotations: RopeTables | null = null;
  #mask: Tensor | null = null;

  /** length: above all positions. padding: [B, L], 0 for tokens that nobody attends to; null for none. */
  constructor(positions: Tensor, length: number, padding: Tensor | null) {
    this.positions = positions;
    this.#length = length;
    this.#padding = padding;
  }

  rotations(frequencies: RopeFrequencies, dtype: DType): RopeTables {
    const { positions } = this;
    return (this.#rotations ??= rotationsAt(ropeTables(frequencies, this.#length, positions.device), positions, dtype));
  }

  attend(_layer: number, q: Tensor, k: Tensor, v: Tensor): Tensor {
    const groups = q.shape[1]! / k.shape[1]!;
    if (groups === 1 && this.#padding === null) return groupedAttention(q, k, v, null);
    return groupedAttention(q, k, v, (this.#mask ??= this.#maskOf(q, groups)));
  }

  #maskOf(q: Tensor, groups: number): Tensor {
    const length = q.shape[2]!;
    const causal = causalMask(arange(length, { dtype: "int32", device: q.device }), length);
    const rows = reshape(causal, [1, 1, length, length]);
    const seen = this.#padding === null ? rows : logicalAnd(rows, unsqueeze(unsqueeze(toDType(this.#padding, "bool"), 1), 1));
    return groupedMask(additiveMask(seen, q), groups);
  }
}
