#include "convolution_pixels.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kMostCopy = 1 << 19;                   // floats of images that are copied at once, if one is not larger
constexpr int64_t kBlockFloats = 1 << 15;                // of the input, that a task reads for each panel again
constexpr int64_t kPanelFloats = 1 << 17;                // of the filter, that a task reads for each block again
constexpr int64_t kTaskWork = 100000;                    // multiply-adds
constexpr int64_t kTasksPerThread = 8;                   // so that one that is held up leaves some to others
constexpr int64_t kFewColumns = 256, kWorkPerTurn = 90;  // multiply-adds for each element that is turned
constexpr int kFewRows = 8;                              // of a tile of a product
constexpr int64_t kLeastPixels = 4;                      // of a line: tiles of fewer load more than they multiply
constexpr int64_t kPackedFloats = 1 << 14;               // that are turned at once
constexpr double kCyclesPerCopy = 0.5;                   // of a float
constexpr int64_t kFewChannels = 8;                      // whose taps of a line are joined

bool ReadsPixels(const ConvolutionShape& shape, const GridDimension& y, const GridDimension& x) {
  return shape.in_channel == 1 && y.in_size * x.in_size > 1 && (x.in_size == 1 || x.in_stride > 1);
}
// Few columns, which fill vectors badly, or every second input, which has to be packed, or tiles of a product so low that they load almost
// as often as they multiply; and enough to do with each column that both sides are worth a turn.
bool GainsByTurns(const ConvolutionShape& shape, const GridDimension& y, const GridDimension& x) {
  const int64_t columns = y.count * x.count, depth = shape.channels * static_cast<int64_t>(y.taps.size() * x.taps.size());
  const int64_t turned = shape.channels * y.in_size * x.in_size + shape.rows * columns;
  const int64_t computed = RoundUp(shape.rows, Table().width);  // of which few rows leave much unused
  const bool gains = columns <= kFewColumns || x.in_step > 1 || Table().tile_rows < kFewRows;
  if (shape.images > 1 && x.count < kLeastPixels) return false;
  return shape.groups == 1 && gains && computed * 4 <= shape.rows * 5 && shape.rows * columns * depth >= kWorkPerTurn * turned;
}
bool WritesPixels(const ConvolutionShape& shape, const GridDimension& y, const GridDimension& x) {
  return shape.out_row == 1 && y.count * x.count > 1 && (x.count == 1 || x.out_stride > 1);
}

}  // namespace

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
  end_step_ = shape.EndStep();
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
    in_step_ = joins_taps_ ? channels_ : PixelStep(channels_, x_.in_step);
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
    part.tiles = DivideUp(part.count, most);
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
  tiles_ = DivideUp(x_.count, PixelTiles::kFilterPixels);
  parts_.assign(1, {0, x_.count, 0, x_.taps.size(), 0, tiles_});
  line_taps_ = static_cast<int>(taps);
  line_step_ = static_cast<int>(x_.in_step);
  return true;
}

// Sets the width of tiles to the one with which a line of outputs takes the fewest cycles of a processor, and gives these for each float of
// a tap: each two multiply-adds and two loads.
double Pixels::ChooseVectors() {
  const IsaTable& table = Table();
  const int64_t most_vectors = std::min<int64_t>(table.pixel_tiles.vectors, DivideUp(rows_, table.width));
  const auto steps = static_cast<double>(run_ * static_cast<int64_t>(y_.taps.size() * (joins_taps_ ? 1 : x_.taps.size())));
  double least = std::numeric_limits<double>::max();
  for (int64_t vectors = most_vectors; vectors >= 1; --vectors) {
    PlanTiles(table.pixel_tiles.pixels[vectors - 1]);
    double cost = 0;
    for (int64_t left = DivideUp(rows_, table.width); left > 0; left -= vectors) {
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
    const int64_t tiles = tiles_, all = lines * tiles, work = x_.count / tiles * run_ * taps;
    block_ = std::clamp<int64_t>(DivideUp(kTaskWork, work), 1, std::max<int64_t>(1, DivideUp(all, threads * 4)));
    if (block_ > tiles / 2) block_ = RoundUp(block_, tiles);
    blocks_ = DivideUp(all, block_);
    return;
  }
  ChooseVectors();
  width_ = vectors_ * table.width;
  panels_ = DivideUp(rows_, width_);
  PlanTiles(kernels.pixels[vectors_ - 1]);

  const int64_t all = lines * tiles_, pixels = std::max<int64_t>(1, x_.count / tiles_);
  const int64_t tile_floats = pixels * run_ * static_cast<int64_t>(y_.taps.size()) * std::min<int64_t>(x_.in_step, 2);
  const int64_t panel_floats = run_ * taps / (joins_taps_ ? static_cast<int64_t>(x_.taps.size()) : 1) * width_;
  block_ = std::clamp<int64_t>(kBlockFloats / std::max<int64_t>(tile_floats, 1), 1, all);
  panel_block_ = std::clamp<int64_t>(kPanelFloats / std::max<int64_t>(panel_floats, 1), 1, panels_);
  // Some tasks for each thread, but none too small: of few pixels the panels are divided, since each is read from afar once then.
  const int64_t wanted = threads == 1 ? 1 : threads * kTasksPerThread;
  const int64_t work = pixels * width_ * run_ * taps;
  auto tasks = [&] { return DivideUp(all, block_) * DivideUp(panels_, panel_block_) * groups_; };
  while (tasks() < wanted && block_ * panel_block_ * work > kTaskWork) {
    if (block_ > 1 && (block_ * tile_floats > panel_block_ * panel_floats || panel_block_ == 1)) block_ = DivideUp(block_, 2);
    else if (panel_block_ > 1) panel_block_ = DivideUp(panel_block_, 2);
    else break;
  }
  blocks_ = DivideUp(all, block_);
  panel_blocks_ = DivideUp(panels_, panel_block_);
  // A thread's tasks lie side by side: it reads what it wrote in the layer before where it has the same pixels in both.
  pixels_first_ = panel_floats * panels_ <= kPanelFloats;
}

int64_t Pixels::PanelWidth(int64_t panel) const { return std::min(width_, RoundUp(rows_ - panel * width_, Table().width)); }

int64_t Pixels::GroupFloats() const {
  return RoundUp(rows_, Table().width) * channels_ * static_cast<int64_t>(y_.taps.size() * x_.taps.size());
}

size_t Pixels::PreparedBytes() const {
  if (by_channel_) return static_cast<size_t>(run_) * y_.taps.size() * x_.taps.size() * sizeof(float);
  return static_cast<size_t>(groups_ * GroupFloats()) * sizeof(float);
}

size_t Pixels::ScratchBytes() const {
  const int64_t copies = copies_input_ ? images_at_once_ * CopiedFloats() + kMaxWidth : 0;
  return static_cast<size_t>(2 * end_step_ + copies) * sizeof(float);
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
  const int64_t at_once = kPackedFloats / (taps * width_), pieces = DivideUp(channels_, at_once);
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

}  // namespace dxtensor::software::fast
