// DirectML's power of floats.
#pragma once

#include <cmath>
#include <limits>

namespace dxtensor::software {

// Exponents of 16 bits and less make Microsoft's library overflow at 65504 even for a float32 base; not so here.
// 0 to any power is 0; NaN to the power of 0, infinity to the power of 0 and 1 to the power of infinity are NaN, and so is a
// negative x to the power of no integer.
inline float FloatPower(float x, float exponent) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  if (x == 0 && !std::isnan(exponent)) return 0;
  if (std::isnan(x) || std::isnan(exponent)) return kNaN;
  if (exponent == 0 && std::isinf(x)) return kNaN;
  if (std::isinf(exponent) && (x == 1 || x < 0)) return kNaN;
  if (x < 0 && exponent != std::floor(exponent)) return kNaN;
  return std::pow(x, exponent);
}

}  // namespace dxtensor::software
