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

}  // namespace dxtensor::software::fast
