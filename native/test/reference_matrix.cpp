// GEMM, CONVOLUTION, pooling and its gradients.
#include <cmath>

#include "reference.h"

namespace dxtensor::test {

using schema::OperatorDesc;

namespace {

using Coordinates = std::vector<uint32_t>;

const OperatorDesc* Fused(const OperatorDesc& desc) { return desc.Get<std::shared_ptr<const OperatorDesc>>("FusedActivation").get(); }

void Gemm(const Evaluation& e) {
  const Values &a = e.inputs[0], &b = e.inputs[1], &c = e.inputs[2];
  Values& y = e.outputs[0];
  const bool ta = e.desc.UInt("TransA") == 1, tb = e.desc.UInt("TransB") == 1;
  const size_t row = y.sizes.size() - 2, column = row + 1;
  const uint32_t inner = a.sizes[ta ? row : column];
  ForEach(y.sizes, [&](const Coordinates& at, size_t flat) {
    Coordinates pa = at, pb = at;
    double sum = 0;
    for (uint32_t k = 0; k < inner; ++k) {
      pa[row] = ta ? k : at[row];
      pa[column] = ta ? at[row] : k;
      pb[row] = tb ? at[column] : k;
      pb[column] = tb ? k : at[column];
      sum += a.real[Flat(pa, a.sizes)] * b.real[Flat(pb, b.sizes)];
    }
    sum *= static_cast<double>(e.desc.Float("Alpha"));
    if (c.size()) sum += static_cast<double>(e.desc.Float("Beta")) * c.real[flat];
    y.Set(flat, Fused(e.desc) ? Activate(*Fused(e.desc), sum) : sum);
  });
}

void Convolution(const Evaluation& e) {
  const Values &x = e.inputs[0], &w = e.inputs[1], &bias = e.inputs[2];
  Values& y = e.outputs[0];
  const auto &stride = e.desc.UInts("Strides"), &dilation = e.desc.UInts("Dilations"), &start = e.desc.UInts("StartPadding");
  const bool backward = e.desc.UInt("Direction") == DML_CONVOLUTION_DIRECTION_BACKWARD;
  const bool flipped = e.desc.UInt("Mode") == DML_CONVOLUTION_MODE_CONVOLUTION;
  const uint32_t groups = e.desc.UInt("GroupCount");
  const size_t spatial = stride.size();
  std::vector<double> sums(y.size(), 0);
  // Narrow: the side whose channels are the filter's first size; wide: the other. Each pair of positions meets at one tap.
  const Values& narrow = backward ? x : y;
  const Values& wide = backward ? y : x;
  const uint32_t narrow_per_group = narrow.sizes[1] / groups, wide_per_group = wide.sizes[1] / groups;
  Coordinates taps(w.sizes.begin() + 2, w.sizes.end());
  ForEach(narrow.sizes, [&](const Coordinates& at, size_t narrow_flat) {
    const uint32_t group = at[1] / narrow_per_group;
    for (uint32_t channel = 0; channel < wide_per_group; ++channel)
      ForEach(taps, [&](const Coordinates& tap, size_t) {
        Coordinates p = at, f{at[1], channel};
        p[1] = group * wide_per_group + channel;
        for (size_t d = 0; d < spatial; ++d) {
          const int64_t pos = int64_t{at[d + 2]} * stride[d] + int64_t{tap[d]} * dilation[d] - start[d];
          if (pos < 0 || pos >= wide.sizes[d + 2]) return;
          p[d + 2] = static_cast<uint32_t>(pos);
          f.push_back(flipped ? taps[d] - 1 - tap[d] : tap[d]);
        }
        const size_t wide_flat = Flat(p, wide.sizes);
        const double weight = w.real[Flat(f, w.sizes)];
        if (backward) sums[wide_flat] += x.real[narrow_flat] * weight;
        else sums[narrow_flat] += x.real[wide_flat] * weight;
      });
  });
  ForEach(y.sizes, [&](const Coordinates& at, size_t flat) {
    const double sum = sums[flat] + (bias.size() ? bias.real[at[1]] : 0);
    y.Set(flat, Fused(e.desc) ? Activate(*Fused(e.desc), sum) : sum);
  });
}

struct Window {
  std::vector<uint32_t> stride, size, start, dilation;

  explicit Window(const OperatorDesc& d) : stride(d.UInts("Strides")), size(d.UInts("WindowSize")), start(d.UInts("StartPadding")) {
    dilation = d.Has("Dilations") ? d.UInts("Dilations") : std::vector<uint32_t>(stride.size(), 1);
  }
  uint32_t Area() const {
    uint32_t area = 1;
    for (uint32_t s : size) area *= s;
    return area;
  }
  // f(flat index in the large tensor) for each tap of the window at `small` that lies inside.
  void Taps(const Coordinates& small, const std::vector<uint32_t>& large, const std::function<void(size_t)>& f) const {
    ForEach(size, [&](const Coordinates& tap, size_t) {
      Coordinates p = small;
      for (size_t d = 0; d < size.size(); ++d) {
        const int64_t pos = int64_t{small[d + 2]} * stride[d] + int64_t{tap[d]} * dilation[d] - start[d];
        if (pos < 0 || pos >= large[d + 2]) return;
        p[d + 2] = static_cast<uint32_t>(pos);
      }
      f(Flat(p, large));
    });
  }
};

void LpPooling(const Evaluation& e) {
  const Values& x = e.inputs[0];
  const Window window(e.desc);
  const uint32_t p = e.desc.UInt("P");
  ForEach(e.outputs[0].sizes, [&](const Coordinates& at, size_t flat) {
    double sum = 0;
    window.Taps(at, x.sizes, [&](size_t from) { sum += std::pow(std::fabs(x.real[from]), p); });
    e.outputs[0].Set(flat, std::pow(sum, 1.0 / p));
  });
}

// One scale and zero point for each side.
void QuantizedPooling(const Evaluation& e) {
  const Values &x = e.inputs[0], &scale = e.inputs[1], &zero = e.inputs[2], &out_scale = e.inputs[3], &out_zero = e.inputs[4];
  const Window window(e.desc);
  ForEach(e.outputs[0].sizes, [&](const Coordinates& at, size_t flat) {
    double sum = 0, count = 0;
    window.Taps(at, x.sizes, [&](size_t from) {
      sum += (x.AsReal(from) - zero.AsReal(0)) * scale.real[0];
      ++count;
    });
    if (e.desc.Get<bool>("IncludePadding")) count = window.Area();
    const double value = std::nearbyint(sum / count / out_scale.real[0]) + out_zero.AsReal(0), low = IsSigned(x.type) ? -128 : 0;
    e.outputs[0].SetWhole(flat, static_cast<int64_t>(std::fmin(std::fmax(value, low), low + 255)));
  });
}

void AveragePooling(const Evaluation& e) {
  const Values& x = e.inputs[0];
  Values& y = e.outputs[0];
  const Window window(e.desc);
  const bool include = e.desc.Get<bool>("IncludePadding");
  ForEach(y.sizes, [&](const Coordinates& at, size_t flat) {
    double sum = 0, count = 0;
    window.Taps(at, x.sizes, [&](size_t from) {
      sum += x.real[from];
      ++count;
    });
    y.Set(flat, sum / (include ? window.Area() : count));
  });
}

void AveragePoolingGrad(const Evaluation& e) {
  const Values& dy = e.inputs[0];
  Values& dx = e.outputs[0];
  const Window window(e.desc);
  const bool include = e.desc.Get<bool>("IncludePadding");
  std::vector<double> sums(dx.size(), 0);
  ForEach(dy.sizes, [&](const Coordinates& at, size_t flat) {
    double count = 0;
    window.Taps(at, dx.sizes, [&](size_t) { ++count; });
    window.Taps(at, dx.sizes, [&](size_t to) { sums[to] += dy.real[flat] / (include ? window.Area() : count); });
  });
  for (size_t i = 0; i < sums.size(); ++i) dx.Set(i, sums[i]);
}

// The index of the first largest element; integers up to 53 bits.
size_t Largest(const Window& window, const Coordinates& at, const Values& x) {
  size_t best = SIZE_MAX;
  window.Taps(at, x.sizes, [&](size_t from) {
    if (best == SIZE_MAX || x.AsReal(from) > x.AsReal(best)) best = from;
  });
  return best;
}

void MaxPooling(const Evaluation& e) {
  const Values& x = e.inputs[0];
  Values& y = e.outputs[0];
  const Window window(e.desc);
  ForEach(y.sizes, [&](const Coordinates& at, size_t flat) {
    const size_t best = Largest(window, at, x);
    y.Copy(flat, x, best);
    if (e.outputs.size() > 1 && e.outputs[1].size()) e.outputs[1].whole[flat] = static_cast<int64_t>(best);
  });
}

void MaxPoolingGrad(const Evaluation& e) {
  const Values &x = e.inputs[0], &dy = e.inputs[1];
  Values& dx = e.outputs[0];
  const Window window(e.desc);
  std::vector<double> sums(dx.size(), 0);
  ForEach(dy.sizes, [&](const Coordinates& at, size_t flat) { sums[Largest(window, at, x)] += dy.real[flat]; });
  for (size_t i = 0; i < sums.size(); ++i) dx.Set(i, sums[i]);
}

}  // namespace

bool EvaluateMatrix(const Evaluation& e) {
  switch (e.desc.type()) {
    case DML_OPERATOR_GEMM: Gemm(e); return true;
    case DML_OPERATOR_CONVOLUTION: Convolution(e); return true;
    case DML_OPERATOR_LP_POOLING:
    case DML_OPERATOR_LP_POOLING1: LpPooling(e); return true;
    case DML_OPERATOR_QUANTIZED_LINEAR_AVERAGE_POOLING: QuantizedPooling(e); return true;
    case DML_OPERATOR_AVERAGE_POOLING:
    case DML_OPERATOR_AVERAGE_POOLING1: AveragePooling(e); return true;
    case DML_OPERATOR_AVERAGE_POOLING_GRAD: AveragePoolingGrad(e); return true;
    case DML_OPERATOR_MAX_POOLING:
    case DML_OPERATOR_MAX_POOLING1:
    case DML_OPERATOR_MAX_POOLING2: MaxPooling(e); return true;
    case DML_OPERATOR_MAX_POOLING_GRAD: MaxPoolingGrad(e); return true;
    default: return false;
  }
}

}  // namespace dxtensor::test
