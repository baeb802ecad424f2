// DXTENSOR_SOFTWARE_TRACE=1: one line on stderr for each refusal and each device removal, with its reason. Any thread.
#pragma once

#include <string>

namespace dxtensor::software {

void Trace(const std::string& line);

}  // namespace dxtensor::software
