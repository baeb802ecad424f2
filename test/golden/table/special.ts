/** Special functions. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { unaryEntry, type Entry } from "./entry.ts";

type Pair = (a: dx.Tensor, b: dx.Tensor) => dx.Tensor;
const pair = (f: Pair): Entry => ({ run: (c) => f(c.positional[0] as dx.Tensor, c.positional[1] as dx.Tensor) });
const both = (name: string, f: (x: dx.Tensor) => dx.Tensor): Readonly<Record<string, Entry>> => ({ [name]: unaryEntry(name, f), [`special.${name}`]: unaryEntry(name, f) });
const only = (name: string, f: (x: dx.Tensor) => dx.Tensor): Readonly<Record<string, Entry>> => ({ [`special.${name}`]: unaryEntry(name, f) });

/** polygamma(n, x): the order comes first, or second in the method. */
const polygamma: Entry = { run: (c: Call) => (c.positional[0] instanceof dx.Tensor ? dx.polygamma(c.positional[1] as number, c.x) : dx.polygamma(c.positional[0] as number, c.tensor(c.positional[1]))) };

export const special: Readonly<Record<string, Entry>> = {
  ...both("lgamma", dx.lgamma), ...both("digamma", dx.digamma), ...both("erfc", dx.erfc), ...both("erfinv", dx.erfinv), ...both("i0", dx.i0),
  "special.gammaln": unaryEntry("lgamma", dx.lgamma), "special.psi": unaryEntry("digamma", dx.digamma),
  ...only("erfcx", dx.erfcx), ...only("i0e", dx.i0e), ...only("i1", dx.i1), ...only("i1e", dx.i1e), ...only("ndtr", dx.ndtr), ...only("ndtri", dx.ndtri), ...only("log_ndtr", dx.logNdtr), ...only("entr", dx.entr),
  ...only("bessel_j0", dx.besselJ0), ...only("bessel_j1", dx.besselJ1), ...only("bessel_y0", dx.besselY0), ...only("bessel_y1", dx.besselY1), ...only("spherical_bessel_j0", dx.sphericalBesselJ0),
  ...only("modified_bessel_i0", dx.modifiedBesselI0), ...only("modified_bessel_i1", dx.modifiedBesselI1), ...only("modified_bessel_k0", dx.modifiedBesselK0), ...only("modified_bessel_k1", dx.modifiedBesselK1),
  ...only("scaled_modified_bessel_k0", dx.scaledModifiedBesselK0), ...only("scaled_modified_bessel_k1", dx.scaledModifiedBesselK1),
  "special.chebyshev_polynomial_t": pair(dx.chebyshevPolynomialT), "special.chebyshev_polynomial_u": pair(dx.chebyshevPolynomialU),
  "special.chebyshev_polynomial_v": pair(dx.chebyshevPolynomialV), "special.chebyshev_polynomial_w": pair(dx.chebyshevPolynomialW),
  "special.shifted_chebyshev_polynomial_t": pair(dx.shiftedChebyshevPolynomialT), "special.shifted_chebyshev_polynomial_u": pair(dx.shiftedChebyshevPolynomialU),
  "special.shifted_chebyshev_polynomial_v": pair(dx.shiftedChebyshevPolynomialV), "special.shifted_chebyshev_polynomial_w": pair(dx.shiftedChebyshevPolynomialW),
  "special.hermite_polynomial_h": pair(dx.hermitePolynomialH), "special.hermite_polynomial_he": pair(dx.hermitePolynomialHe),
  "special.laguerre_polynomial_l": pair(dx.laguerrePolynomialL), "special.legendre_polynomial_p": pair(dx.legendrePolynomialP),
  polygamma, "special.polygamma": polygamma, igamma: pair(dx.igamma), igammac: pair(dx.igammac), "special.gammainc": pair(dx.igamma), "special.gammaincc": pair(dx.igammac), "special.zeta": pair(dx.zeta),
  mvlgamma: { run: (c) => dx.mvlgamma(c.x, c.number("p", 1)) }, "special.multigammaln": { run: (c) => dx.mvlgamma(c.x, c.number("p", 1)) },
};
