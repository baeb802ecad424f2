// The all-reduce of two ranks over Gloo, for few elements: each sends all of its own, and combines them with the other's as these arrive.
// Messages go in one direction once, where those of Gloo's ring go twice.
#pragma once

#include <memory>
#include <vector>

#include <gloo/context.h>

#include "work.h"

namespace dxtensor::distributed {

// In place, of a work's output. scratch: of the caller's thread, kept between calls. Blocks; throws what Gloo throws.
void ExchangeAndReduce(const std::shared_ptr<gloo::Context>& context, const Work& work, std::vector<char>& scratch);

}  // namespace dxtensor::distributed
