// The size of the machine's memory as the software adapter reads it, from trees of files as containers show them.
#ifdef __linux__

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "software/cpu/host/cpu_count.h"
#include "software/cpu/host/host_memory.h"
#include "kernel_test.h"

namespace dxtensor::test {

namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr software::HostMemory kMachine = {64 * kGiB, 64 * kGiB, kGiB};

// A folder that stands for "/", gone with the test.
class Root {
 public:
  Root() {
    char name[] = "/tmp/dxtensor-root-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Root() {
    if (std::system(("rm -rf '" + path_ + "'").c_str())) std::perror("rm");
  }
  void Write(const std::string& file, const std::string& text) {
    std::string full = path_ + file;
    for (size_t at = full.find('/', 1); at != std::string::npos; at = full.find('/', at + 1)) mkdir(full.substr(0, at).c_str(), 0700);
    std::ofstream(full) << text;
  }
  int Cpus(int machine) const { return software::WithinQuota(path_, machine); }
  software::HostMemory Query() const { return software::QueryHostMemory(path_, kMachine); }

 private:
  std::string path_;
};

const char* const kSecond = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const char* const kMeminfo = "MemTotal:       67108864 kB\nHugePages_Total:       0\nMemAvailable:   41943040 kB\n";

void Container(Suite&) {
  {
    Root bare;
    CHECK_EQ(bare.Query().total, 64 * kGiB);
    CHECK_EQ(bare.Query().available, 64 * kGiB);
  }
  {
    Root free;
    free.Write("/proc/meminfo", kMeminfo);
    free.Write("/proc/self/mountinfo", kSecond);
    free.Write("/proc/self/cgroup", "0::/user.slice\n");
    free.Write("/sys/fs/cgroup/user.slice/memory.max", "max\n");
    CHECK_EQ(free.Query().total, 64 * kGiB);
    CHECK_EQ(free.Query().available, 40 * kGiB);
  }
  {
    // Version 2: the smallest limit of all cgroups from this one up; pages of idle files count as free.
    Root second;
    second.Write("/proc/meminfo", kMeminfo);
    second.Write("/proc/self/mountinfo", std::string("22 1 8:1 / / rw - ext4 /dev/root rw\n") + kSecond);
    second.Write("/proc/self/cgroup", "0::/kube/pod/box\n");
    second.Write("/sys/fs/cgroup/kube/memory.max", "3221225472\n");
    second.Write("/sys/fs/cgroup/kube/memory.current", "1073741824\n");
    second.Write("/sys/fs/cgroup/kube/memory.stat", "anon 536870912\ninactive_file 268435456\nactive_file 1\n");
    second.Write("/sys/fs/cgroup/kube/pod/memory.max", "max\n");
    second.Write("/sys/fs/cgroup/kube/pod/box/memory.max", "8589934592\n");
    second.Write("/sys/fs/cgroup/kube/pod/box/memory.current", "1\n");
    CHECK_EQ(second.Query().total, 3 * kGiB);
    CHECK_EQ(second.Query().available, 2 * kGiB + kGiB / 4);
  }
  {
    // Version 1 in a container: the mount shows the container's own group, the path is the host's; no limit is a huge number.
    Root first;
    first.Write("/proc/self/mountinfo",
                "31 30 0:27 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
                "32 30 0:28 /docker/abc /sys/fs/cgroup/memory ro master:1 - cgroup cgroup rw,memory\n");
    first.Write("/proc/self/cgroup", "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n");
    first.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
    first.Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "2147483648\n");
    first.Write("/sys/fs/cgroup/memory/memory.stat", "cache 5\ntotal_inactive_file 1073741824\n");
    CHECK_EQ(first.Query().total, 2 * kGiB);
    CHECK_EQ(first.Query().available, kGiB);
    first.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK_EQ(first.Query().total, 64 * kGiB);
  }
  {
    // A group used up, and one that lies outside of what is mounted.
    Root odd;
    odd.Write("/proc/self/mountinfo", kSecond);
    odd.Write("/proc/self/cgroup", "0::/../elsewhere\n");
    odd.Write("/sys/fs/cgroup/memory.max", "1048576\n");
    odd.Write("/sys/fs/cgroup/memory.current", "2097152\n");
    CHECK_EQ(odd.Query().total, uint64_t{1048576});
    CHECK_EQ(odd.Query().available, uint64_t{0});
  }
}

void Quotas(Suite&) {
  {
    Root bare;
    CHECK_EQ(bare.Cpus(6), 6);
  }
  {
    // Version 2: the smallest quota of all cgroups from this one up, rounded up, and never none.
    Root second;
    second.Write("/proc/self/mountinfo", kSecond);
    second.Write("/proc/self/cgroup", "0::/kube/pod/box\n");
    second.Write("/sys/fs/cgroup/kube/pod/box/cpu.max", "max 100000\n");
    CHECK_EQ(second.Cpus(6), 6);
    second.Write("/sys/fs/cgroup/kube/pod/cpu.max", "250000 100000\n");
    CHECK_EQ(second.Cpus(6), 3);
    CHECK_EQ(second.Cpus(2), 2);
    second.Write("/sys/fs/cgroup/kube/cpu.max", "10000 100000\n");
    CHECK_EQ(second.Cpus(6), 1);
  }
  {
    // Version 1: -1 is no quota.
    Root first;
    first.Write("/proc/self/mountinfo", "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    first.Write("/proc/self/cgroup", "3:cpu,cpuacct:/box\n");
    first.Write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
    first.Write("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "50000\n");
    CHECK_EQ(first.Cpus(6), 6);
    first.Write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "100000\n");
    CHECK_EQ(first.Cpus(6), 2);
  }
}

const bool kRegistered = [] {
  Register("the CPUs that quotas allow", Quotas);
  Register("the memory of machines and containers", Container);
  return true;
}();

}  // namespace

}  // namespace dxtensor::test

#endif
