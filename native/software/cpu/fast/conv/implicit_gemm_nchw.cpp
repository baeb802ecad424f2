// Implicit GEMM convolution for NCHW: no im2col buffer, no packed input.
//
// Where adjacent outputs read adjacent inputs, output (y, x) is column y * pitch + x of an image, and what a tap reads for a segment of
// columns is one contiguous segment, across the ends of rows too. Columns that are no output are computed and dropped. Where taps reach
// into the padding, or the input is not float32, the input is copied once with zeros around it; the zeros at the right of a row are those
// at the left of the next. With a convolution stride the copy has one phase for each remainder of rows and columns, so that a tap reads one
// segment again.
#include <algorithm>
#include <cstring>
#include <limits>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_grid.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kMaxStride = 4, kMaxTaps = 256;
constexpr double kMaxWaste = 48;                                 // dropped columns by output, times Co
constexpr int64_t kMaxCopy = 1 << 20, kMaxSharedCopy = 1 << 24;  // floats: one image, all images
constexpr int64_t kFewOutputs = 1 << 16, kManySteps = 2048;      // bounds for split-K
constexpr int64_t kStepsInRegisters = 768;                       // K depth of a sum in registers: longer sums lose more to rounding
constexpr int64_t kTaskWork = 300000, kPackedSteps = 4096;       // multiply-adds; K depth of a packing task

void LoadFloat(DML_TENSOR_DATA_TYPE type, float* to, const uint8_t* base, int64_t offset) {
  if (IsFloat32(type)) std::memcpy(to, base + offset * 4, 4);
  else Table().load(type, reinterpret_cast<uint8_t*>(to), base + offset * 2, 1, 1);
}

struct Range {
  int64_t least = std::numeric_limits<int64_t>::max(), most = std::numeric_limits<int64_t>::min();
  explicit Range(const std::vector<Tap>& taps) {
    for (const Tap& tap : taps) {
      least = std::min(least, tap.offset);
      most = std::max(most, tap.offset);
    }
  }
  bool Inside(const GridDimension& d) const { return least >= 0 && d.count - 1 + most < d.in_size; }
};

}  // namespace

bool ConvolutionGrid::PlanNchw(const ConvolutionShape& shape) {
  const GridDimension &z = dim_[0], &y = dim_[1], &x = dim_[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0) return false;
  const int64_t width = Table().tile_columns;
  const Range reach_y(y.taps), reach_x(x.taps);
  NchwPlan f;
  f.stride_h = y.count > 1 ? y.conv_stride : 1;
  f.stride_w = x.count > 1 ? x.conv_stride : 1;
  if (f.stride_h > kMaxStride || f.stride_w > kMaxStride) return false;
  const bool strided = f.stride_h > 1 || f.stride_w > 1;
  // With spread outputs (a data gradient's) few taps are enough.
  const bool spreads = x.count > 1 && x.out_stride != 1;
  f.depthwise = co_ == 1 && ci_ == 1 && (taps_ >= 4 || spreads) && taps_ <= kMaxTaps;
  f.copies = shape.in_type != DML_TENSOR_DATA_TYPE_FLOAT32 || !reach_y.Inside(y) || !reach_x.Inside(x) ||
             (x.in_size > 1 && x.in_stride != 1) || (y.in_size > 1 && y.in_stride < x.in_size) || strided || f.depthwise;
  f.pitch = y.in_size > 1 ? y.in_stride : x.count;
  f.copies |= (y.count - 1) * f.pitch + x.count < width;  // a tile would read past the end
  if (f.copies) {
    if (taps_ < 4 && !strided && !f.depthwise) return false;
    f.left = std::max<int64_t>(0, -reach_x.least);
    const int64_t right = std::max<int64_t>(0, x.count + reach_x.most - x.in_size);
    f.pitch = strided ? x.count + (f.left + reach_x.most) / f.stride_w : std::max(x.in_size + std::max(f.left, right), x.count);
    f.first_row = reach_y.least;
    f.rows = y.count + (reach_y.most - reach_y.least) / f.stride_h;
  }
  f.length = (y.count - 1) * f.pitch + x.count;
  f.tiles = DivideUp(f.length, width);
  const double waste = static_cast<double>(f.tiles * width) / static_cast<double>(y.count * x.count) - 1;
  if (waste * static_cast<double>(co_) > kMaxWaste) return false;
  for (const Tap& ty : y.taps)
    for (const Tap& tx : x.taps) {
      int64_t offset = ty.offset * f.pitch + f.left + tx.offset;
      if (f.copies) {
        const int64_t row = ty.offset - f.first_row, column = f.left + tx.offset;
        const NchwPlan::Phase phase = {row % f.stride_h, column % f.stride_w};
        auto is_it = [&](const NchwPlan::Phase& p) { return p.y == phase.y && p.x == phase.x; };
        auto found = std::find_if(f.phases.begin(), f.phases.end(), is_it);
        if (found == f.phases.end()) found = f.phases.insert(found, phase);
        offset = ((found - f.phases.begin()) * f.rows + row / f.stride_h) * f.pitch + column / f.stride_w;
      }
      if (offset > std::numeric_limits<int32_t>::max()) return false;
      f.offsets.push_back(static_cast<int32_t>(offset));
    }
  // One more row: a tile reads past the last.
  const int64_t rows = static_cast<int64_t>(f.phases.size()) * f.rows + 1;
  f.channel_stride = f.copies ? RoundUp(rows * f.pitch + width, kMaxWidth) : shape.in_channel_stride;
  const int64_t planes = batch_ * groups_, wanted = ThreadPool::Get().size() * 4;
  if (planes < wanted) {
    f.shares_copies = f.copies;
    f.chunks = std::min(f.tiles, DivideUp(wanted, planes));
  }
  if (f.copies && ci_ * f.channel_stride * (f.shares_copies ? planes : 1) > (f.shares_copies ? kMaxSharedCopy : kMaxCopy)) return false;
  const int64_t threads = ThreadPool::Get().size();
  const int64_t outputs = planes * f.tiles * width * DivideUp(co_, Table().tile_rows) * Table().tile_rows;
  if (threads > 1 && !f.copies && ci_ >= 2 * threads && outputs <= kFewOutputs && depth_ >= kManySteps) f.k_splits = threads;
  nchw_ = std::move(f);
  if (nchw_.copies && !strided && !nchw_.depthwise) FindTapSpans(&nchw_);
  return true;
}

void ConvolutionGrid::FindTapSpans(NchwPlan* plan) const {
  const GridDimension& y = dim_[1];
  const auto rows = static_cast<int64_t>(y.taps.size()), taps_per_row = taps_ / rows;
  bool skips = false;
  std::vector<NchwPlan::TapSpan> tap_spans;
  for (int64_t tile = 0; tile < plan->tiles; ++tile) {
    const int64_t top = NchwTileStart(tile) / plan->pitch, bottom = (NchwTileStart(tile) + Table().tile_columns - 1) / plan->pitch;
    auto reads = [&](int64_t row) {
      const int64_t offset = y.taps[static_cast<size_t>(row)].offset;
      return bottom + offset >= 0 && top + offset < y.in_size;
    };
    int64_t first = 0, last = rows;
    while (first < last && !reads(first)) ++first;
    while (first < last && !reads(last - 1)) --last;
    skips |= last - first < rows;
    tap_spans.push_back({static_cast<int32_t>(first * taps_per_row), static_cast<int32_t>(last * taps_per_row)});
  }
  if (skips) plan->tap_spans = std::move(tap_spans);
}

ConvolutionGrid::NchwPlan::TapSpan ConvolutionGrid::TapSpanOf(int64_t tile) const {
  return nchw_.tap_spans.empty() ? NchwPlan::TapSpan{0, static_cast<int32_t>(taps_)} : nchw_.tap_spans[static_cast<size_t>(tile)];
}

size_t ConvolutionGrid::NchwScratchBytes() const {
  const int64_t panels = DivideUp(co_, Table().tile_rows), tile_floats = DivideUp(co_, panels) * Table().tile_columns;
  const int64_t sums = nchw_.k_splits > 1 ? nchw_.k_splits * batch_ * groups_ * nchw_.tiles * panels * tile_floats : 0;
  const int64_t copies = nchw_.shares_copies ? batch_ * groups_ : nchw_.copies ? ThreadPool::Get().size() : 0;
  const int64_t filter = NchwFilterFloats();
  const int64_t rows = nchw_.depthwise ? DepthwiseFloats() * ThreadPool::Get().size() : 0;
  return static_cast<size_t>(filter + copies * ci_ * nchw_.channel_stride + sums + rows) * sizeof(float);
}

void ConvolutionGrid::CopyChannel(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t channel,
                                  float* to) const {
  const GridDimension &y = dim_[1], &x = dim_[2];
  std::memset(to, 0, static_cast<size_t>(nchw_.channel_stride) * sizeof(float));
  const int64_t start = plane / groups_ * shape.in_batch_stride + (plane % groups_ * ci_ + channel) * shape.in_channel_stride;
  for (const NchwPlan::Phase& phase : nchw_.phases) {
    int64_t row, last_row, column, last_column;
    Clip(nchw_.first_row + phase.y, nchw_.stride_h, y.in_size, nchw_.rows, &row, &last_row);
    Clip(phase.x - nchw_.left, nchw_.stride_w, x.in_size, nchw_.pitch, &column, &last_column);
    const int64_t n = last_column - column, read_stride = nchw_.stride_w * x.in_stride, row_stride = nchw_.stride_h * y.in_stride;
    const uint8_t* from = arguments.inputs[0] + (start + (nchw_.first_row + phase.y + row * nchw_.stride_h) * y.in_stride +
                                                 (phase.x - nchw_.left + column * nchw_.stride_w) * x.in_stride) *
                                                    shape.in_bytes;
    float* target = to + row * nchw_.pitch + column;
    if (n > 0 && IsFloat32(shape.in_type)) {
      Table().copy_rows(target, nchw_.pitch, reinterpret_cast<const float*>(from), row_stride, read_stride, last_row - row, n);
    } else if (n > 0) {
      for (int64_t i = row; i < last_row; ++i, target += nchw_.pitch, from += row_stride * shape.in_bytes)
        Table().load(shape.in_type, reinterpret_cast<uint8_t*>(target), from, read_stride, n);
    }
    to += nchw_.rows * nchw_.pitch;
  }
}

int64_t ConvolutionGrid::NchwFilterFloats() const { return nchw_.depthwise ? 0 : RoundUp(groups_ * co_ * depth_, kMaxWidth); }

void ConvolutionGrid::PackNchwFilter(const ConvolutionShape& shape, const KernelArguments& arguments, float* to) const {
  const int64_t panels = DivideUp(co_, Table().tile_rows), height = DivideUp(co_, panels), pieces = DivideUp(depth_, kPackedSteps);
  const int64_t grain = std::max<int64_t>(1, 40000 / (height * std::min(depth_, kPackedSteps)));
  ThreadPool::Get().ParallelFor(0, groups_ * panels * pieces, grain, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t k = i % pieces * kPackedSteps, m = i / pieces % panels * height, group = i / pieces / panels;
      const int64_t co_count = std::min(height, co_ - m);
      if (co_count <= 0) continue;
      PackFilter(shape, arguments.inputs[1], group, m, co_count, k, std::min(kPackedSteps, depth_ - k),
                 to + (group * co_ + m) * depth_ + k * co_count);
    }
  });
}

void ConvolutionGrid::RunNchw(const ConvolutionShape& shape, const KernelArguments& arguments, const float* prepacked) const {
  ThreadPool& pool = ThreadPool::Get();
  auto* scratch = reinterpret_cast<float*>(arguments.scratch);
  const float* filter = prepacked ? prepacked : scratch;
  float* copies = scratch + NchwFilterFloats();
  const int64_t copy_floats = ci_ * nchw_.channel_stride, planes = batch_ * groups_;
  if (nchw_.k_splits > 1) {
    RunNchwSplitK(shape, arguments, scratch, copies);
    return;
  }
  const int64_t copied = nchw_.shares_copies ? planes : nchw_.copies ? pool.size() : 0;
  float* rows = copies + copied * copy_floats;
  if (PacksNchwFilter() && !prepacked) PackNchwFilter(shape, arguments, scratch);
  if (nchw_.shares_copies)
    pool.ParallelFor(0, planes * ci_, std::max<int64_t>(1, 40000 / nchw_.channel_stride), [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) CopyChannel(shape, arguments, i / ci_, i % ci_, copies + i * nchw_.channel_stride);
    });
  const int64_t work = co_ * depth_ * nchw_.tiles * Table().tile_columns / nchw_.chunks;
  pool.ParallelFor(0, planes * nchw_.chunks, std::max<int64_t>(1, kTaskWork / work), [&](int64_t first, int64_t last, int slot) {
    for (int64_t task = first; task < last; ++task) {
      const int64_t plane = task / nchw_.chunks, chunk = task % nchw_.chunks;
      const float* in = copies + (nchw_.shares_copies ? plane : slot) * copy_floats;
      if (!nchw_.copies) {
        in = reinterpret_cast<const float*>(arguments.inputs[0]) + plane / groups_ * shape.in_batch_stride +
             plane % groups_ * ci_ * shape.in_channel_stride;
      } else if (!nchw_.shares_copies) {
        for (int64_t channel = 0; channel < ci_; ++channel)
          CopyChannel(shape, arguments, plane, channel, copies + slot * copy_floats + channel * nchw_.channel_stride);
      }
      const int64_t first_tile = nchw_.tiles * chunk / nchw_.chunks, last_tile = nchw_.tiles * (chunk + 1) / nchw_.chunks;
      if (nchw_.depthwise) RunNchwDepthwise(shape, arguments, plane, first_tile, last_tile, in, rows + slot * DepthwiseFloats());
      else RunNchwTask(shape, arguments, plane, first_tile, last_tile, filter, in);
    }
  });
}

// The last tile is moved back, so that it reads nothing past the input.
int64_t ConvolutionGrid::NchwTileStart(int64_t tile) const {
  const int64_t width = Table().tile_columns;
  return std::max<int64_t>(0, std::min(tile * width, nchw_.length - width));
}

// A tile's sums over some channels. `in`: channel 0 at the tile's first column.
void ConvolutionGrid::MultiplyNchwTile(int64_t tile, int64_t co, int64_t co_count, int64_t channel, int64_t last_channel,
                                       const float* filter, const float* in, float* sums) const {
  const IsaTable& table = Table();
  const auto [first, last] = TapSpanOf(tile);
  const int64_t some = std::max<int64_t>(1, kStepsInRegisters / taps_);
  for (bool adds = false; channel < last_channel; channel += some, adds = true)
    table.taps_tiles[co_count - 1](std::min(some, last_channel - channel), last - first, nchw_.offsets.data() + first,
                                   filter + co * depth_ + (channel * taps_ + first) * co_count, (taps_ - (last - first)) * co_count,
                                   in + channel * nchw_.channel_stride, nchw_.channel_stride, sums, table.tile_columns, adds,
                                   taps_ == 1 && co % co_ == 0);
}

// Prefetches the cache lines that a tile's sums will be stored to.
void ConvolutionGrid::PrefetchNchwOutput(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile,
                                         int64_t m) const {
  const int64_t width = Table().tile_columns, co_count = std::min(co_ - m, DivideUp(co_, DivideUp(co_, Table().tile_rows)));
  if (tile >= nchw_.tiles) return;
  const int64_t y = tile * width / nchw_.pitch, x = tile * width % nchw_.pitch;
  const int64_t first = (out_start_ + plane / groups_ * shape.out_batch_stride + (plane % groups_ * co_ + m) * shape.out_channel_stride +
                         y * dim_[1].out_stride + x * dim_[2].out_stride) *
                        shape.out_bytes;
  for (int64_t r = 0; r < co_count; ++r)
    for (int64_t at = 0; at < width * shape.out_bytes; at += 64) {
      const int64_t row = first + r * shape.out_channel_stride * shape.out_bytes + at;
      __builtin_prefetch(arguments.outputs[0] + row, 1, 2);
      if (shape.has_residual) __builtin_prefetch(arguments.inputs[4] + row, 0, 2);
    }
}

void ConvolutionGrid::RunNchwTask(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile_first,
                                  int64_t tile_last, const float* filter, const float* in) const {
  const int64_t height = DivideUp(co_, DivideUp(co_, Table().tile_rows));
  alignas(64) float sums[kMaxTileFloats];
  for (int64_t tile = tile_first; tile < tile_last; ++tile)
    for (int64_t m = 0; m < co_; m += height) {
      const int64_t co_count = std::min(height, co_ - m);
      PrefetchNchwOutput(shape, arguments, plane, m + height < co_ ? tile : tile + 1, m + height < co_ ? m + height : 0);
      MultiplyNchwTile(tile, plane % groups_ * co_ + m, co_count, 0, ci_, filter, in + NchwTileStart(tile), sums);
      StoreNchwTile(shape, arguments, plane, tile, m, co_count, sums);
    }
}

int64_t ConvolutionGrid::DepthwiseFloats() const { return (nchw_.tiles / nchw_.chunks + 1) * Table().tile_columns; }

// Depthwise: all columns of some tiles at once, then the rows among them are stored.
void ConvolutionGrid::RunNchwDepthwise(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile_first,
                                       int64_t tile_last, const float* in, float* row) const {
  const IsaTable& table = Table();
  const GridDimension &y = dim_[1], &x = dim_[2];
  const int64_t group = plane % groups_, start = tile_first * table.tile_columns;
  const int64_t end = std::min(tile_last * table.tile_columns, nchw_.length);
  if (start >= end) return;
  float weights[kMaxTaps], bias = 0;
  for (int64_t t = 0; t < taps_; ++t)
    LoadFloat(shape.filter_type, weights + t, arguments.inputs[1],
              group * shape.filter_group_stride + filter_offsets_[static_cast<size_t>(t)]);
  if (shape.has_bias) LoadFloat(shape.filter_type, &bias, arguments.inputs[2], group * shape.bias_stride);
  table.depthwise_row(row, in + start, nchw_.offsets.data(), weights, taps_, bias, end - start);
  const int64_t out = out_start_ + plane / groups_ * shape.out_batch_stride + group * shape.out_channel_stride;
  if (shape.normalizes) shape.ApplyScaleShift(arguments, group, row, end - start);
  if (shape.has_residual)
    for (int64_t at_y = start / nchw_.pitch; at_y * nchw_.pitch < end; ++at_y) {
      const int64_t first = std::max<int64_t>(0, start - at_y * nchw_.pitch), last = std::min(x.count, end - at_y * nchw_.pitch);
      if (first < last)
        shape.AddResidual(arguments, out + at_y * y.out_stride + first * x.out_stride, x.out_stride,
                          row + at_y * nchw_.pitch + first - start, last - first);
    }
  shape.Activate(arguments, row, end - start);
  const bool stores_rows = IsFloat32(shape.out_type);
  for (int64_t at_y = start / nchw_.pitch; at_y * nchw_.pitch < end; ++at_y) {
    const int64_t first = std::max<int64_t>(0, start - at_y * nchw_.pitch), last = std::min(x.count, end - at_y * nchw_.pitch);
    if (first >= last) continue;
    const float* from = row + at_y * nchw_.pitch + first - start;
    const int64_t to = out + at_y * y.out_stride + first * x.out_stride;
    if (stores_rows && first == 0 && last == x.count) {  // and all complete rows that follow
      const int64_t rows = std::max<int64_t>(1, std::min(y.count, (end - x.count) / nchw_.pitch + 1) - at_y);
      table.spread_rows(reinterpret_cast<float*>(arguments.outputs[0]) + to, y.out_stride, x.out_stride, from, nchw_.pitch, rows, x.count);
      at_y += rows - 1;
    } else {
      table.store(shape.out_type, arguments.outputs[0] + to * shape.out_bytes, reinterpret_cast<const uint8_t*>(from), x.out_stride,
                  last - first);
    }
  }
}

// Split-K, for few outputs of many channels (weight gradients): each thread takes some of the channels, packs its part of the filter, and
// the sums are added at the end.
void ConvolutionGrid::RunNchwSplitK(const ConvolutionShape& shape, const KernelArguments& arguments, float* filter, float* sums) const {
  ThreadPool& pool = ThreadPool::Get();
  const int64_t panels = DivideUp(co_, Table().tile_rows), height = DivideUp(co_, panels), planes = batch_ * groups_;
  const int64_t tile_floats = height * Table().tile_columns, tiles = planes * nchw_.tiles * panels;
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]);
  pool.ParallelFor(0, nchw_.k_splits, 1, [&](int64_t first, int64_t last, int) {
    for (int64_t k_split = first; k_split < last; ++k_split) {
      const int64_t channel = ci_ * k_split / nchw_.k_splits, last_channel = ci_ * (k_split + 1) / nchw_.k_splits;
      for (int64_t group = 0; group < groups_; ++group)
        for (int64_t m = 0; m < co_; m += height) {
          const int64_t co = group * co_ + m, co_count = std::min(height, co_ - m), k = channel * taps_;
          PackFilter(shape, arguments.inputs[1], group, m, co_count, k, (last_channel - channel) * taps_,
                     filter + co * depth_ + k * co_count);
        }
      for (int64_t i = 0; i < tiles; ++i) {
        const int64_t m = i % panels * height, tile = i / panels % nchw_.tiles, plane = i / panels / nchw_.tiles;
        if (m >= co_) continue;
        const float* from =
            in + plane / groups_ * shape.in_batch_stride + plane % groups_ * ci_ * shape.in_channel_stride + NchwTileStart(tile);
        MultiplyNchwTile(tile, plane % groups_ * co_ + m, std::min(height, co_ - m), channel, last_channel, filter, from,
                         sums + (k_split * tiles + i) * tile_floats);
      }
    }
  });
  pool.ParallelFor(0, tiles, std::max<int64_t>(1, 20000 / (tile_floats * nchw_.k_splits)), [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t m = i % panels * height, tile = i / panels % nchw_.tiles, plane = i / panels / nchw_.tiles;
      if (m >= co_) continue;
      const int64_t co_count = std::min(height, co_ - m);
      float* total = sums + i * tile_floats;
      for (int64_t k_split = 1; k_split < nchw_.k_splits; ++k_split)
        Table().axpy(total, sums + (k_split * tiles + i) * tile_floats, 1, co_count * Table().tile_columns);
      StoreNchwTile(shape, arguments, plane, tile, m, co_count, total);
    }
  });
}

// Applies the epilogue and stores the columns that are outputs.
void ConvolutionGrid::StoreNchwTile(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile, int64_t m,
                                    int64_t co_count, float* sums) const {
  const IsaTable& table = Table();
  const GridDimension &y = dim_[1], &x = dim_[2];
  const int64_t width = table.tile_columns, start = NchwTileStart(tile), end = std::min(start + width, nchw_.length);
  const int64_t co = plane % groups_ * co_ + m;
  if (shape.clamp && (x.out_stride == 1 || x.count == 1)) {
    for (int64_t column = tile * width; column < end;) {
      const int64_t at_y = column / nchw_.pitch, at_x = column % nchw_.pitch;
      const int64_t n = std::min(x.count - at_x, end - column);
      const int64_t to =
          out_start_ + plane / groups_ * shape.out_batch_stride + co * shape.out_channel_stride + at_y * y.out_stride + at_x * x.out_stride;
      if (n > 0) shape.ApplyEpilogue(arguments, co, co_count, sums + column - start, width, to, n);
      column += std::min(nchw_.pitch - at_x, end - column);
    }
    return;
  }
  if (shape.has_bias || shape.normalizes)
    for (int64_t r = 0; r < co_count; ++r) shape.ApplyScaleShift(arguments, co + r, sums + r * width, width);
  if (shape.has_residual)
    for (int64_t column = tile * width; column < end;) {
      const int64_t at_y = column / nchw_.pitch, at_x = column % nchw_.pitch;
      const int64_t n = std::min(x.count - at_x, end - column);
      const int64_t to =
          out_start_ + plane / groups_ * shape.out_batch_stride + co * shape.out_channel_stride + at_y * y.out_stride + at_x * x.out_stride;
      for (int64_t r = 0; r < co_count && n > 0; ++r)
        shape.AddResidual(arguments, to + r * shape.out_channel_stride, x.out_stride, sums + r * width + column - start, n);
      column += std::min(nchw_.pitch - at_x, end - column);
    }
  shape.Activate(arguments, sums, co_count * width);
  for (int64_t column = tile * width; column < end;) {
    const int64_t at_y = column / nchw_.pitch, at_x = column % nchw_.pitch;
    const int64_t n = std::min(x.count - at_x, end - column);
    if (n > 0) {
      const int64_t to =
          out_start_ + plane / groups_ * shape.out_batch_stride + co * shape.out_channel_stride + at_y * y.out_stride + at_x * x.out_stride;
      const float* from = sums + column - start;
      if (IsFloat32(shape.out_type)) {
        table.spread_rows(reinterpret_cast<float*>(arguments.outputs[0]) + to, shape.out_channel_stride, x.out_stride, from, width,
                          co_count, n);
      } else {
        for (int64_t r = 0; r < co_count; ++r)
          table.store(shape.out_type, arguments.outputs[0] + (to + r * shape.out_channel_stride) * shape.out_bytes,
                      reinterpret_cast<const uint8_t*>(from + r * width), x.out_stride, n);
      }
    }
    column += std::min(nchw_.pitch - at_x, end - column);
  }
}

}  // namespace dxtensor::software::fast
