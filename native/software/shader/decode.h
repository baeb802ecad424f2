// DXBC (shader model 5.0, compute) to a Program, and everything that can be checked before it runs: registers, resources, nesting.
// Pure; any thread.
#pragma once

#include <memory>
#include <string>

#include "shader_program.h"

namespace dxtensor::software::shader {

// Null and *wrong for what is malformed, or beyond the subset: foreign instructions are named.
std::shared_ptr<const Program> Decode(const void* container, size_t size, std::string* wrong);

}  // namespace dxtensor::software::shader
