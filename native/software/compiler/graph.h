// The graph of operators that CompileGraph gets, and the list of kernels that it is compiled to.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "schema/schema.h"
#include "software/cpu/kernel.h"

namespace dxtensor::software {

// A value is a range of bytes; each node reads it under the description of its own tensor.
struct GraphNode {
  std::shared_ptr<const schema::OperatorDesc> desc;  // the operator's own; a pass that changes it makes a copy
  std::vector<int> inputs;                           // value by input slot, -1 where an optional tensor is absent
  std::vector<int> outputs;                          // value by output slot, -1 where absent
  uint32_t index = 0;                                // in the description that it was read from
};

struct GraphValue {
  uint64_t size_in_bytes = 0;
  int graph_input = -1;            // the graph input it is, -1 for a node's output
  std::vector<int> graph_outputs;  // the graph outputs that are it
  std::vector<uint8_t> constant;   // bytes of a CONSTANT node, else empty
  bool is_padded = false;          // channels of each pixel, to whole vectors
};

// A graph output that is bound to the bytes of a graph input: the input's first byte is the output's byte `offset`.
struct Overwrite {
  uint32_t output = 0, input = 0;
  uint64_t offset = 0;
};

struct Graph {
  uint32_t input_count = 0, output_count = 0;
  std::vector<GraphNode> nodes;  // in an order in which every value is written before it is read
  std::vector<GraphValue> values;
  std::vector<Overwrite> overwrites;
};

// One kernel of a compiled graph. An operand is a value and the byte at which the kernel's tensor starts in it.
struct GraphOperand {
  int value = -1;
  uint64_t offset = 0;
  uint64_t size = 0;  // of the kernel's tensor; 0: up to the value's end
};
struct GraphStep {
  std::shared_ptr<Kernel> kernel;  // steps of one kernel differ in where their operands lie
  std::vector<GraphOperand> inputs, outputs;
  const char* name = "";   // "GEMM", "fused elementwise (7)": for profiles, traces and tests
  std::vector<int> nodes;  // that it computes
};

// Bytes of its value that the operand reaches over.
inline uint64_t SizeOf(const Graph& graph, const GraphOperand& operand) {
  const uint64_t rest = graph.values[static_cast<size_t>(operand.value)].size_in_bytes - operand.offset;
  return operand.size && operand.size < rest ? operand.size : rest;
}

// Makes values between convolutions NHWC where that gains. In channels_last.cpp.
void LayOut(Graph* graph);

// Chooses kernels and fuses. Elementwise chains become one blocked pass. Bias and activation become the epilogue of GEMM and CONVOLUTION; a
// convolution takes batch norm by given statistics and a residual too. Identities and slices that only move an offset vanish. Steps are in
// order of execution. Empty when a node has no kernel; *unsupported is then its name. In fuse.cpp.
std::vector<GraphStep> Fuse(const Graph& graph, const char** unsupported);

}  // namespace dxtensor::software
