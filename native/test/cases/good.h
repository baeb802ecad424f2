// Descriptions that DirectML accepts, at least one for each of the 177 operator types.
#pragma once

#include <vector>

#include "../describe.h"

namespace dxtensor::test {

// All of them; those of elementwise types are made from the operator table.
std::vector<schema::OperatorDesc> GoodDescriptions(uint32_t feature_level);

}  // namespace dxtensor::test
