// RESAMPLE to RESAMPLE3, UPSAMPLE_2D, and the gradients of resampling: the same weights read the other way.
//
// The map is separable: along each dimension an output position reads some input positions (taps), each with a weight.
#include <algorithm>
#include <cmath>

#include "element.h"
#include "iterate.h"
#include "kernels.h"
#include "resample.h"

namespace dxtensor::software {

using resample::Axis;

namespace {

enum class Rounding { Nearest, Up, Down };

struct Sampling {
  bool linear = false, antialiased = false;
  Rounding rounding = Rounding::Nearest;
};

struct Row {
  uint32_t in_size, out_size;
  uint64_t in_stride;
  float scale, in_offset, out_offset;
};

// The element at a position, or the nearest one for a position outside of the tensor; the first for NaN, which offsets may be.
uint64_t Clamped(const Row& row, float position) {
  if (!(position > 0)) return 0;
  const uint64_t last = row.in_size - 1;
  return position < static_cast<float>(last) ? std::min(static_cast<uint64_t>(position), last) : last;
}

void Add(Axis* axis, const Row& row, float position, float weight) {
  if (weight == 0) return;
  const uint64_t offset = Clamped(row, position) * row.in_stride;
  // Neighbours that are clamped to the edge coincide.
  if (axis->taps.size() > axis->first.back() && axis->taps.back().offset == offset) axis->taps.back().weight += weight;
  else axis->taps.push_back({offset, weight});
}

// A triangle over 1 / scale elements to either side, cut at the tensor's edges and made to sum to 1.
void AddWidened(Axis* axis, const Row& row, float position) {
  const float reach = 1 / row.scale;
  const uint64_t low = Clamped(row, std::ceil(position - reach)), high = Clamped(row, std::floor(position + reach));
  auto weigh = [&](uint64_t at) { return std::max(0.0f, 1 - std::fabs(static_cast<float>(at) - position) / reach); };
  double sum = 0;
  for (uint64_t at = low; at <= high; ++at) sum += weigh(at);
  if (!(sum > 0)) return Add(axis, row, std::round(position), 1);
  for (uint64_t at = low; at <= high; ++at) Add(axis, row, static_cast<float>(at), static_cast<float>(weigh(at) / sum));
}

Axis AxisOf(const Row& row, const Sampling& sampling) {
  Axis axis;
  for (uint32_t i = 0; i < row.out_size; ++i) {
    const float position = (static_cast<float>(i) - row.out_offset) / row.scale - row.in_offset;
    if (sampling.linear && sampling.antialiased && row.scale < 1) {
      AddWidened(&axis, row, position);
    } else if (sampling.linear) {
      const float low = std::floor(position), share = position - low;
      Add(&axis, row, low, 1 - share);
      Add(&axis, row, low + 1, share);
    } else {
      switch (sampling.rounding) {
        case Rounding::Nearest: Add(&axis, row, std::floor(position + 0.5f), 1); break;
        case Rounding::Up: Add(&axis, row, std::ceil(position), 1); break;
        case Rounding::Down: Add(&axis, row, std::floor(position), 1); break;
      }
    }
    axis.first.push_back(static_cast<uint32_t>(axis.taps.size()));
  }
  return axis;
}

struct Attributes {
  std::vector<float> scales, in_offsets, out_offsets;
  Sampling sampling;

  Attributes(const schema::OperatorDesc& desc, uint32_t rank);
};

Attributes::Attributes(const schema::OperatorDesc& desc, uint32_t rank) : in_offsets(rank, 0.5f), out_offsets(rank, -0.5f) {
  sampling.linear = desc.UInt("InterpolationMode") == DML_INTERPOLATION_MODE_LINEAR;
  if (desc.Has("ScaleSize")) {
    const auto size = desc.Get<DML_SIZE_2D>("ScaleSize");
    scales.assign(rank, 1);
    scales[rank - 2] = static_cast<float>(size.Height);
    scales[rank - 1] = static_cast<float>(size.Width);
  } else {
    scales = desc.Get<std::vector<float>>("Scales");
  }
  if (desc.Has("InputPixelOffsets")) {
    in_offsets = desc.Get<std::vector<float>>("InputPixelOffsets");
    out_offsets = desc.Get<std::vector<float>>("OutputPixelOffsets");
  }
  if (desc.Has("RoundingDirection"))
    sampling.rounding = desc.UInt("RoundingDirection") == DML_AXIS_DIRECTION_INCREASING ? Rounding::Up : Rounding::Down;
  sampling.antialiased = desc.Has("Antialiased") && desc.Get<bool>("Antialiased");
}

struct Resampling {
  uint32_t rank = 0;
  Dimensions sizes{}, strides{};  // of the tensor that is written in the forward direction
  std::vector<Axis> axes;

  // visit(offset there, its coordinates)
  template <typename F>
  void ForEach(F&& visit) const {
    ForEachPosition(rank, sizes, [&](const Dimensions& at) { visit(OffsetAt(rank, at, strides), at); });
  }

  // visit(offset, weight) for every position that the one at `at` reads.
  template <typename F>
  void Taps(const Dimensions& at, F&& visit, uint32_t d = 0, uint64_t offset = 0, double weight = 1) const {
    if (d == rank) return visit(offset, weight);
    const Axis& axis = axes[d];
    for (uint32_t t = axis.first[at[d]]; t < axis.first[at[d] + 1]; ++t)
      Taps(at, visit, d + 1, offset + axis.taps[t].offset, weight * axis.taps[t].weight);
  }
};

std::vector<Axis> AxesOf(const Attributes& attributes, const schema::TensorDesc& from, const Dimensions& from_strides,
                         const schema::TensorDesc& to) {
  std::vector<Axis> axes;
  for (uint32_t d = 0; d < from.rank; ++d)
    axes.push_back(
        AxisOf({from.sizes[d], to.sizes[d], from_strides[d], attributes.scales[d], attributes.in_offsets[d], attributes.out_offsets[d]},
               attributes.sampling));
  return axes;
}

Attributes GradientAttributes(const schema::OperatorDesc& desc, uint32_t rank) {
  // The offsets are named after the gradients: the input's are the forward output's.
  Attributes attributes(desc, rank);
  std::swap(attributes.in_offsets, attributes.out_offsets);
  return attributes;
}

Resampling ResamplingOf(const Attributes& attributes, const schema::TensorDesc& from, const Dimensions& from_strides,
                        const schema::TensorDesc& to) {
  return {from.rank, SizesOf(to), BroadcastStrides(to), AxesOf(attributes, from, from_strides, to)};
}

}  // namespace

std::vector<Axis> resample::AxesOf(const schema::OperatorDesc& desc, bool is_gradient) {
  const schema::TensorDesc& from = is_gradient ? *desc.Outputs()[0] : *desc.Inputs()[0];
  const schema::TensorDesc& to = is_gradient ? *desc.Inputs()[0] : *desc.Outputs()[0];
  Dimensions ones{};
  ones.fill(1);
  return software::AxesOf(is_gradient ? GradientAttributes(desc, from.rank) : Attributes(desc, from.rank), from, ones, to);
}

KernelPointer MakeResample(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const Resampling r = ResamplingOf(Attributes(desc, in.rank), in, BroadcastStrides(in), out);
  return ByNumber(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([r](const KernelArguments& a) {
      r.ForEach([&](uint64_t to, const Dimensions& at) {
        double sum = 0;
        r.Taps(at, [&](uint64_t from, double weight) { sum += weight * static_cast<double>(Load<T>(a.inputs[0], from)); });
        // Integers are cut toward zero; as floats, so that a mean of equal ones is that number.
        Store<T>(a.outputs[0], to, Saturate<Compute<T>>(static_cast<float>(sum)));
      });
    });
  });
}

KernelPointer MakeResampleGrad(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &dy = *desc.Inputs()[0], &dx = *desc.Outputs()[0];
  const Resampling r = ResamplingOf(GradientAttributes(desc, dx.rank), dx, PackedStrides(dx), dy);
  const uint64_t elements = dx.ElementCount();
  BoxIterator<1> store(dx.rank, SizesOf(dx), {BroadcastStrides(dx)});
  return ByFloat(dx.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom(
        [=](const KernelArguments& a) {
          auto* sums = reinterpret_cast<double*>(a.scratch);
          std::fill(sums, sums + elements, 0.0);
          r.ForEach([&](uint64_t from, const Dimensions& at) {
            const double gradient = Load<T>(a.inputs[0], from);
            r.Taps(at, [&](uint64_t to, double weight) { sums[to] += weight * gradient; });
          });
          uint64_t i = 0;
          store([&](const Offsets<1>& to) { Store<T>(a.outputs[0], to[0], static_cast<float>(sums[i++])); });
        },
        elements * sizeof(double));
  });
}

}  // namespace dxtensor::software
