// How many processors this process may use. Any thread.
#pragma once

#include <string>

namespace dxtensor::software::fast {

// Those that it is bound to, and no more than its control groups' quotas pay for, rounded up: at least 1.
int UsableProcessors();

#ifdef __linux__
// What the quotas of control groups leave of `processors`, read below `root`: for tests.
int WithinQuota(const std::string& root, int processors);
#endif

}  // namespace dxtensor::software::fast
