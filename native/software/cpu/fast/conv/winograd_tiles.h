// What Winograd's F(4 x 4, 3 x 3) and its transposed share: their tiles, and how many of these are computed together.
#pragma once

#include <cstdint>

namespace dxtensor::software::fast {

class WinogradTiles {
 public:
  // DXTENSOR_SOFTWARE_WINOGRAD=0 in the environment: never.
  static bool IsAllowed();

 protected:
  static constexpr int64_t kPlaces = 36, kOutputs = 4, kInputs = 6;
  static constexpr int64_t kLeastChannels = 16;

  // An image, whose columns lie side by side.
  struct CellSource {
    const float* base;
    int64_t channel_step, line_step, lines, columns;
  };
  // To `cells`: some lines of it by `length` columns with `count` channels side by side, `step` floats apart; zeros outside.
  static void TurnCells(const CellSource& from, int64_t start_y, int64_t start_x, int64_t lines, int64_t length, int64_t count,
                        int64_t step, float* cells);
  // Of `total` lines of tiles, of which each takes `floats`: equal parts of them.
  static int64_t LinesAtOnce(int64_t total, int64_t floats);
  // Of `all` channels, each of which has `cells` in a line of tiles.
  static int64_t ChannelsAtOnce(int64_t cells, int64_t all);
};

}  // namespace dxtensor::software::fast
