// Resampling, regions of interest, unfolded windows, neighbourhood normalisations and unpooling.
#include <cmath>

#include "reference.h"

namespace dxtensor::test {

namespace {

using Coordinates = std::vector<uint32_t>;

double Clamped(double position, uint32_t size) { return std::fmin(std::fmax(position, 0), static_cast<double>(size) - 1); }
// The share that a position along one direction takes of element i: a hat of width 1 to either side.
double Hat(double position, uint32_t size, uint32_t i) { return std::fmax(0, 1 - std::fabs(Clamped(position, size) - i)); }

// The weight of the element `from` of a tensor of `from_sizes` in the element `to`, for the offsets of a forward resampling.
struct Resampling {
  std::vector<float> scales, in_offsets, out_offsets;
  bool linear;
  int direction = 0;  // 1 up, -1 down, 0 the nearest

  explicit Resampling(const Evaluation& e, size_t rank) : in_offsets(rank, 0.5f), out_offsets(rank, -0.5f) {
    linear = e.desc.UInt("InterpolationMode") == DML_INTERPOLATION_MODE_LINEAR;
    if (e.desc.Has("Scales")) {
      scales = e.desc.Get<std::vector<float>>("Scales");
    } else {
      scales.assign(rank, 1);
      scales[rank - 2] = static_cast<float>(e.desc.Get<DML_SIZE_2D>("ScaleSize").Height);
      scales[rank - 1] = static_cast<float>(e.desc.Get<DML_SIZE_2D>("ScaleSize").Width);
    }
    if (e.desc.Has("InputPixelOffsets")) {
      in_offsets = e.desc.Get<std::vector<float>>("InputPixelOffsets");
      out_offsets = e.desc.Get<std::vector<float>>("OutputPixelOffsets");
    }
    if (e.desc.Has("RoundingDirection")) direction = e.desc.UInt("RoundingDirection") == DML_AXIS_DIRECTION_INCREASING ? 1 : -1;
  }
  double Weight(const Coordinates& to, const Coordinates& from, const std::vector<uint32_t>& from_sizes) const {
    double weight = 1;
    for (size_t d = 0; d < to.size(); ++d) {
      const double position =
          (to[d] - static_cast<double>(out_offsets[d])) / static_cast<double>(scales[d]) - static_cast<double>(in_offsets[d]);
      if (linear) {
        weight *= Hat(position, from_sizes[d], from[d]);
      } else {
        const double chosen = direction == 0 ? std::floor(position + 0.5) : direction > 0 ? std::ceil(position) : std::floor(position);
        weight *= Clamped(chosen, from_sizes[d]) == from[d];
      }
    }
    return weight;
  }
};

void Resample(const Evaluation& e, bool gradient) {
  const Values& x = e.inputs[0];
  Values& y = e.outputs[0];
  Resampling r(e, x.sizes.size());
  if (gradient) std::swap(r.in_offsets, r.out_offsets);
  ForEach(y.sizes, [&](const Coordinates& to, size_t flat) {
    double sum = 0;
    ForEach(x.sizes, [&](const Coordinates& from, size_t i) {
      sum += x.AsReal(i) * (gradient ? r.Weight(from, to, y.sizes) : r.Weight(to, from, x.sizes));
    });
    if (y.is_float()) y.Set(flat, sum);
    else y.SetWhole(flat, static_cast<int64_t>(std::trunc(sum)));
  });
}

// Samples of ROI_ALIGN1 without corners: weights of the image's elements in an output, for as many samples as the least number.
double AlignWeight(const Evaluation& e, const Values& roi, const std::vector<uint32_t>& small, const std::vector<uint32_t>& image,
                   const Coordinates& at, uint32_t y, uint32_t x) {
  const uint32_t samples = e.desc.UInt("MinimumSamplesPerOutput");
  const double in = e.desc.Has("InputPixelOffset") ? static_cast<double>(e.desc.Float("InputPixelOffset")) : 0.5;
  const double out = e.desc.Has("OutputPixelOffset") ? static_cast<double>(e.desc.Float("OutputPixelOffset")) : -0.5;
  double weight = 1;
  for (uint32_t side = 0; side < 2; ++side) {  // x, y
    const double scale = static_cast<double>(e.desc.Float(side ? "SpatialScaleY" : "SpatialScaleX"));
    const double low = roi.real[at[0] * 4 + side] * scale, high = roi.real[at[0] * 4 + 2 + side] * scale;
    const uint32_t outputs = small[side ? 2 : 3], size = image[side ? 2 : 3];
    double sum = 0;
    for (uint32_t s = 0; s < samples; ++s) {
      const double position = (at[side ? 2 : 3] * samples + s - out) * (high - low) / (outputs * samples) + low - in;
      if (position > -1 && position < size) sum += Hat(position, size, side ? y : x) / samples;
    }
    weight *= sum;
  }
  return weight;
}

void RoiAlign(const Evaluation& e, bool gradient) {
  const Values &roi = e.inputs[gradient ? 2 : 1], &batches = e.inputs[gradient ? 3 : 2];
  const Values& small = gradient ? e.inputs[1] : e.outputs[0];
  const Values& image = gradient ? e.outputs[0] : e.inputs[0];
  std::vector<double> sums(e.outputs[0].size(), 0);
  ForEach(small.sizes, [&](const Coordinates& at, size_t flat) {
    for (uint32_t y = 0; y < image.sizes[2]; ++y)
      for (uint32_t x = 0; x < image.sizes[3]; ++x) {
        const size_t flat_index = Flat({static_cast<uint32_t>(batches.whole[at[0]]), at[1], y, x}, image.sizes);
        const double weight = AlignWeight(e, roi, small.sizes, image.sizes, at, y, x);
        if (gradient) sums[flat_index] += weight * small.real[flat];
        else sums[flat] += weight * image.real[flat_index];
      }
  });
  for (size_t i = 0; i < sums.size(); ++i) e.outputs[0].Set(i, sums[i]);
}

void RoiPooling(const Evaluation& e) {
  const Values &x = e.inputs[0], &roi = e.inputs[1];
  Values& y = e.outputs[0];
  const double scale = static_cast<double>(e.desc.Float("SpatialScale"));
  ForEach(y.sizes, [&](const Coordinates& at, size_t flat) {
    auto corner = [&](uint32_t i) { return std::nearbyint(roi.real[at[0] * 5 + i] * scale); };
    double best = -INFINITY;
    for (uint32_t row = 0; row < x.sizes[2]; ++row)
      for (uint32_t column = 0; column < x.sizes[3]; ++column) {
        // An element is in the bin that its distance from the region's first corner falls into.
        auto in_bin = [](double position, double first, double last, uint32_t bin, uint32_t bins) {
          const double length = last - first + 1;
          return position >= std::floor(bin * length / bins) + first && position < std::ceil((bin + 1) * length / bins) + first;
        };
        if (in_bin(row, corner(2), corner(4), at[2], y.sizes[2]) && in_bin(column, corner(1), corner(3), at[3], y.sizes[3]))
          best = std::fmax(best, x.real[Flat({static_cast<uint32_t>(roi.real[at[0] * 5]), at[1], row, column}, x.sizes)]);
      }
    y.Set(flat, std::isinf(best) ? 0 : best);
  });
}

// Every tap of every window: the column's element and the image's.
void Windows(const Evaluation& e, bool folds) {
  const auto &window = e.desc.UInts("WindowSizes"), &stride = e.desc.UInts("Strides"), &dilation = e.desc.UInts("Dilations");
  const auto &start = e.desc.UInts("StartPadding"), &end = e.desc.UInts("EndPadding");
  const Values& image = folds ? e.outputs[0] : e.inputs[0];
  const Values& columns = folds ? e.inputs[0] : e.outputs[0];
  Coordinates blocks;
  uint32_t taps = 1;
  for (size_t d = 0; d < window.size(); ++d) {
    blocks.push_back((image.sizes[d + 2] + start[d] + end[d] - dilation[d] * (window[d] - 1) - 1) / stride[d] + 1);
    taps *= window[d];
  }
  std::vector<double> sums(e.outputs[0].size(), 0);
  for (uint32_t n = 0; n < image.sizes[0]; ++n)
    for (uint32_t c = 0; c < image.sizes[1]; ++c)
      ForEach(window, [&](const Coordinates& tap, size_t k) {
        ForEach(blocks, [&](const Coordinates& block, size_t b) {
          Coordinates position{n, c};
          for (size_t d = 0; d < window.size(); ++d) {
            const int64_t at = int64_t{block[d]} * stride[d] + int64_t{tap[d]} * dilation[d] - start[d];
            if (at < 0 || at >= image.sizes[d + 2]) return;
            position.push_back(static_cast<uint32_t>(at));
          }
          const size_t column = Flat({n, c * taps + static_cast<uint32_t>(k), static_cast<uint32_t>(b)}, columns.sizes);
          const size_t pixel = Flat(position, image.sizes);
          if (folds) sums[pixel] += columns.AsReal(column);
          else sums[column] = image.AsReal(pixel);
        });
      });
  Values& y = e.outputs[0];
  for (size_t i = 0; i < sums.size(); ++i) {
    if (y.is_float()) y.Set(i, sums[i]);
    else y.SetWhole(i, static_cast<int64_t>(sums[i]));
  }
}

bool IsNear(const Evaluation& e, const Coordinates& of, const Coordinates& other) {
  const bool across = e.desc.Get<bool>("CrossChannel");
  const int64_t size = e.desc.UInt("LocalSize");
  for (size_t d = 0; d < 4; ++d) {
    const int64_t step = int64_t{other[d]} - of[d];
    const bool local = across ? d == 1 : d >= 2;
    if (local ? step < -((size - 1) / 2) || step > size / 2 : step != 0) return false;
  }
  return true;
}

void LocalResponse(const Evaluation& e, bool gradient) {
  const Values& x = e.inputs[0];
  Values& y = e.outputs[0];
  const double rate = static_cast<double>(e.desc.Float("Alpha")) / e.desc.UInt("LocalSize"),
               beta = static_cast<double>(e.desc.Float("Beta"));
  std::vector<double> scale(x.size(), static_cast<double>(e.desc.Float("Bias")));
  ForEach(x.sizes, [&](const Coordinates& at, size_t i) {
    ForEach(x.sizes, [&](const Coordinates& other, size_t k) {
      if (IsNear(e, at, other)) scale[i] += rate * x.real[k] * x.real[k];
    });
  });
  ForEach(x.sizes, [&](const Coordinates& at, size_t i) {
    if (!gradient) return y.Set(i, x.real[i] / std::pow(scale[i], beta));
    const Values& dy = e.inputs[1];
    double sum = dy.real[i] / std::pow(scale[i], beta);
    ForEach(x.sizes, [&](const Coordinates& other, size_t k) {
      if (IsNear(e, at, other)) sum -= 2 * beta * rate * x.real[i] * dy.real[k] * x.real[k] / std::pow(scale[k], beta + 1);
    });
    y.Set(i, sum);
  });
}

void LpNormalization(const Evaluation& e) {
  const Values& x = e.inputs[0];
  const uint32_t axis = e.desc.UInt("Axis"), p = e.desc.UInt("P");
  ForEach(x.sizes, [&](const Coordinates& at, size_t i) {
    double sum = 0;
    Coordinates other = at;
    for (other[axis] = 0; other[axis] < x.sizes[axis]; ++other[axis]) sum += std::pow(std::fabs(x.real[Flat(other, x.sizes)]), p);
    const double norm = std::pow(sum, 1.0 / p);
    e.outputs[0].Set(i, x.real[i] / std::sqrt(norm * norm + static_cast<double>(e.desc.Float("Epsilon"))));
  });
}

void MaxUnpooling(const Evaluation& e) {
  Values& y = e.outputs[0];
  for (size_t i = 0; i < e.inputs[0].size(); ++i) y.Copy(static_cast<size_t>(e.inputs[1].whole[i]), e.inputs[0], i);
}

}  // namespace

bool EvaluateSampling(const Evaluation& e) {
  switch (e.desc.type()) {
    case DML_OPERATOR_UPSAMPLE_2D:
    case DML_OPERATOR_RESAMPLE:
    case DML_OPERATOR_RESAMPLE1:
    case DML_OPERATOR_RESAMPLE2:
    case DML_OPERATOR_RESAMPLE3: Resample(e, false); return true;
    case DML_OPERATOR_RESAMPLE_GRAD:
    case DML_OPERATOR_RESAMPLE_GRAD1: Resample(e, true); return true;
    case DML_OPERATOR_ROI_ALIGN:
    case DML_OPERATOR_ROI_ALIGN1: RoiAlign(e, false); return true;
    case DML_OPERATOR_ROI_ALIGN_GRAD: RoiAlign(e, true); return true;
    case DML_OPERATOR_ROI_POOLING: RoiPooling(e); return true;
    case DML_OPERATOR_FOLD: Windows(e, true); return true;
    case DML_OPERATOR_UNFOLD: Windows(e, false); return true;
    case DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION: LocalResponse(e, false); return true;
    case DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION_GRAD: LocalResponse(e, true); return true;
    case DML_OPERATOR_LP_NORMALIZATION: LpNormalization(e); return true;
    case DML_OPERATOR_MAX_UNPOOLING: MaxUnpooling(e); return true;
    default: return false;
  }
}

}  // namespace dxtensor::test
