// Matrices of packed codes: skinny GEMM over them, and their values.
#pragma once

#include <memory>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "software/cpu/kernel.h"

namespace dxtensor::software::fast {

// What a GEMM by packed codes reads in place of the nodes before it.
struct PackedParts {
  bool half_scales = false;                      // scales before their cast
  bool half_minima = false;                      // minima before their cast
  const schema::OperatorDesc* minima = nullptr;  // the GEMM of the sums of A's blocks and the minima, which is C
};

// GEMM whose matrix B is the output of a DEQUANTIZE by blocks of its rows, without that output: the kernel's inputs are A, the codes, C or
// null, the scales, and the minima or null. C is that of the minima's GEMM where there is one. Null where it does not cover the
// descriptions, or there are too many rows of A.
std::unique_ptr<Kernel> MakePackedGemmKernel(const schema::OperatorDesc& gemm, const schema::OperatorDesc& dequantize,
                                             const Activations& after = {}, const schema::TensorDesc* stored = nullptr,
                                             const PackedParts& parts = {});

// Whether a REDUCE of the GEMM's matrix A gives the sums of its blocks, as the minima's GEMM reads them.
bool SumsBlocks(const schema::OperatorDesc& reduce, const schema::OperatorDesc& gemm, const schema::OperatorDesc& dequantize);

// DEQUANTIZE of codes by blocks of rows, to float32. Null for what it does not cover.
std::unique_ptr<Kernel> MakeDequantizeKernel(const schema::OperatorDesc& desc);

}  // namespace dxtensor::software::fast
