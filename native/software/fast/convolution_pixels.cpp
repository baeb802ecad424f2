#include "convolution_pixels.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kMostTaps = 256;
constexpr int64_t kMostCopy = 1 << 19;                   // floats of images that are copied at once, if one is not larger
constexpr int64_t kBlockFloats = 1 << 15;                // of the input, that a task reads for each panel again
constexpr int64_t kPanelFloats = 1 << 17;                // of the filter, that a task reads for each block again
constexpr int64_t kTaskWork = 200000;                    // multiply-adds
constexpr int64_t kFewColumns = 256, kWorkPerTurn = 90;  // multiply-adds for each element that is turned
constexpr int kFewRows = 8;                              // of a tile of a product
constexpr int64_t kPackedFloats = 1 << 14;               // that are turned at once
constexpr int64_t kHeldFloats = 1 << 11;                 // of tiles that are ended together
constexpr double kCyclesPerCopy = 0.5;                   // of a float
constexpr int64_t kFewChannels = 8;                      // whose taps of a line are joined

int64_t Divide(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp(int64_t a, int64_t b) { return Divide(a, b) * b; }

bool ReadsPixels(const ConvolutionShape& shape, const GridDimension& y, const GridDimension& x) {
  return shape.in_channel == 1 && y.in_size * x.in_size > 1 && (x.in_size == 1 || x.in_stride > 1);
}
// Few columns, which fill vectors badly, or tiles of a product so low that they load almost as often as they multiply; and enough to do
// with each column that both sides are worth a turn.
bool GainsByTurns(const ConvolutionShape& shape, const GridDimension& y, const GridDimension& x) {
  const int64_t columns = y.count * x.count, depth = shape.channels * static_cast<int64_t>(y.taps.size() * x.taps.size());
  const int64_t turned = shape.channels * y.in_size * x.in_size + shape.rows * columns;
  const int64_t computed = RoundUp(shape.rows, Table().width);  // of which few rows leave much unused
  return shape.groups == 1 && (columns <= kFewColumns || Table().tile_rows < kFewRows) && computed * 4 <= shape.rows * 5 &&
         shape.rows * columns * depth >= kWorkPerTurn * turned;
}
bool WritesPixels(const ConvolutionShape& shape, const GridDimension& y, const GridDimension& x) {
  return shape.out_row == 1 && y.count * x.count > 1 && (x.count == 1 || x.out_stride > 1);
}

}  // namespace

struct Pixels::Room {
  const float *filter, *copies;
  const float* ends;  // center, factor and shift of each row, or null
};

bool Pixels::Fits(const ConvolutionShape& shape, const GridDimension* dimensions) {
  const GridDimension &z = dimensions[0], &y = dimensions[1], &x = dimensions[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0) return false;
  if (y.taps.empty() || x.taps.empty() || y.taps.size() * x.taps.size() > kMostTaps) return false;
  if (!IsFloat32(shape.in_type) || !IsFloat32(shape.out_type) || !IsFloat32(shape.filter_type)) return false;
  const bool reads = ReadsPixels(shape, y, x), writes = WritesPixels(shape, y, x);
  if (!reads && !writes && !GainsByTurns(shape, y, x)) return false;
  if (!reads && x.in_size > 1 && x.in_stride != 1) return false;
  if (!writes && x.count > 1 && x.out_stride != 1) return false;
  if (shape.groups == 1) return !writes || shape.rows % kMaxWidth == 0 || shape.output_has_room;
  if (!reads || !writes) return false;
  if (shape.channels == 1 && shape.rows == 1) return shape.groups % kMaxWidth == 0 || (shape.input_has_room && shape.output_has_room);
  return shape.rows % kMaxWidth == 0;
}

Pixels::Pixels(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start)
    : y_(dimensions[1]), x_(dimensions[2]), out_start_(out_start) {
  images_ = shape.images;
  groups_ = shape.groups;
  rows_ = shape.rows;
  channels_ = shape.channels;
  by_channel_ = groups_ > 1 && rows_ == 1 && channels_ == 1;
  turns_input_ = !ReadsPixels(shape, y_, x_);
  turns_output_ = !WritesPixels(shape, y_, x_);
  in_step_ = x_.in_stride;
  in_line_ = y_.in_stride;
  out_step_ = x_.out_stride;
  run_ = channels_;
  if (by_channel_) run_ = RoundUp(groups_, kMaxWidth);
  int64_t least = x_.taps[0].offset, most = least;
  bool side_by_side = true;
  for (size_t t = 0; t < x_.taps.size(); ++t) {
    least = std::min(least, x_.taps[t].offset);
    most = std::max(most, x_.taps[t].offset);
    side_by_side &= x_.taps[t].offset == x_.taps[0].offset + static_cast<int64_t>(t);
  }
  const int64_t left = std::max<int64_t>(0, -least), right = std::max<int64_t>(0, (x_.count - 1) * x_.in_step + most - (x_.in_size - 1));
  joins_taps_ = turns_input_ && side_by_side && channels_ <= kFewChannels;
  copies_input_ = turns_input_ || (groups_ == 1 && left + right > 0 && GainsByCopies(left + x_.in_size + right));
  images_at_once_ = images_;
  if (copies_input_) {
    pads_ = true;
    in_step_ = joins_taps_ ? channels_ : RoundUp(channels_, kMaxWidth);
    left_ = left;
    in_line_ = line_floats_ = (left + x_.in_size + right) * in_step_;
    if (joins_taps_) run_ *= static_cast<int64_t>(x_.taps.size());
    images_at_once_ = std::clamp<int64_t>(kMostCopy / std::max<int64_t>(CopiedFloats(), 1), 1, images_);
  }
  PlanTasks();
}

// Cuts a line of outputs where the taps that lie in the input change, and each part into tiles of up to `most` pixels.
void Pixels::PlanTiles(int64_t most) {
  parts_.clear();
  tiles_ = 0;
  const auto taps = x_.taps.size();
  int64_t lowest = x_.taps[0].offset, highest = lowest;
  for (const Tap& tap : x_.taps) {
    lowest = std::min(lowest, tap.offset);
    highest = std::max(highest, tap.offset);
  }
  auto add = [&](int64_t first, int64_t count, size_t first_tap, size_t last_tap) {
    if (!parts_.empty() && parts_.back().first_tap == first_tap && parts_.back().last_tap == last_tap) parts_.back().count += count;
    else parts_.push_back({first, count, first_tap, last_tap, 0, 0});
  };
  // Taps are in the filter's order, which may be either one.
  auto add_edge = [&](int64_t x) {
    auto inside = [&](size_t t) {
      const int64_t at = x * x_.in_step + x_.taps[t].offset;
      return at >= 0 && at < x_.in_size;
    };
    size_t first = 0, last = taps;
    while (first < last && !inside(first)) ++first;
    while (first < last && !inside(last - 1)) --last;
    add(x, 1, first, last);
  };
  int64_t whole, whole_end;  // pixels that read all taps
  Clip(lowest, x_.in_step, x_.in_size, x_.count, &whole, &whole_end);
  int64_t other, other_end;
  Clip(highest, x_.in_step, x_.in_size, x_.count, &other, &other_end);
  whole = std::max(whole, other);
  whole_end = std::min(whole_end, other_end);
  if (pads_) {
    whole = 0;
    whole_end = x_.count;
  }
  for (int64_t x = 0; x < x_.count; ++x) {
    if (x != whole || whole >= whole_end) {
      add_edge(x);
      continue;
    }
    add(whole, whole_end - whole, 0, taps);
    x = whole_end - 1;
  }
  for (Part& part : parts_) {
    part.first_tile = tiles_;
    part.tiles = Divide(part.count, most);
    tiles_ += part.tiles;
  }
}

int64_t Pixels::FirstOf(const Part& part, int64_t tile) {
  return part.first + part.count / part.tiles * tile + std::min(tile, part.count % part.tiles);
}

// One part for all of a line, where the taps are as the tiles by lines want them. False where they are not.
bool Pixels::PlanLines() {
  const auto taps = static_cast<int64_t>(x_.taps.size());
  if ((taps != 3 && taps != 5) || (x_.in_step != 1 && x_.in_step != 2)) return false;
  const int64_t first = x_.taps[0].offset;
  for (int64_t t = 0; t < taps; ++t)
    if (x_.taps[static_cast<size_t>(t)].offset != first + t) return false;
  if (-first > taps / 2 || (x_.count - 1) * x_.in_step + first + taps - x_.in_size > taps / 2) return false;
  tiles_ = Divide(x_.count, PixelTiles::kFilterPixels);
  parts_.assign(1, {0, x_.count, 0, x_.taps.size(), 0, tiles_});
  line_taps_ = static_cast<int>(taps);
  line_step_ = static_cast<int>(x_.in_step);
  return true;
}

// Sets the width of tiles to the one with which a line of outputs takes the fewest cycles of a processor, and gives these for each float of
// a tap: each two multiply-adds and two loads.
double Pixels::ChooseVectors() {
  const IsaTable& table = Table();
  const int64_t most_vectors = std::min<int64_t>(table.pixel_tiles.vectors, Divide(rows_, table.width));
  const auto steps = static_cast<double>(run_ * static_cast<int64_t>(y_.taps.size() * (joins_taps_ ? 1 : x_.taps.size())));
  double least = std::numeric_limits<double>::max();
  for (int64_t vectors = most_vectors; vectors >= 1; --vectors) {
    PlanTiles(table.pixel_tiles.pixels[vectors - 1]);
    double cost = 0;
    for (int64_t left = Divide(rows_, table.width); left > 0; left -= vectors) {
      const int64_t v = std::min(left, vectors);
      for (const Part& part : parts_) {
        const double pixels = static_cast<double>(part.count) / static_cast<double>(part.tiles), products = pixels * static_cast<double>(v);
        cost += static_cast<double>(part.tiles) * (std::max(products, pixels + static_cast<double>(v)) * 0.5 + 0.5 + 4 * products / steps);
      }
    }
    if (cost >= least) continue;
    least = cost;
    vectors_ = vectors;
  }
  return least;
}

// Whether lines are worth a copy with zeros at their ends, so that all pixels read the same taps.
bool Pixels::GainsByCopies(int64_t length) {
  const auto steps = static_cast<double>(run_ * static_cast<int64_t>(y_.taps.size() * x_.taps.size()));
  const double cut = ChooseVectors();
  pads_ = true;
  const double whole = ChooseVectors();
  pads_ = false;
  return (cut - whole) * steps > kCyclesPerCopy * static_cast<double>(length * channels_ * y_.in_step);
}

void Pixels::PlanTasks() {
  const IsaTable& table = Table();
  const PixelTiles& kernels = table.pixel_tiles;
  const int64_t threads = ThreadPool::Get().size(), taps = static_cast<int64_t>(y_.taps.size() * x_.taps.size());
  const int64_t lines = images_at_once_ * y_.count;
  if (by_channel_) {
    if (!PlanLines()) PlanTiles(PixelTiles::kFilterPixels);
    const int64_t tiles = tiles_, all = lines * tiles,
                  work = x_.count / tiles * run_ * taps * 2;  // twice as long as in a product
    block_ = std::clamp<int64_t>(Divide(kTaskWork, work), 1, std::max<int64_t>(1, Divide(all, threads * 4)));
    if (block_ > tiles / 2) block_ = RoundUp(block_, tiles);
    blocks_ = Divide(all, block_);
    return;
  }
  ChooseVectors();
  width_ = vectors_ * table.width;
  panels_ = Divide(rows_, width_);
  PlanTiles(kernels.pixels[vectors_ - 1]);

  const int64_t all = lines * tiles_, pixels = std::max<int64_t>(1, x_.count / tiles_);
  const int64_t tile_floats = pixels * run_ * static_cast<int64_t>(y_.taps.size()) * std::min<int64_t>(x_.in_step, 2);
  const int64_t panel_floats = run_ * taps / (joins_taps_ ? static_cast<int64_t>(x_.taps.size()) : 1) * width_;
  block_ = std::clamp<int64_t>(kBlockFloats / std::max<int64_t>(tile_floats, 1), 1, all);
  panel_block_ = std::clamp<int64_t>(kPanelFloats / std::max<int64_t>(panel_floats, 1), 1, panels_);
  // Some tasks for each thread, but none too small: of few pixels the panels are divided, since each is read from afar once then.
  const int64_t wanted = threads == 1 ? 1 : threads * 4;
  const int64_t work = pixels * width_ * run_ * taps;
  auto tasks = [&] { return Divide(all, block_) * Divide(panels_, panel_block_) * groups_; };
  while (tasks() < wanted && block_ * panel_block_ * work > kTaskWork) {
    if (block_ > 1 && (block_ * tile_floats > panel_block_ * panel_floats || panel_block_ == 1)) block_ = Divide(block_, 2);
    else if (panel_block_ > 1) panel_block_ = Divide(panel_block_, 2);
    else break;
  }
  blocks_ = Divide(all, block_);
  panel_blocks_ = Divide(panels_, panel_block_);
}

size_t Pixels::PreparedBytes() const {
  if (by_channel_) return static_cast<size_t>(run_) * y_.taps.size() * x_.taps.size() * sizeof(float);
  return static_cast<size_t>(groups_ * GroupFloats()) * sizeof(float);
}

size_t Pixels::ScratchBytes() const {
  const int64_t copies = copies_input_ ? images_at_once_ * CopiedFloats() + kMaxWidth : 0;
  return static_cast<size_t>(3 * RoundUp(groups_ * rows_ + PixelTiles::kMostVectors * kMaxWidth, kMaxWidth) + copies) * sizeof(float);
}

// By group, panel and tap: a line of the panel's rows for each channel. Where each channel is by itself: by tap.
void Pixels::Prepare(const ConvolutionShape& shape, const KernelArguments& arguments, uint8_t* bytes) const {
  const IsaTable& table = Table();
  const auto* filter = reinterpret_cast<const float*>(arguments.inputs[1]);
  auto* to = reinterpret_cast<float*>(bytes);
  const auto nx = static_cast<int64_t>(x_.taps.size()), taps = static_cast<int64_t>(y_.taps.size()) * nx;
  auto cell = [&](int64_t tap) { return y_.taps[static_cast<size_t>(tap / nx)].cell + x_.taps[static_cast<size_t>(tap % nx)].cell; };
  if (by_channel_) {
    std::fill(to, to + run_ * taps, 0.0f);
    for (int64_t tap = 0; tap < taps; ++tap)
      table.pack_rows(to + tap * run_, groups_, groups_, filter + cell(tap), shape.filter_group, 0, 1);
    return;
  }
  bool is_even = taps > 1 && taps * width_ <= kPackedFloats && shape.filter_channel == taps;
  for (int64_t tap = 0; tap < taps; ++tap) is_even &= cell(tap) == tap;
  if (is_even) return PrepareEvenly(shape, filter, to);
  const int64_t grain = std::max<int64_t>(1, 40000 / (width_ * channels_));
  ThreadPool::Get().ParallelFor(0, groups_ * panels_ * taps, grain, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t tap = i % taps, panel = i / taps % panels_, group = i / taps / panels_;
      const int64_t row = panel * width_, rows = std::min(width_, rows_ - row), width = PanelWidth(panel);
      float* lines = to + group * GroupFloats() + (row * taps + tap * width) * channels_;
      if (rows < width) std::fill(lines, lines + channels_ * width, 0.0f);
      table.pack_rows(lines, width, rows, filter + group * shape.filter_group + row * shape.filter_row + cell(tap), shape.filter_row,
                      shape.filter_channel, channels_);
    }
  });
}

// The same where a channel's taps lie side by side in their order: all of some channels are turned, then their lines put where they belong.
void Pixels::PrepareEvenly(const ConvolutionShape& shape, const float* filter, float* to) const {
  const IsaTable& table = Table();
  const auto taps = static_cast<int64_t>(y_.taps.size() * x_.taps.size());
  const int64_t at_once = kPackedFloats / (taps * width_), pieces = Divide(channels_, at_once);
  ThreadPool::Get().ParallelFor(0, groups_ * panels_ * pieces, 2, [&](int64_t first, int64_t last, int) {
    alignas(64) float turned[kPackedFloats];
    for (int64_t i = first; i < last; ++i) {
      const int64_t channel = i % pieces * at_once, panel = i / pieces % panels_, group = i / pieces / panels_;
      const int64_t count = std::min(at_once, channels_ - channel);
      const int64_t row = panel * width_, rows = std::min(width_, rows_ - row), width = PanelWidth(panel);
      if (rows < width) std::fill(turned, turned + kPackedFloats, 0.0f);
      const float* from = filter + group * shape.filter_group + row * shape.filter_row + channel * shape.filter_channel;
      for (int64_t r = 0; r < rows; r += kMaxWidth)  // few lines of memory at once
        table.pack_rows(turned + r, width, std::min<int64_t>(kMaxWidth, rows - r), from + r * shape.filter_row, shape.filter_row, 1,
                        count * taps);
      float* lines = to + group * GroupFloats() + (row * taps * channels_ + channel * width);
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t c = 0; c < count; ++c)
          std::memcpy(lines + (tap * channels_ + c) * width, turned + (c * taps + tap) * width, static_cast<size_t>(width) * sizeof(float));
    }
  });
}

// Center, factor and shift of each row of all groups; vectors behind the last one are read too.
void Pixels::ReadEnds(const ConvolutionShape& shape, const KernelArguments& arguments, float* ends) const {
  const int64_t rows = groups_ * rows_, step = RoundUp(rows + PixelTiles::kMostVectors * kMaxWidth, kMaxWidth);
  float *center = ends, *factor = ends + step, *shift = ends + 2 * step;
  std::fill(center, center + step, 0.0f);
  std::fill(factor, factor + step, 1.0f);
  std::fill(shift, shift + step, 0.0f);
  if (shape.normalizes) {
    const auto* from = reinterpret_cast<const float*>(arguments.inputs[3]);
    for (int64_t row = 0; row < rows; ++row, from += 3) {
      center[row] = from[0];
      factor[row] = from[1];
      shift[row] = from[2];
    }
  } else if (shape.has_bias) {
    Table().load(shape.filter_type, reinterpret_cast<uint8_t*>(shift), arguments.inputs[2], shape.bias_row, rows);
  }
}

// Zeros around, where pixels read beyond the line's ends.
void Pixels::CopyLine(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t image, int64_t line, float* to) const {
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]) + image * shape.in_image + line * y_.in_stride;
  float* inside = to + left_ * in_step_;
  std::fill(to, inside, 0.0f);
  std::fill(inside + x_.in_size * in_step_, to + line_floats_, 0.0f);
  if (turns_input_) Table().turn(inside, in_step_, in, shape.in_channel, channels_, x_.in_size);
  else Table().copy_rows(inside, in_step_, in, x_.in_stride, 1, x_.in_size, channels_);
}

int64_t Pixels::PanelWidth(int64_t panel) const { return std::min(width_, RoundUp(rows_ - panel * width_, Table().width)); }

int64_t Pixels::GroupFloats() const {
  return RoundUp(rows_, Table().width) * channels_ * static_cast<int64_t>(y_.taps.size() * x_.taps.size());
}

int64_t Pixels::FindTaps(const Part& part, int64_t line, int64_t tap_floats, int64_t* offsets, int64_t* cells) const {
  const auto nx = static_cast<int64_t>(x_.taps.size());
  int64_t count = 0;
  for (size_t ty = 0; ty < y_.taps.size(); ++ty) {
    const int64_t y = line * y_.in_step + y_.taps[ty].offset;
    if (y < 0 || y >= y_.in_size) continue;
    for (size_t tx = part.first_tap; tx < part.last_tap; ++tx) {
      offsets[count] = y * in_line_ + (left_ + x_.taps[tx].offset) * in_step_;
      const int64_t tap = static_cast<int64_t>(ty) * nx + static_cast<int64_t>(tx);
      cells[count++] = tap * tap_floats;
      if (joins_taps_ || line_taps_) break;
    }
  }
  return count;
}

void Pixels::Finish(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t pixels, float* sums, int64_t step,
                    int64_t channel, int64_t channels, int64_t to) const {
  auto* out = reinterpret_cast<float*>(arguments.outputs[0]) + to;
  if (turns_output_ && shape.adds)
    for (int64_t r = 0; r < channels; ++r) {
      const auto* added = reinterpret_cast<const float*>(arguments.inputs[4]) + to + (channel + r) * shape.out_row;
      for (int64_t p = 0; p < pixels; ++p) sums[p * step + r] += added[p * out_step_];
    }
  if (shape.Activates()) shape.Activate(arguments, sums, pixels * step);
  if (turns_output_) {
    Table().turn(out + channel * shape.out_row, shape.out_row, sums, step, pixels, channels);
    return;
  }
  Table().copy_rows(out + channel, out_step_, sums, step, 1, pixels, channels);
}

void Pixels::RunTask(const ConvolutionShape& shape, const KernelArguments& arguments, const Room& room, int64_t first_image,
                     int64_t task) const {
  const PixelTiles& kernels = Table().pixel_tiles;
  const int64_t group = task / blocks_ / panel_blocks_, rows = groups_ * rows_;
  const int64_t first_panel = task / blocks_ % panel_blocks_ * panel_block_, last_panel = std::min(panels_, first_panel + panel_block_);
  const int64_t images = std::min(images_at_once_, images_ - first_image), all = images * y_.count * tiles_;
  const int64_t first = task % blocks_ * block_, last = std::min(all, first + block_);
  const int64_t end_step = RoundUp(rows + PixelTiles::kMostVectors * kMaxWidth, kMaxWidth);
  const bool ends_here = !turns_output_ && shape.limits;
  const Limits limits = ends_here ? shape.LimitsIn(arguments) : Limits();
  const int64_t taps = static_cast<int64_t>(y_.taps.size() * x_.taps.size());
  int64_t offsets[kMostTaps], cells[kMostTaps];
  alignas(64) float sums[kHeldFloats];

  const auto* in = copies_input_ ? room.copies : reinterpret_cast<const float*>(arguments.inputs[0]) + first_image * shape.in_image;
  const int64_t in_image = copies_input_ ? CopiedFloats() : shape.in_image, in_pixel = x_.in_step * in_step_;
  PixelTile t{};
  t.length = run_;
  t.offsets = offsets;
  t.cells = cells;
  t.in_step = in_pixel;
  t.place_step = in_step_;
  t.cell_step = run_;
  t.low = limits.low;
  t.high = limits.high;
  t.holds = ends_here && limits.Holds();
  t.added_step = out_step_;
  // Calls run(pixels, first, to) for each tile of the task, with `t` as far as it does not depend on panels: `first` is the tile's first
  // pixel, `to` its place in the output.
  auto each_tile = [&](int64_t tap_floats, auto&& run) {
    int64_t at = first, line = first / tiles_ % y_.count, image = first / tiles_ / y_.count;
    size_t p = 0;
    int64_t tile = first % tiles_;
    while (tile >= parts_[p].tiles) tile -= parts_[p++].tiles;
    while (at < last) {
      const Part& part = parts_[p];
      t.taps = FindTaps(part, line, tap_floats, offsets, cells);
      const float* of_line = in + image * in_image + (copies_input_ ? 0 : group * channels_);
      const int64_t out_line = out_start_ + (first_image + image) * shape.out_image + line * y_.out_stride;
      const int64_t stop = std::min(part.tiles, tile + last - at);
      for (int64_t from = FirstOf(part, tile); tile < stop; ++tile, ++at) {
        const int64_t pixels = part.count / part.tiles + (tile < part.count % part.tiles);
        t.in = of_line + from * in_pixel;
        run(pixels, from, out_line + from * out_step_);
        from += pixels;
      }
      tile = 0;
      if (++p < parts_.size()) continue;
      p = 0;
      if (++line < y_.count) continue;
      line = 0;
      ++image;
    }
  };
  auto end = [&](int64_t row, int64_t to) {
    t.center = room.ends ? room.ends + row : nullptr;
    t.factor = room.ends ? room.ends + end_step + row : nullptr;
    t.shift = room.ends ? room.ends + 2 * end_step + row : nullptr;
    t.added = shape.adds && !turns_output_ ? reinterpret_cast<const float*>(arguments.inputs[4]) + to + row : nullptr;
  };
  if (by_channel_) {
    const PixelTileKernel* filters = line_taps_ ? kernels.lines[line_taps_ / 2 - 1][line_step_ - 1] : kernels.filters;
    t.filter = room.filter;
    t.out_step = out_step_;
    each_tile(run_, [&](int64_t pixels, int64_t from, int64_t to) {
      t.out = reinterpret_cast<float*>(arguments.outputs[0]) + to;
      if (line_taps_) {
        const int64_t begin = from * line_step_ + x_.taps[0].offset;
        t.skips_first = static_cast<int>(std::max<int64_t>(0, -begin));
        t.skips_last = static_cast<int>(std::max<int64_t>(0, begin + (pixels - 1) * line_step_ + line_taps_ - x_.in_size));
      }
      end(0, to);
      filters[pixels - 1](t);
      for (int64_t p = 0; p < pixels && !ends_here; ++p) shape.Activate(arguments, t.out + p * out_step_, run_);
    });
    return;
  }
  for (int64_t panel = first_panel; panel < last_panel; ++panel) {
    const int64_t panel_row = panel * width_, row = group * rows_ + panel_row, width = PanelWidth(panel);
    const PixelTileKernel* tiles = kernels.tiles[width / Table().width - 1];
    t.filter = room.filter + group * GroupFloats() + panel_row * taps * channels_;
    t.out_step = ends_here ? out_step_ : width;
    int64_t held = 0, held_to = 0;  // pixels side by side in `sums`, and where they go
    auto finish = [&] {
      if (held) Finish(shape, arguments, held, sums, width, row, std::min(width, rows_ - panel_row), held_to);
      held = 0;
    };
    each_tile(channels_ * width, [&](int64_t pixels, int64_t, int64_t to) {
      if ((held + pixels) * width > kHeldFloats || to != held_to + held * out_step_) finish();
      if (!held) held_to = to;
      t.out = ends_here ? reinterpret_cast<float*>(arguments.outputs[0]) + to + row : sums + held * width;
      end(row, to);
      tiles[pixels - 1](t);
      if (!ends_here) held += pixels;
    });
    finish();
  }
}

void Pixels::Run(const ConvolutionShape& shape, const KernelArguments& arguments, const float* filter, float* scratch) const {
  ThreadPool& pool = ThreadPool::Get();
  Room room{filter, nullptr, nullptr};
  float* copies = scratch + 3 * RoundUp(groups_ * rows_ + PixelTiles::kMostVectors * kMaxWidth, kMaxWidth);
  room.copies = copies;
  if (shape.normalizes || shape.has_bias) {
    ReadEnds(shape, arguments, scratch);
    room.ends = scratch;
  }
  for (int64_t image = 0; image < images_; image += images_at_once_) {
    const int64_t images = std::min(images_at_once_, images_ - image);
    if (copies_input_)
      pool.ParallelFor(0, images * y_.in_size, std::max<int64_t>(1, 20000 / line_floats_), [&](int64_t first, int64_t last, int) {
        for (int64_t i = first; i < last; ++i)
          CopyLine(shape, arguments, image + i / y_.in_size, i % y_.in_size, copies + i * line_floats_);
      });
    const int64_t tasks = blocks_ * panel_blocks_ * (by_channel_ ? 1 : groups_);
    pool.ParallelFor(0, tasks, 1, [&](int64_t first, int64_t last, int) {
      for (int64_t task = first; task < last; ++task) RunTask(shape, arguments, room, image, task);
    });
  }
}

}  // namespace dxtensor::software::fast
