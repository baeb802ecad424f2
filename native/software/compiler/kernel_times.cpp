#include "kernel_times.h"

#include <algorithm>

namespace dxtensor::software {

void KernelTimes::Begin(size_t kernels) {
  std::lock_guard<std::mutex> lock(mutex_);
  min_.assign(kernels, 0);
  wanted_.store(true, std::memory_order_relaxed);
}

void KernelTimes::End() { wanted_.store(false, std::memory_order_relaxed); }

void KernelTimes::Note(const std::vector<uint64_t>& run) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < std::min(run.size(), min_.size()); ++i) min_[i] = min_[i] ? std::min(min_[i], run[i]) : run[i];
}

std::vector<uint64_t> KernelTimes::Min() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return min_;
}

}  // namespace dxtensor::software
