// ROI_ALIGN_GRAD over images of one element: rows added by index, each sum in the order of the regions.
#include "../kernels/regions.h"

#include <algorithm>

#include "families.h"
#include "thread_pool.h"

namespace dxtensor::software::fast {

namespace {

// Sums of up to this size are carried in double and rounded once, larger ones lie in the output.
constexpr uint64_t kMostBytes = uint64_t{64} << 20;
constexpr int64_t kLeastColumns = 16;  // a cache line
constexpr int64_t kPiece = 1 << 14;    // elements that are worth a thread's while

class RowSumsKernel final : public Kernel {
 public:
  RowSumsKernel(const schema::OperatorDesc& desc, const schema::TensorDesc& dy, const schema::TensorDesc& dx)
      : how_(desc, dx, dy),
        rois_(*desc.Inputs()[2]),
        index_step_(regions::Rows(*desc.Inputs()[3]).column),
        count_(dy.sizes[0]),
        rows_(dx.sizes[0]),
        columns_(dy.sizes[1]),
        dy_row_(dy.strides[0]),
        dx_row_(dx.strides[0]) {}

  size_t ScratchBytes() const override {
    const uint64_t bytes = static_cast<uint64_t>(rows_ * columns_) * sizeof(double);
    return bytes <= kMostBytes ? static_cast<size_t>(bytes) : 0;
  }

  void Run(const KernelArguments& a) const override {
    const int64_t threads = std::max<int64_t>(1, std::min<int64_t>(ThreadPool::Get().size(), count_ * columns_ / kPiece));
    const int64_t grain = ((columns_ + threads - 1) / threads + kLeastColumns - 1) / kLeastColumns * kLeastColumns;
    const bool is_wide = ScratchBytes() > 0;
    ThreadPool::Get().ParallelFor(0, columns_, grain, [&](int64_t first, int64_t last, int) {
      auto* dx = reinterpret_cast<float*>(a.outputs[0]);
      if (!is_wide) return Sum(a, dx, dx_row_, first, last);
      auto* sums = reinterpret_cast<double*>(a.scratch);
      Sum(a, sums, columns_, first, last);
      for (int64_t row = 0; row < rows_; ++row)
        for (int64_t c = first; c < last; ++c) dx[row * dx_row_ + c] = static_cast<float>(sums[row * columns_ + c]);
    });
  }

 private:
  template <typename T>
  void Sum(const KernelArguments& a, T* sums, int64_t sums_row, int64_t first, int64_t last) const {
    for (int64_t row = 0; row < rows_; ++row) std::fill(sums + row * sums_row + first, sums + row * sums_row + last, T(0));
    const auto* dy = reinterpret_cast<const float*>(a.inputs[1]);
    const auto* index = reinterpret_cast<const uint32_t*>(a.inputs[3]);
    const bool is_one_region = rois_.row == 0;
    if (is_one_region && !HasSample(a, 0)) return;
    for (int64_t r = 0; r < count_; ++r) {
      const int64_t row = index[static_cast<uint64_t>(r) * index_step_];
      if (row >= rows_ || (!is_one_region && !HasSample(a, static_cast<uint64_t>(r)))) continue;
      const float* from = dy + r * dy_row_;
      T* to = sums + row * sums_row;
      if (columns_ == 1) to[0] += from[0];
      else
        for (int64_t c = first; c < last; ++c) to[c] += from[c];
    }
  }

  // Whether the region's one sample lies in the image.
  bool HasSample(const KernelArguments& a, uint64_t r) const {
    const regions::Region region = regions::RegionAt<float>(how_, rois_, a.inputs[2], r);
    return region.y.samples == 1 && region.x.samples == 1 && region.y.Inside(region.y.Place(0, 0)) && region.x.Inside(region.x.Place(0, 0));
  }

  regions::Aligning how_;
  regions::Rows rois_;
  uint64_t index_step_;
  int64_t count_, rows_, columns_, dy_row_, dx_row_;
};

}  // namespace

std::unique_ptr<Kernel> MakeRegionKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &dy = *desc.Inputs()[1], *dx = desc.Outputs()[0];
  if (!dx || desc.Outputs()[1] || dy.data_type != DML_TENSOR_DATA_TYPE_FLOAT32) return nullptr;
  if (desc.UInt("ReductionFunction") != DML_REDUCE_FUNCTION_AVERAGE || desc.UInt("MaximumSamplesPerOutput") != 1 ||
      desc.UInt("InterpolationMode") != DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR)
    return nullptr;
  for (const schema::TensorDesc* t : {&dy, dx})
    if (t->sizes[2] != 1 || t->sizes[3] != 1 || (t->sizes[1] != 1 && t->strides[1] != 1)) return nullptr;
  return std::make_unique<RowSumsKernel>(desc, dy, *dx);
}

}  // namespace dxtensor::software::fast
