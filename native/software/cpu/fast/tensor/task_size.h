// How much work is worth a task of the thread pool.
#pragma once

#include <cstdint>

namespace dxtensor::software::fast {

// Elements of a simple pass over contiguous floats, estimated (not measured) to take 4 to 10 us. Measured by kernel_bench (Xeon, 2
// threads): handing a task to an awake thread takes 0.7 to 3 us, to a sleeping one 5 to 14 us. Passes with more arithmetic for each element
// take a fraction of it.
constexpr int64_t kTaskElements = 1 << 15;  // 1 << 13 to 1 << 17: within 5 % for the suite, 1 and 2 threads

}  // namespace dxtensor::software::fast
