#include "thread_choice.h"

namespace dxtensor::software {

namespace {

// The first runs of a measurement are not measured: they prepack weights, and the pool's threads may sleep.
constexpr uint32_t kUnmeasured = 2, kShared = kUnmeasured + 4, kAlone = kShared + 4;
// Measurements begin at these runs, then every kPeriod runs: what disturbs one (a caller that still compiles its code) does not stay.
constexpr uint32_t kFirst = 32, kSecond = 256, kPeriod = 2048;
// Nanoseconds: longer programs are left to the pool. An LSTM cell with four convolutions (silero) takes 53 us alone, 90 with two threads.
constexpr uint64_t kShort = 200000;

// Five quarters of the time with the pool.
bool IsWorth(uint64_t alone, uint64_t shared) { return alone <= kShort && alone <= shared + shared / 4; }

// Runs since the last measurement began.
uint32_t SinceMeasurement(uint32_t run) {
  if (run >= kPeriod) return run % kPeriod;
  if (run >= kSecond) return run - kSecond;
  return run >= kFirst ? run - kFirst : run;
}

void Lower(std::atomic<uint64_t>& minimum, uint64_t value) {
  uint64_t known = minimum.load(std::memory_order_relaxed);
  while (value < known && !minimum.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

ThreadChoice::Run ThreadChoice::Next() {
  const uint32_t run = SinceMeasurement(runs_.fetch_add(1, std::memory_order_relaxed));
  if (run == 0) {
    shared_.store(UINT64_MAX, std::memory_order_relaxed);
    alone_.store(UINT64_MAX, std::memory_order_relaxed);
  }
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
