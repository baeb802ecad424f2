// Which row of the result a region of one sample adds to, where images are of one element. Immutable.
#pragma once

#include <memory>

#include "software/cpu/kernel.h"
#include "software/cpu/reference/regions.h"

namespace dxtensor::software::fast {

class RegionRows {
 public:
  static constexpr uint32_t kNone = 0xffffffff;

  // Of a ROI_ALIGN_GRAD.
  explicit RegionRows(const schema::OperatorDesc& desc)
      : how_(desc, *desc.Outputs()[0], *desc.Inputs()[1]),
        rois_(*desc.Inputs()[2]),
        index_stride_(regions::Rows(*desc.Inputs()[3]).column),
        rows_(desc.Outputs()[0]->sizes[0]) {}

  // The row of a region, or kNone where its sample lies outside or there is no such row.
  uint32_t At(const KernelArguments& a, int64_t region) const {
    const auto r = static_cast<uint64_t>(region);
    const uint32_t row = reinterpret_cast<const uint32_t*>(a.inputs[3])[r * index_stride_];
    return row < rows_ && (IsOneRegion() || HasSample(a, r)) ? row : kNone;
  }
  // Whether all regions are the same and lie outside.
  bool AreNone(const KernelArguments& a) const { return IsOneRegion() && !HasSample(a, 0); }

 private:
  bool IsOneRegion() const { return rois_.row == 0; }
  bool HasSample(const KernelArguments& a, uint64_t r) const {
    const regions::Region region = regions::RegionAt<float>(how_, rois_, a.inputs[2], r);
    return region.y.samples == 1 && region.x.samples == 1 && region.y.Inside(region.y.Locate(0, 0)) &&
           region.x.Inside(region.x.Locate(0, 0));
  }

  regions::Aligning how_;
  regions::Rows rois_;
  uint64_t index_stride_;
  uint32_t rows_;
};

// Sums of rows of several columns, and of single numbers.
std::unique_ptr<Kernel> MakeScatterRowSums(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeScatterSums(const schema::OperatorDesc& desc);

}  // namespace dxtensor::software::fast
