// Runs the plans of implicit_gemm_nhwc.cpp.
#include <algorithm>

#include "software/cpu/host/thread_pool.h"
#include "implicit_gemm_nhwc.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kPendingFloats: within 5 % from 1/4 to 4 times.
constexpr int64_t kPendingFloats = 1 << 11;  // of tiles that get their epilogue together

}  // namespace

struct ImplicitGemmNhwc::RunBuffers {
  const float *filter, *copies;
  const float* scale_shift;  // factor and shift of each row, or null
};

// Copies a row, with zeros where pixels read past its ends.
void ImplicitGemmNhwc::CopyRow(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t image, int64_t row,
                               float* to) const {
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]) + image * problem.in_batch_stride + row * y_.in_stride;
  float* inside = to + left_ * in_pixel_stride_;
  std::fill(to, inside, 0.0f);
  std::fill(inside + x_.in_size * in_pixel_stride_, to + padded_row_floats_, 0.0f);
  if (transposes_input_) Table().transpose(inside, in_pixel_stride_, in, problem.in_channel_stride, ci_, x_.in_size);
  else Table().copy_rows(inside, in_pixel_stride_, in, x_.in_stride, 1, x_.in_size, ci_);
}

int64_t ImplicitGemmNhwc::FindTaps(const RowPart& part, int64_t row, int64_t tap_floats, int64_t* offsets, int64_t* filter_offsets) const {
  const auto nx = static_cast<int64_t>(x_.taps.size());
  int64_t count = 0;
  for (size_t ty = 0; ty < y_.taps.size(); ++ty) {
    const int64_t y = row * y_.conv_stride + y_.taps[ty].offset;
    if (y < 0 || y >= y_.in_size) continue;
    for (size_t tx = part.first_tap; tx < part.last_tap; ++tx) {
      offsets[count] = y * in_row_stride_ + (left_ + x_.taps[tx].offset) * in_pixel_stride_;
      const int64_t tap = static_cast<int64_t>(ty) * nx + static_cast<int64_t>(tx);
      filter_offsets[count++] = tap * tap_floats;
      if (merges_row_taps_) break;
    }
  }
  return count;
}

void ImplicitGemmNhwc::StoreSums(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t pixels, float* sums,
                                 int64_t stride, int64_t channel, int64_t channels, int64_t to) const {
  auto* out = reinterpret_cast<float*>(arguments.outputs[0]) + to;
  if (transposes_output_ && problem.has_residual)
    for (int64_t r = 0; r < channels; ++r) {
      const auto* residual = reinterpret_cast<const float*>(arguments.inputs[4]) + to + (channel + r) * problem.out_channel_stride;
      for (int64_t p = 0; p < pixels; ++p) sums[p * stride + r] += residual[p * out_pixel_stride_];
    }
  if (problem.Activates()) problem.Activate(arguments, sums, pixels * stride);
  if (transposes_output_) {
    Table().transpose(out + channel * problem.out_channel_stride, problem.out_channel_stride, sums, stride, pixels, channels);
    return;
  }
  Table().copy_rows(out + channel, out_pixel_stride_, sums, stride, 1, pixels, channels);
}

void ImplicitGemmNhwc::RunTask(const ConvolutionProblem& problem, const KernelArguments& arguments, const RunBuffers& buffers,
                               int64_t first_image, int64_t task) const {
  const PixelTiles& kernels = Table().pixel_tiles;
  const int64_t group = task / (blocks_ * panel_blocks_), index = task % (blocks_ * panel_blocks_);
  const int64_t block = pixels_first_ ? index / panel_blocks_ : index % blocks_;
  const int64_t first_panel = (pixels_first_ ? index % panel_blocks_ : index / blocks_) * panel_block_;
  const int64_t last_panel = std::min(panels_, first_panel + panel_block_);
  const int64_t images = std::min(images_per_pass_, batch_ - first_image), all = images * y_.count * tiles_;
  const int64_t first = block * block_, last = std::min(all, first + block_);
  const bool fuses_epilogue = !transposes_output_ && problem.clamp;
  const ClampRange clamp = fuses_epilogue ? problem.ClampIn(arguments) : ClampRange();
  const int64_t taps = static_cast<int64_t>(y_.taps.size() * x_.taps.size());
  int64_t offsets[kMaxTaps], filter_offsets[kMaxTaps];
  alignas(64) float sums[kPendingFloats];

  const auto* in =
      transposes_input_ ? buffers.copies : reinterpret_cast<const float*>(arguments.inputs[0]) + first_image * problem.in_batch_stride;
  const int64_t in_batch_stride = transposes_input_ ? CopiedFloats() : problem.in_batch_stride,
                pixel_stride = x_.conv_stride * in_pixel_stride_;
  PixelTile t{};
  t.length = tap_floats_;
  t.offsets = offsets;
  t.filter_offsets = filter_offsets;
  t.in_stride = pixel_stride;
  t.low = clamp.low;
  t.high = clamp.high;
  t.clamps = fuses_epilogue && clamp.Clamps();
  t.residual_stride = out_pixel_stride_;
  // Calls run(pixels, to) for each tile of the task, with the fields of `t` that do not depend on panels: `to` is its output offset. With a
  // fused epilogue one call runs all adjacent tiles of equal size, but not in depthwise convolutions.
  const bool runs_many = fuses_epilogue && !depthwise_;
  auto each_tile = [&](int64_t tap_floats, auto&& run) {
    int64_t at = first, row = first / tiles_ % y_.count, image = first / tiles_ / y_.count;
    size_t p = 0;
    int64_t tile = first % tiles_;
    while (tile >= parts_[p].tiles) tile -= parts_[p++].tiles;
    while (at < last) {
      const RowPart& part = parts_[p];
      t.taps = FindTaps(part, row, tap_floats, offsets, filter_offsets);
      const float* in_row = in + image * in_batch_stride + (transposes_input_ ? 0 : group * ci_);
      const int64_t out_row_offset = out_start_ + (first_image + image) * problem.out_batch_stride + row * y_.out_stride;
      const int64_t stop = std::min(part.tiles, tile + last - at);
      const int64_t narrower = part.count / part.tiles, wider = std::min(stop, part.count % part.tiles);  // these tiles have one pixel more
      for (int64_t from = FirstOf(part, tile); tile < stop; tile += t.tiles, at += t.tiles) {
        const int64_t pixels = narrower + (tile < wider);
        t.tiles = runs_many ? (tile < wider ? wider : stop) - tile : 1;
        t.in = in_row + from * pixel_stride;
        run(pixels, out_row_offset + from * out_pixel_stride_);
        from += pixels * t.tiles;
      }
      tile = 0;
      if (++p < parts_.size()) continue;
      p = 0;
      if (++row < y_.count) continue;
      row = 0;
      ++image;
    }
  };
  auto set_epilogue = [&](int64_t co, int64_t to) {
    t.factor = buffers.scale_shift ? buffers.scale_shift + co : nullptr;
    t.shift = buffers.scale_shift ? buffers.scale_shift + scale_shift_stride_ + co : nullptr;
    t.residual = problem.has_residual && !transposes_output_ ? reinterpret_cast<const float*>(arguments.inputs[4]) + to + co : nullptr;
  };
  if (depthwise_) {
    t.filter = buffers.filter;
    t.out_stride = out_pixel_stride_;
    each_tile(tap_floats_, [&](int64_t pixels, int64_t to) {
      t.out = reinterpret_cast<float*>(arguments.outputs[0]) + to;
      set_epilogue(0, to);
      kernels.depthwise[pixels - 1](t);
      for (int64_t p = 0; p < pixels && !fuses_epilogue; ++p) problem.Activate(arguments, t.out + p * out_pixel_stride_, tap_floats_);
    });
    return;
  }
  for (int64_t panel = first_panel; panel < last_panel; ++panel) {
    const int64_t panel_co = panel * width_, co = group * co_ + panel_co, width = PanelWidth(panel);
    const PixelTileKernel* tiles = kernels.tiles[width / Table().width - 1];
    t.filter = buffers.filter + group * GroupFloats() + panel_co * taps * ci_;
    t.out_stride = fuses_epilogue ? out_pixel_stride_ : width;
    int64_t pending = 0, pending_to = 0;  // adjacent pixels in `sums`, and their output offset
    auto flush = [&] {
      if (pending) StoreSums(problem, arguments, pending, sums, width, co, std::min(width, co_ - panel_co), pending_to);
      pending = 0;
    };
    each_tile(ci_ * width, [&](int64_t pixels, int64_t to) {
      if ((pending + pixels) * width > kPendingFloats || to != pending_to + pending * out_pixel_stride_) flush();
      if (!pending) pending_to = to;
      t.out = fuses_epilogue ? reinterpret_cast<float*>(arguments.outputs[0]) + to + co : sums + pending * width;
      set_epilogue(co, to);
      tiles[pixels - 1](t);
      if (!fuses_epilogue) pending += pixels;
    });
    flush();
  }
}

void ImplicitGemmNhwc::Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t* prepacked) const {
  ThreadPool& pool = ThreadPool::Get();
  if (!prepacked) Prepack(problem, arguments, arguments.scratch);
  const auto* filter = reinterpret_cast<const float*>(prepacked ? prepacked : arguments.scratch);
  auto* scratch = reinterpret_cast<float*>(arguments.scratch + PrepackedBytes());
  float* copies = scratch + 2 * scale_shift_stride_;
  const RunBuffers buffers{filter, copies, problem.ScaleShiftOf(arguments, scratch)};
  for (int64_t image = 0; image < batch_; image += images_per_pass_) {
    const int64_t images = std::min(images_per_pass_, batch_ - image);
    if (transposes_input_)
      pool.ParallelFor(0, images * y_.in_size, std::max<int64_t>(1, 20000 / padded_row_floats_), [&](int64_t first, int64_t last, int) {
        for (int64_t i = first; i < last; ++i)
          CopyRow(problem, arguments, image + i / y_.in_size, i % y_.in_size, copies + i * padded_row_floats_);
      });
    const int64_t tasks = blocks_ * panel_blocks_ * (depthwise_ ? 1 : groups_);
    pool.ParallelFor(0, tasks, 1, [&](int64_t first, int64_t last, int) {
      for (int64_t task = first; task < last; ++task) RunTask(problem, arguments, buffers, image, task);
    });
  }
}

}  // namespace dxtensor::software::fast
