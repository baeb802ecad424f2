// ADAM_OPTIMIZER.
#include <cmath>

#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

KernelPointer MakeAdam(const schema::OperatorDesc& desc) {
  const auto in = desc.Inputs(), out = desc.Outputs();
  BoxIterator<7> iterate(*in[0], {in[0], in[1], in[2], in[3], out[0], out[1], out[2]});
  const float rate = desc.Float("LearningRate"), beta1 = desc.Float("Beta1"), beta2 = desc.Float("Beta2"), epsilon = desc.Float("Epsilon");
  return ByFloat(in[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=](const KernelArguments& a) {
      const double step = Load<uint32_t>(a.inputs[4], 0);
      const auto alpha = static_cast<float>(rate * std::sqrt(1 - std::pow(static_cast<double>(beta2), step)) /
                                            (1 - std::pow(static_cast<double>(beta1), step)));
      iterate([&](const Offsets<7>& at) {
        const float g = Load<T>(a.inputs[3], at[3]);
        const float m = beta1 * Load<T>(a.inputs[1], at[1]) + (1 - beta1) * g;
        const float v = beta2 * Load<T>(a.inputs[2], at[2]) + (1 - beta2) * g * g;
        Store<T>(a.outputs[0], at[4], Load<T>(a.inputs[0], at[0]) - alpha * m / (std::sqrt(v) + epsilon));
        Store<T>(a.outputs[1], at[5], m);
        Store<T>(a.outputs[2], at[6], v);
      });
    });
  });
}

}  // namespace dxtensor::software
