// Few output channels in a group, in any layout: row by row, each tap adds an input row times its weight.
#include <algorithm>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_strategy.h"

namespace dxtensor::software::fast {

namespace {

class Direct final : public ConvStrategy {
 public:
  static bool Fits(const ConvolutionProblem& problem, const ConvolutionGrid&) { return problem.groups > 1 && problem.co < 4; }

  Direct(const ConvolutionProblem&, const ConvolutionGrid& grid) : grid_(grid) {}
  size_t WorkspaceBytes() const override {
    return static_cast<size_t>((grid_.dim[2].count + 2 * kMaxWidth) * ThreadPool::Get().size()) * sizeof(float);
  }
  void Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t*) const override {
    const IsaTable& table = Table();
    const int64_t length = grid_.dim[2].count, rows = grid_.dim[0].count * grid_.dim[1].count;
    const int64_t read_stride = grid_.dim[2].conv_stride * grid_.dim[2].in_stride;
    const int64_t work = length * rows * grid_.depth;
    ThreadPool::Get().ParallelFor(
        0, problem.batch * problem.groups * problem.co, std::max<int64_t>(1, 200000 / std::max<int64_t>(work, 1)),
        [&](int64_t first, int64_t last, int slot) {
          float* row = reinterpret_cast<float*>(arguments.scratch) + slot * (length + 2 * kMaxWidth);
          for (int64_t plane = first; plane < last; ++plane) {
            const int64_t co = plane % problem.co, group = plane / problem.co % problem.groups, image = plane / problem.co / problem.groups;
            float bias = 0;
            if (problem.has_bias)
              table.load(problem.filter_type, reinterpret_cast<uint8_t*>(&bias),
                         arguments.inputs[2] + (group * problem.co + co) * problem.bias_stride * problem.filter_bytes, 1, 1);
            for (int64_t l = 0; l < rows; ++l) {
              const ConvolutionGrid::Segment segment{image, {l / grid_.dim[1].count, l % grid_.dim[1].count, 0}, 0, length};
              std::fill(row, row + length, bias);
              for (int64_t channel = 0; channel < problem.ci; ++channel)
                for (int64_t tap = 0; tap < grid_.taps; ++tap) {
                  const ConvolutionGrid::TapRange r = grid_.TapRangeOf(segment, tap);
                  if (r.first >= r.last) continue;
                  float weight;
                  table.load(problem.filter_type, reinterpret_cast<uint8_t*>(&weight),
                             arguments.inputs[1] + (group * problem.filter_group_stride + co * problem.filter_co_stride +
                                                    channel * problem.filter_ci_stride + grid_.filter_offsets[static_cast<size_t>(tap)]) *
                                                       problem.filter_bytes,
                             1, 1);
                  const int64_t from = image * problem.in_batch_stride + (group * problem.ci + channel) * problem.in_channel_stride +
                                       r.offset + r.first * read_stride;
                  const uint8_t* in = arguments.inputs[0] + from * problem.in_bytes;
                  if (IsFloat32(problem.in_type) && read_stride == 1) {
                    table.axpy(row + r.first, reinterpret_cast<const float*>(in), weight, r.last - r.first);
                    continue;
                  }
                  alignas(64) float values[256];
                  for (int64_t j = r.first; j < r.last; j += 256) {
                    const int64_t n = std::min<int64_t>(256, r.last - j);
                    table.load(problem.in_type, reinterpret_cast<uint8_t*>(values), in + (j - r.first) * read_stride * problem.in_bytes,
                               read_stride, n);
                    table.axpy(row + j, values, weight, n);
                  }
                }
              const int64_t to = grid_.out_start + image * problem.out_batch_stride +
                                 (group * problem.co + co) * problem.out_channel_stride + segment.at[0] * grid_.dim[0].out_stride +
                                 segment.at[1] * grid_.dim[1].out_stride;
              if (problem.normalizes) problem.ApplyScaleShift(arguments, group * problem.co + co, row, length);
              if (problem.has_residual) problem.AddResidual(arguments, to, grid_.dim[2].out_stride, row, length);
              problem.Activate(arguments, row, length);
              table.store(problem.out_type, arguments.outputs[0] + to * problem.out_bytes, reinterpret_cast<const uint8_t*>(row),
                          grid_.dim[2].out_stride, length);
            }
          }
        });
  }

 private:
  ConvolutionGrid grid_;
};

}  // namespace

std::unique_ptr<ConvStrategy> MakeDirect(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  return MakeIfFits<Direct>(problem, grid);
}

}  // namespace dxtensor::software::fast
