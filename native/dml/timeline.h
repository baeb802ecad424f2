// The device's fence: what has been submitted, and what is done. Any thread.
//
// No wait is forever: it ends when the device is removed, when the device has reached no further value for as long as
// `patience_ms`, at the time of GiveUpAt, or when the waiter's `look` throws.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "context.h"
#include "event.h"

namespace dxtensor::dml {

enum class Waited : uint8_t { Done, Removed, TimedOut };

// Called every so often by a thread that waits; an exception ends the wait. Empty: nothing is called.
using Look = std::function<void()>;

class Timeline {
 public:
  using Clock = std::chrono::steady_clock;

  // queue: what signals; null: the context's. poll: how long waits look without sleeping, after a few looks.
  Timeline(const Context& context, uint32_t patience_ms, ID3D12CommandQueue* queue = nullptr, std::chrono::microseconds poll = {});

  // Fence value of the latest signal.
  uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  // All values up to this one are done; UINT64_MAX when the device is removed.
  uint64_t Completed() const { return fence_ ? fence_->GetCompletedValue() : UINT64_MAX; }
  // The queue thread's: a value that the device reaches after all work so far. programs: the names of what was submitted with it.
  uint64_t Signal(const std::string& programs = {});
  // `event` is the waiter's own.
  Waited Wait(uint64_t value, Event& event, const Look& look = {}) const;
  // The same, but for Failure instead of an answer.
  void WaitOrThrow(uint64_t value, Event& event, const Look& look = {}) const {
    if (Waited waited = Wait(value, event, look); waited != Waited::Done) throw WhyNot(waited);
  }
  // Whether the device has left all that was submitted, done or abandoned.
  bool IsLeft() const { return Completed() >= submitted(); }
  // Whether it has when the wait ends. What was abandoned is waited for beyond the time of GiveUpAt, since it takes no time.
  bool WaitUntilLeft(Event& event) const;
  Failure WhyNot(Waited waited) const;
  // Names of the latest programs that the device was not known to have done when more was submitted: what a removal met.
  std::string Unfinished() const;
  // Every wait that lasts until then ends as timed out, later ones too. A later time than was said before changes nothing.
  void GiveUpAt(Clock::time_point time);
  void SetPatience(uint32_t patience_ms) { patience_ms_.store(patience_ms, std::memory_order_relaxed); }
  // Any thread. Where the adapter can leave work unfinished, it does; waits for that work time out.
  void Abandon();
  // See Context::LetGo.
  void LetGo() { fence_.Reset(); }
  ID3D12Fence* fence() const { return fence_.get(); }

 private:
  struct Work {
    uint64_t value = 0;
    std::string programs;
  };
  static constexpr size_t kWorksKept = 4;

  bool IsAbandoned() const { return valid_.load() != UINT64_MAX; }
  bool IsPastPatience() const;
  // How long to wait for an event before the next look.
  int LookMs() const;
  void KnowDone(uint64_t done) const;

  ID3D12CommandQueue& SignallingQueue() const { return queue_ ? *queue_ : *context_.queue.get(); }

  const Context& context_;
  ID3D12CommandQueue* const queue_;
  const std::chrono::microseconds poll_;
  std::atomic<uint32_t> patience_ms_;
  ComPtr<ID3D12Fence> fence_;
  std::atomic<uint64_t> submitted_{0};
  std::atomic<Clock::rep> give_up_at_{Clock::time_point::max().time_since_epoch().count()};
  std::atomic<uint64_t> valid_{UINT64_MAX};  // the fence comes to values above it though the work was abandoned
  // What the device had done when somebody looked last, and when it had come to that.
  mutable std::atomic<uint64_t> seen_{0};
  mutable std::atomic<Clock::rep> seen_at_{0};
  mutable std::mutex works_mutex_;
  std::array<Work, kWorksKept> works_;           // by value, round and round
  mutable std::atomic<uint64_t> known_done_{0};  // never UINT64_MAX: of a removed device, what it had done before
};

}  // namespace dxtensor::dml
