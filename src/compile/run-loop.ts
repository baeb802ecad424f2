/** Runs a loop's body once for each step: the carry goes from step to step, slices and results are addressed by the step. */
import { DTYPES } from "../core/dtype.ts";
import type { Storage } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { allocate, withMemory } from "../runtime/buffers.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import type { LoopNode } from "./loops.ts";

/** What a step computes: packed tensors, the next carry in buffers that nobody else has. */
export interface StepResult {
  readonly carry: readonly Tensor[];
  readonly ys: readonly Tensor[];
}

/** A tensor's storage, without the reference that the tensor had. */
function storageOf(t: Tensor): Storage {
  const { storage } = t;
  storage.refs++;
  t.dispose();
  storage.refs--;
  return storage;
}

/**
 * init: the first carry; xs: what steps get slices of. Disposes of them. holds: whether there is another step; null: the loop has a length. The
 * result: traced storages of the loop's outputs, with new ones that hold their values, and the number of steps.
 */
export function runLoop(
  native: NativeDevice,
  { begin, end }: LoopNode,
  init: readonly Tensor[],
  xs: readonly Tensor[],
  body: (carry: readonly Tensor[], slices: readonly Tensor[]) => StepResult,
  holds: ((carry: readonly Tensor[]) => boolean) | null = null,
): { readonly values: [Storage, Storage][]; readonly steps: number } {
  const { length, reverse, name } = begin;
  const outputs = end.outputs.map((m) => m.tensor);
  const count = { kept: end.kept.length, carry: end.carry.length };
  const stacked = [...outputs.slice(0, count.kept), ...outputs.slice(count.kept + count.carry)];
  const stacks = stacked.map((t) => new Tensor(allocate(native, t.storage.contentInBytes, name), t.desc));
  const copy = (from: Tensor, to: Tensor, step: number): void => {
    const element = DTYPES[from.dtype].sizeInBytes;
    const bytes = from.size * element;
    if (bytes === 0) return;
    withMemory(name, () => native.binding.copy(from.storage.handle, from.offset * element, to.storage.handle, step * bytes, bytes));
  };
  let carry = init;
  let isDone = false;
  let k = 0;
  try {
    for (; length === null ? holds!(carry) : k < length; k++) {
      const step = reverse ? length! - 1 - k : k;
      end.kept.forEach((c, i) => {
        copy(carry[c]!, stacks[i]!, step);
      });
      const slices = begin.slices.map(({ tensor: { desc } }, i) => new Tensor(xs[i]!.storage, desc, xs[i]!.offset + step * desc.size));
      const { carry: next, ys } = body(carry, slices);
      ys.forEach((t, i) => {
        copy(t, stacks[count.kept + i]!, step);
      });
      for (const t of [...carry, ...slices, ...ys]) t.dispose();
      carry = next;
    }
    // Without a step nobody else may have what is given.
    if (k === 0)
      carry = init.map((t) => {
        const own = new Tensor(allocate(native, t.size * DTYPES[t.dtype].sizeInBytes, name), t.desc);
        copy(t, own, 0);
        t.dispose();
        return own;
      });
    isDone = true;
  } finally {
    for (const t of xs) t.dispose();
    if (!isDone) for (const t of [...carry, ...stacks]) t.dispose();
  }
  const values = [...stacks.slice(0, count.kept), ...carry, ...stacks.slice(count.kept)];
  return { values: outputs.map((t, i) => [t.storage, storageOf(values[i]!)]), steps: k };
}
