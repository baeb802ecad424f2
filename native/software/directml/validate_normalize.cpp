// Reductions, softmax, log-softmax, hardmax, normalisation.
#include "validate_rules.h"

namespace dxtensor::software {

using namespace schema;

namespace {

void Softmax(const OperatorDesc& desc, uint32_t) {
  Require(EffectiveRank(TensorOf(desc, "InputTensor")) <= 2, "more than two dimensions are not 1");
}

void SoftmaxAxes(const OperatorDesc& desc, uint32_t) { RequireAxes(desc.UInts("Axes"), TensorOf(desc, "InputTensor").rank); }

void Reduced(const OperatorDesc& desc) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &output = TensorOf(desc, "OutputTensor");
  const std::vector<uint32_t>& axes = desc.UInts("Axes");
  RequireAxes(axes, input.rank);
  std::array<uint32_t, kMaxRank> expected = input.sizes;
  for (uint32_t axis : axes) expected[axis] = 1;
  for (uint32_t i = 0; i < input.rank; ++i) Require(output.sizes[i] == expected[i], "the output's sizes are not the reduced ones");
}

void Reduce(const OperatorDesc& desc, uint32_t) {
  Reduced(desc);
  uint32_t function = desc.UInt("Function");
  if (function != DML_REDUCE_FUNCTION_ARGMAX && function != DML_REDUCE_FUNCTION_ARGMIN)
    Require(TensorOf(desc, "InputTensor").data_type == TensorOf(desc, "OutputTensor").data_type, "the data types differ");
}

void ArgReduce(const OperatorDesc& desc, uint32_t) { Reduced(desc); }

void Axis(const OperatorDesc& desc, uint32_t) { RequireAxis(desc.UInt("Axis"), TensorOf(desc, "InputTensor").rank); }

void LpNormalization(const OperatorDesc& desc, uint32_t level) {
  Axis(desc, level);
  Require(desc.UInt("P") == 1 || desc.UInt("P") == 2, "P is neither 1 nor 2");
}

void LocalResponse(const OperatorDesc& desc, uint32_t) { Require(desc.UInt("LocalSize") >= 1, "LocalSize is 0"); }

void BatchNormalization(const OperatorDesc& desc, uint32_t) {
  const TensorDesc& input = TensorOf(desc, "InputTensor");
  for (const char* name : {"MeanTensor", "VarianceTensor", "ScaleTensor", "BiasTensor"})
    if (desc.Has(name)) RequireBroadcastable(TensorOf(desc, name), input);
}

void MeanVariance(const OperatorDesc& desc, uint32_t level) {
  const TensorDesc& input = TensorOf(desc, "InputTensor");
  const TensorDesc *scale = OptionalTensor(desc, "ScaleTensor"), *bias = OptionalTensor(desc, "BiasTensor");
  Require(EqualSizes(input, TensorOf(desc, "OutputTensor")), "the sizes of input and output differ");
  for (const TensorDesc* t : {scale, bias})
    if (t) RequireBroadcastable(*t, input);
  if (level < 0x5200) Require((scale != nullptr) == (bias != nullptr), "one of scale and bias is null");
  if (desc.Has("Axes")) RequireAxes(desc.UInts("Axes"), input.rank);
}

}  // namespace

ShapeRule FindNormalizeRule(DML_OPERATOR_TYPE type) {
  switch (type) {
    case DML_OPERATOR_ACTIVATION_SOFTMAX:
    case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX:
    case DML_OPERATOR_ACTIVATION_HARDMAX: return Softmax;
    case DML_OPERATOR_ACTIVATION_SOFTMAX1:
    case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1:
    case DML_OPERATOR_ACTIVATION_HARDMAX1: return SoftmaxAxes;
    case DML_OPERATOR_REDUCE: return Reduce;
    case DML_OPERATOR_ARGMIN:
    case DML_OPERATOR_ARGMAX: return ArgReduce;
    case DML_OPERATOR_CUMULATIVE_SUMMATION:
    case DML_OPERATOR_CUMULATIVE_PRODUCT: return Axis;
    case DML_OPERATOR_LP_NORMALIZATION: return LpNormalization;
    case DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION:
    case DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION_GRAD: return LocalResponse;
    case DML_OPERATOR_BATCH_NORMALIZATION:
    case DML_OPERATOR_BATCH_NORMALIZATION_GRAD:
    case DML_OPERATOR_BATCH_NORMALIZATION_TRAINING:
    case DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD: return BatchNormalization;
    case DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION:
    case DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1:
    case DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2: return MeanVariance;
    default: return nullptr;
  }
}

}  // namespace dxtensor::software
