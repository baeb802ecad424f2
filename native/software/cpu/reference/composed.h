// Recurrent layers and attention over a table of kernels: the plain or the fast one.
#pragma once

#include "software/cpu/kernel.h"
#include "float_gemm.h"

namespace dxtensor::software {

std::unique_ptr<Kernel> MakeRecurrentWith(const schema::OperatorDesc& desc, const MatrixKernels& kernels);
std::unique_ptr<Kernel> MakeAttentionWith(const schema::OperatorDesc& desc, const MatrixKernels& kernels);

}  // namespace dxtensor::software
