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
C Least(C a, C b) {
  if constexpr (std::is_same_v<C, float>) return std::fmin(a, b);
  else return std::min(a, b);
}
template <typename C>
C Greatest(C a, C b) {
  if constexpr (std::is_same_v<C, float>) return std::fmax(a, b);
  else return std::max(a, b);
}

// A float attribute as a bound of an integer type: truncated, and held to the type's range.
template <typename C>
C Bound(float value) {
  if constexpr (std::is_same_v<C, float>) {
    return value;
  } else {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<float>(std::numeric_limits<C>::min())) return std::numeric_limits<C>::min();
    if (value >= static_cast<float>(std::numeric_limits<C>::max())) return std::numeric_limits<C>::max();
    return static_cast<C>(value);
  }
}

template <typename T>
struct Bounds {
  Compute<T> low, high;
};

template <typename T>
Bounds<T> ReadBounds(const schema::OperatorDesc& desc) {
  using C = Compute<T>;
  if (desc.type() == DML_OPERATOR_ELEMENT_WISE_THRESHOLD) return {Bound<C>(desc.Float("Min")), std::numeric_limits<C>::max()};
  if (desc.Has("MinMaxDataType"))
    return {FromUnion<T>(desc.Get<DML_SCALAR_UNION>("Min")), FromUnion<T>(desc.Get<DML_SCALAR_UNION>("Max"))};
  return {Bound<C>(desc.Float("Min")), Bound<C>(desc.Float("Max"))};
}

template <typename T>
KernelPointer MakeGrad(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &x = *desc.Inputs()[0], &dy = *desc.Inputs()[1], &dx = *desc.Outputs()[0];
  Walk<3> walk(dx, {&x, &dy, &dx});
  return KernelFrom([walk, bounds = ReadBounds<T>(desc)](const KernelArguments& a) {
    walk([&](const Offsets<3>& at) {
      Compute<T> value = Load<T>(a.inputs[0], at[0]);
      bool outside = value <= bounds.low || value >= bounds.high;
      Store<T>(a.outputs[0], at[2], outside ? Compute<T>(0) : Load<T>(a.inputs[1], at[1]));
    });
  });
}

template <typename T>
KernelPointer MakeForward(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &x = *desc.Inputs()[0], &y = *desc.Outputs()[0];
  Walk<2> walk(y, {&x, &y});
  const DML_OPERATOR_TYPE type = desc.type();
  return KernelFrom([walk, type, bounds = ReadBounds<T>(desc), s = desc.Get<std::optional<DML_SCALE_BIAS>>("ScaleBias")](
                        const KernelArguments& a) {
    walk([&](const Offsets<2>& at) {
      Compute<T> value = Load<T>(a.inputs[0], at[0]);
      if (s) value = static_cast<Compute<T>>(static_cast<float>(value) * s->Scale + s->Bias);
      if (type == DML_OPERATOR_ELEMENT_WISE_THRESHOLD) value = Greatest(value, bounds.low);
      else if (type == DML_OPERATOR_ELEMENT_WISE_CLIP) value = Least(bounds.high, Greatest(bounds.low, value));
      else value = Greatest(bounds.low, Least(value, bounds.high));
      Store<T>(a.outputs[0], at[1], value);
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
