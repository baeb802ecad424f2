// The device's fence: what has been submitted, and what is done. Any thread.
#pragma once

#include <atomic>

#include "context.h"
#include "event.h"

namespace dxtensor::dml {

class Timeline {
 public:
  explicit Timeline(const Context& context);

  // Fence value of the latest signal.
  uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  // All values up to this one are done; UINT64_MAX when the device is removed.
  uint64_t Completed() const { return fence_->GetCompletedValue(); }
  // The queue thread's: a value that the device reaches after all work so far.
  uint64_t Signal();
  // False when the device is removed first, or when that many milliseconds (0: no end) have passed. `event` is the waiter's own.
  bool Wait(uint64_t value, Event& event, uint32_t timeout_ms = 0) const;

 private:
  const Context& context_;
  ComPtr<ID3D12Fence> fence_;
  std::atomic<uint64_t> submitted_{0};
};

}  // namespace dxtensor::dml
