/** Elements of tensors that broadcast, on the host. */
import type { Shape } from "../../core/shape.ts";

/** The index of an element of `shape` in a tensor that is broadcast to it. */
export function offsetOf(at: number, shape: Shape, own: Shape): number {
  let [rest, step, offset] = [at, 1, 0];
  for (let i = shape.length - 1; i >= 0; i--) {
    const along = rest % shape[i]!;
    rest = Math.floor(rest / shape[i]!);
    const length = own[i - (shape.length - own.length)] ?? 1;
    if (length !== 1) offset += along * step;
    step *= length;
  }
  return offset;
}
