// A kernel executes one operator, or a fused group of operators, of the software adapter.
//
// It is made once, when an operator is compiled, from a validated description; it keeps the sizes and strides that it needs. Run is given
// addresses only; it may be called from one thread at a time for each set of addresses, and uses the thread pool by itself. Kernels are
// immutable after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "schema/schema.h"

namespace dxtensor::software {

// Addresses in the operator's slot order (schema::OperatorDesc::Inputs/Outputs); null where an optional tensor is absent.
struct KernelArguments {
  const uint8_t* const* inputs;
  uint8_t* const* outputs;
  uint8_t* scratch;  // ScratchBytes() bytes, 64-byte aligned; contents undefined
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual size_t ScratchBytes() const { return 0; }
  virtual void Run(const KernelArguments& arguments) const = 0;
  // Whether the output may be the same bytes as the input: each element is read for the last time before it is written.
  virtual bool MayOverwrite(size_t /*input*/, size_t /*output*/) const { return false; }
};

// The formula in plain loops over any strides and every data type that the table lists. Null: not an operator that this adapter
// executes (it is then not advertised, and CompileOperator says DXGI_ERROR_UNSUPPORTED). In reference/.
std::unique_ptr<Kernel> MakePlainKernel(const schema::OperatorDesc& desc);

// A faster kernel for the cases it covers, null for all others. Results agree with the plain kernel's within rounding. In fast/.
std::unique_ptr<Kernel> MakeFastKernel(const schema::OperatorDesc& desc);

// The fast kernel where there is one, else the plain one. The environment variable DXTENSOR_SOFTWARE_PLAIN=1 disables the fast ones.
std::unique_ptr<Kernel> MakeKernel(const schema::OperatorDesc& desc);

}  // namespace dxtensor::software
