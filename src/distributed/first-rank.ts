/** Tensors that all ranks take from the first one. */
import { noGrad } from "../autograd/grad-mode.ts";
import { scope } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { copy_ } from "../ops/data/state.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";
import { EngineMemory } from "./engine-memory.ts";
import { described, type ProcessGroup } from "./process-group.ts";

/** Bytes of a message, so that a copy of all tensors is never needed. */
const LARGEST_MESSAGE = 25 * 2 ** 20;

/** @internal All ranks take the elements of the group's rank `root`, in messages of one dtype and device. Blocks. */
export function takeFrom(operation: string, group: ProcessGroup, tensors: readonly Tensor[], root = 0): void {
  if (group.size === 1) return;
  const open = new Map<string, { list: Tensor[]; bytes: number }>();
  for (const t of tensors) {
    const key = `${t.dtype} ${t.device}`;
    const message = open.get(key) ?? { list: [], bytes: 0 };
    open.set(key, message);
    message.list.push(t);
    message.bytes += t.desc.sizeInBytes;
    if (message.bytes < LARGEST_MESSAGE) continue;
    take(operation, group, message.list, root);
    open.delete(key);
  }
  for (const { list } of open.values()) take(operation, group, list, root);
}

function take(operation: string, group: ProcessGroup, tensors: readonly Tensor[], root: number): void {
  const isRoot = group.rank === root;
  const { dtype, device } = tensors[0]!;
  const shape = [tensors.reduce((sum, t) => sum + t.size, 0)];
  const memory = !isRoot
    ? EngineMemory.empty(operation, { dtype, shape, device })
    : tensors.length === 1
      ? EngineMemory.toRead(operation, tensors[0]!)
      : EngineMemory.joined(operation, tensors);
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
