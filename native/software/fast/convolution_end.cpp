// What becomes of a convolution's sums before activations.
#include "convolution_shape.h"
#include "isa_table.h"

namespace dxtensor::software::fast {

void ConvolutionShape::Finish(const KernelArguments& arguments, int64_t channel, float* sums, int64_t n) const {
  const IsaTable& table = Table();
  if (normalizes) {
    const float* of = reinterpret_cast<const float*>(arguments.inputs[3]) + 3 * channel;
    table.normalize(sums, sums, of[0], of[1], 0, nullptr, of[2], nullptr, n);
  } else if (has_bias) {
    float bias;
    table.load(filter_type, reinterpret_cast<uint8_t*>(&bias), arguments.inputs[2] + channel * bias_row * filter_bytes, 1, 1);
    table.scale_shift(sums, sums, 1, bias, n);
  }
}

void ConvolutionShape::Add(const KernelArguments& arguments, int64_t offset, int64_t step, float* sums, int64_t n) const {
  const IsaTable& table = Table();
  const uint8_t* from = arguments.inputs[4] + offset * out_bytes;
  if (step == 1 && IsFloat32(out_type)) return table.axpy(sums, reinterpret_cast<const float*>(from), 1, n);
  constexpr int64_t kBlock = 256;
  alignas(64) float added[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    table.load(out_type, reinterpret_cast<uint8_t*>(added), from + i * step * out_bytes, step, count);
    table.axpy(sums + i, added, 1, count);
  }
}

void ConvolutionShape::ReadEnds(const KernelArguments& arguments, int64_t step, float* ends) const {
  float *center = ends, *factor = ends + step, *shift = ends + 2 * step;
  std::fill(center, center + step, 0.0f);
  std::fill(factor, factor + step, 1.0f);
  std::fill(shift, shift + step, 0.0f);
  if (normalizes) {
    const auto* from = reinterpret_cast<const float*>(arguments.inputs[3]);
    for (int64_t channel = 0; channel < groups * rows; ++channel, from += 3) {
      center[channel] = from[0];
      factor[channel] = from[1];
      shift[channel] = from[2];
    }
  } else if (has_bias) {
    Table().load(filter_type, reinterpret_cast<uint8_t*>(shift), arguments.inputs[2], bias_row, groups * rows);
  }
}

Limits ConvolutionShape::LimitsIn(const KernelArguments& arguments) const {
  if (!holds) return *limits;
  return {*reinterpret_cast<const float*>(arguments.inputs[5]), *reinterpret_cast<const float*>(arguments.inputs[6])};
}

void ConvolutionShape::Activate(const KernelArguments& arguments, float* sums, int64_t n) const {
  if (!holds) return fast::Activate(activations, sums, n);
  const Limits held = LimitsIn(arguments);
  Table().end_tile(sums, 0, sums, 0, {nullptr, nullptr, 0, held.low, held.high}, 1, n);
}

void ConvolutionShape::EndTile(const KernelArguments& arguments, int64_t channel, int64_t rows, const float* sums, int64_t stride,
                               int64_t offset, int64_t n) const {
  const IsaTable& table = Table();
  const Limits held = LimitsIn(arguments);
  TileEnd end{nullptr, nullptr, out_row, held.low, held.high};
  float biases[3 * kMostTileRows];
  if (normalizes) {
    end.scales = reinterpret_cast<const float*>(arguments.inputs[3]) + 3 * channel;
  } else if (has_bias) {
    for (int64_t r = 0; r < rows; ++r) {
      biases[3 * r] = 0;
      biases[3 * r + 1] = 1;
      table.load(filter_type, reinterpret_cast<uint8_t*>(biases + 3 * r + 2), arguments.inputs[2] + (channel + r) * bias_row * filter_bytes,
                 1, 1);
    }
    end.scales = biases;
  }
  if (adds) end.added = reinterpret_cast<const float*>(arguments.inputs[4]) + offset;
  table.end_tile(reinterpret_cast<float*>(arguments.outputs[0]) + offset, out_row, sums, stride, end, rows, n);
}

}  // namespace dxtensor::software::fast
