// Integer division that rounds up: neither number is negative, and `b` is not 0.
#pragma once

#include <cstdint>

namespace dxtensor::software::fast {

constexpr int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t RoundUp(int64_t a, int64_t b) { return DivideUp(a, b) * b; }

}  // namespace dxtensor::software::fast
