/** Lengths, angles, and the elementary functions of complex numbers. */
import { ComplexTensor } from "../core/complex-tensor.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { div as over, mul as times, add as plus, sub as minus } from "../ops/elementwise/binary.ts";
import { eq, ge, isinf, logicalAnd } from "../ops/elementwise/compare.ts";
import { signbit } from "../ops/elementwise/floats.ts";
import { atan2, hypot } from "../ops/elementwise/arithmetic.ts";
import * as unary from "../ops/elementwise/unary.ts";
import { where } from "../ops/elementwise/where.ts";
import type { Tensor } from "../core/tensor.ts";
import { mul, square, type ComplexNumber, type ComplexOperand } from "./arithmetic.ts";
import { polar } from "./make.ts";
import { fromParts } from "./pairs.ts";

/** Where both parts are zero. */
const origin = (z: ComplexTensor): Tensor => noGrad(() => logicalAnd(eq(z.re, 0), eq(z.im, 0)));

/** |z|; its gradient at zero is zero. */
export function abs(z: ComplexTensor): Tensor {
  const isZero = origin(z);
  return where(isZero, 0, hypot(where(isZero, 1, z.re), z.im));
}

/** The angle in (-π, π]; its gradient at zero is zero. */
export function angle(z: ComplexTensor): Tensor {
  const isZero = origin(z);
  const there = noGrad(() => atan2(z.im, z.re));
  return where(isZero, there, atan2(z.im, where(isZero, 1, z.re)));
}

/** z / |z|; zero at zero, and so is its gradient. */
export function sgn(z: ComplexTensor): ComplexTensor {
  const isZero = origin(z);
  const length = where(isZero, 1, abs(z));
  const part = (t: Tensor): Tensor => where(isZero, 0, over(t, length));
  return fromParts(part(z.re), part(z.im));
}

/** e^z. */
export const exp = (z: ComplexTensor): ComplexTensor => polar(unary.exp(z.re), z.im);
/** The principal logarithm: ln |z| + i angle(z). */
export const log = (z: ComplexTensor): ComplexTensor => fromParts(unary.log(abs(z)), angle(z));

/** The root with a real part of at least zero. */
export function sqrt(z: ComplexTensor): ComplexTensor {
  const isZero = origin(z);
  const re = where(isZero, 1, z.re);
  const right = noGrad(() => ge(re, 0));
  const down = signbit(z.im);
  const isEndless = noGrad(() => isinf(z.im));
  // |re|, whose slope at zero is that of re.
  const size = where(right, re, unary.neg(re));
  // Halves are added, so that the sum does not overflow.
  const larger = unary.sqrt(plus(times(hypot(re, z.im), 0.5), times(size, 0.5)));
  const smaller = over(times(z.im, 0.5), larger);
  const against = (t: Tensor): Tensor => where(down, unary.neg(t), t);
  const real = where(isEndless, Infinity, where(right, larger, against(smaller)));
  const imag = where(isEndless, z.im, where(right, smaller, against(larger)));
  return fromParts(where(isZero, 0, real), where(isZero, z.im, imag));
}

/** Sine of complex numbers. Reference: torch.sin. */
export const sin = (z: ComplexTensor): ComplexTensor =>
  fromParts(times(unary.sin(z.re), unary.cosh(z.im)), times(unary.cos(z.re), unary.sinh(z.im)));
/** Cosine of complex numbers. Reference: torch.cos. */
export const cos = (z: ComplexTensor): ComplexTensor =>
  fromParts(times(unary.cos(z.re), unary.cosh(z.im)), unary.neg(times(unary.sin(z.re), unary.sinh(z.im))));
/** Hyperbolic sine of complex numbers. Reference: torch.sinh. */
export const sinh = (z: ComplexTensor): ComplexTensor =>
  fromParts(times(unary.sinh(z.re), unary.cos(z.im)), times(unary.cosh(z.re), unary.sin(z.im)));
/** Hyperbolic cosine of complex numbers. Reference: torch.cosh. */
export const cosh = (z: ComplexTensor): ComplexTensor =>
  fromParts(times(unary.cosh(z.re), unary.cos(z.im)), times(unary.sinh(z.re), unary.sin(z.im)));

/** Of t = tanh(x) and u = tan(y), so that no exponential overflows: (t (1 + u²) + i u (1 - t²)) / (1 + t² u²). */
export function tanh(z: ComplexTensor): ComplexTensor {
  const [t, u] = [unary.tanh(z.re), unary.tan(z.im)];
  const rest = times(minus(1, t), plus(1, t));
  const below = plus(unary.square(times(t, u)), 1);
  return fromParts(over(times(t, plus(unary.square(u), 1)), below), over(times(u, rest), below));
}
/** As tanh. */
export function tan(z: ComplexTensor): ComplexTensor {
  const { re, im } = tanh(fromParts(unary.neg(z.im), z.re));
  return fromParts(im, unary.neg(re));
}

/** z to the power of a real or complex exponent: e^(w log z), and 0 where z is zero (1 to the power of 0). */
export function pow(z: ComplexTensor, exponent: number | ComplexNumber | ComplexTensor): ComplexTensor {
  if (exponent === 2) return square(z);
  if (typeof exponent === "number") {
    const length = abs(z);
    const isZero = noGrad(() => eq(length, 0));
    const raised = unary.exp(times(unary.log(where(isZero, 1, length)), exponent));
    const at = exponent === 0 ? 1 : exponent > 0 ? 0 : Infinity;
    return polar(where(isZero, at, raised), times(angle(z), exponent));
  }
  const isZero = origin(z);
  const safe = fromParts(where(isZero, 1, z.re), z.im);
  const raised = exp(mul(log(safe), exponent as ComplexOperand));
  const zero = noGrad(() => (exponent instanceof ComplexTensor ? where(logicalAnd(isZero, origin(exponent)), 1, 0) : 0));
  const both = (t: Tensor, at: Tensor | number): Tensor => where(isZero, at, t);
  return fromParts(both(raised.re, zero), both(raised.im, 0));
}
