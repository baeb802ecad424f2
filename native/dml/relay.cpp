#include "relay.h"

#include "host_copy.h"
#include "pause.h"

namespace dxtensor::dml {

namespace {

constexpr int kPollsPerLook = 4;

}  // namespace

void Relay::Copy(const uint8_t* from) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (state_ != State::Coming) return;
    state_ = State::Copying;
  }
  HostCopy(to_, from, size_);
  std::lock_guard<std::mutex> lock(mutex_);
  state_ = State::Here;
  changed_.notify_all();
}

void Relay::Fail(const Failure& failure) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (state_ != State::Coming) return;
  failure_ = failure;
  state_ = State::Failed;
  changed_.notify_all();
}

void Relay::PollFor(std::chrono::microseconds time) const {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    for (int i = 0; i < kPollsPerLook; ++i) {
      const State state = state_.load(std::memory_order_acquire);
      if (state != State::Coming && state != State::Copying) return;
      PausePoll();
    }
    if (std::chrono::steady_clock::now() >= end) return;
  }
}

std::optional<Failure> Relay::failure() {
  std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

bool Relay::WaitFor(std::chrono::milliseconds time) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, time, [&] { return state_ == State::Here || state_ == State::Failed; });
  if (state_ == State::Failed)
    throw Failure(FailureKind::Device, std::string("bytes of another device did not arrive: ") + failure_->what());
  return state_ == State::Here;
}

void Relay::Abandon() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return state_ != State::Copying; });
  state_ = State::Abandoned;
}

}  // namespace dxtensor::dml
