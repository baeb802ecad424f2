// Calls into a LAPACK library that JavaScript named: Fortran's way, every argument by address, lengths of text behind them. Arguments are
// checked as far as the routine would write beyond an array, or end the process for one that it refuses. Any thread; a library that was
// opened stays for the process.
#pragma once

#include <string>

#include "js.h"

namespace dxtensor::addon {

// Null, or why it can't be opened.
std::string OpenLapack(const std::string& path);
// Whether the library at `path` is open and has the routine ("dgetrf"), however it spells it.
bool HasLapack(const std::string& path, const std::string& routine);
// arguments: numbers (32-bit integers), text of one letter, typed arrays. Blocks until the routine is done.
void CallLapack(const std::string& path, const std::string& routine, const js::Value& arguments);

}  // namespace dxtensor::addon
