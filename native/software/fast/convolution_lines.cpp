#include "convolution_lines.h"

#include <algorithm>
#include <cstring>

#include "isa_table.h"
#include "round.h"
#include "thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kFewImages = 8, kLeastRows = 4, kLeastPlaces = 8, kMostPlaces = 768;  // more of a line would round sums too often
constexpr int64_t kMostOutputs = 64;                                                    // lines of them
constexpr int64_t kMostFloats = 1 << 22;                                                // of a copy, and of sums
constexpr int64_t kPieceWork = 500000;                                                  // multiply-adds

int64_t StepOf(const GridDimension& d) { return d.taps.size() > 1 ? d.taps[1].offset - d.taps[0].offset : 1; }

// Places of a line, in the order of memory, that read inputs at one distance from each other.
bool IsLine(const GridDimension& d) {
  const int64_t step = StepOf(d);
  for (size_t i = 1; i < d.taps.size(); ++i)
    if (d.taps[i].cell != d.taps[0].cell + static_cast<int64_t>(i) || d.taps[i].offset != d.taps[i - 1].offset + step) return false;
  return step >= 1;
}

// First and last position of the input that any tap of any output reads.
std::pair<int64_t, int64_t> ReachOf(const GridDimension& d) {
  int64_t least = d.taps[0].offset, most = least;
  for (const Tap& tap : d.taps) {
    least = std::min(least, tap.offset);
    most = std::max(most, tap.offset);
  }
  return {least, most + (d.count - 1) * d.in_step};
}

}  // namespace

bool LineSums::Fits(const ConvolutionShape& shape, const GridDimension* dimensions) {
  const GridDimension &z = dimensions[0], &y = dimensions[1], &x = dimensions[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0 || shape.groups != 1) return false;
  if (!IsFloat32(shape.in_type) || !IsFloat32(shape.filter_type) || !IsFloat32(shape.out_type)) return false;
  if (shape.has_bias || shape.normalizes || shape.adds || shape.Activates()) return false;
  if (shape.images > kFewImages || shape.rows < kLeastRows || y.count > kMostOutputs || y.taps.empty()) return false;
  const auto places = static_cast<int64_t>(x.taps.size());
  if (places < kLeastPlaces || places > kMostPlaces || x.count > 2 * Table().width || x.count * 4 > places * 3) return false;
  if ((x.count > 1 && x.in_step != 1) || (x.in_size > 1 && x.in_stride != 1) || !IsLine(x)) return false;
  const LineSums sums(shape, dimensions, 0);
  return sums.PlaneFloats() <= kMostFloats && sums.SumFloats() <= kMostFloats;
}

LineSums::LineSums(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start)
    : y_(dimensions[1]), x_(dimensions[2]), out_start_(out_start) {
  images_ = shape.images;
  channels_ = shape.channels;
  rows_ = shape.rows;
  width_ = Table().width;
  tile_rows_ = DivideUp(rows_, DivideUp(rows_, Table().tile_rows));
  is_wide_ = x_.count > width_;
  pairs_ = is_wide_ ? y_.count : DivideUp(y_.count, 2);
  step_ = StepOf(x_);
  const auto [first_line, last_line] = ReachOf(y_);
  const auto [first_column, last_column] = ReachOf(x_);
  first_line_ = first_line;
  first_column_ = first_column;
  lines_ = last_line - first_line + 1;
  // What vectors read behind the last column, and ahead.
  pitch_ = DivideUp(last_column - first_column + 1 + 2 * width_, kMaxWidth) * kMaxWidth;
  const int64_t work = static_cast<int64_t>(y_.taps.size() * x_.taps.size()) * rows_ * images_ * y_.count * x_.count;
  pieces_ = std::clamp<int64_t>(channels_ * work / kPieceWork, 1, std::min(channels_, ThreadPool::Get().size() * int64_t{8}));
}

size_t LineSums::ScratchBytes() const {
  return static_cast<size_t>(pieces_ * SumFloats() + ThreadPool::Get().size() * (PlaneFloats() + kMaxWidth)) * sizeof(float);
}

void LineSums::CopyPlane(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t channel, int64_t image,
                         float* plane) const {
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]) + image * shape.in_image + channel * shape.in_channel;
  std::memset(plane, 0, static_cast<size_t>(PlaneFloats()) * sizeof(float));
  int64_t line, last_line, column, last_column;
  Clip(first_line_, 1, y_.in_size, lines_, &line, &last_line);
  Clip(first_column_, 1, x_.in_size, pitch_, &column, &last_column);
  for (; line < last_line; ++line)
    std::memcpy(plane + line * pitch_ + column, in + (first_line_ + line) * y_.in_stride + first_column_ + column,
                static_cast<size_t>(last_column - column) * sizeof(float));
}

// `sums`: by pair and row, two vectors each.
void LineSums::AddPlane(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t channel, const float* plane,
                        float* sums) const {
  const IsaTable& table = Table();
  const auto* lines = reinterpret_cast<const float*>(arguments.inputs[1]) + channel * shape.filter_channel + x_.taps[0].cell;
  const auto places = static_cast<int64_t>(x_.taps.size());
  for (const Tap& tap : y_.taps)
    for (int64_t row = 0; row < rows_; row += tile_rows_) {
      const StridedTile multiply = table.strided_tiles[std::min(tile_rows_, rows_ - row) - 1];
      const float* a = lines + tap.cell + row * shape.filter_row;
      const float* b = plane + (tap.offset - first_line_) * pitch_ + x_.taps[0].offset - first_column_;
      for (int64_t pair = 0; pair < pairs_; ++pair) {
        const int64_t y = is_wide_ ? pair : pair * 2;
        const int64_t next = is_wide_ ? width_ : y + 1 < y_.count ? y_.in_step * pitch_ : 0;
        multiply(places, a, shape.filter_row, b + y * y_.in_step * pitch_, step_, next, sums + (pair * rows_ + row) * 2 * width_,
                 2 * width_, true);
      }
    }
}

void LineSums::Run(const ConvolutionShape& shape, const KernelArguments& arguments, float* scratch) const {
  ThreadPool& pool = ThreadPool::Get();
  float* planes = scratch + pieces_ * SumFloats();
  pool.ParallelFor(0, pieces_, 1, [&](int64_t first, int64_t last, int slot) {
    for (int64_t piece = first; piece < last; ++piece) {
      float* sums = scratch + piece * SumFloats();
      float* plane = planes + slot * (PlaneFloats() + kMaxWidth);
      std::memset(sums, 0, static_cast<size_t>(SumFloats()) * sizeof(float));
      for (int64_t channel = channels_ * piece / pieces_; channel < channels_ * (piece + 1) / pieces_; ++channel)
        for (int64_t image = 0; image < images_; ++image) {
          CopyPlane(shape, arguments, channel, image, plane);
          AddPlane(shape, arguments, channel, plane, sums + image * pairs_ * rows_ * 2 * width_);
        }
    }
  });
  for (int64_t piece = 1; piece < pieces_; ++piece) Table().axpy(scratch, scratch + piece * SumFloats(), 1, SumFloats());
  auto* out = reinterpret_cast<float*>(arguments.outputs[0]) + out_start_;
  for (int64_t image = 0; image < images_; ++image)
    for (int64_t y = 0; y < y_.count; ++y) {
      const float* from = scratch + (image * pairs_ + (is_wide_ ? y : y / 2)) * rows_ * 2 * width_ + (is_wide_ ? 0 : y % 2 * width_);
      for (int64_t row = 0; row < rows_; ++row, from += 2 * width_)
        for (int64_t x = 0; x < x_.count; ++x)
          out[image * shape.out_image + row * shape.out_row + y * y_.out_stride + x * x_.out_stride] = from[x];
    }
}

}  // namespace dxtensor::software::fast
