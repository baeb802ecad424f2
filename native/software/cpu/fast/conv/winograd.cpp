// Winograd F(4 x 4, 3 x 3) convolution, forward and data gradient: 4 x 4 outputs from 6 x 6 inputs with a quarter of the multiplications.
// An input that is not finite makes all outputs of its tiles so, and rounding differs from that of sums in order.
//
// Four stages over some rows of tiles: the input to NHWC, the input transform to 36 positions, for each position a GEMM of [tiles, Ci] with
// [Ci, Co], the output transform.
#include <algorithm>
#include <array>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_strategy.h"
#include "winograd_tiles.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kPackedChannels: within 5 % from 1/4 to 4 times.
constexpr int64_t kPackedChannels = 16;

int64_t LowestOffset(const GridDimension& d) {
  int64_t lowest = d.taps[0].offset;
  for (const Tap& tap : d.taps) lowest = std::min(lowest, tap.offset);
  return lowest;
}
bool HasThreeAdjacentTaps(const GridDimension& d) {
  if (d.taps.size() != 3 || (d.conv_stride != 1 && d.count > 1)) return false;
  bool found[3] = {};
  for (const Tap& tap : d.taps) {
    const int64_t at = tap.offset - LowestOffset(d);
    if (at < 3) found[at] = true;
  }
  return found[0] && found[1] && found[2];
}
// Whether the layout is NHWC.
bool ReadsNhwc(const ConvolutionProblem& problem, const GridDimension& x) {
  return problem.in_channel_stride == 1 && x.in_size > 1 && x.in_stride > 1;
}
bool WritesNhwc(const ConvolutionProblem& problem, const GridDimension& x) {
  return problem.out_channel_stride == 1 && x.count > 1 && x.out_stride > 1;
}

class Winograd final : public ConvStrategy, WinogradTiles {
 public:
  // Whether it covers these dimensions, and is faster than a direct convolution.
  static bool Fits(const ConvolutionProblem& problem, const ConvolutionGrid& grid);

  Winograd(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
  size_t WorkspaceBytes() const override;
  size_t PrepackedBytes() const override;
  void Prepack(const ConvolutionProblem& problem, const KernelArguments& arguments, uint8_t* to) const override;
  void Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t* prepacked) const override;

 private:
  void TransformInput(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t row, int64_t channel, float* nhwc,
                      float* to) const;
  void TransformNhwcInput(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t row, int64_t channel, float* nhwc,
                          float* to) const;
  void Multiply(const float* filter, const float* positions, int64_t task, int64_t tiles, float* sums) const;
  void TransformOutput(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t row, int64_t co, const float* sums,
                       const float* scale_shift, float* nhwc) const;
  int64_t ThreadFloats() const;

  ConvolutionGrid grid_;
  GridDimension y_, x_;
  int64_t out_start_ = 0, first_y_ = 0, first_x_ = 0;  // the input position of the first tile
  bool reads_nhwc_ = false, writes_nhwc_ = false;      // layout of the input, of the output
  int64_t ci_ = 0, co_ = 0, batch_ = 0;
  int64_t tiles_y_ = 0, tiles_x_ = 0;                      // of an image
  int64_t tile_rows_at_once_ = 0;                          // that are computed together
  int64_t panels_ = 0;                                     // of Co
  int64_t tile_stride_ = 0, sum_stride_ = 0;               // floats between tiles at one position
  int64_t scale_shift_stride_ = 0;                         // of ConvolutionProblem
  int64_t position_stride_ = 0, sum_position_stride_ = 0;  // floats between positions
  int64_t ci_at_once_ = 0, co_at_once_ = 0;
  std::array<int32_t, 9> taps_{};  // index in the packed filter, by row and column
};

bool Winograd::Fits(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  const GridDimension &z = grid.dim[0], &y = grid.dim[1], &x = grid.dim[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0 || !HasThreeAdjacentTaps(y) || !HasThreeAdjacentTaps(x)) return false;
  if (problem.groups != 1 || problem.ci < kMinChannels || problem.co < kMinChannels) return false;
  if (!IsFloat32(problem.in_type) || !IsFloat32(problem.out_type)) return false;
  if (x.in_size > 1 && x.in_stride != 1 && !ReadsNhwc(problem, x)) return false;
  if (x.count > 1 && x.out_stride != 1 && !WritesNhwc(problem, x)) return false;
  // Cycles of the direct convolution, and of Winograd: the GEMMs, the transforms, and reading the filter once.
  // Measured (AVX-512): all 30 layers of ResNet-18 and ResNet-50 that the model gives to Winograd gain, 1.1 to 23 times, 2.4 in total.
  const auto k = static_cast<double>(problem.ci), m = static_cast<double>(RoundUp(problem.co, Table().tile_columns));
  const auto tiles = static_cast<double>(problem.batch * DivideUp(y.count, kOutputs) * DivideUp(x.count, kOutputs));
  const auto outputs = static_cast<double>(problem.batch * y.count * x.count);
  const double direct = outputs * 9 * k * m / 32 * 1.2;
  const double transformed = tiles * (36 * k * m / 32 + 30 * (k + m)) + 18 * k * m;
  return transformed < direct && IsAllowed();
}

Winograd::Winograd(const ConvolutionProblem& problem, const ConvolutionGrid& grid)
    : grid_(grid), y_(grid.dim[1]), x_(grid.dim[2]), out_start_(grid.out_start), first_y_(LowestOffset(y_)), first_x_(LowestOffset(x_)) {
  reads_nhwc_ = ReadsNhwc(problem, x_);
  writes_nhwc_ = WritesNhwc(problem, x_);
  ci_ = problem.ci;
  co_ = problem.co;
  batch_ = problem.batch;
  tiles_y_ = DivideUp(y_.count, kOutputs);
  tiles_x_ = DivideUp(x_.count, kOutputs);
  panels_ = DivideUp(co_, Table().tile_columns);
  // Not a power of two: rows would compete for few cache sets.
  tile_stride_ = RoundUp(ci_, kMaxWidth) + kMaxWidth;
  scale_shift_stride_ = problem.ScaleShiftStride();
  sum_stride_ = RoundUp(panels_ * Table().tile_columns, kMaxWidth) + kMaxWidth;
  tile_rows_at_once_ = RowsAtOnce(batch_ * tiles_y_, kPositions * tiles_x_ * (tile_stride_ + sum_stride_));
  position_stride_ = tile_rows_at_once_ * tiles_x_ * tile_stride_ + kMaxWidth;
  sum_position_stride_ = tile_rows_at_once_ * tiles_x_ * sum_stride_ + kMaxWidth;
  ci_at_once_ = ChannelsAtOnce(kInputs * (tiles_x_ * kOutputs + 2), ci_);
  co_at_once_ = ChannelsAtOnce(kOutputs * tiles_x_ * kOutputs, co_);
  for (size_t y = 0; y < 3; ++y)
    for (size_t x = 0; x < 3; ++x)
      taps_[static_cast<size_t>((y_.taps[y].offset - first_y_) * 3 + x_.taps[x].offset - first_x_)] = static_cast<int32_t>(y * 3 + x);
}

// The buffer of a row of tiles, and after its outputs space for one row of the residual.
int64_t Winograd::ThreadFloats() const {
  return std::max(kInputs * (tiles_x_ * kOutputs + 2) * ci_at_once_, (kOutputs + 1) * tiles_x_ * kOutputs * co_at_once_);
}

size_t Winograd::WorkspaceBytes() const {
  const int64_t floats =
      kPositions * (position_stride_ + sum_position_stride_) + 2 * scale_shift_stride_ + ThreadFloats() * ThreadPool::Get().size();
  return PrepackedBytes() + static_cast<size_t>(floats) * sizeof(float);
}

size_t Winograd::PrepackedBytes() const { return static_cast<size_t>(kPositions * panels_ * ci_ * Table().tile_columns) * sizeof(float); }

// Layout of the packed filter: [position, panel of Co, Ci, Co of the panel].
void Winograd::Prepack(const ConvolutionProblem& problem, const KernelArguments& arguments, uint8_t* to) const {
  const IsaTable& table = Table();
  const int64_t width = table.tile_columns, pieces = DivideUp(ci_, kPackedChannels);
  auto* positions = reinterpret_cast<float*>(to);
  ThreadPool::Get().ParallelFor(0, panels_ * pieces, 4, [&](int64_t first, int64_t last, int) {
    alignas(64) float weights[9 * kPackedChannels * 32 + 32] = {};
    for (int64_t i = first; i < last; ++i) {
      const int64_t panel = i / pieces, k = i % pieces * kPackedChannels, co_count = std::min(width, co_ - panel * width);
      const int64_t count = std::min(kPackedChannels, ci_ - k);
      grid_.PackFilter(problem, arguments.inputs[1], 0, panel * width, co_count, k * 9, count * 9, weights);
      for (int64_t c = 0; c < count; ++c)
        table.winograd_filter(positions + (panel * ci_ + k + c) * width, panels_ * ci_ * width, weights + c * 9 * co_count, co_count,
                              taps_.data(), width);
    }
  });
}

// NHWC input: only tiles at the edges are copied, with zeros around.
void Winograd::TransformNhwcInput(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t row, int64_t channel,
                                  float* nhwc, float* to) const {
  const int64_t count = std::min(ci_at_once_, ci_ - channel), pixel_stride = RoundUp(count, kMaxWidth);
  const int64_t start_y = row % tiles_y_ * kOutputs + first_y_;
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]) + row / tiles_y_ * problem.in_batch_stride + channel;
  const bool reads_whole = pixel_stride == count || problem.input_is_padded, inside_y = start_y >= 0 && start_y + kInputs <= y_.in_size;
  for (int64_t tile = 0; tile < tiles_x_; ++tile) {
    const int64_t start_x = tile * kOutputs + first_x_;
    const float* from = in + start_y * y_.in_stride + start_x * x_.in_stride;
    int64_t x_stride = x_.in_stride, y_stride = y_.in_stride;
    if (!reads_whole || !inside_y || start_x < 0 || start_x + kInputs > x_.in_size) {
      std::memset(nhwc, 0, static_cast<size_t>(kInputs * kInputs * pixel_stride) * sizeof(float));
      for (int64_t y = std::max<int64_t>(0, -start_y); y < std::min(kInputs, y_.in_size - start_y); ++y)
        for (int64_t x = std::max<int64_t>(0, -start_x); x < std::min(kInputs, x_.in_size - start_x); ++x)
          std::memcpy(nhwc + (y * kInputs + x) * pixel_stride, from + y * y_stride + x * x_stride,
                      static_cast<size_t>(count) * sizeof(float));
      from = nhwc;
      x_stride = pixel_stride;
      y_stride = kInputs * pixel_stride;
    }
    Table().winograd_input(to + tile * tile_stride_ + channel, position_stride_, from, x_stride, y_stride, pixel_stride);
  }
}

// Input transform of some channels of a row of tiles: to NHWC in `nhwc`, then to the positions in `to`.
void Winograd::TransformInput(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t row, int64_t channel,
                              float* nhwc, float* to) const {
  if (reads_nhwc_) return TransformNhwcInput(problem, arguments, row, channel, nhwc, to);
  const int64_t count = std::min(ci_at_once_, ci_ - channel), pixel_stride = RoundUp(count, kMaxWidth);
  const int64_t length = tiles_x_ * kOutputs + 2;
  const auto* in =
      reinterpret_cast<const float*>(arguments.inputs[0]) + row / tiles_y_ * problem.in_batch_stride + channel * problem.in_channel_stride;
  CopyToNhwc({in, problem.in_channel_stride, y_.in_stride, y_.in_size, x_.in_size}, row % tiles_y_ * kOutputs + first_y_, first_x_, kInputs,
             length, count, pixel_stride, nhwc);
  for (int64_t x = 0; x < tiles_x_; ++x)
    Table().winograd_input(to + x * tile_stride_ + channel, position_stride_, nhwc + x * kOutputs * pixel_stride, pixel_stride,
                           length * pixel_stride, pixel_stride);
}

// The GEMM of one panel of Co at one position.
void Winograd::Multiply(const float* filter, const float* positions, int64_t task, int64_t tiles, float* sums) const {
  const IsaTable& table = Table();
  const int64_t position = task / panels_, panel = task % panels_, width = table.tile_columns;
  const int64_t height = DivideUp(tiles, DivideUp(tiles, table.tile_rows));
  for (int64_t tile = 0; tile < tiles; tile += height)
    table.strided_tiles[std::min(height, tiles - tile) - 1](
        ci_, positions + position * position_stride_ + tile * tile_stride_, tile_stride_, filter + task * ci_ * width, width,
        sums + position * sum_position_stride_ + tile * sum_stride_ + panel * width, sum_stride_, false);
}

// Output transform of some Co of a row of tiles: to NHWC in `nhwc`, then the epilogue and the store.
void Winograd::TransformOutput(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t row, int64_t co,
                               const float* sums, const float* scale_shift, float* nhwc) const {
  const IsaTable& table = Table();
  const int64_t count = std::min(co_at_once_, co_ - co), pixel_stride = RoundUp(count, kMaxWidth), length = tiles_x_ * kOutputs;
  const WinogradEpilogue epilogue = {scale_shift ? scale_shift + co : nullptr,
                                     scale_shift ? scale_shift + scale_shift_stride_ + co : nullptr};
  for (int64_t x = 0; x < tiles_x_; ++x)
    table.winograd_output(nhwc + x * kOutputs * pixel_stride, pixel_stride, length * pixel_stride, sums + x * sum_stride_ + co,
                          sum_position_stride_, epilogue, pixel_stride);
  const int64_t start_y = row % tiles_y_ * kOutputs, rows = std::min(kOutputs, y_.count - start_y);
  const int64_t to = out_start_ + row / tiles_y_ * problem.out_batch_stride + co * problem.out_channel_stride + start_y * y_.out_stride;
  if (writes_nhwc_) {
    auto* out = reinterpret_cast<float*>(arguments.outputs[0]) + to;
    const float* residual = problem.has_residual ? reinterpret_cast<const float*>(arguments.inputs[4]) + to : nullptr;
    const ClampRange range = problem.clamp ? problem.ClampIn(arguments) : ClampRange();
    for (int64_t y = 0; y < rows; ++y) {
      float* row_sums = nhwc + y * length * pixel_stride;
      if (!problem.clamp) {
        for (int64_t x = 0; x < x_.count && residual; ++x)
          table.axpy(row_sums + x * pixel_stride, residual + y * y_.out_stride + x * x_.out_stride, 1, count);
        problem.Activate(arguments, row_sums, x_.count * pixel_stride);
      }
      TileEpilogue epilogue_of_row{range.low, range.high};
      epilogue_of_row.residual = problem.clamp && residual ? residual + y * y_.out_stride : nullptr;
      epilogue_of_row.residual_stride = x_.out_stride;
      table.apply_epilogue(out + y * y_.out_stride, x_.out_stride, row_sums, pixel_stride, epilogue_of_row, x_.count, count);
    }
    return;
  }
  if (problem.has_residual) {
    float* residual = nhwc + kOutputs * length * pixel_stride;
    for (int64_t y = 0; y < rows; ++y) {
      table.transpose(residual, pixel_stride, reinterpret_cast<const float*>(arguments.inputs[4]) + to + y * y_.out_stride,
                      problem.out_channel_stride, count, x_.count);
      table.axpy(nhwc + y * length * pixel_stride, residual, 1, x_.count * pixel_stride);
    }
  }
  if (problem.Activates()) problem.Activate(arguments, nhwc, kOutputs * length * pixel_stride);
  for (int64_t y = 0; y < rows; ++y)
    table.transpose(reinterpret_cast<float*>(arguments.outputs[0]) + to + y * y_.out_stride, problem.out_channel_stride,
                    nhwc + y * length * pixel_stride, pixel_stride, x_.count, count);
}

void Winograd::Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t* prepacked) const {
  ThreadPool& pool = ThreadPool::Get();
  if (!prepacked) Prepack(problem, arguments, arguments.scratch);
  const auto* filter = reinterpret_cast<const float*>(prepacked ? prepacked : arguments.scratch);
  auto* positions = reinterpret_cast<float*>(arguments.scratch + PrepackedBytes());
  float* sums = positions + kPositions * position_stride_;
  float* buffer = sums + kPositions * sum_position_stride_;
  float* thread_scratch = buffer + 2 * scale_shift_stride_;
  const float* scale_shift = problem.ScaleShiftOf(arguments, buffer);
  const int64_t total = batch_ * tiles_y_, inputs = DivideUp(ci_, ci_at_once_), outputs = DivideUp(co_, co_at_once_);
  for (int64_t start = 0; start < total; start += tile_rows_at_once_) {
    const int64_t rows = std::min(tile_rows_at_once_, total - start), tiles = rows * tiles_x_;
    pool.ParallelFor(0, rows * inputs, 1, [&](int64_t first, int64_t last, int slot) {
      for (int64_t i = first; i < last; ++i)
        TransformInput(problem, arguments, start + i / inputs, i % inputs * ci_at_once_, thread_scratch + slot * ThreadFloats(),
                       positions + i / inputs * tiles_x_ * tile_stride_);
    });
    pool.ParallelFor(0, kPositions * panels_, 1, [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) Multiply(filter, positions, i, tiles, sums);
    });
    pool.ParallelFor(0, rows * outputs, 1, [&](int64_t first, int64_t last, int slot) {
      for (int64_t i = first; i < last; ++i)
        TransformOutput(problem, arguments, start + i / outputs, i % outputs * co_at_once_, sums + i / outputs * tiles_x_ * sum_stride_,
                        scale_shift, thread_scratch + slot * ThreadFloats());
    });
  }
}

}  // namespace

std::unique_ptr<ConvStrategy> MakeWinograd(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  return MakeIfFits<Winograd>(problem, grid);
}

}  // namespace dxtensor::software::fast
