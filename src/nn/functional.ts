/** The functions behind the layers, under PyTorch's names of torch.nn.functional in camelCase. */
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
} from "../ops/activation.ts";
export {
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveAvgPool3d,
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  adaptiveMaxPool3d,
} from "../ops/adaptive-pool.ts";
export { conv1d, conv2d, conv3d, convTranspose1d, convTranspose2d, convTranspose3d } from "../ops/conv.ts";
export { crossEntropy, nllLoss } from "../ops/cross-entropy.ts";
export {
  alphaDropout,
  dropout,
  dropoutChannels as dropout1d,
  dropoutChannels as dropout2d,
  dropoutChannels as dropout3d,
  featureAlphaDropout,
} from "../ops/dropout.ts";
export { embedding } from "../ops/embedding.ts";
export { binaryCrossEntropy, binaryCrossEntropyWithLogits, huberLoss, klDiv, l1Loss, mseLoss, smoothL1Loss } from "../ops/loss.ts";
export { linear } from "../ops/matmul.ts";
export { instanceNorm } from "../ops/instance-norm.ts";
export { batchNorm, groupNorm, layerNorm } from "../ops/norm.ts";
export { localResponseNorm, rmsNorm } from "../ops/rms-norm.ts";
export { scaledDotProductAttention } from "../ops/attention.ts";
export { multiHeadAttention, rotaryEmbedding } from "../ops/multihead.ts";
export { interpolate } from "../ops/resize.ts";
export { affineGrid, gridSample } from "../ops/grid-sample.ts";
export { channelShuffle, pixelShuffle, pixelUnshuffle } from "../ops/shuffle.ts";
export { fold, unfoldWindows as unfold } from "../ops/fold.ts";
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
} from "../ops/unpool.ts";
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
} from "../ops/margin-loss.ts";
export { ctcLoss } from "../ops/ctc-loss.ts";
export { embeddingBag } from "../ops/embedding-bag.ts";
export { bilinear, gumbelSoftmax, rrelu } from "../ops/noisy.ts";
export { cosineSimilarity, normalize, pairwiseDistance, pdist } from "../ops/distance.ts";
export { pad } from "../ops/pad.ts";
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
} from "../ops/pool.ts";
export { oneHot } from "../ops/ranges.ts";
export { logSoftmax, softmax, softmin } from "../ops/softmax.ts";
export { tanh } from "../ops/unary.ts";
