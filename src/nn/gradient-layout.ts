/** How gradients lie one behind the other in a few flat tensors, so that one copy moves many of them. Pure. @package */
import { DTYPES, type DType } from "../core/dtype.ts";

/** A gradient in a bucket: which one, and where it begins. */
export interface Piece {
  readonly index: number;
  readonly start: number;
}

/** Gradients of one dtype, with unused elements between them where a binding could not start otherwise. */
export interface Bucket {
  readonly dtype: DType;
  readonly pieces: readonly Piece[];
  readonly size: number;
}

/** Where a binding may start. */
const ALIGNMENT = 16;

/**
 * Buckets of at least `limit` bytes, but for the last ones, in the order in which backward usually completes gradients: those of the last parameter first.
 */
export function layoutOf(tensors: readonly { readonly dtype: DType; readonly size: number }[], limit: number): readonly Bucket[] {
  const done: Bucket[] = [];
  const open = new Map<DType, { pieces: Piece[]; size: number }>();
  for (let index = tensors.length - 1; index >= 0; index--) {
    const { dtype, size } = tensors[index]!;
    const { sizeInBytes } = DTYPES[dtype];
    const unit = ALIGNMENT / Math.min(ALIGNMENT, sizeInBytes);
    const bucket = open.get(dtype) ?? { pieces: [], size: 0 };
    open.set(dtype, bucket);
    bucket.pieces.push({ index, start: bucket.size });
    bucket.size += Math.ceil(size / unit) * unit;
    if (bucket.size * sizeInBytes < limit) continue;
    done.push({ dtype, ...bucket });
    open.delete(dtype);
  }
  return [...done, ...[...open].map(([dtype, bucket]) => ({ dtype, ...bucket }))];
}
