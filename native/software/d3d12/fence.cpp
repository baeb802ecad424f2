#include "fence.h"

#include <chrono>
#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>
#endif

namespace dxtensor::software {

Event Event::Duplicate(HANDLE handle) {
  Event event;
#ifdef _WIN32
  event.valid_ = DuplicateHandle(GetCurrentProcess(), handle, GetCurrentProcess(), &event.handle_, 0, FALSE, DUPLICATE_SAME_ACCESS) != 0;
#else
  auto number = reinterpret_cast<intptr_t>(handle);
  if (number < 0 || number > INT_MAX) return event;
  event.handle_ = fcntl(static_cast<int>(number), F_DUPFD_CLOEXEC, 0);
  event.valid_ = event.handle_ >= 0;
#endif
  return event;
}

Event::Event(Event&& other) noexcept
    : valid_(std::exchange(other.valid_, false)), handle_(std::exchange(other.handle_, decltype(handle_){})) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(valid_, other.valid_);
  std::swap(handle_, other.handle_);
  return *this;
}

Event::~Event() {
  if (!valid_) return;
#ifdef _WIN32
  CloseHandle(handle_);
#else
  close(handle_);
#endif
}

void Event::Ring() {
#ifdef _WIN32
  SetEvent(handle_);
#else
  uint64_t one = 1;
  // A full or foreign descriptor cannot be helped here; the waiter sees the fence's value.
  ssize_t written = write(handle_, &one, sizeof one);
  (void)written;
#endif
}

Fence::Fence(Device* device, uint64_t value, D3D12_FENCE_FLAGS flags) : DeviceChild(device), flags_(flags), value_(value) {
  device->Register(this);
}

Fence::~Fence() { device().Unregister(this); }

HRESULT Fence::Create(Device* device, UINT64 value, D3D12_FENCE_FLAGS flags, REFIID iid, void** out) {
  return Deliver(new Fence(device, value, flags), iid, out);
}

void Fence::Set(uint64_t value) {
  std::vector<Waiter> ready;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (value_.load(std::memory_order_relaxed) == UINT64_MAX) return;  // the device was removed: it stays there
    value_.store(value, std::memory_order_release);
    for (size_t i = 0; i < waiters_.size();) {
      if (waiters_[i].value <= value) {
        ready.push_back(std::move(waiters_[i]));
        waiters_.erase(waiters_.begin() + static_cast<ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }
  changed_.notify_all();
  for (Waiter& waiter : ready) waiter.event.Ring();
}

void Fence::Wait(uint64_t value, const std::atomic<bool>* stop) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (value_.load(std::memory_order_relaxed) < value && !(stop && stop->load(std::memory_order_relaxed))) {
    if (stop) changed_.wait_for(lock, std::chrono::milliseconds(20));
    else changed_.wait(lock);
  }
}

HRESULT Fence::SetEventOnCompletion(UINT64 value, HANDLE handle) {
  if (!handle) {
    Wait(value, nullptr);
    return S_OK;
  }
  return Guard([&]() -> HRESULT {
    Event event = Event::Duplicate(handle);
    if (!event.valid()) return E_INVALIDARG;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (value_.load(std::memory_order_relaxed) < value) {
        waiters_.push_back({value, std::move(event)});
        return S_OK;
      }
    }
    event.Ring();
    return S_OK;
  });
}

HRESULT Fence::Signal(UINT64 value) {
  if (FAILED(device().removed())) return DXGI_ERROR_DEVICE_REMOVED;
  Set(value);
  return S_OK;
}

}  // namespace dxtensor::software
