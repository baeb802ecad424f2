// Which element of the input a padded position reads. Stateless.
#pragma once

#include <algorithm>
#include <cstdint>

#include "abi/abi.h"

namespace dxtensor::software {

constexpr int64_t kOutside = -1;

// The input index for a padded index along one dimension of size n.
inline int64_t PaddedIndex(uint32_t mode, int64_t index, int64_t n) {
  auto modulo = [](int64_t a, int64_t period) { return ((a % period) + period) % period; };
  switch (mode) {
    case DML_PADDING_MODE_EDGE: return std::clamp<int64_t>(index, 0, n - 1);
    case DML_PADDING_MODE_REFLECTION: {
      if (n == 1) return 0;
      const int64_t i = modulo(index, 2 * (n - 1));
      return i < n ? i : 2 * (n - 1) - i;
    }
    case DML_PADDING_MODE_SYMMETRIC: {
      const int64_t i = modulo(index, 2 * n);
      return i < n ? i : 2 * n - 1 - i;
    }
    case DML_PADDING_MODE_WRAP: return modulo(index, n);
    default: return index >= 0 && index < n ? index : kOutside;
  }
}

}  // namespace dxtensor::software
