/** Resize: tensors that change their own shape. */
import { AutogradError, TraceError, ValueError } from "../../core/errors.ts";
import { internDesc } from "../../core/storage.ts";
import { ordinary, requireChangeable } from "../../core/inference.ts";
import { outsideScopes } from "../../core/scope.ts";
import { sizeOf, type Shape } from "../../core/shape.ts";
import { DTYPES } from "../../core/dtype.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { zeros } from "../creation/creation.ts";
import { pad } from "./pad.ts";
import { clone, copy_ } from "../data/state.ts";
import { narrow, reshape } from "./movement.ts";
import { asStrided } from "./strided-views.ts";

/**
 * x's elements in row-major order in another shape, as far as they fit; with zeros behind where there are fewer. Gradients flow to x.
 * Reference: torch.ops.aten.resize, without undefined elements.
 */
export function resize(x: Tensor, shape: Shape): Tensor {
  requireShape("resize", shape);
  const need = sizeOf(shape);
  const flat = reshape(x, [x.size]);
  const fit = need <= x.size ? narrow(flat, 0, 0, need) : pad(flat, [0, need - x.size]);
  return clone(reshape(fit, shape));
}

function requireShape(operation: string, shape: Shape): void {
  if (!Array.isArray(shape) || !shape.every((d) => Number.isInteger(d) && d >= 0))
    throw new ValueError(operation, "shape", "a list of integers of at least 0", shape);
}

/**
 * x gets another shape over its own storage, packed from its first element on. Where the storage has fewer elements, x gets a larger one,
 * with zeros behind; other views keep the old one. Throws AutogradError where x requires a gradient, and inside compile().
 * Reference: torch.Tensor.resize_.
 */
export function resize_(x: Tensor, shape: Shape): Tensor {
  x.requireLive("resize_");
  requireShape("resize_", shape);
  if (x.requiresGrad)
    throw new AutogradError({
      operation: "resize_",
      argument: "x",
      expected: "a tensor that requires no gradient",
      received: x.describe(),
    });
  if (tracer() !== null)
    throw new TraceError({
      operation: "resize_",
      argument: "x",
      expected: "outside compile()",
      received: "a call inside",
      hint: "Use resize(), which gives another tensor.",
    });
  requireChangeable(x, "resize_", "x");
  const target = internDesc(x.device, x.dtype, shape);
  const need = sizeOf(shape);
  const { sizeInBytes } = DTYPES[x.dtype];
  const capacity = Math.floor(x.storage.contentInBytes / sizeInBytes) - x.offset;
  if (need <= capacity || need === 0) {
    x.desc = target;
    return x;
  }
  noGrad(() => {
    const make = (): Tensor => zeros([x.offset + need], { dtype: x.dtype, device: x.device });
    const grown = outsideScopes(() => (x.isInference ? make() : ordinary(make)));
    if (capacity > 0) copy_(narrow(grown, 0, x.offset, capacity), asStrided(x, [capacity], [1]));
    grown.storage.retain();
    x.storage.release();
    x.storage = grown.storage;
    x.desc = target;
    grown.dispose();
  });
  return x;
}

/** resize_() to the shape of another tensor. Reference: torch.Tensor.resize_as_. */
export const resizeAs_ = (x: Tensor, template: Tensor): Tensor => resize_(x, template.shape);

/** Whether two tensors have one shape. Reference: torch.is_same_size. */
export const isSameSize = (x: Tensor, other: Tensor): boolean => x.rank === other.rank && x.shape.every((d, i) => d === other.shape[i]);

/** Whether two tensors show the same elements of one storage in the same way. Reference: torch.Tensor.is_set_to. */
export const isSetTo = (x: Tensor, other: Tensor): boolean =>
  x.storage === other.storage && x.offset === other.offset && x.desc === other.desc;

export const methods = { resize, resize_, resizeAs_, isSameSize, isSetTo };
