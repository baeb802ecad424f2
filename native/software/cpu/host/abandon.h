// Whether the work of this thread is abandoned: its results are not read, so it may stop anywhere.
//
// A queue's thread states its flag once; threads of the pool take it from the caller. Commands, steps, chunks of a ParallelFor and long
// loops test it. On a queue's thread an exception unwinds the kernel; inside a chunk the caller throws it after all chunks have ended.
#pragma once

#include <atomic>

namespace dxtensor::software {

// Thrown by CheckAbandoned and ThreadPool::ParallelFor on a queue's thread.
struct Abandoned {};

// For as long as it lives, what this thread does depends on `flag`; null: on none.
class AbandonScope {
 public:
  // throws: CheckAbandoned may throw.
  AbandonScope(const std::atomic<bool>* flag, bool throws);
  ~AbandonScope();
  AbandonScope(const AbandonScope&) = delete;
  AbandonScope& operator=(const AbandonScope&) = delete;

 private:
  const std::atomic<bool>* const flag_;
  const bool throws_;
};

// Null: none.
const std::atomic<bool>* AbandonFlag();
// For loops that may leave their results unfinished.
bool IsAbandoned();
// Throws Abandoned where that is allowed.
void CheckAbandoned();

}  // namespace dxtensor::software
