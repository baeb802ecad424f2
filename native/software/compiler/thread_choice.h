// Whether a program runs on its caller's thread alone: short ones do, where the pool's threads save less than they take. Waking a worker
// takes 5 to 14 us of the caller, and the worker then looks for work for some ten.
//
// The first runs are measured: with the pool, then alone. Results do not depend on it. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace dxtensor::software {

class ThreadChoice {
 public:
  enum class Run : uint8_t { Shared, Alone, MeasuredShared, MeasuredAlone };

  // How the next run is made; Note is called after a measured one.
  Run Next();
  void Note(Run run, uint64_t nanoseconds);

 private:
  std::atomic<uint32_t> runs_{0};
  std::atomic<uint64_t> shared_{UINT64_MAX}, alone_{UINT64_MAX};  // minima
};

}  // namespace dxtensor::software
