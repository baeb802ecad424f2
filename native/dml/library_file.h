// Checks a library's headers against the size of its file before a loader maps it. Stateless; any thread.
#pragma once

#include <string>

namespace dxtensor::dml {

// Why the file cannot be the whole library, empty when nothing speaks against it. A mapped segment that lies beyond the end of the file
// would end the process by SIGBUS as soon as it is touched.
std::string WhyNotWhole(const std::string& path);

}  // namespace dxtensor::dml
