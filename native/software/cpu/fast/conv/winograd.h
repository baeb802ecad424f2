// Winograd F(4 x 4, 3 x 3) convolution, forward and data gradient: 4 x 4 outputs from 6 x 6 inputs with a quarter of the multiplications.
// An input that is not finite makes all outputs of its tiles so, and rounding differs from that of sums in order.
//
// Four stages over some rows of tiles: the input to NHWC, the input transform to 36 positions, for each position a GEMM of [tiles, Ci] with
// [Ci, Co], the output transform. Immutable; Run uses the thread pool.
#pragma once

#include <array>
#include <functional>

#include "convolution_shape.h"
#include "winograd_tiles.h"

namespace dxtensor::software::fast {

// to[j * co_count + i] = A[co + i][k + j] of the filter as a matrix.
using FilterPacker = std::function<void(int64_t co, int64_t co_count, int64_t k, int64_t count, float* to)>;

class Winograd : WinogradTiles {
 public:
  // Whether it covers these dimensions, and is faster than a direct convolution.
  static bool Fits(const ConvolutionShape& shape, const GridDimension* dimensions);

  Winograd() = default;
  Winograd(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start);
  size_t ScratchBytes() const;
  size_t PrepackedBytes() const;
  void Prepack(const FilterPacker& pack, uint8_t* to) const;
  // `filter`: what Prepack made. `scratch`: without the space for the filter.
  void Run(const ConvolutionShape& shape, const KernelArguments& arguments, const float* filter, float* scratch) const;

 private:
  void TransformInput(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t row, int64_t channel, float* nhwc,
                      float* to) const;
  void TransformNhwcInput(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t row, int64_t channel, float* nhwc,
                          float* to) const;
  void Multiply(const float* filter, const float* positions, int64_t task, int64_t tiles, float* sums) const;
  void TransformOutput(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t row, int64_t co, const float* sums,
                       const float* scale_shift, float* nhwc) const;
  int64_t ThreadFloats() const;

  GridDimension y_, x_;
  int64_t out_start_ = 0, first_y_ = 0, first_x_ = 0;  // the input position of the first tile
  bool reads_nhwc_ = false, writes_nhwc_ = false;      // layout of the input, of the output
  int64_t ci_ = 0, co_ = 0, batch_ = 0;
  int64_t tiles_y_ = 0, tiles_x_ = 0;                      // of an image
  int64_t tile_rows_at_once_ = 0;                          // that are computed together
  int64_t panels_ = 0;                                     // of Co
  int64_t tile_stride_ = 0, sum_stride_ = 0;               // floats between tiles at one position
  int64_t scale_shift_stride_ = 0;                         // of ConvolutionShape
  int64_t position_stride_ = 0, sum_position_stride_ = 0;  // floats between positions
  int64_t ci_at_once_ = 0, co_at_once_ = 0;
  std::array<int32_t, 9> taps_{};  // index in the packed filter, by row and column
};

}  // namespace dxtensor::software::fast
