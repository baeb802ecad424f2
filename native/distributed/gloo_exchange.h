// The all-reduce of two ranks over Gloo, for small sizes: each rank sends all of its elements, and combines them with the other's as these
// arrive. Each rank waits for the other once, where Gloo's ring (reduce-scatter, then allgather) waits twice.
#pragma once

#include <memory>
#include <vector>

#include <gloo/context.h>

#include "work.h"

namespace dxtensor::distributed {

// Reduces a work's output in place. scratch: memory of the caller's thread, kept between calls. Blocks; throws what Gloo throws.
void ExchangeAndReduce(const std::shared_ptr<gloo::Context>& context, const Work& work, std::vector<char>& scratch);

}  // namespace dxtensor::distributed
