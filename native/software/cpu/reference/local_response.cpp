// LOCAL_RESPONSE_NORMALIZATION and its gradient, and LP_NORMALIZATION.
#include <algorithm>
#include <cmath>

#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

// The neighbours of an element: along the channels, or over height and width. An even size reaches one further up than down, in the
// gradient too, as in Microsoft's library.
struct Neighbourhood {
  Dimensions sizes{}, strides{};  // {N, C, H, W}
  uint32_t first = 1, last = 1;   // dimensions
  uint64_t down = 0, up = 0;

  Neighbourhood(const schema::TensorDesc& t, const schema::OperatorDesc& desc) : sizes(SizesOf(t)), strides(BroadcastStrides(t)) {
    if (!desc.Get<bool>("CrossChannel")) {
      first = 2;
      last = 3;
    }
    const uint64_t size = desc.UInt("LocalSize");
    down = (size - 1) / 2;
    up = size / 2;
  }

  // visit(coordinates) for every neighbour of an element, which is one itself.
  template <typename F>
  void operator()(const std::array<uint64_t, 4>& at, F&& visit) const {
    std::array<uint64_t, 4> low = at, high = at, position;
    for (uint32_t d = first; d <= last; ++d) {
      low[d] = at[d] - std::min(at[d], down);
      high[d] = std::min(at[d] + up, sizes[d] - 1);
    }
    position = low;
    for (position[1] = low[1]; position[1] <= high[1]; ++position[1])
      for (position[2] = low[2]; position[2] <= high[2]; ++position[2])
        for (position[3] = low[3]; position[3] <= high[3]; ++position[3]) visit(static_cast<const std::array<uint64_t, 4>&>(position));
  }

  template <typename F>
  void ForEach(F&& visit) const {
    std::array<uint64_t, 4> at;
    for (at[0] = 0; at[0] < sizes[0]; ++at[0])
      for (at[1] = 0; at[1] < sizes[1]; ++at[1])
        for (at[2] = 0; at[2] < sizes[2]; ++at[2])
          for (at[3] = 0; at[3] < sizes[3]; ++at[3]) visit(static_cast<const std::array<uint64_t, 4>&>(at));
  }
};

uint64_t Offset(const std::array<uint64_t, 4>& at, const Dimensions& strides) {
  return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + at[3] * strides[3];
}

struct Response {
  double rate = 0, beta = 0, bias = 0;  // rate: Alpha / LocalSize, whatever the number of neighbours

  explicit Response(const schema::OperatorDesc& desc)
      : rate(static_cast<double>(desc.Float("Alpha")) / desc.UInt("LocalSize")), beta(desc.Float("Beta")), bias(desc.Float("Bias")) {}
};

template <typename T>
double SumOfSquares(const Neighbourhood& around, const uint8_t* x, const std::array<uint64_t, 4>& at) {
  double sum = 0;
  around(at, [&](const auto& p) {
    const double value = Load<T>(x, Offset(p, around.strides));
    sum += value * value;
  });
  return sum;
}

}  // namespace

KernelPointer MakeLocalResponse(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const Neighbourhood around(in, desc);
  const Response response(desc);
  return ByFloat(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([around, response, to = BroadcastStrides(out)](const KernelArguments& a) {
      around.ForEach([&](const auto& at) {
        const double scale = response.bias + response.rate * SumOfSquares<T>(around, a.inputs[0], at);
        const double x = Load<T>(a.inputs[0], Offset(at, around.strides));
        Store<T>(a.outputs[0], Offset(at, to), static_cast<float>(x * std::pow(scale, -response.beta)));
      });
    });
  });
}

KernelPointer MakeLocalResponseGrad(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &dy = *desc.Inputs()[1], &dx = *desc.Outputs()[0];
  const Neighbourhood around(in, desc);
  const Response response(desc);
  return ByFloat(dx.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom(
        [around, response, packed = PackedStrides(in), from = BroadcastStrides(dy), to = BroadcastStrides(dx)](const KernelArguments& a) {
          auto* scales = reinterpret_cast<double*>(a.scratch);
          around.ForEach([&](const auto& at) {
            scales[Offset(at, packed)] = response.bias + response.rate * SumOfSquares<T>(around, a.inputs[0], at);
          });
          around.ForEach([&](const auto& at) {
            double sum = 0;
            around(at, [&](const auto& p) {
              const double gemm =
                  static_cast<double>(Load<T>(a.inputs[1], Offset(p, from))) * Load<T>(a.inputs[0], Offset(p, around.strides));
              sum += gemm * std::pow(scales[Offset(p, packed)], -response.beta - 1);
            });
            const double own = Load<T>(a.inputs[1], Offset(at, from)) * std::pow(scales[Offset(at, packed)], -response.beta);
            const double x = Load<T>(a.inputs[0], Offset(at, around.strides));
            Store<T>(a.outputs[0], Offset(at, to), static_cast<float>(own - 2 * response.beta * response.rate * x * sum));
          });
        },
        in.ElementCount() * sizeof(double));
  });
}

KernelPointer MakeLpNormalization(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const uint32_t axis = 1u << desc.UInt("Axis");
  const std::array<Dimensions, 2> strides{BroadcastStrides(in), BroadcastStrides(out)};
  BoxIterator<2> rows = IterateSome<2>(in, strides, ~axis), elements = IterateSome<2>(in, strides, axis);
  return ByFloat(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=, epsilon = desc.Float("Epsilon"), squares = desc.UInt("P") == 2](const KernelArguments& a) {
      rows([&](const Offsets<2>& row) {
        double sum = 0;
        elements(
            [&](const Offsets<2>& at) {
              const double x = Load<T>(a.inputs[0], at[0]);
              sum += squares ? x * x : std::fabs(x);
            },
            row);
        // Epsilon is added to the norm's square, whatever the norm.
        const double norm = std::sqrt((squares ? sum : sum * sum) + epsilon);
        elements([&](const Offsets<2>& at) { Store<T>(a.outputs[0], at[1], static_cast<float>(Load<T>(a.inputs[0], at[0]) / norm)); }, row);
      });
    });
  });
}

}  // namespace dxtensor::software
