// Work on lines of equal length for the shared threads: short lines several at once, long ones in pieces. Stateless.
#pragma once

#include <algorithm>

#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

constexpr int64_t kLinePiece = 1 << 15;  // elements that are worth a thread's while

// visit(line, first, last) for each line, once or for consecutive pieces of it.
template <typename Visit>
void ForLinePieces(int64_t lines, int64_t length, const Visit& visit) {
  const int64_t pieces = (length + kLinePiece - 1) / kLinePiece;
  ThreadPool::Get().ParallelFor(0, lines * pieces, std::max<int64_t>(1, kLinePiece / length), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kLinePiece;
      visit(i / pieces, first, std::min(length, first + kLinePiece));
    }
  });
}

}  // namespace dxtensor::software::fast
