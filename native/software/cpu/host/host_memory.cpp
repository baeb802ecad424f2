#include "host_memory.h"

#include <algorithm>
#include <fstream>

#ifdef _WIN32
#include "abi/abi.h"
#else
#include <unistd.h>

#include "cgroup.h"
#endif

namespace dxtensor::software {

namespace {

constexpr uint64_t kUnknown = uint64_t{4} << 30;

#ifdef __linux__
// A group's own limit and use; a limit of UINT64_MAX is none.
struct Group {
  uint64_t limit = UINT64_MAX, used = 0;
};

uint64_t NumberIn(const std::string& path, uint64_t otherwise) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? number : otherwise;  // "max" is no number
}

// The number behind a name in lines of "NAME NUMBER".
uint64_t NumberOf(const std::string& path, const std::string& wanted) {
  std::ifstream file(path);
  std::string name;
  for (uint64_t number = 0; file >> name >> number;)
    if (name == wanted) return number;
  return 0;
}

// Pages of files that nobody used lately go before a process does, so they count as free.
Group ReadGroup(const std::string& folder, bool is_second) {
  Group group;
  group.limit = NumberIn(folder + (is_second ? "/memory.max" : "/memory.limit_in_bytes"), UINT64_MAX);
  if (group.limit == UINT64_MAX) return group;
  uint64_t used = NumberIn(folder + (is_second ? "/memory.current" : "/memory.usage_in_bytes"), 0);
  uint64_t idle = NumberOf(folder + "/memory.stat", is_second ? "inactive_file" : "total_inactive_file");
  group.used = used - std::min(used, idle);
  return group;
}

// Every group from this process's own up to the mount counts.
void Narrow(const std::string& root, bool is_second, HostMemory* memory) {
  for (const std::string& folder : CgroupFolders(root, "memory", is_second)) {
    Group group = ReadGroup(folder, is_second);
    if (group.limit < memory->total) memory->total = group.limit;
    if (group.limit != UINT64_MAX) memory->available = std::min(memory->available, group.limit - std::min(group.limit, group.used));
  }
}
#endif

HostMemory QueryMachine() {
#ifdef _WIN32
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  if (!GlobalMemoryStatusEx(&status)) return {kUnknown, kUnknown, UINT64_MAX};
  return {status.ullTotalPhys, status.ullAvailPhys, UINT64_MAX};
#else
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  uint64_t total = pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : kUnknown;
  uint64_t mapped = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> mapped >> resident;
  return {total, total, resident ? resident * static_cast<uint64_t>(page) : UINT64_MAX};
#endif
}

}  // namespace

#ifdef __linux__
HostMemory QueryHostMemory(const std::string& root, const HostMemory& machine) {
  HostMemory memory = machine;
  std::ifstream file(root + "/proc/meminfo");
  // Lines of "NAME:  NUMBER kB"; a few have no unit.
  for (std::string line; std::getline(file, line);)
    if (line.rfind("MemAvailable:", 0) == 0) memory.available = std::min<uint64_t>(memory.available, std::stoull(line.substr(13)) * 1024);
  Narrow(root, true, &memory);
  Narrow(root, false, &memory);
  return memory;
}
#endif

HostMemory QueryHostMemory() {
#ifdef __linux__
  return QueryHostMemory("", QueryMachine());
#else
  return QueryMachine();
#endif
}

}  // namespace dxtensor::software
