#include "plane_sums.h"

#include <algorithm>
#include <cmath>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kMostOutputs = 64, kMostPlanes = 4;  // of a group, for each channel
constexpr int64_t kLeastPlaces = 16;
constexpr int64_t kMostFloats = 1 << 22;  // of a thread
constexpr int64_t kBlock = 1 << 12;       // floats; sums are rounded less when they are not too long
constexpr int64_t kTaskWork = 200000;     // multiply-adds

}  // namespace

bool PlaneSums::Fits(const ConvolutionShape& shape, const GridDimension* dimensions) {
  const GridDimension &z = dimensions[0], &y = dimensions[1], &x = dimensions[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0 || shape.rows * shape.images > kMostPlanes) return false;
  if (!IsFloat32(shape.in_type) || !IsFloat32(shape.filter_type) || !IsFloat32(shape.out_type)) return false;
  if (shape.has_bias || shape.normalizes || y.taps.empty() || x.taps.empty() || !IsLine(x) || !IsLine(y, LineCells(y))) return false;
  if (y.count > kMostOutputs / x.count || y.taps.size() * x.taps.size() < kLeastPlaces || (x.in_size > 1 && x.in_stride != 1)) return false;
  return PlaneSums(dimensions, 0).HasRoom();
}

PlaneSums::PlaneSums(const GridDimension* dimensions, int64_t out_start)
    : y_(dimensions[1]), x_(dimensions[2]), out_start_(out_start), step_y_(StepOf(y_)), step_x_(StepOf(x_)) {
  lines_ = static_cast<int64_t>(y_.taps.size()) + (y_.count - 1) * y_.in_step / step_y_;
  pitch_ = static_cast<int64_t>(x_.taps.size()) + (x_.count - 1) * x_.in_step / step_x_;
  if (lines_ > kMostFloats || pitch_ > kMostFloats) return;
  for (int64_t y = 0; y < y_.count * y_.in_step; y += y_.in_step)
    for (int64_t x = 0; x < x_.count * x_.in_step; x += x_.in_step) {
      const Phase phase = {y % step_y_, x % step_x_};
      auto is_it = [&](const Phase& p) { return p.y == phase.y && p.x == phase.x; };
      auto found = std::find_if(phases_.begin(), phases_.end(), is_it);
      if (found == phases_.end()) found = phases_.insert(found, phase);
      offsets_.push_back((found - phases_.begin()) * PhaseFloats() + y / step_y_ * pitch_ + x / step_x_);
    }
}

bool PlaneSums::HasRoom() const { return !offsets_.empty() && ThreadFloats() <= kMostFloats; }

size_t PlaneSums::ScratchBytes() const { return static_cast<size_t>(ThreadPool::Get().size() * ThreadFloats()) * sizeof(float); }

// Writes no zeros: these are the same for all planes.
void PlaneSums::CopyInput(const float* in, float* to) const {
  for (const Phase& phase : phases_) {
    const int64_t top = y_.taps[0].offset + phase.y, left = x_.taps[0].offset + phase.x;
    int64_t line, last_line, column, last_column;
    Clip(top, step_y_, y_.in_size, lines_, &line, &last_line);
    Clip(left, step_x_, x_.in_size, pitch_, &column, &last_column);
    Table().copy_rows(to + line * pitch_ + column, pitch_, in + (top + line * step_y_) * y_.in_stride + left + column * step_x_,
                      step_y_ * y_.in_stride, step_x_, last_line - line, last_column - column);
    to += PhaseFloats();
  }
}

void PlaneSums::AddProducts(const float* gradient, const float* in, float* sums) const {
  for (int64_t from = 0; from < GradientFloats(); from += kBlock)
    Table().dots(sums, gradient + from, in + from, offsets_.data(), Outputs(), std::min(kBlock, GradientFloats() - from));
}

float PlaneSums::SumInOrder(const float* gradient, const float* in, int64_t output) const {
  const int64_t start_y = output / x_.count * y_.in_step, start_x = output % x_.count * x_.in_step;
  float sum = 0;
  for (const Tap& y : y_.taps)
    for (const Tap& x : x_.taps) {
      const int64_t line = start_y + y.offset, column = start_x + x.offset;
      if (line < 0 || line >= y_.in_size || column < 0 || column >= x_.in_size) continue;
      sum += gradient[y.cell + x.cell] * in[line * y_.in_stride + column];
    }
  return sum;
}

void PlaneSums::RunGroup(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t task, float* room) const {
  const int64_t row = task % shape.rows, image = task / shape.rows % shape.images, group = task / shape.rows / shape.images;
  const auto* in = reinterpret_cast<const float*>(arguments.inputs[0]) + image * shape.in_image + group * shape.channels * shape.in_channel;
  const auto* gradient = reinterpret_cast<const float*>(arguments.inputs[1]) + group * shape.filter_group + row * shape.filter_row;
  const int64_t lines = static_cast<int64_t>(y_.taps.size()), places = static_cast<int64_t>(x_.taps.size());
  float* copy = room + InputFloats();
  alignas(64) float sums[kMostOutputs] = {};
  for (int64_t c = 0; c < shape.channels; ++c) {
    CopyInput(in + c * shape.in_channel, room);
    Table().copy_rows(copy, pitch_, gradient + c * shape.filter_channel + y_.taps[0].cell + x_.taps[0].cell, LineCells(y_), 1, lines,
                      places);
    AddProducts(copy, room, sums);
  }
  // The zeros behind a line made NaN of what is infinite in another's place.
  for (int64_t output = 0; output < Outputs(); ++output) {
    if (std::isfinite(sums[output])) continue;
    sums[output] = 0;
    for (int64_t c = 0; c < shape.channels; ++c)
      sums[output] += SumInOrder(gradient + c * shape.filter_channel, in + c * shape.in_channel, output);
  }

  auto* out = reinterpret_cast<float*>(arguments.outputs[0]);
  auto place = [&](int64_t output) {
    return out_start_ + image * shape.out_image + (group * shape.rows + row) * shape.out_row + output / x_.count * y_.out_stride +
           output % x_.count * x_.out_stride;
  };
  for (int64_t output = 0; shape.adds && output < Outputs(); ++output)
    sums[output] += reinterpret_cast<const float*>(arguments.inputs[4])[place(output)];
  if (shape.Activates()) shape.Activate(arguments, sums, RoundUp(Outputs(), kMaxWidth));
  for (int64_t output = 0; output < Outputs(); ++output) out[place(output)] = sums[output];
}

void PlaneSums::Run(const ConvolutionShape& shape, const KernelArguments& arguments, float* scratch) const {
  const int64_t work = shape.channels * GradientFloats() * Outputs();
  ThreadPool::Get().ParallelFor(0, shape.groups * shape.images * shape.rows, std::max<int64_t>(1, kTaskWork / work),
                                [&](int64_t first, int64_t last, int slot) {
                                  float* room = scratch + slot * ThreadFloats();
                                  std::fill(room, room + ThreadFloats(), 0.0f);
                                  for (int64_t task = first; task < last; ++task) RunGroup(shape, arguments, task, room);
                                });
}

}  // namespace dxtensor::software::fast
