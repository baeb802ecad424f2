// What a DirectML library does not check itself before it reads memory: it would end the process for a description that fails here.
// Found by changing good descriptions one field at a time (native/test/validate_diff). Any thread.
#pragma once

#include <string>

#include "schema.h"

namespace dxtensor::schema {

// Why the description must not reach the library; "" when it may.
std::string UncheckedFault(const OperatorDesc& desc);

}  // namespace dxtensor::schema
