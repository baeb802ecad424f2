// Fences, and the events that they ring: eventfds on Linux, event handles on Windows.
//
// Values come from queues as they finish work, or from the caller's Signal. Any thread.
#pragma once

#include <condition_variable>

#include "device.h"

namespace dxtensor::software {

// An event of the caller's; duplicated, so that the caller may close its own before it rings. Rings at most once.
class Event {
 public:
  // Empty when the handle is no event.
  static Event Duplicate(HANDLE handle);
  Event() = default;
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();
  bool valid() const { return valid_; }
  void Ring();

 private:
  bool valid_ = false;
#ifdef _WIN32
  HANDLE handle_ = nullptr;
#else
  int handle_ = -1;
#endif
};

class Fence final : public DeviceChild<ID3D12Fence1, ID3D12Pageable, ID3D12Fence, ID3D12Fence1> {
 public:
  static HRESULT Create(Device* device, UINT64 value, D3D12_FENCE_FLAGS flags, REFIID iid, void** out);

  void Set(uint64_t value);
  // Until the value is reached, or *stop is set (looked at now and then); null: nothing stops it.
  void Wait(uint64_t value, const std::atomic<bool>* stop);

  UINT64 STDMETHODCALLTYPE GetCompletedValue() override { return value_.load(std::memory_order_acquire); }
  HRESULT STDMETHODCALLTYPE SetEventOnCompletion(UINT64 value, HANDLE event) override;
  HRESULT STDMETHODCALLTYPE Signal(UINT64 value) override;
  D3D12_FENCE_FLAGS STDMETHODCALLTYPE GetCreationFlags() override { return flags_; }

 private:
  struct Waiter {
    uint64_t value;
    Event event;
  };

  Fence(Device* device, uint64_t value, D3D12_FENCE_FLAGS flags);
  ~Fence() override;

  const D3D12_FENCE_FLAGS flags_;
  std::atomic<uint64_t> value_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiter> waiters_;
};

}  // namespace dxtensor::software
