// The running of what convolution_pixels.cpp plans.
#include <algorithm>

#include "software/cpu/host/thread_pool.h"
#include "convolution_pixels.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kHeldFloats = 1 << 11;  // of tiles that are ended together

}  // namespace

struct Pixels::Room {
  const float *filter, *copies;
  const float* ends;  // factor and shift of each row, or null
};

// Zeros around, where pixels read beyond the line's ends.
void Pixels::CopyLine(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t image, int64_t line, float* to) const {
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]) + image * shape.in_image + line * y_.in_stride;
  float* inside = to + left_ * in_step_;
  std::fill(to, inside, 0.0f);
  std::fill(inside + x_.in_size * in_step_, to + line_floats_, 0.0f);
  if (turns_input_) Table().turn(inside, in_step_, in, shape.in_channel, channels_, x_.in_size);
  else Table().copy_rows(inside, in_step_, in, x_.in_stride, 1, x_.in_size, channels_);
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
  const int64_t group = task / (blocks_ * panel_blocks_), place = task % (blocks_ * panel_blocks_);
  const int64_t block = pixels_first_ ? place / panel_blocks_ : place % blocks_;
  const int64_t first_panel = (pixels_first_ ? place % panel_blocks_ : place / blocks_) * panel_block_;
  const int64_t last_panel = std::min(panels_, first_panel + panel_block_);
  const int64_t images = std::min(images_at_once_, images_ - first_image), all = images * y_.count * tiles_;
  const int64_t first = block * block_, last = std::min(all, first + block_);
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
  // pixel, `to` its place in the output. What ends here is run by all tiles side by side that have as many pixels, but not by channel.
  const bool runs_many = ends_here && !by_channel_;
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
      const int64_t least = part.count / part.tiles, wider = std::min(stop, part.count % part.tiles);  // these tiles have one pixel more
      for (int64_t from = FirstOf(part, tile); tile < stop; tile += t.tiles, at += t.tiles) {
        const int64_t pixels = least + (tile < wider);
        t.tiles = runs_many ? (tile < wider ? wider : stop) - tile : 1;
        t.in = of_line + from * in_pixel;
        run(pixels, from, out_line + from * out_step_);
        from += pixels * t.tiles;
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
    t.factor = room.ends ? room.ends + row : nullptr;
    t.shift = room.ends ? room.ends + end_step_ + row : nullptr;
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
  float* copies = scratch + 2 * end_step_;
  const Room room{filter, copies, shape.EndsOf(arguments, scratch)};
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
