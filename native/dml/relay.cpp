#include "relay.h"

#include "host_copy.h"

namespace dxtensor::dml {

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
