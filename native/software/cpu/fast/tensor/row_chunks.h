// Work on rows of equal length for the thread pool: several short rows at once, long rows in chunks. Stateless.
#pragma once

#include <algorithm>

#include "software/cpu/host/thread_pool.h"
#include "task_size.h"

namespace dxtensor::software::fast {

// visit(row, first, last) for each row, once or for its consecutive chunks.
template <typename Visit>
void ForRowChunks(int64_t rows, int64_t length, const Visit& visit) {
  const int64_t pieces = (length + kTaskElements - 1) / kTaskElements;
  ThreadPool::Get().ParallelFor(0, rows * pieces, std::max<int64_t>(1, kTaskElements / length), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kTaskElements;
      visit(i / pieces, first, std::min(length, first + kTaskElements));
    }
  });
}

}  // namespace dxtensor::software::fast
