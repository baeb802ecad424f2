// Elementwise arithmetic of two tensors, and of a tensor with its exponents.
#include <cmath>
#include <limits>

#include "activation.h"
#include "element.h"
#include "iterate.h"
#include "kernels.h"
#include "power.h"

namespace dxtensor::software {

namespace {

template <typename T, typename F>
KernelPointer Map(const schema::OperatorDesc& desc, F f) {
  const schema::TensorDesc &a = *desc.Inputs()[0], &b = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  BoxIterator<3> iterate(out, {&a, &b, &out});
  return KernelFrom([iterate, f](const KernelArguments& arguments) {
    iterate([&](const Offsets<3>& at) {
      Store<T>(arguments.outputs[0], at[2], f(Load<T>(arguments.inputs[0], at[0]), Load<T>(arguments.inputs[1], at[1])));
    });
  });
}

// What integer division by 0 gives is not documented; these are the values that Microsoft's library gives: unsigned ones as D3D
// requires (all bits), signed ones as they come from a division of magnitudes.
template <typename C>
C Quotient(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    if (b == 0) {
      if constexpr (!std::is_signed_v<C>) return static_cast<C>(~C(0));
      else return sizeof(C) == 8 ? C(0) : a < 0 ? C(1) : C(-1);
    }
    if constexpr (std::is_signed_v<C>)
      if (b == -1) return Wrap(C(0), a, [](auto p, auto q) { return p - q; });
    return static_cast<C>(a / b);
  } else {
    return a / b;
  }
}

template <typename C>
C RemainderTruncated(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    if (b == 0) return std::is_signed_v<C> && sizeof(C) < 8 ? a : static_cast<C>(~C(0));
    if constexpr (std::is_signed_v<C>)
      if (b == -1) return 0;
    return static_cast<C>(a % b);
  } else {
    // a - b * trunc(a / b) has no value for an infinite b.
    return std::isinf(b) ? std::numeric_limits<C>::quiet_NaN() : std::fmod(a, b);
  }
}

template <typename C>
C RemainderFloored(C a, C b) {
  if constexpr (std::is_integral_v<C> && std::is_signed_v<C>)
    if (b == 0) return sizeof(C) < 8 && a < 0 ? C(1) : C(-1);
  C r = RemainderTruncated(a, b);
  if (b != 0 && r != 0 && (r < 0) != (b < 0)) r = static_cast<C>(r + b);
  return r;
}

template <typename C>
C Mean(C a, C b) {
  if constexpr (std::is_integral_v<C>) return Quotient<C>(Wrap(a, b, [](auto p, auto q) { return p + q; }), 2);
  else return (a + b) / 2;
}

}  // namespace

KernelPointer MakeBinary(const schema::OperatorDesc& desc) {
  return ByNumber(desc.Outputs()[0]->data_type, [&](auto tag) -> KernelPointer {
    using T = typename decltype(tag)::Type;
    using C = Compute<T>;
    switch (desc.type()) {
      case DML_OPERATOR_ELEMENT_WISE_ADD: return Map<T>(desc, [](C a, C b) { return Wrap(a, b, [](auto p, auto q) { return p + q; }); });
      case DML_OPERATOR_ELEMENT_WISE_ADD1:
        if constexpr (std::is_same_v<C, float>) return Map<T>(desc, [act = FusedActivation(desc)](C a, C b) { return act(a + b); });
        else return nullptr;
      case DML_OPERATOR_ELEMENT_WISE_SUBTRACT:
        return Map<T>(desc, [](C a, C b) { return Wrap(a, b, [](auto p, auto q) { return p - q; }); });
      case DML_OPERATOR_ELEMENT_WISE_MULTIPLY:
        return Map<T>(desc, [](C a, C b) { return Wrap(a, b, [](auto p, auto q) { return p * q; }); });
      case DML_OPERATOR_ELEMENT_WISE_DIVIDE: return Map<T>(desc, [](C a, C b) { return Quotient<C>(a, b); });
      case DML_OPERATOR_ELEMENT_WISE_MODULUS_TRUNCATE: return Map<T>(desc, [](C a, C b) { return RemainderTruncated<C>(a, b); });
      case DML_OPERATOR_ELEMENT_WISE_MODULUS_FLOOR: return Map<T>(desc, [](C a, C b) { return RemainderFloored<C>(a, b); });
      case DML_OPERATOR_ELEMENT_WISE_MAX:
        return Map<T>(desc, [](C a, C b) {
          if constexpr (std::is_same_v<C, float>) return std::fmax(a, b);
          else return a > b ? a : b;
        });
      case DML_OPERATOR_ELEMENT_WISE_MIN:
        return Map<T>(desc, [](C a, C b) {
          if constexpr (std::is_same_v<C, float>) return std::fmin(a, b);
          else return a < b ? a : b;
        });
      case DML_OPERATOR_ELEMENT_WISE_MEAN: return Map<T>(desc, [](C a, C b) { return Mean<C>(a, b); });
      case DML_OPERATOR_ELEMENT_WISE_DIFFERENCE_SQUARE:
        return Map<T>(desc, [](C a, C b) { return Wrap(a, b, [](auto p, auto q) { return (p - q) * (p - q); }); });
      case DML_OPERATOR_ELEMENT_WISE_ATAN_YX:
        if constexpr (std::is_same_v<C, float>) return Map<T>(desc, [](C a, C b) { return std::atan2(a, b); });
        else return nullptr;
      default: return nullptr;
    }
  });
}

namespace {

// x to the power of e by squaring, in 32 bits that wrap; a negative exponent leaves only what 1 and -1 give.
template <typename C>
C IntegerPower(C x, int64_t e) {
  if (e < 0) return x == 1 ? C(1) : std::is_signed_v<C> && x == static_cast<C>(-1) ? static_cast<C>((e & 1) ? -1 : 1) : C(0);
  auto base = static_cast<uint32_t>(x);
  uint32_t result = 1;
  for (; e; e >>= 1, base *= base)
    if (e & 1) result *= base;
  return Narrow<C>(result);
}

template <typename T, typename E>
Compute<T> Power(Compute<T> x, Compute<E> e) {
  using C = Compute<T>;
  if constexpr (std::is_integral_v<C> && std::is_integral_v<Compute<E>>) return IntegerPower<C>(x, static_cast<int64_t>(e));
  else return Saturate<C>(FloatPower(static_cast<float>(x), static_cast<float>(e)));
}

// With a scale and bias, both the base and the exponent are scaled: so Microsoft's library does, against its documentation.
template <typename T, typename E>
Compute<T> ScaledPower(Compute<T> x, Compute<E> e, const DML_SCALE_BIAS& s) {
  return Saturate<Compute<T>>(FloatPower(static_cast<float>(x) * s.Scale + s.Bias, static_cast<float>(e) * s.Scale + s.Bias));
}

}  // namespace

KernelPointer MakePow(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &x = *desc.Inputs()[0], &e = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  BoxIterator<3> iterate(out, {&x, &e, &out});
  auto scale_bias = desc.Get<std::optional<DML_SCALE_BIAS>>("ScaleBias");
  return ByNumber(x.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return ByNumber(e.data_type, [&](auto exponent_tag) {
      using E = typename decltype(exponent_tag)::Type;
      return KernelFrom([iterate, s = scale_bias](const KernelArguments& a) {
        iterate([&](const Offsets<3>& at) {
          const auto value = Load<T>(a.inputs[0], at[0]);
          const auto exponent = Load<E>(a.inputs[1], at[1]);
          Store<T>(a.outputs[0], at[2], s ? ScaledPower<T, E>(value, exponent, *s) : Power<T, E>(value, exponent));
        });
      });
    });
  });
}

}  // namespace dxtensor::software
