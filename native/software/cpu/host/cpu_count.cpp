#include "cpu_count.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#ifdef __linux__
#include <sched.h>

#include "cgroup.h"
#endif

namespace dxtensor::software {

#ifdef __linux__
namespace {

// The quota of a cgroup in CPUs; 0 where it has none.
double QuotaOf(const std::string& folder, bool is_second) {
  double quota = 0, period = 0;
  if (is_second) {
    std::ifstream file(folder + "/cpu.max");  // "QUOTA PERIOD", without a quota "max PERIOD"
    if (!(file >> quota >> period)) return 0;
  } else {
    std::ifstream of_quota(folder + "/cpu.cfs_quota_us"), of_period(folder + "/cpu.cfs_period_us");  // -1: none
    if (!(of_quota >> quota) || !(of_period >> period)) return 0;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

}  // namespace

int WithinQuota(const std::string& root, int cpus) {
  for (bool is_second : {true, false})
    for (const std::string& folder : CgroupFolders(root, "cpu", is_second)) {
      const double quota = QuotaOf(folder, is_second);
      if (quota > 0 && quota < cpus) cpus = std::max(1, static_cast<int>(std::ceil(quota)));
    }
  return cpus;
}
#endif

int UsableCpus() {
  int cpus = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#ifdef __linux__
  cpu_set_t bound;
  if (sched_getaffinity(0, sizeof bound, &bound) == 0) cpus = std::clamp(CPU_COUNT(&bound), 1, cpus);
  cpus = WithinQuota("", cpus);
#endif
  return cpus;
}

}  // namespace dxtensor::software
