/** How an operation runs on values of which some have a batch axis: by its definition's rule, elementwise, or in a loop. */
import type { BatchedCall } from "../core/batching.ts";
import type { Definition } from "../core/definition.ts";
import { UnsupportedError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { dispatch } from "../dispatch/dispatch.ts";
import { noteLoop } from "../runtime/fallback.ts";
import { stack } from "../ops/shape/join.ts";
import { expand, reshape, select } from "../ops/shape/movement.ts";

/** The outputs of an operation on values of which some have a batch axis. */
export function batched<A>(
  definition: Definition<A>,
  inputs: readonly Tensor[],
  isBatched: readonly boolean[],
  attrs: A,
  size: number,
  shared: Set<Tensor>,
): readonly Tensor[] {
  const call: BatchedCall<A> = {
    inputs,
    isBatched,
    attrs,
    size,
    full: (i) => (isBatched[i] ? inputs[i]! : expand(inputs[i]!, [size, ...inputs[i]!.shape])),
    run: (list, own) => dispatch(definition, list, own),
    shared: (t) => {
      shared.add(t);
      return t;
    },
  };
  const rule = definition.batched ?? (definition.traits.elementwise === true ? elementwise : null);
  return rule?.(call) ?? looped(definition, call);
}

/** Batch axes come first, so that the samples' axes broadcast from the last one. Inputs of one shape stay of one shape. */
function elementwise<A>(call: BatchedCall<A>): readonly Tensor[] {
  const { inputs, isBatched, attrs, run } = call;
  const shapes = inputs.map((t, i) => (isBatched[i] ? t.shape.slice(1) : t.shape));
  const rank = Math.max(...shapes.map((s) => s.length));
  const isOneShape = shapes.every((s) => s.length === rank && s.every((d, i) => d === shapes[0]![i]));
  const aligned = inputs.map((t, i) => {
    if (isOneShape) return call.full(i);
    if (!isBatched[i] || t.rank === rank + 1) return t;
    return reshape(t, [t.shape[0]!, ...new Array<number>(rank + 1 - t.rank).fill(1), ...shapes[i]!]);
  });
  return run(aligned, attrs);
}

/** An operation without a rule: one call for each sample. */
function looped<A>(definition: Definition<A>, { inputs, isBatched, attrs, size, run }: BatchedCall<A>): readonly Tensor[] {
  if (size === 0)
    throw new UnsupportedError({
      operation: definition.name,
      argument: "batch",
      expected: "of at least one sample, since the operation loops over the batch",
      received: "an empty one",
    });
  noteLoop(definition.name, inputs);
  const samples = Array.from({ length: size }, (_, n) =>
    run(
      inputs.map((t, i) => (isBatched[i] ? select(t, 0, n) : t)),
      attrs,
    ),
  );
  return samples[0]!.map((_, k) =>
    stack(
      samples.map((outputs) => outputs[k]!),
      0,
    ),
  );
}
