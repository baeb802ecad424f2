// Typed access to the elements of a tensor: storage types, half precision, and a switch over DML_TENSOR_DATA_TYPE.
//
// Elements are read and written with memcpy, so addresses need no alignment. Half computes as float and is rounded when stored.
// Plain functions without state; any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "software/cpu/kernel.h"

namespace dxtensor::software {

struct Half {
  uint16_t bits;
};

inline float HalfToFloat(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  uint32_t bits = static_cast<uint32_t>(h & 0x7fff) << 13;
  float value;
  if (bits >= 0x0f800000) {  // infinity or NaN
    bits += (255u - 31u) << 23;
  } else if (bits >= 0x00800000) {
    bits += (127u - 15u) << 23;
  } else {  // subnormal: as 2^-14 * (1 + m) - 2^-14
    bits += 113u << 23;
    std::memcpy(&value, &bits, sizeof value);
    value -= 6.103515625e-05f;
    std::memcpy(&bits, &value, sizeof bits);
  }
  bits |= sign;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Rounds to nearest, ties to even.
inline uint16_t FloatToHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | ((bits >> 13) & 0x3ff));
  if (bits >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (bits < 0x38800000) {  // subnormal: 0.5's last bit is the half's
    float magnitude;
    std::memcpy(&magnitude, &bits, sizeof magnitude);
    magnitude += 0.5f;
    std::memcpy(&bits, &magnitude, sizeof bits);
    return static_cast<uint16_t>(sign | (bits - 0x3f000000));
  }
  bits += 0xfff + ((bits >> 13) & 1);
  return static_cast<uint16_t>(sign | ((bits - (112u << 23)) >> 13));
}

template <typename T>
struct ComputeOf {
  using Type = T;
};
template <>
struct ComputeOf<Half> {
  using Type = float;
};
template <typename T>
using Compute = typename ComputeOf<T>::Type;

template <typename T>
Compute<T> Load(const uint8_t* base, uint64_t index) {
  T value;
  std::memcpy(&value, base + index * sizeof(T), sizeof(T));
  if constexpr (std::is_same_v<T, Half>) return HalfToFloat(value.bits);
  else return value;
}

template <typename T>
void Store(uint8_t* base, uint64_t index, Compute<T> value) {
  T stored;
  if constexpr (std::is_same_v<T, Half>) stored.bits = FloatToHalf(value);
  else stored = value;
  std::memcpy(base + index * sizeof(T), &stored, sizeof(T));
}

// Sums are carried in double, in a fixed order, and rounded once; those of integers in 64 bits that wrap.
template <typename T>
using Sum = std::conditional_t<std::is_floating_point_v<Compute<T>>, double, uint64_t>;

// f of two numbers; integers are taken to 64 bits and wrap in their own width, without undefined behaviour.
template <typename T, typename F>
T Wrap(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  else return f(a, b);
}

// A number as an integer: truncated toward zero and clamped to the type's range; NaN gives 0.
template <typename To, typename From>
To Saturate(From value) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

// An integer as one of another type, as DirectML's shaders do it: it wraps in 32 bits and is then clamped to 8 or 16.
template <typename To, typename From>
To Narrow(From value) {
  if constexpr (sizeof(To) >= sizeof(int32_t)) {
    return static_cast<To>(value);
  } else {
    using Word = std::conditional_t<std::is_signed_v<To>, int32_t, uint32_t>;
    return static_cast<To>(std::clamp<Word>(static_cast<Word>(value), std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
  }
}

template <typename T>
struct Tag {
  using Type = T;
};

using KernelPointer = std::unique_ptr<Kernel>;

// Calls make(Tag<T>) with the type that stores the data type; null for a type that make's family does not list.
template <typename F>
KernelPointer ByFloat(DML_TENSOR_DATA_TYPE type, F&& make) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT32: return make(Tag<float>());
    case DML_TENSOR_DATA_TYPE_FLOAT16: return make(Tag<Half>());
    default: return nullptr;
  }
}
template <typename F>
KernelPointer ByInteger(DML_TENSOR_DATA_TYPE type, F&& make) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_UINT8: return make(Tag<uint8_t>());
    case DML_TENSOR_DATA_TYPE_UINT16: return make(Tag<uint16_t>());
    case DML_TENSOR_DATA_TYPE_UINT32: return make(Tag<uint32_t>());
    case DML_TENSOR_DATA_TYPE_UINT64: return make(Tag<uint64_t>());
    case DML_TENSOR_DATA_TYPE_INT8: return make(Tag<int8_t>());
    case DML_TENSOR_DATA_TYPE_INT16: return make(Tag<int16_t>());
    case DML_TENSOR_DATA_TYPE_INT32: return make(Tag<int32_t>());
    case DML_TENSOR_DATA_TYPE_INT64: return make(Tag<int64_t>());
    default: return nullptr;
  }
}
// All but FLOAT64, which computes nowhere.
template <typename F>
KernelPointer ByNumber(DML_TENSOR_DATA_TYPE type, F&& make) {
  KernelPointer kernel = ByFloat(type, make);
  return kernel ? std::move(kernel) : ByInteger(type, make);
}
template <typename F>
KernelPointer ByAny(DML_TENSOR_DATA_TYPE type, F&& make) {
  return type == DML_TENSOR_DATA_TYPE_FLOAT64 ? make(Tag<double>()) : ByNumber(type, make);
}
// For operators that move bits: the unsigned integer of the type's width.
template <typename F>
KernelPointer ByWidth(DML_TENSOR_DATA_TYPE type, F&& make) {
  switch (schema::BytesPerElement(type)) {
    case 1: return make(Tag<uint8_t>());
    case 2: return make(Tag<uint16_t>());
    case 4: return make(Tag<uint32_t>());
    case 8: return make(Tag<uint64_t>());
    default: return nullptr;
  }
}

// The member of a scalar union that a data type selects.
template <typename T>
Compute<T> FromUnion(const DML_SCALAR_UNION& value) {
  return Load<T>(reinterpret_cast<const uint8_t*>(&value), 0);
}

// A kernel from a function of its arguments; what the function captures is what it keeps.
template <typename Body>
KernelPointer KernelFrom(Body body, size_t scratch_bytes = 0, bool overwrites_first = false) {
  class Holder final : public Kernel {
   public:
    Holder(Body&& body, size_t scratch_bytes, bool overwrites_first)
        : body_(std::move(body)), scratch_bytes_(scratch_bytes), overwrites_first_(overwrites_first) {}
    size_t ScratchBytes() const override { return scratch_bytes_; }
    void Run(const KernelArguments& arguments) const override { body_(arguments); }
    bool MayOverwrite(size_t input, size_t output) const override { return overwrites_first_ && input == 0 && output == 0; }

   private:
    Body body_;
    size_t scratch_bytes_;
    bool overwrites_first_;
  };
  return std::make_unique<Holder>(std::move(body), scratch_bytes, overwrites_first);
}

}  // namespace dxtensor::software
