// Work on rows of equal length for the thread pool: several short rows at once, long rows in chunks. Stateless.
#pragma once

#include <algorithm>

#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

constexpr int64_t kRowChunk = 1 << 15;  // elements that are worth a thread's while

// visit(row, first, last) for each row, once or for its consecutive chunks.
template <typename Visit>
void ForRowChunks(int64_t rows, int64_t length, const Visit& visit) {
  const int64_t pieces = (length + kRowChunk - 1) / kRowChunk;
  ThreadPool::Get().ParallelFor(0, rows * pieces, std::max<int64_t>(1, kRowChunk / length), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kRowChunk;
      visit(i / pieces, first, std::min(length, first + kRowChunk));
    }
  });
}

}  // namespace dxtensor::software::fast
