#include "trace.h"

#include <cstdio>
#include <cstdlib>

namespace dxtensor::software {

void Trace(const std::string& line) {
  static const bool on = [] {
    const char* value = std::getenv("DXTENSOR_SOFTWARE_TRACE");
    return value && *value && *value != '0';
  }();
  if (on) std::fprintf(stderr, "dxtensor software adapter: %s\n", line.c_str());
}

}  // namespace dxtensor::software
