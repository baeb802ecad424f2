/** Tensors that all ranks take from the first one. */
import { noGrad } from "../autograd/grad-mode.ts";
import { scope } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { copy_ } from "../ops/data/state.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";
import { EngineMemory } from "./engine-memory.ts";
import { described, type ProcessGroup } from "./process-group.ts";

/** @internal All ranks take the elements of the group's rank `root`, in a message for each dtype and device. Blocks. */
export function takeFrom(operation: string, group: ProcessGroup, tensors: readonly Tensor[], root = 0): void {
  if (group.size === 1) return;
  const kinds = new Map<string, Tensor[]>();
  for (const t of tensors) {
    const key = `${t.dtype} ${t.device}`;
    kinds.set(key, [...(kinds.get(key) ?? []), t]);
  }
  for (const list of kinds.values()) take(operation, group, list, root);
}

function take(operation: string, group: ProcessGroup, tensors: readonly Tensor[], root: number): void {
  const isRoot = group.rank === root;
  const { dtype, device } = tensors[0]!;
  const shape = [tensors.reduce((sum, t) => sum + t.size, 0)];
  const memory = isRoot ? EngineMemory.joined(operation, tensors) : EngineMemory.empty(operation, { dtype, shape, device });
  const bytes = memory.bytesNow(isRoot);
  const what = described("broadcast", operation, dtype, shape);
  group.reduceNow(operation, { kind: "broadcast", what, root, input: bytes, output: bytes })();
  if (isRoot) {
    memory.read();
    return;
  }
  const flat = memory.written();
  noGrad(() =>
    scope(() => {
      let start = 0;
      for (const t of tensors) {
        copy_(t, reshape(narrow(flat, 0, start, t.size), t.shape));
        start += t.size;
      }
    }),
  );
  flat.dispose();
}
