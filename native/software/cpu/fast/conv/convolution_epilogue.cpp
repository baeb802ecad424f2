// The epilogue of a convolution: bias or batch norm, residual, activations, clamp.
#include "software/cpu/fast/isa/isa_table.h"
#include "convolution_problem.h"

namespace dxtensor::software::fast {

void ConvolutionProblem::ApplyScaleShift(const KernelArguments& arguments, int64_t channel, float* sums, int64_t n) const {
  const IsaTable& table = Table();
  if (normalizes) {
    const float* of = reinterpret_cast<const float*>(arguments.inputs[3]) + channel;
    table.scale_shift(sums, sums, of[0], of[ScaleShiftStride()], n);
  } else if (has_bias) {
    float bias;
    table.load(filter_type, reinterpret_cast<uint8_t*>(&bias), arguments.inputs[2] + channel * bias_stride * filter_bytes, 1, 1);
    table.scale_shift(sums, sums, 1, bias, n);
  }
}

void ConvolutionProblem::AddResidual(const KernelArguments& arguments, int64_t offset, int64_t element_stride, float* sums,
                                     int64_t n) const {
  const IsaTable& table = Table();
  const uint8_t* from = arguments.inputs[4] + offset * out_bytes;
  if (element_stride == 1 && IsFloat32(out_type)) return table.axpy(sums, reinterpret_cast<const float*>(from), 1, n);
  constexpr int64_t kBlock = 256;
  alignas(64) float residual[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    table.load(out_type, reinterpret_cast<uint8_t*>(residual), from + i * element_stride * out_bytes, element_stride, count);
    table.axpy(sums + i, residual, 1, count);
  }
}

const float* ConvolutionProblem::ScaleShiftOf(const KernelArguments& arguments, float* buffer) const {
  if (normalizes) return reinterpret_cast<const float*>(arguments.inputs[3]);
  if (!has_bias) return nullptr;
  float* shift = buffer + ScaleShiftStride();
  std::fill(buffer, shift, 1.0f);
  std::fill(shift, shift + ScaleShiftStride(), 0.0f);
  Table().load(filter_type, reinterpret_cast<uint8_t*>(shift), arguments.inputs[2], bias_stride, groups * co);
  return buffer;
}

ClampRange ConvolutionProblem::ClampIn(const KernelArguments& arguments) const {
  if (!clamps) return *clamp;
  return {*reinterpret_cast<const float*>(arguments.inputs[5]), *reinterpret_cast<const float*>(arguments.inputs[6])};
}

void ConvolutionProblem::Activate(const KernelArguments& arguments, float* sums, int64_t n) const {
  if (!clamps) return fast::Activate(activations, sums, n);
  const ClampRange range = ClampIn(arguments);
  Table().apply_epilogue(sums, 0, sums, 0, {range.low, range.high}, 1, n);
}

void ConvolutionProblem::ApplyEpilogue(const KernelArguments& arguments, int64_t channel, int64_t co_count, const float* sums,
                                       int64_t stride, int64_t offset, int64_t n) const {
  const IsaTable& table = Table();
  const ClampRange range = ClampIn(arguments);
  TileEpilogue epilogue{range.low, range.high};
  epilogue.residual_stride = out_channel_stride;
  float factor_shift[2 * kMaxTileRows];
  if (normalizes) {
    epilogue.factor = reinterpret_cast<const float*>(arguments.inputs[3]) + channel;
    epilogue.shift = epilogue.factor + ScaleShiftStride();
  } else if (has_bias) {
    std::fill(factor_shift, factor_shift + co_count, 1.0f);
    table.load(filter_type, reinterpret_cast<uint8_t*>(factor_shift + kMaxTileRows),
               arguments.inputs[2] + channel * bias_stride * filter_bytes, bias_stride, co_count);
    epilogue.factor = factor_shift;
    epilogue.shift = factor_shift + kMaxTileRows;
  }
  if (has_residual) epilogue.residual = reinterpret_cast<const float*>(arguments.inputs[4]) + offset;
  table.apply_epilogue(reinterpret_cast<float*>(arguments.outputs[0]) + offset, out_channel_stride, sums, stride, epilogue, co_count, n);
}

}  // namespace dxtensor::software::fast
