// The epilogue of GEMM and convolution tiles: activations as instructions of the block engine, or a clamp. Immutable.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "schema/schema.h"
#include "software/cpu/fast/isa/micro_op.h"

namespace dxtensor::software::fast {

// Instructions on one register, in place.
using Activations = std::vector<MicroOp>;

// The instructions of an activation (and the rounding of its result, when it is stored as a half); nothing when it is none.
std::optional<Activations> ActivationsOf(const schema::OperatorDesc& activation);
// Those of the FusedActivation field of `host`: none when it is null; nothing when the engine does not have it.
std::optional<Activations> FusedActivations(const schema::OperatorDesc& host);

// The range of a clamp that keeps NaN: activations that do nothing else.
struct ClampRange {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();

  bool Clamps() const { return low > -std::numeric_limits<float>::infinity() || high < std::numeric_limits<float>::infinity(); }
};
std::optional<ClampRange> ClampOf(const Activations& activations);

// Runs them over n floats, of which memory exists up to the next multiple of the vector width.
void Activate(const Activations& activations, float* x, int64_t n);

}  // namespace dxtensor::software::fast
