// Copies of boxes of elements between any strides, which may be negative or zero in the source. Immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "software/cpu/fast/elementwise/block_program.h"
#include "software/cpu/kernel.h"

namespace dxtensor::software::fast {

struct BoxCopy {
  uint32_t rank = 0;
  Extents sizes{}, from_strides{}, to_strides{};  // in elements
  int64_t from_start = 0, to_start = 0;
  int from_slot = 0, to_slot = 0;  // from_slot -1: the constant of the kernel
};

// Copies of elements of `bytes` bytes, one box after the other; `constant` is the element that slot -1 stands for.
std::unique_ptr<Kernel> MakeCopies(int bytes, const std::vector<BoxCopy>& boxes, uint64_t constant = 0);

}  // namespace dxtensor::software::fast
