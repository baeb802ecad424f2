// Scatter-add of single numbers: each thread takes its part of the indices from all numbers.
#include <algorithm>

#include "software/cpu/host/thread_pool.h"
#include "region_rows.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kMaxBytes 0.95 at 1/2.
constexpr uint64_t kMaxBytes = uint64_t{64} << 20;  // sums up to this size are carried in double; larger ones are added in the output

class ScatterSumsKernel final : public Kernel {
 public:
  explicit ScatterSumsKernel(const schema::OperatorDesc& desc)
      : regions_(desc),
        count_(desc.Inputs()[1]->sizes[0]),
        positions_(desc.Outputs()[0]->sizes[0]),
        dy_stride_(desc.Inputs()[1]->strides[0]),
        dx_stride_(desc.Outputs()[0]->strides[0]) {}

  size_t ScratchBytes() const override { return IsWide() ? static_cast<size_t>(positions_) * sizeof(double) : 0; }

  void Run(const KernelArguments& a) const override {
    auto* sums = reinterpret_cast<double*>(a.scratch);
    const int64_t count = regions_.AreNone(a) ? 0 : count_;
    const int64_t threads = ThreadPool::Get().size(), part = (positions_ + threads - 1) / threads;
    ThreadPool::Get().ParallelFor(0, positions_, part, [&](int64_t first, int64_t last, int) {
      if (IsWide()) {
        std::fill_n(sums + first, last - first, 0.0);
        Add(a, count, first, last - first, sums + first, 1);
        Store(a, first, last - first, sums + first);
        return;
      }
      float* dx = reinterpret_cast<float*>(a.outputs[0]) + first * dx_stride_;
      for (int64_t i = 0; i < last - first; ++i) dx[i * dx_stride_] = 0;
      Add(a, count, first, last - first, dx, dx_stride_);
    });
  }

 private:
  bool IsWide() const { return static_cast<uint64_t>(positions_) * sizeof(double) <= kMaxBytes; }

  // The first `count` numbers, as far as they go to the indices [start, start + size).
  template <typename T>
  void Add(const KernelArguments& a, int64_t count, int64_t start, int64_t size, T* sums, int64_t element_stride) const {
    const auto* dy = reinterpret_cast<const float*>(a.inputs[1]);
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t position = regions_.At(a, i);
      const auto at = static_cast<uint64_t>(int64_t{position} - start);
      if (position != RegionRows::kNone && at < static_cast<uint64_t>(size))
        sums[static_cast<int64_t>(at) * element_stride] += dy[i * dy_stride_];
    }
  }
  void Store(const KernelArguments& a, int64_t start, int64_t size, const double* sums) const {
    float* dx = reinterpret_cast<float*>(a.outputs[0]) + start * dx_stride_;
    for (int64_t i = 0; i < size; ++i) dx[i * dx_stride_] = static_cast<float>(sums[i]);
  }

  RegionRows regions_;
  int64_t count_, positions_, dy_stride_, dx_stride_;
};

}  // namespace

std::unique_ptr<Kernel> MakeScatterSums(const schema::OperatorDesc& desc) { return std::make_unique<ScatterSumsKernel>(desc); }

}  // namespace dxtensor::software::fast
