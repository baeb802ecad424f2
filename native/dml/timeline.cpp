#include "timeline.h"

#include <algorithm>

#include "../abi/software_control.h"
#include "pause.h"

namespace dxtensor::dml {

namespace {

// Before a thread sleeps: an adapter on the CPU needs the CPU that polls would take.
constexpr int kPolls = 64, kSoftwarePolls = 1, kLookMs = 100;
// How long an adapter may take to leave what was abandoned: the longest piece of a kernel.
constexpr auto kLeave = std::chrono::milliseconds(500);
constexpr int kLeaveLookMs = 20;

Timeline::Clock::rep Now() { return Timeline::Clock::now().time_since_epoch().count(); }

}  // namespace

Timeline::Timeline(const Context& context, uint32_t patience_ms, ID3D12CommandQueue* queue, std::chrono::microseconds poll)
    : context_(context), queue_(queue), poll_(poll), patience_ms_(patience_ms) {
  Check(context.d3d->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), fence_.put_void()), "ID3D12Device::CreateFence");
}

uint64_t Timeline::Signal(const std::string& programs) {
  uint64_t before = submitted_.load(std::memory_order_relaxed), value = before + 1, done = Completed();
  if (done != UINT64_MAX) KnowDone(done);
  {
    std::lock_guard<std::mutex> lock(works_mutex_);
    Work& work = works_[value % kWorksKept];
    work.value = value;
    work.programs = programs;
  }
  // An idle device owes nothing for the time before this.
  if (done >= before) {
    seen_.store(before, std::memory_order_relaxed);
    seen_at_.store(Now(), std::memory_order_relaxed);
  }
  Check(SignallingQueue().Signal(fence_.get(), value), "ID3D12CommandQueue::Signal");
  submitted_.store(value, std::memory_order_release);
  return value;
}

void Timeline::KnowDone(uint64_t done) const {
  uint64_t known = known_done_.load(std::memory_order_relaxed);
  while (known < done && !known_done_.compare_exchange_weak(known, done, std::memory_order_relaxed)) {
  }
}

std::string Timeline::Unfinished() const {
  std::lock_guard<std::mutex> lock(works_mutex_);
  const uint64_t latest = submitted(), done = known_done_.load(std::memory_order_relaxed);
  std::string names;
  const std::string* last = nullptr;
  for (uint64_t value = latest > kWorksKept ? latest - kWorksKept + 1 : 1; value <= latest; ++value) {
    const Work& work = works_[value % kWorksKept];
    if (work.value != value || value <= done || work.programs.empty()) continue;
    if (last && *last == work.programs) continue;
    names += (names.empty() ? "" : ", ") + work.programs;
    last = &work.programs;
  }
  return names;
}

void Timeline::GiveUpAt(Clock::time_point time) {
  const Clock::rep wanted = time.time_since_epoch().count();
  Clock::rep now = give_up_at_.load(std::memory_order_acquire);
  while (wanted < now && !give_up_at_.compare_exchange_weak(now, wanted, std::memory_order_acq_rel)) {
  }
}

void Timeline::Abandon() {
  if (!context_.software || IsAbandoned()) return;
  valid_.store(Completed());
  constexpr UINT kYes = 1;
  SignallingQueue().SetPrivateData(kIidAbandon, sizeof kYes, &kYes);
}

int Timeline::LookMs() const {
  const Clock::duration left(give_up_at_.load(std::memory_order_acquire) - Now());
  return static_cast<int>(std::clamp<int64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1, 0, kLookMs));
}

bool Timeline::IsPastPatience() const {
  Clock::rep now = Now();
  if (now >= give_up_at_.load(std::memory_order_acquire)) return true;
  uint64_t done = Completed();
  if (seen_.exchange(done, std::memory_order_relaxed) != done) seen_at_.store(now, std::memory_order_relaxed);
  const std::chrono::milliseconds patience(patience_ms_.load(std::memory_order_relaxed));
  return Clock::duration(now - seen_at_.load(std::memory_order_relaxed)) >= patience;
}

Waited Timeline::Wait(uint64_t value, Event& event, const Look& look) const {
  // To be asked after the fence, which reaches such a value later than it becomes one.
  auto is_abandoned = [&] { return value > valid_.load(); };
  auto is_done = [&](uint64_t done) {
    if (done < value) return false;
    KnowDone(done);
    return true;
  };
  const Clock::time_point end = Clock::now() + poll_;
  for (int i = 0, polls = context_.software ? kSoftwarePolls : kPolls; i < polls || (poll_.count() && Clock::now() < end); ++i) {
    uint64_t done = Completed();
    if (done == UINT64_MAX) return Waited::Removed;
    if (is_abandoned()) return Waited::TimedOut;
    if (is_done(done)) return Waited::Done;
    PausePoll();
  }
  if (FAILED(fence_->SetEventOnCompletion(value, event.handle()))) return Waited::Removed;
  for (;;) {
    bool signalled = event.Wait(LookMs());
    uint64_t done = Completed();
    if (done == UINT64_MAX) return Waited::Removed;
    if (is_abandoned()) return Waited::TimedOut;
    if (is_done(done)) return Waited::Done;
    // An event may be late from an earlier wait; and a removed device may never signal.
    if (signalled) continue;
    if (FAILED(context_.RemovedReason())) return Waited::Removed;
    if (IsPastPatience()) return Waited::TimedOut;
    if (look) look();
  }
}

bool Timeline::WaitUntilLeft(Event& event) const {
  const Clock::time_point end = Clock::now() + kLeave;
  if (!IsLeft() && FAILED(fence_->SetEventOnCompletion(submitted(), event.handle()))) return true;
  while (!IsLeft() && SUCCEEDED(context_.RemovedReason())) {
    if (IsAbandoned() ? Clock::now() >= end : IsPastPatience()) return false;
    event.Wait(kLeaveLookMs);
  }
  return true;
}

Failure Timeline::WhyNot(Waited waited) const {
  if (FAILED(context_.RemovedReason())) return context_.Removal(Unfinished());
  if (waited == Waited::Removed) return Failure(FailureKind::Device, "waiting for the device failed");
  if (Now() >= give_up_at_.load(std::memory_order_acquire) || IsAbandoned())
    return Failure(FailureKind::Timeout, "the device was closed while it still worked");
  return Failure(FailureKind::Timeout, "the device did not answer: it has finished nothing for " +
                                           std::to_string(patience_ms_.load(std::memory_order_relaxed)) + " ms and has work to do");
}

}  // namespace dxtensor::dml
