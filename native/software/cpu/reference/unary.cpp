// Elementwise functions of one tensor, with an optional scale and bias before the function.
#include <cmath>

#include "element.h"
#include "iterate.h"
#include "kernels.h"
#include "power.h"

namespace dxtensor::software {

namespace {

template <typename T, typename F>
KernelPointer Map(const schema::OperatorDesc& desc, F f) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  BoxIterator<2> iterate(out, {&in, &out});
  std::optional<DML_SCALE_BIAS> scale_bias;
  if (desc.Has("ScaleBias")) scale_bias = desc.Get<std::optional<DML_SCALE_BIAS>>("ScaleBias");
  if (!scale_bias)
    return KernelFrom([iterate, f](const KernelArguments& a) {
      iterate([&](const Offsets<2>& at) { Store<T>(a.outputs[0], at[1], f(Load<T>(a.inputs[0], at[0]))); });
    });
  return KernelFrom([iterate, f, s = *scale_bias](const KernelArguments& a) {
    iterate([&](const Offsets<2>& at) {
      auto x = static_cast<float>(Load<T>(a.inputs[0], at[0]));
      Store<T>(a.outputs[0], at[1], f(Saturate<Compute<T>>(x * s.Scale + s.Bias)));
    });
  });
}

template <typename T, typename F>
KernelPointer Test(const schema::OperatorDesc& desc, F f) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  BoxIterator<2> iterate(out, {&in, &out});
  return ByInteger(out.data_type, [&](auto tag) {
    using U = typename decltype(tag)::Type;
    return KernelFrom([iterate, f](const KernelArguments& a) {
      iterate([&](const Offsets<2>& at) { Store<U>(a.outputs[0], at[1], f(Load<T>(a.inputs[0], at[0])) ? 1 : 0); });
    });
  });
}

// The smallest 8-bit and 16-bit integers give the largest, the others themselves.
template <typename C>
C Negative(C x) {
  return Narrow<C>(uint64_t{0} - static_cast<uint64_t>(x));
}

float RoundAs(uint32_t mode, float x) {
  switch (mode) {
    case DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN: return std::nearbyint(x);  // the default rounding mode
    case DML_ROUNDING_MODE_TOWARD_ZERO: return std::trunc(x);
    default: return std::round(x);  // TOWARD_INFINITY: halves away from zero
  }
}

template <typename T>
KernelPointer MakeFloat(const schema::OperatorDesc& desc) {
  switch (desc.type()) {
    case DML_OPERATOR_ELEMENT_WISE_EXP: return Map<T>(desc, [](float x) { return std::exp(x); });
    case DML_OPERATOR_ELEMENT_WISE_LOG: return Map<T>(desc, [](float x) { return std::log(x); });
    case DML_OPERATOR_ELEMENT_WISE_SQRT: return Map<T>(desc, [](float x) { return std::sqrt(x); });
    case DML_OPERATOR_ELEMENT_WISE_RECIP: return Map<T>(desc, [](float x) { return 1 / x; });
    case DML_OPERATOR_ELEMENT_WISE_SIN: return Map<T>(desc, [](float x) { return std::sin(x); });
    case DML_OPERATOR_ELEMENT_WISE_COS: return Map<T>(desc, [](float x) { return std::cos(x); });
    case DML_OPERATOR_ELEMENT_WISE_TAN: return Map<T>(desc, [](float x) { return std::tan(x); });
    case DML_OPERATOR_ELEMENT_WISE_ASIN: return Map<T>(desc, [](float x) { return std::asin(x); });
    case DML_OPERATOR_ELEMENT_WISE_ACOS: return Map<T>(desc, [](float x) { return std::acos(x); });
    case DML_OPERATOR_ELEMENT_WISE_ATAN: return Map<T>(desc, [](float x) { return std::atan(x); });
    case DML_OPERATOR_ELEMENT_WISE_SINH: return Map<T>(desc, [](float x) { return std::sinh(x); });
    case DML_OPERATOR_ELEMENT_WISE_COSH: return Map<T>(desc, [](float x) { return std::cosh(x); });
    case DML_OPERATOR_ELEMENT_WISE_TANH: return Map<T>(desc, [](float x) { return std::tanh(x); });
    case DML_OPERATOR_ELEMENT_WISE_ASINH: return Map<T>(desc, [](float x) { return std::asinh(x); });
    case DML_OPERATOR_ELEMENT_WISE_ACOSH: return Map<T>(desc, [](float x) { return std::acosh(x); });
    case DML_OPERATOR_ELEMENT_WISE_ATANH: return Map<T>(desc, [](float x) { return std::atanh(x); });
    case DML_OPERATOR_ELEMENT_WISE_ERF: return Map<T>(desc, [](float x) { return std::erf(x); });
    case DML_OPERATOR_ELEMENT_WISE_FLOOR: return Map<T>(desc, [](float x) { return std::floor(x); });
    case DML_OPERATOR_ELEMENT_WISE_CEIL: return Map<T>(desc, [](float x) { return std::ceil(x); });
    case DML_OPERATOR_ELEMENT_WISE_ROUND: return Map<T>(desc, [mode = desc.UInt("RoundingMode")](float x) { return RoundAs(mode, x); });
    case DML_OPERATOR_ELEMENT_WISE_CONSTANT_POW: return Map<T>(desc, [e = desc.Float("Exponent")](float x) { return FloatPower(x, e); });
    case DML_OPERATOR_ELEMENT_WISE_IS_NAN: return Test<T>(desc, [](float x) { return std::isnan(x); });
    case DML_OPERATOR_ELEMENT_WISE_IS_INFINITY:
      return Test<T>(desc, [mode = desc.UInt("InfinityMode")](float x) {
        return std::isinf(x) && (mode == DML_IS_INFINITY_MODE_EITHER || (mode == DML_IS_INFINITY_MODE_POSITIVE) == (x > 0));
      });
    default: return nullptr;
  }
}

}  // namespace

KernelPointer MakeUnary(const schema::OperatorDesc& desc) {
  DML_TENSOR_DATA_TYPE type = desc.Inputs()[0]->data_type;
  switch (desc.type()) {
    case DML_OPERATOR_ELEMENT_WISE_IDENTITY:
      return ByAny(type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return Map<T>(desc, [](Compute<T> x) { return x; });
      });
    case DML_OPERATOR_ELEMENT_WISE_ABS:
      return ByNumber(type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using C = Compute<T>;
        return Map<T>(desc, [](C x) {
          if constexpr (std::is_same_v<C, float>) return std::fabs(x);
          else return x < 0 ? Negative(x) : x;
        });
      });
    case DML_OPERATOR_ELEMENT_WISE_NEGATE:
      return ByNumber(type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using C = Compute<T>;
        return Map<T>(desc, [](C x) {
          if constexpr (std::is_same_v<C, float>) return -x;
          else return Negative(x);
        });
      });
    case DML_OPERATOR_ELEMENT_WISE_SIGN:
      return ByNumber(type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using C = Compute<T>;
        return Map<T>(desc, [](C x) { return static_cast<C>((x > 0) - (x < 0)); });
      });
    default: return ByFloat(type, [&](auto tag) { return MakeFloat<typename decltype(tag)::Type>(desc); });
  }
}

}  // namespace dxtensor::software
