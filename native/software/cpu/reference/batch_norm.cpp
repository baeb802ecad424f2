// BATCH_NORMALIZATION, its training form, and the gradients of both.
//
// Statistics run over the dimensions in which Scale (or Mean) has size 1; sums are carried in double.
#include <cmath>

#include "activation.h"
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

uint32_t BroadcastDimensions(const schema::TensorDesc& statistics) {
  uint32_t mask = 0;
  for (uint32_t d = 0; d < statistics.rank; ++d)
    if (statistics.sizes[d] == 1) mask |= 1u << d;
  return mask;
}

}  // namespace

KernelPointer MakeBatchNorm(const schema::OperatorDesc& desc) {
  const auto in = desc.Inputs();
  const schema::TensorDesc& out = *desc.Outputs()[0];
  BoxIterator<6> iterate(out, {in[0], in[1], in[2], in[3], in[4], &out});
  return ByFloat(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([iterate, epsilon = desc.Float("Epsilon"), act = FusedActivation(desc)](const KernelArguments& a) {
      iterate([&](const Offsets<6>& at) {
        const float x = Load<T>(a.inputs[0], at[0]), mean = Load<T>(a.inputs[1], at[1]), variance = Load<T>(a.inputs[2], at[2]);
        const float scale = Load<T>(a.inputs[3], at[3]), bias = Load<T>(a.inputs[4], at[4]);
        Store<T>(a.outputs[0], at[5], act(scale * (x - mean) / std::sqrt(variance + epsilon) + bias));
      });
    });
  });
}

KernelPointer MakeBatchNormTraining(const schema::OperatorDesc& desc) {
  const auto in = desc.Inputs(), outs = desc.Outputs();
  const schema::TensorDesc &x = *in[0], &scale = *in[1], &bias = *in[2], &y = *outs[0];
  const schema::TensorDesc* add = in[3];
  const uint32_t reduced = BroadcastDimensions(scale);
  const Dimensions xs = BroadcastStrides(x), ys = BroadcastStrides(y), adds = add ? BroadcastStrides(*add) : Dimensions{};
  BoxIterator<7> kept = IterateSome<7>(
      x, {xs, BroadcastStrides(scale), BroadcastStrides(bias), adds, ys, BroadcastStrides(*outs[1]), BroadcastStrides(*outs[2])}, ~reduced);
  BoxIterator<1> sums = IterateSome<1>(x, {xs}, reduced);
  BoxIterator<3> elements = IterateSome<3>(x, {xs, adds, ys}, reduced);
  return ByFloat(x.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=, epsilon = desc.Float("Epsilon"), act = FusedActivation(desc)](const KernelArguments& a) {
      const auto count = static_cast<double>(sums.Count());
      kept([&](const Offsets<7>& k) {
        double mean = 0, variance = 0;
        sums([&](const Offsets<1>& at) { mean += Load<T>(a.inputs[0], at[0]); }, {k[0]});
        mean /= count;
        sums(
            [&](const Offsets<1>& at) {
              const double d = Load<T>(a.inputs[0], at[0]) - mean;
              variance += d * d;
            },
            {k[0]});
        variance /= count;
        const double factor = Load<T>(a.inputs[1], k[1]) / std::sqrt(variance + epsilon), shift = Load<T>(a.inputs[2], k[2]);
        elements(
            [&](const Offsets<3>& at) {
              const double value =
                  (Load<T>(a.inputs[0], at[0]) - mean) * factor + shift + (a.inputs[3] ? Load<T>(a.inputs[3], at[1]) : 0.0f);
              Store<T>(a.outputs[0], at[2], act(static_cast<float>(value)));
            },
            {k[0], k[3], k[4]});
        Store<T>(a.outputs[1], k[5], static_cast<float>(mean));
        Store<T>(a.outputs[2], k[6], static_cast<float>(variance));
      });
    });
  });
}

KernelPointer MakeBatchNormGrad(const schema::OperatorDesc& desc) {
  const auto in = desc.Inputs(), outs = desc.Outputs();
  const schema::TensorDesc &x = *in[0], &dy = *in[1], &mean = *in[2], &dx = *outs[0];
  const uint32_t reduced = BroadcastDimensions(mean);
  const Dimensions xs = BroadcastStrides(x), dys = BroadcastStrides(dy), dxs = BroadcastStrides(dx);
  BoxIterator<8> kept = IterateSome<8>(x,
                                       {xs, dys, BroadcastStrides(mean), BroadcastStrides(*in[3]), BroadcastStrides(*in[4]), dxs,
                                        BroadcastStrides(*outs[1]), BroadcastStrides(*outs[2])},
                                       ~reduced);
  BoxIterator<3> elements = IterateSome<3>(x, {xs, dys, dxs}, reduced);
  // Training: mean and variance are functions of x. Otherwise they are constants.
  const bool training = desc.type() == DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD;
  return ByFloat(x.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=, epsilon = desc.Float("Epsilon")](const KernelArguments& a) {
      const auto count = static_cast<double>(elements.Count());
      kept([&](const Offsets<8>& k) {
        const double mu = Load<T>(a.inputs[2], k[2]), rate = 1 / std::sqrt(static_cast<double>(Load<T>(a.inputs[3], k[3])) + epsilon);
        const double scale = Load<T>(a.inputs[4], k[4]);
        double sum = 0, gemm = 0;  // of dy, and of dy * (x - mean)
        elements(
            [&](const Offsets<3>& at) {
              const double g = Load<T>(a.inputs[1], at[1]);
              sum += g;
              gemm += g * (Load<T>(a.inputs[0], at[0]) - mu);
            },
            {k[0], k[1], k[5]});
        const double g_mean = training ? sum / count : 0, slope = training ? gemm / count * rate * rate : 0;
        elements(
            [&](const Offsets<3>& at) {
              const double g = Load<T>(a.inputs[1], at[1]) - g_mean - (Load<T>(a.inputs[0], at[0]) - mu) * slope;
              Store<T>(a.outputs[0], at[2], static_cast<float>(scale * rate * g));
            },
            {k[0], k[1], k[5]});
        Store<T>(a.outputs[1], k[6], static_cast<float>(gemm * rate));
        Store<T>(a.outputs[2], k[7], static_cast<float>(sum));
      });
    });
  });
}

}  // namespace dxtensor::software
