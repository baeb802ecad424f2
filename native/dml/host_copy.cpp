#include "host_copy.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "pause.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace dxtensor::dml {

namespace {

// Under the first size waking a thread costs more than it copies; parts are large enough to stream, and small enough to share.
constexpr size_t kMinSize = 384 << 10, kPart = 512 << 10, kSmallPart = 128 << 10, kHugePage = 2 << 20;
constexpr unsigned kMaxThreads = 12;
// A transfer's next piece comes soon: a thread without work checks for one kPolls times, with a pause after each, before it sleeps. After
// kIdle without work it ends.
constexpr int kPolls = 400;
constexpr auto kIdle = std::chrono::milliseconds(500);

// A range of memory has its pages. Where the system can't do that at once, who writes there first makes them.
void MakePages([[maybe_unused]] void* begin, [[maybe_unused]] size_t size) {
#if defined(__linux__)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
  madvise(begin, size, MADV_POPULATE_WRITE);
#endif
}

}  // namespace

// One copy, or the pages of what is written later. Its owner and the threads that help it take part after part.
struct HostJob {
  uint8_t* to;
  const uint8_t* from;  // null: pages alone
  size_t size;
  unsigned helpers;  // that may still join
  unsigned active = 0;
  std::atomic<size_t> next{0};
  std::condition_variable done;

  // Of pages one part: a copy may need this thread more.
  void TakeParts() {
    const size_t part = from ? (size < 8 * kPart ? kSmallPart : kPart) : kHugePage;
    do {
      const size_t begin = next.fetch_add(part, std::memory_order_relaxed);
      if (begin >= size) return;
      const size_t length = std::min(part, size - begin);
      if (from) std::memcpy(to + begin, from + begin, length);
      else MakePages(to + begin, length);
    } while (from);
  }
  void Skip() { next.store(size, std::memory_order_relaxed); }
  bool HasParts() const { return next.load(std::memory_order_relaxed) < size; }
};

namespace {

// The process's threads for copies, begun when they are needed. Several copies may run at once.
class Helpers {
 public:
  void Begin(HostJob& job) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      Start(job.helpers);
      jobs_.push_back(&job);
      offers_.fetch_add(1, std::memory_order_release);
    }
    work_.notify_all();
  }
  // When nobody works at it any more.
  void End(HostJob& job) {
    std::unique_lock<std::mutex> lock(mutex_);
    jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
    job.done.wait(lock, [&] { return job.active == 0; });
  }

 private:
  // No more threads: the owner copies alone.
  void Start(unsigned wanted) {
    try {
      for (; threads_ < wanted; ++threads_) std::thread([this] { Help(); }).detach();
    } catch (const std::exception&) {
    }
  }

  // Copies go first.
  HostJob* Open() const {
    HostJob* found = nullptr;
    for (HostJob* job : jobs_)
      if (job->helpers && job->HasParts() && (!found || job->from)) found = job;
    return found;
  }

  void Help() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      if (HostJob* job = Open()) {
        --job->helpers;
        ++job->active;
        lock.unlock();
        job->TakeParts();
        lock.lock();
        ++job->helpers;
        if (--job->active == 0) job->done.notify_one();
        continue;
      }
      const uint64_t seen = offers_.load(std::memory_order_relaxed);
      lock.unlock();
      for (int i = 0; i < kPolls && offers_.load(std::memory_order_acquire) == seen; ++i) PausePoll();
      lock.lock();
      if (offers_.load(std::memory_order_relaxed) != seen) continue;
      if (!work_.wait_for(lock, kIdle, [&] { return offers_.load(std::memory_order_relaxed) != seen; })) break;
    }
    --threads_;
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::vector<HostJob*> jobs_;
  std::atomic<uint64_t> offers_{0};
  unsigned threads_ = 0;
};

Helpers& TheHelpers() {
  static auto* helpers = new Helpers;  // its threads may outlive all else
  return *helpers;
}

}  // namespace

unsigned HostCopyThreads() {
  static const unsigned threads = std::clamp(std::thread::hardware_concurrency() / 2, 1u, kMaxThreads);
  return threads;
}

void HostCopy(void* to, const void* from, size_t size, unsigned threads) {
  if (threads < 2 || size < 2 * kMinSize) {
    if (size) std::memcpy(to, from, size);
    return;
  }
  HostJob job;
  job.to = static_cast<uint8_t*>(to);
  job.from = static_cast<const uint8_t*>(from);
  job.size = size;
  job.helpers = threads - 1;
  TheHelpers().Begin(job);
  job.TakeParts();
  TheHelpers().End(job);
}

Pages::Pages(void* to, size_t size, unsigned threads) {
  if (threads < 2 || size < 2 * kHugePage) return;
  const auto begin = (reinterpret_cast<uintptr_t>(to) + kHugePage - 1) & ~(kHugePage - 1);
  const auto end = (reinterpret_cast<uintptr_t>(to) + size) & ~(kHugePage - 1);
  if (begin >= end) return;
  job_ = std::make_unique<HostJob>();
  job_->to = reinterpret_cast<uint8_t*>(begin);
  job_->from = nullptr;
  job_->size = end - begin;
  job_->helpers = threads - 1;
  TheHelpers().Begin(*job_);
}

Pages::~Pages() {
  if (!job_) return;
  job_->Skip();
  TheHelpers().End(*job_);
}

}  // namespace dxtensor::dml
