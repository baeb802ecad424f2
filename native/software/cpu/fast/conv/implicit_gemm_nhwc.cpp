#include "implicit_gemm_nhwc.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

// Measured (AVX-512): the 24 layers of the bench suite that are transposed instead of taking implicit_gemm_nchw gain 0.7 to 9.6 times,
// 1.3 in the median; the first layer of ResNet-50 gains 2.6 times by merged taps of a row.
// Speed (suite, 1 thread, AVX-512): kFewColumns, kWorkPerTransposedElement, kMaxCopy, kBlockFloats, kPanelFloats, kPackedFloats, kTaskWork:
// within 5 % from 1/4 to 4 times; kFewChannels 0.93 at 1/4; kFewRows 0.93 at 2, 0.93 at 4; kMinPixels 0.80 at 1/4.
constexpr int64_t kMaxCopy = 1 << 19;                                 // floats of the images that are copied in one pass, or one image
constexpr int64_t kBlockFloats = 1 << 15;                             // of the input, which a task reads once for each panel
constexpr int64_t kPanelFloats = 1 << 17;                             // of the filter, which a task reads once for each block
constexpr int64_t kTaskWork = 100000;                                 // multiply-adds
constexpr int64_t kTasksPerThread = 8;                                // so that a delayed thread leaves tasks to others
constexpr int64_t kFewColumns = 256, kWorkPerTransposedElement = 90;  // multiply-adds by transposed element
constexpr int kFewRows = 8;                                           // of a GEMM tile
constexpr int64_t kMinPixels = 4;                                     // of a row: smaller tiles load more than they multiply
constexpr int64_t kPackedFloats = 1 << 14;                            // that are transposed at once
constexpr int64_t kFewChannels = 8;                                   // at most, for the taps of a row to be merged

bool ReadsNhwc(const ConvolutionProblem& problem, const GridDimension& y, const GridDimension& x) {
  return problem.in_channel_stride == 1 && y.in_size * x.in_size > 1 && (x.in_size == 1 || x.in_stride > 1);
}
// Whether NHWC gains although both sides have to be transposed: where columns are few and fill vectors badly, or a convolution stride would
// need packing, or GEMM tiles are so low that they load almost as often as they multiply; and where the work by column pays for the
// transposes.
bool GainsByTransposing(const ConvolutionProblem& problem, const GridDimension& y, const GridDimension& x) {
  const int64_t columns = y.count * x.count, depth = problem.ci * static_cast<int64_t>(y.taps.size() * x.taps.size());
  const int64_t transposed = problem.ci * y.in_size * x.in_size + problem.co * columns;
  const int64_t computed = RoundUp(problem.co, Table().width);  // a small Co leaves much of a vector unused
  const bool gains = columns <= kFewColumns || x.conv_stride > 1 || Table().tile_rows < kFewRows;
  if (problem.batch > 1 && x.count < kMinPixels) return false;
  return problem.groups == 1 && gains && computed * 4 <= problem.co * 5 &&
         problem.co * columns * depth >= kWorkPerTransposedElement * transposed;
}
bool WritesNhwc(const ConvolutionProblem& problem, const GridDimension& y, const GridDimension& x) {
  return problem.out_channel_stride == 1 && y.count * x.count > 1 && (x.count == 1 || x.out_stride > 1);
}

}  // namespace

bool ImplicitGemmNhwc::Fits(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  const GridDimension &z = grid.dim[0], &y = grid.dim[1], &x = grid.dim[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0) return false;
  if (y.taps.empty() || x.taps.empty() || y.taps.size() * x.taps.size() > kMaxTaps) return false;
  if (!IsFloat32(problem.in_type) || !IsFloat32(problem.out_type) || !IsFloat32(problem.filter_type)) return false;
  const bool reads = ReadsNhwc(problem, y, x), writes = WritesNhwc(problem, y, x);
  if (!reads && !writes && !GainsByTransposing(problem, y, x)) return false;
  if (!reads && x.in_size > 1 && x.in_stride != 1) return false;
  if (!writes && x.count > 1 && x.out_stride != 1) return false;
  if (problem.groups == 1) return !writes || problem.co % kMaxWidth == 0 || problem.output_is_padded;
  if (!reads || !writes) return false;
  if (problem.ci == 1 && problem.co == 1) return problem.groups % kMaxWidth == 0 || (problem.input_is_padded && problem.output_is_padded);
  return problem.co % kMaxWidth == 0;
}

ImplicitGemmNhwc::ImplicitGemmNhwc(const ConvolutionProblem& problem, const ConvolutionGrid& grid)
    : y_(grid.dim[1]), x_(grid.dim[2]), out_start_(grid.out_start) {
  scale_shift_stride_ = problem.ScaleShiftStride();
  batch_ = problem.batch;
  groups_ = problem.groups;
  co_ = problem.co;
  ci_ = problem.ci;
  depthwise_ = groups_ > 1 && co_ == 1 && ci_ == 1;
  transposes_input_ = !ReadsNhwc(problem, y_, x_);
  transposes_output_ = !WritesNhwc(problem, y_, x_);
  in_pixel_stride_ = x_.in_stride;
  in_row_stride_ = y_.in_stride;
  out_pixel_stride_ = x_.out_stride;
  tap_floats_ = ci_;
  if (depthwise_) tap_floats_ = RoundUp(groups_, kMaxWidth);
  int64_t lowest = x_.taps[0].offset, highest = lowest;
  bool adjacent = true;
  for (size_t t = 0; t < x_.taps.size(); ++t) {
    lowest = std::min(lowest, x_.taps[t].offset);
    highest = std::max(highest, x_.taps[t].offset);
    adjacent &= x_.taps[t].offset == x_.taps[0].offset + static_cast<int64_t>(t);
  }
  const int64_t left = std::max<int64_t>(0, -lowest),
                right = std::max<int64_t>(0, (x_.count - 1) * x_.conv_stride + highest - (x_.in_size - 1));
  merges_row_taps_ = transposes_input_ && adjacent && ci_ <= kFewChannels;
  images_per_pass_ = batch_;
  if (transposes_input_) {
    in_pixel_stride_ = merges_row_taps_ ? ci_ : PixelStride(ci_, x_.conv_stride);
    left_ = left;
    in_row_stride_ = padded_row_floats_ = (left + x_.in_size + right) * in_pixel_stride_;
    if (merges_row_taps_) tap_floats_ *= static_cast<int64_t>(x_.taps.size());
    images_per_pass_ = std::clamp<int64_t>(kMaxCopy / std::max<int64_t>(CopiedFloats(), 1), 1, batch_);
  }
  PlanTasks();
}

// Cuts an output row where the set of taps outside of the padding changes, and each part into tiles of up to max_pixels pixels.
void ImplicitGemmNhwc::PlanTiles(int64_t max_pixels) {
  parts_.clear();
  tiles_ = 0;
  const auto taps = x_.taps.size();
  int64_t lowest_offset = x_.taps[0].offset, highest_offset = lowest_offset;
  for (const Tap& tap : x_.taps) {
    lowest_offset = std::min(lowest_offset, tap.offset);
    highest_offset = std::max(highest_offset, tap.offset);
  }
  auto add = [&](int64_t first, int64_t count, size_t first_tap, size_t last_tap) {
    if (!parts_.empty() && parts_.back().first_tap == first_tap && parts_.back().last_tap == last_tap) parts_.back().count += count;
    else parts_.push_back({first, count, first_tap, last_tap, 0, 0});
  };
  // Taps are in the filter's order, which may be reversed.
  auto add_edge = [&](int64_t x) {
    auto inside = [&](size_t t) {
      const int64_t at = x * x_.conv_stride + x_.taps[t].offset;
      return at >= 0 && at < x_.in_size;
    };
    size_t first = 0, last = taps;
    while (first < last && !inside(first)) ++first;
    while (first < last && !inside(last - 1)) --last;
    add(x, 1, first, last);
  };
  int64_t whole, whole_end;  // pixels that read all taps
  Clip(lowest_offset, x_.conv_stride, x_.in_size, x_.count, &whole, &whole_end);
  int64_t other, other_end;
  Clip(highest_offset, x_.conv_stride, x_.in_size, x_.count, &other, &other_end);
  whole = std::max(whole, other);
  whole_end = std::min(whole_end, other_end);
  if (transposes_input_) {
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
  for (RowPart& part : parts_) {
    part.first_tile = tiles_;
    part.tiles = DivideUp(part.count, max_pixels);
    tiles_ += part.tiles;
  }
}

int64_t ImplicitGemmNhwc::FirstOf(const RowPart& part, int64_t tile) {
  return part.first + part.count / part.tiles * tile + std::min(tile, part.count % part.tiles);
}

// Sets the width of tiles to the one with which an output row takes the fewest cycles. The model: two multiply-adds and two loads in a
// cycle.
void ImplicitGemmNhwc::ChooseVectors() {
  const IsaTable& table = Table();
  const int64_t most_vectors = std::min<int64_t>(table.pixel_tiles.vectors, DivideUp(co_, table.width));
  const auto steps = static_cast<double>(tap_floats_ * static_cast<int64_t>(y_.taps.size() * (merges_row_taps_ ? 1 : x_.taps.size())));
  double best_cost = std::numeric_limits<double>::max();
  for (int64_t vectors = most_vectors; vectors >= 1; --vectors) {
    PlanTiles(table.pixel_tiles.pixels[vectors - 1]);
    double cost = 0;
    for (int64_t left = DivideUp(co_, table.width); left > 0; left -= vectors) {
      const int64_t v = std::min(left, vectors);
      for (const RowPart& part : parts_) {
        const double pixels = static_cast<double>(part.count) / static_cast<double>(part.tiles), products = pixels * static_cast<double>(v);
        cost += static_cast<double>(part.tiles) * (std::max(products, pixels + static_cast<double>(v)) * 0.5 + 0.5 + 4 * products / steps);
      }
    }
    if (cost >= best_cost) continue;
    best_cost = cost;
    vectors_ = vectors;
  }
}

void ImplicitGemmNhwc::PlanTasks() {
  const IsaTable& table = Table();
  const PixelTiles& kernels = table.pixel_tiles;
  const int64_t threads = ThreadPool::Get().size(), taps = static_cast<int64_t>(y_.taps.size() * x_.taps.size());
  const int64_t rows = images_per_pass_ * y_.count;
  if (depthwise_) {
    PlanTiles(PixelTiles::kDepthwisePixels);
    const int64_t tiles = tiles_, all = rows * tiles, work = x_.count / tiles * tap_floats_ * taps;
    block_ = std::clamp<int64_t>(DivideUp(kTaskWork, work), 1, std::max<int64_t>(1, DivideUp(all, threads * 4)));
    if (block_ > tiles / 2) block_ = RoundUp(block_, tiles);
    blocks_ = DivideUp(all, block_);
    return;
  }
  ChooseVectors();
  width_ = vectors_ * table.width;
  panels_ = DivideUp(co_, width_);
  PlanTiles(kernels.pixels[vectors_ - 1]);

  const int64_t all = rows * tiles_, pixels = std::max<int64_t>(1, x_.count / tiles_);
  const int64_t tile_floats = pixels * tap_floats_ * static_cast<int64_t>(y_.taps.size()) * std::min<int64_t>(x_.conv_stride, 2);
  const int64_t panel_floats = tap_floats_ * taps / (merges_row_taps_ ? static_cast<int64_t>(x_.taps.size()) : 1) * width_;
  block_ = std::clamp<int64_t>(kBlockFloats / std::max<int64_t>(tile_floats, 1), 1, all);
  panel_block_ = std::clamp<int64_t>(kPanelFloats / std::max<int64_t>(panel_floats, 1), 1, panels_);
  // Several tasks for each thread, but none too small. With few pixels the panels are divided, so that each is read from memory once.
  const int64_t wanted = threads == 1 ? 1 : threads * kTasksPerThread;
  const int64_t work = pixels * width_ * tap_floats_ * taps;
  auto tasks = [&] { return DivideUp(all, block_) * DivideUp(panels_, panel_block_) * groups_; };
  while (tasks() < wanted && block_ * panel_block_ * work > kTaskWork) {
    if (block_ > 1 && (block_ * tile_floats > panel_block_ * panel_floats || panel_block_ == 1)) block_ = DivideUp(block_, 2);
    else if (panel_block_ > 1) panel_block_ = DivideUp(panel_block_, 2);
    else break;
  }
  blocks_ = DivideUp(all, block_);
  panel_blocks_ = DivideUp(panels_, panel_block_);
  // A thread's tasks are adjacent: it then reads what it wrote in the layer before.
  pixels_first_ = panel_floats * panels_ <= kPanelFloats;
}

int64_t ImplicitGemmNhwc::PanelWidth(int64_t panel) const { return std::min(width_, RoundUp(co_ - panel * width_, Table().width)); }

int64_t ImplicitGemmNhwc::GroupFloats() const {
  return RoundUp(co_, Table().width) * ci_ * static_cast<int64_t>(y_.taps.size() * x_.taps.size());
}

size_t ImplicitGemmNhwc::PrepackedBytes() const {
  if (depthwise_) return static_cast<size_t>(tap_floats_) * y_.taps.size() * x_.taps.size() * sizeof(float);
  return static_cast<size_t>(groups_ * GroupFloats()) * sizeof(float);
}

size_t ImplicitGemmNhwc::WorkspaceBytes() const {
  const int64_t copies = transposes_input_ ? images_per_pass_ * CopiedFloats() + kMaxWidth : 0;
  return PrepackedBytes() + static_cast<size_t>(2 * scale_shift_stride_ + copies) * sizeof(float);
}

// Layout of the packed filter: [group, panel, tap, Ci, Co of the panel]. Depthwise: [tap, channel].
void ImplicitGemmNhwc::Prepack(const ConvolutionProblem& problem, const KernelArguments& arguments, uint8_t* bytes) const {
  const IsaTable& table = Table();
  const auto* filter = reinterpret_cast<const float*>(arguments.inputs[1]);
  auto* to = reinterpret_cast<float*>(bytes);
  const auto nx = static_cast<int64_t>(x_.taps.size()), taps = static_cast<int64_t>(y_.taps.size()) * nx;
  auto filter_offset = [&](int64_t tap) {
    return y_.taps[static_cast<size_t>(tap / nx)].filter_offset + x_.taps[static_cast<size_t>(tap % nx)].filter_offset;
  };
  if (depthwise_) {
    std::fill(to, to + tap_floats_ * taps, 0.0f);
    for (int64_t tap = 0; tap < taps; ++tap)
      table.pack_rows(to + tap * tap_floats_, groups_, groups_, filter + filter_offset(tap), problem.filter_group_stride, 0, 1);
    return;
  }
  bool is_contiguous = taps > 1 && taps * width_ <= kPackedFloats && problem.filter_ci_stride == taps;
  for (int64_t tap = 0; tap < taps; ++tap) is_contiguous &= filter_offset(tap) == tap;
  if (is_contiguous) return PrepackContiguousTaps(problem, filter, to);
  const int64_t grain = std::max<int64_t>(1, 40000 / (width_ * ci_));
  ThreadPool::Get().ParallelFor(0, groups_ * panels_ * taps, grain, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t tap = i % taps, panel = i / taps % panels_, group = i / taps / panels_;
      const int64_t co = panel * width_, co_count = std::min(width_, co_ - co), width = PanelWidth(panel);
      float* rows = to + group * GroupFloats() + (co * taps + tap * width) * ci_;
      if (co_count < width) std::fill(rows, rows + ci_ * width, 0.0f);
      table.pack_rows(rows, width, co_count,
                      filter + group * problem.filter_group_stride + co * problem.filter_co_stride + filter_offset(tap),
                      problem.filter_co_stride, problem.filter_ci_stride, ci_);
    }
  });
}

// The same where the taps of a channel are contiguous and in order: transposes some channels at once, then moves their rows.
void ImplicitGemmNhwc::PrepackContiguousTaps(const ConvolutionProblem& problem, const float* filter, float* to) const {
  const IsaTable& table = Table();
  const auto taps = static_cast<int64_t>(y_.taps.size() * x_.taps.size());
  const int64_t at_once = kPackedFloats / (taps * width_), pieces = DivideUp(ci_, at_once);
  ThreadPool::Get().ParallelFor(0, groups_ * panels_ * pieces, 2, [&](int64_t first, int64_t last, int) {
    alignas(64) float transposed[kPackedFloats];
    for (int64_t i = first; i < last; ++i) {
      const int64_t channel = i % pieces * at_once, panel = i / pieces % panels_, group = i / pieces / panels_;
      const int64_t count = std::min(at_once, ci_ - channel);
      const int64_t co = panel * width_, co_count = std::min(width_, co_ - co), width = PanelWidth(panel);
      if (co_count < width) std::fill(transposed, transposed + kPackedFloats, 0.0f);
      const float* from = filter + group * problem.filter_group_stride + co * problem.filter_co_stride + channel * problem.filter_ci_stride;
      for (int64_t r = 0; r < co_count; r += kMaxWidth)  // few cache lines at once
        table.pack_rows(transposed + r, width, std::min<int64_t>(kMaxWidth, co_count - r), from + r * problem.filter_co_stride,
                        problem.filter_co_stride, 1, count * taps);
      float* rows = to + group * GroupFloats() + (co * taps * ci_ + channel * width);
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t c = 0; c < count; ++c)
          std::memcpy(rows + (tap * ci_ + c) * width, transposed + (c * taps + tap) * width, static_cast<size_t>(width) * sizeof(float));
    }
  });
}

std::unique_ptr<ConvStrategy> MakeImplicitGemmNhwc(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  return MakeIfFits<ImplicitGemmNhwc>(problem, grid);
}

}  // namespace dxtensor::software::fast
