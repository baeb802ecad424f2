// MAX_POOLING of integers whose windows reach from the start of an axis to each output (cumulative maximum), in one pass.
#include <algorithm>
#include <array>

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/tensor/task_size.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kTask = kTaskElements / 2;  // each maximum waits for the one before it
// Speed (max pooling of the suite, 1 thread, AVX-512): kColumns: within 2 % from 1/4 to 4 times; kTask (cummax of 2^20 int32): within 8 %,
// as much as the same build differs.
constexpr int64_t kColumns = 1 << 10;  // adjacent columns that are scanned together
constexpr int64_t kLanes = 4;          // rows that are scanned at once, since each waits for its last maximum

template <typename T>
class RunningMaximumKernel final : public Kernel {
 public:
  // The input is `planes` times `length` rows of `width` elements, without gaps.
  RunningMaximumKernel(int64_t planes, int64_t length, int64_t width) : planes_(planes), length_(length), width_(width) {}
  void Run(const KernelArguments& a) const override {
    const T* x = reinterpret_cast<const T*>(a.inputs[0]);
    T* y = reinterpret_cast<T*>(a.outputs[0]);
    if (width_ == 1) RunRows(x, y);
    else RunColumns(x, y);
  }

 private:
  void RunRows(const T* x, T* y) const {
    const int64_t groups = (planes_ + kLanes - 1) / kLanes;
    ThreadPool::Get().ParallelFor(0, groups, std::max<int64_t>(1, kTask / (kLanes * length_)), [&](int64_t first, int64_t last, int) {
      for (int64_t g = first; g < last; ++g) {
        const int64_t scan = g * kLanes;
        if (scan + kLanes <= planes_) Together(x + scan * length_, y + scan * length_);
        else
          for (int64_t l = scan; l < planes_; ++l) Alone(x + l * length_, y + l * length_);
      }
    });
  }
  void Alone(const T* x, T* y) const {
    T best = x[0];
    for (int64_t i = 0; i < length_; ++i) y[i] = best = std::max(best, x[i]);
  }
  void Together(const T* x, T* y) const {
    static_assert(kLanes == 4);
    const T *x0 = x, *x1 = x + length_, *x2 = x1 + length_, *x3 = x2 + length_;
    T *y0 = y, *y1 = y + length_, *y2 = y1 + length_, *y3 = y2 + length_;
    T m0 = *x0, m1 = *x1, m2 = *x2, m3 = *x3;
    for (int64_t i = 0; i < length_; ++i) {
      y0[i] = m0 = std::max(m0, x0[i]);
      y1[i] = m1 = std::max(m1, x1[i]);
      y2[i] = m2 = std::max(m2, x2[i]);
      y3[i] = m3 = std::max(m3, x3[i]);
    }
  }
  void RunColumns(const T* x, T* y) const {
    const int64_t strips = (width_ + kColumns - 1) / kColumns, work = length_ * std::min(width_, kColumns);
    ThreadPool::Get().ParallelFor(0, planes_ * strips, std::max<int64_t>(1, kTask / work), [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t column = i % strips * kColumns, n = std::min(kColumns, width_ - column);
        int64_t at = i / strips * length_ * width_ + column;
        for (int64_t row = 0; row < length_; ++row, at += width_) {
          const T* before = row > 0 ? y + at - width_ : x + at;
          for (int64_t k = 0; k < n; ++k) y[at + k] = std::max(x[at + k], before[k]);
        }
      }
    });
  }

  int64_t planes_, length_, width_;
};

bool IsPacked(const schema::TensorDesc& t) {
  int64_t next = 1;
  for (uint32_t d = t.rank; d-- > 0;) {
    if (t.sizes[d] == 1) continue;
    if (static_cast<int64_t>(t.strides[d]) != next) return false;
    next *= t.sizes[d];
  }
  return true;
}

}  // namespace

std::unique_ptr<Kernel> MakeRunningMaximumKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  if (desc.Outputs().size() > 1 && desc.Outputs()[1]) return nullptr;
  if (!IsPacked(in) || !IsPacked(out)) return nullptr;
  const uint32_t spatial = desc.UInt("DimensionCount");
  uint32_t axis = 0;  // none
  for (uint32_t i = 0; i < spatial; ++i) {
    const uint32_t d = 2 + i, window = desc.UInts("WindowSize")[i];
    if (in.sizes[d] != out.sizes[d] || desc.UInts("Strides")[i] != 1) return nullptr;
    if (desc.Has("Dilations") && desc.UInts("Dilations")[i] != 1) return nullptr;
    if (window == 1) continue;
    if (axis || window < in.sizes[d] || desc.UInts("StartPadding")[i] != window - 1) return nullptr;
    axis = d;
  }
  if (!axis) return nullptr;
  int64_t planes = 1, width = 1;
  for (uint32_t d = 0; d < in.rank; ++d) (d < axis ? planes : width) *= d == axis ? 1 : in.sizes[d];
  const int64_t length = in.sizes[axis];
  switch (in.data_type) {
    case DML_TENSOR_DATA_TYPE_UINT32: return std::make_unique<RunningMaximumKernel<uint32_t>>(planes, length, width);
    case DML_TENSOR_DATA_TYPE_INT32: return std::make_unique<RunningMaximumKernel<int32_t>>(planes, length, width);
    case DML_TENSOR_DATA_TYPE_UINT64: return std::make_unique<RunningMaximumKernel<uint64_t>>(planes, length, width);
    case DML_TENSOR_DATA_TYPE_INT64: return std::make_unique<RunningMaximumKernel<int64_t>>(planes, length, width);
    default: return nullptr;
  }
}

}  // namespace dxtensor::software::fast
