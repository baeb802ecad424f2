// Where the samples of aligned regions lie in an image: for the plain kernels of ROI_ALIGN and the fast one of its gradient.
#pragma once

#include <algorithm>
#include <cmath>

#include "element.h"
#include "iterate.h"

namespace dxtensor::software::regions {

// Rows of numbers, one for each region: the last two dimensions of a tensor.
struct Rows {
  uint64_t row = 0, column = 0;
  explicit Rows(const schema::TensorDesc& t) {
    const Dimensions strides = BroadcastStrides(t);
    row = t.rank >= 2 ? strides[t.rank - 2] : 0;
    column = strides[t.rank - 1];
  }
};

// One direction of a region: where its samples lie in the image.
struct Side {
  float start = 0, length = 0;  // in image elements
  uint64_t outputs = 1, samples = 1, size = 1;
  float in_offset = 0, out_offset = 0;
  bool aligned = false;  // the first and the last sample lie on the region's corners

  uint64_t Total() const { return outputs * samples; }
  float Locate(uint64_t output, uint64_t sample) const {
    if (aligned && Total() == 1) return start + length / 2 - in_offset;
    const float step = length / static_cast<float>(aligned ? Total() - 1 : Total());
    return (static_cast<float>(output * samples + sample) - out_offset) * step + start - in_offset;
  }
  bool Inside(float position) const {
    const auto end = static_cast<float>(size);
    return aligned ? position >= 0 && position <= end - 1 : position > -1 && position < end;
  }
  // How much of the region's far end an output moves with. Microsoft's library counts outputs, not samples, and multiplies with the
  // size of the image.
  float Share(uint64_t output) const {
    if (aligned && Total() == 1) return 0.5f;
    return static_cast<float>(output) / static_cast<float>(aligned ? Total() - 1 : Total());
  }
  float Extent() const { return static_cast<float>(aligned ? size - 1 : size); }
};

struct Aligning {
  float scale_x = 1, scale_y = 1, in_offset = 0.5f, out_offset = -0.5f, outside = 0;
  uint32_t min_samples = 1, max_samples = 1;
  bool linear = true, takes_largest = false, aligned = false;
  uint64_t outputs_y = 1, outputs_x = 1, size_y = 1, size_x = 1;

  Aligning(const schema::OperatorDesc& desc, const schema::TensorDesc& image, const schema::TensorDesc& small)
      : scale_x(desc.Float("SpatialScaleX")),
        scale_y(desc.Float("SpatialScaleY")),
        min_samples(desc.UInt("MinimumSamplesPerOutput")),
        max_samples(desc.UInt("MaximumSamplesPerOutput")),
        linear(desc.UInt("InterpolationMode") == DML_INTERPOLATION_MODE_LINEAR),
        takes_largest(desc.UInt("ReductionFunction") == DML_REDUCE_FUNCTION_MAX),
        outputs_y(small.sizes[2]),
        outputs_x(small.sizes[3]),
        size_y(image.sizes[2]),
        size_x(image.sizes[3]) {
    if (desc.Has("OutOfBoundsInputValue")) outside = desc.Float("OutOfBoundsInputValue");
    if (!desc.Has("InputPixelOffset")) return;
    in_offset = desc.Float("InputPixelOffset");
    out_offset = desc.Float("OutputPixelOffset");
    aligned = desc.Get<bool>("AlignRegionsToCorners");
  }

  Side SideOf(float from, float to, float scale, uint64_t outputs, uint64_t size) const {
    Side side{from * scale, (to - from) * scale, outputs, 1, size, in_offset, out_offset, aligned};
    const float wanted = std::ceil(std::fabs(side.length) / static_cast<float>(outputs));
    side.samples = Saturate<uint64_t>(std::min(std::max(wanted, static_cast<float>(min_samples)), static_cast<float>(max_samples)));
    return side;
  }
};

struct Region {
  Side y, x;
};

template <typename T>
Region RegionAt(const Aligning& how, const Rows& rois, const uint8_t* data, uint64_t r) {
  auto value = [&](uint64_t i) { return Load<T>(data, r * rois.row + i * rois.column); };
  return {how.SideOf(value(1), value(3), how.scale_y, how.outputs_y, how.size_y),
          how.SideOf(value(0), value(2), how.scale_x, how.outputs_x, how.size_x)};
}

}  // namespace dxtensor::software::regions
