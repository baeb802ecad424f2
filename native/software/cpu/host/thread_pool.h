// The threads that all fast kernels share: one fewer than the CPUs that this process may use, since the caller works too.
//
// Workers start at the first call that has work for them, look for the next call for some ten microseconds and then sleep, at once where
// they run on the CPU of the caller. They are never joined: the pool lives as long as the process. Any thread may call ParallelFor;
// while one call runs, another one (of a second device, or from within a worker) does its work alone on its own thread. Work that is
// abandoned (abandon.h) stops between two chunks.
#pragma once

#include <atomic>
#include <cstdint>

namespace dxtensor::software {

class ThreadPool {
 public:
  static ThreadPool& Get();

  // Threads that may take part in one call, the caller included. DXTENSOR_THREADS overrides.
  int size() const { return size_; }

  // Calls fn(first, last, slot) for consecutive pieces of [begin, end) of at most `grain` elements each; slot < size() is this call's
  // own in each thread, for scratch memory. Returns when all is done. fn must not throw. Throws Abandoned on a queue's thread.
  template <typename Fn>
  void ParallelFor(int64_t begin, int64_t end, int64_t grain, const Fn& fn) {
    if (begin >= end) return;
    if (end - begin <= grain) {
      fn(begin, end, 0);
      return;
    }
    Run({[](const void* context, int64_t first, int64_t last, int slot) { (*static_cast<const Fn*>(context))(first, last, slot); }, &fn,
         begin, end, grain});
  }

 private:
  struct Work {
    void (*call)(const void* context, int64_t first, int64_t last, int slot);
    const void* context;
    int64_t begin, end, grain;
    const std::atomic<bool>* abandoned = nullptr;  // set by Run
  };

  explicit ThreadPool(int size);
  void Run(Work work);
  void Start();
  void Worker(int slot);
  bool IsInTheWay() const;
  void TakePieces(int slot);
  static void RunAlone(const Work& work);

  struct State;
  State* state_;
  int size_;
};

// While it lives, this thread does alone what it asks the pool for.
class OneThreadScope {
 public:
  OneThreadScope();
  ~OneThreadScope();
  OneThreadScope(const OneThreadScope&) = delete;
  OneThreadScope& operator=(const OneThreadScope&) = delete;

 private:
  const bool before_;
};

}  // namespace dxtensor::software
