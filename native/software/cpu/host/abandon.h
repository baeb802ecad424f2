// Whether the work that this thread does was abandoned: nobody will read its results, so it may end anywhere.
//
// A queue's thread says once which flag its work depends on; threads of the pool take it over from the caller. It is looked at between
// commands, steps, chunks of a ParallelFor, and now and then inside of long loops. Unfinished results are read by nobody: on a queue's
// thread the kernel is unwound by an exception; inside a chunk the caller throws, when all chunks have ended.
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
