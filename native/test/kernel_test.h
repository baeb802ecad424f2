// Shared by the files of kernel_test.
#pragma once

#include "check.h"
#include "values.h"

namespace dxtensor::test {

class Suite {
 public:
  unsigned rounds = 200;
  // Of the long cases, which take most of the time under a sanitizer, every nth is run.
  unsigned every = 1;
  uint32_t seed = 1;
};

// Empty when both kernels agree or there is no fast one.
std::string CompareKernels(const schema::OperatorDesc& desc, const std::vector<Bytes>& inputs, bool* compared);

}  // namespace dxtensor::test
