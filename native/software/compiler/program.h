// The result of CompileOperator and CompileGraph: kernels in order, and the position of each operand once buffers are bound.
//
// Immutable but for the times of its kernels and of its runs; shared by the compiled operator, the dispatches that are bound to it, and
// the lists that recorded those.
#pragma once

#include <vector>

#include "software/cpu/kernel.h"
#include "software/d3d12/com.h"
#include "graph.h"
#include "kernel_times.h"
#include "thread_choice.h"

namespace dxtensor::software {

// An input or output of the whole: what a binding table has to bind there.
struct BindingSlot {
  bool present = false;  // else only NONE may be bound
  bool owned = false;    // OWNED_BY_DML: bound at initialisation, copied into the persistent resource
  uint64_t size = 0;
  uint32_t alignment = 16;
  uint64_t persistent_offset = 0;  // of an owned input
  schema::TensorDesc tensor;       // of a single operator: for execution in place
};

// Where an operand lies.
struct Operand {
  enum class Base : uint8_t { None, Input, Output, Temporary, Persistent, Constant };
  Base base = Base::None;
  uint32_t index = 0;  // of the input, the output or the constant
  uint64_t offset = 0;
};

struct ProgramStep {
  std::shared_ptr<Kernel> kernel;
  std::vector<Operand> inputs, outputs;
  Operand scratch;
  const char* name = "";
  std::vector<uint32_t> nodes;  // that it computes, by index in the graph's description
};

class Program final : public Counted {
 public:
  ~Program() override;

  std::vector<BindingSlot> inputs, outputs;
  std::vector<ProgramStep> steps;
  std::vector<std::vector<uint64_t>> constants;  // bytes, aligned
  uint64_t temporary_size = 0, persistent_size = 0;
  bool in_place = false;  // one operator, and it may write over an input
  std::vector<Overwrite> overwrites;
  mutable KernelTimes times;
  mutable ThreadChoice threads;

  uint32_t DescriptorCount() const {
    size_t count = inputs.size() + outputs.size() + (temporary_size ? 1 : 0) + (persistent_size ? 1 : 0);
    return static_cast<uint32_t>(count ? count : 1);
  }
};

}  // namespace dxtensor::software
