// Which operators have a fast kernel.
#include <cstdlib>

#include "../kernel.h"
#include "convolution.h"
#include "elementwise.h"
#include "gemm.h"

namespace dxtensor::software {

std::unique_ptr<Kernel> MakeFastKernel(const schema::OperatorDesc& desc) {
  switch (desc.type()) {
    case DML_OPERATOR_GEMM: return fast::MakeGemmKernel(desc);
    case DML_OPERATOR_CONVOLUTION: return fast::MakeConvolutionKernel(desc);
    default: return fast::MakeElementwise(desc);
  }
}

std::unique_ptr<Kernel> MakeKernel(const schema::OperatorDesc& desc) {
  static const bool plain_only = [] {
    const char* text = std::getenv("DXTENSOR_SOFTWARE_PLAIN");
    return text && text[0] == '1';
  }();
  if (!plain_only)
    if (auto kernel = MakeFastKernel(desc)) return kernel;
  return MakePlainKernel(desc);
}

}  // namespace dxtensor::software
