// Convolutions of one to three spatial dimensions, forward and transposed, with groups, dilations, bias and activation; and those of
// integers and of quantized numbers.
#include <cmath>

#include "activation.h"
#include "convolution_shape.h"
#include "element.h"
#include "kernels.h"
#include "quantize.h"

namespace dxtensor::software {

ConvolutionShape::ConvolutionShape(const schema::OperatorDesc& desc, const schema::TensorDesc& input, const schema::TensorDesc& filter)
    : in(input), filter(filter), out(*desc.Outputs()[0]) {
  const uint32_t spatial = desc.UInt("DimensionCount"), first = kConvolved - spatial;
  for (uint32_t d = 0; d < spatial; ++d)
    axis[first + d] = {desc.UInts("Strides")[d], desc.UInts("Dilations")[d], desc.UInts("StartPadding")[d],
                       desc.Has("OutputPadding") ? desc.UInts("OutputPadding")[d] : 0};
  groups = desc.UInt("GroupCount");
  backward = desc.Has("Direction") && desc.UInt("Direction") == DML_CONVOLUTION_DIRECTION_BACKWARD;
  flips = desc.Has("Mode") && desc.UInt("Mode") == DML_CONVOLUTION_MODE_CONVOLUTION;
}

KernelPointer MakeConvolution(const schema::OperatorDesc& desc) {
  const auto inputs = desc.Inputs();
  const ConvolutionShape shape(desc, *inputs[0], *inputs[1]);
  const uint64_t bias_stride = inputs[2] ? BroadcastStrides(*inputs[2])[1] : 0;
  const ActivationFunction activation = FusedActivation(desc);
  return ByFloat(inputs[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=](const KernelArguments& a) {
      shape.ForEach([&](uint64_t n, uint64_t co, const OutputPosition& p, uint64_t to) {
        double sum = 0;
        if (!shape.IsOutputPadding(p)) {
          shape.Visit(n, co, p,
                      [&](uint64_t x, uint64_t w) { sum += static_cast<double>(Load<T>(a.inputs[0], x)) * Load<T>(a.inputs[1], w); });
          if (a.inputs[2]) sum += Load<T>(a.inputs[2], co * bias_stride);
        }
        Store<T>(a.outputs[0], to, activation(static_cast<float>(sum)));
      });
    });
  });
}

// The padding counts as the zero point, and so adds nothing.
KernelPointer MakeIntegerConvolution(const schema::OperatorDesc& desc) {
  const bool is_quantized = desc.type() == DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION;
  const int filter_slot = is_quantized ? 3 : 2, bias_slot = 6;
  const auto inputs = desc.Inputs();
  const schema::TensorDesc &input = *inputs[0], &filter = *inputs[filter_slot];
  const ConvolutionShape shape(desc, input, filter);
  const Rescale from(desc, "Input"), weights(desc, "Filter"), to(desc, "Output");
  // One value, or one for each output channel.
  auto channel_stride = [&](const char* name) -> uint64_t {
    if (!desc.Has(name) || !desc.Tensor(name) || desc.Tensor(name)->rank < 2) return 0;
    return BroadcastStrides(*desc.Tensor(name))[1];
  };
  const uint64_t zero_stride = channel_stride("FilterZeroPointTensor"), scale_stride = channel_stride("FilterScaleTensor");
  const uint64_t bias_stride = channel_stride("BiasTensor");
  return KernelFrom(
      [=, in_type = input.data_type, filter_type = filter.data_type, out_type = desc.Outputs()[0]->data_type](const KernelArguments& a) {
        const int64_t in_zero = from.Zero(a, 0);
        shape.ForEach([&](uint64_t n, uint64_t co, const OutputPosition& p, uint64_t at) {
          const int64_t zero = weights.Zero(a, co * zero_stride);
          int64_t sum = 0;
          shape.Visit(n, co, p, [&](uint64_t x, uint64_t w) {
            sum += (LoadInteger(in_type, a.inputs[0], x) - in_zero) * (LoadInteger(filter_type, a.inputs[filter_slot], w) - zero);
          });
          if (!is_quantized) return Store<int32_t>(a.outputs[0], at, static_cast<int32_t>(sum));
          if (a.inputs[bias_slot]) sum += Load<int32_t>(a.inputs[bias_slot], co * bias_stride);
          const float scaled = static_cast<float>(sum) * (from.Scale(a, 0) * weights.Scale(a, co * scale_stride));
          StoreQuantized(out_type, a.outputs[0], at, std::nearbyint(scaled / to.Scale(a, 0)) + static_cast<float>(to.Zero(a, 0)));
        });
      });
}

}  // namespace dxtensor::software
