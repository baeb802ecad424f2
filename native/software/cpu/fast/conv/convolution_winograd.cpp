#include "convolution_winograd.h"

#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kPackedChannels = 16;

int64_t LeastOffset(const GridDimension& d) {
  int64_t least = d.taps[0].offset;
  for (const Tap& tap : d.taps) least = std::min(least, tap.offset);
  return least;
}
bool HasThreeSideBySide(const GridDimension& d) {
  if (d.taps.size() != 3 || (d.in_step != 1 && d.count > 1)) return false;
  bool found[3] = {};
  for (const Tap& tap : d.taps) {
    const int64_t at = tap.offset - LeastOffset(d);
    if (at < 3) found[at] = true;
  }
  return found[0] && found[1] && found[2];
}
// With channels side by side.
bool ReadsPixels(const ConvolutionShape& shape, const GridDimension& x) {
  return shape.in_channel == 1 && x.in_size > 1 && x.in_stride > 1;
}
bool WritesPixels(const ConvolutionShape& shape, const GridDimension& x) { return shape.out_row == 1 && x.count > 1 && x.out_stride > 1; }

}  // namespace

bool Winograd::Fits(const ConvolutionShape& shape, const GridDimension* dimensions) {
  const GridDimension &z = dimensions[0], &y = dimensions[1], &x = dimensions[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0 || !HasThreeSideBySide(y) || !HasThreeSideBySide(x)) return false;
  if (shape.groups != 1 || shape.channels < kLeastChannels || shape.rows < kLeastChannels) return false;
  if (!IsFloat32(shape.in_type) || !IsFloat32(shape.out_type)) return false;
  if (x.in_size > 1 && x.in_stride != 1 && !ReadsPixels(shape, x)) return false;
  if (x.count > 1 && x.out_stride != 1 && !WritesPixels(shape, x)) return false;
  // Cycles, of sums in order and of these: the products, the turns, and the filter that is read once.
  const auto k = static_cast<double>(shape.channels), m = static_cast<double>(RoundUp(shape.rows, Table().tile_columns));
  const auto tiles = static_cast<double>(shape.images * DivideUp(y.count, kOutputs) * DivideUp(x.count, kOutputs));
  const auto outputs = static_cast<double>(shape.images * y.count * x.count);
  const double direct = outputs * 9 * k * m / 32 * 1.2;
  const double turned = tiles * (36 * k * m / 32 + 30 * (k + m)) + 18 * k * m;
  return turned < direct && IsAllowed();
}

Winograd::Winograd(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start)
    : y_(dimensions[1]), x_(dimensions[2]), out_start_(out_start), first_y_(LeastOffset(y_)), first_x_(LeastOffset(x_)) {
  reads_pixels_ = ReadsPixels(shape, x_);
  writes_pixels_ = WritesPixels(shape, x_);
  channels_ = shape.channels;
  rows_ = shape.rows;
  images_ = shape.images;
  tiles_y_ = DivideUp(y_.count, kOutputs);
  tiles_x_ = DivideUp(x_.count, kOutputs);
  panels_ = DivideUp(rows_, Table().tile_columns);
  // Not a power of two: rows of it would meet in few places of the cache.
  tile_step_ = RoundUp(channels_, kMaxWidth) + kMaxWidth;
  end_step_ = shape.EndStep();
  sum_step_ = RoundUp(panels_ * Table().tile_columns, kMaxWidth) + kMaxWidth;
  lines_ = LinesAtOnce(images_ * tiles_y_, kPlaces * tiles_x_ * (tile_step_ + sum_step_));
  place_step_ = lines_ * tiles_x_ * tile_step_ + kMaxWidth;
  sum_place_step_ = lines_ * tiles_x_ * sum_step_ + kMaxWidth;
  channels_at_once_ = ChannelsAtOnce(kInputs * (tiles_x_ * kOutputs + 2), channels_);
  rows_at_once_ = ChannelsAtOnce(kOutputs * tiles_x_ * kOutputs, rows_);
  for (size_t y = 0; y < 3; ++y)
    for (size_t x = 0; x < 3; ++x)
      taps_[static_cast<size_t>((y_.taps[y].offset - first_y_) * 3 + x_.taps[x].offset - first_x_)] = static_cast<int32_t>(y * 3 + x);
}

// Behind a line's outputs is room for what is added to one of its rows of cells.
int64_t Winograd::ThreadFloats() const {
  return std::max(kInputs * (tiles_x_ * kOutputs + 2) * channels_at_once_, (kOutputs + 1) * tiles_x_ * kOutputs * rows_at_once_);
}

size_t Winograd::ScratchBytes() const {
  const int64_t floats = kPlaces * (place_step_ + sum_place_step_) + 2 * end_step_ + ThreadFloats() * ThreadPool::Get().size();
  return static_cast<size_t>(floats) * sizeof(float);
}

size_t Winograd::PreparedBytes() const { return static_cast<size_t>(kPlaces * panels_ * channels_ * Table().tile_columns) * sizeof(float); }

// By place, panel of rows and channel.
void Winograd::Prepare(const FilterPacker& pack, uint8_t* to) const {
  const IsaTable& table = Table();
  const int64_t width = table.tile_columns, pieces = DivideUp(channels_, kPackedChannels);
  auto* places = reinterpret_cast<float*>(to);
  ThreadPool::Get().ParallelFor(0, panels_ * pieces, 4, [&](int64_t first, int64_t last, int) {
    alignas(64) float weights[9 * kPackedChannels * 32 + 32] = {};
    for (int64_t i = first; i < last; ++i) {
      const int64_t panel = i / pieces, k = i % pieces * kPackedChannels, rows = std::min(width, rows_ - panel * width);
      const int64_t count = std::min(kPackedChannels, channels_ - k);
      pack(panel * width, rows, k * 9, count * 9, weights);
      for (int64_t c = 0; c < count; ++c)
        table.winograd_filter(places + (panel * channels_ + k + c) * width, panels_ * channels_ * width, weights + c * 9 * rows, rows,
                              taps_.data(), width);
    }
  });
}

// The same where the input's channels lie side by side: only tiles at the edges are copied, with zeros around.
void Winograd::TurnPixels(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t line, int64_t channel, float* cells,
                          float* to) const {
  const int64_t count = std::min(channels_at_once_, channels_ - channel), step = RoundUp(count, kMaxWidth);
  const int64_t start_y = line % tiles_y_ * kOutputs + first_y_;
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]) + line / tiles_y_ * shape.in_image + channel;
  const bool reads_whole = step == count || shape.input_has_room, inside_y = start_y >= 0 && start_y + kInputs <= y_.in_size;
  for (int64_t tile = 0; tile < tiles_x_; ++tile) {
    const int64_t start_x = tile * kOutputs + first_x_;
    const float* from = in + start_y * y_.in_stride + start_x * x_.in_stride;
    int64_t x_step = x_.in_stride, y_step = y_.in_stride;
    if (!reads_whole || !inside_y || start_x < 0 || start_x + kInputs > x_.in_size) {
      std::memset(cells, 0, static_cast<size_t>(kInputs * kInputs * step) * sizeof(float));
      for (int64_t y = std::max<int64_t>(0, -start_y); y < std::min(kInputs, y_.in_size - start_y); ++y)
        for (int64_t x = std::max<int64_t>(0, -start_x); x < std::min(kInputs, x_.in_size - start_x); ++x)
          std::memcpy(cells + (y * kInputs + x) * step, from + y * y_step + x * x_step, static_cast<size_t>(count) * sizeof(float));
      from = cells;
      x_step = step;
      y_step = kInputs * step;
    }
    Table().winograd_input(to + tile * tile_step_ + channel, place_step_, from, x_step, y_step, step);
  }
}

// Some channels of a line of tiles, `cells` and then `to` their places.
void Winograd::TurnInput(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t line, int64_t channel, float* cells,
                         float* to) const {
  if (reads_pixels_) return TurnPixels(shape, arguments, line, channel, cells, to);
  const int64_t count = std::min(channels_at_once_, channels_ - channel), step = RoundUp(count, kMaxWidth);
  const int64_t length = tiles_x_ * kOutputs + 2;
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]) + line / tiles_y_ * shape.in_image + channel * shape.in_channel;
  TurnCells({in, shape.in_channel, y_.in_stride, y_.in_size, x_.in_size}, line % tiles_y_ * kOutputs + first_y_, first_x_, kInputs, length,
            count, step, cells);
  for (int64_t x = 0; x < tiles_x_; ++x)
    Table().winograd_input(to + x * tile_step_ + channel, place_step_, cells + x * kOutputs * step, step, length * step, step);
}

// One panel of rows at one place.
void Winograd::Multiply(const float* filter, const float* places, int64_t task, int64_t tiles, float* sums) const {
  const IsaTable& table = Table();
  const int64_t place = task / panels_, panel = task % panels_, width = table.tile_columns;
  const int64_t height = DivideUp(tiles, DivideUp(tiles, table.tile_rows));
  for (int64_t tile = 0; tile < tiles; tile += height)
    table.strided_tiles[std::min(height, tiles - tile) - 1](
        channels_, places + place * place_step_ + tile * tile_step_, tile_step_, filter + task * channels_ * width, width,
        sums + place * sum_place_step_ + tile * sum_step_ + panel * width, sum_step_, false);
}

// Some rows of a line of tiles: their outputs with rows side by side in `cells`, then as they are stored.
void Winograd::TurnOutput(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t line, int64_t row, const float* sums,
                          const float* ends, float* cells) const {
  const IsaTable& table = Table();
  const int64_t count = std::min(rows_at_once_, rows_ - row), step = RoundUp(count, kMaxWidth), length = tiles_x_ * kOutputs;
  const WinogradEnd end = {ends ? ends + row : nullptr, ends ? ends + end_step_ + row : nullptr};
  for (int64_t x = 0; x < tiles_x_; ++x)
    table.winograd_output(cells + x * kOutputs * step, step, length * step, sums + x * sum_step_ + row, sum_place_step_, end, step);
  const int64_t start_y = line % tiles_y_ * kOutputs, lines = std::min(kOutputs, y_.count - start_y);
  const int64_t to = out_start_ + line / tiles_y_ * shape.out_image + row * shape.out_row + start_y * y_.out_stride;
  if (writes_pixels_) {
    auto* out = reinterpret_cast<float*>(arguments.outputs[0]) + to;
    const float* added = shape.adds ? reinterpret_cast<const float*>(arguments.inputs[4]) + to : nullptr;
    const Limits held = shape.limits ? shape.LimitsIn(arguments) : Limits();
    for (int64_t y = 0; y < lines; ++y) {
      float* sums = cells + y * length * step;
      if (!shape.limits) {
        for (int64_t x = 0; x < x_.count && added; ++x)
          table.axpy(sums + x * step, added + y * y_.out_stride + x * x_.out_stride, 1, count);
        shape.Activate(arguments, sums, x_.count * step);
      }
      TileEnd last{held.low, held.high};
      last.added = shape.limits && added ? added + y * y_.out_stride : nullptr;
      last.added_step = x_.out_stride;
      table.end_tile(out + y * y_.out_stride, x_.out_stride, sums, step, last, x_.count, count);
    }
    return;
  }
  if (shape.adds) {
    float* added = cells + kOutputs * length * step;
    for (int64_t y = 0; y < lines; ++y) {
      table.turn(added, step, reinterpret_cast<const float*>(arguments.inputs[4]) + to + y * y_.out_stride, shape.out_row, count, x_.count);
      table.axpy(cells + y * length * step, added, 1, x_.count * step);
    }
  }
  if (shape.Activates()) shape.Activate(arguments, cells, kOutputs * length * step);
  for (int64_t y = 0; y < lines; ++y)
    table.turn(reinterpret_cast<float*>(arguments.outputs[0]) + to + y * y_.out_stride, shape.out_row, cells + y * length * step, step,
               x_.count, count);
}

void Winograd::Run(const ConvolutionShape& shape, const KernelArguments& arguments, const float* filter, float* scratch) const {
  ThreadPool& pool = ThreadPool::Get();
  float* places = scratch;
  float* sums = places + kPlaces * place_step_;
  float* room = sums + kPlaces * sum_place_step_;
  float* own = room + 2 * end_step_;
  const float* ends = shape.EndsOf(arguments, room);
  const int64_t total = images_ * tiles_y_, inputs = DivideUp(channels_, channels_at_once_), outputs = DivideUp(rows_, rows_at_once_);
  for (int64_t start = 0; start < total; start += lines_) {
    const int64_t lines = std::min(lines_, total - start), tiles = lines * tiles_x_;
    pool.ParallelFor(0, lines * inputs, 1, [&](int64_t first, int64_t last, int slot) {
      for (int64_t i = first; i < last; ++i)
        TurnInput(shape, arguments, start + i / inputs, i % inputs * channels_at_once_, own + slot * ThreadFloats(),
                  places + i / inputs * tiles_x_ * tile_step_);
    });
    pool.ParallelFor(0, kPlaces * panels_, 1, [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) Multiply(filter, places, i, tiles, sums);
    });
    pool.ParallelFor(0, lines * outputs, 1, [&](int64_t first, int64_t last, int slot) {
      for (int64_t i = first; i < last; ++i)
        TurnOutput(shape, arguments, start + i / outputs, i % outputs * rows_at_once_, sums + i / outputs * tiles_x_ * sum_step_, ends,
                   own + slot * ThreadFloats());
    });
  }
}

}  // namespace dxtensor::software::fast
