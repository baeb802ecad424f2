// Convolutions and GEMMs, quantised ones too.
#include <algorithm>

#include "validate_rules.h"

namespace dxtensor::software {

using namespace schema;

namespace {

// Arrays of one entry for each spatial dimension.
uint32_t SpatialCount(const OperatorDesc& desc, const TensorDesc& input) {
  uint32_t count = desc.UInt("DimensionCount");
  Require(count + 2 == input.rank, "DimensionCount is not that of the tensors less 2");
  for (const char* name : {"Strides", "Dilations"})
    for (uint32_t value : desc.UInts(name)) Require(value > 0, "a stride or dilation is 0");
  return count;
}

void ConvolutionShape(const OperatorDesc& desc, bool backward) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &filter = TensorOf(desc, "FilterTensor");
  const TensorDesc& output = TensorOf(desc, "OutputTensor");
  SpatialCount(desc, input);
  if (desc.Has("OutputPadding"))
    for (uint32_t i = 0; i + 2 < output.rank; ++i)
      Require(desc.UInts("OutputPadding")[i] < output.sizes[i + 2], "OutputPadding is not below the output's size");
  uint32_t groups = desc.UInt("GroupCount");
  Require(groups > 0, "GroupCount is 0");
  const TensorDesc& wide = backward ? output : input;  // has group count times the filter's second size
  const TensorDesc& narrow = backward ? input : output;
  Require(input.sizes[0] == output.sizes[0], "the batch sizes differ");
  Require(narrow.sizes[1] % groups == 0 && wide.sizes[1] % groups == 0, "GroupCount does not divide the channels");
  Require(filter.sizes[0] == narrow.sizes[1] && filter.sizes[1] == wide.sizes[1] / groups, "the filter's channels do not fit");
  if (desc.Has("BiasTensor"))
    if (const TensorDesc* bias = OptionalTensor(desc, "BiasTensor"))
      for (uint32_t i = 0; i < bias->rank; ++i)
        Require(bias->sizes[i] == (i == 1 ? output.sizes[1] : 1), "the bias is not {1, channels, 1, ...}");
}

void Convolution(const OperatorDesc& desc, uint32_t) {
  ConvolutionShape(desc, desc.UInt("Direction") == DML_CONVOLUTION_DIRECTION_BACKWARD);
}

// One element, or (where `channels` is not 0) one for each channel.
void RequireParameter(const TensorDesc* t, uint32_t rank, uint32_t channels) {
  if (!t) return;
  if (t->ElementCount() == 1) return;
  Require(channels && t->rank == rank && t->sizes[1] == channels && t->ElementCount() == channels,
          "a scale or zero point is neither one element nor one for each channel");
}

void QuantizedConvolution(const OperatorDesc& desc, uint32_t) {
  ConvolutionShape(desc, false);
  const uint32_t rank = TensorOf(desc, "InputTensor").rank, channels = TensorOf(desc, "OutputTensor").sizes[1];
  for (const char* name : {"InputScaleTensor", "InputZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"})
    if (desc.Has(name)) RequireParameter(OptionalTensor(desc, name), rank, 0);
  for (const char* name : {"FilterScaleTensor", "FilterZeroPointTensor"})
    if (desc.Has(name)) RequireParameter(OptionalTensor(desc, name), rank, channels);
  if (!desc.Has("FilterScaleTensor")) return;
  for (const char* side : {"Input", "Filter", "Output"}) {
    const TensorDesc& scale = TensorOf(desc, (std::string(side) + "ScaleTensor").c_str());
    const TensorDesc* zero = OptionalTensor(desc, (std::string(side) + "ZeroPointTensor").c_str());
    Require(scale.rank == rank, "a scale has another dimension count");
    if (zero) Require(EqualSizes(scale, *zero), "the sizes of scale and zero point differ");
  }
}

// Leading ones up to `rank`.
TensorDesc Widened(const TensorDesc& t, uint32_t rank) {
  TensorDesc wide = t;
  wide.rank = rank;
  for (uint32_t i = 0; i < rank; ++i) wide.sizes[i] = i + t.rank < rank ? 1 : t.sizes[i + t.rank - rank];
  return wide;
}

// {.., rows, columns} after the transform.
void CheckGemm(const TensorDesc& a, bool transpose_a, const TensorDesc& b, bool transpose_b, const TensorDesc& output) {
  uint32_t rank = output.rank;
  Require(rank >= 2 && a.rank == rank && b.rank == rank, "the dimension counts do not fit");
  for (uint32_t i = 0; i + 2 < rank; ++i) Require(a.sizes[i] == output.sizes[i] && b.sizes[i] == output.sizes[i], "the batch sizes differ");
  uint32_t row = rank - 2, column = rank - 1;
  Require(a.sizes[transpose_a ? column : row] == output.sizes[row], "the rows of A and of the output differ");
  Require(b.sizes[transpose_b ? row : column] == output.sizes[column], "the columns of B and of the output differ");
  Require(a.sizes[transpose_a ? row : column] == b.sizes[transpose_b ? column : row], "the inner sizes differ");
}

void Gemm(const OperatorDesc& desc, uint32_t) {
  CheckGemm(TensorOf(desc, "ATensor"), desc.UInt("TransA") == DML_MATRIX_TRANSFORM_TRANSPOSE, TensorOf(desc, "BTensor"),
            desc.UInt("TransB") == DML_MATRIX_TRANSFORM_TRANSPOSE, TensorOf(desc, "OutputTensor"));
  const auto& fused = desc.Get<std::shared_ptr<const OperatorDesc>>("FusedActivation");
  if (fused && fused->type() == DML_OPERATOR_ACTIVATION_SOFTMAX)
    Require(EffectiveRank(TensorOf(desc, "OutputTensor")) <= 2, "more than two dimensions are not 1");
}

// One element, or one for each row (or column) of the matrix.
void RequireScales(const TensorDesc* t, const TensorDesc& matrix, bool column) {
  if (!t || t->ElementCount() == 1) return;
  TensorDesc wide = Widened(*t, std::max(t->rank, 2u));
  uint32_t axis = column ? wide.rank - 1 : wide.rank - 2;
  Require(wide.sizes[axis] == matrix.sizes[column ? matrix.rank - 1 : matrix.rank - 2] && wide.ElementCount() == wide.sizes[axis],
          "a scale or zero point is neither one element nor one for each row or column");
}

void CheckIntegerGemm(const OperatorDesc& desc, uint32_t) {
  const TensorDesc &a = TensorOf(desc, "ATensor"), &b = TensorOf(desc, "BTensor"), &output = TensorOf(desc, "OutputTensor");
  const uint32_t rank = std::max({a.rank, b.rank, output.rank});
  CheckGemm(Widened(a, rank), false, Widened(b, rank), false, Widened(output, rank));
  for (const char* side : {"A", "B", "Output"}) {
    const std::string scale_name = std::string(side) + "ScaleTensor", zero_name = std::string(side) + "ZeroPointTensor";
    const TensorDesc* scale = desc.Has(scale_name.c_str()) ? OptionalTensor(desc, scale_name.c_str()) : nullptr;
    const TensorDesc* zero = desc.Has(zero_name.c_str()) ? OptionalTensor(desc, zero_name.c_str()) : nullptr;
    const bool column = *side == 'B';
    for (const TensorDesc* t : {scale, zero}) RequireScales(t, column ? b : output, column);
    if (scale && zero) Require(EqualSizes(*scale, *zero), "the sizes of scale and zero point differ");
  }
}

}  // namespace

ShapeRule FindMatrixRule(DML_OPERATOR_TYPE type) {
  switch (type) {
    case DML_OPERATOR_CONVOLUTION: return Convolution;
    case DML_OPERATOR_CONVOLUTION_INTEGER:
    case DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION: return QuantizedConvolution;
    case DML_OPERATOR_GEMM: return Gemm;
    case DML_OPERATOR_MATRIX_MULTIPLY_INTEGER:
    case DML_OPERATOR_QUANTIZED_LINEAR_MATRIX_MULTIPLY:
    case DML_OPERATOR_MATRIX_MULTIPLY_INTEGER_TO_FLOAT: return CheckIntegerGemm;
    default: return nullptr;
  }
}

}  // namespace dxtensor::software
