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
const binary = (name: string, fn: (a: dx.Tensor, b: dx.Tensor) => dx.Tensor, a = A, b = B): Smooth =>
  of(name, (x, y) => fn(x!, y!), [[2, 3], a], [[3], b]);

export const SMOOTH: readonly Smooth[] = [
  binary("atan2", dx.atan2),
  binary("hypot", dx.hypot),
  binary("logaddexp", dx.logaddexp),
  binary("logaddexp2", dx.logaddexp2),
  binary("xlogy", dx.xlogy, A, [0.9, 0.6, 2.1]),
  binary("xlog1py", dx.xlog1py, A, [0.9, 0.6, 2.1]),
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
  binary("dist", (a, b) => dx.dist(a, b)),
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
  of("scaledDotProductAttention", (q, k, v) => dx.scaledDotProductAttention(q!, k!, v!), [[2, 2, 3], A], [[2, 4, 3], B], [[1, 4, 2], A]),
  of(
    "scaledDotProductAttention, causal",
    (q, k, v) => dx.scaledDotProductAttention(q!, k!, v!, { isCausal: true, enableGqa: true }),
    [[2, 2, 3], A],
    [[1, 3, 3], B],
    [[1, 3, 2], A],
  ),
  of(
    "scaledDotProductAttention with a mask",
    (q, k, v, m) => dx.scaledDotProductAttention(q!, k!, v!, { attnMask: m }),
    [[2, 3], A],
    [[3, 3], B],
    [[3, 2], A],
    [[2, 3], B],
  ),
  of("rmsNorm", (x, w) => dx.rmsNorm(x!, [3], w!), [[2, 3], A], [[3], B]),
  of("localResponseNorm", (x) => dx.localResponseNorm(x!, 3, { alpha: 1 }), [[1, 4, 2], A]),
  linear("interpolate, bicubic", (x) => dx.interpolate(x!, { size: [3, 5], mode: "bicubic" }), [[1, 1, 4, 3], A]),
  linear("interpolate, antialiased", (x) => dx.interpolate(x!, { size: [2, 3], mode: "bilinear", antialias: true }), [[1, 1, 5, 4], A]),
  linear("interpolate, nearest", (x) => dx.interpolate(x!, { scaleFactor: 1.7 }), [[1, 1, 4], A]),
  of(
    "gridSample",
    (x, grid) => dx.gridSample(x!, grid!),
    [[1, 2, 3, 3], A],
    [
      [1, 2, 2, 2],
      [0.13, -0.47, 0.31],
    ],
  ),
  of(
    "gridSample, bicubic",
    (x, grid) => dx.gridSample(x!, grid!, { mode: "bicubic" }),
    [[1, 1, 3, 3], A],
    [
      [1, 1, 2, 2],
      [0.13, -0.47, 0.31],
    ],
  ),
  linear("affineGrid", (t) => dx.affineGrid(t!, [1, 1, 2, 3]), [[1, 2, 3], A]),
  linear("pixelShuffle", (x) => dx.pixelUnshuffle(dx.pixelShuffle(x!, 2), 2), [[1, 4, 2, 1], A]),
  linear("unfoldWindows", (x) => dx.unfoldWindows(x!, [2, 1], { padding: 1, stride: 2 }), [[1, 2, 3, 3], A]),
  linear("fold", (x) => dx.fold(x!, [3, 3], 2, { padding: 1, stride: 2 }), [[1, 4, 4], A]),
  linear("maxUnpool1d", (x) => dx.maxUnpool1d(x!, dx.tensor([0, 3], { dtype: "int32", shape: [1, 1, 2] }), 2), [[1, 1, 2], A]),
  of("lpPool2d", (x) => dx.lpPool2d(x!, 2, 2), [[1, 1, 2, 4], A]),
  of("bilinear", (a, b, w) => dx.bilinear(a!, b!, w!), [[2, 2], A], [[2, 3], B], [[2, 2, 3], A]),
  linear(
    "embeddingBag",
    (w) =>
      dx.embeddingBag(
        dx.tensor(
          [
            [0, 2],
            [1, 1],
          ],
          { dtype: "int32" },
        ),
        w!,
      ),
    [[3, 2], A],
  ),
  linear("hingeEmbeddingLoss", (x) => dx.hingeEmbeddingLoss(x!, dx.tensor([1, -1, -1]), { margin: 2.9 }), [[3], A]),
  of(
    "cosineEmbeddingLoss",
    (a, b) => dx.cosineEmbeddingLoss(a!, b!, dx.tensor([1, -1])),
    [[2, 3], A],
    [
      [2, 3],
      [-1, 0.4, 1.2],
    ],
  ),
  of("softMarginLoss", (x) => dx.softMarginLoss(x!, dx.tensor([1, -1, 1])), [[3], A]),
  of("multiMarginLoss", (x) => dx.multiMarginLoss(x!, dx.tensor([0, 2], { dtype: "int64" }), { p: 2 }), [[2, 3], A]),
  linear("multilabelMarginLoss", (x) => dx.multilabelMarginLoss(x!, dx.tensor([[1, -1, 0]], { dtype: "int64" })), [[1, 3], A]),
  of("multilabelSoftMarginLoss", (x) => dx.multilabelSoftMarginLoss(x!, dx.tensor([[1, 0, 1]])), [[1, 3], A]),
  of("poissonNllLoss", (x, t) => dx.poissonNllLoss(x!, t!, { full: true }), [[3], A], [[3], [0.4, 1.6, 3]]),
  of("gaussianNllLoss", (x, t, v) => dx.gaussianNllLoss(x!, t!, v!), [[3], A], [[3], B], [[3], [0.6, 1.2, 2]]),
  of(
    "tripletMarginLoss",
    (a, p, n) => dx.tripletMarginLoss(a!, p!, n!, { margin: 4 }),
    [[2, 3], A],
    [[2, 3], B],
    [
      [2, 3],
      [0.3, 1.9, -0.2],
    ],
  ),
  of(
    "lstm",
    (x, i, h, b) =>
      dx.recurrent(
        "lstm",
        x!,
        [
          { input: i!, hidden: h!, inputBias: b! },
          { input: i!, hidden: h! },
        ],
        { bidirectional: true, lengths: [2, 1] },
      ).output,
    [[2, 2, 1], A],
    [[4, 1], A],
    [[4, 1], B],
    [[4], A],
  ),
  of(
    "gru",
    (x, i, h, b) => dx.recurrent("gru", x!, [{ input: i!, hidden: h!, hiddenBias: b! }]).output,
    [[2, 2, 1], A],
    [[3, 1], A],
    [[3, 1], B],
    [[3], A],
  ),
  of("rnn", (x, i, h) => dx.recurrent("tanh", x!, [{ input: i!, hidden: h! }]).hidden, [[3, 1, 2], A], [[2, 2], A], [[2, 2], B]),
];
