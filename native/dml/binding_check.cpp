#include "binding_check.h"

#include <algorithm>

namespace dxtensor::dml {

namespace {

// What one slot of a dispatchable takes.
struct Need {
  enum class Kind { Nothing, Range, Unused } kind = Kind::Unused;  // Unused: of a graph's input that no node reads
  uint64_t size_in_bytes = 0;
};

std::vector<Need> NeedsOf(const std::vector<const schema::TensorDesc*>& tensors) {
  std::vector<Need> needs;
  for (const schema::TensorDesc* tensor : tensors) {
    // What DirectML owns is bound when the operator is initialised, not here.
    bool bound = tensor && !(tensor->flags & DML_TENSOR_FLAG_OWNED_BY_DML);
    needs.push_back({bound ? Need::Kind::Range : Need::Kind::Nothing, bound ? tensor->size_in_bytes : 0});
  }
  return needs;
}

void Widen(std::vector<Need>& needs, uint32_t index, const std::vector<const schema::TensorDesc*>& tensors, uint32_t slot) {
  if (index >= needs.size() || slot >= tensors.size() || !tensors[slot]) return;
  needs[index].kind = Need::Kind::Range;
  needs[index].size_in_bytes = std::max(needs[index].size_in_bytes, tensors[slot]->size_in_bytes);
}

std::vector<Need> InputNeeds(const GraphDesc& graph) {
  std::vector<Need> needs(graph.input_count);
  for (const GraphDesc::InputEdge& edge : graph.input_edges)
    if (edge.to < graph.nodes.size()) Widen(needs, edge.input, graph.nodes[edge.to].Inputs(), edge.to_input);
  return needs;
}

std::vector<Need> OutputNeeds(const GraphDesc& graph) {
  std::vector<Need> needs(graph.output_count);
  for (const GraphDesc::OutputEdge& edge : graph.output_edges)
    if (edge.from < graph.nodes.size()) Widen(needs, edge.output, graph.nodes[edge.from].Outputs(), edge.from_output);
  return needs;
}
std::vector<Need> InputNeeds(const schema::OperatorDesc& op) { return NeedsOf(op.Inputs()); }
std::vector<Need> OutputNeeds(const schema::OperatorDesc& op) { return NeedsOf(op.Outputs()); }

std::string Fault(const std::vector<Need>& needs, const std::vector<SlotRange>& ranges, const char* what) {
  if (ranges.size() != needs.size())
    return std::to_string(ranges.size()) + " " + what + "s are bound, " + std::to_string(needs.size()) + " are needed";
  for (size_t i = 0; i < needs.size(); ++i) {
    std::string name = std::string(what) + " " + std::to_string(i);
    if (needs[i].kind == Need::Kind::Nothing && ranges[i].slot >= 0) return name + " takes nothing, and a range is bound";
    if (needs[i].kind != Need::Kind::Range) continue;
    if (ranges[i].slot < 0) return name + " is not bound";
    if (ranges[i].size < needs[i].size_in_bytes)
      return name + " is bound to " + std::to_string(ranges[i].size) + " bytes, " + std::to_string(needs[i].size_in_bytes) + " are needed";
  }
  return "";
}

// Each range is bound to the next of its buffers.
std::vector<Need> InputNeeds(const ShaderDesc& shader) { return std::vector<Need>(shader.input_count, Need{Need::Kind::Range, 4}); }
std::vector<Need> OutputNeeds(const ShaderDesc&, size_t bound) { return std::vector<Need>(bound, Need{Need::Kind::Range, 4}); }
template <typename Desc>
std::vector<Need> OutputNeeds(const Desc& desc, size_t) {
  return OutputNeeds(desc);
}

// What the shader's own bounds and the driver's ask for.
std::string ShaderFault(const ShaderDesc& shader, const StepDesc& step) {
  if (step.inputs.size() + step.outputs.size() > kMaxShaderBuffers)
    return "a shader is bound to more than " + std::to_string(kMaxShaderBuffers) + " buffers";
  if (shader.constants.size() > kMaxShaderConstants) return "a shader has more than " + std::to_string(kMaxShaderConstants) + " constants";
  for (uint32_t groups : shader.groups)
    if (groups < 1 || groups > kMaxShaderGroups)
      return "a shader runs in " + std::to_string(groups) + " groups along an axis, 1 to 65535 are allowed";
  for (const auto* ranges : {&step.inputs, &step.outputs})
    for (const SlotRange& range : *ranges)
      if (range.size > kMaxShaderBytes)
        return "a shader is bound to " + std::to_string(range.size) + " bytes, at most " + std::to_string(kMaxShaderBytes) + " are allowed";
  return "";
}
template <typename Desc>
std::string ShaderFault(const Desc&, const StepDesc&) {
  return "";
}

bool InPlace(const ShaderDesc&) { return true; }
bool InPlace(const schema::OperatorDesc& op) { return op.schema->supports_in_place; }
bool InPlace(const GraphDesc& graph) { return graph.nodes.size() == 1 && InPlace(graph.nodes[0]); }

bool Meet(const SlotRange& a, const SlotRange& b) {
  return a.slot >= 0 && a.slot == b.slot && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

template <typename Desc>
bool IsOverwrite(const Desc&, size_t, size_t) {
  return false;
}
bool IsOverwrite(const GraphDesc& graph, size_t output, size_t input) {
  return std::any_of(graph.overwrites.begin(), graph.overwrites.end(),
                     [&](const GraphDesc::Overwrite& o) { return o.output == output && o.input == input; });
}

// An output that is not where the graph was compiled to find it.
template <typename Desc>
std::string OverwriteFault(const Desc&, const StepDesc&) {
  return "";
}
std::string OverwriteFault(const GraphDesc& graph, const StepDesc& step) {
  for (const GraphDesc::Overwrite& o : graph.overwrites) {
    if (o.output >= step.outputs.size() || o.input >= step.inputs.size()) return "an output or input that is overwritten is not there";
    const SlotRange &from = step.inputs[o.input], &to = step.outputs[o.output];
    if (from.slot != to.slot || from.offset != to.offset + o.offset)
      return "output " + std::to_string(o.output) + " does not lie over input " + std::to_string(o.input);
  }
  return "";
}

// An output over an input or over another output gives wrong numbers without an error, but for an operator or a shader in place, and for
// what a graph was compiled for.
template <typename Desc>
std::string SharedFault(const Desc& desc, const StepDesc& step) {
  const bool in_place = InPlace(desc);
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const std::string name = "output " + std::to_string(i);
    for (size_t k = 0; k < i; ++k)
      if (Meet(step.outputs[i], step.outputs[k])) return name + " lies over output " + std::to_string(k);
    for (size_t k = 0; k < step.inputs.size(); ++k)
      if (Meet(step.outputs[i], step.inputs[k]) && !(in_place && step.outputs[i].offset == step.inputs[k].offset) &&
          !IsOverwrite(desc, i, k))
        return name + " lies over input " + std::to_string(k);
  }
  return "";
}

}  // namespace

std::string BindingFault(const DispatchableDesc& dispatchable, const StepDesc& step) {
  return std::visit(
      [&](const auto& desc) {
        std::string fault = Fault(InputNeeds(desc), step.inputs, "input");
        if (fault.empty()) fault = Fault(OutputNeeds(desc, step.outputs.size()), step.outputs, "output");
        if (fault.empty()) fault = ShaderFault(desc, step);
        if (fault.empty()) fault = OverwriteFault(desc, step);
        return fault.empty() ? SharedFault(desc, step) : fault;
      },
      dispatchable);
}

}  // namespace dxtensor::dml
