// A convolution without packing its input.
//
// Where neighbouring outputs read neighbouring inputs, output (y, x) is column y * pitch + x of an image, and what a tap reads for a
// stretch of columns is one stretch of memory, across the ends of lines too. Columns that are no output are computed and left. Where
// taps reach over the border, or the input is no float32, it is copied once, with zeros around it; a line's zeros at the right are
// those at the left of the next. Where neighbouring outputs read every second input, the copy has the even and the odd columns and
// lines apart, so that a tap reads one stretch again.
#include <algorithm>
#include <cstring>
#include <limits>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_grid.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kMostStep = 4, kMostTaps = 256;
constexpr double kMostWaste = 48;                                  // columns computed for nothing, for each column and row of A
constexpr int64_t kMostCopy = 1 << 20, kMostSharedCopy = 1 << 24;  // floats: of one image, of all
constexpr int64_t kFewOutputs = 1 << 16, kManySteps = 2048;        // for parts of the channels
constexpr int64_t kStepsInRegisters = 768;                         // sums are rounded less when they are not too long
constexpr int64_t kTaskWork = 300000, kPackedSteps = 4096;         // multiply-adds; steps of a panel

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

bool ConvolutionGrid::PlanFlat(const ConvolutionShape& shape) {
  const GridDimension &z = dim_[0], &y = dim_[1], &x = dim_[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0) return false;
  const int64_t width = Table().tile_columns;
  const Range reach_y(y.taps), reach_x(x.taps);
  Flat f;
  f.step_y = y.count > 1 ? y.in_step : 1;
  f.step_x = x.count > 1 ? x.in_step : 1;
  if (f.step_y > kMostStep || f.step_x > kMostStep) return false;
  const bool steps = f.step_y > 1 || f.step_x > 1;
  // Few taps are worth it where the outputs, a gradient's, are some of each line.
  const bool spreads = x.count > 1 && x.out_stride != 1;
  f.single = rows_ == 1 && channels_ == 1 && (taps_ >= 4 || spreads) && taps_ <= kMostTaps;
  f.copies = shape.in_type != DML_TENSOR_DATA_TYPE_FLOAT32 || !reach_y.Inside(y) || !reach_x.Inside(x) ||
             (x.in_size > 1 && x.in_stride != 1) || (y.in_size > 1 && y.in_stride < x.in_size) || steps || f.single;
  f.pitch = y.in_size > 1 ? y.in_stride : x.count;
  f.copies |= (y.count - 1) * f.pitch + x.count < width;  // would read over the end
  if (f.copies) {
    if (taps_ < 4 && !steps && !f.single) return false;
    f.left = std::max<int64_t>(0, -reach_x.least);
    const int64_t right = std::max<int64_t>(0, x.count + reach_x.most - x.in_size);
    f.pitch = steps ? x.count + (f.left + reach_x.most) / f.step_x : std::max(x.in_size + std::max(f.left, right), x.count);
    f.first_line = reach_y.least;
    f.lines = y.count + (reach_y.most - reach_y.least) / f.step_y;
  }
  f.length = (y.count - 1) * f.pitch + x.count;
  f.tiles = DivideUp(f.length, width);
  const double waste = static_cast<double>(f.tiles * width) / static_cast<double>(y.count * x.count) - 1;
  if (waste * static_cast<double>(rows_) > kMostWaste) return false;
  for (const Tap& ty : y.taps)
    for (const Tap& tx : x.taps) {
      int64_t offset = ty.offset * f.pitch + f.left + tx.offset;
      if (f.copies) {
        const int64_t line = ty.offset - f.first_line, column = f.left + tx.offset;
        const Flat::Phase phase = {line % f.step_y, column % f.step_x};
        auto is_it = [&](const Flat::Phase& p) { return p.y == phase.y && p.x == phase.x; };
        auto found = std::find_if(f.phases.begin(), f.phases.end(), is_it);
        if (found == f.phases.end()) found = f.phases.insert(found, phase);
        offset = ((found - f.phases.begin()) * f.lines + line / f.step_y) * f.pitch + column / f.step_x;
      }
      if (offset > std::numeric_limits<int32_t>::max()) return false;
      f.offsets.push_back(static_cast<int32_t>(offset));
    }
  // Behind the last line what a tile reads too much.
  const int64_t lines = static_cast<int64_t>(f.phases.size()) * f.lines + 1;
  f.channel_step = f.copies ? RoundUp(lines * f.pitch + width, kMaxWidth) : shape.in_channel;
  const int64_t planes = images_ * groups_, wanted = ThreadPool::Get().size() * 4;
  if (planes < wanted) {
    f.shares_copies = f.copies;
    f.chunks = std::min(f.tiles, DivideUp(wanted, planes));
  }
  if (f.copies && channels_ * f.channel_step * (f.shares_copies ? planes : 1) > (f.shares_copies ? kMostSharedCopy : kMostCopy))
    return false;
  const int64_t threads = ThreadPool::Get().size();
  const int64_t outputs = planes * f.tiles * width * DivideUp(rows_, Table().tile_rows) * Table().tile_rows;
  if (threads > 1 && !f.copies && channels_ >= 2 * threads && outputs <= kFewOutputs && depth_ >= kManySteps) f.parts = threads;
  flat_ = std::move(f);
  if (flat_.copies && !steps && !flat_.single) FindReadings(&flat_);
  return true;
}

void ConvolutionGrid::FindReadings(Flat* flat) const {
  const GridDimension& y = dim_[1];
  const auto lines = static_cast<int64_t>(y.taps.size()), places = taps_ / lines;
  bool skips = false;
  std::vector<Flat::Reading> readings;
  for (int64_t tile = 0; tile < flat->tiles; ++tile) {
    const int64_t top = FlatStart(tile) / flat->pitch, bottom = (FlatStart(tile) + Table().tile_columns - 1) / flat->pitch;
    auto reads = [&](int64_t line) {
      const int64_t offset = y.taps[static_cast<size_t>(line)].offset;
      return bottom + offset >= 0 && top + offset < y.in_size;
    };
    int64_t first = 0, last = lines;
    while (first < last && !reads(first)) ++first;
    while (first < last && !reads(last - 1)) --last;
    skips |= last - first < lines;
    readings.push_back({static_cast<int32_t>(first * places), static_cast<int32_t>(last * places)});
  }
  if (skips) flat->readings = std::move(readings);
}

ConvolutionGrid::Flat::Reading ConvolutionGrid::ReadingOf(int64_t tile) const {
  return flat_.readings.empty() ? Flat::Reading{0, static_cast<int32_t>(taps_)} : flat_.readings[static_cast<size_t>(tile)];
}

size_t ConvolutionGrid::FlatScratchBytes() const {
  const int64_t panels = DivideUp(rows_, Table().tile_rows), tile_floats = DivideUp(rows_, panels) * Table().tile_columns;
  const int64_t sums = flat_.parts > 1 ? flat_.parts * images_ * groups_ * flat_.tiles * panels * tile_floats : 0;
  const int64_t copies = flat_.shares_copies ? images_ * groups_ : flat_.copies ? ThreadPool::Get().size() : 0;
  const int64_t filter = FlatFilterFloats();
  const int64_t lines = flat_.single ? LineFloats() * ThreadPool::Get().size() : 0;
  return static_cast<size_t>(filter + copies * channels_ * flat_.channel_step + sums + lines) * sizeof(float);
}

void ConvolutionGrid::CopyChannel(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t channel,
                                  float* to) const {
  const GridDimension &y = dim_[1], &x = dim_[2];
  std::memset(to, 0, static_cast<size_t>(flat_.channel_step) * sizeof(float));
  const int64_t start = plane / groups_ * shape.in_image + (plane % groups_ * channels_ + channel) * shape.in_channel;
  for (const Flat::Phase& phase : flat_.phases) {
    int64_t line, last_line, column, last_column;
    Clip(flat_.first_line + phase.y, flat_.step_y, y.in_size, flat_.lines, &line, &last_line);
    Clip(phase.x - flat_.left, flat_.step_x, x.in_size, flat_.pitch, &column, &last_column);
    const int64_t n = last_column - column, step = flat_.step_x * x.in_stride, line_step = flat_.step_y * y.in_stride;
    const uint8_t* from = arguments.inputs[0] + (start + (flat_.first_line + phase.y + line * flat_.step_y) * y.in_stride +
                                                 (phase.x - flat_.left + column * flat_.step_x) * x.in_stride) *
                                                    shape.in_bytes;
    float* target = to + line * flat_.pitch + column;
    if (n > 0 && IsFloat32(shape.in_type)) {
      Table().copy_rows(target, flat_.pitch, reinterpret_cast<const float*>(from), line_step, step, last_line - line, n);
    } else if (n > 0) {
      for (int64_t i = line; i < last_line; ++i, target += flat_.pitch, from += line_step * shape.in_bytes)
        Table().load(shape.in_type, reinterpret_cast<uint8_t*>(target), from, step, n);
    }
    to += flat_.lines * flat_.pitch;
  }
}

int64_t ConvolutionGrid::FlatFilterFloats() const { return flat_.single ? 0 : RoundUp(groups_ * rows_ * depth_, kMaxWidth); }

void ConvolutionGrid::PackFlat(const ConvolutionShape& shape, const KernelArguments& arguments, float* to) const {
  const int64_t panels = DivideUp(rows_, Table().tile_rows), height = DivideUp(rows_, panels), pieces = DivideUp(depth_, kPackedSteps);
  const int64_t grain = std::max<int64_t>(1, 40000 / (height * std::min(depth_, kPackedSteps)));
  ThreadPool::Get().ParallelFor(0, groups_ * panels * pieces, grain, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t k = i % pieces * kPackedSteps, m = i / pieces % panels * height, group = i / pieces / panels;
      const int64_t rows = std::min(height, rows_ - m);
      if (rows <= 0) continue;
      PackFilter(shape, arguments.inputs[1], group, m, rows, k, std::min(kPackedSteps, depth_ - k),
                 to + (group * rows_ + m) * depth_ + k * rows);
    }
  });
}

void ConvolutionGrid::RunFlat(const ConvolutionShape& shape, const KernelArguments& arguments, const float* prepared) const {
  ThreadPool& pool = ThreadPool::Get();
  auto* scratch = reinterpret_cast<float*>(arguments.scratch);
  const float* filter = prepared ? prepared : scratch;
  float* copies = scratch + FlatFilterFloats();
  const int64_t copy_floats = channels_ * flat_.channel_step, planes = images_ * groups_;
  if (flat_.parts > 1) {
    RunFlatParts(shape, arguments, scratch, copies);
    return;
  }
  const int64_t copied = flat_.shares_copies ? planes : flat_.copies ? pool.size() : 0;
  float* lines = copies + copied * copy_floats;
  if (PacksFlat() && !prepared) PackFlat(shape, arguments, scratch);
  if (flat_.shares_copies)
    pool.ParallelFor(0, planes * channels_, std::max<int64_t>(1, 40000 / flat_.channel_step), [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) CopyChannel(shape, arguments, i / channels_, i % channels_, copies + i * flat_.channel_step);
    });
  const int64_t work = rows_ * depth_ * flat_.tiles * Table().tile_columns / flat_.chunks;
  pool.ParallelFor(0, planes * flat_.chunks, std::max<int64_t>(1, kTaskWork / work), [&](int64_t first, int64_t last, int slot) {
    for (int64_t task = first; task < last; ++task) {
      const int64_t plane = task / flat_.chunks, chunk = task % flat_.chunks;
      const float* in = copies + (flat_.shares_copies ? plane : slot) * copy_floats;
      if (!flat_.copies) {
        in = reinterpret_cast<const float*>(arguments.inputs[0]) + plane / groups_ * shape.in_image +
             plane % groups_ * channels_ * shape.in_channel;
      } else if (!flat_.shares_copies) {
        for (int64_t channel = 0; channel < channels_; ++channel)
          CopyChannel(shape, arguments, plane, channel, copies + slot * copy_floats + channel * flat_.channel_step);
      }
      const int64_t first_tile = flat_.tiles * chunk / flat_.chunks, last_tile = flat_.tiles * (chunk + 1) / flat_.chunks;
      if (flat_.single) RunFlatLine(shape, arguments, plane, first_tile, last_tile, in, lines + slot * LineFloats());
      else RunFlatTask(shape, arguments, plane, first_tile, last_tile, filter, in);
    }
  });
}

// The last tile is moved back, so that it reads nothing behind the input.
int64_t ConvolutionGrid::FlatStart(int64_t tile) const {
  const int64_t width = Table().tile_columns;
  return std::max<int64_t>(0, std::min(tile * width, flat_.length - width));
}

// A tile's sums over some channels. `in`: channel 0 at the tile's start.
void ConvolutionGrid::MultiplyFlat(int64_t tile, int64_t row, int64_t rows, int64_t channel, int64_t last_channel, const float* filter,
                                   const float* in, float* sums) const {
  const IsaTable& table = Table();
  const auto [first, last] = ReadingOf(tile);
  const int64_t some = std::max<int64_t>(1, kStepsInRegisters / taps_);
  for (bool adds = false; channel < last_channel; channel += some, adds = true)
    table.taps_tiles[rows - 1](std::min(some, last_channel - channel), last - first, flat_.offsets.data() + first,
                               filter + row * depth_ + (channel * taps_ + first) * rows, (taps_ - (last - first)) * rows,
                               in + channel * flat_.channel_step, flat_.channel_step, sums, table.tile_columns, adds,
                               taps_ == 1 && row % rows_ == 0);
}

// Fetches the lines that a tile's sums will be stored to.
void ConvolutionGrid::AwaitFlat(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile,
                                int64_t m) const {
  const int64_t width = Table().tile_columns, rows = std::min(rows_ - m, DivideUp(rows_, DivideUp(rows_, Table().tile_rows)));
  if (tile >= flat_.tiles) return;
  const int64_t y = tile * width / flat_.pitch, x = tile * width % flat_.pitch;
  const int64_t first = (out_start_ + plane / groups_ * shape.out_image + (plane % groups_ * rows_ + m) * shape.out_row +
                         y * dim_[1].out_stride + x * dim_[2].out_stride) *
                        shape.out_bytes;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t at = 0; at < width * shape.out_bytes; at += 64) {
      const int64_t line = first + r * shape.out_row * shape.out_bytes + at;
      __builtin_prefetch(arguments.outputs[0] + line, 1, 2);
      if (shape.adds) __builtin_prefetch(arguments.inputs[4] + line, 0, 2);
    }
}

void ConvolutionGrid::RunFlatTask(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile_first,
                                  int64_t tile_last, const float* filter, const float* in) const {
  const int64_t height = DivideUp(rows_, DivideUp(rows_, Table().tile_rows));
  alignas(64) float sums[kMostTileFloats];
  for (int64_t tile = tile_first; tile < tile_last; ++tile)
    for (int64_t m = 0; m < rows_; m += height) {
      const int64_t rows = std::min(height, rows_ - m);
      AwaitFlat(shape, arguments, plane, m + height < rows_ ? tile : tile + 1, m + height < rows_ ? m + height : 0);
      MultiplyFlat(tile, plane % groups_ * rows_ + m, rows, 0, channels_, filter, in + FlatStart(tile), sums);
      StoreFlat(shape, arguments, plane, tile, m, rows, sums);
    }
}

int64_t ConvolutionGrid::LineFloats() const { return (flat_.tiles / flat_.chunks + 1) * Table().tile_columns; }

// One channel for one: all columns of some tiles at once, then the lines among them.
void ConvolutionGrid::RunFlatLine(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile_first,
                                  int64_t tile_last, const float* in, float* line) const {
  const IsaTable& table = Table();
  const GridDimension &y = dim_[1], &x = dim_[2];
  const int64_t group = plane % groups_, start = tile_first * table.tile_columns;
  const int64_t end = std::min(tile_last * table.tile_columns, flat_.length);
  if (start >= end) return;
  float weights[kMostTaps], bias = 0;
  for (int64_t t = 0; t < taps_; ++t)
    LoadFloat(shape.filter_type, weights + t, arguments.inputs[1], group * shape.filter_group + cells_[static_cast<size_t>(t)]);
  if (shape.has_bias) LoadFloat(shape.filter_type, &bias, arguments.inputs[2], group * shape.bias_row);
  table.taps_line(line, in + start, flat_.offsets.data(), weights, taps_, bias, end - start);
  const int64_t out = out_start_ + plane / groups_ * shape.out_image + group * shape.out_row;
  if (shape.normalizes) shape.Finish(arguments, group, line, end - start);
  if (shape.adds)
    for (int64_t at_y = start / flat_.pitch; at_y * flat_.pitch < end; ++at_y) {
      const int64_t first = std::max<int64_t>(0, start - at_y * flat_.pitch), last = std::min(x.count, end - at_y * flat_.pitch);
      if (first < last)
        shape.Add(arguments, out + at_y * y.out_stride + first * x.out_stride, x.out_stride, line + at_y * flat_.pitch + first - start,
                  last - first);
    }
  shape.Activate(arguments, line, end - start);
  const bool stores_lines = IsFloat32(shape.out_type);
  for (int64_t at_y = start / flat_.pitch; at_y * flat_.pitch < end; ++at_y) {
    const int64_t first = std::max<int64_t>(0, start - at_y * flat_.pitch), last = std::min(x.count, end - at_y * flat_.pitch);
    if (first >= last) continue;
    const float* from = line + at_y * flat_.pitch + first - start;
    const int64_t to = out + at_y * y.out_stride + first * x.out_stride;
    if (stores_lines && first == 0 && last == x.count) {  // and all whole lines that follow
      const int64_t lines = std::max<int64_t>(1, std::min(y.count, (end - x.count) / flat_.pitch + 1) - at_y);
      table.spread_rows(reinterpret_cast<float*>(arguments.outputs[0]) + to, y.out_stride, x.out_stride, from, flat_.pitch, lines, x.count);
      at_y += lines - 1;
    } else {
      table.store(shape.out_type, arguments.outputs[0] + to * shape.out_bytes, reinterpret_cast<const uint8_t*>(from), x.out_stride,
                  last - first);
    }
  }
}

// Few outputs of many channels, as weight gradients are: each thread takes some of the channels, which a batch was before, packs what
// it needs of the filter for itself, and the sums are added at the end.
void ConvolutionGrid::RunFlatParts(const ConvolutionShape& shape, const KernelArguments& arguments, float* filter, float* sums) const {
  ThreadPool& pool = ThreadPool::Get();
  const int64_t panels = DivideUp(rows_, Table().tile_rows), height = DivideUp(rows_, panels), planes = images_ * groups_;
  const int64_t tile_floats = height * Table().tile_columns, tiles = planes * flat_.tiles * panels;
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]);
  pool.ParallelFor(0, flat_.parts, 1, [&](int64_t first, int64_t last, int) {
    for (int64_t part = first; part < last; ++part) {
      const int64_t channel = channels_ * part / flat_.parts, last_channel = channels_ * (part + 1) / flat_.parts;
      for (int64_t group = 0; group < groups_; ++group)
        for (int64_t m = 0; m < rows_; m += height) {
          const int64_t row = group * rows_ + m, rows = std::min(height, rows_ - m), k = channel * taps_;
          PackFilter(shape, arguments.inputs[1], group, m, rows, k, (last_channel - channel) * taps_, filter + row * depth_ + k * rows);
        }
      for (int64_t i = 0; i < tiles; ++i) {
        const int64_t m = i % panels * height, tile = i / panels % flat_.tiles, plane = i / panels / flat_.tiles;
        if (m >= rows_) continue;
        const float* from = in + plane / groups_ * shape.in_image + plane % groups_ * channels_ * shape.in_channel + FlatStart(tile);
        MultiplyFlat(tile, plane % groups_ * rows_ + m, std::min(height, rows_ - m), channel, last_channel, filter, from,
                     sums + (part * tiles + i) * tile_floats);
      }
    }
  });
  pool.ParallelFor(0, tiles, std::max<int64_t>(1, 20000 / (tile_floats * flat_.parts)), [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t m = i % panels * height, tile = i / panels % flat_.tiles, plane = i / panels / flat_.tiles;
      if (m >= rows_) continue;
      const int64_t rows = std::min(height, rows_ - m);
      float* total = sums + i * tile_floats;
      for (int64_t part = 1; part < flat_.parts; ++part)
        Table().axpy(total, sums + (part * tiles + i) * tile_floats, 1, rows * Table().tile_columns);
      StoreFlat(shape, arguments, plane, tile, m, rows, total);
    }
  });
}

// Bias, activations and the columns that are outputs.
void ConvolutionGrid::StoreFlat(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile, int64_t m,
                                int64_t rows, float* sums) const {
  const IsaTable& table = Table();
  const GridDimension &y = dim_[1], &x = dim_[2];
  const int64_t width = table.tile_columns, start = FlatStart(tile), end = std::min(start + width, flat_.length);
  const int64_t row = plane % groups_ * rows_ + m;
  if (shape.limits && (x.out_stride == 1 || x.count == 1)) {
    for (int64_t column = tile * width; column < end;) {
      const int64_t at_y = column / flat_.pitch, at_x = column % flat_.pitch;
      const int64_t n = std::min(x.count - at_x, end - column);
      const int64_t to = out_start_ + plane / groups_ * shape.out_image + row * shape.out_row + at_y * y.out_stride + at_x * x.out_stride;
      if (n > 0) shape.EndTile(arguments, row, rows, sums + column - start, width, to, n);
      column += std::min(flat_.pitch - at_x, end - column);
    }
    return;
  }
  if (shape.has_bias || shape.normalizes)
    for (int64_t r = 0; r < rows; ++r) shape.Finish(arguments, row + r, sums + r * width, width);
  if (shape.adds)
    for (int64_t column = tile * width; column < end;) {
      const int64_t at_y = column / flat_.pitch, at_x = column % flat_.pitch;
      const int64_t n = std::min(x.count - at_x, end - column);
      const int64_t to = out_start_ + plane / groups_ * shape.out_image + row * shape.out_row + at_y * y.out_stride + at_x * x.out_stride;
      for (int64_t r = 0; r < rows && n > 0; ++r)
        shape.Add(arguments, to + r * shape.out_row, x.out_stride, sums + r * width + column - start, n);
      column += std::min(flat_.pitch - at_x, end - column);
    }
  shape.Activate(arguments, sums, rows * width);
  for (int64_t column = tile * width; column < end;) {
    const int64_t at_y = column / flat_.pitch, at_x = column % flat_.pitch;
    const int64_t n = std::min(x.count - at_x, end - column);
    if (n > 0) {
      const int64_t to = out_start_ + plane / groups_ * shape.out_image + row * shape.out_row + at_y * y.out_stride + at_x * x.out_stride;
      const float* from = sums + column - start;
      if (IsFloat32(shape.out_type)) {
        table.spread_rows(reinterpret_cast<float*>(arguments.outputs[0]) + to, shape.out_row, x.out_stride, from, width, rows, n);
      } else {
        for (int64_t r = 0; r < rows; ++r)
          table.store(shape.out_type, arguments.outputs[0] + (to + r * shape.out_row) * shape.out_bytes,
                      reinterpret_cast<const uint8_t*>(from + r * width), x.out_stride, n);
      }
    }
    column += std::min(flat_.pitch - at_x, end - column);
  }
}

}  // namespace dxtensor::software::fast
