#include "winograd_tiles.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_shape.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kPlacesAtOnce = 1 << 20;  // floats of the places of some lines of tiles, for each thread
constexpr int64_t kCellsAtOnce = 1 << 15;   // floats of a line of tiles, with some channels side by side

}  // namespace

bool WinogradTiles::IsAllowed() {
  const char* text = std::getenv("DXTENSOR_SOFTWARE_WINOGRAD");
  return !text || text[0] != '0';
}

void WinogradTiles::TurnCells(const CellSource& from, int64_t start_y, int64_t start_x, int64_t lines, int64_t length, int64_t count,
                              int64_t step, float* cells) {
  int64_t first, last;
  Clip(start_x, 1, from.columns, length, &first, &last);
  for (int64_t y = 0; y < lines; ++y) {
    float* row = cells + y * length * step;
    const bool inside = start_y + y >= 0 && start_y + y < from.lines;
    if (!inside || step != count) std::memset(row, 0, static_cast<size_t>(length * step) * sizeof(float));
    if (!inside) continue;
    std::memset(row, 0, static_cast<size_t>(first * step) * sizeof(float));
    std::memset(row + last * step, 0, static_cast<size_t>((length - last) * step) * sizeof(float));
    if (first < last)
      Table().turn(row + first * step, step, from.base + (start_y + y) * from.line_step + start_x + first, from.channel_step, count,
                   last - first);
  }
}

int64_t WinogradTiles::LinesAtOnce(int64_t total, int64_t floats) {
  const int64_t most = std::clamp<int64_t>(kPlacesAtOnce * ThreadPool::Get().size() / floats, 1, total);
  return DivideUp(total, DivideUp(total, most));
}

int64_t WinogradTiles::ChannelsAtOnce(int64_t cells, int64_t all) {
  return std::clamp<int64_t>(kCellsAtOnce / cells / kMaxWidth * kMaxWidth, kMaxWidth, RoundUp(all, kMaxWidth));
}

}  // namespace dxtensor::software::fast
