// Checks that a DirectML library omits before it reads memory: a description that fails here would end the process.
// Found by changing good descriptions one field at a time (native/test/validate_diff). Any thread.
#pragma once

#include <string>

#include "schema.h"

namespace dxtensor::schema {

// Why the description must not reach the library; "" when it may.
std::string UncheckedFault(const OperatorDesc& desc);

}  // namespace dxtensor::schema
