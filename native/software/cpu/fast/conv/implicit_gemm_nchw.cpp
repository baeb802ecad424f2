// Implicit GEMM for NCHW: no im2col buffer, no packed input. nchw_columns.h says what a tile reads.
#include <algorithm>

#include "software/cpu/fast/gemm/panel_gemm.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_strategy.h"
#include "nchw_columns.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kPackedSteps, kStepsInRegisters: within 5 % from 1/4 to 4 times.
constexpr int64_t kStepsInRegisters = 768;  // K depth of a sum in registers: longer sums lose more to rounding
constexpr int64_t kPackedSteps = 4096;      // K depth of a packing task

class ImplicitGemmNchw final : public ConvStrategy {
 public:
  explicit ImplicitGemmNchw(NchwColumns columns);
  size_t WorkspaceBytes() const override;
  size_t PrepackedBytes() const override { return static_cast<size_t>(FilterFloats()) * sizeof(float); }
  void Prepack(const ConvolutionProblem& problem, const KernelArguments& arguments, uint8_t* to) const override;
  void Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t* prepacked) const override;

 private:
  int64_t FilterFloats() const { return RoundUp(groups_ * co_ * depth_, kMaxWidth); }
  void RunTiles(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t plane, int64_t tile_first, int64_t tile_last,
                const float* filter, const float* in) const;
  void PrefetchOutput(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t plane, int64_t tile, int64_t m) const;
  void MultiplyTile(int64_t co, int64_t co_count, int64_t channel, int64_t last_channel, const float* filter, const float* in,
                    float* sums) const;
  void StoreTile(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t plane, int64_t tile, int64_t m,
                 int64_t co_count, float* sums) const;

  NchwColumns columns_;
  int64_t batch_, groups_, co_, ci_, taps_, depth_;  // those of columns_
};

ImplicitGemmNchw::ImplicitGemmNchw(NchwColumns columns)
    : columns_(std::move(columns)),
      batch_(columns_.batch),
      groups_(columns_.groups),
      co_(columns_.co),
      ci_(columns_.ci),
      taps_(columns_.grid.taps),
      depth_(columns_.grid.depth) {}

size_t ImplicitGemmNchw::WorkspaceBytes() const { return PrepackedBytes() + static_cast<size_t>(columns_.CopyFloats()) * sizeof(float); }

void ImplicitGemmNchw::Prepack(const ConvolutionProblem& problem, const KernelArguments& arguments, uint8_t* bytes) const {
  auto* to = reinterpret_cast<float*>(bytes);
  const int64_t panels = DivideUp(co_, Table().tile_rows), height = DivideUp(co_, panels), pieces = DivideUp(depth_, kPackedSteps);
  const int64_t grain = std::max<int64_t>(1, 40000 / (height * std::min(depth_, kPackedSteps)));
  ThreadPool::Get().ParallelFor(0, groups_ * panels * pieces, grain, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t k = i % pieces * kPackedSteps, m = i / pieces % panels * height, group = i / pieces / panels;
      const int64_t co_count = std::min(height, co_ - m);
      if (co_count <= 0) continue;
      columns_.grid.PackFilter(problem, arguments.inputs[1], group, m, co_count, k, std::min(kPackedSteps, depth_ - k),
                               to + (group * co_ + m) * depth_ + k * co_count);
    }
  });
}

void ImplicitGemmNchw::Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t* prepacked) const {
  auto* scratch = reinterpret_cast<float*>(arguments.scratch);
  float* copies = scratch + FilterFloats();
  if (!prepacked) Prepack(problem, arguments, arguments.scratch);
  const float* filter = prepacked ? reinterpret_cast<const float*>(prepacked) : scratch;
  const int64_t work = co_ * depth_ * columns_.tiles * Table().tile_columns;
  columns_.ForEachTile(problem, arguments, copies, work, [&](int64_t plane, int64_t first, int64_t last, const float* in, int) {
    RunTiles(problem, arguments, plane, first, last, filter, in);
  });
}

// A tile's sums over some channels. `in`: channel 0 at the tile's first column.
void ImplicitGemmNchw::MultiplyTile(int64_t co, int64_t co_count, int64_t channel, int64_t last_channel, const float* filter,
                                    const float* in, float* sums) const {
  const IsaTable& table = Table();
  const int64_t some = std::max<int64_t>(1, kStepsInRegisters / taps_);
  for (bool adds = false; channel < last_channel; channel += some, adds = true)
    table.taps_tiles[co_count - 1](std::min(some, last_channel - channel), taps_, columns_.offsets.data(),
                                   filter + co * depth_ + channel * taps_ * co_count, in + channel * columns_.channel_stride,
                                   columns_.channel_stride, sums, table.tile_columns, adds, taps_ == 1 && co % co_ == 0);
}

// Prefetches the cache lines that a tile's sums will be stored to.
void ImplicitGemmNchw::PrefetchOutput(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t plane, int64_t tile,
                                      int64_t m) const {
  const int64_t width = Table().tile_columns, co_count = std::min(co_ - m, DivideUp(co_, DivideUp(co_, Table().tile_rows)));
  if (tile >= columns_.tiles) return;
  const int64_t y = tile * width / columns_.pitch, x = tile * width % columns_.pitch;
  const int64_t first =
      (columns_.grid.out_start + plane / groups_ * problem.out_batch_stride + (plane % groups_ * co_ + m) * problem.out_channel_stride +
       y * columns_.grid.dim[1].out_stride + x * columns_.grid.dim[2].out_stride) *
      problem.out_bytes;
  for (int64_t r = 0; r < co_count; ++r)
    for (int64_t at = 0; at < width * problem.out_bytes; at += 64) {
      const int64_t row = first + r * problem.out_channel_stride * problem.out_bytes + at;
      __builtin_prefetch(arguments.outputs[0] + row, 1, 2);
      if (problem.has_residual) __builtin_prefetch(arguments.inputs[4] + row, 0, 2);
    }
}

void ImplicitGemmNchw::RunTiles(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t plane, int64_t tile_first,
                                int64_t tile_last, const float* filter, const float* in) const {
  const int64_t height = DivideUp(co_, DivideUp(co_, Table().tile_rows));
  alignas(64) float sums[kMaxTileFloats];
  for (int64_t tile = tile_first; tile < tile_last; ++tile)
    for (int64_t m = 0; m < co_; m += height) {
      const int64_t co_count = std::min(height, co_ - m);
      PrefetchOutput(problem, arguments, plane, m + height < co_ ? tile : tile + 1, m + height < co_ ? m + height : 0);
      MultiplyTile(plane % groups_ * co_ + m, co_count, 0, ci_, filter, in + columns_.TileStart(tile), sums);
      StoreTile(problem, arguments, plane, tile, m, co_count, sums);
    }
}

// Applies the epilogue and stores the columns that are outputs.
void ImplicitGemmNchw::StoreTile(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t plane, int64_t tile,
                                 int64_t m, int64_t co_count, float* sums) const {
  const IsaTable& table = Table();
  const GridDimension &y = columns_.grid.dim[1], &x = columns_.grid.dim[2];
  const int64_t width = table.tile_columns, start = columns_.TileStart(tile), end = std::min(start + width, columns_.length);
  const int64_t co = plane % groups_ * co_ + m;
  if (problem.clamp && (x.out_stride == 1 || x.count == 1)) {
    for (int64_t column = tile * width; column < end;) {
      const int64_t at_y = column / columns_.pitch, at_x = column % columns_.pitch;
      const int64_t n = std::min(x.count - at_x, end - column);
      const int64_t to = columns_.grid.out_start + plane / groups_ * problem.out_batch_stride + co * problem.out_channel_stride +
                         at_y * y.out_stride + at_x * x.out_stride;
      if (n > 0) problem.ApplyEpilogue(arguments, co, co_count, sums + column - start, width, to, n);
      column += std::min(columns_.pitch - at_x, end - column);
    }
    return;
  }
  if (problem.has_bias || problem.normalizes)
    for (int64_t r = 0; r < co_count; ++r) problem.ApplyScaleShift(arguments, co + r, sums + r * width, width);
  if (problem.has_residual)
    for (int64_t column = tile * width; column < end;) {
      const int64_t at_y = column / columns_.pitch, at_x = column % columns_.pitch;
      const int64_t n = std::min(x.count - at_x, end - column);
      const int64_t to = columns_.grid.out_start + plane / groups_ * problem.out_batch_stride + co * problem.out_channel_stride +
                         at_y * y.out_stride + at_x * x.out_stride;
      for (int64_t r = 0; r < co_count && n > 0; ++r)
        problem.AddResidual(arguments, to + r * problem.out_channel_stride, x.out_stride, sums + r * width + column - start, n);
      column += std::min(columns_.pitch - at_x, end - column);
    }
  problem.Activate(arguments, sums, co_count * width);
  for (int64_t column = tile * width; column < end;) {
    const int64_t at_y = column / columns_.pitch, at_x = column % columns_.pitch;
    const int64_t n = std::min(x.count - at_x, end - column);
    if (n > 0) {
      const int64_t to = columns_.grid.out_start + plane / groups_ * problem.out_batch_stride + co * problem.out_channel_stride +
                         at_y * y.out_stride + at_x * x.out_stride;
      const float* from = sums + column - start;
      if (IsFloat32(problem.out_type)) {
        table.spread_rows(reinterpret_cast<float*>(arguments.outputs[0]) + to, problem.out_channel_stride, x.out_stride, from, width,
                          co_count, n);
      } else {
        for (int64_t r = 0; r < co_count; ++r)
          table.store(problem.out_type, arguments.outputs[0] + (to + r * problem.out_channel_stride) * problem.out_bytes,
                      reinterpret_cast<const uint8_t*>(from + r * width), x.out_stride, n);
      }
    }
    column += std::min(columns_.pitch - at_x, end - column);
  }
}

}  // namespace

std::unique_ptr<ConvStrategy> MakeImplicitGemmNchw(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  if (NchwColumns::IsDepthwise(problem, grid)) return nullptr;
  auto columns = NchwColumns::Plan(problem, grid);
  return columns ? std::make_unique<ImplicitGemmNchw>(std::move(*columns)) : nullptr;
}

}  // namespace dxtensor::software::fast
