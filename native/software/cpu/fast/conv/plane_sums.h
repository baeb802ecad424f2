// A convolution of few outputs whose taps are whole planes, and few of them for each group: the gradient of a filter that each channel has
// for itself.
//
// Each output is a product of a plane of the outputs' gradient with a plane of the input, which lies otherwise for each. Both are copied
// into lines of one length, with zeros behind what they have; of an input of which only every second place is read, the places of one
// remainder lie side by side. Then what an output reads is one stretch of memory. Immutable; Run uses the thread pool.
#pragma once

#include <vector>

#include "convolution_shape.h"

namespace dxtensor::software::fast {

class PlaneSums {
 public:
  static bool Fits(const ConvolutionShape& shape, const GridDimension* dimensions);

  PlaneSums() = default;
  PlaneSums(const GridDimension* dimensions, int64_t out_start);
  size_t ScratchBytes() const;
  void Run(const ConvolutionShape& shape, const KernelArguments& arguments, float* scratch) const;

 private:
  struct Phase {  // remainders of the input's lines and columns
    int64_t y, x;
  };
  bool HasRoom() const;
  static int64_t LineCells(const GridDimension& y) { return y.taps.size() > 1 ? y.taps[1].cell - y.taps[0].cell : 0; }
  void CopyInput(const float* in, float* to) const;
  void AddProducts(const float* gradient, const float* in, float* sums) const;
  float SumInOrder(const float* gradient, const float* in, int64_t output) const;  // of places as they are
  void RunGroup(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t task, float* room) const;
  int64_t Outputs() const { return y_.count * x_.count; }
  int64_t PhaseFloats() const { return lines_ * pitch_; }
  int64_t InputFloats() const { return static_cast<int64_t>(phases_.size()) * PhaseFloats() + pitch_ + kMaxWidth; }
  int64_t GradientFloats() const { return RoundUp(static_cast<int64_t>(y_.taps.size()) * pitch_, kMaxWidth); }
  int64_t ThreadFloats() const { return RoundUp(InputFloats() + GradientFloats(), kMaxWidth); }

  GridDimension y_, x_;
  int64_t out_start_ = 0;
  int64_t step_y_ = 1, step_x_ = 1;  // from the input of one tap to that of the next
  int64_t lines_ = 0, pitch_ = 0;    // of a phase of the copy
  std::vector<Phase> phases_;
  std::vector<int64_t> offsets_;  // of what the outputs read, in the copy
};

}  // namespace dxtensor::software::fast
