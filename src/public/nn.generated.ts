// Made by npm run generate from the families in src/ops.
import type { ClassByName } from "./by-name.ts";
import type { MadeByName } from "./by-name.ts";
import { checked } from "./kinds.generated.ts";
import { checkedClass } from "./kinds.generated.ts";
import { checkMethods } from "./kinds.generated.ts";
import { factory } from "./kinds.generated.ts";
import * as $nnActivation from "../nn/activation.ts";
import * as $nnAdaptiveSoftmax from "../nn/adaptive-softmax.ts";
import * as $nnAttention from "../nn/attention.ts";
import * as $nnCheckpointSequential from "../nn/checkpoint-sequential.ts";
import * as $nnContainers from "../nn/containers.ts";
import * as $nnConv from "../nn/conv.ts";
import * as $nnDeviceParallel from "../nn/device-parallel.ts";
import * as $nnModule from "../nn/module.ts";
import * as $nnDropout from "../nn/dropout.ts";
import * as $nnEmbedding from "../nn/embedding.ts";
import * as $nnFunctionalCall from "../nn/functional-call.ts";
import * as $nnInstanceNorm from "../nn/instance-norm.ts";
import * as $nnLazyLayers from "../nn/lazy-layers.ts";
import * as $nnLazyNorms from "../nn/lazy-norms.ts";
import * as $nnLinear from "../nn/linear.ts";
import * as $nnLists from "../nn/lists.ts";
import * as $nnLora from "../nn/lora.ts";
import * as $nnLoss from "../nn/loss.ts";
import * as $nnMarginLoss from "../nn/margin-loss.ts";
import * as $nnNorm from "../nn/norm.ts";
import * as $nnPad from "../nn/pad.ts";
import * as $nnParameter from "../nn/parameter.ts";
import * as $nnPipeline from "../nn/pipeline.ts";
import * as $nnPlanes from "../nn/planes.ts";
import * as $nnPool from "../nn/pool.ts";
import * as $nnQuantized from "../nn/quantized.ts";
import * as $nnRecurrent from "../nn/recurrent.ts";
import * as $nnSummary from "../nn/summary.ts";
export type { PReLUOptions } from "../nn/activation.ts";
export type { AdaptiveOptions } from "../nn/adaptive-softmax.ts";
export type { MultiheadAttentionOptions } from "../nn/attention.ts";
export type { AttentionCall } from "../nn/attention.ts";
export type { TransformerLayerOptions } from "../nn/attention.ts";
export type { EncoderCall } from "../nn/attention.ts";
export type { DecoderCall } from "../nn/attention.ts";
export type { TransformerOptions } from "../nn/attention.ts";
export type { ChainPart } from "../nn/checkpoint-sequential.ts";
export type { ConvLayerOptions } from "../nn/conv.ts";
export type { ConvTransposeLayerOptions } from "../nn/conv.ts";
export type { DataParallelOptions } from "../nn/device-parallel.ts";
export type { DeviceStep } from "../nn/device-step.ts";
export type { DeviceStepOptions } from "../nn/device-step.ts";
export type { StepOptimizer } from "../nn/device-replica.ts";
export type { DropoutOptions } from "../nn/dropout.ts";
export type { EmbeddingOptions } from "../nn/embedding.ts";
export type { EmbeddingBagOptions } from "../nn/embedding.ts";
export type { ForwardHook } from "../nn/hooks.ts";
export type { ForwardHookOptions } from "../nn/hooks.ts";
export type { ForwardPreHook } from "../nn/hooks.ts";
export type { HookGradients } from "../nn/hooks.ts";
export type { HookOptions } from "../nn/hooks.ts";
export type { RemovableHandle } from "../nn/hooks.ts";
export type { InstanceNormLayerOptions } from "../nn/instance-norm.ts";
export type { RMSNormLayerOptions } from "../nn/instance-norm.ts";
export type { LinearOptions } from "../nn/linear.ts";
export type { Lora } from "../nn/lora.ts";
export type { LoraOptions } from "../nn/lora-options.ts";
export type { LoraTarget } from "../nn/lora-options.ts";
export type { Layer } from "../nn/module.ts";
export type { BatchNormLayerOptions } from "../nn/norm.ts";
export type { AffineOptions } from "../nn/norm.ts";
export type { LayerNormOptions } from "../nn/norm.ts";
export type { GroupNormLayerOptions } from "../nn/norm.ts";
export type { PipelineOptions } from "../nn/pipeline.ts";
export type { QuantizedEmbeddingOptions } from "../nn/quantized.ts";
export type { QuantizedLinearOptions } from "../nn/quantized.ts";
export type { QuantizedWeight } from "../nn/quantized.ts";
export type { QuantizeModuleOptions } from "../nn/quantized.ts";
export type { RecurrentLayerOptions } from "../nn/recurrent.ts";
export type { LSTMOptions } from "../nn/recurrent.ts";
export type { RNNOptions } from "../nn/recurrent.ts";
export type { RecurrentCall } from "../nn/recurrent.ts";
export type { CellOptions } from "../nn/recurrent.ts";
export type { StateDict } from "../nn/module-state.ts";
export type { ModuleSummary } from "../nn/summary.ts";
export type { SummaryColumn } from "../nn/summary.ts";
export type { SummaryInputSpec } from "../nn/summary.ts";
export type { SummaryOptions } from "../nn/summary.ts";
export type { SummaryRow } from "../nn/summary.ts";
export type { LayerOptions } from "../nn/options.ts";
/** relu. Reference: torch.nn.ReLU. */
export const ReLU = checkedClass($nnActivation.ReLU, "", "forward x");
export type ReLU = $nnActivation.ReLU;
/** relu6. Reference: torch.nn.ReLU6. */
export const ReLU6 = checkedClass($nnActivation.ReLU6, "", "forward x");
export type ReLU6 = $nnActivation.ReLU6;
/** sigmoid. Reference: torch.nn.Sigmoid. */
export const Sigmoid = checkedClass($nnActivation.Sigmoid, "", "forward x");
export type Sigmoid = $nnActivation.Sigmoid;
/** tanh. Reference: torch.nn.Tanh. */
export const Tanh = checkedClass($nnActivation.Tanh, "", "forward x");
export type Tanh = $nnActivation.Tanh;
/** leakyRelu. Reference: torch.nn.LeakyReLU. */
export const LeakyReLU = checkedClass($nnActivation.LeakyReLU, "negativeSlope:numberOrNegativeSlope_4b07d7?", "forward x");
export type LeakyReLU = $nnActivation.LeakyReLU;
/** elu. Reference: torch.nn.ELU. */
export const ELU = checkedClass($nnActivation.ELU, "alpha:numberOrAlpha_6630fc?", "forward x");
export type ELU = $nnActivation.ELU;
/** selu. Reference: torch.nn.SELU. */
export const SELU = checkedClass($nnActivation.SELU, "", "forward x");
export type SELU = $nnActivation.SELU;
/** celu. Reference: torch.nn.CELU. */
export const CELU = checkedClass($nnActivation.CELU, "alpha:numberOrAlpha_6630fc?", "forward x");
export type CELU = $nnActivation.CELU;
/** gelu. Reference: torch.nn.GELU. */
export const GELU = checkedClass($nnActivation.GELU, "approximate:none_tanhOrApproximate_16588b?", "forward x");
export type GELU = $nnActivation.GELU;
/** silu. Reference: torch.nn.SiLU. */
export const SiLU = checkedClass($nnActivation.SiLU, "", "forward x");
export type SiLU = $nnActivation.SiLU;
/** mish. Reference: torch.nn.Mish. */
export const Mish = checkedClass($nnActivation.Mish, "", "forward x");
export type Mish = $nnActivation.Mish;
/** softplus. Reference: torch.nn.Softplus. */
export const Softplus = checkedClass($nnActivation.Softplus, "beta:numberOrSoftplusOptions? threshold:number?", "forward x");
export type Softplus = $nnActivation.Softplus;
/** softsign. Reference: torch.nn.Softsign. */
export const Softsign = checkedClass($nnActivation.Softsign, "", "forward x");
export type Softsign = $nnActivation.Softsign;
/** logSigmoid. Reference: torch.nn.LogSigmoid. */
export const LogSigmoid = checkedClass($nnActivation.LogSigmoid, "", "forward x");
export type LogSigmoid = $nnActivation.LogSigmoid;
/** hardtanh. Reference: torch.nn.Hardtanh. */
export const Hardtanh = checkedClass($nnActivation.Hardtanh, "minVal:numberOrHardtanhOptions? maxVal:number?", "forward x");
export type Hardtanh = $nnActivation.Hardtanh;
/** hardSigmoid. Reference: torch.nn.Hardsigmoid. */
export const HardSigmoid = checkedClass($nnActivation.HardSigmoid, "", "forward x");
export type HardSigmoid = $nnActivation.HardSigmoid;
/** hardSwish. Reference: torch.nn.Hardswish. */
export const HardSwish = checkedClass($nnActivation.HardSwish, "", "forward x");
export type HardSwish = $nnActivation.HardSwish;
/** tanhshrink. Reference: torch.nn.Tanhshrink. */
export const Tanhshrink = checkedClass($nnActivation.Tanhshrink, "", "forward x");
export type Tanhshrink = $nnActivation.Tanhshrink;
/** softmax along an axis. Reference: torch.nn.Softmax. */
export const Softmax = checkedClass($nnActivation.Softmax, "axis:number", "forward x") as ClassByName<typeof $nnActivation.Softmax, { axis: 0 }>;
export type Softmax = $nnActivation.Softmax;
/** logSoftmax along an axis. Reference: torch.nn.LogSoftmax. */
export const LogSoftmax = checkedClass($nnActivation.LogSoftmax, "axis:number", "forward x") as ClassByName<typeof $nnActivation.LogSoftmax, { axis: 0 }>;
export type LogSoftmax = $nnActivation.LogSoftmax;
/** x where x > 0, a learned slope times x elsewhere. Reference: torch.nn.PReLU. */
export const PReLU = checkedClass($nnActivation.PReLU, "numParameters:numberOrPReLUOptions? init:number? options:PReLUOptions?", "forward x");
export type PReLU = $nnActivation.PReLU;
/** The first half along an axis times the sigmoid of the second. Reference: torch.nn.GLU. */
export const GLU = checkedClass($nnActivation.GLU, "axis:number?", "forward x");
export type GLU = $nnActivation.GLU;
/** softmax of -x along an axis. Reference: torch.nn.Softmin. */
export const Softmin = checkedClass($nnActivation.Softmin, "axis:number", "forward x") as ClassByName<typeof $nnActivation.Softmin, { axis: 0 }>;
export type Softmin = $nnActivation.Softmin;
/** softmax over the channels of [N, C, H, W] or [C, H, W]. Reference: torch.nn.Softmax2d. */
export const Softmax2d = checkedClass($nnActivation.Softmax2d, "", "forward x");
export type Softmax2d = $nnActivation.Softmax2d;
/** 0 where |x| is at most lambda, x elsewhere. Reference: torch.nn.Hardshrink. */
export const Hardshrink = checkedClass($nnActivation.Hardshrink, "lambd:numberOrLambd_f221ed?", "forward x");
export type Hardshrink = $nnActivation.Hardshrink;
/** x moved towards 0 by lambda, at most to 0. Reference: torch.nn.Softshrink. */
export const Softshrink = checkedClass($nnActivation.Softshrink, "lambd:numberOrLambd_f221ed?", "forward x");
export type Softshrink = $nnActivation.Softshrink;
/** x where x > limit, value elsewhere. Reference: torch.nn.Threshold. */
export const Threshold = checkedClass($nnActivation.Threshold, "limit:number value:number", "forward x") as ClassByName<typeof $nnActivation.Threshold, { limit: 0; value: 1 }>;
export type Threshold = $nnActivation.Threshold;
/** leakyRelu with slopes drawn between lower and upper in training, their mean otherwise. Reference: torch.nn.RReLU. */
export const RReLU = checkedClass($nnActivation.RReLU, "lower:numberOrLower_9a6031? upper:number? options:lower_9a6031?", "forward x");
export type RReLU = $nnActivation.RReLU;
/**
 * log p(target | x) and its negative mean, where classes are sorted by frequency: those below cutoffs[0] are classes of the head, each
 * later range has one for all together and its own softmax within. x is [N, inputs] and target [N], or [inputs] and []. All rows go
 * through all clusters, since shapes do not depend on data. Reference: torch.nn.AdaptiveLogSoftmaxWithLoss.
 */
export const AdaptiveLogSoftmaxWithLoss = checkedClass($nnAdaptiveSoftmax.AdaptiveLogSoftmaxWithLoss, "inFeatures:number nClasses:number cutoffs:numbers options:AdaptiveOptions?", "forward x target;logProb x;predict x") as ClassByName<typeof $nnAdaptiveSoftmax.AdaptiveLogSoftmaxWithLoss, { inFeatures: 0; nClasses: 1; cutoffs: 2 }>;
export type AdaptiveLogSoftmaxWithLoss = $nnAdaptiveSoftmax.AdaptiveLogSoftmaxWithLoss;
/** Attention of several heads. forward(query, key, value) gives {output, weights}. Reference: torch.nn.MultiheadAttention. */
export const MultiheadAttention = checkedClass($nnAttention.MultiheadAttention, "embedDim:number numHeads:number dropout:numberOrMultiheadAttentionOptions? options:MultiheadAttentionOptions?", "forward query key value call:AttentionCall?") as ClassByName<typeof $nnAttention.MultiheadAttention, { embedDim: 0; numHeads: 1 }>;
export type MultiheadAttention = $nnAttention.MultiheadAttention;
/** Self-attention and feedforward, each with a residual and a layer norm. Reference: torch.nn.TransformerEncoderLayer. */
export const TransformerEncoderLayer = checkedClass($nnAttention.TransformerEncoderLayer, "dModel:number nhead:number dimFeedforward:numberOrTransformerLayerOptions? dropout:numberOrTransformerLayerOptions? options:TransformerLayerOptions?", "forward x options:EncoderCall?") as ClassByName<typeof $nnAttention.TransformerEncoderLayer, { dModel: 0; nhead: 1 }>;
export type TransformerEncoderLayer = $nnAttention.TransformerEncoderLayer;
/** As the encoder's layer, with attention to a memory between. Reference: torch.nn.TransformerDecoderLayer. */
export const TransformerDecoderLayer = checkedClass($nnAttention.TransformerDecoderLayer, "dModel:number nhead:number dimFeedforward:numberOrTransformerLayerOptions? dropout:numberOrTransformerLayerOptions? options:TransformerLayerOptions?", "forward x memory options:DecoderCall?") as ClassByName<typeof $nnAttention.TransformerDecoderLayer, { dModel: 0; nhead: 1 }>;
export type TransformerDecoderLayer = $nnAttention.TransformerDecoderLayer;
/** Encoder layers one after the other, made by a function, and a last norm. Reference: torch.nn.TransformerEncoder. */
export const TransformerEncoder = checkedClass($nnAttention.TransformerEncoder, "make:callback numLayers:number norm:layerNormOrNull?", "forward x call:EncoderCall?") as ClassByName<typeof $nnAttention.TransformerEncoder, { make: 0; numLayers: 1 }, { norm: 2 }>;
export type TransformerEncoder = $nnAttention.TransformerEncoder;
/** Decoder layers one after the other, made by a function, and a last norm. Reference: torch.nn.TransformerDecoder. */
export const TransformerDecoder = checkedClass($nnAttention.TransformerDecoder, "make:callback numLayers:number norm:layerNormOrNull?", "forward x memory call:DecoderCall?") as ClassByName<typeof $nnAttention.TransformerDecoder, { make: 0; numLayers: 1 }, { norm: 2 }>;
export type TransformerDecoder = $nnAttention.TransformerDecoder;
/** An encoder and a decoder that attends to what it makes. Reference: torch.nn.Transformer. */
export const Transformer = checkedClass($nnAttention.Transformer, "dModel:number? nhead:number? options:TransformerOptions?", "forward source target call:tgtMask_cbfef4?");
export type Transformer = $nnAttention.Transformer;
/**
 * What the layers give one after the other, in `segments` parts of about equal length: of all parts but the last one only the inputs are saved, and
 * backward recomputes the rest, as checkpoint(). Memory for about the square root of the number of layers as segments is lowest.
 *
 * functions: a Sequential, or layers and functions of one tensor in a list. segments: from 1 to the number of functions; 1: nothing is recomputed.
 * input: what the first one takes. Result: what the last one gives. Throws ValueError for another number of segments.
 * Reference: torch.utils.checkpoint.checkpoint_sequential.
 */
export const checkpointSequential = checked($nnCheckpointSequential.checkpointSequential, "checkpointSequential", "functions:sequentialOrListOfModuleOrCallback segments:number input");
/** Layers one after the other, named "0", "1", … Reference: torch.nn.Sequential. */
export const Sequential = checkedClass($nnContainers.Sequential, "...layers:eachModule", "at index:number;append layer:module;forward x");
export type Sequential = $nnContainers.Sequential;
/** Axes `startDim` to `endDim` (default 1 to the last) merged into one. Reference: torch.nn.Flatten. */
export const Flatten = checkedClass($nnContainers.Flatten, "start:numberOrStartDim_f78a3c? end:number?", "forward x");
export type Flatten = $nnContainers.Flatten;
/** An axis split into several. Reference: torch.nn.Unflatten. */
export const Unflatten = checkedClass($nnContainers.Unflatten, "axis:number lengths:numbers", "forward x") as ClassByName<typeof $nnContainers.Unflatten, { axis: 0; lengths: 1 }>;
export type Unflatten = $nnContainers.Unflatten;
/** conv1d with a learned kernel. x: [N, inputs, W] or [inputs, W]. Reference: torch.nn.Conv1d. */
export const Conv1d = checkedClass($nnConv.Conv1d, "inChannels:number outChannels:number kernelSize:numberOrNumbers stride:numberOrNumbersOrConvLayerOptions? padding:same_validOrNumberOrNumb_cfb600? options:ConvLayerOptions?", "forward x") as ClassByName<typeof $nnConv.Conv1d, { inChannels: 0; outChannels: 1; kernelSize: 2 }>;
export type Conv1d = $nnConv.Conv1d;
/** conv2d with a learned kernel. x: [N, inputs, H, W] or [inputs, H, W]. Reference: torch.nn.Conv2d. */
export const Conv2d = checkedClass($nnConv.Conv2d, "inChannels:number outChannels:number kernelSize:numberOrNumbers stride:numberOrNumbersOrConvLayerOptions? padding:same_validOrNumberOrNumb_cfb600? options:ConvLayerOptions?", "forward x") as ClassByName<typeof $nnConv.Conv2d, { inChannels: 0; outChannels: 1; kernelSize: 2 }>;
export type Conv2d = $nnConv.Conv2d;
/** conv3d with a learned kernel. x: [N, inputs, D, H, W] or [inputs, D, H, W]. Reference: torch.nn.Conv3d. */
export const Conv3d = checkedClass($nnConv.Conv3d, "inChannels:number outChannels:number kernelSize:numberOrNumbers stride:numberOrNumbersOrConvLayerOptions? padding:same_validOrNumberOrNumb_cfb600? options:ConvLayerOptions?", "forward x") as ClassByName<typeof $nnConv.Conv3d, { inChannels: 0; outChannels: 1; kernelSize: 2 }>;
export type Conv3d = $nnConv.Conv3d;
/** convTranspose1d with a learned kernel [inputs, outputs/groups, k]. Reference: torch.nn.ConvTranspose1d. */
export const ConvTranspose1d = checkedClass($nnConv.ConvTranspose1d, "inChannels:number outChannels:number kernelSize:numberOrNumbers stride:numberOrNumbersOrConvTra_9a9522? padding:numberOrNumbersOrConvTra_9a9522? options:ConvTransposeLayerOptions?", "forward x") as ClassByName<typeof $nnConv.ConvTranspose1d, { inChannels: 0; outChannels: 1; kernelSize: 2 }>;
export type ConvTranspose1d = $nnConv.ConvTranspose1d;
/** convTranspose2d with a learned kernel [inputs, outputs/groups, kH, kW]. Reference: torch.nn.ConvTranspose2d. */
export const ConvTranspose2d = checkedClass($nnConv.ConvTranspose2d, "inChannels:number outChannels:number kernelSize:numberOrNumbers stride:numberOrNumbersOrConvTra_9a9522? padding:numberOrNumbersOrConvTra_9a9522? options:ConvTransposeLayerOptions?", "forward x") as ClassByName<typeof $nnConv.ConvTranspose2d, { inChannels: 0; outChannels: 1; kernelSize: 2 }>;
export type ConvTranspose2d = $nnConv.ConvTranspose2d;
/** convTranspose3d with a learned kernel [inputs, outputs/groups, kD, kH, kW]. Reference: torch.nn.ConvTranspose3d. */
export const ConvTranspose3d = checkedClass($nnConv.ConvTranspose3d, "inChannels:number outChannels:number kernelSize:numberOrNumbers stride:numberOrNumbersOrConvTra_9a9522? padding:numberOrNumbersOrConvTra_9a9522? options:ConvTransposeLayerOptions?", "forward x") as ClassByName<typeof $nnConv.ConvTranspose3d, { inChannels: 0; outChannels: 1; kernelSize: 2 }>;
export type ConvTranspose3d = $nnConv.ConvTranspose3d;
/**
 * The module on several devices of this process: forward() splits its inputs along an axis, computes the parts on all devices at once, and joins the outputs on
 * the first one. Gradients are summed in the parameters, which are the first device's.
 *
 * The module is on the first device. Each forward pass copies its parameters and buffers to the others. What these write into buffers is lost: the
 * running statistics of batch norm are those of the first part. Tensors in arrays, plain objects and complex tensors are split too, each of one size along the
 * axis; tensors without axes and other values go to all. A batch smaller than the number of devices uses as many as it has elements. Outputs
 * without axes, such as losses, become a list with one element for each part.
 *
 * Throws DeviceError where the module is elsewhere, ShapeError for inputs that differ along the axis, TraceError inside a compiled function.
 * Reference: torch.nn.DataParallel.
 */
export const DataParallel = checkedClass($nnDeviceParallel.DataParallel, "module:module devices:listOfDeviceOrString options:DataParallelOptions?", "forward ...inputs:anything;compileStep lossOf:callback optimizer:StepOptimizer options:update_58db99?");
export type DataParallel<M extends $nnModule.Module> = $nnDeviceParallel.DataParallel<M>;
/** In training, zeroes each element with probability p and scales the others by 1 / (1 - p). Reference: torch.nn.Dropout. */
export const Dropout = checkedClass($nnDropout.Dropout, "p:number? options:DropoutOptions?", "forward x");
export type Dropout = $nnDropout.Dropout;
/** Dropout of whole channels of [N, C, ...]. Reference: torch.nn.Dropout1d, Dropout2d, Dropout3d. */
export const DropoutChannels = checkedClass($nnDropout.DropoutChannels, "p:number? options:DropoutOptions?", "forward x");
export type DropoutChannels = $nnDropout.DropoutChannels;
/** alphaDropout in training. Reference: torch.nn.AlphaDropout. */
export const AlphaDropout = checkedClass($nnDropout.AlphaDropout, "p:number? options:DropoutOptions?", "forward x");
export type AlphaDropout = $nnDropout.AlphaDropout;
/** featureAlphaDropout in training. Reference: torch.nn.FeatureAlphaDropout. */
export const FeatureAlphaDropout = checkedClass($nnDropout.FeatureAlphaDropout, "p:number? options:DropoutOptions?", "forward x");
export type FeatureAlphaDropout = $nnDropout.FeatureAlphaDropout;
/** Rows of a learned table by their numbers: [...] to [..., width]. Starts normal. Reference: torch.nn.Embedding. */
export const Embedding = checkedClass($nnEmbedding.Embedding, "numEmbeddings:number embeddingDim:number paddingIdx:numberOrNullOrEmbeddingOptions? options:EmbeddingOptions?", "forward indices") as ClassByName<typeof $nnEmbedding.Embedding, { numEmbeddings: 0; embeddingDim: 1 }>;
export type Embedding = $nnEmbedding.Embedding;
/** Sums, means or maxima of bags of a learned table's rows. Reference: torch.nn.EmbeddingBag. */
export const EmbeddingBag = checkedClass($nnEmbedding.EmbeddingBag, "numEmbeddings:number embeddingDim:number options:EmbeddingBagOptions?", "forward indices call:offsets_1335fb?") as ClassByName<typeof $nnEmbedding.EmbeddingBag, { numEmbeddings: 0; embeddingDim: 1 }>;
export type EmbeddingBag = $nnEmbedding.EmbeddingBag;
/**
 * What `module(...inputs)` gives with the tensors of `state` instead of its parameters and buffers of these names; the others stay the module's. Gradients reach the
 * tensors given. The module is as before afterwards, also where forward() throws; a buffer that forward() writes and that `state` has is written there.
 * A name of tied weights stands for all of them. Works in compiled functions.
 *
 * state: tensors by dotted name, as stateDict() names them. Throws ValueError for a name that the module does not have, and for two tensors of tied weights.
 * Reference: torch.func.functional_call.
 */
export const functionalCall = checked($nnFunctionalCall.functionalCall, "functionalCall", "module:module state:recordOfTensor ...inputs:anything");
/** instanceNorm over [N, C, W]. Reference: torch.nn.InstanceNorm1d. */
export const InstanceNorm1d = checkedClass($nnInstanceNorm.InstanceNorm1d, "numFeatures:number eps:numberOrInstanceNormLayerOptions? momentum:numberOrInstanceNormLayerOptions? options:InstanceNormLayerOptions?", "", "forward x");
export type InstanceNorm1d = $nnInstanceNorm.InstanceNorm1d;
/** instanceNorm over [N, C, H, W]. Reference: torch.nn.InstanceNorm2d. */
export const InstanceNorm2d = checkedClass($nnInstanceNorm.InstanceNorm2d, "numFeatures:number eps:numberOrInstanceNormLayerOptions? momentum:numberOrInstanceNormLayerOptions? options:InstanceNormLayerOptions?", "", "forward x");
export type InstanceNorm2d = $nnInstanceNorm.InstanceNorm2d;
/** instanceNorm over [N, C, D, H, W]. Reference: torch.nn.InstanceNorm3d. */
export const InstanceNorm3d = checkedClass($nnInstanceNorm.InstanceNorm3d, "numFeatures:number eps:numberOrInstanceNormLayerOptions? momentum:numberOrInstanceNormLayerOptions? options:InstanceNormLayerOptions?", "", "forward x");
export type InstanceNorm3d = $nnInstanceNorm.InstanceNorm3d;
/** rmsNorm over the last axes. Reference: torch.nn.RMSNorm. */
export const RMSNorm = checkedClass($nnInstanceNorm.RMSNorm, "normalizedShape:numberOrNumbers eps:numberOrNullOrRMSNormLayerOptions? options:RMSNormLayerOptions?", "forward x") as ClassByName<typeof $nnInstanceNorm.RMSNorm, { normalizedShape: 0 }>;
export type RMSNorm = $nnInstanceNorm.RMSNorm;
/** linear() that takes inFeatures from its first input. Reference: torch.nn.LazyLinear. */
export const LazyLinear = checkedClass($nnLazyLayers.LazyLinear, "outFeatures:number bias:booleanOrLinearOptions? options:LinearOptions?", "forward x") as ClassByName<typeof $nnLazyLayers.LazyLinear, { outFeatures: 0 }>;
export type LazyLinear = $nnLazyLayers.LazyLinear;
/** conv1d() that takes inChannels from its first input. Reference: torch.nn.LazyConv1d. */
export const LazyConv1d = checkedClass($nnLazyLayers.LazyConv1d, "outChannels:number kernelSize:numberOrNumbers stride:numberOrNumbersOrConvLayerOptions? padding:same_validOrNumberOrNumb_cfb600? options:ConvLayerOptions?", "forward x") as ClassByName<typeof $nnLazyLayers.LazyConv1d, { outChannels: 0; kernelSize: 1 }>;
export type LazyConv1d = $nnLazyLayers.LazyConv1d;
/** conv2d() that takes inChannels from its first input. Reference: torch.nn.LazyConv2d. */
export const LazyConv2d = checkedClass($nnLazyLayers.LazyConv2d, "outChannels:number kernelSize:numberOrNumbers stride:numberOrNumbersOrConvLayerOptions? padding:same_validOrNumberOrNumb_cfb600? options:ConvLayerOptions?", "forward x") as ClassByName<typeof $nnLazyLayers.LazyConv2d, { outChannels: 0; kernelSize: 1 }>;
export type LazyConv2d = $nnLazyLayers.LazyConv2d;
/** conv3d() that takes inChannels from its first input. Reference: torch.nn.LazyConv3d. */
export const LazyConv3d = checkedClass($nnLazyLayers.LazyConv3d, "outChannels:number kernelSize:numberOrNumbers stride:numberOrNumbersOrConvLayerOptions? padding:same_validOrNumberOrNumb_cfb600? options:ConvLayerOptions?", "forward x") as ClassByName<typeof $nnLazyLayers.LazyConv3d, { outChannels: 0; kernelSize: 1 }>;
export type LazyConv3d = $nnLazyLayers.LazyConv3d;
/** convTranspose1d() that takes inChannels from its first input. Reference: torch.nn.LazyConvTranspose1d. */
export const LazyConvTranspose1d = checkedClass($nnLazyLayers.LazyConvTranspose1d, "outChannels:number kernelSize:numberOrNumbers stride:numberOrNumbersOrConvTra_9a9522? padding:numberOrNumbersOrConvTra_9a9522? options:ConvTransposeLayerOptions?", "forward x") as ClassByName<typeof $nnLazyLayers.LazyConvTranspose1d, { outChannels: 0; kernelSize: 1 }>;
export type LazyConvTranspose1d = $nnLazyLayers.LazyConvTranspose1d;
/** convTranspose2d() that takes inChannels from its first input. Reference: torch.nn.LazyConvTranspose2d. */
export const LazyConvTranspose2d = checkedClass($nnLazyLayers.LazyConvTranspose2d, "outChannels:number kernelSize:numberOrNumbers stride:numberOrNumbersOrConvTra_9a9522? padding:numberOrNumbersOrConvTra_9a9522? options:ConvTransposeLayerOptions?", "forward x") as ClassByName<typeof $nnLazyLayers.LazyConvTranspose2d, { outChannels: 0; kernelSize: 1 }>;
export type LazyConvTranspose2d = $nnLazyLayers.LazyConvTranspose2d;
/** convTranspose3d() that takes inChannels from its first input. Reference: torch.nn.LazyConvTranspose3d. */
export const LazyConvTranspose3d = checkedClass($nnLazyLayers.LazyConvTranspose3d, "outChannels:number kernelSize:numberOrNumbers stride:numberOrNumbersOrConvTra_9a9522? padding:numberOrNumbersOrConvTra_9a9522? options:ConvTransposeLayerOptions?", "forward x") as ClassByName<typeof $nnLazyLayers.LazyConvTranspose3d, { outChannels: 0; kernelSize: 1 }>;
export type LazyConvTranspose3d = $nnLazyLayers.LazyConvTranspose3d;
/** batchNorm1d() that takes numFeatures from its first input. Reference: torch.nn.LazyBatchNorm1d. */
export const LazyBatchNorm1d = checkedClass($nnLazyNorms.LazyBatchNorm1d, "eps:numberOrBatchNormLayerOptions? momentum:numberOrNullOrBatchNormLayerOptions? options:BatchNormLayerOptions?", "forward x");
export type LazyBatchNorm1d = $nnLazyNorms.LazyBatchNorm1d;
/** batchNorm2d() that takes numFeatures from its first input. Reference: torch.nn.LazyBatchNorm2d. */
export const LazyBatchNorm2d = checkedClass($nnLazyNorms.LazyBatchNorm2d, "eps:numberOrBatchNormLayerOptions? momentum:numberOrNullOrBatchNormLayerOptions? options:BatchNormLayerOptions?", "forward x");
export type LazyBatchNorm2d = $nnLazyNorms.LazyBatchNorm2d;
/** batchNorm3d() that takes numFeatures from its first input. Reference: torch.nn.LazyBatchNorm3d. */
export const LazyBatchNorm3d = checkedClass($nnLazyNorms.LazyBatchNorm3d, "eps:numberOrBatchNormLayerOptions? momentum:numberOrNullOrBatchNormLayerOptions? options:BatchNormLayerOptions?", "forward x");
export type LazyBatchNorm3d = $nnLazyNorms.LazyBatchNorm3d;
/** instanceNorm1d() that takes numFeatures from its first input. Reference: torch.nn.LazyInstanceNorm1d. */
export const LazyInstanceNorm1d = checkedClass($nnLazyNorms.LazyInstanceNorm1d, "eps:numberOrInstanceNormLayerOptions? momentum:numberOrInstanceNormLayerOptions? options:InstanceNormLayerOptions?", "forward x");
export type LazyInstanceNorm1d = $nnLazyNorms.LazyInstanceNorm1d;
/** instanceNorm2d() that takes numFeatures from its first input. Reference: torch.nn.LazyInstanceNorm2d. */
export const LazyInstanceNorm2d = checkedClass($nnLazyNorms.LazyInstanceNorm2d, "eps:numberOrInstanceNormLayerOptions? momentum:numberOrInstanceNormLayerOptions? options:InstanceNormLayerOptions?", "forward x");
export type LazyInstanceNorm2d = $nnLazyNorms.LazyInstanceNorm2d;
/** instanceNorm3d() that takes numFeatures from its first input. Reference: torch.nn.LazyInstanceNorm3d. */
export const LazyInstanceNorm3d = checkedClass($nnLazyNorms.LazyInstanceNorm3d, "eps:numberOrInstanceNormLayerOptions? momentum:numberOrInstanceNormLayerOptions? options:InstanceNormLayerOptions?", "forward x");
export type LazyInstanceNorm3d = $nnLazyNorms.LazyInstanceNorm3d;
/** x W^T + bias, [..., inputs] to [..., outputs]. Both start uniform in ±1/sqrt(inputs). Reference: torch.nn.Linear. */
export const Linear = checkedClass($nnLinear.Linear, "inFeatures:number outFeatures:number bias:booleanOrLinearOptions? options:LinearOptions?", "forward x") as ClassByName<typeof $nnLinear.Linear, { inFeatures: 0; outFeatures: 1 }>;
export type Linear = $nnLinear.Linear;
/** a^T W b + bias for each of the outputs. Reference: torch.nn.Bilinear. */
export const Bilinear = checkedClass($nnLinear.Bilinear, "in1Features:number in2Features:number outFeatures:number bias:booleanOrLinearOptions? options:LinearOptions?", "forward a b") as ClassByName<typeof $nnLinear.Bilinear, { in1Features: 0; in2Features: 1; outFeatures: 2 }>;
export type Bilinear = $nnLinear.Bilinear;
/** Gives its input back. Reference: torch.nn.Identity. */
export const Identity = checkedClass($nnLinear.Identity, "", "forward x");
export type Identity = $nnLinear.Identity;
/** Modules by index. Reference: torch.nn.ModuleList. */
export const ModuleList = checkedClass($nnLists.ModuleList, "items:iterableOfModule?", "", "at index:number;append item:moduleOrParameter;forward");
export type ModuleList<T extends $nnModule.Module = $nnModule.Module> = $nnLists.ModuleList<T>;
/** Parameters by index. Reference: torch.nn.ParameterList. */
export const ParameterList = checkedClass($nnLists.ParameterList, "items:iterableOfParameter?", "", "at index:number;append item:moduleOrParameter;forward");
export type ParameterList = $nnLists.ParameterList;
/** Modules by name. Reference: torch.nn.ModuleDict. */
export const ModuleDict = checkedClass($nnLists.ModuleDict, "items:recordOfModuleOrIterable_248b14?", "", "has name:string;get name:string;set name:string item:moduleOrParameter;delete name:string;keys;forward");
export type ModuleDict<T extends $nnModule.Module = $nnModule.Module> = $nnLists.ModuleDict<T>;
/** Parameters by name. Reference: torch.nn.ParameterDict. */
export const ParameterDict = checkedClass($nnLists.ParameterDict, "items:recordOfParameterOrItera_ab853c?", "", "has name:string;get name:string;set name:string item:moduleOrParameter;delete name:string;keys;forward");
export type ParameterDict = $nnLists.ParameterDict;
/**
 * Gives layers of a module adapters of low rank: a layer's result is then W x + (alpha / rank) B A x, where A and B learn and all else is frozen. The layers stay the same
 * objects with the same names in the state, to which `lora_A.default.weight` and so on are added, as PEFT has them. Embeddings, convolutions and layers with
 * packed weights can be adapted too; in training, `dropout` is applied to what A gets.
 *
 * Throws ValueError for options out of their range, for a target that chooses nothing, and for a name that the module has adapters of; UnsupportedError for layers of
 * other kinds; TraceError inside compiled functions. io.peft reads and writes PEFT's files. Reference: peft.get_peft_model, peft.LoraConfig; Hu et al., LoRA.
 *
 * `const adapters = dx.nn.lora(model, { rank: 8, alpha: 16, target: ["q_proj", "v_proj"] });`
 */
export const lora = checked($nnLora.lora, "lora", "module:module options:LoraOptions?");
/** The adapters of a name that a module has, for example a clone or one that was given them elsewhere. Throws ValueError where it has none. */
export const loraOf = checked($nnLora.loraOf, "loraOf", "module:module name:string?");
/** mseLoss. Reference: torch.nn.MSELoss. */
export const MSELoss = checkedClass($nnLoss.MSELoss, "options:LossOptions?", "forward x target");
export type MSELoss = $nnLoss.MSELoss;
/** l1Loss. Reference: torch.nn.L1Loss. */
export const L1Loss = checkedClass($nnLoss.L1Loss, "options:LossOptions?", "forward x target");
export type L1Loss = $nnLoss.L1Loss;
/** smoothL1Loss. Reference: torch.nn.SmoothL1Loss. */
export const SmoothL1Loss = checkedClass($nnLoss.SmoothL1Loss, "options:reduction_42a650?", "forward x target");
export type SmoothL1Loss = $nnLoss.SmoothL1Loss;
/** huberLoss. Reference: torch.nn.HuberLoss. */
export const HuberLoss = checkedClass($nnLoss.HuberLoss, "options:reduction_c65c60?", "forward x target");
export type HuberLoss = $nnLoss.HuberLoss;
/** binaryCrossEntropy. Reference: torch.nn.BCELoss. */
export const BCELoss = checkedClass($nnLoss.BCELoss, "options:BinaryOptions?", "forward x target");
export type BCELoss = $nnLoss.BCELoss;
/** binaryCrossEntropyWithLogits. Reference: torch.nn.BCEWithLogitsLoss. */
export const BCEWithLogitsLoss = checkedClass($nnLoss.BCEWithLogitsLoss, "options:LogitsOptions?", "forward x target");
export type BCEWithLogitsLoss = $nnLoss.BCEWithLogitsLoss;
/** nllLoss. Reference: torch.nn.NLLLoss. */
export const NLLLoss = checkedClass($nnLoss.NLLLoss, "options:NllOptions?", "forward x target");
export type NLLLoss = $nnLoss.NLLLoss;
/** crossEntropy. Reference: torch.nn.CrossEntropyLoss. */
export const CrossEntropyLoss = checkedClass($nnLoss.CrossEntropyLoss, "options:CrossEntropyOptions?", "forward x target");
export type CrossEntropyLoss = $nnLoss.CrossEntropyLoss;
/** marginRankingLoss. Reference: torch.nn.MarginRankingLoss. */
export const MarginRankingLoss = checkedClass($nnMarginLoss.MarginRankingLoss, "options:MarginOptions?", "forward a b y");
export type MarginRankingLoss = $nnMarginLoss.MarginRankingLoss;
/** hingeEmbeddingLoss. Reference: torch.nn.HingeEmbeddingLoss. */
export const HingeEmbeddingLoss = checkedClass($nnMarginLoss.HingeEmbeddingLoss, "options:MarginOptions?", "forward x y");
export type HingeEmbeddingLoss = $nnMarginLoss.HingeEmbeddingLoss;
/** cosineEmbeddingLoss. Reference: torch.nn.CosineEmbeddingLoss. */
export const CosineEmbeddingLoss = checkedClass($nnMarginLoss.CosineEmbeddingLoss, "options:MarginOptions?", "forward a b y");
export type CosineEmbeddingLoss = $nnMarginLoss.CosineEmbeddingLoss;
/** softMarginLoss. Reference: torch.nn.SoftMarginLoss. */
export const SoftMarginLoss = checkedClass($nnMarginLoss.SoftMarginLoss, "options:LossOptions?", "forward x y");
export type SoftMarginLoss = $nnMarginLoss.SoftMarginLoss;
/** multiMarginLoss. Reference: torch.nn.MultiMarginLoss. */
export const MultiMarginLoss = checkedClass($nnMarginLoss.MultiMarginLoss, "options:MultiMarginOptions?", "forward x y");
export type MultiMarginLoss = $nnMarginLoss.MultiMarginLoss;
/** multilabelMarginLoss. Reference: torch.nn.MultiLabelMarginLoss. */
export const MultiLabelMarginLoss = checkedClass($nnMarginLoss.MultiLabelMarginLoss, "options:LossOptions?", "forward x y");
export type MultiLabelMarginLoss = $nnMarginLoss.MultiLabelMarginLoss;
/** multilabelSoftMarginLoss. Reference: torch.nn.MultiLabelSoftMarginLoss. */
export const MultiLabelSoftMarginLoss = checkedClass($nnMarginLoss.MultiLabelSoftMarginLoss, "options:reduction_0d009b?", "forward x y");
export type MultiLabelSoftMarginLoss = $nnMarginLoss.MultiLabelSoftMarginLoss;
/** tripletMarginLoss. Reference: torch.nn.TripletMarginLoss, torch.nn.TripletMarginWithDistanceLoss. */
export const TripletMarginLoss = checkedClass($nnMarginLoss.TripletMarginLoss, "options:TripletOptions?", "forward anchor positive negative");
export type TripletMarginLoss = $nnMarginLoss.TripletMarginLoss;
/** poissonNllLoss. Reference: torch.nn.PoissonNLLLoss. */
export const PoissonNLLLoss = checkedClass($nnMarginLoss.PoissonNLLLoss, "options:PoissonOptions?", "forward x target");
export type PoissonNLLLoss = $nnMarginLoss.PoissonNLLLoss;
/** gaussianNllLoss. Reference: torch.nn.GaussianNLLLoss. */
export const GaussianNLLLoss = checkedClass($nnMarginLoss.GaussianNLLLoss, "options:GaussianOptions?", "forward x target variance");
export type GaussianNLLLoss = $nnMarginLoss.GaussianNLLLoss;
/** klDiv. Reference: torch.nn.KLDivLoss. */
export const KLDivLoss = checkedClass($nnMarginLoss.KLDivLoss, "options:KlOptions?", "forward x target");
export type KLDivLoss = $nnMarginLoss.KLDivLoss;
/** ctcLoss. Reference: torch.nn.CTCLoss. */
export const CTCLoss = checkedClass($nnMarginLoss.CTCLoss, "options:CtcOptions?", "forward x targets inputLengths:tensorOrNumbers targetLengths:tensorOrNumbers");
export type CTCLoss = $nnMarginLoss.CTCLoss;
export { Module } from "../nn/module.ts";
checkMethods($nnModule.Module, "registerBuffer name:string tensor options:persistent_d9ad21?;clone copies:anything;registerForwardPreHook hook:anything options:HookOptions?;registerForwardHook hook:anything options:ForwardHookOptions?;registerFullBackwardPreHook hook:callback options:HookOptions?;registerFullBackwardHook hook:callback options:HookOptions?;registerStateDictPreHook hook:callback;registerStateDictPostHook hook:callback;registerLoadStateDictPreHook hook:callback;registerLoadStateDictPostHook hook:callback;children;modules;parameters;buffers;train mode:boolean?;eval;apply fn:callback;zeroGrad options:setToNull_d4ebf9?;requiresGrad_ mode:boolean?;to target:deviceOrStringOrDtype;toEmpty target:deviceOrString;stateDict;loadStateDict state:recordOfTensor options:strict_b521a7?;dispose;toString");
/** batchNorm over [N, C] or [N, C, W]. Reference: torch.nn.BatchNorm1d. */
export const BatchNorm1d = checkedClass($nnNorm.BatchNorm1d, "numFeatures:number eps:numberOrBatchNormLayerOptions? momentum:numberOrNullOrBatchNormLayerOptions? options:BatchNormLayerOptions?", "", "forward x");
export type BatchNorm1d = $nnNorm.BatchNorm1d;
/** batchNorm over [N, C, H, W]. Reference: torch.nn.BatchNorm2d. */
export const BatchNorm2d = checkedClass($nnNorm.BatchNorm2d, "numFeatures:number eps:numberOrBatchNormLayerOptions? momentum:numberOrNullOrBatchNormLayerOptions? options:BatchNormLayerOptions?", "", "forward x");
export type BatchNorm2d = $nnNorm.BatchNorm2d;
/** batchNorm over [N, C, D, H, W]. Reference: torch.nn.BatchNorm3d. */
export const BatchNorm3d = checkedClass($nnNorm.BatchNorm3d, "numFeatures:number eps:numberOrBatchNormLayerOptions? momentum:numberOrNullOrBatchNormLayerOptions? options:BatchNormLayerOptions?", "", "forward x");
export type BatchNorm3d = $nnNorm.BatchNorm3d;
/** layerNorm over the last axes. Reference: torch.nn.LayerNorm. */
export const LayerNorm = checkedClass($nnNorm.LayerNorm, "normalizedShape:numberOrNumbers eps:numberOrLayerNormOptions? options:LayerNormOptions?", "forward x") as ClassByName<typeof $nnNorm.LayerNorm, { normalizedShape: 0 }>;
export type LayerNorm = $nnNorm.LayerNorm;
/** groupNorm. Reference: torch.nn.GroupNorm. */
export const GroupNorm = checkedClass($nnNorm.GroupNorm, "numGroups:number numChannels:number eps:numberOrGroupNormLayerOptions? options:GroupNormLayerOptions?", "forward x") as ClassByName<typeof $nnNorm.GroupNorm, { numGroups: 0; numChannels: 1 }>;
export type GroupNorm = $nnNorm.GroupNorm;
/** Padding by a value: [before, behind] of the last axis, then of the one before it. Reference: torch.nn.ConstantPad1d. */
export const ConstantPad1d = checkedClass($nnPad.ConstantPad1d, "padding:numberOrNumbers value:number", "", "forward x") as ClassByName<typeof $nnPad.ConstantPad1d, { padding: 0; value: 1 }>;
export type ConstantPad1d = $nnPad.ConstantPad1d;
/** Padding by a value: [before, behind] of the last axis, then of the one before it. Reference: torch.nn.ConstantPad2d. */
export const ConstantPad2d = checkedClass($nnPad.ConstantPad2d, "padding:numberOrNumbers value:number", "", "forward x") as ClassByName<typeof $nnPad.ConstantPad2d, { padding: 0; value: 1 }>;
export type ConstantPad2d = $nnPad.ConstantPad2d;
/** Padding by a value: [before, behind] of the last axis, then of the one before it. Reference: torch.nn.ConstantPad3d. */
export const ConstantPad3d = checkedClass($nnPad.ConstantPad3d, "padding:numberOrNumbers value:number", "", "forward x") as ClassByName<typeof $nnPad.ConstantPad3d, { padding: 0; value: 1 }>;
export type ConstantPad3d = $nnPad.ConstantPad3d;
/** Padding by zeros of the last axis. Reference: torch.nn.ZeroPad1d. */
export const ZeroPad1d = checkedClass($nnPad.ZeroPad1d, "padding:numberOrNumbers", "", "forward x") as ClassByName<typeof $nnPad.ZeroPad1d, { padding: 0 }>;
export type ZeroPad1d = $nnPad.ZeroPad1d;
/** Padding by zeros of two axes. Reference: torch.nn.ZeroPad2d. */
export const ZeroPad2d = checkedClass($nnPad.ZeroPad2d, "padding:numberOrNumbers", "", "forward x") as ClassByName<typeof $nnPad.ZeroPad2d, { padding: 0 }>;
export type ZeroPad2d = $nnPad.ZeroPad2d;
/** Padding by zeros of three axes. Reference: torch.nn.ZeroPad3d. */
export const ZeroPad3d = checkedClass($nnPad.ZeroPad3d, "padding:numberOrNumbers", "", "forward x") as ClassByName<typeof $nnPad.ZeroPad3d, { padding: 0 }>;
export type ZeroPad3d = $nnPad.ZeroPad3d;
/** Padding of the last axis. Reference: torch.nn.ReflectionPad1d. */
export const ReflectionPad1d = checkedClass($nnPad.ReflectionPad1d, "padding:numberOrNumbers", "", "forward x") as ClassByName<typeof $nnPad.ReflectionPad1d, { padding: 0 }>;
export type ReflectionPad1d = $nnPad.ReflectionPad1d;
/** Padding of two axes. Reference: torch.nn.ReflectionPad2d. */
export const ReflectionPad2d = checkedClass($nnPad.ReflectionPad2d, "padding:numberOrNumbers", "", "forward x") as ClassByName<typeof $nnPad.ReflectionPad2d, { padding: 0 }>;
export type ReflectionPad2d = $nnPad.ReflectionPad2d;
/** Padding of three axes. Reference: torch.nn.ReflectionPad3d. */
export const ReflectionPad3d = checkedClass($nnPad.ReflectionPad3d, "padding:numberOrNumbers", "", "forward x") as ClassByName<typeof $nnPad.ReflectionPad3d, { padding: 0 }>;
export type ReflectionPad3d = $nnPad.ReflectionPad3d;
/** Padding of the last axis. Reference: torch.nn.ReplicationPad1d. */
export const ReplicationPad1d = checkedClass($nnPad.ReplicationPad1d, "padding:numberOrNumbers", "", "forward x") as ClassByName<typeof $nnPad.ReplicationPad1d, { padding: 0 }>;
export type ReplicationPad1d = $nnPad.ReplicationPad1d;
/** Padding of two axes. Reference: torch.nn.ReplicationPad2d. */
export const ReplicationPad2d = checkedClass($nnPad.ReplicationPad2d, "padding:numberOrNumbers", "", "forward x") as ClassByName<typeof $nnPad.ReplicationPad2d, { padding: 0 }>;
export type ReplicationPad2d = $nnPad.ReplicationPad2d;
/** Padding of three axes. Reference: torch.nn.ReplicationPad3d. */
export const ReplicationPad3d = checkedClass($nnPad.ReplicationPad3d, "padding:numberOrNumbers", "", "forward x") as ClassByName<typeof $nnPad.ReplicationPad3d, { padding: 0 }>;
export type ReplicationPad3d = $nnPad.ReplicationPad3d;
/** Padding of the last axis. Reference: torch.nn.CircularPad1d. */
export const CircularPad1d = checkedClass($nnPad.CircularPad1d, "padding:numberOrNumbers", "", "forward x") as ClassByName<typeof $nnPad.CircularPad1d, { padding: 0 }>;
export type CircularPad1d = $nnPad.CircularPad1d;
/** Padding of two axes. Reference: torch.nn.CircularPad2d. */
export const CircularPad2d = checkedClass($nnPad.CircularPad2d, "padding:numberOrNumbers", "", "forward x") as ClassByName<typeof $nnPad.CircularPad2d, { padding: 0 }>;
export type CircularPad2d = $nnPad.CircularPad2d;
/** Padding of three axes. Reference: torch.nn.CircularPad3d. */
export const CircularPad3d = checkedClass($nnPad.CircularPad3d, "padding:numberOrNumbers", "", "forward x") as ClassByName<typeof $nnPad.CircularPad3d, { padding: 0 }>;
export type CircularPad3d = $nnPad.CircularPad3d;
/** A leaf that requires a gradient. Shares the storage of the tensor that it is made of; no scope disposes of it. */
export const Parameter = checkedClass($nnParameter.Parameter, "data options:requiresGrad_e0768f?", "", "dispose;describe");
export type Parameter = $nnParameter.Parameter;
/**
 * Stages one after the other, each on its device. forward() splits the batch along axis 0 into microbatches: while a stage computes one, the stage before
 * computes the next (the schedule of GPipe, also in backward). Losses are those of one device, where no stage computes statistics of the batch.
 *
 * The stages are moved to their devices when it is made. The first stage takes the inputs of forward(); each other one what the stage before gives, a list as
 * several arguments. The result is on the last stage's device.
 * Throws ValueError where stages and devices differ in number, TraceError inside a compiled function.
 * Reference: torch.distributed.pipelining.ScheduleGPipe; Huang et al. 2019.
 */
export const Pipeline = checkedClass($nnPipeline.Pipeline, "stages:modules options:PipelineOptions", "step inputs:anything targets:anything loss:callback;forward ...inputs:anything");
export type Pipeline<S extends readonly $nnModule.Module[]> = $nnPipeline.Pipeline<S>;
/** interpolate with its options kept. Reference: torch.nn.Upsample. */
export const Upsample = checkedClass($nnPlanes.Upsample, "options:InterpolateOptions", "forward x");
export type Upsample = $nnPlanes.Upsample;
/** pixelShuffle. Reference: torch.nn.PixelShuffle. */
export const PixelShuffle = checkedClass($nnPlanes.PixelShuffle, "upscaleFactor:number", "forward x") as ClassByName<typeof $nnPlanes.PixelShuffle, { upscaleFactor: 0 }>;
export type PixelShuffle = $nnPlanes.PixelShuffle;
/** pixelUnshuffle. Reference: torch.nn.PixelUnshuffle. */
export const PixelUnshuffle = checkedClass($nnPlanes.PixelUnshuffle, "downscaleFactor:number", "forward x") as ClassByName<typeof $nnPlanes.PixelUnshuffle, { downscaleFactor: 0 }>;
export type PixelUnshuffle = $nnPlanes.PixelUnshuffle;
/** channelShuffle. Reference: torch.nn.ChannelShuffle. */
export const ChannelShuffle = checkedClass($nnPlanes.ChannelShuffle, "groups:number", "forward x") as ClassByName<typeof $nnPlanes.ChannelShuffle, { groups: 0 }>;
export type ChannelShuffle = $nnPlanes.ChannelShuffle;
/** Windows as columns. Reference: torch.nn.Unfold. */
export const Unfold = checkedClass($nnPlanes.Unfold, "kernelSize:numberOrNumbers options:FoldOptions?", "forward x") as ClassByName<typeof $nnPlanes.Unfold, { kernelSize: 0 }>;
export type Unfold = $nnPlanes.Unfold;
/** Columns added into planes. Reference: torch.nn.Fold. */
export const Fold = checkedClass($nnPlanes.Fold, "outputSize:numberOrNumbers kernelSize:numberOrNumbers options:FoldOptions?", "forward x") as ClassByName<typeof $nnPlanes.Fold, { outputSize: 0; kernelSize: 1 }>;
export type Fold = $nnPlanes.Fold;
/** maxUnpool1d. Reference: torch.nn.MaxUnpool1d. */
export const MaxUnpool1d = checkedClass($nnPlanes.MaxUnpool1d, "kernelSize:numberOrNumbers options:UnpoolOptions?", "", "forward x indices outputSize:numbersOrNull?");
export type MaxUnpool1d = $nnPlanes.MaxUnpool1d;
/** maxUnpool2d. Reference: torch.nn.MaxUnpool2d. */
export const MaxUnpool2d = checkedClass($nnPlanes.MaxUnpool2d, "kernelSize:numberOrNumbers options:UnpoolOptions?", "", "forward x indices outputSize:numbersOrNull?");
export type MaxUnpool2d = $nnPlanes.MaxUnpool2d;
/** maxUnpool3d. Reference: torch.nn.MaxUnpool3d. */
export const MaxUnpool3d = checkedClass($nnPlanes.MaxUnpool3d, "kernelSize:numberOrNumbers options:UnpoolOptions?", "", "forward x indices outputSize:numbersOrNull?");
export type MaxUnpool3d = $nnPlanes.MaxUnpool3d;
/** localResponseNorm. Reference: torch.nn.LocalResponseNorm. */
export const LocalResponseNorm = checkedClass($nnPlanes.LocalResponseNorm, "size:number options:LocalResponseOptions?", "forward x") as ClassByName<typeof $nnPlanes.LocalResponseNorm, { size: 0 }>;
export type LocalResponseNorm = $nnPlanes.LocalResponseNorm;
/** cosineSimilarity along an axis. Reference: torch.nn.CosineSimilarity. */
export const CosineSimilarity = checkedClass($nnPlanes.CosineSimilarity, "axis:numberOrSimilarityOptions? eps:number?", "forward a b");
export type CosineSimilarity = $nnPlanes.CosineSimilarity;
/** pairwiseDistance. Reference: torch.nn.PairwiseDistance. */
export const PairwiseDistance = checkedClass($nnPlanes.PairwiseDistance, "p:numberOrPairwiseOptions? eps:number?", "forward a b");
export type PairwiseDistance = $nnPlanes.PairwiseDistance;
/** maxPool1d. Reference: torch.nn.MaxPool1d. */
export const MaxPool1d = checkedClass($nnPool.MaxPool1d, "kernelSize:numberOrNumbers stride:numberOrNumbersOrMaxPoolOptions? padding:numberOrNumbersOrMaxPoolOptions? options:MaxPoolOptions?", "forward x");
export type MaxPool1d = $nnPool.MaxPool1d;
/** maxPool2d. Reference: torch.nn.MaxPool2d. */
export const MaxPool2d = checkedClass($nnPool.MaxPool2d, "kernelSize:numberOrNumbers stride:numberOrNumbersOrMaxPoolOptions? padding:numberOrNumbersOrMaxPoolOptions? options:MaxPoolOptions?", "forward x");
export type MaxPool2d = $nnPool.MaxPool2d;
/** maxPool3d. Reference: torch.nn.MaxPool3d. */
export const MaxPool3d = checkedClass($nnPool.MaxPool3d, "kernelSize:numberOrNumbers stride:numberOrNumbersOrMaxPoolOptions? padding:numberOrNumbersOrMaxPoolOptions? options:MaxPoolOptions?", "forward x");
export type MaxPool3d = $nnPool.MaxPool3d;
/** avgPool1d. Reference: torch.nn.AvgPool1d. */
export const AvgPool1d = checkedClass($nnPool.AvgPool1d, "kernelSize:numberOrNumbers stride:numberOrNumbersOrAvgPoolOptions? padding:numberOrNumbersOrAvgPoolOptions? options:AvgPoolOptions?", "forward x");
export type AvgPool1d = $nnPool.AvgPool1d;
/** avgPool2d. Reference: torch.nn.AvgPool2d. */
export const AvgPool2d = checkedClass($nnPool.AvgPool2d, "kernelSize:numberOrNumbers stride:numberOrNumbersOrAvgPoolOptions? padding:numberOrNumbersOrAvgPoolOptions? options:AvgPoolOptions?", "forward x");
export type AvgPool2d = $nnPool.AvgPool2d;
/** avgPool3d. Reference: torch.nn.AvgPool3d. */
export const AvgPool3d = checkedClass($nnPool.AvgPool3d, "kernelSize:numberOrNumbers stride:numberOrNumbersOrAvgPoolOptions? padding:numberOrNumbersOrAvgPoolOptions? options:AvgPoolOptions?", "forward x");
export type AvgPool3d = $nnPool.AvgPool3d;
/** adaptiveAvgPool1d. Reference: torch.nn.AdaptiveAvgPool1d. */
export const AdaptiveAvgPool1d = checkedClass($nnPool.AdaptiveAvgPool1d, "outputSize:numberOrListOfNumberOrNull", "forward x");
export type AdaptiveAvgPool1d = $nnPool.AdaptiveAvgPool1d;
/** adaptiveAvgPool2d. Reference: torch.nn.AdaptiveAvgPool2d. */
export const AdaptiveAvgPool2d = checkedClass($nnPool.AdaptiveAvgPool2d, "outputSize:numberOrListOfNumberOrNull", "forward x");
export type AdaptiveAvgPool2d = $nnPool.AdaptiveAvgPool2d;
/** adaptiveAvgPool3d. Reference: torch.nn.AdaptiveAvgPool3d. */
export const AdaptiveAvgPool3d = checkedClass($nnPool.AdaptiveAvgPool3d, "outputSize:numberOrListOfNumberOrNull", "forward x");
export type AdaptiveAvgPool3d = $nnPool.AdaptiveAvgPool3d;
/** adaptiveMaxPool1d. Reference: torch.nn.AdaptiveMaxPool1d. */
export const AdaptiveMaxPool1d = checkedClass($nnPool.AdaptiveMaxPool1d, "outputSize:numberOrListOfNumberOrNull", "forward x");
export type AdaptiveMaxPool1d = $nnPool.AdaptiveMaxPool1d;
/** adaptiveMaxPool2d. Reference: torch.nn.AdaptiveMaxPool2d. */
export const AdaptiveMaxPool2d = checkedClass($nnPool.AdaptiveMaxPool2d, "outputSize:numberOrListOfNumberOrNull", "forward x");
export type AdaptiveMaxPool2d = $nnPool.AdaptiveMaxPool2d;
/** adaptiveMaxPool3d. Reference: torch.nn.AdaptiveMaxPool3d. */
export const AdaptiveMaxPool3d = checkedClass($nnPool.AdaptiveMaxPool3d, "outputSize:numberOrListOfNumberOrNull", "forward x");
export type AdaptiveMaxPool3d = $nnPool.AdaptiveMaxPool3d;
/** lpPool1d: the p-norm of each window. Reference: torch.nn.LPPool1d. */
export const LPPool1d = checkedClass($nnPool.LPPool1d, "p:number kernelSize:numberOrNumbers options:LpOptions?", "forward x");
export type LPPool1d = $nnPool.LPPool1d;
/** lpPool2d: the p-norm of each window. Reference: torch.nn.LPPool2d. */
export const LPPool2d = checkedClass($nnPool.LPPool2d, "p:number kernelSize:numberOrNumbers options:LpOptions?", "forward x");
export type LPPool2d = $nnPool.LPPool2d;
/** lpPool3d: the p-norm of each window. Reference: torch.nn.LPPool3d. */
export const LPPool3d = checkedClass($nnPool.LPPool3d, "p:number kernelSize:numberOrNumbers options:LpOptions?", "forward x");
export type LPPool3d = $nnPool.LPPool3d;
/** fractionalMaxPool2d. Reference: torch.nn.FractionalMaxPool2d. */
export const FractionalMaxPool2d = checkedClass($nnPool.FractionalMaxPool2d, "kernelSize:numberOrNumbers options:FractionalOptions", "forward x");
export type FractionalMaxPool2d = $nnPool.FractionalMaxPool2d;
/** fractionalMaxPool3d. Reference: torch.nn.FractionalMaxPool3d. */
export const FractionalMaxPool3d = checkedClass($nnPool.FractionalMaxPool3d, "kernelSize:numberOrNumbers options:FractionalOptions", "forward x");
export type FractionalMaxPool3d = $nnPool.FractionalMaxPool3d;
/**
 * Replaces the Linear and Embedding layers of a module by QuantizedLinear and QuantizedEmbedding, with their weights packed: of 4 bits as
 * Q4_0 (or Q4_1, if not symmetric), of 8 bits as Q8_0 or one scale a row. Layers that share a weight share the packed one. The float weights are
 * given up. Returns the module; of a Linear or an Embedding itself, the new layer. Layers with hooks, maxNorm or subclasses stay as they are. Throws
 * ValueError for a block that does not divide the rows of a layer that `filter` names, UnsupportedError where nothing is quantized.
 * Reference: torchao.quantization.quantize_.
 */
export const quantize = checked($nnQuantized.quantize, "quantize", "module:module options:QuantizeModuleOptions?");
/** Rows of a packed table by their numbers: [...] to [..., width]. The table does not learn. Reference: torchao's quantized embedding. */
export const QuantizedEmbedding = checkedClass($nnQuantized.QuantizedEmbedding, "weight:QuantizedWeight options:QuantizedEmbeddingOptions?", "forward indices");
export type QuantizedEmbedding = $nnQuantized.QuantizedEmbedding;
/**
 * x W^T + bias with a packed W, which is not unpacked in memory: [..., inputs] to [..., outputs] in x's dtype. Gradients flow to x and the bias; the
 * weight does not learn. `codes`, `scales` and `minima` are the state. Throws ShapeError and DTypeError for tensors that do not fit.
 * Reference: torchao's quantized linear layers, bitsandbytes.nn.Linear4bit.
 */
export const QuantizedLinear = checkedClass($nnQuantized.QuantizedLinear, "weight:QuantizedWeight options:QuantizedLinearOptions?", "forward x");
export type QuantizedLinear = $nnQuantized.QuantizedLinear;
export { QuantizedModule } from "../nn/quantized.ts";
checkMethods($nnQuantized.QuantizedModule, "dequantize options:QuantizedEmbeddingOptions?");
/** A long short-term memory network. forward gives {output, hidden, cell}. Reference: torch.nn.LSTM. */
export const LSTM = checkedClass($nnRecurrent.LSTM, "inputSize:number hiddenSize:number numLayers:numberOrLSTMOptions? options:LSTMOptions?", "", "parameter name:string;forward x call:RecurrentCall?") as ClassByName<typeof $nnRecurrent.LSTM, { inputSize: 0; hiddenSize: 1 }>;
export type LSTM = $nnRecurrent.LSTM;
/** A network of gated recurrent units. forward gives {output, hidden}. Reference: torch.nn.GRU. */
export const GRU = checkedClass($nnRecurrent.GRU, "inputSize:number hiddenSize:number numLayers:numberOrRecurrentLayerOptions? options:RecurrentLayerOptions?", "", "parameter name:string;forward x call:RecurrentCall?") as ClassByName<typeof $nnRecurrent.GRU, { inputSize: 0; hiddenSize: 1 }>;
export type GRU = $nnRecurrent.GRU;
/** Elman's network: h' = tanh (or relu) of the input's and the state's products. Reference: torch.nn.RNN. */
export const RNN = checkedClass($nnRecurrent.RNN, "inputSize:number hiddenSize:number numLayers:numberOrRNNOptions? options:RNNOptions?", "", "parameter name:string;forward x call:RecurrentCall?") as ClassByName<typeof $nnRecurrent.RNN, { inputSize: 0; hiddenSize: 1 }>;
export type RNN = $nnRecurrent.RNN;
/** One step of an LSTM: {hidden, cell}. Reference: torch.nn.LSTMCell. */
export const LSTMCell = checkedClass($nnRecurrent.LSTMCell, "inputSize:number hiddenSize:number options:CellOptions?", "forward x options:hidden_5a415d?") as ClassByName<typeof $nnRecurrent.LSTMCell, { inputSize: 0; hiddenSize: 1 }>;
export type LSTMCell = $nnRecurrent.LSTMCell;
/** One step of a GRU: the hidden state. Reference: torch.nn.GRUCell. */
export const GRUCell = checkedClass($nnRecurrent.GRUCell, "inputSize:number hiddenSize:number options:CellOptions?", "forward x hidden:tensorOrNull?") as ClassByName<typeof $nnRecurrent.GRUCell, { inputSize: 0; hiddenSize: 1 }>;
export type GRUCell = $nnRecurrent.GRUCell;
/** One step of Elman's network: the hidden state. Reference: torch.nn.RNNCell. */
export const RNNCell = checkedClass($nnRecurrent.RNNCell, "inputSize:number hiddenSize:number options:device_f4ee2a?", "forward x hidden:tensorOrNull?") as ClassByName<typeof $nnRecurrent.RNNCell, { inputSize: 0; hiddenSize: 1 }>;
export type RNNCell = $nnRecurrent.RNNCell;
/**
 * The layers of a module as a table: shapes, parameters, multiply-adds, memory. Calls the module once on the device `meta`, where tensors have
 * shapes and dtypes and no elements: nothing is computed, no device is opened, and the module stays as it is. console.log shows the table; the numbers are fields.
 *
 * A lazy layer shows what it becomes in its first call, and stays lazy.
 *
 * input: what forward() takes: a tensor, a shape (of float32), or { shape, dtype }; a list of these, and of whatever else, for several arguments.
 * A multiply-add is one of matrix products, linear layers, convolutions, attention and recurrent layers; norms count 5 for each element (4 without
 * weights; RMSNorm 3 or 2; batch norm by running statistics 2). Elementwise functions count nothing.
 *
 * Throws ValueError for options out of their range, DxError with the name of the layer whose forward() fails, TraceError inside a compiled function.
 * Reference: torchinfo.summary.
 */
export const summary = checked($nnSummary.summary, "summary", "module:module input:tensorOrSummaryInputSpecOrListOfAnything options:SummaryOptions?");
export * as functional from "../nn/functional.generated.ts";
export * as init from "./init.generated.ts";
export * as utils from "./utils.generated.ts";
/** The first half along an axis times the sigmoid of the second. Reference: torch.nn.GLU. */
export const glu = factory(GLU, $nnActivation.glu);
/** softmax of -x along an axis. Reference: torch.nn.Softmin. */
export const softmin = factory(Softmin, $nnActivation.softmin) as MadeByName<typeof $nnActivation.softmin, { axis: 0 }>;
/** softmax over the channels of [N, C, H, W] or [C, H, W]. Reference: torch.nn.Softmax2d. */
export const softmax2d = factory(Softmax2d, $nnActivation.softmax2d);
/** 0 where |x| is at most lambda, x elsewhere. Reference: torch.nn.Hardshrink. */
export const hardshrink = factory(Hardshrink, $nnActivation.hardshrink);
/** x moved towards 0 by lambda, at most to 0. Reference: torch.nn.Softshrink. */
export const softshrink = factory(Softshrink, $nnActivation.softshrink);
/** From beta * x above it on the result is x itself. Default: 20. */
export const threshold = factory(Threshold, $nnActivation.threshold) as MadeByName<typeof $nnActivation.threshold, { limit: 0; value: 1 }>;
/** leakyRelu with slopes drawn between lower and upper in training, their mean otherwise. Reference: torch.nn.RReLU. */
export const rrelu = factory(RReLU, $nnActivation.rrelu);
/** relu. Reference: torch.nn.ReLU. */
export const relu = factory(ReLU, $nnActivation.relu);
/** relu6. Reference: torch.nn.ReLU6. */
export const relu6 = factory(ReLU6, $nnActivation.relu6);
/** sigmoid. Reference: torch.nn.Sigmoid. */
export const sigmoid = factory(Sigmoid, $nnActivation.sigmoid);
/** tanh. Reference: torch.nn.Tanh. */
export const tanh = factory(Tanh, $nnActivation.tanh);
/** leakyRelu. Reference: torch.nn.LeakyReLU. */
export const leakyRelu = factory(LeakyReLU, $nnActivation.leakyRelu);
/** elu. Reference: torch.nn.ELU. */
export const elu = factory(ELU, $nnActivation.elu);
/** selu. Reference: torch.nn.SELU. */
export const selu = factory(SELU, $nnActivation.selu);
/** celu. Reference: torch.nn.CELU. */
export const celu = factory(CELU, $nnActivation.celu);
/** gelu. Reference: torch.nn.GELU. */
export const gelu = factory(GELU, $nnActivation.gelu);
/** silu. Reference: torch.nn.SiLU. */
export const silu = factory(SiLU, $nnActivation.silu);
/** mish. Reference: torch.nn.Mish. */
export const mish = factory(Mish, $nnActivation.mish);
/** softplus. Reference: torch.nn.Softplus. */
export const softplus = factory(Softplus, $nnActivation.softplus);
/** softsign. Reference: torch.nn.Softsign. */
export const softsign = factory(Softsign, $nnActivation.softsign);
/** logSigmoid. Reference: torch.nn.LogSigmoid. */
export const logSigmoid = factory(LogSigmoid, $nnActivation.logSigmoid);
/** hardtanh. Reference: torch.nn.Hardtanh. */
export const hardtanh = factory(Hardtanh, $nnActivation.hardtanh);
/** hardSigmoid. Reference: torch.nn.Hardsigmoid. */
export const hardSigmoid = factory(HardSigmoid, $nnActivation.hardSigmoid);
/** hardSwish. Reference: torch.nn.Hardswish. */
export const hardSwish = factory(HardSwish, $nnActivation.hardSwish);
/** tanhshrink. Reference: torch.nn.Tanhshrink. */
export const tanhshrink = factory(Tanhshrink, $nnActivation.tanhshrink);
/** softmax along an axis. Reference: torch.nn.Softmax. */
export const softmax = factory(Softmax, $nnActivation.softmax) as MadeByName<typeof $nnActivation.softmax, { axis: 0 }>;
/** logSoftmax along an axis. Reference: torch.nn.LogSoftmax. */
export const logSoftmax = factory(LogSoftmax, $nnActivation.logSoftmax) as MadeByName<typeof $nnActivation.logSoftmax, { axis: 0 }>;
/** x where x > 0, a learned slope times x elsewhere. Reference: torch.nn.PReLU. */
export const prelu = factory(PReLU, $nnActivation.prelu);
/**
 * log p(target | x) and its negative mean, where classes are sorted by frequency: those below cutoffs[0] are classes of the head, each
 * later range has one for all together and its own softmax within. x is [N, inputs] and target [N], or [inputs] and []. All rows go
 * through all clusters, since shapes do not depend on data. Reference: torch.nn.AdaptiveLogSoftmaxWithLoss.
 */
export const adaptiveLogSoftmaxWithLoss = factory(AdaptiveLogSoftmaxWithLoss, $nnAdaptiveSoftmax.adaptiveLogSoftmaxWithLoss) as MadeByName<typeof $nnAdaptiveSoftmax.adaptiveLogSoftmaxWithLoss, { inFeatures: 0; nClasses: 1; cutoffs: 2 }>;
/** Attention of several heads. forward(query, key, value) gives {output, weights}. Reference: torch.nn.MultiheadAttention. */
export const multiheadAttention = factory(MultiheadAttention, $nnAttention.multiheadAttention) as MadeByName<typeof $nnAttention.multiheadAttention, { embedDim: 0; numHeads: 1 }>;
/** Self-attention and feedforward, each with a residual and a layer norm. Reference: torch.nn.TransformerEncoderLayer. */
export const transformerEncoderLayer = factory(TransformerEncoderLayer, $nnAttention.transformerEncoderLayer) as MadeByName<typeof $nnAttention.transformerEncoderLayer, { dModel: 0; nhead: 1 }>;
/** As the encoder's layer, with attention to a memory between. Reference: torch.nn.TransformerDecoderLayer. */
export const transformerDecoderLayer = factory(TransformerDecoderLayer, $nnAttention.transformerDecoderLayer) as MadeByName<typeof $nnAttention.transformerDecoderLayer, { dModel: 0; nhead: 1 }>;
/** Encoder layers one after the other, made by a function, and a last norm. Reference: torch.nn.TransformerEncoder. */
export const transformerEncoder = factory(TransformerEncoder, $nnAttention.transformerEncoder) as MadeByName<typeof $nnAttention.transformerEncoder, { make: 0; numLayers: 1 }, { norm: 2 }>;
/** Decoder layers one after the other, made by a function, and a last norm. Reference: torch.nn.TransformerDecoder. */
export const transformerDecoder = factory(TransformerDecoder, $nnAttention.transformerDecoder) as MadeByName<typeof $nnAttention.transformerDecoder, { make: 0; numLayers: 1 }, { norm: 2 }>;
/** An encoder and a decoder that attends to what it makes. Reference: torch.nn.Transformer. */
export const transformer = factory(Transformer, $nnAttention.transformer);
/** Layers one after the other, named "0", "1", … Reference: torch.nn.Sequential. */
export const sequential = factory(Sequential, $nnContainers.sequential);
/** Axes `startDim` to `endDim` (default 1 to the last) merged into one. Reference: torch.nn.Flatten. */
export const flatten = factory(Flatten, $nnContainers.flatten);
/** An axis split into several. Reference: torch.nn.Unflatten. */
export const unflatten = factory(Unflatten, $nnContainers.unflatten) as MadeByName<typeof $nnContainers.unflatten, { axis: 0; lengths: 1 }>;
/** conv1d with a learned kernel. x: [N, inputs, W] or [inputs, W]. Reference: torch.nn.Conv1d. */
export const conv1d = factory(Conv1d, $nnConv.conv1d) as MadeByName<typeof $nnConv.conv1d, { inChannels: 0; outChannels: 1; kernelSize: 2 }>;
/** conv2d with a learned kernel. x: [N, inputs, H, W] or [inputs, H, W]. Reference: torch.nn.Conv2d. */
export const conv2d = factory(Conv2d, $nnConv.conv2d) as MadeByName<typeof $nnConv.conv2d, { inChannels: 0; outChannels: 1; kernelSize: 2 }>;
/** conv3d with a learned kernel. x: [N, inputs, D, H, W] or [inputs, D, H, W]. Reference: torch.nn.Conv3d. */
export const conv3d = factory(Conv3d, $nnConv.conv3d) as MadeByName<typeof $nnConv.conv3d, { inChannels: 0; outChannels: 1; kernelSize: 2 }>;
/** convTranspose1d with a learned kernel [inputs, outputs/groups, k]. Reference: torch.nn.ConvTranspose1d. */
export const convTranspose1d = factory(ConvTranspose1d, $nnConv.convTranspose1d) as MadeByName<typeof $nnConv.convTranspose1d, { inChannels: 0; outChannels: 1; kernelSize: 2 }>;
/** convTranspose2d with a learned kernel [inputs, outputs/groups, kH, kW]. Reference: torch.nn.ConvTranspose2d. */
export const convTranspose2d = factory(ConvTranspose2d, $nnConv.convTranspose2d) as MadeByName<typeof $nnConv.convTranspose2d, { inChannels: 0; outChannels: 1; kernelSize: 2 }>;
/** convTranspose3d with a learned kernel [inputs, outputs/groups, kD, kH, kW]. Reference: torch.nn.ConvTranspose3d. */
export const convTranspose3d = factory(ConvTranspose3d, $nnConv.convTranspose3d) as MadeByName<typeof $nnConv.convTranspose3d, { inChannels: 0; outChannels: 1; kernelSize: 2 }>;
/** Makes a DataParallel. */
export const dataParallel = factory(DataParallel, $nnDeviceParallel.dataParallel);
/** In training, zeroes each element with probability p and scales the others by 1 / (1 - p). Reference: torch.nn.Dropout. */
export const dropout = factory(Dropout, $nnDropout.dropout);
/** Dropout of whole channels of [N, C, ...]. Reference: torch.nn.Dropout1d, Dropout2d, Dropout3d. */
export const dropout2d = factory(DropoutChannels, $nnDropout.dropout2d);
/** Sums, means or maxima of bags of a learned table's rows. Reference: torch.nn.EmbeddingBag. */
export const embeddingBag = factory(EmbeddingBag, $nnEmbedding.embeddingBag) as MadeByName<typeof $nnEmbedding.embeddingBag, { numEmbeddings: 0; embeddingDim: 1 }>;
/** Rows of a learned table by their numbers: [...] to [..., width]. Starts normal. Reference: torch.nn.Embedding. */
export const embedding = factory(Embedding, $nnEmbedding.embedding) as MadeByName<typeof $nnEmbedding.embedding, { numEmbeddings: 0; embeddingDim: 1 }>;
/** instanceNorm over [N, C, W]. Reference: torch.nn.InstanceNorm1d. */
export const instanceNorm1d = factory(InstanceNorm1d, $nnInstanceNorm.instanceNorm1d) as MadeByName<typeof $nnInstanceNorm.instanceNorm1d, { numFeatures: 0 }>;
/** instanceNorm over [N, C, H, W]. Reference: torch.nn.InstanceNorm2d. */
export const instanceNorm2d = factory(InstanceNorm2d, $nnInstanceNorm.instanceNorm2d) as MadeByName<typeof $nnInstanceNorm.instanceNorm2d, { numFeatures: 0 }>;
/** instanceNorm over [N, C, D, H, W]. Reference: torch.nn.InstanceNorm3d. */
export const instanceNorm3d = factory(InstanceNorm3d, $nnInstanceNorm.instanceNorm3d) as MadeByName<typeof $nnInstanceNorm.instanceNorm3d, { numFeatures: 0 }>;
/** rmsNorm over the last axes. Reference: torch.nn.RMSNorm. */
export const rmsNorm = factory(RMSNorm, $nnInstanceNorm.rmsNorm) as MadeByName<typeof $nnInstanceNorm.rmsNorm, { normalizedShape: 0 }>;
/** linear() that takes inFeatures from its first input. Reference: torch.nn.LazyLinear. */
export const lazyLinear = factory(LazyLinear, $nnLazyLayers.lazyLinear) as MadeByName<typeof $nnLazyLayers.lazyLinear, { outFeatures: 0 }>;
/** conv1d() that takes inChannels from its first input. Reference: torch.nn.LazyConv1d. */
export const lazyConv1d = factory(LazyConv1d, $nnLazyLayers.lazyConv1d) as MadeByName<typeof $nnLazyLayers.lazyConv1d, { outChannels: 0; kernelSize: 1 }>;
/** conv2d() that takes inChannels from its first input. Reference: torch.nn.LazyConv2d. */
export const lazyConv2d = factory(LazyConv2d, $nnLazyLayers.lazyConv2d) as MadeByName<typeof $nnLazyLayers.lazyConv2d, { outChannels: 0; kernelSize: 1 }>;
/** conv3d() that takes inChannels from its first input. Reference: torch.nn.LazyConv3d. */
export const lazyConv3d = factory(LazyConv3d, $nnLazyLayers.lazyConv3d) as MadeByName<typeof $nnLazyLayers.lazyConv3d, { outChannels: 0; kernelSize: 1 }>;
/** convTranspose1d() that takes inChannels from its first input. Reference: torch.nn.LazyConvTranspose1d. */
export const lazyConvTranspose1d = factory(LazyConvTranspose1d, $nnLazyLayers.lazyConvTranspose1d) as MadeByName<typeof $nnLazyLayers.lazyConvTranspose1d, { outChannels: 0; kernelSize: 1 }>;
/** convTranspose2d() that takes inChannels from its first input. Reference: torch.nn.LazyConvTranspose2d. */
export const lazyConvTranspose2d = factory(LazyConvTranspose2d, $nnLazyLayers.lazyConvTranspose2d) as MadeByName<typeof $nnLazyLayers.lazyConvTranspose2d, { outChannels: 0; kernelSize: 1 }>;
/** convTranspose3d() that takes inChannels from its first input. Reference: torch.nn.LazyConvTranspose3d. */
export const lazyConvTranspose3d = factory(LazyConvTranspose3d, $nnLazyLayers.lazyConvTranspose3d) as MadeByName<typeof $nnLazyLayers.lazyConvTranspose3d, { outChannels: 0; kernelSize: 1 }>;
/** batchNorm1d() that takes numFeatures from its first input. Reference: torch.nn.LazyBatchNorm1d. */
export const lazyBatchNorm1d = factory(LazyBatchNorm1d, $nnLazyNorms.lazyBatchNorm1d);
/** batchNorm2d() that takes numFeatures from its first input. Reference: torch.nn.LazyBatchNorm2d. */
export const lazyBatchNorm2d = factory(LazyBatchNorm2d, $nnLazyNorms.lazyBatchNorm2d);
/** batchNorm3d() that takes numFeatures from its first input. Reference: torch.nn.LazyBatchNorm3d. */
export const lazyBatchNorm3d = factory(LazyBatchNorm3d, $nnLazyNorms.lazyBatchNorm3d);
/** instanceNorm1d() that takes numFeatures from its first input. Reference: torch.nn.LazyInstanceNorm1d. */
export const lazyInstanceNorm1d = factory(LazyInstanceNorm1d, $nnLazyNorms.lazyInstanceNorm1d);
/** instanceNorm2d() that takes numFeatures from its first input. Reference: torch.nn.LazyInstanceNorm2d. */
export const lazyInstanceNorm2d = factory(LazyInstanceNorm2d, $nnLazyNorms.lazyInstanceNorm2d);
/** instanceNorm3d() that takes numFeatures from its first input. Reference: torch.nn.LazyInstanceNorm3d. */
export const lazyInstanceNorm3d = factory(LazyInstanceNorm3d, $nnLazyNorms.lazyInstanceNorm3d);
/** x W^T + bias, [..., inputs] to [..., outputs]. Both start uniform in ±1/sqrt(inputs). Reference: torch.nn.Linear. */
export const linear = factory(Linear, $nnLinear.linear) as MadeByName<typeof $nnLinear.linear, { inFeatures: 0; outFeatures: 1 }>;
/** a^T W b + bias for each of the outputs. Reference: torch.nn.Bilinear. */
export const bilinear = factory(Bilinear, $nnLinear.bilinear) as MadeByName<typeof $nnLinear.bilinear, { in1Features: 0; in2Features: 1; outFeatures: 2 }>;
/** Gives its input back. Reference: torch.nn.Identity. */
export const identity = factory(Identity, $nnLinear.identity);
/** Modules by index. Reference: torch.nn.ModuleList. */
export const moduleList = factory(ModuleList, $nnLists.moduleList);
/** Parameters by index. Reference: torch.nn.ParameterList. */
export const parameterList = factory(ParameterList, $nnLists.parameterList);
/** Modules by name. Reference: torch.nn.ModuleDict. */
export const moduleDict = factory(ModuleDict, $nnLists.moduleDict);
/** Parameters by name. Reference: torch.nn.ParameterDict. */
export const parameterDict = factory(ParameterDict, $nnLists.parameterDict);
/** mseLoss. Reference: torch.nn.MSELoss. */
export const mseLoss = factory(MSELoss, $nnLoss.mseLoss);
/** l1Loss. Reference: torch.nn.L1Loss. */
export const l1Loss = factory(L1Loss, $nnLoss.l1Loss);
/** smoothL1Loss. Reference: torch.nn.SmoothL1Loss. */
export const smoothL1Loss = factory(SmoothL1Loss, $nnLoss.smoothL1Loss);
/** huberLoss. Reference: torch.nn.HuberLoss. */
export const huberLoss = factory(HuberLoss, $nnLoss.huberLoss);
/** binaryCrossEntropy. Reference: torch.nn.BCELoss. */
export const binaryCrossEntropy = factory(BCELoss, $nnLoss.binaryCrossEntropy);
/** binaryCrossEntropyWithLogits. Reference: torch.nn.BCEWithLogitsLoss. */
export const binaryCrossEntropyWithLogits = factory(BCEWithLogitsLoss, $nnLoss.binaryCrossEntropyWithLogits);
/** nllLoss. Reference: torch.nn.NLLLoss. */
export const nllLoss = factory(NLLLoss, $nnLoss.nllLoss);
/** crossEntropy. Reference: torch.nn.CrossEntropyLoss. */
export const crossEntropy = factory(CrossEntropyLoss, $nnLoss.crossEntropy);
/** marginRankingLoss. Reference: torch.nn.MarginRankingLoss. */
export const marginRankingLoss = factory(MarginRankingLoss, $nnMarginLoss.marginRankingLoss);
/** hingeEmbeddingLoss. Reference: torch.nn.HingeEmbeddingLoss. */
export const hingeEmbeddingLoss = factory(HingeEmbeddingLoss, $nnMarginLoss.hingeEmbeddingLoss);
/** cosineEmbeddingLoss. Reference: torch.nn.CosineEmbeddingLoss. */
export const cosineEmbeddingLoss = factory(CosineEmbeddingLoss, $nnMarginLoss.cosineEmbeddingLoss);
/** softMarginLoss. Reference: torch.nn.SoftMarginLoss. */
export const softMarginLoss = factory(SoftMarginLoss, $nnMarginLoss.softMarginLoss);
/** multiMarginLoss. Reference: torch.nn.MultiMarginLoss. */
export const multiMarginLoss = factory(MultiMarginLoss, $nnMarginLoss.multiMarginLoss);
/** multilabelMarginLoss. Reference: torch.nn.MultiLabelMarginLoss. */
export const multilabelMarginLoss = factory(MultiLabelMarginLoss, $nnMarginLoss.multilabelMarginLoss);
/** multilabelSoftMarginLoss. Reference: torch.nn.MultiLabelSoftMarginLoss. */
export const multilabelSoftMarginLoss = factory(MultiLabelSoftMarginLoss, $nnMarginLoss.multilabelSoftMarginLoss);
/** tripletMarginLoss. Reference: torch.nn.TripletMarginLoss, torch.nn.TripletMarginWithDistanceLoss. */
export const tripletMarginLoss = factory(TripletMarginLoss, $nnMarginLoss.tripletMarginLoss);
/** poissonNllLoss. Reference: torch.nn.PoissonNLLLoss. */
export const poissonNllLoss = factory(PoissonNLLLoss, $nnMarginLoss.poissonNllLoss);
/** gaussianNllLoss. Reference: torch.nn.GaussianNLLLoss. */
export const gaussianNllLoss = factory(GaussianNLLLoss, $nnMarginLoss.gaussianNllLoss);
/** klDiv. Reference: torch.nn.KLDivLoss. */
export const klDiv = factory(KLDivLoss, $nnMarginLoss.klDiv);
/** ctcLoss. Reference: torch.nn.CTCLoss. */
export const ctcLoss = factory(CTCLoss, $nnMarginLoss.ctcLoss);
/** batchNorm over [N, C] or [N, C, W]. Reference: torch.nn.BatchNorm1d. */
export const batchNorm1d = factory(BatchNorm1d, $nnNorm.batchNorm1d) as MadeByName<typeof $nnNorm.batchNorm1d, { numFeatures: 0 }>;
/** batchNorm over [N, C, H, W]. Reference: torch.nn.BatchNorm2d. */
export const batchNorm2d = factory(BatchNorm2d, $nnNorm.batchNorm2d) as MadeByName<typeof $nnNorm.batchNorm2d, { numFeatures: 0 }>;
/** batchNorm over [N, C, D, H, W]. Reference: torch.nn.BatchNorm3d. */
export const batchNorm3d = factory(BatchNorm3d, $nnNorm.batchNorm3d) as MadeByName<typeof $nnNorm.batchNorm3d, { numFeatures: 0 }>;
/** layerNorm over the last axes. Reference: torch.nn.LayerNorm. */
export const layerNorm = factory(LayerNorm, $nnNorm.layerNorm) as MadeByName<typeof $nnNorm.layerNorm, { normalizedShape: 0 }>;
/** groupNorm. Reference: torch.nn.GroupNorm. */
export const groupNorm = factory(GroupNorm, $nnNorm.groupNorm) as MadeByName<typeof $nnNorm.groupNorm, { numGroups: 0; numChannels: 1 }>;
/** Padding by a value: [before, behind] of the last axis, then of the one before it. Reference: torch.nn.ConstantPad1d. */
export const constantPad1d = factory(ConstantPad1d, $nnPad.constantPad1d) as MadeByName<typeof $nnPad.constantPad1d, { padding: 0; value: 1 }>;
/** Padding by a value: [before, behind] of the last axis, then of the one before it. Reference: torch.nn.ConstantPad2d. */
export const constantPad2d = factory(ConstantPad2d, $nnPad.constantPad2d) as MadeByName<typeof $nnPad.constantPad2d, { padding: 0; value: 1 }>;
/** Padding by a value: [before, behind] of the last axis, then of the one before it. Reference: torch.nn.ConstantPad3d. */
export const constantPad3d = factory(ConstantPad3d, $nnPad.constantPad3d) as MadeByName<typeof $nnPad.constantPad3d, { padding: 0; value: 1 }>;
/** Padding by zeros of the last axis. Reference: torch.nn.ZeroPad1d. */
export const zeroPad1d = factory(ZeroPad1d, $nnPad.zeroPad1d) as MadeByName<typeof $nnPad.zeroPad1d, { padding: 0 }>;
/** Padding by zeros of two axes. Reference: torch.nn.ZeroPad2d. */
export const zeroPad2d = factory(ZeroPad2d, $nnPad.zeroPad2d) as MadeByName<typeof $nnPad.zeroPad2d, { padding: 0 }>;
/** Padding by zeros of three axes. Reference: torch.nn.ZeroPad3d. */
export const zeroPad3d = factory(ZeroPad3d, $nnPad.zeroPad3d) as MadeByName<typeof $nnPad.zeroPad3d, { padding: 0 }>;
/** Padding of the last axis. Reference: torch.nn.ReflectionPad1d. */
export const reflectionPad1d = factory(ReflectionPad1d, $nnPad.reflectionPad1d) as MadeByName<typeof $nnPad.reflectionPad1d, { padding: 0 }>;
/** Padding of two axes. Reference: torch.nn.ReflectionPad2d. */
export const reflectionPad2d = factory(ReflectionPad2d, $nnPad.reflectionPad2d) as MadeByName<typeof $nnPad.reflectionPad2d, { padding: 0 }>;
/** Padding of three axes. Reference: torch.nn.ReflectionPad3d. */
export const reflectionPad3d = factory(ReflectionPad3d, $nnPad.reflectionPad3d) as MadeByName<typeof $nnPad.reflectionPad3d, { padding: 0 }>;
/** Padding of the last axis. Reference: torch.nn.ReplicationPad1d. */
export const replicationPad1d = factory(ReplicationPad1d, $nnPad.replicationPad1d) as MadeByName<typeof $nnPad.replicationPad1d, { padding: 0 }>;
/** Padding of two axes. Reference: torch.nn.ReplicationPad2d. */
export const replicationPad2d = factory(ReplicationPad2d, $nnPad.replicationPad2d) as MadeByName<typeof $nnPad.replicationPad2d, { padding: 0 }>;
/** Padding of three axes. Reference: torch.nn.ReplicationPad3d. */
export const replicationPad3d = factory(ReplicationPad3d, $nnPad.replicationPad3d) as MadeByName<typeof $nnPad.replicationPad3d, { padding: 0 }>;
/** Padding of the last axis. Reference: torch.nn.CircularPad1d. */
export const circularPad1d = factory(CircularPad1d, $nnPad.circularPad1d) as MadeByName<typeof $nnPad.circularPad1d, { padding: 0 }>;
/** Padding of two axes. Reference: torch.nn.CircularPad2d. */
export const circularPad2d = factory(CircularPad2d, $nnPad.circularPad2d) as MadeByName<typeof $nnPad.circularPad2d, { padding: 0 }>;
/** Padding of three axes. Reference: torch.nn.CircularPad3d. */
export const circularPad3d = factory(CircularPad3d, $nnPad.circularPad3d) as MadeByName<typeof $nnPad.circularPad3d, { padding: 0 }>;
/** Makes a Pipeline. */
export const pipeline = factory(Pipeline, $nnPipeline.pipeline);
/** interpolate with its options kept. Reference: torch.nn.Upsample. */
export const upsample = factory(Upsample, $nnPlanes.upsample);
/** pixelShuffle. Reference: torch.nn.PixelShuffle. */
export const pixelShuffle = factory(PixelShuffle, $nnPlanes.pixelShuffle) as MadeByName<typeof $nnPlanes.pixelShuffle, { upscaleFactor: 0 }>;
/** pixelUnshuffle. Reference: torch.nn.PixelUnshuffle. */
export const pixelUnshuffle = factory(PixelUnshuffle, $nnPlanes.pixelUnshuffle) as MadeByName<typeof $nnPlanes.pixelUnshuffle, { downscaleFactor: 0 }>;
/** channelShuffle. Reference: torch.nn.ChannelShuffle. */
export const channelShuffle = factory(ChannelShuffle, $nnPlanes.channelShuffle) as MadeByName<typeof $nnPlanes.channelShuffle, { groups: 0 }>;
/** Windows as columns. Reference: torch.nn.Unfold. */
export const unfold = factory(Unfold, $nnPlanes.unfold) as MadeByName<typeof $nnPlanes.unfold, { kernelSize: 0 }>;
/** Columns added into planes. Reference: torch.nn.Fold. */
export const fold = factory(Fold, $nnPlanes.fold) as MadeByName<typeof $nnPlanes.fold, { outputSize: 0; kernelSize: 1 }>;
/** maxUnpool1d. Reference: torch.nn.MaxUnpool1d. */
export const maxUnpool1d = factory(MaxUnpool1d, $nnPlanes.maxUnpool1d) as MadeByName<typeof $nnPlanes.maxUnpool1d, { kernelSize: 0 }>;
/** maxUnpool2d. Reference: torch.nn.MaxUnpool2d. */
export const maxUnpool2d = factory(MaxUnpool2d, $nnPlanes.maxUnpool2d) as MadeByName<typeof $nnPlanes.maxUnpool2d, { kernelSize: 0 }>;
/** maxUnpool3d. Reference: torch.nn.MaxUnpool3d. */
export const maxUnpool3d = factory(MaxUnpool3d, $nnPlanes.maxUnpool3d) as MadeByName<typeof $nnPlanes.maxUnpool3d, { kernelSize: 0 }>;
/** localResponseNorm. Reference: torch.nn.LocalResponseNorm. */
export const localResponseNorm = factory(LocalResponseNorm, $nnPlanes.localResponseNorm) as MadeByName<typeof $nnPlanes.localResponseNorm, { size: 0 }>;
/** cosineSimilarity along an axis. Reference: torch.nn.CosineSimilarity. */
export const cosineSimilarity = factory(CosineSimilarity, $nnPlanes.cosineSimilarity);
/** pairwiseDistance. Reference: torch.nn.PairwiseDistance. */
export const pairwiseDistance = factory(PairwiseDistance, $nnPlanes.pairwiseDistance);
/** maxPool1d. Reference: torch.nn.MaxPool1d. */
export const maxPool1d = factory(MaxPool1d, $nnPool.maxPool1d) as MadeByName<typeof $nnPool.maxPool1d, { kernelSize: 0 }>;
/** maxPool2d. Reference: torch.nn.MaxPool2d. */
export const maxPool2d = factory(MaxPool2d, $nnPool.maxPool2d) as MadeByName<typeof $nnPool.maxPool2d, { kernelSize: 0 }>;
/** maxPool3d. Reference: torch.nn.MaxPool3d. */
export const maxPool3d = factory(MaxPool3d, $nnPool.maxPool3d) as MadeByName<typeof $nnPool.maxPool3d, { kernelSize: 0 }>;
/** avgPool1d. Reference: torch.nn.AvgPool1d. */
export const avgPool1d = factory(AvgPool1d, $nnPool.avgPool1d) as MadeByName<typeof $nnPool.avgPool1d, { kernelSize: 0 }>;
/** avgPool2d. Reference: torch.nn.AvgPool2d. */
export const avgPool2d = factory(AvgPool2d, $nnPool.avgPool2d) as MadeByName<typeof $nnPool.avgPool2d, { kernelSize: 0 }>;
/** avgPool3d. Reference: torch.nn.AvgPool3d. */
export const avgPool3d = factory(AvgPool3d, $nnPool.avgPool3d) as MadeByName<typeof $nnPool.avgPool3d, { kernelSize: 0 }>;
/** adaptiveAvgPool1d. Reference: torch.nn.AdaptiveAvgPool1d. */
export const adaptiveAvgPool1d = factory(AdaptiveAvgPool1d, $nnPool.adaptiveAvgPool1d) as MadeByName<typeof $nnPool.adaptiveAvgPool1d, { outputSize: 0 }>;
/** adaptiveAvgPool2d. Reference: torch.nn.AdaptiveAvgPool2d. */
export const adaptiveAvgPool2d = factory(AdaptiveAvgPool2d, $nnPool.adaptiveAvgPool2d) as MadeByName<typeof $nnPool.adaptiveAvgPool2d, { outputSize: 0 }>;
/** adaptiveAvgPool3d. Reference: torch.nn.AdaptiveAvgPool3d. */
export const adaptiveAvgPool3d = factory(AdaptiveAvgPool3d, $nnPool.adaptiveAvgPool3d) as MadeByName<typeof $nnPool.adaptiveAvgPool3d, { outputSize: 0 }>;
/** adaptiveMaxPool1d. Reference: torch.nn.AdaptiveMaxPool1d. */
export const adaptiveMaxPool1d = factory(AdaptiveMaxPool1d, $nnPool.adaptiveMaxPool1d) as MadeByName<typeof $nnPool.adaptiveMaxPool1d, { outputSize: 0 }>;
/** adaptiveMaxPool2d. Reference: torch.nn.AdaptiveMaxPool2d. */
export const adaptiveMaxPool2d = factory(AdaptiveMaxPool2d, $nnPool.adaptiveMaxPool2d) as MadeByName<typeof $nnPool.adaptiveMaxPool2d, { outputSize: 0 }>;
/** adaptiveMaxPool3d. Reference: torch.nn.AdaptiveMaxPool3d. */
export const adaptiveMaxPool3d = factory(AdaptiveMaxPool3d, $nnPool.adaptiveMaxPool3d) as MadeByName<typeof $nnPool.adaptiveMaxPool3d, { outputSize: 0 }>;
/** lpPool1d: the p-norm of each window. Reference: torch.nn.LPPool1d. */
export const lpPool1d = factory(LPPool1d, $nnPool.lpPool1d) as MadeByName<typeof $nnPool.lpPool1d, { p: 0; kernelSize: 1 }>;
/** lpPool2d: the p-norm of each window. Reference: torch.nn.LPPool2d. */
export const lpPool2d = factory(LPPool2d, $nnPool.lpPool2d) as MadeByName<typeof $nnPool.lpPool2d, { p: 0; kernelSize: 1 }>;
/** lpPool3d: the p-norm of each window. Reference: torch.nn.LPPool3d. */
export const lpPool3d = factory(LPPool3d, $nnPool.lpPool3d) as MadeByName<typeof $nnPool.lpPool3d, { p: 0; kernelSize: 1 }>;
/** fractionalMaxPool2d. Reference: torch.nn.FractionalMaxPool2d. */
export const fractionalMaxPool2d = factory(FractionalMaxPool2d, $nnPool.fractionalMaxPool2d) as MadeByName<typeof $nnPool.fractionalMaxPool2d, { kernelSize: 0 }>;
/** fractionalMaxPool3d. Reference: torch.nn.FractionalMaxPool3d. */
export const fractionalMaxPool3d = factory(FractionalMaxPool3d, $nnPool.fractionalMaxPool3d) as MadeByName<typeof $nnPool.fractionalMaxPool3d, { kernelSize: 0 }>;
/** A long short-term memory network. forward gives {output, hidden, cell}. Reference: torch.nn.LSTM. */
export const lstm = factory(LSTM, $nnRecurrent.lstm) as MadeByName<typeof $nnRecurrent.lstm, { inputSize: 0; hiddenSize: 1 }>;
/** A network of gated recurrent units. forward gives {output, hidden}. Reference: torch.nn.GRU. */
export const gru = factory(GRU, $nnRecurrent.gru) as MadeByName<typeof $nnRecurrent.gru, { inputSize: 0; hiddenSize: 1 }>;
/** Elman's network: h' = tanh (or relu) of the input's and the state's products. Reference: torch.nn.RNN. */
export const rnn = factory(RNN, $nnRecurrent.rnn) as MadeByName<typeof $nnRecurrent.rnn, { inputSize: 0; hiddenSize: 1 }>;
/** One step of an LSTM: {hidden, cell}. Reference: torch.nn.LSTMCell. */
export const lstmCell = factory(LSTMCell, $nnRecurrent.lstmCell) as MadeByName<typeof $nnRecurrent.lstmCell, { inputSize: 0; hiddenSize: 1 }>;
/** One step of a GRU: the hidden state. Reference: torch.nn.GRUCell. */
export const gruCell = factory(GRUCell, $nnRecurrent.gruCell) as MadeByName<typeof $nnRecurrent.gruCell, { inputSize: 0; hiddenSize: 1 }>;
/** One step of Elman's network: the hidden state. Reference: torch.nn.RNNCell. */
export const rnnCell = factory(RNNCell, $nnRecurrent.rnnCell) as MadeByName<typeof $nnRecurrent.rnnCell, { inputSize: 0; hiddenSize: 1 }>;
