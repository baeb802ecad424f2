// Weight gradient for few input channels, as first layers of networks have; its taps are whole rows of the outputs' gradient.
//
// DirectML swaps roles: the operator's channels are the batch, its images the layer's input channels, its taps the positions of the
// outputs' gradient. Some rows of the outputs' gradient of one image are transposed to [position, Co]. Each position, a vector of Co, is
// multiplied by the inputs that the filter's taps read there, which are `tap_step` apart from position to position: the tiles of
// implicit_gemm_nhwc.h do that, with weights as pixels and positions as channels. The input is read from a padded copy with one phase for
// each remainder of the columns. Immutable; Run uses the thread pool.
#pragma once

#include "convolution_shape.h"

namespace dxtensor::software::fast {

class WeightGradientRows {
 public:
  static bool Fits(const ConvolutionShape& shape, const GridDimension* dimensions);

  WeightGradientRows() = default;
  WeightGradientRows(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start);
  size_t ScratchBytes() const;
  void Run(const ConvolutionShape& shape, const KernelArguments& arguments, float* scratch) const;

 private:
  void CopyPlane(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t image, int64_t ci, float* plane) const;
  void TransposeRows(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t image, int64_t first, int64_t count,
                     float* transposed) const;
  void AddRows(int64_t first, int64_t count, const float* plane, const float* transposed, float* sums) const;
  void Store(const ConvolutionShape& shape, const KernelArguments& arguments, float* sums) const;
  int64_t PanelWidth(int64_t co) const { return std::min(width_, padded_co_ - co); }
  int64_t SumFloats() const { return ci_ * y_.count * x_.count * padded_co_; }
  int64_t PlaneFloats() const { return tap_step_ * rows_ * pitch_; }
  int64_t TransposedFloats() const { return rows_at_once_ * static_cast<int64_t>(x_.taps.size()) * padded_co_; }
  int64_t ThreadFloats() const { return RoundUp(ci_ * PlaneFloats() + TransposedFloats(), kMaxWidth); }

  GridDimension y_, x_;
  int64_t out_start_ = 0, ci_ = 0, batch_ = 0, co_ = 0, padded_co_ = 0;  // padded: to whole vectors
  int64_t width_ = 0, max_outputs_ = 0;                                  // of a tile: Co, and weights of a filter row
  int64_t tap_step_ = 1;                                                 // input positions between adjacent taps
  int64_t first_row_ = 0, first_column_ = 0;                             // of the copy, in the input
  int64_t rows_ = 0, pitch_ = 0;                                         // of the copy, by phase
  int64_t rows_at_once_ = 1;                                             // of the outputs' gradient
  int64_t pieces_ = 1;                                                   // of the batch, each with its own sums
};

}  // namespace dxtensor::software::fast
