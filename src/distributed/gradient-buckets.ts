/** How gradients are put together, so that one call reduces many of them. Pure. */
import type { DType } from "../core/dtype.ts";

/** What is known of a parameter. */
export interface BucketInput {
  readonly dtype: DType;
  readonly device: string;
  readonly sizeInBytes: number;
}

/**
 * Lists of indices of parameters, in the order in which backward usually completes their gradients: the last parameter first. A bucket has one dtype and one
 * device, and ends as soon as it has `limit` bytes; the first one has at most `first`, so that the first call begins early.
 */
export function bucketsOf(parameters: readonly BucketInput[], limit: number, first: number): readonly (readonly number[])[] {
  const done: number[][] = [];
  const open = new Map<string, { indices: number[]; bytes: number }>();
  for (let i = parameters.length - 1; i >= 0; i--) {
    const { dtype, device, sizeInBytes } = parameters[i]!;
    const key = `${dtype} ${device}`;
    const bucket = open.get(key) ?? { indices: [], bytes: 0 };
    open.set(key, bucket);
    bucket.indices.push(i);
    bucket.bytes += sizeInBytes;
    if (bucket.bytes < (done.length === 0 ? Math.min(first, limit) : limit)) continue;
    done.push(bucket.indices);
    open.delete(key);
  }
  return [...done, ...[...open.values()].map(({ indices }) => indices)];
}
