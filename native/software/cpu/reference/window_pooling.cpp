// LP_POOLING, average pooling of quantized numbers, and MAX_UNPOOLING.
#include <algorithm>
#include <cmath>

#include "element.h"
#include "iterate.h"
#include "kernels.h"
#include "quantize.h"
#include "windows.h"

namespace dxtensor::software {

KernelPointer MakeLpPooling(const schema::OperatorDesc& desc) {
  const Grid in(*desc.Inputs()[0]), out(*desc.Outputs()[0]);
  const Window window(desc);
  return ByFloat(desc.Outputs()[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=, p = desc.UInt("P")](const KernelArguments& a) {
      auto power = [p](double x) { return p == 1 ? x : p == 2 ? x * x : std::pow(x, static_cast<double>(p)); };
      auto root = [p](double x) { return p == 1 ? x : p == 2 ? std::sqrt(x) : std::pow(x, 1.0 / static_cast<double>(p)); };
      ForEach(out, [&](uint64_t n, uint64_t c, const Position& position) {
        double sum = 0;
        window.Visit(in.size, position, [&](const Position& at) {
          sum += power(std::fabs(static_cast<double>(Load<T>(a.inputs[0], in.At(n, c) + in.At(at)))));
        });
        Store<T>(a.outputs[0], out.At(n, c) + out.At(position), static_cast<float>(root(sum)));
      });
    });
  });
}

namespace {

// Scale and zero point of one side; both broadcast over its tensor.
struct SideValues {
  Rescale values;
  Grid scale, zero;

  SideValues(const schema::OperatorDesc& desc, const char* side)
      : values(desc, side), scale(*desc.Tensor((std::string(side) + "ScaleTensor").c_str())), zero(ZeroOf(desc, side)) {}
  float Scale(const KernelArguments& a, uint64_t n, uint64_t c, const Position& p) const {
    return values.Scale(a, scale.At(n, c) + scale.At(p));
  }
  int64_t Zero(const KernelArguments& a, uint64_t n, uint64_t c, const Position& p) const {
    return values.Zero(a, zero.At(n, c) + zero.At(p));
  }

 private:
  static Grid ZeroOf(const schema::OperatorDesc& desc, const char* side) {
    const auto& zero = desc.Tensor((std::string(side) + "ZeroPointTensor").c_str());
    return Grid(zero ? *zero : *desc.Tensor((std::string(side) + "ScaleTensor").c_str()));
  }
};

}  // namespace

KernelPointer MakeQuantizedPooling(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &input = *desc.Inputs()[0], &output = *desc.Outputs()[0];
  const Grid in(input), out(output);
  const Window window(desc);
  const SideValues from(desc, "Input"), to(desc, "Output");
  const bool counts_padding = desc.Get<bool>("IncludePadding");
  return KernelFrom([=, in_type = input.data_type, out_type = output.data_type](const KernelArguments& a) {
    ForEach(out, [&](uint64_t n, uint64_t c, const Position& position) {
      double sum = 0;
      uint64_t taps = 0;
      window.Visit(in.size, position, [&](const Position& p) {
        const int64_t x = LoadInteger(in_type, a.inputs[0], in.At(n, c) + in.At(p)) - from.Zero(a, n, c, p);
        sum += static_cast<double>(x) * from.Scale(a, n, c, p);
        ++taps;
      });
      if (counts_padding) taps = window.Taps();
      const auto mean = static_cast<float>(sum / static_cast<double>(taps));
      const float value = std::nearbyint(mean / to.Scale(a, n, c, position)) + static_cast<float>(to.Zero(a, n, c, position));
      StoreQuantized(out_type, a.outputs[0], out.At(n, c) + out.At(position), value);
    });
  });
}

// An index counts the output's elements in row-major order; one past its end writes nothing.
KernelPointer MakeMaxUnpooling(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &indices = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  BoxIterator<2> values(in, {&in, &indices});
  BoxIterator<1> all(out, {&out});
  const bool wide_index = schema::BytesPerElement(indices.data_type) == 8;
  return ByWidth(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=, elements = out.ElementCount(), rank = out.rank, sizes = SizesOf(out),
                       strides = BroadcastStrides(out)](const KernelArguments& a) {
      all([&](const Offsets<1>& at) { Store<T>(a.outputs[0], at[0], T{}); });
      values([&](const Offsets<2>& at) {
        uint64_t rest = wide_index ? Load<uint64_t>(a.inputs[1], at[1]) : Load<uint32_t>(a.inputs[1], at[1]), to = 0;
        if (rest >= elements) return;
        for (uint32_t d = rank; d-- > 0; rest /= sizes[d]) to += rest % sizes[d] * strides[d];
        Store<T>(a.outputs[0], to, Load<T>(a.inputs[0], at[0]));
      });
    });
  });
}

}  // namespace dxtensor::software
