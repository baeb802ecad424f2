// Weight gradient for few input channels, as first layers of networks have; its taps are whole rows of the outputs' gradient.
//
// DirectML swaps roles: the operator's channels are the batch, its images the layer's input channels, its taps the positions of the
// outputs' gradient. Some rows of the outputs' gradient of one image are transposed to [position, Co]. Each position, a vector of Co, is
// multiplied by the inputs that the filter's taps read there, which are `tap_step` apart from position to position: the tiles of
// implicit_gemm_nhwc.h do that, with weights as pixels and positions as channels. The input is read from a padded copy with one phase for
// each remainder of the columns.
#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_strategy.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kMaxCi = 8, kMinCo = 4, kMinTapsPerRow = 8;
constexpr int64_t kMaxOutputs = 64;             // filter rows, and weights of a row
constexpr int64_t kMaxFloats = 1 << 22;         // of a thread, and of sums
constexpr int64_t kTransposedFloats = 1 << 14;  // that stay in the cache
constexpr int64_t kMaxRows = 64;                // that are transposed at once
constexpr int64_t kPieceWork = 500000;          // multiply-adds

// First and last position of the input that any tap of any output reads.
std::pair<int64_t, int64_t> TapRangeOf(const GridDimension& d) {
  int64_t lowest = d.taps[0].offset, highest = lowest;
  for (const Tap& tap : d.taps) {
    lowest = std::min(lowest, tap.offset);
    highest = std::max(highest, tap.offset);
  }
  return {lowest, highest + (d.count - 1) * d.conv_stride};
}

class WeightGradientRows final : public ConvStrategy {
 public:
  static bool Fits(const ConvolutionProblem& problem, const ConvolutionGrid& grid);

  WeightGradientRows(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
  size_t WorkspaceBytes() const override;
  void Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t* prepacked) const override;

 private:
  void CopyPlane(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t image, int64_t ci, float* plane) const;
  void TransposeRows(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t image, int64_t first, int64_t count,
                     float* transposed) const;
  void AddRows(int64_t first, int64_t count, const float* plane, const float* transposed, float* sums) const;
  void Store(const ConvolutionProblem& problem, const KernelArguments& arguments, float* sums) const;
  int64_t PanelWidth(int64_t co) const { return std::min(width_, padded_co_ - co); }
  int64_t SumFloats() const { return ci_ * y_.count * x_.count * padded_co_; }
  int64_t PlaneFloats() const { return tap_step_ * rows_ * pitch_; }
  int64_t TransposedFloats() const { return rows_at_once_ * static_cast<int64_t>(x_.taps.size()) * padded_co_; }
  int64_t ThreadFloats() const { return RoundUp(ci_ * PlaneFloats() + TransposedFloats(), kMaxWidth); }

  GridDimension y_, x_;
  int64_t out_start_ = 0, ci_ = 0, batch_ = 0, co_ = 0, padded_co_ = 0;  // padded: to whole vectors
  int64_t width_ = 0, max_outputs_ = 0;                                  // of a tile: Co, and weights of a filter row
  int64_t tap_step_ = 1;                                                 // input positions between adjacent taps
  int64_t first_row_ = 0, first_column_ = 0;                             // of the copy, in the input
  int64_t rows_ = 0, pitch_ = 0;                                         // of the copy, by phase
  int64_t rows_at_once_ = 1;                                             // of the outputs' gradient
  int64_t pieces_ = 1;                                                   // of the batch, each with its own sums
};

bool WeightGradientRows::Fits(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  const GridDimension &z = grid.dim[0], &y = grid.dim[1], &x = grid.dim[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0 || problem.groups != 1) return false;
  if (!IsFloat32(problem.in_type) || !IsFloat32(problem.filter_type) || !IsFloat32(problem.out_type)) return false;
  if (problem.has_bias || problem.normalizes) return false;
  if (problem.batch > kMaxCi || problem.co < kMinCo || y.count > kMaxOutputs || y.taps.empty()) return false;
  const auto taps_per_row = static_cast<int64_t>(x.taps.size());
  if (taps_per_row < kMinTapsPerRow || x.count > kMaxOutputs || x.count * 4 > taps_per_row * 3) return false;
  if ((x.count > 1 && x.conv_stride != 1) || (x.in_size > 1 && x.in_stride != 1) || !HasEvenTaps(x)) return false;
  const WeightGradientRows sums(problem, grid);
  // Before they are multiplied: no overflow.
  if (sums.rows_ > kMaxFloats || sums.tap_step_ > kMaxFloats || sums.pitch_ > kMaxFloats / sums.tap_step_) return false;
  return sums.ThreadFloats() <= kMaxFloats && sums.SumFloats() <= kMaxFloats;
}

WeightGradientRows::WeightGradientRows(const ConvolutionProblem& problem, const ConvolutionGrid& grid)
    : y_(grid.dim[1]), x_(grid.dim[2]), out_start_(grid.out_start) {
  const IsaTable& table = Table();
  ci_ = problem.batch;
  batch_ = problem.ci;
  co_ = problem.co;
  padded_co_ = RoundUp(co_, table.width);
  tap_step_ = TapStep(x_);
  // As many vectors of Co as leave registers for the weights of a filter row in one phase.
  int64_t vectors = std::min<int64_t>(table.pixel_tiles.vectors, padded_co_ / table.width);
  while (vectors > 1 && table.pixel_tiles.pixels[vectors - 1] < DivideUp(x_.count, tap_step_)) --vectors;
  width_ = vectors * table.width;
  max_outputs_ = table.pixel_tiles.pixels[vectors - 1];
  const auto [first_row, last_row] = TapRangeOf(y_);
  const auto [first_column, last_column] = TapRangeOf(x_);
  first_row_ = first_row;
  first_column_ = first_column;
  rows_ = last_row - first_row + 1;
  pitch_ = DivideUp(last_column - first_column + 1, tap_step_);
  const auto taps_per_row = static_cast<int64_t>(x_.taps.size()), all_rows = static_cast<int64_t>(y_.taps.size());
  rows_at_once_ = std::clamp<int64_t>(kTransposedFloats / (taps_per_row * padded_co_), 1, std::min(kMaxRows, all_rows));
  const int64_t work = all_rows * taps_per_row * co_ * ci_ * y_.count * x_.count;
  pieces_ = std::clamp<int64_t>(batch_ * work / kPieceWork, 1, std::min(batch_, ThreadPool::Get().size() * int64_t{8}));
}

size_t WeightGradientRows::WorkspaceBytes() const {
  return static_cast<size_t>(pieces_ * SumFloats() + ThreadPool::Get().size() * ThreadFloats()) * sizeof(float);
}

// The padded copy: [phase, row, column].
void WeightGradientRows::CopyPlane(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t image, int64_t ci,
                                   float* plane) const {
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]) + ci * problem.in_batch_stride + image * problem.in_channel_stride;
  std::memset(plane, 0, static_cast<size_t>(PlaneFloats()) * sizeof(float));
  int64_t row, last_row, column, last_column;
  Clip(first_row_, 1, y_.in_size, rows_, &row, &last_row);
  Clip(first_column_, 1, x_.in_size, tap_step_ * pitch_, &column, &last_column);
  for (; row < last_row; ++row) {
    const float* from = in + (first_row_ + row) * y_.in_stride + first_column_;
    float* to = plane + row * pitch_;
    if (tap_step_ == 1) std::memcpy(to + column, from + column, static_cast<size_t>(last_column - column) * sizeof(float));
    else
      for (int64_t c = column; c < last_column; ++c) to[c % tap_step_ * rows_ * pitch_ + c / tap_step_] = from[c];
  }
}

// Transposes some rows of an image of the outputs' gradient to [panel of Co, row, position, Co].
void WeightGradientRows::TransposeRows(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t image, int64_t first,
                                       int64_t count, float* transposed) const {
  const auto* rows = reinterpret_cast<const float*>(arguments.inputs[1]) + image * problem.filter_ci_stride + x_.taps[0].filter_offset;
  const auto taps_per_row = static_cast<int64_t>(x_.taps.size());
  for (int64_t co = 0; co < padded_co_; co += width_)
    for (int64_t row = 0; row < count; ++row) {
      const int64_t width = PanelWidth(co);
      Table().transpose(transposed + (co * count + row * width) * taps_per_row, width,
                        rows + y_.taps[static_cast<size_t>(first + row)].filter_offset + co * problem.filter_co_stride,
                        problem.filter_co_stride, std::min(width, co_ - co), taps_per_row);
    }
}

// Adds the share of these rows to the sums of one input channel.
void WeightGradientRows::AddRows(int64_t first, int64_t count, const float* plane, const float* transposed, float* sums) const {
  const PixelTiles& kernels = Table().pixel_tiles;
  const auto taps_per_row = static_cast<int64_t>(x_.taps.size());
  int64_t offsets[kMaxRows], filter_offsets[kMaxRows];
  PixelTile t{};
  t.in_stride = 1;
  t.offsets = offsets;
  t.filter_offsets = filter_offsets;
  t.taps = count;
  t.length = taps_per_row;
  t.out_stride = t.residual_stride = tap_step_ * padded_co_;
  for (int64_t row = 0; row < count; ++row) offsets[row] = (y_.taps[static_cast<size_t>(first + row)].offset - first_row_) * pitch_;
  for (int64_t co = 0; co < padded_co_; co += width_) {
    const int64_t width = PanelWidth(co);
    t.filter = transposed + co * count * taps_per_row;
    for (int64_t row = 0; row < count; ++row) filter_offsets[row] = row * width * taps_per_row;
    for (int64_t y = 0; y < y_.count; ++y)
      for (int64_t remainder = 0; remainder < std::min(tap_step_, x_.count); ++remainder) {
        const int64_t outputs = DivideUp(x_.count - remainder, tap_step_);
        for (int64_t output = 0; output < outputs; output += max_outputs_) {
          t.in = plane + (remainder * rows_ + y * y_.conv_stride) * pitch_ + output;
          t.out = sums + (y * x_.count + remainder + output * tap_step_) * padded_co_ + co;
          t.residual = t.out;
          kernels.tiles[width / Table().width - 1][std::min(max_outputs_, outputs - output) - 1](t);
        }
      }
  }
}

void WeightGradientRows::Store(const ConvolutionProblem& problem, const KernelArguments& arguments, float* sums) const {
  auto* out = reinterpret_cast<float*>(arguments.outputs[0]) + out_start_;
  const float* residual = problem.has_residual ? reinterpret_cast<const float*>(arguments.inputs[4]) + out_start_ : nullptr;
  for (int64_t ci = 0; ci < ci_; ++ci)
    for (int64_t y = 0; y < y_.count; ++y)
      for (int64_t x = 0; x < x_.count; ++x, sums += padded_co_) {
        const int64_t at = ci * problem.out_batch_stride + y * y_.out_stride + x * x_.out_stride;
        for (int64_t co = 0; residual && co < co_; ++co) sums[co] += residual[at + co * problem.out_channel_stride];
        if (problem.Activates()) problem.Activate(arguments, sums, padded_co_);
        for (int64_t co = 0; co < co_; ++co) out[at + co * problem.out_channel_stride] = sums[co];
      }
}

void WeightGradientRows::Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t*) const {
  auto* scratch = reinterpret_cast<float*>(arguments.scratch);
  ThreadPool& pool = ThreadPool::Get();
  float* own = scratch + pieces_ * SumFloats();
  const auto rows = static_cast<int64_t>(y_.taps.size());
  pool.ParallelFor(0, pieces_, 1, [&](int64_t first, int64_t last, int slot) {
    float* planes = own + slot * ThreadFloats();
    float* transposed = planes + ci_ * PlaneFloats();
    std::fill(transposed, transposed + TransposedFloats(), 0.0f);  // the padding of Co is computed and not stored
    for (int64_t piece = first; piece < last; ++piece) {
      float* sums = scratch + piece * SumFloats();
      std::fill(sums, sums + SumFloats(), 0.0f);
      for (int64_t image = batch_ * piece / pieces_; image < batch_ * (piece + 1) / pieces_; ++image) {
        for (int64_t ci = 0; ci < ci_; ++ci) CopyPlane(problem, arguments, image, ci, planes + ci * PlaneFloats());
        for (int64_t row = 0; row < rows; row += rows_at_once_) {
          const int64_t count = std::min(rows_at_once_, rows - row);
          TransposeRows(problem, arguments, image, row, count, transposed);
          for (int64_t ci = 0; ci < ci_; ++ci)
            AddRows(row, count, planes + ci * PlaneFloats(), transposed, sums + ci * y_.count * x_.count * padded_co_);
        }
      }
    }
  });
  for (int64_t piece = 1; piece < pieces_; ++piece) Table().axpy(scratch, scratch + piece * SumFloats(), 1, SumFloats());
  Store(problem, arguments, scratch);
}

}  // namespace

std::unique_ptr<ConvStrategy> MakeWeightGradientRows(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  return MakeIfFits<WeightGradientRows>(problem, grid);
}

}  // namespace dxtensor::software::fast
