/** A rank's part of a whole tensor. */
import { noGrad } from "../autograd/grad-mode.ts";
import { scope } from "../core/scope.ts";
import { sizeOf } from "../core/shape.ts";
import type { TensorPart } from "../core/tensor-part.ts";
import type { Tensor } from "../core/tensor.ts";
import { zeros } from "../ops/creation/creation.ts";
import { clone } from "../ops/data/state.ts";
import { cat } from "../ops/shape/join.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";

/** @internal How many elements of the whole tensor a part has. */
export const heldOf = ({ shape, start, length }: TensorPart): number => Math.max(0, Math.min(sizeOf(shape) - start, length));

/** @internal A new tensor of a part's elements: [length]. */
export function cutPart(whole: Tensor, part: TensorPart): Tensor {
  const held = heldOf(part);
  const gap = part.length - held;
  return noGrad(() =>
    scope(() => {
      const own = narrow(reshape(whole.detach(), [-1]), 0, Math.min(whole.size, part.start), held);
      return gap === 0 ? clone(own) : cat([own, zeros([gap], { dtype: whole.dtype, device: whole.device })]);
    }),
  );
}
