#include "kernel_times.h"

#include <sstream>

#include "../abi/software_control.h"
#include "failure.h"

namespace dxtensor::dml {

std::vector<KernelTime> KernelsOf(IDMLCompiledOperator* compiled) {
  std::vector<KernelTime> kernels;
  UINT size = 0;
  if (!compiled || FAILED(compiled->GetPrivateData(kIidKernels, &size, nullptr)) || !size) return kernels;
  std::string text(size, ' ');
  Check(compiled->GetPrivateData(kIidKernels, &size, text.data()), "IDMLCompiledOperator::GetPrivateData");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t nodes = line.find(' ') + 1, name = line.find(' ', nodes) + 1;
    KernelTime kernel;
    kernel.seconds = std::stod(line.substr(0, nodes - 1)) / 1e9;
    kernel.name = line.substr(name);
    std::istringstream list(line.substr(nodes, name - 1 - nodes));
    for (std::string node; std::getline(list, node, ',');) kernel.nodes.push_back(static_cast<uint32_t>(std::stoul(node)));
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

void TakeTimes(IDMLCompiledOperator* compiled, bool taken) {
  const UINT on = taken ? 1 : 0;
  Check(compiled->SetPrivateData(kIidKernels, sizeof on, &on), "IDMLCompiledOperator::SetPrivateData");
}

}  // namespace dxtensor::dml
