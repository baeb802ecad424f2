// The gradient of the weights of a convolution by 3 x 3 cells, as Winograd's F(4 x 4, 3 x 3) transposed: a tile of 4 x 4 outputs and the
// 6 x 6 inputs that it read give their shares of all nine weights with 36 multiplications instead of 144.
//
// For DirectML it is a convolution whose filter is a batch of images: channels are the batch, images the input's channels, and the taps
// the outputs' places. The places of both are made for some lines of tiles, for each place a product over the tiles follows, and the sums
// are turned into weights at the end. Immutable; Run uses the thread pool.
#pragma once

#include "convolution_shape.h"
#include "winograd_tiles.h"

namespace dxtensor::software::fast {

class WinogradWeights : WinogradTiles {
 public:
  static bool Fits(const ConvolutionShape& shape, const GridDimension* dimensions);

  WinogradWeights() = default;
  WinogradWeights(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start);
  size_t ScratchBytes() const;
  void Run(const ConvolutionShape& shape, const KernelArguments& arguments, float* scratch) const;

 private:
  static int64_t TilesOf(const GridDimension& taps);
  void TurnInput(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t line, int64_t channel, float* cells,
                 float* to) const;
  void TurnGradient(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t line, int64_t row, float* cells,
                    float* to) const;
  void Multiply(const float* gradients, const float* inputs, int64_t row, int64_t channel, int64_t tiles, bool adds, float* sums,
                int64_t sums_step) const;
  void Store(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t row, int64_t channel, const float* sums,
             int64_t place_step) const;
  int64_t ThreadFloats() const;

  GridDimension y_, x_;
  int64_t out_start_ = 0;
  int64_t batch_ = 0, channels_ = 0, rows_ = 0;      // of the input, of its channels, of those of the outputs
  int64_t height_ = 0, width_ = 0;                   // of the outputs
  int64_t line_step_ = 0;                            // floats from one line of the outputs' gradient to the next
  int64_t tiles_y_ = 0, tiles_x_ = 0;                // of an image
  int64_t lines_ = 0;                                // of tiles, that are computed together
  int64_t input_step_ = 0, gradient_step_ = 0;       // floats of a tile at one place
  int64_t input_place_ = 0, gradient_place_ = 0;     // and of all tiles
  int64_t channels_at_once_ = 0, rows_at_once_ = 0;  // that are turned together
  int64_t sum_step_ = 0, sum_place_ = 0;             // of the sums of all rows and channels, where they are kept
  int64_t tile_rows_ = 0;
  bool keeps_sums_ = false;
};

}  // namespace dxtensor::software::fast
