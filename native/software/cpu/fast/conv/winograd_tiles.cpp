#include "winograd_tiles.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_problem.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kRowFloatsAtOnce: within 5 % from 1/4 to 4 times; kPositionFloatsAtOnce 0.94 at 1/2, 0.92 at 4.
constexpr int64_t kPositionFloatsAtOnce = 1 << 20;  // floats of the positions of some rows of tiles, by thread
constexpr int64_t kRowFloatsAtOnce = 1 << 15;       // floats of a row of tiles in NHWC

}  // namespace

bool WinogradTiles::IsAllowed() {
  const char* text = std::getenv("DXTENSOR_SOFTWARE_WINOGRAD");
  return !text || text[0] != '0';
}

void WinogradTiles::CopyToNhwc(const PlaneSource& from, int64_t start_y, int64_t start_x, int64_t rows, int64_t length, int64_t count,
                               int64_t pixel_stride, float* nhwc) {
  int64_t first, last;
  Clip(start_x, 1, from.columns, length, &first, &last);
  for (int64_t y = 0; y < rows; ++y) {
    float* to_row = nhwc + y * length * pixel_stride;
    const bool inside = start_y + y >= 0 && start_y + y < from.rows;
    if (!inside || pixel_stride != count) std::memset(to_row, 0, static_cast<size_t>(length * pixel_stride) * sizeof(float));
    if (!inside) continue;
    std::memset(to_row, 0, static_cast<size_t>(first * pixel_stride) * sizeof(float));
    std::memset(to_row + last * pixel_stride, 0, static_cast<size_t>((length - last) * pixel_stride) * sizeof(float));
    if (first < last)
      Table().transpose(to_row + first * pixel_stride, pixel_stride, from.base + (start_y + y) * from.row_stride + start_x + first,
                        from.channel_stride, count, last - first);
  }
}

int64_t WinogradTiles::RowsAtOnce(int64_t total, int64_t floats) {
  const int64_t most = std::clamp<int64_t>(kPositionFloatsAtOnce * ThreadPool::Get().size() / floats, 1, total);
  return DivideUp(total, DivideUp(total, most));
}

int64_t WinogradTiles::ChannelsAtOnce(int64_t nhwc, int64_t all) {
  return std::clamp<int64_t>(kRowFloatsAtOnce / nhwc / kMaxWidth * kMaxWidth, kMaxWidth, RoundUp(all, kMaxWidth));
}

}  // namespace dxtensor::software::fast
