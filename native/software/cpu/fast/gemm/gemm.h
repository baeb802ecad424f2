// The kernel of GEMM, on PanelGemm.
#pragma once

#include <memory>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "software/cpu/kernel.h"

namespace dxtensor::software::fast {

// Null for what it does not cover. `after`: activations of the result. `stored`: the tensor that is stored.
std::unique_ptr<Kernel> MakeGemmKernel(const schema::OperatorDesc& desc, const Activations& after = {},
                                       const schema::TensorDesc* stored = nullptr);

}  // namespace dxtensor::software::fast
