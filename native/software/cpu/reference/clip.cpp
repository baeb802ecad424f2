// CLIP, CLIP1, THRESHOLD and the gradients of the first two.
#include <algorithm>
#include <cmath>
#include <limits>

#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

template <typename C>
C Min(C a, C b) {
  if constexpr (std::is_same_v<C, float>) return std::fmin(a, b);
  else return std::min(a, b);
}
template <typename C>
C Greatest(C a, C b) {
  if constexpr (std::is_same_v<C, float>) return std::fmax(a, b);
  else return std::max(a, b);
}

template <typename T>
struct Bounds {
  Compute<T> low, high;
};

template <typename T>
Bounds<T> ReadBounds(const schema::OperatorDesc& desc) {
  using C = Compute<T>;
  if (desc.type() == DML_OPERATOR_ELEMENT_WISE_THRESHOLD) return {Saturate<C>(desc.Float("Min")), std::numeric_limits<C>::max()};
  if (desc.Has("MinMaxDataType")) return {FromUnion<T>(desc.Get<DML_SCALAR_UNION>("Min")), FromUnion<T>(desc.Get<DML_SCALAR_UNION>("Max"))};
  return {Saturate<C>(desc.Float("Min")), Saturate<C>(desc.Float("Max"))};
}

template <typename T>
KernelPointer MakeGrad(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &x = *desc.Inputs()[0], &dy = *desc.Inputs()[1], &dx = *desc.Outputs()[0];
  BoxIterator<3> iterate(dx, {&x, &dy, &dx});
  return KernelFrom([iterate, bounds = ReadBounds<T>(desc)](const KernelArguments& a) {
    iterate([&](const Offsets<3>& at) {
      Compute<T> value = Load<T>(a.inputs[0], at[0]);
      const bool inside = value > bounds.low && value < bounds.high;
      Store<T>(a.outputs[0], at[2], inside ? Load<T>(a.inputs[1], at[1]) : Compute<T>(0));
    });
  });
}

template <typename T>
KernelPointer MakeForward(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &x = *desc.Inputs()[0], &y = *desc.Outputs()[0];
  BoxIterator<2> iterate(y, {&x, &y});
  const bool is_threshold = desc.type() == DML_OPERATOR_ELEMENT_WISE_THRESHOLD;
  return KernelFrom([iterate, is_threshold, bounds = ReadBounds<T>(desc),
                     s = desc.Get<std::optional<DML_SCALE_BIAS>>("ScaleBias")](const KernelArguments& a) {
    iterate([&](const Offsets<2>& at) {
      Compute<T> value = Load<T>(a.inputs[0], at[0]);
      if (s) value = Saturate<Compute<T>>(static_cast<float>(value) * s->Scale + s->Bias);
      // In this order Min wins when it is above Max. NaN gives Max, or THRESHOLD's Min.
      if (!is_threshold) value = Min(value, bounds.high);
      Store<T>(a.outputs[0], at[1], Greatest(bounds.low, value));
    });
  });
}

}  // namespace

KernelPointer MakeClip(const schema::OperatorDesc& desc) {
  return ByNumber(desc.Inputs()[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return desc.Inputs().size() == 2 ? MakeGrad<T>(desc) : MakeForward<T>(desc);
  });
}

}  // namespace dxtensor::software
