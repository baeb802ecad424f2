// Winograd weight gradient of 3 x 3 filters, F(4 x 4, 3 x 3) transposed: a tile of 4 x 4 outputs and its 6 x 6 inputs contribute to all
// nine weights with 36 multiplications instead of 144.
//
// DirectML swaps roles: the operator's channels are the batch, its images the layer's input channels, its taps the positions of the
// outputs' gradient. Members here have the layer's names. Both transforms run over some rows of tiles, then a GEMM over the tiles for each
// of the 36 positions; the sums become weights at the end.
#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_strategy.h"
#include "winograd_tiles.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kTaps = 9;
// Speed (ResNet-18, 1 thread, AVX-512): kFewTiles, kMaxSums: within the noise of 5 % from 1/4 to 4 times.
constexpr int64_t kFewTiles = 64;  // whose sums become weights at once
constexpr int64_t kMaxSums = 1 << 24;

// Whether the taps read adjacent input positions, in the order of memory.
bool HasAdjacentTaps(const GridDimension& d) {
  if (d.count != 3 || d.conv_stride != 1) return false;
  for (size_t i = 1; i < d.taps.size(); ++i)
    if (d.taps[i].offset != d.taps[i - 1].offset + 1 ||
        d.taps[i].filter_offset - d.taps[i - 1].filter_offset != d.taps[1].filter_offset - d.taps[0].filter_offset)
      return false;
  return true;
}

class WinogradWeightGradient final : public ConvStrategy, WinogradTiles {
 public:
  static bool Fits(const ConvolutionProblem& problem, const ConvolutionGrid& grid);

  WinogradWeightGradient(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
  size_t WorkspaceBytes() const override;
  void Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t* prepacked) const override;

 private:
  static int64_t TilesOf(const GridDimension& taps);
  void TransformInput(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t row, int64_t channel, float* nhwc,
                      float* to) const;
  void TransformGradient(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t row, int64_t co, float* nhwc,
                         float* to) const;
  void Multiply(const float* gradients, const float* inputs, int64_t co, int64_t channel, int64_t tiles, bool adds, float* sums,
                int64_t sums_stride) const;
  void Store(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t co, int64_t channel, const float* sums,
             int64_t position_stride) const;
  int64_t ThreadFloats() const;

  GridDimension y_, x_;
  int64_t out_start_ = 0;
  int64_t batch_ = 0, ci_ = 0, co_ = 0;                               // of the layer
  int64_t height_ = 0, width_ = 0;                                    // of the outputs
  int64_t gradient_row_stride_ = 0;                                   // floats between rows of the outputs' gradient
  int64_t tiles_y_ = 0, tiles_x_ = 0;                                 // of an image
  int64_t tile_rows_at_once_ = 0;                                     // that are computed together
  int64_t input_tile_stride_ = 0, gradient_tile_stride_ = 0;          // floats between tiles at one position
  int64_t input_position_stride_ = 0, gradient_position_stride_ = 0;  // floats between positions
  int64_t ci_at_once_ = 0, co_at_once_ = 0;                           // that are transformed together
  int64_t sum_stride_ = 0, sum_position_stride_ = 0;                  // of the sums of all Co and Ci, where they are kept
  int64_t tile_co_ = 0;
  bool keeps_sums_ = false;
};

int64_t WinogradWeightGradient::TilesOf(const GridDimension& d) { return DivideUp(static_cast<int64_t>(d.taps.size()), kOutputs); }

bool WinogradWeightGradient::Fits(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  const GridDimension &z = grid.dim[0], &y = grid.dim[1], &x = grid.dim[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0 || !HasAdjacentTaps(y) || !HasAdjacentTaps(x)) return false;
  if (problem.groups != 1 || problem.batch < kMinChannels || problem.co < kMinChannels) return false;
  if (!IsFloat32(problem.in_type) || !IsFloat32(problem.filter_type) || !IsFloat32(problem.out_type)) return false;
  if (problem.has_bias || problem.normalizes || problem.Activates()) return false;
  if ((x.in_size > 1 && x.in_stride != 1) || (x.taps.size() > 1 && x.taps[1].filter_offset - x.taps[0].filter_offset != 1)) return false;
  if (x.out_stride != 1 || y.out_stride != 3) return false;
  // Cycles of the direct weight gradient, and of Winograd: the GEMMs, the transforms, and the weights.
  // Measured (AVX-512): 8 layers of ResNet-18 and ResNet-50 gain 2.5 times in total; one of 4 x 4 images did not in every run.
  const auto k = static_cast<double>(RoundUp(problem.batch, Table().tile_columns)), m = static_cast<double>(problem.co);
  const auto tiles = static_cast<double>(problem.ci * TilesOf(y) * TilesOf(x));
  const double direct = static_cast<double>(problem.ci) * static_cast<double>(y.taps.size() * x.taps.size()) * kTaps * k * m / 32 * 1.2;
  const double transformed = tiles * (kPositions * k * m / 32 + 30 * (k + m)) + 14 * k * m;
  if (transformed >= direct || !IsAllowed()) return false;
  return tiles <= kFewTiles || kPositions * k * m <= kMaxSums;
}

WinogradWeightGradient::WinogradWeightGradient(const ConvolutionProblem& problem, const ConvolutionGrid& grid)
    : y_(grid.dim[1]), x_(grid.dim[2]), out_start_(grid.out_start) {
  batch_ = problem.ci;
  ci_ = problem.batch;
  co_ = problem.co;
  height_ = static_cast<int64_t>(y_.taps.size());
  width_ = static_cast<int64_t>(x_.taps.size());
  gradient_row_stride_ = height_ > 1 ? y_.taps[1].filter_offset - y_.taps[0].filter_offset : 0;
  tiles_y_ = TilesOf(y_);
  tiles_x_ = TilesOf(x_);
  // Not powers of two: rows would compete for few cache sets.
  input_tile_stride_ = RoundUp(ci_, Table().tile_columns) + kMaxWidth;
  gradient_tile_stride_ = RoundUp(co_, kMaxWidth) + kMaxWidth;
  const int64_t total = batch_ * tiles_y_;
  keeps_sums_ = total * tiles_x_ > kFewTiles;
  tile_rows_at_once_ = keeps_sums_ ? RowsAtOnce(total, kPositions * tiles_x_ * (input_tile_stride_ + gradient_tile_stride_)) : total;
  input_position_stride_ = tile_rows_at_once_ * tiles_x_ * input_tile_stride_ + kMaxWidth;
  gradient_position_stride_ = tile_rows_at_once_ * tiles_x_ * gradient_tile_stride_ + kMaxWidth;
  ci_at_once_ = ChannelsAtOnce(kInputs * (tiles_x_ * kOutputs + 2), ci_);
  co_at_once_ = ChannelsAtOnce(kOutputs * tiles_x_ * kOutputs, co_);
  tile_co_ = DivideUp(co_, DivideUp(co_, Table().tile_rows));
  sum_stride_ = keeps_sums_ ? input_tile_stride_ : Table().tile_columns;
  sum_position_stride_ = (keeps_sums_ ? co_ : tile_co_) * sum_stride_ + kMaxWidth;
}

int64_t WinogradWeightGradient::ThreadFloats() const {
  const int64_t transforming = std::max(kInputs * (tiles_x_ * kOutputs + 2) * ci_at_once_, kOutputs * tiles_x_ * kOutputs * co_at_once_);
  return keeps_sums_ ? transforming : std::max(transforming, kPositions * sum_position_stride_);
}

size_t WinogradWeightGradient::WorkspaceBytes() const {
  const int64_t floats = kPositions * (input_position_stride_ + gradient_position_stride_ + (keeps_sums_ ? sum_position_stride_ : 0));
  return static_cast<size_t>(floats + ThreadFloats() * ThreadPool::Get().size()) * sizeof(float);
}

// Input transform of some Ci of a row of tiles.
void WinogradWeightGradient::TransformInput(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t row,
                                            int64_t channel, float* nhwc, float* to) const {
  const int64_t count = std::min(ci_at_once_, ci_ - channel), pixel_stride = RoundUp(count, kMaxWidth);
  const int64_t length = tiles_x_ * kOutputs + 2;
  const auto* in =
      reinterpret_cast<const float*>(arguments.inputs[0]) + row / tiles_y_ * problem.in_channel_stride + channel * problem.in_batch_stride;
  CopyToNhwc({in, problem.in_batch_stride, y_.in_stride, y_.in_size, x_.in_size}, row % tiles_y_ * kOutputs + y_.taps[0].offset,
             x_.taps[0].offset, kInputs, length, count, pixel_stride, nhwc);
  for (int64_t x = 0; x < tiles_x_; ++x)
    Table().winograd_input(to + x * input_tile_stride_ + channel, input_position_stride_, nhwc + x * kOutputs * pixel_stride, pixel_stride,
                           length * pixel_stride, pixel_stride);
}

// Transform of some Co of a row of tiles of the outputs' gradient.
void WinogradWeightGradient::TransformGradient(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t row, int64_t co,
                                               float* nhwc, float* to) const {
  const int64_t count = std::min(co_at_once_, co_ - co), pixel_stride = RoundUp(count, kMaxWidth), length = tiles_x_ * kOutputs;
  const auto* from = reinterpret_cast<const float*>(arguments.inputs[1]) + row / tiles_y_ * problem.filter_ci_stride +
                     co * problem.filter_co_stride + y_.taps[0].filter_offset + x_.taps[0].filter_offset;
  CopyToNhwc({from, problem.filter_co_stride, gradient_row_stride_, height_, width_}, row % tiles_y_ * kOutputs, 0, kOutputs, length, count,
             pixel_stride, nhwc);
  for (int64_t x = 0; x < tiles_x_; ++x)
    Table().winograd_gradient(to + x * gradient_tile_stride_ + co, gradient_position_stride_, nhwc + x * kOutputs * pixel_stride,
                              pixel_stride, length * pixel_stride, pixel_stride);
}

// The GEMM of one tile of Co x Ci at one position.
void WinogradWeightGradient::Multiply(const float* gradients, const float* inputs, int64_t co, int64_t channel, int64_t tiles, bool adds,
                                      float* sums, int64_t sums_stride) const {
  Table().transposed_tiles[std::min(tile_co_, co_ - co) - 1](tiles, gradients + co, gradient_tile_stride_, inputs + channel,
                                                             input_tile_stride_, sums, sums_stride, adds);
}

// Weight transform of a tile of Co x Ci, from the sums of all positions, and the store.
void WinogradWeightGradient::Store(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t co, int64_t channel,
                                   const float* sums, int64_t position_stride) const {
  const IsaTable& table = Table();
  const int64_t width = table.tile_columns, count = std::min(width, ci_ - channel);
  alignas(64) float weights[kTaps * 32], rows[32 * kTaps];
  for (int64_t r = co; r < std::min(co_, co + tile_co_); ++r, sums += sum_stride_) {
    table.winograd_weight_gradient(weights, width, sums, position_stride, width);
    int64_t at = out_start_ + r * problem.out_channel_stride + channel * problem.out_batch_stride;
    auto* out = reinterpret_cast<float*>(arguments.outputs[0]);
    if (!problem.has_residual) {
      table.transpose(out + at, problem.out_batch_stride, weights, width, kTaps, count);
      continue;
    }
    table.transpose(rows, kTaps, weights, width, kTaps, count);
    for (int64_t c = 0; c < count; ++c, at += problem.out_batch_stride) {
      problem.AddResidual(arguments, at, 1, rows + c * kTaps, kTaps);
      std::memcpy(out + at, rows + c * kTaps, kTaps * sizeof(float));
    }
  }
}

void WinogradWeightGradient::Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t*) const {
  auto* scratch = reinterpret_cast<float*>(arguments.scratch);
  ThreadPool& pool = ThreadPool::Get();
  float* inputs = scratch;
  float* gradients = inputs + kPositions * input_position_stride_;
  float* sums = gradients + kPositions * gradient_position_stride_;
  float* thread_scratch = sums + (keeps_sums_ ? kPositions * sum_position_stride_ : 0);
  const int64_t total = batch_ * tiles_y_, width = Table().tile_columns;
  const int64_t ci_parts = DivideUp(ci_, ci_at_once_), co_parts = DivideUp(co_, co_at_once_);
  const int64_t panels = DivideUp(ci_, width), blocks = DivideUp(co_, tile_co_);
  for (int64_t start = 0; start < total; start += tile_rows_at_once_) {
    const int64_t rows = std::min(tile_rows_at_once_, total - start), tiles = rows * tiles_x_, parts = ci_parts + co_parts;
    pool.ParallelFor(0, rows * parts, 1, [&](int64_t first, int64_t last, int slot) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t row = i / parts, part = i % parts, tile = row * tiles_x_;
        float* nhwc = thread_scratch + slot * ThreadFloats();
        if (part < ci_parts) TransformInput(problem, arguments, start + row, part * ci_at_once_, nhwc, inputs + tile * input_tile_stride_);
        else
          TransformGradient(problem, arguments, start + row, (part - ci_parts) * co_at_once_, nhwc,
                            gradients + tile * gradient_tile_stride_);
      }
    });
    if (!keeps_sums_) {
      pool.ParallelFor(0, panels * blocks, 1, [&](int64_t first, int64_t last, int slot) {
        float* tile = thread_scratch + slot * ThreadFloats();
        for (int64_t i = first; i < last; ++i) {
          const int64_t channel = i / blocks * width, co = i % blocks * tile_co_;
          for (int64_t position = 0; position < kPositions; ++position)
            Multiply(gradients + position * gradient_position_stride_, inputs + position * input_position_stride_, co, channel, tiles,
                     false, tile + position * sum_position_stride_, sum_stride_);
          Store(problem, arguments, co, channel, tile, sum_position_stride_);
        }
      });
      return;
    }
    pool.ParallelFor(0, kPositions * panels, 1, [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i)
        for (int64_t co = 0; co < co_; co += tile_co_) {
          const int64_t position = i / panels, channel = i % panels * width;
          Multiply(gradients + position * gradient_position_stride_, inputs + position * input_position_stride_, co, channel, tiles,
                   start > 0, sums + position * sum_position_stride_ + co * sum_stride_ + channel, sum_stride_);
        }
    });
  }
  pool.ParallelFor(0, panels * blocks, 1, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t channel = i % panels * width, co = i / panels * tile_co_;
      Store(problem, arguments, co, channel, sums + co * sum_stride_ + channel, sum_position_stride_);
    }
  });
}

}  // namespace

std::unique_ptr<ConvStrategy> MakeWinogradWeightGradient(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  return MakeIfFits<WinogradWeightGradient>(problem, grid);
}

}  // namespace dxtensor::software::fast
