// The columns of an NCHW image as implicit GEMM and depthwise tiles read them: where each tap reads, and the padded copy.
//
// Where adjacent outputs read adjacent inputs, output (y, x) is column y * pitch + x of an image, and each tap reads one contiguous segment
// of the image for a segment of columns, also across the ends of rows. Columns that are no output are computed and dropped. Where taps
// reach into the padding, or the input is not float32, the input is copied once with zeros around it; the zeros at the right of a row are
// those at the left of the next. With a convolution stride the copy has one phase for each remainder of rows and columns, so that a tap
// reads one segment again. Immutable after construction.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "convolution_grid.h"

namespace dxtensor::software::fast {

struct NchwColumns {
  static constexpr int64_t kMaxTaps = 256;
  struct Phase {
    int64_t y, x;
  };

  // One input channel for one output channel.
  static bool IsDepthwise(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
  // Null where it does not cover the grid, or drops too many columns.
  static std::optional<NchwColumns> Plan(const ConvolutionProblem& problem, const ConvolutionGrid& grid);

  int64_t TileStart(int64_t tile) const;
  // Of the padded copies, in floats.
  int64_t CopyFloats() const;
  // Makes the copies, and calls run(plane, first tile, last tile, channel 0 of the plane, thread) for all tiles. `work`: multiply-adds of
  // the tiles of a plane.
  using RunTiles = std::function<void(int64_t plane, int64_t first_tile, int64_t last_tile, const float* in, int thread)>;
  void ForEachTile(const ConvolutionProblem& problem, const KernelArguments& arguments, float* copies, int64_t work,
                   const RunTiles& run) const;

  ConvolutionGrid grid;
  int64_t batch, groups, co, ci;
  bool copies = false, shares_copies = false;
  int64_t pitch = 0, length = 0, tiles = 0;  // floats between input rows; columns of an image; tiles of columns
  int64_t chunks = 1;                        // tasks of an image
  int64_t channel_stride = 0;
  // The padded copy of the input: its rows, the input row of its first row, the zeros at the left. With a convolution stride it has
  // phases: rows first_row + phase.y + i * stride_h, columns phase.x - left + i * stride_w.
  int64_t rows = 0, first_row = 0, left = 0, stride_h = 1, stride_w = 1;
  std::vector<Phase> phases;
  std::vector<int32_t> offsets;  // by tap

 private:
  NchwColumns(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
  void CopyChannel(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t plane, int64_t channel, float* to) const;
};

}  // namespace dxtensor::software::fast
