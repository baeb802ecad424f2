// Made by npm run generate from the families in src/ops.
import { isDType } from "../../core/dtype.ts";
import { isIterable, isTensor, kind, like, options, setKinds } from "../declare/checked.ts";
import { isPlain } from "../declare/other-names.ts";
import { ComplexTensor } from "../../core/complex-tensor.ts";
import { Device } from "../../core/device.ts";
import { Generator } from "../../ops/random/random.ts";
export const anything = kind(() => true, "anything");
export const boolean = kind((v) => typeof v === "boolean", "true or false");
export const booleanOrNull = kind((v) => (typeof v === "boolean" || v === null), "true or false or null");
export const callback = kind((v) => typeof v === "function", "a function");
export const callbackOrNull = kind((v) => (typeof v === "function" || v === null), "a function or null");
export const complex32_complex64OrDtype = kind((v) => (isDType(v) || v === "complex32" || v === "complex64"), "a dtype's name, \"complex32\" or \"complex64\"", true);
export const complexTensor = kind((v) => v instanceof ComplexTensor, "a complex tensor");
export const complexTensorOrTensor = kind((v) => (v instanceof ComplexTensor || isTensor(v)), "a complex tensor or a tensor", true);
export const complexTensorOrTensorOrNumber = kind((v) => (v instanceof ComplexTensor || isTensor(v) || typeof v === "number"), "a complex tensor, a tensor or a number", true);
export const data = kind((v) => ArrayBuffer.isView(v), "a typed array");
export const deviceOrString = kind((v) => (v instanceof Device || typeof v === "string"), "a device or a string");
export const deviceOrStringOrDtype = kind((v) => (v instanceof Device || typeof v === "string" || isDType(v)), "a device, a string or a dtype's name", true);
export const deviceOrStringOrNull = kind((v) => (v instanceof Device || typeof v === "string" || v === null), "a device, a string or null");
export const dtype = kind((v) => isDType(v), "a dtype's name", true);
export const float16_bfloat16 = kind((v) => (v === "float16" || v === "bfloat16"), "\"float16\" or \"bfloat16\"");
export const fro_nuc_n1_m1_n2_m2OrNumber = kind((v) => (v === "fro" || v === "nuc" || v === 1 || v === -1 || v === 2 || v === -2 || typeof v === "number"), "\"fro\", \"nuc\", 1, -1, 2, -2 or a number");
export const lstm_gru_tanh_relu = kind((v) => (v === "lstm" || v === "gru" || v === "tanh" || v === "relu"), "\"lstm\", \"gru\", \"tanh\" or \"relu\"");
export const number = kind((v) => typeof v === "number", "a number");
export const numberOrBigint = kind((v) => (typeof v === "number" || typeof v === "bigint"), "a number or a bigint");
export const numberOrNull = kind((v) => (typeof v === "number" || v === null), "a number or null");
export const numberOrTensor = kind((v) => (typeof v === "number" || isTensor(v)), "a number or a tensor", true);
export const operand = kind((v) => (isTensor(v) || typeof v === "number" || typeof v === "bigint" || typeof v === "boolean"), "a tensor or a number", true);
export const operandOrComplexTensor = kind((v) => (isTensor(v) || typeof v === "number" || typeof v === "bigint" || typeof v === "boolean" || v instanceof ComplexTensor), "a tensor, a number or a complex tensor", true);
export const operandOrNull = kind((v) => (isTensor(v) || typeof v === "number" || typeof v === "bigint" || typeof v === "boolean" || v === null), "a tensor, a number or null", true);
export const optAdd_multiply = kind((v) => (v === "add" || v === "multiply" || v === undefined), "\"add\" or \"multiply\"");
export const optAuto_always_off = kind((v) => (v === "auto" || v === "always" || v === "off" || v === undefined), "\"auto\", \"always\" or \"off\"");
export const optAverage_each_none = kind((v) => (v === "average" || v === "each" || v === "none" || v === undefined), "\"average\", \"each\" or \"none\"");
export const optBilinear_nearest_bicubic = kind((v) => (v === "bilinear" || v === "nearest" || v === "bicubic" || v === undefined), "\"bilinear\", \"nearest\" or \"bicubic\"");
export const optBoolean = kind((v) => (typeof v === "boolean" || v === undefined), "true or false");
export const optBooleanOrNull = kind((v) => (typeof v === "boolean" || v === null || v === undefined), "true or false or null");
export const optCallback = kind((v) => (typeof v === "function" || v === undefined), "a function");
export const optCallbackOrNull = kind((v) => (typeof v === "function" || v === null || v === undefined), "a function or null");
export const optConstant_reflect_replicate_circular = kind((v) => (v === "constant" || v === "reflect" || v === "replicate" || v === "circular" || v === undefined), "\"constant\", \"reflect\", \"replicate\" or \"circular\"");
export const optDeviceOrString = kind((v) => (v instanceof Device || typeof v === "string" || v === undefined), "a device or a string");
export const optDtype = kind((v) => (isDType(v) || v === undefined), "a dtype's name", true);
export const optError_same_different = kind((v) => (v === "error" || v === "same" || v === "different" || v === undefined), "\"error\", \"same\" or \"different\"");
export const optFloat16_bfloat16 = kind((v) => (v === "float16" || v === "bfloat16" || v === undefined), "\"float16\" or \"bfloat16\"");
export const optGenerator = kind((v) => (v instanceof Generator || v === undefined), "a generator");
export const optIj_xy = kind((v) => (v === "ij" || v === "xy" || v === undefined), "\"ij\" or \"xy\"");
export const optInt32_int64 = kind((v) => (v === "int32" || v === "int64" || v === undefined), "\"int32\" or \"int64\"");
export const optInt32_int64_uint32_uint64 = kind((v) => (v === "int32" || v === "int64" || v === "uint32" || v === "uint64" || v === undefined), "\"int32\", \"int64\", \"uint32\" or \"uint64\"");
export const optLinear_lower_higher_nearest_midpoint = kind((v) => (v === "linear" || v === "lower" || v === "higher" || v === "nearest" || v === "midpoint" || v === undefined), "\"linear\", \"lower\", \"higher\", \"nearest\" or \"midpoint\"");
export const optMean_sum_none = kind((v) => (v === "mean" || v === "sum" || v === "none" || v === undefined), "\"mean\", \"sum\" or \"none\"");
export const optMean_sum_none_batchmean = kind((v) => (v === "mean" || v === "sum" || v === "none" || v === "batchmean" || v === undefined), "\"mean\", \"sum\", \"none\" or \"batchmean\"");
export const optN1_n2 = kind((v) => (v === 1 || v === 2 || v === undefined), "1 or 2");
export const optNearest_nearestExact_0f3425 = kind((v) => (v === "nearest" || v === "nearestExact" || v === "linear" || v === "bilinear" || v === "trilinear" || v === "bicubic" || v === "area" || v === undefined), "\"nearest\", \"nearestExact\", \"linear\", \"bilinear\", \"trilinear\", \"bicubic\" or \"area\"");
export const optNone_tanh = kind((v) => (v === "none" || v === "tanh" || v === undefined), "\"none\" or \"tanh\"");
export const optNumber = kind((v) => (typeof v === "number" || v === undefined), "a number");
export const optNumberOrBoolean = kind((v) => (typeof v === "number" || typeof v === "boolean" || v === undefined), "a number or true or false");
export const optNumberOrNull = kind((v) => (typeof v === "number" || v === null || v === undefined), "a number or null");
export const optNumberOrTensor = kind((v) => (typeof v === "number" || isTensor(v) || v === undefined), "a number or a tensor", true);
export const optNumberOrTensorOrNull = kind((v) => (typeof v === "number" || isTensor(v) || v === null || v === undefined), "a number, a tensor or null", true);
export const optString = kind((v) => (typeof v === "string" || v === undefined), "a string");
export const optSum_mean_max = kind((v) => (v === "sum" || v === "mean" || v === "max" || v === undefined), "\"sum\", \"mean\" or \"max\"");
export const optTensorOrNull = kind((v) => (isTensor(v) || v === null || v === undefined), "a tensor or null", true);
export const optTrunc_floorOrNull = kind((v) => (v === "trunc" || v === "floor" || v === null || v === undefined), "\"trunc\", \"floor\" or null");
export const optUseMmForEuclidDistIfN_c5d016 = kind((v) => (v === "useMmForEuclidDistIfNecessary" || v === "useMmForEuclidDist" || v === "donotUseMmForEuclidDist" || v === undefined), "\"useMmForEuclidDistIfNecessary\", \"useMmForEuclidDist\" or \"donotUseMmForEuclidDist\"");
export const optWhole_head_none = kind((v) => (v === "whole" || v === "head" || v === "none" || v === undefined), "\"whole\", \"head\" or \"none\"");
export const optZeros_border_reflection = kind((v) => (v === "zeros" || v === "border" || v === "reflection" || v === undefined), "\"zeros\", \"border\" or \"reflection\"");
export const scalar = kind((v) => (typeof v === "number" || typeof v === "bigint" || typeof v === "boolean"), "a number");
export const string = kind((v) => typeof v === "string", "a string");
export const sum_mean_max_min_prod = kind((v) => (v === "sum" || v === "mean" || v === "max" || v === "min" || v === "prod"), "\"sum\", \"mean\", \"max\", \"min\" or \"prod\"");
export const sum_prod_mean_amax_amin = kind((v) => (v === "sum" || v === "prod" || v === "mean" || v === "amax" || v === "amin"), "\"sum\", \"prod\", \"mean\", \"amax\" or \"amin\"");
export const tensor = kind((v) => isTensor(v), "a tensor", true);
export const tensorOrBoolean = kind((v) => (isTensor(v) || typeof v === "boolean"), "a tensor or true or false", true);
export const tensorOrComplexTensor = kind((v) => (isTensor(v) || v instanceof ComplexTensor), "a tensor or a complex tensor", true);
export const tensorOrComplexTensorOrNull = kind((v) => (isTensor(v) || v instanceof ComplexTensor || v === null), "a tensor, a complex tensor or null", true);
export const tensorOrNull = kind((v) => (isTensor(v) || v === null), "a tensor or null", true);
export const tensorOrNumber = kind((v) => (isTensor(v) || typeof v === "number"), "a tensor or a number", true);
export const ArgOptions = options({ keepDims: optBoolean, dtype: optInt32_int64_uint32_uint64 }, [], {"keepdim":"keepDims"});
export const AttentionOptions = options({ attnMask: optTensorOrNull, dropoutP: optNumber, isCausal: optBoolean, scale: optNumber, enableGqa: optBoolean, generator: optGenerator }, [], {"mask":"attnMask","dropout":"dropoutP","causal":"isCausal","groupedHeads":"enableGqa"});
export const AutocastOptions = options({ enabled: optBoolean, cacheWeights: optBoolean });
export const BatchNormOptions = options({ training: optBoolean, momentum: optNumberOrTensor, eps: optNumber }, [], {"epsilon":"eps"});
export const BinaryOptions = options({ reduction: optMean_sum_none, weight: optTensorOrNull });
export const BincountOptions = options({ weights: optTensorOrNull, minlength: optNumber, size: optNumber }, [], {"minLength":"minlength"});
export const CdistOptions = options({ p: optNumber, computeMode: optUseMmForEuclidDistIfN_c5d016 });
export const CholeskyOptions = options({ upper: optBoolean });
export const CloseOptions = options({ rtol: optNumber, atol: optNumber, equalNan: optBoolean });
export const CovarianceOptions = options({ correction: optNumber, fweights: optTensorOrNull, aweights: optTensorOrNull });
export const CrossEntropyOptions = options({ reduction: optMean_sum_none, weight: optTensorOrNull, ignoreIndex: optNumber, labelSmoothing: optNumber });
export const CtcOptions = options({ reduction: optMean_sum_none, blank: optNumber, zeroInfinity: optBoolean });
export const CumulativeOptions = options({ dtype: optDtype });
export const DequantizeOptions = options({ axis: optNumberOrNull });
export const DiagonalOptions = options({ offset: optNumber, axis0: optNumber, axis1: optNumber }, [], {"dim1":"axis0","dim2":"axis1"});
export const DiffOptions = options({ n: optNumber, axis: optNumber, prepend: optTensorOrNull, append: optTensorOrNull }, [], {"dim":"axis"});
export const DivOptions = options({ roundingMode: optTrunc_floorOrNull });
export const DrawOptions = options({ generator: optGenerator });
export const DropoutOptions = options({ p: optNumber, training: optBoolean, generator: optGenerator });
export const EmbeddingBagOptions = options({ paddingIdx: optNumberOrNull, maxNorm: optNumberOrNull, normType: optNumber, scaleGradByFreq: optBoolean, offsets: optTensorOrNull, mode: optSum_mean_max, perSampleWeights: optTensorOrNull, includeLastOffset: optBoolean }, [], {"paddingIndex":"paddingIdx"});
export const EmbeddingOptions = options({ paddingIdx: optNumberOrNull, maxNorm: optNumberOrNull, normType: optNumber, scaleGradByFreq: optBoolean }, [], {"paddingIndex":"paddingIdx"});
export const Epsilon = options({ eps: optNumber }, [], {"epsilon":"eps"});
export const FunctionalOptions = options({ createGraph: optBoolean, strict: optBoolean });
export const GaussianOptions = options({ reduction: optMean_sum_none, full: optBoolean, eps: optNumber }, [], {"epsilon":"eps"});
export const GradcheckOptions = options({ step: optNumber, absolute: optNumber, relative: optNumber });
export const GridSampleOptions = options({ mode: optBilinear_nearest_bicubic, paddingMode: optZeros_border_reflection, alignCorners: optBoolean });
export const GumbelOptions = options({ tau: optNumber, hard: optBoolean, axis: optNumber, generator: optGenerator }, [], {"dim":"axis"});
export const HardtanhOptions = options({ minVal: optNumber, maxVal: optNumber }, [], {"min":"minVal","max":"maxVal"});
export const HistogramOptions = options({ bins: optNumber, min: optNumber, max: optNumber });
export const InferenceModeOptions = options({ enabled: optBoolean });
export const InstanceNormOptions = options({ eps: optNumber, runningMean: optTensorOrNull, runningVar: optTensorOrNull, useInputStats: optBoolean, momentum: optNumber }, [], {"epsilon":"eps","runningVariance":"runningVar"});
export const IstftOptions = options({ hopLength: optNumber, winLength: optNumber, window: optTensorOrNull, center: optBoolean, normalized: optBoolean, onesided: optBoolean, length: optNumber, returnComplex: optBoolean });
export const KthOptions = options({ keepDims: optBoolean, dtype: optInt32_int64_uint32_uint64 }, [], {"keepdim":"keepDims"});
export const LocalResponseOptions = options({ alpha: optNumber, beta: optNumber, k: optNumber });
export const LogitsOptions = options({ reduction: optMean_sum_none, weight: optTensorOrNull, posWeight: optTensorOrNull });
export const LossOptions = options({ reduction: optMean_sum_none });
export const MarginOptions = options({ reduction: optMean_sum_none, margin: optNumber });
export const MaskedOptions = options({ size: number, fill: optNumber }, ["size"]);
export const MultiHeadOptions = options({ keyPaddingMask: optTensorOrNull, attnMask: optTensorOrNull, isCausal: optBoolean, dropoutP: optNumber, addZeroAttn: optBoolean, weights: optAverage_each_none, generator: optGenerator }, [], {"mask":"attnMask","causal":"isCausal","dropout":"dropoutP","addZeroAttention":"addZeroAttn"});
export const MultiMarginOptions = options({ reduction: optMean_sum_none, p: optN1_n2, margin: optNumber, weight: optTensorOrNull });
export const NllOptions = options({ reduction: optMean_sum_none, weight: optTensorOrNull, ignoreIndex: optNumber });
export const NonzeroOptions = options({ dtype: optInt32_int64_uint32_uint64 });
export const NormOptions = options({ eps: optNumber }, [], {"epsilon":"eps"});
export const OneHotOptions = options({ dtype: optDtype });
export const OrmqrOptions = options({ left: optBoolean, transpose: optBoolean });
export const PairwiseOptions = options({ p: optNumber, eps: optNumber, keepDims: optBoolean }, [], {"epsilon":"eps","keepdim":"keepDims"});
export const PoissonOptions = options({ reduction: optMean_sum_none, logInput: optBoolean, full: optBoolean, eps: optNumber }, [], {"epsilon":"eps"});
export const PrintOptions = options({ precision: optNumber, threshold: optNumber, edgeItems: optNumber, lineWidth: optNumber });
export const ProfileSchedule = options({ skipFirst: optNumber, wait: optNumber, warmup: optNumber, active: number, repeat: optNumber }, ["active"]);
export const QuantileOptions = options({ axis: optNumberOrNull, keepDims: optBoolean, interpolation: optLinear_lower_higher_nearest_midpoint }, [], {"dim":"axis","keepdim":"keepDims"});
export const QuantizeOptions = options({ dtype: optDtype, axis: optNumberOrNull, min: optNumber, max: optNumber });
export const Quantized = options({ scale: numberOrTensor, zeroPoint: optNumberOrTensor, values: tensor }, ["scale","values"]);
export const QuantizedResult = options({ scale: numberOrTensor, zeroPoint: optNumberOrTensor, dtype: optDtype }, ["scale"]);
export const RReluOptions = options({ lower: optNumber, upper: optNumber, training: optBoolean, generator: optGenerator });
export const RandomOptions = options({ dtype: optDtype, device: optDeviceOrString, requiresGrad: optBoolean, generator: optGenerator });
export const RangeOptions = options({ dtype: optDtype, device: optDeviceOrString, requiresGrad: optBoolean, start: optNumber, step: optNumber });
export const RecurrentWeights = options({ input: tensor, hidden: tensor, inputBias: optTensorOrNull, hiddenBias: optTensorOrNull, projection: optTensorOrNull }, ["input","hidden"]);
export const ReduceOptions = options({ keepDims: optBoolean, dtype: optDtype }, [], {"keepdim":"keepDims"});
export const RepeatOptions = options({ outputSize: optNumber }, [], {"size":"outputSize"});
export const ReverseOptions = options({ axis: optNumber, batchAxis: optNumber });
export const RmsNormOptions = options({ eps: optNumberOrNull }, [], {"epsilon":"eps"});
export const RunningOptions = options({ dtype: optInt32_int64_uint32_uint64 });
export const SampleOptions = options({ generator: optGenerator });
export const Scale = options({ alpha: optNumber, beta: optNumber });
export const Scaled = options({ value: optNumberOrBoolean });
export const ScanOptions = options({ dim: optNumber, reverse: optBoolean });
export const ScatterReduceOptions = options({ includeSelf: optBoolean });
export const SearchOptions = options({ right: optBoolean, sorter: optTensorOrNull, dtype: optInt32_int64_uint32_uint64 });
export const SegmentOptions = options({ lengths: optTensorOrNull, offsets: optTensorOrNull, axis: optNumber, initial: optNumberOrNull, unsafe: optBoolean });
export const SimilarityOptions = options({ axis: optNumber, eps: optNumber }, [], {"dim":"axis","epsilon":"eps"});
export const SizedOptions = options({ dtype: optInt32_int64_uint32_uint64, size: number, fill: optNumber }, ["size"]);
export const Slice = options({ start: optNumberOrNull, end: optNumberOrNull, step: optNumber });
export const SoftmaxOptions = options({ dtype: optDtype });
export const SoftplusOptions = options({ beta: optNumber, threshold: optNumber });
export const SortOptions = options({ descending: optBoolean, stable: optBoolean, dtype: optInt32_int64_uint32_uint64 });
export const StftOptions = options({ hopLength: optNumber, winLength: optNumber, window: optTensorOrNull, center: optBoolean, normalized: optBoolean, onesided: optBoolean, padMode: optConstant_reflect_replicate_circular, returnComplex: optBoolean });
export const TensorOptions = options({ dtype: optDtype, device: optDeviceOrString, requiresGrad: optBoolean });
export const ToleranceOptions = options({ atol: optNumberOrTensorOrNull, rtol: optNumberOrTensorOrNull, hermitian: optBoolean });
export const TopKOptions = options({ largest: optBoolean, sorted: optBoolean, dtype: optInt32_int64_uint32_uint64 });
export const TrapezoidOptions = options({ x: optTensorOrNull, dx: optNumber, axis: optNumber }, [], {"dim":"axis"});
export const TriangleOptions = options({ offset: optNumber, dtype: optInt32_int64, device: anything });
export const TripletOptions = options({ reduction: optMean_sum_none, margin: optNumber, swap: optBoolean, distanceFunction: optCallbackOrNull, p: optNumber, eps: optNumber }, [], {"distance":"distanceFunction","epsilon":"eps"});
export const UniqueOptions = options({ axis: optNumberOrNull }, [], {"dim":"axis"});
export const VanderOptions = options({ n: optNumber, increasing: optBoolean }, [], {"columns":"n"});
export const VarianceOptions = options({ keepDims: optBoolean, correction: optNumber }, [], {"keepdim":"keepDims"});
export const VmapOptions = options({ inDims: anything, outDims: anything, randomness: optError_same_different, chunkSize: optNumberOrNull });
export const WindowOptions = options({ dtype: optDtype, device: optDeviceOrString, requiresGrad: optBoolean, periodic: optBoolean });
export const ZeroPoints = options({ aZeroPoint: optNumberOrTensor, bZeroPoint: optNumberOrTensor });
export const accumulate_75b02d = options({ accumulate: optBoolean });
export const alignCorners_b4902f = options({ alignCorners: optBoolean });
export const alpha_43d274 = options({ alpha: optNumber, beta: optNumber });
export const alpha_6630fc = options({ alpha: optNumber });
export const alpha_cfb1a9 = options({ alpha: optNumberOrBoolean });
export const approximate_16588b = options({ approximate: optNone_tanh });
export const axis_58213f = options({ axis: optNumberOrNull, keepDims: optBoolean }, [], {"dim":"axis","keepdim":"keepDims"});
export const complexTensorOrTensorOrNumberOrNumbers = kind((v) => (v instanceof ComplexTensor || isTensor(v) || typeof v === "number" || (Array.isArray(v) && v.every(number.is))), "a complex tensor, a tensor, a number or an array of numbers", true);
export const decimals_2ea458 = options({ decimals: optNumber });
export const dtype_27fa4a = options({ dtype: optDtype, device: optDeviceOrString, requiresGrad: optBoolean, periodic: optBoolean, alpha: optNumber, beta: optNumber });
export const dtype_66b714 = options({ dtype: optDtype, device: optDeviceOrString, requiresGrad: optBoolean, periodic: optBoolean, beta: optNumber });
export const dtype_9cae4b = options({ dtype: optDtype, device: optDeviceOrString, requiresGrad: optBoolean, base: optNumber });
export const eachAnything = kind((v) => (Array.isArray(v) && v.every(anything.is)), "one after the other, anything");
export const eachOperand = kind((v) => (Array.isArray(v) && v.every(operand.is)), "one after the other, a tensor or a number", true);
export const eachTensor = kind((v) => (Array.isArray(v) && v.every(tensor.is)), "one after the other, tensors", true);
export const eps_bc6edc = options({ eps: optNumberOrNull }, [], {"epsilon":"eps"});
export const generator_235f06 = options({ generator: optGenerator, replacement: optBoolean });
export const hidden_5a415d = options({ hidden: optTensorOrNull, cell: optTensorOrNull });
export const indexing_ca42e2 = options({ indexing: optIj_xy });
export const interleaved_d885c6 = options({ interleaved: optBoolean });
export const invert_701e86 = options({ invert: optBoolean });
export const lambd_f221ed = options({ lambd: optNumber }, [], {"lambda":"lambd"});
export const listOfAnything = kind((v) => Array.isArray(v), "an array");
export const listOfTensorOrComplexTensor = kind((v) => (Array.isArray(v) && v.every(tensorOrComplexTensor.is)), "an array of tensors and complex tensors", true);
export const min_72d58d = options({ min: optNumber, max: optNumber, eps: optNumber });
export const mode_a2f619 = options({ mode: optConstant_reflect_replicate_circular, value: optNumberOrBoolean });
export const name_4b3c75 = options({ name: optString, forward: callback, backward: callback }, ["forward","backward"]);
export const name_71bfab = options({ name: optString, inputs: anything, outputs: anything, params: anything, threads: number, groups: optCallback, each: optNumber, grad: optCallback }, ["threads"]);
export const name_b12d0a = options({ name: string, infer: callback, lower: callback, grad: callbackOrNull, asGraph: optBoolean }, ["name","infer","lower","grad"]);
export const nan_0e3c84 = options({ nan: optNumber, posinf: optNumber, neginf: optNumber });
export const negativeSlope_4b07d7 = options({ negativeSlope: optNumber }, [], {"slope":"negativeSlope"});
export const numberOrListOfNumberOrNull = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(numberOrNull.is))), "a number or an array");
export const numberOrNumbers = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(number.is))), "a number or an array of numbers");
export const numberOrNumbersOrComplexTensor = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(number.is)) || v instanceof ComplexTensor), "a number, an array of numbers or a complex tensor");
export const numberOrNumbersOrNull = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(number.is)) || v === null), "a number, an array of numbers or null");
export const numberOrNumbersOrTensors = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(number.is)) || (Array.isArray(v) && v.every(tensor.is))), "a number, an array of numbers or an array of tensors", true);
export const numbers = kind((v) => (Array.isArray(v) && v.every(number.is)), "an array of numbers");
export const offset_59a49a = options({ offset: optNumber, axis0: optNumber, axis1: optNumber }, [], {"dim1":"axis0","dim2":"axis1"});
export const optDeviceOrStringOrRecor_e6d918 = kind((v) => (v instanceof Device || typeof v === "string" || (isPlain(v) && Object.values(v).every(deviceOrString.is)) || typeof v === "function" || v === undefined), "a device, a string, an object of devices and strings or a function");
export const optDoubling_halvesOrNumbers = kind((v) => (v === "doubling" || v === "halves" || (Array.isArray(v) && v.every(number.is)) || v === undefined), "\"doubling\", \"halves\" or an array of numbers");
export const optNumberOrListOfNumberOrTensor = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(numberOrTensor.is)) || v === undefined), "a number or an array of numbers and tensors", true);
export const optNumberOrNumbers = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(number.is)) || v === undefined), "a number or an array of numbers");
export const optNumberOrNumbersOrNull = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(number.is)) || v === null || v === undefined), "a number, an array of numbers or null");
export const optNumbers = kind((v) => ((Array.isArray(v) && v.every(number.is)) || v === undefined), "an array of numbers");
export const optNumbersOrNull = kind((v) => ((Array.isArray(v) && v.every(number.is)) || v === null || v === undefined), "an array of numbers or null");
export const optRecordOfCallback = kind((v) => ((isPlain(v) && Object.values(v).every(callback.is)) || v === undefined), "an object of functions");
export const optSame_validOrNumberOrNumbers = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(number.is)) || v === "same" || v === "valid" || v === undefined), "a number, an array of numbers, \"same\" or \"valid\"");
export const optStrings = kind((v) => ((Array.isArray(v) && v.every(string.is)) || v === undefined), "an array of strings");
export const optTensorOrComplexTensor_992931 = kind((v) => (isTensor(v) || v instanceof ComplexTensor || v === null || (Array.isArray(v) && v.every(tensorOrComplexTensorOrNull.is)) || v === undefined), "a tensor, a complex tensor, null or an array", true);
export const optTensorOrListOfTensorOrNull = kind((v) => (isTensor(v) || (Array.isArray(v) && v.every(tensorOrNull.is)) || v === undefined), "a tensor or an array", true);
export const optTensorOrNumbersOrNull = kind((v) => (isTensor(v) || (Array.isArray(v) && v.every(number.is)) || v === null || v === undefined), "a tensor, an array of numbers or null", true);
export const optTensors = kind((v) => ((Array.isArray(v) && v.every(tensor.is)) || v === undefined), "an array of tensors", true);
export const reduce_975498 = options({ reduce: optAdd_multiply });
export const reduction_0d009b = options({ reduction: optMean_sum_none, weight: optTensorOrNull });
export const reduction_42a650 = options({ reduction: optMean_sum_none, beta: optNumber });
export const reduction_c65c60 = options({ reduction: optMean_sum_none, delta: optNumber });
export const reduction_cdfcdf = options({ reduction: optMean_sum_none_batchmean, logTarget: optBoolean });
export const right_770b3f = options({ right: optBoolean, dtype: optInt32_int64_uint32_uint64 });
export const signal_ddd197 = like({ aborted: boolean, throwIfAborted: callback }, "a signal: an object with aborted and throwIfAborted");
export const startDim_f78a3c = options({ startDim: optNumber, endDim: optNumber }, [], {"start":"startDim","end":"endDim"});
export const tensorOrComplexTensorOrL_c75b3e = kind((v) => (isTensor(v) || v instanceof ComplexTensor || (Array.isArray(v) && v.every(tensorOrComplexTensor.is))), "a tensor, a complex tensor or an array of tensors and complex tensors", true);
export const tensorOrNumbers = kind((v) => (isTensor(v) || (Array.isArray(v) && v.every(number.is))), "a tensor or an array of numbers", true);
export const tensorOrTensors = kind((v) => (isTensor(v) || (Array.isArray(v) && v.every(tensor.is))), "a tensor or an array of tensors", true);
export const tensors = kind((v) => (Array.isArray(v) && v.every(tensor.is)), "an array of tensors", true);
export const upper_c2974e = options({ upper: optBoolean, transpose: optBoolean, unitriangular: optBoolean });
export const withReplacement_29cea5 = options({ withReplacement: optBoolean });
export const AvgPoolOptions = options({ stride: optNumberOrNumbers, padding: optNumberOrNumbers, ceilMode: optBoolean, countIncludePad: optBoolean, divisorOverride: optNumberOrNull });
export const BackwardOptions = options({ gradient: optTensorOrListOfTensorOrNull, retainGraph: optBoolean, createGraph: optBoolean });
export const ComplexBackwardOptions = options({ retainGraph: optBoolean, createGraph: optBoolean, gradient: optTensorOrComplexTensor_992931 });
export const ConvOptions = options({ stride: optNumberOrNumbers, padding: optSame_validOrNumberOrNumbers, dilation: optNumberOrNumbers, groups: optNumber });
export const ConvTransposeOptions = options({ stride: optNumberOrNumbers, padding: optNumberOrNumbers, outputPadding: optNumberOrNumbers, dilation: optNumberOrNumbers, groups: optNumber });
export const DeformConvOptions = options({ bias: optTensorOrNull, stride: optNumberOrNumbers, padding: optNumberOrNumbers, dilation: optNumberOrNumbers, mask: optTensorOrNull });
export const FoldOptions = options({ dilation: optNumberOrNumbers, padding: optNumberOrNumbers, stride: optNumberOrNumbers });
export const FractionalOptions = options({ outputSize: optNumberOrNumbersOrNull, outputRatio: optNumberOrNumbersOrNull, randomSamples: optTensorOrNull, generator: optGenerator }, [], {"samples":"randomSamples"});
export const GradOfOptions = options({ argnums: optNumberOrNumbers, hasAux: optBoolean });
export const GradgradcheckOptions = options({ step: optNumber, absolute: optNumber, relative: optNumber, gradients: optTensors });
export const GradientOptions = options({ spacing: optNumberOrListOfNumberOrTensor, axis: optNumberOrNumbersOrNull, edgeOrder: optN1_n2 }, [], {"dim":"axis"});
export const HistogramBinOptions = options({ range: optNumbersOrNull, weight: optTensorOrNull, density: optBoolean });
export const IntegerConvOptions = options({ stride: optNumberOrNumbers, padding: optNumberOrNumbers, dilation: optNumberOrNumbers, groups: optNumber });
export const InterpolateOptions = options({ size: optNumberOrNumbersOrNull, scaleFactor: optNumberOrNumbersOrNull, mode: optNearest_nearestExact_0f3425, alignCorners: optBooleanOrNull, recomputeScaleFactor: optBooleanOrNull, antialias: optBoolean });
export const LpOptions = options({ stride: optNumberOrNumbers, ceilMode: optBoolean });
export const MaxPoolOptions = options({ stride: optNumberOrNumbers, padding: optNumberOrNumbers, ceilMode: optBoolean, dilation: optNumberOrNumbers });
export const NonzeroOptionsOrSizedOptions = kind((v) => (NonzeroOptions.is(v) || SizedOptions.is(v)), "an object of options");
export const NormalizeOptions = options({ p: optNumber, axis: optNumberOrNumbersOrNull, eps: optNumber }, [], {"dim":"axis","epsilon":"eps"});
export const PrintOptionsOrNull = kind((v) => (PrintOptions.is(v) || v === null), "an object of options or null", false, PrintOptions);
export const ProfileOptions = options({ name: optString, modules: optRecordOfCallback, lines: optBoolean, memory: optBoolean, deviceTime: optBoolean, maxEvents: optNumber });
export const Projections = options({ inWeight: tensorOrNull, separate: optTensors, inBias: tensorOrNull, outWeight: tensor, outBias: tensorOrNull, keyBias: optTensorOrNull, valueBias: optTensorOrNull }, ["inWeight","inBias","outWeight","outBias"]);
export const QuantizedPoolOptions = options({ stride: optNumberOrNumbers, padding: optNumberOrNumbers, countIncludePad: optBoolean });
export const RecurrentOptions = options({ hidden: optTensorOrNull, cell: optTensorOrNull, bidirectional: optBoolean, batchFirst: optBoolean, lengths: optTensorOrNumbersOrNull, dropout: optNumber, training: optBoolean, generator: optGenerator });
export const RecurrentWeightss = kind((v) => (Array.isArray(v) && v.every(RecurrentWeights.is)), "an array");
export const RoiAlignOptions = options({ outputSize: numberOrNumbers, spatialScale: optNumber, samplingRatio: optNumber, aligned: optBoolean }, ["outputSize"]);
export const RoiPoolOptions = options({ outputSize: numberOrNumbers, spatialScale: optNumber }, ["outputSize"]);
export const UnpoolOptions = options({ stride: optNumberOrNumbers, padding: optNumberOrNumbers, outputSize: optNumbersOrNull });
export const booleanOrBatchNormOptions = kind((v) => (typeof v === "boolean" || BatchNormOptions.is(v)), "true or false or an object of options", false, BatchNormOptions);
export const dtype_178c3a = options({ dtype: optDtype, device: optDeviceOrString, requiresGrad: optBoolean, generator: optGenerator, shape: optNumbers }, [], {"size":"shape"});
export const dtype_d391c7 = options({ dtype: optDtype, device: optDeviceOrString, requiresGrad: optBoolean, shape: optNumbers });
export const none_tanhOrApproximate_16588b = kind((v) => (v === "none" || v === "tanh" || approximate_16588b.is(v)), "\"none\", \"tanh\" or an object of options", false, approximate_16588b);
export const numberOrAlpha_6630fc = kind((v) => (typeof v === "number" || alpha_6630fc.is(v)), "a number or an object of options", false, alpha_6630fc);
export const numberOrBatchNormOptions = kind((v) => (typeof v === "number" || BatchNormOptions.is(v)), "a number or an object of options", false, BatchNormOptions);
export const numberOrCdistOptions = kind((v) => (typeof v === "number" || CdistOptions.is(v)), "a number or an object of options", false, CdistOptions);
export const numberOrDropoutOptions = kind((v) => (typeof v === "number" || DropoutOptions.is(v)), "a number or an object of options", false, DropoutOptions);
export const numberOrHardtanhOptions = kind((v) => (typeof v === "number" || HardtanhOptions.is(v)), "a number or an object of options", false, HardtanhOptions);
export const numberOrLambd_f221ed = kind((v) => (typeof v === "number" || lambd_f221ed.is(v)), "a number or an object of options", false, lambd_f221ed);
export const numberOrListOfNumbers = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(numbers.is))), "a number or an array");
export const numberOrNegativeSlope_4b07d7 = kind((v) => (typeof v === "number" || negativeSlope_4b07d7.is(v)), "a number or an object of options", false, negativeSlope_4b07d7);
export const numberOrNormOptions = kind((v) => (typeof v === "number" || NormOptions.is(v)), "a number or an object of options", false, NormOptions);
export const numberOrNullOrEmbeddingOptions = kind((v) => (typeof v === "number" || v === null || EmbeddingOptions.is(v)), "a number, null or an object of options", false, EmbeddingOptions);
export const numberOrNullOrEps_bc6edc = kind((v) => (typeof v === "number" || v === null || eps_bc6edc.is(v)), "a number, null or an object of options", false, eps_bc6edc);
export const numberOrNullOrRmsNormOptions = kind((v) => (typeof v === "number" || v === null || RmsNormOptions.is(v)), "a number, null or an object of options", false, RmsNormOptions);
export const numberOrPairwiseOptions = kind((v) => (typeof v === "number" || PairwiseOptions.is(v)), "a number or an object of options", false, PairwiseOptions);
export const numberOrRangeOptions = kind((v) => (typeof v === "number" || RangeOptions.is(v)), "a number or an object of options", false, RangeOptions);
export const numberOrSimilarityOptions = kind((v) => (typeof v === "number" || SimilarityOptions.is(v)), "a number or an object of options", false, SimilarityOptions);
export const numberOrSoftplusOptions = kind((v) => (typeof v === "number" || SoftplusOptions.is(v)), "a number or an object of options", false, SoftplusOptions);
export const numberOrStartDim_f78a3c = kind((v) => (typeof v === "number" || startDim_f78a3c.is(v)), "a number or an object of options", false, startDim_f78a3c);
export const numbersOrListOfNumbers = kind((v) => ((Array.isArray(v) && v.every(number.is)) || (Array.isArray(v) && v.every(numbers.is))), "an array of numbers");
export const optProfileSchedule = kind((v) => (ProfileSchedule.is(v) || v === undefined), "an object of options", false, ProfileSchedule);
export const optSignal_ddd197 = kind((v) => (signal_ddd197.is(v) || v === undefined), "a signal: an object with aborted and throwIfAborted");
export const outputSize_c80635 = options({ outputSize: numberOrNumbers, spatialScale: optNumber, samplingRatio: optNumber }, ["outputSize"]);
export const retainGraph_0a64bb = options({ retainGraph: optBoolean, createGraph: optBoolean, gradient: optTensorOrComplexTensor_992931, allowUnused: optBoolean });
export const stride_79d8ae = options({ stride: optNumberOrNumbers, padding: optNumberOrNumbers, dilation: optNumberOrNumbers, groups: optNumber, aZeroPoint: optNumberOrTensor, bZeroPoint: optNumberOrTensor });
export const value_f0b704_value_9a42a_8cb3fd = kind((v) => (typeof v === "number" || Slice.is(v) || v === null || v === ":" || v === "..." || isTensor(v) || (Array.isArray(v) && v.every(number.is))), "a number, an object of options, null, \":\", \"...\", a tensor or an array of numbers", true, Slice);
export const CheckpointIntoOptions = options({ onProgress: optCallback, signal: optSignal_ddd197, device: optDeviceOrStringOrRecor_e6d918, only: optStrings, into: anything, strict: optBoolean, assign: optBoolean });
export const CheckpointLoadOptions = options({ onProgress: optCallback, signal: optSignal_ddd197, device: optDeviceOrStringOrRecor_e6d918, only: optStrings });
export const CheckpointSaveOptions = options({ onProgress: optCallback, signal: optSignal_ddd197, maxShardBytes: optNumber, keepLast: optNumber });
export const ProfileSessionOptions = options({ name: optString, modules: optRecordOfCallback, lines: optBoolean, memory: optBoolean, deviceTime: optBoolean, maxEvents: optNumber, schedule: optProfileSchedule, onReport: optCallback });
export const TuneOptions = options({ onMeasure: optCallback, signal: optSignal_ddd197, seconds: optNumber });
export const eachValue_f0b704_value_9_5889ef = kind((v) => (Array.isArray(v) && v.every(value_f0b704_value_9a42a_8cb3fd.is)), "one after the other, a number, an object of options, null, \":\", \"...\", a tensor or an array of numbers", true);
export const listOfValue_f0b704_value_9fe89a = kind((v) => (Array.isArray(v) && v.every(value_f0b704_value_9a42a_8cb3fd.is)), "an array", true);
export const numberOrNormalizeOptions = kind((v) => (typeof v === "number" || NormalizeOptions.is(v)), "a number or an object of options", false, NormalizeOptions);
export const numberOrNumbersOrAvgPoolOptions = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(number.is)) || AvgPoolOptions.is(v)), "a number, an array of numbers or an object of options", false, AvgPoolOptions);
export const numberOrNumbersOrConvOptions = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(number.is)) || ConvOptions.is(v)), "a number, an array of numbers or an object of options", false, ConvOptions);
export const numberOrNumbersOrConvTransposeOptions = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(number.is)) || ConvTransposeOptions.is(v)), "a number, an array of numbers or an object of options", false, ConvTransposeOptions);
export const numberOrNumbersOrMaxPoolOptions = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(number.is)) || MaxPoolOptions.is(v)), "a number, an array of numbers or an object of options", false, MaxPoolOptions);
export const same_validOrNumberOrNumbersOrConvOptions = kind((v) => (typeof v === "number" || (Array.isArray(v) && v.every(number.is)) || v === "same" || v === "valid" || ConvOptions.is(v)), "a number, an array of numbers, \"same\", \"valid\" or an object of options", false, ConvOptions);
export const value_f0b704_value_9a42a_33369a = kind((v) => (typeof v === "number" || Slice.is(v) || v === null || v === ":" || v === "..." || isTensor(v) || (Array.isArray(v) && v.every(number.is)) || (Array.isArray(v) && v.every(value_f0b704_value_9a42a_8cb3fd.is))), "a number, an object of options, null, \":\", \"...\", a tensor or an array of numbers", true, Slice);
export const CheckpointLoadOptionsOrC_99b350 = kind((v) => (CheckpointLoadOptions.is(v) || CheckpointIntoOptions.is(v)), "an object of options");
export const optBooleanOrTuneOptions = kind((v) => (typeof v === "boolean" || TuneOptions.is(v) || v === undefined), "true or false or an object of options", false, TuneOptions);
export const CompileOptions = options({ name: optString, lists: optNumber, check: optBoolean, regions: optWhole_head_none, fuse: optAuto_always_off, tune: optBooleanOrTuneOptions, dynamic: anything, buckets: optDoubling_halvesOrNumbers, autocast: optFloat16_bfloat16 });
/** For refusals, which name kinds. */
setKinds(() => ({
  ArgOptions,
  AttentionOptions,
  AutocastOptions,
  AvgPoolOptions,
  BackwardOptions,
  BatchNormOptions,
  BinaryOptions,
  BincountOptions,
  CdistOptions,
  CheckpointLoadOptionsOrC_99b350,
  CheckpointSaveOptions,
  CholeskyOptions,
  CloseOptions,
  CompileOptions,
  ComplexBackwardOptions,
  ConvOptions,
  ConvTransposeOptions,
  CovarianceOptions,
  CrossEntropyOptions,
  CtcOptions,
  CumulativeOptions,
  DeformConvOptions,
  DequantizeOptions,
  DiagonalOptions,
  DiffOptions,
  DivOptions,
  DrawOptions,
  DropoutOptions,
  EmbeddingBagOptions,
  EmbeddingOptions,
  Epsilon,
  FoldOptions,
  FractionalOptions,
  FunctionalOptions,
  GaussianOptions,
  GradOfOptions,
  GradcheckOptions,
  GradgradcheckOptions,
  GradientOptions,
  GridSampleOptions,
  GumbelOptions,
  HistogramBinOptions,
  HistogramOptions,
  InferenceModeOptions,
  InstanceNormOptions,
  IntegerConvOptions,
  InterpolateOptions,
  IstftOptions,
  KthOptions,
  LocalResponseOptions,
  LogitsOptions,
  LossOptions,
  LpOptions,
  MarginOptions,
  MaskedOptions,
  MaxPoolOptions,
  MultiHeadOptions,
  MultiMarginOptions,
  NllOptions,
  NonzeroOptions,
  NonzeroOptionsOrSizedOptions,
  NormOptions,
  NormalizeOptions,
  OneHotOptions,
  OrmqrOptions,
  PairwiseOptions,
  PoissonOptions,
  PrintOptions,
  PrintOptionsOrNull,
  ProfileOptions,
  ProfileSessionOptions,
  Projections,
  QuantileOptions,
  QuantizeOptions,
  Quantized,
  QuantizedPoolOptions,
  QuantizedResult,
  RReluOptions,
  RandomOptions,
  RecurrentOptions,
  RecurrentWeights,
  RecurrentWeightss,
  ReduceOptions,
  RepeatOptions,
  ReverseOptions,
  RmsNormOptions,
  RoiAlignOptions,
  RoiPoolOptions,
  RunningOptions,
  SampleOptions,
  Scale,
  Scaled,
  ScanOptions,
  ScatterReduceOptions,
  SearchOptions,
  SegmentOptions,
  SoftmaxOptions,
  SortOptions,
  StftOptions,
  TensorOptions,
  ToleranceOptions,
  TopKOptions,
  TrapezoidOptions,
  TriangleOptions,
  TripletOptions,
  UniqueOptions,
  UnpoolOptions,
  VanderOptions,
  VarianceOptions,
  VmapOptions,
  WindowOptions,
  ZeroPoints,
  accumulate_75b02d,
  alignCorners_b4902f,
  alpha_43d274,
  alpha_6630fc,
  alpha_cfb1a9,
  anything,
  axis_58213f,
  boolean,
  booleanOrBatchNormOptions,
  booleanOrNull,
  callback,
  complex32_complex64OrDtype,
  complexTensor,
  complexTensorOrTensor,
  complexTensorOrTensorOrNumber,
  complexTensorOrTensorOrNumberOrNumbers,
  data,
  decimals_2ea458,
  deviceOrString,
  deviceOrStringOrDtype,
  deviceOrStringOrNull,
  dtype,
  dtype_178c3a,
  dtype_27fa4a,
  dtype_66b714,
  dtype_9cae4b,
  dtype_d391c7,
  eachAnything,
  eachOperand,
  eachTensor,
  eachValue_f0b704_value_9_5889ef,
  float16_bfloat16,
  fro_nuc_n1_m1_n2_m2OrNumber,
  generator_235f06,
  hidden_5a415d,
  indexing_ca42e2,
  interleaved_d885c6,
  invert_701e86,
  listOfAnything,
  listOfTensorOrComplexTensor,
  listOfValue_f0b704_value_9fe89a,
  lstm_gru_tanh_relu,
  min_72d58d,
  mode_a2f619,
  name_4b3c75,
  name_71bfab,
  name_b12d0a,
  nan_0e3c84,
  none_tanhOrApproximate_16588b,
  number,
  numberOrAlpha_6630fc,
  numberOrBatchNormOptions,
  numberOrBigint,
  numberOrCdistOptions,
  numberOrDropoutOptions,
  numberOrHardtanhOptions,
  numberOrLambd_f221ed,
  numberOrListOfNumberOrNull,
  numberOrListOfNumbers,
  numberOrNegativeSlope_4b07d7,
  numberOrNormOptions,
  numberOrNormalizeOptions,
  numberOrNull,
  numberOrNullOrEmbeddingOptions,
  numberOrNullOrEps_bc6edc,
  numberOrNullOrRmsNormOptions,
  numberOrNumbers,
  numberOrNumbersOrAvgPoolOptions,
  numberOrNumbersOrComplexTensor,
  numberOrNumbersOrConvOptions,
  numberOrNumbersOrConvTransposeOptions,
  numberOrNumbersOrMaxPoolOptions,
  numberOrNumbersOrNull,
  numberOrNumbersOrTensors,
  numberOrPairwiseOptions,
  numberOrRangeOptions,
  numberOrSimilarityOptions,
  numberOrSoftplusOptions,
  numberOrStartDim_f78a3c,
  numberOrTensor,
  numbers,
  numbersOrListOfNumbers,
  offset_59a49a,
  operand,
  operandOrComplexTensor,
  operandOrNull,
  outputSize_c80635,
  reduce_975498,
  reduction_0d009b,
  reduction_42a650,
  reduction_c65c60,
  reduction_cdfcdf,
  retainGraph_0a64bb,
  right_770b3f,
  same_validOrNumberOrNumbersOrConvOptions,
  scalar,
  stride_79d8ae,
  string,
  sum_mean_max_min_prod,
  sum_prod_mean_amax_amin,
  tensor,
  tensorOrBoolean,
  tensorOrComplexTensor,
  tensorOrComplexTensorOrL_c75b3e,
  tensorOrNull,
  tensorOrNumber,
  tensorOrNumbers,
  tensorOrTensors,
  tensors,
  upper_c2974e,
  value_f0b704_value_9a42a_33369a,
  withReplacement_29cea5,
}));
