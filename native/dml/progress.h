// How far a queue has come. Shared with the queues that wait for what it sends, which may outlive it. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace dxtensor::dml {

class Progress {
 public:
  // The queue takes no further task while it is held.
  void Hold(bool is_held) { held_.store(is_held, std::memory_order_seq_cst); }
  bool held() const { return held_.load(std::memory_order_relaxed); }
  // Tasks that have been submitted.
  void Submit(uint64_t tasks) { submitted_.store(tasks, std::memory_order_seq_cst); }
  uint64_t submitted() const { return submitted_.load(std::memory_order_seq_cst); }

  // The queue waits for a task of another one; null: no more.
  void Await(std::shared_ptr<const Progress> other, uint64_t task) {
    std::lock_guard<std::mutex> lock(mutex_);
    awaited_ = std::move(other);
    awaited_task_ = task;
  }
  // It is held, or waits for a task that a held queue has not begun: directly, or through others. Queues never wait in a circle, since a
  // task waits for those committed before it alone.
  bool IsStalled() const {
    if (held()) return true;
    std::lock_guard<std::mutex> lock(mutex_);
    return awaited_ && awaited_->submitted() < awaited_task_ && awaited_->IsStalled();
  }

 private:
  std::atomic<bool> held_{false};
  std::atomic<uint64_t> submitted_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<const Progress> awaited_;
  uint64_t awaited_task_ = 0;
};

}  // namespace dxtensor::dml
