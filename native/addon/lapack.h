// Calls into a LAPACK library that JavaScript named: Fortran's way, every argument by address, lengths of text behind them. Which
// arguments a routine takes and how long its arrays are is the caller's to know (src/runtime/lapack). Any thread; a library that
// was opened stays for the process.
#pragma once

#include <string>

#include "js.h"

namespace dxtensor::addon {

// Null, or why it can't be opened.
std::string OpenLapack(const std::string& path);
// A routine of the library at `path`, or null.
void* FindLapack(const std::string& path, const std::string& name);
// arguments: numbers (32-bit integers), text of one letter, typed arrays. Blocks until the routine is done.
void CallLapack(void* routine, const js::Value& arguments);

}  // namespace dxtensor::addon
