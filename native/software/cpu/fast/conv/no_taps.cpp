// A grid that no tap meets, as a data gradient with a convolution stride has: zeros, or the epilogue of zeros.
#include <algorithm>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_strategy.h"

namespace dxtensor::software::fast {

namespace {

// Speed (ResNet-18, 1 thread, AVX-512): kWrittenAtOnce 0.96 at 1/4, 0.94 at 1/2, within the noise above.
constexpr int64_t kBlock = 512;            // columns that are stored at once; 256 to 1024: within 3 % for a data gradient
constexpr int64_t kWrittenAtOnce = 20000;  // elements of a task

class NoTaps final : public ConvStrategy {
 public:
  static bool Fits(const ConvolutionProblem&, const ConvolutionGrid& grid) { return grid.depth == 0; }

  NoTaps(const ConvolutionProblem& problem, const ConvolutionGrid& grid)
      : grid_(grid), writes_zeros_(!problem.HasEpilogue() && IsFloat32(problem.out_type)) {}
  size_t WorkspaceBytes() const override { return 0; }
  void Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t*) const override {
    const GridDimension &z = grid_.dim[0], &y = grid_.dim[1], &x = grid_.dim[2];
    const int64_t channels = problem.groups * problem.co, grain = std::max<int64_t>(1, kWrittenAtOnce / (z.count * y.count * x.count));
    ThreadPool::Get().ParallelFor(0, problem.batch * channels, grain, [&](int64_t first, int64_t last, int) {
      for (int64_t plane = first; plane < last; ++plane)
        for (int64_t at_z = 0; at_z < z.count; ++at_z)
          for (int64_t at_x = 0; at_x < x.count; at_x += kBlock) {
            const int64_t to = grid_.out_start + plane / channels * problem.out_batch_stride +
                               plane % channels * problem.out_channel_stride + at_z * z.out_stride + at_x * x.out_stride;
            const int64_t columns = std::min(kBlock, x.count - at_x);
            if (writes_zeros_) WriteZeros(arguments, to, columns);
            else WriteEpilogue(problem, arguments, plane % channels, to, columns);
          }
    });
  }

 private:
  void WriteZeros(const KernelArguments& arguments, int64_t to, int64_t columns) const {
    alignas(64) static const float zeros[kBlock] = {};
    const GridDimension &y = grid_.dim[1], &x = grid_.dim[2];
    Table().spread_rows(reinterpret_cast<float*>(arguments.outputs[0]) + to, y.out_stride, x.out_stride, zeros, 0, y.count, columns);
  }
  void WriteEpilogue(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t channel, int64_t to,
                     int64_t columns) const {
    const GridDimension &y = grid_.dim[1], &x = grid_.dim[2];
    for (int64_t at_y = 0; at_y < y.count; ++at_y, to += y.out_stride) {
      alignas(64) float row[kBlock] = {};
      problem.ApplyScaleShift(arguments, channel, row, columns);
      if (problem.has_residual) problem.AddResidual(arguments, to, x.out_stride, row, columns);
      problem.Activate(arguments, row, columns);
      Table().store(problem.out_type, arguments.outputs[0] + to * problem.out_bytes, reinterpret_cast<const uint8_t*>(row), x.out_stride,
                    columns);
    }
  }

  ConvolutionGrid grid_;
  bool writes_zeros_;
};

}  // namespace

std::unique_ptr<ConvStrategy> MakeNoTaps(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  return MakeIfFits<NoTaps>(problem, grid);
}

}  // namespace dxtensor::software::fast
