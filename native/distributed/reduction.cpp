#include "reduction.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include <gloo/types.h>

namespace dxtensor::distributed {
namespace {

struct Half {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};
struct Bool {
  uint8_t byte;
};

float Wide(Half h) {
  gloo::float16 value;
  value.x = h.bits;
  // Gloo's conversion loses the sign of NaN alone.
  return gloo::cpu_half2float(value);
}
float Wide(Bfloat16 h) {
  const uint32_t bits = static_cast<uint32_t>(h.bits) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
void Narrow(float value, Half& out) { out.bits = gloo::cpu_float2half_rn(value).x; }
void Narrow(float value, Bfloat16& out) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  // To nearest even; NaN stays NaN.
  out.bits =
      std::isnan(value) ? static_cast<uint16_t>((bits >> 16) | 0x40) : static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <typename T>
T Combine(Reduction reduction, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (reduction) {
      case Reduction::kSum: return a + b;
      case Reduction::kProduct: return a * b;
      case Reduction::kMin: return std::isnan(a) ? a : std::isnan(b) ? b : (b < a ? b : a);
      case Reduction::kMax: return std::isnan(a) ? a : std::isnan(b) ? b : (a < b ? b : a);
    }
  } else {
    // Unsigned, in at least 32 bits: no overflow is undefined.
    using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    switch (reduction) {
      case Reduction::kSum: return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
      case Reduction::kProduct: return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
      case Reduction::kMin: return b < a ? b : a;
      case Reduction::kMax: return a < b ? b : a;
    }
  }
  return a;
}

template <typename T, Reduction R>
void Loop(void* out, const void* a, const void* b, size_t elements) {
  auto* o = static_cast<T*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  for (size_t i = 0; i < elements; i++) {
    if constexpr (std::is_same_v<T, Bool>) {
      const bool is_or = R == Reduction::kSum || R == Reduction::kMax;
      o[i].byte = is_or ? (x[i].byte | y[i].byte) != 0 : (x[i].byte != 0 && y[i].byte != 0);
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
      Narrow(Combine<float>(R, Wide(x[i]), Wide(y[i])), o[i]);
    } else {
      o[i] = Combine<T>(R, x[i], y[i]);
    }
  }
}

template <typename T>
Reduce Of(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum: return Loop<T, Reduction::kSum>;
    case Reduction::kProduct: return Loop<T, Reduction::kProduct>;
    case Reduction::kMin: return Loop<T, Reduction::kMin>;
    case Reduction::kMax: return Loop<T, Reduction::kMax>;
  }
  throw std::invalid_argument("no such reduction");
}

template <typename T>
void DivideAll(void* data, size_t elements, int divisor) {
  auto* x = static_cast<T*>(data);
  for (size_t i = 0; i < elements; i++) {
    if constexpr (std::is_floating_point_v<T>) {
      x[i] /= static_cast<T>(divisor);
    } else {
      Narrow(Wide(x[i]) / static_cast<float>(divisor), x[i]);
    }
  }
}

}  // namespace

Reduce ReduceFor(DType dtype, Reduction reduction) {
  switch (dtype) {
    case DType::kFloat32: return Of<float>(reduction);
    case DType::kFloat16: return Of<Half>(reduction);
    case DType::kFloat64: return Of<double>(reduction);
    case DType::kBfloat16: return Of<Bfloat16>(reduction);
    case DType::kInt8: return Of<int8_t>(reduction);
    case DType::kInt16: return Of<int16_t>(reduction);
    case DType::kInt32: return Of<int32_t>(reduction);
    case DType::kInt64: return Of<int64_t>(reduction);
    case DType::kUint8: return Of<uint8_t>(reduction);
    case DType::kUint16: return Of<uint16_t>(reduction);
    case DType::kUint32: return Of<uint32_t>(reduction);
    case DType::kUint64: return Of<uint64_t>(reduction);
    case DType::kBool: return Of<Bool>(reduction);
  }
  throw std::invalid_argument("no such dtype");
}

size_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kInt64:
    case DType::kUint64: return 8;
    case DType::kFloat32:
    case DType::kInt32:
    case DType::kUint32: return 4;
    case DType::kFloat16:
    case DType::kBfloat16:
    case DType::kInt16:
    case DType::kUint16: return 2;
    case DType::kInt8:
    case DType::kUint8:
    case DType::kBool: return 1;
  }
  throw std::invalid_argument("no such dtype");
}

void Divide(void* data, size_t elements, DType dtype, int divisor) {
  switch (dtype) {
    case DType::kFloat32: return DivideAll<float>(data, elements, divisor);
    case DType::kFloat64: return DivideAll<double>(data, elements, divisor);
    case DType::kFloat16: return DivideAll<Half>(data, elements, divisor);
    case DType::kBfloat16: return DivideAll<Bfloat16>(data, elements, divisor);
    default: throw std::invalid_argument("a mean of integers");
  }
}

}  // namespace dxtensor::distributed
