// One number for each dimension of a tensor: sizes, or strides in elements.
#pragma once

#include <array>
#include <cstdint>

#include "schema/schema.h"

namespace dxtensor::software::fast {

using Extents = std::array<int64_t, schema::kMaxRank>;

// The strides of a tensor; 0 along dimensions of size 1, which broadcast.
inline Extents BroadcastStrides(const schema::TensorDesc& t) {
  Extents s{};
  for (uint32_t d = 0; d < t.rank; ++d) s[d] = t.sizes[d] == 1 ? 0 : static_cast<int64_t>(t.strides[d]);
  return s;
}

}  // namespace dxtensor::software::fast
