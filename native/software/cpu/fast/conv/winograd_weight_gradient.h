// Winograd weight gradient of 3 x 3 filters, F(4 x 4, 3 x 3) transposed: a tile of 4 x 4 outputs and its 6 x 6 inputs contribute to all
// nine weights with 36 multiplications instead of 144.
//
// DirectML swaps roles: the operator's channels are the batch, its images the layer's input channels, its taps the positions of the
// outputs' gradient. Members here have the layer's names. Both transforms run over some rows of tiles, then a GEMM over the tiles for each
// of the 36 positions; the sums become weights at the end. Immutable; Run uses the thread pool.
#pragma once

#include "convolution_shape.h"
#include "winograd_tiles.h"

namespace dxtensor::software::fast {

class WinogradWeightGradient : WinogradTiles {
 public:
  static bool Fits(const ConvolutionShape& shape, const GridDimension* dimensions);

  WinogradWeightGradient() = default;
  WinogradWeightGradient(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start);
  size_t ScratchBytes() const;
  void Run(const ConvolutionShape& shape, const KernelArguments& arguments, float* scratch) const;

 private:
  static int64_t TilesOf(const GridDimension& taps);
  void TransformInput(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t row, int64_t channel, float* nhwc,
                      float* to) const;
  void TransformGradient(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t row, int64_t co, float* nhwc,
                         float* to) const;
  void Multiply(const float* gradients, const float* inputs, int64_t co, int64_t channel, int64_t tiles, bool adds, float* sums,
                int64_t sums_stride) const;
  void Store(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t co, int64_t channel, const float* sums,
             int64_t position_stride) const;
  int64_t ThreadFloats() const;

  GridDimension y_, x_;
  int64_t out_start_ = 0;
  int64_t batch_ = 0, ci_ = 0, co_ = 0;                               // of the layer
  int64_t height_ = 0, width_ = 0;                                    // of the outputs
  int64_t gradient_row_stride_ = 0;                                   // floats between rows of the outputs' gradient
  int64_t tiles_y_ = 0, tiles_x_ = 0;                                 // of an image
  int64_t tile_rows_at_once_ = 0;                                     // that are computed together
  int64_t input_tile_stride_ = 0, gradient_tile_stride_ = 0;          // floats between tiles at one position
  int64_t input_position_stride_ = 0, gradient_position_stride_ = 0;  // floats between positions
  int64_t ci_at_once_ = 0, co_at_once_ = 0;                           // that are transformed together
  int64_t sum_stride_ = 0, sum_position_stride_ = 0;                  // of the sums of all Co and Ci, where they are kept
  int64_t tile_co_ = 0;
  bool keeps_sums_ = false;
};

}  // namespace dxtensor::software::fast
