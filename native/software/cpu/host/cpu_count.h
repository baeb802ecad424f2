// How many CPUs this process may use. Any thread.
#pragma once

#include <string>

namespace dxtensor::software {

// The CPUs of its affinity mask, at most its cgroups' quota, rounded up: at least 1.
int UsableCpus();

#ifdef __linux__
// `cpus`, at most the cgroups' quota, read below `root`: for tests.
int WithinQuota(const std::string& root, int cpus);
#endif

}  // namespace dxtensor::software
