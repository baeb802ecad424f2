// A select that only keeps NaN, as one instruction.
#pragma once

#include "block_program.h"

namespace dxtensor::software::fast {

// `in[0] ? in[1] : in[2]` where in[0] is IsNaN(in[1]) and in[2] is a maximum, a minimum or a clamp of in[1]: one instruction that
// propagates NaN. -1 for any other select.
int EmitNanChoice(ProgramBuilder& builder, const int* in);

}  // namespace dxtensor::software::fast
