// JavaScript descriptions (src/native/binding.ts) to those of schema and dml. Throws dml::Failure of kind Invalid with the path of the
// wrong field. The environment's thread.
#pragma once

#include "../dml/loader.h"
#include "../dml/program.h"
#include "js.h"

namespace dxtensor::addon {

dml::ProgramDesc ToProgram(const js::Value& value);
// A shader of a container, with so many views and constants.
dml::ShaderDesc ToContainer(const js::Value& bytes, const js::Value& views, const js::Value& constants);
dml::LibraryPaths ToPaths(const js::Value& value);
dml::RuntimeKind ToKind(const js::Value& value);
// An integer from 0 to 2^53; `what` names it in the error.
uint64_t ToSize(const js::Value& value, const char* what);
uint32_t ToId(const js::Value& value, const char* what);

}  // namespace dxtensor::addon
