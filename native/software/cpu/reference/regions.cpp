// ROI_POOLING, ROI_ALIGN, ROI_ALIGN1 and the gradient of aligning: values of an image {N, C, H, W} inside rectangles of it.
#include <algorithm>
#include <cmath>

#include "element.h"
#include "iterate.h"
#include "kernels.h"
#include "regions.h"

namespace dxtensor::software {

using regions::Aligning;
using regions::Region;
using regions::RegionAt;
using regions::Rows;

namespace {

struct Sheet {
  uint64_t n = 1, c = 1, h = 1, w = 1;
  std::array<uint64_t, 4> strides{};

  explicit Sheet(const schema::TensorDesc& t) : Sheet(t, BroadcastStrides(t)) {}
  Sheet(const schema::TensorDesc& t, const Dimensions& s)
      : n(t.sizes[0]), c(t.sizes[1]), h(t.sizes[2]), w(t.sizes[3]), strides{s[0], s[1], s[2], s[3]} {}
  uint64_t At(uint64_t in, uint64_t ic) const { return in * strides[0] + ic * strides[1]; }
  uint64_t At(uint64_t in, uint64_t ic, uint64_t y, uint64_t x) const { return At(in, ic) + y * strides[2] + x * strides[3]; }
};

}  // namespace

KernelPointer MakeRoiPooling(const schema::OperatorDesc& desc) {
  const Sheet in(*desc.Inputs()[0]), out(*desc.Outputs()[0]);
  const Rows rois(*desc.Inputs()[1]);
  return ByFloat(desc.Outputs()[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=, scale = desc.Float("SpatialScale")](const KernelArguments& a) {
      auto corner = [&](uint64_t region, uint64_t i) {  // clamped to a range in which nothing overflows
        const float at = std::nearbyint(Load<T>(a.inputs[1], region * rois.row + i * rois.column) * scale);
        return Saturate<int64_t>(std::min(std::max(at, -1e9f), 1e9f));
      };
      // The bins of one side: from `first` over `length` elements, both ends inside, cut at the image.
      auto bin = [](uint64_t i, int64_t first, int64_t last, uint64_t bins, uint64_t size) {
        const int64_t length = std::max<int64_t>(last - first + 1, 1), count = static_cast<int64_t>(bins), at = static_cast<int64_t>(i);
        const int64_t begin = at * length / count + first, end = ((at + 1) * length + count - 1) / count + first;
        const auto limit = static_cast<int64_t>(size);
        return std::pair<int64_t, int64_t>(std::clamp<int64_t>(begin, 0, limit), std::clamp<int64_t>(end, 0, limit));
      };
      for (uint64_t r = 0; r < out.n; ++r) {
        const float wanted = Load<T>(a.inputs[1], r * rois.row);
        const uint64_t batch = wanted > 0 ? std::min(Saturate<uint64_t>(wanted), in.n - 1) : 0;
        const int64_t x1 = corner(r, 1), y1 = corner(r, 2), x2 = corner(r, 3), y2 = corner(r, 4);
        for (uint64_t c = 0; c < out.c; ++c)
          for (uint64_t oy = 0; oy < out.h; ++oy)
            for (uint64_t ox = 0; ox < out.w; ++ox) {
              const auto [top, bottom] = bin(oy, y1, y2, out.h, in.h);
              const auto [left, right] = bin(ox, x1, x2, out.w, in.w);
              float best = top < bottom && left < right ? -std::numeric_limits<float>::infinity() : 0.0f;
              for (int64_t y = top; y < bottom; ++y)
                for (int64_t x = left; x < right; ++x)
                  best = std::fmax(best, Load<T>(a.inputs[0], in.At(batch, c, static_cast<uint64_t>(y), static_cast<uint64_t>(x))));
              Store<T>(a.outputs[0], out.At(r, c, oy, ox), best);
            }
      }
    });
  });
}

namespace {

// The neighbours of a position along one direction, clamped to the image.
struct Near {
  uint64_t low, high;
  float share;  // of the higher one

  Near(float position, uint64_t size, bool linear) {
    const float last = static_cast<float>(size - 1);
    const float clamped = std::min(std::max(linear ? position : std::floor(position + 0.5f), 0.0f), last);
    low = static_cast<uint64_t>(clamped);
    high = std::min(low + 1, size - 1);
    share = linear ? clamped - static_cast<float>(low) : 0;
  }
};

// visit(position y, position x, whether it lies in the image) for each sample of an output.
template <typename F>
void Samples(const Region& region, uint64_t oy, uint64_t ox, F&& visit) {
  for (uint64_t sy = 0; sy < region.y.samples; ++sy)
    for (uint64_t sx = 0; sx < region.x.samples; ++sx) {
      const float y = region.y.Locate(oy, sy), x = region.x.Locate(ox, sx);
      visit(y, x, region.y.Inside(y) && region.x.Inside(x));
    }
}

template <typename T>
struct Corners {
  double top_left, top_right, bottom_left, bottom_right;

  Corners(const uint8_t* image, const Sheet& in, uint64_t start, const Near& y, const Near& x) {
    auto at = [&](uint64_t row, uint64_t column) {
      return static_cast<double>(Load<T>(image, start + row * in.strides[2] + column * in.strides[3]));
    };
    top_left = at(y.low, x.low);
    top_right = at(y.low, x.high);
    bottom_left = at(y.high, x.low);
    bottom_right = at(y.high, x.high);
  }
  double Value(const Near& y, const Near& x) const {
    const double sx = x.share, sy = y.share;
    return (top_left * (1 - sx) + top_right * sx) * (1 - sy) + (bottom_left * (1 - sx) + bottom_right * sx) * sy;
  }
};

uint64_t BatchOf(const uint8_t* indices, uint64_t at, bool wide) {
  return wide ? Load<uint64_t>(indices, at) : Load<uint32_t>(indices, at);
}

}  // namespace

KernelPointer MakeRoiAlign(const schema::OperatorDesc& desc) {
  const auto inputs = desc.Inputs();
  const Sheet in(*inputs[0]), out(*desc.Outputs()[0]);
  const Rows rois(*inputs[1]);
  const uint64_t index_stride = Rows(*inputs[2]).column;
  const bool wide_index = schema::BytesPerElement(inputs[2]->data_type) == 8;
  const Aligning how(desc, *inputs[0], *desc.Outputs()[0]);
  return ByFloat(desc.Outputs()[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=](const KernelArguments& a) {
      for (uint64_t r = 0; r < out.n; ++r) {
        const Region region = RegionAt<T>(how, rois, a.inputs[1], r);
        const uint64_t batch = std::min(BatchOf(a.inputs[2], r * index_stride, wide_index), in.n - 1);
        const auto count = static_cast<double>(region.y.samples * region.x.samples);
        for (uint64_t c = 0; c < out.c; ++c)
          for (uint64_t oy = 0; oy < out.h; ++oy)
            for (uint64_t ox = 0; ox < out.w; ++ox) {
              double sum = 0, largest = -std::numeric_limits<double>::infinity();
              Samples(region, oy, ox, [&](float y, float x, bool inside) {
                double value = how.outside;
                if (inside) {
                  const Near ny(y, in.h, how.linear), nx(x, in.w, how.linear);
                  value = Corners<T>(a.inputs[0], in, in.At(batch, c), ny, nx).Value(ny, nx);
                }
                sum += value;
                largest = std::fmax(largest, value);
              });
              Store<T>(a.outputs[0], out.At(r, c, oy, ox), static_cast<float>(how.takes_largest ? largest : sum / count));
            }
      }
    });
  });
}

namespace {

struct AlignGradient {
  Aligning how;
  Sheet dy, in, dx;  // dx packed, over the sums
  Rows rois, droi;
  uint64_t index_stride = 0;
  bool has_image_gradient = false, has_roi_gradient = false;
};

// What one output's gradient adds to the image and to its region.
template <typename T>
void AddOutput(const AlignGradient& g, const uint8_t* image, uint64_t batch, uint64_t c, const Region& region, uint64_t oy, uint64_t ox,
               double gradient, double* sums, double* row) {
  auto add = [&](float y, float x, double share) {
    const Near ny(y, g.how.size_y, g.how.linear), nx(x, g.how.size_x, g.how.linear);
    if (sums) {
      double* start = sums + g.dx.At(batch, c);
      auto at = [&](uint64_t row_index, uint64_t column) -> double& { return start[row_index * g.dx.strides[2] + column]; };
      if (g.how.linear) {
        const double sy = ny.share, sx = nx.share;
        at(ny.low, nx.low) += share * (1 - sy) * (1 - sx);
        at(ny.low, nx.high) += share * (1 - sy) * sx;
        at(ny.high, nx.low) += share * sy * (1 - sx);
        at(ny.high, nx.high) += share * sy * sx;
      } else {
        at(ny.low, nx.low) += share;
      }
    }
    if (!row) return;
    // The slope of the linear interpolation, in NEAREST_NEIGHBOR's mode too; 0 where a position is clamped to the edge.
    const Near ly(y, g.how.size_y, true), lx(x, g.how.size_x, true);
    const Corners<T> v(image, g.in, g.in.At(batch, c), ly, lx);
    const bool free_y = y >= 0 && y <= static_cast<float>(g.how.size_y - 1), free_x = x >= 0 && x <= static_cast<float>(g.how.size_x - 1);
    const double sy = ly.share, sx = lx.share;
    const double slope_x = free_x ? (v.top_right - v.top_left) * (1 - sy) + (v.bottom_right - v.bottom_left) * sy : 0;
    const double slope_y = free_y ? (v.bottom_left - v.top_left) * (1 - sx) + (v.bottom_right - v.top_right) * sx : 0;
    const double px = share * slope_x * region.x.Extent(), py = share * slope_y * region.y.Extent();
    row[0] += px * (1 - region.x.Share(ox));
    row[1] += py * (1 - region.y.Share(oy));
    row[2] += px * region.x.Share(ox);
    row[3] += py * region.y.Share(oy);
  };
  if (!g.how.takes_largest) {
    const double share = gradient / static_cast<double>(region.y.samples * region.x.samples);
    Samples(region, oy, ox, [&](float y, float x, bool inside) {
      if (inside) add(y, x, share);
    });
    return;
  }
  bool found = false;
  double largest = 0;
  float best_y = 0, best_x = 0;
  Samples(region, oy, ox, [&](float y, float x, bool inside) {
    if (!inside) return;
    const Near ny(y, g.how.size_y, g.how.linear), nx(x, g.how.size_x, g.how.linear);
    const double value = Corners<T>(image, g.in, g.in.At(batch, c), ny, nx).Value(ny, nx);
    if (found && !(value > largest)) return;
    found = true;
    largest = value;
    best_y = y;
    best_x = x;
  });
  if (found) add(best_y, best_x, gradient);
}

}  // namespace

KernelPointer MakeRoiAlignGrad(const schema::OperatorDesc& desc) {
  const auto inputs = desc.Inputs(), outputs = desc.Outputs();
  const schema::TensorDesc &dy = *inputs[1], &roi = *inputs[2];
  const schema::TensorDesc* image = inputs[0] ? inputs[0] : outputs[0];
  const AlignGradient g{Aligning(desc, *image, dy),
                        Sheet(dy),
                        Sheet(*image),
                        Sheet(*image, PackedStrides(*image)),
                        Rows(roi),
                        Rows(outputs[1] ? *outputs[1] : roi),
                        Rows(*inputs[3]).column,
                        outputs[0] != nullptr,
                        outputs[1] != nullptr};
  const uint64_t elements = outputs[0] ? image->ElementCount() : 0;
  BoxIterator<1> store;
  if (outputs[0]) store = BoxIterator<1>(image->rank, SizesOf(*image), {BroadcastStrides(*outputs[0])});
  return ByFloat(dy.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom(
        [=](const KernelArguments& a) {
          auto* sums = g.has_image_gradient ? reinterpret_cast<double*>(a.scratch) : nullptr;
          if (sums) std::fill(sums, sums + elements, 0.0);
          for (uint64_t r = 0; r < g.dy.n; ++r) {
            const Region region = RegionAt<T>(g.how, g.rois, a.inputs[2], r);
            const uint64_t batch = BatchOf(a.inputs[3], r * g.index_stride, false);
            double row[4] = {};
            for (uint64_t c = 0; c < g.dy.c && batch < g.dx.n; ++c)
              for (uint64_t oy = 0; oy < g.dy.h; ++oy)
                for (uint64_t ox = 0; ox < g.dy.w; ++ox)
                  AddOutput<T>(g, a.inputs[0], batch, c, region, oy, ox, Load<T>(a.inputs[1], g.dy.At(r, c, oy, ox)), sums,
                               g.has_roi_gradient ? row : nullptr);
            if (g.has_roi_gradient)
              for (uint64_t i = 0; i < 4; ++i) Store<T>(a.outputs[1], r * g.droi.row + i * g.droi.column, static_cast<float>(row[i]));
          }
          if (!sums) return;
          uint64_t i = 0;
          store([&](const Offsets<1>& to) { Store<T>(a.outputs[0], to[0], static_cast<float>(sums[i++])); });
        },
        elements * sizeof(double));
  });
}

}  // namespace dxtensor::software
