/** All operations. A new family adds one line here and two to methods.ts. */
import "./methods.ts";
import "./wiring.ts";

export { add, mul, sub } from "./binary.ts";
export { div, floorDivide, fmod, gcd, lcm, remainder, rsub, trueDivide, type DivOptions } from "./division.ts";
export { copysign, frexp, ldexp, nextafter, signbit } from "./floats.ts";
export { addcdiv, addcmul, atan2, floatPower, fmax, fmin, heaviside, hypot, lerp, logaddexp, logaddexp2, xlog1py, xlogy } from "./pairs.ts";
export { aminmax, corrcoef, countNonzero, cov, nanmean, nansum, renorm, stdMean, varMean, type CovarianceOptions } from "./moments.ts";
export { cdist, cosineSimilarity, dist, matrixNorm, normalize, pairwiseDistance, pdist, vecdot, type MatrixOrder } from "./distance.ts";
export {
  besselJ0,
  besselJ1,
  besselY0,
  besselY1,
  chebyshevPolynomialT,
  chebyshevPolynomialU,
  chebyshevPolynomialV,
  chebyshevPolynomialW,
  digamma,
  entr,
  erfc,
  erfcx,
  erfinv,
  hermitePolynomialH,
  hermitePolynomialHe,
  i0,
  i0e,
  i1,
  i1e,
  igamma,
  igammac,
  laguerrePolynomialL,
  legendrePolynomialP,
  lgamma,
  logNdtr,
  modifiedBesselI0,
  modifiedBesselI1,
  modifiedBesselK0,
  modifiedBesselK1,
  mvlgamma,
  ndtr,
  ndtri,
  polygamma,
  scaledModifiedBesselK0,
  scaledModifiedBesselK1,
  shiftedChebyshevPolynomialT,
  shiftedChebyshevPolynomialU,
  shiftedChebyshevPolynomialV,
  shiftedChebyshevPolynomialW,
  sphericalBesselJ0,
  zeta,
} from "./special/index.ts";
export { angle, deg2rad, isreal, logit, positive, rad2deg, sgn, sinc } from "./elementary.ts";
export { allclose, allcloseSync, equal, equalSync, isclose, isin, type CloseOptions } from "./closeness.ts";
export {
  empty,
  emptyLike,
  full,
  fullLike,
  ones,
  onesLike,
  tensor,
  zeros,
  zerosLike,
  type TensorData,
  type TensorOptions,
} from "./creation.ts";
export { contiguous, data, dataSync, item, itemSync, to, toArray, toArraySync } from "./data.ts";
export {
  abs,
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atanh,
  ceil,
  cos,
  cosh,
  erf,
  exp,
  exp2,
  expm1,
  floor,
  frac,
  log,
  log10,
  log1p,
  log2,
  neg,
  reciprocal,
  round,
  rsqrt,
  sign,
  sin,
  sinh,
  sqrt,
  square,
  tan,
  tanh,
  trunc,
} from "./unary.ts";
export {
  eq,
  ge,
  gt,
  isfinite,
  isinf,
  isnan,
  isneginf,
  isposinf,
  le,
  logicalAnd,
  logicalNot,
  logicalOr,
  logicalXor,
  lt,
  ne,
} from "./compare.ts";
export { clamp, clampMax, clampMin, maskedFill, maximum, minimum, nanToNum, where } from "./where.ts";
export {
  broadcastTo,
  diagonal,
  expand,
  flatten,
  movedim,
  narrow,
  permute,
  reshape,
  select,
  slice,
  squeeze,
  t,
  transpose,
  unbind,
  unflatten,
  unsqueeze,
  view,
} from "./movement.ts";
export { all, any, mean, prod, sum, type Axes, type ReduceOptions } from "./reduce.ts";
export { amax, amin, argmax, argmin, max, min, type ArgOptions, type Extremes, type IndexDType } from "./extrema.ts";
export { cumprod, cumsum } from "./scan.ts";
export { cummax, cummin, logcumsumexp, type RunningOptions } from "./running.ts";
export { argsort, kthvalue, msort, sort, topk, type KthOptions, type SortOptions, type TopKOptions } from "./sort.ts";
export { median, mode, nanmedian, nanquantile, quantile, type Interpolation, type QuantileOptions } from "./order-statistics.ts";
export { arange, eye, linspace, oneHot, tril, triu } from "./ranges.ts";
export { cat, chunk, flip, repeat, repeatInterleave, roll, split, stack, tile } from "./join.ts";
export { gather, indexSelect, takeAlongAxis } from "./gather.ts";
export { indexAdd, indexCopy, indexFill, indexReduce } from "./index-rows.ts";
export { scatter, scatterAdd, scatterReduce, type ScatterReduceOptions, type ScatterReduction } from "./scatter.ts";
export {
  atleast1d,
  atleast2d,
  atleast3d,
  blockDiag,
  broadcastTensors,
  cartesianProd,
  columnStack,
  combinations,
  dsplit,
  dstack,
  fliplr,
  flipud,
  hsplit,
  hstack,
  meshgrid,
  mT,
  narrowCopy,
  rot90,
  swapaxes,
  tensorSplit,
  vsplit,
  vstack,
} from "./rearrange.ts";
export { asStrided, asStridedScatter, diagonalScatter, selectScatter, sliceScatter, sumToSize, unfold } from "./windows.ts";
export { diag, diagEmbed, diagflat, trace, type DiagonalOptions } from "./diagonals.ts";
export {
  cumulativeTrapezoid,
  diff,
  gradient,
  trapezoid,
  vander,
  type DiffOptions,
  type GradientOptions,
  type TrapezoidOptions,
  type VanderOptions,
} from "./calculus.ts";
export { einsum, inner, tensordot } from "./contraction.ts";
export { addbmm, addmv, addr, chainMatmul, cross, kron, multiDot, vdot } from "./products.ts";
export {
  argwhere,
  argwhereSync,
  maskedScatter,
  maskedSelect,
  maskedSelectSync,
  nonzero,
  nonzeroSync,
  take,
  type MaskedOptions,
  type NonzeroOptions,
  type SizedOptions,
} from "./nonzero.ts";
export { bincount, bucketize, histc, searchsorted, type BincountOptions, type HistogramOptions, type SearchOptions } from "./search.ts";
export { unique, uniqueConsecutive, type Unique, type UniqueOptions } from "./unique.ts";
export { pad, type PadMode } from "./pad.ts";
export { addmm, baddbmm, bmm, dot, linear, matmul, mm, mv, outer } from "./matmul.ts";
export {
  conv1d,
  conv2d,
  conv3d,
  convTranspose1d,
  convTranspose2d,
  convTranspose3d,
  type ConvOptions,
  type ConvTransposeOptions,
} from "./conv.ts";
export {
  avgPool1d,
  avgPool2d,
  avgPool3d,
  maxPool1d,
  maxPool1dWithIndices,
  maxPool2d,
  maxPool2dWithIndices,
  maxPool3d,
  maxPool3dWithIndices,
  type AvgPoolOptions,
  type MaxPoolOptions,
  type Pooled,
  type PoolOptions,
} from "./pool.ts";
export {
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveAvgPool3d,
  adaptiveMaxPool1d,
  adaptiveMaxPool1dWithIndices,
  adaptiveMaxPool2d,
  adaptiveMaxPool2dWithIndices,
  adaptiveMaxPool3d,
  adaptiveMaxPool3dWithIndices,
} from "./adaptive-pool.ts";
export { logSoftmax, softmax, softmin, type SoftmaxOptions } from "./softmax.ts";
export { batchNorm, groupNorm, layerNorm, type BatchNormOptions } from "./norm.ts";
export { instanceNorm, type InstanceNormOptions } from "./instance-norm.ts";
export { localResponseNorm, rmsNorm, type LocalResponseOptions } from "./rms-norm.ts";
export { scaledDotProductAttention, type AttentionOptions } from "./attention.ts";
export { multiHeadAttention, rotaryEmbedding, type MultiHeadOptions, type Projections } from "./multihead.ts";
export { interpolate, type InterpolateOptions, type ResizeMode } from "./resize.ts";
export { affineGrid, gridSample, type GridSampleOptions } from "./grid-sample.ts";
export { channelShuffle, pixelShuffle, pixelUnshuffle } from "./shuffle.ts";
export { fold, unfoldWindows, type FoldOptions } from "./fold.ts";
export {
  fractionalMaxPool2d,
  fractionalMaxPool2dWithIndices,
  fractionalMaxPool3d,
  fractionalMaxPool3dWithIndices,
  lpPool1d,
  lpPool2d,
  lpPool3d,
  maxUnpool1d,
  maxUnpool2d,
  maxUnpool3d,
  type FractionalOptions,
  type UnpoolOptions,
} from "./unpool.ts";
export {
  cosineEmbeddingLoss,
  gaussianNllLoss,
  hingeEmbeddingLoss,
  marginRankingLoss,
  multilabelMarginLoss,
  multilabelSoftMarginLoss,
  multiMarginLoss,
  poissonNllLoss,
  softMarginLoss,
  tripletMarginLoss,
  type GaussianOptions,
  type MultiMarginOptions,
  type PoissonOptions,
  type TripletOptions,
} from "./margin-loss.ts";
export {
  recurrent,
  recurrentCell,
  type RecurrentKind,
  type RecurrentOptions,
  type RecurrentResult,
  type RecurrentWeights,
} from "./recurrent.ts";
export * as masked from "./masked.ts";
export { canCast, resultType } from "./promotion.ts";
export { bartlettWindow, blackmanWindow, hammingWindow, hannWindow, kaiserWindow, logspace, type WindowOptions } from "./signal-windows.ts";
export { multinomial, normal, poisson, randintLike } from "./distributions.ts";
export { ctcLoss, type CtcOptions } from "./ctc-loss.ts";
export { embedding, type EmbeddingOptions } from "./embedding.ts";
export { embeddingBag, type EmbeddingBagOptions } from "./embedding-bag.ts";
export {
  binaryCrossEntropy,
  binaryCrossEntropyWithLogits,
  huberLoss,
  klDiv,
  l1Loss,
  mseLoss,
  smoothL1Loss,
  type BinaryOptions,
  type LogitsOptions,
  type LossOptions,
  type Reduction,
} from "./loss.ts";
export { crossEntropy, nllLoss, type CrossEntropyOptions, type NllOptions } from "./cross-entropy.ts";
export { alphaDropout, dropout, dropoutChannels, featureAlphaDropout, type DropoutOptions } from "./dropout.ts";
export { bilinear, gumbelSoftmax, rrelu, type GumbelOptions } from "./noisy.ts";
export {
  celu,
  elu,
  gelu,
  glu,
  hardshrink,
  hardSigmoid,
  hardSwish,
  hardtanh,
  leakyRelu,
  logSigmoid,
  mish,
  prelu,
  relu,
  relu6,
  selu,
  sigmoid,
  silu,
  softplus,
  softshrink,
  softsign,
  tanhshrink,
  threshold,
} from "./activation.ts";
export { bitwiseAnd, bitwiseLeftShift, bitwiseNot, bitwiseOr, bitwiseRightShift, bitwiseXor } from "./bits.ts";
export { index, indexPut, s, set, type Index, type Slice } from "./indexing.ts";
export { pow } from "./power.ts";
export {
  bernoulli,
  defaultGenerator,
  Generator,
  manualSeed,
  rand,
  randint,
  randLike,
  randn,
  randnLike,
  randperm,
  type RandomOptions,
} from "./random.ts";
export { clone, detach, registerHook, retainGrad, type HookHandle } from "./state.ts";
export { logsumexp, norm, std, variance as var, type VarianceOptions } from "./statistics.ts";
