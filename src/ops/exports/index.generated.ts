// Made by npm run generate from the families in src/ops.
import { bind, isAll, isTensor, refused, under } from "../declare/checked.ts";
import * as kinds from "../exports/kinds.generated.ts";
import { openRegions } from "../../core/autocast.ts";
import { listed } from "../declare/autocast.ts";
import * as $attentionAttention from "../attention/attention.ts";
import * as $attentionMultihead from "../attention/multihead.ts";
import * as $convConv from "../conv/conv.ts";
import * as $convFold from "../conv/fold.ts";
import * as $creationCreation from "../creation/creation.ts";
import * as $creationNewLike from "../creation/new-like.ts";
import * as $creationRanges from "../creation/ranges.ts";
import * as $creationSignalWindows from "../creation/signal-windows.ts";
import * as $creationSpacing from "../creation/spacing.ts";
import * as $dataAliases from "../data/aliases.ts";
import * as $dataConversion from "../data/conversion.ts";
import * as $dataState from "../data/state.ts";
import * as $elementwiseActivation from "../elementwise/activation.ts";
import * as $elementwiseArithmetic from "../elementwise/arithmetic.ts";
import * as $elementwiseBinary from "../elementwise/binary.ts";
import * as $elementwiseBits from "../elementwise/bits.ts";
import * as $elementwiseCloseness from "../elementwise/closeness.ts";
import * as $elementwiseCompare from "../elementwise/compare.ts";
import * as $elementwiseDirectmlFunctions from "../elementwise/directml-functions.ts";
import * as $elementwiseDivision from "../elementwise/division.ts";
import * as $elementwiseElementary from "../elementwise/elementary.ts";
import * as $elementwiseFloats from "../elementwise/floats.ts";
import * as $elementwiseHardActivation from "../elementwise/hard-activation.ts";
import * as $elementwisePower from "../elementwise/power.ts";
import * as $elementwisePromotion from "../elementwise/promotion.ts";
import * as $elementwiseTruth from "../elementwise/truth.ts";
import * as $elementwiseUnary from "../elementwise/unary.ts";
import * as $elementwiseWhere from "../elementwise/where.ts";
import * as $indexEmbeddingBag from "../index/embedding-bag.ts";
import * as $indexEmbedding from "../index/embedding.ts";
import * as $indexGather from "../index/gather.ts";
import * as $indexIndexRows from "../index/index-rows.ts";
import * as $indexIndexing from "../index/indexing.ts";
import * as $indexNonzero from "../index/nonzero.ts";
import * as $indexOneHot from "../index/one-hot.ts";
import * as $indexPut from "../index/put.ts";
import * as $indexScatter from "../index/scatter.ts";
import * as $kernelCustomKernel from "../kernel/custom-kernel.ts";
import * as $kernelShader from "../kernel/shader.ts";
import * as $linalgAliases from "../linalg/aliases.ts";
import * as $lossCrossEntropy from "../loss/cross-entropy.ts";
import * as $lossCtcLoss from "../loss/ctc-loss.ts";
import * as $lossMarginLoss from "../loss/margin-loss.ts";
import * as $lossRegression from "../loss/regression.ts";
import * as $matmulContraction from "../matmul/contraction.ts";
import * as $matmulMatmul from "../matmul/matmul.ts";
import * as $matmulMatrixProducts from "../matmul/matrix-products.ts";
import * as $normBatchLayerNorm from "../norm/batch-layer-norm.ts";
import * as $normGroupNorm from "../norm/group-norm.ts";
import * as $normInstanceNorm from "../norm/instance-norm.ts";
import * as $normNativeNorm from "../norm/native-norm.ts";
import * as $normRmsNorm from "../norm/rms-norm.ts";
import * as $normWeightNorm from "../norm/weight-norm.ts";
import * as $poolAdaptivePool from "../pool/adaptive-pool.ts";
import * as $poolPool from "../pool/pool.ts";
import * as $poolUnpool from "../pool/unpool.ts";
import * as $quantizedQuantize from "../quantized/quantize.ts";
import * as $quantizedQuantizedConv from "../quantized/quantized-conv.ts";
import * as $quantizedQuantized from "../quantized/quantized.ts";
import * as $randomDistributions from "../random/distributions.ts";
import * as $randomDropout from "../random/dropout.ts";
import * as $randomRandomActivation from "../random/random-activation.ts";
import * as $randomRandom from "../random/random.ts";
import * as $recurrentRecurrent from "../recurrent/recurrent.ts";
import * as $recurrentReverseSequence from "../recurrent/reverse-sequence.ts";
import * as $reduceCalculus from "../reduce/calculus.ts";
import * as $reduceDistance from "../reduce/distance.ts";
import * as $reduceExtrema from "../reduce/extrema.ts";
import * as $reduceHistogram from "../reduce/histogram.ts";
import * as $reduceMoments from "../reduce/moments.ts";
import * as $reduceReduce from "../reduce/reduce.ts";
import * as $reduceSegment from "../reduce/segment.ts";
import * as $reduceSoftmax from "../reduce/softmax.ts";
import * as $reduceStatistics from "../reduce/statistics.ts";
import * as $scanCumulativeExtrema from "../scan/cumulative-extrema.ts";
import * as $scanCumulative from "../scan/cumulative.ts";
import * as $shapeDiagonals from "../shape/diagonals.ts";
import * as $shapeJoin from "../shape/join.ts";
import * as $shapeMovement from "../shape/movement.ts";
import * as $shapePad from "../shape/pad.ts";
import * as $shapeRearrange from "../shape/rearrange.ts";
import * as $shapeRepeats from "../shape/repeats.ts";
import * as $shapeShuffle from "../shape/shuffle.ts";
import * as $shapeStorageSize from "../shape/storage-size.ts";
import * as $shapeStridedViews from "../shape/strided-views.ts";
import * as $sortOrderStatistics from "../sort/order-statistics.ts";
import * as $sortSearch from "../sort/search.ts";
import * as $sortSort from "../sort/sort.ts";
import * as $sortUnique from "../sort/unique.ts";
import * as $specialBessel from "../special/bessel.ts";
import * as $specialErrorFunctions from "../special/error-functions.ts";
import * as $specialGamma from "../special/gamma.ts";
import * as $specialIncompleteGamma from "../special/incomplete-gamma.ts";
import * as $specialPolynomials from "../special/polynomials.ts";
import * as $visionDeformConv from "../vision/deform-conv.ts";
import * as $visionGridSample from "../vision/grid-sample.ts";
import * as $visionInterpolate from "../vision/interpolate.ts";
import * as $visionRoiAlign from "../vision/roi-align.ts";
import * as $visionRoiPool from "../vision/roi-pool.ts";
export type { AttentionOptions } from "../attention/attention.ts";
/**
 * softmax(q kᵀ scale + mask) v. q: [..., L, E]; k: [..., S, E]; v: [..., S, D]; batches broadcast. Result: [..., L, D]. A query that
 * attends to no key gives zeros. DirectML: GEMM, ACTIVATION_SOFTMAX1. Reference: torch.nn.functional.scaled_dot_product_attention.
 * @autocast lower
 */
export const scaledDotProductAttention = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.AttentionOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("scaledDotProductAttention", "q k v options:AttentionOptions?", arguments); try { return (openRegions === 0 ? $attentionAttention.scaledDotProductAttention : listed("lower", "scaledDotProductAttention", $attentionAttention.scaledDotProductAttention))($0, $1, $2, $3); } catch (error) { throw under("scaledDotProductAttention", error); } } as unknown as typeof $attentionAttention.scaledDotProductAttention;
export type { Projections } from "../attention/multihead.ts";
export type { MultiHeadOptions } from "../attention/multihead.ts";
/** Multi-head attention of [L, B, E], [S, B, E], [S, B, E]. Reference: torch.nn.functional.multi_head_attention_forward. */
export const multiHeadAttention = function ($0: never, $1: never, $2: never, $3: never, $4: never, $5: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && kinds.number.is($3) && kinds.Projections.is($4) && ($5 === undefined || kinds.MultiHeadOptions.is($5)) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("multiHeadAttention", "query key value heads:number projections:Projections options:MultiHeadOptions?", arguments); try { return $attentionMultihead.multiHeadAttention($0, $1, $2, $3, $4, $5); } catch (error) { throw under("multiHeadAttention", error); } } as unknown as typeof $attentionMultihead.multiHeadAttention;
/**
 * Rotary position embedding: pairs of elements of x's last axis, rotated by angles. x: [..., L, E]; cosine and sine: broadcast to [..., L, E / 2].
 * interleaved: whether neighbours are pairs, instead of elements half the axis apart (default).
 */
export const rotaryEmbedding = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.interleaved_d885c6.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("rotaryEmbedding", "x cosine sine options:interleaved_d885c6?", arguments); try { return $attentionMultihead.rotaryEmbedding($0, $1, $2, $3); } catch (error) { throw under("rotaryEmbedding", error); } } as unknown as typeof $attentionMultihead.rotaryEmbedding;
export type { ConvOptions } from "../conv/conv.ts";
export type { ConvTransposeOptions } from "../conv/conv.ts";
/**
 * Cross-correlation of x with a kernel over one spatial axis. x: [N, Ci, W] or [Ci, W]; weight: [Co, Ci/groups, k]; bias: [Co] or
 * none; float32, float16, or integers (exact modulo 2^bits). Result: [N, Co, (W + 2 padding - dilation (k - 1) - 1) / stride + 1], rounded down.
 * Throws ShapeError, DTypeError, ValueError. DirectML: CONVOLUTION. Reference: torch.nn.functional.conv1d. @autocast lower
 */
export const conv1d = function ($0: never, $1: never, $2: never = undefined as never, $3: never, $4: never, $5: never) { if (!(isTensor($0) && isTensor($1) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrConvOptions.is($3)) && ($4 === undefined || kinds.same_validOrNumberOrNumbersOrConvOptions.is($4)) && ($5 === undefined || kinds.ConvOptions.is($5)) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("conv1d", "x weight bias:tensorOrNull? stride:numberOrNumbersOrConvOptions? padding:same_validOrNumberOrNumbersOrConvOptions? options:ConvOptions?", arguments); try { return (openRegions === 0 ? $convConv.conv1d : listed("lower", "conv1d", $convConv.conv1d))($0, $1, $2, $3, $4, $5); } catch (error) { throw under("conv1d", error); } } as unknown as typeof $convConv.conv1d;
/** conv1d over two spatial axes: x [N, Ci, H, W] or [Ci, H, W], weight [Co, Ci/groups, kH, kW]. Reference: torch.nn.functional.conv2d. @autocast lower */
export const conv2d = function ($0: never, $1: never, $2: never = undefined as never, $3: never, $4: never, $5: never) { if (!(isTensor($0) && isTensor($1) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrConvOptions.is($3)) && ($4 === undefined || kinds.same_validOrNumberOrNumbersOrConvOptions.is($4)) && ($5 === undefined || kinds.ConvOptions.is($5)) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("conv2d", "x weight bias:tensorOrNull? stride:numberOrNumbersOrConvOptions? padding:same_validOrNumberOrNumbersOrConvOptions? options:ConvOptions?", arguments); try { return (openRegions === 0 ? $convConv.conv2d : listed("lower", "conv2d", $convConv.conv2d))($0, $1, $2, $3, $4, $5); } catch (error) { throw under("conv2d", error); } } as unknown as typeof $convConv.conv2d;
/** conv1d over three spatial axes: x [N, Ci, D, H, W] or [Ci, D, H, W], weight [Co, Ci/groups, kD, kH, kW]. Reference: torch.nn.functional.conv3d. @autocast lower */
export const conv3d = function ($0: never, $1: never, $2: never = undefined as never, $3: never, $4: never, $5: never) { if (!(isTensor($0) && isTensor($1) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrConvOptions.is($3)) && ($4 === undefined || kinds.same_validOrNumberOrNumbersOrConvOptions.is($4)) && ($5 === undefined || kinds.ConvOptions.is($5)) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("conv3d", "x weight bias:tensorOrNull? stride:numberOrNumbersOrConvOptions? padding:same_validOrNumberOrNumbersOrConvOptions? options:ConvOptions?", arguments); try { return (openRegions === 0 ? $convConv.conv3d : listed("lower", "conv3d", $convConv.conv3d))($0, $1, $2, $3, $4, $5); } catch (error) { throw under("conv3d", error); } } as unknown as typeof $convConv.conv3d;
/**
 * Transposed convolution: the data gradient of conv1d. x: [N, Ci, W] or [Ci, W]; weight: [Ci, Co/groups, k]; bias: [Co]
 * or none. Result: [N, Co, (W - 1) stride - 2 padding + dilation (k - 1) + outputPadding + 1].
 * DirectML: CONVOLUTION, BACKWARD. Reference: torch.nn.functional.conv_transpose1d. @autocast lower
 */
export const convTranspose1d = function ($0: never, $1: never, $2: never = undefined as never, $3: never, $4: never, $5: never) { if (!(isTensor($0) && isTensor($1) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrConvTransposeOptions.is($3)) && ($4 === undefined || kinds.numberOrNumbersOrConvTransposeOptions.is($4)) && ($5 === undefined || kinds.ConvTransposeOptions.is($5)) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("convTranspose1d", "x weight bias:tensorOrNull? stride:numberOrNumbersOrConvTransposeOptions? padding:numberOrNumbersOrConvTransposeOptions? options:ConvTransposeOptions?", arguments); try { return (openRegions === 0 ? $convConv.convTranspose1d : listed("lower", "convTranspose1d", $convConv.convTranspose1d))($0, $1, $2, $3, $4, $5); } catch (error) { throw under("convTranspose1d", error); } } as unknown as typeof $convConv.convTranspose1d;
/** convTranspose1d over two spatial axes. Reference: torch.nn.functional.conv_transpose2d. @autocast lower */
export const convTranspose2d = function ($0: never, $1: never, $2: never = undefined as never, $3: never, $4: never, $5: never) { if (!(isTensor($0) && isTensor($1) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrConvTransposeOptions.is($3)) && ($4 === undefined || kinds.numberOrNumbersOrConvTransposeOptions.is($4)) && ($5 === undefined || kinds.ConvTransposeOptions.is($5)) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("convTranspose2d", "x weight bias:tensorOrNull? stride:numberOrNumbersOrConvTransposeOptions? padding:numberOrNumbersOrConvTransposeOptions? options:ConvTransposeOptions?", arguments); try { return (openRegions === 0 ? $convConv.convTranspose2d : listed("lower", "convTranspose2d", $convConv.convTranspose2d))($0, $1, $2, $3, $4, $5); } catch (error) { throw under("convTranspose2d", error); } } as unknown as typeof $convConv.convTranspose2d;
/** convTranspose1d over three spatial axes. Reference: torch.nn.functional.conv_transpose3d. @autocast lower */
export const convTranspose3d = function ($0: never, $1: never, $2: never = undefined as never, $3: never, $4: never, $5: never) { if (!(isTensor($0) && isTensor($1) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrConvTransposeOptions.is($3)) && ($4 === undefined || kinds.numberOrNumbersOrConvTransposeOptions.is($4)) && ($5 === undefined || kinds.ConvTransposeOptions.is($5)) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("convTranspose3d", "x weight bias:tensorOrNull? stride:numberOrNumbersOrConvTransposeOptions? padding:numberOrNumbersOrConvTransposeOptions? options:ConvTransposeOptions?", arguments); try { return (openRegions === 0 ? $convConv.convTranspose3d : listed("lower", "convTranspose3d", $convConv.convTranspose3d))($0, $1, $2, $3, $4, $5); } catch (error) { throw under("convTranspose3d", error); } } as unknown as typeof $convConv.convTranspose3d;
export type { FoldOptions } from "../conv/fold.ts";
/**
 * Windows of x [N, C, H, W] or [C, H, W] as columns [N, C * kernel, windows].
 * DirectML: PADDING1, ELEMENT_WISE_IDENTITY with strides. Reference: torch.nn.functional.unfold.
 * @functional unfold
 */
export const unfoldWindows = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.FoldOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("unfoldWindows", "x kernelSize:numberOrNumbers options:FoldOptions?", arguments); try { return $convFold.unfoldWindows($0, $1, $2); } catch (error) { throw under("unfoldWindows", error); } } as unknown as typeof $convFold.unfoldWindows;
/**
 * Columns [N, C * kernel, windows] (or without N) added into planes of outputSize: [N, C, H, W].
 * DirectML: SLICE_GRAD, ELEMENT_WISE_ADD. Reference: torch.nn.functional.fold.
 * @functional
 */
export const fold = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && kinds.numberOrNumbers.is($2) && ($3 === undefined || kinds.FoldOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("fold", "x outputSize:numberOrNumbers kernelSize:numberOrNumbers options:FoldOptions?", arguments); try { return $convFold.fold($0, $1, $2, $3); } catch (error) { throw under("fold", error); } } as unknown as typeof $convFold.fold;
export type { TensorOptions } from "../creation/creation.ts";
export type { TensorData } from "../creation/creation.ts";
/**
 * A tensor with the given elements.
 *
 * data: a number, bigint or boolean, nested arrays of them, or a typed array (of any shape, see `shape`). Copied.
 * shape: default that of the data. dtype: default float32 for numbers, int64 for bigints, bool for booleans, the array's own for
 * typed arrays; float16 and bfloat16 take numbers or a Uint16Array of raw words.
 * Throws ShapeError when the data are not rectangular or do not fill the shape. Reference: torch.tensor.
 */
export const tensor = function ($0: never, $1: never = undefined as never) { if (!(($1 === undefined || kinds.dtype_d391c7.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("tensor", "data:anything options:dtype_d391c7?", arguments); try { return $creationCreation.tensor($0, $1); } catch (error) { throw under("tensor", error); } } as unknown as typeof $creationCreation.tensor;
/** A tensor of a shape whose elements are all `value`. DirectML: FILL_VALUE_CONSTANT. Reference: torch.full. */
export const full = function ($0: never, $1: never, $2: never = undefined as never) { if (!(kinds.numbers.is($0) && kinds.scalar.is($1) && ($2 === undefined || kinds.TensorOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("full", "shape:numbers value:scalar options:TensorOptions?", arguments); try { return $creationCreation.full($0, $1, $2); } catch (error) { throw under("full", error); } } as unknown as typeof $creationCreation.full;
/** A tensor of zeros. Default dtype float32. Reference: torch.zeros. */
export const zeros = function ($0: never, $1: never = undefined as never) { if (!(kinds.numbers.is($0) && ($1 === undefined || kinds.TensorOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("zeros", "shape:numbers options:TensorOptions?", arguments); try { return $creationCreation.zeros($0, $1); } catch (error) { throw under("zeros", error); } } as unknown as typeof $creationCreation.zeros;
/** A tensor of ones. Default dtype float32. Reference: torch.ones. */
export const ones = function ($0: never, $1: never = undefined as never) { if (!(kinds.numbers.is($0) && ($1 === undefined || kinds.TensorOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("ones", "shape:numbers options:TensorOptions?", arguments); try { return $creationCreation.ones($0, $1); } catch (error) { throw under("ones", error); } } as unknown as typeof $creationCreation.ones;
/** A tensor whose elements are whatever the memory holds. Default dtype float32. Reference: torch.empty. */
export const empty = function ($0: never, $1: never = undefined as never) { if (!(kinds.numbers.is($0) && ($1 === undefined || kinds.TensorOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("empty", "shape:numbers options:TensorOptions?", arguments); try { return $creationCreation.empty($0, $1); } catch (error) { throw under("empty", error); } } as unknown as typeof $creationCreation.empty;
/** full() with the shape of x, and its dtype and device unless the options name others. */
export const fullLike = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.scalar.is($1) && ($2 === undefined || kinds.TensorOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("fullLike", "x value:scalar options:TensorOptions?", arguments); try { return $creationCreation.fullLike($0, $1, $2); } catch (error) { throw under("fullLike", error); } } as unknown as typeof $creationCreation.fullLike;
/** zeros() with the shape, dtype and device of x, unless the options name others. Reference: torch.zeros_like. */
export const zerosLike = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.TensorOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("zerosLike", "x options:TensorOptions?", arguments); try { return $creationCreation.zerosLike($0, $1); } catch (error) { throw under("zerosLike", error); } } as unknown as typeof $creationCreation.zerosLike;
/** ones() with the shape, dtype and device of x, unless the options name others. Reference: torch.ones_like. */
export const onesLike = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.TensorOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("onesLike", "x options:TensorOptions?", arguments); try { return $creationCreation.onesLike($0, $1); } catch (error) { throw under("onesLike", error); } } as unknown as typeof $creationCreation.onesLike;
/** empty() with the shape, dtype and device of x, unless the options name others. Reference: torch.empty_like. */
export const emptyLike = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.TensorOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("emptyLike", "x options:TensorOptions?", arguments); try { return $creationCreation.emptyLike($0, $1); } catch (error) { throw under("emptyLike", error); } } as unknown as typeof $creationCreation.emptyLike;
export type { TriangleOptions } from "../creation/new-like.ts";
/** empty() with the dtype and device of x, unless the options name others. Reference: torch.Tensor.new_empty. */
export const newEmpty = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numbers.is($1) && ($2 === undefined || kinds.TensorOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("newEmpty", "x shape:numbers options:TensorOptions?", arguments); try { return $creationNewLike.newEmpty($0, $1, $2); } catch (error) { throw under("newEmpty", error); } } as unknown as typeof $creationNewLike.newEmpty;
/** zeros() with the dtype and device of x, unless the options name others. Reference: torch.Tensor.new_zeros. */
export const newZeros = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numbers.is($1) && ($2 === undefined || kinds.TensorOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("newZeros", "x shape:numbers options:TensorOptions?", arguments); try { return $creationNewLike.newZeros($0, $1, $2); } catch (error) { throw under("newZeros", error); } } as unknown as typeof $creationNewLike.newZeros;
/** ones() with the dtype and device of x, unless the options name others. Reference: torch.Tensor.new_ones. */
export const newOnes = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numbers.is($1) && ($2 === undefined || kinds.TensorOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("newOnes", "x shape:numbers options:TensorOptions?", arguments); try { return $creationNewLike.newOnes($0, $1, $2); } catch (error) { throw under("newOnes", error); } } as unknown as typeof $creationNewLike.newOnes;
/** full() with the dtype and device of x, unless the options name others. Reference: torch.Tensor.new_full. */
export const newFull = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && kinds.numbers.is($1) && kinds.scalar.is($2) && ($3 === undefined || kinds.TensorOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("newFull", "x shape:numbers value:scalar options:TensorOptions?", arguments); try { return $creationNewLike.newFull($0, $1, $2, $3); } catch (error) { throw under("newFull", error); } } as unknown as typeof $creationNewLike.newFull;
/** A tensor of a shape with given strides, over a storage just large enough; its elements are not initialized. Reference: torch.empty_strided. */
export const emptyStrided = function ($0: never, $1: never, $2: never = undefined as never) { if (!(kinds.numbers.is($0) && kinds.numbers.is($1) && ($2 === undefined || kinds.TensorOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("emptyStrided", "shape:numbers strides:numbers options:TensorOptions?", arguments); try { return $creationNewLike.emptyStrided($0, $1, $2); } catch (error) { throw under("emptyStrided", error); } } as unknown as typeof $creationNewLike.emptyStrided;
/**
 * A tensor of a shape whose axes lie in memory in the order of `layout`, from the outermost one; its elements are not
 * initialized. Reference: torch.empty_permuted.
 */
export const emptyPermuted = function ($0: never, $1: never, $2: never = undefined as never) { if (!(kinds.numbers.is($0) && kinds.numbers.is($1) && ($2 === undefined || kinds.TensorOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("emptyPermuted", "shape:numbers layout:numbers options:TensorOptions?", arguments); try { return $creationNewLike.emptyPermuted($0, $1, $2); } catch (error) { throw under("emptyPermuted", error); } } as unknown as typeof $creationNewLike.emptyPermuted;
/** emptyStrided() with the dtype and device of x, unless the options name others. Reference: torch.Tensor.new_empty_strided. */
export const newEmptyStrided = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && kinds.numbers.is($1) && kinds.numbers.is($2) && ($3 === undefined || kinds.TensorOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("newEmptyStrided", "x shape:numbers strides:numbers options:TensorOptions?", arguments); try { return $creationNewLike.newEmptyStrided($0, $1, $2, $3); } catch (error) { throw under("newEmptyStrided", error); } } as unknown as typeof $creationNewLike.newEmptyStrided;
/** A scalar as a tensor of no axes. Default dtype float32. Reference: torch.scalar_tensor. */
export const scalarTensor = function ($0: never, $1: never = undefined as never) { if (!(kinds.scalar.is($0) && ($1 === undefined || kinds.TensorOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("scalarTensor", "value:scalar options:TensorOptions?", arguments); try { return $creationNewLike.scalarTensor($0, $1); } catch (error) { throw under("scalarTensor", error); } } as unknown as typeof $creationNewLike.scalarTensor;
/** Rows and columns of the lower triangle of a matrix, row by row: [2, count]. Reference: torch.tril_indices. */
export const trilIndices = function ($0: never, $1: never, $2: never = undefined as never) { if (!(kinds.number.is($0) && kinds.number.is($1) && ($2 === undefined || kinds.TriangleOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("trilIndices", "rows:number columns:number options:TriangleOptions?", arguments); try { return $creationNewLike.trilIndices($0, $1, $2); } catch (error) { throw under("trilIndices", error); } } as unknown as typeof $creationNewLike.trilIndices;
/** Rows and columns of the upper triangle of a matrix, row by row: [2, count]. Reference: torch.triu_indices. */
export const triuIndices = function ($0: never, $1: never, $2: never = undefined as never) { if (!(kinds.number.is($0) && kinds.number.is($1) && ($2 === undefined || kinds.TriangleOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("triuIndices", "rows:number columns:number options:TriangleOptions?", arguments); try { return $creationNewLike.triuIndices($0, $1, $2); } catch (error) { throw under("triuIndices", error); } } as unknown as typeof $creationNewLike.triuIndices;
/**
 * start, start + step, … before end: arange(end), arange(start, end) or arange(start, end, step). Dtype: int32 if all three are integers, else float32.
 * Throws ValueError for a step of 0 or one that leads away from end. DirectML: FILL_VALUE_SEQUENCE. Reference: torch.arange.
 */
export const arange = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(kinds.number.is($0) && ($1 === undefined || kinds.numberOrRangeOptions.is($1)) && ($2 === undefined || kinds.numberOrRangeOptions.is($2)) && ($3 === undefined || kinds.TensorOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("arange", "end:number second:numberOrRangeOptions? third:numberOrRangeOptions? last:TensorOptions?", arguments); try { return $creationRanges.arange($0, $1, $2, $3); } catch (error) { throw under("arange", error); } } as unknown as typeof $creationRanges.arange;
/** Ones on the main diagonal of a rows x columns matrix, zeros elsewhere. Reference: torch.eye. */
export const eye = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(kinds.number.is($0) && ($2 === undefined || kinds.TensorOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("eye", "rows:number columns:anything options:TensorOptions?", arguments); try { return $creationRanges.eye($0, $1, $2); } catch (error) { throw under("eye", error); } } as unknown as typeof $creationRanges.eye;
/** x with zeros above a diagonal (0: the main one) of its last two axes. Reference: torch.tril. */
export const tril = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("tril", "x diagonal:number?", arguments); try { return $creationRanges.tril($0, $1); } catch (error) { throw under("tril", error); } } as unknown as typeof $creationRanges.tril;
/** x with zeros below a diagonal (0: the main one) of its last two axes. Reference: torch.triu. */
export const triu = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("triu", "x diagonal:number?", arguments); try { return $creationRanges.triu($0, $1); } catch (error) { throw under("triu", error); } } as unknown as typeof $creationRanges.triu;
export type { WindowOptions } from "../creation/signal-windows.ts";
/** Hann's window. Reference: torch.hann_window. DirectML: ELEMENT_WISE_COS. */
export const hannWindow = function ($0: never, $1: never = undefined as never) { if (!(kinds.number.is($0) && ($1 === undefined || kinds.WindowOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("hannWindow", "length:number options:WindowOptions?", arguments); try { return $creationSignalWindows.hannWindow($0, $1); } catch (error) { throw under("hannWindow", error); } } as unknown as typeof $creationSignalWindows.hannWindow;
/** alpha - beta cos(2π n / span). Reference: torch.hamming_window. DirectML: ELEMENT_WISE_COS. */
export const hammingWindow = function ($0: never, $1: never = undefined as never) { if (!(kinds.number.is($0) && ($1 === undefined || kinds.dtype_27fa4a.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("hammingWindow", "length:number options:dtype_27fa4a?", arguments); try { return $creationSignalWindows.hammingWindow($0, $1); } catch (error) { throw under("hammingWindow", error); } } as unknown as typeof $creationSignalWindows.hammingWindow;
/** Blackman's window. Reference: torch.blackman_window. DirectML: ELEMENT_WISE_COS. */
export const blackmanWindow = function ($0: never, $1: never = undefined as never) { if (!(kinds.number.is($0) && ($1 === undefined || kinds.WindowOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("blackmanWindow", "length:number options:WindowOptions?", arguments); try { return $creationSignalWindows.blackmanWindow($0, $1); } catch (error) { throw under("blackmanWindow", error); } } as unknown as typeof $creationSignalWindows.blackmanWindow;
/** A triangle. Reference: torch.bartlett_window. DirectML: ELEMENT_WISE_ABS. */
export const bartlettWindow = function ($0: never, $1: never = undefined as never) { if (!(kinds.number.is($0) && ($1 === undefined || kinds.WindowOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("bartlettWindow", "length:number options:WindowOptions?", arguments); try { return $creationSignalWindows.bartlettWindow($0, $1); } catch (error) { throw under("bartlettWindow", error); } } as unknown as typeof $creationSignalWindows.bartlettWindow;
/** Kaiser's window: I0(beta sqrt(1 - t²)) / I0(beta). beta: default 12. Reference: torch.kaiser_window. DirectML: as i0. */
export const kaiserWindow = function ($0: never, $1: never = undefined as never) { if (!(kinds.number.is($0) && ($1 === undefined || kinds.dtype_66b714.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("kaiserWindow", "length:number options:dtype_66b714?", arguments); try { return $creationSignalWindows.kaiserWindow($0, $1); } catch (error) { throw under("kaiserWindow", error); } } as unknown as typeof $creationSignalWindows.kaiserWindow;
/**
 * `steps` numbers from start to end, both included, at equal distances; start and end may be tensors of rank 0. Default dtype float32.
 * Reference: torch.linspace.
 */
export const linspace = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!((isTensor($0) || kinds.numberOrTensor.is($0)) && (isTensor($1) || kinds.numberOrTensor.is($1)) && kinds.number.is($2) && ($3 === undefined || kinds.TensorOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("linspace", "start:numberOrTensor end:numberOrTensor steps:number options:TensorOptions?", arguments); try { return $creationSpacing.linspace($0, $1, $2, $3); } catch (error) { throw under("linspace", error); } } as unknown as typeof $creationSpacing.linspace;
/**
 * `steps` numbers from base^start to base^end, evenly apart in their logarithms; start and end may be tensors of rank 0.
 * Reference: torch.logspace. DirectML: ELEMENT_WISE_POW.
 */
export const logspace = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!((isTensor($0) || kinds.numberOrTensor.is($0)) && (isTensor($1) || kinds.numberOrTensor.is($1)) && kinds.number.is($2) && ($3 === undefined || kinds.dtype_9cae4b.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("logspace", "start:numberOrTensor end:numberOrTensor steps:number options:dtype_9cae4b?", arguments); try { return $creationSpacing.logspace($0, $1, $2, $3); } catch (error) { throw under("logspace", error); } } as unknown as typeof $creationSpacing.logspace;
/** x broadcast to the shape of another tensor, a view. Reference: torch.Tensor.expand_as. */
export const expandAs = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("expandAs", "x other", arguments); try { return $dataAliases.expandAs($0, $1); } catch (error) { throw under("expandAs", error); } } as unknown as typeof $dataAliases.expandAs;
/** x with the shape of another tensor. Reference: torch.Tensor.reshape_as. */
export const reshapeAs = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("reshapeAs", "x other", arguments); try { return $dataAliases.reshapeAs($0, $1); } catch (error) { throw under("reshapeAs", error); } } as unknown as typeof $dataAliases.reshapeAs;
/** x as a view with the shape of another tensor. Reference: torch.Tensor.view_as. */
export const viewAs = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("viewAs", "x other", arguments); try { return $dataAliases.viewAs($0, $1); } catch (error) { throw under("viewAs", error); } } as unknown as typeof $dataAliases.viewAs;
/** x in the dtype of another tensor. Reference: torch.Tensor.type_as. */
export const typeAs = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("typeAs", "x other", arguments); try { return $dataAliases.typeAs($0, $1); } catch (error) { throw under("typeAs", error); } } as unknown as typeof $dataAliases.typeAs;
/** clamp(). Reference: torch.clip. */
export const clip = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && (isTensor($1) || $1 === undefined || kinds.operandOrNull.is($1)) && (isTensor($2) || $2 === undefined || kinds.operandOrNull.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("clip", "x min:operandOrNull? max:operandOrNull?", arguments); try { return $dataAliases.clip($0, $1, $2); } catch (error) { throw under("clip", error); } } as unknown as typeof $dataAliases.clip;
/** abs(). Reference: torch.absolute. */
export const absolute = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("absolute", "x", arguments); try { return $dataAliases.absolute($0); } catch (error) { throw under("absolute", error); } } as unknown as typeof $dataAliases.absolute;
/** trunc(). Reference: torch.fix. */
export const fix = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("fix", "x", arguments); try { return $dataAliases.fix($0); } catch (error) { throw under("fix", error); } } as unknown as typeof $dataAliases.fix;
/** outer(). Reference: torch.ger. */
export const ger = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("ger", "a b", arguments); try { return $dataAliases.ger($0, $1); } catch (error) { throw under("ger", error); } } as unknown as typeof $dataAliases.ger;
/** takeAlongAxis(). Reference: torch.take_along_dim. */
export const takeAlongDim = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.numberOrNull.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("takeAlongDim", "x index axis:numberOrNull?", arguments); try { return $dataAliases.takeAlongDim($0, $1, $2); } catch (error) { throw under("takeAlongDim", error); } } as unknown as typeof $dataAliases.takeAlongDim;
/** split() into parts of given lengths. Reference: torch.split_with_sizes. */
export const splitWithSizes = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numbers.is($1) && ($2 === undefined || kinds.number.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("splitWithSizes", "x lengths:numbers axis:number?", arguments); try { return $dataAliases.splitWithSizes($0, $1, $2); } catch (error) { throw under("splitWithSizes", error); } } as unknown as typeof $dataAliases.splitWithSizes;
/** pad() by a constant. Reference: torch.constant_pad_nd. */
export const constantPadNd = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numbers.is($1) && ($2 === undefined || kinds.number.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("constantPadNd", "x pads:numbers value:number?", arguments); try { return $dataAliases.constantPadNd($0, $1, $2); } catch (error) { throw under("constantPadNd", error); } } as unknown as typeof $dataAliases.constantPadNd;
export type { ItemOf } from "../data/conversion.ts";
/** The tensor with packed elements: itself when it is so already. */
export const contiguous = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("contiguous", "x", arguments); try { return $dataConversion.contiguous($0); } catch (error) { throw under("contiguous", error); } } as unknown as typeof $dataConversion.contiguous;
/** The tensor on another device (itself when it is there), in another dtype, or both. */
export const to = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.deviceOrStringOrDtype.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("to", "x target:deviceOrStringOrDtype", arguments); try { return $dataConversion.to($0, $1); } catch (error) { throw under("to", error); } } as unknown as typeof $dataConversion.to;
/**
 * The elements in row-major order, without blocking the event loop. float16 and bfloat16 come as raw 16-bit words (see
 * toArray for numbers), bool as bytes, int64 and uint64 as BigInts. dtype: the tensor's own, which types know the array by; DTypeError for
 * another one.
 */
export const data = async function ($0: never, $1: never) { if (!(isTensor($0) && ($1 === undefined || kinds.dtype.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("data", "x dtype:dtype?", arguments); try { return await $dataConversion.data($0, $1); } catch (error) { throw under("data", error); } } as unknown as typeof $dataConversion.data;
/** data(), blocking until the work queued before is done. */
export const dataSync = function ($0: never, $1: never) { if (!(isTensor($0) && ($1 === undefined || kinds.dtype.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("dataSync", "x dtype:dtype?", arguments); try { return $dataConversion.dataSync($0, $1); } catch (error) { throw under("dataSync", error); } } as unknown as typeof $dataConversion.dataSync;
/**
 * dataSync() into memory that exists: the elements in row-major order, written to a typed array of the tensor's dtype and size, or to a Uint8Array (a Buffer, too) of
 * its bytes, which is the result. New memory costs more than the copy: its pages are made when they are first written. Throws ValueError for another array.
 * Reference: torch.Tensor.copy_ to a tensor of the host.
 */
export const dataIntoSync = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.data.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("dataIntoSync", "x into:data", arguments); try { return $dataConversion.dataIntoSync($0, $1); } catch (error) { throw under("dataIntoSync", error); } } as unknown as typeof $dataConversion.dataIntoSync;
/** The elements as nested arrays: a number for rank 0. */
export const toArray = async function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("toArray", "x", arguments); try { return await $dataConversion.toArray($0); } catch (error) { throw under("toArray", error); } } as unknown as typeof $dataConversion.toArray;
/** toArray(), blocking. */
export const toArraySync = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("toArraySync", "x", arguments); try { return $dataConversion.toArraySync($0); } catch (error) { throw under("toArraySync", error); } } as unknown as typeof $dataConversion.toArraySync;
/**
 * The one element as a number (booleans as 0 and 1). dtype: the tensor's own, which types know the result by: item("int64") is a bigint.
 * Throws ShapeError for other sizes, DTypeError for another dtype, and without a dtype ValueError for 64-bit integers beyond 2^53, of which
 * a number has not all digits. Reference: torch.Tensor.item.
 */
export const item = async function ($0: never, $1: never) { if (!(isTensor($0) && ($1 === undefined || kinds.dtype.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("item", "x dtype:dtype?", arguments); try { return await $dataConversion.item($0, $1); } catch (error) { throw under("item", error); } } as unknown as typeof $dataConversion.item;
/** item(), blocking. */
export const itemSync = function ($0: never, $1: never) { if (!(isTensor($0) && ($1 === undefined || kinds.dtype.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("itemSync", "x dtype:dtype?", arguments); try { return $dataConversion.itemSync($0, $1); } catch (error) { throw under("itemSync", error); } } as unknown as typeof $dataConversion.itemSync;
export type { HookHandle } from "../data/state.ts";
/** A packed copy. Gradients flow through it. Reference: torch.clone. DirectML: ELEMENT_WISE_IDENTITY. */
export const clone = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("clone", "x", arguments); try { return $dataState.clone($0); } catch (error) { throw under("clone", error); } } as unknown as typeof $dataState.clone;
/** The same elements, as a leaf without a gradient. Reference: torch.Tensor.detach. */
export const detach = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("detach", "x", arguments); try { return $dataState.detach($0); } catch (error) { throw under("detach", error); } } as unknown as typeof $dataState.detach;
/**
 * Calls fn with the gradient of x whenever backward() has it; what fn returns replaces it. Reference: torch.Tensor.register_hook.
 */
export const registerHook = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.callback.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("registerHook", "x fn:callback", arguments); try { return $dataState.registerHook($0, $1); } catch (error) { throw under("registerHook", error); } } as unknown as typeof $dataState.registerHook;
/** backward() accumulates the gradient of x in x.grad, though x is no leaf. Reference: torch.Tensor.retain_grad. */
export const retainGrad = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("retainGrad", "x", arguments); try { return $dataState.retainGrad($0); } catch (error) { throw under("retainGrad", error); } } as unknown as typeof $dataState.retainGrad;
export type { SoftplusOptions } from "../elementwise/activation.ts";
/** max(x, 0); NaN stays. DirectML: ACTIVATION_THRESHOLDED_RELU. Reference: torch.nn.functional.relu. Integers are taken too. */
export const relu = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("relu", "x", arguments); try { return $elementwiseActivation.relu($0); } catch (error) { throw under("relu", error); } } as unknown as typeof $elementwiseActivation.relu;
/** 1 / (1 + e^-x). Integers give float32. DirectML: ACTIVATION_SIGMOID. Reference: torch.sigmoid. */
export const sigmoid = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("sigmoid", "x", arguments); try { return $elementwiseActivation.sigmoid($0); } catch (error) { throw under("sigmoid", error); } } as unknown as typeof $elementwiseActivation.sigmoid;
/** x where x > 0, negativeSlope * x elsewhere. negativeSlope: finite, default 0.01. DirectML: ACTIVATION_LEAKY_RELU. Reference: torch.nn.functional.leaky_relu. */
export const leakyRelu = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNegativeSlope_4b07d7.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("leakyRelu", "x negativeSlope:numberOrNegativeSlope_4b07d7?", arguments); try { return $elementwiseActivation.leakyRelu($0, $1); } catch (error) { throw under("leakyRelu", error); } } as unknown as typeof $elementwiseActivation.leakyRelu;
/** x where x > 0, alpha * (e^x - 1) elsewhere. DirectML: ACTIVATION_ELU. Reference: torch.nn.functional.elu. */
export const elu = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrAlpha_6630fc.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("elu", "x alpha:numberOrAlpha_6630fc?", arguments); try { return $elementwiseActivation.elu($0, $1); } catch (error) { throw under("elu", error); } } as unknown as typeof $elementwiseActivation.elu;
/** 1.0507 * elu(x, 1.6733). DirectML: ACTIVATION_SCALED_ELU. Reference: torch.nn.functional.selu. */
export const selu = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("selu", "x", arguments); try { return $elementwiseActivation.selu($0); } catch (error) { throw under("selu", error); } } as unknown as typeof $elementwiseActivation.selu;
/** max(x, 0) + min(0, alpha * (e^(x / alpha) - 1)). DirectML: ACTIVATION_CELU. Reference: torch.nn.functional.celu. */
export const celu = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrAlpha_6630fc.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("celu", "x alpha:numberOrAlpha_6630fc?", arguments); try { return $elementwiseActivation.celu($0, $1); } catch (error) { throw under("celu", error); } } as unknown as typeof $elementwiseActivation.celu;
/** x * sigmoid(x). DirectML: ACTIVATION_SWISH, or SIGMOID and MULTIPLY. Reference: torch.nn.functional.silu. */
export const silu = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("silu", "x", arguments); try { return $elementwiseActivation.silu($0); } catch (error) { throw under("silu", error); } } as unknown as typeof $elementwiseActivation.silu;
/** x * Φ(x); approximate "tanh": 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))). DirectML: ACTIVATION_GELU or ERF; SIGMOID. Reference: torch.nn.functional.gelu. */
export const gelu = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.none_tanhOrApproximate_16588b.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("gelu", "x approximate:none_tanhOrApproximate_16588b?", arguments); try { return $elementwiseActivation.gelu($0, $1); } catch (error) { throw under("gelu", error); } } as unknown as typeof $elementwiseActivation.gelu;
/** ln(1 + e^(beta x)) / beta, and x where beta x > threshold. DirectML: EXP, LOG. Reference: torch.nn.functional.softplus. @autocast float32 */
export const softplus = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrSoftplusOptions.is($1)) && ($2 === undefined || kinds.number.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("softplus", "x beta:numberOrSoftplusOptions? threshold:number?", arguments); try { return (openRegions === 0 ? $elementwiseActivation.softplus : listed("float32", "softplus", $elementwiseActivation.softplus))($0, $1, $2); } catch (error) { throw under("softplus", error); } } as unknown as typeof $elementwiseActivation.softplus;
/** ln(sigmoid(x)), exact for large negative x too. Reference: torch.nn.functional.logsigmoid. */
export const logSigmoid = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("logSigmoid", "x", arguments); try { return $elementwiseActivation.logSigmoid($0); } catch (error) { throw under("logSigmoid", error); } } as unknown as typeof $elementwiseActivation.logSigmoid;
/** x * tanh(softplus(x)). DirectML: ELEMENT_WISE_TANH, EXP, LOG. Reference: torch.nn.functional.mish. */
export const mish = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("mish", "x", arguments); try { return $elementwiseActivation.mish($0); } catch (error) { throw under("mish", error); } } as unknown as typeof $elementwiseActivation.mish;
/** x / (1 + |x|). Integers give float32. Reference: torch.nn.functional.softsign. */
export const softsign = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("softsign", "x", arguments); try { return $elementwiseActivation.softsign($0); } catch (error) { throw under("softsign", error); } } as unknown as typeof $elementwiseActivation.softsign;
/** x where x > 0, weight * x elsewhere; weight has one element, or one for each index of axis 1. Reference: torch.nn.functional.prelu. @autocast lower */
export const prelu = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("prelu", "x weight", arguments); try { return (openRegions === 0 ? $elementwiseActivation.prelu : listed("lower", "prelu", $elementwiseActivation.prelu))($0, $1); } catch (error) { throw under("prelu", error); } } as unknown as typeof $elementwiseActivation.prelu;
/** The first half along an axis times the sigmoid of the second. Reference: torch.nn.functional.glu. */
export const glu = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("glu", "x axis:number?", arguments); try { return $elementwiseActivation.glu($0, $1); } catch (error) { throw under("glu", error); } } as unknown as typeof $elementwiseActivation.glu;
/**
 * x * silu(gate), element by element: what a feed-forward block does between its linear layers. x, gate: float16, float32 or bfloat16, of the same
 * shape and dtype. Result: the same. One kernel where the library's shader is chosen. Reference: x * torch.nn.functional.silu(gate).
 */
export const swiglu = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("swiglu", "x gate", arguments); try { return $elementwiseActivation.swiglu($0, $1); } catch (error) { throw under("swiglu", error); } } as unknown as typeof $elementwiseActivation.swiglu;
/** The angle of the point (x, y) in (-π, π]; integers give float32. Reference: torch.atan2. DirectML: ELEMENT_WISE_ATAN_YX. @autocast widest */
export const atan2 = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("atan2", "y:operand x:operand", arguments); try { return (openRegions === 0 ? $elementwiseArithmetic.atan2 : listed("widest", "atan2", $elementwiseArithmetic.atan2))($0, $1); } catch (error) { throw under("atan2", error); } } as unknown as typeof $elementwiseArithmetic.atan2;
/** sqrt(a² + b²), without overflow. Reference: torch.hypot. DirectML: ELEMENT_WISE_SQRT. */
export const hypot = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("hypot", "a:operand b:operand", arguments); try { return $elementwiseArithmetic.hypot($0, $1); } catch (error) { throw under("hypot", error); } } as unknown as typeof $elementwiseArithmetic.hypot;
/** ln(e^a + e^b). Reference: torch.logaddexp. DirectML: ELEMENT_WISE_EXP and LOG. */
export const logaddexp = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("logaddexp", "a:operand b:operand", arguments); try { return $elementwiseArithmetic.logaddexp($0, $1); } catch (error) { throw under("logaddexp", error); } } as unknown as typeof $elementwiseArithmetic.logaddexp;
/** log2(2^a + 2^b). Reference: torch.logaddexp2. DirectML: ELEMENT_WISE_POW and LOG. */
export const logaddexp2 = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("logaddexp2", "a:operand b:operand", arguments); try { return $elementwiseArithmetic.logaddexp2($0, $1); } catch (error) { throw under("logaddexp2", error); } } as unknown as typeof $elementwiseArithmetic.logaddexp2;
/** x ln(y), 0 where x is 0. Reference: torch.xlogy. DirectML: ELEMENT_WISE_LOG. */
export const xlogy = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("xlogy", "x:operand y:operand", arguments); try { return $elementwiseArithmetic.xlogy($0, $1); } catch (error) { throw under("xlogy", error); } } as unknown as typeof $elementwiseArithmetic.xlogy;
/** x ln(1 + y), 0 where x is 0. Reference: torch.special.xlog1py. DirectML: ELEMENT_WISE_LOG. */
export const xlog1py = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("xlog1py", "x:operand y:operand", arguments); try { return $elementwiseArithmetic.xlog1py($0, $1); } catch (error) { throw under("xlog1py", error); } } as unknown as typeof $elementwiseArithmetic.xlog1py;
/** 0 for negative x, 1 for positive, `values` where x is 0. One dtype for both. No gradient, as in PyTorch. Reference: torch.heaviside. DirectML: ELEMENT_WISE_SIGN. */
export const heaviside = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("heaviside", "x values", arguments); try { return $elementwiseArithmetic.heaviside($0, $1); } catch (error) { throw under("heaviside", error); } } as unknown as typeof $elementwiseArithmetic.heaviside;
/** The larger of a and b, the other one where one is NaN. Reference: torch.fmax. DirectML: ELEMENT_WISE_MAX. */
export const fmax = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("fmax", "a:operand b:operand", arguments); try { return $elementwiseArithmetic.fmax($0, $1); } catch (error) { throw under("fmax", error); } } as unknown as typeof $elementwiseArithmetic.fmax;
/** The smaller of a and b, the other one where one is NaN. Reference: torch.fmin. DirectML: ELEMENT_WISE_MIN. */
export const fmin = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("fmin", "a:operand b:operand", arguments); try { return $elementwiseArithmetic.fmin($0, $1); } catch (error) { throw under("fmin", error); } } as unknown as typeof $elementwiseArithmetic.fmin;
/** a^b in floating point: integers are float32 first (float64 in PyTorch). Reference: torch.float_power. DirectML: ELEMENT_WISE_POW. */
export const floatPower = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("floatPower", "a:operand b:operand", arguments); try { return $elementwiseArithmetic.floatPower($0, $1); } catch (error) { throw under("floatPower", error); } } as unknown as typeof $elementwiseArithmetic.floatPower;
/** a + weight (b - a). weight: a number or a tensor. Floating dtypes. Reference: torch.lerp. DirectML: ELEMENT_WISE_MULTIPLY and ADD. */
export const lerp = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && isTensor($1) && (isTensor($2) || kinds.tensorOrNumber.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("lerp", "a b weight:tensorOrNumber", arguments); try { return $elementwiseArithmetic.lerp($0, $1, $2); } catch (error) { throw under("lerp", error); } } as unknown as typeof $elementwiseArithmetic.lerp;
/** x + value a b. Shapes broadcast; dtypes promote. Reference: torch.addcmul. DirectML: ELEMENT_WISE_MULTIPLY and ADD. @autocast widest */
export const addcmul = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.Scaled.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("addcmul", "x a b options:Scaled?", arguments); try { return (openRegions === 0 ? $elementwiseArithmetic.addcmul : listed("widest", "addcmul", $elementwiseArithmetic.addcmul))($0, $1, $2, $3); } catch (error) { throw under("addcmul", error); } } as unknown as typeof $elementwiseArithmetic.addcmul;
/** x + value a / b. Floating dtypes. Reference: torch.addcdiv. DirectML: ELEMENT_WISE_DIVIDE and ADD. @autocast widest */
export const addcdiv = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.Scaled.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("addcdiv", "x a b options:Scaled?", arguments); try { return (openRegions === 0 ? $elementwiseArithmetic.addcdiv : listed("widest", "addcdiv", $elementwiseArithmetic.addcdiv))($0, $1, $2, $3); } catch (error) { throw under("addcdiv", error); } } as unknown as typeof $elementwiseArithmetic.addcdiv;
/** a + b. Reference: torch.add. DirectML: ELEMENT_WISE_ADD. Shapes broadcast; dtypes promote; bool is OR. */
export const add = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("add", "a:operand b:operand", arguments); try { return $elementwiseBinary.add($0, $1); } catch (error) { throw under("add", error); } } as unknown as typeof $elementwiseBinary.add;
/** a - b. Reference: torch.sub. DirectML: ELEMENT_WISE_SUBTRACT. Shapes broadcast; dtypes promote; bool is refused. */
export const sub = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("sub", "a:operand b:operand", arguments); try { return $elementwiseBinary.sub($0, $1); } catch (error) { throw under("sub", error); } } as unknown as typeof $elementwiseBinary.sub;
/** a * b. Reference: torch.mul. DirectML: ELEMENT_WISE_MULTIPLY. Shapes broadcast; dtypes promote; bool is AND. */
export const mul = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("mul", "a:operand b:operand", arguments); try { return $elementwiseBinary.mul($0, $1); } catch (error) { throw under("mul", error); } } as unknown as typeof $elementwiseBinary.mul;
/** a & b. Integers or bool; shapes broadcast; dtypes promote. Reference: torch.bitwise_and. DirectML: ELEMENT_WISE_BIT_AND. */
export const bitwiseAnd = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("bitwiseAnd", "a:operand b:operand", arguments); try { return $elementwiseBits.bitwiseAnd($0, $1); } catch (error) { throw under("bitwiseAnd", error); } } as unknown as typeof $elementwiseBits.bitwiseAnd;
/** a | b. Reference: torch.bitwise_or. DirectML: ELEMENT_WISE_BIT_OR. */
export const bitwiseOr = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("bitwiseOr", "a:operand b:operand", arguments); try { return $elementwiseBits.bitwiseOr($0, $1); } catch (error) { throw under("bitwiseOr", error); } } as unknown as typeof $elementwiseBits.bitwiseOr;
/** a ^ b. Reference: torch.bitwise_xor. DirectML: ELEMENT_WISE_BIT_XOR. */
export const bitwiseXor = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("bitwiseXor", "a:operand b:operand", arguments); try { return $elementwiseBits.bitwiseXor($0, $1); } catch (error) { throw under("bitwiseXor", error); } } as unknown as typeof $elementwiseBits.bitwiseXor;
/** ~x; of bool, not x. Reference: torch.bitwise_not. DirectML: ELEMENT_WISE_BIT_NOT. */
export const bitwiseNot = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("bitwiseNot", "x", arguments); try { return $elementwiseBits.bitwiseNot($0); } catch (error) { throw under("bitwiseNot", error); } } as unknown as typeof $elementwiseBits.bitwiseNot;
/** a << b; 0 for b outside [0, bits). Integers. Reference: torch.bitwise_left_shift. DirectML: ELEMENT_WISE_BIT_SHIFT_LEFT. */
export const bitwiseLeftShift = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("bitwiseLeftShift", "a:operand b:operand", arguments); try { return $elementwiseBits.bitwiseLeftShift($0, $1); } catch (error) { throw under("bitwiseLeftShift", error); } } as unknown as typeof $elementwiseBits.bitwiseLeftShift;
/** a >> b, keeping the sign; for b outside [0, bits) only the sign is left. Integers. Reference: torch.bitwise_right_shift. DirectML: ELEMENT_WISE_BIT_SHIFT_RIGHT. */
export const bitwiseRightShift = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("bitwiseRightShift", "a:operand b:operand", arguments); try { return $elementwiseBits.bitwiseRightShift($0, $1); } catch (error) { throw under("bitwiseRightShift", error); } } as unknown as typeof $elementwiseBits.bitwiseRightShift;
export type { CloseOptions } from "../elementwise/closeness.ts";
/** |a - b| <= atol + rtol |b|, element by element; equal infinities are close. One dtype. Reference: torch.isclose. */
export const isclose = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.CloseOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("isclose", "a b options:CloseOptions?", arguments); try { return $elementwiseCloseness.isclose($0, $1, $2); } catch (error) { throw under("isclose", error); } } as unknown as typeof $elementwiseCloseness.isclose;
/** Whether all elements are close: reads one number back. Reference: torch.allclose. */
export const allclose = async function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.CloseOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("allclose", "a b options:CloseOptions?", arguments); try { return await $elementwiseCloseness.allclose($0, $1, $2); } catch (error) { throw under("allclose", error); } } as unknown as typeof $elementwiseCloseness.allclose;
/** allclose that blocks until the device is done. */
export const allcloseSync = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.CloseOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("allcloseSync", "a b options:CloseOptions?", arguments); try { return $elementwiseCloseness.allcloseSync($0, $1, $2); } catch (error) { throw under("allcloseSync", error); } } as unknown as typeof $elementwiseCloseness.allcloseSync;
/** Whether both have one shape and equal elements: reads one number back. Reference: torch.equal. */
export const equal = async function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("equal", "a b", arguments); try { return await $elementwiseCloseness.equal($0, $1); } catch (error) { throw under("equal", error); } } as unknown as typeof $elementwiseCloseness.equal;
/** equal that blocks until the device is done. */
export const equalSync = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("equalSync", "a b", arguments); try { return $elementwiseCloseness.equalSync($0, $1); } catch (error) { throw under("equalSync", error); } } as unknown as typeof $elementwiseCloseness.equalSync;
/** Whether each element of x is one of `values`; with invert, is none of them. Reference: torch.isin. DirectML: LOGICAL_EQUALS, REDUCE MAX. */
export const isin = function ($0: never, $1: never, $2: never = undefined as never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && ($2 === undefined || kinds.invert_701e86.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("isin", "x:operand values:operand options:invert_701e86?", arguments); try { return $elementwiseCloseness.isin($0, $1, $2); } catch (error) { throw under("isin", error); } } as unknown as typeof $elementwiseCloseness.isin;
/** a == b. Shapes broadcast; dtypes promote. Reference: torch.eq. DirectML: ELEMENT_WISE_LOGICAL_EQUALS. */
export const eq = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("eq", "a:operand b:operand", arguments); try { return $elementwiseCompare.eq($0, $1); } catch (error) { throw under("eq", error); } } as unknown as typeof $elementwiseCompare.eq;
/** a != b; true where one is NaN. Reference: torch.ne. DirectML: ELEMENT_WISE_LOGICAL_EQUALS and NOT. */
export const ne = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("ne", "a:operand b:operand", arguments); try { return $elementwiseCompare.ne($0, $1); } catch (error) { throw under("ne", error); } } as unknown as typeof $elementwiseCompare.ne;
/** a < b. Reference: torch.lt. DirectML: ELEMENT_WISE_LOGICAL_LESS_THAN. */
export const lt = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("lt", "a:operand b:operand", arguments); try { return $elementwiseCompare.lt($0, $1); } catch (error) { throw under("lt", error); } } as unknown as typeof $elementwiseCompare.lt;
/** a <= b. Reference: torch.le. DirectML: ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL. */
export const le = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("le", "a:operand b:operand", arguments); try { return $elementwiseCompare.le($0, $1); } catch (error) { throw under("le", error); } } as unknown as typeof $elementwiseCompare.le;
/** a > b. Reference: torch.gt. DirectML: ELEMENT_WISE_LOGICAL_GREATER_THAN. */
export const gt = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("gt", "a:operand b:operand", arguments); try { return $elementwiseCompare.gt($0, $1); } catch (error) { throw under("gt", error); } } as unknown as typeof $elementwiseCompare.gt;
/** a >= b. Reference: torch.ge. DirectML: ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL. */
export const ge = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("ge", "a:operand b:operand", arguments); try { return $elementwiseCompare.ge($0, $1); } catch (error) { throw under("ge", error); } } as unknown as typeof $elementwiseCompare.ge;
/** Both are not zero. Shapes broadcast; any dtypes. Reference: torch.logical_and. DirectML: ELEMENT_WISE_LOGICAL_AND. */
export const logicalAnd = function ($0: never, $1: never) { if (!(isTensor($0) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("logicalAnd", "a b:operand", arguments); try { return $elementwiseCompare.logicalAnd($0, $1); } catch (error) { throw under("logicalAnd", error); } } as unknown as typeof $elementwiseCompare.logicalAnd;
/** One is not zero. Reference: torch.logical_or. DirectML: ELEMENT_WISE_LOGICAL_OR. */
export const logicalOr = function ($0: never, $1: never) { if (!(isTensor($0) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("logicalOr", "a b:operand", arguments); try { return $elementwiseCompare.logicalOr($0, $1); } catch (error) { throw under("logicalOr", error); } } as unknown as typeof $elementwiseCompare.logicalOr;
/** Exactly one is not zero. Reference: torch.logical_xor. DirectML: ELEMENT_WISE_LOGICAL_XOR. */
export const logicalXor = function ($0: never, $1: never) { if (!(isTensor($0) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("logicalXor", "a b:operand", arguments); try { return $elementwiseCompare.logicalXor($0, $1); } catch (error) { throw under("logicalXor", error); } } as unknown as typeof $elementwiseCompare.logicalXor;
/** x is zero. Reference: torch.logical_not. DirectML: ELEMENT_WISE_LOGICAL_NOT. */
export const logicalNot = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("logicalNot", "x", arguments); try { return $elementwiseCompare.logicalNot($0); } catch (error) { throw under("logicalNot", error); } } as unknown as typeof $elementwiseCompare.logicalNot;
/** x is NaN; false for integers. Reference: torch.isnan. DirectML: ELEMENT_WISE_IS_NAN. */
export const isnan = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("isnan", "x", arguments); try { return $elementwiseCompare.isnan($0); } catch (error) { throw under("isnan", error); } } as unknown as typeof $elementwiseCompare.isnan;
/** x is an infinity; false for integers. Reference: torch.isinf. DirectML: ELEMENT_WISE_IS_INFINITY. */
export const isinf = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("isinf", "x", arguments); try { return $elementwiseCompare.isinf($0); } catch (error) { throw under("isinf", error); } } as unknown as typeof $elementwiseCompare.isinf;
/** x is +infinity. Reference: torch.isposinf. DirectML: ELEMENT_WISE_IS_INFINITY. */
export const isposinf = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("isposinf", "x", arguments); try { return $elementwiseCompare.isposinf($0); } catch (error) { throw under("isposinf", error); } } as unknown as typeof $elementwiseCompare.isposinf;
/** x is -infinity. Reference: torch.isneginf. DirectML: ELEMENT_WISE_IS_INFINITY. */
export const isneginf = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("isneginf", "x", arguments); try { return $elementwiseCompare.isneginf($0); } catch (error) { throw under("isneginf", error); } } as unknown as typeof $elementwiseCompare.isneginf;
/** x is neither NaN nor an infinity; true for integers. Reference: torch.isfinite. */
export const isfinite = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("isfinite", "x", arguments); try { return $elementwiseCompare.isfinite($0); } catch (error) { throw under("isfinite", error); } } as unknown as typeof $elementwiseCompare.isfinite;
/** alpha * tanh(beta * x). x: floating; keeps shape and dtype. Default: 1, 0.5. DirectML: ACTIVATION_SCALED_TANH. Reference: ONNX ScaledTanh. */
export const scaledTanh = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.alpha_43d274.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("scaledTanh", "x options:alpha_43d274?", arguments); try { return $elementwiseDirectmlFunctions.scaledTanh($0, $1); } catch (error) { throw under("scaledTanh", error); } } as unknown as typeof $elementwiseDirectmlFunctions.scaledTanh;
/**
 * alpha * ln(1 + exp(beta * x)), without overflow. x: floating; keeps shape and dtype. Default: 1, 1.
 * DirectML: that of softplus. Reference: ONNX ParametricSoftplus.
 */
export const parametricSoftplus = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.alpha_43d274.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("parametricSoftplus", "x options:alpha_43d274?", arguments); try { return $elementwiseDirectmlFunctions.parametricSoftplus($0, $1); } catch (error) { throw under("parametricSoftplus", error); } } as unknown as typeof $elementwiseDirectmlFunctions.parametricSoftplus;
/**
 * x where x > alpha, else 0. x: floating; keeps shape and dtype. Default: 1.
 * DirectML: ACTIVATION_THRESHOLDED_RELU. Reference: ONNX ThresholdedRelu.
 */
export const thresholdedRelu = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.alpha_6630fc.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("thresholdedRelu", "x options:alpha_6630fc?", arguments); try { return $elementwiseDirectmlFunctions.thresholdedRelu($0, $1); } catch (error) { throw under("thresholdedRelu", error); } } as unknown as typeof $elementwiseDirectmlFunctions.thresholdedRelu;
/** alpha * x + beta. x: floating; keeps shape and dtype. Default: 1, 0. DirectML: ACTIVATION_LINEAR. Reference: ONNX's activation Affine. */
export const linearActivation = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.alpha_43d274.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("linearActivation", "x options:alpha_43d274?", arguments); try { return $elementwiseDirectmlFunctions.linearActivation($0, $1); } catch (error) { throw under("linearActivation", error); } } as unknown as typeof $elementwiseDirectmlFunctions.linearActivation;
/** (a + b) / 2. Shapes broadcast; integers give float32. DirectML: ELEMENT_WISE_MEAN. Reference: ONNX Mean of two. */
export const mean2 = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("mean2", "a:operand b:operand", arguments); try { return $elementwiseDirectmlFunctions.mean2($0, $1); } catch (error) { throw under("mean2", error); } } as unknown as typeof $elementwiseDirectmlFunctions.mean2;
/**
 * scale * x + bias, a bias for each channel: how images are brought to a network's range. x: [N, C, H, W] of 1 or 3 channels, floating;
 * keeps shape and dtype. bias: C numbers. DirectML: VALUE_SCALE_2D. Reference: ONNX ImageScaler.
 */
export const valueScale2d = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.numbers.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("valueScale2d", "x scale:number bias:numbers", arguments); try { return $elementwiseDirectmlFunctions.valueScale2d($0, $1, $2); } catch (error) { throw under("valueScale2d", error); } } as unknown as typeof $elementwiseDirectmlFunctions.valueScale2d;
/**
 * How many bits of each element are 1; those of a negative number as two's complement. x: of an integer dtype or bool. Result: int32.
 * DirectML: ELEMENT_WISE_BIT_COUNT. Reference: numpy.bitwise_count of unsigned numbers.
 */
export const bitCount = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("bitCount", "x", arguments); try { return $elementwiseDirectmlFunctions.bitCount($0); } catch (error) { throw under("bitCount", error); } } as unknown as typeof $elementwiseDirectmlFunctions.bitCount;
export type { DivOptions } from "../elementwise/division.ts";
/**
 * a / b; without a rounding mode integers give float32. Shapes broadcast; dtypes promote. A rounded quotient of whole
 * numbers by zero is a ValueError on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1. DirectML: ELEMENT_WISE_DIVIDE, MODULUS_FLOOR. Reference: torch.div.
 */
export const div = function ($0: never, $1: never, $2: never = undefined as never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && ($2 === undefined || kinds.DivOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("div", "a:operand b:operand options:DivOptions?", arguments); try { return $elementwiseDivision.div($0, $1, $2); } catch (error) { throw under("div", error); } } as unknown as typeof $elementwiseDivision.div;
/** floor(a / b), without a gradient: div with a rounding mode has one. Reference: torch.floor_divide. DirectML: MODULUS_FLOOR, ELEMENT_WISE_DIVIDE. */
export const floorDivide = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("floorDivide", "a:operand b:operand", arguments); try { return $elementwiseDivision.floorDivide($0, $1); } catch (error) { throw under("floorDivide", error); } } as unknown as typeof $elementwiseDivision.floorDivide;
/** a - b floor(a / b): the remainder with the sign of b. Reference: torch.remainder. DirectML: ELEMENT_WISE_MODULUS_FLOOR. */
export const remainder = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("remainder", "a:operand b:operand", arguments); try { return $elementwiseDivision.remainder($0, $1); } catch (error) { throw under("remainder", error); } } as unknown as typeof $elementwiseDivision.remainder;
/** a - b trunc(a / b): the remainder with the sign of a. Reference: torch.fmod. DirectML: ELEMENT_WISE_MODULUS_TRUNCATE. */
export const fmod = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("fmod", "a:operand b:operand", arguments); try { return $elementwiseDivision.fmod($0, $1); } catch (error) { throw under("fmod", error); } } as unknown as typeof $elementwiseDivision.fmod;
/** b - alpha * a. Reference: torch.rsub. DirectML: ELEMENT_WISE_SUBTRACT. */
export const rsub = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && (isTensor($1) || kinds.operand.is($1)) && ($2 === undefined || kinds.alpha_6630fc.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("rsub", "a b:operand options:alpha_6630fc?", arguments); try { return $elementwiseDivision.rsub($0, $1, $2); } catch (error) { throw under("rsub", error); } } as unknown as typeof $elementwiseDivision.rsub;
/** a / b as real numbers. Reference: torch.true_divide. */
export const trueDivide = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("trueDivide", "a:operand b:operand", arguments); try { return $elementwiseDivision.trueDivide($0, $1); } catch (error) { throw under("trueDivide", error); } } as unknown as typeof $elementwiseDivision.trueDivide;
/** The greatest common divisor. Integers; gcd(0, 0) is 0. Reference: torch.gcd. DirectML: ELEMENT_WISE_MODULUS_TRUNCATE. */
export const gcd = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("gcd", "a:operand b:operand", arguments); try { return $elementwiseDivision.gcd($0, $1); } catch (error) { throw under("gcd", error); } } as unknown as typeof $elementwiseDivision.gcd;
/** The least common multiple. Integers; 0 where one is 0. Reference: torch.lcm. DirectML: ELEMENT_WISE_MODULUS_TRUNCATE, DIVIDE. */
export const lcm = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("lcm", "a:operand b:operand", arguments); try { return $elementwiseDivision.lcm($0, $1); } catch (error) { throw under("lcm", error); } } as unknown as typeof $elementwiseDivision.lcm;
/** Degrees of radians. Integers give float32. Reference: torch.rad2deg. DirectML: ELEMENT_WISE_IDENTITY. */
export const rad2deg = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("rad2deg", "x", arguments); try { return $elementwiseElementary.rad2deg($0); } catch (error) { throw under("rad2deg", error); } } as unknown as typeof $elementwiseElementary.rad2deg;
/** Radians of degrees. Integers give float32. Reference: torch.deg2rad. DirectML: ELEMENT_WISE_IDENTITY. */
export const deg2rad = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("deg2rad", "x", arguments); try { return $elementwiseElementary.deg2rad($0); } catch (error) { throw under("deg2rad", error); } } as unknown as typeof $elementwiseElementary.deg2rad;
/** sin(π x) / (π x), 1 at 0. Reference: torch.sinc. DirectML: ELEMENT_WISE_SIN. */
export const sinc = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("sinc", "x", arguments); try { return $elementwiseElementary.sinc($0); } catch (error) { throw under("sinc", error); } } as unknown as typeof $elementwiseElementary.sinc;
/** ln(x / (1 - x)); with epsilon x is first limited to [epsilon, 1 - epsilon]. Reference: torch.logit. DirectML: ELEMENT_WISE_LOG. */
export const logit = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNullOrEps_bc6edc.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("logit", "x eps:numberOrNullOrEps_bc6edc?", arguments); try { return $elementwiseElementary.logit($0, $1); } catch (error) { throw under("logit", error); } } as unknown as typeof $elementwiseElementary.logit;
/** sign(x), by PyTorch's other name for it. Reference: torch.sgn. */
export const sgn = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("sgn", "x", arguments); try { return $elementwiseElementary.sgn($0); } catch (error) { throw under("sgn", error); } } as unknown as typeof $elementwiseElementary.sgn;
/** x itself, the same tensor: what is written to one is seen in the other. Reference: torch.positive. */
export const positive = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("positive", "x", arguments); try { return $elementwiseElementary.positive($0); } catch (error) { throw under("positive", error); } } as unknown as typeof $elementwiseElementary.positive;
/** The angle of real numbers: 0, π for negative ones, NaN for NaN. Integers give float32. Reference: torch.angle. */
export const angle = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("angle", "x", arguments); try { return $elementwiseElementary.angle($0); } catch (error) { throw under("angle", error); } } as unknown as typeof $elementwiseElementary.angle;
/** Whether an element is a real number: always. Reference: torch.isreal. */
export const isreal = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("isreal", "x", arguments); try { return $elementwiseElementary.isreal($0); } catch (error) { throw under("isreal", error); } } as unknown as typeof $elementwiseElementary.isreal;
/** Whether the sign bit is set (of -0 and NaN too). Reference: torch.signbit. DirectML: ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL. */
export const signbit = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("signbit", "x", arguments); try { return $elementwiseFloats.signbit($0); } catch (error) { throw under("signbit", error); } } as unknown as typeof $elementwiseFloats.signbit;
/** |a| with the sign of b. Integers give float32. Reference: torch.copysign. DirectML: ELEMENT_WISE_BIT_AND and BIT_OR. */
export const copysign = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("copysign", "a:operand b:operand", arguments); try { return $elementwiseFloats.copysign($0, $1); } catch (error) { throw under("copysign", error); } } as unknown as typeof $elementwiseFloats.copysign;
/** The number next to a in the direction of b. Floating dtypes. Reference: torch.nextafter. DirectML: ELEMENT_WISE_ADD of the bits. */
export const nextafter = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("nextafter", "a:operand b:operand", arguments); try { return $elementwiseFloats.nextafter($0, $1); } catch (error) { throw under("nextafter", error); } } as unknown as typeof $elementwiseFloats.nextafter;
/** {mantissa, exponent}: x = mantissa * 2^exponent, the mantissa in ±[0.5, 1), the exponent int32. Reference: torch.frexp. */
export const frexp = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("frexp", "x", arguments); try { return $elementwiseFloats.frexp($0); } catch (error) { throw under("frexp", error); } } as unknown as typeof $elementwiseFloats.frexp;
/** x * 2^exponent. Reference: torch.ldexp. DirectML: ELEMENT_WISE_POW. */
export const ldexp = function ($0: never, $1: never) { if (!(isTensor($0) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("ldexp", "x exponent:operand", arguments); try { return $elementwiseFloats.ldexp($0, $1); } catch (error) { throw under("ldexp", error); } } as unknown as typeof $elementwiseFloats.ldexp;
export type { HardtanhOptions } from "../elementwise/hard-activation.ts";
/** x limited to [min, max]. Reference: torch.nn.functional.hardtanh. DirectML: ELEMENT_WISE_CLIP. */
export const hardtanh = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrHardtanhOptions.is($1)) && ($2 === undefined || kinds.number.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("hardtanh", "x minVal:numberOrHardtanhOptions? maxVal:number?", arguments); try { return $elementwiseHardActivation.hardtanh($0, $1, $2); } catch (error) { throw under("hardtanh", error); } } as unknown as typeof $elementwiseHardActivation.hardtanh;
/** x limited to [0, 6]. Reference: torch.nn.functional.relu6. */
export const relu6 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("relu6", "x", arguments); try { return $elementwiseHardActivation.relu6($0); } catch (error) { throw under("relu6", error); } } as unknown as typeof $elementwiseHardActivation.relu6;
/** x / 6 + 1 / 2, limited to [0, 1]. DirectML: ACTIVATION_HARD_SIGMOID. Reference: torch.nn.functional.hardsigmoid. */
export const hardSigmoid = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("hardSigmoid", "x", arguments); try { return $elementwiseHardActivation.hardSigmoid($0); } catch (error) { throw under("hardSigmoid", error); } } as unknown as typeof $elementwiseHardActivation.hardSigmoid;
/** x * hardSigmoid(x). DirectML: ACTIVATION_HARD_SIGMOID and MULTIPLY. Reference: torch.nn.functional.hardswish. */
export const hardSwish = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("hardSwish", "x", arguments); try { return $elementwiseHardActivation.hardSwish($0); } catch (error) { throw under("hardSwish", error); } } as unknown as typeof $elementwiseHardActivation.hardSwish;
/** x beyond [-lambd, lambd], 0 within. Reference: torch.nn.functional.hardshrink. DirectML: ELEMENT_WISE_IF. */
export const hardshrink = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrLambd_f221ed.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("hardshrink", "x lambd:numberOrLambd_f221ed?", arguments); try { return $elementwiseHardActivation.hardshrink($0, $1); } catch (error) { throw under("hardshrink", error); } } as unknown as typeof $elementwiseHardActivation.hardshrink;
/** x moved towards 0 by lambd, 0 within [-lambd, lambd]. Reference: torch.nn.functional.softshrink. DirectML: ELEMENT_WISE_IF. */
export const softshrink = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrLambd_f221ed.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("softshrink", "x lambd:numberOrLambd_f221ed?", arguments); try { return $elementwiseHardActivation.softshrink($0, $1); } catch (error) { throw under("softshrink", error); } } as unknown as typeof $elementwiseHardActivation.softshrink;
/** x - tanh(x). Reference: torch.nn.functional.tanhshrink. */
export const tanhshrink = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("tanhshrink", "x", arguments); try { return $elementwiseHardActivation.tanhshrink($0); } catch (error) { throw under("tanhshrink", error); } } as unknown as typeof $elementwiseHardActivation.tanhshrink;
/** x where x > threshold, value elsewhere. Reference: torch.nn.functional.threshold. DirectML: ELEMENT_WISE_IF. */
export const threshold = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.number.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("threshold", "x limit:number value:number", arguments); try { return $elementwiseHardActivation.threshold($0, $1, $2); } catch (error) { throw under("threshold", error); } } as unknown as typeof $elementwiseHardActivation.threshold;
/**
 * a^b. Shapes broadcast; dtypes promote; integers wrap. Squares, cubes, roots and their reciprocals take their own operators.
 * Throws ValueError for a negative number as the exponent of integers; in a tensor it gives 0, but for 1 and -1. DirectML: ELEMENT_WISE_POW. Reference: torch.pow.
 * @autocast float32
 */
export const pow = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("pow", "a:operand b:operand", arguments); try { return (openRegions === 0 ? $elementwisePower.pow : listed("float32", "pow", $elementwisePower.pow))($0, $1); } catch (error) { throw under("pow", error); } } as unknown as typeof $elementwisePower.pow;
/** The dtype of an operation over tensors and numbers. Reference: torch.result_type. */
export const resultType = function (...rest: never[]) { if (!(kinds.eachOperand.is(rest))) [...rest] = bind("resultType", "...values:eachOperand", arguments); try { return $elementwisePromotion.resultType(...rest); } catch (error) { throw under("resultType", error); } } as unknown as typeof $elementwisePromotion.resultType;
/** Whether values of one dtype may be written into another in place: floats into no integer, numbers into no bool. Reference: torch.can_cast. */
export const canCast = function ($0: never, $1: never) { if (!(kinds.dtype.is($0) && kinds.dtype.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("canCast", "from:dtype to:dtype", arguments); try { return $elementwisePromotion.canCast($0, $1); } catch (error) { throw under("canCast", error); } } as unknown as typeof $elementwisePromotion.canCast;
/** Whether the only element of x is not 0; NaN is not. A promise of it. Reference: torch.is_nonzero. */
export const isNonzero = async function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("isNonzero", "x", arguments); try { return await $elementwiseTruth.isNonzero($0); } catch (error) { throw under("isNonzero", error); } } as unknown as typeof $elementwiseTruth.isNonzero;
/** isNonzero(), blocking until the device is done. */
export const isNonzeroSync = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("isNonzeroSync", "x", arguments); try { return $elementwiseTruth.isNonzeroSync($0); } catch (error) { throw under("isNonzeroSync", error); } } as unknown as typeof $elementwiseTruth.isNonzeroSync;
/** |x|. Any dtype but bool; kept. Reference: torch.abs. DirectML: ELEMENT_WISE_ABS. */
export const abs = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("abs", "x", arguments); try { return $elementwiseUnary.abs($0); } catch (error) { throw under("abs", error); } } as unknown as typeof $elementwiseUnary.abs;
/** -x. Any dtype but bool; kept (unsigned integers wrap). Reference: torch.neg. DirectML: ELEMENT_WISE_NEGATE. */
export const neg = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("neg", "x", arguments); try { return $elementwiseUnary.neg($0); } catch (error) { throw under("neg", error); } } as unknown as typeof $elementwiseUnary.neg;
/** -1, 0 or 1 by the sign of x. Any dtype; kept. Reference: torch.sign. DirectML: ELEMENT_WISE_SIGN. */
export const sign = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("sign", "x", arguments); try { return $elementwiseUnary.sign($0); } catch (error) { throw under("sign", error); } } as unknown as typeof $elementwiseUnary.sign;
/** x * x. Any dtype; kept, but for bool, which gives int64. Reference: torch.square. DirectML: ELEMENT_WISE_MULTIPLY. @autocast float32 */
export const square = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("square", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.square : listed("float32", "square", $elementwiseUnary.square))($0); } catch (error) { throw under("square", error); } } as unknown as typeof $elementwiseUnary.square;
/** The largest integer not above x; integers are returned as they are. Reference: torch.floor. DirectML: ELEMENT_WISE_FLOOR. */
export const floor = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("floor", "x", arguments); try { return $elementwiseUnary.floor($0); } catch (error) { throw under("floor", error); } } as unknown as typeof $elementwiseUnary.floor;
/** The smallest integer not below x; integers are returned as they are. Reference: torch.ceil. DirectML: ELEMENT_WISE_CEIL. */
export const ceil = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("ceil", "x", arguments); try { return $elementwiseUnary.ceil($0); } catch (error) { throw under("ceil", error); } } as unknown as typeof $elementwiseUnary.ceil;
/** x without its fraction; integers are returned as they are. Reference: torch.trunc. DirectML: ELEMENT_WISE_ROUND. */
export const trunc = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("trunc", "x", arguments); try { return $elementwiseUnary.trunc($0); } catch (error) { throw under("trunc", error); } } as unknown as typeof $elementwiseUnary.trunc;
/** x - trunc(x): the fraction with the sign of x. Floating dtypes. Reference: torch.frac. */
export const frac = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("frac", "x", arguments); try { return $elementwiseUnary.frac($0); } catch (error) { throw under("frac", error); } } as unknown as typeof $elementwiseUnary.frac;
/**
 * The nearest integer, halves to the even one; with `decimals`, so many digits after the point (before it, if negative).
 * Integers are kept. Reference: torch.round. DirectML: ELEMENT_WISE_ROUND.
 */
export const round = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.decimals_2ea458.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("round", "x options:decimals_2ea458?", arguments); try { return $elementwiseUnary.round($0, $1); } catch (error) { throw under("round", error); } } as unknown as typeof $elementwiseUnary.round;
/** e^x. Result floating: integers give float32 (as in all functions below). Reference: torch.exp. DirectML: ELEMENT_WISE_EXP. @autocast float32 */
export const exp = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("exp", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.exp : listed("float32", "exp", $elementwiseUnary.exp))($0); } catch (error) { throw under("exp", error); } } as unknown as typeof $elementwiseUnary.exp;
/** 2^x. Reference: torch.exp2. DirectML: ELEMENT_WISE_POW. */
export const exp2 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("exp2", "x", arguments); try { return $elementwiseUnary.exp2($0); } catch (error) { throw under("exp2", error); } } as unknown as typeof $elementwiseUnary.exp2;
/** e^x - 1, exact for small x too. Reference: torch.expm1. DirectML: ELEMENT_WISE_EXP and LOG. @autocast float32 */
export const expm1 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("expm1", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.expm1 : listed("float32", "expm1", $elementwiseUnary.expm1))($0); } catch (error) { throw under("expm1", error); } } as unknown as typeof $elementwiseUnary.expm1;
/** ln(x). Reference: torch.log. DirectML: ELEMENT_WISE_LOG. @autocast float32 */
export const log = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("log", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.log : listed("float32", "log", $elementwiseUnary.log))($0); } catch (error) { throw under("log", error); } } as unknown as typeof $elementwiseUnary.log;
/** Logarithm to base 2. Reference: torch.log2. DirectML: ELEMENT_WISE_LOG. @autocast float32 */
export const log2 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("log2", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.log2 : listed("float32", "log2", $elementwiseUnary.log2))($0); } catch (error) { throw under("log2", error); } } as unknown as typeof $elementwiseUnary.log2;
/** Logarithm to base 10. Reference: torch.log10. DirectML: ELEMENT_WISE_LOG. @autocast float32 */
export const log10 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("log10", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.log10 : listed("float32", "log10", $elementwiseUnary.log10))($0); } catch (error) { throw under("log10", error); } } as unknown as typeof $elementwiseUnary.log10;
/** ln(1 + x), exact for small x too. Reference: torch.log1p. DirectML: ELEMENT_WISE_LOG. @autocast float32 */
export const log1p = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("log1p", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.log1p : listed("float32", "log1p", $elementwiseUnary.log1p))($0); } catch (error) { throw under("log1p", error); } } as unknown as typeof $elementwiseUnary.log1p;
/** Square root. Reference: torch.sqrt. DirectML: ELEMENT_WISE_SQRT. */
export const sqrt = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("sqrt", "x", arguments); try { return $elementwiseUnary.sqrt($0); } catch (error) { throw under("sqrt", error); } } as unknown as typeof $elementwiseUnary.sqrt;
/** 1 / sqrt(x). Reference: torch.rsqrt. DirectML: ELEMENT_WISE_SQRT and RECIP. @autocast float32 */
export const rsqrt = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("rsqrt", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.rsqrt : listed("float32", "rsqrt", $elementwiseUnary.rsqrt))($0); } catch (error) { throw under("rsqrt", error); } } as unknown as typeof $elementwiseUnary.rsqrt;
/** 1 / x. Reference: torch.reciprocal. DirectML: ELEMENT_WISE_RECIP. @autocast float32 */
export const reciprocal = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("reciprocal", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.reciprocal : listed("float32", "reciprocal", $elementwiseUnary.reciprocal))($0); } catch (error) { throw under("reciprocal", error); } } as unknown as typeof $elementwiseUnary.reciprocal;
/** Sine of radians. Reference: torch.sin. DirectML: ELEMENT_WISE_SIN. */
export const sin = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("sin", "x", arguments); try { return $elementwiseUnary.sin($0); } catch (error) { throw under("sin", error); } } as unknown as typeof $elementwiseUnary.sin;
/** Cosine of radians. Reference: torch.cos. DirectML: ELEMENT_WISE_COS. */
export const cos = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("cos", "x", arguments); try { return $elementwiseUnary.cos($0); } catch (error) { throw under("cos", error); } } as unknown as typeof $elementwiseUnary.cos;
/** Tangent of radians. Reference: torch.tan. DirectML: ELEMENT_WISE_TAN. @autocast float32 */
export const tan = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("tan", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.tan : listed("float32", "tan", $elementwiseUnary.tan))($0); } catch (error) { throw under("tan", error); } } as unknown as typeof $elementwiseUnary.tan;
/** Inverse sine, in radians. Reference: torch.asin. DirectML: ELEMENT_WISE_ASIN. @autocast float32 */
export const asin = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("asin", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.asin : listed("float32", "asin", $elementwiseUnary.asin))($0); } catch (error) { throw under("asin", error); } } as unknown as typeof $elementwiseUnary.asin;
/** Inverse cosine, in radians. Reference: torch.acos. DirectML: ELEMENT_WISE_ACOS. @autocast float32 */
export const acos = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("acos", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.acos : listed("float32", "acos", $elementwiseUnary.acos))($0); } catch (error) { throw under("acos", error); } } as unknown as typeof $elementwiseUnary.acos;
/** Inverse tangent, in radians. Reference: torch.atan. DirectML: ELEMENT_WISE_ATAN. */
export const atan = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("atan", "x", arguments); try { return $elementwiseUnary.atan($0); } catch (error) { throw under("atan", error); } } as unknown as typeof $elementwiseUnary.atan;
/** Hyperbolic sine. Reference: torch.sinh. DirectML: ELEMENT_WISE_SINH. @autocast float32 */
export const sinh = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("sinh", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.sinh : listed("float32", "sinh", $elementwiseUnary.sinh))($0); } catch (error) { throw under("sinh", error); } } as unknown as typeof $elementwiseUnary.sinh;
/** Hyperbolic cosine. Reference: torch.cosh. DirectML: ELEMENT_WISE_COSH. @autocast float32 */
export const cosh = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("cosh", "x", arguments); try { return (openRegions === 0 ? $elementwiseUnary.cosh : listed("float32", "cosh", $elementwiseUnary.cosh))($0); } catch (error) { throw under("cosh", error); } } as unknown as typeof $elementwiseUnary.cosh;
/** Hyperbolic tangent. Reference: torch.tanh. DirectML: ELEMENT_WISE_TANH. @functional */
export const tanh = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("tanh", "x", arguments); try { return $elementwiseUnary.tanh($0); } catch (error) { throw under("tanh", error); } } as unknown as typeof $elementwiseUnary.tanh;
/** Inverse hyperbolic sine. Reference: torch.asinh. DirectML: ELEMENT_WISE_ASINH. */
export const asinh = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("asinh", "x", arguments); try { return $elementwiseUnary.asinh($0); } catch (error) { throw under("asinh", error); } } as unknown as typeof $elementwiseUnary.asinh;
/** Inverse hyperbolic cosine. Reference: torch.acosh. DirectML: ELEMENT_WISE_ACOSH. */
export const acosh = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("acosh", "x", arguments); try { return $elementwiseUnary.acosh($0); } catch (error) { throw under("acosh", error); } } as unknown as typeof $elementwiseUnary.acosh;
/** Inverse hyperbolic tangent. Reference: torch.atanh. DirectML: ELEMENT_WISE_ATANH. */
export const atanh = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("atanh", "x", arguments); try { return $elementwiseUnary.atanh($0); } catch (error) { throw under("atanh", error); } } as unknown as typeof $elementwiseUnary.atanh;
/** The error function. Reference: torch.erf. DirectML: ELEMENT_WISE_ERF. */
export const erf = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("erf", "x", arguments); try { return $elementwiseUnary.erf($0); } catch (error) { throw under("erf", error); } } as unknown as typeof $elementwiseUnary.erf;
/**
 * a where the condition is true, b elsewhere. Shapes broadcast; a and b promote to one dtype.
 * condition: bool. Throws DTypeError for another dtype. DirectML: ELEMENT_WISE_IF. Reference: torch.where.
 */
export const where = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && (isTensor($1) || kinds.operand.is($1)) && (isTensor($2) || kinds.operand.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("where", "condition a:operand b:operand", arguments); try { return $elementwiseWhere.where($0, $1, $2); } catch (error) { throw under("where", error); } } as unknown as typeof $elementwiseWhere.where;
/** x with `value` where the mask is true. Reference: torch.Tensor.masked_fill. DirectML: ELEMENT_WISE_IF. */
export const maskedFill = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && isTensor($1) && (isTensor($2) || kinds.operand.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("maskedFill", "x mask value:operand", arguments); try { return $elementwiseWhere.maskedFill($0, $1, $2); } catch (error) { throw under("maskedFill", error); } } as unknown as typeof $elementwiseWhere.maskedFill;
/** The larger of a and b; NaN if one is. Shapes broadcast; dtypes promote. Reference: torch.maximum. DirectML: ELEMENT_WISE_MAX. */
export const maximum = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("maximum", "a:operand b:operand", arguments); try { return $elementwiseWhere.maximum($0, $1); } catch (error) { throw under("maximum", error); } } as unknown as typeof $elementwiseWhere.maximum;
/** The smaller of a and b; NaN if one is. Shapes broadcast; dtypes promote. Reference: torch.minimum. DirectML: ELEMENT_WISE_MIN. */
export const minimum = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("minimum", "a:operand b:operand", arguments); try { return $elementwiseWhere.minimum($0, $1); } catch (error) { throw under("minimum", error); } } as unknown as typeof $elementwiseWhere.minimum;
/** x, but at least min. A number or a tensor that broadcasts. Reference: torch.clamp_min. DirectML: ELEMENT_WISE_MAX. */
export const clampMin = function ($0: never, $1: never) { if (!(isTensor($0) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("clampMin", "x min:operand", arguments); try { return $elementwiseWhere.clampMin($0, $1); } catch (error) { throw under("clampMin", error); } } as unknown as typeof $elementwiseWhere.clampMin;
/** x, but at most max. A number or a tensor that broadcasts. Reference: torch.clamp_max. DirectML: ELEMENT_WISE_MIN. */
export const clampMax = function ($0: never, $1: never) { if (!(isTensor($0) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("clampMax", "x max:operand", arguments); try { return $elementwiseWhere.clampMax($0, $1); } catch (error) { throw under("clampMax", error); } } as unknown as typeof $elementwiseWhere.clampMax;
/**
 * x limited to [min, max]; one of the two may be left out. Where min > max the result is max. Numbers or tensors that
 * broadcast; dtypes promote; NaN stays. Throws ValueError without a limit. Reference: torch.clamp. DirectML: ELEMENT_WISE_MAX and MIN.
 */
export const clamp = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && (isTensor($1) || $1 === undefined || kinds.operandOrNull.is($1)) && (isTensor($2) || $2 === undefined || kinds.operandOrNull.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("clamp", "x min:operandOrNull? max:operandOrNull?", arguments); try { return $elementwiseWhere.clamp($0, $1, $2); } catch (error) { throw under("clamp", error); } } as unknown as typeof $elementwiseWhere.clamp;
/** x with NaN and infinities replaced: by `nan` (0), the dtype's largest number, its lowest. Reference: torch.nan_to_num. */
export const nanToNum = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.nan_0e3c84.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("nanToNum", "x options:nan_0e3c84?", arguments); try { return $elementwiseWhere.nanToNum($0, $1); } catch (error) { throw under("nanToNum", error); } } as unknown as typeof $elementwiseWhere.nanToNum;
export type { EmbeddingBagOptions } from "../index/embedding-bag.ts";
/**
 * For each bag of indices the sum, mean or maximum (`mode`) of their rows of the table [V, D]: [B, D]. indices: [B, n], or one axis with offsets;
 * those equal to paddingIndex do not count. Empty bags give zeros. DirectML: GATHER; sums by
 * index (docs/operations.md); REDUCE MAX. Reference: torch.nn.functional.embedding_bag.
 */
export const embeddingBag = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.EmbeddingBagOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("embeddingBag", "indices table options:EmbeddingBagOptions?", arguments); try { return $indexEmbeddingBag.embeddingBag($0, $1, $2); } catch (error) { throw under("embeddingBag", error); } } as unknown as typeof $indexEmbeddingBag.embeddingBag;
export type { EmbeddingOptions } from "../index/embedding.ts";
/**
 * The rows of a table [V, D] (float16 or float32) at `indices` (int32 or int64, any shape): [..., D].
 *
 * Indices outside the table are an IndexError on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1. DirectML: GATHER; for
 * the gradient see docs/operations.md, sums by index. Reference: torch.nn.functional.embedding.
 */
export const embedding = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.numberOrNullOrEmbeddingOptions.is($2)) && ($3 === undefined || kinds.EmbeddingOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("embedding", "indices table paddingIdx:numberOrNullOrEmbeddingOptions? options:EmbeddingOptions?", arguments); try { return $indexEmbedding.embedding($0, $1, $2, $3); } catch (error) { throw under("embedding", error); } } as unknown as typeof $indexEmbedding.embedding;
/**
 * out[i][j] = x[index[i][j]][j] for axis 0, and so on for other axes. index: integers, as many axes as x, not longer than x on
 * the others. Throws IndexError for indices out of range on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1. Reference: torch.gather. DirectML: GATHER_ELEMENTS.
 */
export const gather = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.number.is($1) && isTensor($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("gather", "x axis:number index", arguments); try { return $indexGather.gather($0, $1, $2); } catch (error) { throw under("gather", error); } } as unknown as typeof $indexGather.gather;
/** The slices of x that a 1-D index picks along an axis. Reference: torch.index_select. DirectML: GATHER. */
export const indexSelect = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.number.is($1) && isTensor($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("indexSelect", "x axis:number index", arguments); try { return $indexGather.indexSelect($0, $1, $2); } catch (error) { throw under("indexSelect", error); } } as unknown as typeof $indexGather.indexSelect;
/**
 * x with alpha times source's parts added along an axis at the indices of a 1-D index. DirectML: by size ONE_HOT and GEMM, or TOP_K1
 * with SCATTER. Reference: torch.index_add.
 */
export const indexAdd = function ($0: never, $1: never, $2: never, $3: never, $4: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && isTensor($2) && isTensor($3) && ($4 === undefined || kinds.alpha_cfb1a9.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("indexAdd", "x axis:number index source options:alpha_cfb1a9?", arguments); try { return $indexIndexRows.indexAdd($0, $1, $2, $3, $4); } catch (error) { throw under("indexAdd", error); } } as unknown as typeof $indexIndexRows.indexAdd;
/** x with source's slices along an axis at the indices of a 1-D index. DirectML: SCATTER. Reference: torch.index_copy. */
export const indexCopy = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && kinds.number.is($1) && isTensor($2) && isTensor($3) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("indexCopy", "x axis:number index source", arguments); try { return $indexIndexRows.indexCopy($0, $1, $2, $3); } catch (error) { throw under("indexCopy", error); } } as unknown as typeof $indexIndexRows.indexCopy;
/** x with a value at the indices of a 1-D index along an axis. value: a number or a tensor of rank 0. Reference: torch.index_fill. */
export const indexFill = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && kinds.number.is($1) && isTensor($2) && (isTensor($3) || kinds.operand.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("indexFill", "x axis:number index value:operand", arguments); try { return $indexIndexRows.indexFill($0, $1, $2, $3); } catch (error) { throw under("indexFill", error); } } as unknown as typeof $indexIndexRows.indexFill;
/** x's slices along an axis reduced with source's at the indices of a 1-D index. Reference: torch.index_reduce. */
export const indexReduce = function ($0: never, $1: never, $2: never, $3: never, $4: never, $5: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && isTensor($2) && isTensor($3) && ($5 === undefined || kinds.ScatterReduceOptions.is($5)) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("indexReduce", "x axis:number index source reduce:anything options:ScatterReduceOptions?", arguments); try { return $indexIndexRows.indexReduce($0, $1, $2, $3, $4, $5); } catch (error) { throw under("indexReduce", error); } } as unknown as typeof $indexIndexRows.indexReduce;
export type { Slice } from "../index/indexing.ts";
export type { Index } from "../index/indexing.ts";
/** A Slice from start to end. */
export const s = function ($0: never = undefined as never, $1: never = undefined as never, $2: never = undefined as never) { if (!(($0 === undefined || kinds.numberOrNull.is($0)) && ($1 === undefined || kinds.numberOrNull.is($1)) && ($2 === undefined || kinds.number.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("s", "start:numberOrNull? end:numberOrNull? step:number?", arguments); try { return $indexIndexing.s($0, $1, $2); } catch (error) { throw under("s", error); } } as unknown as typeof $indexIndexing.s;
/**
 * Part of x: `x.index(0)`, `x.index(":", s(1, 3))`, `x.index("...", null)`, `x.index([2, 0])`, `x.index(rows, columns)`, `x.index(mask)`.
 * Axes not named are whole. A view, but for tensors or lists of indices, which copy. A mask blocks until the device has counted; await
 * maskedSelect() or nonzero() for what does not, and give them a `size` inside compile(). Reference: torch's x[…].
 */
export const index = function ($0: never, ...rest: never[]) { if (!(isTensor($0) && kinds.eachValue_f0b704_value_9_5889ef.is(rest))) [$0, ...rest] = bind("index", "x ...indices:eachValue_f0b704_value_9_5889ef", arguments); try { return $indexIndexing.index($0, ...rest); } catch (error) { throw under("index", error); } } as unknown as typeof $indexIndexing.index;
/**
 * The elements that the index names take the value (broadcast to their shape, cast to x's dtype). x is changed in place; while
 * gradients are recorded for x or value, they flow on. The index comes as a list. Returns x. Reference: torch's x[…] = value.
 */
export const set = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && (isTensor($1) || kinds.value_f0b704_value_9a42a_33369a.is($1)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("set", "x indices:value_f0b704_value_9a42a_33369a value:anything", arguments); try { return $indexIndexing.set($0, $1, $2); } catch (error) { throw under("set", error); } } as unknown as typeof $indexIndexing.set;
/**
 * x with values at the elements that tensors of indices (or a mask) pick, as set() but as another tensor. accumulate: values are added, those
 * of equal indices too. Reference: torch.index_put. @autocast widest
 */
export const indexPut = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && kinds.listOfValue_f0b704_value_9fe89a.is($1) && (isTensor($2) || kinds.tensorOrNumber.is($2)) && ($3 === undefined || kinds.accumulate_75b02d.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("indexPut", "x indices:listOfValue_f0b704_value_9fe89a values:tensorOrNumber options:accumulate_75b02d?", arguments); try { return (openRegions === 0 ? $indexIndexing.indexPut : listed("widest", "indexPut", $indexIndexing.indexPut))($0, $1, $2, $3); } catch (error) { throw under("indexPut", error); } } as unknown as typeof $indexIndexing.indexPut;
export type { NonzeroOptions } from "../index/nonzero.ts";
export type { SizedOptions } from "../index/nonzero.ts";
export type { MaskedOptions } from "../index/nonzero.ts";
/**
 * The coordinates of the nonzero elements in row-major order: [count, rank]. A promise of them, or with `size` that many rows, padded, without waiting.
 * DirectML: NONZERO_COORDINATES. Reference: torch.nonzero.
 */
export const nonzero = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.NonzeroOptionsOrSizedOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("nonzero", "x options:NonzeroOptionsOrSizedOptions?", arguments); try { return $indexNonzero.nonzero($0, $1); } catch (error) { throw under("nonzero", error); } } as unknown as typeof $indexNonzero.nonzero;
/** nonzero(), blocking until the device has counted. */
export const nonzeroSync = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.NonzeroOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("nonzeroSync", "x options:NonzeroOptions?", arguments); try { return $indexNonzero.nonzeroSync($0, $1); } catch (error) { throw under("nonzeroSync", error); } } as unknown as typeof $indexNonzero.nonzeroSync;
/** nonzero() by NumPy's name. Reference: torch.argwhere. */
export const argwhere = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.NonzeroOptionsOrSizedOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("argwhere", "x options:NonzeroOptionsOrSizedOptions?", arguments); try { return $indexNonzero.argwhere($0, $1); } catch (error) { throw under("argwhere", error); } } as unknown as typeof $indexNonzero.argwhere;
/** nonzeroSync() by NumPy's name. */
export const argwhereSync = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.NonzeroOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("argwhereSync", "x options:NonzeroOptions?", arguments); try { return $indexNonzero.argwhereSync($0, $1); } catch (error) { throw under("argwhereSync", error); } } as unknown as typeof $indexNonzero.argwhereSync;
/**
 * The elements where a mask is true, as a vector. A promise of it, or with `size` that many at once, padded. Shapes broadcast; gradients
 * flow to x. DirectML: NONZERO_COORDINATES, GATHER. Reference: torch.masked_select.
 */
export const maskedSelect = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.MaskedOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("maskedSelect", "x mask options:MaskedOptions?", arguments); try { return $indexNonzero.maskedSelect($0, $1, $2); } catch (error) { throw under("maskedSelect", error); } } as unknown as typeof $indexNonzero.maskedSelect;
/** maskedSelect(), blocking until the device has counted. */
export const maskedSelectSync = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("maskedSelectSync", "x mask", arguments); try { return $indexNonzero.maskedSelectSync($0, $1); } catch (error) { throw under("maskedSelectSync", error); } } as unknown as typeof $indexNonzero.maskedSelectSync;
/**
 * x with source's elements, in their order, where the mask is true. The shape is that of x and the mask. Gradients flow to both.
 * Throws ShapeError when source has fewer elements than the result. Reference: torch.Tensor.masked_scatter.
 */
export const maskedScatter = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("maskedScatter", "x mask source", arguments); try { return $indexNonzero.maskedScatter($0, $1, $2); } catch (error) { throw under("maskedScatter", error); } } as unknown as typeof $indexNonzero.maskedScatter;
/** The elements of flattened x at `index`, which may count from the end; the result has their shape. Reference: torch.take. */
export const take = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("take", "x index", arguments); try { return $indexNonzero.take($0, $1); } catch (error) { throw under("take", error); } } as unknown as typeof $indexNonzero.take;
/** gather() in which x and index broadcast to each other but along the axis; without an axis, of the flattened x. Indices may count from the end. Reference: torch.take_along_dim. */
export const takeAlongAxis = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.numberOrNull.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("takeAlongAxis", "x index axis:numberOrNull?", arguments); try { return $indexNonzero.takeAlongAxis($0, $1, $2); } catch (error) { throw under("takeAlongAxis", error); } } as unknown as typeof $indexNonzero.takeAlongAxis;
export type { OneHotOptions } from "../index/one-hot.ts";
/**
 * 1 at index x along a new last axis of `classes`, 0 elsewhere. x: integers; those out of range are an
 * IndexError on `cpu` (elsewhere with DXTENSOR_CHECK_INDICES=1), else give zeros only. Without
 * classes a promise of the result for one more than the largest number. DirectML: ONE_HOT. Reference: torch.nn.functional.one_hot.
 * @functional
 */
export const oneHot = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNull.is($1)) && ($2 === undefined || kinds.OneHotOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("oneHot", "x classes:numberOrNull? options:OneHotOptions?", arguments); try { return $indexOneHot.oneHot($0, $1, $2); } catch (error) { throw under("oneHot", error); } } as unknown as typeof $indexOneHot.oneHot;
/** oneHot() for one more class than the largest number, blocking until that is known. */
export const oneHotSync = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.OneHotOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("oneHotSync", "x options:OneHotOptions?", arguments); try { return $indexOneHot.oneHotSync($0, $1); } catch (error) { throw under("oneHotSync", error); } } as unknown as typeof $indexOneHot.oneHotSync;
/**
 * x with source's elements at indices of flattened x, which may count from the end; index and source have as many elements. Of equal indices
 * any one wins, unless accumulate adds them all. Gradients flow to x and source. Reference: torch.Tensor.put.
 */
export const put = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.accumulate_75b02d.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("put", "x index source options:accumulate_75b02d?", arguments); try { return $indexPut.put($0, $1, $2, $3); } catch (error) { throw under("put", error); } } as unknown as typeof $indexPut.put;
export type { ScatterReduction } from "../index/scatter.ts";
export type { ScatterReduceOptions } from "../index/scatter.ts";
/**
 * x with source's elements at the indices that `index` has along an axis: out[index[i][j]][j] = source[i][j] for axis 0. source: a
 * tensor at least as large as the index, or a number. Of equal indices any one wins. reduce: "add" or "multiply" instead of replacing.
 * Gradients flow to x and source. DirectML: SCATTER. Reference: torch.scatter.
 */
export const scatter = function ($0: never, $1: never, $2: never, $3: never, $4: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && isTensor($2) && (isTensor($3) || kinds.operand.is($3)) && ($4 === undefined || kinds.reduce_975498.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("scatter", "x axis:number index source:operand options:reduce_975498?", arguments); try { return $indexScatter.scatter($0, $1, $2, $3, $4); } catch (error) { throw under("scatter", error); } } as unknown as typeof $indexScatter.scatter;
/** x with source's elements added at the indices that `index` has along an axis. Reference: torch.scatter_add. @autocast widest */
export const scatterAdd = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && kinds.number.is($1) && isTensor($2) && isTensor($3) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("scatterAdd", "x axis:number index source", arguments); try { return (openRegions === 0 ? $indexScatter.scatterAdd : listed("widest", "scatterAdd", $indexScatter.scatterAdd))($0, $1, $2, $3); } catch (error) { throw under("scatterAdd", error); } } as unknown as typeof $indexScatter.scatterAdd;
/**
 * x's elements reduced with source's at the indices that `index` has along an axis. Elements that no index selects keep x. Integers'
 * means are rounded down. DirectML: by size ONE_HOT and GEMM, comparisons, or TOP_K1 with SCATTER; see docs/operations.md.
 * Reference: torch.scatter_reduce.
 */
export const scatterReduce = function ($0: never, $1: never, $2: never, $3: never, $4: never, $5: never = undefined as never, $6: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && isTensor($2) && isTensor($3) && kinds.sum_prod_mean_amax_amin.is($4) && ($5 === undefined || kinds.ScatterReduceOptions.is($5)) && ($6 === undefined || kinds.string.is($6)) && (arguments.length <= 7 || isAll(arguments, 7)))) [$0, $1, $2, $3, $4, $5, $6] = bind("scatterReduce", "x axis:number index source reduce:sum_prod_mean_amax_amin options:ScatterReduceOptions? operation:string?", arguments); try { return $indexScatter.scatterReduce($0, $1, $2, $3, $4, $5, $6); } catch (error) { throw under("scatterReduce", error); } } as unknown as typeof $indexScatter.scatterReduce;
export type { KernelDefinition } from "../kernel/custom-kernel.ts";
export type { Kernel } from "../kernel/custom-kernel.ts";
/**
 * Defines an operation. It runs eagerly as one program, works inside compile() like other operations, and is differentiable if
 * it has a `grad`. attrs must be plain data (undefined for none). Throws what `infer` throws, UnsupportedError when a device
 * lacks an operator (outside strict mode it then runs on the software adapter), NativeError when DirectML refuses a node.
 */
export const kernel = function ($0: never) { if (!(kinds.name_b12d0a.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("kernel", "definition:name_b12d0a", arguments); try { return $kernelCustomKernel.kernel($0); } catch (error) { throw under("kernel", error); } } as unknown as typeof $kernelCustomKernel.kernel;
export type { DebugOptions } from "../kernel/shader-debug.ts";
export type { ShaderDebug } from "../kernel/shader-debug.ts";
export type { ShaderDType } from "../kernel/shader.ts";
export type { ElementOf } from "../kernel/shader.ts";
export type { ShaderOutput } from "../kernel/shader.ts";
export type { ShaderSpec } from "../kernel/shader.ts";
export type { ShaderFunction } from "../kernel/shader.ts";
/**
 * A compute shader. body runs once, on symbolic values. The result takes tensors by name and runs
 * eagerly and inside compile(), on every device that runs shaders, and is differentiable if it has a `grad`.
 *
 * Throws ShaderError, which names the line of body, if body breaks the language's rules; a call throws DTypeError, ShapeError, DeviceError.
 * Where a device runs no shaders, it runs on the software adapter (UnsupportedError in strict mode).
 */
export const shader = function ($0: never, $1: never) { if (!(kinds.name_71bfab.is($0) && kinds.callback.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("shader", "spec:name_71bfab body:callback", arguments); try { return $kernelShader.shader($0, $1); } catch (error) { throw under("shader", error); } } as unknown as typeof $kernelShader.shader;
/** linalg.cholesky(). Reference: torch.cholesky. */
export const cholesky = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.CholeskyOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("cholesky", "a options:CholeskyOptions?", arguments); try { return $linalgAliases.cholesky($0, $1); } catch (error) { throw under("cholesky", error); } } as unknown as typeof $linalgAliases.cholesky;
/** linalg.choleskyInverse(). Reference: torch.cholesky_inverse. */
export const choleskyInverse = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.CholeskyOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("choleskyInverse", "factor options:CholeskyOptions?", arguments); try { return $linalgAliases.choleskyInverse($0, $1); } catch (error) { throw under("choleskyInverse", error); } } as unknown as typeof $linalgAliases.choleskyInverse;
/** linalg.choleskySolve(). Reference: torch.cholesky_solve. */
export const choleskySolve = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.CholeskyOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("choleskySolve", "b factor options:CholeskyOptions?", arguments); try { return $linalgAliases.choleskySolve($0, $1, $2); } catch (error) { throw under("choleskySolve", error); } } as unknown as typeof $linalgAliases.choleskySolve;
/** linalg.det(). Reference: torch.det. */
export const det = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("det", "a", arguments); try { return $linalgAliases.det($0); } catch (error) { throw under("det", error); } } as unknown as typeof $linalgAliases.det;
/** linalg.geqrf(). Reference: torch.geqrf. */
export const geqrf = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("geqrf", "x", arguments); try { return $linalgAliases.geqrf($0); } catch (error) { throw under("geqrf", error); } } as unknown as typeof $linalgAliases.geqrf;
/** linalg.inv(). Reference: torch.inverse. */
export const inverse = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("inverse", "a", arguments); try { return $linalgAliases.inverse($0); } catch (error) { throw under("inverse", error); } } as unknown as typeof $linalgAliases.inverse;
/** linalg.logdet(). Reference: torch.logdet. */
export const logdet = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("logdet", "a", arguments); try { return $linalgAliases.logdet($0); } catch (error) { throw under("logdet", error); } } as unknown as typeof $linalgAliases.logdet;
/** linalg.luUnpack(). Reference: torch.lu_unpack. */
export const luUnpack = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("luUnpack", "factors pivots", arguments); try { return $linalgAliases.luUnpack($0, $1); } catch (error) { throw under("luUnpack", error); } } as unknown as typeof $linalgAliases.luUnpack;
/** linalg.matrixExp(). Reference: torch.matrix_exp. */
export const matrixExp = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("matrixExp", "a", arguments); try { return $linalgAliases.matrixExp($0); } catch (error) { throw under("matrixExp", error); } } as unknown as typeof $linalgAliases.matrixExp;
/** linalg.matrixPower(). Reference: torch.matrix_power. */
export const matrixPower = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.number.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("matrixPower", "a n:number", arguments); try { return $linalgAliases.matrixPower($0, $1); } catch (error) { throw under("matrixPower", error); } } as unknown as typeof $linalgAliases.matrixPower;
/** linalg.ormqr(). Reference: torch.ormqr. */
export const ormqr = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.OrmqrOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("ormqr", "a tau other options:OrmqrOptions?", arguments); try { return $linalgAliases.ormqr($0, $1, $2, $3); } catch (error) { throw under("ormqr", error); } } as unknown as typeof $linalgAliases.ormqr;
/** linalg.pinv(). Reference: torch.pinverse. */
export const pinverse = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.ToleranceOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("pinverse", "a options:ToleranceOptions?", arguments); try { return $linalgAliases.pinverse($0, $1); } catch (error) { throw under("pinverse", error); } } as unknown as typeof $linalgAliases.pinverse;
/** linalg.slogdet(). Reference: torch.slogdet. */
export const slogdet = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("slogdet", "a", arguments); try { return $linalgAliases.slogdet($0); } catch (error) { throw under("slogdet", error); } } as unknown as typeof $linalgAliases.slogdet;
/** linalg.triangularSolve(). Reference: torch.triangular_solve. */
export const triangularSolve = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.upper_c2974e.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("triangularSolve", "b a options:upper_c2974e?", arguments); try { return $linalgAliases.triangularSolve($0, $1, $2); } catch (error) { throw under("triangularSolve", error); } } as unknown as typeof $linalgAliases.triangularSolve;
export type { NllOptions } from "../loss/cross-entropy.ts";
export type { CrossEntropyOptions } from "../loss/cross-entropy.ts";
/**
 * Mean of -weight[t] x[t] for logarithms x of probabilities, divided by the total weight.
 *
 * x: [C], [N, C] or [N, C, ...], float16 or float32; target: [], [N] or [N, ...], int32 or int64. Classes outside [0, C) are an
 * IndexError on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1; without it they count as ignored. The mean of nothing is NaN. DirectML: ONE_HOT, ELEMENT_WISE_IF, REDUCE.
 * Reference: torch.nn.functional.nll_loss. @autocast float32
 */
export const nllLoss = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.NllOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("nllLoss", "x target options:NllOptions?", arguments); try { return (openRegions === 0 ? $lossCrossEntropy.nllLoss : listed("float32", "nllLoss", $lossCrossEntropy.nllLoss))($0, $1, $2); } catch (error) { throw under("nllLoss", error); } } as unknown as typeof $lossCrossEntropy.nllLoss;
/**
 * nllLoss of logSoftmax(x): x are logits. Without weight and label smoothing it is one operation, whose gradient is
 * dy / total (softmax(x) - onehot(target)) at the positions that count.
 *
 * x: [C], [N, C] or [N, C, ...], float16 or float32. target: classes (int32 or int64) as for nllLoss, or probabilities of x's
 * shape and a floating dtype. DirectML: ACTIVATION_LOG_SOFTMAX1, ACTIVATION_SOFTMAX1, ONE_HOT, ELEMENT_WISE_IF, REDUCE.
 * Reference: torch.nn.functional.cross_entropy. @autocast float32
 */
export const crossEntropy = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.CrossEntropyOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("crossEntropy", "x target options:CrossEntropyOptions?", arguments); try { return (openRegions === 0 ? $lossCrossEntropy.crossEntropy : listed("float32", "crossEntropy", $lossCrossEntropy.crossEntropy))($0, $1, $2); } catch (error) { throw under("crossEntropy", error); } } as unknown as typeof $lossCrossEntropy.crossEntropy;
export type { CtcOptions } from "../loss/ctc-loss.ts";
/**
 * -ln of the probability that logarithms of probabilities x [T, N, C] (or [T, C]) give to the labels.
 *
 * targets: [N, S] or all one after the other; inputLengths and targetLengths: numbers or tensors [N]. "mean" divides each sample's
 * loss by its number of labels first. The gradient is that of PyTorch, which takes x to come from logSoftmax.
 * DirectML: GATHER_ELEMENTS, EXP, LOG, step by step. Reference: torch.nn.functional.ctc_loss.
 */
export const ctcLoss = function ($0: never, $1: never, $2: never, $3: never, $4: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && (isTensor($2) || kinds.tensorOrNumbers.is($2)) && (isTensor($3) || kinds.tensorOrNumbers.is($3)) && ($4 === undefined || kinds.CtcOptions.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("ctcLoss", "x targets inputLengths:tensorOrNumbers targetLengths:tensorOrNumbers options:CtcOptions?", arguments); try { return $lossCtcLoss.ctcLoss($0, $1, $2, $3, $4); } catch (error) { throw under("ctcLoss", error); } } as unknown as typeof $lossCtcLoss.ctcLoss;
export type { MarginOptions } from "../loss/margin-loss.ts";
export type { MultiMarginOptions } from "../loss/margin-loss.ts";
export type { TripletOptions } from "../loss/margin-loss.ts";
export type { PoissonOptions } from "../loss/margin-loss.ts";
export type { GaussianOptions } from "../loss/margin-loss.ts";
/** Mean of max(0, -y (a - b) + margin): a is to rank above b where y is 1, below where it is -1. Reference: torch.nn.functional.margin_ranking_loss. @autocast float32 */
export const marginRankingLoss = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.MarginOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("marginRankingLoss", "a b y options:MarginOptions?", arguments); try { return (openRegions === 0 ? $lossMarginLoss.marginRankingLoss : listed("float32", "marginRankingLoss", $lossMarginLoss.marginRankingLoss))($0, $1, $2, $3); } catch (error) { throw under("marginRankingLoss", error); } } as unknown as typeof $lossMarginLoss.marginRankingLoss;
/** Mean of x where y is 1, of max(0, margin - x) where it is -1. margin: default 1. Reference: torch.nn.functional.hinge_embedding_loss. @autocast float32 */
export const hingeEmbeddingLoss = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.MarginOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("hingeEmbeddingLoss", "x y options:MarginOptions?", arguments); try { return (openRegions === 0 ? $lossMarginLoss.hingeEmbeddingLoss : listed("float32", "hingeEmbeddingLoss", $lossMarginLoss.hingeEmbeddingLoss))($0, $1, $2); } catch (error) { throw under("hingeEmbeddingLoss", error); } } as unknown as typeof $lossMarginLoss.hingeEmbeddingLoss;
/** Mean of 1 - cos(a, b) where y is 1, of max(0, cos(a, b) - margin) where it is -1. a, b: [N, E] or [E]. Reference: torch.nn.functional.cosine_embedding_loss. @autocast float32 */
export const cosineEmbeddingLoss = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.MarginOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("cosineEmbeddingLoss", "a b y options:MarginOptions?", arguments); try { return (openRegions === 0 ? $lossMarginLoss.cosineEmbeddingLoss : listed("float32", "cosineEmbeddingLoss", $lossMarginLoss.cosineEmbeddingLoss))($0, $1, $2, $3); } catch (error) { throw under("cosineEmbeddingLoss", error); } } as unknown as typeof $lossMarginLoss.cosineEmbeddingLoss;
/** Mean of ln(1 + e^(-y x)). Throws AutogradError for a y that requires a gradient. Reference: torch.nn.functional.soft_margin_loss. @autocast float32 */
export const softMarginLoss = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.LossOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("softMarginLoss", "x y options:LossOptions?", arguments); try { return (openRegions === 0 ? $lossMarginLoss.softMarginLoss : listed("float32", "softMarginLoss", $lossMarginLoss.softMarginLoss))($0, $1, $2); } catch (error) { throw under("softMarginLoss", error); } } as unknown as typeof $lossMarginLoss.softMarginLoss;
/** Mean over samples of the mean over classes of max(0, margin - x[y] + x[i])^p. x: [N, C] or [C]. Reference: torch.nn.functional.multi_margin_loss. @autocast float32 */
export const multiMarginLoss = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.MultiMarginOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("multiMarginLoss", "x y options:MultiMarginOptions?", arguments); try { return (openRegions === 0 ? $lossMarginLoss.multiMarginLoss : listed("float32", "multiMarginLoss", $lossMarginLoss.multiMarginLoss))($0, $1, $2); } catch (error) { throw under("multiMarginLoss", error); } } as unknown as typeof $lossMarginLoss.multiMarginLoss;
/** Mean over samples of the sums over pairs of max(0, 1 - (x[target] - x[other])) / C; targets end at the first -1. Reference: torch.nn.functional.multilabel_margin_loss. @autocast float32 */
export const multilabelMarginLoss = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.LossOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("multilabelMarginLoss", "x y options:LossOptions?", arguments); try { return (openRegions === 0 ? $lossMarginLoss.multilabelMarginLoss : listed("float32", "multilabelMarginLoss", $lossMarginLoss.multilabelMarginLoss))($0, $1, $2); } catch (error) { throw under("multilabelMarginLoss", error); } } as unknown as typeof $lossMarginLoss.multilabelMarginLoss;
/** Mean over classes of the binary cross entropy of sigmoid(x), then over samples. x, y: [..., C]. Reference: torch.nn.functional.multilabel_soft_margin_loss. @autocast float32 */
export const multilabelSoftMarginLoss = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.reduction_0d009b.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("multilabelSoftMarginLoss", "x y options:reduction_0d009b?", arguments); try { return (openRegions === 0 ? $lossMarginLoss.multilabelSoftMarginLoss : listed("float32", "multilabelSoftMarginLoss", $lossMarginLoss.multilabelSoftMarginLoss))($0, $1, $2); } catch (error) { throw under("multilabelSoftMarginLoss", error); } } as unknown as typeof $lossMarginLoss.multilabelSoftMarginLoss;
/** Mean of max(0, d(anchor, positive) - d(anchor, negative) + margin). Reference: torch.nn.functional.triplet_margin_loss, …_with_distance_loss. @autocast float32 */
export const tripletMarginLoss = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.TripletOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("tripletMarginLoss", "anchor positive negative options:TripletOptions?", arguments); try { return (openRegions === 0 ? $lossMarginLoss.tripletMarginLoss : listed("float32", "tripletMarginLoss", $lossMarginLoss.tripletMarginLoss))($0, $1, $2, $3); } catch (error) { throw under("tripletMarginLoss", error); } } as unknown as typeof $lossMarginLoss.tripletMarginLoss;
/** Mean of rate - target ln rate. Reference: torch.nn.functional.poisson_nll_loss. @autocast float32 */
export const poissonNllLoss = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.PoissonOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("poissonNllLoss", "x target options:PoissonOptions?", arguments); try { return (openRegions === 0 ? $lossMarginLoss.poissonNllLoss : listed("float32", "poissonNllLoss", $lossMarginLoss.poissonNllLoss))($0, $1, $2); } catch (error) { throw under("poissonNllLoss", error); } } as unknown as typeof $lossMarginLoss.poissonNllLoss;
/** Mean of (ln variance + (x - target)² / variance) / 2. variance: x's shape, without its last axis, or with 1 there. Reference: torch.nn.functional.gaussian_nll_loss. */
export const gaussianNllLoss = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.GaussianOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("gaussianNllLoss", "x target variance options:GaussianOptions?", arguments); try { return $lossMarginLoss.gaussianNllLoss($0, $1, $2, $3); } catch (error) { throw under("gaussianNllLoss", error); } } as unknown as typeof $lossMarginLoss.gaussianNllLoss;
export type { Reduction } from "../loss/regression.ts";
export type { LossOptions } from "../loss/regression.ts";
export type { BinaryOptions } from "../loss/regression.ts";
export type { LogitsOptions } from "../loss/regression.ts";
/** Mean of (x - target)^2. x and target broadcast. Reference: torch.nn.functional.mse_loss. @autocast float32 */
export const mseLoss = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.LossOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("mseLoss", "x target options:LossOptions?", arguments); try { return (openRegions === 0 ? $lossRegression.mseLoss : listed("float32", "mseLoss", $lossRegression.mseLoss))($0, $1, $2); } catch (error) { throw under("mseLoss", error); } } as unknown as typeof $lossRegression.mseLoss;
/** Mean of |x - target|. Reference: torch.nn.functional.l1_loss. @autocast float32 */
export const l1Loss = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.LossOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("l1Loss", "x target options:LossOptions?", arguments); try { return (openRegions === 0 ? $lossRegression.l1Loss : listed("float32", "l1Loss", $lossRegression.l1Loss))($0, $1, $2); } catch (error) { throw under("l1Loss", error); } } as unknown as typeof $lossRegression.l1Loss;
/** Mean of d^2 / (2 beta) where d = |x - target| < beta, else of d - beta / 2. beta: default 1; 0 gives l1Loss. Reference: torch.nn.functional.smooth_l1_loss. @autocast float32 */
export const smoothL1Loss = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.reduction_42a650.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("smoothL1Loss", "x target options:reduction_42a650?", arguments); try { return (openRegions === 0 ? $lossRegression.smoothL1Loss : listed("float32", "smoothL1Loss", $lossRegression.smoothL1Loss))($0, $1, $2); } catch (error) { throw under("smoothL1Loss", error); } } as unknown as typeof $lossRegression.smoothL1Loss;
/** Mean of d^2 / 2 where d = |x - target| < delta, else of delta (d - delta / 2). delta: default 1. Reference: torch.nn.functional.huber_loss. @autocast float32 */
export const huberLoss = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.reduction_c65c60.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("huberLoss", "x target options:reduction_c65c60?", arguments); try { return (openRegions === 0 ? $lossRegression.huberLoss : listed("float32", "huberLoss", $lossRegression.huberLoss))($0, $1, $2); } catch (error) { throw under("huberLoss", error); } } as unknown as typeof $lossRegression.huberLoss;
/**
 * Mean of -(t log x + (1 - t) log(1 - x)) for probabilities x in [0, 1]; logarithms are at least -100.
 * x and target: one shape. Numbers outside [0, 1] are a ValueError on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1.
 * Reference: torch.nn.functional.binary_cross_entropy. @autocast refused
 */
export const binaryCrossEntropy = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.BinaryOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("binaryCrossEntropy", "x target options:BinaryOptions?", arguments); try { return (openRegions === 0 ? $lossRegression.binaryCrossEntropy : listed("refused", "binaryCrossEntropy", $lossRegression.binaryCrossEntropy))($0, $1, $2); } catch (error) { throw under("binaryCrossEntropy", error); } } as unknown as typeof $lossRegression.binaryCrossEntropy;
/**
 * binaryCrossEntropy of sigmoid(x), computed stably: (1 - t) x - logSigmoid(x).
 * x and target: one shape. Reference: torch.nn.functional.binary_cross_entropy_with_logits. @autocast float32
 */
export const binaryCrossEntropyWithLogits = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.LogitsOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("binaryCrossEntropyWithLogits", "x target options:LogitsOptions?", arguments); try { return (openRegions === 0 ? $lossRegression.binaryCrossEntropyWithLogits : listed("float32", "binaryCrossEntropyWithLogits", $lossRegression.binaryCrossEntropyWithLogits))($0, $1, $2); } catch (error) { throw under("binaryCrossEntropyWithLogits", error); } } as unknown as typeof $lossRegression.binaryCrossEntropyWithLogits;
/**
 * Mean of t (log t - x) for logarithms x of probabilities; with logTarget the targets are logarithms too. "batchmean" divides the
 * sum by the first axis. Reference: torch.nn.functional.kl_div. @autocast float32
 */
export const klDiv = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.reduction_cdfcdf.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("klDiv", "x target options:reduction_cdfcdf?", arguments); try { return (openRegions === 0 ? $lossRegression.klDiv : listed("float32", "klDiv", $lossRegression.klDiv))($0, $1, $2); } catch (error) { throw under("klDiv", error); } } as unknown as typeof $lossRegression.klDiv;
/**
 * The sum of the operands' products over the letters that the output leaves out: einsum("bij,bjk->bik", a, b). Without -> the output has
 * the letters that occur once, in alphabetical order; ... stands for further axes, which broadcast. Operands are multiplied two at a time,
 * in the order that costs least, as matrix products that read transposed and strided operands in place. DirectML: GEMM, REDUCE.
 * Reference: torch.einsum. @autocast lower
 */
export const einsum = function ($0: never, ...rest: never[]) { if (!(kinds.string.is($0) && kinds.eachTensor.is(rest))) [$0, ...rest] = bind("einsum", "equation:string ...operands:eachTensor", arguments); try { return (openRegions === 0 ? $matmulContraction.einsum : listed("lower", "einsum", $matmulContraction.einsum))($0, ...rest); } catch (error) { throw under("einsum", error); } } as unknown as typeof $matmulContraction.einsum;
/**
 * The contraction of a and b over axes: the last n of a with the first n of b, or lists of axes of each. DirectML: GEMM.
 * Reference: torch.tensordot. @autocast widest
 */
export const tensordot = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.numberOrListOfNumbers.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("tensordot", "a b axes:numberOrListOfNumbers?", arguments); try { return (openRegions === 0 ? $matmulContraction.tensordot : listed("widest", "tensordot", $matmulContraction.tensordot))($0, $1, $2); } catch (error) { throw under("tensordot", error); } } as unknown as typeof $matmulContraction.tensordot;
/** The dot products of a's and b's rows (last axes); with a scalar the elementwise product. Reference: torch.inner. */
export const inner = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("inner", "a b", arguments); try { return $matmulContraction.inner($0, $1); } catch (error) { throw under("inner", error); } } as unknown as typeof $matmulContraction.inner;
/**
 * The matrix product with PyTorch's rules: vectors are rows on the left and columns on the right and lose that axis again; axes
 * before the last two are batches and broadcast.
 *
 * a: [K] or [..., M, K]; b: [K] or [..., K, N]; of one dtype. Result: [..., M, N] without the axes that vectors lack.
 * Integers are multiplied and added exactly, modulo 2^bits. Throws ShapeError when the inner lengths differ, DTypeError for bool,
 * float64, bfloat16 and mixed dtypes. DirectML: GEMM; for integers by digits of eight bits, or by size MULTIPLY and REDUCE. Reference: torch.matmul.
 * @autocast lower
 */
export const matmul = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("matmul", "a b", arguments); try { return (openRegions === 0 ? $matmulMatmul.matmul : listed("lower", "matmul", $matmulMatmul.matmul))($0, $1); } catch (error) { throw under("matmul", error); } } as unknown as typeof $matmulMatmul.matmul;
/** a [M, K] times b [K, N]. Errors as for matmul, and for other ranks. DirectML: GEMM. Reference: torch.mm. @autocast lower */
export const mm = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("mm", "a b", arguments); try { return (openRegions === 0 ? $matmulMatmul.mm : listed("lower", "mm", $matmulMatmul.mm))($0, $1); } catch (error) { throw under("mm", error); } } as unknown as typeof $matmulMatmul.mm;
/** a [B, M, K] times b [B, K, N], batch by batch. Nothing broadcasts. DirectML: GEMM. Reference: torch.bmm. @autocast lower */
export const bmm = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("bmm", "a b", arguments); try { return (openRegions === 0 ? $matmulMatmul.bmm : listed("lower", "bmm", $matmulMatmul.bmm))($0, $1); } catch (error) { throw under("bmm", error); } } as unknown as typeof $matmulMatmul.bmm;
/** a [M, K] times the vector b [K]. DirectML: GEMM. Reference: torch.mv. @autocast lower */
export const mv = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("mv", "a b", arguments); try { return (openRegions === 0 ? $matmulMatmul.mv : listed("lower", "mv", $matmulMatmul.mv))($0, $1); } catch (error) { throw under("mv", error); } } as unknown as typeof $matmulMatmul.mv;
/** Sum of a * b for two vectors [K], as a scalar. DirectML: GEMM. Reference: torch.dot. @autocast widest */
export const dot = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("dot", "a b", arguments); try { return (openRegions === 0 ? $matmulMatmul.dot : listed("widest", "dot", $matmulMatmul.dot))($0, $1); } catch (error) { throw under("dot", error); } } as unknown as typeof $matmulMatmul.dot;
/** The outer product [M, N] of a [M] and b [N]. DirectML: ELEMENT_WISE_MULTIPLY. Reference: torch.outer. */
export const outer = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("outer", "a b", arguments); try { return $matmulMatmul.outer($0, $1); } catch (error) { throw under("outer", error); } } as unknown as typeof $matmulMatmul.outer;
/**
 * beta * c + alpha * a b. a: [M, K]; b: [K, N]; c: broadcastable to [M, N]. beta 0 leaves c out, whatever it holds.
 * DirectML: GEMM. Reference: torch.addmm. @autocast lower
 */
export const addmm = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.alpha_43d274.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("addmm", "c a b options:alpha_43d274?", arguments); try { return (openRegions === 0 ? $matmulMatmul.addmm : listed("lower", "addmm", $matmulMatmul.addmm))($0, $1, $2, $3); } catch (error) { throw under("addmm", error); } } as unknown as typeof $matmulMatmul.addmm;
/** beta * c + alpha * a b for batches: a [B, M, K], b [B, K, N], c broadcastable to [B, M, N]. DirectML: GEMM. Reference: torch.baddbmm. @autocast lower */
export const baddbmm = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.alpha_43d274.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("baddbmm", "c a b options:alpha_43d274?", arguments); try { return (openRegions === 0 ? $matmulMatmul.baddbmm : listed("lower", "baddbmm", $matmulMatmul.baddbmm))($0, $1, $2, $3); } catch (error) { throw under("baddbmm", error); } } as unknown as typeof $matmulMatmul.baddbmm;
/**
 * x W^T + bias. x: [..., I]; weight: [O, I]; bias: [O] or none. Result: [..., O].
 * DirectML: GEMM, the bias as its C. Reference: torch.nn.functional.linear.
 * @functional @autocast lower
 */
export const linear = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("linear", "x weight bias:tensorOrNull?", arguments); try { return (openRegions === 0 ? $matmulMatmul.linear : listed("lower", "linear", $matmulMatmul.linear))($0, $1, $2); } catch (error) { throw under("linear", error); } } as unknown as typeof $matmulMatmul.linear;
/** beta c + alpha times the sum of a [B, M, K] times b [B, K, N] over the batch, as one GEMM. DirectML: GEMM. Reference: torch.addbmm. @autocast lower */
export const addbmm = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.Scale.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("addbmm", "c a b options:Scale?", arguments); try { return (openRegions === 0 ? $matmulMatrixProducts.addbmm : listed("lower", "addbmm", $matmulMatrixProducts.addbmm))($0, $1, $2, $3); } catch (error) { throw under("addbmm", error); } } as unknown as typeof $matmulMatrixProducts.addbmm;
/** beta c + alpha times a matrix times a vector. DirectML: GEMM. Reference: torch.addmv. @autocast lower */
export const addmv = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.Scale.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("addmv", "c a b options:Scale?", arguments); try { return (openRegions === 0 ? $matmulMatrixProducts.addmv : listed("lower", "addmv", $matmulMatrixProducts.addmv))($0, $1, $2, $3); } catch (error) { throw under("addmv", error); } } as unknown as typeof $matmulMatrixProducts.addmv;
/** beta c + alpha times the outer product of two vectors. Reference: torch.addr. @autocast lower */
export const addr = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.Scale.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("addr", "c a b options:Scale?", arguments); try { return (openRegions === 0 ? $matmulMatrixProducts.addr : listed("lower", "addr", $matmulMatrixProducts.addr))($0, $1, $2, $3); } catch (error) { throw under("addr", error); } } as unknown as typeof $matmulMatrixProducts.addr;
/** The dot product of two real vectors. Reference: torch.vdot. @autocast widest */
export const vdot = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("vdot", "a b", arguments); try { return (openRegions === 0 ? $matmulMatrixProducts.vdot : listed("widest", "vdot", $matmulMatrixProducts.vdot))($0, $1); } catch (error) { throw under("vdot", error); } } as unknown as typeof $matmulMatrixProducts.vdot;
/**
 * The product of several matrices in the order that costs least; the first and the last may be vectors. DirectML: GEMM.
 * Reference: torch.linalg.multi_dot. @autocast lower
 */
export const multiDot = function (...rest: never[]) { if (!(kinds.eachTensor.is(rest))) [...rest] = bind("multiDot", "...tensors:eachTensor", arguments); try { return (openRegions === 0 ? $matmulMatrixProducts.multiDot : listed("lower", "multiDot", $matmulMatrixProducts.multiDot))(...rest); } catch (error) { throw under("multiDot", error); } } as unknown as typeof $matmulMatrixProducts.multiDot;
/** multiDot() by its older name. Reference: torch.chain_matmul. @autocast lower */
export const chainMatmul = function (...rest: never[]) { if (!(kinds.eachTensor.is(rest))) [...rest] = bind("chainMatmul", "...tensors:eachTensor", arguments); try { return (openRegions === 0 ? $matmulMatrixProducts.chainMatmul : listed("lower", "chainMatmul", $matmulMatrixProducts.chainMatmul))(...rest); } catch (error) { throw under("chainMatmul", error); } } as unknown as typeof $matmulMatrixProducts.chainMatmul;
/** Every element of a times the whole of b, as blocks. Axes are aligned at the last. Reference: torch.kron. */
export const kron = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("kron", "a b", arguments); try { return $matmulMatrixProducts.kron($0, $1); } catch (error) { throw under("kron", error); } } as unknown as typeof $matmulMatrixProducts.kron;
/**
 * The cross product of vectors of three elements along an axis; the other axes broadcast. Without an axis the first of length 3 is taken.
 * Reference: torch.cross. @autocast widest
 */
export const cross = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.number.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("cross", "a b axis:number?", arguments); try { return (openRegions === 0 ? $matmulMatrixProducts.cross : listed("widest", "cross", $matmulMatrixProducts.cross))($0, $1, $2); } catch (error) { throw under("cross", error); } } as unknown as typeof $matmulMatrixProducts.cross;
export type { BatchNormOptions } from "../norm/batch-layer-norm.ts";
export type { NormOptions } from "../norm/batch-layer-norm.ts";
/**
 * (x - mean) / sqrt(variance + epsilon) * weight + bias for each channel, over batch and spatial axes.
 *
 * x: [N, C, ...], float16 or float32; the others [C] or null. In training, mean and population variance are the batch's, and
 * runningMean and runningVariance (with the sample variance) are updated in place; else they are the running ones.
 * DirectML: BATCH_NORMALIZATION_TRAINING, BATCH_NORMALIZATION. Reference: torch.nn.functional.batch_norm.
 */
export const batchNorm = function ($0: never, $1: never, $2: never, $3: never = undefined as never, $4: never = undefined as never, $5: never, $6: never, $7: never, $8: never) { if (!(isTensor($0) && (isTensor($1) || kinds.tensorOrNull.is($1)) && (isTensor($2) || kinds.tensorOrNull.is($2)) && (isTensor($3) || $3 === undefined || kinds.tensorOrNull.is($3)) && (isTensor($4) || $4 === undefined || kinds.tensorOrNull.is($4)) && ($5 === undefined || kinds.booleanOrBatchNormOptions.is($5)) && ($6 === undefined || kinds.numberOrBatchNormOptions.is($6)) && ($7 === undefined || kinds.numberOrBatchNormOptions.is($7)) && ($8 === undefined || kinds.BatchNormOptions.is($8)) && (arguments.length <= 9 || isAll(arguments, 9)))) [$0, $1, $2, $3, $4, $5, $6, $7, $8] = bind("batchNorm", "x runningMean:tensorOrNull runningVariance:tensorOrNull weight:tensorOrNull? bias:tensorOrNull? training:booleanOrBatchNormOptions? momentum:numberOrBatchNormOptions? eps:numberOrBatchNormOptions? options:BatchNormOptions?", arguments); try { return $normBatchLayerNorm.batchNorm($0, $1, $2, $3, $4, $5, $6, $7, $8); } catch (error) { throw under("batchNorm", error); } } as unknown as typeof $normBatchLayerNorm.batchNorm;
/**
 * (x - mean) / sqrt(variance + epsilon) * weight + bias over the last axes, whose lengths are normalizedShape.
 *
 * x: [..., normalizedShape], float16 or float32; weight and bias: normalizedShape or null. epsilon: default 1e-5.
 * DirectML: MEAN_VARIANCE_NORMALIZATION1. Reference: torch.nn.functional.layer_norm. @autocast float32
 */
export const layerNorm = function ($0: never, $1: never, $2: never = undefined as never, $3: never = undefined as never, $4: never, $5: never) { if (!(isTensor($0) && kinds.numbers.is($1) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && (isTensor($3) || $3 === undefined || kinds.tensorOrNull.is($3)) && ($4 === undefined || kinds.numberOrNormOptions.is($4)) && ($5 === undefined || kinds.NormOptions.is($5)) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("layerNorm", "x normalizedShape:numbers weight:tensorOrNull? bias:tensorOrNull? eps:numberOrNormOptions? options:NormOptions?", arguments); try { return (openRegions === 0 ? $normBatchLayerNorm.layerNorm : listed("float32", "layerNorm", $normBatchLayerNorm.layerNorm))($0, $1, $2, $3, $4, $5); } catch (error) { throw under("layerNorm", error); } } as unknown as typeof $normBatchLayerNorm.layerNorm;
/**
 * Normalises each of `groups` groups of channels of each sample, then scales and shifts each channel.
 *
 * x: [N, C, ...], float16 or float32; weight and bias: [C] or null; C must be a multiple of groups. epsilon: default 1e-5.
 * DirectML: MEAN_VARIANCE_NORMALIZATION1. Reference: torch.nn.functional.group_norm. @autocast float32
 */
export const groupNorm = function ($0: never, $1: never, $2: never = undefined as never, $3: never = undefined as never, $4: never, $5: never) { if (!(isTensor($0) && kinds.number.is($1) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && (isTensor($3) || $3 === undefined || kinds.tensorOrNull.is($3)) && ($4 === undefined || kinds.numberOrNormOptions.is($4)) && ($5 === undefined || kinds.NormOptions.is($5)) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("groupNorm", "x groups:number weight:tensorOrNull? bias:tensorOrNull? eps:numberOrNormOptions? options:NormOptions?", arguments); try { return (openRegions === 0 ? $normGroupNorm.groupNorm : listed("float32", "groupNorm", $normGroupNorm.groupNorm))($0, $1, $2, $3, $4, $5); } catch (error) { throw under("groupNorm", error); } } as unknown as typeof $normGroupNorm.groupNorm;
export type { InstanceNormOptions } from "../norm/instance-norm.ts";
/**
 * (x - mean) / sqrt(variance + epsilon) * weight + bias for each channel of each sample, over the spatial axes. x: [N, C, ...],
 * floating. DirectML: MEAN_VARIANCE_NORMALIZATION1; BATCH_NORMALIZATION by running statistics. Reference: torch.nn.functional.instance_norm.
 */
export const instanceNorm = function ($0: never, $1: never = undefined as never, $2: never = undefined as never, $3: never = undefined as never) { if (!(isTensor($0) && (isTensor($1) || $1 === undefined || kinds.tensorOrNull.is($1)) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && ($3 === undefined || kinds.InstanceNormOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("instanceNorm", "x weight:tensorOrNull? bias:tensorOrNull? options:InstanceNormOptions?", arguments); try { return $normInstanceNorm.instanceNorm($0, $1, $2, $3); } catch (error) { throw under("instanceNorm", error); } } as unknown as typeof $normInstanceNorm.instanceNorm;
export type { Normalized } from "../norm/native-norm.ts";
/** layerNorm() with its statistics, which have length 1 along the normalised axes. Reference: torch.native_layer_norm. @autocast float32 */
export const nativeLayerNorm = function ($0: never, $1: never, $2: never = undefined as never, $3: never = undefined as never, $4: never = undefined as never) { if (!(isTensor($0) && kinds.numbers.is($1) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && (isTensor($3) || $3 === undefined || kinds.tensorOrNull.is($3)) && ($4 === undefined || kinds.Epsilon.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("nativeLayerNorm", "x normalizedShape:numbers weight:tensorOrNull? bias:tensorOrNull? options:Epsilon?", arguments); try { return (openRegions === 0 ? $normNativeNorm.nativeLayerNorm : listed("float32", "nativeLayerNorm", $normNativeNorm.nativeLayerNorm))($0, $1, $2, $3, $4); } catch (error) { throw under("nativeLayerNorm", error); } } as unknown as typeof $normNativeNorm.nativeLayerNorm;
/** groupNorm() with its statistics [N, groups]. Reference: torch.native_group_norm. */
export const nativeGroupNorm = function ($0: never, $1: never, $2: never = undefined as never, $3: never = undefined as never, $4: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && (isTensor($3) || $3 === undefined || kinds.tensorOrNull.is($3)) && ($4 === undefined || kinds.Epsilon.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("nativeGroupNorm", "x groups:number weight:tensorOrNull? bias:tensorOrNull? options:Epsilon?", arguments); try { return $normNativeNorm.nativeGroupNorm($0, $1, $2, $3, $4); } catch (error) { throw under("nativeGroupNorm", error); } } as unknown as typeof $normNativeNorm.nativeGroupNorm;
/**
 * batchNorm() with the batch's statistics [C] in training; else they are empty, as the running ones were used.
 * Reference: torch.native_batch_norm.
 */
export const nativeBatchNorm = function ($0: never, $1: never, $2: never, $3: never = undefined as never, $4: never = undefined as never, $5: never = undefined as never) { if (!(isTensor($0) && (isTensor($1) || kinds.tensorOrNull.is($1)) && (isTensor($2) || kinds.tensorOrNull.is($2)) && (isTensor($3) || $3 === undefined || kinds.tensorOrNull.is($3)) && (isTensor($4) || $4 === undefined || kinds.tensorOrNull.is($4)) && ($5 === undefined || kinds.BatchNormOptions.is($5)) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("nativeBatchNorm", "x runningMean:tensorOrNull runningVariance:tensorOrNull weight:tensorOrNull? bias:tensorOrNull? options:BatchNormOptions?", arguments); try { return $normNativeNorm.nativeBatchNorm($0, $1, $2, $3, $4, $5); } catch (error) { throw under("nativeBatchNorm", error); } } as unknown as typeof $normNativeNorm.nativeBatchNorm;
export type { RmsNormOptions } from "../norm/rms-norm.ts";
export type { LocalResponseOptions } from "../norm/rms-norm.ts";
/**
 * x / sqrt(mean(x²) + epsilon) * weight over the last axes, whose lengths are normalizedShape. epsilon: default the dtype's own.
 * DirectML: REDUCE AVERAGE, SQRT. Reference: torch.nn.functional.rms_norm. @autocast float32
 */
export const rmsNorm = function ($0: never, $1: never, $2: never = undefined as never, $3: never, $4: never) { if (!(isTensor($0) && kinds.numbers.is($1) && (isTensor($2) || $2 === undefined || kinds.tensorOrNull.is($2)) && ($3 === undefined || kinds.numberOrNullOrRmsNormOptions.is($3)) && ($4 === undefined || kinds.RmsNormOptions.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("rmsNorm", "x normalizedShape:numbers weight:tensorOrNull? eps:numberOrNullOrRmsNormOptions? options:RmsNormOptions?", arguments); try { return (openRegions === 0 ? $normRmsNorm.rmsNorm : listed("float32", "rmsNorm", $normRmsNorm.rmsNorm))($0, $1, $2, $3, $4); } catch (error) { throw under("rmsNorm", error); } } as unknown as typeof $normRmsNorm.rmsNorm;
/**
 * x / (k + alpha times the mean of the squares of `size` neighbouring channels)^beta. x: [N, C, ...].
 * DirectML: AVERAGE_POOLING, POW. Reference: torch.nn.functional.local_response_norm.
 * @autocast float32
 */
export const localResponseNorm = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.LocalResponseOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("localResponseNorm", "x size:number options:LocalResponseOptions?", arguments); try { return (openRegions === 0 ? $normRmsNorm.localResponseNorm : listed("float32", "localResponseNorm", $normRmsNorm.localResponseNorm))($0, $1, $2); } catch (error) { throw under("localResponseNorm", error); } } as unknown as typeof $normRmsNorm.localResponseNorm;
/**
 * v * g / |v|, the norm over all axes but one (null: over all). g: of that axis' length, with 1 for the others, or one that broadcasts so.
 * Gradients flow to both. Reference: torch._weight_norm.
 */
export const weightNorm = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.numberOrNull.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("weightNorm", "v g axis:numberOrNull?", arguments); try { return $normWeightNorm.weightNorm($0, $1, $2); } catch (error) { throw under("weightNorm", error); } } as unknown as typeof $normWeightNorm.weightNorm;
/**
 * Means of windows that divide x [N, C, W] or [C, W] (float16 or float32) into outputSize parts, which overlap where the lengths do not divide evenly.
 * DirectML: AVERAGE_POOLING where they do, else GATHER and REDUCE. Reference: torch.nn.functional.adaptive_avg_pool1d.
 * @functional
 */
export const adaptiveAvgPool1d = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrListOfNumberOrNull.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("adaptiveAvgPool1d", "x outputSize:numberOrListOfNumberOrNull", arguments); try { return $poolAdaptivePool.adaptiveAvgPool1d($0, $1); } catch (error) { throw under("adaptiveAvgPool1d", error); } } as unknown as typeof $poolAdaptivePool.adaptiveAvgPool1d;
/** adaptiveAvgPool1d over two spatial axes. Reference: torch.nn.functional.adaptive_avg_pool2d. @functional */
export const adaptiveAvgPool2d = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrListOfNumberOrNull.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("adaptiveAvgPool2d", "x outputSize:numberOrListOfNumberOrNull", arguments); try { return $poolAdaptivePool.adaptiveAvgPool2d($0, $1); } catch (error) { throw under("adaptiveAvgPool2d", error); } } as unknown as typeof $poolAdaptivePool.adaptiveAvgPool2d;
/** adaptiveAvgPool1d over three spatial axes. Reference: torch.nn.functional.adaptive_avg_pool3d. @functional */
export const adaptiveAvgPool3d = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrListOfNumberOrNull.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("adaptiveAvgPool3d", "x outputSize:numberOrListOfNumberOrNull", arguments); try { return $poolAdaptivePool.adaptiveAvgPool3d($0, $1); } catch (error) { throw under("adaptiveAvgPool3d", error); } } as unknown as typeof $poolAdaptivePool.adaptiveAvgPool3d;
/**
 * Maxima of the windows of adaptiveAvgPool1d. DirectML: MAX_POOLING2, GATHER. Reference: torch.nn.functional.adaptive_max_pool1d.
 * @functional
 */
export const adaptiveMaxPool1d = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrListOfNumberOrNull.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("adaptiveMaxPool1d", "x outputSize:numberOrListOfNumberOrNull", arguments); try { return $poolAdaptivePool.adaptiveMaxPool1d($0, $1); } catch (error) { throw under("adaptiveMaxPool1d", error); } } as unknown as typeof $poolAdaptivePool.adaptiveMaxPool1d;
/** adaptiveMaxPool1d over two spatial axes. Reference: torch.nn.functional.adaptive_max_pool2d. @functional */
export const adaptiveMaxPool2d = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrListOfNumberOrNull.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("adaptiveMaxPool2d", "x outputSize:numberOrListOfNumberOrNull", arguments); try { return $poolAdaptivePool.adaptiveMaxPool2d($0, $1); } catch (error) { throw under("adaptiveMaxPool2d", error); } } as unknown as typeof $poolAdaptivePool.adaptiveMaxPool2d;
/** adaptiveMaxPool1d over three spatial axes. Reference: torch.nn.functional.adaptive_max_pool3d. @functional */
export const adaptiveMaxPool3d = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrListOfNumberOrNull.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("adaptiveMaxPool3d", "x outputSize:numberOrListOfNumberOrNull", arguments); try { return $poolAdaptivePool.adaptiveMaxPool3d($0, $1); } catch (error) { throw under("adaptiveMaxPool3d", error); } } as unknown as typeof $poolAdaptivePool.adaptiveMaxPool3d;
/** adaptiveMaxPool1d that also returns the maxima's int32 indices within the plane. */
export const adaptiveMaxPool1dWithIndices = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrListOfNumberOrNull.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("adaptiveMaxPool1dWithIndices", "x outputSize:numberOrListOfNumberOrNull", arguments); try { return $poolAdaptivePool.adaptiveMaxPool1dWithIndices($0, $1); } catch (error) { throw under("adaptiveMaxPool1dWithIndices", error); } } as unknown as typeof $poolAdaptivePool.adaptiveMaxPool1dWithIndices;
/** adaptiveMaxPool2d that also returns the maxima's indices. */
export const adaptiveMaxPool2dWithIndices = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrListOfNumberOrNull.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("adaptiveMaxPool2dWithIndices", "x outputSize:numberOrListOfNumberOrNull", arguments); try { return $poolAdaptivePool.adaptiveMaxPool2dWithIndices($0, $1); } catch (error) { throw under("adaptiveMaxPool2dWithIndices", error); } } as unknown as typeof $poolAdaptivePool.adaptiveMaxPool2dWithIndices;
/** adaptiveMaxPool3d that also returns the maxima's indices. */
export const adaptiveMaxPool3dWithIndices = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrListOfNumberOrNull.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("adaptiveMaxPool3dWithIndices", "x outputSize:numberOrListOfNumberOrNull", arguments); try { return $poolAdaptivePool.adaptiveMaxPool3dWithIndices($0, $1); } catch (error) { throw under("adaptiveMaxPool3dWithIndices", error); } } as unknown as typeof $poolAdaptivePool.adaptiveMaxPool3dWithIndices;
export type { PoolOptions } from "../pool/pool.ts";
export type { MaxPoolOptions } from "../pool/pool.ts";
export type { AvgPoolOptions } from "../pool/pool.ts";
export type { Pooled } from "../pool/pool.ts";
/**
 * Maximum of each window of `size` elements. x: [N, C, W] or [C, W], float16 or float32; result: the same with
 * (W + 2 padding - dilation (size - 1) - 1) / stride + 1 elements, rounded down (up with ceilMode). The gradient goes to the first
 * maximum of each window. DirectML: MAX_POOLING2, MAX_POOLING_GRAD. Reference: torch.nn.functional.max_pool1d.
 */
export const maxPool1d = function ($0: never, $1: never, $2: never, $3: never, $4: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.numberOrNumbersOrMaxPoolOptions.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrMaxPoolOptions.is($3)) && ($4 === undefined || kinds.MaxPoolOptions.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("maxPool1d", "x size:numberOrNumbers stride:numberOrNumbersOrMaxPoolOptions? padding:numberOrNumbersOrMaxPoolOptions? options:MaxPoolOptions?", arguments); try { return $poolPool.maxPool1d($0, $1, $2, $3, $4); } catch (error) { throw under("maxPool1d", error); } } as unknown as typeof $poolPool.maxPool1d;
/** maxPool1d over two spatial axes: x [N, C, H, W] or [C, H, W]. Reference: torch.nn.functional.max_pool2d. */
export const maxPool2d = function ($0: never, $1: never, $2: never, $3: never, $4: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.numberOrNumbersOrMaxPoolOptions.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrMaxPoolOptions.is($3)) && ($4 === undefined || kinds.MaxPoolOptions.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("maxPool2d", "x size:numberOrNumbers stride:numberOrNumbersOrMaxPoolOptions? padding:numberOrNumbersOrMaxPoolOptions? options:MaxPoolOptions?", arguments); try { return $poolPool.maxPool2d($0, $1, $2, $3, $4); } catch (error) { throw under("maxPool2d", error); } } as unknown as typeof $poolPool.maxPool2d;
/** maxPool1d over three spatial axes: x [N, C, D, H, W] or [C, D, H, W]. Reference: torch.nn.functional.max_pool3d. */
export const maxPool3d = function ($0: never, $1: never, $2: never, $3: never, $4: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.numberOrNumbersOrMaxPoolOptions.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrMaxPoolOptions.is($3)) && ($4 === undefined || kinds.MaxPoolOptions.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("maxPool3d", "x size:numberOrNumbers stride:numberOrNumbersOrMaxPoolOptions? padding:numberOrNumbersOrMaxPoolOptions? options:MaxPoolOptions?", arguments); try { return $poolPool.maxPool3d($0, $1, $2, $3, $4); } catch (error) { throw under("maxPool3d", error); } } as unknown as typeof $poolPool.maxPool3d;
/** maxPool1d that also returns the maxima's indices. */
export const maxPool1dWithIndices = function ($0: never, $1: never, $2: never, $3: never, $4: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.numberOrNumbersOrMaxPoolOptions.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrMaxPoolOptions.is($3)) && ($4 === undefined || kinds.MaxPoolOptions.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("maxPool1dWithIndices", "x size:numberOrNumbers stride:numberOrNumbersOrMaxPoolOptions? padding:numberOrNumbersOrMaxPoolOptions? options:MaxPoolOptions?", arguments); try { return $poolPool.maxPool1dWithIndices($0, $1, $2, $3, $4); } catch (error) { throw under("maxPool1dWithIndices", error); } } as unknown as typeof $poolPool.maxPool1dWithIndices;
/** maxPool2d that also returns the maxima's indices. */
export const maxPool2dWithIndices = function ($0: never, $1: never, $2: never, $3: never, $4: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.numberOrNumbersOrMaxPoolOptions.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrMaxPoolOptions.is($3)) && ($4 === undefined || kinds.MaxPoolOptions.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("maxPool2dWithIndices", "x size:numberOrNumbers stride:numberOrNumbersOrMaxPoolOptions? padding:numberOrNumbersOrMaxPoolOptions? options:MaxPoolOptions?", arguments); try { return $poolPool.maxPool2dWithIndices($0, $1, $2, $3, $4); } catch (error) { throw under("maxPool2dWithIndices", error); } } as unknown as typeof $poolPool.maxPool2dWithIndices;
/** maxPool3d that also returns the maxima's indices. */
export const maxPool3dWithIndices = function ($0: never, $1: never, $2: never, $3: never, $4: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.numberOrNumbersOrMaxPoolOptions.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrMaxPoolOptions.is($3)) && ($4 === undefined || kinds.MaxPoolOptions.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("maxPool3dWithIndices", "x size:numberOrNumbers stride:numberOrNumbersOrMaxPoolOptions? padding:numberOrNumbersOrMaxPoolOptions? options:MaxPoolOptions?", arguments); try { return $poolPool.maxPool3dWithIndices($0, $1, $2, $3, $4); } catch (error) { throw under("maxPool3dWithIndices", error); } } as unknown as typeof $poolPool.maxPool3dWithIndices;
/**
 * Mean of each window of `size` elements. x: [N, C, W] or [C, W], float16 or float32. Shapes as for maxPool1d, without dilation.
 * DirectML: AVERAGE_POOLING, AVERAGE_POOLING_GRAD. Reference: torch.nn.functional.avg_pool1d.
 */
export const avgPool1d = function ($0: never, $1: never, $2: never, $3: never, $4: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.numberOrNumbersOrAvgPoolOptions.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrAvgPoolOptions.is($3)) && ($4 === undefined || kinds.AvgPoolOptions.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("avgPool1d", "x size:numberOrNumbers stride:numberOrNumbersOrAvgPoolOptions? padding:numberOrNumbersOrAvgPoolOptions? options:AvgPoolOptions?", arguments); try { return $poolPool.avgPool1d($0, $1, $2, $3, $4); } catch (error) { throw under("avgPool1d", error); } } as unknown as typeof $poolPool.avgPool1d;
/** avgPool1d over two spatial axes. Reference: torch.nn.functional.avg_pool2d. */
export const avgPool2d = function ($0: never, $1: never, $2: never, $3: never, $4: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.numberOrNumbersOrAvgPoolOptions.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrAvgPoolOptions.is($3)) && ($4 === undefined || kinds.AvgPoolOptions.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("avgPool2d", "x size:numberOrNumbers stride:numberOrNumbersOrAvgPoolOptions? padding:numberOrNumbersOrAvgPoolOptions? options:AvgPoolOptions?", arguments); try { return $poolPool.avgPool2d($0, $1, $2, $3, $4); } catch (error) { throw under("avgPool2d", error); } } as unknown as typeof $poolPool.avgPool2d;
/** avgPool1d over three spatial axes. Reference: torch.nn.functional.avg_pool3d. */
export const avgPool3d = function ($0: never, $1: never, $2: never, $3: never, $4: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.numberOrNumbersOrAvgPoolOptions.is($2)) && ($3 === undefined || kinds.numberOrNumbersOrAvgPoolOptions.is($3)) && ($4 === undefined || kinds.AvgPoolOptions.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("avgPool3d", "x size:numberOrNumbers stride:numberOrNumbersOrAvgPoolOptions? padding:numberOrNumbersOrAvgPoolOptions? options:AvgPoolOptions?", arguments); try { return $poolPool.avgPool3d($0, $1, $2, $3, $4); } catch (error) { throw under("avgPool3d", error); } } as unknown as typeof $poolPool.avgPool3d;
export type { UnpoolOptions } from "../pool/unpool.ts";
export type { LpOptions } from "../pool/unpool.ts";
export type { FractionalOptions } from "../pool/unpool.ts";
/** Values at the indices that maxPool1dWithIndices found, zeros elsewhere. Reference: torch.nn.functional.max_unpool1d. DirectML: SCATTER. */
export const maxUnpool1d = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && kinds.numberOrNumbers.is($2) && ($3 === undefined || kinds.UnpoolOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("maxUnpool1d", "x indices size:numberOrNumbers options:UnpoolOptions?", arguments); try { return $poolUnpool.maxUnpool1d($0, $1, $2, $3); } catch (error) { throw under("maxUnpool1d", error); } } as unknown as typeof $poolUnpool.maxUnpool1d;
/** maxUnpool1d over two spatial axes. Reference: torch.nn.functional.max_unpool2d. */
export const maxUnpool2d = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && kinds.numberOrNumbers.is($2) && ($3 === undefined || kinds.UnpoolOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("maxUnpool2d", "x indices size:numberOrNumbers options:UnpoolOptions?", arguments); try { return $poolUnpool.maxUnpool2d($0, $1, $2, $3); } catch (error) { throw under("maxUnpool2d", error); } } as unknown as typeof $poolUnpool.maxUnpool2d;
/** maxUnpool1d over three spatial axes. Reference: torch.nn.functional.max_unpool3d. */
export const maxUnpool3d = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && kinds.numberOrNumbers.is($2) && ($3 === undefined || kinds.UnpoolOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("maxUnpool3d", "x indices size:numberOrNumbers options:UnpoolOptions?", arguments); try { return $poolUnpool.maxUnpool3d($0, $1, $2, $3); } catch (error) { throw under("maxUnpool3d", error); } } as unknown as typeof $poolUnpool.maxUnpool3d;
/** (sum of x^p over each window)^(1/p). Reference: torch.nn.functional.lp_pool1d. DirectML: POW, AVERAGE_POOLING. @autocast float32 */
export const lpPool1d = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.numberOrNumbers.is($2) && ($3 === undefined || kinds.LpOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("lpPool1d", "x p:number size:numberOrNumbers options:LpOptions?", arguments); try { return (openRegions === 0 ? $poolUnpool.lpPool1d : listed("float32", "lpPool1d", $poolUnpool.lpPool1d))($0, $1, $2, $3); } catch (error) { throw under("lpPool1d", error); } } as unknown as typeof $poolUnpool.lpPool1d;
/** lpPool1d over two spatial axes. Reference: torch.nn.functional.lp_pool2d. @autocast float32 */
export const lpPool2d = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.numberOrNumbers.is($2) && ($3 === undefined || kinds.LpOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("lpPool2d", "x p:number size:numberOrNumbers options:LpOptions?", arguments); try { return (openRegions === 0 ? $poolUnpool.lpPool2d : listed("float32", "lpPool2d", $poolUnpool.lpPool2d))($0, $1, $2, $3); } catch (error) { throw under("lpPool2d", error); } } as unknown as typeof $poolUnpool.lpPool2d;
/** lpPool1d over three spatial axes. Reference: torch.nn.functional.lp_pool3d. @autocast float32 */
export const lpPool3d = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.numberOrNumbers.is($2) && ($3 === undefined || kinds.LpOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("lpPool3d", "x p:number size:numberOrNumbers options:LpOptions?", arguments); try { return (openRegions === 0 ? $poolUnpool.lpPool3d : listed("float32", "lpPool3d", $poolUnpool.lpPool3d))($0, $1, $2, $3); } catch (error) { throw under("lpPool3d", error); } } as unknown as typeof $poolUnpool.lpPool3d;
/** Maxima of windows whose distances vary at random. x: [N, C, H, W] or [C, H, W]. Reference: torch.nn.functional.fractional_max_pool2d. DirectML: GATHER_ELEMENTS, REDUCE MAX. */
export const fractionalMaxPool2d = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && kinds.FractionalOptions.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("fractionalMaxPool2d", "x size:numberOrNumbers options:FractionalOptions", arguments); try { return $poolUnpool.fractionalMaxPool2d($0, $1, $2); } catch (error) { throw under("fractionalMaxPool2d", error); } } as unknown as typeof $poolUnpool.fractionalMaxPool2d;
/** fractionalMaxPool2d that also returns the maxima's indices. */
export const fractionalMaxPool2dWithIndices = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && kinds.FractionalOptions.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("fractionalMaxPool2dWithIndices", "x size:numberOrNumbers options:FractionalOptions", arguments); try { return $poolUnpool.fractionalMaxPool2dWithIndices($0, $1, $2); } catch (error) { throw under("fractionalMaxPool2dWithIndices", error); } } as unknown as typeof $poolUnpool.fractionalMaxPool2dWithIndices;
/** fractionalMaxPool2d over three spatial axes. Reference: torch.nn.functional.fractional_max_pool3d. */
export const fractionalMaxPool3d = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && kinds.FractionalOptions.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("fractionalMaxPool3d", "x size:numberOrNumbers options:FractionalOptions", arguments); try { return $poolUnpool.fractionalMaxPool3d($0, $1, $2); } catch (error) { throw under("fractionalMaxPool3d", error); } } as unknown as typeof $poolUnpool.fractionalMaxPool3d;
/** fractionalMaxPool3d that also returns the maxima's indices. */
export const fractionalMaxPool3dWithIndices = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && kinds.FractionalOptions.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("fractionalMaxPool3dWithIndices", "x size:numberOrNumbers options:FractionalOptions", arguments); try { return $poolUnpool.fractionalMaxPool3dWithIndices($0, $1, $2); } catch (error) { throw under("fractionalMaxPool3dWithIndices", error); } } as unknown as typeof $poolUnpool.fractionalMaxPool3dWithIndices;
export type { QuantizeOptions } from "../quantized/quantize.ts";
export type { DequantizeOptions } from "../quantized/quantize.ts";
/**
 * x as integers of `dtype`. scale: above 0. Reference: torch.ops.quantized_decomposed.quantize_per_tensor and quantize_per_channel.
 */
export const quantize = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && (isTensor($1) || kinds.numberOrTensor.is($1)) && (isTensor($2) || kinds.numberOrTensor.is($2)) && ($3 === undefined || kinds.QuantizeOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("quantize", "x scale:numberOrTensor zeroPoint:numberOrTensor options:QuantizeOptions?", arguments); try { return $quantizedQuantize.quantize($0, $1, $2, $3); } catch (error) { throw under("quantize", error); } } as unknown as typeof $quantizedQuantize.quantize;
/** (x - zeroPoint) * scale in float32. Gradients flow to scale and zeroPoint. Reference: torch.ops.quantized_decomposed.dequantize_per_tensor. */
export const dequantize = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && (isTensor($1) || kinds.numberOrTensor.is($1)) && (isTensor($2) || kinds.numberOrTensor.is($2)) && ($3 === undefined || kinds.DequantizeOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("dequantize", "x scale:numberOrTensor zeroPoint:numberOrTensor options:DequantizeOptions?", arguments); try { return $quantizedQuantize.dequantize($0, $1, $2, $3); } catch (error) { throw under("dequantize", error); } } as unknown as typeof $quantizedQuantize.dequantize;
/**
 * quantize() and dequantize() in one, in x's dtype; the gradient goes through as if nothing were rounded, except where the limits cut.
 * Reference: torch.fake_quantize_per_tensor_affine.
 */
export const fakeQuantizePerTensorAffine = function ($0: never, $1: never, $2: never, $3: never, $4: never) { if (!(isTensor($0) && (isTensor($1) || kinds.numberOrTensor.is($1)) && (isTensor($2) || kinds.numberOrTensor.is($2)) && kinds.number.is($3) && kinds.number.is($4) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("fakeQuantizePerTensorAffine", "x scale:numberOrTensor zeroPoint:numberOrTensor min:number max:number", arguments); try { return $quantizedQuantize.fakeQuantizePerTensorAffine($0, $1, $2, $3, $4); } catch (error) { throw under("fakeQuantizePerTensorAffine", error); } } as unknown as typeof $quantizedQuantize.fakeQuantizePerTensorAffine;
/** fakeQuantizePerTensorAffine() with a scale and a zero point for each index of an axis. Reference: torch.fake_quantize_per_channel_affine. */
export const fakeQuantizePerChannelAffine = function ($0: never, $1: never, $2: never, $3: never, $4: never, $5: never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && kinds.number.is($3) && kinds.number.is($4) && kinds.number.is($5) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("fakeQuantizePerChannelAffine", "x scale zeroPoint axis:number min:number max:number", arguments); try { return $quantizedQuantize.fakeQuantizePerChannelAffine($0, $1, $2, $3, $4, $5); } catch (error) { throw under("fakeQuantizePerChannelAffine", error); } } as unknown as typeof $quantizedQuantize.fakeQuantizePerChannelAffine;
export type { IntegerConvOptions } from "../quantized/quantized-conv.ts";
/**
 * The convolution of x - aZeroPoint with weight - bZeroPoint, summed exactly modulo 2^32. x: [N, Ci, W] or [N, Ci, H, W], weight:
 * [Co, Ci / groups, kernel...], int8 or uint8; bZeroPoint: one, or one for each channel of the result. Result: int32. Has no gradient.
 * DirectML: CONVOLUTION_INTEGER. Reference: ONNX ConvInteger.
 */
export const convInteger = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.stride_79d8ae.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("convInteger", "x weight options:stride_79d8ae?", arguments); try { return $quantizedQuantizedConv.convInteger($0, $1, $2); } catch (error) { throw under("convInteger", error); } } as unknown as typeof $quantizedQuantizedConv.convInteger;
/**
 * The convolution of what x and weight stand for, quantized again. x.values: [N, Ci, W] or [N, Ci, H, W], weight.values:
 * [Co, Ci / groups, kernel...], int8 or uint8; weight's scale and zero point: one, or one for each channel of the result. bias: [Co] int32,
 * in units of x.scale * weight.scale. Has no gradient.
 * DirectML: QUANTIZED_LINEAR_CONVOLUTION. Reference: ONNX QLinearConv.
 */
export const qlinearConv = function ($0: never, $1: never, $2: never, $3: never, $4: never = undefined as never) { if (!(kinds.Quantized.is($0) && kinds.Quantized.is($1) && (isTensor($2) || kinds.tensorOrNull.is($2)) && kinds.QuantizedResult.is($3) && ($4 === undefined || kinds.IntegerConvOptions.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("qlinearConv", "x:Quantized weight:Quantized bias:tensorOrNull result:QuantizedResult options:IntegerConvOptions?", arguments); try { return $quantizedQuantizedConv.qlinearConv($0, $1, $2, $3, $4); } catch (error) { throw under("qlinearConv", error); } } as unknown as typeof $quantizedQuantizedConv.qlinearConv;
export type { Levels } from "../quantized/quantized.ts";
export type { Quantized } from "../quantized/quantized.ts";
export type { QuantizedResult } from "../quantized/quantized.ts";
export type { ZeroPoints } from "../quantized/quantized.ts";
export type { QuantizedPoolOptions } from "../quantized/quantized.ts";
export type { QuantizationParameters } from "../quantized/quantized.ts";
/**
 * (a - aZeroPoint) @ (b - bZeroPoint), summed exactly modulo 2^32. a: [..., M, K], b: [..., K, N], int8 or uint8; leading axes broadcast.
 * Result: [..., M, N] int32. Has no gradient.
 * DirectML: MATRIX_MULTIPLY_INTEGER. Reference: torch._int_mm; ONNX MatMulInteger.
 */
export const intMm = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.ZeroPoints.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("intMm", "a b options:ZeroPoints?", arguments); try { return $quantizedQuantized.intMm($0, $1, $2); } catch (error) { throw under("intMm", error); } } as unknown as typeof $quantizedQuantized.intMm;
/**
 * The matmul of the dequantized a and b, quantized: clamp(round(a b / scale) + zeroPoint). a.values: [..., M, K], b.values:
 * [..., K, N], int8 or uint8. Scales and zero points: one; of a and the result also one for each row, of b for each column. Has no gradient.
 * DirectML: QUANTIZED_LINEAR_MATRIX_MULTIPLY. Reference: ONNX QLinearMatMul.
 */
export const qlinearMatmul = function ($0: never, $1: never, $2: never) { if (!(kinds.Quantized.is($0) && kinds.Quantized.is($1) && kinds.QuantizedResult.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("qlinearMatmul", "a:Quantized b:Quantized result:QuantizedResult", arguments); try { return $quantizedQuantized.qlinearMatmul($0, $1, $2); } catch (error) { throw under("qlinearMatmul", error); } } as unknown as typeof $quantizedQuantized.qlinearMatmul;
/**
 * The sum of what a and b stand for, quantized again; shapes broadcast. int8 or uint8; scales and zero points: one each. Has no gradient.
 * DirectML: ELEMENT_WISE_QUANTIZED_LINEAR_ADD. Reference: onnxruntime's QLinearAdd.
 */
export const qlinearAdd = function ($0: never, $1: never, $2: never) { if (!(kinds.Quantized.is($0) && kinds.Quantized.is($1) && kinds.QuantizedResult.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("qlinearAdd", "a:Quantized b:Quantized result:QuantizedResult", arguments); try { return $quantizedQuantized.qlinearAdd($0, $1, $2); } catch (error) { throw under("qlinearAdd", error); } } as unknown as typeof $quantizedQuantized.qlinearAdd;
/**
 * Means over windows of what x stands for, quantized again. x.values: [N, C, H, W] int8 or uint8; scales and zero points: one each.
 * Has no gradient.
 * DirectML: QUANTIZED_LINEAR_AVERAGE_POOLING; before level 6.2 AVERAGE_POOLING of real numbers. Reference: onnxruntime's QLinearAveragePool.
 */
export const qlinearAvgPool2d = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(kinds.Quantized.is($0) && kinds.numberOrNumbers.is($1) && kinds.QuantizedResult.is($2) && ($3 === undefined || kinds.QuantizedPoolOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("qlinearAvgPool2d", "x:Quantized size:numberOrNumbers result:QuantizedResult options:QuantizedPoolOptions?", arguments); try { return $quantizedQuantized.qlinearAvgPool2d($0, $1, $2, $3); } catch (error) { throw under("qlinearAvgPool2d", error); } } as unknown as typeof $quantizedQuantized.qlinearAvgPool2d;
/**
 * scale and zeroPoint with which the levels min to max hold all of x and 0: scale = (high - low) / (max - min), at least `eps`.
 * x: floating, at least one element. Nothing is read back.
 * DirectML: REDUCE MIN and MAX. Reference: torch.ops.quantized_decomposed.choose_qparams.tensor.
 */
export const chooseQparams = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.min_72d58d.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("chooseQparams", "x options:min_72d58d?", arguments); try { return $quantizedQuantized.chooseQparams($0, $1); } catch (error) { throw under("chooseQparams", error); } } as unknown as typeof $quantizedQuantized.chooseQparams;
/**
 * x times weights of 8 bits, transposed: (x @ weight.T) * scales. x: [..., K] floating, weight: [N, K] int8, scales: [N]. Gradients flow to
 * x and scales. DirectML: CAST, GEMM. Reference: torch._weight_int8pack_mm.
 */
export const weightInt8packMm = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("weightInt8packMm", "x weight scales", arguments); try { return $quantizedQuantized.weightInt8packMm($0, $1, $2); } catch (error) { throw under("weightInt8packMm", error); } } as unknown as typeof $quantizedQuantized.weightInt8packMm;
/**
 * x times weights of 4 bits, transposed, in groups of `groupSize` along K: w = (level - 8) * scale + zero. x: [..., K] floating. weight:
 * [N, K / 2] uint8, of each byte first the upper half. scales and zeros: [K / groupSize, N, 2], the scale first. Gradients flow to x and
 * to scales and zeros.
 * DirectML: bit operations, CAST, GEMM. Reference: torch._weight_int4pack_mm, whose packing is that of torch._convert_weight_to_int4pack's input.
 */
export const weightInt4packMm = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && isTensor($1) && kinds.number.is($2) && isTensor($3) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("weightInt4packMm", "x weight groupSize:number scalesAndZeros", arguments); try { return $quantizedQuantized.weightInt4packMm($0, $1, $2, $3); } catch (error) { throw under("weightInt4packMm", error); } } as unknown as typeof $quantizedQuantized.weightInt4packMm;
/**
 * Normal numbers; mean and deviation are numbers or tensors that broadcast. Without a tensor, `shape` is the result's shape.
 * Reference: torch.normal. DirectML: RANDOM_GENERATOR, LOG, COS, SIN.
 */
export const normal = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!((isTensor($0) || kinds.tensorOrNumber.is($0)) && (isTensor($1) || $1 === undefined || kinds.tensorOrNumber.is($1)) && ($2 === undefined || kinds.dtype_178c3a.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("normal", "mean:tensorOrNumber std:tensorOrNumber? options:dtype_178c3a?", arguments); try { return $randomDistributions.normal($0, $1, $2); } catch (error) { throw under("normal", error); } } as unknown as typeof $randomDistributions.normal;
/** randint() with the shape of x, and its dtype and device unless the options name others. Reference: torch.randint_like. */
export const randintLike = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.number.is($2) && ($3 === undefined || kinds.RandomOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("randintLike", "x low:number high:number options:RandomOptions?", arguments); try { return $randomDistributions.randintLike($0, $1, $2, $3); } catch (error) { throw under("randintLike", error); } } as unknown as typeof $randomDistributions.randintLike;
/**
 * Indices drawn with probabilities proportional to weights [..., C]: int32 [..., count]. Without replacement (default)
 * no index is drawn twice. DirectML: CUMULATIVE_SUMMATION, or TOP_K1 of weights with Gumbel noise. Reference: torch.multinomial.
 */
export const multinomial = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.generator_235f06.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("multinomial", "weights count:number options:generator_235f06?", arguments); try { return $randomDistributions.multinomial($0, $1, $2); } catch (error) { throw under("multinomial", error); } } as unknown as typeof $randomDistributions.multinomial;
/**
 * Poisson numbers of the given rates, in their dtype: the inverse of the distribution function Q(k + 1, rate) at uniform numbers,
 * by bisection. DirectML: RANDOM_GENERATOR and igammac's. Reference: torch.poisson.
 */
export const poisson = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.SampleOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("poisson", "rate options:SampleOptions?", arguments); try { return $randomDistributions.poisson($0, $1); } catch (error) { throw under("poisson", error); } } as unknown as typeof $randomDistributions.poisson;
export type { DropoutOptions } from "../random/dropout.ts";
/**
 * x with elements set to zero at random, the others scaled by 1 / (1 - p). x: float16 or float32.
 * DirectML: RANDOM_GENERATOR, ELEMENT_WISE_IF, ELEMENT_WISE_MULTIPLY. Reference: torch.nn.functional.dropout.
 * @functional
 */
export const dropout = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrDropoutOptions.is($1)) && ($2 === undefined || kinds.DropoutOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("dropout", "x p:numberOrDropoutOptions? options:DropoutOptions?", arguments); try { return $randomDropout.dropout($0, $1, $2); } catch (error) { throw under("dropout", error); } } as unknown as typeof $randomDropout.dropout;
/**
 * Elements of x set to SELU's saturation at random, such that mean and variance stay. Reference: torch.nn.functional.alpha_dropout.
 * @functional
 */
export const alphaDropout = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrDropoutOptions.is($1)) && ($2 === undefined || kinds.DropoutOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("alphaDropout", "x p:numberOrDropoutOptions? options:DropoutOptions?", arguments); try { return $randomDropout.alphaDropout($0, $1, $2); } catch (error) { throw under("alphaDropout", error); } } as unknown as typeof $randomDropout.alphaDropout;
/** alphaDropout of whole channels of x [N, C, ...]. Reference: torch.nn.functional.feature_alpha_dropout. @functional */
export const featureAlphaDropout = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrDropoutOptions.is($1)) && ($2 === undefined || kinds.DropoutOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("featureAlphaDropout", "x p:numberOrDropoutOptions? options:DropoutOptions?", arguments); try { return $randomDropout.featureAlphaDropout($0, $1, $2); } catch (error) { throw under("featureAlphaDropout", error); } } as unknown as typeof $randomDropout.featureAlphaDropout;
/** dropout of whole channels of x [N, C, ...]. Reference: torch.nn.functional.dropout2d. @functional dropout1d dropout2d dropout3d */
export const dropoutChannels = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrDropoutOptions.is($1)) && ($2 === undefined || kinds.DropoutOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("dropoutChannels", "x p:numberOrDropoutOptions? options:DropoutOptions?", arguments); try { return $randomDropout.dropoutChannels($0, $1, $2); } catch (error) { throw under("dropoutChannels", error); } } as unknown as typeof $randomDropout.dropoutChannels;
export type { RReluOptions } from "../random/random-activation.ts";
export type { GumbelOptions } from "../random/random-activation.ts";
/** x where x > 0, a slope drawn uniformly from [lower, upper) times x elsewhere. Reference: torch.nn.functional.rrelu. */
export const rrelu = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.RReluOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("rrelu", "x options:RReluOptions?", arguments); try { return $randomRandomActivation.rrelu($0, $1); } catch (error) { throw under("rrelu", error); } } as unknown as typeof $randomRandomActivation.rrelu;
/** softmax((x + Gumbel noise) / tau): a differentiable sample of a class. Reference: torch.nn.functional.gumbel_softmax. */
export const gumbelSoftmax = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.GumbelOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("gumbelSoftmax", "x options:GumbelOptions?", arguments); try { return $randomRandomActivation.gumbelSoftmax($0, $1); } catch (error) { throw under("gumbelSoftmax", error); } } as unknown as typeof $randomRandomActivation.gumbelSoftmax;
/** y[..., o] = a W[o] b + bias[o]. a: [..., I]; b: [..., J]; weight: [O, I, J]. DirectML: GEMM. Reference: torch.nn.functional.bilinear. @autocast widest */
export const bilinear = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && (isTensor($3) || $3 === undefined || kinds.tensorOrNull.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("bilinear", "a b weight bias:tensorOrNull?", arguments); try { return (openRegions === 0 ? $randomRandomActivation.bilinear : listed("widest", "bilinear", $randomRandomActivation.bilinear))($0, $1, $2, $3); } catch (error) { throw under("bilinear", error); } } as unknown as typeof $randomRandomActivation.bilinear;
export type { GeneratorState } from "../random/random.ts";
export { Generator } from "../random/random.ts";
export type { RandomOptions } from "../random/random.ts";
/** The default generator. */
export const defaultGenerator = function () { if (!((arguments.length <= 0 || isAll(arguments, 0)))) throw refused("defaultGenerator", "", arguments); try { return $randomRandom.defaultGenerator(); } catch (error) { throw under("defaultGenerator", error); } } as unknown as typeof $randomRandom.defaultGenerator;
/** Seeds the default generator. Reference: torch.manual_seed. */
export const manualSeed = function ($0: never) { if (!(kinds.numberOrBigint.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("manualSeed", "seed:numberOrBigint", arguments); try { return $randomRandom.manualSeed($0); } catch (error) { throw under("manualSeed", error); } } as unknown as typeof $randomRandom.manualSeed;
/** Uniform numbers in [0, 1), multiples of 2^-24. Default dtype float32. Reference: torch.rand. DirectML: RANDOM_GENERATOR. */
export const rand = function ($0: never, $1: never = undefined as never) { if (!(kinds.numbers.is($0) && ($1 === undefined || kinds.RandomOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("rand", "shape:numbers options:RandomOptions?", arguments); try { return $randomRandom.rand($0, $1); } catch (error) { throw under("rand", error); } } as unknown as typeof $randomRandom.rand;
/** Normal numbers of mean 0 and deviation 1. Default dtype float32. Reference: torch.randn. DirectML: RANDOM_GENERATOR, LOG, COS, SIN. */
export const randn = function ($0: never, $1: never = undefined as never) { if (!(kinds.numbers.is($0) && ($1 === undefined || kinds.RandomOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("randn", "shape:numbers options:RandomOptions?", arguments); try { return $randomRandom.randn($0, $1); } catch (error) { throw under("randn", error); } } as unknown as typeof $randomRandom.randn;
/** rand() with the shape of x, and its dtype and device unless the options name others. */
export const randLike = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.RandomOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("randLike", "x options:RandomOptions?", arguments); try { return $randomRandom.randLike($0, $1); } catch (error) { throw under("randLike", error); } } as unknown as typeof $randomRandom.randLike;
/** randn() with the shape of x, and its dtype and device unless the options name others. */
export const randnLike = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.RandomOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("randnLike", "x options:RandomOptions?", arguments); try { return $randomRandom.randnLike($0, $1); } catch (error) { throw under("randnLike", error); } } as unknown as typeof $randomRandom.randnLike;
/** Integers in [low, high), at most 2^32 of them. Default dtype int64. Reference: torch.randint. DirectML: RANDOM_GENERATOR. */
export const randint = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(kinds.number.is($0) && kinds.number.is($1) && kinds.numbers.is($2) && ($3 === undefined || kinds.RandomOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("randint", "low:number high:number shape:numbers options:RandomOptions?", arguments); try { return $randomRandom.randint($0, $1, $2, $3); } catch (error) { throw under("randint", error); } } as unknown as typeof $randomRandom.randint;
/** 0 to n - 1 in a random order, drawn by the host. Default dtype int32. Reference: torch.randperm. */
export const randperm = function ($0: never, $1: never = undefined as never) { if (!(kinds.number.is($0) && ($1 === undefined || kinds.RandomOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("randperm", "n:number options:RandomOptions?", arguments); try { return $randomRandom.randperm($0, $1); } catch (error) { throw under("randperm", error); } } as unknown as typeof $randomRandom.randperm;
/** 1 with the probability that p names for each element, else 0, in p's dtype. Reference: torch.bernoulli. */
export const bernoulli = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.DrawOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("bernoulli", "p options:DrawOptions?", arguments); try { return $randomRandom.bernoulli($0, $1); } catch (error) { throw under("bernoulli", error); } } as unknown as typeof $randomRandom.bernoulli;
export type { RecurrentKind } from "../recurrent/recurrent.ts";
export type { RecurrentWeights } from "../recurrent/recurrent.ts";
export type { RecurrentOptions } from "../recurrent/recurrent.ts";
export type { RecurrentResult } from "../recurrent/recurrent.ts";
/**
 * A recurrent network over x [T, N, I] (or [T, I]; [N, T, I] with batchFirst). weights: per layer, and per direction within it.
 *
 * LSTM: c' = σ(f) c + σ(i) tanh(g), h' = σ(o) tanh(c'). GRU: h' = (1 - z) n + z h with n = tanh(x_n + r h_n). DirectML:
 * LSTM, GRU, RNN, a layer each; projected hidden states by GEMM, ACTIVATION_SIGMOID, ACTIVATION_TANH. Reference: torch.nn.LSTM, GRU, RNN.
 * @autocast lower
 */
export const recurrent = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(kinds.lstm_gru_tanh_relu.is($0) && isTensor($1) && kinds.RecurrentWeightss.is($2) && ($3 === undefined || kinds.RecurrentOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("recurrent", "kind:lstm_gru_tanh_relu x weights:RecurrentWeightss options:RecurrentOptions?", arguments); try { return (openRegions === 0 ? $recurrentRecurrent.recurrent : listed("lower", "recurrent", $recurrentRecurrent.recurrent))($0, $1, $2, $3); } catch (error) { throw under("recurrent", error); } } as unknown as typeof $recurrentRecurrent.recurrent;
/** One step of a cell. x: [N, I] or [I]; hidden and cell alike. Reference: torch.nn.LSTMCell, GRUCell, RNNCell. @autocast lower */
export const recurrentCell = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(kinds.lstm_gru_tanh_relu.is($0) && isTensor($1) && kinds.RecurrentWeights.is($2) && ($3 === undefined || kinds.hidden_5a415d.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("recurrentCell", "kind:lstm_gru_tanh_relu x weights:RecurrentWeights options:hidden_5a415d?", arguments); try { return (openRegions === 0 ? $recurrentRecurrent.recurrentCell : listed("lower", "recurrentCell", $recurrentRecurrent.recurrentCell))($0, $1, $2, $3); } catch (error) { throw under("recurrentCell", error); } } as unknown as typeof $recurrentRecurrent.recurrentCell;
export type { ReverseOptions } from "../recurrent/reverse-sequence.ts";
/**
 * Each sequence's first `length` elements in reverse order; what lies behind them stays. lengths: [sequences], integers. Gradients flow to x.
 * DirectML: GATHER_ELEMENTS. Reference: ONNX ReverseSequence.
 */
export const reverseSequence = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.ReverseOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("reverseSequence", "x lengths options:ReverseOptions?", arguments); try { return $recurrentReverseSequence.reverseSequence($0, $1, $2); } catch (error) { throw under("reverseSequence", error); } } as unknown as typeof $recurrentReverseSequence.reverseSequence;
/** 1 at the first largest element along an axis, 0 elsewhere, in x's dtype. Reference: ONNX Hardmax. */
export const hardmax = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("hardmax", "x axis:number?", arguments); try { return $recurrentReverseSequence.hardmax($0, $1); } catch (error) { throw under("hardmax", error); } } as unknown as typeof $recurrentReverseSequence.hardmax;
export type { DiffOptions } from "../reduce/calculus.ts";
export type { TrapezoidOptions } from "../reduce/calculus.ts";
export type { GradientOptions } from "../reduce/calculus.ts";
export type { VanderOptions } from "../reduce/calculus.ts";
/** Differences of neighbours along an axis, n times. Of bool: whether they differ. Reference: torch.diff. */
export const diff = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.DiffOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("diff", "x options:DiffOptions?", arguments); try { return $reduceCalculus.diff($0, $1); } catch (error) { throw under("diff", error); } } as unknown as typeof $reduceCalculus.diff;
/** The integral along an axis by the trapezoidal rule. Reference: torch.trapezoid. @autocast float32 */
export const trapezoid = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.TrapezoidOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("trapezoid", "y options:TrapezoidOptions?", arguments); try { return (openRegions === 0 ? $reduceCalculus.trapezoid : listed("float32", "trapezoid", $reduceCalculus.trapezoid))($0, $1); } catch (error) { throw under("trapezoid", error); } } as unknown as typeof $reduceCalculus.trapezoid;
/** The integral up to each index of an axis but the first. Reference: torch.cumulative_trapezoid. */
export const cumulativeTrapezoid = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.TrapezoidOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("cumulativeTrapezoid", "y options:TrapezoidOptions?", arguments); try { return $reduceCalculus.cumulativeTrapezoid($0, $1); } catch (error) { throw under("cumulativeTrapezoid", error); } } as unknown as typeof $reduceCalculus.cumulativeTrapezoid;
/** Slopes along axes by central differences, one tensor for each. x: floating, or integers, which give float32. Reference: torch.gradient. */
export const gradient = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.GradientOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("gradient", "x options:GradientOptions?", arguments); try { return $reduceCalculus.gradient($0, $1); } catch (error) { throw under("gradient", error); } } as unknown as typeof $reduceCalculus.gradient;
/** The powers of a vector's elements as rows (of several vectors, as matrices). Reference: torch.vander, torch.linalg.vander. */
export const vander = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.VanderOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("vander", "x options:VanderOptions?", arguments); try { return $reduceCalculus.vander($0, $1); } catch (error) { throw under("vander", error); } } as unknown as typeof $reduceCalculus.vander;
export type { CdistOptions } from "../reduce/distance.ts";
export type { PairwiseOptions } from "../reduce/distance.ts";
export type { SimilarityOptions } from "../reduce/distance.ts";
export type { NormalizeOptions } from "../reduce/distance.ts";
export type { MatrixOrder } from "../reduce/distance.ts";
/** The p-norm of a - b. Shapes broadcast. Reference: torch.dist. DirectML: REDUCE L2. @autocast float32 */
export const dist = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.number.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("dist", "a b p:number?", arguments); try { return (openRegions === 0 ? $reduceDistance.dist : listed("float32", "dist", $reduceDistance.dist))($0, $1, $2); } catch (error) { throw under("dist", error); } } as unknown as typeof $reduceDistance.dist;
/**
 * The p-norms of all differences of a row of a [..., P, M] and one of b [..., R, M]: [..., P, R]. Batches broadcast.
 * DirectML: GEMM and REDUCE SUM_SQUARE, or REDUCE L2. Reference: torch.cdist. @autocast float32
 */
export const cdist = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.numberOrCdistOptions.is($2)) && ($3 === undefined || kinds.CdistOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("cdist", "a b p:numberOrCdistOptions? options:CdistOptions?", arguments); try { return (openRegions === 0 ? $reduceDistance.cdist : listed("float32", "cdist", $reduceDistance.cdist))($0, $1, $2, $3); } catch (error) { throw under("cdist", error); } } as unknown as typeof $reduceDistance.cdist;
/** The p-norms of the differences of all pairs of rows of x [N, M], [N (N - 1) / 2]. Reference: torch.nn.functional.pdist. @functional @autocast float32 */
export const pdist = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("pdist", "x p:number?", arguments); try { return (openRegions === 0 ? $reduceDistance.pdist : listed("float32", "pdist", $reduceDistance.pdist))($0, $1); } catch (error) { throw under("pdist", error); } } as unknown as typeof $reduceDistance.pdist;
/** The p-norm of a - b + epsilon along the last axis. Shapes broadcast. Reference: torch.nn.functional.pairwise_distance. @functional */
export const pairwiseDistance = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.numberOrPairwiseOptions.is($2)) && ($3 === undefined || kinds.PairwiseOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("pairwiseDistance", "a b p:numberOrPairwiseOptions? options:PairwiseOptions?", arguments); try { return $reduceDistance.pairwiseDistance($0, $1, $2, $3); } catch (error) { throw under("pairwiseDistance", error); } } as unknown as typeof $reduceDistance.pairwiseDistance;
/**
 * The cosine of the angle between a and b along an axis; each is divided by its length, or by epsilon where that is less.
 * Shapes broadcast. Reference: torch.nn.functional.cosine_similarity.
 * @functional @autocast float32
 */
export const cosineSimilarity = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.numberOrSimilarityOptions.is($2)) && ($3 === undefined || kinds.number.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("cosineSimilarity", "a b axis:numberOrSimilarityOptions? eps:number?", arguments); try { return (openRegions === 0 ? $reduceDistance.cosineSimilarity : listed("float32", "cosineSimilarity", $reduceDistance.cosineSimilarity))($0, $1, $2, $3); } catch (error) { throw under("cosineSimilarity", error); } } as unknown as typeof $reduceDistance.cosineSimilarity;
/** x divided by its p-norm along an axis, or by epsilon where that is less. Reference: torch.nn.functional.normalize. @functional @autocast float32 */
export const normalize = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNormalizeOptions.is($1)) && ($2 === undefined || kinds.numberOrNumbers.is($2)) && ($3 === undefined || kinds.NormalizeOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("normalize", "x p:numberOrNormalizeOptions? axis:numberOrNumbers? options:NormalizeOptions?", arguments); try { return (openRegions === 0 ? $reduceDistance.normalize : listed("float32", "normalize", $reduceDistance.normalize))($0, $1, $2, $3); } catch (error) { throw under("normalize", error); } } as unknown as typeof $reduceDistance.normalize;
/**
 * The norm of the matrices that two axes (the last by default) span. Those made of singular values ("nuc", 2, -2) run on the
 * host. DirectML: REDUCE. Reference: torch.linalg.matrix_norm. @autocast float32
 */
export const matrixNorm = function ($0: never, $1: never = undefined as never, $2: never = undefined as never, $3: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.fro_nuc_n1_m1_n2_m2OrNumber.is($1)) && ($2 === undefined || kinds.numbers.is($2)) && ($3 === undefined || kinds.ReduceOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("matrixNorm", "x order:fro_nuc_n1_m1_n2_m2OrNumber? axes:numbers? options:ReduceOptions?", arguments); try { return (openRegions === 0 ? $reduceDistance.matrixNorm : listed("float32", "matrixNorm", $reduceDistance.matrixNorm))($0, $1, $2, $3); } catch (error) { throw under("matrixNorm", error); } } as unknown as typeof $reduceDistance.matrixNorm;
/** sum of a * b along an axis. Shapes broadcast. Reference: torch.linalg.vecdot. @autocast lower */
export const vecdot = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.number.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("vecdot", "a b axis:number?", arguments); try { return (openRegions === 0 ? $reduceDistance.vecdot : listed("lower", "vecdot", $reduceDistance.vecdot))($0, $1, $2); } catch (error) { throw under("vecdot", error); } } as unknown as typeof $reduceDistance.vecdot;
export type { IndexDType } from "../reduce/extrema.ts";
export type { Extremes } from "../reduce/extrema.ts";
export type { ArgOptions } from "../reduce/extrema.ts";
/** The largest element over the axes (all of them by default). Reference: torch.amax. DirectML: REDUCE MAX. */
export const amax = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && ($2 === undefined || kinds.ReduceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("amax", "x axis:numberOrNumbersOrNull? options:ReduceOptions?", arguments); try { return $reduceExtrema.amax($0, $1, $2); } catch (error) { throw under("amax", error); } } as unknown as typeof $reduceExtrema.amax;
/** The smallest element over the axes (all of them by default). Reference: torch.amin. DirectML: REDUCE MIN. */
export const amin = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && ($2 === undefined || kinds.ReduceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("amin", "x axis:numberOrNumbersOrNull? options:ReduceOptions?", arguments); try { return $reduceExtrema.amin($0, $1, $2); } catch (error) { throw under("amin", error); } } as unknown as typeof $reduceExtrema.amin;
/** The largest element of all, or with an axis the largest along it and their indices: {values, indices}. Reference: torch.max. DirectML: REDUCE MAX, ARGMAX. */
export const max = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && ($2 === undefined || kinds.ArgOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("max", "x axis:number? options:ArgOptions?", arguments); try { return $reduceExtrema.max($0, $1, $2); } catch (error) { throw under("max", error); } } as unknown as typeof $reduceExtrema.max;
/** The smallest element of all, or with an axis the smallest along it and their indices: {values, indices}. Reference: torch.min. DirectML: REDUCE MIN, ARGMIN. */
export const min = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && ($2 === undefined || kinds.ArgOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("min", "x axis:number? options:ArgOptions?", arguments); try { return $reduceExtrema.min($0, $1, $2); } catch (error) { throw under("min", error); } } as unknown as typeof $reduceExtrema.min;
/** The index of the largest element (the first of equal ones) along an axis, or in row-major order of all. Reference: torch.argmax. DirectML: ARGMAX. */
export const argmax = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNull.is($1)) && ($2 === undefined || kinds.ArgOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("argmax", "x axis:numberOrNull? options:ArgOptions?", arguments); try { return $reduceExtrema.argmax($0, $1, $2); } catch (error) { throw under("argmax", error); } } as unknown as typeof $reduceExtrema.argmax;
/** The index of the smallest element (the first of equal ones) along an axis, or in row-major order of all. Reference: torch.argmin. DirectML: ARGMIN. */
export const argmin = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNull.is($1)) && ($2 === undefined || kinds.ArgOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("argmin", "x axis:numberOrNull? options:ArgOptions?", arguments); try { return $reduceExtrema.argmin($0, $1, $2); } catch (error) { throw under("argmin", error); } } as unknown as typeof $reduceExtrema.argmin;
export type { HistogramBinOptions } from "../reduce/histogram.ts";
export type { Histogram } from "../reduce/histogram.ts";
export type { HistogramDd } from "../reduce/histogram.ts";
/**
 * How many elements fall into each bin: counts (or sums of weights) and the bins' edges. bins: how many equal ones, or their edges, rising.
 * Every bin includes its lower edge, the last one its upper edge too; values outside do not count. x: floating.
 * Reference: torch.histogram.
 */
export const histogram = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && (isTensor($1) || kinds.numberOrTensor.is($1)) && ($2 === undefined || kinds.HistogramBinOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("histogram", "x bins:numberOrTensor options:HistogramBinOptions?", arguments); try { return $reduceHistogram.histogram($0, $1, $2); } catch (error) { throw under("histogram", error); } } as unknown as typeof $reduceHistogram.histogram;
/**
 * A histogram over several axes: x [..., D] holds points, bins how many equal ones along each axis (one number for all) or their edges.
 * range: least and largest edge for each axis, 2 D numbers. Result: [bins of axis 0, bins of axis 1, ...]. Reference: torch.histogramdd.
 */
export const histogramdd = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numberOrNumbersOrTensors.is($1) && ($2 === undefined || kinds.HistogramBinOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("histogramdd", "x bins:numberOrNumbersOrTensors options:HistogramBinOptions?", arguments); try { return $reduceHistogram.histogramdd($0, $1, $2); } catch (error) { throw under("histogramdd", error); } } as unknown as typeof $reduceHistogram.histogramdd;
export type { CovarianceOptions } from "../reduce/moments.ts";
/** The sum without NaN. Reference: torch.nansum. DirectML: IS_NAN, REDUCE SUM. */
export const nansum = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && ($2 === undefined || kinds.ReduceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("nansum", "x axis:numberOrNumbersOrNull? options:ReduceOptions?", arguments); try { return $reduceMoments.nansum($0, $1, $2); } catch (error) { throw under("nansum", error); } } as unknown as typeof $reduceMoments.nansum;
/** The mean of the elements that are not NaN. Floating dtypes. Reference: torch.nanmean. DirectML: IS_NAN, REDUCE SUM. */
export const nanmean = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && ($2 === undefined || kinds.ReduceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("nanmean", "x axis:numberOrNumbersOrNull? options:ReduceOptions?", arguments); try { return $reduceMoments.nanmean($0, $1, $2); } catch (error) { throw under("nanmean", error); } } as unknown as typeof $reduceMoments.nanmean;
/** How many elements are not zero: int64. Reference: torch.count_nonzero. DirectML: REDUCE SUM. */
export const countNonzero = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("countNonzero", "x axis:numberOrNumbersOrNull?", arguments); try { return $reduceMoments.countNonzero($0, $1); } catch (error) { throw under("countNonzero", error); } } as unknown as typeof $reduceMoments.countNonzero;
/** The smallest and the largest element over one axis, or all. Reference: torch.aminmax. DirectML: REDUCE MIN and MAX. */
export const aminmax = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.axis_58213f.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("aminmax", "x options:axis_58213f?", arguments); try { return $reduceMoments.aminmax($0, $1); } catch (error) { throw under("aminmax", error); } } as unknown as typeof $reduceMoments.aminmax;
/** Variance and mean. Reference: torch.var_mean. */
export const varMean = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && ($2 === undefined || kinds.VarianceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("varMean", "x axis:numberOrNumbersOrNull? options:VarianceOptions?", arguments); try { return $reduceMoments.varMean($0, $1, $2); } catch (error) { throw under("varMean", error); } } as unknown as typeof $reduceMoments.varMean;
/** Standard deviation and mean. Reference: torch.std_mean. */
export const stdMean = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && ($2 === undefined || kinds.VarianceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("stdMean", "x axis:numberOrNumbersOrNull? options:VarianceOptions?", arguments); try { return $reduceMoments.stdMean($0, $1, $2); } catch (error) { throw under("stdMean", error); } } as unknown as typeof $reduceMoments.stdMean;
/** Slices along an axis scaled down to the p-norm maxNorm where theirs is larger. Reference: torch.renorm. DirectML: REDUCE. @autocast float32 */
export const renorm = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.number.is($2) && kinds.number.is($3) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("renorm", "x p:number axis:number maxNorm:number", arguments); try { return (openRegions === 0 ? $reduceMoments.renorm : listed("float32", "renorm", $reduceMoments.renorm))($0, $1, $2, $3); } catch (error) { throw under("renorm", error); } } as unknown as typeof $reduceMoments.renorm;
/** The covariances of variables (rows of x [V, N], or [N]). Result: [V, V], a scalar for one variable. DirectML: GEMM. Reference: torch.cov. */
export const cov = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.CovarianceOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("cov", "x options:CovarianceOptions?", arguments); try { return $reduceMoments.cov($0, $1); } catch (error) { throw under("cov", error); } } as unknown as typeof $reduceMoments.cov;
/** The correlation coefficients of variables (rows of x [V, N], or [N]). Reference: torch.corrcoef. */
export const corrcoef = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("corrcoef", "x", arguments); try { return $reduceMoments.corrcoef($0); } catch (error) { throw under("corrcoef", error); } } as unknown as typeof $reduceMoments.corrcoef;
export type { ReduceOptions } from "../reduce/reduce.ts";
export type { Axes } from "../reduce/reduce.ts";
/**
 * The sum over the axes (all of them by default). Integers and bool give int64; an empty sum is 0.
 * axis: one, several, or null for all. Reference: torch.sum. DirectML: REDUCE SUM. @autocast float32
 */
export const sum = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && ($2 === undefined || kinds.ReduceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("sum", "x axis:numberOrNumbersOrNull? options:ReduceOptions?", arguments); try { return (openRegions === 0 ? $reduceReduce.sum : listed("float32", "sum", $reduceReduce.sum))($0, $1, $2); } catch (error) { throw under("sum", error); } } as unknown as typeof $reduceReduce.sum;
/** The mean over the axes (all of them by default). Floating dtypes; NaN when empty. Reference: torch.mean. DirectML: REDUCE AVERAGE. */
export const mean = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && ($2 === undefined || kinds.ReduceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("mean", "x axis:numberOrNumbersOrNull? options:ReduceOptions?", arguments); try { return $reduceReduce.mean($0, $1, $2); } catch (error) { throw under("mean", error); } } as unknown as typeof $reduceReduce.mean;
/** The product over one axis (or all). Integers and bool give int64; an empty product is 1. Reference: torch.prod. DirectML: REDUCE MULTIPLY. @autocast float32 */
export const prod = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNull.is($1)) && ($2 === undefined || kinds.ReduceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("prod", "x axis:numberOrNull? options:ReduceOptions?", arguments); try { return (openRegions === 0 ? $reduceReduce.prod : listed("float32", "prod", $reduceReduce.prod))($0, $1, $2); } catch (error) { throw under("prod", error); } } as unknown as typeof $reduceReduce.prod;
/** Whether some element is not zero: bool (uint8 for uint8). False when empty. Reference: torch.any. DirectML: REDUCE MAX. */
export const any = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && ($2 === undefined || kinds.ReduceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("any", "x axis:numberOrNumbersOrNull? options:ReduceOptions?", arguments); try { return $reduceReduce.any($0, $1, $2); } catch (error) { throw under("any", error); } } as unknown as typeof $reduceReduce.any;
/** Whether all elements are not zero: bool (uint8 for uint8). True when empty. Reference: torch.all. DirectML: REDUCE MIN. */
export const all = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && ($2 === undefined || kinds.ReduceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("all", "x axis:numberOrNumbersOrNull? options:ReduceOptions?", arguments); try { return $reduceReduce.all($0, $1, $2); } catch (error) { throw under("all", error); } } as unknown as typeof $reduceReduce.all;
export type { SegmentReduction } from "../reduce/segment.ts";
export type { SegmentOptions } from "../reduce/segment.ts";
/**
 * x reduced over runs of rows along an axis: [..., segments, ...]. reduce: "sum", "mean", "max", "min" or "prod". x: floating. Rows behind
 * the last segment are left out. Gradients flow to x. DirectML: as scatterReduce. Reference: torch.segment_reduce.
 */
export const segmentReduce = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.sum_mean_max_min_prod.is($1) && ($2 === undefined || kinds.SegmentOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("segmentReduce", "x reduce:sum_mean_max_min_prod options:SegmentOptions?", arguments); try { return $reduceSegment.segmentReduce($0, $1, $2); } catch (error) { throw under("segmentReduce", error); } } as unknown as typeof $reduceSegment.segmentReduce;
export type { SoftmaxOptions } from "../reduce/softmax.ts";
/**
 * exp(x) / sum of exp(x) along the axis. x: float16 or float32, of any shape. Result: the same shape.
 * DirectML: ACTIVATION_SOFTMAX1 (ACTIVATION_SOFTMAX over rows below feature level 5.1). Reference: torch.softmax.
 * @autocast float32
 */
export const softmax = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.SoftmaxOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("softmax", "x axis:number options:SoftmaxOptions?", arguments); try { return (openRegions === 0 ? $reduceSoftmax.softmax : listed("float32", "softmax", $reduceSoftmax.softmax))($0, $1, $2); } catch (error) { throw under("softmax", error); } } as unknown as typeof $reduceSoftmax.softmax;
/** log(softmax(x)), computed stably. DirectML: ACTIVATION_LOG_SOFTMAX1 (ACTIVATION_LOG_SOFTMAX below 5.1). Reference: torch.log_softmax. @autocast float32 */
export const logSoftmax = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.SoftmaxOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("logSoftmax", "x axis:number options:SoftmaxOptions?", arguments); try { return (openRegions === 0 ? $reduceSoftmax.logSoftmax : listed("float32", "logSoftmax", $reduceSoftmax.logSoftmax))($0, $1, $2); } catch (error) { throw under("logSoftmax", error); } } as unknown as typeof $reduceSoftmax.logSoftmax;
/** softmax(-x). Reference: torch.nn.functional.softmin. @autocast float32 */
export const softmin = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.SoftmaxOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("softmin", "x axis:number options:SoftmaxOptions?", arguments); try { return (openRegions === 0 ? $reduceSoftmax.softmin : listed("float32", "softmin", $reduceSoftmax.softmin))($0, $1, $2); } catch (error) { throw under("softmin", error); } } as unknown as typeof $reduceSoftmax.softmin;
export type { VarianceOptions } from "../reduce/statistics.ts";
/**
 * The variance over the axes (all of them by default). Floating dtypes. Reference: torch.var. DirectML: REDUCE AVERAGE and SUM.
 * @name var
 */
const var$ = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && ($2 === undefined || kinds.VarianceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("var", "x axis:numberOrNumbersOrNull? options:VarianceOptions?", arguments); try { return $reduceStatistics.variance($0, $1, $2); } catch (error) { throw under("var", error); } } as unknown as typeof $reduceStatistics.variance;
export { var$ as var };
/** The standard deviation over the axes (all of them by default). Floating dtypes. Reference: torch.std. */
export const std = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbersOrNull.is($1)) && ($2 === undefined || kinds.VarianceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("std", "x axis:numberOrNumbersOrNull? options:VarianceOptions?", arguments); try { return $reduceStatistics.std($0, $1, $2); } catch (error) { throw under("std", error); } } as unknown as typeof $reduceStatistics.std;
/**
 * The p-norm over the axes (all of them by default): (sum |x|^p)^(1/p); for p = 0 the number of elements that are not 0, for
 * ±Infinity the largest or smallest |x|. Floating dtypes. Reference: torch.linalg.vector_norm. DirectML: REDUCE L2, L1.
 * @autocast float32
 */
export const norm = function ($0: never, $1: never = undefined as never, $2: never = undefined as never, $3: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && ($2 === undefined || kinds.numberOrNumbersOrNull.is($2)) && ($3 === undefined || kinds.ReduceOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("norm", "x p:number? axis:numberOrNumbersOrNull? options:ReduceOptions?", arguments); try { return (openRegions === 0 ? $reduceStatistics.norm : listed("float32", "norm", $reduceStatistics.norm))($0, $1, $2, $3); } catch (error) { throw under("norm", error); } } as unknown as typeof $reduceStatistics.norm;
/** ln(sum e^x) over the axes, without overflow. Integers give float32. Reference: torch.logsumexp. DirectML: REDUCE MAX and SUM, EXP, LOG. @autocast float32 */
export const logsumexp = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numberOrNumbersOrNull.is($1) && ($2 === undefined || kinds.ReduceOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("logsumexp", "x axis:numberOrNumbersOrNull options:ReduceOptions?", arguments); try { return (openRegions === 0 ? $reduceStatistics.logsumexp : listed("float32", "logsumexp", $reduceStatistics.logsumexp))($0, $1, $2); } catch (error) { throw under("logsumexp", error); } } as unknown as typeof $reduceStatistics.logsumexp;
export type { RunningOptions } from "../scan/cumulative-extrema.ts";
/**
 * The largest element up to each one along an axis, and its index (the last of equal ones): {values, indices}. NaN wins.
 * DirectML: MAX_POOLING2 where its windows take one pass, else compositions of SLICE1, PADDING1 and IF in log2(n) steps. Reference: torch.cummax.
 */
export const cummax = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.RunningOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("cummax", "x axis:number options:RunningOptions?", arguments); try { return $scanCumulativeExtrema.cummax($0, $1, $2); } catch (error) { throw under("cummax", error); } } as unknown as typeof $scanCumulativeExtrema.cummax;
/** The smallest element up to each one along an axis, and its index: {values, indices}. NaN wins. Reference: torch.cummin. */
export const cummin = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.RunningOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("cummin", "x axis:number options:RunningOptions?", arguments); try { return $scanCumulativeExtrema.cummin($0, $1, $2); } catch (error) { throw under("cummin", error); } } as unknown as typeof $scanCumulativeExtrema.cummin;
/** log of the running sum of exp(x) along an axis, without overflow. x: floating. Reference: torch.logcumsumexp. */
export const logcumsumexp = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.number.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("logcumsumexp", "x axis:number", arguments); try { return $scanCumulativeExtrema.logcumsumexp($0, $1); } catch (error) { throw under("logcumsumexp", error); } } as unknown as typeof $scanCumulativeExtrema.logcumsumexp;
export type { CumulativeOptions } from "../scan/cumulative.ts";
/** The running sum along an axis. Integers and bool give int64. Reference: torch.cumsum. DirectML: CUMULATIVE_SUMMATION. @autocast float32 */
export const cumsum = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.CumulativeOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("cumsum", "x axis:number options:CumulativeOptions?", arguments); try { return (openRegions === 0 ? $scanCumulative.cumsum : listed("float32", "cumsum", $scanCumulative.cumsum))($0, $1, $2); } catch (error) { throw under("cumsum", error); } } as unknown as typeof $scanCumulative.cumsum;
/** The cumulative product along an axis. Integers and bool give int64. Reference: torch.cumprod. DirectML: CUMULATIVE_PRODUCT. @autocast float32 */
export const cumprod = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.CumulativeOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("cumprod", "x axis:number options:CumulativeOptions?", arguments); try { return (openRegions === 0 ? $scanCumulative.cumprod : listed("float32", "cumprod", $scanCumulative.cumprod))($0, $1, $2); } catch (error) { throw under("cumprod", error); } } as unknown as typeof $scanCumulative.cumprod;
export type { DiagonalOptions } from "../shape/diagonals.ts";
/** Square matrices with x's last axis on a diagonal, zeros elsewhere. Reference: torch.diag_embed. */
export const diagEmbed = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.DiagonalOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("diagEmbed", "x options:DiagonalOptions?", arguments); try { return $shapeDiagonals.diagEmbed($0, $1); } catch (error) { throw under("diagEmbed", error); } } as unknown as typeof $shapeDiagonals.diagEmbed;
/** A vector as the diagonal of a matrix, or a copy of a matrix's diagonal (diagonal gives a view). Reference: torch.diag. */
export const diag = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("diag", "x offset:number?", arguments); try { return $shapeDiagonals.diag($0, $1); } catch (error) { throw under("diag", error); } } as unknown as typeof $shapeDiagonals.diag;
/** All elements as the diagonal of a matrix. Reference: torch.diagflat. */
export const diagflat = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("diagflat", "x offset:number?", arguments); try { return $shapeDiagonals.diagflat($0, $1); } catch (error) { throw under("diagflat", error); } } as unknown as typeof $shapeDiagonals.diagflat;
/** The sum of a matrix's diagonal. Integers give int64. Reference: torch.trace. */
export const trace = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("trace", "x", arguments); try { return $shapeDiagonals.trace($0); } catch (error) { throw under("trace", error); } } as unknown as typeof $shapeDiagonals.trace;
/**
 * The tensors concatenated along an axis. All other lengths must agree; dtypes promote. Tensors of shape [0] are left
 * out, as in PyTorch. Throws ShapeError when they do not fit. DirectML: JOIN. Reference: torch.cat.
 */
export const cat = function ($0: never, $1: never = undefined as never) { if (!(kinds.tensors.is($0) && ($1 === undefined || kinds.number.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("cat", "tensors:tensors axis:number?", arguments); try { return $shapeJoin.cat($0, $1); } catch (error) { throw under("cat", error); } } as unknown as typeof $shapeJoin.cat;
/** Tensors of one shape as parts along a new axis. Reference: torch.stack. DirectML: JOIN. */
export const stack = function ($0: never, $1: never = undefined as never) { if (!(kinds.tensors.is($0) && ($1 === undefined || kinds.number.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("stack", "tensors:tensors axis:number?", arguments); try { return $shapeJoin.stack($0, $1); } catch (error) { throw under("stack", error); } } as unknown as typeof $shapeJoin.stack;
/** Views of x along an axis: parts of `size` elements (the last may be shorter), or of the sizes listed. Reference: torch.split. */
export const split = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.number.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("split", "x size:numberOrNumbers axis:number?", arguments); try { return $shapeJoin.split($0, $1, $2); } catch (error) { throw under("split", error); } } as unknown as typeof $shapeJoin.split;
/** Views of x along an axis: at most `count` equal parts, the last perhaps shorter. Reference: torch.chunk. */
export const chunk = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.number.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("chunk", "x count:number axis:number?", arguments); try { return $shapeJoin.chunk($0, $1, $2); } catch (error) { throw under("chunk", error); } } as unknown as typeof $shapeJoin.chunk;
/** x so many times along each axis; new axes come in front. Reference: torch.Tensor.repeat. */
export const repeat = function ($0: never, ...rest: never[]) { if (!(isTensor($0) && kinds.numbersOrListOfNumbers.is(rest))) [$0, ...rest] = bind("repeat", "x ...times:numbersOrListOfNumbers", arguments); try { return $shapeJoin.repeat($0, ...rest); } catch (error) { throw under("repeat", error); } } as unknown as typeof $shapeJoin.repeat;
/** repeat() in which missing counts are 1, in front. Reference: torch.tile. */
export const tile = function ($0: never, ...rest: never[]) { if (!(isTensor($0) && kinds.numbersOrListOfNumbers.is(rest))) [$0, ...rest] = bind("tile", "x ...times:numbersOrListOfNumbers", arguments); try { return $shapeJoin.tile($0, ...rest); } catch (error) { throw under("tile", error); } } as unknown as typeof $shapeJoin.tile;
/** x in reverse order along the axes. Reference: torch.flip. DirectML: SLICE1. */
export const flip = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("flip", "x axes:numberOrNumbers", arguments); try { return $shapeJoin.flip($0, $1); } catch (error) { throw under("flip", error); } } as unknown as typeof $shapeJoin.flip;
/** x moved along axes, what leaves at the end coming in at the start. Without axes: of the flattened tensor. Reference: torch.roll. */
export const roll = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.numberOrNumbers.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("roll", "x shifts:numberOrNumbers axes:numberOrNumbers?", arguments); try { return $shapeJoin.roll($0, $1, $2); } catch (error) { throw under("roll", error); } } as unknown as typeof $shapeJoin.roll;
/**
 * x with another shape of as many elements; one length may be -1. A view where the strides allow it, else a copy.
 * shape: a list, or the lengths one by one. Throws ShapeError when the numbers of elements differ. Reference: torch.reshape.
 */
export const reshape = function ($0: never, ...rest: never[]) { if (!(isTensor($0) && kinds.numbersOrListOfNumbers.is(rest))) [$0, ...rest] = bind("reshape", "x ...shape:numbersOrListOfNumbers", arguments); try { return $shapeMovement.reshape($0, ...rest); } catch (error) { throw under("reshape", error); } } as unknown as typeof $shapeMovement.reshape;
/** reshape() that never copies. Throws ShapeError where it would have to. Reference: torch.Tensor.view. */
export const view = function ($0: never, ...rest: never[]) { if (!(isTensor($0) && kinds.numbersOrListOfNumbers.is(rest))) [$0, ...rest] = bind("view", "x ...shape:numbersOrListOfNumbers", arguments); try { return $shapeMovement.view($0, ...rest); } catch (error) { throw under("view", error); } } as unknown as typeof $shapeMovement.view;
/** Axes `startDim` to `endDim` (default 0 to the last), both included, as one: x itself where that is one axis. Reference: torch.flatten. */
export const flatten = function ($0: never, $1: never = undefined as never, $2: never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrStartDim_f78a3c.is($1)) && ($2 === undefined || kinds.number.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("flatten", "x start:numberOrStartDim_f78a3c? end:number?", arguments); try { return $shapeMovement.flatten($0, $1, $2); } catch (error) { throw under("flatten", error); } } as unknown as typeof $shapeMovement.flatten;
/** One axis as several of the given lengths, one of which may be -1. Reference: torch.unflatten. */
export const unflatten = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.numbers.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("unflatten", "x axis:number lengths:numbers", arguments); try { return $shapeMovement.unflatten($0, $1, $2); } catch (error) { throw under("unflatten", error); } } as unknown as typeof $shapeMovement.unflatten;
/** x with its axes in another order. axes: each axis once. Reference: torch.permute. */
export const permute = function ($0: never, ...rest: never[]) { if (!(isTensor($0) && kinds.numbersOrListOfNumbers.is(rest))) [$0, ...rest] = bind("permute", "x ...axes:numbersOrListOfNumbers", arguments); try { return $shapeMovement.permute($0, ...rest); } catch (error) { throw under("permute", error); } } as unknown as typeof $shapeMovement.permute;
/** x with two axes exchanged. Reference: torch.transpose. */
export const transpose = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.number.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("transpose", "x axis0:number axis1:number", arguments); try { return $shapeMovement.transpose($0, $1, $2); } catch (error) { throw under("transpose", error); } } as unknown as typeof $shapeMovement.transpose;
/** The transpose of a matrix; vectors and scalars are what they are. Reference: torch.t. */
export const t = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("t", "x", arguments); try { return $shapeMovement.t($0); } catch (error) { throw under("t", error); } } as unknown as typeof $shapeMovement.t;
/** x with axes moved from positions `from` to positions `to`; the others keep their order. Reference: torch.movedim. */
export const movedim = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && kinds.numberOrNumbers.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("movedim", "x from:numberOrNumbers to:numberOrNumbers", arguments); try { return $shapeMovement.movedim($0, $1, $2); } catch (error) { throw under("movedim", error); } } as unknown as typeof $shapeMovement.movedim;
/** x repeated along axes of length 1, and along new axes in front; -1 keeps a length. No copy. Reference: torch.Tensor.expand. */
export const expand = function ($0: never, ...rest: never[]) { if (!(isTensor($0) && kinds.numbersOrListOfNumbers.is(rest))) [$0, ...rest] = bind("expand", "x ...shape:numbersOrListOfNumbers", arguments); try { return $shapeMovement.expand($0, ...rest); } catch (error) { throw under("expand", error); } } as unknown as typeof $shapeMovement.expand;
/** x repeated to a shape by broadcasting. No copy. Throws ShapeError when it does not fit. Reference: torch.broadcast_to. */
export const broadcastTo = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numbers.is($1) && ($2 === undefined || kinds.string.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("broadcastTo", "x shape:numbers operation:string?", arguments); try { return $shapeMovement.broadcastTo($0, $1, $2); } catch (error) { throw under("broadcastTo", error); } } as unknown as typeof $shapeMovement.broadcastTo;
/** x without its axes of length 1, or without those named that have length 1. Reference: torch.squeeze. */
export const squeeze = function ($0: never, $1: never) { if (!(isTensor($0) && ($1 === undefined || kinds.numberOrNumbers.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("squeeze", "x axis:numberOrNumbers?", arguments); try { return $shapeMovement.squeeze($0, $1); } catch (error) { throw under("squeeze", error); } } as unknown as typeof $shapeMovement.squeeze;
/** x with a new axis of length 1 at a position in [-rank-1, rank]. Reference: torch.unsqueeze. */
export const unsqueeze = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.number.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("unsqueeze", "x axis:number", arguments); try { return $shapeMovement.unsqueeze($0, $1); } catch (error) { throw under("unsqueeze", error); } } as unknown as typeof $shapeMovement.unsqueeze;
/** Every step-th element from start on, before end, along an axis; negative indices count from the end. Reference: torch's slice. */
export const slice = function ($0: never, $1: never, $2: never = undefined as never, $3: never = undefined as never, $4: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.number.is($2)) && ($3 === undefined || kinds.number.is($3)) && ($4 === undefined || kinds.number.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("slice", "x axis:number start:number? end:number? step:number?", arguments); try { return $shapeMovement.slice($0, $1, $2, $3, $4); } catch (error) { throw under("slice", error); } } as unknown as typeof $shapeMovement.slice;
/** `length` elements from `start` on along an axis. Throws ValueError when they are not all there. Reference: torch.narrow. */
export const narrow = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.number.is($2) && kinds.number.is($3) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("narrow", "x axis:number start:number length:number", arguments); try { return $shapeMovement.narrow($0, $1, $2, $3); } catch (error) { throw under("narrow", error); } } as unknown as typeof $shapeMovement.narrow;
/** The part at one index of an axis, without that axis. Reference: torch.select. */
export const select = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.number.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("select", "x axis:number index:number", arguments); try { return $shapeMovement.select($0, $1, $2); } catch (error) { throw under("select", error); } } as unknown as typeof $shapeMovement.select;
/** The parts along an axis, without that axis. Reference: torch.unbind. */
export const unbind = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("unbind", "x axis:number?", arguments); try { return $shapeMovement.unbind($0, $1); } catch (error) { throw under("unbind", error); } } as unknown as typeof $shapeMovement.unbind;
/** The main diagonal (or one above, for offset > 0, or below) of two axes, as a last axis. Reference: torch.diagonal. */
export const diagonal = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.offset_59a49a.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("diagonal", "x options:offset_59a49a?", arguments); try { return $shapeMovement.diagonal($0, $1); } catch (error) { throw under("diagonal", error); } } as unknown as typeof $shapeMovement.diagonal;
export type { PadMode } from "../shape/pad.ts";
/**
 * x with elements added before and behind along its last axes.
 *
 * pads: [before, behind] of the last axis, then of the one before it, and so on; negative numbers take elements away.
 * mode: "constant" with `value` (default 0), "reflect" (mirrored without the edge; each pad shorter than the axis), "replicate",
 * "circular" (from the other end; each pad at most the axis). Throws ValueError for an odd list, ShapeError for one that does not fit. DirectML: PADDING1. Reference: torch.nn.functional.pad.
 */
export const pad = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numbers.is($1) && ($2 === undefined || kinds.mode_a2f619.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("pad", "x pads:numbers options:mode_a2f619?", arguments); try { return $shapePad.pad($0, $1, $2); } catch (error) { throw under("pad", error); } } as unknown as typeof $shapePad.pad;
/** x with at least one axis: x itself where it has. Reference: torch.atleast_1d. */
export const atleast1d = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("atleast1d", "x", arguments); try { return $shapeRearrange.atleast1d($0); } catch (error) { throw under("atleast1d", error); } } as unknown as typeof $shapeRearrange.atleast1d;
/** x with at least two axes, new ones in front: x itself where it has them. Reference: torch.atleast_2d. */
export const atleast2d = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("atleast2d", "x", arguments); try { return $shapeRearrange.atleast2d($0); } catch (error) { throw under("atleast2d", error); } } as unknown as typeof $shapeRearrange.atleast2d;
/** x with at least three axes: a matrix gets one behind, a vector one on each side, x itself where it has them. Reference: torch.atleast_3d. */
export const atleast3d = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("atleast3d", "x", arguments); try { return $shapeRearrange.atleast3d($0); } catch (error) { throw under("atleast3d", error); } } as unknown as typeof $shapeRearrange.atleast3d;
/** The tensors joined along the second axis, vectors along the first. Reference: torch.hstack. */
export const hstack = function ($0: never) { if (!(kinds.tensors.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("hstack", "tensors:tensors", arguments); try { return $shapeRearrange.hstack($0); } catch (error) { throw under("hstack", error); } } as unknown as typeof $shapeRearrange.hstack;
/** The tensors below each other, vectors as rows. Reference: torch.vstack. */
export const vstack = function ($0: never) { if (!(kinds.tensors.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("vstack", "tensors:tensors", arguments); try { return $shapeRearrange.vstack($0); } catch (error) { throw under("vstack", error); } } as unknown as typeof $shapeRearrange.vstack;
/** The tensors behind each other along the third axis. Reference: torch.dstack. */
export const dstack = function ($0: never) { if (!(kinds.tensors.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("dstack", "tensors:tensors", arguments); try { return $shapeRearrange.dstack($0); } catch (error) { throw under("dstack", error); } } as unknown as typeof $shapeRearrange.dstack;
/** The tensors joined along the second axis, vectors as columns. Reference: torch.column_stack. */
export const columnStack = function ($0: never) { if (!(kinds.tensors.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("columnStack", "tensors:tensors", arguments); try { return $shapeRearrange.columnStack($0); } catch (error) { throw under("columnStack", error); } } as unknown as typeof $shapeRearrange.columnStack;
/**
 * Views of x along an axis: that number of parts, of which the first are longer by one where needed, or parts between the indices listed.
 * Reference: torch.tensor_split.
 */
export const tensorSplit = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && ($2 === undefined || kinds.number.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("tensorSplit", "x sections:numberOrNumbers axis:number?", arguments); try { return $shapeRearrange.tensorSplit($0, $1, $2); } catch (error) { throw under("tensorSplit", error); } } as unknown as typeof $shapeRearrange.tensorSplit;
/** Equal parts (or parts between indices) along the second axis, of a vector along the first. Reference: torch.hsplit. */
export const hsplit = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("hsplit", "x sections:numberOrNumbers", arguments); try { return $shapeRearrange.hsplit($0, $1); } catch (error) { throw under("hsplit", error); } } as unknown as typeof $shapeRearrange.hsplit;
/** Equal parts (or parts between indices) along the first axis. Reference: torch.vsplit. */
export const vsplit = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("vsplit", "x sections:numberOrNumbers", arguments); try { return $shapeRearrange.vsplit($0, $1); } catch (error) { throw under("vsplit", error); } } as unknown as typeof $shapeRearrange.vsplit;
/** Equal parts (or parts between indices) along the third axis. Reference: torch.dsplit. */
export const dsplit = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numberOrNumbers.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("dsplit", "x sections:numberOrNumbers", arguments); try { return $shapeRearrange.dsplit($0, $1); } catch (error) { throw under("dsplit", error); } } as unknown as typeof $shapeRearrange.dsplit;
/** The tensors broadcast to their common shape: views, or the tensors themselves where they have it. Reference: torch.broadcast_tensors. */
export const broadcastTensors = function (...rest: never[]) { if (!(kinds.eachTensor.is(rest))) [...rest] = bind("broadcastTensors", "...tensors:eachTensor", arguments); try { return $shapeRearrange.broadcastTensors(...rest); } catch (error) { throw under("broadcastTensors", error); } } as unknown as typeof $shapeRearrange.broadcastTensors;
/** Matrices along the diagonal of a large one of zeros; vectors count as rows. Reference: torch.block_diag. */
export const blockDiag = function (...rest: never[]) { if (!(kinds.eachTensor.is(rest))) [...rest] = bind("blockDiag", "...tensors:eachTensor", arguments); try { return $shapeRearrange.blockDiag(...rest); } catch (error) { throw under("blockDiag", error); } } as unknown as typeof $shapeRearrange.blockDiag;
/** Each of some vectors along an axis of its own, as views of one shape. indexing: "ij", or "xy", which exchanges the first two. Reference: torch.meshgrid. */
export const meshgrid = function ($0: never, $1: never = undefined as never) { if (!(kinds.tensors.is($0) && ($1 === undefined || kinds.indexing_ca42e2.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("meshgrid", "tensors:tensors options:indexing_ca42e2?", arguments); try { return $shapeRearrange.meshgrid($0, $1); } catch (error) { throw under("meshgrid", error); } } as unknown as typeof $shapeRearrange.meshgrid;
/** Every combination of one element of each vector, as rows. Reference: torch.cartesian_prod. */
export const cartesianProd = function (...rest: never[]) { if (!(kinds.eachTensor.is(rest))) [...rest] = bind("cartesianProd", "...tensors:eachTensor", arguments); try { return $shapeRearrange.cartesianProd(...rest); } catch (error) { throw under("cartesianProd", error); } } as unknown as typeof $shapeRearrange.cartesianProd;
/** Every choice of r elements of a vector in their order, as rows; withReplacement: an element more than once. Reference: torch.combinations. */
export const combinations = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && ($2 === undefined || kinds.withReplacement_29cea5.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("combinations", "x r:number? options:withReplacement_29cea5?", arguments); try { return $shapeRearrange.combinations($0, $1, $2); } catch (error) { throw under("combinations", error); } } as unknown as typeof $shapeRearrange.combinations;
/** x rotated by k times 90 degrees in the plane of two axes, from the first towards the second. Reference: torch.rot90. */
export const rot90 = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && ($2 === undefined || kinds.numbers.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("rot90", "x k:number? axes:numbers?", arguments); try { return $shapeRearrange.rot90($0, $1, $2); } catch (error) { throw under("rot90", error); } } as unknown as typeof $shapeRearrange.rot90;
/** x in reverse order along the second axis. Reference: torch.fliplr. */
export const fliplr = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("fliplr", "x", arguments); try { return $shapeRearrange.fliplr($0); } catch (error) { throw under("fliplr", error); } } as unknown as typeof $shapeRearrange.fliplr;
/** x in reverse order along the first axis. Reference: torch.flipud. */
export const flipud = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("flipud", "x", arguments); try { return $shapeRearrange.flipud($0); } catch (error) { throw under("flipud", error); } } as unknown as typeof $shapeRearrange.flipud;
/** Matrices with their last two axes exchanged, as a view. Reference: torch.Tensor.mT. */
export const mT = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("mT", "x", arguments); try { return $shapeRearrange.mT($0); } catch (error) { throw under("mT", error); } } as unknown as typeof $shapeRearrange.mT;
/** transpose() by NumPy's name. Reference: torch.swapaxes. */
export const swapaxes = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.number.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("swapaxes", "x axis0:number axis1:number", arguments); try { return $shapeRearrange.swapaxes($0, $1, $2); } catch (error) { throw under("swapaxes", error); } } as unknown as typeof $shapeRearrange.swapaxes;
/** narrow() as a copy. Reference: torch.narrow_copy. */
export const narrowCopy = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.number.is($2) && kinds.number.is($3) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("narrowCopy", "x axis:number start:number length:number", arguments); try { return $shapeRearrange.narrowCopy($0, $1, $2, $3); } catch (error) { throw under("narrowCopy", error); } } as unknown as typeof $shapeRearrange.narrowCopy;
export type { RepeatOptions } from "../shape/repeats.ts";
/**
 * Each element so many times in a row along an axis; without an axis of the flattened tensor. times: a number, or a tensor of one for each
 * index, which gives a promise, since the length depends on it; or with `outputSize` a result of that length at once. Gradients flow to x.
 * Reference: torch.repeat_interleave.
 */
export const repeatInterleave = function ($0: never, $1: never, $2: never = undefined as never, $3: never) { if (!(isTensor($0) && (isTensor($1) || kinds.numberOrTensor.is($1)) && ($2 === undefined || kinds.numberOrNull.is($2)) && ($3 === undefined || kinds.RepeatOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("repeatInterleave", "x times:numberOrTensor axis:numberOrNull? options:RepeatOptions?", arguments); try { return $shapeRepeats.repeatInterleave($0, $1, $2, $3); } catch (error) { throw under("repeatInterleave", error); } } as unknown as typeof $shapeRepeats.repeatInterleave;
/** repeatInterleave() by a tensor of numbers, blocking until they are known. */
export const repeatInterleaveSync = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.numberOrNull.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("repeatInterleaveSync", "x times axis:numberOrNull?", arguments); try { return $shapeRepeats.repeatInterleaveSync($0, $1, $2); } catch (error) { throw under("repeatInterleaveSync", error); } } as unknown as typeof $shapeRepeats.repeatInterleaveSync;
/** [..., C r², H, W] to [..., C, H r, W r]. Reference: torch.nn.functional.pixel_shuffle. DirectML: ELEMENT_WISE_IDENTITY. */
export const pixelShuffle = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.number.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("pixelShuffle", "x factor:number", arguments); try { return $shapeShuffle.pixelShuffle($0, $1); } catch (error) { throw under("pixelShuffle", error); } } as unknown as typeof $shapeShuffle.pixelShuffle;
/** [..., C, H r, W r] to [..., C r², H, W]. Reference: torch.nn.functional.pixel_unshuffle. DirectML: ELEMENT_WISE_IDENTITY. */
export const pixelUnshuffle = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.number.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("pixelUnshuffle", "x factor:number", arguments); try { return $shapeShuffle.pixelUnshuffle($0, $1); } catch (error) { throw under("pixelUnshuffle", error); } } as unknown as typeof $shapeShuffle.pixelUnshuffle;
/** Channels [N, C, ...] in `groups` groups, interleaved: one channel of each group after the other. Reference: torch.nn.functional.channel_shuffle. */
export const channelShuffle = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.number.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("channelShuffle", "x groups:number", arguments); try { return $shapeShuffle.channelShuffle($0, $1); } catch (error) { throw under("channelShuffle", error); } } as unknown as typeof $shapeShuffle.channelShuffle;
/**
 * x's elements in row-major order in another shape, as far as they fit; with zeros behind where there are fewer. Gradients flow to x.
 * Reference: torch.ops.aten.resize, without undefined elements.
 */
export const resize = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numbers.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("resize", "x shape:numbers", arguments); try { return $shapeStorageSize.resize($0, $1); } catch (error) { throw under("resize", error); } } as unknown as typeof $shapeStorageSize.resize;
/**
 * x gets another shape over its own storage, packed from its first element on. Where the storage has fewer elements, x gets a larger one,
 * with zeros behind; other views keep the old one. Throws AutogradError where x requires a gradient, and inside compile().
 * Reference: torch.Tensor.resize_.
 */
export const resize_ = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.numbers.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("resize_", "x shape:numbers", arguments); try { return $shapeStorageSize.resize_($0, $1); } catch (error) { throw under("resize_", error); } } as unknown as typeof $shapeStorageSize.resize_;
/** resize_() to the shape of another tensor. Reference: torch.Tensor.resize_as_. */
export const resizeAs_ = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("resizeAs_", "x template", arguments); try { return $shapeStorageSize.resizeAs_($0, $1); } catch (error) { throw under("resizeAs_", error); } } as unknown as typeof $shapeStorageSize.resizeAs_;
/** Whether two tensors have one shape. Reference: torch.is_same_size. */
export const isSameSize = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("isSameSize", "x other", arguments); try { return $shapeStorageSize.isSameSize($0, $1); } catch (error) { throw under("isSameSize", error); } } as unknown as typeof $shapeStorageSize.isSameSize;
/** Whether two tensors show the same elements of one storage in the same way. Reference: torch.Tensor.is_set_to. */
export const isSetTo = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("isSetTo", "x other", arguments); try { return $shapeStorageSize.isSetTo($0, $1); } catch (error) { throw under("isSetTo", error); } } as unknown as typeof $shapeStorageSize.isSetTo;
/**
 * Windows of `size` elements at every step-th index of an axis, as a view with a last axis of its own. Gradients of overlapping windows
 * are added. Reference: torch.Tensor.unfold.
 */
export const unfold = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && kinds.number.is($1) && kinds.number.is($2) && kinds.number.is($3) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("unfold", "x axis:number size:number step:number", arguments); try { return $shapeStridedViews.unfold($0, $1, $2, $3); } catch (error) { throw under("unfold", error); } } as unknown as typeof $shapeStridedViews.unfold;
/**
 * Any view of x's storage: sizes, strides and the first element's offset, in elements from the storage's start. Gradients flow where x is
 * packed and the view lies within it. Throws ShapeError where it would leave the storage. Reference: torch.as_strided.
 */
export const asStrided = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && kinds.numbers.is($1) && kinds.numbers.is($2) && ($3 === undefined || kinds.number.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("asStrided", "x shape:numbers strides:numbers storageOffset:number?", arguments); try { return $shapeStridedViews.asStrided($0, $1, $2, $3); } catch (error) { throw under("asStrided", error); } } as unknown as typeof $shapeStridedViews.asStrided;
/** x with source in place of a slice. Reference: torch.slice_scatter. */
export const sliceScatter = function ($0: never, $1: never, $2: never = undefined as never, $3: never = undefined as never, $4: never = undefined as never, $5: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.number.is($2)) && ($3 === undefined || kinds.number.is($3)) && ($5 === undefined || kinds.number.is($5)) && (arguments.length <= 6 || isAll(arguments, 6)))) [$0, $1, $2, $3, $4, $5] = bind("sliceScatter", "x source axis:number? start:number? end:anything step:number?", arguments); try { return $shapeStridedViews.sliceScatter($0, $1, $2, $3, $4, $5); } catch (error) { throw under("sliceScatter", error); } } as unknown as typeof $shapeStridedViews.sliceScatter;
/** x with source at one index of an axis. Reference: torch.select_scatter. */
export const selectScatter = function ($0: never, $1: never, $2: never, $3: never) { if (!(isTensor($0) && isTensor($1) && kinds.number.is($2) && kinds.number.is($3) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("selectScatter", "x source axis:number index:number", arguments); try { return $shapeStridedViews.selectScatter($0, $1, $2, $3); } catch (error) { throw under("selectScatter", error); } } as unknown as typeof $shapeStridedViews.selectScatter;
/** x with source on a diagonal. Reference: torch.diagonal_scatter. */
export const diagonalScatter = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.offset_59a49a.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("diagonalScatter", "x source options:offset_59a49a?", arguments); try { return $shapeStridedViews.diagonalScatter($0, $1, $2); } catch (error) { throw under("diagonalScatter", error); } } as unknown as typeof $shapeStridedViews.diagonalScatter;
/** x with source in a view of its storage that no element is in twice. Reference: torch.as_strided_scatter. */
export const asStridedScatter = function ($0: never, $1: never, $2: never, $3: never, $4: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && kinds.numbers.is($2) && kinds.numbers.is($3) && ($4 === undefined || kinds.number.is($4)) && (arguments.length <= 5 || isAll(arguments, 5)))) [$0, $1, $2, $3, $4] = bind("asStridedScatter", "x source shape:numbers strides:numbers storageOffset:number?", arguments); try { return $shapeStridedViews.asStridedScatter($0, $1, $2, $3, $4); } catch (error) { throw under("asStridedScatter", error); } } as unknown as typeof $shapeStridedViews.asStridedScatter;
/** x summed over the axes that broadcasting it from `shape` would make; x itself where there are none. Reference: torch.Tensor.sum_to_size. @autocast float32 */
export const sumToSize = function ($0: never, ...rest: never[]) { if (!(isTensor($0) && kinds.numbersOrListOfNumbers.is(rest))) [$0, ...rest] = bind("sumToSize", "x ...shape:numbersOrListOfNumbers", arguments); try { return (openRegions === 0 ? $shapeStridedViews.sumToSize : listed("float32", "sumToSize", $shapeStridedViews.sumToSize))($0, ...rest); } catch (error) { throw under("sumToSize", error); } } as unknown as typeof $shapeStridedViews.sumToSize;
export type { Interpolation } from "../sort/order-statistics.ts";
export type { QuantileOptions } from "../sort/order-statistics.ts";
/**
 * The median, the lower of two; along an axis with its index: {values, indices}. NaN if an element is. DirectML: TOP_K1.
 * Reference: torch.median.
 */
export const median = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && ($2 === undefined || kinds.KthOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("median", "x axis:number? options:KthOptions?", arguments); try { return $sortOrderStatistics.median($0, $1, $2); } catch (error) { throw under("median", error); } } as unknown as typeof $sortOrderStatistics.median;
/** The median of the elements that are not NaN. Reference: torch.nanmedian. DirectML: TOP_K1. */
export const nanmedian = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && ($2 === undefined || kinds.KthOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("nanmedian", "x axis:number? options:KthOptions?", arguments); try { return $sortOrderStatistics.nanmedian($0, $1, $2); } catch (error) { throw under("nanmedian", error); } } as unknown as typeof $sortOrderStatistics.nanmedian;
/**
 * The most frequent element along an axis (the smallest of several) and its last index: {values, indices}. DirectML: TOP_K1.
 * Reference: torch.mode.
 */
export const mode = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && ($2 === undefined || kinds.KthOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("mode", "x axis:number? options:KthOptions?", arguments); try { return $sortOrderStatistics.mode($0, $1, $2); } catch (error) { throw under("mode", error); } } as unknown as typeof $sortOrderStatistics.mode;
/**
 * What a share q of the elements (a number, or a tensor of several in [0, 1]) lies below. NaN where an element is. Several q are the
 * result's first axis. x: floating. DirectML: TOP_K1, GATHER_ELEMENTS. Reference: torch.quantile.
 */
export const quantile = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && (isTensor($1) || kinds.numberOrTensor.is($1)) && ($2 === undefined || kinds.QuantileOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("quantile", "x q:numberOrTensor options:QuantileOptions?", arguments); try { return $sortOrderStatistics.quantile($0, $1, $2); } catch (error) { throw under("quantile", error); } } as unknown as typeof $sortOrderStatistics.quantile;
/** quantile() of the elements that are not NaN. Reference: torch.nanquantile. */
export const nanquantile = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && (isTensor($1) || kinds.numberOrTensor.is($1)) && ($2 === undefined || kinds.QuantileOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("nanquantile", "x q:numberOrTensor options:QuantileOptions?", arguments); try { return $sortOrderStatistics.nanquantile($0, $1, $2); } catch (error) { throw under("nanquantile", error); } } as unknown as typeof $sortOrderStatistics.nanquantile;
export type { SearchOptions } from "../sort/search.ts";
export type { HistogramOptions } from "../sort/search.ts";
export type { BincountOptions } from "../sort/search.ts";
/**
 * Where values would be inserted into sorted rows (one row for all, or one for each row of values), so that these stay sorted. NaN
 * counts as the largest. DirectML: GATHER_ELEMENTS in log2(n) steps. Reference: torch.searchsorted.
 */
export const searchsorted = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && (isTensor($1) || kinds.tensorOrNumber.is($1)) && ($2 === undefined || kinds.SearchOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("searchsorted", "sorted values:tensorOrNumber options:SearchOptions?", arguments); try { return $sortSearch.searchsorted($0, $1, $2); } catch (error) { throw under("searchsorted", error); } } as unknown as typeof $sortSearch.searchsorted;
/** The buckets between sorted boundaries that values fall into. right: boundaries belong to the bucket below. Reference: torch.bucketize. */
export const bucketize = function ($0: never, $1: never, $2: never = undefined as never) { if (!((isTensor($0) || kinds.tensorOrNumber.is($0)) && isTensor($1) && ($2 === undefined || kinds.right_770b3f.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("bucketize", "values:tensorOrNumber boundaries options:right_770b3f?", arguments); try { return $sortSearch.bucketize($0, $1, $2); } catch (error) { throw under("bucketize", error); } } as unknown as typeof $sortSearch.bucketize;
/** How many elements lie in each of so many equal parts of [min, max]; others are left out. x: floating. Reference: torch.histc. */
export const histc = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.HistogramOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("histc", "x options:HistogramOptions?", arguments); try { return $sortSearch.histc($0, $1); } catch (error) { throw under("histc", error); } } as unknown as typeof $sortSearch.histc;
/**
 * How often each integer occurs in a vector of numbers of at least 0; int32, or sums of weights in their dtype. Without `size` it
 * blocks until the largest number is known. Reference: torch.bincount.
 */
export const bincount = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.BincountOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("bincount", "x options:BincountOptions?", arguments); try { return $sortSearch.bincount($0, $1); } catch (error) { throw under("bincount", error); } } as unknown as typeof $sortSearch.bincount;
export type { SortOptions } from "../sort/sort.ts";
export type { TopKOptions } from "../sort/sort.ts";
export type { KthOptions } from "../sort/sort.ts";
/**
 * The sorted elements along an axis, and their indices in x: {values, indices}. Equal elements keep their order, NaN counts as
 * the largest. Gradients flow to x. DirectML: TOP_K1. Reference: torch.sort.
 */
export const sort = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && ($2 === undefined || kinds.SortOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("sort", "x axis:number? options:SortOptions?", arguments); try { return $sortSort.sort($0, $1, $2); } catch (error) { throw under("sort", error); } } as unknown as typeof $sortSort.sort;
/** The indices that sort x along an axis. Reference: torch.argsort. DirectML: TOP_K1. */
export const argsort = function ($0: never, $1: never = undefined as never, $2: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.number.is($1)) && ($2 === undefined || kinds.SortOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("argsort", "x axis:number? options:SortOptions?", arguments); try { return $sortSort.argsort($0, $1, $2); } catch (error) { throw under("argsort", error); } } as unknown as typeof $sortSort.argsort;
/** The elements in order along the first axis. Reference: torch.msort. DirectML: TOP_K1. */
export const msort = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("msort", "x", arguments); try { return $sortSort.msort($0); } catch (error) { throw under("msort", error); } } as unknown as typeof $sortSort.msort;
/**
 * The k largest (or smallest) elements along an axis in order, and their indices: {values, indices}. NaN counts as the largest.
 * Throws ValueError for a k beyond the axis. DirectML: TOP_K1. Reference: torch.topk.
 */
export const topk = function ($0: never, $1: never, $2: never = undefined as never, $3: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.number.is($2)) && ($3 === undefined || kinds.TopKOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("topk", "x k:number axis:number? options:TopKOptions?", arguments); try { return $sortSort.topk($0, $1, $2, $3); } catch (error) { throw under("topk", error); } } as unknown as typeof $sortSort.topk;
/** The k-th smallest element (counted from 1) along an axis, and its index: {values, indices}. DirectML: TOP_K1. Reference: torch.kthvalue. */
export const kthvalue = function ($0: never, $1: never, $2: never = undefined as never, $3: never = undefined as never) { if (!(isTensor($0) && kinds.number.is($1) && ($2 === undefined || kinds.number.is($2)) && ($3 === undefined || kinds.KthOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("kthvalue", "x k:number axis:number? options:KthOptions?", arguments); try { return $sortSort.kthvalue($0, $1, $2, $3); } catch (error) { throw under("kthvalue", error); } } as unknown as typeof $sortSort.kthvalue;
export type { UniqueOptions } from "../sort/unique.ts";
export type { Unique } from "../sort/unique.ts";
/**
 * The distinct elements in order, with the index of each element's value and how often each occurs. With an axis: the distinct parts along
 * it, in lexicographic order. NaN are distinct from each other. Blocks until the device has counted. Reference: torch.unique.
 */
export const unique = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.UniqueOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("unique", "x options:UniqueOptions?", arguments); try { return $sortUnique.unique($0, $1); } catch (error) { throw under("unique", error); } } as unknown as typeof $sortUnique.unique;
/** unique() of neighbours only: runs of equal elements, in their order. Reference: torch.unique_consecutive. */
export const uniqueConsecutive = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.UniqueOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("uniqueConsecutive", "x options:UniqueOptions?", arguments); try { return $sortUnique.uniqueConsecutive($0, $1); } catch (error) { throw under("uniqueConsecutive", error); } } as unknown as typeof $sortUnique.uniqueConsecutive;
/** I0(x), the modified Bessel function. Integers give float32 (as in all functions of this file). Reference: torch.i0. DirectML: EXP, SQRT. */
export const i0 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("i0", "x", arguments); try { return $specialBessel.i0($0); } catch (error) { throw under("i0", error); } } as unknown as typeof $specialBessel.i0;
/** exp(-|x|) I0(x). Reference: torch.special.i0e. */
export const i0e = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("i0e", "x", arguments); try { return $specialBessel.i0e($0); } catch (error) { throw under("i0e", error); } } as unknown as typeof $specialBessel.i0e;
/** I1(x). Reference: torch.special.i1. */
export const i1 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("i1", "x", arguments); try { return $specialBessel.i1($0); } catch (error) { throw under("i1", error); } } as unknown as typeof $specialBessel.i1;
/** exp(-|x|) I1(x). Reference: torch.special.i1e. */
export const i1e = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("i1e", "x", arguments); try { return $specialBessel.i1e($0); } catch (error) { throw under("i1e", error); } } as unknown as typeof $specialBessel.i1e;
/** K0(x). Reference: torch.special.modified_bessel_k0. */
export const modifiedBesselK0 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("modifiedBesselK0", "x", arguments); try { return $specialBessel.modifiedBesselK0($0); } catch (error) { throw under("modifiedBesselK0", error); } } as unknown as typeof $specialBessel.modifiedBesselK0;
/** K1(x). Reference: torch.special.modified_bessel_k1. */
export const modifiedBesselK1 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("modifiedBesselK1", "x", arguments); try { return $specialBessel.modifiedBesselK1($0); } catch (error) { throw under("modifiedBesselK1", error); } } as unknown as typeof $specialBessel.modifiedBesselK1;
/** exp(x) K0(x). No gradient, as in PyTorch (nor has exp(x) K1(x)). Reference: torch.special.scaled_modified_bessel_k0. */
export const scaledModifiedBesselK0 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("scaledModifiedBesselK0", "x", arguments); try { return $specialBessel.scaledModifiedBesselK0($0); } catch (error) { throw under("scaledModifiedBesselK0", error); } } as unknown as typeof $specialBessel.scaledModifiedBesselK0;
/** exp(x) K1(x). Reference: torch.special.scaled_modified_bessel_k1. */
export const scaledModifiedBesselK1 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("scaledModifiedBesselK1", "x", arguments); try { return $specialBessel.scaledModifiedBesselK1($0); } catch (error) { throw under("scaledModifiedBesselK1", error); } } as unknown as typeof $specialBessel.scaledModifiedBesselK1;
/** I0(x), as i0. Reference: torch.special.modified_bessel_i0. */
export const modifiedBesselI0 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("modifiedBesselI0", "x", arguments); try { return $specialBessel.modifiedBesselI0($0); } catch (error) { throw under("modifiedBesselI0", error); } } as unknown as typeof $specialBessel.modifiedBesselI0;
/** I1(x), as i1. Reference: torch.special.modified_bessel_i1. */
export const modifiedBesselI1 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("modifiedBesselI1", "x", arguments); try { return $specialBessel.modifiedBesselI1($0); } catch (error) { throw under("modifiedBesselI1", error); } } as unknown as typeof $specialBessel.modifiedBesselI1;
/** J0(x). Reference: torch.special.bessel_j0. DirectML: SIN, COS, SQRT. */
export const besselJ0 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("besselJ0", "x", arguments); try { return $specialBessel.besselJ0($0); } catch (error) { throw under("besselJ0", error); } } as unknown as typeof $specialBessel.besselJ0;
/** J1(x). Reference: torch.special.bessel_j1. */
export const besselJ1 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("besselJ1", "x", arguments); try { return $specialBessel.besselJ1($0); } catch (error) { throw under("besselJ1", error); } } as unknown as typeof $specialBessel.besselJ1;
/** Y0(x). Reference: torch.special.bessel_y0. */
export const besselY0 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("besselY0", "x", arguments); try { return $specialBessel.besselY0($0); } catch (error) { throw under("besselY0", error); } } as unknown as typeof $specialBessel.besselY0;
/** Y1(x). Reference: torch.special.bessel_y1. */
export const besselY1 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("besselY1", "x", arguments); try { return $specialBessel.besselY1($0); } catch (error) { throw under("besselY1", error); } } as unknown as typeof $specialBessel.besselY1;
/** sin(x) / x. No gradient, as in PyTorch. Reference: torch.special.spherical_bessel_j0. */
export const sphericalBesselJ0 = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("sphericalBesselJ0", "x", arguments); try { return $specialBessel.sphericalBesselJ0($0); } catch (error) { throw under("sphericalBesselJ0", error); } } as unknown as typeof $specialBessel.sphericalBesselJ0;
/** 1 - erf(x), exact for large x too. Reference: torch.erfc. DirectML: ERF, EXP. */
export const erfc = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("erfc", "x", arguments); try { return $specialErrorFunctions.erfc($0); } catch (error) { throw under("erfc", error); } } as unknown as typeof $specialErrorFunctions.erfc;
/** exp(x²) erfc(x). Reference: torch.special.erfcx. DirectML: EXP. */
export const erfcx = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("erfcx", "x", arguments); try { return $specialErrorFunctions.erfcx($0); } catch (error) { throw under("erfcx", error); } } as unknown as typeof $specialErrorFunctions.erfcx;
/** The inverse of erf. Reference: torch.erfinv. DirectML: LOG, SQRT. @autocast float32 */
export const erfinv = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("erfinv", "x", arguments); try { return (openRegions === 0 ? $specialErrorFunctions.erfinv : listed("float32", "erfinv", $specialErrorFunctions.erfinv))($0); } catch (error) { throw under("erfinv", error); } } as unknown as typeof $specialErrorFunctions.erfinv;
/** The probability of at most x under the normal distribution. Reference: torch.special.ndtr. DirectML: ERF, EXP. */
export const ndtr = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("ndtr", "x", arguments); try { return $specialErrorFunctions.ndtr($0); } catch (error) { throw under("ndtr", error); } } as unknown as typeof $specialErrorFunctions.ndtr;
/** ln ndtr(x), exact for large negative x too. Reference: torch.special.log_ndtr. DirectML: ERF, EXP, LOG. */
export const logNdtr = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("logNdtr", "x", arguments); try { return $specialErrorFunctions.logNdtr($0); } catch (error) { throw under("logNdtr", error); } } as unknown as typeof $specialErrorFunctions.logNdtr;
/** The inverse of ndtr. Reference: torch.special.ndtri. DirectML: LOG, SQRT. */
export const ndtri = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("ndtri", "x", arguments); try { return $specialErrorFunctions.ndtri($0); } catch (error) { throw under("ndtri", error); } } as unknown as typeof $specialErrorFunctions.ndtri;
/** -x ln(x), 0 at 0, -Infinity for negative x. Reference: torch.special.entr. DirectML: LOG. */
export const entr = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("entr", "x", arguments); try { return $specialErrorFunctions.entr($0); } catch (error) { throw under("entr", error); } } as unknown as typeof $specialErrorFunctions.entr;
/** ln |Γ(x)|. Integers give float32 (as in all functions of this file). Reference: torch.lgamma. DirectML: LOG, SIN, arithmetic. */
export const lgamma = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("lgamma", "x", arguments); try { return $specialGamma.lgamma($0); } catch (error) { throw under("lgamma", error); } } as unknown as typeof $specialGamma.lgamma;
/** ψ(x) = d ln Γ(x) / dx. Reference: torch.digamma. DirectML: LOG, SIN, COS, arithmetic. */
export const digamma = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("digamma", "x", arguments); try { return $specialGamma.digamma($0); } catch (error) { throw under("digamma", error); } } as unknown as typeof $specialGamma.digamma;
/** The n-th derivative of ψ. Reference: torch.polygamma. DirectML: POW, SIN, COS. */
export const polygamma = function ($0: never, $1: never) { if (!(kinds.number.is($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("polygamma", "n:number x", arguments); try { return $specialGamma.polygamma($0, $1); } catch (error) { throw under("polygamma", error); } } as unknown as typeof $specialGamma.polygamma;
/** ln of the multivariate gamma function of p dimensions, for x above (p - 1) / 2. Reference: torch.mvlgamma. */
export const mvlgamma = function ($0: never, $1: never) { if (!(isTensor($0) && kinds.number.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("mvlgamma", "x p:number", arguments); try { return $specialGamma.mvlgamma($0, $1); } catch (error) { throw under("mvlgamma", error); } } as unknown as typeof $specialGamma.mvlgamma;
/** Hurwitz's ζ(s, q) for s > 1: the sum of (k + q)^-s. For a negative q that is no integer: NaN, unless s is an integer. Reference: torch.special.zeta. */
export const zeta = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("zeta", "s:operand q:operand", arguments); try { return $specialGamma.zeta($0, $1); } catch (error) { throw under("zeta", error); } } as unknown as typeof $specialGamma.zeta;
/** P(a, x), the share of Γ(a) below x; a and x at least 0. The derivative by a is not implemented, as in PyTorch: to request it is an error. Reference: torch.igamma. */
export const igamma = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("igamma", "a:operand x:operand", arguments); try { return $specialIncompleteGamma.igamma($0, $1); } catch (error) { throw under("igamma", error); } } as unknown as typeof $specialIncompleteGamma.igamma;
/** Q(a, x) = 1 - P(a, x). Reference: torch.igammac. */
export const igammac = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("igammac", "a:operand x:operand", arguments); try { return $specialIncompleteGamma.igammac($0, $1); } catch (error) { throw under("igammac", error); } } as unknown as typeof $specialIncompleteGamma.igammac;
/** T_n(x), Chebyshev's polynomial of the first kind; 0 for negative n. No gradient, as in PyTorch (and below). Reference: torch.special.chebyshev_polynomial_t. */
export const chebyshevPolynomialT = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("chebyshevPolynomialT", "x:operand n:operand", arguments); try { return $specialPolynomials.chebyshevPolynomialT($0, $1); } catch (error) { throw under("chebyshevPolynomialT", error); } } as unknown as typeof $specialPolynomials.chebyshevPolynomialT;
/** U_n(x), of the second kind. Reference: torch.special.chebyshev_polynomial_u. */
export const chebyshevPolynomialU = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("chebyshevPolynomialU", "x:operand n:operand", arguments); try { return $specialPolynomials.chebyshevPolynomialU($0, $1); } catch (error) { throw under("chebyshevPolynomialU", error); } } as unknown as typeof $specialPolynomials.chebyshevPolynomialU;
/** V_n(x), of the third kind. Reference: torch.special.chebyshev_polynomial_v. */
export const chebyshevPolynomialV = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("chebyshevPolynomialV", "x:operand n:operand", arguments); try { return $specialPolynomials.chebyshevPolynomialV($0, $1); } catch (error) { throw under("chebyshevPolynomialV", error); } } as unknown as typeof $specialPolynomials.chebyshevPolynomialV;
/** W_n(x), of the fourth kind. Reference: torch.special.chebyshev_polynomial_w. */
export const chebyshevPolynomialW = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("chebyshevPolynomialW", "x:operand n:operand", arguments); try { return $specialPolynomials.chebyshevPolynomialW($0, $1); } catch (error) { throw under("chebyshevPolynomialW", error); } } as unknown as typeof $specialPolynomials.chebyshevPolynomialW;
/** T_n(2x - 1). Reference: torch.special.shifted_chebyshev_polynomial_t. */
export const shiftedChebyshevPolynomialT = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("shiftedChebyshevPolynomialT", "x:operand n:operand", arguments); try { return $specialPolynomials.shiftedChebyshevPolynomialT($0, $1); } catch (error) { throw under("shiftedChebyshevPolynomialT", error); } } as unknown as typeof $specialPolynomials.shiftedChebyshevPolynomialT;
/** U_n(2x - 1). Reference: torch.special.shifted_chebyshev_polynomial_u. */
export const shiftedChebyshevPolynomialU = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("shiftedChebyshevPolynomialU", "x:operand n:operand", arguments); try { return $specialPolynomials.shiftedChebyshevPolynomialU($0, $1); } catch (error) { throw under("shiftedChebyshevPolynomialU", error); } } as unknown as typeof $specialPolynomials.shiftedChebyshevPolynomialU;
/** V_n(2x - 1). Reference: torch.special.shifted_chebyshev_polynomial_v. */
export const shiftedChebyshevPolynomialV = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("shiftedChebyshevPolynomialV", "x:operand n:operand", arguments); try { return $specialPolynomials.shiftedChebyshevPolynomialV($0, $1); } catch (error) { throw under("shiftedChebyshevPolynomialV", error); } } as unknown as typeof $specialPolynomials.shiftedChebyshevPolynomialV;
/** W_n(2x - 1). Reference: torch.special.shifted_chebyshev_polynomial_w. */
export const shiftedChebyshevPolynomialW = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("shiftedChebyshevPolynomialW", "x:operand n:operand", arguments); try { return $specialPolynomials.shiftedChebyshevPolynomialW($0, $1); } catch (error) { throw under("shiftedChebyshevPolynomialW", error); } } as unknown as typeof $specialPolynomials.shiftedChebyshevPolynomialW;
/** H_n(x), Hermite's polynomial of the physicists. Reference: torch.special.hermite_polynomial_h. */
export const hermitePolynomialH = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("hermitePolynomialH", "x:operand n:operand", arguments); try { return $specialPolynomials.hermitePolynomialH($0, $1); } catch (error) { throw under("hermitePolynomialH", error); } } as unknown as typeof $specialPolynomials.hermitePolynomialH;
/** He_n(x), Hermite's polynomial of the statisticians. Reference: torch.special.hermite_polynomial_he. */
export const hermitePolynomialHe = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("hermitePolynomialHe", "x:operand n:operand", arguments); try { return $specialPolynomials.hermitePolynomialHe($0, $1); } catch (error) { throw under("hermitePolynomialHe", error); } } as unknown as typeof $specialPolynomials.hermitePolynomialHe;
/** L_n(x), Laguerre's polynomial. Reference: torch.special.laguerre_polynomial_l. */
export const laguerrePolynomialL = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("laguerrePolynomialL", "x:operand n:operand", arguments); try { return $specialPolynomials.laguerrePolynomialL($0, $1); } catch (error) { throw under("laguerrePolynomialL", error); } } as unknown as typeof $specialPolynomials.laguerrePolynomialL;
/** P_n(x), Legendre's polynomial. Reference: torch.special.legendre_polynomial_p. */
export const legendrePolynomialP = function ($0: never, $1: never) { if (!((isTensor($0) || kinds.operand.is($0)) && (isTensor($1) || kinds.operand.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("legendrePolynomialP", "x:operand n:operand", arguments); try { return $specialPolynomials.legendrePolynomialP($0, $1); } catch (error) { throw under("legendrePolynomialP", error); } } as unknown as typeof $specialPolynomials.legendrePolynomialP;
export type { DeformConvOptions } from "../vision/deform-conv.ts";
/**
 * A convolution that samples each tap bilinearly, at a position moved by an offset.
 *
 * x: [N, Ci, H, W], floating. offset: [N, 2 * G * kh * kw, Ho, Wo], for each of G groups of channels and each tap first the offset in rows,
 * then the offset in columns. weight: [Co, Ci / groups, kh, kw]. Result: [N, Co, Ho, Wo]. Gradients flow to all. Elements outside x are 0.
 * DirectML: GATHER_ELEMENTS, arithmetic, GEMM. Reference: torchvision.ops.deform_conv2d.
 */
export const deformConv2d = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && isTensor($2) && ($3 === undefined || kinds.DeformConvOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("deformConv2d", "x offset weight options:DeformConvOptions?", arguments); try { return $visionDeformConv.deformConv2d($0, $1, $2, $3); } catch (error) { throw under("deformConv2d", error); } } as unknown as typeof $visionDeformConv.deformConv2d;
export type { GridSampleOptions } from "../vision/grid-sample.ts";
/**
 * x [N, C, H, W] (or with a depth) sampled at the coordinates of grid [N, h, w, 2] ([N, d, h, w, 3]), whose last axis is (x, y[, z]) in [-1, 1].
 * Result: [N, C, h, w]. Floating dtypes. DirectML: GATHER_ELEMENTS, arithmetic. Reference: torch.nn.functional.grid_sample.
 * @autocast widest
 */
export const gridSample = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && isTensor($1) && ($2 === undefined || kinds.GridSampleOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("gridSample", "x grid options:GridSampleOptions?", arguments); try { return (openRegions === 0 ? $visionGridSample.gridSample : listed("widest", "gridSample", $visionGridSample.gridSample))($0, $1, $2); } catch (error) { throw under("gridSample", error); } } as unknown as typeof $visionGridSample.gridSample;
/**
 * The grid that gridSample reads for affine maps theta [N, 2, 3] ([N, 3, 4] for volumes) and results of `size` [N, C, H, W].
 * DirectML: GEMM. Reference: torch.nn.functional.affine_grid.
 */
export const affineGrid = function ($0: never, $1: never, $2: never = undefined as never) { if (!(isTensor($0) && kinds.numbers.is($1) && ($2 === undefined || kinds.alignCorners_b4902f.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("affineGrid", "theta size:numbers options:alignCorners_b4902f?", arguments); try { return $visionGridSample.affineGrid($0, $1, $2); } catch (error) { throw under("affineGrid", error); } } as unknown as typeof $visionGridSample.affineGrid;
export type { ResizeMode } from "../vision/interpolate.ts";
export type { InterpolateOptions } from "../vision/interpolate.ts";
/**
 * x [N, C, W], [N, C, H, W] or [N, C, D, H, W] with other lengths of its spatial axes.
 *
 * Throws ShapeError if the mode does not support x's rank, ValueError for options that exclude each other. DirectML: RESAMPLE1 and
 * RESAMPLE_GRAD for linear modes and whole factors; GATHER, MULTIPLY, ADD; GEMM where antialiased; AVERAGE_POOLING for "area". Reference: torch.nn.functional.interpolate.
 * @autocast float32
 */
export const interpolate = function ($0: never, $1: never = undefined as never) { if (!(isTensor($0) && ($1 === undefined || kinds.InterpolateOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("interpolate", "x options:InterpolateOptions?", arguments); try { return (openRegions === 0 ? $visionInterpolate.interpolate : listed("float32", "interpolate", $visionInterpolate.interpolate))($0, $1); } catch (error) { throw under("interpolate", error); } } as unknown as typeof $visionInterpolate.interpolate;
export type { RoiAlignOptions } from "../vision/roi-align.ts";
/**
 * Pools each box of an image to a small image: each element is the mean of bilinear samples.
 *
 * x: [N, C, H, W], floating. boxes: [K, 5] (image, x1, y1, x2, y2), or a list of [L, 4] for each image; in x's dtype. Result: [K, C, ...outputSize].
 * Gradients flow to x. Unless aligned, a box is at least one element of the image wide and high.
 * DirectML: ROI_ALIGN1, ROI_ALIGN_GRAD. Reference: torchvision.ops.roi_align.
 */
export const roiAlign = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && (isTensor($1) || kinds.tensorOrTensors.is($1)) && kinds.RoiAlignOptions.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("roiAlign", "x boxes:tensorOrTensors options:RoiAlignOptions", arguments); try { return $visionRoiAlign.roiAlign($0, $1, $2); } catch (error) { throw under("roiAlign", error); } } as unknown as typeof $visionRoiAlign.roiAlign;
export type { RoiPoolOptions } from "../vision/roi-pool.ts";
/**
 * Pools each box of an image to a small image: each element is the maximum of the elements in its bin; 0 for a bin outside the image.
 *
 * x: [N, C, H, W], floating. boxes: [K, 5] (image, x1, y1, x2, y2), or a list of [L, 4] for each image; in x's dtype, corners inside, rounded.
 * Result: [K, C, ...outputSize]. Gradients flow to x, of equal elements to the first. Bins are exact fractions of the box.
 * DirectML: ROI_POOLING; backward GATHER, SCATTER. Reference: torchvision.ops.roi_pool.
 */
export const roiPool = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && (isTensor($1) || kinds.tensorOrTensors.is($1)) && kinds.RoiPoolOptions.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("roiPool", "x boxes:tensorOrTensors options:RoiPoolOptions", arguments); try { return $visionRoiPool.roiPool($0, $1, $2); } catch (error) { throw under("roiPool", error); } } as unknown as typeof $visionRoiPool.roiPool;
/**
 * roiAlign() in which each bin reads channels of its own: result [k, c, i, j] is the mean over bin (i, j) of channel (c * h + i) * w + j.
 *
 * x: [N, C * h * w, H, W], floating. boxes: as roiAlign's. Result: [K, C, h, w] with [h, w] = outputSize. A box is at least a tenth of an
 * element wide and high. Gradients flow to x.
 * DirectML: ROI_ALIGN1, ROI_ALIGN_GRAD. Reference: torchvision.ops.ps_roi_align.
 */
export const psRoiAlign = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && (isTensor($1) || kinds.tensorOrTensors.is($1)) && kinds.outputSize_c80635.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("psRoiAlign", "x boxes:tensorOrTensors options:outputSize_c80635", arguments); try { return $visionRoiPool.psRoiAlign($0, $1, $2); } catch (error) { throw under("psRoiAlign", error); } } as unknown as typeof $visionRoiPool.psRoiAlign;
/**
 * The indices of the boxes to keep, best first. A box is removed if its overlap with a better box that is kept (area of the intersection over
 * area of the union) is greater than iouThreshold. boxes: [N, 4] (x1, y1, x2, y2), scores: [N], floating. Result: int32.
 * The length depends on the data, so the host reads both and chooses. Blocks until they are read; nms() does not.
 * Reference: torchvision.ops.nms.
 */
export const nmsSync = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && isTensor($1) && kinds.number.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("nmsSync", "boxes scores iouThreshold:number", arguments); try { return $visionRoiPool.nmsSync($0, $1, $2); } catch (error) { throw under("nmsSync", error); } } as unknown as typeof $visionRoiPool.nmsSync;
/** nmsSync() that waits without blocking. Reference: torchvision.ops.nms. */
export const nms = async function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && isTensor($1) && kinds.number.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("nms", "boxes scores iouThreshold:number", arguments); try { return await $visionRoiPool.nms($0, $1, $2); } catch (error) { throw under("nms", error); } } as unknown as typeof $visionRoiPool.nms;
