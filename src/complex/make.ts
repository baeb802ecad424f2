/** Complex numbers of real ones, and back. */
import { ComplexTensor } from "../core/complex-tensor.ts";
import { requireSameDevice, dispatch } from "../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { alias, broadcastTo } from "../ops/shape/movement.ts";
import { neg } from "../ops/elementwise/unary.ts";
import { broadcastShapes } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { fromPairs, fromParts, resolved } from "./pairs.ts";
import { polarOp } from "./polar.ts";

function requireParts(operation: string, names: readonly [string, string], a: Tensor, b: Tensor): void {
  for (const [i, t] of [a, b].entries())
    if (!(t instanceof Tensor) || (t.dtype !== "float32" && t.dtype !== "float16"))
      throw new DTypeError(operation, names[i]!, "a tensor of float32 or float16", t instanceof Tensor ? t.describe() : typeof t);
  if (a.dtype !== b.dtype) throw new DTypeError(operation, names[1], `of ${a.dtype}, as ${names[0]} is`, b.describe());
  requireSameDevice(operation, [a, b]);
}

/**
 * real + i imag: a copy of both, broadcast against each other. Both float32, or both float16. Both parts require a gradient where one of
 * the arguments does, and a gradient of one is a gradient of both, as in PyTorch. Reference: torch.complex. DirectML: JOIN.
 */
export function complex(real: Tensor, imag: Tensor): ComplexTensor {
  requireParts("complex", ["real", "imag"], real, imag);
  const shape = broadcastShapes("complex", real.shape, imag.shape);
  return fromParts(broadcastTo(real, shape), broadcastTo(imag, shape));
}

/** length (cos angle + i sin angle). Both float32, or both float16; they broadcast. Reference: torch.polar. */
export function polar(length: Tensor, angle: Tensor): ComplexTensor {
  requireParts("polar", ["length", "angle"], length, angle);
  const shape = broadcastShapes("polar", length.shape, angle.shape);
  const [re, im] = dispatch(polarOp, [broadcastTo(length, shape), broadcastTo(angle, shape)], undefined);
  return fromParts(re!, im!);
}

/** x [..., 2] as complex numbers of its pairs: a view. Reference: torch.view_as_complex. */
export function viewAsComplex(x: Tensor): ComplexTensor {
  if (x.dtype !== "float32" && x.dtype !== "float16") throw new DTypeError("viewAsComplex", "x", "of float32 or float16", x.describe());
  if (x.rank === 0 || x.shape.at(-1) !== 2) throw new ShapeError("viewAsComplex", "x", "[..., 2]", x.describe());
  return fromPairs(alias(x), false);
}

/** z as pairs of real numbers [..., 2]: a view. Throws ValueError for a conjugate that is a view. Reference: torch.view_as_real. */
export function viewAsReal(z: ComplexTensor): Tensor {
  if (z.isConj) {
    const hint = "resolveConj() computes the conjugate, of which viewAsReal() is a view then.";
    throw new ValueError("viewAsReal", "z", "no conjugate view", z.describe(), hint);
  }
  return alias(z.pairs);
}

/** The real parts, a view; of a real tensor the tensor itself. Reference: torch.real. */
export const real = (x: Tensor | ComplexTensor): Tensor => (x instanceof ComplexTensor ? x.real : x);

/** The imaginary parts: a view, of a conjugate a copy. Throws DTypeError for a real tensor. Reference: torch.imag. */
export function imag(x: ComplexTensor): Tensor {
  if (!(x instanceof ComplexTensor)) throw new DTypeError("imag", "x", "complex", (x as Tensor).describe());
  return x.imag;
}

/** Whether x is a complex tensor. Reference: torch.is_complex. */
export const isComplex = (x: unknown): x is ComplexTensor => x instanceof ComplexTensor;

/** real - i imag: a view; of a real tensor the tensor itself. Reference: torch.conj. */
export function conj<T extends Tensor | ComplexTensor>(x: T): T {
  return (x instanceof ComplexTensor ? fromPairs(alias(x.pairs), !x.isConj) : x) as T;
}
/** The conjugate as a copy; of a real tensor the tensor itself. Reference: torch.conj_physical. */
export function conjPhysical<T extends Tensor | ComplexTensor>(x: T): T {
  if (!(x instanceof ComplexTensor)) return x;
  return fromParts(x.re, neg(x.im)) as T;
}
/** x as a copy if it is a conjugate view, else x itself. Reference: torch.resolve_conj. */
export const resolveConj = <T extends Tensor | ComplexTensor>(x: T): T =>
  (x instanceof ComplexTensor && x.isConj ? fromPairs(resolved(x), false) : x) as T;
/** x itself: negation is never lazy here. Reference: torch.resolve_neg. */
export const resolveNeg = <T extends Tensor | ComplexTensor>(x: T): T => x;
