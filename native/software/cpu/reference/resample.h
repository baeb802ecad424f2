// How resampling reads: each output position of an axis reads some input positions, each with a weight.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/schema.h"

namespace dxtensor::software::resample {

struct Tap {
  uint64_t offset;  // in elements of the tensor that is read in the forward direction
  float weight;
};

// The taps of output position i are taps[first[i]] to taps[first[i + 1] - 1].
struct Axis {
  std::vector<uint32_t> first{0};
  std::vector<Tap> taps;
};

// Those of an operator of resampling, or of its gradient, with positions of the axis instead of offsets.
std::vector<Axis> AxesOf(const schema::OperatorDesc& desc, bool is_gradient);

}  // namespace dxtensor::software::resample
