// GEMM on the blocked product.
#pragma once

#include <memory>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "software/cpu/kernel.h"

namespace dxtensor::software::fast {

// Null for what it does not cover. `after`: instructions on the result, which is then stored as `stored` describes it.
std::unique_ptr<Kernel> MakeGemmKernel(const schema::OperatorDesc& desc, const Activations& after = {},
                                       const schema::TensorDesc* stored = nullptr);

}  // namespace dxtensor::software::fast
