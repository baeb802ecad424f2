// The kernel of GEMM, on PanelGemm.
#pragma once

#include <memory>
#include <optional>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "software/cpu/kernel.h"
#include "matrix_vector.h"

namespace dxtensor::software::fast {

// Null for what it does not cover. `after`: activations of the result. `stored`: the tensor that is stored.
std::unique_ptr<Kernel> MakeGemmKernel(const schema::OperatorDesc& desc, const Activations& after = {},
                                       const schema::TensorDesc* stored = nullptr);

// Sizes and operands of a GEMM with what becomes its epilogue. Empty for other data types and ranks.
std::optional<GemmShape> ShapeOfGemm(const schema::OperatorDesc& desc, const Activations& after, const schema::TensorDesc* stored);

}  // namespace dxtensor::software::fast
