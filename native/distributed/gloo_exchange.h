// The all-reduce of two ranks over Gloo. Input and output are one memory or two, which the messages do not depend on. scratch: memory of
// the caller's thread, kept between calls. Both block, and throw what Gloo throws.
#pragma once

#include <memory>
#include <vector>

#include <gloo/context.h>

#include "work.h"

namespace dxtensor::distributed {

// For small sizes: each rank sends all of its elements, and combines them with the other's as these arrive. Each rank waits for the other
// once, where Gloo's ring (reduce-scatter, then allgather) waits twice.
void ExchangeAndReduce(const std::shared_ptr<gloo::Context>& context, const Work& work, std::vector<char>& scratch);

// For large sizes, elements from `begin` on, before `end`: each rank reduces one half, and sends it to the other, as Gloo's ring does. An
// input of its own is read where it lies; Gloo would copy all of it.
void ReduceHalves(const std::shared_ptr<gloo::Context>& context, const Work& work, size_t begin, size_t end, std::vector<char>& scratch);

}  // namespace dxtensor::distributed
