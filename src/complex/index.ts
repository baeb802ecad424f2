/** Complex numbers: docs/fft.md. */
import "./methods.ts";

export { ComplexTensor, type ComplexDType } from "../core/complex-tensor.ts";
export type { ComplexNumber, ComplexOperand } from "./arithmetic.ts";
export type { NestedPairs } from "./data.ts";
export { complex, conj, conjPhysical, imag, isComplex, polar, real, resolveConj, resolveNeg, viewAsComplex, viewAsReal } from "./make.ts";
export { abs, angle, cat, stack, where } from "./several.ts";
export { backward, grad, gradcheck, gradgradcheck, type ComplexBackwardOptions, type GradOptions, type Gradients } from "./autograd.ts";
export { canCast, promoteTypes, resultType } from "./promotion.ts";
