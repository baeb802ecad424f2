// Matrices of packed codes: skinny GEMM over them, and their values.
#pragma once

#include <memory>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "software/cpu/kernel.h"

namespace dxtensor::software::fast {

// GEMM whose matrix B is the output of a DEQUANTIZE by blocks of its rows, without that output: the kernel's inputs are A, the codes, C or
// null, and the scales. Null where it does not cover the descriptions, or there are too many rows of A.
std::unique_ptr<Kernel> MakePackedGemmKernel(const schema::OperatorDesc& gemm, const schema::OperatorDesc& dequantize,
                                             const Activations& after = {}, const schema::TensorDesc* stored = nullptr);

// DEQUANTIZE of codes by blocks of rows, to float32. Null for what it does not cover.
std::unique_ptr<Kernel> MakeDequantizeKernel(const schema::OperatorDesc& desc);

}  // namespace dxtensor::software::fast
