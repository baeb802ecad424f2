#include "thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#include "abandon.h"
#include "cpu_count.h"
#include "denormals.h"
#ifdef __linux__
#include <sched.h>
#endif
#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#endif

namespace dxtensor::software {

namespace {

constexpr int kMaxThreads = 64;
// 500 to 8000: within the noise of 8 % for a training step of LeNet-5 and an LSTM of batch 1 (2 threads).
constexpr int kSpins = 500;  // some ten microseconds: to wake a sleeper takes as long
constexpr int kRound = 32;   // spins, after which a worker checks whether it runs on the CPU of the caller

inline void Pause() {
#if defined(__GNUC__) && defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__GNUC__) && defined(__aarch64__)
  __asm__ __volatile__("isb" ::: "memory");  // waits some ten nanoseconds; "yield" does nothing on most
#else
  std::this_thread::yield();
#endif
}

// Where the calling thread runs; -1 where that is not known.
int CurrentCpu() {
#ifdef __linux__
  return sched_getcpu();
#else
  return -1;
#endif
}

// Whether this thread is at a piece of work: what that asks for, it does itself.
thread_local bool is_inside = false;

int ThreadCount() {
  if (const char* text = std::getenv("DXTENSOR_THREADS")) {
    const int wanted = std::atoi(text);
    if (wanted >= 1) return std::min(wanted, kMaxThreads);
  }
  return std::min(UsableCpus(), kMaxThreads);
}

}  // namespace

// `gate` holds the number of the call, whether workers may still join it, and how many are in it. The caller changes `work` and
// `parts` only while the gate is closed and nobody is in.
struct ThreadPool::State {
  static constexpr uint64_t kOpen = 1u << 16, kInside = kOpen - 1, kCall = kOpen << 1;

  std::mutex owner;  // held by the thread whose call is running
  Work work{};
  alignas(64) std::atomic<uint64_t> gate{0};
  // Each thread's own part of the work, taken from its front.
  struct alignas(64) Part {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  Part parts[kMaxThreads];
  alignas(64) std::mutex mutex;  // with `wake` and `sleeping`
  std::condition_variable wake;
  std::atomic<int> sleeping{0};
  std::atomic<int> caller{-1};  // the CPU of the latest call, where known
  bool started = false;         // guarded by `owner`
};

ThreadPool& ThreadPool::Get() {
  static ThreadPool* pool = new ThreadPool(ThreadCount());  // never destroyed: detached workers use it until the process ends
  return *pool;
}

ThreadPool::ThreadPool(int size) : state_(new State), size_(size) {}

void ThreadPool::Start() {
  state_->started = true;
#ifndef _WIN32
  sigset_t all, before;  // signals are for the host's own threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
  for (int slot = 1; slot < size_; ++slot) {
    try {
      std::thread([this, slot] { Worker(slot); }).detach();
    } catch (const std::system_error&) {
      break;  // a limit on threads: those that started, and the caller, do the work
    }
  }
#ifndef _WIN32
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
}

// Its own part first: what a thread read or wrote in the call before lies in its cache. Then what is left of the others'.
void ThreadPool::TakePieces(int slot) {
  const Work& work = state_->work;
  const AbandonScope scope(work.abandoned, false);
  is_inside = true;
  for (int i = 0; i < size_; ++i) {
    State::Part& part = state_->parts[(slot + i) % size_];
    while (part.next.load(std::memory_order_relaxed) < part.end && !IsAbandoned()) {
      const int64_t first = part.next.fetch_add(work.grain, std::memory_order_relaxed);
      if (first >= part.end) break;
      work.call(work.context, first, std::min(part.end, first + work.grain), slot);
    }
  }
  is_inside = false;
}

void ThreadPool::RunAlone(const Work& work) {
  for (int64_t first = work.begin; first < work.end; first += work.grain) {
    CheckAbandoned();
    work.call(work.context, first, std::min(work.end, first + work.grain), 0);
  }
}

void ThreadPool::Run(Work work) {
  State& s = *state_;
  std::unique_lock<std::mutex> owner;
  if (!is_inside && size_ > 1) owner = std::unique_lock<std::mutex>(s.owner, std::try_to_lock);
  if (!owner) return RunAlone(work);
  work.abandoned = AbandonFlag();
  if (!s.started) Start();
  s.work = work;
  const int64_t count = work.end - work.begin, parts = std::min<int64_t>((count + work.grain - 1) / work.grain, size_);
  for (int slot = 0; slot < size_; ++slot) {
    s.parts[slot].next.store(work.begin + count * std::min<int64_t>(slot, parts) / parts, std::memory_order_relaxed);
    s.parts[slot].end = work.begin + count * std::min<int64_t>(slot + 1, parts) / parts;
  }
  s.caller.store(CurrentCpu(), std::memory_order_relaxed);
  const uint64_t call = (s.gate.load(std::memory_order_relaxed) / State::kCall + 1) * State::kCall;
  s.gate.store(call | State::kOpen);  // sequentially consistent, as is the worker's announcement that it sleeps
  if (s.sleeping.load()) {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (parts == 2) s.wake.notify_one();
    else s.wake.notify_all();
  }
  TakePieces(0);
  s.gate.fetch_and(~State::kOpen);
  for (int spins = 0; s.gate.load(std::memory_order_acquire) & State::kInside; ++spins) {
    if (spins < kSpins) Pause();
    else std::this_thread::yield();
  }
  // Pieces may have been left out: nothing of what follows may read their results.
  CheckAbandoned();
}

// A busy system wakes a thread where its waker runs, and the caller waits there until this one sleeps.
bool ThreadPool::IsInTheWay() const {
  const int cpu = CurrentCpu();
  return cpu >= 0 && cpu == state_->caller.load(std::memory_order_relaxed);
}

void ThreadPool::Worker(int slot) {
  FlushDenormals();
  State& s = *state_;
  uint64_t done = 0;  // the last call that this worker took part in
  for (;;) {
    uint64_t gate = s.gate.load(std::memory_order_acquire);
    for (int spins = 0; spins < kSpins && (!(gate & State::kOpen) || gate / State::kCall == done); ++spins) {
      if (spins % kRound == 0 && IsInTheWay()) break;
      Pause();
      gate = s.gate.load(std::memory_order_acquire);
    }
    if (!(gate & State::kOpen) || gate / State::kCall == done) {
      std::unique_lock<std::mutex> lock(s.mutex);
      s.sleeping.fetch_add(1);
      s.wake.wait(lock, [&] {
        gate = s.gate.load();
        return (gate & State::kOpen) && gate / State::kCall != done;
      });
      s.sleeping.fetch_sub(1);
    }
    while ((gate & State::kOpen) && !s.gate.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) {
    }
    if (!(gate & State::kOpen)) continue;
    done = gate / State::kCall;
    TakePieces(slot);
    s.gate.fetch_sub(1, std::memory_order_acq_rel);
  }
}

OneThreadScope::OneThreadScope() : before_(is_inside) { is_inside = true; }

OneThreadScope::~OneThreadScope() { is_inside = before_; }

}  // namespace dxtensor::software
