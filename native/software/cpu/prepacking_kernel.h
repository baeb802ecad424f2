// A kernel that packs one of its inputs (weights) in each run, unless it is given the prepacked input.
#pragma once

#include "kernel.h"

namespace dxtensor::software {

class PrepackingKernel : public Kernel {
 public:
  // By slot; -1: there is none.
  virtual int PrepackedInput() const = 0;
  virtual size_t PrepackedBytes() const = 0;
  // Makes it; `to` has PrepackedBytes() bytes, 64-byte aligned. Reads nothing else of the arguments.
  virtual void Prepack(const KernelArguments& arguments, uint8_t* to) const = 0;
  // `prepacked`: what Prepack made of the same input, which is not read then; or null.
  virtual void RunPrepacked(const KernelArguments& arguments, const uint8_t* prepacked) const = 0;
  void Run(const KernelArguments& arguments) const final { RunPrepacked(arguments, nullptr); }

  // The kernel as a PrepackingKernel; null where it is none.
  static const PrepackingKernel* Of(const Kernel* kernel) {
    const auto* prepacking = dynamic_cast<const PrepackingKernel*>(kernel);
    return prepacking && prepacking->PrepackedInput() >= 0 ? prepacking : nullptr;
  }
};

}  // namespace dxtensor::software
