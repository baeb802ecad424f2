// Scatter-add of rows: regions are sorted by row, so that each row is written once.
#include <algorithm>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/task_size.h"
#include "software/cpu/host/thread_pool.h"
#include "region_rows.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kTask: within 5 % from 1/4 to 4 times; kMaxColumns 0.93 at 1/4.
constexpr int64_t kTask = kTaskElements / 2;  // sums in double
constexpr int64_t kMaxColumns = 512;          // sums that lie in the level 1 cache

class ScatterRowSumsKernel final : public Kernel {
 public:
  explicit ScatterRowSumsKernel(const schema::OperatorDesc& desc)
      : regions_(desc),
        count_(desc.Inputs()[1]->sizes[0]),
        rows_(desc.Outputs()[0]->sizes[0]),
        columns_(desc.Inputs()[1]->sizes[1]),
        dy_row_(desc.Inputs()[1]->strides[0]),
        dx_row_(desc.Outputs()[0]->strides[0]) {}

  size_t ScratchBytes() const override { return static_cast<size_t>(rows_ + 2 + count_) * sizeof(uint32_t); }

  void Run(const KernelArguments& a) const override {
    auto* starts = reinterpret_cast<uint32_t*>(a.scratch);
    uint32_t* order = starts + rows_ + 2;
    Sort(a, starts, order);
    const int64_t strip = std::min(kMaxColumns, columns_), strips = (columns_ + strip - 1) / strip,
                  height = std::max<int64_t>(1, kTask / (strips * strip));
    const int64_t blocks = (rows_ + height - 1) / height;
    ThreadPool::Get().ParallelFor(0, blocks * strips, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % strips * strip, row = i / strips * height;
        for (int64_t r = row; r < std::min(rows_, row + height); ++r)
          SumRow(a, r, order + starts[r], order + starts[r + 1], first, std::min(strip, columns_ - first));
      }
    });
  }

 private:
  // Row r has the regions order[starts[r]] to order[starts[r + 1]], in their order.
  void Sort(const KernelArguments& a, uint32_t* starts, uint32_t* order) const {
    std::fill_n(starts, rows_ + 2, 0u);
    if (regions_.AreNone(a)) return;
    for (int64_t i = 0; i < count_; ++i) {
      const uint32_t row = regions_.At(a, i);
      if (row != RegionRows::kNone) ++starts[row + 2];
    }
    for (int64_t r = 2; r < rows_ + 2; ++r) starts[r] += starts[r - 1];
    for (int64_t i = 0; i < count_; ++i) {
      const uint32_t row = regions_.At(a, i);
      if (row != RegionRows::kNone) order[starts[row + 1]++] = static_cast<uint32_t>(i);
    }
  }
  void SumRow(const KernelArguments& a, int64_t row, const uint32_t* region, const uint32_t* end, int64_t first, int64_t n) const {
    const float* dy = reinterpret_cast<const float*>(a.inputs[1]) + first;
    float* dx = reinterpret_cast<float*>(a.outputs[0]) + row * dx_row_ + first;
    if (region == end) {
      std::fill_n(dx, n, 0.0f);
    } else if (end - region == 1) {
      Table().scale_shift(dx, dy + *region * dy_row_, 1, 0, n);
    } else {
      double sums[kMaxColumns];
      std::fill_n(sums, n, 0.0);
      for (; region < end; ++region) Table().running_row(dx, sums, dy + *region * dy_row_, false, false, n);
    }
  }

  RegionRows regions_;
  int64_t count_, rows_, columns_, dy_row_, dx_row_;
};

}  // namespace

std::unique_ptr<Kernel> MakeScatterRowSums(const schema::OperatorDesc& desc) { return std::make_unique<ScatterRowSumsKernel>(desc); }

}  // namespace dxtensor::software::fast
