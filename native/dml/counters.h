// Counters of the native side, for tests and reports. Each number has one writing thread at a time; any thread may read.
#pragma once

#include <atomic>
#include <cstdint>

namespace dxtensor::dml {

class Counter {
 public:
  void Add(uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  // Without a locked instruction: for the numbers that only the queue thread writes.
  void AddAlone(uint64_t n = 1) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  uint64_t Read() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// The queue thread's, or a recording's while it is made.
struct RecordCounts {
  uint64_t dispatches = 0, tables = 0, barriers = 0, copies = 0;
};

struct Counters {
  Counter dispatches_recorded, tables_bound, barriers_recorded, copies;
  Counter submissions, lists_submitted, replays, replay_copies, uploads, readbacks;  // queue thread alone
  Counter operators_compiled, graphs_compiled, shaders_compiled;                     // JavaScript thread alone

  void Take(RecordCounts& counts) {
    dispatches_recorded.Add(counts.dispatches);
    tables_bound.Add(counts.tables);
    barriers_recorded.Add(counts.barriers);
    copies.Add(counts.copies);
    counts = {};
  }
};

}  // namespace dxtensor::dml
