#include "graph_builder.h"

#include <algorithm>

#include "check.h"

namespace dxtensor::test {

UINT GraphBuilder::Node(const schema::OperatorDesc& desc) {
  operators_.emplace_back();
  CHECK_OK(gpu_.Create(desc, operators_.back()));
  node_descs_.push_back({operators_.back().get(), nullptr});
  nodes_.push_back({DML_GRAPH_NODE_TYPE_OPERATOR, &node_descs_.back()});
  return static_cast<UINT>(nodes_.size() - 1);
}

void GraphBuilder::Input(UINT graph_input, UINT node, UINT node_input) {
  inputs_.push_back({graph_input, node, node_input, nullptr});
  input_count_ = std::max(input_count_, graph_input + 1);
}

void GraphBuilder::Link(UINT from, UINT from_output, UINT to, UINT to_input) {
  links_.push_back({from, from_output, to, to_input, nullptr});
}

void GraphBuilder::Output(UINT node, UINT node_output, UINT graph_output) {
  outputs_.push_back({node, node_output, graph_output, nullptr});
  output_count_ = std::max(output_count_, graph_output + 1);
}

HRESULT GraphBuilder::Describe(const std::function<HRESULT(const DML_GRAPH_DESC&)>& compile) {
  std::vector<DML_GRAPH_EDGE_DESC> inputs, outputs, links;
  for (const auto& edge : inputs_) inputs.push_back({DML_GRAPH_EDGE_TYPE_INPUT, &edge});
  for (const auto& edge : outputs_) outputs.push_back({DML_GRAPH_EDGE_TYPE_OUTPUT, &edge});
  for (const auto& edge : links_) links.push_back({DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &edge});
  DML_GRAPH_DESC desc{};
  desc.InputCount = input_count_;
  desc.OutputCount = output_count_;
  desc.NodeCount = static_cast<UINT>(nodes_.size());
  desc.Nodes = nodes_.data();
  desc.InputEdgeCount = static_cast<UINT>(inputs.size());
  desc.InputEdges = inputs.data();
  desc.OutputEdgeCount = static_cast<UINT>(outputs.size());
  desc.OutputEdges = outputs.data();
  desc.IntermediateEdgeCount = static_cast<UINT>(links.size());
  desc.IntermediateEdges = links.data();
  return compile(desc);
}

HRESULT GraphBuilder::Compile(Ref<IDMLCompiledOperator>& compiled, DML_EXECUTION_FLAGS flags) {
  return Describe([&](const DML_GRAPH_DESC& desc) {
    return gpu_.dml()->CompileGraph(&desc, flags, __uuidof(IDMLCompiledOperator), compiled.out_void());
  });
}

HRESULT GraphBuilder::CompileOver(const std::vector<DxtensorOverwrite>& overwrites, Ref<IDMLCompiledOperator>& compiled) {
  Ref<IDxtensorGraphs> graphs;
  CHECK_OK(gpu_.dml()->QueryInterface(kIidGraphs, graphs.out_void()));
  return Describe([&](const DML_GRAPH_DESC& desc) {
    return graphs->CompileGraph(&desc, DML_EXECUTION_FLAG_NONE, overwrites.data(), static_cast<UINT>(overwrites.size()),
                                __uuidof(IDMLCompiledOperator), compiled.out_void());
  });
}

}  // namespace dxtensor::test
