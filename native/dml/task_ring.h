// A ring of tasks from one producing thread (JavaScript's) to one consuming thread (the queue's), without locks while both are
// awake. The producer wakes the consumer only if its sleeping flag is set.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "address.h"

namespace dxtensor::dml {

template <typename T, uint64_t kSize>
class TaskRing {
  static_assert((kSize & (kSize - 1)) == 0, "a power of two");

 public:
  TaskRing() : tasks_(new T[kSize]) {}

  // --- Producer ---
  // Number of tasks pushed so far; the task being filled gets the next one.
  uint64_t pushed() const { return head_local_; }
  // Null when the ring is full.
  T* Next() {
    if (head_local_ - tail_seen_ >= kSize) {
      tail_seen_ = tail_.load(std::memory_order_acquire);
      if (head_local_ - tail_seen_ >= kSize) return nullptr;
    }
    return &tasks_[head_local_ & (kSize - 1)];
  }
  void Commit() {
    head_.store(++head_local_, std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_seq_cst)) Wake();
  }
  // Also when the consumer has to look at something else.
  void Wake() {
    std::lock_guard<std::mutex> lock(mutex_);
    woken_ = true;
    condition_.notify_one();
  }

  // --- Consumer ---
  uint64_t popped() const { return tail_.load(std::memory_order_relaxed); }
  // Null when the ring is empty. The task stays valid until Pop.
  T* Front() {
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_seen_) {
      head_seen_ = head_.load(std::memory_order_seq_cst);
      if (tail == head_seen_) return nullptr;
    }
    return &tasks_[tail & (kSize - 1)];
  }
  void Pop() { tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  // Sleeps until there is a task or Wake is called.
  void Sleep() {
    sleeping_.store(true, std::memory_order_seq_cst);
    if (head_.load(std::memory_order_seq_cst) == popped()) {
      std::unique_lock<std::mutex> lock(mutex_);
      condition_.wait(lock, [&] { return woken_ || head_.load(std::memory_order_seq_cst) != popped(); });
      woken_ = false;
    }
    sleeping_.store(false, std::memory_order_relaxed);
  }
  // Sleeps until Wake is called, tasks or not.
  template <typename Condition>
  void SleepWhile(Condition&& held) {
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait(lock, [&] { return !held(); });
  }

 private:
  std::unique_ptr<T[]> tasks_;
  alignas(64) std::atomic<uint64_t> head_{0};
  uint64_t head_local_ = 0, tail_seen_ = 0;
  alignas(64) std::atomic<uint64_t> tail_{0};
  uint64_t head_seen_ = 0;
  alignas(64) std::atomic<bool> sleeping_{false};
  std::mutex mutex_;
  std::condition_variable condition_;
  bool woken_ = false;
};

}  // namespace dxtensor::dml
