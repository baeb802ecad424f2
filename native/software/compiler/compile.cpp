#include "compile.h"

#include <algorithm>
#include <cstring>

#include "software/d3d12/trace.h"
#include "overwrites.h"

namespace dxtensor::software {

namespace {

constexpr uint64_t kOwnedAlignment = 256;

uint64_t RoundUp(uint64_t size, uint64_t alignment) { return (size + alignment - 1) / alignment * alignment; }

BindingSlot SlotOf(const schema::TensorDesc* tensor) {
  BindingSlot slot;
  if (!tensor) return slot;
  slot.present = true;
  slot.owned = (tensor->flags & DML_TENSOR_FLAG_OWNED_BY_DML) != 0;
  slot.size = tensor->size_in_bytes;
  slot.alignment = tensor->alignment > 16 ? tensor->alignment : 16;
  slot.tensor = *tensor;
  return slot;
}

// Assigns offsets to the owned inputs, one after the other.
void PlanPersistent(Program* program) {
  for (BindingSlot& slot : program->inputs) {
    if (!slot.owned) continue;
    slot.persistent_offset = program->persistent_size;
    program->persistent_size += RoundUp(slot.size, kOwnedAlignment);
  }
}

Operand InputOperand(const Program& program, uint32_t index, uint64_t offset) {
  const BindingSlot& slot = program.inputs[index];
  if (!slot.present) return {};
  if (slot.owned) return {Operand::Base::Persistent, 0, slot.persistent_offset + offset};
  return {Operand::Base::Input, index, offset};
}

// Whether each is of an output and an input that are there, and lies within the output.
bool FitOverwrites(const Graph& graph, const std::vector<BindingSlot>& inputs, const std::vector<BindingSlot>& outputs) {
  return std::all_of(graph.overwrites.begin(), graph.overwrites.end(), [&](const Overwrite& over) {
    if (over.output >= outputs.size() || over.input >= inputs.size()) return false;
    const BindingSlot &from = inputs[over.input], &to = outputs[over.output];
    return from.present && to.present && !from.owned && over.offset <= to.size && from.size <= to.size - over.offset;
  });
}

// Whether the output lies over inputs: bytes that stay equal are not written.
bool IsOverwriting(const Graph& graph, int output) {
  return std::any_of(graph.overwrites.begin(), graph.overwrites.end(),
                     [&](const Overwrite& over) { return static_cast<int>(over.output) == output; });
}

}  // namespace

HRESULT CompileOne(const schema::OperatorDesc& desc, Held<Program>* program) {
  auto made = Held<Program>::Adopt(new Program);
  ProgramStep step;
  step.kernel = MakeKernel(desc);
  if (!step.kernel) {
    Trace(std::string("CompileOperator: no kernel for ") + desc.schema->name);
    return DXGI_ERROR_UNSUPPORTED;
  }
  step.name = desc.schema->name;
  step.nodes.push_back(0);
  for (const schema::TensorDesc* tensor : desc.Inputs()) made->inputs.push_back(SlotOf(tensor));
  for (const schema::TensorDesc* tensor : desc.Outputs()) made->outputs.push_back(SlotOf(tensor));
  PlanPersistent(made.get());
  for (uint32_t i = 0; i < made->inputs.size(); ++i) step.inputs.push_back(InputOperand(*made, i, 0));
  for (uint32_t i = 0; i < made->outputs.size(); ++i)
    step.outputs.push_back(made->outputs[i].present ? Operand{Operand::Base::Output, i, 0} : Operand{});
  if (uint64_t scratch = step.kernel->ScratchBytes()) {
    made->temporary_size = RoundUp(scratch, kOwnedAlignment);
    step.scratch = {Operand::Base::Temporary, 0, 0};
  }
  made->in_place = desc.schema->supports_in_place;
  made->steps.push_back(std::move(step));
  *program = std::move(made);
  return S_OK;
}

HRESULT CompileGraph(const DML_GRAPH_DESC& desc, uint32_t feature_level, DescribeOperator describe, std::vector<Overwrite> overwrites,
                     Held<Program>* program) {
  auto made = Held<Program>::Adopt(new Program);
  Graph graph;
  graph.overwrites = std::move(overwrites);
  HRESULT read = ReadGraph(desc, feature_level, describe, &graph, &made->inputs);
  if (FAILED(read)) return read;
  PlanPersistent(made.get());
  made->outputs.resize(graph.output_count);
  made->in_place = graph.nodes.size() == 1 && graph.nodes[0].desc->schema->supports_in_place;
  for (const GraphValue& value : graph.values)
    for (int output : value.graph_outputs) {
      BindingSlot& slot = made->outputs[static_cast<size_t>(output)];
      slot.present = true;
      slot.size = value.size_in_bytes;
    }
  if (made->in_place) {  // one node: the slots are its tensors, by the graph's numbers
    const GraphNode& node = graph.nodes[0];
    auto inputs = node.desc->Inputs(), outputs = node.desc->Outputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      int value = node.inputs[i];
      int input = value < 0 ? -1 : graph.values[static_cast<size_t>(value)].graph_input;
      if (input >= 0 && inputs[i]) made->inputs[static_cast<size_t>(input)].tensor = *inputs[i];
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      if (node.outputs[i] >= 0 && outputs[i])
        for (int output : graph.values[static_cast<size_t>(node.outputs[i])].graph_outputs)
          made->outputs[static_cast<size_t>(output)].tensor = *outputs[i];
  }

  if (!FitOverwrites(graph, made->inputs, made->outputs)) {
    Trace("CompileGraph: an output does not fit over an input");
    return E_INVALIDARG;
  }
  made->overwrites = graph.overwrites;

  const char* unsupported = nullptr;
  std::vector<GraphStep> steps = RunPasses(&graph, &unsupported);
  if (unsupported) {
    Trace(std::string("CompileGraph: no kernel for ") + unsupported);
    return DXGI_ERROR_UNSUPPORTED;
  }

  // Lives of the values that only steps see, then of each step's scratch.
  std::vector<Lifetime> lives;
  std::vector<int> life_of_value(graph.values.size(), -1), life_of_step(steps.size(), -1);
  std::vector<bool> written(graph.values.size(), false);
  auto touch = [&](const GraphOperand& operand, size_t step) {
    if (operand.value < 0) return;
    const GraphValue& value = graph.values[static_cast<size_t>(operand.value)];
    if (value.graph_input >= 0 || !value.graph_outputs.empty() || !value.constant.empty()) return;
    int& life = life_of_value[static_cast<size_t>(operand.value)];
    if (life < 0) {
      life = static_cast<int>(lives.size());
      lives.push_back({value.size_in_bytes, step, step});
    }
    lives[static_cast<size_t>(life)].last = step;
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    for (const GraphOperand& operand : steps[s].inputs) touch(operand, s);
    for (const GraphOperand& operand : steps[s].outputs) {
      touch(operand, s);
      if (operand.value >= 0) written[static_cast<size_t>(operand.value)] = true;
    }
    if (uint64_t scratch = steps[s].kernel->ScratchBytes()) {
      life_of_step[s] = static_cast<int>(lives.size());
      lives.push_back({scratch, s, s});
    }
  }
  std::vector<uint64_t> offsets = PlanTemporary(lives, &made->temporary_size);

  std::vector<int> constant_of_value(graph.values.size(), -1);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const GraphValue& value = graph.values[v];
    if (!value.graph_outputs.empty() && !written[v] && !IsOverwriting(graph, value.graph_outputs[0])) {
      Trace("CompileGraph: no step writes a graph output");
      return E_FAIL;
    }
    if (value.constant.empty()) continue;
    constant_of_value[v] = static_cast<int>(made->constants.size());
    made->constants.emplace_back((value.constant.size() + 7) / 8 + 8);
    std::memcpy(made->constants.back().data(), value.constant.data(), value.constant.size());
  }
  auto locate = [&](const GraphOperand& operand) -> Operand {
    if (operand.value < 0) return {};
    auto v = static_cast<size_t>(operand.value);
    const GraphValue& value = graph.values[v];
    if (constant_of_value[v] >= 0) return {Operand::Base::Constant, static_cast<uint32_t>(constant_of_value[v]), operand.offset};
    // Memory that is written in place has one name: the output's.
    for (const Overwrite& over : graph.overwrites)
      if (value.graph_input == static_cast<int>(over.input)) return {Operand::Base::Output, over.output, over.offset + operand.offset};
    if (value.graph_input >= 0) return InputOperand(*made, static_cast<uint32_t>(value.graph_input), operand.offset);
    if (!value.graph_outputs.empty()) return {Operand::Base::Output, static_cast<uint32_t>(value.graph_outputs[0]), operand.offset};
    return {Operand::Base::Temporary, 0, offsets[static_cast<size_t>(life_of_value[v])] + operand.offset};
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    ProgramStep step;
    for (const GraphOperand& operand : steps[s].inputs) step.inputs.push_back(locate(operand));
    for (const GraphOperand& operand : steps[s].outputs) step.outputs.push_back(locate(operand));
    if (life_of_step[s] >= 0) step.scratch = {Operand::Base::Temporary, 0, offsets[static_cast<size_t>(life_of_step[s])]};
    step.kernel = std::move(steps[s].kernel);
    step.name = steps[s].name;
    for (int node : steps[s].nodes) step.nodes.push_back(graph.nodes[static_cast<size_t>(node)].index);
    made->steps.push_back(std::move(step));
  }
  for (const GraphValue& value : graph.values)
    for (size_t i = 1; i < value.graph_outputs.size(); ++i) {
      ProgramStep step;
      step.kernel = MakeCopyKernel(value.size_in_bytes);
      step.name = "copy";
      step.inputs.push_back({Operand::Base::Output, static_cast<uint32_t>(value.graph_outputs[0]), 0});
      step.outputs.push_back({Operand::Base::Output, static_cast<uint32_t>(value.graph_outputs[i]), 0});
      made->steps.push_back(std::move(step));
    }
  *program = std::move(made);
  return S_OK;
}

}  // namespace dxtensor::software
