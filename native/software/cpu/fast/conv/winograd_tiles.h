// Shared by Winograd F(4 x 4, 3 x 3) and its weight gradient: tile sizes, and how many tiles are computed together.
#pragma once

#include <cstdint>

namespace dxtensor::software::fast {

class WinogradTiles {
 public:
  // DXTENSOR_SOFTWARE_WINOGRAD=0 in the environment: never.
  static bool IsAllowed();

 protected:
  static constexpr int64_t kPositions = 36, kOutputs = 4, kInputs = 6;
  static constexpr int64_t kMinChannels = 16;

  // An NCHW image with contiguous columns.
  struct PlaneSource {
    const float* base;
    int64_t channel_stride, row_stride, rows, columns;
  };
  // Transposes some rows of `length` columns and `count` channels to NHWC, pixel_stride floats between pixels; zeros outside of the image.
  static void CopyToNhwc(const PlaneSource& from, int64_t start_y, int64_t start_x, int64_t rows, int64_t length, int64_t count,
                         int64_t pixel_stride, float* nhwc);
  // Rows of tiles that are computed together, out of `total`, where each takes `floats`.
  static int64_t RowsAtOnce(int64_t total, int64_t floats);
  // Channels that are transformed together, out of `all`, where each has so many floats in a row of tiles.
  static int64_t ChannelsAtOnce(int64_t nhwc, int64_t all);
};

}  // namespace dxtensor::software::fast
