// A program: compiled operators and graphs, and the steps that use them over numbered slots (inputs, outputs, scratch, and one
// more that the program adds for the operators' temporary memory).
//
// Made by the JavaScript thread; immutable afterwards but for `bound`, the binding tables of its runs, which the queue thread
// owns. Must live until the last list that uses it has finished: the queue thread destroys it.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "../schema/schema.h"
#include "address.h"
#include "com_ptr.h"
#include "kernel_times.h"
#include "shaders.h"

namespace dxtensor::dml {

class BoundTables;

struct SlotRange {
  int32_t slot = -1;  // -1: nothing is bound
  uint64_t offset = 0, size = 0;
};

struct GraphDesc {
  uint32_t input_count = 0, output_count = 0;
  std::vector<schema::OperatorDesc> nodes;
  struct InputEdge {
    uint32_t input, to, to_input;
  };
  struct Edge {
    uint32_t from, from_output, to, to_input;
  };
  struct OutputEdge {
    uint32_t from, from_output, output;
  };
  // The output lies over the input, whose first byte is the output's byte `offset`: for devices whose compiler takes such graphs.
  struct Overwrite {
    uint32_t output, input, offset;
  };
  std::vector<InputEdge> input_edges;
  std::vector<Edge> edges;
  std::vector<OutputEdge> output_edges;
  std::vector<Overwrite> overwrites;
};

struct StepDesc {
  uint32_t group = 0;
  int32_t dispatchable = -1;  // -1: a copy from inputs[0] to outputs[0]
  std::vector<SlotRange> inputs, outputs;
};

using DispatchableDesc = std::variant<schema::OperatorDesc, GraphDesc, ShaderDesc>;

struct ProgramDesc {
  std::string name;
  std::vector<uint64_t> inputs, outputs;
  uint64_t scratch = 0;
  std::vector<DispatchableDesc> dispatchables;
  std::vector<StepDesc> steps;
};

struct CompiledOperator {
  std::string name;
  ComPtr<IDMLCompiledOperator> object;
  uint32_t descriptors = 0;
  uint64_t temporary = 0, persistent = 0;
  Address persistent_address = 0;
  // A shader instead of an operator of DirectML's.
  std::shared_ptr<const Shader> shader;
  std::vector<ShaderView> views;
  std::vector<uint32_t> constants;
  std::array<uint32_t, 3> groups{};
  std::vector<KernelTime> kernels;  // of a graph, without times; empty where the library shows none
};

struct DispatchStep {
  uint32_t op = 0;
  uint64_t temporary_offset = 0;
  std::vector<SlotRange> inputs, outputs;
};

struct CopyStep {
  SlotRange from, to;
};

struct StepGroup {
  uint32_t dispatch_begin = 0, dispatch_end = 0, copy_begin = 0, copy_end = 0;
};

struct Program {
  Program();
  ~Program();

  std::string name;
  std::vector<uint64_t> input_sizes, output_sizes;
  uint64_t scratch = 0, temporary = 0, persistent = 0;
  uint32_t slot_count = 0;  // with scratch and temporary
  uint32_t descriptors = 0;
  std::vector<CompiledOperator> operators;
  std::vector<DispatchStep> dispatches;
  std::vector<CopyStep> copies;
  std::vector<StepGroup> groups;
  std::vector<SlotRange> gaps;    // of the scratch memory, that no step uses; with guard areas only
  std::vector<bool> bound_slots;  // a dispatch binds it, so that its offset must be a multiple of 16

  uint32_t scratch_slot() const { return slot_count - 2; }
  uint32_t temporary_slot() const { return slot_count - 1; }

  // The JavaScript thread's: blocks of persistent memory, and how many programs and recordings there use it.
  uint32_t persistent_block = UINT32_MAX;
  uint32_t owners = 1;
  // The queue thread's.
  std::unique_ptr<BoundTables> bound;
};

// Checks and lays out everything but the operators; throws Failure of kind Invalid.
std::unique_ptr<Program> PlanProgram(const ProgramDesc& desc);
// Gives each step its range of the temporary slot, once the operators are compiled: those of one group do not share.
void AssignTemporaryOffsets(Program& program);

}  // namespace dxtensor::dml
