/** The hook through which vmap() takes over dispatch, and the rules by which it batches operations. */
import type { Definition, ViewDefinition } from "./definition.ts";
import type { Tensor } from "./tensor.ts";
import { noteBatching } from "./tracer.ts";

/** A call of an operation on tensors of which some have a batch axis. */
export interface BatchedCall<A> {
  /** The inputs: the batch is the first axis of those that have one. */
  readonly inputs: readonly Tensor[];
  /** Which inputs have a batch axis. */
  readonly isBatched: readonly boolean[];
  readonly attrs: A;
  /** Length of the batch axis. */
  readonly size: number;
  /** An input with a batch axis: one without is expanded. */
  full(input: number): Tensor;
  /** The operation itself, on tensors outside of the batch. */
  run(inputs: readonly Tensor[], attrs: A): readonly Tensor[];
  /** Marks a result that has no batch axis. */
  shared(result: Tensor): Tensor;
}

/** Gives the outputs, with the batch as their first axis; null: the operation has to loop over the batch. */
export type BatchRule<A> = (call: BatchedCall<A>) => readonly Tensor[] | null;

/** A level of vmap(): its tensors have the shape of one sample, and hold the values of all. */
export interface Batching {
  dispatch<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor[];
  /** `make` makes the view of one sample; `show` makes that of the batched value, where it is no view by the definition. */
  view<A>(definition: ViewDefinition<A>, input: Tensor, attrs: A, make: () => Tensor, show?: (value: Tensor) => Tensor): Tensor;
  /** Whether a tensor belongs to this level. */
  owns(t: Tensor): boolean;
  /** A tensor that belongs to this level and has no history here: t itself, or one whose value is t in all samples. */
  leaf(t: Tensor): Tensor;
  /** The value of a tensor of this level, with the batch as its first axis where it has one; other tensors are returned as they are. */
  valueOf(t: Tensor): Tensor;
  /** Writes the value into a tensor of this level. */
  write(operation: string, target: Tensor, value: Tensor): void;
  /** An in-place operation on a tensor from outside, whose value does not depend on the sample. `assign`: the operation, outside. */
  writeOutside(operation: string, compute: () => Tensor, assign: (value: Tensor) => void): void;
  /** Throws unless numbers that the host draws may be used. */
  requireHostRandom(operation: string): void;
  /** Runs fn as outside of this level. */
  below<T>(fn: () => T): T;
}

let current: Batching | null = null;

export const batching = (): Batching | null => current;

/** Runs fn in a level; null: in none. */
export function withBatching<T>(next: Batching | null, fn: () => T): T {
  const before = current;
  const enter = (level: Batching | null): void => {
    current = level;
    noteBatching(level !== null);
  };
  enter(next);
  try {
    return fn();
  } finally {
    enter(before);
  }
}
