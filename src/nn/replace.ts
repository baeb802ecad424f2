/** Other elements for a tensor object. @package */
import type { Tensor } from "../core/tensor.ts";

/** @internal The tensor object shows another tensor's elements from now on; `next` is given up. */
export function replace(t: Tensor, next: Tensor): void {
  if (next === t) return;
  next.storage.retain();
  t.storage.release();
  t.storage = next.storage;
  t.desc = next.desc;
  t.offset = next.offset;
  next.dispose();
}
