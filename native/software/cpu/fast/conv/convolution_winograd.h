// A convolution by 3 x 3 cells side by side, as Winograd's F(4 x 4, 3 x 3): four outputs of a line from six inputs, a quarter of the
// multiplications. An input that is not finite makes all outputs of its tiles so, and rounding differs from that of sums in order.
//
// In four steps over some lines of tiles: the input with its channels side by side, the tiles' 36 places, for each place a product of
// tiles by channels with channels by outputs, and back. Immutable; Run uses the thread pool.
#pragma once

#include <array>
#include <functional>

#include "convolution_shape.h"
#include "winograd_tiles.h"

namespace dxtensor::software::fast {

// to[j * rows + i] = A[row + i][k + j] of the filter.
using FilterPacker = std::function<void(int64_t row, int64_t rows, int64_t k, int64_t count, float* to)>;

class Winograd : WinogradTiles {
 public:
  // Whether it covers these dimensions, and is faster than sums in order.
  static bool Fits(const ConvolutionShape& shape, const GridDimension* dimensions);

  Winograd() = default;
  Winograd(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start);
  size_t ScratchBytes() const;
  size_t PreparedBytes() const;
  void Prepare(const FilterPacker& pack, uint8_t* to) const;
  // `filter`: what Prepare made; scratch without what the filter may take.
  void Run(const ConvolutionShape& shape, const KernelArguments& arguments, const float* filter, float* scratch) const;

 private:
  void TurnInput(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t line, int64_t channel, float* cells,
                 float* to) const;
  void TurnPixels(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t line, int64_t channel, float* cells,
                  float* to) const;
  void Multiply(const float* filter, const float* places, int64_t task, int64_t tiles, float* sums) const;
  void TurnOutput(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t line, int64_t row, const float* sums,
                  const float* ends, float* cells) const;
  int64_t ThreadFloats() const;

  GridDimension y_, x_;
  int64_t out_start_ = 0, first_y_ = 0, first_x_ = 0;  // the input cell of the first tile
  bool reads_pixels_ = false, writes_pixels_ = false;  // channels lie side by side
  int64_t channels_ = 0, rows_ = 0, images_ = 0;
  int64_t tiles_y_ = 0, tiles_x_ = 0;            // of an image
  int64_t lines_ = 0;                            // of tiles, that are computed together
  int64_t panels_ = 0;                           // of rows
  int64_t tile_step_ = 0, sum_step_ = 0;         // floats of a tile at one place
  int64_t end_step_ = 0;                         // of ConvolutionShape
  int64_t place_step_ = 0, sum_place_step_ = 0;  // and of all tiles
  int64_t channels_at_once_ = 0, rows_at_once_ = 0;
  std::array<int32_t, 9> taps_{};  // of the filter as it is packed, by line and column
};

}  // namespace dxtensor::software::fast
