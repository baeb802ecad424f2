/** Complex numbers of real ones, and back. */
import { ComplexTensor } from "../core/complex-tensor.ts";
import { joined } from "../autograd/tie.ts";
import { requireSameDevice } from "../dispatch/dispatch.ts";
import { DTypeError, ShapeError } from "../core/errors.ts";
import { mul } from "../ops/elementwise/binary.ts";
import { stack } from "../ops/shape/join.ts";
import { alias, broadcastTo, select } from "../ops/shape/movement.ts";
import { clone } from "../ops/data/state.ts";
import { cos, neg, sin } from "../ops/elementwise/unary.ts";
import { broadcastShapes } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";

function requireParts(operation: string, names: readonly [string, string], a: Tensor, b: Tensor): void {
  for (const [i, t] of [a, b].entries())
    if (!(t instanceof Tensor) || (t.dtype !== "float32" && t.dtype !== "float16"))
      throw new DTypeError(operation, names[i]!, "a tensor of float32 or float16", t instanceof Tensor ? t.describe() : typeof t);
  if (a.dtype !== b.dtype) throw new DTypeError(operation, names[1], `of ${a.dtype}, as ${names[0]} is`, b.describe());
  requireSameDevice(operation, [a, b]);
}

/**
 * real + i imag: a copy of both, broadcast against each other. Both float32, or both float16. Both parts require a gradient where one of
 * the arguments does, and a gradient of one is a gradient of both, as in PyTorch. Reference: torch.complex. DirectML: ELEMENT_WISE_IDENTITY.
 */
export function complex(real: Tensor, imag: Tensor): ComplexTensor {
  requireParts("complex", ["real", "imag"], real, imag);
  const shape = broadcastShapes("complex", real.shape, imag.shape);
  return new ComplexTensor(...joined(clone(broadcastTo(real, shape)), clone(broadcastTo(imag, shape))));
}

/** length (cos angle + i sin angle). Both float32, or both float16. Reference: torch.polar. */
export function polar(length: Tensor, angle: Tensor): ComplexTensor {
  requireParts("polar", ["length", "angle"], length, angle);
  return new ComplexTensor(mul(length, cos(angle)), mul(length, sin(angle)));
}

/** x [..., 2] as complex numbers of its pairs: views. Reference: torch.view_as_complex. */
export function viewAsComplex(x: Tensor): ComplexTensor {
  if (x.dtype !== "float32" && x.dtype !== "float16") throw new DTypeError("viewAsComplex", "x", "of float32 or float16", x.describe());
  if (x.rank === 0 || x.shape.at(-1) !== 2) throw new ShapeError("viewAsComplex", "x", "[..., 2]", x.describe());
  return new ComplexTensor(select(x, -1, 0), select(x, -1, 1));
}

/** z as pairs of real numbers [..., 2]: a copy, since the parts lie apart. Reference: torch.view_as_real. DirectML: JOIN. */
export const viewAsReal = (z: ComplexTensor): Tensor => stack([z.real, z.imag], -1);

/** The real parts; of a real tensor the tensor itself. Reference: torch.real. */
export const real = (x: Tensor | ComplexTensor): Tensor => (x instanceof ComplexTensor ? x.real : x);

/** The imaginary parts. Throws DTypeError for a real tensor. Reference: torch.imag. */
export function imag(x: ComplexTensor): Tensor {
  if (!(x instanceof ComplexTensor)) throw new DTypeError("imag", "x", "complex", (x as Tensor).describe());
  return x.imag;
}

/** Whether x is a complex tensor. Reference: torch.is_complex. */
export const isComplex = (x: unknown): x is ComplexTensor => x instanceof ComplexTensor;

/** real - i imag; of a real tensor the tensor itself. Reference: torch.conj. */
export function conj<T extends Tensor | ComplexTensor>(x: T): T {
  return (x instanceof ComplexTensor ? new ComplexTensor(alias(x.real), neg(x.imag)) : x) as T;
}
/** conj: nothing is put off here. Reference: torch.conj_physical. */
export const conjPhysical = conj;
/** x itself: nothing is put off here. Reference: torch.resolve_conj. */
export const resolveConj = <T extends Tensor | ComplexTensor>(x: T): T => x;
/** x itself: nothing is put off here. Reference: torch.resolve_neg. */
export const resolveNeg = <T extends Tensor | ComplexTensor>(x: T): T => x;
