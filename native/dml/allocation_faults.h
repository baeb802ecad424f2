// Allocations that fail on demand, for tests: of device memory and of staging memory, in the order of the calls.
//
// The JavaScript thread's.
#pragma once

#include <cstdint>
#include <utility>

namespace dxtensor::dml {

class AllocationFaults {
 public:
  // So many of the next allocations succeed, then so many fail. Returns how many have failed since it was called last.
  uint64_t Plan(uint64_t succeed, uint64_t fail) {
    succeed_ = succeed;
    fail_ = fail;
    return std::exchange(failed_, 0);
  }
  // The next allocation of device memory asks the device for a new chunk, whatever is free, and does not try twice.
  void FromDevice() { from_device_ = true; }

  // Whether there is anything to ask below.
  bool any() const { return fail_ != 0 || from_device_; }
  // Whether this allocation fails.
  bool Take() {
    if (!fail_) return false;
    if (succeed_) {
      --succeed_;
      return false;
    }
    --fail_;
    ++failed_;
    return true;
  }
  bool TakeFromDevice() { return std::exchange(from_device_, false); }

 private:
  uint64_t succeed_ = 0, fail_ = 0, failed_ = 0;
  bool from_device_ = false;
};

}  // namespace dxtensor::dml
