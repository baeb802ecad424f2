#include "convolution_lines.h"

#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kFewImages = 8, kLeastRows = 4, kLeastPlaces = 8;
constexpr int64_t kMostOutputs = 64;        // lines of them, and outputs of a line
constexpr int64_t kMostFloats = 1 << 22;    // of a thread, and of sums
constexpr int64_t kTurnedFloats = 1 << 14;  // that stay in the cache
constexpr int64_t kMostLines = 64;          // that are turned at once
constexpr int64_t kPieceWork = 500000;      // multiply-adds

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
  if (shape.has_bias || shape.normalizes) return false;
  if (shape.images > kFewImages || shape.rows < kLeastRows || y.count > kMostOutputs || y.taps.empty()) return false;
  const auto places = static_cast<int64_t>(x.taps.size());
  if (places < kLeastPlaces || x.count > kMostOutputs || x.count * 4 > places * 3) return false;
  if ((x.count > 1 && x.in_step != 1) || (x.in_size > 1 && x.in_stride != 1) || !IsLine(x)) return false;
  const LineSums sums(shape, dimensions, 0);
  // Before products of these.
  if (sums.lines_ > kMostFloats || sums.step_ > kMostFloats || sums.pitch_ > kMostFloats / sums.step_) return false;
  return sums.ThreadFloats() <= kMostFloats && sums.SumFloats() <= kMostFloats;
}

LineSums::LineSums(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start)
    : y_(dimensions[1]), x_(dimensions[2]), out_start_(out_start) {
  const IsaTable& table = Table();
  images_ = shape.images;
  channels_ = shape.channels;
  rows_ = shape.rows;
  all_rows_ = RoundUp(rows_, table.width);
  step_ = StepOf(x_);
  // As many vectors of rows as leave room for a line's outputs of one remainder.
  int64_t vectors = std::min<int64_t>(table.pixel_tiles.vectors, all_rows_ / table.width);
  while (vectors > 1 && table.pixel_tiles.pixels[vectors - 1] < DivideUp(x_.count, step_)) --vectors;
  width_ = vectors * table.width;
  most_outputs_ = table.pixel_tiles.pixels[vectors - 1];
  const auto [first_line, last_line] = ReachOf(y_);
  const auto [first_column, last_column] = ReachOf(x_);
  first_line_ = first_line;
  first_column_ = first_column;
  lines_ = last_line - first_line + 1;
  pitch_ = DivideUp(last_column - first_column + 1, step_);
  const auto places = static_cast<int64_t>(x_.taps.size()), all_lines = static_cast<int64_t>(y_.taps.size());
  lines_at_once_ = std::clamp<int64_t>(kTurnedFloats / (places * all_rows_), 1, std::min(kMostLines, all_lines));
  const int64_t work = all_lines * places * rows_ * images_ * y_.count * x_.count;
  pieces_ = std::clamp<int64_t>(channels_ * work / kPieceWork, 1, std::min(channels_, ThreadPool::Get().size() * int64_t{8}));
}

size_t LineSums::ScratchBytes() const {
  return static_cast<size_t>(pieces_ * SumFloats() + ThreadPool::Get().size() * ThreadFloats()) * sizeof(float);
}

// By remainder and line.
void LineSums::CopyPlane(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t channel, int64_t image,
                         float* plane) const {
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]) + image * shape.in_image + channel * shape.in_channel;
  std::memset(plane, 0, static_cast<size_t>(PlaneFloats()) * sizeof(float));
  int64_t line, last_line, column, last_column;
  Clip(first_line_, 1, y_.in_size, lines_, &line, &last_line);
  Clip(first_column_, 1, x_.in_size, step_ * pitch_, &column, &last_column);
  for (; line < last_line; ++line) {
    const float* from = in + (first_line_ + line) * y_.in_stride + first_column_;
    float* to = plane + line * pitch_;
    if (step_ == 1) std::memcpy(to + column, from + column, static_cast<size_t>(last_column - column) * sizeof(float));
    else
      for (int64_t c = column; c < last_column; ++c) to[c % step_ * lines_ * pitch_ + c / step_] = from[c];
  }
}

// Some lines of an image of the outputs' gradient: by panel of rows and place, the panel's rows side by side.
void LineSums::TurnLines(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t channel, int64_t first, int64_t count,
                         float* turned) const {
  const auto* lines = reinterpret_cast<const float*>(arguments.inputs[1]) + channel * shape.filter_channel + x_.taps[0].cell;
  const auto places = static_cast<int64_t>(x_.taps.size());
  for (int64_t row = 0; row < all_rows_; row += width_)
    for (int64_t line = 0; line < count; ++line) {
      const int64_t width = PanelWidth(row);
      Table().turn(turned + (row * count + line * width) * places, width,
                   lines + y_.taps[static_cast<size_t>(first + line)].cell + row * shape.filter_row, shape.filter_row,
                   std::min(width, rows_ - row), places);
    }
}

// Adds what these lines contribute to the sums of an image.
void LineSums::AddLines(int64_t first, int64_t count, const float* plane, const float* turned, float* sums) const {
  const PixelTiles& kernels = Table().pixel_tiles;
  const auto places = static_cast<int64_t>(x_.taps.size());
  int64_t offsets[kMostLines], cells[kMostLines];
  PixelTile t{};
  t.in_step = 1;
  t.offsets = offsets;
  t.cells = cells;
  t.taps = count;
  t.length = places;
  t.out_step = t.added_step = step_ * all_rows_;
  for (int64_t line = 0; line < count; ++line) offsets[line] = (y_.taps[static_cast<size_t>(first + line)].offset - first_line_) * pitch_;
  for (int64_t row = 0; row < all_rows_; row += width_) {
    const int64_t width = PanelWidth(row);
    t.filter = turned + row * count * places;
    for (int64_t line = 0; line < count; ++line) cells[line] = line * width * places;
    for (int64_t y = 0; y < y_.count; ++y)
      for (int64_t remainder = 0; remainder < std::min(step_, x_.count); ++remainder) {
        const int64_t outputs = DivideUp(x_.count - remainder, step_);
        for (int64_t output = 0; output < outputs; output += most_outputs_) {
          t.in = plane + (remainder * lines_ + y * y_.in_step) * pitch_ + output;
          t.out = sums + (y * x_.count + remainder + output * step_) * all_rows_ + row;
          t.added = t.out;
          kernels.tiles[width / Table().width - 1][std::min(most_outputs_, outputs - output) - 1](t);
        }
      }
  }
}

void LineSums::Store(const ConvolutionShape& shape, const KernelArguments& arguments, float* sums) const {
  auto* out = reinterpret_cast<float*>(arguments.outputs[0]) + out_start_;
  const float* added = shape.adds ? reinterpret_cast<const float*>(arguments.inputs[4]) + out_start_ : nullptr;
  for (int64_t image = 0; image < images_; ++image)
    for (int64_t y = 0; y < y_.count; ++y)
      for (int64_t x = 0; x < x_.count; ++x, sums += all_rows_) {
        const int64_t at = image * shape.out_image + y * y_.out_stride + x * x_.out_stride;
        for (int64_t row = 0; added && row < rows_; ++row) sums[row] += added[at + row * shape.out_row];
        if (shape.Activates()) shape.Activate(arguments, sums, all_rows_);
        for (int64_t row = 0; row < rows_; ++row) out[at + row * shape.out_row] = sums[row];
      }
}

void LineSums::Run(const ConvolutionShape& shape, const KernelArguments& arguments, float* scratch) const {
  ThreadPool& pool = ThreadPool::Get();
  float* own = scratch + pieces_ * SumFloats();
  const auto lines = static_cast<int64_t>(y_.taps.size());
  pool.ParallelFor(0, pieces_, 1, [&](int64_t first, int64_t last, int slot) {
    float* planes = own + slot * ThreadFloats();
    float* turned = planes + images_ * PlaneFloats();
    std::fill(turned, turned + TurnedFloats(), 0.0f);  // rows up to whole vectors, which are computed and not stored
    for (int64_t piece = first; piece < last; ++piece) {
      float* sums = scratch + piece * SumFloats();
      std::fill(sums, sums + SumFloats(), 0.0f);
      for (int64_t channel = channels_ * piece / pieces_; channel < channels_ * (piece + 1) / pieces_; ++channel) {
        for (int64_t image = 0; image < images_; ++image) CopyPlane(shape, arguments, channel, image, planes + image * PlaneFloats());
        for (int64_t line = 0; line < lines; line += lines_at_once_) {
          const int64_t count = std::min(lines_at_once_, lines - line);
          TurnLines(shape, arguments, channel, line, count, turned);
          for (int64_t image = 0; image < images_; ++image)
            AddLines(line, count, planes + image * PlaneFloats(), turned, sums + image * y_.count * x_.count * all_rows_);
        }
      }
    }
  });
  for (int64_t piece = 1; piece < pieces_; ++piece) Table().axpy(scratch, scratch + piece * SumFloats(), 1, SumFloats());
  Store(shape, arguments, scratch);
}

}  // namespace dxtensor::software::fast
