// The memory that this process may use: the machine's, or the limit of its container (cgroups v1 and v2). Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace dxtensor::software {

struct HostMemory {
  uint64_t total = 0;      // bytes at most
  uint64_t available = 0;  // can be allocated now without the system killing a process
  uint64_t resident = 0;   // that this process has; UINT64_MAX where the system counts what it has promised
};

HostMemory QueryHostMemory();

#ifdef __linux__
// The same for a machine with `machine` bytes, read below a folder that stands for the root of the file system: for tests.
HostMemory QueryHostMemory(const std::string& root, const HostMemory& machine);
#endif

}  // namespace dxtensor::software
