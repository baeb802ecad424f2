// Weight gradient of a depthwise convolution, and of others with few outputs and few planes in a group.
//
// Each weight is the dot product of a plane of the outputs' gradient with a shifted plane of the input. Both planes are copied into rows of
// one pitch with zeros behind them; with a convolution stride the input's copy has one phase for each remainder. Each shifted plane is then
// one contiguous segment.
#include <algorithm>
#include <cmath>
#include <vector>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_strategy.h"

namespace dxtensor::software::fast {

namespace {

// Measured (AVX-512): the 20 depthwise layers of MobileNetV2 gain 7.6 times in total, all but those of 14 x 14 with a convolution stride.
// Speed (suite, 1 thread, AVX-512): kMaxPlanes, kMaxOutputs, kMinTaps, kMaxFloats, kTaskWork, kBlock: within 5 % from 1/4 to 4 times.
constexpr int64_t kMaxOutputs = 64, kMaxPlanes = 4;  // of a group, for each channel
constexpr int64_t kMinTaps = 16;
constexpr int64_t kMaxFloats = 1 << 22;  // of a thread
constexpr int64_t kBlock = 1 << 12;      // floats; sums are rounded less when they are not too long
constexpr int64_t kTaskWork = 200000;    // multiply-adds

class DepthwiseWeightGradient final : public ConvStrategy {
 public:
  static bool Fits(const ConvolutionProblem& problem, const ConvolutionGrid& grid);

  DepthwiseWeightGradient(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
  size_t WorkspaceBytes() const override;
  void Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t* prepacked) const override;

 private:
  struct Phase {  // remainders of the input's rows and columns
    int64_t y, x;
  };
  bool FitsScratch() const;
  static int64_t RowFilterStride(const GridDimension& y) {
    return y.taps.size() > 1 ? y.taps[1].filter_offset - y.taps[0].filter_offset : 0;
  }
  void CopyInput(const float* in, float* to) const;
  void AddDotProducts(const float* gradient, const float* in, float* sums) const;
  float SumInOrder(const float* gradient, const float* in, int64_t output) const;  // without the padded copies
  void RunGroup(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t task, float* buffer) const;
  int64_t Outputs() const { return y_.count * x_.count; }
  int64_t PhaseFloats() const { return rows_ * pitch_; }
  int64_t InputFloats() const { return static_cast<int64_t>(phases_.size()) * PhaseFloats() + pitch_ + kMaxWidth; }
  int64_t GradientFloats() const { return RoundUp(static_cast<int64_t>(y_.taps.size()) * pitch_, kMaxWidth); }
  int64_t ThreadFloats() const { return RoundUp(InputFloats() + GradientFloats(), kMaxWidth); }

  GridDimension y_, x_;
  int64_t out_start_ = 0;
  int64_t tap_step_y_ = 1, tap_step_x_ = 1;  // input positions between adjacent taps
  int64_t rows_ = 0, pitch_ = 0;             // of a phase of the copy
  std::vector<Phase> phases_;
  std::vector<int64_t> offsets_;  // by output: where its segment of the copy begins
};

bool DepthwiseWeightGradient::Fits(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  const GridDimension &z = grid.dim[0], &y = grid.dim[1], &x = grid.dim[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0 || problem.co * problem.batch > kMaxPlanes) return false;
  if (!IsFloat32(problem.in_type) || !IsFloat32(problem.filter_type) || !IsFloat32(problem.out_type)) return false;
  if (problem.has_bias || problem.normalizes || y.taps.empty() || x.taps.empty() || !HasEvenTaps(x) || !HasEvenTaps(y, RowFilterStride(y)))
    return false;
  if (y.count > kMaxOutputs / x.count || y.taps.size() * x.taps.size() < kMinTaps || (x.in_size > 1 && x.in_stride != 1)) return false;
  return DepthwiseWeightGradient(problem, grid).FitsScratch();
}

DepthwiseWeightGradient::DepthwiseWeightGradient(const ConvolutionProblem&, const ConvolutionGrid& grid)
    : y_(grid.dim[1]), x_(grid.dim[2]), out_start_(grid.out_start), tap_step_y_(TapStep(y_)), tap_step_x_(TapStep(x_)) {
  rows_ = static_cast<int64_t>(y_.taps.size()) + (y_.count - 1) * y_.conv_stride / tap_step_y_;
  pitch_ = static_cast<int64_t>(x_.taps.size()) + (x_.count - 1) * x_.conv_stride / tap_step_x_;
  if (rows_ > kMaxFloats || pitch_ > kMaxFloats) return;
  for (int64_t y = 0; y < y_.count * y_.conv_stride; y += y_.conv_stride)
    for (int64_t x = 0; x < x_.count * x_.conv_stride; x += x_.conv_stride) {
      const Phase phase = {y % tap_step_y_, x % tap_step_x_};
      auto is_it = [&](const Phase& p) { return p.y == phase.y && p.x == phase.x; };
      auto found = std::find_if(phases_.begin(), phases_.end(), is_it);
      if (found == phases_.end()) found = phases_.insert(found, phase);
      offsets_.push_back((found - phases_.begin()) * PhaseFloats() + y / tap_step_y_ * pitch_ + x / tap_step_x_);
    }
}

bool DepthwiseWeightGradient::FitsScratch() const { return !offsets_.empty() && ThreadFloats() <= kMaxFloats; }

size_t DepthwiseWeightGradient::WorkspaceBytes() const {
  return static_cast<size_t>(ThreadPool::Get().size() * ThreadFloats()) * sizeof(float);
}

// Leaves the zeros as they are: they are the same for all planes.
void DepthwiseWeightGradient::CopyInput(const float* in, float* to) const {
  for (const Phase& phase : phases_) {
    const int64_t top = y_.taps[0].offset + phase.y, left = x_.taps[0].offset + phase.x;
    int64_t row, last_row, column, last_column;
    Clip(top, tap_step_y_, y_.in_size, rows_, &row, &last_row);
    Clip(left, tap_step_x_, x_.in_size, pitch_, &column, &last_column);
    Table().copy_rows(to + row * pitch_ + column, pitch_, in + (top + row * tap_step_y_) * y_.in_stride + left + column * tap_step_x_,
                      tap_step_y_ * y_.in_stride, tap_step_x_, last_row - row, last_column - column);
    to += PhaseFloats();
  }
}

void DepthwiseWeightGradient::AddDotProducts(const float* gradient, const float* in, float* sums) const {
  for (int64_t from = 0; from < GradientFloats(); from += kBlock)
    Table().dots(sums, gradient + from, in + from, offsets_.data(), Outputs(), std::min(kBlock, GradientFloats() - from));
}

float DepthwiseWeightGradient::SumInOrder(const float* gradient, const float* in, int64_t output) const {
  const int64_t start_y = output / x_.count * y_.conv_stride, start_x = output % x_.count * x_.conv_stride;
  float sum = 0;
  for (const Tap& y : y_.taps)
    for (const Tap& x : x_.taps) {
      const int64_t row = start_y + y.offset, column = start_x + x.offset;
      if (row < 0 || row >= y_.in_size || column < 0 || column >= x_.in_size) continue;
      sum += gradient[y.filter_offset + x.filter_offset] * in[row * y_.in_stride + column];
    }
  return sum;
}

void DepthwiseWeightGradient::RunGroup(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t task,
                                       float* buffer) const {
  const int64_t co = task % problem.co, image = task / problem.co % problem.batch, group = task / problem.co / problem.batch;
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]) + image * problem.in_batch_stride +
                   group * problem.ci * problem.in_channel_stride;
  const auto* gradient =
      reinterpret_cast<const float*>(arguments.inputs[1]) + group * problem.filter_group_stride + co * problem.filter_co_stride;
  const int64_t rows = static_cast<int64_t>(y_.taps.size()), taps_per_row = static_cast<int64_t>(x_.taps.size());
  float* copy = buffer + InputFloats();
  alignas(64) float sums[kMaxOutputs] = {};
  for (int64_t c = 0; c < problem.ci; ++c) {
    CopyInput(in + c * problem.in_channel_stride, buffer);
    Table().copy_rows(copy, pitch_, gradient + c * problem.filter_ci_stride + y_.taps[0].filter_offset + x_.taps[0].filter_offset,
                      RowFilterStride(y_), 1, rows, taps_per_row);
    AddDotProducts(copy, buffer, sums);
  }
  // Zeros behind a row times infinity gave NaN: such sums are computed again without the copies.
  for (int64_t output = 0; output < Outputs(); ++output) {
    if (std::isfinite(sums[output])) continue;
    sums[output] = 0;
    for (int64_t c = 0; c < problem.ci; ++c)
      sums[output] += SumInOrder(gradient + c * problem.filter_ci_stride, in + c * problem.in_channel_stride, output);
  }

  auto* out = reinterpret_cast<float*>(arguments.outputs[0]);
  auto out_offset = [&](int64_t output) {
    return out_start_ + image * problem.out_batch_stride + (group * problem.co + co) * problem.out_channel_stride +
           output / x_.count * y_.out_stride + output % x_.count * x_.out_stride;
  };
  for (int64_t output = 0; problem.has_residual && output < Outputs(); ++output)
    sums[output] += reinterpret_cast<const float*>(arguments.inputs[4])[out_offset(output)];
  if (problem.Activates()) problem.Activate(arguments, sums, RoundUp(Outputs(), kMaxWidth));
  for (int64_t output = 0; output < Outputs(); ++output) out[out_offset(output)] = sums[output];
}

void DepthwiseWeightGradient::Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t*) const {
  auto* scratch = reinterpret_cast<float*>(arguments.scratch);
  const int64_t work = problem.ci * GradientFloats() * Outputs();
  ThreadPool::Get().ParallelFor(0, problem.groups * problem.batch * problem.co, std::max<int64_t>(1, kTaskWork / work),
                                [&](int64_t first, int64_t last, int slot) {
                                  float* buffer = scratch + slot * ThreadFloats();
                                  std::fill(buffer, buffer + ThreadFloats(), 0.0f);
                                  for (int64_t task = first; task < last; ++task) RunGroup(problem, arguments, task, buffer);
                                });
}

}  // namespace

std::unique_ptr<ConvStrategy> MakeDepthwiseWeightGradient(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  return MakeIfFits<DepthwiseWeightGradient>(problem, grid);
}

}  // namespace dxtensor::software::fast
