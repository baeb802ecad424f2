// How long each kernel of a program takes, while times are taken. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace dxtensor::software {

class KernelTimes {
 public:
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  // Forgets what was noted, and begins or ends.
  void Begin(size_t kernels);
  void End();
  // Nanoseconds of each kernel in a run.
  void Note(const std::vector<uint64_t>& run);
  // The minimum of each since Begin; 0 where none was noted.
  std::vector<uint64_t> Min() const;

 private:
  std::atomic<bool> wanted_{false};
  mutable std::mutex mutex_;
  std::vector<uint64_t> min_;
};

}  // namespace dxtensor::software
