// Whether a step binds what its dispatchable needs: how many ranges, which of them, how many bytes, none over another. DirectML would
// remove the device, or leave it to the GPU to read past the end. Any thread.
#pragma once

#include <string>

#include "program.h"

namespace dxtensor::dml {

// Why the step must not be recorded; "" when it may.
std::string BindingFault(const DispatchableDesc& dispatchable, const StepDesc& step);

}  // namespace dxtensor::dml
