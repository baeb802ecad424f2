/** The order of a .npy file's elements. */
import type { Tensor } from "../../core/tensor.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { permute } from "../../ops/shape/movement.ts";
import type { NpyHeader } from "./header.ts";

/** The shape of the file's elements in row-major order. */
export const storedShape = ({ shape, isFortran }: NpyHeader): readonly number[] => (isFortran ? shape.toReversed() : shape);

/** A tensor of the header's shape. For column-major files it is a view whose first axis has stride 1, as in NumPy. */
export function toHeaderShape(stored: Tensor, { shape, isFortran }: NpyHeader): Tensor {
  if (!isFortran || shape.length < 2) return stored;
  const view = noGrad(() => permute(stored, shape.map((_, axis) => axis).toReversed()));
  stored.dispose();
  return view;
}
