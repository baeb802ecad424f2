// A convolution of few outputs, whose taps are whole lines of images: the gradient of a filter for few input channels, as first layers of
// networks have.
//
// For DirectML channels are the batch, images the input's channels, and taps the outputs' places. The outputs' gradient gets its rows side
// by side, some lines of one image at a time; then each place of it, a vector of rows, is multiplied by what lies `step` further in the
// input for each place, one number for each output of a line: what the tiles of convolution_pixels.h do, whose pixels are outputs here and
// whose channels are places. The input is read in a copy with zeros around, its columns by their remainders by the step. Immutable; Run
// uses the thread pool.
#pragma once

#include "convolution_shape.h"

namespace dxtensor::software::fast {

class LineSums {
 public:
  static bool Fits(const ConvolutionShape& shape, const GridDimension* dimensions);

  LineSums() = default;
  LineSums(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start);
  size_t ScratchBytes() const;
  void Run(const ConvolutionShape& shape, const KernelArguments& arguments, float* scratch) const;

 private:
  void CopyPlane(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t channel, int64_t image, float* plane) const;
  void TurnLines(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t channel, int64_t first, int64_t count,
                 float* turned) const;
  void AddLines(int64_t first, int64_t count, const float* plane, const float* turned, float* sums) const;
  void Store(const ConvolutionShape& shape, const KernelArguments& arguments, float* sums) const;
  int64_t PanelWidth(int64_t row) const { return std::min(width_, all_rows_ - row); }
  int64_t SumFloats() const { return images_ * y_.count * x_.count * all_rows_; }
  int64_t PlaneFloats() const { return step_ * lines_ * pitch_; }
  int64_t TurnedFloats() const { return lines_at_once_ * static_cast<int64_t>(x_.taps.size()) * all_rows_; }
  int64_t ThreadFloats() const { return RoundUp(images_ * PlaneFloats() + TurnedFloats(), kMaxWidth); }

  GridDimension y_, x_;
  int64_t out_start_ = 0, images_ = 0, channels_ = 0, rows_ = 0, all_rows_ = 0;  // all: up to whole vectors
  int64_t width_ = 0, most_outputs_ = 0;                                         // of a tile: rows, and outputs of a line
  int64_t step_ = 1;                                                             // from the input of one place to that of the next
  int64_t first_line_ = 0, first_column_ = 0;                                    // of the copy, in the input
  int64_t lines_ = 0, pitch_ = 0;                                                // of the copy, for each remainder
  int64_t lines_at_once_ = 1;                                                    // of the outputs' gradient
  int64_t pieces_ = 1;                                                           // of the channels, each with sums of its own
};

}  // namespace dxtensor::software::fast
