// GATHER_ELEMENTS: gathers along one axis, with one index for each element. Stateless.
#pragma once

#include "software/cpu/fast/elementwise/block_program.h"
#include "software/cpu/kernel.h"

namespace dxtensor::software::fast {

// Over the coordinates of `out`: element [at of from_in + index * the stride of the axis], with the index at [at of from_indices].
std::unique_ptr<Kernel> MakeElementGather(const schema::TensorDesc& in, const schema::TensorDesc& indices, const schema::TensorDesc& out,
                                          uint32_t axis, const Extents& from_in, const Extents& from_indices);

}  // namespace dxtensor::software::fast
