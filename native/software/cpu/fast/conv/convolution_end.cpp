// What becomes of a convolution's sums before activations.
#include "software/cpu/fast/isa/isa_table.h"
#include "convolution_shape.h"

namespace dxtensor::software::fast {

void ConvolutionShape::Finish(const KernelArguments& arguments, int64_t channel, float* sums, int64_t n) const {
  const IsaTable& table = Table();
  if (normalizes) {
    const float* of = reinterpret_cast<const float*>(arguments.inputs[3]) + channel;
    table.scale_shift(sums, sums, of[0], of[EndStep()], n);
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

const float* ConvolutionShape::EndsOf(const KernelArguments& arguments, float* room) const {
  if (normalizes) return reinterpret_cast<const float*>(arguments.inputs[3]);
  if (!has_bias) return nullptr;
  float* shift = room + EndStep();
  std::fill(room, shift, 1.0f);
  std::fill(shift, shift + EndStep(), 0.0f);
  Table().load(filter_type, reinterpret_cast<uint8_t*>(shift), arguments.inputs[2], bias_row, groups * rows);
  return room;
}

Limits ConvolutionShape::LimitsIn(const KernelArguments& arguments) const {
  if (!holds) return *limits;
  return {*reinterpret_cast<const float*>(arguments.inputs[5]), *reinterpret_cast<const float*>(arguments.inputs[6])};
}

void ConvolutionShape::Activate(const KernelArguments& arguments, float* sums, int64_t n) const {
  if (!holds) return fast::Activate(activations, sums, n);
  const Limits held = LimitsIn(arguments);
  Table().end_tile(sums, 0, sums, 0, {held.low, held.high}, 1, n);
}

void ConvolutionShape::EndTile(const KernelArguments& arguments, int64_t channel, int64_t rows, const float* sums, int64_t stride,
                               int64_t offset, int64_t n) const {
  const IsaTable& table = Table();
  const Limits held = LimitsIn(arguments);
  TileEnd end{held.low, held.high};
  end.added_step = out_row;
  float ends[2 * kMostTileRows];
  if (normalizes) {
    end.factor = reinterpret_cast<const float*>(arguments.inputs[3]) + channel;
    end.shift = end.factor + EndStep();
  } else if (has_bias) {
    std::fill(ends, ends + rows, 1.0f);
    table.load(filter_type, reinterpret_cast<uint8_t*>(ends + kMostTileRows), arguments.inputs[2] + channel * bias_row * filter_bytes,
               bias_row, rows);
    end.factor = ends;
    end.shift = ends + kMostTileRows;
  }
  if (adds) end.added = reinterpret_cast<const float*>(arguments.inputs[4]) + offset;
  table.end_tile(reinterpret_cast<float*>(arguments.outputs[0]) + offset, out_row, sums, stride, end, rows, n);
}

}  // namespace dxtensor::software::fast
