/** Special functions, to float32's accuracy: in float16 they are computed in float32 and rounded once. */
import * as bessel from "./bessel.ts";
import * as errors from "./error-functions.ts";
import * as gamma from "./gamma.ts";
import * as incomplete from "./incomplete-gamma.ts";

export {
  besselJ0,
  besselJ1,
  besselY0,
  besselY1,
  i0,
  i0e,
  i1,
  i1e,
  modifiedBesselI0,
  modifiedBesselI1,
  modifiedBesselK0,
  modifiedBesselK1,
  scaledModifiedBesselK0,
  scaledModifiedBesselK1,
  sphericalBesselJ0,
} from "./bessel.ts";
export { entr, erfc, erfcx, erfinv, logNdtr, ndtr, ndtri } from "./error-functions.ts";
export { digamma, lgamma, mvlgamma, polygamma, zeta } from "./gamma.ts";
export { igamma, igammac } from "./incomplete-gamma.ts";
export * from "./polynomials.ts";

export const methods = { ...gamma.methods, ...errors.methods, ...bessel.methods, ...incomplete.methods };
export const inPlaceMethods = { ...gamma.inPlaceMethods, ...errors.inPlaceMethods, ...bessel.inPlaceMethods, ...incomplete.inPlaceMethods };
