// Whole parts of counts. Neither is negative, and `b` is not 0.
#pragma once

#include <cstdint>

namespace dxtensor::software::fast {

constexpr int64_t Divide(int64_t a, int64_t b) { return (a + b - 1) / b; }  // up
constexpr int64_t RoundUp(int64_t a, int64_t b) { return Divide(a, b) * b; }

}  // namespace dxtensor::software::fast
