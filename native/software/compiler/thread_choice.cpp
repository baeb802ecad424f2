#include "thread_choice.h"

namespace dxtensor::software {

namespace {

// The first runs prepack weights, and are not measured.
constexpr uint32_t kUnmeasured = 2, kShared = kUnmeasured + 4, kAlone = kShared + 4;
// Nanoseconds: longer programs are left to the pool. An LSTM cell with four convolutions (silero) takes 53 us alone, 90 with two threads.
constexpr uint64_t kShort = 200000;

// Five quarters of the time with the pool.
bool IsWorth(uint64_t alone, uint64_t shared) { return alone <= kShort && alone <= shared + shared / 4; }

void Lower(std::atomic<uint64_t>& minimum, uint64_t value) {
  uint64_t known = minimum.load(std::memory_order_relaxed);
  while (value < known && !minimum.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

ThreadChoice::Run ThreadChoice::Next() {
  uint32_t run = runs_.load(std::memory_order_relaxed);
  if (run < kAlone) run = runs_.fetch_add(1, std::memory_order_relaxed);
  if (run < kUnmeasured) return Run::Shared;
  if (run < kShared) return Run::MeasuredShared;
  const uint64_t shared = shared_.load(std::memory_order_relaxed);
  if (run < kAlone) return shared <= kShort ? Run::MeasuredAlone : Run::Shared;
  return IsWorth(alone_.load(std::memory_order_relaxed), shared) ? Run::Alone : Run::Shared;
}

void ThreadChoice::Note(Run run, uint64_t nanoseconds) {
  if (run == Run::MeasuredShared) Lower(shared_, nanoseconds);
  if (run == Run::MeasuredAlone) Lower(alone_, nanoseconds);
}

}  // namespace dxtensor::software
