/** Operations with points around which they are smooth, for checks by finite differences. */
import * as dx from "../../src/index.ts";

export interface Smooth {
  readonly name: string;
  readonly fn: (...inputs: dx.Tensor[]) => dx.Tensor;
  /** Shape and values of each input; values repeat, a little larger each time. */
  readonly inputs: readonly (readonly [shape: readonly number[], values: readonly number[]])[];
  readonly step?: number;
  /** The first order alone: the second is zero everywhere. */
  readonly once?: boolean;
}

const [A, B] = [
  [-1.3, 0.7, 1.6],
  [0.9, -0.6, 2.1],
];
const of = (name: string, fn: Smooth["fn"], ...inputs: (readonly [readonly number[], readonly number[]])[]): Smooth => ({
  name,
  fn,
  inputs,
});
const linear = (name: string, fn: Smooth["fn"], ...inputs: (readonly [readonly number[], readonly number[]])[]): Smooth => ({
  name,
  fn,
  inputs,
  once: true,
});
const pair = (name: string, fn: (a: dx.Tensor, b: dx.Tensor) => dx.Tensor, a = A, b = B): Smooth =>
  of(name, (x, y) => fn(x!, y!), [[2, 3], a], [[3], b]);

export const SMOOTH: readonly Smooth[] = [
  pair("atan2", dx.atan2),
  pair("hypot", dx.hypot),
  pair("logaddexp", dx.logaddexp),
  pair("logaddexp2", dx.logaddexp2),
  pair("xlogy", dx.xlogy, A, [0.9, 0.6, 2.1]),
  pair("xlog1py", dx.xlog1py, A, [0.9, 0.6, 2.1]),
  linear("fmax", (x, y) => dx.fmax(x!, y!), [[3], A], [[3], B]),
  linear("fmin", (x, y) => dx.fmin(x!, y!), [[3], A], [[3], B]),
  linear("copysign", (x, y) => dx.copysign(x!, y!), [[3], A], [[3], B]),
  linear("remainder", (x) => dx.remainder(x!, 0.9), [[3], A]),
  linear("fmod", (x) => dx.fmod(x!, 0.9), [[3], A]),
  of("lerp", (a, b, w) => dx.lerp(a!, b!, w!), [[3], A], [[3], B], [[1], [0.3]]),
  of("addcmul", (a, b, c) => dx.addcmul(a!, b!, c!, { value: 0.7 }), [[2, 3], A], [[3], B], [[1], [0.4]]),
  of("addcdiv", (a, b, c) => dx.addcdiv(a!, b!, c!, { value: 0.7 }), [[2, 3], A], [[3], B], [[1], [1.4]]),
  of("sinc", (x) => dx.sinc(x!), [[3], A]),
  of("logit", (x) => dx.logit(x!), [[3], [0.3, 0.5, 0.7]]),
  linear("rad2deg", (x) => dx.deg2rad(dx.rad2deg(x!)), [[3], A]),
  of("norm of order 3", (x) => dx.norm(x!, 3, 1), [[2, 3], A]),
  of("norm of order 1.5", (x) => dx.norm(x!, 1.5, 0), [[2, 3], A]),
  pair("dist", (a, b) => dx.dist(a, b)),
  of("cdist", (a, b) => dx.cdist(a!, b!), [[2, 3], A], [[3, 3], B]),
  of("pdist", (a) => dx.pdist(a!), [[3, 2], A]),
  of("cosineSimilarity", (a, b) => dx.cosineSimilarity(a!, b!), [[2, 3], A], [[2, 3], B]),
  of("normalize", (a) => dx.normalize(a!), [[2, 3], A]),
  of("cov", (a) => dx.cov(a!), [[2, 3], A]),
  linear("nanmean", (a) => dx.nanmean(a!, 1), [[2, 3], A]),
  of("renorm", (a) => dx.renorm(a!, 2, 0, 0.5), [[2, 3], A]),
  of("lgamma", (x) => dx.lgamma(x!), [[4], [0.8, 1.7, 3.4, 9]]),
  of("digamma", (x) => dx.digamma(x!), [[3], [1.2, 2.4, 9]]),
  of("polygamma", (x) => dx.polygamma(2, x!), [[3], [1.8, 2.4, 6]]),
  of("mvlgamma", (x) => dx.mvlgamma(x!, 3), [[2], [2.4, 4]]),
  of("erfc", (x) => dx.erfc(x!), [[3], A]),
  of("erfcx", (x) => dx.erfcx(x!), [[3], [-0.4, 0.3, 2]]),
  of("erfinv", (x) => dx.erfinv(x!), [[3], [-0.5, 0.1, 0.6]]),
  of("ndtr", (x) => dx.ndtr(x!), [[3], A]),
  of("ndtri", (x) => dx.ndtri(x!), [[3], [0.3, 0.5, 0.7]]),
  of("logNdtr", (x) => dx.logNdtr(x!), [[3], [-2, 0.4, 1.3]]),
  of("entr", (x) => dx.entr(x!), [[3], [0.4, 1, 2]]),
  of("i0", (x) => dx.i0(x!), [[3], A]),
  of("i0e", (x) => dx.i0e(x!), [[3], A]),
  of("i1", (x) => dx.i1(x!), [[3], A]),
  of("i1e", (x) => dx.i1e(x!), [[3], A]),
  of("igamma", (x) => dx.igamma(2.5, x!), [[3], [0.7, 2, 4]]),
  of("igammac", (x) => dx.igammac(2.5, x!), [[3], [0.7, 2, 4]]),
  of("zeta", (x) => dx.zeta(3, x!), [[3], [0.9, 2, 4]]),
];
