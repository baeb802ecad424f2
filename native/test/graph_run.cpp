#include "graph_run.h"

#include <cstring>

#include "software/cpu/prepacking_kernel.h"
#include "describe.h"

namespace dxtensor::test {

using software::Graph;
using software::GraphNode;
using software::GraphStep;
using software::GraphValue;

std::vector<ExactBytes> ValueMemory(const Graph& graph, const std::vector<Bytes>& inputs) {
  std::vector<ExactBytes> memory;
  for (const GraphValue& value : graph.values) {
    memory.emplace_back(static_cast<size_t>(value.size_in_bytes));
    const Bytes* bytes = value.graph_input >= 0   ? &inputs[static_cast<size_t>(value.graph_input)]
                         : value.constant.empty() ? nullptr
                                                  : &value.constant;
    if (bytes) std::memcpy(memory.back().data(), bytes->data(), bytes->size());
  }
  return memory;
}

namespace {

uint8_t* Align(std::vector<uint8_t>& workspace) {
  return workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64) % 64;
}

void RunStep(const software::Kernel& kernel, const std::vector<const uint8_t*>& in, const std::vector<uint8_t*>& out, bool prepacks) {
  std::vector<uint8_t> scratch(kernel.ScratchBytes() + 64);
  const software::KernelArguments arguments{in.data(), out.data(), Align(scratch)};
  const software::PrepackingKernel* prepacking = prepacks ? software::PrepackingKernel::Of(&kernel) : nullptr;
  if (!prepacking) return kernel.Run(arguments);
  std::vector<uint8_t> form(prepacking->PrepackedBytes() + 64);
  prepacking->Prepack(arguments, Align(form));
  prepacking->RunPrepacked(arguments, Align(form));
}

}  // namespace

void RunNodes(const Graph& graph, const std::vector<ExactBytes>& memory) {
  for (const GraphNode& node : graph.nodes) {
    std::vector<const uint8_t*> in;
    std::vector<uint8_t*> out;
    for (int value : node.inputs) in.push_back(value < 0 ? nullptr : memory[static_cast<size_t>(value)].data());
    for (int value : node.outputs) out.push_back(value < 0 ? nullptr : memory[static_cast<size_t>(value)].data());
    RunStep(*software::MakePlainKernel(*node.desc), in, out, false);
  }
}

void RunSteps(const std::vector<GraphStep>& steps, const std::vector<ExactBytes>& memory, bool prepacks) {
  std::vector<uint8_t*> addresses;
  for (const ExactBytes& bytes : memory) addresses.push_back(bytes.data());
  RunSteps(steps, addresses, prepacks);
}

void RunSteps(const std::vector<GraphStep>& steps, const std::vector<uint8_t*>& addresses, bool prepacks) {
  for (const GraphStep& step : steps) {
    std::vector<const uint8_t*> in;
    std::vector<uint8_t*> out;
    for (const auto& o : step.inputs) in.push_back(o.value < 0 ? nullptr : addresses[static_cast<size_t>(o.value)] + o.offset);
    for (const auto& o : step.outputs) out.push_back(o.value < 0 ? nullptr : addresses[static_cast<size_t>(o.value)] + o.offset);
    RunStep(*step.kernel, in, out, prepacks);
  }
}

std::string CompareOutputs(const Graph& graph, const std::vector<schema::TensorDesc>& tensors, const std::vector<ExactBytes>& got,
                           const std::vector<ExactBytes>& wanted, const Tolerance& tolerance) {
  auto bytes = [](const ExactBytes& memory) { return Bytes(memory.data(), memory.data() + memory.size()); };
  for (size_t v = 0; v < graph.values.size(); ++v)
    for (int output : graph.values[v].graph_outputs) {
      const schema::TensorDesc& t = tensors[static_cast<size_t>(output)];
      const std::string difference = Difference(Unpack(bytes(got[v]), t), Unpack(bytes(wanted[v]), t), tolerance);
      if (!difference.empty()) return "value " + std::to_string(v) + ": " + difference;
    }
  return "";
}

std::string Describe(const Graph& graph) {
  std::string text;
  for (const GraphNode& node : graph.nodes) {
    text += "\n      " + Text(*node.desc) + " <-";
    for (int value : node.inputs) text += " " + std::to_string(value);
    text += " ->";
    for (int value : node.outputs) text += " " + std::to_string(value);
  }
  return text;
}

std::string Describe(const std::vector<GraphStep>& steps) {
  std::string text;
  for (const GraphStep& step : steps) text += std::string("\n      step ") + step.name;
  return text;
}

}  // namespace dxtensor::test
