// A piece of bytes on its way from one device to another: what the sender has read into its staging memory is copied into the receiver's.
//
// The sender's completion thread calls Copy or Fail, once; the receiver's queue thread waits for it, then abandons it: afterwards nothing
// is written to the receiver's memory any more. Shared by both.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "failure.h"

namespace dxtensor::dml {

class Relay {
 public:
  // `to`: the receiver's staging memory.
  Relay(uint8_t* to, uint64_t size) : to_(to), size_(size) {}

  void Copy(const uint8_t* from);
  void Fail(const Failure& failure);
  // False when that time has passed first. Throws the sender's failure.
  bool WaitFor(std::chrono::milliseconds time);
  // Looks for the piece for that long without sleeping: to be woken takes longer than a small piece takes to come.
  void PollFor(std::chrono::microseconds time) const;
  // The sender's, if it failed.
  std::optional<Failure> failure();
  // Returns when nothing is being copied.
  void Abandon();

 private:
  enum class State : uint8_t { Coming, Copying, Here, Failed, Abandoned };

  uint8_t* const to_;
  const uint64_t size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<State> state_{State::Coming};
  std::optional<Failure> failure_;
};

}  // namespace dxtensor::dml
