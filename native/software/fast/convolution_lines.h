// A convolution of few outputs, whose taps are whole lines of images: the gradient of a filter for few input channels, as first layers of
// networks have.
//
// For DirectML channels are the batch, images the input's channels, and taps the outputs' places. Each line of the outputs' gradient, for
// some rows, is multiplied by what lies `step` further for each place: neighbours in a line of the input are neighbouring outputs, so
// vectors of them are read where they lie, in a copy with zeros around. Two lines of outputs are computed together. Immutable; Run uses
// the thread pool.
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
  void AddPlane(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t channel, const float* plane, float* sums) const;
  int64_t SumFloats() const { return images_ * pairs_ * rows_ * 2 * width_; }
  int64_t PlaneFloats() const { return lines_ * pitch_; }

  GridDimension y_, x_;
  int64_t out_start_ = 0, images_ = 0, channels_ = 0, rows_ = 0;
  int64_t width_ = 0, tile_rows_ = 0;          // of a vector; of a tile
  bool is_wide_ = false;                       // a line of outputs takes two vectors
  int64_t pairs_ = 0;                          // of vectors, for all lines of outputs
  int64_t step_ = 1;                           // from the input of one place to that of the next
  int64_t first_line_ = 0, first_column_ = 0;  // of the copy, in the input
  int64_t lines_ = 0, pitch_ = 0;              // of the copy
  int64_t pieces_ = 1;                         // of the channels, each with sums of its own
};

}  // namespace dxtensor::software::fast
