/** Special functions. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { unaryEntry, type Entry } from "./entry.ts";

type Pair = (a: dx.Tensor, b: dx.Tensor) => dx.Tensor;
const pair = (f: Pair): Entry => ({ run: (c) => f(c.positional[0] as dx.Tensor, c.positional[1] as dx.Tensor) });
/** polygamma(n, x): the order comes first, or second in the method. */
const polygamma: Entry = { run: (c: Call) => (c.positional[0] instanceof dx.Tensor ? dx.polygamma(c.positional[1] as number, c.x) : dx.polygamma(c.positional[0] as number, c.tensor(c.positional[1]))) };

export const special: Readonly<Record<string, Entry>> = {
  "special.gammaln": unaryEntry("lgamma", dx.lgamma), "special.psi": unaryEntry("digamma", dx.digamma),
  polygamma, "special.polygamma": polygamma, "special.gammainc": pair(dx.igamma), "special.gammaincc": pair(dx.igammac),
  "special.multigammaln": { run: (c) => dx.mvlgamma(c.x, c.number("p", 1)) },
};
