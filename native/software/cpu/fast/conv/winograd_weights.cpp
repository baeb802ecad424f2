#include "winograd_weights.h"

#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_winograd.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kTaps = 9;
constexpr int64_t kFewTiles = 64;  // whose sums are turned into weights at once
constexpr int64_t kMostSums = 1 << 24;

// Taps that read one input after the other, in the order of memory.
bool Runs(const GridDimension& d) {
  if (d.count != 3 || d.in_step != 1) return false;
  for (size_t i = 1; i < d.taps.size(); ++i)
    if (d.taps[i].offset != d.taps[i - 1].offset + 1 || d.taps[i].cell - d.taps[i - 1].cell != d.taps[1].cell - d.taps[0].cell)
      return false;
  return true;
}

}  // namespace

int64_t WinogradWeights::TilesOf(const GridDimension& d) { return DivideUp(static_cast<int64_t>(d.taps.size()), kOutputs); }

bool WinogradWeights::Fits(const ConvolutionShape& shape, const GridDimension* dimensions) {
  const GridDimension &z = dimensions[0], &y = dimensions[1], &x = dimensions[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0 || !Runs(y) || !Runs(x)) return false;
  if (shape.groups != 1 || shape.images < kLeastChannels || shape.rows < kLeastChannels) return false;
  if (!IsFloat32(shape.in_type) || !IsFloat32(shape.filter_type) || !IsFloat32(shape.out_type)) return false;
  if (shape.has_bias || shape.normalizes || shape.Activates()) return false;
  if ((x.in_size > 1 && x.in_stride != 1) || (x.taps.size() > 1 && x.taps[1].cell - x.taps[0].cell != 1)) return false;
  if (x.out_stride != 1 || y.out_stride != 3) return false;
  // Cycles, of sums in order and of these: the products, the turns, and the weights.
  const auto k = static_cast<double>(RoundUp(shape.images, Table().tile_columns)), m = static_cast<double>(shape.rows);
  const auto tiles = static_cast<double>(shape.channels * TilesOf(y) * TilesOf(x));
  const double direct = static_cast<double>(shape.channels) * static_cast<double>(y.taps.size() * x.taps.size()) * kTaps * k * m / 32 * 1.2;
  const double turned = tiles * (kPlaces * k * m / 32 + 30 * (k + m)) + 14 * k * m;
  if (turned >= direct || !IsAllowed()) return false;
  return tiles <= kFewTiles || kPlaces * k * m <= kMostSums;
}

WinogradWeights::WinogradWeights(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start)
    : y_(dimensions[1]), x_(dimensions[2]), out_start_(out_start) {
  batch_ = shape.channels;
  channels_ = shape.images;
  rows_ = shape.rows;
  height_ = static_cast<int64_t>(y_.taps.size());
  width_ = static_cast<int64_t>(x_.taps.size());
  line_step_ = height_ > 1 ? y_.taps[1].cell - y_.taps[0].cell : 0;
  tiles_y_ = TilesOf(y_);
  tiles_x_ = TilesOf(x_);
  // Not powers of two: rows of them would meet in few places of the cache.
  input_step_ = RoundUp(channels_, Table().tile_columns) + kMaxWidth;
  gradient_step_ = RoundUp(rows_, kMaxWidth) + kMaxWidth;
  const int64_t total = batch_ * tiles_y_;
  keeps_sums_ = total * tiles_x_ > kFewTiles;
  lines_ = keeps_sums_ ? LinesAtOnce(total, kPlaces * tiles_x_ * (input_step_ + gradient_step_)) : total;
  input_place_ = lines_ * tiles_x_ * input_step_ + kMaxWidth;
  gradient_place_ = lines_ * tiles_x_ * gradient_step_ + kMaxWidth;
  channels_at_once_ = ChannelsAtOnce(kInputs * (tiles_x_ * kOutputs + 2), channels_);
  rows_at_once_ = ChannelsAtOnce(kOutputs * tiles_x_ * kOutputs, rows_);
  tile_rows_ = DivideUp(rows_, DivideUp(rows_, Table().tile_rows));
  sum_step_ = keeps_sums_ ? input_step_ : Table().tile_columns;
  sum_place_ = (keeps_sums_ ? rows_ : tile_rows_) * sum_step_ + kMaxWidth;
}

int64_t WinogradWeights::ThreadFloats() const {
  const int64_t turning = std::max(kInputs * (tiles_x_ * kOutputs + 2) * channels_at_once_, kOutputs * tiles_x_ * kOutputs * rows_at_once_);
  return keeps_sums_ ? turning : std::max(turning, kPlaces * sum_place_);
}

size_t WinogradWeights::ScratchBytes() const {
  const int64_t floats = kPlaces * (input_place_ + gradient_place_ + (keeps_sums_ ? sum_place_ : 0));
  return static_cast<size_t>(floats + ThreadFloats() * ThreadPool::Get().size()) * sizeof(float);
}

// Some channels of the input that a line of tiles reads.
void WinogradWeights::TurnInput(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t line, int64_t channel,
                                float* cells, float* to) const {
  const int64_t count = std::min(channels_at_once_, channels_ - channel), step = RoundUp(count, kMaxWidth);
  const int64_t length = tiles_x_ * kOutputs + 2;
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]) + line / tiles_y_ * shape.in_channel + channel * shape.in_image;
  TurnCells({in, shape.in_image, y_.in_stride, y_.in_size, x_.in_size}, line % tiles_y_ * kOutputs + y_.taps[0].offset, x_.taps[0].offset,
            kInputs, length, count, step, cells);
  for (int64_t x = 0; x < tiles_x_; ++x)
    Table().winograd_input(to + x * input_step_ + channel, input_place_, cells + x * kOutputs * step, step, length * step, step);
}

// Some rows of a line of tiles of the outputs' gradient.
void WinogradWeights::TurnGradient(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t line, int64_t row, float* cells,
                                   float* to) const {
  const int64_t count = std::min(rows_at_once_, rows_ - row), step = RoundUp(count, kMaxWidth), length = tiles_x_ * kOutputs;
  const auto* from = reinterpret_cast<const float*>(arguments.inputs[1]) + line / tiles_y_ * shape.filter_channel + row * shape.filter_row +
                     y_.taps[0].cell + x_.taps[0].cell;
  TurnCells({from, shape.filter_row, line_step_, height_, width_}, line % tiles_y_ * kOutputs, 0, kOutputs, length, count, step, cells);
  for (int64_t x = 0; x < tiles_x_; ++x)
    Table().winograd_gradient(to + x * gradient_step_ + row, gradient_place_, cells + x * kOutputs * step, step, length * step, step);
}

// The product of one tile of rows and channels at one place.
void WinogradWeights::Multiply(const float* gradients, const float* inputs, int64_t row, int64_t channel, int64_t tiles, bool adds,
                               float* sums, int64_t sums_step) const {
  Table().turned_tiles[std::min(tile_rows_, rows_ - row) - 1](tiles, gradients + row, gradient_step_, inputs + channel, input_step_, sums,
                                                              sums_step, adds);
}

// A tile's sums of all places, as the weights of its rows and channels.
void WinogradWeights::Store(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t row, int64_t channel,
                            const float* sums, int64_t place_step) const {
  const IsaTable& table = Table();
  const int64_t width = table.tile_columns, count = std::min(width, channels_ - channel);
  alignas(64) float weights[kTaps * 32], lines[32 * kTaps];
  for (int64_t r = row; r < std::min(rows_, row + tile_rows_); ++r, sums += sum_step_) {
    table.winograd_weights(weights, width, sums, place_step, width);
    int64_t at = out_start_ + r * shape.out_row + channel * shape.out_image;
    auto* out = reinterpret_cast<float*>(arguments.outputs[0]);
    if (!shape.adds) {
      table.turn(out + at, shape.out_image, weights, width, kTaps, count);
      continue;
    }
    table.turn(lines, kTaps, weights, width, kTaps, count);
    for (int64_t c = 0; c < count; ++c, at += shape.out_image) {
      shape.Add(arguments, at, 1, lines + c * kTaps, kTaps);
      std::memcpy(out + at, lines + c * kTaps, kTaps * sizeof(float));
    }
  }
}

void WinogradWeights::Run(const ConvolutionShape& shape, const KernelArguments& arguments, float* scratch) const {
  ThreadPool& pool = ThreadPool::Get();
  float* inputs = scratch;
  float* gradients = inputs + kPlaces * input_place_;
  float* sums = gradients + kPlaces * gradient_place_;
  float* own = sums + (keeps_sums_ ? kPlaces * sum_place_ : 0);
  const int64_t total = batch_ * tiles_y_, width = Table().tile_columns;
  const int64_t channel_parts = DivideUp(channels_, channels_at_once_), row_parts = DivideUp(rows_, rows_at_once_);
  const int64_t panels = DivideUp(channels_, width), blocks = DivideUp(rows_, tile_rows_);
  for (int64_t start = 0; start < total; start += lines_) {
    const int64_t lines = std::min(lines_, total - start), tiles = lines * tiles_x_, parts = channel_parts + row_parts;
    pool.ParallelFor(0, lines * parts, 1, [&](int64_t first, int64_t last, int slot) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t line = i / parts, part = i % parts, tile = line * tiles_x_;
        float* cells = own + slot * ThreadFloats();
        if (part < channel_parts) TurnInput(shape, arguments, start + line, part * channels_at_once_, cells, inputs + tile * input_step_);
        else TurnGradient(shape, arguments, start + line, (part - channel_parts) * rows_at_once_, cells, gradients + tile * gradient_step_);
      }
    });
    if (!keeps_sums_) {
      pool.ParallelFor(0, panels * blocks, 1, [&](int64_t first, int64_t last, int slot) {
        float* tile = own + slot * ThreadFloats();
        for (int64_t i = first; i < last; ++i) {
          const int64_t channel = i / blocks * width, row = i % blocks * tile_rows_;
          for (int64_t place = 0; place < kPlaces; ++place)
            Multiply(gradients + place * gradient_place_, inputs + place * input_place_, row, channel, tiles, false,
                     tile + place * sum_place_, sum_step_);
          Store(shape, arguments, row, channel, tile, sum_place_);
        }
      });
      return;
    }
    pool.ParallelFor(0, kPlaces * panels, 1, [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i)
        for (int64_t row = 0; row < rows_; row += tile_rows_) {
          const int64_t place = i / panels, channel = i % panels * width;
          Multiply(gradients + place * gradient_place_, inputs + place * input_place_, row, channel, tiles, start > 0,
                   sums + place * sum_place_ + row * sum_step_ + channel, sum_step_);
        }
    });
  }
  pool.ParallelFor(0, panels * blocks, 1, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t channel = i % panels * width, row = i / panels * tile_rows_;
      Store(shape, arguments, row, channel, sums + row * sum_step_ + channel, sum_place_);
    }
  });
}

}  // namespace dxtensor::software::fast
