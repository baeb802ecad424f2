// Pooling and its gradients, regions of interest, resampling.
#include <cmath>

#include "validate_rules.h"

namespace dxtensor::software {

using namespace schema;

namespace {

// `large` is what the window moves over, `small` has one element for each of its positions. DirectML checks the spatial sizes of
// MAX_POOLING_GRAD only: elsewhere windows may lie outside the tensor.
void Windows(const OperatorDesc& desc, const TensorDesc& large, const TensorDesc& small) {
  const bool checks_sizes = desc.type() == DML_OPERATOR_MAX_POOLING_GRAD;
  uint32_t count = desc.UInt("DimensionCount");
  Require(count + 2 == large.rank, "DimensionCount is not that of the tensors less 2");
  Require(large.sizes[0] == small.sizes[0] && large.sizes[1] == small.sizes[1], "batch or channel sizes differ");
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t window = desc.UInts("WindowSize")[i], stride = desc.UInts("Strides")[i];
    uint64_t dilation = desc.Has("Dilations") ? desc.UInts("Dilations")[i] : 1;
    Require(window > 0 && stride > 0 && dilation > 0, "a window, stride or dilation is 0");
    uint64_t padded = uint64_t{large.sizes[i + 2]} + desc.UInts("StartPadding")[i] + desc.UInts("EndPadding")[i];
    uint64_t reach = (window - 1) * dilation + 1;
    if (!checks_sizes) continue;
    Require(reach <= padded, "the window is larger than the padded tensor");
    Require((padded - reach) / stride + 1 == small.sizes[i + 2], "the sizes do not follow from the window");
  }
}

void Pooling(const OperatorDesc& desc, uint32_t) {
  const TensorDesc& output = TensorOf(desc, "OutputTensor");
  Windows(desc, TensorOf(desc, "InputTensor"), output);
  if (desc.Has("OutputIndicesTensor"))
    if (const TensorDesc* indices = OptionalTensor(desc, "OutputIndicesTensor")) Require(EqualSizes(*indices, output), "the sizes differ");
}

void QuantizedPooling(const OperatorDesc& desc, uint32_t level) {
  Pooling(desc, level);
  Require(TensorOf(desc, "InputTensor").data_type == TensorOf(desc, "OutputTensor").data_type, "the data types differ");
  for (const char* side : {"Input", "Output"}) {
    const TensorDesc& scale = TensorOf(desc, (std::string(side) + "ScaleTensor").c_str());
    const TensorDesc* zero = OptionalTensor(desc, (std::string(side) + "ZeroPointTensor").c_str());
    RequireBroadcastable(scale, TensorOf(desc, (std::string(side) + "Tensor").c_str()));
    if (zero) Require(EqualSizes(scale, *zero), "the sizes of scale and zero point differ");
  }
}

void LpPooling(const OperatorDesc& desc, uint32_t level) {
  Pooling(desc, level);
  Require(desc.UInt("P") >= 1, "P is 0");
}

void PoolingGrad(const OperatorDesc& desc, uint32_t) {
  Windows(desc, TensorOf(desc, "OutputGradientTensor"), TensorOf(desc, "InputGradientTensor"));
}

void MaxUnpooling(const OperatorDesc& desc, uint32_t) {
  Require(EqualSizes(TensorOf(desc, "InputTensor"), TensorOf(desc, "IndicesTensor")), "the sizes differ");
}

// `small` {regions, C, h, w} is read from `image` {N, C, H, W}.
void Regions(const TensorDesc& image, const TensorDesc& regions, uint32_t columns, const TensorDesc& small) {
  Require(small.sizes[0] == regions.sizes[regions.rank - 2] && small.sizes[1] == image.sizes[1], "regions or channels differ");
  Require(regions.sizes[regions.rank - 1] == columns, "a region has another number of values");
  for (uint32_t i = 0; i + 2 < regions.rank; ++i) Require(regions.sizes[i] == 1, "leading sizes of the regions are not 1");
}

void RoiPooling(const OperatorDesc& desc, uint32_t) {
  const TensorDesc& output = TensorOf(desc, "OutputTensor");
  Regions(TensorOf(desc, "InputTensor"), TensorOf(desc, "ROITensor"), 5, output);
  DML_SIZE_2D size = desc.Get<DML_SIZE_2D>("PooledSize");
  Require(output.sizes[2] == size.Height && output.sizes[3] == size.Width, "the output is not of PooledSize");
}

void AlignAttributes(const OperatorDesc& desc, const TensorDesc& regions) {
  uint32_t function = desc.UInt("ReductionFunction");
  Require(function == DML_REDUCE_FUNCTION_AVERAGE || function == DML_REDUCE_FUNCTION_MAX, "the function is neither AVERAGE nor MAX");
  for (const char* name : {"SpatialScaleX", "SpatialScaleY"})
    Require(!(desc.Float(name) < 0) && !std::isinf(desc.Float(name)), "a spatial scale is negative or infinite");
  Require(desc.UInt("MinimumSamplesPerOutput") >= 1, "the minimum number of samples is 0");
  Require(desc.UInt("MinimumSamplesPerOutput") <= desc.UInt("MaximumSamplesPerOutput"),
          "the minimum number of samples is above the maximum");
  const TensorDesc& batch = TensorOf(desc, "BatchIndicesTensor");
  Require(batch.sizes[batch.rank - 1] == regions.sizes[regions.rank - 2], "the number of batch indices is not that of the regions");
  for (uint32_t i = 0; i + 1 < batch.rank; ++i) Require(batch.sizes[i] == 1, "leading sizes of the batch indices are not 1");
}

void RoiAlign(const OperatorDesc& desc, uint32_t) {
  const TensorDesc& regions = TensorOf(desc, "ROITensor");
  Regions(TensorOf(desc, "InputTensor"), regions, 4, TensorOf(desc, "OutputTensor"));
  AlignAttributes(desc, regions);
}

void RoiAlignGrad(const OperatorDesc& desc, uint32_t) {
  const TensorDesc& regions = TensorOf(desc, "ROITensor");
  const TensorDesc& gradient = TensorOf(desc, "InputGradientTensor");
  const TensorDesc *input = OptionalTensor(desc, "InputTensor"), *output = OptionalTensor(desc, "OutputGradientTensor");
  const TensorDesc* region_gradient = OptionalTensor(desc, "OutputROIGradientTensor");
  Require(output || region_gradient, "both output gradients are absent");
  Require(input || (!region_gradient && desc.UInt("ReductionFunction") != DML_REDUCE_FUNCTION_MAX), "the input is needed");
  if (input) Regions(*input, regions, 4, gradient);
  if (output) Regions(*output, regions, 4, gradient);
  if (input && output) Require(EqualSizes(*input, *output), "the sizes differ");
  if (region_gradient) Require(EqualSizes(*region_gradient, regions), "the sizes differ");
  AlignAttributes(desc, regions);
}

void Upsample(const OperatorDesc& desc, uint32_t) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &output = TensorOf(desc, "OutputTensor");
  DML_SIZE_2D scale = desc.Get<DML_SIZE_2D>("ScaleSize");
  for (uint32_t i = 0; i + 2 < input.rank; ++i) Require(input.sizes[i] == output.sizes[i], "batch or channel sizes differ");
  const uint32_t y = input.rank - 2, x = input.rank - 1;
  Require(uint64_t{input.sizes[y]} * scale.Height == output.sizes[y] && uint64_t{input.sizes[x]} * scale.Width == output.sizes[x],
          "the output is not the scaled input");
}

void Resample(const OperatorDesc& desc, uint32_t) {
  const TensorDesc& t = *desc.Outputs()[0];
  Require(desc.Get<std::vector<float>>("Scales").size() == t.rank, "the number of scales is not the dimension count");
  for (float scale : desc.Get<std::vector<float>>("Scales")) Require(scale > 0, "a scale is not positive");
}

}  // namespace

ShapeRule FindPoolingRule(DML_OPERATOR_TYPE type) {
  switch (type) {
    case DML_OPERATOR_AVERAGE_POOLING:
    case DML_OPERATOR_AVERAGE_POOLING1:
    case DML_OPERATOR_MAX_POOLING:
    case DML_OPERATOR_MAX_POOLING1:
    case DML_OPERATOR_MAX_POOLING2: return Pooling;
    case DML_OPERATOR_QUANTIZED_LINEAR_AVERAGE_POOLING: return QuantizedPooling;
    case DML_OPERATOR_LP_POOLING:
    case DML_OPERATOR_LP_POOLING1: return LpPooling;
    case DML_OPERATOR_AVERAGE_POOLING_GRAD:
    case DML_OPERATOR_MAX_POOLING_GRAD: return PoolingGrad;
    case DML_OPERATOR_MAX_UNPOOLING: return MaxUnpooling;
    case DML_OPERATOR_ROI_POOLING: return RoiPooling;
    case DML_OPERATOR_ROI_ALIGN:
    case DML_OPERATOR_ROI_ALIGN1: return RoiAlign;
    case DML_OPERATOR_ROI_ALIGN_GRAD: return RoiAlignGrad;
    case DML_OPERATOR_UPSAMPLE_2D: return Upsample;
    case DML_OPERATOR_RESAMPLE:
    case DML_OPERATOR_RESAMPLE1:
    case DML_OPERATOR_RESAMPLE2:
    case DML_OPERATOR_RESAMPLE3:
    case DML_OPERATOR_RESAMPLE_GRAD:
    case DML_OPERATOR_RESAMPLE_GRAD1: return Resample;
    default: return nullptr;
  }
}

}  // namespace dxtensor::software
