// MEAN_VARIANCE_NORMALIZATION over given axes, with optional scale and bias, and VALUE_SCALE_2D.
#include <cmath>

#include "activation.h"
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

KernelPointer MakeMeanVariance(const schema::OperatorDesc& desc) {
  const auto in = desc.Inputs();
  const schema::TensorDesc &x = *in[0], &y = *desc.Outputs()[0];
  uint32_t axes = 0;
  if (desc.Has("Axes")) axes = AxisMask(desc.UInts("Axes"));
  else axes = desc.Get<bool>("CrossChannel") ? 0b1110 : 0b1100;
  const bool centers = desc.Has("UseMean") ? desc.Get<bool>("UseMean") : true;
  const bool scales = desc.Get<bool>(desc.Has("UseVariance") ? "UseVariance" : "NormalizeVariance");
  const Dimensions xs = BroadcastStrides(x), ys = BroadcastStrides(y), none{};
  const Dimensions ss = in[1] ? BroadcastStrides(*in[1]) : none, bs = in[2] ? BroadcastStrides(*in[2]) : none;
  BoxIterator<4> kept = IterateSome<4>(x, {xs, ss, bs, ys}, ~axes), elements = IterateSome<4>(x, {xs, ss, bs, ys}, axes);
  BoxIterator<1> sums = IterateSome<1>(x, {xs}, axes);
  return ByFloat(x.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=, epsilon = desc.Float("Epsilon"), act = FusedActivation(desc)](const KernelArguments& a) {
      const auto count = static_cast<double>(sums.Count());
      kept([&](const Offsets<4>& k) {
        double mean = 0, variance = 0;
        if (centers) sums([&](const Offsets<1>& at) { mean += Load<T>(a.inputs[0], at[0]); }, {k[0]});
        mean /= count;
        sums(
            [&](const Offsets<1>& at) {
              const double d = Load<T>(a.inputs[0], at[0]) - mean;
              variance += d * d;
            },
            {k[0]});
        const double rate = scales ? 1 / std::sqrt(variance / count + epsilon) : 1;
        elements(
            [&](const Offsets<4>& at) {
              double value = (Load<T>(a.inputs[0], at[0]) - mean) * rate;
              if (a.inputs[1]) value *= Load<T>(a.inputs[1], at[1]);
              if (a.inputs[2]) value += Load<T>(a.inputs[2], at[2]);
              Store<T>(a.outputs[0], at[3], act(static_cast<float>(value)));
            },
            k);
      });
    });
  });
}

KernelPointer MakeValueScale(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &x = *desc.Inputs()[0], &y = *desc.Outputs()[0];
  // The third operand is the channel.
  BoxIterator<3> iterate(x.rank, SizesOf(x), {BroadcastStrides(x), BroadcastStrides(y), Dimensions{0, 1}});
  return ByFloat(y.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([iterate, scale = desc.Float("Scale"), bias = desc.Get<std::vector<float>>("Bias")](const KernelArguments& a) {
      iterate([&](const Offsets<3>& at) { Store<T>(a.outputs[0], at[1], Load<T>(a.inputs[0], at[0]) * scale + bias[at[2]]); });
    });
  });
}

}  // namespace dxtensor::software
