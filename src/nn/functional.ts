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
export { dropout, dropoutChannels as dropout2d } from "../ops/dropout.ts";
export { embedding } from "../ops/embedding.ts";
export { binaryCrossEntropy, binaryCrossEntropyWithLogits, huberLoss, klDiv, l1Loss, mseLoss, smoothL1Loss } from "../ops/loss.ts";
export { linear } from "../ops/matmul.ts";
export { batchNorm, groupNorm, instanceNorm, layerNorm } from "../ops/norm.ts";
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
