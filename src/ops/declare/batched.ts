/** Rules by which vmap() batches operations (`batched` of a definition). @package */
import { arithmetic } from "../../autograd/gradient-arithmetic.ts";
import type { BatchRule, BatchedCall } from "../../core/batching.ts";
import type { Tensor } from "../../core/tensor.ts";

/** The operation takes axes in front of those that its attributes name: all inputs get the batch axis there, and the attributes count it. */
export const withAttributes =
  <A>(next: (attrs: A, size: number) => A): BatchRule<A> =>
  ({ inputs, attrs, size, full, run }) =>
    run(
      inputs.map((_, i) => full(i)),
      next(attrs, size),
    );

/** An operation along `axis`. */
export const axisBehindBatch = <A extends { readonly axis: number }>(call: BatchedCall<A>): readonly Tensor[] | null =>
  // A scalar has no axis behind the batch's.
  call.full(0).rank === 1 ? null : withAttributes((attrs: A): A => ({ ...attrs, axis: attrs.axis + 1 }))(call);

/** An operation along `axes`. */
export const axesBehindBatch = withAttributes(<A extends { readonly axes: readonly number[] }>(attrs: A): A => ({
  ...attrs,
  axes: attrs.axes.map((a) => a + 1),
}));

/** An operation on the last axes: whatever is in front of them is a batch already. */
export const onLastAxes = withAttributes(<A>(attrs: A): A => attrs);

/** [B, N, ...] as [B * N, ...]. @package */
export const merged = (t: Tensor): Tensor => arithmetic.reshape(t, [t.shape[0]! * t.shape[1]!, ...t.shape.slice(2)]);

/** The adjoint of merged(). @package */
export const parted = (t: Tensor, size: number): Tensor => arithmetic.reshape(t, [size, t.shape[0]! / size, ...t.shape.slice(1)]);

/** An operation whose first axis, of these inputs and of all outputs, is a batch: both batches become one. The other inputs have to be equal for all samples. */
export const overFirstAxis =
  (...folded: readonly number[]) =>
  <A>({ inputs, isBatched, attrs, size, full, run }: BatchedCall<A>): readonly Tensor[] | null =>
    isBatched.some((own, i) => own && !folded.includes(i)) || size === 0
      ? null
      : run(
          inputs.map((t, i) => (folded.includes(i) ? merged(full(i)) : t)),
          attrs,
        ).map((t) => parted(t, size));
