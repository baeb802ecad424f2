// Resampling along the last two dimensions of packed float32, and its gradient: rows are weighed whole, columns by tables.
#include <algorithm>
#include <limits>
#include <vector>

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/task_size.h"
#include "software/cpu/host/thread_pool.h"
#include "software/cpu/reference/resample.h"

namespace dxtensor::software::fast {

namespace {

using resample::Axis;
using resample::Tap;

// Speed (suite, 1 thread, AVX-512): kTask: within 5 % from 1/4 to 4 times.
constexpr int64_t kTask = kTaskElements / 4;  // an output of bilinear resampling reads 4 inputs

bool IsPackedFloat(const schema::TensorDesc& t) { return t.data_type == DML_TENSOR_DATA_TYPE_FLOAT32 && t.IsPacked(); }

bool IsIdentity(const Axis& axis, uint32_t size) {
  if (axis.taps.size() != size || axis.first.size() != size + 1) return false;
  for (uint32_t i = 0; i < size; ++i)
    if (axis.first[i] != i || axis.taps[i].offset != i || axis.taps[i].weight != 1) return false;
  return true;
}

// An equal number of taps for each output, padded with weight 0: tap k of output x is at [k * size + x].
struct Columns {
  // The same for vectors of outputs, whose elements of the row must lie in one vector too: empty where they do not.
  struct Windows {
    int64_t groups = 0;
    std::vector<int32_t> starts, lanes;
    std::vector<float> weights;
  };
  int64_t taps = 0, size = 0;
  std::vector<int32_t> positions;
  std::vector<float> weights;
  Windows windows;

  explicit Columns(const Axis& axis) : size(static_cast<int64_t>(axis.first.size()) - 1) {
    for (int64_t x = 0; x < size; ++x) taps = std::max<int64_t>(taps, Count(axis, x));
    positions.assign(static_cast<size_t>(taps * size), 0);
    weights.assign(static_cast<size_t>(taps * size), 0);
    for (int64_t x = 0; x < size; ++x)
      for (int64_t k = 0; k < Count(axis, x); ++k) {
        const Tap& tap = axis.taps[axis.first[static_cast<size_t>(x)] + static_cast<size_t>(k)];
        positions[static_cast<size_t>(k * size + x)] = static_cast<int32_t>(tap.offset);
        weights[static_cast<size_t>(k * size + x)] = tap.weight;
      }
    windows = FindWindows();
  }
  Windows FindWindows() const {
    const int64_t width = Table().width;
    Windows w;
    w.groups = (size + width - 1) / width;
    w.lanes.assign(static_cast<size_t>(taps * w.groups * width), 0);
    w.weights.assign(w.lanes.size(), 0);
    for (int64_t k = 0; k < taps; ++k)
      for (int64_t first = 0; first < size; first += width) {
        const int64_t last = std::min(size, first + width);
        int32_t start = std::numeric_limits<int32_t>::max();
        for (int64_t x = first; x < last; ++x) start = std::min(start, IndexOf(k, x));
        for (int64_t x = first; x < last; ++x) {
          const auto at = static_cast<size_t>(k * w.groups * width + x);
          w.lanes[at] = IndexOf(k, x) - start;
          w.weights[at] = weights[static_cast<size_t>(k * size + x)];
          if (w.lanes[at] >= width) return {};
        }
        w.starts.push_back(start);
      }
    return w;
  }
  // Taps without a weight stay near the others.
  int32_t IndexOf(int64_t k, int64_t x) const {
    return weights[static_cast<size_t>(k * size + x)] != 0 ? positions[static_cast<size_t>(k * size + x)]
                                                           : positions[static_cast<size_t>(x)];
  }
  static int64_t Count(const Axis& axis, int64_t x) { return axis.first[static_cast<size_t>(x) + 1] - axis.first[static_cast<size_t>(x)]; }

  void Read(float* to, const float* in_row, int64_t length) const {
    if (!windows.starts.empty()) {
      Table().resample_row(
          to, in_row, length,
          {taps, windows.groups, windows.groups * Table().width, windows.starts.data(), windows.lanes.data(), windows.weights.data()},
          size);
      return;
    }
    for (int64_t k = 0; k < taps; ++k) {
      const int32_t* p = positions.data() + k * size;
      const float* w = weights.data() + k * size;
      if (k == 0)
        for (int64_t x = 0; x < size; ++x) to[x] = w[x] * in_row[p[x]];
      else
        for (int64_t x = 0; x < size; ++x)
          if (w[x] != 0) to[x] += w[x] * in_row[p[x]];
    }
  }
  void Scatter(float* in_row, const float* from) const {
    for (int64_t k = 0; k < taps; ++k) {
      const int32_t* p = positions.data() + k * size;
      const float* w = weights.data() + k * size;
      for (int64_t x = 0; x < size; ++x)
        if (w[x] != 0) in_row[p[x]] += w[x] * from[x];
    }
  }
};

// The small side is what the forward direction reads, the other one what it writes.
class ResampleKernel final : public Kernel {
 public:
  ResampleKernel(const std::vector<Axis>& axes, const schema::TensorDesc& small, bool is_gradient)
      : is_gradient_(is_gradient),
        rows_(axes[axes.size() - 2]),
        columns_(axes.back()),
        same_columns_(IsIdentity(axes.back(), small.sizes[small.rank - 1])),
        height_(small.sizes[small.rank - 2]),
        width_(small.sizes[small.rank - 1]),
        out_height_(static_cast<int64_t>(rows_.first.size()) - 1) {
    for (uint32_t d = 0; d + 2 < small.rank; ++d) planes_ *= small.sizes[d];
    for (const Tap& tap : rows_.taps) {
      row_positions_.push_back(static_cast<int32_t>(tap.offset));
      row_weights_.push_back(tap.weight);
    }
  }
  size_t ScratchBytes() const override { return static_cast<size_t>(ThreadPool::Get().size() * width_) * sizeof(float); }
  void Run(const KernelArguments& a) const override {
    const auto* from = reinterpret_cast<const float*>(a.inputs[0]);
    auto* to = reinterpret_cast<float*>(a.outputs[0]);
    auto* in_rows = reinterpret_cast<float*>(a.scratch);
    const int64_t out_width = columns_.size;
    if (!is_gradient_) {
      ThreadPool::Get().ParallelFor(
          0, planes_ * out_height_, std::max<int64_t>(1, kTask / std::max(out_width, width_)), [&](int64_t first, int64_t last, int slot) {
            for (int64_t i = first; i < last; ++i)
              Forward(to + i * out_width, from + i / out_height_ * height_ * width_, i % out_height_, in_rows + slot * width_);
          });
      return;
    }
    ThreadPool::Get().ParallelFor(0, planes_, std::max<int64_t>(1, kTask / (out_width * out_height_)),
                                  [&](int64_t first, int64_t last, int slot) {
                                    for (int64_t i = first; i < last; ++i)
                                      Backward(to + i * height_ * width_, from + i * out_height_ * out_width, in_rows + slot * width_);
                                  });
  }

 private:
  void Forward(float* to, const float* plane, int64_t row, float* in_row) const {
    const uint32_t first = rows_.first[static_cast<size_t>(row)], last = rows_.first[static_cast<size_t>(row) + 1];
    const float* read = plane + static_cast<int64_t>(rows_.taps[first].offset) * width_;
    if (last - first > 1 || rows_.taps[first].weight != 1) {
      float* sum = same_columns_ ? to : in_row;
      Table().weighted_row_sum(sum, plane, width_, row_positions_.data() + first, row_weights_.data() + first, last - first, width_);
      read = sum;
    }
    if (!same_columns_) columns_.Read(to, read, width_);
    else if (read != to) std::copy_n(read, width_, to);
  }
  void Backward(float* plane, const float* from, float* in_row) const {
    std::fill_n(plane, height_ * width_, 0.0f);
    for (int64_t row = 0; row < out_height_; ++row) {
      const float* read = from + row * columns_.size;
      if (!same_columns_) {
        std::fill_n(in_row, width_, 0.0f);
        columns_.Scatter(in_row, read);
        read = in_row;
      }
      for (uint32_t t = rows_.first[static_cast<size_t>(row)]; t < rows_.first[static_cast<size_t>(row) + 1]; ++t)
        Table().axpy(plane + static_cast<int64_t>(rows_.taps[t].offset) * width_, read, rows_.taps[t].weight, width_);
    }
  }

  bool is_gradient_;
  Axis rows_;
  std::vector<int32_t> row_positions_;
  std::vector<float> row_weights_;
  Columns columns_;
  bool same_columns_;
  int64_t planes_ = 1, height_, width_, out_height_;
};

}  // namespace

std::unique_ptr<Kernel> MakeResampleKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  if (in.rank < 2 || !IsPackedFloat(in) || !IsPackedFloat(out)) return nullptr;
  const bool is_gradient = desc.type() == DML_OPERATOR_RESAMPLE_GRAD || desc.type() == DML_OPERATOR_RESAMPLE_GRAD1;
  const schema::TensorDesc &small = is_gradient ? out : in, &other = is_gradient ? in : out;
  const std::vector<Axis> axes = resample::AxesOf(desc, is_gradient);
  for (uint32_t d = 0; d + 2 < in.rank; ++d)
    if (small.sizes[d] != other.sizes[d] || !IsIdentity(axes[d], small.sizes[d])) return nullptr;
  for (uint32_t d = in.rank - 2; d < in.rank; ++d)
    for (size_t i = 0; i + 1 < axes[d].first.size(); ++i)
      if (axes[d].first[i] == axes[d].first[i + 1]) return nullptr;  // an output that reads nothing
  return std::make_unique<ResampleKernel>(axes, small, is_gradient);
}

}  // namespace dxtensor::software::fast
