/** Tensors that all ranks take from the first one. */
import { noGrad } from "../autograd/grad-mode.ts";
import { DTYPES } from "../core/dtype.ts";
import type { Tensor } from "../core/tensor.ts";
import { fromBytes } from "../ops/creation/creation.ts";
import { copy_ } from "../ops/data/state.ts";
import { bytesNow } from "./gradient-reduction.ts";
import type { ProcessGroup } from "./process-group.ts";

/** @internal All ranks take the elements of the group's rank `root`, in one message. Blocks. */
export function takeFrom(operation: string, group: ProcessGroup, tensors: readonly Tensor[], root = 0): void {
  if (group.size === 1 || tensors.length === 0) return;
  const isRoot = group.rank === root;
  const sizes = tensors.map((t) => t.size * DTYPES[t.dtype].sizeInBytes);
  const size = sizes.reduce((a, b) => a + b, 0);
  const bytes = isRoot ? Buffer.concat(tensors.map((t) => bytesNow(t))) : new Uint8Array(size);
  group.reduceNow(operation, { kind: "broadcast", what: `${operation} broadcasts ${size} bytes`, root, input: bytes, output: bytes })();
  if (isRoot) return;
  noGrad(() => {
    let start = 0;
    tensors.forEach((t, i) => {
      const made = fromBytes(operation, t.device, t.dtype, t.shape, bytes.slice(start, start + sizes[i]!));
      copy_(t, made);
      made.dispose();
      start += sizes[i]!;
    });
  });
}
