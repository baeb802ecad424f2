// The kernels that the software adapter runs for a compiled operator or graph, and their times. Other libraries show none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../abi/abi.h"

namespace dxtensor::dml {

struct KernelTime {
  std::string name;
  std::vector<uint32_t> nodes;  // of the graph's description
  double seconds = 0;           // the minimum since times were taken
};

// In their order; nothing where the library does not say.
std::vector<KernelTime> KernelsOf(IDMLCompiledOperator* compiled);
// Only for what shows kernels.
void TakeTimes(IDMLCompiledOperator* compiled, bool taken);

}  // namespace dxtensor::dml
