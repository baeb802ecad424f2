// Random valid descriptions of the operators that have fast kernels: any sizes, layouts and data types.
#pragma once

#include <random>

#include "../../schema/schema.h"

namespace dxtensor::test {

constexpr int kRandomFamilies = 18;
// "elementwise", "GEMM", ...
const char* RandomFamilyName(int family);
schema::OperatorDesc RandomDescription(int family, std::mt19937& random);
// Each tensor gets packed, padded, transposed or (inputs) broadcast strides.
void RandomLayout(schema::OperatorDesc& desc, std::mt19937& random);

}  // namespace dxtensor::test
