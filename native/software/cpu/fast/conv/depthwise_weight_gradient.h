// Weight gradient of a depthwise convolution, and of others with few outputs and few planes in a group.
//
// Each weight is the dot product of a plane of the outputs' gradient with a shifted plane of the input. Both planes are copied into rows of
// one pitch with zeros behind them; with a convolution stride the input's copy has one phase for each remainder. Each shifted plane is then
// one contiguous segment. Immutable; Run uses the thread pool.
#pragma once

#include <vector>

#include "convolution_shape.h"

namespace dxtensor::software::fast {

class DepthwiseWeightGradient {
 public:
  static bool Fits(const ConvolutionShape& shape, const GridDimension* dimensions);

  DepthwiseWeightGradient() = default;
  DepthwiseWeightGradient(const GridDimension* dimensions, int64_t out_start);
  size_t ScratchBytes() const;
  void Run(const ConvolutionShape& shape, const KernelArguments& arguments, float* scratch) const;

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
  void RunGroup(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t task, float* buffer) const;
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

}  // namespace dxtensor::software::fast
