// A choice that only keeps NaN, as one instruction.
#pragma once

#include "program.h"

namespace dxtensor::software::fast {

// The same as `in[0] ? in[1] : in[2]` where in[0] tells whether in[1] is NaN, and in[2] is the larger or smaller one of in[1] and another
// number, or in[1] held between two: an instruction that lets NaN through. -1 where the choice is another one.
int EmitNanChoice(ProgramBuilder& builder, const int* in);

}  // namespace dxtensor::software::fast
