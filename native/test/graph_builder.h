// Graphs for CompileGraph, built from texts; owns the memory of the description.
#pragma once

#include <deque>
#include <functional>

#include "../abi/software_control.h"
#include "describe.h"
#include "gpu.h"

namespace dxtensor::test {

class GraphBuilder {
 public:
  explicit GraphBuilder(Gpu& gpu) : gpu_(gpu) {}

  // Its number.
  UINT Node(const schema::OperatorDesc& desc);
  UINT Node(const std::string& text) { return Node(Parse(text)); }
  void Input(UINT graph_input, UINT node, UINT node_input);
  void Link(UINT from, UINT from_output, UINT to, UINT to_input);
  void Output(UINT node, UINT node_output, UINT graph_output);
  HRESULT Compile(Ref<IDMLCompiledOperator>& compiled, DML_EXECUTION_FLAGS flags = DML_EXECUTION_FLAG_NONE);
  // By the software adapter: outputs that lie over inputs.
  HRESULT CompileOver(const std::vector<DxtensorOverwrite>& overwrites, Ref<IDMLCompiledOperator>& compiled);

 private:
  HRESULT Describe(const std::function<HRESULT(const DML_GRAPH_DESC&)>& compile);

  Gpu& gpu_;
  std::deque<Ref<IDMLOperator>> operators_;
  std::deque<DML_OPERATOR_GRAPH_NODE_DESC> node_descs_;
  std::vector<DML_GRAPH_NODE_DESC> nodes_;
  std::deque<DML_INPUT_GRAPH_EDGE_DESC> inputs_;
  std::deque<DML_OUTPUT_GRAPH_EDGE_DESC> outputs_;
  std::deque<DML_INTERMEDIATE_GRAPH_EDGE_DESC> links_;
  UINT input_count_ = 0, output_count_ = 0;
};

}  // namespace dxtensor::test
