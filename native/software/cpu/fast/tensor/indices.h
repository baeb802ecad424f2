// Elements of tensors of indices.
#pragma once

#include <cstdint>

#include "abi/abi.h"

namespace dxtensor::software::fast {

// An unsigned one past 2^63 is out of range either way.
inline int64_t ReadIndex(DML_TENSOR_DATA_TYPE type, const uint8_t* base, int64_t at) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_INT32: return reinterpret_cast<const int32_t*>(base)[at];
    case DML_TENSOR_DATA_TYPE_UINT32: return reinterpret_cast<const uint32_t*>(base)[at];
    default: return reinterpret_cast<const int64_t*>(base)[at];
  }
}

}  // namespace dxtensor::software::fast
