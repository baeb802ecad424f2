// A kernel that makes a form of its own of one of its inputs in each run (packed weights), unless it is given one that was made before.
#pragma once

#include "kernel.h"

namespace dxtensor::software {

class PreparingKernel : public Kernel {
 public:
  // By slot; -1: there is none.
  virtual int PreparedInput() const = 0;
  virtual size_t PreparedBytes() const = 0;
  // Makes it; `to` has PreparedBytes() bytes, 64-byte aligned. Reads nothing else of the arguments.
  virtual void Prepare(const KernelArguments& arguments, uint8_t* to) const = 0;
  // `prepared`: what Prepare made of the same input, which is not read then; or null.
  virtual void RunPrepared(const KernelArguments& arguments, const uint8_t* prepared) const = 0;
  void Run(const KernelArguments& arguments) const final { RunPrepared(arguments, nullptr); }

  // The kernel as one that prepares; null where it does not.
  static const PreparingKernel* Of(const Kernel* kernel) {
    const auto* preparing = dynamic_cast<const PreparingKernel*>(kernel);
    return preparing && preparing->PreparedInput() >= 0 ? preparing : nullptr;
  }
};

}  // namespace dxtensor::software
